"""`parcast.fit` of programs described region by region: what it offers, finds and writes."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.errors import ParameterError
from parcast.fitting.fit import fit
from parcast.timings.measurements import Measurements

P = [1, 2, 4, 8, 16, 32]
PROGRAM = """\
name = "heat"
[[phase]]
law = "regions"
cycles = 20
[[phase.region]]
name = "halo"
kind = "halo"
volume = "8 B * n"
[[phase.region]]
name = "sweep"
kind = "loop"
iterations = "(n - 2)^2"
iteration = "19 flop"   # counted
[[phase.region]]
name = "change"
kind = "allreduce"
volume = "8 B"
[[phase.region]]
kind = "replicated"
iteration = "1 ms"
"""
MACHINE = """\
name = "here"
[compute]
rate = "1 Gflop/s"
[network]
latency = "20 us"
bandwidth = "100 MB/s"
[primitives]
allreduce = { startup = "30 us * log2(p)", bandwidth = "80 MB/s" }
"""


@pytest.fixture
def described(tmp_path):
    """A program and a machine, read from files."""
    (tmp_path / "program.toml").write_text(PROGRAM)
    (tmp_path / "machine.toml").write_text(MACHINE)
    return read_program(tmp_path / "program.toml"), read_machine(tmp_path / "machine.toml")


def runs_of(program, machine, *, sizes=(500.0, 2000.0), noise=0.0, seed=0, **factors):
    """Times of the law with some amounts multiplied, scattered by `noise`."""
    p, n = (x.ravel() for x in np.meshgrid(np.array(P, dtype=float), np.array(sizes)))
    at = {"p": p, "n": n} | {f"{name}*": value for name, value in factors.items()}
    scatter = np.exp(noise * np.random.default_rng(seed).normal(size=p.shape))
    return Measurements(p=p, n=n, time=program.times(machine, at).time * scatter)


def test_times_of_iterations_are_fitted_unless_others_are_named(described):
    program, machine = described
    runs = runs_of(program, machine, **{"sweep.iteration": 0.6, "region 4.iteration": 3.0})
    found = fit(program, runs, machine)
    assert [x.name for x in found.parameters] == ["sweep.iteration", "region 4.iteration"]
    assert [x.factor for x in found.parameters] == pytest.approx([0.6, 3.0], rel=1e-6)
    assert found.is_settled
    written = found.program.parameters()
    assert written["sweep.iteration"].text.startswith("11.4 flop +- ")
    assert written["region 4.iteration"].text.startswith("3 ms +- ")
    assert found.program.times(machine, {"p": runs.p, "n": runs.axes["n"]}).time == pytest.approx(
        runs.time, rel=1e-5
    )


@pytest.mark.parametrize(
    ("free", "factor"),
    [
        ("compute.rate", 1.7),
        ("network.latency", 4.0),
        ("network.bandwidth", 0.3),
        ("primitives.allreduce.startup", 5.0),
        ("sweep.iterations", 1.8),
        ("change.calls", 12.0),
    ],
)
def test_a_price_a_rate_or_a_count_is_found_again(described, free, factor):
    program, machine = described
    found = fit(program, runs_of(program, machine, **{free: factor}), machine, free=[free])
    assert found[free].factor == pytest.approx(factor, rel=1e-4)
    assert found[free].is_determined


def test_the_iterations_of_a_short_loop_are_found_though_time_rises_in_steps():
    def program(iterations):
        region = {
            "name": "rows",
            "kind": "loop",
            "iterations": iterations,
            "iteration": "1 s",
            "calls": 3,
        }
        return Program(phase=[{"law": "regions", "region": [region]}])

    time = program(100).times(Machine(), {"p": np.array(P, dtype=float)}).time
    found = fit(program(63), Measurements(p=P, time=time), free=["rows.iterations"])
    assert found["rows.iterations"].value == pytest.approx(100, rel=0.01)
    ends = found["rows.iterations"]  # beyond 100, one processor has one more of them to do
    assert 96 < ends.lower * ends.scale < 100
    assert ends.upper * ends.scale == pytest.approx(100)


def test_time_and_number_of_iterations_are_told_apart_only_as_a_product(described):
    program, machine = described
    runs = runs_of(program, machine)
    found = fit(program, runs, machine, free=["sweep.iteration", "sweep.iterations"])
    assert not found.is_settled
    [text] = found.undetermined
    assert text.startswith("only the product sweep.iteration x sweep.iterations is determined")


def test_files_get_the_fitted_amounts_where_they_stand(described, tmp_path, parcast, monkeypatch):
    program, machine = described
    monkeypatch.chdir(tmp_path)
    factors = {"sweep.iteration": 0.5, "region 4.calls": 2.0, "network.latency": 2.0}
    runs = runs_of(program, machine, **factors)
    rows = zip(runs.p, runs.axes["n"], runs.time, strict=True)
    text = "".join(f"{p:g},{n:g},{float(t)!r}\n" for p, n, t in rows)
    (tmp_path / "runs.csv").write_text(f"p,n,time_s\n{text}")
    files = ("program.toml", "machine.toml", "runs.csv")
    free = ("--free", ",".join(factors), "--no-interval")
    written = ("-o", "fitted.toml", "--machine-output", "fitted_machine.toml")
    said = parcast("fit", *files, *free, *written)
    names = ("fitted_machine.toml", "fitted.toml")
    assert (said.status, said.err) == (0, "".join(f"parcast: wrote {x}.\n" for x in names))
    known = {"iteration": "9.5 flop", "calls": "2"}
    found = read_program(tmp_path / "fitted.toml").phase[0].region
    assert found[1].iteration.text.startswith(known["iteration"])
    assert found[3].calls.text.startswith(known["calls"])
    for name, before in (("fitted.toml", PROGRAM), ("fitted_machine.toml", MACHINE)):
        after = (tmp_path / name).read_text().splitlines()
        kept = [x for x in before.splitlines() if "19 flop" not in x and "20 us" not in x]
        assert [x for x in after if x in kept][: len(kept)] == kept
    assert '"40 us' in (tmp_path / "fitted_machine.toml").read_text()


def test_regions_of_two_phases_named_like_tables_of_other_laws_keep_apart(file):
    path = file(
        '[[phase]]\nname = "io"\nlaw = "regions"\n'
        'region = [{ name = "compute", kind = "loop", iterations = 1e4, iteration = "1 ms" }]\n'
        '[[phase]]\nlaw = "regions"\n'
        '[[phase.region]]\nname = "io"\nkind = "replicated"\niteration = "2 s"\n',
        "program.toml",
    )
    program = read_program(path)
    p = np.array(P, dtype=float)
    factors = {"io.compute.iteration*": 2.0, "phase 2.io.iteration*": 0.5}
    runs = Measurements(p=P, time=program.times(Machine(), {"p": p} | factors).time)
    found = fit(program, runs, interval=False)
    assert {x.name + "*": round(x.factor, 6) for x in found.parameters} == factors
    assert program.place("io.compute.iteration") == ("phase", 0, "region", 0, "iteration")
    assert found.program.phase[1].region[0].iteration.text.startswith("1 s")


def test_a_key_of_another_kind_of_region_is_refused_with_the_nearest_name(described):
    program, machine = described
    with pytest.raises(ParameterError, match=r"got 'halo.iterations'. Did you mean sweep.iter"):
        fit(program, runs_of(program, machine), machine, free=["halo.iterations"])
