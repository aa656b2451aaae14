"""`queueing.simulation.simulate` against exact solutions, SimPy, its own laws, and bad input."""

import random
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from parcast.errors import ParameterError
from parcast.queueing.clusters import clusters
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.order import expected_maximum
from parcast.queueing.simulation import rounds as simulation_rounds
from parcast.queueing.simulation.cycle import Cycle, sampler
from parcast.queueing.simulation.rounds import merged, moments, warm_up
from parcast.queueing.simulation.simulate import simulate_joined, simulate_runs, simulate_steady
from parcast.queueing.time_laws import exponential_times, gamma_service, gamma_times, uniform_times
from parcast.queueing.two_queues import two_queues
from tests.queueing.routes import one_general_queue

STRIPED = Cycle(jobs=8, io_kind="striped", bursts=2, cpu=0.5, service=0.05, io=0.1)


def covers(estimate, exact, *, times=1.6):
    """Within 1.6 half widths, which a right estimate misses in 1 of 600 seeds, and no wider."""
    return abs(estimate.value - float(exact)) <= times * estimate.half_width


def uniform(rng, size):
    """Times on [0, 2], as a user would write them."""
    return 2 * rng.random(size)


# ---------------------------------------------------------------- jobs that join


def test_many_geometric_bursts_agree_with_the_departure_sum():
    cycle = Cycle(jobs=8, bursts=100, burst_count="geometric", cpu=1.0, service=0.1)
    simulated = simulate_joined(cycle, replications=10_000)
    exact = 100 * departure_sum(8, delay=1.0, service=0.1).value
    assert simulated.cycle.value == pytest.approx(float(exact), rel=1e-2)
    assert simulated.cycle.half_width < 1e-2 * exact


@pytest.mark.parametrize(
    ("law", "exact"),
    [
        ("exponential", exponential_times()),
        (1.0, exponential_times()),
        (0.5, gamma_times(0.5)),
        (uniform, uniform_times()),
        (np.arange(0.0005, 2, 0.001), uniform_times()),
    ],
    ids=["exponential", "cv 1", "cv 0.5", "function", "sample"],
)
@pytest.mark.parametrize(("jobs", "group"), [(6, 1), (2, 3), (1, 6)])
def test_without_contention_the_slowest_of_all_processors_ends_the_cycle(law, exact, jobs, group):
    cycle = Cycle(jobs=jobs, group=group, cpu=3.0, cpu_law=law, io=1.0)
    simulated = simulate_joined(cycle, replications=20_000, seed=jobs)
    slowest = 3.0 * expected_maximum(6, exact)
    assert covers(simulated.joined, slowest)
    assert simulated.joined.half_width < 0.02 * slowest
    assert simulated.communication.value == 0
    assert covers(simulated.delay, 3.0 * expected_maximum(group, exact))


def test_jobs_that_compute_equally_long_queue_up_once():
    times = {"cpu": 2.0, "startup": 0.25, "transfer": 0.5, "service": 0.125, "io": 1.0}
    none = dict.fromkeys(("cpu_law", "service_law", "io_law"), "none")
    simulated = simulate_joined(Cycle(jobs=16, **times, **none), replications=2)
    assert simulated.joined.value == 2.75 + 16 * 0.125
    assert simulated.cycle.value == simulated.joined.value + 1.0
    assert simulated.cycle.half_width == 0
    assert simulated.delay.value == 2.75
    assert simulated.communication.value == 0.125 * 17 / 2
    assert simulated.waiting.value == 0.125 * 15 / 2


@pytest.mark.parametrize("burst_count", ["fixed", "geometric"])
@pytest.mark.parametrize("service", [0.0, 0.02])
def test_parts_of_a_cycle_add_up(burst_count, service):
    cycle = Cycle(
        jobs=5, bursts=2.5, burst_count=burst_count, cpu=1.0, service=service, io=1.0,
        transfer=0.5, transfer_law="exponential", startup=0.125,
    )  # fmt: skip
    told = simulate_joined(cycle, replications=20_000)
    assert told.cycle.value == pytest.approx(told.joined.value + told.io.value)
    parts = told.delay.value + told.communication.value + told.waiting.value
    assert told.joined.value == pytest.approx(parts)
    assert covers(told.delay, 2.5 * 1.625)
    assert covers(told.io, 1.0)


def test_one_job_never_waits():
    told = simulate_joined(Cycle(jobs=1, bursts=4, cpu=1.0, service=0.5), replications=20_000)
    assert covers(told.cycle, 6.0)
    assert told.waiting.value == 0


# ---------------------------------------------------------------- jobs that do not


def test_striped_agrees_with_two_queues_in_every_part():
    simulated = simulate_steady(STRIPED, cycles=200, seed=1)
    exact = two_queues(8, delay=1.0, x=0.1, y=0.1)
    assert covers(simulated.cycle, 8 / exact.throughput)
    assert covers(simulated.communication, exact.response_x)
    assert covers(simulated.io, exact.response_y)
    assert covers(simulated.delay, 1.0)
    assert covers(simulated.communication_busy, 0.1 * exact.throughput)
    assert covers(simulated.io_busy, 0.1 * exact.throughput)
    assert simulated.cycle.half_width < 5e-3
    assert simulated.warmed_up


def test_clustered_agrees_with_clusters():
    cycle = Cycle(jobs=12, io_kind="clustered", disks=3, cpu=1.0, service=0.05, io=0.25)
    simulated = simulate_steady(cycle, cycles=150)
    exact = clusters([4], [3], delay=1.0, own=0.25, shared=0.05)
    assert covers(simulated.cycle, 12 / exact.total_throughput)
    assert covers(simulated.io, exact.response_own[0])
    assert covers(simulated.io_busy, 0.25 * exact.throughput[0])


@pytest.mark.parametrize("law", ["none", 2.0, uniform], ids=["none", "cv 2", "uniform"])
def test_throughput_does_not_feel_the_law_of_computing(law):
    cycle = Cycle(jobs=8, io_kind="striped", cpu=1.0, cpu_law=law, service=0.1, io=0.1)
    simulated = simulate_steady(cycle, cycles=200, seed=2)
    assert covers(simulated.cycle, 8 / two_queues(8, delay=1.0, x=0.1, y=0.1).throughput)


@pytest.mark.parametrize("cv", [0.0, 2.0])
def test_one_queue_of_general_service_agrees_with_its_exact_solution(cv):
    exact = one_general_queue(8, delay=1.0, service=0.1, law=gamma_service(cv))
    bus = Cycle(jobs=8, io_kind="striped", cpu=1.0, service=0.1, service_law=cv)
    disk = Cycle(jobs=8, io_kind="striped", cpu=1.0, io=0.1, io_law=cv)
    for cycle in (bus, disk):
        simulated = simulate_steady(cycle, cycles=200)
        assert covers(simulated.cycle, 1.0 + exact.response)
    assert simulated.communication_busy.value == 0


def test_a_run_too_short_to_warm_up_says_so():
    cycle = Cycle(jobs=8, io_kind="striped", cpu=10.0, cpu_law=0.05, io=0.5)  # long in step
    assert not simulate_steady(cycle, cycles=20).warmed_up
    assert simulate_steady(cycle, cycles=100).warmed_up


def test_the_warm_up_leaves_no_bias():
    cycle = Cycle(jobs=8, io_kind="striped", cpu=0.0, startup=10.0, service=0.1, io=2.0)
    clean = simulate_steady(cycle, cycles=100, replications=100)
    exact = 8 / two_queues(8, delay=10.0, x=0.1, y=2.0).throughput
    assert covers(clean.cycle, exact)


# ---------------------------------------------------------------- runs of few cycles


def test_a_program_of_few_cycles_takes_longer_than_as_many_mean_cycles():
    mean = 8 / float(two_queues(8, delay=1.0, x=0.1, y=0.1).throughput)
    few, many = (simulate_runs(STRIPED, cycles=n, replications=100) for n in (2, 100))
    assert few.makespan.value / 2 > 1.2 * mean
    assert mean < many.makespan.value / 100 < 1.1 * mean


def test_makespan_without_queues_is_that_of_the_slowest_job():
    cycle = Cycle(jobs=6, io_kind="clustered", disks=6, bursts=1.5, cpu=1.0, cpu_law=0.5)
    sum_of_six = gamma_times(0.5, bursts=6)  # 4 cycles of 3/2 bursts, were their number fixed
    fixed = Cycle(jobs=6, io_kind="striped", bursts=2, cpu=1.0, cpu_law=0.5)
    told = simulate_runs(fixed, cycles=3, replications=4000)
    assert covers(told.makespan, 6 * expected_maximum(6, sum_of_six))
    told = simulate_runs(cycle, cycles=4, replications=200)
    assert told.makespan.value > 6 * expected_maximum(6, sum_of_six)


def test_one_cycle_of_jobs_that_do_not_join_ends_as_computed_by_hand():
    none = dict.fromkeys(("cpu_law", "service_law", "io_law"), "none")
    cycle = Cycle(jobs=3, io_kind="striped", bursts=2, cpu=4.0, service=1.0, io=2.0, **none)
    # bus: ends at 5 6 7, again 10 11 12; disk: 12 14 16
    assert simulate_runs(cycle, cycles=1, replications=2).makespan.value == 16.0


# ---------------------------------------------------------------- how it is run


def test_results_do_not_depend_on_workers():
    joined = Cycle(jobs=64, bursts=2, burst_count="geometric", cpu=1.0, service=0.01)
    arguments = {"replications": 3000, "seed": 7}
    alone = simulate_joined(joined, **arguments)
    with ThreadPoolExecutor(2) as threads:
        assert simulate_joined(joined, executor=threads, **arguments) == alone
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert simulate_joined(joined, executor=processes, **arguments) == alone
    assert simulate_joined(joined, replications=3000, seed=8) != alone


def test_results_do_not_depend_on_how_many_chunks_wait(monkeypatch):
    with ThreadPoolExecutor(2) as threads:
        arguments = {"cycles": 4, "replications": 3000, "seed": 7}
        free = simulate_steady(STRIPED, executor=threads, **arguments)
        monkeypatch.setattr(simulation_rounds, "PENDING", 1)
        assert simulate_steady(STRIPED, executor=threads, **arguments) == free
    assert simulate_steady(STRIPED, **arguments) == free


def test_a_precision_is_reached_or_the_limit_is_named():
    cycle = Cycle(jobs=4, cpu=1.0, io=1.0)
    reached = simulate_joined(cycle, replications=100, precision=0.01)
    assert reached.ended_by == "precision"
    assert reached.cycle.half_width <= 0.01 * reached.cycle.value
    short = simulate_joined(cycle, replications=100, precision=0.001, most_cycles=5000)
    assert (short.ended_by, short.cycles) == ("most_cycles", 5000)
    late = simulate_joined(cycle, replications=10**5, precision=1e-6, most_seconds=1e-9)
    assert (late.ended_by, late.cycles) == ("most_seconds", 1024)
    with ThreadPoolExecutor(1) as threads:
        late = simulate_runs(
            cycle, cycles=2, replications=10**5, most_seconds=1e-9, executor=threads
        )
    assert (late.ended_by, late.replications) == ("most_seconds", 1024)


def test_intervals_cover_the_truth_at_their_stated_rate():
    exact = float(8 / two_queues(8, delay=1.0, x=0.1, y=0.1).throughput)
    joined = Cycle(jobs=4, cpu=1.0)
    hits, seeds = np.zeros(2), 30
    for seed in range(seeds):
        steady = simulate_steady(STRIPED, cycles=30, replications=20, seed=seed).cycle
        once = simulate_joined(joined, replications=200, seed=seed).cycle
        hits += [steady.low <= exact <= steady.high, once.low <= 25 / 12 <= once.high]
    assert (hits >= 0.8 * seeds).all()


# ---------------------------------------------------------------- its parts


def test_moments_in_parts_are_those_of_the_whole():
    samples = np.random.default_rng(0).random((50, 2)) + 1e6
    whole = merged(moments(samples[:13]), moments(samples[13:])).estimate(1)
    assert whole.value == pytest.approx(samples[:, 1].mean(), rel=1e-14)
    assert whole.deviation == pytest.approx(samples[:, 1].std(ddof=1), rel=1e-9)
    assert whole.half_width == pytest.approx(1.676551 * whole.deviation / 50**0.5, rel=1e-6)
    assert moments(samples[:1]).estimate(0).half_width == np.inf


def test_the_warm_up_is_what_differs_from_the_rest():
    rest = 1 + 0.1 * np.random.default_rng(0).standard_normal(100)
    assert warm_up(np.r_[np.linspace(9, 2, 10), rest]) == (10, True)
    assert warm_up(np.linspace(1, 9, 40)) == (20, False)
    assert warm_up(np.array([5.0, 1.0, 1.1, 1.0])) == (1, True)


@pytest.mark.parametrize("law", [0.3, 2.0, np.array([1.0, 2.0, 6.0]), uniform, "exponential"])
@pytest.mark.parametrize("largest_of", [1, 5, 2**20])
def test_draws_of_a_law_are_reproducible_and_not_negative(law, largest_of):
    size = 3 if largest_of > 5 else 1000
    draw = sampler("law", law, largest_of=largest_of)
    one, other = (draw(np.random.default_rng(3), size) for _ in range(2))
    assert one.shape == (size,)
    assert (one >= 0).all()
    assert (one == other).all()


# ---------------------------------------------------------------- another simulator


def simpy_makespan(cycle, cycles, draw):
    """One run of that many cycles in SimPy: a process a job, a resource a queue."""
    simpy = pytest.importorskip("simpy")
    world = simpy.Environment()
    bus, disk = simpy.Resource(world), simpy.Resource(world)

    def served(queue, mean):
        with queue.request() as turn:
            yield turn
            yield world.timeout(draw.expovariate(1 / mean))

    def job():
        for _ in range(cycles):
            for _ in range(int(cycle.bursts)):
                yield world.timeout(draw.expovariate(1 / cycle.cpu))
                yield from served(bus, cycle.service)
            if cycle.io_kind == "striped":
                yield from served(disk, cycle.io)

    for _ in range(cycle.jobs):
        world.process(job())
    world.run()
    return world.now


@pytest.mark.parametrize(
    ("cycle", "cycles"),
    [(Cycle(jobs=6, bursts=3, cpu=0.3, service=0.1), 1), (STRIPED, 4)],
    ids=["synchronous", "striped"],
)
def test_simpy_agrees(cycle, cycles):
    draw = random.Random(11)
    theirs = moments(np.array([[simpy_makespan(cycle, cycles, draw)] for _ in range(500)]))
    theirs = theirs.estimate(0)
    ours = simulate_runs(cycle, cycles=cycles, replications=4000).makespan
    assert abs(ours.value - theirs.value) <= 1.6 * np.hypot(ours.half_width, theirs.half_width)
    assert ours.deviation == pytest.approx(theirs.deviation, rel=0.15)


# ---------------------------------------------------------------- bad input

GOOD = {"jobs": 4, "cpu": 1.0}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"jobs": 0}, "jobs must be a whole number of at least 1, got 0. Count the jobs that"),
        ({"group": 1.5}, "group must be a whole number of at least 1, got 1.5. Count the proc"),
        ({"disks": 2}, "disks must be 1 unless io_kind is clustered, got 2. Let io be the time"),
        ({"bursts": 0.5}, "bursts must be at least 1, got 0.5. Count the bursts of a cycle."),
        ({"service": -1.0}, "service must be a time of at least 0, got -1. Give it in seconds."),
        ({"cpu": 0.0}, "cpu must be above 0 where all else is 0, got 0"),
        ({"io_kind": "bus"}, "io_kind must be synchronous, striped or clustered, got 'bus'."),
        ({"burst_count": "poisson"}, "burst_count must be fixed or geometric, got 'poisson'."),
        ({"cpu_law": "normal"}, "cpu_law must be a known law, got 'normal'. Give \"none\","),
        ({"service_law": -1}, 'service_law must be a cv in [0, 100], got -1. Give "none",'),
        ({"io_law": [1, np.nan]}, "io_law must hold only times of at least 0, got nan. Leave"),
        ({"transfer_law": [0, 0]}, "transfer_law must hold times whose mean is above 0, got 0"),
        ({"transfer_law": []}, "transfer_law must hold times whose mean is above 0, got 0"),
    ],
)
def test_a_bad_cycle_is_named_with_its_value_and_a_remedy(bad, says, refusal):
    assert refusal(ParameterError, Cycle, **GOOD | bad).startswith(says)


@pytest.mark.parametrize(
    ("simulate", "cycle", "bad", "says"),
    [
        (simulate_joined, STRIPED, {}, "io_kind must be synchronous, got 'striped'."),
        (simulate_steady, Cycle(**GOOD), {}, "io_kind must be striped or clustered, got"),
        (simulate_joined, Cycle(**GOOD), {"replications": 1}, "replications must be a whole n"),
        (simulate_joined, Cycle(**GOOD), {"precision": 0}, "precision must be above 0, got 0."),
        (simulate_joined, Cycle(**GOOD), {"most_seconds": -1}, "most_seconds must be above 0"),
        (simulate_joined, Cycle(**GOOD), {"most_cycles": 0}, "most_cycles must be a whole num"),
        (simulate_joined, Cycle(**GOOD), {"seed": -1}, "seed must be a whole number of at lea"),
        (simulate_runs, STRIPED, {"cycles": 0}, "cycles must be a whole number of at least 1"),
        (simulate_runs, STRIPED, {"cycles": 1, "replications": 1}, "replications must be a wh"),
        (simulate_steady, STRIPED, {"cycles": 1}, "cycles must be a whole number of at least 2"),
        (simulate_steady, STRIPED, {"replications": 0}, "replications must be a whole number"),
    ],
)
def test_bad_effort_is_named_with_its_value_and_a_remedy(simulate, cycle, bad, says, refusal):
    assert refusal(ParameterError, simulate, cycle, **bad).startswith(says)


@pytest.mark.parametrize(
    ("law", "says"),
    [
        (lambda rng, _: rng.random(3), "cpu_law must draw 4000 times, got 3. Return as many"),
        (lambda rng, size: -rng.random(size), "cpu_law must draw times of at least 0, got -"),
    ],
)
def test_a_function_that_draws_no_times_is_refused(law, says):
    with pytest.raises(ParameterError) as caught:
        simulate_joined(Cycle(jobs=4, cpu=1.0, cpu_law=law))
    assert str(caught.value).startswith(says)
