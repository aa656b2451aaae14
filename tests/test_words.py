"""`parcast.words`: no more digits than an interval supports, and none that mislead."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.words import rounded, rounded_interval

times = st.floats(1e-9, 1e9)
factors = st.floats(1.0001, 1e6)


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((38.2413, 35.0172, 42.0987), ("38.2", "35.0", "42.1")),
        ((100.0, 99.9, 100.1), ("100.0", "99.9", "100.1")),
        ((1.2, 0.8, 1.8), ("1.2", "0.80", "1.8")),
        ((4.579, 0.008715, 2405.8), ("4.6", "0.0087", "2400")),
        ((12345.6, 11900.0, 12800.0), ("12300", "11900", "12800")),
        ((1e-7, 9.5e-8, 1.05e-7), ("1.00e-7", "9.50e-8", "1.05e-7")),
        ((5.0, 5.0, 5.0), ("5.0000", "5.0000", "5.0000")),
        ((5.0, 1.0, math.inf), ("5.0", "1.0", "inf")),
    ],
)
def test_the_width_of_an_interval_decides_the_digits(numbers, texts):
    assert rounded_interval(*numbers) == texts


@given(time=times, factor=factors)
def test_a_rounded_interval_is_near_the_exact_one(time, factor):
    exact = time, time / factor, time * factor
    shown = [float(text) for text in rounded_interval(*exact)]
    assert shown == pytest.approx(exact, rel=0.06)
    assert all(number > 0 for number in shown)


@given(value=st.floats(1e-300, 1e300), digits=st.integers(2, 6))
def test_a_number_keeps_its_digits_and_is_never_long(value, digits):
    text = rounded(value, digits)
    assert float(text) == pytest.approx(value, rel=10.0 ** (1 - digits))
    assert len(text) <= 14


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (math.inf, "inf"), (99.96, "100")])
def test_what_has_no_digits_to_round_is_shown_too(value, text):
    assert rounded(value, 3 if math.isfinite(value) else 2) == text
