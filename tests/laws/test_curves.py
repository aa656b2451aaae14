"""`parcast.laws.curves`: the fits of all laws, against another way to the same answer."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.laws.curves import AMDAHL, GUSTAFSON, LINEAR, LOGARITHMIC, POWER, QUADRATIC, USL

LAWS = [GUSTAFSON, AMDAHL, LOGARITHMIC, LINEAR, USL, QUADRATIC]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
seconds = st.floats(1e-9, 1e9)
counts = st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True).map(sorted)


@st.composite
def timings(draw, time=seconds):
    p = draw(counts)
    t = draw(st.lists(time, min_size=len(p), max_size=len(p)))
    return np.array([p], dtype=float), np.array([t])


def misfit(law, p, time, coefficients):
    """Sum of squared relative residuals."""
    return float((((law.time(p, coefficients) - time) / time) ** 2).sum())


def least_misfit(law, p, time):
    """The least misfit of coefficients of at least 0, by least squares on each subset of terms."""
    design = np.array([[float(f(x)) for f in law.terms] for x in p[0]]) / time.T
    best = float(len(p[0]))  # of no terms at all
    for size in range(1, len(law.terms) + 1):
        for subset in combinations(range(len(law.terms)), size):
            columns = design[:, subset]
            scale = np.linalg.norm(columns, axis=0)
            if np.all(scale > 0):
                x = np.linalg.lstsq(columns / scale, np.ones(len(columns)), rcond=None)[0]
                if np.all(x >= 0):
                    best = min(best, float(((columns / scale @ x - 1) ** 2).sum()))
    return best


@pytest.mark.parametrize("law", [*LAWS, POWER], ids=lambda law: law.name)
@pytest.mark.parametrize("p", [1.0, 2.0, 48.0, 4096.0])
def test_the_formula_shown_is_the_law_computed(law, p):
    a, b, c = 3.0, 0.5, 0.25
    known = {"a": a, "b": b, "c": c, "p": p, "log2": np.log2}
    shown = eval(law.formula.replace("^", "**"), known)
    coefficients = [np.log(a), b] if law.name == "power" else [a, b, c][: len(law.terms)]
    assert law.time(np.array([[p]]), np.array([coefficients]))[0, 0] == pytest.approx(shown)


@each_law
@given(table=timings())
def test_no_coefficients_of_at_least_zero_fit_better(law, table):
    p, time = table
    found = law.fit(p, time, np.ones_like(p))
    assert np.all(found >= 0)
    assert misfit(law, p, time, found) <= least_misfit(law, p, time) + 1e-6


@each_law
@given(share=st.lists(st.floats(0.05, 1), min_size=3, max_size=3), unit=st.floats(1e-6, 1e6))
def test_the_coefficients_that_made_the_times_are_recovered(law, share, unit):
    p = np.array([[1.0, 2, 4, 8, 16, 32]])
    largest = law.design(p)[0].max(axis=0)
    made = unit * np.array([share[: len(largest)]]) / largest
    found = law.fit(p, law.time(p, made), np.ones_like(p))
    np.testing.assert_allclose(found, made, rtol=1e-6)


@each_law
@given(table=timings(), left_out=seconds)
def test_a_point_without_weight_is_left_out(law, table, left_out):
    p, time = table
    further = np.append(p, [[7.0]], axis=1), np.append(time, [[left_out]], axis=1)
    weight = np.append(np.ones_like(p), [[0.0]], axis=1)
    said = law.time(p, law.fit(*further, weight))
    alone = law.time(p, law.fit(p, time, np.ones_like(p)))
    np.testing.assert_allclose(said, alone, rtol=1e-6)


def test_a_weight_counts_as_the_repetitions_whose_number_is_its_square():
    p, time = [1, 2, 4, 8], [80, 50, 30, 28]
    weighted = AMDAHL.fit(np.array([p]) * 1.0, np.array([time]), np.array([[1, 1, 1, 2.0]]))
    repeated = np.array([[*p, 8, 8, 8]]) * 1.0, np.array([[*time, 28, 28, 28]]), np.ones((1, 7))
    np.testing.assert_allclose(weighted, AMDAHL.fit(*repeated), rtol=1e-9)


@each_law
@given(tables=st.lists(timings(), min_size=1, max_size=4))
def test_a_batch_is_answered_as_its_series_are(law, tables):
    width = max(p.shape[1] for p, _ in tables)
    p, time, weight = (np.ones((len(tables), width)) for _ in range(3))
    for i, (own_p, own_time) in enumerate(tables):
        own = slice(0, own_p.shape[1])
        p[i, own], time[i, own], weight[i, own.stop :] = own_p, own_time, 0
    together = law.fit(p, time, weight)
    for (own_p, own_time), found in zip(tables, together, strict=True):
        alone = law.fit(own_p, own_time, np.ones_like(own_p))
        said = law.time(own_p, found[None])
        np.testing.assert_allclose(said, law.time(own_p, alone), rtol=1e-6)


def test_of_equally_good_fits_the_one_with_fewer_terms_is_taken():
    p, flat = np.array([[1.0, 2, 4, 8]]), np.full((1, 4), 5.0)
    for law in LAWS:
        expected = [5.0] + [0.0] * (len(law.terms) - 1)
        assert law.fit(p, flat, np.ones_like(p))[0] == pytest.approx(expected, abs=1e-9)


@each_law
def test_a_term_the_measurements_do_not_ask_for_is_exactly_zero(law):
    p, ideal = np.array([[1.0, 2, 4, 8]]), np.array([[8.0, 4, 2, 1]])
    found = law.fit(p, ideal, np.ones_like(p))[0]
    assert np.count_nonzero(found) == 1
