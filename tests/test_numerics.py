"""`parcast.numerics` and `counters` against the measurements of In et al., c. 2000.

The coefficients are those of our specification, worked out beside the code from the published
times; the times and the ratios of times are the source's.
"""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FitFailed, ParameterError
from parcast.laws.counters import perturbation, perturbation_warnings, unit_times
from parcast.numerics import distinct, fit_non_negative

TABLE = Path(__file__).parent / "laws" / "data" / "finite_difference_counters.csv"


def table(machine):
    """Give p, times without and times with counters."""
    with TABLE.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    of = [row for row in rows if row["machine"] == machine]
    return tuple(
        np.array([float(row[name]) for row in of]) for name in ("p", "without_s", "with_s")
    )


def terms(p):
    """Terms of T = a + b/P + c*P^2."""
    return np.stack([p**0, 1 / p, p**2], axis=1)


@pytest.mark.parametrize(
    ("machine", "a", "b", "c", "within"),
    [
        ("SP", "1.995", "109.69", "0.01139", 0.019),
        ("O2000", "1.372", "107.80", "0.00767", 0.014),
        ("T3E", "0.118", "17.74", "0.00061", 0.102),
    ],
)
def test_the_form_fits_each_machine_with_the_coefficients_known(machine, a, b, c, within):
    p, time, _ = table(machine)
    fit = fit_non_negative(terms(p), time)
    found = [
        f"{x:.{len(y.partition('.')[2])}f}"
        for x, y in zip(fit.coefficients, (a, b, c), strict=True)
    ]
    assert found == [a, b, c]
    assert np.abs(fit.residuals).max() < within


@pytest.mark.parametrize(
    ("machine", "told", "error"),
    [("SP", 48.8, -0.04), ("O2000", 35.6, 0.04), ("T3E", 1.76, -0.43)],
)
def test_fitted_up_to_32_it_says_at_64_what_is_known(machine, told, error):
    p, time, _ = table(machine)
    fit = fit_non_negative(terms(p[:-1]), time[:-1])
    at_64 = float(fit(terms(p[-1:]))[0])
    assert at_64 == pytest.approx(told, abs=0.05)
    assert at_64 / time[-1] - 1 == pytest.approx(error, abs=0.005)


@pytest.mark.parametrize(("machine", "hangs"), [("SP", None), ("O2000", None), ("T3E", 5)])
def test_only_the_extrapolation_of_the_t3e_hangs_on_its_last_run(machine, hangs):
    p, time, _ = table(machine)
    assert fit_non_negative(terms(p[:-1]), time[:-1]).hangs_on == (None, None, hangs)


@given(st.lists(st.floats(0, 1e3), min_size=3, max_size=3).filter(lambda c: sum(c) > 1e-3))
def test_coefficients_of_exact_times_are_recovered_and_never_negative(c):
    p = np.array([1.0, 2, 4, 8, 16, 32])
    time = terms(p) @ np.array(c)
    fit = fit_non_negative(terms(p), time)
    assert np.all(fit.coefficients >= 0)
    assert fit(terms(p)) == pytest.approx(time, rel=1e-6)


@pytest.mark.parametrize(
    ("matrix", "time", "says"),
    [
        (
            [[1.0, 1.0]],
            [1.0],
            "time must be measured at least 2 times to fit as many terms, got 1.",
        ),
        ([[1.0]], [-1.0], "time must be above 0, got -1. Leave out runs that failed."),
        ([[-1.0]], [1.0], "terms must be at least 0, got -1. Check the counts."),
        ([1.0], [1.0, 2.0], "terms must have a row for each time, got the shape (1,) for 2"),
    ],
)
def test_what_cannot_be_fitted_is_refused(matrix, time, says, refusal):
    assert refusal(ParameterError, fit_non_negative, matrix, time).startswith(says)


# counters


def test_counters_perturb_the_t3e_as_published():
    _, without, counted = table("T3E")
    ratios = [f"{x:.3f}" for x in perturbation(counted, without)]
    assert ratios == ["1.001", "1.001", "1.003", "1.031", "1.223", "2.261", "2.398"]


def test_counters_perturb_the_others_as_published_also_below_1():
    _, without, counted = table("SP")
    assert f"{perturbation(counted, without).max():.3f}" == "1.125"
    _, without, counted = table("O2000")
    ratio = perturbation(counted, without)
    assert (f"{ratio.min():.3f}", f"{ratio.max():.3f}") == ("0.981", "1.139")


def test_a_perturbation_above_5_percent_is_told_and_one_below_is_not():
    p, without, counted = table("T3E")
    (said,) = perturbation_warnings(p, perturbation(counted, without))
    assert "more than 5% at p = 16, 32, 64, by 140% at most" in said
    assert perturbation_warnings([1, 2], [1.04, 0.97]) == ()
    assert "p = 2" in perturbation_warnings([1, 2], [1.0, 0.9])[0]


def test_unit_times_are_recovered_from_loops_and_counts():
    random = np.random.default_rng(1)
    counts = random.integers(1, 100, (40, 3)).astype(float)
    time = counts @ [1e-3, 5e-4, 2e-2] * np.exp(random.normal(0, 0.01, 40))
    assert unit_times(counts, time).fit.coefficients == pytest.approx([1e-3, 5e-4, 2e-2], rel=0.2)


def test_regions_that_run_in_step_are_refused():
    counts = np.array([[1.0, 2.0], [2.0, 4.0], [5.0, 10.0]])
    with pytest.raises(FitFailed, match="always proportional"):
        unit_times(counts, [1.0, 2.0, 5.0])


def test_times_that_do_not_belong_together_are_refused():
    with pytest.raises(ParameterError, match="the shape of without"):
        perturbation([1.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="with_counters must be above 0, got 0"):
        perturbation([0.0], [1.0])


@given(st.lists(st.floats(allow_nan=False), max_size=20), st.integers(1, 2))
def test_distinct_values_are_those_of_numpy(values, rows):
    matrix = np.array([values] * rows)
    assert distinct(matrix).tolist() == np.unique(matrix).tolist()
