"""`parcast.queueing.two_queues` against 50-digit mean value analysis, its laws, and bad input."""

import csv
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing import two_queues as module
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.two_queues import two_queues

DATA = Path(__file__).parent / "data"
FIELDS = tuple(module.TwoQueues.__dataclass_fields__)
DEMANDS = ("delay", "x", "y")

customers = st.integers(1, 300)
magnitudes = st.one_of(st.floats(-12, 12), st.floats(-1, 1)).map(lambda e: 10.0**e)
apart = st.one_of(  # y/x - 1, from far to next to nothing
    st.just(0.0),
    st.floats(-12, 4).map(lambda e: 10.0**e),
    st.floats(-12, -0.01).map(lambda e: -(10.0**e)),
)


def recursion(n, delay, x, y, *, number=mpmath.mpf):
    """Values of the fields of `TwoQueues`, in their order, by the textbook's recursion."""
    delay, x, y = number(delay), number(x), number(y)
    at_x = at_y = throughput = number(0)
    for present in range(1, n + 1):
        before = throughput, at_x, at_y
        response_x, response_y = x * (1 + at_x), y * (1 + at_y)
        throughput = present / (delay + response_x + response_y)
        at_x, at_y = throughput * response_x, throughput * response_y
    by_delay = throughput * (before[0] - throughput)
    by_x = throughput * (before[1] - at_x) / x if x else by_delay
    by_y = throughput * (before[2] - at_y) / y if y else by_delay
    return throughput, response_x, response_y, by_delay, by_x, by_y


def check(n, delay, x, y, expected, *, rtol, elastic):
    """Values to `rtol`; derivatives, as elasticities, which sum to -1, to `elastic`."""
    means = two_queues(n, delay=delay, x=x, y=y)
    for name, value in zip(FIELDS[:3], expected[:3], strict=True):
        assert abs(getattr(means, name) - value) <= rtol * abs(value), name
    for name, demand, value in zip(FIELDS[3:], (delay, x, y), expected[3:], strict=True):
        assert abs(getattr(means, name) - value) * demand <= elastic * expected[0], name


# values


@settings(deadline=None)
@given(n=customers, x=magnitudes, gap=apart, delay=magnitudes, crowd=st.booleans())
@example(n=300, x=1.0, gap=1e-3, delay=10.0, crowd=True)
@example(n=123, x=0.3, gap=4.5e-3, delay=0.13, crowd=True)
@example(n=30, x=1.0, gap=1e-9, delay=1e-12, crowd=False)
@example(n=2, x=1.0, gap=-0.999, delay=1e12, crowd=False)
def test_any_network_agrees_with_the_recursion_in_fifty_digits(n, x, gap, delay, crowd):
    delay *= n * x if crowd else 1.0  # near saturation, often
    y = x * (1.0 + gap)
    with mpmath.workdps(50):
        check(n, delay, x, y, recursion(n, delay, x, y), rtol=1e-12, elastic=1e-12)


@pytest.mark.parametrize("crowd", [1e-3, 0.5, 0.99, 1.0, 1.02, 3.0])
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-5, 3e-4, 1e-2, 1.0])
def test_thousands_of_customers_agree_with_the_recursion_in_floating_point(crowd, gap):
    n = 4000
    expected = recursion(n, n * crowd, 1.0, 1.0 - gap * 0.5, number=np.longdouble)
    check(n, n * crowd, 1.0, 1.0 - gap * 0.5, expected, rtol=1e-12, elastic=1e-11)


def test_demands_three_hundred_decades_apart_give_numbers():
    """Also where one or two of them are 0; once 0/0 and 0 * inf were met on the way."""
    draw = np.random.default_rng(3)
    n = draw.choice([1, 2, 3, 1.2, 1.9, 10, 1e3, 1e6, 1e7], 50_000)
    delay, x, y = 10.0 ** draw.uniform(-150, 150, (3, n.size)) * draw.choice(
        [0, 1, 1], (3, n.size)
    )
    y = np.where(draw.random(n.size) < 0.2, x * 1.0001, y)
    some = delay + x + y > 0
    n, delay, x, y = n[some], delay[some], x[some], y[some]
    means = two_queues(n, delay=delay, x=x, y=y)
    assert all(np.isfinite(getattr(means, name)).all() for name in FIELDS[:3])
    assert (means.response_x >= x).all()
    assert (means.response_y >= y).all()
    cycle = delay + means.response_x + means.response_y
    np.testing.assert_allclose(means.throughput * cycle, n, rtol=1e-14)
    for name in FIELDS[3:]:  # beyond 1e154 squares of throughput overflow
        assert not (np.isnan(getattr(means, name)) & (means.throughput < 1e150)).any()


def test_response_time_agrees_with_the_published_sums_of_factorials():
    """R2(4, 2, 0.5, 1) of Cremonesi & Gennaro's equation (22) is 169/233."""
    response = two_queues(4, delay=2.0, x=0.5, y=1.0).response_x
    assert response == pytest.approx(169 / 233, rel=1e-15)


with (DATA / "spmd_cycles.csv").open(encoding="utf-8") as file:
    CYCLES = list(csv.DictReader(line for line in file if not line.startswith("#")))


@pytest.mark.parametrize("row", CYCLES, ids=lambda row: f"p={row['p']},d={row['d']},c={row['c']}")
def test_cycles_of_a_program_with_one_io_subsystem_agree_to_the_digits_printed(row):
    p, d, c = (int(row[name]) for name in "pdc")
    together = sum(1 / i for i in range(1, c + 1))
    delay = 5 * (together * (7.6 / p + 0.4) + 0.01 + 0.35 / p**0.5)
    bus = two_queues(p // c, delay=delay, x=0.75 / p**0.5, y=0.05 + 8 / d / (p // c))
    assert f"{delay + bus.response_x:.6f}" == row["bus_compute"]
    assert f"{bus.response_y:.6f}" == row["bus_io"]
    assert f"{p // c / bus.throughput:.6f}" == row["bus_cycle"]


def constant(n, delay, x, y):
    """Normalising constant for any real n: the queues hold two exponential times."""
    top = max(x, y)
    if x == y:
        density = lambda r: r / x**2 * mpmath.exp(-r / x)  # noqa: E731 - a formula
    elif min(x, y) == 0:
        density = lambda r: mpmath.exp(-r / top) / top  # noqa: E731 - a formula
    else:
        density = lambda r: (mpmath.exp(-r / x) - mpmath.exp(-r / y)) / (x - y)  # noqa: E731 - a formula
    ends = [top * (n + 3) * part for part in (0, 0.01, 0.1, 0.3, 1, 2, 4, 10, 40)]
    return mpmath.quad(lambda r: density(r) * (delay + r) ** n, ends) / mpmath.gamma(n + 1)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("n", [1.01, 7.25, 60.5])
@pytest.mark.parametrize(
    ("delay", "x", "y"),
    [(3.0, 1.0, 2.0), (0.0, 1.0, 2.0), (0.0, 2.0, 1.9), (20.0, 1.0, 1.0), (0.01, 2.0, 0.0)],
)
def test_customers_between_whole_numbers_agree_with_an_integral(n, delay, x, y):
    with mpmath.workdps(30):
        delay, x, y = mpmath.mpf(delay), mpmath.mpf(x), mpmath.mpf(y)
        n = mpmath.mpf(n)
        throughput = constant(n - 1, delay, x, y) / constant(n, delay, x, y)
        means = two_queues(float(n), delay=float(delay), x=float(x), y=float(y))
        assert abs(means.throughput / throughput - 1) < 1e-13
        total = means.response_x + means.response_y
        assert abs(total / (n / throughput - delay) - 1) < 1e-11


@pytest.mark.parametrize("name", DEMANDS)
@pytest.mark.parametrize("y", [0.3, 0.4, 0.4001, 1e-12, 0.0])
def test_derivatives_agree_with_differences_in_sixty_digits(name, y):
    at = {"delay": 7.0, "x": 0.4, "y": y}
    with mpmath.workdps(60):
        step = mpmath.mpf("1e-25")
        up, here = (
            {k: mpmath.mpf(v) + step * (k == name) * k_ for k, v in at.items()} for k_ in (1, 0)
        )
        slope = (recursion(20, **up)[0] - recursion(20, **here)[0]) / step
        got = getattr(two_queues(20, **at), f"throughput_by_{name}")
        assert abs(got / slope - 1) < 1e-12


# laws


@given(n=st.floats(1, 1e7), delay=magnitudes, x=magnitudes, gap=apart)
def test_elasticities_sum_to_minus_one_and_customers_are_somewhere(n, delay, x, gap):
    y = x * (1.0 + gap)
    means = two_queues(n, delay=delay, x=x, y=y)
    cycle = delay + means.response_x + means.response_y
    assert means.throughput * cycle == pytest.approx(n, rel=1e-14)
    slopes = [getattr(means, f"throughput_by_{name}") for name in DEMANDS]
    total = sum(slope * demand for slope, demand in zip(slopes, (delay, x, y), strict=True))
    assert total / means.throughput == pytest.approx(-1.0, abs=1e-13 + 1e-15 * n)


@given(n=st.floats(1, 1e7), delay=magnitudes, x=magnitudes)
def test_a_queue_without_service_leaves_the_machine_repairman(n, delay, x):
    means = two_queues(n, delay=delay, x=x, y=0.0)
    repairman = repairman_equilibrium(n, delay=delay, service=x)
    assert means.throughput == pytest.approx(repairman.throughput.value, rel=1e-12)
    assert means.response_x == pytest.approx(repairman.response.value, rel=1e-12)
    assert means.response_y == 0.0
    assert means.throughput_by_y == means.throughput_by_delay


def test_nearly_equal_queues_of_ten_million_customers_stay_within_the_equal_ones():
    """Switching to the integral by y/x instead of by r once gave errors of 1e-6 here."""
    y = 1.0 / 1.0005
    means = two_queues(1e7, delay=1.0, x=1.0, y=y)
    assert means.throughput == pytest.approx(1.0, rel=1e-14)
    assert means.response_y == pytest.approx(y / (1.0 - y), rel=1e-9)


def test_both_methods_agree_where_one_takes_over(monkeypatch):
    n = np.geomspace(1, 1e6, 60)[:, None]
    gap = np.geomspace(0.05, 0.3, 50) / (1 + n / 3)
    answers = []
    for close in (-np.inf, module.CLOSE, -1e-3):
        monkeypatch.setattr(module, "CLOSE", close)
        answers.append(two_queues(n, delay=n * 1.05, x=1.0, y=1.0 - gap))
    for name in ("response_x", "response_y"):
        integral, mixed, closed = (getattr(a, name) for a in answers)
        np.testing.assert_allclose(mixed, integral, rtol=1e-9)
        np.testing.assert_allclose(mixed, closed, rtol=1e-7)  # loses digits, for r near 1


# shape


@given(
    st.lists(
        st.tuples(st.floats(1, 1e6), magnitudes, magnitudes, magnitudes), min_size=1, max_size=9
    )
)
def test_an_array_is_answered_as_its_elements_are(rows):
    n, delay, x, y = np.array(rows).T
    means = two_queues(n, delay=delay, x=x, y=y)
    for i, row in enumerate(rows):
        alone = two_queues(row[0], delay=row[1], x=row[2], y=row[3])
        noise = 1e-13 * row[0] * alone.throughput  # SIMD rounds otherwise than one by one
        slack = dict.fromkeys(FIELDS, 0.0) | {
            f"throughput_by_{name}": noise / demand
            for name, demand in zip(DEMANDS, row[1:], strict=True)
        }
        for name in FIELDS:
            assert getattr(alone, name).shape == ()
            one, other = float(getattr(alone, name)), getattr(means, name)[i]
            assert other == pytest.approx(one, rel=1e-12, abs=slack[name])


def test_every_argument_broadcasts_and_blocks_do_not_show(monkeypatch):
    arguments = {
        "delay": np.linspace(0, 40, 5)[:, None, None],
        "x": np.linspace(0.0, 1.0, 4)[:, None],
        "y": np.array([0.25, 1.0, 0.5]),
    }
    whole = two_queues(np.arange(1.0, 3.0)[:, None, None, None], **arguments)
    monkeypatch.setattr(module, "BLOCK", 7)
    parts = two_queues(np.arange(1.0, 3.0)[:, None, None, None], **arguments)
    for name in FIELDS:
        assert getattr(whole, name).shape == (2, 5, 4, 3)
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert two_queues([], delay=1.0, x=1.0, y=1.0).throughput.shape == (0,)


# refusals


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (
            {"customers": 0.5},
            "customers must be finite and at least 1, got 0.5. Count the customers from 1.",
        ),
        (
            {"customers": [4, np.inf]},
            "customers must be finite and at least 1, got inf. Count the customers from 1.",
        ),
        ({"delay": -1.0}, "delay must be a time of at least 0, got -1. Give it in seconds."),
        ({"x": np.nan}, "x must be a time of at least 0, got nan. Give it in seconds."),
        ({"y": np.inf}, "y must be a time of at least 0, got inf. Give it in seconds."),
        (
            {"delay": 0.0, "x": [0.0, 1.0], "y": 0.0},
            "delay + x + y must be above 0, got 0. A customer must spend time somewhere.",
        ),
    ],
)
def test_a_bad_argument_is_named_with_its_value_and_a_remedy(bad, says):
    with pytest.raises(ParameterError) as caught:
        two_queues(**({"customers": 4, "delay": 1.0, "x": 0.5, "y": 1.0} | bad))
    assert str(caught.value) == says
