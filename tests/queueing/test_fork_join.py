"""`fork_join` against published values, exact fractions, direct summation, its laws, bad input."""

import csv
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.fork_join import LONGEST_RECURSION, departure_sum
from parcast.queueing.repairman import repairman_equilibrium

DATA = Path(__file__).parent / "data" / "departures.csv"
TOLERANCE = 1e-11  # relative, the accuracy promised
REACHED = 2e-12  # what the integral attains

decades = st.floats(-8, 8).map(lambda e: 10.0**e)
few = st.integers(1, 300)
many = st.integers(LONGEST_RECURSION + 1, 30000)


def published():
    with DATA.open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def demands(row):
    """Jobs, delay, service, and what else the printed time holds; equations (9) and (15)."""
    p, c = int(row["p"]), int(row["c"])
    h = sum(1 / i for i in range(1, c + 1))
    if row["program"] == "synthetic":
        transfer = 0.5 / sqrt(p)
        return p // c, h * (7.6 / p + 0.4) + 0.01 + 0.7 * transfer, 0.3 * transfer, 0.0
    transfer = p ** (-1 / 6) / 27
    return p // c, 6.9 / p + 0.08 + 150e-6 + 0.77 * transfer, 0.23 * transfer, 1 / 3


def direct(k, z, x):
    """The three sums by mean value analysis, term by term, in extended precision."""
    wide = np.longdouble
    z, x = wide(z), wide(x)
    a = z / x
    r, v = wide(1), wide(0)
    value = by_delay = by_service = wide(0)
    for i in range(1, k + 1):
        value += (z + x * r) / i
        by_delay += (1 - v) / i
        by_service += (r + a * v) / i
        u = i / (a + r)
        r, v = 1 + u * r, u * (r + a * v) / (a + r)
    return [float(total) for total in (value, by_delay, by_service)]


@pytest.mark.parametrize("row", published(), ids=lambda row: f"{row['program']}-{row['p']}")
def test_sum_agrees_with_published_times_to_the_digits_printed(row):
    jobs, delay, service, rest = demands(row)
    time = 5 * departure_sum(jobs, delay=delay, service=service).value + rest
    digits = len(row["printed"].partition(".")[2])
    assert f"{time:.{digits}f}" == row["printed"]


@given(st.one_of(few, many), decades, st.floats(-3, 3).map(lambda e: 10.0**e))
def test_value_and_slopes_agree_with_direct_summation(k, a, x):
    got = departure_sum(k, delay=a * x, service=x)
    for mine, wanted in zip(got, direct(k, a * x, x), strict=True):
        assert float(mine) == pytest.approx(wanted, rel=TOLERANCE)


@given(st.integers(LONGEST_RECURSION + 1, 20000), st.floats(-12, 12), st.floats(30, 25000))
def test_integral_is_right_where_the_queue_begins_to_saturate(k, deviations, near):
    for a in (near, max(1.0, k + deviations * sqrt(k))):
        got = departure_sum(k, delay=a, service=1.0)
        for mine, wanted in zip(got, direct(k, a, 1.0), strict=True):
            assert float(mine) == pytest.approx(wanted, rel=REACHED)


@pytest.mark.parametrize("a", [3.0, 64.0, 4e5, 1.001e6])
def test_a_million_jobs(a):
    i = np.arange(1.0, 10**6 + 1)
    response = repairman_equilibrium(i, delay=a, service=1.0).response
    total = departure_sum(i.size, delay=a, service=1.0)
    assert total.value == pytest.approx(np.sum((a + response.value) / i), rel=TOLERANCE)
    assert total.by_delay == pytest.approx(np.sum((1 + response.by_delay) / i), rel=TOLERANCE)
    assert total.by_service == pytest.approx(np.sum(response.by_service / i), rel=TOLERANCE)


@given(st.integers(1, 10**7))
def test_without_service_it_is_a_harmonic_number(k):
    total = departure_sum(k, delay=3.0, service=[0.0, 1e-300])
    n = min(k, 1000)
    harmonic = sum(1 / i for i in range(1, n + 1))
    if k > n:
        harmonic += np.log((k + 0.5) / (n + 0.5)) + (1 / (k + 0.5) ** 2 - 1 / (n + 0.5) ** 2) / 24
    assert total.value == pytest.approx(3 * harmonic, rel=1e-12)
    assert total.by_delay == pytest.approx(harmonic, rel=1e-12)
    assert total.by_service == pytest.approx(harmonic, rel=1e-12)


@pytest.mark.parametrize("k", [1, 5, 4096, 4097, 10**7])
def test_without_delay_the_queue_serves_one_after_another(k):
    total = departure_sum(k, delay=0.0, service=2.0)
    assert [float(part) for part in total] == pytest.approx([2 * k, 1, k], rel=1e-13)


def test_nobody_takes_no_time():
    assert [float(part) for part in departure_sum(0, delay=1.0, service=1.0)] == [0, 0, 0]
    assert departure_sum(3, delay=0.0, service=0.0).value == 0


@given(
    st.lists(
        st.tuples(st.one_of(st.just(0), few, many), st.sampled_from([1e-3, 1.0, 70.0, 3e3])),
        min_size=1,
        max_size=12,
    )
)
def test_an_array_is_answered_as_its_elements_are(cases):
    k, a = np.array(cases).T
    together = departure_sum(k, delay=a, service=1.0)
    alone = [departure_sum(n, delay=b, service=1.0) for n, b in cases]
    for part in range(3):
        expected = [float(one[part]) for one in alone]
        assert together[part].tolist() == pytest.approx(expected, rel=1e-14)


JOBS = "Count the jobs that start together."
TIME = "Give it in seconds."


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"jobs": -1}, f"jobs must be a whole number of at least 0, got -1. {JOBS}"),
        ({"jobs": [2, 2.5]}, f"jobs must be a whole number of at least 0, got 2.5. {JOBS}"),
        ({"jobs": np.inf}, f"jobs must be a whole number of at least 0, got inf. {JOBS}"),
        ({"delay": -0.5}, f"delay must be a time of at least 0, got -0.5. {TIME}"),
        ({"service": np.nan}, f"service must be a time of at least 0, got nan. {TIME}"),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says):
    with pytest.raises(ParameterError) as caught:
        departure_sum(**({"jobs": 4, "delay": 1.0, "service": 0.5} | bad))
    assert str(caught.value) == says
