"""`parcast.cli.ranges`: values of a parameter with its unit, and what is said of other text."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.cli.ranges import MOST_VALUES, parse_range, parse_sizes

MB = 1e6


@pytest.mark.parametrize(
    ("text", "dimension", "values"),
    [
        ("10..80 MB/s", "rate", [10 * MB, 20 * MB, 40 * MB, 80 * MB]),
        ("10..50 MB/s", "rate", [10 * MB, 20 * MB, 40 * MB, 50 * MB]),
        ("10 .. 50MB/s", "rate", [10 * MB, 20 * MB, 40 * MB, 50 * MB]),
        ("10..1000x10 MB/s", "rate", [10 * MB, 100 * MB, 1000 * MB]),
        ("1..3x1.5 MB/s", "rate", [MB, 1.5 * MB, 2.25 * MB, 3 * MB]),
        ("10,100,1000 MB/s", "rate", [10 * MB, 100 * MB, 1000 * MB]),
        ("10 MB/s, 1 GB/s", "rate", [10 * MB, 1000 * MB]),
        ("500 MB/s..2 GB/s", "rate", [500 * MB, 1000 * MB, 2000 * MB]),
        ("1,4..16x2 us", "time", [1e-6, 4e-6, 8e-6, 16e-6]),
        ("0..0.3+0.1", "fraction", [0.0, 0.1, 0.2, 0.3]),
        ("0..30+10%", "fraction", [0.0, 0.1, 0.2, 0.3]),
        ("0..1+0.4", "fraction", [0.0, 0.4, 0.8, 1.0]),
        ("7..7", "count", [7.0]),
        ("4,2,4", "count", [4.0, 2.0]),
        (".5", "count", [0.5]),
        ("1e3..4e3", "count", [1000.0, 2000.0, 4000.0]),
        ("0", "count", [0.0]),
    ],
)
def test_a_range_names_these_values(text, dimension, values):
    assert parse_range(text, dimension, name="--vary x") == values


@given(st.floats(1e-3, 1e6), st.floats(1, 1e6), st.floats(1.01, 10))
def test_both_ends_belong_to_a_range_and_steps_are_even(first, ratio, step):
    last = float(repr(first * ratio))
    values = parse_range(f"{first!r}..{last!r}x{step!r} s", "time", name="--vary x")
    assert (values[0], values[-1]) == (first, last)
    steps = [later / now for now, later in pairwise(values)]
    assert all(one == pytest.approx(step) for one in steps[:-1])
    assert all(1 <= one <= step * (1 + 1e-6) for one in steps)


BAD = 'v must be a rate such as "12.5 GB/s", got'
NO_UNIT = "v must be a rate with its unit, got"
NO_RANGE = 'v must be numbers and ranges such as "10..1000 GB/s", got'


RANGES = "v must be ranges"
STEPS = "Write for example 1..16x2, or 0..1+0.1 for steps."
MANY = f"v must be {MOST_VALUES:,} values at most,"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("10..20 MB", f'{BAD} "10..20 MB", which is a size.'),
        ("10..20", f'{NO_UNIT} "10..20", which has none. Write for example "1 B/s".'),
        ("10 MB, 1 GB/s", f'{BAD} "10 MB", which is a size.'),
        ("10 us..1 GB/s", f'{BAD} "10 us..1 GB/s", which is a time.'),
        ("", f"{NO_RANGE} nothing."),
        ("1,,2 MB/s", f"{NO_RANGE} nothing between commas."),
        ("fast", f"{NO_RANGE} 'fast'."),
        ("-5 MB/s", f"{NO_RANGE} '-5 MB/s'. It must not be negative."),
        ("1-16 MB/s", f"{NO_RANGE} '1-16 MB/s'. Write a range as 1..16 MB/s."),
        ("1e999999999 B/s", "v must be finite, got 1e999999999 B/s. Check its range."),
        ("1e300 EB/s", "v must be finite, got 1e300 EB/s. Check its range."),
        (
            "2..1 B/s",
            f"{RANGES} from the smaller number to the larger, got 2..1 B/s. Exchange them.",
        ),
        ("0..8 MB/s", f"{RANGES} that begin above 0, got 0..8 MB/s. {STEPS}"),
        ("1..8x1 MB/s", f"{RANGES} that have a factor above 1, got 1..8x1 MB/s. {STEPS}"),
        (
            "1..8+0 MB/s",
            f"{RANGES} with a step above 0, got 1..8+0 MB/s. Write for example 0..1+0.1.",
        ),
        ("1..1e9+1 B/s", f"{MANY} got 1..1e9+1 B/s. Use larger steps."),
        ("1..6e4+1,1..7e4+1 B/s", f"{MANY} got 1..7e4+1 B/s. Use larger steps."),
    ],
)
def test_other_text_is_refused_with_what_to_write(text, says):
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        parse_range(text, "rate", name="v")
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("64,128.5", [64.0, 128.5]),
        ("1..4", [1.0, 2.0, 3.0, 4.0]),
        ("64..1000x2", [64.0, 128.0, 256.0, 512.0]),
        ("1..2+0.25", [1.0, 1.25, 1.5, 1.75, 2.0]),
        ("8,2,8", [8.0, 2.0]),
    ],
)
def test_problem_sizes_are_lists_as_counts_are(text, values):
    assert parse_sizes(text) == values


WRITE = "Write for example 64,128 or 64..1024x2."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0", f"-n must be numbers above 0 and up to 1e+18, got 0. {WRITE}"),
        ("1e19", f"-n must be numbers above 0 and up to 1e+18, got 1e19. {WRITE}"),
        ("5 MB", f"-n must be plain numbers, got '5 MB'. {WRITE}"),
        ("", "-n must be numbers and ranges such as 64,128 or 64..1024x2, got nothing."),
        ("1..1e9", f"-n must be {MOST_VALUES:,} values at most, got 1..1e9. Use larger steps."),
    ],
)
def test_other_sizes_are_refused(text, says):
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        parse_sizes(text)
    assert str(caught.value) == says
