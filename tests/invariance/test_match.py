"""A ranking of machines does not depend on the unit of time, on any order, or on names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.deciding.machines.match import match
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import FitFailed
from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements
from tests.conftest import ROOT
from tests.invariance.tables import (
    MACHINES,
    OLD_NAMES,
    OTHER_NAMES,
    columns_of,
    differences,
    kinds,
    new_name,
    plain,
    renamed,
    shuffled,
)

few = settings(max_examples=2)
pytestmark = pytest.mark.usefixtures("uncovered")
units = st.sampled_from([1e-3, 3.7, 60.0])


def facts_of(told, *, factor=1.0, names=None):
    """Numbers and words of a ranking: times and costs over a factor, with the old names."""
    numbers, words = {}, {}
    for rank, x in enumerate(told.candidates):
        name = new_name(x.machine, names or {})
        times = [y / factor for y in (x.time, x.lower, x.upper)]
        costs = [y / factor for y in (x.cost, x.cost_lower, x.cost_upper) if y is not None]
        numbers[name] = np.stack([*times, *costs, x.efficiency, x.holds])
        numbers[f"{name} best"] = np.array([x.best_p, np.nan if x.best is None else x.best])
        words[name] = rank, x.fits
    words["law"] = plain(told.law, names)
    words["verdict"] = [plain(x, names) for x in told.verdict]
    words["warnings"] = sorted(plain(x, names) for x in told.warnings)
    words["left out"] = sorted(plain(f"{x}: {why}", names) for x, why in told.left_out.items())
    return numbers, words


def ranked(columns, *, factor=1.0, names=None, **options):
    """What is ranked, or the refusal that no machine is known well enough."""
    try:
        told = match(Measurements(**columns), **options)
    except FitFailed as refusal:
        return {}, {"refusal": plain(str(refusal), names)}
    return facts_of(told, factor=factor, names=names)


@few
@given(
    kind=kinds(paths=0, n="").filter(lambda x: x.machines > 1),
    goal=st.sampled_from(["time", "cost", "efficiency"]),
    p=st.sampled_from([None, [1, 4, 16, 64, 256]]),
    certainty=st.sampled_from([None, "90%"]),
    unit=units,
    seed=st.integers(0, 2**16),
)
def test_neither_unit_nor_order_nor_names_change_a_ranking_of_runs(  # noqa: PLR0917 - drawn by name
    kind, goal, p, certainty, unit, seed
):
    """Guards: errors were drawn by the names of machines, and ties taken in their order."""
    columns = columns_of(kind)
    random = np.random.default_rng(seed)
    limit = float(random.choice(columns["time"]))  # just met, in any unit
    prices = dict(
        zip(MACHINES[: kind.machines], random.choice([1.0, 2.0], 4).tolist(), strict=False)
    )
    asked = {"p": p, "goal": goal, "certainty": certainty}
    known = ranked(columns, within=limit, prices=prices, **asked)
    scaled = {**columns, "time": columns["time"] * unit}
    assert not differences(
        known, ranked(scaled, factor=unit, within=limit * unit, prices=prices, **asked)
    )
    assert not differences(
        known, ranked(shuffled(columns, seed), within=limit, prices=prices, **asked)
    )
    others = {OTHER_NAMES[x]: y for x, y in prices.items()}
    called = renamed(columns, OTHER_NAMES)
    assert not differences(
        known, ranked(called, names=OLD_NAMES, within=limit, prices=others, **asked)
    )


def machine(name, rate, price, **network):
    return Machine(
        name=name, compute={"rate": rate}, price={"processor_hour": price}, network=network
    )


def solver(name):
    """A program in two phases, one of which has a name."""
    return Program(
        phase=[
            {"law": "spmd", "name": name, "compute": {"parallel": "4 Tflop +- 20%"}},
            {"law": "spmd", "compute": {"parallel": "10 Gflop", "serial": "1 Gflop +- 50%"}},
        ]
    )


def test_neither_order_nor_names_change_a_ranking_of_described_machines():
    """Guards: what is uncertain was drawn by the names of machines, phases and the program."""
    figures = {
        "Qavo": ("1 Gflop/s +- 10%", 1),
        "Zubi": ("3 Gflop/s +- 30%", "2 +- 20%"),
        "Amre": ("1 Gflop/s", 1.05),
    }

    def told(order, names, phase):
        those = [machine(names.get(x, x), *figures[x]) for x in order]
        answer = match(solver(phase), those, p=[4], goal="cost", within="900 s")
        return facts_of(answer, names=OLD_NAMES | {"hinu": "set-up"})

    known = told(["Qavo", "Zubi", "Amre"], {}, "set-up")
    assert not differences(known, told(["Amre", "Zubi", "Qavo"], OTHER_NAMES, "hinu"))


def test_an_interval_is_that_of_the_forecast_whichever_other_machines_are_ranked():
    """Guards: ends of intervals were those of 4,000 samples, up to 6% off, by the name."""
    runs = read_measurements(ROOT / "examples" / "matching" / "times.csv")
    for x in match(runs, p=[128, 200], beyond=True).candidates:
        others = [y for y in ("T3E", "SP", "O2000") if y != x.machine]
        donors = runs.select(machine=others)
        told = forecast(runs.select(machine=x.machine), [128, 200], donors=donors)
        ends = [np.ravel(y) for y in (told.lower, told.upper)]
        np.testing.assert_allclose([x.lower, x.upper], ends, rtol=3e-3)


def test_of_machines_that_are_as_efficient_the_faster_comes_first_in_any_order():
    """Guards: on one processor all have an efficiency of 1, and the first in the table won."""
    slow = {"p": [1, 2, 4], "time": [90.0, 50.0, 30.0], "machine": "Qavo"}
    fast = {"p": [1, 2, 4], "time": [9.0, 5.0, 3.0], "machine": "Zubi"}
    for first, second in ((slow, fast), (fast, slow)):
        both = {x: [*first[x], *second[x]] for x in ("p", "time")}
        both["machine"] = [first["machine"]] * 3 + [second["machine"]] * 3
        told = match(Measurements(**both), goal="efficiency")
        assert [x.machine for x in told.candidates] == ["Zubi", "Qavo"]


@pytest.mark.parametrize("unit", [1.0, 1e-3, 60.0, 1 / 7])
def test_a_time_that_was_measured_is_within_this_time_in_any_unit(unit):
    """Guards: 28 s measured were 28.000000000000004 s, and not within 28 s."""
    for time in (28.0, 0.3, 1.1, 7.3):
        runs = Measurements(p=[1, 2, 4], time=np.array([3 * time, 2 * time, time]) * unit)
        told = match(runs, within=time * unit, certainty=0.5)
        assert told.best is not None


def test_of_bases_that_are_as_near_the_one_with_the_most_runs_is_taken_in_any_order():
    """Guards: of two machines with the rate of a third, the first was its base."""
    rate = {"compute": {"rate": "1 Gflop/s"}}
    machines = [Machine(name=x, **rate) for x in ("Qavo", "Zubi", "Amre")]
    few_runs = {"p": [1, 4], "time": [9.0, 3.0], "machine": ["Qavo"] * 2}
    more = {"p": [1, 2, 4], "time": [9.5, 5.0, 3.1], "machine": ["Zubi"] * 3}
    for first, second, order in ((few_runs, more, 1), (more, few_runs, -1)):
        runs = Measurements(**{x: [*first[x], *second[x]] for x in first})
        told = match(runs, machines[::order], p=[4])
        assert "projection of Amre from Zubi" in told.law
