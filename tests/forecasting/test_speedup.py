"""`forecasting.scaling`: whether times fall as those of shared work, speedup and efficiency."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.own_runs.scaling import (
    falls_with_p,
    speedup_and_efficiency,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "finite_difference" / "times.csv"
counts = st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True).map(sorted)


def falls(p, time):
    p, time = np.array([p], dtype=float), np.array([time], dtype=float)
    return bool(falls_with_p(p, time, np.array([p.shape[1]]))[0])


def machines():
    lines = [x for x in EXAMPLE.read_text(encoding="utf-8").splitlines() if x[0] != "#"]
    found = {}
    for row in csv.DictReader(lines):
        p, time = found.setdefault(row["machine"], ([], []))
        p.append(int(row["p"]))
        time.append(float(row["time_s"]))
    return found


@pytest.mark.parametrize(("machine", "table"), machines().items())
@pytest.mark.parametrize("counts", [2, 3, 5, 7])
def test_the_finite_difference_program_falls_from_any_of_its_first_counts(machine, table, counts):
    p, time = table
    assert falls(p[:counts], time[:counts]), machine


def test_times_fall_that_later_rise_above_the_first():
    assert falls([1, 2, 4, 8, 16], [8, 5, 4, 9, 30])


@pytest.mark.parametrize(
    ("kind", "time"),
    [
        ("flat", [5, 5, 5, 5]),
        ("growing", [5, 6, 7, 8]),
        ("falling a little", [5, 4.9, 4.8, 4.7]),
        ("noisy", [5, 5.2, 4.9, 5.1]),
        ("one lucky run", [5, 5, 4.6, 5]),
        ("shrinking by caches", [5, 4.8, 4.7, 5.5]),
    ],
)
def test_these_times_do_not_fall_as_those_of_shared_work(kind, time):
    assert not falls([1, 2, 4, 8], time), kind


@given(serial=st.floats(0, 0.4), length=st.integers(2, 8), first=st.sampled_from([1, 4, 64]))
def test_amdahls_law_falls_however_far_its_flat_end_was_measured(serial, length, first):
    # the fall to the last count may be less than a quarter of the ideal; that to the second is not
    p = first * 2.0 ** np.arange(length)
    assert falls(p, serial + (1 - serial) * first / p)


def test_a_fall_that_is_small_beside_the_whole_range_does_not_count():
    # at p = 2 the fall is 30% of ideal, and 5% of what 64 processors would give
    assert not falls([1, 2, 64], [1, 2**-0.3, 1.5])
    assert falls([1, 2, 4], [1, 2**-0.3, 1.5])


# Speedup and efficiency.


def of(p, time, *, p0=1.0, time0=10.0, is_strong=True):
    speedup, efficiency = speedup_and_efficiency(
        p=np.array([p], dtype=float)[0],
        time=np.array([time], dtype=float),
        p0=np.array([p0]),
        time0=np.array([time0]),
        strong=np.array([is_strong]),
    )
    return speedup[0].tolist(), efficiency[0].tolist()


def test_strong_speedup_and_efficiency_by_hand():
    assert of([1, 2, 4], [10, 8, 5]) == ([1, 1.25, 2], [1, 0.625, 0.5])


def test_weak_speedup_and_efficiency_by_hand():
    assert of([1, 2, 4], [10, 12.5, 20], is_strong=False) == ([1, 1.6, 2], [1, 0.8, 0.5])


def test_each_series_has_its_own_reference_and_kind():
    speedup, efficiency = speedup_and_efficiency(
        p=np.array([4.0, 8.0]),
        time=np.array([[5.0, 2.5], [20.0, 40.0]]),
        p0=np.array([2.0, 4.0]),
        time0=np.array([10.0, 20.0]),
        strong=np.array([True, False]),
    )
    assert speedup.tolist() == [[2, 4], [1, 1]]
    assert efficiency.tolist() == [[1, 1], [1, 0.5]]
