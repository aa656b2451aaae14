"""`geometric_cycles` against simulations, exact limits, its laws, and bad input."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.fixed_cycles import fixed_cycles_time, geometric_cycles_time
from tests.queueing.routes import STEP, nearby

DATA = Path(__file__).parent / "data" / "geometric_cycles.csv"

counts = st.floats(0, 4).map(lambda e: float(int(10.0**e)))
numbers_of_cycles = st.floats(0, 3).map(lambda e: 10.0**e)
loads = st.floats(-4, 4).map(lambda e: 10.0**e)
variations = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.01, 3))
service_variations = st.floats(0, 3)


def test_times_agree_with_simulations():
    with DATA.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    of = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    time = geometric_cycles_time(
        of["jobs"],
        cycles=of["cycles"],
        delay=1.0,
        service=of["service"],
        delay_cv=of["delay_cv"],
        service_cv=of["service_cv"],
    ).value
    error = np.abs(time / of["time"] - 1)
    assert error.size >= 100
    assert error.mean() <= 0.012
    assert error.max() <= 0.12


@given(numbers_of_cycles, loads, variations, service_variations)
def test_one_job_waits_for_nobody(n, x, c, s):
    alone = geometric_cycles_time(1, cycles=n, delay=2.0, service=x, delay_cv=c, service_cv=s)
    assert alone.value == pytest.approx(n * (2.0 + x), rel=1e-9)
    assert alone.by_delay == pytest.approx(n, rel=1e-9)
    assert alone.by_service == pytest.approx(n, rel=1e-9)


@given(counts, loads, variations, service_variations)
def test_one_cycle_is_the_same_for_any_law_of_their_number(k, load, c, s):
    at = {"delay": 1.0, "service": load / k, "delay_cv": c, "service_cv": s, "cycles": 1}
    once, fixed = geometric_cycles_time(k, **at), fixed_cycles_time(k, **at)
    assert once.value == pytest.approx(fixed.value, rel=1e-12)
    assert once.by_delay == pytest.approx(fixed.by_delay, rel=1e-9)


@given(counts, numbers_of_cycles)
def test_exponential_delays_without_a_queue_are_one_exponential_time(k, n):
    end = geometric_cycles_time(k, cycles=n, delay=1.0, service=0.0, delay_cv=1.0)
    assert end.value == pytest.approx(n * (1.0 / np.arange(1, k + 1)).sum(), rel=1e-6)


@pytest.mark.parametrize(("k", "n"), [(4, 2), (64, 3), (1000, 10), (16, 100)])
def test_steady_delays_without_a_queue_are_the_largest_geometric_number(k, n):
    end = geometric_cycles_time(k, cycles=n, delay=1.0, service=0.0, delay_cv=0.0)
    done = np.arange(100 * n)
    largest = (1.0 - (1.0 - (1.0 - 1.0 / n) ** done) ** k).sum()
    assert end.value == pytest.approx(largest, rel=0.025)


@given(counts, numbers_of_cycles, variations)
def test_without_delay_the_queue_serves_one_after_another(k, n, c):
    end = geometric_cycles_time(k, cycles=n, delay=0.0, service=0.5, delay_cv=c)
    assert end.value == pytest.approx(0.5 * n * k, rel=1e-9)


@given(counts, numbers_of_cycles, loads, variations, service_variations)
def test_neither_the_work_nor_a_lone_job_can_be_avoided(k, n, load, c, s):
    end = geometric_cycles_time(k, cycles=n, delay=1.0, service=load / k, delay_cv=c, service_cv=s)
    assert end.value >= n * load * (1 - 1e-9)
    assert end.value >= n * (1 + load / k) * (1 - 1e-9)


@given(
    st.integers(1, 1000),
    st.floats(1, 100),
    st.floats(-2, 2).map(lambda e: 10.0**e),
    st.floats(0.05, 3),
    service_variations,
)
def test_slopes_agree_with_differences(k, n, load, c, s):
    at = {"delay": 1.0, "steady": 0.4, "service": load / k, "delay_cv": c}
    end = geometric_cycles_time(k, cycles=n, service_cv=s, **at)
    slopes = end.by_delay, end.by_steady, end.by_service, end.by_delay_cv
    near = nearby(at)
    ends = geometric_cycles_time(k, cycles=n, service_cv=s, **near).value
    for i, (value, slope) in enumerate(zip(at.values(), slopes, strict=True)):
        difference = (ends[i, 0] - ends[i, 1]) / (2 * STEP * value)
        assert slope == pytest.approx(difference, rel=1e-5, abs=1e-6 * end.value / value)


def test_an_array_is_answered_as_its_elements_are():
    k, s = np.array([1, 3, 40, 3000]), np.array([0.0, 0.3, 1.0, 2.0])
    together = geometric_cycles_time(
        k[:, None],
        cycles=[1, 2.5, 9],
        delay=1.0,
        service=0.02,
        delay_cv=0.2,
        service_cv=s[:, None],
    )
    for i in range(k.size):
        for j, n in enumerate((1, 2.5, 9)):
            alone = geometric_cycles_time(
                k[i], cycles=n, delay=1.0, service=0.02, delay_cv=0.2, service_cv=s[i]
            )
            assert together.value[i, j] == pytest.approx(alone.value, rel=1e-10)
    assert geometric_cycles_time(
        [], cycles=1, delay=1.0, service=1.0, delay_cv=1.0
    ).value.shape == (0,)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"jobs": 2.5}, "jobs must be a whole number of at least 1, got 2.5"),
        ({"cycles": 0.5}, "cycles must be at least 1, got 0.5"),
        ({"delay": -1}, "delay must be a time of at least 0, got -1"),
        ({"service": np.inf}, "service must be a time of at least 0, got inf"),
        ({"delay_cv": 21}, r"delay_cv must lie in \[0, 20\], got 21"),
        ({"service_cv": 3.5}, r"service_cv must lie in \[0, 3\], got 3.5"),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says):
    good = {"jobs": 4, "cycles": 2, "delay": 1, "service": 1, "delay_cv": 1}
    with pytest.raises(ParameterError, match=says):
        geometric_cycles_time(**(good | bad))
