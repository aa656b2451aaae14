"""Gustafson's law against published values, its own laws, and bad input."""

import numpy as np
import pytest

from parcast.errors import ParameterError
from tests.laws.published import gustafson_speedup, reference_rows


@pytest.mark.parametrize("row", reference_rows("gustafson_speedup.csv"), ids=str)
def test_speedup_agrees_with_reference_to_the_digits_printed(row):
    speedup = gustafson_speedup(float(row["p"]), serial=float(row["serial"]))
    assert f"{speedup:.{row['digits']}g}" == row["speedup"]


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
