"""`parcast.queueing.job_classes` against Markov chains, mean value analysis and equal classes."""

from math import comb

import numpy as np
import pytest

from parcast.errors import ParameterError
from parcast.queueing.clusters import clusters, deal
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.job_classes import ClassNetworks, class_departures, class_means
from parcast.queueing.two_queues import two_queues
from tests.queueing.routes import exact_multiclass_mva


def network(customers, *, count=(1,), delay, own, shared):
    """A single network; `customers` of each kind and class."""
    return ClassNetworks(
        customers=np.array(customers, float)[..., None],
        count=np.array(count, float)[:, None],
        delay=np.array(delay, float)[:, None],
        own=np.array([own], float),
        shared=np.array([shared], float),
    )


def stationary(start, moves):
    """Probabilities of the states that can be reached from one; `moves` gives states and rates."""
    states, place = [start], {start: 0}
    rates = []
    for state in states:
        for other, rate in moves(state):
            if other not in place:
                place[other] = len(states)
                states.append(other)
            rates.append((place[state], place[other], rate))
    generator = np.zeros((len(states), len(states)))
    for origin, target, rate in rates:
        generator[origin, target] += rate
        generator[origin, origin] -= rate
    system = np.vstack([generator.T, np.ones(len(states))])
    right = np.append(np.zeros(len(states)), 1.0)
    return states, np.linalg.lstsq(system, right, rcond=None)[0]


def chain_of_clusters(sizes, *, delay, own, shared):
    """Cycles of each cluster and class by a Markov chain, all queues in order of arrival.

    A state is who waits at the shared queue, in order, and at the queue of each cluster; the
    others are away. A customer goes from its delay to the shared queue, then to its own.
    """
    kinds = [(i, c) for i, each in enumerate(sizes) for c in range(len(each))]

    def away(state, kind):
        waiting = sum(queue.count(kind) for queue in (state[0], *state[1]))
        return sizes[kind[0]][kind[1]] - waiting

    def moves(state):
        common, each = state
        for kind in kinds:
            if number := away(state, kind):
                yield ((*common, kind), each), number / delay[kind[1]]
        if common:
            first, *rest = common
            behind = list(each)
            if own > 0:
                behind[first[0]] = (*behind[first[0]], first)
            yield (tuple(rest), tuple(behind)), 1 / shared
        for i, queue in enumerate(each):
            if queue:
                behind = list(each)
                behind[i] = queue[1:]
                yield (common, tuple(behind)), 1 / own

    states, chances = stationary(((), ((),) * len(sizes)), moves)
    cycle = np.zeros((len(sizes), len(delay)))
    response = np.zeros((2, *cycle.shape))
    for kind in kinds:
        if not sizes[kind[0]][kind[1]]:
            continue
        rate = sum(x * away(s, kind) for s, x in zip(states, chances, strict=True))
        rate /= delay[kind[1]]
        cycle[kind] = sizes[kind[0]][kind[1]] / rate
        for row, queue in enumerate((lambda s: s[0], lambda s, i=kind[0]: s[1][i])):
            held = sum(x * queue(s).count(kind) for s, x in zip(states, chances, strict=True))
            response[row][kind] = held / rate
    return cycle, *response


@pytest.mark.parametrize(
    ("sizes", "demands"),
    [
        ([(2, 2)], {"delay": (1.0, 2.5), "own": 0.3, "shared": 0.4}),
        ([(3, 1)], {"delay": (0.2, 1.1), "own": 1.0, "shared": 0.1}),
        ([(1, 1), (2, 0)], {"delay": (1.0, 1.7), "own": 0.5, "shared": 0.25}),
        ([(1, 1), (1, 1)], {"delay": (0.3, 0.9), "own": 0.6, "shared": 0.2}),
    ],
)
def test_means_are_those_of_a_markov_chain(sizes, demands):
    found = class_means(network(sizes, count=[1] * len(sizes), **demands))
    cycle, shared, own = chain_of_clusters(sizes, **demands)
    assert found.cycle[..., 0] == pytest.approx(cycle, rel=1e-10)
    assert found.response_shared[..., 0] == pytest.approx(shared, rel=1e-10)
    assert found.response_own[..., 0] == pytest.approx(own, rel=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_one_cluster_is_what_mean_value_analysis_gives(seed):
    random = np.random.default_rng(seed)
    customers = random.integers(1, 60, 2)
    delay, (x, y) = 10 ** random.uniform(-3, 2, 2), 10 ** random.uniform(-3, 1, 2)
    delay[0] *= random.random() > 0.2
    x, y = [(x, y), (x, 0.0), (0.0, y), (x, x), (x, x * (1 + 1e-9))][seed % 5]
    rate, response = exact_multiclass_mva(customers, np.array([[x, y]] * 2), delay)
    found = class_means(network([customers], delay=delay, own=y, shared=x))
    assert found.cycle[0, :, 0] == pytest.approx(customers / rate, rel=1e-12)
    assert found.response_shared[0, :, 0] == pytest.approx(response[:, 0], rel=1e-11)
    assert found.response_own[0, :, 0] == pytest.approx(response[:, 1], rel=1e-11)


def test_equal_classes_are_one():
    random = np.random.default_rng(1)
    k = random.integers(2, 2000, 100).astype(float)
    heavy = np.floor(k * random.random(100))
    z, x, y = 10 ** random.uniform(-3, 2, (3, 100))
    customers = np.stack([k - heavy, heavy])[None]
    found = class_means(
        ClassNetworks(
            customers=customers,
            count=np.ones((1, 100)),
            delay=np.stack([z, z]),
            own=y,
            shared=x,
        )
    )
    known = two_queues(k, delay=z, x=x, y=y)
    assert found.cycle[0, 0] == pytest.approx(k / known.throughput, rel=1e-12)
    assert found.response_shared[0, 0] == pytest.approx(known.response_x, rel=1e-11)
    assert found.response_own[0, 0] == pytest.approx(known.response_y, rel=1e-11)
    assert (found.cycle[0, 1][heavy == 0] == 0).all()


@pytest.mark.parametrize(("jobs", "d"), [(7, 3), (16, 4), (256, 8)])
def test_equal_classes_of_clusters_are_one(jobs, d):
    each, count = deal(jobs, d)
    known = clusters(each, count, delay=1.0, own=0.1, shared=0.02)
    one, two = (int(k) for k in each)
    found = class_means(
        network([(one - 1, 1), (two - 2, 2)], count=count, delay=(1.0, 1.0), own=0.1, shared=0.02)
    )
    there = count > 0
    cycle = (each / known.throughput)[there]
    assert found.cycle[there, 0, 0] == pytest.approx(cycle, rel=1e-12)
    assert found.cycle[there, 1, 0] == pytest.approx(cycle, rel=1e-12)


def test_departures_are_those_of_a_markov_chain():
    """The chain of the populations, whose rates are those of a chain of each population."""
    light, heavy, z, x = 3, 2, (1.0, 2.2), 0.4
    places = [(i, j) for i in range(light + 1) for j in range(heavy + 1) if i + j]
    system, right = np.eye(len(places)), np.zeros(len(places))
    for row, (i, j) in enumerate(places):
        cycle, *_ = chain_of_clusters([(i, j)], delay=z, own=0.0, shared=x)
        rates = [n / c if n else 0.0 for n, c in zip((i, j), cycle[0], strict=True)]
        right[row] = 1 / sum(rates)
        for other, rate in zip(((i - 1, j), (i, j - 1)), rates, strict=True):
            if rate and sum(other):
                system[row, places.index(other)] -= rate / sum(rates)
    expected = np.linalg.solve(system, right)[-1]
    found = class_departures(
        np.array([[light], [heavy]], float), delay=np.array(z)[:, None], service=np.array([x])
    )
    assert found == pytest.approx(expected, rel=1e-10)


def test_departures_without_a_queue_are_the_largest_of_exponential_times():
    jobs = np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])
    found = class_departures(jobs, delay=np.array([[1.0] * 3, [2.0] * 3]), service=np.zeros(3))
    by_inclusion = [
        sum(
            (-1) ** (i + j + 1) * comb(a, i) * comb(b, j) / (i / 1.0 + j / 2.0)
            for i in range(a + 1)
            for j in range(b + 1)
            if i + j
        )
        for a, b in jobs.T.astype(int)
    ]
    assert found == pytest.approx(by_inclusion, rel=1e-12)


@pytest.mark.parametrize(("jobs", "heavy"), [(2, 1), (64, 8), (256, 128), (1000, 1)])
def test_departures_of_equal_classes_are_those_of_one(jobs, heavy):
    found = class_departures(
        np.array([[jobs - heavy], [heavy]], float), delay=np.ones((2, 1)), service=np.array([0.01])
    )
    assert found == pytest.approx(
        departure_sum(jobs, delay=1.0, service=0.01).value[None], rel=1e-12
    )


def test_populations_that_take_too_long_are_refused():
    with pytest.raises(ParameterError) as caught:
        class_departures(np.full((2, 1), 1e5), delay=np.ones((2, 1)), service=np.ones(1))
    assert str(caught.value) == (
        "compute.heavy must make at most 1e+07 populations for geometric bursts, got 2.00002e+10. "
        "Give fewer heavy processors, or fewer processors."
    )
