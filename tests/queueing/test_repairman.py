"""`erlang` and `repairman` against 110 digits, exact recursion, their laws, and bad input."""

from fractions import Fraction
from math import factorial, inf, isinf, sqrt

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.erlang import state
from parcast.queueing.repairman import repairman_equilibrium

TOLERANCE = 1e-12  # relative, the accuracy promised
UNDERFLOW = 1e-290  # smaller ones may be 0
LAST_DIGIT = 2.0**-53
RESOLVED = 1e-40  # elasticity that differences in 110 digits can tell from 0

decades = st.floats(-8, 8).map(lambda e: 10.0**e)
services = st.floats(-6, 3).map(lambda e: 10.0**e)
counts = st.one_of(st.integers(1, 30), st.floats(0, 7).map(lambda e: round(10.0**e)))
reals = st.floats(0, 7).map(lambda e: 10.0**e)
anyhow = st.one_of(counts, reals)
deviations = st.floats(-12, 12)


@st.composite
def networks(draw, customers=anyhow):
    """Customers and a load a = z/x: anywhere, and often where the queue begins to saturate."""
    n = draw(customers)
    near = n + draw(deviations) * sqrt(n)
    return n, near if near > 1e-8 and draw(st.booleans()) else draw(decades)


def inverse_erlang_b(n, a):
    """1/B = sum of n(n-1)..(n-k+1)/a^k continued to real n, to 80 digits or more."""
    n, a = mp.mpf(n), mp.mpf(a)
    if a > n + 10 * mp.sqrt(n) + 60:
        q = mp.mpf(0)
        for k in range(600, 0, -1):
            q = k * (n - k + 1) / (a - n + 2 * k + q)
        return a / (a - n + q)
    # a^n e^-a / Gamma(n+1) is B's numerator; the rest of the exponential series is taken off
    top, bottom = (int(x) for x in mp_ratio(a))
    whole, part = (int(x) for x in mp_ratio(n))
    term, rest = 1 << 420, 0
    k = whole + part
    while term:
        term = term * top * part // (bottom * k)
        rest += term
        k += part
    return mp.exp(a + mp.loggamma(n + 1) - n * mp.log(a)) - mp.mpf(rest) / (1 << 420)


def mp_ratio(value):
    """A binary number as an exact ratio of integers."""
    mantissa, exponent = mp.frexp(value)
    bits = mp.mp.prec
    numerator = Fraction(int(mp.ldexp(mantissa, bits))) * Fraction(2) ** (int(exponent) - bits)
    return numerator.numerator, numerator.denominator


def exact(n, z, x):
    """Throughput, response, utilisation and length by n/X - z, in 110 digits."""
    u = 1 - 1 / inverse_erlang_b(n, z / x)
    throughput = u / x
    response = n / throughput - z
    return {
        "throughput": throughput,
        "response": response,
        "utilisation": u,
        "length": throughput * response,
    }


def relative(got, wanted):
    if abs(wanted) < UNDERFLOW:
        return float(abs(mp.mpf(float(got)) - wanted))
    return float(abs(mp.mpf(float(got)) / wanted - 1))


@pytest.fixture(autouse=True)
def _110_digits():
    with mp.workdps(110):
        yield


@given(networks())
def test_kernel_agrees_with_110_digits(network):
    n, a = network
    u, q, _, log_b = state(n, a)
    b = 1 / inverse_erlang_b(n, a)
    assert relative(u, 1 - b) < TOLERANCE
    assert relative(q, n - mp.mpf(a) * (1 - b)) < TOLERANCE
    assert abs(mp.mpf(float(log_b)) - mp.log(b)) < TOLERANCE * max(1, abs(mp.log(b)))
    assert relative(state(n, a).relief, 1 - b - b * (n - mp.mpf(a) * (1 - b))) < TOLERANCE


BORDERS = [-9.1, -8.9, -4.5, -4.3, -1, 0, 0.9, 1.3, 1.9, 2.1, 3.9, 4.1, 7.9, 8.1, 49, 51]


@pytest.mark.parametrize("n", [1e-9, 0.3, 1, 2.5, 10, 16, 30, 200.5, 1e3, 9e4, 1.1e5, 1e7])
def test_kernel_is_right_on_both_sides_of_the_borders_between_its_methods(n):
    at = [n + t * sqrt(max(n, 1)) for t in [*BORDERS, 0.99e4, 1.01e4]] + [0.5, 1.9, 2.1]
    for a in (a for a in at if a > 0):
        b = 1 / inverse_erlang_b(n, a)
        q = n - mp.mpf(a) * (1 - b)
        got = state(n, a)
        assert relative(got.utilisation, 1 - b) < TOLERANCE / 10
        assert relative(got.length, q) < TOLERANCE / 5
        assert relative(got.relief, 1 - b - b * q) < TOLERANCE
        assert abs(got.log_empty - mp.log(b)) < TOLERANCE / 10 * max(1, abs(mp.log(b)))


@pytest.mark.parametrize("deviations", [2.1, 2.4, 2.7, 3.0, 3.5, 4.0])
def test_a_small_chance_of_an_empty_queue_keeps_its_digits_in_light_load(deviations):
    n = 1e7
    a = n + deviations * sqrt(n)
    assert abs(state(n, a).log_empty + mp.log(inverse_erlang_b(n, a))) < 1e-14


@given(networks(), services)
def test_equilibrium_and_slopes_agree_with_110_digits(network, x):
    n, a = network
    z = a * x
    got = repairman_equilibrium(n, delay=z, service=x)
    small = mp.mpf(10) ** -18
    z, x = mp.mpf(z), mp.mpf(x)
    now = exact(n, z, x)
    by_z = [exact(n, z * (1 + side * small), x) for side in (1, -1)]
    by_x = [exact(n, z, x * (1 + side * small)) for side in (1, -1)]
    for name, wanted in now.items():
        mine = getattr(got, name)
        assert relative(mine.value, wanted) < TOLERANCE, name
        for slope, (up, down), at in ((mine.by_delay, by_z, z), (mine.by_service, by_x, x)):
            derivative = (up[name] - down[name]) / (2 * small * at)
            if abs(derivative * at) > RESOLVED * wanted:
                last_digit = LAST_DIGIT * float(now["length"])  # of z/x, that B feels by Q times
                assert relative(slope, derivative) < TOLERANCE + last_digit, name
            else:
                assert abs(slope * at) <= 2 * RESOLVED * wanted, name


@given(st.floats(1e-9, 1, exclude_max=True), decades, services)
def test_less_than_one_customer_is_continued_smoothly(n, a, x):
    z = a * x
    got = repairman_equilibrium(n, delay=z, service=x)
    z, x = mp.mpf(z), mp.mpf(x)
    now = exact(n, z, x)
    for name, wanted in now.items():
        assert relative(getattr(got, name).value, wanted) < TOLERANCE, name
    small = mp.mpf(10) ** -18
    ups, downs = (exact(n, z * (1 + side * small), x)["response"] for side in (1, -1))
    slope = (ups - downs) / (2 * small * z)
    assert abs(got.response.by_delay - slope) < TOLERANCE * max(1, abs(slope))


@given(
    st.integers(1, 12),
    st.fractions(Fraction(1, 100), 100, max_denominator=100),
    st.fractions(Fraction(1, 100), 100, max_denominator=100),
)
def test_response_agrees_with_exact_mean_value_analysis_and_equation_17(n, z, x):
    queue = Fraction(0)
    for i in range(1, n + 1):
        response = x * (1 + queue)
        throughput = i / (z + response)
        queue = throughput * response
    weights = [x**e * z ** (n - 1 - e) / factorial(n - 1 - e) for e in range(n)]
    assert response == x * sum((e + 1) * w for e, w in enumerate(weights)) / sum(weights)
    got = repairman_equilibrium(n, delay=float(z), service=float(x))
    assert float(got.response.value) == pytest.approx(float(response), rel=1e-13)
    assert float(got.throughput.value) == pytest.approx(float(throughput), rel=1e-13)


def test_published_response_to_the_digits_printed():
    response = repairman_equilibrium(4, delay=1.0, service=0.5).response.value
    assert f"{response:.12f}" == "1.210526315789"


@pytest.mark.parametrize("n", [1, 2, 7.5, 1e7])
def test_without_service_nobody_waits(n):
    got = repairman_equilibrium(n, delay=2.0, service=0.0)
    assert got.throughput == (n / 2, -n / 4, -n / 4)
    assert got.response == (0, 0, 1)
    assert got.utilisation == (0, 0, n / 2)
    assert got.length == (0, 0, n / 2)


@pytest.mark.parametrize("n", [2, 3, 1e7])
def test_without_delay_the_queue_is_always_busy(n):
    got = repairman_equilibrium(n, delay=0.0, service=2.0)
    assert got.throughput == (0.5, 0, -0.25)
    assert got.response == (2 * n, -1, n)
    assert got.utilisation == (1, 0, 0)
    assert got.length == (n, -0.5, 0)


def test_one_customer_never_waits():
    got = repairman_equilibrium(1, delay=[0.0, 3.0], service=1.0)
    assert got.throughput.value.tolist() == [1, 0.25]
    assert got.throughput.by_delay.tolist() == [-1, -0.0625]
    assert got.response.value.tolist() == [1, 1]
    assert got.response.by_delay.tolist() == [0, 0]
    assert got.response.by_service.tolist() == [1, 1]


def test_half_a_customer_without_delay_is_the_limit():
    got = repairman_equilibrium(0.5, delay=[0.0, 1e-12], service=2.0)
    assert got.throughput.value == pytest.approx([0.5, 0.5], rel=1e-5)
    assert got.response.value == pytest.approx([1, 1], rel=1e-5)
    assert got.response.by_delay[0] == inf
    assert got.throughput.by_delay[0] == -inf
    assert (got.length.by_delay[0], got.utilisation.by_service[0]) == (-0.5, 0)


def test_no_customers_do_nothing():
    got = repairman_equilibrium(0, delay=[0.0, 1.0, 1.0], service=[1.0, 0.0, 1.0])
    for quantity in (got.throughput, got.utilisation, got.length):
        assert not np.any(quantity)
    one = mp.e * mp.e1(1)  # e^1 E1(1)
    assert got.response.value.tolist() == [0, 0, pytest.approx(float((1 - one) / one), rel=1e-14)]
    assert isinf(got.response.by_delay[0])


@pytest.mark.parametrize(("z", "x"), [(1e300, 1e-300), (1e-300, 1e300), (5e-324, 1.0)])
def test_the_ends_of_arithmetic_are_survived(z, x):
    got = repairman_equilibrium([1, 2, 1e7], delay=z, service=x)
    for quantity in (got.throughput, got.response, got.utilisation, got.length):
        assert np.isfinite(quantity).all()
    assert got.response.value == pytest.approx(np.array([1, 2, 1e7]) * x if z < x else x)


@settings(deadline=None)
@given(st.lists(networks(), min_size=1, max_size=20), services)
def test_an_array_is_answered_as_its_elements_are(cases, x):
    n, a = np.array(cases, dtype=float).T
    together = repairman_equilibrium(n, delay=a * x, service=x)
    alone = [repairman_equilibrium(m, delay=b * x, service=x) for m, b in zip(n, a, strict=True)]
    for name in ("throughput", "response", "utilisation", "length"):
        for part in range(3):
            expected = [float(getattr(one, name)[part]) for one in alone]
            assert getattr(together, name)[part].tolist() == pytest.approx(expected, rel=4e-16)


def test_arguments_broadcast():
    got = repairman_equilibrium([[1], [2]], delay=[1.0, 2.0, 3.0], service=0.5)
    assert got.response.by_service.shape == (2, 3)
    assert state(np.ones((2, 1, 0)), np.ones(4)[:, None]).relief.shape == (2, 4, 0)


TIME = "Give it in seconds."


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"customers": -1}, "customers must be at least 0, got -1. Count those that circulate."),
        (
            {"customers": [2, inf]},
            "customers must be at least 0, got inf. Count those that circulate.",
        ),
        ({"delay": -0.5}, f"delay must be a time of at least 0, got -0.5. {TIME}"),
        ({"delay": np.nan}, f"delay must be a time of at least 0, got nan. {TIME}"),
        ({"service": [1, -2]}, f"service must be a time of at least 0, got -2. {TIME}"),
        ({"service": inf}, f"service must be a time of at least 0, got inf. {TIME}"),
        (
            {"delay": [1, 0], "service": 0},
            "service must be above 0 where delay is 0, got 0. "
            "A customer must spend time somewhere.",
        ),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says):
    with pytest.raises(ParameterError) as caught:
        repairman_equilibrium(**({"customers": 4, "delay": 1.0, "service": 0.5} | bad))
    assert str(caught.value) == says
