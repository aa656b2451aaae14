"""`parcast.cli.ranges`: lists and ranges of processors, and what is said of other text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.cli.ranges import parse_counts

counts = st.integers(1, 10**9)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("64", [64]),
        ("512,1024", [512, 1024]),
        (" 512 , 1024 ", [512, 1024]),
        ("1..4", [1, 2, 3, 4]),
        ("1 .. 4", [1, 2, 3, 4]),
        ("7..7", [7]),
        ("1..1024x2", [2**i for i in range(11)]),
        ("3..100x3", [3, 9, 27, 81]),
        ("10..100+30", [10, 40, 70, 100]),
        ("10..99+30", [10, 40, 70]),
        ("1..8x2,12", [1, 2, 4, 8, 12]),
        ("8,1..4,8,2", [8, 1, 2, 3, 4]),
        ("64.0", [64]),
        ("1000000000", [10**9]),
        ("1e6,1.5e3", [10**6, 1500]),
        ("1..1E2x10", [1, 10, 100]),
    ],
)
def test_a_list_names_these_counts(text, values):
    assert parse_counts(text) == values


@given(first=st.integers(1, 10**6), factor=st.integers(2, 50), steps=st.integers(0, 8))
def test_a_geometric_range_multiplies_until_its_end(first, factor, steps):
    last = min(first * factor**steps, 10**9)
    values = parse_counts(f"{first}..{last}x{factor}")
    assert values[0] == first
    assert all(later == factor * now for now, later in pairwise(values))
    assert values[-1] <= last < values[-1] * factor


@given(first=counts, step=st.integers(1, 10**6), steps=st.integers(0, 100))
def test_an_arithmetic_range_adds_until_its_end(first, step, steps):
    last = min(first + step * steps, 10**9)
    values = parse_counts(f"{first}..{last}+{step}")
    assert values == list(range(first, last + 1, step))


@given(st.text("0123456789.,x+-eE \u0663", max_size=12))
def test_any_text_is_read_or_refused_in_words(text):
    try:
        values = parse_counts(text)
    except ValueError as refusal:
        message = str(refusal)
    else:
        message = "-p must be fine"
        assert values
        assert all(1 <= value <= 10**9 for value in values)
    assert message.startswith("-p must be ")


WRITE = "Write for example 64,128 or 1..1024x2."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "1,,2",
            f"-p must be counts of processors, got nothing between two commas of '1,,2'. {WRITE}",
        ),
        ("1.5", f"-p must be whole numbers from 1 to 1000000000, got 1.5. {WRITE}"),
        ("-4", f"-p must be whole numbers from 1 to 1000000000, got -4. {WRITE}"),
        ("1000000001", f"-p must be whole numbers from 1 to 1000000000, got 1000000001. {WRITE}"),
        ("1e-3", f"-p must be counts of processors, got '1e-3'. {WRITE}"),
        (
            "1..1e9",
            "-p must be 100000 counts at most, got 1..1e9. Use larger steps, such as "
            "1..1000000x2.",
        ),
        ("1e10", f"-p must be whole numbers from 1 to 1000000000, got 1e10. {WRITE}"),
        ("1...16", "-p must be counts of processors, got '1...16'. Write a range as 1..16."),
        (
            "8..1x2",
            "-p must be ranges from the smaller count to the larger, got 8..1x2. Write 1..8x2.",
        ),
        (
            "1..1024x1",
            "-p must be ranges with a factor of at least 2, got 1..1024x1. "
            "Write 1..1024x2, or 1..1024 for each count.",
        ),
        ("1..9+0", "-p must be ranges with steps of at least 1, got 1..9+0. Write 1..9+1."),
    ],
)
def test_other_text_is_refused_with_its_fault_and_an_example(text, says):
    with pytest.raises(ValueError, match="must be") as caught:
        parse_counts(text)
    assert str(caught.value) == says
