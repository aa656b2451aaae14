"""`parcast.laws.matrices`: published values, variants, and their own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError
from parcast.laws.matrices import GaussPhase, MatmulPhase
from tests.laws.counting import gauss_counts, matmul_counts


def test_elimination_of_a_hundred_unknowns_takes_what_the_source_says():
    own = {"compute": "1 Mflop/s", "network": "1 MB/s"}
    one, two = (
        GaussPhase(law="gauss", capacities=own).times(Machine(), {"p": p, "n": 100.0})
        for p in (1.0, 2.0)
    )
    assert float(one.time) == pytest.approx(0.98505)
    assert float(two.communication) == pytest.approx(5.2536)
    assert float(gauss_counts(100, 1, alpha=1).steps) == 328350


@given(n=st.integers(2, 300))
def test_elimination_counts_the_entries_of_all_waves(n):
    entries = sum((n - i) ** 2 for i in range(1, n))
    counts = gauss_counts(n, 2)
    assert float(counts.steps) == pytest.approx(3 * entries / 2)
    assert float(counts.network_bytes) == pytest.approx(16 * entries)
    assert float(counts.messages) == 2 * (n - 1)


@given(n=st.integers(2, 300))
def test_pivot_rows_alone_are_half_of_a_matrix_a_level_of_the_tree(n):
    p = min(n, 5)
    levels = int(np.ceil(np.log2(p)))
    counts = gauss_counts(n, p, exchange="pivot")
    assert float(counts.network_bytes) == pytest.approx(levels * 8 * sum(range(1, n)))
    assert float(counts.messages) == levels * (n - 1)
    assert GaussPhase(law="gauss", exchange="pivot").counts(n, p).messages == counts.messages


@given(n=st.integers(2, 10**6), u=st.floats(1e3, 1e12), w=st.floats(1e3, 1e12))
def test_speedup_of_elimination_does_not_depend_on_n(n, u, w):
    own = {"compute": f"{w!r} flop/s", "network": f"{u!r} B/s"}
    one, two = (
        GaussPhase(law="gauss", capacities=own).times(Machine(), {"p": [1.0, 2.0], "n": n}).time
    )
    assert one / two == pytest.approx(2 / (1 + 16 * 2 * w / (3 * u)))


def test_a_product_sent_back_costs_one_matrix_more():
    without, back = (matmul_counts(100, 4, kappa=k) for k in (0, 1))
    assert float(back.network_bytes - without.network_bytes) == 80_000
    assert (float(without.messages), float(back.messages)) == (6.0, 9.0)


def test_a_network_that_broadcasts_sends_the_second_matrix_once():
    counts = matmul_counts(100, [1, 4, 64], broadcast=True)
    assert counts.network_bytes.tolist() == [0, 160_000, 160_000]
    assert counts.messages.tolist() == [0, 4, 64]
    phase = MatmulPhase(law="matmul", broadcast=True)
    assert phase.counts(100, 4).network_bytes == 160_000


@pytest.mark.parametrize(
    ("counts", "bad", "says"),
    [
        (matmul_counts, {"kappa": -1}, "kappa must be at least 0, got -1. Count it in the"),
        (matmul_counts, {"p": 9}, "p must be at most n, got 9. At most n processors have work"),
        (gauss_counts, {"p": 9}, "p must be at most n, got 9. At most n processors have work"),
        (gauss_counts, {"beta": np.nan}, "beta must be at least 0, got nan. Count it in the"),
    ],
)
def test_bad_input_is_named_with_its_value_and_a_remedy(counts, bad, says, refusal):
    assert refusal(ParameterError, counts, **{"n": 8, "p": 2} | bad).startswith(says)
