"""`parcast.fitting.capacity_sums`: formulas of the source, recovery, and what cannot be found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FitFailed
from parcast.fitting.capacity_sums import capacity, fitted
from tests.laws.counting import gauss_counts, sort_counts

N, P = (x.ravel() for x in np.meshgrid([200.0, 400.0, 800.0], [1.0, 2.0, 4.0]))


def terms_of(counts):
    columns = (counts.steps, counts.network_bytes, counts.messages, counts.disk_bytes)
    return np.stack([np.broadcast_to(x, N.shape) for x in columns], axis=1)


@given(amount=st.floats(1e3, 1e12), rest=st.floats(0, 1e3), rate=st.floats(1, 1e6))
def test_one_run_gives_the_formula_of_the_source(amount, rest, rate):
    time = rest + amount / rate
    found = float(capacity([amount], [rest], [time]))
    assert found == pytest.approx(amount / (time - rest), rel=1e-9)


def test_several_runs_count_alike_whatever_their_length():
    found = capacity([1e6, 1e9], [0, 0], [1.1, 1000])
    assert 0.9e6 < found < 1e6
    assert found == pytest.approx(1e6 * (1 / 1.1**2 + 1) / (1 / 1.1 + 1))


def test_a_rest_that_takes_all_or_more_leaves_no_capacity():
    assert capacity([1e6], [2.0], [2.0]) == np.inf
    assert capacity([1e6], [3.0], [2.0]) == -1e6


@pytest.mark.parametrize(
    ("counts", "costs"),
    [
        (gauss_counts(N, P), [1e-7, 1e-8, 1e-5, 0]),
        (sort_counts(N, P), [1e-6, 1e-7, 1e-5, 4e-7]),
        (gauss_counts(N, P), [1e-7, 1e-8, 0, 0]),
    ],
)
def test_what_the_runs_were_made_with_is_found_again(counts, costs):
    terms = terms_of(counts)
    found = fitted(terms, terms @ costs)
    assert found.costs == pytest.approx(np.array(costs), rel=1e-6, abs=1e-12)
    assert np.abs(found.residuals).max() < 1e-9
    assert np.abs(found.left_out).max() < 1e-9
    assert found.condition < 1e3


def test_the_interval_holds_the_cost_nine_times_in_ten():
    random = np.random.default_rng(1)
    terms, costs = terms_of(gauss_counts(N, P)), np.array([1e-7, 1e-8, 1e-5, 0])
    held = []
    for _ in range(200):
        found = fitted(terms, terms @ costs * np.exp(random.normal(0, 0.02, len(N))))
        held.append((found.lower <= costs) & (costs <= found.upper))
    share = np.mean(held, axis=0)[:3]
    assert np.all((share > 0.83) & (share < 0.97))


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
