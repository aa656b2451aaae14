"""`forecasting.donors.transfer` and `donated`: laws, shapes, and what is known of the answer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.donors.curve import (
    Timings,
    donated_curve,
    transfer,
)
from parcast.forecasting.own_runs.measured import curve_from

changes = st.lists(st.floats(-3, 3), min_size=1, max_size=9)


def carried(change, slower=0.0, agreement=1.0, outside=0.0, *, reach=0.7, leans=True):
    """`transfer` for one series and one point."""
    change = np.array(change, dtype=float)
    others = (np.broadcast_to(x, change.shape)[None, None] for x in (slower, agreement, outside))
    slower, agreement, outside = map(np.array, others)
    return transfer(
        change=change[None, None],
        slower=slower,
        agreement=agreement,
        outside=outside,
        reach=np.array([[reach]]),
        leans=np.array([[leans]]),
    )


def curves(rows, width=None):
    """`Timings` of rows of {count: time}."""
    width = width or max(map(len, rows))
    p, time = np.full((2, len(rows), width), np.nan)
    for i, row in enumerate(rows):
        p[i, : len(row)], time[i, : len(row)] = list(row), list(row.values())
    count = np.array([len(row) for row in rows])
    noise = np.full(len(rows), 0.02)
    return Timings(p=p, time=time, count=count, noise=noise, weight=np.ones_like(p))


def law(a, b, counts=(1, 2, 4, 8, 16)):
    """Times of Amdahl's law."""
    return {p: a + b / p for p in counts}


@given(changes)
def test_equal_machines_give_their_median_where_nothing_leans(change):
    said = carried(change, leans=False)
    assert said.change[0, 0] == pytest.approx(np.median(change), abs=1e-6)
    assert said.weights.sum() == pytest.approx(1)


@given(changes)
def test_forecasts_upwards_lean_to_the_machines_that_scale_well(change):
    assert min(change) - 1e-9 <= carried(change).change[0, 0] <= np.median(change) + 1e-9


def test_the_interval_is_longer_where_the_donors_scatter():
    alike, badly, well = [-1.0] * 5, [0.5, 0.8], [-1.3, -1.4]
    up, even, down = (carried(x).skew[0, 0] for x in (alike + badly, alike, alike + well))
    assert up > even > 0 > down
    assert carried(alike + badly, leans=False).skew[0, 0] == 0


def test_machines_that_are_slower_and_gain_more_tell_a_fast_one_so():
    slower = np.linspace(-0.2, 1.8, 9)  # the target stands at 0
    said = carried(-0.5 - 0.3 * slower, slower)
    assert np.median(-0.5 - 0.3 * slower) == pytest.approx(-0.74)
    assert -0.56 < said.change[0, 0] < -0.5  # -0.5 but for the shrinkage


def test_a_line_is_not_followed_beyond_the_donors():
    slower = np.linspace(-1, 1, 9)
    at_the_end, far = (
        carried(-0.5 - 0.3 * x, x + shift) for x, shift in ((slower, 1), (slower, 5))
    )
    assert far.change[0, 0] == pytest.approx(at_the_end.change[0, 0], abs=0.02)
    assert far.sd[0, 0] > 1.5 * at_the_end.sd[0, 0]


def test_doubt_grows_with_scatter_reach_and_fewer_donors():
    few, many = carried([-0.5] * 2).sd, carried([-0.5] * 8).sd
    assert carried([-0.5]).sd > 3.5 * many
    assert 2.6 * many > few > 1.3 * many
    assert carried([-0.5] * 8, reach=2).sd > many
    assert carried([-0.8, -0.2] * 4).sd > 2 * many
    assert carried([-0.5] * 8, outside=0.3).sd > many


COUNTS = (1, 2, 4, 8, 16, 32, 64)


def between(donors, targets, known=(1, 64)):
    """Times between two own counts of `law(1, 60)`, alone and with some donors."""
    here = curves([law(1, 60, known)])
    told = donated_curve(here, curves(donors), np.arange(len(donors))[None], targets)
    return curve_from(here.p, here.time, here.count, here.noise, targets), told


def test_donors_that_were_not_run_between_either_have_no_say():
    targets = np.array([2.0, 8, 32])
    plain, told = between([law(2, 130, (1, 64)), law(3, 200, (1, 256))], targets)
    assert told.curve.log_time.tolist() == plain.log_time.tolist()
    assert told.curve.half_width.tolist() == plain.half_width.tolist()
    assert np.all(told.share == 0)
    plain, one_was = between([law(2, 130, COUNTS), law(3, 200, (1, 64))], targets)
    assert np.abs(one_was.curve.log_time - plain.log_time).max() > 0.03
    assert np.all(one_was.weights[0] == [1, 0])


def test_a_donor_is_compared_up_to_its_own_last_count():
    rising = {p: float(p) for p in (1, 2, 4, 8, 16, 32, 40)}
    for known in ((1, 2, 4, 40), (1, 2, 4, 44), (1, 2, 4, 8, 64)):
        here = curves([law(0, 100, known)])
        told = donated_curve(here, curves([rising]), np.array([[0]]), np.array([128.0]))
        assert told.contradicts.tolist() == [[True]]


def test_a_donor_whose_runs_scatter_keeps_its_say_beyond_its_last_one():
    elsewhere = curves([law(1 + x / 10, 100, (1, 2, 4, 8, 16, 32)) for x in range(4)])
    noisy = replace(elsewhere, noise=np.array([0.25, 0.25, 0.25, 0.02]))
    here = curves([{4: 26.0}])
    told = donated_curve(here, noisy, np.arange(4)[None], np.array([32.0, 33.0]))
    assert np.all(told.weights > 0.15)
    assert told.curve.half_width[0, 1] == pytest.approx(told.curve.half_width[0, 0], rel=0.25)


def test_series_are_answered_alike_alone_and_together():
    rows = [law(1, 100, (4,)), law(2, 90, (1, 2, 4)), law(3, 100, (2, 4))]
    elsewhere = curves([law(1, 80), law(2, 200), law(0.5, 50), law(4, 44, (1, 2))])
    of = np.array([[0, 1, 2], [3, 0, -1], [-1, -1, -1]])
    targets = np.array([1.0, 8, 64])
    together = donated_curve(curves(rows), elsewhere, of, targets)
    for i, row in enumerate(rows):
        alone = donated_curve(curves([row]), elsewhere, of[i : i + 1], targets)
        assert alone.curve.log_time[0] == pytest.approx(together.curve.log_time[i])
        assert alone.curve.half_width[0] == pytest.approx(together.curve.half_width[i])
    plain = curve_from(
        *(np.array(x)[None] for x in ([2.0, 4], [53.0, 28])),
        np.array([2]),
        np.array([0.02]),
        targets,
    )
    assert together.curve.log_time[2] == pytest.approx(plain.log_time[0])
    assert together.curve.half_width[2] == pytest.approx(plain.half_width[0])


@given(
    seed=st.integers(0, 10**6),
    last=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    own=st.integers(1, 4),
)
def test_the_band_has_no_cliff_where_a_donor_ends(seed, last, own):
    random = np.random.default_rng(seed)
    rows = []
    for k in last:
        serial, scale = random.uniform(0, 0.15), 10 ** random.uniform(0, 2)
        counts = 2.0 ** np.arange(k + 1)
        noise = np.exp(random.normal(scale=0.02, size=len(counts)))
        times = scale * (serial + (1 - serial) / counts) * noise
        rows.append(dict(zip(counts.tolist(), times.tolist(), strict=True)))
    here = curves([{2.0**k: 50 * (0.05 + 0.95 / 2**k) for k in range(own)}])
    elsewhere, of = curves(rows), np.arange(len(rows))[None]
    p = np.geomspace(2.0 ** (own - 1) * 1.001, 1024, 400)

    def ends(counts):
        return np.stack(donated_curve(here, elsewhere, of, counts).curve.ends)[:, 0]

    # between the two counts where an end moves most, it moves less the closer one looks
    steps = np.abs(np.diff(ends(p)))
    place = int(np.argmax(steps.max(axis=0)))
    closer = np.geomspace(p[place], p[place + 1], 400)
    assert np.abs(np.diff(ends(closer))).max() < max(0.1 * steps.max(), 1e-3)


def test_an_only_step_that_differs_from_those_of_all_donors_is_not_carried_far():
    """A second run 24% faster than the first, where others are 45%, made 2 s into 43 s."""
    elsewhere = curves([law(a, b, COUNTS) for a, b in ((0.2, 200), (0.5, 300), (1, 260))])
    of, at = np.array([[0, 1, 2]]), np.array([256.0])
    one = donated_curve(curves([{1: 245.0}]), elsewhere, of, at)
    two = donated_curve(curves([{1: 245.0, 2: 187.0}]), elsewhere, of, at)
    assert two.share[0, 0] > 0.9
    assert np.exp(abs(two.curve.log_time - one.curve.log_time)) < 2.5


def test_two_runs_that_nearly_are_one_have_no_say_far_away():
    elsewhere = curves([law(a, b, COUNTS) for a, b in ((1, 200), (2, 300))])
    here = curves([{100: 3.0, 101: 3.3}])
    told = donated_curve(here, elsewhere, np.array([[0, 1]]), np.array([256.0]))
    assert told.share[0, 0] > 0.8
