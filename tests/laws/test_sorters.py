"""The parallel laws of `parcast.laws.sorters`: published qualities, variants, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError
from parcast.laws.sorters import MergeSortPhase, SortPhase, SquareSortPhase
from tests.laws.counting import merge_sort_counts, sort_counts, square_sort_counts

WORKSTATIONS = {"compute": "5 Mflop/s", "network": "60 kB/s", "disk": "3.5 MB/s"}


def time_of(phase, **at):
    return float(phase.times(Machine(), at).time)


@pytest.mark.parametrize(("k", "seconds"), [(1, 320.199), (2, 160.207), (4, 80.223)])
def test_one_processor_that_sorts_parts_in_turn_takes_what_the_source_says(k, seconds):
    phase = SquareSortPhase(law="square_sort", capacities=WORKSTATIONS, partitions=k)
    assert time_of(phase, p=1.0, n=40_000.0) == pytest.approx(seconds, abs=5e-4)


def test_one_workstation_with_the_better_sorter_beats_five_with_the_other():
    square = SquareSortPhase(law="square_sort", capacities=WORKSTATIONS)
    good = MergeSortPhase(
        law="merge_sort", capacities={"compute": "5 Mflop/s", "disk": "3.5 MB/s"}
    )
    assert time_of(square, p=5.0, n=40_000.0) == pytest.approx(23.7, abs=0.05)
    assert time_of(good, p=1.0, n=40_000.0) == pytest.approx(0.305, abs=5e-4)


@given(n=st.integers(4, 10**9))
def test_with_a_processor_for_each_key_both_sorters_are_insertion_sorts(n):
    for counts, rest in ((sort_counts, 0.0), (square_sort_counts, 1.0)):
        assert float(counts(n, n).steps) == pytest.approx(n + rest + float(n) ** 2)


@given(n=st.integers(16, 10**9), p=st.integers(2, 16))
def test_the_compact_sorter_never_needs_fewer_steps_a_processor(n, p):
    assert sort_counts(n, p).steps * p >= merge_sort_counts(n).steps * (1 - 1e-12)


@given(n=st.integers(1000, 10**9), p=st.integers(2, 16))
def test_parts_of_the_other_need_fewer_steps_in_all(n, p):
    assert p * (n / p) ** 2 + n * p + n < n**2
    assert square_sort_counts(n, 1, partitions=p).steps < square_sort_counts(n, 1).steps


def test_steps_are_fewest_with_as_many_parts_as_the_root_of_the_keys():
    k = np.arange(1, 2000)
    steps = square_sort_counts(40_000, 1, partitions=k).steps
    assert k[np.argmin(steps)] == 200


def test_a_tree_merges_in_fewer_steps():
    assert float(sort_counts(1024, 8, merge="tree").steps) == 1024 + 128 * 7 + 1024 * 3
    assert float(square_sort_counts(1024, 8, merge="tree").steps) == 1024 + 128**2 + 1024 * 3
    phase = SortPhase(law="sort", merge="tree")
    assert float(phase.counts(1024, 8).steps) == 1024 + 128 * 7 + 1024 * 3


def test_densities_weigh_sorting_sending_and_the_disk():
    counts = sort_counts(1024, 4, alpha=3, beta=4, gamma=16)
    assert float(counts.steps) == 1024 + 3 * 256 * 8 + 1024 * 4
    assert (float(counts.network_bytes), float(counts.disk_bytes)) == (8192.0, 32768.0)
    counts = square_sort_counts(1024, 4, alpha=3, beta=4, gamma=16)
    assert float(counts.steps) == 1024 + 3 * 256**2 + 1024 * 4
    assert (float(counts.network_bytes), float(counts.disk_bytes)) == (8192.0, 32768.0)


@pytest.mark.parametrize("k", [0, 101, np.nan])
def test_parts_outside_the_domain_are_refused(k):
    with pytest.raises(ParameterError) as caught:
        square_sort_counts(100, 1, partitions=k)
    assert str(caught.value) == (
        f"partitions must lie between 1 and n, got {k:g}. 1 is all keys at once."
    )


def test_a_merge_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="merge"):
        SortPhase(law="sort", merge="heap")


@given(n=st.integers(64, 10**9), p=st.integers(2, 64))
def test_a_master_sends_each_other_processor_its_part_and_gets_it_back(n, p):
    for counts in (sort_counts, square_sort_counts):
        assert float(counts(n, p).messages) == 2 * (p - 1)
        assert float(counts(n, 1).messages) == 0


def test_as_many_parts_as_keys_are_allowed():
    assert float(square_sort_counts(16, 1, partitions=16).steps) == 16 + 16 + 16 * 16
