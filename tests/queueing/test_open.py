"""`open` against published values, exact fractions, its laws, and bad input."""

from dataclasses import fields
from fractions import Fraction
from math import factorial

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.open import OneServer, OpenQueue, md1, mg1, mm1, mmc

services = st.floats(-6, 3).map(lambda e: 10.0**e)
loads = st.floats(1e-9, 0.999)
variations = st.floats(0, 100)
PARTS = ("waiting", "response", "length", "utilisation")


def parts(queue: OpenQueue):
    return [getattr(queue, name) for name in PARTS]


@pytest.mark.parametrize(("delay", "printed"), [(mm1, "0.150632"), (md1, "0.149441")])
def test_message_delay_of_the_published_channel_to_the_digits_printed(delay, printed):
    # Kuntraruk et al.: messages of 23720 B on 1.28 Gbit/s from 16 processors with tasks of 0.15 s
    response = delay(16 / 0.15, service=23720 * 8 / 1.28e9).response
    assert f"{1e3 * response:.6f}" == printed


@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), st.fractions(0, 100))
def test_one_server_agrees_with_exact_fractions(u, cv2):
    waiting = u * (1 + cv2) / (2 * (1 - u))
    got = mg1(float(u), service=1.0, cv2=float(cv2))
    assert float(got.waiting) == pytest.approx(float(waiting), rel=1e-12)
    assert float(got.length) == pytest.approx(float(u * (1 + waiting)), rel=1e-12)


@given(st.integers(1, 40), st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
def test_several_servers_agree_with_erlangs_sum_in_exact_fractions(m, u):
    terms = [(m * u) ** k / factorial(k) for k in range(m)]
    all_busy = (m * u) ** m / factorial(m) / (1 - u)
    waiting = all_busy / (sum(terms) + all_busy) / (m * (1 - u))
    got = mmc(float(m * u), service=1.0, servers=m)
    assert float(got.waiting) == pytest.approx(float(waiting), rel=1e-11)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 20000), st.floats(0.5, 0.999))
def test_many_servers_agree_with_fifty_digits(m, u):
    got = mmc(m * u, service=1.0, servers=m)
    with mp.workdps(50):
        a = mp.mpf(m * u)
        u = a / m
        term, total = mp.mpf(1), mp.mpf(1)  # from k = m down, relative to the last term
        for k in range(m, 0, -1):
            term *= k / a
            total += term
            if term < 1e-30 * total:
                break
        waits = 1 / (1 + (1 - u) * (total - 1))
        wanted = waits / (m * (1 - u))
    assert float(got.waiting) == pytest.approx(float(wanted), rel=1e-11)


@given(loads, services)
def test_one_of_several_is_one(u, service):
    several = mmc(u / service, service=service, servers=1)
    one = mm1(u / service, service=service)
    for mine, wanted in zip(parts(several), parts(one), strict=True):
        assert mine == pytest.approx(wanted, rel=1e-12)


@given(loads, services)
def test_equal_services_halve_the_wait(u, service):
    random, equal = mm1(u / service, service=service), md1(u / service, service=service)
    assert equal.waiting * 2 == pytest.approx(random.waiting, rel=1e-15)
    ratio = equal.response / random.response
    assert ratio == pytest.approx(1 - float(random.utilisation) / 2, rel=1e-12)
    assert equal.response < random.response


@given(loads, services, variations)
def test_law_of_little_and_bounds_hold(u, service, cv2):
    rate = u / service
    got = mg1(rate, service=service, cv2=cv2)
    assert got.response == got.waiting + service
    assert got.length == pytest.approx(rate * got.response, rel=1e-15)
    assert got.utilisation == pytest.approx(u, rel=1e-15)
    assert got.waiting >= md1(rate, service=service).waiting * (1 - 1e-15)


@given(st.lists(loads, min_size=2, max_size=2, unique=True).map(sorted), st.integers(1, 1000))
def test_more_load_means_more_waiting(u, m):
    for queue in (mm1(u, service=1.0), mmc(np.multiply(u, m), service=1.0, servers=m)):
        assert queue.waiting[0] <= queue.waiting[1]
        assert queue.length[0] < queue.length[1]


@given(loads, st.integers(1, 1000))
def test_one_line_for_many_servers_is_better_than_many_lines(u, m):
    together = mmc(m * u, service=1.0, servers=m)
    assert together.waiting <= mm1(u, service=1.0).waiting * (1 + 1e-9)


@given(services, variations, st.integers(1, 1000))
def test_who_arrives_alone_never_waits(service, cv2, m):
    for queue in (mg1(0, service=service, cv2=cv2), mmc(0, service=service, servers=m)):
        assert [float(part) for part in parts(queue)] == [0, service, 0, 0]
    assert [float(part) for part in parts(mmc(3.0, service=0.0, servers=m))] == [0, 0, 0, 0]


@given(st.lists(st.tuples(loads, st.integers(1, 99)), min_size=1))
def test_an_array_is_answered_as_its_elements_are(cases):
    u, m = np.array(cases).T
    for together, alone in (
        (mm1(u, service=1.0), [mm1(x, service=1.0) for x in u]),
        (
            mmc(u * m, service=1.0, servers=m),
            [mmc(x * k, service=1.0, servers=k) for x, k in zip(u, m, strict=True)],
        ),
    ):
        for i, part in enumerate(parts(together)):
            expected = [float(parts(one)[i]) for one in alone]
            assert part.tolist() == pytest.approx(expected, rel=4e-16)


def test_arguments_broadcast():
    for part in parts(mg1([0.1, 0.2], service=1.0, cv2=[[0.0], [1.0], [2.0]])):
        assert part.shape == (3, 2)
    for part in parts(mmc([0.1, 0.2], service=1.0, servers=[[1], [2], [3]])):
        assert part.shape == (3, 2)


def wait(rate, service, servers, cv2):
    """Mean wait in the precision at hand, Erlang's sum for several servers."""
    load = rate * service
    left = servers - load
    if servers == 1:
        return load * service * (1 + cv2) / (2 * left)
    terms = [load**k / mp.factorial(k) for k in range(servers)]
    all_busy = load**servers / mp.factorial(servers) * servers / left
    return all_busy / (mp.fsum(terms) + all_busy) * service / left


@given(st.floats(1e-6, 0.999), services, st.integers(1, 40), variations)
def test_slopes_are_those_of_fifty_digits(u, service, m, cv2):
    rate = m * u / service
    cv2 = cv2 if m == 1 else 1.0
    queues = [mmc(rate, service=service, servers=m)] if cv2 == 1 else []
    queues += [mg1(rate, service=service, cv2=cv2)] if m == 1 else []
    with mp.workdps(50):
        at = mp.mpf(rate), mp.mpf(service)
        w = wait(*at, m, cv2)
        by_rate = mp.diff(lambda r: wait(r, at[1], m, cv2), at[0], h=at[0] * mp.mpf("1e-20"))
        by_service = mp.diff(lambda s: wait(at[0], s, m, cv2), at[1], h=at[1] * mp.mpf("1e-20"))
        by_cv2 = w / (1 + cv2)
        wanted = {
            "waiting_by_rate": by_rate,
            "waiting_by_service": by_service,
            "response_by_rate": by_rate,
            "response_by_service": 1 + by_service,
            "length_by_rate": w + at[1] + at[0] * by_rate,
            "length_by_service": at[0] * (1 + by_service),
            "waiting_by_cv2": by_cv2,
            "response_by_cv2": by_cv2,
            "length_by_cv2": at[0] * by_cv2,
        }
    for queue in queues:
        for name in (field.name for field in fields(queue) if "_by_" in field.name):
            got = float(getattr(queue, name))
            # Near u = 1, the last digit of u counts 1/(1-u) times, and twice.
            assert got == pytest.approx(float(wanted[name]), rel=1e-11, abs=1e-290), name


@given(st.floats(1e-9, 0.99), services, st.integers(1, 3000), variations)
def test_slopes_are_homogeneous_and_those_of_the_values(u, service, m, cv2):
    step = 1e-5
    for queue, servers in (
        (lambda r, s: mmc(r, service=s, servers=m), m),
        (lambda r, s: mg1(r, service=s, cv2=cv2), 1),
    ):
        rate = servers * u / service
        got = queue(rate, service)
        ends = np.exp([step, -step])
        moved = {
            "rate": (rate, queue(rate * ends, service)),
            "service": (service, queue(rate, service * ends)),
        }
        for name, degree in (("waiting", 1), ("response", 1), ("length", 0)):
            value = getattr(got, name)
            if value < 1e-280:  # digits are lost below
                continue
            parts = {by: at * getattr(got, f"{name}_by_{by}") for by, (at, _) in moved.items()}
            size = max(abs(value), *parts.values())
            assert parts["service"] - parts["rate"] == pytest.approx(
                degree * value, abs=1e-12 * size
            )
            for by, (_, around) in moved.items():
                up, down = np.log(getattr(around, name))
                elasticity = parts[by] / value
                assert (up - down) / (2 * step) == pytest.approx(elasticity, rel=1e-5, abs=1e-6)


@given(services, variations, st.integers(2, 1000))
def test_slopes_of_who_arrives_first(service, cv2, m):
    alone = mg1(0, service=service, cv2=cv2)
    assert alone.waiting_by_rate == pytest.approx(service**2 * (1 + cv2) / 2)
    assert mmc(0, service=service, servers=1).waiting_by_rate == pytest.approx(service**2)
    several = mmc(0, service=service, servers=m)
    assert several.waiting_by_rate == 0
    for queue in (alone, several):
        assert queue.length_by_rate == service
        assert queue.response_by_service == 1
        assert queue.waiting_by_service == queue.length_by_service == 0
    assert alone.waiting_by_cv2 == alone.length_by_cv2 == 0
    for queue in (mg1(3.0, service=0.0, cv2=cv2), mmc(3.0, service=0.0, servers=m)):
        assert queue.response_by_rate == queue.length_by_rate == 0
        assert (queue.response_by_service, queue.length_by_service) == (1, 3)


def test_slopes_broadcast():
    one = mg1([0.1, 0.2], service=1.0, cv2=[[0.0], [1.0], [2.0]])
    assert isinstance(one, OneServer)
    for queue in (one, mmc([0.1, 0.2], service=1.0, servers=[[1], [2], [3]])):
        for field in fields(queue):
            part = getattr(queue, field.name)
            assert isinstance(part, np.ndarray)
            assert part.shape == (3, 2), field.name
    assert mm1(0.5, service=1.0).length_by_rate.shape == ()


GROWS = "The queue would grow without limit: slow the arrivals or speed up the service."
TIME = "Give it in seconds."
RATE = "Give it per second."
SQUARED = "Give variance over mean squared."
SERVERS = "servers must be a whole number of at least 1"


@pytest.mark.parametrize(
    ("queue", "bad", "says"),
    [
        (mm1, {"arrival_rate": 2.0}, f"utilisation must be below 1, got 1. {GROWS}"),
        (md1, {"arrival_rate": [1, 5]}, f"utilisation must be below 1, got 2.5. {GROWS}"),
        (
            mmc,
            {"arrival_rate": 6, "servers": [9, 2]},
            f"utilisation must be below 1, got 1.5. {GROWS}",
        ),
        (mm1, {"arrival_rate": -1}, f"arrival_rate must be at least 0, got -1. {RATE}"),
        (mm1, {"arrival_rate": np.inf}, f"arrival_rate must be at least 0, got inf. {RATE}"),
        (md1, {"service": -1}, f"service must be a time of at least 0, got -1. {TIME}"),
        (md1, {"service": np.nan}, f"service must be a time of at least 0, got nan. {TIME}"),
        (mg1, {"cv2": -0.5}, f"cv2 must be at least 0, got -0.5. {SQUARED}"),
        (mg1, {"cv2": np.inf}, f"cv2 must be at least 0, got inf. {SQUARED}"),
        (mmc, {"servers": 0}, f"{SERVERS}, got 0. Count the servers."),
        (mmc, {"servers": 1.5}, f"{SERVERS}, got 1.5. Count the servers."),
    ],
)
def test_bad_parameter_is_named_with_its_value_and_a_remedy(queue, bad, says):
    rest = {mg1: {"cv2": 1.0}, mmc: {"servers": 1}}.get(queue, {})
    with pytest.raises(ParameterError) as caught:
        queue(**({"arrival_rate": 1.0, "service": 0.5} | rest | bad))
    assert str(caught.value) == says
