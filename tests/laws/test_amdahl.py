"""Amdahl's law against published values, its own laws, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.laws.curves import AMDAHL as LAW
from tests.laws.published import amdahl_time, reference_rows

processors = st.integers(1, 10**6)
seconds = st.floats(1e-6, 1e6)
fractions = st.floats(0, 1)


@pytest.mark.parametrize("row", reference_rows("amdahl_speedup.csv"), ids=str)
def test_speedup_agrees_with_reference_to_the_digits_printed(row):
    speedup = 1 / amdahl_time(float(row["p"]), t1=1, serial=float(row["serial"]))
    assert f"{speedup:.{row['digits']}g}" == row["speedup"]


@given(p=processors, t1=seconds, f=fractions)
def test_speedup_lies_between_one_and_p(p, t1, f):
    speedup = t1 / amdahl_time(p, t1=t1, serial=f)
    assert 1 - 1e-12 <= speedup <= p * (1 + 1e-12)


@given(t1=seconds, f=st.floats(0.01, 0.99))
def test_the_fit_recovers_the_time_of_one_and_the_serial_fraction(t1, f):
    p = np.array([[1.0, 2, 4, 8, 16]])
    a, b = LAW.fit(p, amdahl_time(p, t1=t1, serial=f), np.ones_like(p))[0]
    assert a + b == pytest.approx(t1, rel=1e-6)
    assert a / (a + b) == pytest.approx(f, rel=1e-6)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"p": 0}, "p must be at least 1, got 0. Count processors from 1."),
        ({"p": [4, np.nan]}, "p must be at least 1, got nan. Count processors from 1."),
        ({"t1": 0}, 't1 must be above 0, got 0. Write for example "80 s".'),
        ({"t1": [1, -2]}, 't1 must be above 0, got -2. Write for example "80 s".'),
        ({"t1": np.nan}, 't1 must be above 0, got nan. Write for example "80 s".'),
        ({"serial": 5}, 'serial must lie in [0, 1], got 5. Write for example "5%".'),
        ({"serial": -0.5}, 'serial must lie in [0, 1], got -0.5. Write for example "5%".'),
        ({"serial": np.nan}, 'serial must lie in [0, 1], got nan. Write for example "5%".'),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says, refusal):
    assert refusal(ParameterError, amdahl_time, **{"p": 4, "t1": 1.0, "serial": 0.1} | bad) == says
