"""`files.numbers`: what is a number in a file of somebody else, and what is none."""

import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.files.numbers import (
    LARGEST_COUNT,
    MOST_DIGITS,
    finite,
    is_number,
    number,
    whole,
    whole_of_json,
)

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(),
    st.text("0123456789.-+eE_ nainf\u0661"),
    st.binary(max_size=8),
    st.lists(st.integers(), max_size=2),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("-2.5e3", -2500.0),
        (".5", 0.5),
        ("12.", 12.0),
        (" 7 ", 7.0),
        (b"7", 7.0),
        ("1e999", math.inf),
        ("-" + "9" * 400, -math.inf),
        ("0x10", None),
        ("1_000", None),
        ("1,5", None),
        ("\u0661", None),
        ("\uff11", None),
        (b"\xb2", None),
        ("nan", None),
        ("Infinity", None),
        ("", None),
        ("1 2", None),
    ],
)
def test_text_is_a_number_where_it_is_written_in_plain_digits(text, value):
    assert number(text) == value


@given(ANYTHING)
def test_whatever_is_given_is_a_float_or_refused_and_never_an_error(value):
    read = number(value)
    assert read is None or type(read) is float
    assert finite(value) == (read if read is not None and math.isfinite(read) else None)
    counted = whole(value)
    assert counted is None or (0 <= counted <= LARGEST_COUNT and counted == read)
    assert is_number(value) <= (read is not None)


@given(st.integers(-(10**400), 10**400))
def test_a_whole_number_of_json_is_one_that_floats_can_be_compared_with(value):
    read = json.loads(str(value), parse_int=whole_of_json)
    assert read == value or len(str(value)) > MOST_DIGITS
    float(read)


def test_no_number_of_digits_is_too_much():
    assert json.loads("9" * 5000, parse_int=whole_of_json) == math.inf
    assert number(-(10**5000)) == -math.inf
    assert 10 ** (MOST_DIGITS - 1) < sys.float_info.max < 10 ** (MOST_DIGITS + 1)
