"""Gustafson's law against published values, its own laws, and bad input."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from tests.laws.published import amdahl_time, gustafson_speedup

processors = st.integers(1, 10**6)
fractions = st.floats(0, 1)


def reference_rows(name):
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(x for x in text.splitlines() if not x.startswith("#")))


@pytest.mark.parametrize("row", reference_rows("gustafson_speedup.csv"), ids=str)
def test_speedup_agrees_with_reference_to_the_digits_printed(row):
    speedup = gustafson_speedup(float(row["p"]), serial=float(row["serial"]))
    assert f"{speedup:.{row['digits']}g}" == row["speedup"]


@given(p=st.integers(1, 1000), f=st.floats(0, 1))
def test_it_is_amdahls_law_for_the_serial_fraction_of_the_larger_work(p, f):
    whole_work = f + (1 - f) * p  # what one processor would take, if p take 1
    speedup = whole_work / amdahl_time(p, t1=whole_work, serial=f / whole_work)
    assert gustafson_speedup(p, serial=f) == pytest.approx(speedup, rel=1e-9)


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
