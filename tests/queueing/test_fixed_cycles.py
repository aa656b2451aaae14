"""`fixed_cycles` against simulations it was not fitted to, exact limits, its laws, bad input."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.fixed_cycles import fixed_cycles_time
from parcast.queueing.order import expected_maximum, largest_sum_excess
from parcast.queueing.time_laws import gamma_times

DATA = Path(__file__).parent / "data" / "fixed_cycles.csv"
EXACT = 1e-10  # relative, in the limits

counts = st.floats(0, 6).map(lambda e: float(int(10.0**e)))
numbers_of_cycles = st.floats(0, 4).map(lambda e: 10.0**e)
loads = st.floats(-4, 6).map(lambda e: 10.0**e)
variations = st.one_of(st.just(0.0), st.floats(0.001, 3))
unit = st.floats(0, 1)


def simulated():
    with DATA.open(encoding="utf-8") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        table = [{name: float(value) for name, value in row.items()} for row in rows]
    return {name: np.array([row[name] for row in table]) for name in table[0]}


def test_times_agree_with_simulations():
    of = simulated()
    time = fixed_cycles_time(
        of["jobs"],
        cycles=of["cycles"],
        delay=1.0,
        service=of["load"] / of["jobs"],
        delay_cv=of["delay_cv"],
        service_cv=of["service_cv"],
    ).value
    error = np.abs(time / of["time"] - 1)
    assert error.size >= 60
    assert error.mean() <= 0.010  # the promise: 0.025
    assert error.max() <= 0.055  # the promise: 0.10


@given(numbers_of_cycles, loads, variations, unit)
def test_one_job_waits_for_nobody(n, x, c, s):
    alone = fixed_cycles_time(1, cycles=n, delay=2.0, service=x, delay_cv=c, service_cv=s)
    assert alone.value == pytest.approx(n * (2.0 + x), rel=EXACT)
    assert alone.by_delay == pytest.approx(n, rel=EXACT)
    assert alone.by_service == pytest.approx(n, rel=EXACT)
    assert alone.by_delay_cv == 0


@given(counts, numbers_of_cycles, variations, unit)
def test_without_service_the_longest_of_all_sums_of_delays_counts(k, n, c, s):
    end = fixed_cycles_time(k, cycles=n, delay=3.0, service=0.0, delay_cv=c, service_cv=s)
    longest = 3.0 * n * expected_maximum(k, gamma_times(c, bursts=n))
    assert end.value == pytest.approx(longest, rel=EXACT)
    assert end.by_delay == pytest.approx(longest / 3.0, rel=EXACT)


@given(counts, numbers_of_cycles, variations, unit)
def test_without_delay_the_queue_serves_one_after_another(k, n, c, s):
    end = fixed_cycles_time(k, cycles=n, delay=0.0, service=0.5, delay_cv=c, service_cv=s)
    assert end.value == pytest.approx(0.5 * n * k, rel=EXACT)
    assert end.by_service == pytest.approx(n * k, rel=EXACT)
    assert end.by_delay_cv == 0


@given(counts, numbers_of_cycles, loads)
def test_without_variation_it_is_arithmetic(k, n, load):
    x = load / k
    end = fixed_cycles_time(k, cycles=n, delay=1.0, service=x, delay_cv=0.0, service_cv=0.0)
    assert end.value == pytest.approx(1 + load + (n - 1) * max(1 + x, load), rel=EXACT)


def test_no_time_at_all():
    end = fixed_cycles_time(4, cycles=3, delay=0.0, service=0.0, delay_cv=0.5)
    assert (end.value, end.by_delay_cv) == (0, 0)
    assert end.by_delay == pytest.approx(3 * expected_maximum(4, gamma_times(0.5, bursts=3)))


@given(counts, numbers_of_cycles, loads, st.tuples(st.floats(0, 1), unit), st.floats(1.0001, 3))
def test_more_of_anything_takes_longer(k, n, load, variation, more):
    c, s = variation
    less = {"jobs": k, "cycles": n, "delay": 1.0, "service": load / k}
    for name, value in less.items():
        larger = less | {name: np.floor(k * more) + 1 if name == "jobs" else value * more}
        now, then = (
            fixed_cycles_time(**some, delay_cv=c, service_cv=s).value for some in (less, larger)
        )
        assert then >= now * (1 - 1e-10), name


@given(counts, numbers_of_cycles, loads, variations, unit)
def test_neither_the_work_nor_the_delays_can_be_avoided(k, n, load, c, s):
    end = fixed_cycles_time(k, cycles=n, delay=1.0, service=load / k, delay_cv=c, service_cv=s)
    assert end.value >= n * load * (1 - 1e-12)
    assert end.value >= n * (1 + load / k) * (1 - 1e-12)


@given(
    st.integers(1, 3000),
    st.floats(1, 200),
    st.floats(-2, 2).map(lambda e: 10.0**e),
    st.floats(0.02, 3),
    unit,
)
def test_slopes_agree_with_differences(k, n, load, c, s):
    at = {"delay": 1.0, "service": load / k, "delay_cv": c}
    end = fixed_cycles_time(k, cycles=n, service_cv=s, **at)
    for name, slope in zip(at, (end.by_delay, end.by_service, end.by_delay_cv), strict=True):
        step = 1e-5 * at[name]
        above, below = (
            fixed_cycles_time(k, cycles=n, service_cv=s, **(at | {name: at[name] + d})).value
            for d in (step, -step)
        )
        difference = (above - below) / (2 * step)
        assert slope == pytest.approx(difference, rel=1e-5, abs=2e-8 * end.value / at[name])


@given(counts, numbers_of_cycles, loads, variations, unit)
def test_it_does_not_depend_on_the_unit_of_time(k, n, load, c, s):
    x = load / k
    seconds = fixed_cycles_time(k, cycles=n, delay=1.0, service=x, delay_cv=c, service_cv=s)
    hours = fixed_cycles_time(
        k, cycles=n, delay=1 / 3600, service=x / 3600, delay_cv=c, service_cv=s
    )
    assert hours.value * 3600 == pytest.approx(seconds.value, rel=1e-12)
    homogeneous = seconds.by_delay + x * seconds.by_service
    assert homogeneous == pytest.approx(seconds.value, rel=1e-9)


def test_an_array_is_answered_as_its_elements_are():
    k, c = np.array([1, 3, 40, 5000]), np.array([0.0, 0.3, 0.3, 1.5])
    together = fixed_cycles_time(
        k[:, None], cycles=[1, 2.5, 9], delay=1.0, service=0.02, delay_cv=c[:, None]
    )
    for i, row in enumerate(zip(k, c, strict=True)):
        for j, n in enumerate((1, 2.5, 9)):
            alone = fixed_cycles_time(row[0], cycles=n, delay=1.0, service=0.02, delay_cv=row[1])
            assert together.value[i, j] == pytest.approx(alone.value, rel=EXACT)
            assert together.by_delay_cv[i, j] == pytest.approx(alone.by_delay_cv, rel=1e-6)


@given(counts, numbers_of_cycles, st.floats(0.001, 3))
def test_largest_sum_is_that_of_order_statistics(k, n, c):
    excess = largest_sum_excess(np.array([k]), np.array([[n]]), np.array([c])).value[0, 0]
    largest = n * expected_maximum(k, gamma_times(c, bursts=n))
    assert n + excess == pytest.approx(float(largest), rel=EXACT)


JOBS = "Count the jobs that start together."
CYCLES = "Count the visits of a job to the queue."
TIME = "Give it in seconds."
CV = "Give standard deviation over mean."


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"jobs": [2, 0.5]}, f"jobs must be at least 1, got 0.5. {JOBS}"),
        ({"jobs": np.inf}, f"jobs must be at least 1, got inf. {JOBS}"),
        ({"cycles": 0}, f"cycles must be at least 1, got 0. {CYCLES}"),
        ({"delay": -0.5}, f"delay must be a time of at least 0, got -0.5. {TIME}"),
        ({"service": np.nan}, f"service must be a time of at least 0, got nan. {TIME}"),
        ({"delay_cv": 21}, f"delay_cv must lie in [0, 20], got 21. {CV}"),
        ({"service_cv": [0, 3.5]}, f"service_cv must lie in [0, 3], got 3.5. {CV}"),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says, refusal):
    good = {"jobs": 4, "cycles": 3, "delay": 1.0, "service": 0.5, "delay_cv": 0.2}
    assert refusal(ParameterError, fixed_cycles_time, **good | bad) == says


def test_a_steady_part_does_not_vary():
    # Nobody waits for the network, so that the slowest sum of the varying parts ends it.
    found = fixed_cycles_time(64, cycles=5, delay=2.0, steady=3.0, service=0.0, delay_cv=0.5).value
    slowest = expected_maximum(64, gamma_times(0.5, bursts=5))
    assert found == pytest.approx(5 * 3 + 5 * 2 * slowest, rel=EXACT)


def test_a_time_that_is_partly_steady_agrees_with_simulation():
    from parcast.queueing.simulation.cycle import Cycle
    from parcast.queueing.simulation.simulate import simulate_joined

    cycle = Cycle(
        jobs=32, bursts=5, cpu=1.0, cpu_law=0.8, startup=0.6, service=0.03, io_law="none"
    )
    simulated_time = simulate_joined(cycle, replications=2000).joined.value
    found = fixed_cycles_time(
        32, cycles=5, delay=1.0, steady=0.6, service=0.03, delay_cv=0.8
    ).value
    assert found == pytest.approx(simulated_time, rel=0.02)
