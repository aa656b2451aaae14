"""Merges by name, and how results are split into shards."""

import subprocess
import sys
from collections import Counter
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast
from parcast.errors import ParameterError, RunFailed
from parcast.pipeline.merges import known_merge, shard_of, split_counts

lists = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=6)


@given(runs=lists)
def test_sorted_runs_are_merged_into_one(runs):
    expected = sorted(x for run in runs for x in run)
    merge = known_merge("sorted").merge
    assert merge.of([sorted(run) for run in runs]) == expected
    arrays = [np.array(sorted(run), dtype=float) for run in runs]
    assert merge.of(arrays).tolist() == expected
    assert reduce(merge.two, arrays).tolist() == expected


@given(runs=lists)
def test_runs_that_are_not_sorted_are_sorted(runs):
    """Also that of a single item, which nothing is merged with."""
    expected = sorted(x for run in runs for x in run)
    for make in (list, np.array):
        value = parcast.run_pipeline(runs, make, "sorted").value
        assert list(value) == expected


@given(runs=lists, count=st.integers(1, 9))
def test_the_largest_are_kept_and_of_equal_ones_those_of_earlier_items(runs, count):
    merge = known_merge(f"top:{count}").merge
    scored = [[(x, i) for x in run] for i, run in enumerate(runs)]
    expected = sorted((x for run in scored for x in run), key=lambda pair: (-pair[0], pair[1]))
    merged = merge.of([[], *scored])
    assert [x[0] for x in merged] == [x[0] for x in expected[:count]]
    assert merged == expected[:count]
    assert merge.of([[3, 1], [2]]) == sorted([3, 1, 2], reverse=True)[:count]


@given(counts=st.lists(st.dictionaries(st.text(max_size=2), st.integers(-5, 5)), min_size=1))
def test_counts_are_added_by_key(counts):
    merged = known_merge("counts").merge.of([dict(x) for x in counts])
    for key in {key for x in counts for key in x}:
        assert merged[key] == sum(x.get(key, 0) for x in counts)


@given(keys=st.dictionaries(st.text(), st.integers()), shards=st.integers(1, 5))
def test_each_key_is_in_the_shard_that_it_has_everywhere(keys, shards):
    parts = split_counts(keys, shards)
    assert len(parts) == shards
    assert {key: x for part in parts for key, x in part.items()} == keys
    assert all(shard_of(key, shards) == i for i, part in enumerate(parts) for key in part)


def test_a_shard_does_not_depend_on_the_process():
    program = "from parcast.pipeline.merges import shard_of\nprint(shard_of('a b', 7))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": str(Path(parcast.__file__).parents[1]), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{shard_of('a b', 7)}\n"}


@pytest.mark.parametrize("name", ["summ", "top", "top:0", "top:x", 5, None])
def test_a_merge_that_is_not_known_is_refused(name):
    with pytest.raises(
        ParameterError, match=r"merge must be a function of two results, .* Define"
    ):
        known_merge(name)


def test_counts_that_a_task_holds_are_not_changed():
    items, table = [Counter(x=1), Counter(x=1)], {"x": 1}
    for _ in range(2):
        result = parcast.run_pipeline(items, lambda counts: counts, "counts").value
        assert (result, type(result)) == ({"x": 2}, Counter)
    assert parcast.run_pipeline(range(4), lambda _: table, "counts").value == {"x": 4}
    assert (items, table) == ([{"x": 1}, {"x": 1}], {"x": 1})


@pytest.mark.parametrize(
    "equal",
    [
        (1, 1.0, True, np.int64(1), np.float32(1)),
        ("a", np.str_("a")),
        (frozenset([0, 8]), frozenset([8, 0])),
        ((1, "a"), (1.0, np.str_("a"))),
        (float("nan"), float("nan")),
    ],
)
def test_equal_keys_are_in_one_shard(equal):
    assert len({shard_of(key, 10**6) for key in equal}) == 1


def test_keys_that_are_written_by_their_address_have_no_shard():
    with pytest.raises(
        RunFailed, match="keys of type object have no text that is always the same"
    ):
        split_counts({object(): 1}, 2)
