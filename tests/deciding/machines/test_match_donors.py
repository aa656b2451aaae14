"""`parcast.match` with donors: who helps, who is ranked, and what the law line says of it."""

import pytest

from parcast.deciding.machines.match import match
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements
from tests.deciding.machines.test_match import EXAMPLE, machine


@pytest.fixture(scope="module")
def runs():
    return read_measurements(EXAMPLE / "times.csv")


@pytest.fixture(scope="module")
def few(runs):
    """The first runs on two machines."""
    return runs.select(machine=["T3E", "SP"], p=[1, 2, 4])


def test_donors_help_and_are_not_ranked(runs, few):
    here, elsewhere = few.select(machine="T3E"), runs.select(machine=["SP", "O2000"])
    (told,) = match(here, p=[16, 64], donors=elsewhere, beyond=True).candidates
    expected = forecast(here, [16, 64], donors=elsewhere)
    assert told.machine == "T3E"
    assert told.time == pytest.approx(expected.time[0])
    assert told.upper == pytest.approx(expected.upper[0], rel=0.05)
    (alone,) = match(here, p=[16, 64], beyond=True).candidates
    assert told.time[1] > 2 * alone.time[1]


def test_the_machines_ranked_help_each_other_beside_the_donors(runs, few):
    donors = runs.select(machine="O2000")
    told = {x.machine: x for x in match(few, p=[32], donors=donors).candidates}
    for name, other in (("T3E", "SP"), ("SP", "T3E")):
        everyone = runs.select(machine="O2000").columns, few.select(machine=other).columns
        both = {x: [*everyone[0][x], *everyone[1][x]] for x in ("p", "time", "machine")}
        expected = forecast(few.select(machine=name), [32], donors=both)
        assert told[name].time == pytest.approx(expected.time[0])


def test_of_a_machine_in_both_only_the_runs_count_and_it_is_told(runs, few):
    wrong = Measurements(p=[1, 8, 64], time=[1, 1, 1], machine="SP").columns
    right = runs.select(machine="O2000").columns
    both = {x: [*right[x], *wrong[x]] for x in ("p", "time", "machine")}
    one, other = (match(few, p=[32], donors=x) for x in (right, both))
    assert list(one.rows()) == list(other.rows())
    assert any("SP is among the donors as well" in text for text in other.warnings)


def test_a_described_machine_that_is_a_donor_is_left_out(runs, few):
    told = match(few, Machine(name="O2000"), p=[8], donors=runs.select(machine="O2000"))
    assert told.left_out["O2000"].startswith("Its runs are donors, which are not ranked.")
    assert {x.machine for x in told.candidates} == {"T3E", "SP"}
    with pytest.raises(ParameterError, match="prices must name machines that are ranked"):
        match(few, p=[8], donors=runs.select(machine="O2000"), prices={"O2000": 1})


def law(*args, **keys):
    return match(*args, **keys).law


def test_the_law_says_what_the_forecasts_rest_on(runs, few):
    alone, o2000 = few.select(machine="T3E"), runs.select(machine="O2000")
    two = runs.select(machine=["SP", "O2000"])
    assert law(runs) == law(alone) == "measured times only"
    assert law(alone, p=[8]) == "forecast of T3E from its runs alone"
    assert law(few, p=[8]) == "forecast of each machine from its runs and those on the other"
    assert law(alone, p=[8], donors=o2000) == (
        "forecast of T3E from its runs and those on the donor O2000"
    )
    assert law(alone, p=[4, 8], donors=two) == (
        "forecast of T3E from its runs and those on the donors O2000, SP; measured times "
        "where there are any"
    )


def test_the_law_counts_donors_below_the_smallest_run_too(runs):
    here = runs.select(machine="T3E", p=[4, 8])
    donors = runs.select(machine="O2000")
    assert "on the donor O2000" in law(here, p=[1, 8], donors=donors)
    assert law(here, p=[6], donors=donors) == "forecast of T3E from its runs alone"  # none between
    assert law(here, p=[4], donors=donors) == "measured times only"
    ends = runs.select(machine="T3E", p=[4, 16])
    assert "on the donor O2000" in law(ends, p=[6], donors=donors)


def test_machines_that_rest_on_different_runs_are_told_apart(runs):
    whole = runs.select(machine="T3E", p=[1, 4, 16]).columns
    part = runs.select(machine="SP", p=[1, 16]).columns
    both = {x: [*whole[x], *part[x]] for x in ("p", "time", "machine")}
    assert law(both, p=[1, 8]) == (  # the SP was not run between 4 and 16
        "forecast of T3E from its runs alone; of SP from its runs and those on the other; "
        "measured times where there are any"
    )


def test_donors_that_cannot_help_are_refused(runs, few):
    with pytest.raises(ParameterError, match="donors must have a column machine, got none"):
        match(few, p=[8], donors={"p": [1, 2], "time": [3, 2]})
    sized = {"p": [1, 1], "time": [3, 4], "n": [5, 5], "machine": ["X", "Y"]}
    for what, donors, name in ((few, sized, "the runs"), (sized, [few], "donors")):
        with pytest.raises(ParameterError) as refused:
            match(what, p=[8], donors=donors)
        assert str(refused.value) == (
            f"donors must have the same columns as all other tables, got no n in {name}. Add it, "
            "or ignore it in the others: parcast.read_measurements(path, ignore=['n'])."
        )
    program = Program(
        name="a program", phase=[{"law": "spmd", "compute": {"parallel": "8 Tflop"}}]
    )
    with pytest.raises(ParameterError, match="donors must be combined with runs, got a program"):
        match(program, [machine("A", "1 Gflop/s")], p=[1], donors=runs)


def test_warnings_about_other_machines_can_be_read_by_who_only_ranks(runs):
    once = Measurements(p=[4], time=[20.0], machine="X").columns
    few = runs.select(machine=["T3E", "O2000"], p=[1, 2, 4]).columns
    told = match({x: [*few[x], *once[x]] for x in ("p", "time", "machine")}, p=[8])
    assert "T3E, O2000: X has runs at one processor count only and is ignored." in (told.warnings)
    assert any("The forecast is based on " in text for text in told.warnings)
    assert not any("donor" in text for text in told.warnings)
