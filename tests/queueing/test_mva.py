"""Mean value analysis against state sums in fractions, published values, its laws, and bad input.

The independent route is the product form itself: every state of a small network is weighed by
``product over queues of (sum n_cj)! product over c of D_cj^n_cj / n_cj!`` and of the delay by
``Z^n / n!``, exactly; throughput is a ratio of two such sums.
"""

import csv
from fractions import Fraction
from functools import cache
from itertools import product
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from tests.queueing.reference import mva_approximate, mva_multiclass
from tests.queueing.reference.bounds import asymptotic_bounds, balanced_job_bounds
from tests.queueing.reference.mva import exact_mva
from tests.queueing.reference.mva_approximate import linearizer_mva, schweitzer_mva
from tests.queueing.reference.mva_multiclass import exact_multiclass_mva

DATA = Path(__file__).parent / "data"
SOLVERS = {
    "exact": exact_multiclass_mva,
    "schweitzer": schweitzer_mva,
    "linearizer": linearizer_mva,
}
CLASSED = list(SOLVERS.values())
ONE_CLASS = [exact_mva, asymptotic_bounds, balanced_job_bounds]

few_digits = st.integers(1, 4000).map(lambda n: n / 64)  # so that fractions stay short
seconds = st.one_of(few_digits, st.sampled_from([1e-3, 1e3]))
demand = st.one_of(st.just(0.0), seconds)


@cache
def ways(customers, places):
    """Every way to put some customers in some places."""
    if places == 1:
        return [(customers,)]
    return [(n, *rest) for n in range(customers + 1) for rest in ways(customers - n, places - 1)]


def weight(state, demands, delays):
    """Product form of one state: for each class, customers at the delay and then at each queue."""
    value = Fraction(1)
    for (away, *_), delay in zip(state, delays, strict=True):
        value *= delay**away / factorial(away)
    for j in range(len(demands[0])):
        here = [n[1 + j] for n in state]
        value *= factorial(sum(here))
        for n, row in zip(here, demands, strict=True):
            value *= row[j] ** n / factorial(n)
    return value


def by_states(customers, demands, delays):
    """Throughput of each class and queue lengths of each class, from all states."""
    demands = [[Fraction(x) for x in row] for row in demands]
    delays = [Fraction(x) for x in delays]
    places = 1 + len(demands[0])

    def states(numbers):
        return product(*(ways(n, places) for n in numbers))

    def constant(numbers):
        return sum(weight(s, demands, delays) for s in states(numbers))

    whole = constant(customers)
    one_less = [
        tuple(n - (i == c) for i, n in enumerate(customers)) for c in range(len(customers))
    ]
    lengths = [
        [
            float(sum(s[c][1 + j] * weight(s, demands, delays) for s in states(customers)) / whole)
            for j in range(places - 1)
        ]
        for c in range(len(customers))
    ]
    return [float(constant(n) / whole) for n in one_less], lengths


@st.composite
def classed_networks(draw, *, most=3):
    """Customers, demands and delays of one to three classes and queues."""
    classes, queues = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    customers = draw(st.tuples(*[st.integers(1, most)] * classes))
    demands = draw(
        st.lists(
            st.lists(demand, min_size=queues, max_size=queues),
            min_size=classes,
            max_size=classes,
        )
    )
    delays = draw(st.lists(seconds, min_size=classes, max_size=classes))
    return customers, demands, delays


@st.composite
def networks(draw, *, most=40):
    """Customers, demands and delay of one class."""
    customers = draw(st.integers(1, most))
    demands = draw(st.lists(demand, min_size=1, max_size=4))
    return customers, demands, draw(seconds)


# values


@given(classed_networks(most=2))
def test_multiclass_means_agree_with_the_sum_over_all_states(network):
    customers, demands, delays = network
    throughput, lengths = by_states(customers, demands, delays)
    means = exact_multiclass_mva(customers, demands, delays)
    np.testing.assert_allclose(means.throughput, throughput, rtol=1e-13)
    np.testing.assert_allclose(means.queue_lengths, lengths, rtol=1e-12)


@settings(deadline=None)
@given(networks(most=8))
def test_means_of_one_class_agree_with_the_sum_over_all_states(network):
    customers, demands, delay = network
    throughput, lengths = by_states((customers,), [demands], [delay])
    means = exact_mva(customers, demands, delay)
    np.testing.assert_allclose(means.throughput, throughput[0], rtol=1e-13)
    np.testing.assert_allclose(means.queue_lengths, lengths[0], rtol=1e-12)


def test_response_time_agrees_with_the_published_sums_of_factorials():
    """R2(4, 2, 0.5, 1) of Cremonesi & Gennaro's equation (22), which is 169/233."""
    above = below = Fraction(0)
    for first, second in product(range(4), repeat=2):
        if (away := 3 - first - second) >= 0:
            term = Fraction(1, 2) ** first * Fraction(2) ** away / factorial(away)
            above += (first + 1) * term
            below += term
    assert above / below / 2 == Fraction(169, 233)
    response = exact_mva(4, [0.5, 1.0], 2.0).response_times[0]
    assert response == pytest.approx(169 / 233, rel=1e-15)


with (DATA / "linearizer_example.csv").open(encoding="utf-8") as file:
    EXAMPLE = list(csv.DictReader(line for line in file if not line.startswith("#")))


@pytest.mark.parametrize("row", EXAMPLE, ids=lambda row: row["method"])
def test_the_example_of_the_linearizer_paper_comes_out(row):
    means = SOLVERS[row["method"]]([8, 1], [[1.0], [1.0]], [8.0, 0.0])
    length = means.queue_lengths[0, 0]
    assert length == pytest.approx(float(row["length"]), abs=float(row["tolerance"]))


def test_the_linearizer_repeats_its_two_steps_as_published():
    """Written out for one class, one queue: D = F(N-1) - F(N), found twice."""

    def core(n, change):
        fraction = 0.5
        for _ in range(2000):
            response = 1.0 + max(n - 1.0, 0.0) * (fraction + change)
            fraction = response / (3.0 + response)
        return fraction, response

    change = 0.0
    for _ in range(2):
        change = core(4.0, change)[0] - core(5.0, change)[0]
    response = core(5.0, change)[1]
    means = linearizer_mva([5], [[1.0]], [3.0])
    assert means.response_times[0, 0] == pytest.approx(response, rel=1e-11)


# laws


@given(networks())
def test_a_single_class_is_answered_alike_by_both_exact_solvers(network):
    customers, demands, delay = network
    one = exact_mva(customers, demands, delay)
    many = exact_multiclass_mva([customers], [demands], [delay])
    np.testing.assert_allclose(many.throughput[0], one.throughput, rtol=1e-13)
    np.testing.assert_allclose(many.response_times[0], one.response_times, rtol=1e-13)


@pytest.mark.parametrize("solve", CLASSED)
@given(network=classed_networks())
def test_customers_are_somewhere_and_queues_are_busy_at_most_always(solve, network):
    customers, demands, delays = network
    means = solve(customers, demands, delays)
    away = means.throughput * delays
    np.testing.assert_allclose(away + means.queue_lengths.sum(axis=-1), customers, rtol=1e-9)
    assert (means.utilisations.sum(axis=-2) <= 1.03).all()  # approximations may pass 1
    np.testing.assert_allclose(means.utilisations, means.throughput[:, None] * demands)
    assert (means.response_times >= np.asarray(demands) * (1 - 1e-3)).all()


@pytest.mark.parametrize("approximate", [schweitzer_mva, linearizer_mva])
@given(row=st.lists(demand, min_size=2, max_size=2), delay=seconds)
def test_approximations_are_exact_for_a_lone_customer(approximate, row, delay):
    means = approximate([1], [row], [delay])
    assert means.throughput[0] == pytest.approx(1 / (delay + sum(row)), rel=1e-14)


@given(classed_networks())
def test_the_linearizer_is_near_and_bard_and_schweitzer_not_far(network):
    exact = exact_multiclass_mva(*network).throughput
    np.testing.assert_allclose(linearizer_mva(*network).throughput, exact, rtol=0.06)
    np.testing.assert_allclose(schweitzer_mva(*network).throughput, exact, rtol=0.35)


@given(networks())
def test_throughput_lies_within_both_bounds_and_balanced_jobs_bind_closer(network):
    throughput = exact_mva(*network).throughput
    wide, narrow = asymptotic_bounds(*network), balanced_job_bounds(*network)
    slack = 1e-12 * throughput
    assert wide.lower - slack <= narrow.lower <= throughput + slack
    assert throughput - slack <= narrow.upper <= wide.upper + slack


def test_balanced_job_bounds_meet_for_equal_queues_without_delay():
    bounds = balanced_job_bounds(7, [0.5, 0.5, 0.0, 0.5])
    throughput = float(exact_mva(7, [0.5, 0.5, 0.0, 0.5]).throughput)
    assert [float(bounds.lower), float(bounds.upper)] == pytest.approx([throughput] * 2)


def test_bounds_without_queues_are_those_of_the_delay():
    for bounds in (asymptotic_bounds(6, [0.0], 3.0), balanced_job_bounds(6, [0.0], 3.0)):
        assert (float(bounds.lower), float(bounds.upper)) == (2.0, 2.0)


@given(networks(), st.floats(0.5, 3.0))
def test_one_more_customer_speeds_up_and_more_demand_slows_down(network, factor):
    customers, demands, delay = network
    now, more = exact_mva([customers, customers + 1], demands, delay).throughput
    assert now <= more * (1 + 1e-14)
    slower = exact_mva(customers, [demands[0] + factor, *demands[1:]], delay).throughput
    assert slower <= now * (1 + 1e-14)


# shape


@given(st.lists(networks(most=9), min_size=1, max_size=4))
def test_an_array_is_answered_as_its_elements_are(several):
    customers = np.array([n for n, _, _ in several])[:, None]
    demands = np.array([[*row, 0.0, 0.0, 0.0][:4] for _, row, _ in several])[:, None]
    delay = np.array([[1.0, 2.0]])
    for solve in (exact_mva, asymptotic_bounds, balanced_job_bounds):
        means = solve(customers, demands, delay)
        for field in set(means.__dataclass_fields__) - {"slopes"}:
            values = getattr(means, field)
            assert values.shape[:2] == (len(several), 2)
            for i, j in np.ndindex(len(several), 2):
                alone = getattr(solve(customers[i, 0], demands[i, 0], delay[0, j]), field)
                np.testing.assert_array_equal(values[i, j], alone)


@pytest.mark.parametrize("solve", CLASSED)
def test_networks_of_classes_solved_together_are_answered_as_alone(solve):
    customers = np.array([[2, 5], [4, 1], [1, 3]])
    demands = np.array([[[0.1, 0.0, 0.3], [0.2, 0.4, 0.0]]] * 3) * [[[1.0]], [[2.0]], [[0.5]]]
    delay = np.array([1.0, 0.0])
    means = solve(customers, demands, delay)
    assert means.throughput.shape == (3, 2)
    assert means.response_times.shape == (3, 2, 3)
    for i in range(3):
        alone = solve(customers[i], demands[i], delay)
        np.testing.assert_allclose(means.throughput[i], alone.throughput, rtol=1e-10)
        np.testing.assert_allclose(means.queue_lengths[i], alone.queue_lengths, rtol=1e-9)


def test_no_networks_are_answered_by_empty_arrays():
    assert exact_mva([], [0.1], 1.0).throughput.shape == (0,)
    for solve in CLASSED:
        assert solve(np.empty((0, 2)), [[0.1], [0.2]], 1.0).queue_lengths.shape == (0, 2, 1)


# refusals


@pytest.mark.parametrize("solve", ONE_CLASS)
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (
            {"customers": 0},
            "customers must be finite and at least 1, got 0. Count customers from 1.",
        ),
        (
            {"demands": [0.1, -2.0]},
            "demands must be a time of at least 0, got -2. Give it in seconds.",
        ),
        ({"delay": np.nan}, "delay must be a time of at least 0, got nan. Give it in seconds."),
        (
            {"demands": 0.1},
            "demands must have a number for each queue, got an array of shape (). "
            "Write [0.1, 0.2] for two queues.",
        ),
        (
            {"demands": [0.0, 0.0], "delay": [1.0, 0.0]},
            "delay + sum of demands must be above 0, got 0. A customer must spend time somewhere.",
        ),
    ],
)
def test_bad_arguments_are_named_with_a_remedy(solve, bad, says):
    with pytest.raises(ParameterError) as caught:
        solve(**({"customers": 4, "demands": [0.1, 0.2], "delay": 1.0} | bad))
    assert str(caught.value) == says


@pytest.mark.parametrize("solve", CLASSED)
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (
            {"customers": [3, np.inf]},
            "customers must be finite and at least 1, got inf. "
            "Count the customers of each class from 1.",
        ),
        (
            {"demands": [0.1, 0.2]},
            "demands must have a number for each queue of each class, got an array of shape (2,). "
            "Write [[0.1, 0.2], [0.1, 0.4]] for two queues.",
        ),
        (
            {"demands": [[0.1], [0.0]]},
            "delay + sum of demands must be above 0, got 0. A customer must spend time somewhere.",
        ),
    ],
)
def test_bad_classes_are_named_with_a_remedy(solve, bad, says):
    with pytest.raises(ParameterError) as caught:
        solve(**({"customers": [4, 2], "demands": [[0.1], [0.2]], "delay": 0.0} | bad))
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("solve", "network"),
    [
        (exact_mva, (2.5, [1.0])),
        (balanced_job_bounds, (2.5, [1.0])),
        (exact_multiclass_mva, ([2.5], [[1.0]])),
    ],
)
def test_what_holds_for_whole_numbers_is_not_asked_of_a_half(solve, network):
    with pytest.raises(ParameterError) as caught:
        solve(*network)
    assert str(caught.value) == (
        "customers must be a whole number, got 2.5. "
        "Use two_queues, clusters or schweitzer_mva between whole numbers."
    )


def test_the_recursion_refuses_to_run_for_minutes():
    with pytest.raises(ParameterError) as caught:
        exact_mva(2e6, [1.0])
    assert str(caught.value) == (
        "customers must be at most 1e6, got 2e+06. Use two_queues or schweitzer_mva for more."
    )


def test_a_state_space_too_large_is_refused_with_its_size():
    demands = np.hstack([np.eye(16), np.full((16, 1), 0.1)])
    with pytest.raises(ParameterError) as caught:
        exact_multiclass_mva([8] * 16, demands, 1.0)
    assert str(caught.value) == (
        "(N1 + 1)(N2 + 1)... times networks, classes and queues must be at most 67108864, "
        f"got {9**16} * 272. Use linearizer_mva, or clusters for classes that share one queue."
    )
    assert linearizer_mva([8] * 16, demands, 1.0).throughput.shape == (16,)


def test_the_bound_of_the_state_space_is_where_it_says(monkeypatch):
    monkeypatch.setattr(mva_multiclass, "MOST_NUMBERS", 4 * 3 * 2 * 1)
    assert exact_multiclass_mva([3, 2], [[1.0], [2.0]]).throughput.shape == (2,)
    monkeypatch.setattr(mva_multiclass, "MOST_NUMBERS", 4 * 3 * 2 * 1 - 1)
    with pytest.raises(ParameterError, match=r"at most 23, got 12 \* 2\."):
        exact_multiclass_mva([3, 2], [[1.0], [2.0]])


def test_equations_that_do_not_settle_are_refused(monkeypatch):
    monkeypatch.setattr(mva_approximate, "MOST_SWEEPS", 5)
    with pytest.raises(ParameterError) as caught:
        schweitzer_mva([1000], [[1.0, 1.001]])
    assert str(caught.value) == (
        "demands must let the equations settle in 5 sweeps, got changes of 0.0002 in the last. "
        "Use two_queues, clusters or exact_mva."
    )
