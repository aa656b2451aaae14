"""The allowance for how wrong laws have been: its figures, and what its intervals cover."""

import csv
from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, laws
from parcast.descriptions.toml_files import read_program
from parcast.laws.allowances import (
    BUS,
    ELSEWHERE,
    KINDS,
    LEAST,
    MEASURED,
    NODE,
    SWITCH,
    WIDEST,
    allowance,
    law_errors,
    law_half_width,
    platform_of,
)
from parcast.prediction.predict import predict
from tests.conftest import ROOT

DATA = Path(__file__).parent / "data"
AT = {"p": np.array([4.0])}


def table(name):
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


@pytest.mark.parametrize(
    "row", table("law_errors.csv"), ids=lambda x: f"{x['law']}-{x['platform']}"
)
def test_an_allowance_is_that_of_the_errors_that_were_measured(row):
    median, worst = float(row["median"]) / 100, float(row["worst"]) / 100
    h, measured = allowance(row["law"], row["platform"])
    assert h == pytest.approx(max(min(2.44 * median, worst), LEAST), abs=0.006)
    assert measured


def test_every_measured_law_is_one():
    assert set(MEASURED) - {"array_io"} <= set(laws())
    assert {kind for known in MEASURED.values() for kind in known} == set(KINDS)


def test_the_interval_covers_the_runs_of_btio():
    """The description alone, with the 10.49 MB that the runs wrote."""
    rows = table("btio_runs.csv")
    known = read_program(ROOT / "examples" / "btio" / "program.toml").phase[0]
    phase = known.model_dump(exclude_unset=True, exclude={"io", "cycles"})
    phase |= {"cycles": 4, "io": {"kind": "synchronous", "volume": "10.49 MB"}}
    machine = Machine(
        compute={"rate": "120 Mflop/s"},
        network={"latency": "150.6 us", "bandwidth": "26.97 MB/s", "saturation": "120 MB/s"},
        storage={"bandwidth": "10 MB/s"},
    )
    counts, disks = ([*dict.fromkeys(int(row[x]) for row in rows)] for x in "pd")
    told = predict(Program(phase=[phase]), machine, p=counts, d=disks)
    measured = np.array([float(row["time_s"]) for row in rows]).reshape(2, -1).T
    inside = (told.lower <= measured) & (measured <= told.upper)
    assert inside.mean() == 15 / 16  # p = 25, d = 1 took 18 % more processor time than p = 1
    narrow = predict(Program(phase=[phase]), machine, p=counts, d=disks, law_error=False)
    assert narrow.lower is None


def test_the_kind_of_platform_is_that_of_the_network():
    def kind(**network):
        machine = Machine(network=network)
        return [KINDS[i] for i in np.atleast_1d(platform_of(machine, {"p": np.array([2.0, 64])}))]

    assert kind() == [NODE]
    assert kind(latency="1 us", bandwidth="1 GB/s") == [SWITCH]
    assert kind(bandwidth="27 MB/s", saturation="120 MB/s") == [SWITCH]
    assert kind(bandwidth="100 MB/s", saturation="100 MB/s") == [BUS]
    assert kind(saturation="100 MB/s") == [BUS]
    assert kind(contention="100 %") == [BUS]
    assert kind(bandwidth="10 MB/s", saturation="10 MB/s * p/2") == [BUS, SWITCH]
    measured = Machine(primitives={"barrier": {"startup": "1 ms"}})
    assert platform_of(measured, {"p": 2.0}) == KINDS.index(SWITCH)


def test_a_law_measured_elsewhere_or_never_says_so_and_has_a_cautious_allowance():
    bus = Machine(network={"contention": "100 %"})
    work = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s"}}])
    told = predict(work, bus, p=[4])
    assert told.law_error == pytest.approx([2 * 0.15])
    assert told.upper == pytest.approx(told.time * (1 + ELSEWHERE * 0.15))
    assert told.warnings == (
        "The error of the law spmd was not measured on a bus: the interval allows 30% for it, as "
        "a precaution. Measure it with parcast validate.",
    )
    curve = Program(phase=[{"law": "amdahl", "t1": "80 s", "serial": "5 %"}])
    told = predict(curve, Machine(), p=[4])
    assert told.law_error == pytest.approx([WIDEST])
    assert "was not measured anywhere: the interval allows 41% for it" in told.warnings[0]


def test_phases_err_together_each_by_its_share():
    phases = [
        {"law": "amdahl", "t1": "30 s", "serial": 1},
        {"law": "regions", "region": [{"kind": "replicated", "iteration": "10 s"}]},
    ]
    h = np.log1p([WIDEST, LEAST])
    both = Program(phase=phases)
    assert law_half_width(both, Machine(), AT) == pytest.approx(0.75 * h[0] + 0.25 * h[1])
    assert [(x.law, x.platform) for x in law_errors(both, Machine(), AT)] == [
        ("amdahl", NODE),
        ("regions", NODE),
    ]


def test_an_allowance_comes_on_top_of_what_is_uncertain():
    unsure = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s +- 20%"}}])
    network = Machine(network={"latency": "1 us"})
    both = predict(unsure, network, p=[1, 4])
    parameters = predict(unsure, network, p=[1, 4], law_error=False)
    law = np.log1p(0.15)
    np.testing.assert_allclose(
        np.log(both.upper / both.time), np.hypot(np.log(parameters.upper / both.time), law)
    )
    np.testing.assert_allclose(
        np.log(both.time / both.lower), np.hypot(np.log(both.time / parameters.lower), law)
    )
