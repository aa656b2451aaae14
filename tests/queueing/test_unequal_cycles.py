"""`parcast.queueing.unequal_cycles` against Markov chains, one class, simulation and its laws."""

from itertools import product

import numpy as np
import pytest

from parcast.queueing.fixed_cycles import fixed_cycles_time
from parcast.queueing.job_classes import ClassNetworks, class_means
from parcast.queueing.simulation.cycle import Cycle
from parcast.queueing.simulation.simulate import simulate_joined
from parcast.queueing.unequal_cycles import TwoClasses, largest_sum, paces, two_class_time


def jobs(light, heavy, delay, *, cv=1.0, service=0.0, service_cv=1.0, steady=0.0):
    """Two classes at a single point."""
    one = np.ones(1)
    return TwoClasses(
        jobs=np.array([[light], [heavy]], float),
        delay=np.array(delay, float)[:, None],
        steady=steady * one,
        delay_cv=np.full((2, 1), float(cv)),
        service=service * one,
        service_cv=service_cv * one,
    )


def end_of_stages(times, stages):
    """Mean time until jobs have all gone through so many exponential stages: a Markov chain."""
    expected = {}
    for left in sorted(product(range(stages + 1), repeat=len(times)), key=sum):
        rates = [1 / z if s else 0.0 for s, z in zip(left, times, strict=True)]
        total = 0.0
        if any(left):
            after = (
                rate * expected[(*left[:i], s - 1, *left[i + 1 :])]
                for i, (s, rate) in enumerate(zip(left, rates, strict=True))
                if s
            )
            total = (1 + sum(after)) / sum(rates)
        expected[left] = total
    return expected[(stages,) * len(times)]


@pytest.mark.parametrize(
    ("light", "heavy", "ratio", "cycles"),
    [(1, 1, 2, 1), (3, 1, 1.5, 3), (2, 2, 3, 4), (4, 1, 1.01, 2), (1, 2, 20, 2)],
)
def test_a_barrier_is_that_of_a_markov_chain(light, heavy, ratio, cycles):
    expected = end_of_stages([1.0] * light + [ratio] * heavy, cycles)
    found = two_class_time(jobs(light, heavy, (1, ratio)), np.full(1, float(cycles)))
    assert found == pytest.approx(expected, rel=1e-10)


def test_the_mean_square_of_the_largest_is_exact():
    found = largest_sum(jobs(1, 1, (1, 2)), np.ones(1), power=2)
    assert found == pytest.approx(2 + 8 - 2 / 1.5**2, rel=1e-10)


@pytest.mark.parametrize("cycles", [1, 5, 50])
@pytest.mark.parametrize("cv", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("service_cv", [0.0, 1.0])
def test_equal_classes_are_one(cycles, cv, service_cv):
    times = {"service": 0.05, "service_cv": service_cv, "steady": 0.3}
    found = two_class_time(jobs(12, 4, (1, 1), cv=cv, **times), np.full(1, float(cycles)))
    one = fixed_cycles_time(16, cycles=cycles, delay=1.0, delay_cv=cv, **times)
    assert found == pytest.approx(one.value[None], rel=1e-10)


def test_paces_of_exponential_services_are_exact():
    of = jobs(12, 4, (1, 2), service=0.1)
    exact = class_means(
        ClassNetworks(
            customers=of.jobs[None],
            count=np.ones((1, 1)),
            delay=of.delay,
            own=np.zeros(1),
            shared=of.service,
        )
    )
    assert paces(of)[:, 0] == pytest.approx(exact.cycle[0, :, 0], rel=1e-10)


def test_a_steady_queue_that_never_rests_makes_all_wait_alike():
    of = jobs(6, 2, (1, 2), cv=0.0, service=1.0, service_cv=0.0)
    light, heavy = paces(of)
    assert heavy - light == pytest.approx(1.0)
    assert 6 / light + 2 / heavy == pytest.approx(1.0)


@pytest.mark.parametrize("cv", [0.0, 0.3, 1.0])
def test_a_heavier_class_takes_longer_and_never_less_than_alone(cv):
    cycles = np.full(1, 5.0)
    times = [
        two_class_time(jobs(28, 4, (1, ratio), cv=cv, service=0.02), cycles)[0]
        for ratio in np.linspace(1.0, 4.0, 13)
    ]
    assert (np.diff(times) > 0).all()
    alone = fixed_cycles_time(4, cycles=5, delay=4.0, delay_cv=cv, service=0.02)
    assert times[-1] >= alone.value * (1 - 1e-3)


@pytest.mark.parametrize(
    ("light", "heavy", "ratio", "others"),
    [(14, 2, 1.5, (5, 0.3, 0.3)), (15, 1, 2.0, (10, 0.1, 0.8)), (24, 8, 1.3, (5, 1.0, 1.0))],
)
def test_it_is_near_a_simulation(light, heavy, ratio, others):
    cycles, cv, load = others
    service = load / (light + heavy)
    cycle = Cycle(
        jobs=light + heavy,
        bursts=cycles,
        cpu=1.0,
        heavy=heavy,
        heavy_cpu=ratio,
        service=service,
        cpu_law=cv,
    )
    simulated = simulate_joined(cycle, replications=2000, seed=1).joined
    found = two_class_time(
        jobs(light, heavy, (1, ratio), cv=cv, service=service), np.full(1, float(cycles))
    )
    assert found == pytest.approx(simulated.value, rel=0.03)
