"""`series.notes`: the words of a forecast, and the numbers behind the words."""

from dataclasses import replace

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.forecasting.own_runs.ensemble import MEMBERS, READINGS, LawsOfAll
from parcast.forecasting.own_runs.measured import MeasuredCurve
from parcast.forecasting.own_runs.members import OF_TIME
from parcast.forecasting.own_runs.scaling import ScalingReading
from parcast.forecasting.series.curve import CurveEstimate
from parcast.forecasting.series.notes import DEPENDS, NOISY, WIDE, notes_of
from parcast.show.warning import Rank
from parcast.timings.measurements import Measurements
from parcast.units import format_quantity

P, TIME = [1, 2, 4, 8], [8.0, 5.0, 3.0, 2.5]
NONE_RECOGNISED = LawsOfAll(
    share=np.zeros((1, len(OF_TIME.nameable))),
    residual=np.ones((1, len(OF_TIME.nameable))),
    coefficients=tuple(np.ones((1, x)) for x in (2, 3, 3, 3, 2)),
)


def note(
    *,
    p=P,
    time=TIME,
    asked=(16,),
    slope=0.0,
    half_width=0.1,
    backtest=0.0,
    without_last=0.0,
    strong=True,
    reason="as requested",
    noise=0.02,
    weights=None,
    efficiency=1.0,
):
    """The note of one series for a forecast made up: log time 0 at the largest count asked for."""
    series = Measurements(p=p, time=time).series()
    targets = np.array([*asked, max(asked) / 2])
    log_time = slope * np.log(targets / max(asked))
    if weights is None:
        weights = {"amdahl": 0.5, "linear": 0.3, "power": 0.2}
    share = [weights.get(name, 0) / len(READINGS) for name, _ in MEMBERS]
    curve = MeasuredCurve(
        log_time=log_time[None],
        half_width=np.broadcast_to(half_width, (1, len(targets))),
        reach=np.ones((1, len(targets))),
        weights=np.array([share]),
        laws=NONE_RECOGNISED,
        backtest=np.array([backtest]),
        without_last=np.full((1, len(targets)), without_last),
        skew=np.zeros((1, len(targets))),
    )
    series = replace(series, spread=np.where(series.repetitions > 1, noise, 0.0))
    table = np.ones((6, 1, len(targets)))
    table[4] = efficiency
    estimate = CurveEstimate(targets=targets, curve=curve, donated=None, table=table)
    (found,) = notes_of(series, estimate, reading=ScalingReading(strong, reason))
    return found


# Which series, and whether strong or weak.


@pytest.mark.parametrize(
    ("p", "is_said"), [([100, 101], True), ([8, 9, 9], True), ([4, 5], False)]
)
def test_counts_that_are_close_together_are_said_to_show_little(p, is_said):
    told = forecast(Measurements(p=p, time=[25.0, 24.9, 24.8][: len(p)]), 200)
    said = [x for x in told.warnings if "too close together" in x]
    assert bool(said) == is_said
    if is_said:
        assert f"Measure at p = {2 * p[-1]} or more." in said[0]


# What limits it.

GROWS = "growing work: doubling p to 16 adds {} to the time"
NOTHING = "parallel overhead: doubling p to 16 saves nothing (ideal: 50%)"
OVERHEAD = "parallel overhead: doubling p to 16 saves {} (ideal: 50%)"
WEAK = "nothing measurable: time stays constant while the work grows"
WORK = "the work itself, which still scales well: doubling p to 16 saves {} (ideal: 50%)"


@pytest.mark.parametrize(
    ("slope", "strong", "says", "limit"),
    [
        (1.0, True, GROWS.format("100%"), "growing work"),
        (0.11, True, GROWS.format("8%"), "growing work"),
        (0.11, False, GROWS.format("8%"), "growing work"),
        (0.04, False, GROWS.format("3%"), "growing work"),
        (0.02, False, WEAK, "scales well"),
        (-0.5, False, WEAK, "scales well"),
        (0.09, True, NOTHING, "overhead"),
        (-0.01, True, NOTHING, "overhead"),
        (-0.02, True, OVERHEAD.format("1%"), "overhead"),
        (-0.14, True, OVERHEAD.format("9%"), "overhead"),
        (-0.16, True, OVERHEAD.format("10%"), "overhead"),
        (-0.5, True, OVERHEAD.format("29%"), "overhead"),
        (-0.79, True, OVERHEAD.format("42%"), "overhead"),
        (-0.81, True, WORK.format("43%"), "scales well"),
        (-1.0, True, WORK.format("50%"), "scales well"),
    ],
)
def test_what_limits_it_follows_from_the_slope_at_the_largest_count(slope, strong, says, limit):
    found = note(slope=slope, strong=strong)
    assert (found.limited_by, found.limit) == (says, limit)


def test_weak_scaling_that_has_lost_efficiency_is_limited_by_what_grew():
    found = note(slope=0.0, strong=False, efficiency=0.72)
    assert found.limited_by == "growing work: at p = 16 the efficiency is 72%"
    assert found.limit == "growing work"
    assert note(slope=0.0, strong=False, efficiency=0.91).limited_by == WEAK


@pytest.mark.parametrize(
    ("time", "asked", "says"),
    [
        ([8, 4, 2, 1], 16, WORK),
        ([5, 5, 5, 5], 16, WEAK),
        ([5, 10, 20, 40], 16, GROWS),
        ([8, 4.5, 4.1, 4.0], 1000, NOTHING),
    ],
)
def test_what_limits_real_forecasts(time, asked, says):
    scaling = "weak" if says is WEAK else "auto"
    found = forecast({"p": P, "time": time}, asked, scaling=scaling).notes[0].limited_by
    assert found.startswith(says.split("{")[0].replace("p to 16", f"p to {asked}"))


def test_constant_time_alone_is_named_where_the_law_that_is_followed_has_no_other_cost():
    p = 2.0 ** np.arange(6)
    alone, growing = (forecast({"p": p, "time": 1 + 100 / p + x * p}, 64) for x in (0.0, 0.02))
    constant = "constant work, such as serial parts: doubling p to 64 saves 38% (ideal: 50%)"
    assert alone.notes[0].limited_by == constant
    assert (alone.notes[0].limit, growing.notes[0].limit) == ("constant work", "overhead")


def test_what_doubling_does_is_what_the_table_says():
    """Guards: the slope before a measured count was said of what follows it."""
    runs = {"p": [1, 2, 4, 8, 16, 32], "time": [100, 52, 28, 16, 10, 8]}
    found = forecast(runs, [4, 8, 16, 32]).notes[0].limited_by
    assert found.endswith("doubling p to 32 saves 20% (ideal: 50%)")
    first = forecast(runs, 1).notes[0].limited_by
    assert first.endswith("doubling p to 2 saves 48% (ideal: 50%)")


# What to doubt.


REMEDY = ": measure at a larger p, or add runs on other machines."


@pytest.mark.parametrize(("factor", "says"), [(WIDE * 1.01, "4.5"), (900, "900")])
def test_a_wide_interval_is_warned_of_where_it_is_widest(factor, says):
    narrow, wide = np.log([WIDE * 0.99, factor]) / 2
    assert note(half_width=narrow).warnings == ()
    (found,) = note(asked=(32, 16), half_width=[narrow, wide, 9.0]).warnings[:1]
    assert found == f"The 90% interval at p = 16 spans a factor of {says}{REMEDY}"
    assert (found.rank, found.size) == (Rank.SERIOUS, pytest.approx(factor))


@pytest.mark.parametrize(
    ("p", "remedy"),
    [(1, "measure at a smaller p"), (6, "measure nearer to p = 6"), (64, "measure at a larger p")],
)
def test_the_remedy_of_a_wide_interval_is_on_the_side_of_the_count(p, remedy):
    warnings = note(p=[2, 4, 8, 16], asked=(p,), half_width=2.0).warnings
    (found,) = (text for text in warnings if "spans a factor" in text)
    assert f": {remedy}, or add runs" in found


@pytest.mark.parametrize("side", [1, -1])
def test_a_forecast_that_depends_on_the_last_count_says_so(side):
    edge = side * np.log(DEPENDS)
    assert note(without_last=0.99 * edge).warnings == ()
    found = note(asked=(12, 16), without_last=1.01 * edge)
    seconds = format_quantity(np.exp(1.01 * edge), "time")
    assert found.warnings == (
        f"The forecast depends strongly on the runs at p = 8: without them it would be {seconds} "
        "at p = 16. Repeat these runs or measure another count.",
    )


def test_two_counts_are_warned_of():
    assert note(p=[1, 8], time=[8, 2], backtest=np.nan, without_last=np.nan).warnings == (
        "Only two counts were measured, so the forecast could not be tested. "
        "A third count would narrow the interval most.",
    )


def test_counts_beyond_twice_the_largest_measured_are_warned_of():
    assert note(asked=(16,)).warnings == ()
    assert note(asked=(17,)).warnings == (
        "p = 17 is an extrapolation to 2.12x the largest measured p (8).",
    )
    found = note(asked=(512, 9)).warnings
    assert found == (
        "p = 512 is an extrapolation to 64x the largest measured p (8). "
        "That far out, 50 to 80% of such intervals contained the measured time.",
    )


@pytest.mark.parametrize(
    ("asked", "ends", "rank"),
    [
        (256, "p (8).", Rank.MINOR),
        (257, "50 to 80% of such intervals contained the measured time.", Rank.SERIOUS),
    ],
)
def test_it_says_how_often_intervals_that_far_out_contained_the_time(asked, ends, rank):
    found = note(asked=(asked,)).warnings[-1]
    assert (found[-len(ends) :], found.rank) == (ends, rank)


def test_counts_below_the_smallest_measured_are_warned_of():
    found = note(p=[4, 8, 16], time=[8, 5, 3], asked=(16, 1, 2))
    assert found.warnings == ("p = 1 lies below the smallest measured p (4).",)
    assert note(p=[4, 8, 16], time=[8, 5, 3], asked=(4,)).warnings == ()


def test_noisy_repetitions_are_warned_of():
    repeated = {"p": [*P, 8], "time": [*TIME, 2.5]}
    assert note(**repeated, noise=0.99 * NOISY).warnings == ()
    assert note(**repeated, noise=0.153).warnings == (
        "Repeated runs differ by 15%: repeat each count more often.",
    )
    assert note(noise=0.153).warnings == ()
