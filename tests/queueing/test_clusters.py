"""`parcast.queueing.clusters` against exact sums, its limits and laws, and bad input."""

import csv
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.queueing.clusters import TOLERANCE, Clusters, clusters, deal
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.two_queues import two_queues
from tests.queueing.routes import exact_multiclass_mva

DATA = Path(__file__).parent / "data"
FIELDS = tuple(Clusters.__dataclass_fields__)
DEMANDS = ("delay", "own", "shared")

magnitudes = st.one_of(st.floats(-6, 6), st.floats(-1, 1)).map(lambda e: 10.0**e)
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def rows_of(name):
    with (DATA / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def multiplied(one, other):
    """Product of two polynomials, by their coefficients."""
    product = [mpmath.mpf(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            product[i + j] += a * b
    return product


def constant(customers, delay, own, shared):
    """Normalising constant: the polynomials of the clusters multiplied out, t^m giving m!."""
    product = [mpmath.mpf(1)]
    for k in customers:
        cluster = [
            shared**m
            / mpmath.factorial(m)
            * sum(own ** (k - m - j) * delay**j / mpmath.factorial(j) for j in range(k - m + 1))
            for m in range(k + 1)
        ]
        product = multiplied(product, cluster)
    return sum(mpmath.factorial(m) * coefficient for m, coefficient in enumerate(product))


def polynomial_throughput(customers, **demands):
    """Throughput of the first cluster, in the digits that mpmath works with."""
    demands = {name: mpmath.mpf(value) for name, value in demands.items()}
    less = [customers[0] - 1, *customers[1:]]
    return constant(less, **demands) / constant(customers, **demands)


def multiclass(customers, delay, own, shared):
    """The same network for exact multiclass mean value analysis, with a queue for each class."""
    queues = np.hstack([np.eye(len(customers)) * own, np.full((len(customers), 1), shared)])
    return exact_multiclass_mva(customers, queues, delay)


# values


@pytest.mark.parametrize(
    "row", rows_of("cluster_throughput.csv"), ids=lambda r: f"{r['d']}x{r['k']}"
)
def test_reference_values_come_out(row):
    d, k = float(row["d"]), float(row["k"])
    network = clusters([k], [d], delay=1.0, own=1 / k, shared=1 / (d * k))
    assert network.throughput[0] == pytest.approx(float(row["throughput"]), rel=1e-13)


@pytest.mark.parametrize("row", rows_of("spmd_cycles.csv"), ids=lambda r: f"{r['p']},{r['d']}")
def test_cycles_of_a_program_with_clustered_io_agree_to_the_digits_printed(row):
    p, d, c = (int(row[name]) for name in "pdc")
    together = sum(1 / i for i in range(1, c + 1))
    delay = 5 * (together * (7.6 / p + 0.4) + 0.01 + 0.35 / p**0.5)
    network = clusters(
        *deal(p // c, d), delay=delay, own=0.05 + 8 / (p // c), shared=0.75 / p**0.5
    )
    assert f"{p // c / network.total_throughput:.6f}" == row["cluster_cycle"]


@settings(deadline=None)
@given(customers=sizes, delay=magnitudes, own=magnitudes, shared=magnitudes)
@example(customers=[3, 3, 2], delay=1.0, own=0.5, shared=0.2)
@example(customers=[1, 5, 5], delay=1e-6, own=1e6, shared=1e6 / 3)
def test_small_networks_agree_with_multiclass_mean_value_analysis(customers, delay, own, shared):
    network = clusters(customers, 1, delay=delay, own=own, shared=shared)
    throughput, responses = multiclass(customers, delay, own, shared)
    np.testing.assert_allclose(network.throughput, throughput, rtol=1e-12)
    np.testing.assert_allclose(network.response_shared, responses[:, -1], rtol=1e-9)
    np.testing.assert_allclose(network.response_own, np.diag(responses), rtol=1e-9)
    assert network.total_throughput == pytest.approx(throughput.sum(), rel=1e-12)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(("d", "k"), [(5, 7), (512, 64), (1000, 3)])
@pytest.mark.parametrize("load", [0.3, 1.0, 2.0])
def test_large_networks_agree_with_quadrature_in_thirty_digits(d, k, load):
    """The integrand by Horner's rule, in panels far narrower than it is wide."""

    def truncated(u):
        """Give the exponential series up to u^k / k!, and up to the term before it."""
        value = mpmath.mpf(1)
        for m in range(k, 0, -1):
            value = 1 + value * u / m
        return value, value - u**k / mpmath.factorial(k)

    with mpmath.workdps(30):
        shared = mpmath.mpf(load) / (d * k)
        last = 60 + d * k * shared * (d * k) ** mpmath.mpf(0.5) if load <= 1 else 2.5 * d * k
        ends = mpmath.linspace(0, min(last, 2.5 * d * k), 20 if load <= 1 else 40)

        def integrand(t):
            u = (1 + shared * t) * k
            whole, less = truncated(u)
            density = mpmath.exp(d * mpmath.log(whole) - t)
            return density * mpmath.mpc(1, less / whole)

        total = mpmath.quad(integrand, ends, method="gauss-legendre", maxdegree=4)
        expected = k * total.imag / total.real
    network = clusters([k], [d], delay=1.0, own=1 / k, shared=float(shared))
    assert abs(network.throughput[0] / expected - 1) < 1e-12


@pytest.mark.parametrize("name", DEMANDS)
@pytest.mark.parametrize(
    ("customers", "count", "demands"),
    [
        ([4], [3], {"delay": 2.0, "own": 0.5, "shared": 0.3}),
        ([3, 4], [1, 2], {"delay": 2.0, "own": 0.5, "shared": 0.1}),
        ([2, 5], [2, 1], {"delay": 0.0, "own": 0.5, "shared": 0.4}),
        ([2, 3], [2, 2], {"delay": 1.0, "own": 1e-12, "shared": 0.3}),
        ([2, 3], [2, 2], {"delay": 1.0, "own": 0.0, "shared": 0.3}),
        ([3, 1], [2, 2], {"delay": 1.0, "own": 0.3, "shared": 0.0}),
        ([2, 1], [2, 2], {"delay": 1e6, "own": 1e-3, "shared": 1e-9}),
    ],
)
def test_derivatives_agree_with_differences_in_sixty_digits(customers, count, demands, name):
    network = clusters(customers, count, **demands)
    for group in (0, 1)[: len(customers)]:
        every = [customers[group]]
        for i, (k, many) in enumerate(zip(customers, count, strict=True)):
            every += [k] * (many - (i == group))
        with mpmath.workdps(60):
            step = mpmath.mpf("1e-25")
            here = polynomial_throughput(every, **demands)
            up = polynomial_throughput(
                every, **(demands | {name: mpmath.mpf(demands[name]) + step})
            )
            slope = (up - here) / step
        got = getattr(network, f"throughput_by_{name}")[group]
        assert abs(got / slope - 1) < 1e-8, (group, got, slope)
        if demands[name] > 1e-3:
            assert abs(got - slope) * demands[name] < 1e-12 * here


# limits


@given(k=st.integers(1, 10**4), delay=magnitudes, own=magnitudes, shared=magnitudes)
def test_one_cluster_is_the_network_of_two_queues(k, delay, own, shared):
    delay *= k
    one = clusters([k], [1], delay=delay, own=own, shared=shared)
    two = two_queues(k, delay=delay, x=own, y=shared)
    assert one.throughput[0] == pytest.approx(two.throughput, rel=1e-12)
    assert one.response_own[0] == pytest.approx(two.response_x, rel=1e-9)
    assert one.response_shared[0] == pytest.approx(two.response_y, rel=1e-9)
    for name, other, demand in zip(
        DEMANDS, ("delay", "x", "y"), (delay, own, shared), strict=True
    ):
        slope = getattr(one, f"throughput_by_{name}")[0] * demand / two.throughput
        expected = getattr(two, f"throughput_by_{other}") * demand / two.throughput
        assert slope == pytest.approx(expected, abs=1e-10)


@given(k=st.integers(1, 1000), d=st.integers(1, 1000), delay=magnitudes, own=magnitudes)
def test_without_the_shared_queue_each_cluster_is_a_machine_repairman(k, d, delay, own):
    network = clusters([k], [d], delay=delay, own=own, shared=0.0)
    repairman = repairman_equilibrium(k, delay=delay, service=own)
    assert network.throughput[0] == pytest.approx(repairman.throughput.value, rel=1e-12)
    assert network.response_own[0] == pytest.approx(repairman.response.value, rel=1e-9)
    assert network.response_shared[0] == 0.0
    by_own = network.throughput_by_own[0] * own / network.throughput[0]
    expected = repairman.throughput.by_service * own / repairman.throughput.value
    assert by_own == pytest.approx(expected, abs=1e-10)


@given(k=st.integers(1, 100), d=st.integers(1, 100), delay=magnitudes, shared=magnitudes)
def test_without_own_queues_all_customers_share_one_machine_repairman(k, d, delay, shared):
    delay *= k
    network = clusters([k, 2 * k], [d, 1], delay=delay, own=0.0, shared=shared)
    repairman = repairman_equilibrium(k * (d + 2), delay=delay, service=shared)
    assert network.total_throughput == pytest.approx(repairman.throughput.value, rel=1e-11)
    np.testing.assert_allclose(network.response_shared, repairman.response.value, rtol=1e-9)
    np.testing.assert_array_equal(network.response_own, 0.0)
    assert network.throughput[1] == pytest.approx(2 * network.throughput[0], rel=1e-11)


@pytest.mark.parametrize("load", [1e-3, 0.3, 0.9])
@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_own_queues_that_never_rest_make_the_shared_one_open(load, delay):
    """A million customers; the terms of the general form would cancel to ten digits."""
    network = clusters([1000], [1000], delay=delay, own=1.0, shared=load / 1000)
    assert network.throughput[0] == pytest.approx(1.0, rel=1e-14)
    assert network.response_shared[0] == pytest.approx(load / 1000 / (1 - load), rel=2e-12)


def test_ten_million_customers_that_hardly_meet_keep_their_digits():
    network = clusters([1000], [10_000], delay=16.0, own=0.0, shared=1e-7)
    repairman = repairman_equilibrium(1e7, delay=16.0, service=1e-7)
    assert network.response_shared[0] == pytest.approx(repairman.response.value, rel=2e-12)


# laws


@settings(deadline=None)
@given(
    k=st.integers(0, 1000),
    count=st.tuples(st.integers(1, 300), st.integers(0, 300)),
    delay=st.one_of(st.just(0.0), magnitudes),
    load=magnitudes,
    shared=st.one_of(magnitudes, st.sampled_from([1.0, 0.999, 1.02])),
)
def test_customers_are_somewhere_and_elasticities_sum_to_minus_one(k, count, delay, load, shared):
    customers = np.array([k + 1.0, k])
    own = load / (k + 1.0)
    shared *= own / sum(count)  # 1: both kinds of queue saturate together
    network = clusters(customers, count, delay=delay, own=own, shared=shared)
    present = customers > 0
    cycle = delay + network.response_own + network.response_shared
    np.testing.assert_allclose(
        (network.throughput * cycle)[present], customers[present], rtol=1e-13
    )
    total = sum(
        getattr(network, f"throughput_by_{name}") * demand
        for name, demand in zip(DEMANDS, (delay, own, shared), strict=True)
    )
    np.testing.assert_allclose(total, -network.throughput, rtol=1e-8)
    assert 0 <= network.error <= TOLERANCE
    ceiling = min(1 / shared, sum(count) / own)
    assert network.total_throughput <= ceiling * (1 + 1e-12)


def test_the_estimate_of_the_error_is_above_it_where_integrands_are_hard(monkeypatch):
    """Queues that saturate together, with and without delay, up to 300,000 customers."""
    draw = np.random.default_rng(7)
    points = 400
    k = np.floor(10.0 ** draw.uniform(0, 3, points))
    customers = np.stack([k, k + 1], axis=-1)
    count = np.floor(10.0 ** draw.uniform(0, 2.5, (points, 2)))
    own = 10.0 ** draw.normal(size=points)
    ratio = 1 + draw.choice([0, 1e-3, -1e-3, 0.02, -0.02, 0.3, -0.5], points)
    demands = {
        "delay": own * k * draw.choice([0, 1e-3, 0.1, 1, 3], points),
        "own": own,
        "shared": own / count.sum(axis=-1) * ratio,
    }
    network = clusters(customers, count, **demands)
    monkeypatch.setattr("parcast.queueing.clusters.HALVES", (12,))
    monkeypatch.setattr("parcast.queueing.clusters.DROP", 40.0)
    fine = clusters(customers, count, **demands)
    off = np.abs(network.throughput / fine.throughput - 1).max(axis=-1)
    assert (off <= network.error).all()
    assert off.max() < 1e-12
    np.testing.assert_allclose(network.response_own, fine.response_own, rtol=1e-9)
    np.testing.assert_allclose(network.response_shared, fine.response_shared, rtol=1e-9)


# shape


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 500), st.integers(1, 60), magnitudes, magnitudes, magnitudes),
        min_size=1,
        max_size=6,
    )
)
def test_an_array_is_answered_as_its_elements_are(rows):
    total, d, delay, own, shared = np.array(rows).T
    network = clusters(*deal(total, d), delay=delay, own=own, shared=shared)
    assert network.throughput.shape == (len(rows), 2)
    for i, (n, disks, z, y, x) in enumerate(rows):
        alone = clusters(*deal(n, disks), delay=z, own=y, shared=x)
        assert alone.total_throughput.shape == alone.error.shape == ()
        for name in FIELDS[:4]:
            np.testing.assert_allclose(getattr(network, name)[i], getattr(alone, name), rtol=1e-9)


# refusals


WHOLE = "must be a whole number of at least 0, got"
FROM_ONE = "must be a whole number of at least 1, got"
ONE_CLUSTER = "Count the customers of one cluster, or use deal."


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (
            {"customers": 8, "count": 2},
            "customers or count must have one number for each group, got a single number. "
            "Write [8] for clusters of 8 customers.",
        ),
        ({"customers": [4, -1]}, f"customers {WHOLE} -1. {ONE_CLUSTER}"),
        ({"customers": [4, 1.5]}, f"customers {WHOLE} 1.5. {ONE_CLUSTER}"),
        ({"count": [1, np.nan]}, f"count {WHOLE} nan. Count the clusters of each group."),
        (
            {"customers": [0, 4], "count": [3, 0]},
            "customers * count must sum to at least 1, got 0. "
            "Count the customers of all clusters from 1.",
        ),
        ({"delay": -1.0}, "delay must be a time of at least 0, got -1. Give it in seconds."),
        ({"own": np.inf}, "own must be a time of at least 0, got inf. Give it in seconds."),
        ({"shared": np.nan}, "shared must be a time of at least 0, got nan. Give it in seconds."),
        (
            {"delay": 0.0, "own": 0.0, "shared": [1.0, 0.0]},
            "delay + own + shared must be above 0, got 0. A customer must spend time somewhere.",
        ),
    ],
)
def test_a_bad_argument_is_named_with_its_value_and_a_remedy(bad, says, refusal):
    arguments = {"customers": [4, 5], "count": [2, 1], "delay": 1.0, "own": 0.5, "shared": 0.1}
    assert refusal(ParameterError, clusters, **arguments | bad) == says


@pytest.mark.parametrize(
    ("dealt", "says"),
    [
        ((8, 0), f"clusters {FROM_ONE} 0. Count the clusters from 1."),
        ((8, [2, 2.5]), f"clusters {FROM_ONE} 2.5. Count the clusters from 1."),
        ((np.inf, 2), f"customers {WHOLE} inf. Count the customers of all clusters."),
    ],
)
def test_what_cannot_be_dealt_is_refused(dealt, says, refusal):
    assert refusal(ParameterError, deal, *dealt) == says
