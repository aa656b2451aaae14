"""Amdahl's and Gustafson's laws are one, and bad input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.laws.curves import serial_of_one
from tests.laws.published import amdahl_time, gustafson_speedup

processors = st.integers(1, 10**6)
fractions = st.floats(0, 1)


def test_ten_processors_with_60_percent_serial_are_4_6_times_as_fast_by_both():
    naive = 1 / amdahl_time(10, t1=1, serial=0.6)
    assert float(naive) == pytest.approx(1.5625)
    assert float(serial_of_one(10, serial=0.6)) == pytest.approx(6 / 46, rel=1e-15)
    assert 1 / amdahl_time(10, t1=1, serial=6 / 46) == pytest.approx(4.6, rel=1e-15)
    assert gustafson_speedup(10, serial=0.6) == pytest.approx(4.6, rel=1e-15)


@given(p=processors, serial=fractions)
def test_both_laws_agree_for_every_fraction(p, serial):
    of_one = serial_of_one(p, serial=serial)
    gustafson = gustafson_speedup(p, serial=serial)
    assert 1 / amdahl_time(p, t1=1, serial=of_one) == pytest.approx(float(gustafson), rel=1e-9)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"p": 0}, "p must be at least 1, got 0. Count processors from 1."),
        ({"p": float("inf")}, "p must be at least 1, got inf. Count processors from 1."),
        ({"serial": 60}, "serial must lie in [0, 1], got 60. Write 5% as 0.05."),
    ],
)
def test_bad_input_is_named_with_its_value_and_a_remedy(bad, says, refusal):
    assert refusal(ParameterError, serial_of_one, **{"p": 4, "serial": 0.1} | bad) == says
