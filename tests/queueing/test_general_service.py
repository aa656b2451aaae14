"""`general_service` and its laws against Markov chains, high precision, their laws, bad input."""

from math import comb, inf

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing import varied_queues
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.time_laws import exponential_service, gamma_service
from tests.queueing.routes import one_general_queue

decades = st.floats(-8, 8).map(lambda e: 10.0**e)
everywhere = st.floats(-150, 150).map(lambda e: 10.0**e)
laws = st.one_of(
    st.just(gamma_service(0.0)), st.just(exponential_service()), st.floats(0, 5).map(gamma_service)
)


def throughput(n, z, queue):
    return n / (z + queue.response)


def departures_chain(n, z, b):
    """Throughput from the chain of customers left behind, where services are equally long."""
    move = np.zeros((n, n))
    back = -np.expm1(-b / z)
    for left in range(n):
        present = max(left, 1)  # when service starts
        others = n - present
        for k in range(others + 1):
            chance = comb(others, k) * back**k * (1 - back) ** (others - k)
            move[left, present - 1 + k] += chance
    system = np.vstack([move.T - np.eye(n), np.ones(n)])
    shares = np.linalg.lstsq(system, np.r_[np.zeros(n), 1.0], rcond=None)[0]
    return 1 / (b + shares[0] * z / n)


def stages_chain(n, z, stages, rate):
    """Throughput from the Markov chain of a service of exponential stages, one after another."""
    states = [(0, 0), *((k, f) for k in range(1, n + 1) for f in range(stages))]
    index = {state: place for place, state in enumerate(states)}
    rates = np.zeros((len(index), len(index)))
    for (k, f), here in index.items():
        if k < n:
            rates[here, index[k + 1, f]] = (n - k) / z
        if k and f + 1 < stages:
            rates[here, index[k, f + 1]] += rate
        elif k:
            rates[here, index[k - 1, 0]] += rate
    flow = rates - np.diag(rates.sum(axis=1))
    system = np.vstack([flow.T, np.ones(len(index))])
    shares = np.linalg.lstsq(system, np.r_[np.zeros(len(index)), 1.0], rcond=None)[0]
    return (n - sum(share * k for (k, _), share in zip(index, shares, strict=True))) / z


def exact_odds(law, s):
    """The odds and their elasticity, from the transform, in the precision at hand."""
    cv2 = mp.mpf(float(law.cv)) ** 2
    if cv2 < mp.mpf("1e-250"):
        exponent, rise = s, mp.mpf(1)
    else:
        exponent, rise = mp.log1p(cv2 * s) / cv2, 1 / (1 + cv2 * s)
    return mp.expm1(exponent), s * rise / -mp.expm1(-exponent)


def off(got, wanted):
    return float(abs(mp.mpf(float(got)) - wanted))


# Laws


@given(st.one_of(decades, everywhere), laws)
def test_odds_slopes_and_bends_of_laws_agree_with_many_digits(s, law):
    with mp.workdps(700):  # cv^2 s may be 1e-300 beside 1
        odds, slope = exact_odds(law, mp.mpf(s))
        got = law.odds(np.asarray(s), law.cv)
        assert off(got.log, mp.log(odds)) < 1e-14 * max(1, abs(mp.log(odds)))
        assert off(got.slope, slope) < 1e-14 * slope
        assert off(got.bend, slope - 1) < 1e-12 * max(abs(slope - 1), min(1.0, s))


@pytest.mark.parametrize("law", [gamma_service(cv) for cv in (0.0, 1e-4, 0.1, 0.5, 0.8, 0.99)])
def test_terms_left_out_only_fall(law):
    # s/O(s) is convex where s + s/bend rises: ratios of terms then rise, if at all, and fall.
    s = 10.0 ** np.linspace(-2, 6, 4001)
    turn = s + s / law.odds(s, law.cv).bend
    assert (np.diff(turn) > 0).all()
    assert (law.odds(s, law.cv).log >= np.log(s) - 1e-15).all()  # what rises is not below 1


# One queue


@given(st.integers(1, 12), st.floats(0.1, 10))
def test_equal_services_agree_with_the_chain_of_departures(n, load):
    equal = one_general_queue(n, delay=2.0, service=2.0 / load, law=gamma_service(0.0))
    wanted = departures_chain(n, 2.0, 2.0 / load)
    assert throughput(n, 2.0, equal) == pytest.approx(wanted, rel=1e-9)


@given(st.integers(1, 8), st.floats(0.1, 10), st.integers(1, 5))
def test_erlang_service_agrees_with_its_markov_chain(n, load, stages):
    got = one_general_queue(n, delay=1.0, service=1 / load, law=gamma_service(stages**-0.5))
    wanted = stages_chain(n, 1.0, stages, stages * load)
    assert throughput(n, 1.0, got) == pytest.approx(wanted, rel=1e-9)


@given(st.integers(1, 2000), decades)
def test_exponential_service_is_the_machine_repairman(n, a):
    wanted = repairman_equilibrium(n, delay=a, service=1.0).response
    got = one_general_queue(n, delay=a, service=1.0, law=exponential_service())
    assert got.response == pytest.approx(wanted.value, rel=2e-11)
    assert -got.relief == pytest.approx(wanted.by_delay, rel=1e-10, abs=1e-290)
    assert got.by_service == pytest.approx(wanted.by_service, rel=1e-10, abs=1e-290)


@given(st.integers(1, 60), decades, laws)
def test_responses_and_slopes_agree_with_sixty_digits(n, load, law):
    got = one_general_queue(n, delay=1.0, service=load, law=law)
    with mp.workdps(60):
        b = mp.mpf(load)
        term = total = mp.mpf(1)
        turns = turned = mp.mpf(0)
        for i in range(1, n):
            odds, slope = exact_odds(law, i * b)
            term *= odds * (n - i) / i
            turns += slope
            total += term
            turned += term * turns
        idle = (1 + turned / total) / total
        response = n * b - (total - 1) / total
        for mine, value in (
            (got.response, response),
            (-got.relief, idle - 1),
            (np.exp(got.log_idle), idle),
            (got.by_service, (response + 1 - idle) / b),
        ):
            assert off(mine, value) <= 2e-13 * n * abs(value) + 1e-290


@given(st.integers(2, 2000), st.floats(-2, 1), laws)
def test_terms_that_are_left_out_do_not_count(n, decade, law):
    service = 10.0**decade / n
    short = one_general_queue(n, delay=1.0, service=service, law=law)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(varied_queues, "LOG_UNSEEN", -np.inf)
        full = one_general_queue(n, delay=1.0, service=service, law=law)
    for mine, wanted in zip(short, full, strict=True):
        assert mine == pytest.approx(wanted, rel=1e-13, abs=1e-290)


def test_terms_are_left_out():
    asked = []
    law = exponential_service()

    def odds(s, cv):
        asked.append(s.size)
        return law.odds(s, cv)

    counted = type(law)(name="counted", cv=law.cv, odds=odds)
    one_general_queue(100_000, delay=1.0, service=1e-6, law=counted)
    assert sum(asked) < 200


@pytest.mark.parametrize("n", [1, 2, 50])
@given(law=laws, time=decades)
def test_limits_are_those_of_the_repairman(n, law, time):
    limits = [(0.0, time), (time, 0.0), (time * 1e-200, time), (time, time * 1e-200)]
    for z, b in limits:
        got = one_general_queue(n, delay=z, service=b, law=law)
        wanted = repairman_equilibrium(n, delay=z, service=b).response
        size = 1e-140 * n * (1 + time) * (1 + 1 / time**2)
        for mine, value in zip((got.response, -got.relief, got.by_service), wanted, strict=True):
            assert mine == pytest.approx(value, rel=1e-13, abs=size), (z, b)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), decades, st.floats(0, 3)), min_size=1, max_size=9))
def test_an_array_is_answered_as_its_elements_are(cases):
    n, a, cv = np.array(cases).T
    together = one_general_queue(n, delay=a, service=1.0, law=gamma_service(cv))
    for i, case in enumerate(cases):
        alone = one_general_queue(case[0], delay=case[1], service=1.0, law=gamma_service(case[2]))
        assert float(together.response[i]) == pytest.approx(float(alone.response), rel=1e-11)


def test_long_sums_go_in_blocks():
    n, law = np.arange(1, 1001)[:, None], gamma_service(0.5)
    delays = [1.0, 300.0, 3000.0]
    surface = one_general_queue(n, delay=delays, service=1.0, law=law)
    assert surface.response.shape == (1000, 3)
    for i, delay in enumerate(delays):
        alone = one_general_queue(1000, delay=delay, service=1.0, law=law)
        assert surface.response[-1, i] == pytest.approx(alone.response, rel=1e-11)


@pytest.mark.parametrize("cv", [-1, inf])
def test_a_variation_that_no_law_has_is_refused(cv):
    with pytest.raises(ParameterError) as caught:
        gamma_service(cv)
    told = f"cv must be at least 0, got {cv}. Give standard deviation over mean."
    assert str(caught.value) == told
