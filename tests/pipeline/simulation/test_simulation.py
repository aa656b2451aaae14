"""Pipelines in simulated time: by hand, by recurrences, formulas and queues; refusals."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.pipeline.law.formulas import pipeline_time, sequential_time, speedups
from parcast.pipeline.published.schedule import cycle_length, label, last_step
from parcast.pipeline.simulation import replications
from parcast.pipeline.simulation.replications import run_once, simulate_pipeline
from parcast.pipeline.simulation.scenario import Scenario
from parcast.queueing.open import md1, mm1

SEED = np.random.SeedSequence(1)


def run(processors, items, task=1.0, **keys):
    ranks = processors * keys.get("pipelines", 1)
    return run_once(Scenario(ranks=ranks, items=items, task=task, **keys), SEED)


# The default schedule


@pytest.mark.parametrize(
    ("keys", "ends"),
    [
        # Tasks until 2 on both ranks, a merge on each until 2.5, and the last one until 3.
        ({"merge": 0.5}, 3.0),
        # One merge from 2 to 2.5, one from 2.25, as its message was sent at 2, to 2.75. Messages
        # then take until 3, the last merge until 3.5, and the delivery to rank 0 until 3.75.
        ({"merge": 0.5, "service": 0.25}, 3.75),
        # Two messages in turn until 4, three merges in one until 5.5, and the delivery.
        ({"merge": 0.5, "service": 1.0, "fan_in": 4}, 6.5),
        # Rank 1 works until 1.25. A report and an order later, at 1.75, it merges, and works from
        # 2.25 to 3.25. A report and an order later, at 3.75, it merges, and again at 4.75. The
        # result is delivered after a report, an order and a result.
        ({"merge": 0.5, "latency": 0.25}, 6.0),
        ({"merge": 0.0, "batch": 2}, 2.0),
        # A block of 2 tasks and a merge until 2.5, and a merge.
        ({"merge": 0.5, "batch": 2}, 3.0),
        # Half of 0.25 for either side of a grant and of a result.
        ({"merge": 0.5, "batch": 2, "overhead": 0.25}, 0.125 + 2.5 + 0.125 + 0.125 + 0.5),
    ],
)
def test_four_items_on_two_ranks_end_as_by_hand(keys, ends):
    assert run(2, 4, **keys).time == pytest.approx(ends)


@given(
    p=st.integers(1, 20),
    items=st.integers(1, 300),
    fan_in=st.integers(2, 4),
    task=st.floats(1e-3, 10),
)
def test_without_merges_and_messages_it_is_the_work_shared_evenly(p, items, fan_in, task):
    for overlap in ({}, {"cores": float(p)}):
        found = run(p, items, task, fan_in=fan_in, **overlap)
        assert found.time == pytest.approx(-(-items // p) * task)
        assert found.work == pytest.approx(items * task)


@given(items=st.integers(1, 200), fan_in=st.integers(2, 5), batch=st.integers(1, 20))
def test_one_rank_takes_the_sequential_time_and_sends_nothing(items, fan_in, batch):
    keys = {"merge": 0.25, "fetch": 0.125, "service": 3.0, "overhead": 1.0}
    expected = float(sequential_time(items, task=1.0, merge=0.25, fetch=0.125))
    for schedule in ("adaptive", "source"):
        for prefetch in (False, True):
            how = {"fan_in": fan_in, "batch": batch, "schedule": schedule, "prefetch": prefetch}
            found = run(1, items, **keys, **how)
            assert (found.time, found.messages) == (pytest.approx(expected), 0)


@given(
    p=st.integers(2, 12),
    items=st.integers(1, 150),
    merge=st.floats(0, 2),
    service=st.floats(0, 0.5),
    overhead=st.floats(0, 0.1),
    seed=st.integers(0, 99),
)
def test_everything_is_merged_and_no_rank_does_two_things_at_once(
    p, items, merge, *, service, overhead, seed
):
    scenario = Scenario(
        ranks=p, items=items, task=1.0, merge=merge, service=service, overhead=overhead,
        latency=0.01, task_law="exponential", is_shared=True,
    )  # fmt: skip
    found = run_once(scenario, np.random.SeedSequence(seed))
    assert found.messages <= items
    assert found.work >= (items - 1) * merge
    assert found.busy == pytest.approx(found.messages * service)
    assert found.time * p * (1 + 1e-12) >= found.work
    assert found.time >= found.busy


def test_rank_0_fetches_the_items_of_all():
    # Tasks of 5 ms are fetched one by one, each a work of rank 0 before its own tasks.
    found = run(4, 200, 0.001, fetch=0.005, prefetch=True)
    assert found.work == pytest.approx(200 * 0.006)
    assert 200 * 0.005 <= found.time <= 200 * 0.0052
    # Where it is a part of the task all ranks share it.
    assert run(4, 200, 0.001, fetch=0.005).time == pytest.approx(50 * 0.006)


def test_ranks_share_cores_equally():
    assert run(4, 40, cores=2.0).time == pytest.approx(20.0)
    assert run(4, 41, cores=2.0).time == pytest.approx(21.0)
    assert run(3, 3, cores=2.0).time == pytest.approx(1.5)
    assert run(4, 40, cores=8.0).time == pytest.approx(10.0)
    shared = run(8, 500, merge=0.3, service=0.01, cores=3.0, task_law="exponential")
    assert shared.work / 3 <= shared.time <= 1.05 * shared.work / 3


# The published schedule


def by_recurrence(p, items, task, merge, latency, *, waits):
    """End of the run: every step of every rank ends after its own last one and its message."""
    length, last = cycle_length(p), last_step(items, p)
    has = [label(rank, -1, p) < items for rank in range(p)]
    ends = [[task if there else 0.0 for there in has]]
    held = [int(there) for there in has]
    for step in range(last + 1):
        bit = 1 << step % length
        slowest = max(ends[step - 2 * length - 1]) if step > 2 * length else 0.0
        begins = [max(end, slowest) for end in ends[-1]]
        now, holds = [0.0] * p, list(held)
        for rank in range(p):
            if rank & bit:
                there = begins[rank - bit] + (latency if held[rank - bit] else 0.0)
                merges = merge if held[rank - bit] and held[rank] else 0.0
                now[rank] = max(begins[rank], there) + merges
                holds[rank] = held[rank] + held[rank - bit]
                if rank == p - 1 and step % length == length - 1:
                    holds[rank] = 0
            else:
                takes = label(rank, step, p) < items
                free = begins[rank] + (latency if waits and held[rank] else 0.0)
                now[rank] = free + (task if takes else 0.0)
                holds[rank] = int(takes)
        held = holds
        ends.append(now)
    return max(ends[-1])


@given(
    p=st.sampled_from([2, 4, 8, 16]),
    items=st.integers(1, 200),
    task=st.floats(0.1, 2),
    merge=st.floats(0, 3),
    latency=st.floats(0, 5),
    waits=st.booleans(),
)
def test_the_published_schedule_obeys_its_recurrence(p, items, task, *, merge, latency, waits):
    keys = {"merge": merge, "latency": latency, "waits": waits}
    found = run(p, items, task, schedule="source", **keys)
    expected = by_recurrence(p, items, task, merge, latency, waits=waits)
    assert found.time == pytest.approx(expected)


@pytest.mark.parametrize(("p", "k"), [(2, 6), (4, 1), (4, 40), (16, 40)])
@pytest.mark.parametrize("communication", [0.0, 0.4, 1.7])
def test_equation_6_and_its_overlapped_form_are_exact_but_for_the_last_merge(p, k, communication):
    items = p + k * p // 2
    for waits in (False, True):
        found = run(p, items, merge=1.0, given=communication, schedule="source", waits=waits)
        law = pipeline_time(items, p, task=1.0, communication=communication, overlapped=not waits)
        # The last merge is none where the last rank has just delivered, always with two ranks.
        last = float(law) - found.time
        if k >= 2 * cycle_length(p):
            assert min(abs(last), abs(last - 1.0)) < 1e-9
        else:
            assert last >= -1e-9


def test_equal_stages_tend_to_a_speedup_of_p_and_not_to_equation_5():
    for p in (4, 16):
        cycle, items = p // 2 * cycle_length(p), p + 200 * (p // 2) * cycle_length(p)
        times = [run(p, n, merge=1.0, schedule="source").time for n in (items, items + cycle)]
        assert times[1] - times[0] == pytest.approx(cycle_length(p))  # P/2 lg P items a cycle
        speedup = float(sequential_time(items, task=1.0, merge=1.0)) / times[0]
        assert speedup == pytest.approx(p, rel=0.01)
        assert speedup > float(speedups(p).pipelined)


def test_pipelines_get_whole_cycles_of_items_in_turn():
    # 16 each, then cycles of 32: one of the two gets 64 of 127 cycles.
    found = run(16, 4096, schedule="source", pipelines=2)
    own = run(16, 16 + 64 * 32, schedule="source")
    assert found.time == own.time


@pytest.mark.parametrize("items", [1, 3, 5, 17])
def test_some_pipelines_may_have_no_items(items):
    for schedule in ("adaptive", "source"):
        found = run(4, items, merge=0.1, pipelines=4, schedule=schedule, latency=0.01)
        assert found.work >= items
        assert found.time <= 2 * items


def test_items_that_are_fetched_ahead_bound_the_published_schedule():
    found = run(8, 400, 0.1, fetch=0.05, prefetch=True, schedule="source")
    assert found.time == pytest.approx(400 * 0.05, rel=0.03)
    assert run(8, 400, 0.1, fetch=0.001, prefetch=True, schedule="source").time < 10.5


def test_half_of_the_processor_time_of_a_message_is_on_either_side():
    plain, own = (run(8, 400, merge=0.2, schedule="source", overhead=each) for each in (0.0, 0.1))
    assert own.overhead == pytest.approx(own.messages * 0.1)
    steps = last_step(400, 8)
    assert own.time - plain.time == pytest.approx(0.05 * steps, rel=0.1)


# Messages


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(("law", "queue"), [("exponential", mm1), ("none", md1)])
def test_messages_wait_as_in_the_queue_of_their_lengths(law, queue):
    # The first ranks of 40 pipelines of two send after each exponential task: Poisson arrivals.
    found = run(
        2, 60_000, pipelines=40, schedule="source", service=0.5 / 40, message_law=law,
        task_law="exponential", is_shared=True,
    )  # fmt: skip
    expected = float(queue(40.0, service=0.5 / 40).response)
    assert found.delay / found.messages == pytest.approx(expected, rel=0.04)


@pytest.mark.usefixtures("uncovered")
def test_results_of_the_default_schedule_arrive_in_bursts():
    # A rank does all merges that wait when its task ends, and sends what they give.
    found = run(40, 8000, service=0.01, merge=1e-6, task_law="exponential")
    expected = float(md1(found.messages / found.time, service=0.01).response)
    assert found.delay / found.messages > 1.2 * expected


def test_pipelines_share_a_channel_or_have_one_each():
    keys = {"pipelines": 4, "merge": 0.1, "service": 0.2}
    for schedule in ("adaptive", "source"):
        own, shared = (run(4, 800, schedule=schedule, is_shared=x, **keys) for x in (False, True))
        assert shared.time >= 0.2 * shared.messages
        assert own.time < 0.7 * shared.time


def test_a_given_time_of_messages_occupies_the_link_of_the_sender():
    found = run(8, 800, merge=1.0, given=2.0, schedule="source")
    assert found.time == pytest.approx(2.0 * (800 - 8) / 4, rel=0.03)
    free = run(8, 800, merge=1.0, latency=2.0, schedule="source")  # several are under way at once
    assert free.time == pytest.approx(1.0 * (800 - 8) / 4, rel=0.06)


# Random times and replications


@pytest.mark.usefixtures("uncovered")
def test_times_are_drawn_from_what_is_given():
    measured = np.array([1.0, 1.0, 4.0])
    laws = ["exponential", 0.5, measured, lambda rng, size: rng.uniform(0, 2, size)]
    for law in laws:
        found = run(4, 3000, 3.0, task_law=law)
        assert found.work == pytest.approx(9000, rel=0.05)  # 3 standard deviations
        assert found.time == pytest.approx(2250, rel=0.05)
    same = run(4, 3000, 3.0, batch=8, task_law=measured)
    assert set(np.round(np.diff([0.0, same.work]), 6) % 1.5) <= {0.0}


@pytest.mark.usefixtures("uncovered")
def test_the_same_seed_gives_the_same_times_wherever_it_runs():
    scenario = Scenario(ranks=4, items=100, task=1.0, merge=0.2, task_law=0.5)
    alone = simulate_pipeline(scenario, seed=3, precision=0.02)
    other = simulate_pipeline(scenario, seed=4, precision=None, replications=2)
    assert alone.time != other.time
    with ThreadPoolExecutor(2) as pool:
        again = simulate_pipeline(scenario, seed=3, precision=0.02, executor=pool)
    assert again == alone
    assert alone.ended_by == "precision"
    assert alone.half_width <= 0.02 * alone.time
    exact = np.mean([run_once(scenario, np.random.SeedSequence(i)).time for i in range(100)])
    assert abs(alone.time - exact) < 2.5 * alone.half_width


def test_what_does_not_vary_is_simulated_once():
    found = simulate_pipeline(Scenario(ranks=4, items=100, task=1.0, task_law="none"))
    assert (found.runs, found.half_width, found.ended_by) == (1, 0.0, "precision")


def test_a_time_limit_ends_it():
    scenario = Scenario(ranks=4, items=1000, task=1.0, task_law="exponential")
    found = simulate_pipeline(scenario, precision=1e-9, most_seconds=1e-3)
    assert (found.ended_by, found.runs) == ("most_seconds", 2)
    found = simulate_pipeline(scenario, precision=None, replications=3)
    assert (found.ended_by, found.runs) == ("replications", 3)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(
    ("schedule", "law", "batch"),
    [
        ("adaptive", "exponential", 1),
        ("adaptive", "none", 4),
        ("source", "none", 1),
        ("source", "exponential", 4),
    ],
)
def test_a_long_run_is_extrapolated_within_its_interval(monkeypatch, schedule, law, batch):
    scenario = Scenario(
        ranks=8, items=8000 * batch, batch=batch, task=1.0, merge=0.2, service=0.01,
        schedule=schedule, task_law=law,
    )  # fmt: skip
    whole = simulate_pipeline(scenario, precision=None, replications=2, seed=5)
    monkeypatch.setattr(replications, "MOST_BLOCKS", 4000)
    monkeypatch.setattr(replications, "FEW_BLOCKS", 1024)
    part = simulate_pipeline(scenario, precision=None, replications=6, seed=6)
    assert part.blocks == 1024
    rounding = 1e-12 * whole.time
    half = 2 * part.half_width + whole.half_width + rounding
    assert part.time == pytest.approx(whole.time, abs=half)
    assert part.time == pytest.approx(whole.time, rel=0.04)
    assert part.work == pytest.approx(whole.work, rel=0.04)
    assert part.extrapolation <= part.half_width


# Refusals


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"ranks": 0}, "ranks must be a whole number of at least 1, got 0."),
        ({"items": 2.5}, "items must be a whole number of at least 1, got 2.5."),
        ({"task": 0.0}, "task must be above 0, got 0. Give it in seconds."),
        ({"merge": -1.0}, "merge must be"),
        ({"cores": 0.5}, "cores must be at least 1, got 0.5."),
        ({"task_law": "normal"}, "task_law must be a known law, got 'normal'."),
        (
            {"schedule": "source", "ranks": 6},
            "processors of a pipeline must be a power of 2 in the published schedule, got 6.",
        ),
        (
            {"schedule": "source", "pipelines": 3},
            "ranks of a pipeline must be a whole number of at least 1, got 1.33333.",
        ),
        (
            {"schedule": "source", "fan_in": 4},
            "fan_in must be 2 for the published schedule to be simulated, got 4.",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(keys, says):
    with pytest.raises(ParameterError) as caught:
        Scenario(**{"ranks": 4, "items": 10, "task": 1.0} | keys)
    assert str(caught.value).startswith(says)


def test_a_batch_is_a_whole_node_of_the_tree_in_the_default_schedule():
    scenario = Scenario(ranks=4, items=1000, task=1.0, batch=10)
    assert (scenario.block, scenario.blocks) == (8, 125)
    assert replace(scenario, schedule="source").block == 10
