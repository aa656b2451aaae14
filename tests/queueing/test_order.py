"""`order` and its laws against published tables, exact sums, high precision, laws, bad input."""

import csv
from fractions import Fraction
from math import comb
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.order import deviation_of_maximum, expected_maximum, largest_sum_excess
from parcast.queueing.time_laws import (
    TimeLaw,
    deterministic_times,
    exponential_times,
    gamma_times,
    normal_quantile,
    uniform_times,
)

DATA = Path(__file__).parent / "data" / "largest_normal.csv"
TOLERANCE = 1e-10  # relative, the accuracy promised


def normal_times(cv):
    """A normal law, of which tables are published."""
    return TimeLaw(name="normal", cv=np.asarray(cv), deviate=lambda v, _: normal_quantile(v))


counts = st.floats(0, 6).map(lambda e: 10.0**e)
variations = st.one_of(st.floats(0, 20), st.floats(-9, 1).map(lambda e: 10.0**e))
laws = st.one_of(
    st.just(exponential_times()),
    st.floats(0, 3**-0.5).map(uniform_times),
    st.floats(0, 1 / 3).map(normal_times),
    variations.map(gamma_times),
)


def published():
    with DATA.open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


@pytest.mark.parametrize("row", published(), ids=lambda row: row["n"])
def test_largest_normal_agrees_with_tables_to_the_digits_printed(row):
    excess = expected_maximum(int(row["n"]), normal_times(0.25)) - 1
    assert f"{excess / 0.25:.{row['digits']}f}" == row["mean"]


# Values against exact sums and high precision


@given(st.integers(1, 300))
def test_closed_forms_agree_with_exact_fractions(c):
    harmonic = sum(Fraction(1, i) for i in range(1, c + 1))
    assert expected_maximum(c, exponential_times()) == pytest.approx(float(harmonic))
    uniform = expected_maximum(c, uniform_times())
    assert uniform == pytest.approx(2 * c / (c + 1), rel=1e-15)
    assert expected_maximum(c, deterministic_times()) == 1


@given(counts)
def test_quadrature_agrees_with_closed_forms_where_both_exist(c):
    exact = expected_maximum(c, exponential_times())
    assert expected_maximum(c, gamma_times(1.0)) == pytest.approx(exact, rel=TOLERANCE)


@pytest.mark.parametrize("stages", [2, 4, 16])
@pytest.mark.parametrize("c", [2, 3, 8])
def test_erlang_agrees_with_exact_fractions(stages, c):
    tail = [Fraction(1)]  # P(T > x) exp(x), a polynomial in x
    for i in range(1, stages):
        tail.append(tail[-1] / i)
    power, total = [Fraction(1)], Fraction(0)
    for j in range(1, c + 1):
        power = [
            sum(power[m] * tail[n - m] for m in range(len(power)) if 0 <= n - m < stages)
            for n in range(len(power) + stages - 1)
        ]
        factorial, integral = Fraction(1), Fraction(0)
        for n, coefficient in enumerate(power):
            factorial *= max(n, 1)
            integral += coefficient * factorial / Fraction(j) ** (n + 1)
        total += (-1) ** (j + 1) * comb(c, j) * integral
    law = gamma_times(stages**-0.5)
    assert expected_maximum(c, law) == pytest.approx(float(total / stages), rel=TOLERANCE)
    law = gamma_times(1.0, bursts=stages)
    assert expected_maximum(c, law) == pytest.approx(float(total / stages), rel=TOLERANCE)


def largest_of_a_function_of_the_normal(time, c, top):
    """Mean of the largest of c times that rise with a normal variable."""
    c, peak = mp.mpf(c), mp.sqrt(2 * mp.log(c + 1))

    def density(z):
        return c * time(z) * mp.npdf(z) * mp.ncdf(z) ** (c - 1)

    return float(mp.quad(density, [-12, -5, -2, 0, 2, peak, peak + 3, peak + 8, top]))


@pytest.mark.parametrize("c", [1.5, 1e6])
def test_normal_agrees_with_twenty_digits(c):
    with mp.workdps(20):
        wanted = largest_of_a_function_of_the_normal(lambda z: z, c, 20)
    value = expected_maximum(c, normal_times(0.2))
    assert value == pytest.approx(1 + 0.2 * wanted, rel=TOLERANCE)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(("c", "cv"), [(1.5, 0.3), (64, 0.03), (1e4, 0.75), (1.5, 3), (1e4, 3)])
def test_gamma_agrees_with_fifteen_digits(c, cv):
    with mp.workdps(15):
        k = 1 / mp.mpf(cv) ** 2

        def beyond(x):
            below = mp.log(mp.gammainc(k, 0, k * x, regularized=True))
            return -mp.expm1(c * below)

        ends = [1e-30, 1e-12, 1e-5, 1e-2, 0.5, 0.8, 0.9, 1, 1.1, 1.3, 2, 4, 8, 16, 50, 300]
        wanted = mp.quad(beyond, ends)
    assert expected_maximum(c, gamma_times(cv)) == pytest.approx(float(wanted), rel=TOLERANCE)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("cv", [1e-3, 2.9e-3, 3.1e-3, 0.02])
@pytest.mark.parametrize("v", [1e-12, 1e-3, 0.7, 5, 20])
def test_gamma_deviates_of_small_variation_have_their_probability(cv, v):
    deviate = float(gamma_times(cv).deviate(np.asarray(v), np.asarray(cv)))
    with mp.workdps(40):
        k = 1 / mp.mpf(cv) ** 2
        time = k * (1 + mp.mpf(cv) * deviate)
        total = term = mp.exp(k * mp.log(time) - time - mp.loggamma(k + 1))
        n = k
        while term > 1e-40 * total:
            n += 1
            term *= time / n
            total += term
        below = mp.exp(-mp.mpf(v))
        miss = (total - below) / min(below, 1 - below)
    steepness = 1 + abs(deviate)  # of the logarithm of the probability
    assert abs(miss) < 2e-12 * steepness


@given(counts, st.floats(1e-6, 5e-3))
def test_gamma_of_small_variation_joins_its_expansion(c, cv):
    """Beside two terms of the expansion around the normal law, whatever route is taken."""
    excess = (expected_maximum(c, gamma_times(cv)) - 1) / cv
    normal = (expected_maximum(c, normal_times(0.25)) - 1) / 0.25
    assert abs(excess - normal) <= cv * (normal**2 + 1) / 2


# Laws


@settings(deadline=None)
@given(counts, laws)
def test_bounds_hold(c, law):
    value = expected_maximum(c, law)
    free = 1 + law.cv * (c - 1) / np.sqrt(2 * c - 1)  # no law of this cv has a larger one
    assert 1 - 1e-12 <= value <= free * (1 + 1e-11)
    assert value <= c * (1 + 1e-12)


def test_averages_over_bursts_vary_less():
    bursts = gamma_times(2.0, bursts=[1, 4, 16])
    assert bursts.cv.tolist() == [2, 1, 0.5]
    assert (np.diff(expected_maximum(8, bursts)) < 0).all()


@given(st.lists(st.tuples(counts, st.floats(0, 20)), min_size=1, max_size=9))
def test_an_array_is_answered_as_its_elements_are(cases):
    c, cv = np.array(cases).T
    together = expected_maximum(c, gamma_times(cv))
    alone = [expected_maximum(n, gamma_times(v)) for n, v in cases]
    assert together.tolist() == pytest.approx([float(one) for one in alone], rel=1e-13)


# Refusals

SPREAD = "Give standard deviation over mean."
COUNT = "Count those that wait for each other."


@pytest.mark.parametrize(
    ("law", "cv", "says"),
    [
        (gamma_times, [1, -1], f"[0, 20], got -1. {SPREAD}"),
        (gamma_times, np.nan, f"[0, 20], got nan. {SPREAD}"),
        (gamma_times, 21, f"[0, 20], got 21. {SPREAD}"),
        (
            uniform_times,
            0.6,
            "[0, 1/sqrt(3)], got 0.6. A wider uniform law has negative times; use gamma_times.",
        ),
    ],
)
def test_a_variation_that_a_law_cannot_have_is_refused(law, cv, says, refusal):
    assert refusal(ParameterError, law, cv) == f"cv must lie in {says}"


@pytest.mark.parametrize("bursts", [0, np.inf])
def test_a_number_of_bursts_below_one_is_refused(bursts):
    with pytest.raises(ParameterError) as caught:
        gamma_times(1.0, bursts=bursts)
    says = f"bursts must be at least 1, got {bursts:g}. Count bursts between meetings."
    assert str(caught.value) == says


@pytest.mark.parametrize(("c", "got"), [(0.5, "0.5"), ([2, np.inf], "inf")])
def test_bad_count_is_named_with_its_value_and_a_remedy(c, got):
    with pytest.raises(ParameterError) as caught:
        expected_maximum(c, exponential_times())
    assert str(caught.value) == f"c must be at least 1, got {got}. {COUNT}"


def test_the_variance_of_the_largest_exponential_time_is_a_sum_of_inverse_squares():
    counts = np.array([1, 2, 8])
    expected = [sum(1 / i**2 for i in range(1, c + 1)) ** 0.5 for c in counts]
    np.testing.assert_allclose(
        deviation_of_maximum(counts, exponential_times()), expected, rtol=1e-9
    )


@pytest.mark.parametrize("cv", [1e-4, 0.3, 1.0, 20.0])
def test_sums_of_many_numbers_of_jobs_are_those_of_each(cv):
    jobs = np.append(np.arange(1.0, 5001.0), [2.5, 1e9])
    many, each = (
        largest_sum_excess(k, np.array([[1.0], [7.5]]) * np.ones(k.size), np.full(k.size, cv))
        for k in (jobs, jobs[::10])
    )
    for name in ("value", "by_cv"):
        assert getattr(many, name)[:, ::10] == pytest.approx(getattr(each, name), rel=1e-8)
