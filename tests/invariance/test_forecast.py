"""A forecast does not depend on the unit of time, on the order of anything, or on names.

Nor on what else is asked or measured. The times are made up of the laws of real programs, with
noise, and with so few digits that some are equal: ties are where an order slips in.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parcast.errors import FitFailed
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import knee
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.timings.measurements import Measurements
from tests.invariance.tables import (
    MACHINES,
    OLD_NAMES,
    OTHER_NAMES,
    columns_of,
    differences,
    facts_of,
    kinds,
    on,
    renamed,
    rows_of,
    shuffled,
)

pytestmark = pytest.mark.usefixtures("uncovered")
ASKED = [3, 16, 64, 512]
few = settings(max_examples=6)
units = st.sampled_from([1e-3, 3.7, 60.0, 1 / 7])
orders = st.integers(0, 2**16)


def answer(columns, p=ASKED, *, factor=1.0, names=None, **options):
    """What is forecast, or the refusal that no series is known well enough."""
    try:
        told = forecast(Measurements(**columns), p, **options)
    except FitFailed as refusal:
        return {}, {"refusal": str(refusal)}
    return facts_of(told, factor=factor, names=names)


def times_in(columns, factor):
    """The same times in another unit."""
    return {**columns, "time": columns["time"] * factor}


@few
@given(kind=kinds(), unit=units, seed=orders)
def test_neither_unit_nor_order_nor_names_change_a_forecast(kind, unit, seed):
    columns = columns_of(kind)
    known = answer(columns)
    assert not differences(known, answer(times_in(columns, unit), factor=unit))
    assert not differences(known, answer(shuffled(columns, seed)))
    assert not differences(known, answer(renamed(columns, OTHER_NAMES), names=OLD_NAMES))


@settings(max_examples=4)
@given(kind=kinds(machines=1, n=""), unit=units, seed=orders)
def test_neither_unit_nor_order_changes_a_knee_or_a_plan(kind, unit, seed):
    columns = columns_of(kind)

    def found(columns):
        runs = Measurements(**columns)
        knees = [(str(sorted(x.key.items())), str(x)) for x in knee(runs)]
        plan = [(str(sorted(x.key.items())), x.at["p"], x.because) for x in plan_runs(runs, 512)]
        return sorted(knees), sorted(plan)

    known = found(columns)
    assert found(times_in(columns, unit)) == known
    assert found(shuffled(columns, seed)) == known


@few
@given(kind=kinds(), seed=orders)
def test_an_answer_does_not_depend_on_what_else_is_asked(kind, seed):
    runs = Measurements(**columns_of(kind))
    some, every = forecast(runs, ASKED), forecast(runs, np.arange(1, 600))
    asked = np.random.default_rng(seed).permutation(ASKED)
    other = forecast(runs, asked)
    for name in ("time", "lower", "upper", "speedup", "efficiency", "reach"):
        known = getattr(some, name)
        order = [ASKED.index(p) for p in asked]
        for found in (getattr(every, name)[..., np.array(ASKED) - 1], getattr(other, name)):
            expected = known if found is not getattr(other, name) else known[..., order]
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@few
@given(kind=kinds(paths=0), seed=orders)
def test_another_call_path_does_not_change_a_forecast(kind, seed):
    """Where neither calls the other; which of them is the longer decides the scaling for both."""
    columns = columns_of(kind)
    count = len(columns["p"])
    alone = {**columns, "callpath": np.full(count, "wima")}
    random = np.random.default_rng(seed)
    beside = {name: np.concatenate([x, x]) for name, x in alone.items()}
    beside["callpath"][count:] = "budo"
    beside["time"] = np.concatenate([columns["time"], random.lognormal(size=count)])
    known = answer(alone, scaling="strong")[0]
    found = answer(shuffled(beside, seed), scaling="strong")[0]
    for name in series_of(known):
        np.testing.assert_allclose(found[name], known[name], rtol=1e-9)


@few
@given(kind=kinds(n="", paths=0))
def test_a_repetition_of_the_median_leaves_the_middle_where_it_is(kind):
    """It narrows intervals: donors, and parts of a total, then weigh otherwise."""
    columns = columns_of(kind)
    series = Measurements(**columns).series()
    rows = [
        {**key, "p": p, "time": time}
        for key, count, *points in zip(
            series.keys, series.count, series.p, series.time, strict=True
        )
        for p, time in zip(*(x[:count] for x in points), strict=True)
    ]
    more = {
        name: np.concatenate([x, np.array([row[name] for row in rows])])
        for name, x in columns.items()
    }
    known, found = answer(columns, scaling="strong")[0], answer(more, scaling="strong")[0]
    for name in series_of(known):
        np.testing.assert_allclose(found[name][0], known[name][0], rtol=1e-9)


def series_of(numbers):
    return [x for x in numbers if not x.endswith(("donors", "weights")) and "total" not in x]


def table(*names, rows):
    return dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_of_call_paths_equally_long_at_first_the_longer_one_decides_whether_it_scales(order):
    """Guards: the first row decided how all call paths of a run scale."""
    falling = [(p, "wima", 10.0 / p) for p in (1, 2, 4)]
    columns = table("p", "callpath", "time", rows=[*falling, (1, "budo", 10.0), (4, "budo", 10.0)])
    told = forecast(Measurements(**{x: y[order] for x, y in columns.items()}), [8])
    (text,) = (x for x in told.verdict if "does not scale" in x)
    assert text.startswith("budo: This does not scale: p = 4 takes as long as p = 1.")


def test_the_total_of_a_profile_does_not_depend_on_which_row_stands_first():
    """Guards: of `total` and a call path equally long at one count the first was taken."""
    rows = [(1, "budo", 10.0), (1, "total", 10.0), (2, "budo", 5.0), (2, "total", 5.1)]
    columns = table("p", "callpath", "time", rows=rows)
    for order in (slice(None), slice(None, None, -1)):
        told = forecast(Measurements(**{x: y[order] for x, y in columns.items()}), [4])
        assert told.totals.parts.tolist() == [1]


def test_call_paths_add_up_in_milliseconds_as_they_do_in_seconds():
    """Guards: 0.8 s are a little more than 0.1 s + 0.7 s, but 800 ms no more than their sum."""
    times = {1: (1.0, 0.1, 0.7), 2: (0.8, 0.1, 0.7), 4: (0.45, 0.05, 0.35)}
    paths = ("wima", "wima->tafo", "wima->budo")
    rows = [(p, *x) for p, own in times.items() for x in zip(paths, own, strict=True)]
    columns = table("p", "callpath", "time", rows=rows)
    in_ms = {**columns, "time": (columns["time"] * 1e3).round(9)}
    assert not differences(answer(columns), answer(in_ms, factor=1e3))


@pytest.mark.parametrize("unit", [1.0, 1e3, 1 / 7])
def test_a_knee_is_where_the_efficiency_is_still_exactly_enough(unit):
    """Guards: 4 s + 96 s / p has an efficiency of 50% at p = 26, and rounding said 25."""
    p = np.array([1, 2, 4, 8, 16])
    [found] = knee(Measurements(p=p, time=unit * (4 + 96 / p)))
    assert found.p == 26


# with runs on other machines


@st.composite
def questions(draw):
    """Runs on one machine at some counts, and runs on others."""
    kind = draw(kinds(n="", machines=draw(st.integers(2, 4))))
    columns = columns_of(kind)
    here, there = on(columns, MACHINES[:1]), on(columns, MACHINES[1:])
    known = np.unique(here["p"])[: draw(st.integers(1, 3))]
    return rows_of(here, np.flatnonzero(np.isin(here["p"], known))), there


def with_donors(here, *there, **options):
    """What is forecast with tables of runs on other machines."""
    return answer(here, donors=[Measurements(**x) for x in there], **options)


@few
@given(question=questions(), unit=units, seed=orders)
def test_neither_unit_nor_order_nor_names_change_a_forecast_with_donors(question, unit, seed):
    here, there = question
    known = with_donors(here, there)
    assert not differences(known, with_donors(*(times_in(x, unit) for x in question), factor=unit))
    assert not differences(known, with_donors(*(shuffled(x, seed) for x in question)))
    assert not differences(
        known, with_donors(*(renamed(x, OTHER_NAMES) for x in question), names=OLD_NAMES)
    )


@few
@given(question=questions(), seed=orders)
def test_the_tables_of_donors_may_be_divided_and_have_any_order(question, seed):
    here, there = question
    known = with_donors(here, there)
    machines = [on(there, [x]) for x in dict.fromkeys(there["machine"].tolist())]
    assert not differences(known, with_donors(here, *machines))
    assert not differences(known, with_donors(here, *machines[::-1]))
    half = np.random.default_rng(seed).random(len(there["p"])) < 0.5
    assume(half.any() and not half.all())
    halves = [rows_of(there, np.flatnonzero(x)) for x in (half, ~half)]
    assert not differences(with_donors(here, *halves), with_donors(here, *halves[::-1]))


def test_of_two_copies_the_one_with_repetitions_is_used_in_any_order():
    """Guards: the first of two tables with the same runs was used, repeated in it or not."""
    here = {"p": [1, 2], "time": [8.0, 4.5]}
    once = Measurements(p=[1, 2, 4], time=[9.0, 5.0, 3.0], machine="SP")
    twice = Measurements(p=[1, 1, 2, 2, 4, 4], time=[9.0, 9, 5, 5, 3, 3], machine="SP")
    one, other = (forecast(here, 64, donors=x) for x in ([once, twice], [twice, once]))
    assert (one.time, one.lower, one.upper) == (other.time, other.lower, other.upper)


def test_the_oddest_donor_is_named_first_in_any_order():
    """Guards: the first of several odd donors spoke for all."""
    here = {"p": [1, 2, 4], "time": [8.0, 4.5, 2.5]}
    tables = [
        Measurements(p=[1, 2, 4], time=np.array([8.0, 4.4, 2.6]) * factor, machine=name)
        for name, factor in (("SP", 30.0), ("T3E", 900.0), ("O2000", 1.1))
    ]
    one, other = (
        [x for x in forecast(here, 64, donors=some).warnings if "times the time here" in x]
        for some in (tables, tables[::-1])
    )
    assert one == other
    assert "the time on T3E is 936 times" in one[0]


# over several parameters


@st.composite
def grids(draw):
    """Runs over p, n and theta, some of them left out."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    every = np.array([(p, n, x) for p in (1, 2, 8) for n in (100, 200, 400) for x in (0.5, 0.25)])
    runs = every[random.random(len(every)) < draw(st.sampled_from([0.6, 1.0]))]
    p, n, theta = runs.T
    time = (1 + 0.01 * n**1.5 / p / theta + 0.1 * np.log2(p)) * random.lognormal(0, 0.02, len(p))
    return {"p": p, "n": n, "theta": theta, "time": time}


@settings(max_examples=4)
@given(columns=grids(), unit=units, seed=orders)
def test_neither_unit_nor_order_nor_names_of_axes_change_a_surface(columns, unit, seed):
    """Guards: axes were taken by their names, and which runs were held back with them."""

    def times(columns, size="n"):
        try:
            told = forecast(Measurements(**columns), [4, 64], **{size: [300.0, 800.0]})
        except FitFailed as refusal:
            return str(refusal)
        keys = [sorted(x.key.values()) for x in told.notes]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return np.stack([told.time, told.lower, told.upper])[:, order]

    known = times(columns)
    assume(not isinstance(known, str))
    in_unit = times(times_in(columns, unit)) / unit
    np.testing.assert_allclose(in_unit, known, rtol=1e-6)
    np.testing.assert_allclose(times(shuffled(columns, seed)), known, rtol=1e-6)
    other = {"n": "zeta", "theta": "alpha"}
    called = {other.get(name, name): columns[name] for name in ("theta", "p", "n", "time")}
    np.testing.assert_allclose(times(called, size="zeta"), known, rtol=1e-6)


# examples
