"""`parcast.forecasting.next_runs.method`: told half-widths against forecasts made again."""

import numpy as np

from parcast.forecasting.donors.curve import Timings, donated_curve
from parcast.forecasting.next_runs.method import DonatedPlan
from parcast.forecasting.own_runs.measured import NORMAL_90

COUNTS = 2.0 ** np.arange(8)
OF, ALIKE = np.arange(5)[None], np.ones((1, 5))
TARGETS, MADE = np.array([128.0, 64.0]), np.array([8.0, 16.0, 32.0])


def curves(times, counts=COUNTS, noise=0.02):
    times = np.atleast_2d(times)
    rows = len(times)
    return Timings(
        p=np.tile(counts, (rows, 1)),
        time=times,
        count=np.full(rows, len(counts)),
        noise=np.full(rows, noise),
        weight=np.ones_like(times),
    )


def law(serial, growth):
    return serial + 100 / COUNTS + growth * COUNTS**0.5


DONORS = curves([s * law(1 + i, 0.1 * i) for i, s in enumerate((1.0, 2.0, 0.7, 1.4, 3.0))])


def begun(own):
    """A plan for one series of so many counts, and times forecast for it at `MADE`."""
    here = curves(1.2 * law(2.5, 0.2)[:own], COUNTS[:own])
    told = donated_curve(here, DONORS, OF, np.concatenate([TARGETS, MADE]), ALIKE)
    plan = DonatedPlan(
        here=here,
        elsewhere=DONORS,
        of=OF,
        likeness=ALIKE,
        targets=TARGETS,
        half_width=told.curve.half_width[:, :2],
        share=told.share[:, :2],
    )
    return plan, np.exp(told.curve.log_time[0, 2:])


def after(plan, counts, times):
    """Half-widths after each of some runs of the one series."""
    return plan.after(np.zeros(len(counts), dtype=int), counts, times)[0]


def again(here, count, time):
    """Half-widths at the targets of the forecast with one run more."""
    known = here.count[0]
    counts = np.append(here.p[0, :known], count)
    order = np.argsort(counts)
    more = curves(np.append(here.time[0, :known], time)[order], counts[order])
    return donated_curve(more, DONORS, OF, TARGETS, ALIKE).curve.half_width[0]


def test_from_one_own_count_a_run_does_what_the_forecast_made_again_says():
    plan, times = begun(1)
    assert plan.share.tolist() == [[1, 1]]
    expected = [again(plan.here, *run) for run in zip(MADE, times, strict=True)]
    np.testing.assert_allclose(after(plan, MADE, times), expected)


def test_no_promise_is_below_the_noise_of_the_runs():
    plan, _ = begun(3)
    at_target = after(plan, np.array([128.0]), np.array([4.0]))
    assert at_target[0, 0] >= NORMAL_90 * 0.02
