"""`varied_queues` against simulations, exact solutions, its laws, and bad input."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.clusters import clusters
from parcast.queueing.time_laws import exponential_service, gamma_service
from parcast.queueing.two_queues import two_queues
from parcast.queueing.varied_queues import two_varied_queues
from tests.queueing.routes import STEP, nearby, one_general_queue

DATA = Path(__file__).parent / "data" / "varied_queues.csv"
EXPONENTIAL = exponential_service(), exponential_service()

counts = st.floats(0, 3).map(lambda e: int(10.0**e))
seconds = st.floats(-3, 2).map(lambda e: 10.0**e)
variations = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.05, 2))


def exact(k, d, n, x, y):
    """Mean cycle with exponential services, delays of 1 s."""
    if d == 1:
        return k / two_queues(k, delay=n, x=n * x, y=y).throughput
    found = clusters([k // d], [d], delay=n, own=y, shared=n * x)
    return k // d / found.throughput[0]


def test_cycles_agree_with_simulations():
    errors = []
    with DATA.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    for geometric in ("0", "1"):
        some = [row for row in rows if row["geometric"] == geometric]
        of = {name: np.array([float(row[name]) for row in some]) for name in rows[0]}
        k, each, n, x, y = (of[key] for key in ("jobs", "sharing", "visits", "first", "second"))
        keys = {"visits": n, "delay": 1.0, "delay_cv": of["delay_cv"], "first": x, "second": y}
        found, exponential = (
            two_varied_queues(k, each, **keys, laws=laws, geometric=geometric == "1").time
            for laws in (
                (gamma_service(of["first_cv"]), gamma_service(of["second_cv"])),
                EXPONENTIAL,
            )
        )
        product_form = [
            exact(int(k), int(k / each), *rest)
            for k, each, *rest in zip(k, each, n, x, y, strict=True)
        ]
        errors += [*np.abs(np.array(product_form) * found / exponential / of["time"] - 1)]
    assert len(errors) == len(rows) >= 100
    assert np.mean(errors) <= 0.010
    assert max(errors) <= 0.10


@given(seconds, seconds, st.floats(1, 20), variations, variations)
def test_one_job_waits_for_nobody(x, y, n, c, s):
    law = gamma_service(s)
    alone = two_varied_queues(
        1, 1, visits=n, delay=1.0, steady=0.5, first=x, second=y, delay_cv=c, laws=(law, law)
    )
    assert alone.time == pytest.approx(n * (1.5 + x) + y, rel=1e-10)
    assert alone.by_steady == pytest.approx(n, rel=1e-9)
    assert alone.by_first == pytest.approx(n, rel=1e-9)
    assert alone.by_second == pytest.approx(1.0, rel=1e-9)


@given(counts, seconds, variations)
def test_one_queue_of_exponential_delays_is_exact(k, y, s):
    laws = exponential_service(), gamma_service(s)
    found = two_varied_queues(
        k, k, visits=1, delay=1.0, first=0.0, second=y, delay_cv=1.0, laws=laws
    )
    queue = one_general_queue(k, delay=1.0, service=y, law=laws[1])
    assert found.response_second == pytest.approx(float(queue.response), rel=1e-9)
    assert found.by_second == pytest.approx(float(queue.by_service), rel=1e-6)


@given(counts, st.floats(1, 20), seconds, seconds, variations)
def test_exponential_services_do_not_feel_the_law_of_the_delay(k, n, x, y, c):
    at = {"visits": n, "delay": 1.0, "first": x, "second": y, "laws": EXPONENTIAL}
    varied = two_varied_queues(k, k, delay_cv=c, **at).time
    assert varied == pytest.approx(
        two_varied_queues(k, k, delay_cv=1.0, geometric=True, **at).time, rel=1e-9
    )
    assert varied == pytest.approx(float(exact(k, 1, n, x, y)), rel=0.1)


@given(
    st.tuples(counts, st.integers(1, 8)),
    st.floats(1, 50),
    st.tuples(seconds, seconds),
    st.tuples(variations, st.floats(0, 2), st.floats(0, 2)),
    st.booleans(),
)
def test_slopes_agree_with_differences(jobs, n, services, cvs, geometric):
    k, d = jobs
    at = {"delay": 1.0, "steady": 0.3, "first": services[0] / k, "second": services[1] / k}
    laws = gamma_service(cvs[1]), gamma_service(cvs[2])

    def cycle(**times):
        keys = {"visits": n, "delay_cv": cvs[0], "laws": laws, "geometric": geometric}
        return two_varied_queues(k * d, k, **keys, **times)

    found = cycle(**at)
    slopes = found.by_delay, found.by_steady, found.by_first, found.by_second
    assert found.time >= k * max(n * d * at["first"], at["second"]) * (1 - 1e-9)
    times = cycle(**nearby(at)).time
    for i, (value, slope) in enumerate(zip(at.values(), slopes, strict=True)):
        difference = (times[i, 0] - times[i, 1]) / (2 * STEP * value)
        assert slope == pytest.approx(difference, rel=1e-4, abs=1e-5 * found.time / value)
    euler = sum(value * slope for value, slope in zip(at.values(), slopes, strict=True))
    assert euler == pytest.approx(found.time, rel=1e-8)


def test_two_queues_that_never_rest():
    laws = gamma_service(0.0), exponential_service()
    at = {"visits": 1, "delay": 1e-9, "delay_cv": 1.0, "laws": laws}
    found = two_varied_queues(5000, 5000, first=[1.0, 1.0, 0.5], second=[1.0, 0.5, 1.0], **at)
    assert found.time == pytest.approx(5000, rel=1e-3)
    assert np.all((found.by_first >= 0) & (found.by_second >= 0))
    assert found.by_first + found.by_second == pytest.approx([5000, 5000, 5000], rel=0.5)


def test_an_array_is_answered_as_its_elements_are():
    k, x = np.array([1, 5, 64]), np.array([0.0, 0.02, 1.0])
    at = {"visits": 3, "delay": 1.0, "second": 0.2, "delay_cv": 0.1, "laws": EXPONENTIAL}
    together = two_varied_queues(k[:, None], 1, first=x, **at)
    for i, number in enumerate(k):
        for j, service in enumerate(x):
            alone = two_varied_queues(number, 1, first=service, **at)
            assert together.time[i, j] == pytest.approx(float(alone.time), rel=1e-9)
    assert two_varied_queues([], 1, first=1.0, **at).time.shape == (0,)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"customers": 2.5}, "customers must be a whole number of at least 1, got 2.5"),
        ({"sharing": 9}, "sharing must be at most customers, got 9"),
        ({"visits": 0}, "visits must be at least 1, got 0"),
        ({"delay": -1}, "delay must be a time of at least 0, got -1"),
        ({"delay_cv": -0.1}, "delay_cv must be at least 0, got -0.1"),
        ({"delay": 0, "first": 0, "second": 0}, "must be above 0, got 0"),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(bad, says):
    good = {"customers": 4, "sharing": 2, "visits": 2, "delay": 1, "first": 1, "second": 1}
    with pytest.raises(ParameterError, match=says):
        two_varied_queues(**(good | {"delay_cv": 1, "laws": EXPONENTIAL} | bad))
