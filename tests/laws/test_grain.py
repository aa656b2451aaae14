"""The grain of laws: the best piece of work, and images in whole lines."""

import pytest

from parcast.descriptions.program import law_named
from parcast.errors import ParameterError


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
