"""Derivatives of `general_service`, `two_general_queues` and their laws."""

from dataclasses import fields

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parcast.queueing import general_service
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.service_laws import deterministic_service, exponential_service, gamma_service
from tests.queueing.reference import general_queues as two
from tests.queueing.reference.general_queues import (
    GeneralQueue,
    OneOfTwoQueues,
    one_general_queue,
    two_general_queues,
)
from tests.queueing.reference.service_laws import hyperexponential_service, uniform_service

decades = st.floats(-8, 8).map(lambda e: 10.0**e)
everywhere = st.floats(-150, 150).map(lambda e: 10.0**e)
loads = st.floats(-3, 3).map(lambda e: 10.0**e)
laws = st.one_of(
    st.just(deterministic_service()),
    st.just(exponential_service()),
    st.just(uniform_service()),
    st.floats(0, 5).map(gamma_service),
    st.floats(1, 20).map(hyperexponential_service),
)
DEGREE = {"throughput": -1, "response": 1, "utilisation": 0, "length": 0}


def exact_odds(law, s):
    """The odds and their elasticity, from the transform, in the precision at hand."""
    cv2 = mp.mpf(float(law.cv)) ** 2
    if law.name == "uniform":
        exponent = mp.log(2 * s) - mp.log(-mp.expm1(-2 * s))
        rise = 1 / s + 2 * mp.exp(-2 * s) / mp.expm1(-2 * s)
    elif law.name == "hyperexponential":
        p = (1 + mp.sqrt((cv2 - 1) / (cv2 + 1))) / 2
        q = 1 - p
        mixture = p / (1 + s / (2 * p)) + q / (1 + s / (2 * q))
        exponent = -mp.log(mixture)
        rise = (1 / (1 + s / (2 * p)) ** 2 + 1 / (1 + s / (2 * q)) ** 2) / 2 / mixture
    elif cv2 < mp.mpf("1e-250"):
        exponent, rise = s, mp.mpf(1)
    else:
        exponent, rise = mp.log1p(cv2 * s) / cv2, 1 / (1 + cv2 * s)
    return mp.expm1(exponent), s * rise / -mp.expm1(-exponent)


def off(got, wanted):
    return float(abs(mp.mpf(float(got)) - wanted))


# Laws


@given(st.one_of(decades, everywhere), laws)
def test_slopes_and_bends_of_laws_agree_with_many_digits(s, law):
    with mp.workdps(700):  # cv^2 s may be 1e-300 beside 1
        _, slope = exact_odds(law, mp.mpf(s))
        got = law.odds(np.asarray(s), law.cv)
        assert off(got.slope, slope) < 1e-14 * slope
        assert off(got.bend, slope - 1) < 1e-12 * max(abs(slope - 1), min(1.0, s))


@given(everywhere)
def test_exponential_service_has_straight_odds(s):
    for law in (exponential_service(), hyperexponential_service(1.0)):
        got = law.odds(np.asarray(s), law.cv)
        assert got.log == pytest.approx(np.log(s), rel=1e-15, abs=1e-15)
        assert got.slope == pytest.approx(1.0, rel=4e-16)
        assert abs(got.bend) < 1e-12 * min(1.0, s)


@given(laws)
def test_slopes_of_laws_are_those_of_their_odds(law):
    s = 10.0 ** np.linspace(-150, 150, 601)
    step = 1e-4
    up, down = law.odds(s * np.exp(step), law.cv).log, law.odds(s * np.exp(-step), law.cv).log
    slope = law.odds(s, law.cv).slope
    # Logarithms of s may be 345, which are known to 6e-14.
    assert (up - down) / (2 * step) == pytest.approx(slope, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    "law", [uniform_service(), *(gamma_service(cv) for cv in (0.0, 1e-4, 0.1, 0.5, 0.8, 0.99))]
)
def test_terms_left_out_only_fall(law):
    # s/O(s) is convex where s + s/bend rises: ratios of terms then rise, if at all, and fall.
    s = 10.0 ** np.linspace(-2, 6, 4001)
    turn = s + s / law.odds(s, law.cv).bend
    assert (np.diff(turn) > 0).all()
    assert (law.odds(s, law.cv).log >= np.log(s) - 1e-15).all()  # what rises is not below 1


@given(st.floats(1, 20), decades)
def test_ratios_of_terms_fall_where_services_vary_much(cv, s):
    for law in (gamma_service(cv), hyperexponential_service(cv)):
        assert law.odds(np.asarray(s), law.cv).bend < 4e-16


# One queue


@given(st.integers(1, 60), decades, laws)
def test_slopes_of_one_queue_agree_with_sixty_digits(n, load, law):
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
        cycle = 1 + response
        wanted = {
            "response": response,
            "response_by_delay": idle - 1,
            "response_by_service": (response + 1 - idle) / b,
            "throughput_by_delay": -n * idle / cycle**2,
            "throughput_by_service": -n * (response + 1 - idle) / b / cycle**2,
            "utilisation_by_service": n * idle / cycle**2,
            "length_by_delay": -n * (response + 1 - idle) / cycle**2,
        }
        for name, value in wanted.items():
            assert off(getattr(got, name), value) <= 2e-13 * n * abs(value) + 1e-290, name


@given(st.integers(1, 3000), decades)
def test_slopes_for_exponential_service_are_the_repairmans(n, a):
    wanted = repairman_equilibrium(n, delay=a, service=1.0)
    for law in (exponential_service(), hyperexponential_service(1.0)):
        got = one_general_queue(n, delay=a, service=1.0, law=law)
        for name in DEGREE:
            for by in ("by_delay", "by_service"):
                value = getattr(getattr(wanted, name), by)
                mine = getattr(got, f"{name}_{by}")
                assert mine == pytest.approx(value, rel=1e-10, abs=1e-290), (name, by)


@given(st.integers(1, 300), decades, decades, laws)
def test_slopes_of_one_queue_are_those_of_its_values(n, z, load, law):
    b = z * load
    got = one_general_queue(n, delay=z, service=b, law=law)
    step = 1e-5  # errors: N rounding errors over it, and N times its square
    ends = np.exp([step, -step])
    by_z = one_general_queue(n, delay=z * ends, service=b, law=law)
    by_b = one_general_queue(n, delay=z, service=b * ends, law=law)
    for name in DEGREE:
        for by, at, moved in (("by_delay", z, by_z), ("by_service", b, by_b)):
            up, down = np.log(getattr(moved, name))
            elasticity = getattr(got, f"{name}_{by}") * at / getattr(got, name)
            assert (up - down) / (2 * step) == pytest.approx(elasticity, abs=1e-6), (name, by)


@given(st.integers(1, 300), decades, decades, laws)
def test_slopes_are_homogeneous_and_bounded(n, z, b, law):
    got = one_general_queue(n, delay=z, service=b, law=law)
    for name, degree in DEGREE.items():
        value = getattr(got, name)
        parts = z * getattr(got, f"{name}_by_delay"), b * getattr(got, f"{name}_by_service")
        size = max(abs(value), *map(abs, parts))
        assert abs(sum(parts) - degree * value) < 1e-12 * size, name
    assert -1 <= got.response_by_delay <= 0
    assert 1 - 1e-12 <= got.response_by_service <= n * (1 + 1e-12)
    assert got.throughput_by_delay <= 0 >= got.throughput_by_service
    assert got.length_by_delay <= 0 <= got.length_by_service


@given(st.integers(2, 2000), st.floats(-2, 1), laws)
def test_terms_that_are_left_out_do_not_count(n, decade, law):
    service = 10.0**decade / n
    short = one_general_queue(n, delay=1.0, service=service, law=law)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(general_service, "LOG_UNSEEN", -np.inf)
        full = one_general_queue(n, delay=1.0, service=service, law=law)
    for field in fields(GeneralQueue):
        mine, wanted = getattr(short, field.name), getattr(full, field.name)
        assert mine == pytest.approx(wanted, rel=1e-13, abs=1e-290), field.name


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
def test_limits_of_slopes_are_those_of_the_repairman(n, law, time):
    limits = [(0.0, time), (time, 0.0), (time * 1e-200, time), (time, time * 1e-200)]
    for z, b in limits:
        got = one_general_queue(n, delay=z, service=b, law=law)
        wanted = repairman_equilibrium(n, delay=z, service=b)
        for name in DEGREE:
            for by in ("by_delay", "by_service"):
                value = getattr(getattr(wanted, name), by)
                mine = getattr(got, f"{name}_{by}")
                size = 1e-140 * n * (1 + time) * (1 + 1 / time**2)
                assert mine == pytest.approx(value, rel=1e-13, abs=size), (name, by, z, b)


def test_slopes_take_arrays():
    got = one_general_queue([[1], [5]], delay=1.0, service=[0.0, 1.0, 2.0], law=uniform_service())
    pair = two_general_queues(
        [[1], [5]], delay=1.0, services=(0.5, [0.0, 1.0, 2.0]), laws=(uniform_service(),) * 2
    )
    for queue in (got, *pair):
        for field in fields(queue):
            part = getattr(queue, field.name)
            assert isinstance(part, np.ndarray)
            assert part.shape == (2, 3), field.name


# Two queues


def both(n, z, x, y, pair):
    return two_general_queues(n, delay=z, services=(x, y), laws=pair)


@given(st.integers(1, 60), loads, loads, laws, laws)
def test_slopes_of_two_queues_are_those_of_their_values(n, z, y, law, other):
    pair = law, other
    got = both(n, z, 1.0, y, pair)
    step = 1e-5
    ends = np.exp([step, -step])
    # Where both queues saturate, responses feel rounding and change fast.
    steep = max(1.0, got[0].response_by_first, got[1].response_by_second)
    assume(steep < 100)
    moved = {
        "by_delay": (z, both(n, z * ends, 1.0, y, pair)),
        "by_first": (1.0, both(n, z, ends, y, pair)),
        "by_second": (y, both(n, z, 1.0, y * ends, pair)),
    }
    for by, (at, around) in moved.items():
        for place in (0, 1):
            for name in ("throughput", "response"):
                value = getattr(got[place], name)
                elasticity = getattr(got[place], f"{name}_{by}") * at / value
                up, down = np.log(getattr(around[place], name))
                size = 1e-6 * steep
                assert (up - down) / (2 * step) == pytest.approx(elasticity, abs=size), (by, name)


@given(st.integers(1, 300), loads, loads, laws, laws)
def test_slopes_of_two_queues_are_homogeneous_and_signed(n, z, y, law, other):
    first, second = both(n, z, 1.0, y, (law, other))
    times = {"by_delay": z, "by_first": 1.0, "by_second": y}
    for queue in (first, second):
        for name in ("throughput", "response"):
            parts = [getattr(queue, f"{name}_{by}") * at for by, at in times.items()]
            value = DEGREE[name] * getattr(queue, name)
            assert abs(sum(parts) - value) < 1e-10 * max(map(abs, [value, *parts])), name
        assert queue.response_by_delay <= 0
        assert max(getattr(queue, f"throughput_{by}") for by in times) <= 0
    assert first.response_by_first >= 0 >= first.response_by_second
    assert second.response_by_second >= 0 >= second.response_by_first
    for by in times:  # X = N/(z + R1 + R2)
        assert getattr(first, f"throughput_{by}") == getattr(second, f"throughput_{by}")
        responses = [getattr(queue, f"response_{by}") for queue in (first, second)]
        cycle = (by == "by_delay") + sum(responses)
        size = max(1.0, *map(abs, responses))
        wanted = -cycle * first.throughput**2 / n
        got = getattr(first, f"throughput_{by}")
        assert abs(got - wanted) < 1e-12 * size * first.throughput**2 / n, by


@given(st.integers(1, 60), loads, laws, laws)
def test_slopes_beside_a_queue_without_service_are_those_of_one(n, a, law, other):
    wanted = one_general_queue(n, delay=a, service=1.0, law=law)
    busy, free = both(n, a, 1.0, 0.0, (law, other))
    free_too, busy_too = both(n, a, 0.0, 1.0, (other, law))
    for name in ("throughput", "response"):
        for by, mine in (("by_delay", "by_delay"), ("by_service", "by_first")):
            value = pytest.approx(getattr(wanted, f"{name}_{by}"), rel=1e-10)
            assert getattr(busy, f"{name}_{mine}") == value
            assert getattr(busy_too, f"{name}_{mine}".replace("first", "second")) == value
    # A little service there is as much delay here.
    delayed = pytest.approx(float(wanted.throughput_by_delay), rel=1e-10)
    assert busy.throughput_by_second == busy_too.throughput_by_first == delayed
    assert (free.response_by_second, free_too.response_by_first) == pytest.approx((1, 1))
    assert free.response_by_delay == free_too.response_by_delay == 0


@given(loads, loads, laws, laws)
def test_one_customer_adds_up_its_times(a, y, law, other):
    first, second = both(1, a, 1.0, y, (law, other))
    assert (first.response_by_first, second.response_by_second) == pytest.approx((1, 1))
    assert first.response_by_second == second.response_by_first == 0
    for by in ("by_delay", "by_first", "by_second"):
        assert getattr(first, f"throughput_{by}") == pytest.approx(-1 / (a + 1 + y) ** 2)


@given(st.integers(1, 60), loads, loads, laws, laws)
def test_slopes_exchange_with_the_queues(n, a, y, law, other):
    first, second = both(n, a, 1.0, y, (law, other))
    again, first_again = both(n, a, y, 1.0, (other, law))
    assume(max(first.response_by_first, second.response_by_second) < 1e4)
    swap = {"by_delay": "by_delay", "by_first": "by_second", "by_second": "by_first"}
    for one, two_ in ((first, first_again), (second, again)):
        for name in ("throughput", "response"):
            for by, other_by in swap.items():
                mine, wanted = getattr(one, f"{name}_{by}"), getattr(two_, f"{name}_{other_by}")
                assert mine == pytest.approx(wanted, rel=1e-6, abs=1e-12), (name, by)


@pytest.mark.parametrize("z", [0.0, 1.0])
@pytest.mark.parametrize("y", [1.0, 1 + 1e-9, 0.5])
def test_slopes_of_throughput_stay_right_where_both_queues_are_always_busy(z, y):
    for n in (300, 3000):
        queue, other = both(n, z, 1.0, y, (deterministic_service(), gamma_service(0.1)))
        parts = (queue.throughput_by_delay, queue.throughput_by_first, queue.throughput_by_second)
        assert np.dot(parts, (z, 1.0, y)) == pytest.approx(-queue.throughput, rel=1e-12)
        for one in (queue, other):
            assert all(np.isfinite(getattr(one, field.name)) for field in fields(OneOfTwoQueues))


@pytest.mark.parametrize("law", [deterministic_service(), gamma_service(4.0)])
def test_points_that_agree_are_not_computed_again(monkeypatch, law):
    asked = []
    solve = two.general_state

    def counted(n, *rest):
        asked.append(n.size)
        return solve(n, *rest)

    monkeypatch.setattr(two, "general_state", counted)
    n = np.array([1, 2, 8, 64, 500])[:, None, None]
    y = np.array([0.01, 0.5, 1 - 1e-9, 1.0, 3.0])[:, None]
    z = np.array([0.0, 1e-3, 1.0, 30.0, 500.0, 1e5])
    both(n, z, 1.0, y, (law, law))
    assert asked[0] == n.size * y.size * z.size
    assert asked == sorted(asked, reverse=True)
    assert sum(asked) < 2 * 6 * asked[0]  # six evaluations of either queue for a point
    assert len(asked) < 2 * 25
