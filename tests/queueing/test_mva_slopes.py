"""Slopes of mean values and bounds: differences, identities, other solvers, and their edges.

Slopes are compared as t df/dt beside f, with t any delay or demand: what a per cent of t does.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.two_queues import two_queues
from tests.queueing.reference import mva_multiclass
from tests.queueing.reference.bounds import asymptotic_bounds, balanced_job_bounds
from tests.queueing.reference.mva import exact_mva
from tests.queueing.reference.mva_approximate import linearizer_mva, schweitzer_mva
from tests.queueing.reference.mva_multiclass import exact_multiclass_mva

CLASSED = [exact_multiclass_mva, schweitzer_mva, linearizer_mva]
BOUNDS = [asymptotic_bounds, balanced_job_bounds]
DEGREES = {"throughput": -1, "response_times": 1, "queue_lengths": 0, "utilisations": 0}
# Four points at STEP leave STEP^4 of the fifth derivative, which is as large as customers^5, and
# rounding (of approximations: what is left when they settle, 1e-12) divided by STEP.
STEP = 1e-3

seconds = st.one_of(st.integers(1, 4000).map(lambda n: n / 64), st.sampled_from([1e-3, 1e3]))
demand = st.one_of(st.just(0.0), seconds)


@st.composite
def networks(draw, *, most=8):
    """Customers, demands and delay of one class; no delay where a queue is surely used."""
    customers = draw(st.integers(1, most))
    demands = draw(st.lists(demand, min_size=1, max_size=4))
    return customers, demands, draw(demand if any(demands) else seconds)


@st.composite
def classed_networks(draw, *, most=3):
    """Customers, demands and delays of one to three classes and queues."""
    classes, queues = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    customers = draw(st.tuples(*[st.integers(1, most)] * classes))
    row = st.lists(demand, min_size=queues, max_size=queues)
    demands = draw(st.lists(row, min_size=classes, max_size=classes))
    delays = [draw(demand if any(row) else seconds) for row in demands]
    return customers, demands, delays


def all_times(demands, delay):
    """Delay and demands of each class on one last axis."""
    return np.concatenate([np.asarray(delay, float)[..., None], np.asarray(demands)], axis=-1)


def scaled(by_delay, by_demands, demands, delay):
    """The t df/dt for all times, as the last one or two axes (classes, 1 + queues)."""
    return np.concatenate([(by_delay * delay)[..., None], by_demands * demands], axis=-1)


def scaled_slopes(means, name, demands, delay):
    return scaled(*getattr(means.slopes, name), np.asarray(demands), np.asarray(delay))


def differences(solve, name, network):
    """The same from four points each, in one call of the solver."""
    customers, demands, delay = network
    times = all_times(demands, delay)
    moves = np.eye(times.size).reshape(-1, *times.shape)
    moved = times * (1.0 + STEP * np.multiply.outer([-2.0, -1.0, 1.0, 2.0], moves))
    answer = solve(customers, moved[..., 1:], moved[..., 0])
    value = np.asarray(getattr(answer, name))
    change = np.tensordot([1 / 12, -2 / 3, 2 / 3, -1 / 12], value, 1) / STEP
    return np.moveaxis(change, 0, -1).reshape(*value.shape[2:], *times.shape)


def assert_near(slopes, expected, value, tolerance):
    """Within a tolerance of the value itself; the response to a demand of 0 has t df/dt = 0."""
    extra = slopes.ndim - np.ndim(value)
    scale = np.abs(np.asarray(value)).reshape((*np.shape(value), *[1] * extra))
    assert slopes.shape == expected.shape
    assert (np.abs(slopes - expected) <= tolerance * scale).all()


# differences


@given(networks())
def test_slopes_of_one_class_are_what_small_changes_do(network):
    means = exact_mva(*network, slopes=True)
    for name in DEGREES:
        slopes = scaled_slopes(means, name, *network[1:])
        assert_near(slopes, differences(exact_mva, name, network), getattr(means, name), 1e-8)


@pytest.mark.parametrize(
    ("solve", "tolerance"),
    [(exact_multiclass_mva, 1e-8), (schweitzer_mva, 1e-7), (linearizer_mva, 1e-7)],
)
@given(network=classed_networks())
def test_slopes_of_classes_are_what_small_changes_do(solve, tolerance, network):
    means = solve(*network, slopes=True)
    for name in DEGREES:
        slopes = scaled_slopes(means, name, *network[1:])
        assert_near(slopes, differences(solve, name, network), getattr(means, name), tolerance)


@pytest.mark.parametrize("solve", BOUNDS)
@given(network=networks())
def test_slopes_of_bounds_are_what_small_changes_do_away_from_kinks(solve, network):
    customers, demands, delay = network
    bounds = solve(customers, demands, delay)
    first, second = ([*sorted(demands, reverse=True), 0.0])[:2]
    assume(second < 0.99 * first or first == 0.0)
    assume(abs(bounds.upper * first - 1.0) > 0.01 or customers == 1)
    for name in ("lower", "upper"):
        slopes = [getattr(bounds, f"{name}_by_{times}") for times in ("delay", "demands")]
        if name == "upper" and abs(bounds.upper * first - 1.0) <= 0.01:
            continue  # of one customer both terms may agree everywhere
        expected = differences(solve, name, network)
        assert_near(scaled(*slopes, demands, delay), expected, getattr(bounds, name), 1e-8)


def by_complex_steps(customers, demands, delay, steps):
    """Approximations and exact derivatives of every sweep, written out with complex numbers."""
    customers = np.asarray(customers, float)
    times = all_times(demands, delay)
    moves = np.eye(times.size).reshape(-1, *times.shape)
    times = times + 1e-30j * moves
    z, d = times[..., 0], times[..., 1:]
    classes = len(customers)

    def response(n, fraction, change):
        found = np.zeros_like(d)
        for c in range(classes):
            for i in range(classes):
                others = max(n[i] - (i == c), 0.0)
                found[:, c] += others * (fraction[:, i] + change[c][:, i])
        return d * (1.0 + found)

    def core(n, change):
        fraction = d / (z + d.sum(axis=-1))[..., None]
        for _ in range(400):
            r = response(n, fraction, change)
            fraction = r / (z + r.sum(axis=-1))[..., None]
        return fraction

    change = [np.zeros_like(d)] * classes  # of all fractions, by the class that departed
    for _ in range(steps):
        full = core(customers, change)
        change = [core(customers - leaving, change) - full for leaving in np.eye(classes)]
    r = response(customers, core(customers, change), change)
    x = customers / (z + r.sum(axis=-1))
    return {
        name: np.moveaxis(value.imag / 1e-30, 0, -1).reshape(*value.shape[1:], *moves.shape[1:])
        for name, value in {"throughput": x, "response_times": r}.items()
    }


@pytest.mark.parametrize(("solve", "steps"), [(schweitzer_mva, 0), (linearizer_mva, 2)])
@pytest.mark.parametrize(
    "network",
    [
        ([8, 1], [[1.0], [1.0]], [8.0, 0.0]),
        ([3, 5], [[0.5, 0.0, 1.0], [0.3, 2.0, 0.7]], [2.0, 1.0]),
        ([2, 1, 1.5], [[1.0, 2.0], [0.0, 1.0], [3.0, 0.2]], [0.5, 0.0, 4.0]),
    ],
)
def test_implicit_slopes_are_those_of_the_sweeps_that_are_made(solve, steps, network):
    means = solve(*network, slopes=True)
    for name, expected in by_complex_steps(*network, steps).items():
        slope = getattr(means.slopes, name)
        ours = np.concatenate([slope.by_delay[..., None], slope.by_demands], axis=-1)
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


# identities


@given(networks(most=60))
def test_euler_holds_for_one_class(network):
    means = exact_mva(*network, slopes=True)
    for name, degree in DEGREES.items():
        value = getattr(means, name)
        total = scaled_slopes(means, name, *network[1:]).sum(axis=-1)
        assert_near(total, degree * value, value, 1e-15 * (10 + network[0]))


@pytest.mark.parametrize(
    ("solve", "tolerance"),
    [(exact_multiclass_mva, 1e-14), (schweitzer_mva, 1e-13), (linearizer_mva, 1e-13)],
)
@settings(deadline=None)
@given(network=classed_networks())
def test_euler_holds_for_classes(solve, tolerance, network):
    means = solve(*network, slopes=True)
    for name, degree in DEGREES.items():
        value = getattr(means, name)
        total = scaled_slopes(means, name, *network[1:]).sum(axis=(-2, -1))
        assert_near(total, degree * value, value, tolerance)


@pytest.mark.parametrize("solve", BOUNDS)
@given(network=networks(most=60), alike=st.booleans())
def test_euler_holds_for_bounds_and_at_their_kinks(solve, network, alike):
    customers, demands, delay = network
    if alike:
        demands = [*demands, max(demands)]
    bounds = solve(customers, demands, delay)
    for name in ("lower", "upper"):
        value = getattr(bounds, name)
        slopes = [getattr(bounds, f"{name}_by_{times}") for times in ("delay", "demands")]
        assert_near(scaled(*slopes, demands, delay).sum(axis=-1), -value, value, 1e-14)


@given(network=classed_networks())
def test_classes_delay_each_other_alike(network):
    """With a product form dX_c/dZ_i = X_c (X_i(N - e_c) - X_i), which is symmetric."""
    slopes = exact_multiclass_mva(*network, slopes=True).slopes.throughput.by_delay
    np.testing.assert_allclose(slopes, slopes.T, rtol=1e-12, atol=1e-13 * np.abs(slopes).max())


@given(networks())
def test_one_class_has_the_same_slopes_among_several_classes(network):
    customers, demands, delay = network
    one = exact_mva(*network, slopes=True)
    many = exact_multiclass_mva([customers], [demands], [delay], slopes=True)
    for name in DEGREES:
        alone = scaled_slopes(one, name, demands, delay)
        among = scaled_slopes(many, name, [demands], [delay])
        assert_near(among[0].reshape(alone.shape), alone, getattr(one, name), 1e-13)


# other solvers


@given(st.integers(1, 300), seconds, demand)
def test_slopes_of_one_queue_are_those_of_the_repairman(n, service, delay):
    means = exact_mva(n, [service], delay, slopes=True)
    other = repairman_equilibrium(n, delay=delay, service=service)
    pairs = {
        "throughput": other.throughput,
        "response_times": other.response,
        "queue_lengths": other.length,
        "utilisations": other.utilisation,
    }
    for name, expected in pairs.items():
        slopes = scaled_slopes(means, name, [service], delay).reshape(2)
        theirs = np.array([expected.by_delay * delay, expected.by_service * service])
        assert_near(slopes, theirs, expected.value, 1e-15 * (10 + n))


@given(st.integers(1, 300), seconds, seconds, demand)
def test_slopes_of_two_queues_are_those_of_the_closed_form(n, x, y, delay):
    slopes = scaled_slopes(exact_mva(n, [x, y], delay, slopes=True), "throughput", [x, y], delay)
    other = two_queues(n, delay=delay, x=x, y=y)
    theirs = [
        other.throughput_by_delay * delay,
        other.throughput_by_x * x,
        other.throughput_by_y * y,
    ]
    assert_near(slopes, np.array(theirs), other.throughput, 2e-15 * (10 + n))


# edges


@pytest.mark.parametrize("solve", CLASSED)
def test_a_lone_customer_never_waits(solve):
    """X = 1/T and R = D."""
    slopes = solve([1], [[0.5, 1.5, 0.0]], [2.0], slopes=True).slopes
    np.testing.assert_allclose(slopes.throughput.by_delay, [[-1 / 16]], rtol=1e-15)
    np.testing.assert_allclose(slopes.throughput.by_demands, [[[-1 / 16] * 3]], rtol=1e-15)
    np.testing.assert_array_equal(slopes.response_times.by_delay, np.zeros((1, 3, 1)))
    np.testing.assert_allclose(slopes.response_times.by_demands[0, :, 0], np.eye(3), atol=1e-15)


@pytest.mark.parametrize("solve", CLASSED)
@pytest.mark.parametrize(
    ("class_of", "place"), [(0, 0), (0, 1), (1, 2)], ids=["delay", "demand", "other class"]
)
def test_slopes_by_a_time_of_0_are_the_limit_from_above(solve, class_of, place):
    def at(time):
        times = np.array([[2.0, 0.5, 1.0], [1.0, 0.3, 0.7]])
        times[class_of, place] = time
        return solve([3, 2], times[:, 1:], times[:, 0], slopes=True).slopes

    for name in DEGREES:
        for zero, near in zip(getattr(at(0.0), name), getattr(at(1e-8), name), strict=True):
            np.testing.assert_allclose(zero, near, rtol=1e-5, atol=1e-6)


def test_queues_that_nobody_uses_are_felt_as_soon_as_somebody_does():
    """The first customers of a queue wait for nobody: R = D and X falls by X/T."""
    means = exact_mva(6, [0.0, 0.0], 3.0, slopes=True)
    np.testing.assert_allclose(means.slopes.throughput.by_demands, [-2 / 3] * 2, rtol=1e-15)
    np.testing.assert_array_equal(means.slopes.response_times.by_demands, np.eye(2))


@pytest.mark.parametrize("solve", BOUNDS)
def test_bounds_without_queues_slope_as_the_delay_does(solve):
    bounds = solve(6, [0.0, 0.0], 3.0)
    assert float(bounds.lower_by_delay) == float(bounds.upper_by_delay) == -2 / 3
    np.testing.assert_array_equal(bounds.upper_by_demands, [-2 / 3] * 2)
    lower = -4.0 if solve is asymptotic_bounds else -2 / 3  # N waits, if for all others
    np.testing.assert_allclose(bounds.lower_by_demands, [lower] * 2, rtol=1e-15)


def test_queues_as_busy_share_the_slope_of_the_busiest():
    bounds = asymptotic_bounds(50, [0.5, 1.0, 1.0, 1.0], 2.0)
    np.testing.assert_array_equal(bounds.upper_by_demands, [0.0, -1 / 3, -1 / 3, -1 / 3])
    assert bounds.upper_by_delay == 0.0


def test_terms_that_tie_give_the_mean_of_their_slopes():
    """4 / (2 + 0.5 + 1.5) is 1, and so is 1 / D_max of [1, 1]; half of either, as differences."""
    network = (4, [0.5, 0.5, 1.0], 2.0)
    bounds = asymptotic_bounds(*network)
    assert bounds.upper == 1.0
    assert bounds.upper_by_delay == -1 / 8
    np.testing.assert_array_equal(bounds.upper_by_demands, [-1 / 8, -1 / 8, -5 / 8])
    slopes = scaled(bounds.upper_by_delay, bounds.upper_by_demands, network[1], network[2])
    np.testing.assert_allclose(slopes, differences(asymptotic_bounds, "upper", network), rtol=0.01)


# shape


def test_slopes_have_the_axes_of_the_mean_and_then_of_the_times():
    slopes = exact_mva([[1], [2]], [[0.1, 0.2]] * 3, slopes=True).slopes
    assert [x.shape for x in slopes.throughput] == [(2, 3), (2, 3, 2)]
    for name in ("response_times", "queue_lengths", "utilisations"):
        assert [x.shape for x in getattr(slopes, name)] == [(2, 3, 2), (2, 3, 2, 2)]
    for solve in CLASSED:
        slopes = solve([2, 1], np.ones((3, 1, 2, 4)), np.ones((5, 2)), slopes=True).slopes
        assert [x.shape for x in slopes.throughput] == [(3, 5, 2, 2), (3, 5, 2, 2, 4)]
        for name in ("response_times", "queue_lengths", "utilisations"):
            shapes = [x.shape for x in getattr(slopes, name)]
            assert shapes == [(3, 5, 2, 4, 2), (3, 5, 2, 4, 2, 4)]
    for solve in BOUNDS:
        bounds = solve([[1], [2]], [[0.1, 0.2]] * 3)
        assert bounds.lower_by_delay.shape == bounds.upper_by_delay.shape == (2, 3)
        assert bounds.lower_by_demands.shape == bounds.upper_by_demands.shape == (2, 3, 2)


def test_no_networks_have_empty_slopes():
    slopes = exact_mva([], [0.1, 0.2], 1.0, slopes=True).slopes
    assert slopes.response_times.by_demands.shape == (0, 2, 2)
    for solve in CLASSED:
        slopes = solve(np.empty((0, 2)), [[0.1], [0.2]], 1.0, slopes=True).slopes
        assert slopes.throughput.by_delay.shape == (0, 2, 2)
        assert slopes.queue_lengths.by_demands.shape == (0, 2, 1, 2, 1)
    for solve in BOUNDS:
        assert solve([], [0.1, 0.2]).upper_by_demands.shape == (0, 2)


@pytest.mark.parametrize("solve", CLASSED)
def test_networks_solved_together_have_the_slopes_they_have_alone(solve):
    customers = np.array([[2, 5], [4, 1], [1, 3]])
    demands = np.array([[[0.1, 0.0, 0.3], [0.2, 0.4, 0.0]]] * 3) * [[[1.0]], [[2.0]], [[0.5]]]
    delay = np.array([1.0, 0.0])
    together = solve(customers, demands, delay, slopes=True).slopes
    for i in range(3):
        alone = solve(customers[i], demands[i], delay, slopes=True).slopes
        for name in DEGREES:
            for ours, theirs in zip(getattr(together, name), getattr(alone, name), strict=True):
                np.testing.assert_allclose(ours[i], theirs, rtol=1e-9, atol=1e-9)


def test_small_populations_beside_large_ones_have_the_slopes_they_have_alone():
    together = exact_mva([1, 7, 3], [0.5, 1.0], 2.0, slopes=True).slopes
    for i, n in enumerate([1, 7, 3]):
        alone = exact_mva(n, [0.5, 1.0], 2.0, slopes=True).slopes
        for name in DEGREES:
            for ours, theirs in zip(getattr(together, name), getattr(alone, name), strict=True):
                np.testing.assert_array_equal(ours[i], theirs)


@pytest.mark.parametrize("solve", CLASSED)
def test_means_are_the_same_with_slopes_and_have_none_unasked(solve):
    network = ([3, 2], [[0.5, 1.0, 0.0], [0.3, 0.7, 2.0]], [2.0, 0.0])
    one = (exact_mva, (5, [0.3, 0.7, 2.0], 0.1))
    for ask, arguments in (one, (solve, network)):
        without, with_them = ask(*arguments), ask(*arguments, slopes=True)
        assert without.slopes is None
        for name in DEGREES:
            np.testing.assert_array_equal(getattr(without, name), getattr(with_them, name))


def test_the_bound_of_the_state_space_counts_the_slopes(monkeypatch):
    network = ([3, 2], [[1.0], [2.0]])
    numbers = 4 * 3 * 2 * (1 + 4)  # two delays and two demands
    monkeypatch.setattr(mva_multiclass, "MOST_NUMBERS", numbers)
    assert exact_multiclass_mva(*network, slopes=True).slopes is not None
    monkeypatch.setattr(mva_multiclass, "MOST_NUMBERS", numbers - 1)
    assert exact_multiclass_mva(*network).slopes is None
    with pytest.raises(ParameterError) as caught:
        exact_multiclass_mva(*network, slopes=True)
    assert str(caught.value) == (
        "(N1 + 1)(N2 + 1)... times networks, classes, queues and slopes must be at most 119, got "
        "12 * 10. Use linearizer_mva, or clusters for classes that share one queue."
    )
