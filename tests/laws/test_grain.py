"""`parcast.laws.grain`: best counts against all counts, pieces of an image, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.laws.grain import (
    best_grain,
    best_p_of_independent,
    best_p_of_matmul,
    best_p_of_square_sort,
    best_partitions,
    fractal_grains,
)
from tests.laws.counting import matmul_counts, square_sort_counts


@given(n=st.integers(1000, 10_000), w=st.floats(1e7, 1e9), u=st.floats(1e7, 1e9))
def test_a_product_takes_least_time_near_its_best_count(n, w, u):
    p = np.arange(2, 1000)
    counts = matmul_counts(n, p)
    best = p[np.argmin(counts.steps / w + counts.network_bytes / u)]
    assert abs(best - min(max(float(best_p_of_matmul(n, compute=w, network=u)), 2), 999)) <= 1


@given(n=st.integers(1000, 10**8))
def test_the_square_sorter_takes_fewest_steps_near_its_best_count(n):
    p = np.arange(2, 1000)
    best = p[np.argmin(square_sort_counts(n, p).steps)]
    assert abs(best - float(best_p_of_square_sort(n))) <= 1


@given(n=st.integers(10, 10**6))
def test_parts_are_best_near_the_root(n):
    k = np.arange(1, min(n, 1100) + 1)
    best = k[np.argmin(square_sort_counts(n, 1, partitions=k).steps)]
    assert abs(best - float(best_partitions(n))) <= 1


@given(n=st.floats(1e4, 1e9), t0=st.floats(1e-6, 1e-2))
def test_independent_inputs_stop_gaining_where_startups_weigh(n, t0):
    p = np.geomspace(1, 1e4, 2000)
    best = p[np.argmin(n * 100 / (p * 1e8) + 2 * (p - 1) * t0)]
    found = float(best_p_of_independent(n, alpha=100, compute=1e8, latency=t0))
    assert best == pytest.approx(min(found, 1e4), rel=0.01)


def test_ways_to_deal_out_an_image_are_those_of_the_source():
    packed, column, pixel = fractal_grains(600, 400, 8)
    assert (packed.bytes, column.bytes, pixel.bytes) == (2 * 4 * 8, 4 * 600, 8 * 600 * 400)
    assert (packed.messages, column.messages, pixel.messages) == (8, 600, 240_000)
    assert (packed.pixels, column.pixels, pixel.pixels) == (30_000, 400, 1)


@pytest.mark.parametrize(
    ("law", "keys", "grain"),
    [
        ("sort", {}, (125, 125)),
        ("square_sort", {}, (125, 125)),
        ("fractal", {"line": 20}, (20, 125)),
        ("fractal", {"line": 500}, (125, 500)),
        ("fractal", {}, (1000**0.5, 125)),
        ("monte_carlo", {"k": 5}, (25, 125)),
        ("matmul", {}, (125_000, 1_000_000)),
        ("gauss", {}, (1, 125)),
    ],
)
def test_the_best_piece_of_a_law(law, keys, grain):
    assert best_grain(law, 1000, 8, **keys) == pytest.approx(grain)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: best_grain("spmd", 8, 2), 'law must be one that deals out work, got "spmd".'),
        (lambda: best_grain("monte_carlo", 8, 2, k=5), "k must lie between 1 and n/p, got 5."),
        (lambda: best_grain("sort", 8, 9), "p must be at most n, got 9."),
        (lambda: best_grain("fractal", 8, 2, line=0), "line must be above 0, got 0."),
        (lambda: fractal_grains(0, 4, 1), "x must be at least 1, got 0."),
        (lambda: fractal_grains(4, np.nan, 1), "y must be at least 1, got nan."),
        (lambda: fractal_grains(4, 4, 17), "p must be at most n, got 17."),
        (lambda: fractal_grains(4, 4, 2, number=0), "number must be above 0, got 0."),
        (lambda: best_p_of_square_sort(0), "n must be at least 1, got 0."),
        (lambda: best_partitions(4, alpha=np.inf), "alpha must be above 0, got inf."),
        (lambda: best_p_of_matmul(4, compute=0, network=1), "compute must be above 0, got 0."),
    ],
)
def test_bad_input_is_named_with_its_value(call, says):
    with pytest.raises(ParameterError) as caught:
        call()
    assert str(caught.value).startswith(says)


def test_no_best_count_is_above_what_has_work():
    assert float(best_p_of_matmul(4, compute=1.0, network=1e9)) == 4
    assert float(best_p_of_square_sort(1)) == 1
    assert float(best_p_of_square_sort(10, alpha=1e6)) == 10
    assert float(best_partitions(10, alpha=1e6)) == 10
    assert float(best_p_of_independent(10, alpha=1e6, compute=1.0, latency=1e-6)) == 10
    assert float(best_p_of_matmul(4, compute=1e9, network=1.0)) == 1


@pytest.mark.parametrize("alpha", [0.25, 1.0, 30.0])
def test_the_weight_of_a_comparison_moves_the_best_counts(alpha):
    p = np.arange(2, 2000)
    best = p[np.argmin(square_sort_counts(40_000, p, alpha=alpha).steps)]
    assert abs(best - float(best_p_of_square_sort(40_000, alpha=alpha))) <= 1
    parts = p[np.argmin(square_sort_counts(40_000, 1, partitions=p, alpha=alpha).steps)]
    assert abs(parts - float(best_partitions(40_000, alpha=alpha))) <= 1


def test_a_monte_carlo_piece_is_halved_unless_more_is_asked_for():
    assert best_grain("monte_carlo", 1000, 10) == (50.0, 100.0)
