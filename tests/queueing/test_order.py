"""`order` and its laws against published tables, exact sums, high precision, laws, bad input."""

import csv
from fractions import Fraction
from itertools import combinations
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
    deterministic_times,
    exponential_times,
    gamma_times,
    uniform_times,
)
from tests.queueing.reference.order import expected_maximum_of_sample, spacings
from tests.queueing.reference.time_laws import lognormal_times, normal_times, weibull_times

DATA = Path(__file__).parent / "data" / "largest_normal.csv"
TOLERANCE = 1e-10  # relative, the accuracy promised

counts = st.floats(0, 6).map(lambda e: 10.0**e)
variations = st.one_of(st.floats(0, 20), st.floats(-9, 1).map(lambda e: 10.0**e))
laws = st.one_of(
    st.just(exponential_times()),
    st.floats(0, 3**-0.5).map(uniform_times),
    st.floats(0, 1 / 3).map(normal_times),
    variations.map(gamma_times),
    variations.map(lognormal_times),
    variations.map(weibull_times),
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
    for law in (gamma_times(1.0), weibull_times(1.0)):
        assert expected_maximum(c, law) == pytest.approx(exact, rel=TOLERANCE)


def weibull_exponent(cv):
    """The t of Gamma(1+2t)/Gamma(1+t)^2 = 1 + cv^2."""
    target = mp.sqrt(mp.log1p(mp.mpf(cv) ** 2))

    def miss(t):
        return mp.sqrt(mp.loggamma(1 + 2 * t) - 2 * mp.loggamma(1 + t)) - target

    return mp.findroot(miss, target * mp.sqrt(6) / mp.pi)


@given(st.integers(1, 40), st.floats(1e-3, 20))
def test_weibull_agrees_with_its_alternating_sum(c, cv):
    with mp.workdps(60):
        t = weibull_exponent(cv)
        terms = (comb(c, j) * (-1) ** (j + 1) * mp.mpf(j) ** -t for j in range(1, c + 1))
        wanted = float(mp.fsum(terms))
    assert expected_maximum(c, weibull_times(cv)) == pytest.approx(wanted, rel=TOLERANCE)


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


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("c", [1.5, 64, 1e4])
@pytest.mark.parametrize("cv", [1e-3, 0.5, 20])
def test_lognormal_agrees_with_twenty_digits(c, cv):
    with mp.workdps(20):
        s = mp.sqrt(mp.log1p(mp.mpf(cv) ** 2))
        wanted = largest_of_a_function_of_the_normal(lambda z: mp.expm1(s * z - s * s / 2), c, 30)
    value = expected_maximum(c, lognormal_times(cv))
    assert value == pytest.approx(1 + wanted, rel=TOLERANCE)


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


@given(counts)
def test_gamma_is_smooth_where_its_route_changes(c):
    below, above = (
        (expected_maximum(c, gamma_times(cv)) - 1) / cv for cv in (2.999999e-3, 3.000001e-3)
    )
    slope = (normal_excess(c) ** 2 + 1) / 2 * 2e-9
    assert abs(above - below) <= slope + 1e-12


def normal_excess(c):
    return float(expected_maximum(c, normal_times(0.25)) - 1) / 0.25


# Laws


@settings(deadline=None)
@given(counts, laws)
def test_bounds_hold(c, law):
    value = expected_maximum(c, law)
    free = 1 + law.cv * (c - 1) / np.sqrt(2 * c - 1)  # no law of this cv has a larger one
    assert 1 - 1e-12 <= value <= free * (1 + 1e-11)
    assert value <= c * (1 + 1e-12)


@settings(deadline=None)
@given(st.floats(0, 5.9).map(lambda e: 10.0**e), laws, st.floats(1.01, 1.2))
def test_the_slowest_of_more_is_slower_by_less_and_less(c, law, factor):
    low, middle, high = expected_maximum(c * np.array([1, factor, 2 * factor - 1]), law)
    slack = 1e-11 * high
    assert -slack <= high - middle <= middle - low + slack


@settings(deadline=None)
@given(laws)
def test_one_waits_for_nobody(law):
    assert expected_maximum(1, law) == pytest.approx(1, rel=1e-12)


@given(counts, st.sampled_from([gamma_times, lognormal_times, weibull_times]))
def test_more_variation_means_a_slower_slowest(c, law):
    value = expected_maximum(c, law([0.0, 1e-12, 1e-3, 0.1, 0.3]))
    assert value[0] == 1
    assert (np.diff(value) >= -1e-14 * value[-1]).all()


def test_averages_over_bursts_vary_less():
    bursts = gamma_times(2.0, bursts=[1, 4, 16])
    assert bursts.cv.tolist() == [2, 1, 0.5]
    assert (np.diff(expected_maximum(8, bursts)) < 0).all()


@given(
    st.lists(st.tuples(counts, st.floats(0, 20)), min_size=1, max_size=9),
    st.sampled_from([gamma_times, lognormal_times, weibull_times]),
)
def test_an_array_is_answered_as_its_elements_are(cases, family):
    c, cv = np.array(cases).T
    together = expected_maximum(c, family(cv))
    alone = [expected_maximum(n, family(v)) for n, v in cases]
    assert together.tolist() == pytest.approx([float(one) for one in alone], rel=1e-13)


def test_arguments_broadcast_and_long_arrays_go_in_blocks():
    c = np.linspace(1, 4096, 12000)[:, None]
    value = expected_maximum(c, lognormal_times([0.1, 0.2]))
    assert value.shape == (12000, 2)
    assert value[-1, 1] == pytest.approx(expected_maximum(4096, lognormal_times(0.2)))
    for law in (uniform_times(), exponential_times()):
        assert expected_maximum(c, law).shape == (12000, 1)


# From a sample


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=8), st.data())
def test_sample_agrees_with_the_mean_over_all_subsets(sample, data):
    c = data.draw(st.integers(1, len(sample)))
    subsets = [max(subset) for subset in combinations(sample, c)]
    got = expected_maximum_of_sample(c, sample)
    assert got.value == pytest.approx(np.mean(subsets), rel=1e-12)
    if c < len(sample):
        more = np.mean([max(subset) for subset in combinations(sample, c + 1)])
        assert got.by_count == pytest.approx(more - np.mean(subsets), rel=1e-9, abs=1e-11)


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=50), st.floats(0, 1))
def test_between_whole_numbers_sample_is_linear(sample, part):
    c = 1 + part * (len(sample) - 1)
    lower = int(c)
    got = expected_maximum_of_sample([lower, c, min(lower + 1, len(sample))], sample).value
    assert got[1] == pytest.approx(got[0] + (c - lower) * (got[2] - got[0]), rel=1e-12)
    assert (np.diff(got) >= -1e-9).all()


def test_sample_of_one_and_of_all():
    assert expected_maximum_of_sample(1, 7.0) == (7, 0)
    value, by_count = expected_maximum_of_sample([[1], [3]], [5.0, 1.0, 3.0])
    assert value.tolist() == [[3], [5]]
    assert by_count[1, 0] == pytest.approx(5 - (3 + 5 + 5) / 3)


def test_large_samples_go_in_blocks_and_approach_the_law():
    sample = np.random.default_rng(7).exponential(size=4000)
    got = expected_maximum_of_sample(np.arange(1, 1001), sample).value
    assert got[:64] == pytest.approx(expected_maximum(np.arange(1, 65), exponential_times()), rel=0.05)  # fmt: skip  # noqa: E501 - one claim
    assert (np.diff(got) > 0).all()


# Spacings


@given(st.integers(1, 200))
def test_spacings_of_exponential_and_uniform_times(c):
    assert spacings(c, exponential_times()) == pytest.approx(1 / np.arange(1, c + 1), rel=1e-10)
    even = np.full(c, 2 / (c + 1))
    assert spacings(c, uniform_times()) == pytest.approx(even, rel=1e-9)
    assert spacings(c, deterministic_times()).tolist() == [0] * (c - 1) + [1]


@given(st.integers(1, 25), st.floats(0.05, 5))
def test_spacings_of_weibull_times_agree_with_their_alternating_sum(c, cv):
    with mp.workdps(60):
        t = weibull_exponent(cv)
        differences = [
            mp.fsum(comb(c - i, j) * (-1) ** j * mp.mpf(i + j) ** -t for j in range(c - i + 1))
            for i in range(1, c + 1)
        ]
    wanted = [comb(c, i) * float(x) for i, x in enumerate(differences, start=1)]
    assert spacings(c, weibull_times(cv)) == pytest.approx(wanted, rel=TOLERANCE, abs=TOLERANCE)


@given(st.integers(1, 300), laws)
def test_spacings_add_up_to_the_maximum_and_to_all_work(c, law):
    spacing = spacings(c, law)
    assert (spacing >= 0).all()
    assert spacing.sum() == pytest.approx(expected_maximum(c, law), rel=TOLERANCE)
    assert spacing @ np.arange(1, c + 1) == pytest.approx(c, rel=TOLERANCE)


@given(st.integers(1, 300), laws)
def test_leaving_one_out_at_random_joins_spacings(c, law):
    i = np.arange(1.0, c + 1)
    more = spacings(c + 1, law)
    joined = ((c + 1 - i) * more[:-1] + (i + 1) * more[1:]) / (c + 1)
    assert spacings(c, law) == pytest.approx(joined, rel=1e-9, abs=1e-11)


def test_spacings_of_thousands_and_of_many_laws():
    few = spacings(3, gamma_times([[0.1, 0.5]], bursts=[[1], [4], [9]]))
    assert few.shape == (3, 2, 3)
    assert few[0, 0] == pytest.approx(spacings(3, gamma_times(0.1)), abs=1e-13)
    many = spacings(3000, exponential_times())
    assert many == pytest.approx(1 / np.arange(1, 3001), rel=1e-9)


# Refusals

SPREAD = "Give standard deviation over mean."
COUNT = "Count those that wait for each other."


@pytest.mark.parametrize(
    ("law", "cv", "says"),
    [
        (gamma_times, [1, -1], f"[0, 20], got -1. {SPREAD}"),
        (gamma_times, np.nan, f"[0, 20], got nan. {SPREAD}"),
        (lognormal_times, 21, f"[0, 20], got 21. {SPREAD}"),
        (weibull_times, np.inf, f"[0, 20], got inf. {SPREAD}"),
        (
            normal_times,
            0.5,
            "[0, 1/3], got 0.5. A wider normal law has negative times; use gamma_times.",
        ),
        (
            uniform_times,
            0.6,
            "[0, 1/sqrt(3)], got 0.6. A wider uniform law has negative times; use gamma_times.",
        ),
    ],
)
def test_a_variation_that_a_law_cannot_have_is_refused(law, cv, says):
    with pytest.raises(ParameterError) as caught:
        law(cv)
    assert str(caught.value) == f"cv must lie in {says}"


@pytest.mark.parametrize("bursts", [0, np.inf])
def test_a_number_of_bursts_below_one_is_refused(bursts):
    with pytest.raises(ParameterError) as caught:
        gamma_times(1.0, bursts=bursts)
    says = f"bursts must be at least 1, got {bursts:g}. Count bursts between meetings."
    assert str(caught.value) == says


SAMPLE = "c must lie between 1 and the number of times in the sample (3)"


@pytest.mark.parametrize(
    ("function", "c", "rest", "says"),
    [
        (expected_maximum, 0.5, exponential_times(), f"c must be at least 1, got 0.5. {COUNT}"),
        (expected_maximum, [2, np.inf], gamma_times(1), f"c must be at least 1, got inf. {COUNT}"),
        (
            spacings,
            0,
            exponential_times(),
            f"c must be a whole number of at least 1, got 0. {COUNT}",
        ),
        (
            spacings,
            2.5,
            exponential_times(),
            f"c must be a whole number of at least 1, got 2.5. {COUNT}",
        ),
        (
            expected_maximum_of_sample,
            [2, 4],
            [1, 2, 3],
            f"{SAMPLE}, got 4. Measure more, or choose a law.",
        ),
        (
            expected_maximum_of_sample,
            0,
            [1, 2, 3],
            f"{SAMPLE}, got 0. Measure more, or choose a law.",
        ),
        (
            expected_maximum_of_sample,
            2,
            [1, np.nan],
            "sample must hold only finite times, got nan. Leave failed runs out.",
        ),
        (
            expected_maximum_of_sample,
            1,
            [],
            "c must lie between 1 and the number of times in the sample (0), got 1. "
            "Measure more, or choose a law.",
        ),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(function, c, rest, says):
    with pytest.raises(ParameterError) as caught:
        function(c, rest)
    assert str(caught.value) == says


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
