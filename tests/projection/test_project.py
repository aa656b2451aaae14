"""`parcast.projection.project`: the formula, its interval, its coverage, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError
from parcast.laws.regions import RegionsPhase
from parcast.projection.project import project
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements

EXAMPLES = Path(__file__).parents[2] / "examples"
BASE = Machine(name="old", compute={"rate": "1 Gflop/s"})
TARGET = Machine(
    name="new", compute={"rate": "2 Gflop/s"}, network={"latency": "1 ms", "bandwidth": "1 GB/s"}
)
P = [1, 2, 4, 8, 16]
RUNS = Measurements(p=P, time=[5 + 95 / p for p in P])
SPLIT = Measurements(
    p=P * 2,
    time=[100 / p for p in P] + [0.001 + 0.01 * p for p in P],
    callpath=["solve"] * 5 + ["exchange"] * 5,
)
EXCHANGE = {"exchange": RegionsPhase(law="regions", region=[{"kind": "broadcast", "calls": 100}])}


def test_the_whole_is_scaled_by_the_ratio_at_one_processor():
    known = Measurements(p=[1], time=[20.0])
    told = project(RUNS, P, base=BASE, target=TARGET, known=known)
    assert told.ratio == pytest.approx(0.2)
    assert told.time == pytest.approx(0.2 * RUNS.time)
    assert told.communication is None
    assert told.warnings[1].startswith("The whole time on old is multiplied by 0.2: no call path")


def test_computation_is_scaled_and_communication_priced_on_the_target():
    told = project(SPLIT, P, base=BASE, target=TARGET, ratio="0.5 +- 10%", communication=EXCHANGE)
    sent = [100 * 1e-3 * np.ceil(np.log2(p)) for p in P]
    assert told.communication == pytest.approx(sent)
    assert told.time == pytest.approx([50 / p + x for p, x in zip(P, sent, strict=True)])
    assert any(text.startswith("exchange: new has no [primitives]") for text in told.warnings)


def test_the_ratio_of_a_later_run_leaves_out_its_communication():
    known = Measurements(p=[4], time=[0.3 * 25 + 0.2])
    told = project(SPLIT, [8], base=BASE, target=TARGET, known=known, communication=EXCHANGE)
    assert told.ratio == pytest.approx(0.3)
    assert "The ratio is known at p = 4, while the method expects p = 1" in " ".join(told.warnings)


def test_without_a_run_the_rates_of_the_processors_tell_the_ratio_and_it_is_said():
    told = project(RUNS, [4], base=BASE, target=TARGET)
    assert told.ratio == 0.5
    assert (
        "No run on new: the ratio 0.5 is that of compute.rate of both machines and taken as"
        in (" ".join(told.warnings))
    )
    rate = Machine(name="new", compute={"rate": "2 Gflop/s +- 50%"})
    wider = project(RUNS, [4], base=BASE, target=rate)
    assert wider.upper[0] / wider.time[0] > told.upper[0] / told.time[0]
    assert "with an uncertainty of 50%" in " ".join(wider.warnings)


def test_the_interval_joins_its_parts_on_the_log_scale():
    told = project(RUNS, P, base=BASE, target=TARGET, ratio="0.5 +- 10%")
    together = np.sqrt(sum(width**2 for width in told.widths.values()))
    assert np.log(told.upper / told.time) == pytest.approx(together)
    assert told.widths["ratio"] == pytest.approx(np.log(1.1) * np.ones(5))
    assert np.all(np.diff(told.widths["ratio moves with p"]) > 0)


def test_other_machines_that_keep_their_ratio_narrow_it():
    others = Measurements(
        p=P * 3,
        time=[k * (5 + 95 / p) for k in (1, 2, 3) for p in P],
        machine=[x for x in "ABC" for _ in P],
    )
    asked = {"base": BASE, "target": TARGET, "known": Measurements(p=[1], time=[20.0])}
    alone, helped = (project(RUNS, [16], **asked, others=x) for x in (None, others))
    assert helped.time == pytest.approx(alone.time)
    assert helped.upper[0] < alone.upper[0]
    assert "estimated from other programs and machines" in " ".join(alone.warnings)
    assert "estimated from other programs and machines" not in " ".join(helped.warnings)


def test_the_interval_holds_on_machines_it_did_not_see():
    # Three machines of In et al.: each told one run, projected from each other one.
    runs = read_measurements(EXAMPLES / "matching" / "times.csv")
    held = []
    names = ["T3E", "SP", "O2000"]
    for target in names:
        for base in names:
            if base == target:
                continue
            there = runs.select(machine=target)
            told = project(
                runs.select(machine=base),
                [2, 4, 8, 16, 32, 64],
                base=Machine(name=base),
                target=Machine(name=target),
                known=there.select(p=1),
            )
            held += ((told.lower <= there.time[1:]) & (there.time[1:] <= told.upper)).tolist()
    assert np.mean(held) >= 0.85


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"ratio": 0}, "ratio must be above 0, got 0"),
        ({"ratio": "fast"}, "ratio must use known names"),
        ({"ratio": 1, "known": RUNS}, "ratio must be left out if known runs are given"),
        ({"communication": EXCHANGE, "ratio": 1}, "communication must name call paths of the"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(asked, says):
    with pytest.raises(ParameterError, match=says):
        project(RUNS, [2], **{"base": BASE, "target": TARGET} | asked)


def test_a_run_shorter_than_its_communication_and_a_table_without_computing_are_refused():
    known = Measurements(p=[4], time=[0.1])
    with pytest.raises(ParameterError, match="known must take longer than its communication"):
        project(SPLIT, [8], base=BASE, target=TARGET, known=known, communication=EXCHANGE)
    both = EXCHANGE | {"solve": EXCHANGE["exchange"]}
    with pytest.raises(ParameterError, match="must leave at least one call path that computes"):
        project(SPLIT, [8], base=BASE, target=TARGET, ratio=1, communication=both)
