"""Derivatives of response times in `two_queues` and `clusters`, against three other routes.

Exact mean value analysis by complex steps, normalising constants in a hundred digits, and central
differences of the values. Errors of a slope are told relative to the larger of it and response
time over demand.
"""

import itertools
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parcast.queueing import cluster_integral
from parcast.queueing import two_queues as module
from parcast.queueing.clusters import Clusters, clusters
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.two_queues import TwoQueues, two_queues

STEP = 1e-40  # of the imaginary part: its square is nothing beside 1

magnitudes = st.one_of(st.floats(-8, 8), st.floats(-1, 1)).map(lambda e: 10.0**e)
times = st.one_of(st.just(0.0), magnitudes)
crowds = st.one_of(st.floats(-0.05, 0.05), st.floats(-1, 1), st.floats(-8, 8)).map(
    lambda e: 10.0**e
)
gaps = st.one_of(  # y/x - 1, from far to next to nothing
    st.just(0.0),
    st.floats(-12, 4).map(lambda e: 10.0**e),
    st.floats(-12, -0.01).map(lambda e: -(10.0**e)),
    st.just(-1.0),
)


def table(means):
    """Responses, shape (2, ...), and slopes, shape (2, 3, ...), of either solver."""
    slopes = means.response_slopes
    rows = np.array([getattr(slopes, name) for name in type(slopes).__dataclass_fields__])
    names = [n for n in type(means).__dataclass_fields__ if n in responses]
    values = np.array([getattr(means, name) for name in names])
    return values, rows.reshape(2, 3, *rows.shape[1:])


responses = ("response_x", "response_y", "response_own", "response_shared")


def check(got, values, expected, demands, tolerance):
    """Every slope, relative to the larger of it and of response over demand."""
    for i, j in itertools.product(range(2), range(3)):
        exact, off = expected[i][j], abs(got[i][j] - expected[i][j])
        natural = values[i] / demands[j] if demands[j] > 0 else 1e-2
        scale = max(abs(exact), natural, 1e-200)
        assert off <= tolerance * scale, (i, j, float(off / scale), float(exact))


def two_by_recursion(n, demands):
    """Responses and their slopes by mean value analysis, one demand complex at a time."""
    slopes = [[0] * 3, [0] * 3]
    for j in range(3):
        z, x, y = (mpmath.mpc(d, STEP * (i == j)) for i, d in enumerate(demands))
        at_x = at_y = 0
        for present in range(1, n + 1):
            values = x * (1 + at_x), y * (1 + at_y)
            throughput = present / (z + sum(values))
            at_x, at_y = (throughput * value for value in values)
        for i in range(2):
            slopes[i][j] = values[i].imag / STEP
    return [value.real for value in values], slopes


# two queues: values


@settings(deadline=None)
@given(n=st.integers(1, 120), x=magnitudes, gap=gaps, crowd=st.one_of(st.just(0.0), crowds))
@example(n=2, x=1.0, gap=0.0, crowd=1.0)
@example(n=100, x=1.0, gap=-0.1361, crowd=1.07)
@example(n=100, x=1.0, gap=-0.0123, crowd=0.0)
@example(n=100, x=1.0, gap=-1.0, crowd=1e8)
def test_any_network_agrees_with_the_recursion_by_complex_steps(n, x, gap, crowd):
    demands = n * x * crowd, x, x * (1.0 + gap)
    means = two_queues(n, **dict(zip(("delay", "x", "y"), demands, strict=True)), slopes=True)
    with mpmath.workdps(60):
        values, expected = two_by_recursion(n, demands)
        check(table(means)[1], values, expected, demands, 1e-10)


def test_ten_thousand_customers_agree_with_the_recursion_in_long_double():
    """At saturation, near it on both sides, and far below; equal, near and distant queues."""
    n = 10_000
    crowd = np.array([0.0, 1e-3, 0.5, 0.98, 0.999, 1.0, 1.01, 1.07, 1.5, 30.0])[:, None]
    gap = np.array([0.0, 1e-9, 1e-5, 1e-4, 3e-4, 1e-3, 5e-3, 0.02, 0.1361, 0.5, 0.99, 1.0])
    z, x, y = (v.ravel() for v in np.broadcast_arrays(n * crowd, 1.0, 1.0 - gap))
    demands = np.array([z, x, y], dtype=np.longdouble)
    length, by = np.zeros((2, z.size), np.longdouble), np.zeros((2, 3, z.size), np.longdouble)
    for present in range(1, n + 1):
        values, slopes = demands[1:] * (1 + length), demands[1:, None] * by
        slopes[0, 1] += 1 + length[0]
        slopes[1, 2] += 1 + length[1]
        cycle, by_cycle = z + values.sum(axis=0), slopes.sum(axis=0)
        by_cycle[0] += 1
        length = present / cycle * values
        by = present / cycle * (slopes - values[:, None] * by_cycle / cycle)
    got = table(two_queues(n, delay=z, x=x, y=y, slopes=True))[1]
    for k in range(z.size):
        check(got[..., k], values[:, k], slopes[..., k], demands[:, k], 1e-10)


def by_constants(customers, demands):
    """Responses and slopes from second differences of the constant, for any real customers."""
    n = mpmath.mpf(customers) - 1
    at = [mpmath.mpf(v) for v in demands]
    steps = [v * mpmath.mpf("1e-22") for v in at]

    def log_constant(*moved):
        z, *both = (v + h * k for v, h, k in zip(at, steps, moved, strict=True))
        x, y = (v ** (n + 1) * mpmath.exp(z / v) * mpmath.gammainc(n + 1, z / v) for v in both)
        return mpmath.log((x - y) / (both[0] - both[1]))

    g = cache(log_constant)
    values, slopes = [], []
    for i in (1, 2):
        up = np.eye(3, dtype=int)[i]
        first = (g(*up) - g(*-up)) / (2 * steps[i])
        values.append(at[i] + at[i] ** 2 * first)
        row = []
        for j in range(3):
            side = np.eye(3, dtype=int)[j]
            ends = g(*(up + side)) - g(*(up - side)) - g(*(side - up)) + g(*(-up - side))
            row.append(at[i] ** 2 * ends / (4 * steps[i] * steps[j]))
        row[i] += 1 + 2 * at[i] * first
        slopes.append(row)
    return values, slopes


@pytest.mark.parametrize("customers", [1 + 1e-5, 1.3, 2 + 1e-6, 2.5, 7.25, 60.5, 1e4])
@pytest.mark.parametrize(
    ("crowd", "x", "y"),
    [(1.02, 1.0, 0.999), (0.4, 0.3, 2.0), (1.3, 1.0, 0.8), (1e-9, 2.0, 1.9), (1e4, 0.2, 0.01)],
)
def test_customers_between_whole_numbers_agree_with_constants(customers, crowd, x, y):
    demands = customers * crowd * max(x, y), x, y
    with mpmath.workdps(90):
        values, expected = by_constants(customers, demands)
        means = two_queues(customers, delay=demands[0], x=x, y=y, slopes=True)
        check(table(means)[1], values, expected, demands, 1e-10)


# two queues: laws


def differences(solve, demands, i, step):
    """Central differences of both responses by one demand, step relative to it."""
    ends = []
    for sign in (1, -1):
        moved = [d * (1 + sign * step * (i == j)) for j, d in enumerate(demands)]
        means = solve(*moved)
        names = [n for n in type(means).__dataclass_fields__ if n in responses]
        ends.append(np.array([getattr(means, n) for n in names]))
    return (ends[0] - ends[1]) / (2 * step)  # times the demand


@settings(deadline=None)
@given(n=st.floats(1, 1e6), x=magnitudes, gap=gaps, crowd=crowds)
def test_two_queues_agree_with_central_differences_of_their_values(n, x, gap, crowd):
    demands = n * x * crowd, x, x * (1.0 + gap)
    solve = lambda z, x, y, **how: two_queues(n, delay=z, x=x, y=y, **how)  # noqa: E731 - a formula
    values, slopes = table(solve(*demands, slopes=True))
    scaled = np.abs(slopes * np.array(demands)).max(axis=1)
    elastic = (scaled / np.maximum(values, 1e-200)).max() + n**0.5
    for j, demand in enumerate(demands):
        found = differences(solve, demands, j, 1e-4 / elastic)
        assert (np.abs(slopes[:, j] * demand - found) <= 1e-5 * elastic * values).all()


@settings(deadline=None)
@given(
    n=st.one_of(st.floats(1, 1e6), st.integers(1, 10)),
    x=times,
    y=times,
    delay=magnitudes,
    crowd=st.booleans(),
)
def test_slopes_of_two_queues_keep_signs_and_sums(n, x, y, delay, crowd):
    """Responses have the degree 1 in the demands; with the delay they sum to the cycle."""
    delay *= n * max(x, y) if crowd and max(x, y) > 0 else 1.0
    means = two_queues(n, delay=delay, x=x, y=y, slopes=True)
    values, slopes = table(means)
    demands = np.array([delay, x, y])
    noise = 1e-9 * (values + np.abs(slopes * demands).max(axis=1))
    assert (np.abs((slopes * demands).sum(axis=1) - values) <= noise).all()
    by = np.array([getattr(means, f"throughput_by_{name}") for name in ("delay", "x", "y")])
    cycle = -n * by / means.throughput**2 * demands
    total = slopes.sum(axis=0) * demands + [delay, 0.0, 0.0]
    largest = (np.abs(slopes * demands)).max() + n / means.throughput
    assert np.abs(total - cycle).max() <= (1e-11 + 1e-14 * n) * largest
    assert ((slopes[:, 0] <= 0) & (slopes[:, 0] >= -1 - 1e-14)).all()
    assert slopes[0, 2] <= 0 >= slopes[1, 1]
    assert min(slopes[0, 1], slopes[1, 2]) >= 1


@given(n=st.floats(2, 1e6), crowd=crowds, x=magnitudes)
def test_a_queue_without_service_leaves_the_slopes_of_the_machine_repairman(n, crowd, x):
    delay = n * x * crowd
    alone = repairman_equilibrium(n, delay=delay, service=x).response
    for swapped in (False, True):
        both = (0.0, x) if swapped else (x, 0.0)
        found = two_queues(n, delay=delay, x=both[0], y=both[1], slopes=True)
        slopes = table(found)[1][::-1, [0, 2, 1]] if swapped else table(found)[1]
        natural = float(alone.value / delay)
        assert slopes[0, 0] == pytest.approx(float(alone.by_delay), rel=1e-9, abs=1e-10 * natural)
        assert slopes[0, 1] == pytest.approx(float(alone.by_service), rel=1e-9)
        assert slopes[0, 2] == pytest.approx(float(alone.by_delay), rel=1e-9, abs=1e-10)
        assert slopes[1, :2].tolist() == [0.0, 0.0]


@given(delay=times, x=magnitudes, y=times)
def test_a_lone_customer_waits_for_nobody_whatever_the_demands(delay, x, y):
    slopes = table(two_queues(1, delay=delay, x=x, y=y, slopes=True))[1]
    np.testing.assert_array_equal(slopes, [[0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("n", [2, 3, 17.5, 1e3, 1e6])
def test_equal_queues_without_delay_hold_any_division_of_the_others_as_often(n):
    others = n - 1
    slopes = table(two_queues(n, delay=0.0, x=0.3, y=0.3, slopes=True))[1]
    pair = others * (others + 2) / 12  # variance of a whole number from 0 to the others
    expected = [1 + others / 2 + pair, -pair]
    np.testing.assert_allclose(slopes[0, 1:], expected, rtol=1e-12)
    np.testing.assert_allclose(slopes[1, :0:-1], expected, rtol=1e-12)


def test_demands_three_hundred_decades_apart_have_finite_slopes():
    draw = np.random.default_rng(4)
    n = draw.choice([1, 2, 3, 1.2, 1.9, 10, 1e3, 1e6, 1e7], 30_000)
    z, x, y = 10.0 ** draw.uniform(-150, 150, (3, n.size)) * draw.choice([0, 1, 1], (3, n.size))
    y = np.where(draw.random(n.size) < 0.2, x * 1.0001, y)
    some = z + x + y > 0
    means = two_queues(n[some], delay=z[some], x=x[some], y=y[some], slopes=True)
    assert np.isfinite(table(means)[1]).all()


def test_slopes_hold_where_the_methods_meet(monkeypatch):
    n = np.geomspace(2, 1e5, 40)[:, None]
    gap = np.geomspace(0.05, 2, 40) / (1 + n / 3)
    answers = []
    for close in (module.SLOPES_CLOSE, module.CLOSE):
        monkeypatch.setattr(module, "SLOPES_CLOSE", close)
        answers.append(table(two_queues(n, delay=n / 2, x=1.0, y=1 / (1 + gap), slopes=True))[1])
    np.testing.assert_allclose(*answers, rtol=1e-7)


# clusters: values


def clusters_by_recursion(customers, demands):
    """Responses of every cluster and their slopes by exact mean value analysis."""
    every = range(len(customers))
    slopes = np.zeros((2, 3, len(customers)))
    for j in range(3):
        z, own, shared = (complex(d, STEP * (i == j)) for i, d in enumerate(demands))
        lengths = {}
        for state in itertools.product(*(range(k + 1) for k in customers)):
            found, seen = {}, [(0.0, 0.0)] * len(customers)
            for g in (g for g in every if state[g]):
                before = lengths[(*state[:g], state[g] - 1, *state[g + 1 :])]
                found[g] = own * (1 + before[g][0]), shared * (1 + sum(b for _, b in before))
                throughput = state[g] / (z + sum(found[g]))
                seen[g] = tuple(throughput * response for response in found[g])
            lengths[state] = seen
        for i, g in itertools.product(range(2), every):
            slopes[i, j, g] = found[g][i].imag / STEP
    return np.array([[found[g][i].real for g in every] for i in range(2)]), slopes


@settings(deadline=None)
@given(
    customers=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    delay=times,
    own=magnitudes,
    shared=times,
)
@example(customers=[3, 3, 2], delay=1.0, own=0.5, shared=0.2)
@example(customers=[1, 4, 4], delay=0.0, own=1.0, shared=1 / 3)
@example(customers=[2, 3], delay=2.0, own=0.0, shared=0.5)
@example(customers=[1], delay=2.0, own=1.5, shared=0.5)
def test_small_clusters_agree_with_the_recursion_by_complex_steps(customers, delay, own, shared):
    demands = delay, own, shared
    network = clusters(customers, 1, delay=delay, own=own, shared=shared, slopes=True)
    values, expected = clusters_by_recursion(customers, demands)
    got = table(network)[1]
    for g in range(len(customers)):
        # With hardly any time but at the shared queue, nodes end where slopes still have a say.
        tolerance = 1e-9 if delay + own > 1e-5 * shared else 1e-6
        check(got[..., g], values[:, g], expected[..., g], demands, tolerance)


def test_groups_of_several_clusters_agree_with_as_many_groups_of_one():
    """Also beside a group of clusters without customers, and one without clusters."""
    demands = 0.8, 0.5, 0.3
    names = dict(zip(("delay", "own", "shared"), demands, strict=True))
    got = table(clusters([2, 0, 3, 5], [2, 4, 1, 0], **names, slopes=True))[1]
    values, expected = clusters_by_recursion([2, 2, 3], demands)
    for here, there in ((0, 0), (0, 1), (2, 2)):
        check(got[..., here], values[:, there], expected[..., there], demands, 1e-12)
    np.testing.assert_array_equal(got[..., 1], 0.0)


def test_slopes_of_hard_integrands_do_not_change_with_finer_nodes(monkeypatch):
    """Queues that saturate together, with and without delay, up to 300,000 customers."""
    draw = np.random.default_rng(7)
    points = 400
    k = np.floor(10.0 ** draw.uniform(0, 3, points))
    customers = np.stack([k, k + 1], axis=-1)
    count = np.floor(10.0 ** draw.uniform(0, 2.5, (points, 2)))
    own = 10.0 ** draw.normal(size=points)
    ratio = 1 + draw.choice([0, 1e-3, -1e-3, 0.02, -0.02, 0.3, -0.5, 100], points)
    delay = own * k * draw.choice([0, 1e-3, 0.1, 1, 3, 100], points)
    demands = delay, own, own / count.sum(axis=-1) * ratio
    names = dict(zip(("delay", "own", "shared"), demands, strict=True))
    got = table(clusters(customers, count, **names, slopes=True))[1]
    monkeypatch.setattr(cluster_integral, "HALVES", (12,))
    monkeypatch.setattr(cluster_integral, "DROP", 40.0)
    values, fine = table(clusters(customers, count, **names, slopes=True))
    for p, g in itertools.product(range(points), range(2)):
        here = tuple(d[p] for d in demands)
        check(got[..., p, g], values[..., p, g], fine[..., p, g], here, 1e-9)


# clusters: laws


@settings(deadline=None)
@given(k=st.integers(1, 10**4), crowd=crowds, own=magnitudes, gap=gaps)
def test_one_cluster_has_the_slopes_of_two_queues(k, crowd, own, gap):
    demands = k * own * crowd, own, own * (1.0 + gap)
    one = clusters([k], [1], delay=demands[0], own=own, shared=demands[2], slopes=True)
    two = two_queues(k, delay=demands[0], x=own, y=demands[2], slopes=True)
    values, expected = table(two)
    check(table(one)[1][..., 0], values, expected, demands, 1e-9)


@settings(deadline=None)
@given(
    k=st.integers(1, 300),
    count=st.tuples(st.integers(1, 100), st.integers(0, 100)),
    crowd=crowds,
    ratio=st.one_of(magnitudes, st.sampled_from([1.0, 0.99, 1.02])),
)
def test_clusters_agree_with_central_differences_and_sums(k, count, crowd, ratio):
    demands = k * crowd, 1.0, ratio / sum(count)
    solve = lambda z, y, x, **how: clusters(  # noqa: E731 - a formula
        [k + 1, k], count, delay=z, own=y, shared=x, **how
    )
    network = solve(*demands, slopes=True)
    values, slopes = table(network)
    scaled = slopes * np.array(demands)[:, None]
    largest = np.abs(scaled).max(axis=1) + values
    assert (np.abs(scaled.sum(axis=1) - values) <= 1e-9 * largest).all()
    by = [getattr(network, f"throughput_by_{name}") for name in ("delay", "own", "shared")]
    customers = np.array([k + 1.0, k])
    cycle = -customers / network.throughput**2 * by * np.array(demands)[:, None]
    total = scaled.sum(axis=0) + np.array([demands[0], 0.0, 0.0])[:, None]
    room = np.abs(scaled).max(axis=(0, 1)) + customers / network.throughput
    assert (np.abs(total - cycle) <= 1e-8 * room).all()
    elastic = (np.abs(scaled).max(axis=1) / values).max() + (k * sum(count)) ** 0.5
    for j in range(3):
        found = differences(solve, demands, j, 1e-4 / elastic)
        assert (np.abs(scaled[:, j] - found) <= 1e-5 * elastic * values).all()


@settings(deadline=None)
@given(k=st.integers(2, 300), d=st.integers(1, 100), crowd=crowds)
def test_clusters_with_one_kind_of_queue_have_the_slopes_of_machine_repairmen(k, d, crowd):
    delay = k * crowd
    own = table(clusters([k], [d], delay=delay, own=1.0, shared=0.0, slopes=True))[1][..., 0]
    alone = repairman_equilibrium(k, delay=delay, service=1.0).response
    for got, slope, demand in (
        (own[0, 0], alone.by_delay, delay),
        (own[0, 1], alone.by_service, 1.0),
    ):
        assert got == pytest.approx(float(slope), rel=1e-9, abs=1e-9 * float(alone.value) / demand)
    np.testing.assert_array_equal(own[1, :2], 0.0)
    assert own[1, 2] == pytest.approx(1.0, rel=1e-12)
    both = table(clusters([k], [d], delay=delay, own=0.0, shared=1.0, slopes=True))[1][..., 0]
    alone = repairman_equilibrium(k * d, delay=delay, service=1.0).response
    for got, slope, demand in (
        (both[1, 0], alone.by_delay, delay),
        (both[1, 2], alone.by_service, 1.0),
    ):
        assert got == pytest.approx(float(slope), rel=1e-9, abs=1e-9 * float(alone.value) / demand)
    np.testing.assert_array_equal(both[0, [0, 2]], 0.0)


# asked for, or not


def test_values_are_the_same_bits_whether_slopes_are_asked_for_or_not(monkeypatch):
    draw = np.random.default_rng(1)
    n = np.floor(10 ** draw.uniform(0, 3, (7, 40)))
    z, x, y = n * 10 ** draw.uniform(-2, 2, (7, 40)), 1.0, 10 ** draw.uniform(-0.1, 0.1, 40)
    monkeypatch.setattr(module, "BLOCK", 57)
    plain, more = (two_queues(n, delay=z, x=x, y=y, slopes=asked) for asked in (False, True))
    for name in list(TwoQueues.__dataclass_fields__)[:-1]:
        np.testing.assert_array_equal(getattr(plain, name), getattr(more, name))
    assert plain.response_slopes is None
    assert table(more)[1].shape == (2, 3, 7, 40)
    each, count = np.stack([n, n + 1], axis=-1), [2, 1]
    plain, more = (
        clusters(each, count, delay=z, own=x, shared=y, slopes=asked) for asked in (False, True)
    )
    for name in list(Clusters.__dataclass_fields__)[:-1]:
        np.testing.assert_array_equal(getattr(plain, name), getattr(more, name))
    assert plain.response_slopes is None
    assert table(more)[1].shape == (2, 3, 7, 40, 2)
