"""Best counts of processors and parts by formulas against all counts, and the grain of laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.program import law_named
from parcast.errors import ParameterError
from tests.laws.counting import matmul_counts, square_sort_counts


def best_p_of_matmul(n, *, compute, network, alpha=1, beta=8):
    """Where a product takes least time, startups left out [D]."""
    return min(max((alpha * n * network / (beta * compute)) ** 0.5, 1), n)


def best_p_of_square_sort(n, *, alpha=1):
    """Where the O(n^2) sorter takes least time, what does not depend on P left out [D]."""
    return min((2 * alpha * n) ** (1 / 3), n)


def best_partitions(n, *, alpha=1):
    """In how many parts one processor sorts n keys in fewest steps [R]."""
    return min((alpha * n) ** 0.5, n)


def best_p_of_independent(n, *, alpha, compute, latency):
    """Where independent inputs take least time, if messages start at a cost [D]."""
    return min(max((n * alpha / (2 * compute * latency)) ** 0.5, 1), n)


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


@pytest.mark.parametrize(
    ("law", "keys", "grain"),
    [
        ("sort", {}, (125, 125)),
        ("square_sort", {}, (125, 125)),
        ("sample_sort", {}, (125, 125)),
        ("fractal", {"line": 20}, (20, 125)),
        ("fractal", {"line": 500}, (125, 500)),
        ("fractal", {}, (1000**0.5, 125)),
        ("monte_carlo", {"k": 5}, (25, 125)),
        ("matmul", {}, (125_000, 1_000_000)),
        ("gauss", {}, (1, 125)),
    ],
)
def test_the_best_piece_of_a_law(law, keys, grain):
    described = {key: keys[key] for key in keys if key in law_named(law).model_fields}
    asked = {key: keys[key] for key in keys if key not in described}
    found = law_named(law)(law=law, **described).grain(1000, 8, **asked)
    assert found == pytest.approx(grain)


@pytest.mark.parametrize(
    ("line", "p", "lines_of_one", "messages"),
    [(100, 4, 3, 20), (100, 10, 1, 20), (300, 2, 2, 8), (5000, 4, 1, 2)],
)
def test_an_image_is_dealt_out_in_whole_lines(line, p, lines_of_one, messages):
    phase = law_named("fractal")(law="fractal", alpha=7, beta="8 B", line=line)
    counts = phase.counts(1000, p)
    assert counts.steps == pytest.approx(7 * min(line * lines_of_one, 1000))
    assert counts.messages == pytest.approx(messages)
    assert counts.network_bytes == pytest.approx(8000)
    alone = phase.counts(1000, 1)
    assert (alone.steps, alone.messages, alone.network_bytes) == (7000, 0, 0)


@pytest.mark.parametrize(
    ("law", "points", "keys", "says"),
    [
        ("monte_carlo", (8, 2), {"k": 5}, "k must lie between 1 and n/p, got 5."),
        ("sort", (8, 9), {}, "p must be at most n, got 9."),
        ("gauss", (0, 1), {}, "n must be at least 1, got 0."),
    ],
)
def test_bad_input_is_named_with_its_value(law, points, keys, says, refusal):
    assert refusal(ParameterError, law_named(law)(law=law).grain, *points, **keys).startswith(says)


@pytest.mark.parametrize("alpha", [0.25, 1.0, 30.0])
def test_the_weight_of_a_comparison_moves_the_best_counts(alpha):
    p = np.arange(2, 2000)
    best = p[np.argmin(square_sort_counts(40_000, p, alpha=alpha).steps)]
    assert abs(best - float(best_p_of_square_sort(40_000, alpha=alpha))) <= 1
    parts = p[np.argmin(square_sort_counts(40_000, 1, partitions=p, alpha=alpha).steps)]
    assert abs(parts - float(best_partitions(40_000, alpha=alpha))) <= 1
