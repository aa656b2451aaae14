"""`parcast.laws.count_formulas`: exact counts are found, times are fitted, nonsense refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.expressions import Expression
from parcast.laws.count_formulas import count_formula, work_formulas

P, N = (x.ravel() for x in np.meshgrid([1.0, 2, 4, 8], [20.0, 50, 100, 300]))
EXACT = [
    "20",
    "n^2",
    "(n - 2)^2",
    "n*(n - 2)",
    "(n - 1)",
    "20*(n - 2)^2/p",
    "1/3*n^3",
    "n*log2(n)",
    "8*n*ceil(log2(p))",
    "20*(p - 1)",
    "2*min(2, p - 1)",
    "ceil((n - 2)/p)",
    "n*ceil(n/p)",
    "5*n^2/sqrt(p)",
    "n^(2/3)",
    "n^2/p^(2/3)",
    "3*n + 4",
    "1/2*n^2 - 1/2*n",
    "p + n",
    "2.71828*n",
]


@pytest.mark.parametrize("text", EXACT)
def test_exact_counts_give_the_formula_they_were_made_by(text):
    value = Expression(text)(p=P, n=N)
    found = count_formula(np.broadcast_to(value, P.shape), P, N)
    assert found.is_exact
    later = Expression(found.text)(p=64.0, n=5000.0)
    assert later == pytest.approx(Expression(text)(p=64.0, n=5000.0), rel=1e-9)
    assert found(64, 5000) == pytest.approx(later, rel=1e-9)
    assert len(found.text) <= len(text) + 8


def test_counts_that_no_formula_meets_get_the_nearest_and_say_so():
    value = N**1.5 / P * np.where(N == 50, 1.1, 1.0)
    found = count_formula(value, P, N)
    assert not found.is_exact
    assert found.error == pytest.approx(0.1, abs=0.02)
    assert found.text.endswith("n^(3/2)/p")


def test_a_time_that_does_not_depend_on_n_is_constant_though_it_is_noisy():
    noise = np.exp(0.02 * np.sin(np.arange(P.size)))
    found = count_formula(1e-8 * noise, P, N, smooth=True)
    assert found.constant == pytest.approx(1e-8, rel=0.03)
    assert count_formula(1e-8 * N * noise, P, N, smooth=True).text.endswith("*n")
    assert count_formula(1e-8 * N, P, N).constant is None


def test_noise_does_not_become_a_power_of_n():
    noise = np.exp(0.15 * np.random.default_rng(7).standard_normal((200, 9)))
    n = np.repeat([400.0, 600, 800], 3)
    found = [count_formula(1e-8 * x, np.ones(9), n, smooth=True) for x in noise]
    assert np.mean([x.constant is not None for x in found]) > 0.95


def test_two_sizes_choose_the_form_that_meets_both():
    assert count_formula([1.01, 1.0], [1, 1], [10, 20], smooth=True).constant is not None
    assert count_formula([1.0, 2.02], [1, 1], [10, 20], smooth=True).text.endswith("*n")


def test_two_points_that_nothing_meets_get_the_nearest():
    found = count_formula([5, 7], [1, 1], [1, 2])
    assert not found.is_exact
    assert found.error < 0.2


def test_a_formula_is_written_as_bytes_and_scaled():
    found = count_formula(8 * N, P, N)
    assert found.times("B") == "8 B*n"
    assert found.scaled(0.5).text == "4*n"
    assert count_formula([8, 8], [1, 2]).times("B") == "8 B"
    assert Expression(found.times("B"), dimension="size")(n=10.0) == 80


@given(
    c=st.integers(1, 10**6),
    a=st.integers(0, 3),
    sizes=st.lists(st.integers(2, 10**4), min_size=2, max_size=5, unique=True),
)
def test_powers_of_n_are_recovered_from_two_sizes_or_more(c, a, sizes):
    n = np.array(sizes, dtype=np.float64)
    found = count_formula(c * n**a, np.ones_like(n), n)
    assert found.is_exact
    assert found(1, n) == pytest.approx(c * n**a, rel=1e-8)


@pytest.mark.parametrize("wrong", [1.0, 1.02])
def test_the_error_of_work_is_that_of_its_sum_at_the_measured_times(wrong):
    time = (3e-6 * N / P + 2e-6 * N) * np.where((P == 4) & (N == 50), wrong, 1.0)
    shared, repeated = work_formulas(time, P, N)
    total = shared(P, N) / P + repeated(P, N)
    assert shared.error == repeated.error == pytest.approx(np.abs(total / time - 1).max())
    assert shared.error == pytest.approx(wrong - 1.0, abs=0.004)


@pytest.mark.parametrize(
    ("value", "p", "n", "says"),
    [
        ([-1], [1], [1], "value must be at least 0 and finite, got -1. Check the profile."),
        ([np.nan], [1], [1], "value must be at least 0 and finite, got nan."),
        ([1], [0], [1], "p must be at least 1, got 0."),
        ([1, 2], [1], [1], "value, p and n must have the same length, at least 1, got 2, 1 and"),
        ([], [], [], "at least 1, got 0, 0 and 0."),
    ],
)
def test_what_makes_no_sense_is_refused(value, p, n, says, refusal):
    assert says in refusal(ParameterError, count_formula, value, p, n)
