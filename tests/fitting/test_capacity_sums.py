"""`parcast.fitting.capacity_sums`: formulas of the source, recovery, and what cannot be found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FitFailed
from parcast.fitting.capacity_sums import capacity, fitted


@given(amount=st.floats(1e3, 1e12), rest=st.floats(0, 1e3), rate=st.floats(1, 1e6))
def test_one_run_gives_the_formula_of_the_source(amount, rest, rate):
    time = rest + amount / rate
    found = float(capacity([amount], [rest], [time]))
    assert found == pytest.approx(amount / (time - rest), rel=1e-9)


def test_a_rest_that_takes_all_or_more_leaves_no_capacity():
    assert capacity([1e6], [2.0], [2.0]) == np.inf
    assert capacity([1e6], [3.0], [2.0]) == -1e6


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ([[1e6, 1e3, 0, 0]], "No capacities. 1 run cannot determine 2 capacities (compute"),
        ([[1e6, 1e3, 0, 0]] * 3, "No capacities. The runs cannot distinguish the costs of"),
        ([[1e6, 1, 1, 1]] * 2, "No capacities. 2 runs cannot determine 4 capacities (compute"),
    ],
)
def test_runs_that_say_too_little_are_refused(terms, says, refusal):
    assert refusal(FitFailed, fitted, terms, np.ones(len(terms))).startswith(says)
