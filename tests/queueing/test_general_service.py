"""`general_service` and its laws against Markov chains, high precision, their laws, bad input."""

from math import comb, inf

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.service_laws import deterministic_service, exponential_service, gamma_service
from tests.queueing.reference.general_queues import one_general_queue, two_general_queues
from tests.queueing.reference.service_laws import hyperexponential_service, uniform_service

decades = st.floats(-8, 8).map(lambda e: 10.0**e)
loads = st.floats(-3, 3).map(lambda e: 10.0**e)
small = st.integers(1, 12)
PARTS = ("throughput", "response", "utilisation", "length")
laws = st.one_of(
    st.just(deterministic_service()),
    st.just(exponential_service()),
    st.just(uniform_service()),
    st.floats(0, 5).map(gamma_service),
    st.floats(1, 20).map(hyperexponential_service),
)


def parts(queue):
    return [getattr(queue, name) for name in PARTS]


def close(queue, wanted, tolerance):
    for mine, other in zip(parts(queue), parts(wanted), strict=True):
        assert mine == pytest.approx(other, rel=tolerance)


def departures_chain(n, z, b, times, weights):
    """Throughput from the chain of customers left behind, for a discrete mixture of services."""
    move = np.zeros((n, n))
    for left in range(n):
        present = max(left, 1)  # when service starts
        others = n - present
        for time, weight in zip(times, weights, strict=True):
            back = -np.expm1(-b * time / z)
            for k in range(others + 1):
                chance = comb(others, k) * back**k * (1 - back) ** (others - k)
                move[left, present - 1 + k] += weight * chance
    system = np.vstack([move.T - np.eye(n), np.ones(n)])
    shares = np.linalg.lstsq(system, np.r_[np.zeros(n), 1.0], rcond=None)[0]
    return 1 / (b + shares[0] * z / n)


def phases_chain(n, z, starts, leave, follow):
    """Throughput and mean length from the Markov chain of a phase-type service.

    `starts`: chance of each phase at the start; `leave`: its rate; `follow`: chance that the
    next phase comes after it, else the service is over.
    """
    phases = len(starts)
    states = [(0, 0), *((k, f) for k in range(1, n + 1) for f in range(phases))]
    index = {state: place for place, state in enumerate(states)}
    rates = np.zeros((len(index), len(index)))
    for (k, f), here in index.items():
        if k < n:
            for g in range(phases):
                if k:
                    rates[here, index[k + 1, f]] = (n - k) / z
                else:
                    rates[here, index[1, g]] += n / z * starts[g]
        if k:
            if f + 1 < phases:
                rates[here, index[k, f + 1]] += leave[f] * follow[f]
            for g in range(phases):
                goal = index[k - 1, g] if k > 1 else 0
                rates[here, goal] += leave[f] * (1 - follow[f]) * starts[g]
    flow = rates - np.diag(rates.sum(axis=1))
    system = np.vstack([flow.T, np.ones(len(index))])
    shares = np.linalg.lstsq(system, np.r_[np.zeros(len(index)), 1.0], rcond=None)[0]
    mean = sum(share * k for (k, _), share in zip(index, shares, strict=True))
    return (n - mean) / z, mean


@given(small, st.floats(0.1, 10))
def test_equal_and_uniform_services_agree_with_the_chain_of_departures(n, load):
    equal = one_general_queue(n, delay=2.0, service=2.0 / load, law=deterministic_service())
    assert equal.throughput == pytest.approx(
        departures_chain(n, 2.0, 2.0 / load, [1], [1]), rel=1e-9
    )
    nodes, weights = np.polynomial.legendre.leggauss(40)
    uniform = one_general_queue(n, delay=2.0, service=2.0 / load, law=uniform_service())
    wanted = departures_chain(n, 2.0, 2.0 / load, 1 + nodes, weights / 2)
    assert uniform.throughput == pytest.approx(wanted, rel=1e-9)


@given(st.integers(1, 8), st.floats(0.1, 10), st.integers(1, 5))
def test_erlang_service_agrees_with_its_markov_chain(n, load, stages):
    last = [1.0] * (stages - 1) + [0.0]
    first = [1.0] + [0.0] * (stages - 1)
    rate, mean = phases_chain(n, 1.0, first, [stages * load] * stages, last)
    got = one_general_queue(n, delay=1.0, service=1 / load, law=gamma_service(stages**-0.5))
    assert got.throughput == pytest.approx(rate, rel=1e-9)
    assert got.length == pytest.approx(mean, rel=1e-8, abs=1e-10)


@given(st.integers(1, 8), st.floats(0.1, 10), st.floats(1, 4))
def test_hyperexponential_service_agrees_with_its_markov_chain(n, load, cv):
    p = 0.5 * (1 + np.sqrt((cv**2 - 1) / (cv**2 + 1)))
    rates = [2 * p * load, 2 * (1 - p) * load]
    rate, mean = phases_chain(n, 1.0, [p, 1 - p], rates, [0.0, 0.0])
    got = one_general_queue(n, delay=1.0, service=1 / load, law=hyperexponential_service(cv))
    assert got.throughput == pytest.approx(rate, rel=1e-9)
    assert got.length == pytest.approx(mean, rel=1e-8, abs=1e-10)


@given(st.integers(1, 2000), decades)
def test_exponential_service_is_the_machine_repairman(n, a):
    wanted = repairman_equilibrium(n, delay=a, service=1.0)
    for law in (exponential_service(), hyperexponential_service(1.0)):
        got = one_general_queue(n, delay=a, service=1.0, law=law)
        for name in PARTS:
            assert getattr(got, name) == pytest.approx(getattr(wanted, name).value, rel=2e-11)


@given(decades, st.floats(0, 5), st.floats(1, 20))
def test_odds_agree_with_fifty_digits(s, cv, wide):
    with mp.workdps(50 + int(min(s, 1e3))):
        t = mp.mpf(s)
        k = 1 / mp.mpf(cv) ** 2 if cv > 1e-100 else mp.inf
        c2 = mp.mpf(wide) ** 2
        p = (1 + mp.sqrt((c2 - 1) / (c2 + 1))) / 2
        mixture = p / (1 + t / (2 * p)) + (1 - p) / (1 + t / (2 * (1 - p)))
        exponents = (
            (gamma_service(cv), k * mp.log1p(t / k) if cv > 1e-100 else t),
            (uniform_service(), mp.log(2 * t) - mp.log(-mp.expm1(-2 * t))),
            (hyperexponential_service(wide), -mp.log(mixture)),
        )
        for law, exponent in exponents:
            wanted = exponent + mp.log(-mp.expm1(-exponent))
            got = law.odds(np.asarray(s), law.cv).log
            assert abs(mp.mpf(float(got)) - wanted) < 1e-14 * max(1, abs(wanted)), law.name


@settings(deadline=None)
@given(st.integers(1, 300), decades, laws)
def test_bounds_hold(n, a, law):
    got = one_general_queue(n, delay=a, service=1.0, law=law)
    above = 1 + 1e-12
    assert n / (a + n) / above <= got.throughput <= min(1, n / (a + 1)) * above
    assert 1 <= got.response <= n
    assert got.utilisation <= 1
    assert got.length <= n
    assert got.throughput * (a + got.response) == pytest.approx(n, rel=1e-13)


@settings(deadline=None)
@given(st.integers(2, 60), loads, st.floats(0.05, 1), st.floats(1, 10))
def test_services_that_vary_more_are_worse(n, a, calm, wild):
    equal, less, random, more = (
        one_general_queue(n, delay=a, service=1.0, law=law).response
        for law in (
            deterministic_service(),
            gamma_service(calm),
            exponential_service(),
            hyperexponential_service(wild),
        )
    )
    assert equal <= less * (1 + 1e-12)
    assert less <= random * (1 + 1e-12)
    assert random <= more * (1 + 1e-12)


@given(laws, decades)
def test_one_customer_never_waits(law, a):
    got = one_general_queue(1, delay=a, service=1.0, law=law)
    assert (got.response, got.throughput) == (1, 1 / (a + 1))


@given(laws, st.integers(1, 1000))
def test_the_limits_of_no_delay_and_no_service(law, n):
    busy = one_general_queue(n, delay=[0.0, 1e-300], service=2.0, law=law)
    assert busy.response == pytest.approx(2.0 * n)
    assert busy.utilisation.tolist() == [1, 1]
    free = one_general_queue(n, delay=2.0, service=[0.0, 1e-300], law=law)
    assert free.response == pytest.approx([0, 1e-300])
    assert free.throughput == pytest.approx(n / 2)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), decades, st.floats(0, 3)), min_size=1, max_size=9))
def test_an_array_is_answered_as_its_elements_are(cases):
    n, a, cv = np.array(cases).T
    together = one_general_queue(n, delay=a, service=1.0, law=gamma_service(cv))
    for i, case in enumerate(cases):
        alone = one_general_queue(case[0], delay=case[1], service=1.0, law=gamma_service(case[2]))
        for mine, wanted in zip(parts(together), parts(alone), strict=True):
            assert float(mine[i]) == pytest.approx(float(wanted), rel=1e-11)


def test_long_sums_go_in_blocks():
    n = np.arange(1, 1001)[:, None]
    delays = [1.0, 300.0, 3000.0]
    surface = one_general_queue(n, delay=delays, service=1.0, law=uniform_service())
    assert surface.response.shape == (1000, 3)
    for i, delay in enumerate(delays):
        alone = one_general_queue(1000, delay=delay, service=1.0, law=uniform_service())
        assert surface.response[-1, i] == pytest.approx(alone.response, rel=1e-11)


# Two queues


@given(st.integers(1, 60), loads, laws, laws)
def test_a_queue_without_service_leaves_the_other_exact(n, a, law, other):
    wanted = one_general_queue(n, delay=a, service=1.0, law=law)
    first, free = two_general_queues(n, delay=a, services=(1.0, 0.0), laws=(law, other))
    close(first, wanted, 1e-11)
    free_too, second = two_general_queues(n, delay=a, services=(0.0, 1.0), laws=(other, law))
    close(second, wanted, 1e-11)
    assert free.response == free_too.response == 0


@given(loads, loads, laws, laws)
def test_one_customer_meets_nobody(a, y, law, other):
    first, second = two_general_queues(1, delay=a, services=(1.0, y), laws=(law, other))
    assert (first.response, second.response) == pytest.approx((1, y))
    assert first.throughput == second.throughput == pytest.approx(1 / (a + 1 + y))


@given(st.integers(1, 60), loads, loads, laws, laws)
def test_responses_agree_with_each_other_and_exchange_with_the_queues(n, a, y, law, other):
    first, second = two_general_queues(n, delay=a, services=(1.0, y), laws=(law, other))
    again = one_general_queue(n, delay=a + second.response, service=1.0, law=law)
    assert first.response == pytest.approx(again.response, rel=1e-9)
    again = one_general_queue(n, delay=a + first.response, service=y, law=other)
    assert second.response == pytest.approx(again.response, rel=1e-9)
    second_too, first_too = two_general_queues(n, delay=a, services=(y, 1.0), laws=(other, law))
    close(first_too, first, 1e-6)  # where both saturate, only their sum is determined well
    close(second_too, second, 1e-6)
    assert first_too.throughput == pytest.approx(first.throughput, rel=1e-11)


@given(st.integers(1, 60), loads, loads, laws, laws)
def test_bounds_of_two_queues_hold(n, a, y, law, other):
    first, second = two_general_queues(n, delay=a, services=(1.0, y), laws=(law, other))
    assert first.throughput == second.throughput
    above = 1 + 1e-9
    assert n / (a + n * (1 + y)) / above <= first.throughput
    assert first.throughput <= min(1, 1 / y, n / (a + 1 + y)) * above
    total = first.throughput * a + first.length + second.length
    assert total == pytest.approx(n, rel=1e-9)


@pytest.mark.parametrize("n", [2, 4, 16])
@pytest.mark.parametrize("y", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("a", [0.5, 2.0, 8.0])
def test_exponential_services_are_near_the_exact_product_form(n, y, a):
    queues = np.zeros(2)
    for i in range(1, n + 1):
        responses = np.array([1.0, y]) * (1 + queues)
        throughput = i / (a + responses.sum())
        queues = throughput * responses
    both = (exponential_service(), exponential_service())
    got = two_general_queues(n, delay=a, services=(1.0, y), laws=both)[0]
    assert got.throughput == pytest.approx(throughput, rel=0.08)


def test_two_queues_take_arrays():
    both = (gamma_service([[0.0], [1.0]]), uniform_service())
    first, second = two_general_queues([1, 2, 8], delay=1.0, services=(1.0, 0.5), laws=both)
    assert first.response.shape == second.length.shape == (2, 3)
    alone = two_general_queues(8, delay=1.0, services=(1.0, 0.5), laws=(gamma_service(0), both[1]))
    assert first.response[0, 2] == pytest.approx(alone[0].response, rel=1e-9)


def test_two_queues_without_delay():
    both = (deterministic_service(), deterministic_service())
    first, second = two_general_queues(6, delay=0.0, services=(1.0, 0.25), laws=both)
    assert first.utilisation == pytest.approx(1, abs=1e-3)
    assert second.response == pytest.approx(0.25, rel=0.3)


TIME = "Give it in seconds."
WHOLE = "customers must be a whole number of at least 1"
SOMEWHERE = "A customer must spend time somewhere."


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"customers": 0}, f"{WHOLE}, got 0. Count those that circulate."),
        ({"customers": [2, 2.5]}, f"{WHOLE}, got 2.5. Count those that circulate."),
        ({"customers": inf}, f"{WHOLE}, got inf. Count those that circulate."),
        ({"delay": -0.5}, f"delay must be a time of at least 0, got -0.5. {TIME}"),
        ({"service": inf}, f"service must be a time of at least 0, got inf. {TIME}"),
        (
            {"delay": 0, "service": 0},
            f"service must be above 0 where delay is 0, got 0. {SOMEWHERE}",
        ),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says):
    given_ = {"customers": 4, "delay": 1.0, "service": 0.5, "law": exponential_service()} | bad
    with pytest.raises(ParameterError) as caught:
        one_general_queue(**given_)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"customers": 0}, f"{WHOLE}, got 0. Count those that circulate."),
        ({"services": (1, -1)}, f"services must be a time of at least 0, got -1. {TIME}"),
        (
            {"delay": 0, "services": (0, 0)},
            f"services must not all be 0 where delay is 0, got 0. {SOMEWHERE}",
        ),
    ],
)
def test_bad_parameter_of_two_queues_is_named(bad, says):
    both = (exponential_service(), exponential_service())
    with pytest.raises(ParameterError) as caught:
        two_general_queues(
            **({"customers": 4, "delay": 1, "services": (1, 1), "laws": both} | bad)
        )
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("law", "cv", "says"),
    [
        (gamma_service, -1, "at least 0, got -1. Give standard deviation over mean."),
        (gamma_service, inf, "at least 0, got inf. Give standard deviation over mean."),
        (hyperexponential_service, [2, 0.5], "at least 1, got 0.5. Below 1, use gamma_service."),
        (hyperexponential_service, inf, "at least 1, got inf. Below 1, use gamma_service."),
    ],
)
def test_a_variation_that_a_law_cannot_have_is_refused(law, cv, says):
    with pytest.raises(ParameterError) as caught:
        law(cv)
    assert str(caught.value) == f"cv must be {says}"
