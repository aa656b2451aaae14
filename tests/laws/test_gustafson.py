"""Gustafson's law against published values, its own laws, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from tests.laws.published import gustafson_speedup, reference_rows

processors = st.integers(1, 10**6)
fractions = st.floats(0, 1)


@pytest.mark.parametrize("row", reference_rows("gustafson_speedup.csv"), ids=str)
def test_speedup_agrees_with_reference_to_the_digits_printed(row):
    speedup = gustafson_speedup(float(row["p"]), serial=float(row["serial"]))
    assert f"{speedup:.{row['digits']}g}" == row["speedup"]


@given(p=st.lists(processors, min_size=1), f=fractions)
def test_an_array_is_answered_as_its_elements_are(p, f):
    one_by_one = [float(gustafson_speedup(n, serial=f)) for n in p]
    assert gustafson_speedup(p, serial=f).tolist() == one_by_one


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"p": 0}, "p must be at least 1, got 0. Count processors from 1."),
        ({"p": [4, np.nan]}, "p must be at least 1, got nan. Count processors from 1."),
        ({"serial": 5}, 'serial must lie in [0, 1], got 5. Write for example "5%".'),
        ({"serial": -0.1}, 'serial must lie in [0, 1], got -0.1. Write for example "5%".'),
        ({"serial": [0, np.nan]}, 'serial must lie in [0, 1], got nan. Write for example "5%".'),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says, refusal):
    assert refusal(ParameterError, gustafson_speedup, **{"p": 4, "serial": 0.1} | bad) == says
