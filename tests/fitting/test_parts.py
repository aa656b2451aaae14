"""Fits to parts of the time: each constant from its own column, and the rest from what is left."""

from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.errors import ParameterError
from parcast.fitting.capacities import capacities
from parcast.fitting.fit import fit
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements, write_measurements

LAWS = Path(__file__).parents[2] / "examples" / "laws"
LAW = {"law": "sort", "merge": "tree", "beta": "8 B * (p - 1) / p"}  # of `parcast run sort`
TRUE = {"compute": "300 Mflop/s", "network": "40 MB/s", "disk": "20 MB/s"}
PARTS = ("compute_s", "communication_s", "disk_s")


def runs_of(*parts, p=(1, 2, 4, 8), lost=0.0, noise=0.0, seed=0, **own):
    """Three repetitions of a sort at two sizes; `lost` is what of a time no part holds."""
    grid = np.array([(a, b) for a in p for b in (1e5, 4e5) for _ in range(3)]).T
    phase = law_named("sort")(**LAW, capacities=TRUE | own)
    times = phase.times(Machine(), {"p": grid[0], "n": grid[1], "d": 1.0})
    random = np.random.default_rng(seed)
    seconds = {
        name: np.broadcast_to(x, grid[0].shape) * np.exp(random.normal(0, noise, len(grid[0])))
        for name, x in zip(PARTS, (times.compute, times.communication, times.io), strict=True)
    }
    time = sum(seconds.values()) / (1.0 - lost)
    return Measurements(p=grid[0], n=grid[1], time=time, **{name: seconds[name] for name in parts})


def sorter(**capacities):
    return Program(phase=[LAW | {"capacities": capacities}])


@pytest.mark.parametrize(
    ("parts", "network"),
    [(("disk_s",), "time_s"), (("compute_s", "disk_s"), "time_s"), (PARTS, "communication_s")],
)
def test_each_constant_comes_from_its_own_column(parts, network):
    found = fit(sorter(), runs_of(*parts), starts=2)
    assert found["capacities.compute"].value == pytest.approx(300e6, rel=1e-3)
    assert found["capacities.network"].value == pytest.approx(40e6, rel=1e-3)
    assert found["capacities.disk"].value == pytest.approx(20e6, rel=1e-3)
    assert found["capacities.disk"].columns[0] == "disk_s"
    assert found["capacities.network"].columns == (network,)
    assert found.is_settled


def test_timed_blocks_are_not_bent_by_what_no_part_holds():
    found = fit(sorter(), runs_of("compute_s", "disk_s", lost=0.2), starts=2, interval=False)
    assert found["capacities.disk"].value == pytest.approx(20e6, rel=1e-3)
    assert found["capacities.compute"].value == pytest.approx(300e6, rel=1e-3)
    assert (
        "At p = 1, compute_s and disk_s hold 80% of the time, and the law has no other part "
        "there. Check their units, and time the runs on idle processors."
    ) in found.warnings


def test_a_part_that_is_known_of_some_runs_is_used_of_these():
    runs = runs_of("disk_s")
    disk = np.where(runs.p == 2, np.nan, runs.parts["disk_s"])
    found = fit(sorter(), runs.with_columns(disk_s=disk), starts=2, interval=False)
    for name, value in (("compute", 300e6), ("network", 40e6), ("disk", 20e6)):
        assert found[f"capacities.{name}"].value == pytest.approx(value, rel=1e-3)


def test_a_rate_that_is_kept_leaves_its_column_to_the_others():
    program = sorter(disk="1 GB/s", compute="1 Gflop/s", network="1 GB/s")
    fixed = ["capacities.disk"]
    found = fit(program, runs_of("disk_s"), fixed=fixed, starts=2, interval=False)
    assert found["capacities.network"].value == pytest.approx(40e6, rel=1e-3)


@pytest.mark.parametrize("method", ["source", "fit"])
def test_capacities_come_from_their_columns_too(method):
    found = capacities(law_named("sort")(**LAW), runs_of(*PARTS), method=method, samples=20)
    assert found.compute.value == pytest.approx(300e6, rel=1e-3)
    assert found.network.value == pytest.approx(40e6, rel=1e-3)
    assert found.disk.value == pytest.approx(20e6, rel=1e-3)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"compute_s": [1.0, 9.0]},
            "compute_s must be at most the time of the run, 2.2 s at p = 2, n = 1000, got 9 s. "
            "Give the seconds of the processor with most of them, in the unit of the name.",
        ),
        (
            {"disk_hours": [1.0, 2.0]},
            "measurements must vary only along axes that the program uses (p, d, n), got "
            "'disk_hours'. If it is a part of the time, end its name in a unit: disk_s.",
        ),
    ],
)
def test_columns_that_are_no_parts_of_the_time_are_named(columns, says):
    runs = Measurements(p=[1, 2], n=1000, time=[2.0, 2.2], **columns)
    with pytest.raises(ParameterError) as caught:
        fit(sorter(compute="1 Mflop/s", network="1 MB/s", disk="1 MB/s"), runs)
    assert str(caught.value) == says


def test_runs_without_an_axis_of_the_law_are_refused():
    with pytest.raises(ParameterError) as caught:
        fit(sorter(), Measurements(p=[1, 2], time=[2.0, 1.2], disk_s=0.1))
    assert str(caught.value) == (
        "measurements must have a column n, which the program uses, got p. Add the n of each run."
    )


# constants that depend on p

DISK = "35.6 MB/s if p < 2 else 25.6 MB/s if p < 4 else 12.8 MB/s"
NETWORK = "30 MB/s * (p/2)^(-0.4)"


def test_constants_become_formulas_of_p_if_that_is_wanted():
    runs = runs_of("compute_s", "disk_s", noise=0.02, disk=DISK, network=NETWORK)
    one = fit(sorter(), runs, starts=2)
    assert {x.name for x in one.by_p} == {"capacities.disk", "capacities.network"}
    assert not one.is_settled
    several = fit(sorter(), runs, starts=2, by_p=True)
    assert several.is_settled
    assert several.rms < 0.05 < one.rms
    own = several.program.phase[0].capacities
    at = {"p": np.array([1.0, 2, 4, 8])}
    assert own.disk(at) == pytest.approx([35.6e6, 25.6e6, 12.8e6, 12.8e6], rel=0.05)
    at = {"p": np.array([2.0, 4, 8])}
    assert own.network(at) == pytest.approx(30e6 * np.array([1, 2, 4]) ** -0.4, rel=0.1)
    spreads = {x.name: x.spread for x in several.by_p}
    assert own.disk.spread == pytest.approx(spreads["capacities.disk"], rel=0.1)


def test_the_command_writes_formulas_that_predictions_trust_where_they_were_seen(
    tmp_path, monkeypatch, parcast
):
    monkeypatch.chdir(tmp_path)
    write_measurements(runs_of("compute_s", "disk_s", noise=0.02, disk=DISK), "runs.csv")
    Path("sort.toml").write_text(f'name = "sort"\n[[phase]]\n{toml(LAW)}')
    Path("here.toml").write_text('name = "here"\nprocessors = 64\nnetwork = { latency = "0 s" }\n')
    said = parcast("fit", "sort.toml", "runs.csv")
    assert said.status == 1
    assert "no: no single value for all p: capacities.disk." in said.err
    assert "(--by-p)" in said.out
    said = parcast("fit", "sort.toml", "runs.csv", "--by-p", "-o", "fitted.toml")
    assert said.status == 0
    assert "by p" in said.out
    near = parcast("predict", "fitted.toml", "here.toml", "-n", "4e5", "-p", "1,2,4,8")
    assert "was seen at" not in near.out
    far = parcast("predict", "fitted.toml", "here.toml", "-n", "4e5", "-p", "8,64")
    assert "capacities.disk was seen at p = 1 to 8: what its formula gives at p = 64" in " ".join(
        far.out.split()
    )


def toml(keys):
    return "".join(f'{key} = "{value}"\n' for key, value in keys.items())


def test_runs_of_a_program_of_parcast_determine_its_constants(parcast):
    said = parcast("fit", str(LAWS / "sorter.toml"), str(LAWS / "sorter_runs.csv"))
    assert said.status == 0
    found = fit(LAWS / "sorter.toml", read_measurements(LAWS / "sorter_runs.csv"), starts=2)
    assert found["capacities.compute"].columns == ("compute_s",)
    assert found["capacities.compute"].value == pytest.approx(305e6, rel=0.05)
    assert found["capacities.disk"].columns == ("disk_s",)
    assert found.is_settled
