"""The law of the default schedule: its limits, bounds, and list schedules of the same tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast
from parcast.errors import ParameterError
from parcast.pipeline.law.adaptive import adaptive_time, batches, channel_time, queued_delay
from parcast.pipeline.law.formulas import sequential_time
from parcast.pipeline.simulation.replications import simulate_pipeline
from parcast.pipeline.simulation.scenario import Scenario
from tests.pipeline.law.greedy import greedy_time

times = st.floats(1e-6, 1e3)
costs = st.one_of(st.just(0.0), times)
many = st.integers(1, 10**6)
few = st.integers(1, 1000)


work = st.fixed_dictionaries({"task": times, "merge": costs, "fetch": costs})
traffic = st.fixed_dictionaries({"communication": costs, "overhead": costs})


@given(n=many, keys=work, batch=few, sent=traffic, ahead=st.booleans())
def test_one_processor_takes_the_sequential_time(n, keys, batch, sent, ahead):
    found = adaptive_time(n, 1, batch=batch, prefetch=ahead, **keys, **sent)
    assert found.time == pytest.approx(float(sequential_time(n, **keys)), rel=1e-9)
    assert found.communication == 0


@given(rounds=few, p=few, task=times, batch=few)
def test_work_without_merges_and_messages_is_shared_evenly(rounds, p, task, batch):
    n = rounds * p * batch
    found = adaptive_time(n, p, task=task, batch=batch)
    assert found.time == pytest.approx(n * task / p, rel=1e-9)
    assert found.compute == pytest.approx(float(found.time), rel=1e-9)


@given(n=many, p=few, keys=work, sent=traffic, batch=few)
def test_time_is_at_least_the_work_over_the_processors_and_the_path(n, p, keys, sent, batch):
    found = adaptive_time(n, p, batch=batch, **keys, **sent)
    assert found.time >= sequential_time(n, **keys) / p * (1 - 1e-9)
    if p > 1 and n > batch:
        level = keys["merge"] + sent["communication"]
        assert found.time >= (keys["task"] + np.log2(n / batch) * level) * (1 - 1e-9)
    for _, part in found.components():
        assert part >= 0


@given(n=many, p=few, task=times, merge=costs)
def test_more_processors_never_slow_down_what_sends_nothing(n, p, task, merge):
    time = adaptive_time(n, [p, p + 1], task=task, merge=merge).time
    assert time[1] <= time[0] * (1 + 1e-9)


@given(n=many, p=few, cores=few, task=times, merge=costs)
def test_processors_on_fewer_cores_share_them(n, p, cores, task, merge):
    shared = adaptive_time(n, p, task=task, merge=merge, cores=cores).time
    assert shared >= sequential_time(n, task=task, merge=merge) / min(p, cores) * (1 - 1e-9)
    assert shared >= adaptive_time(n, p, task=task, merge=merge).time * (1 - 1e-9)


def test_a_rank_that_fetches_for_all_limits_them():
    keys = {"task": 0.1, "fetch": 0.02}
    assert adaptive_time(1000, 50, prefetch=True, **keys).time == pytest.approx(20.0, rel=0.01)
    assert adaptive_time(1000, 50, **keys).time == pytest.approx(2.4)
    # What it fetches it does not work on: with few processors both ways cost the same.
    ahead = adaptive_time(1000, 2, prefetch=True, **keys).time
    assert ahead == pytest.approx(float(adaptive_time(1000, 2, **keys).time), rel=1e-3)


def test_every_term_counts():
    # 4 batches on 2 processors: (2*4 - 1)/2 messages, of which 2 levels are in the drain.
    found = adaptive_time(4, 2, task=1.0, overhead=0.1)
    parts = [float(x) for _, x in found.components()]
    assert sum(parts) == pytest.approx(2.0 + 3.5 * 0.1 / 2 + 0.1)
    assert parts[:2] == pytest.approx([2.0, 3.5 * 0.1 / 2])
    # Of 16 batches on 2 processors and a fan-in of 4, 2 levels of 3 merges and messages, and the
    # message to rank 0.
    keys = {"task": 1.0, "merge": 0.2, "communication": 0.5, "overhead": 0.1, "fan_in": 4}
    found = adaptive_time(16, 2, **keys)
    path = 2 * 3 * 0.3 + 3 * 0.5
    assert found.time == pytest.approx((16 + 15 * 0.2 + 15.5 * 0.1) / 2 + path / 2)
    # A message is reported and ordered before it is sent.
    ordered = adaptive_time(16, 2, latency=0.1, **keys)
    assert ordered.time - found.time == pytest.approx(3 * 2 * 0.1 / 2)
    # The first item is fetched before anything else; one rank fetches, both work.
    found = adaptive_time(4, 2, task=1.0, fetch=0.1, prefetch=True)
    assert found.time == pytest.approx(4.4 / 2 + 0.1 / 2)
    # 28 items on 16 processors of 8 cores: 16 at once, then 12; log2(28) messages to the root, and
    # one from there.
    found = adaptive_time(28, 16, task=0.15, communication=0.1, cores=8)
    assert found.time == pytest.approx(0.15 * (16 + 12) / 8 + (np.log2(28) + 1) * 0.1)


def test_an_order_that_takes_longer_than_the_batch_in_hand_keeps_a_processor_waiting():
    # Of two batches of 1 s in hand one is left when the next is asked for, 2*3 s before it comes.
    free, late = (adaptive_time(10_000, 100, task=1.0, latency=x, drain=False) for x in (0, 3.0))
    assert adaptive_time(10_000, 100, task=1.0, latency=0.5, drain=False).time == free.time
    assert late.time - free.time == pytest.approx(100 * 0.99 * (3.0 - 0.5))


@given(p=few, task=times)
def test_the_longest_of_exponential_tasks_is_waited_for(p, task):
    found = adaptive_time(p, p, task=task, task_cv=1.0)
    assert found.time == pytest.approx(task * sum(1 / i for i in range(1, p + 1)), rel=1e-9)
    assert found.compute == pytest.approx(task, rel=1e-9)


@given(n=many, p=few, batch=few, cv=st.floats(0, 5))
def test_variation_matters_at_the_end_only(n, p, batch, cv):
    keys = {"task": 1.0, "merge": 0.1, "batch": batch}
    same, varied = (float(adaptive_time(n, p, task_cv=x, **keys).time) for x in (0.0, cv))
    longest = sum(1 / i for i in range(1, p + 1))
    assert same <= varied <= same + cv * np.sqrt(batch) * (longest - 1) + 1e-9 * same


def test_messages_of_others_move_while_the_last_task_ends():
    keys = {"task": 1.0, "task_cv": 1.0}
    quiet, slow, far = (
        float(adaptive_time(64, 64, communication=x, **keys).time) for x in (0.0, 0.1, 10.0)
    )
    assert slow == quiet
    assert far == float(adaptive_time(64, 64, task=1.0, communication=10.0).time)


def test_a_slow_channel_limits_the_run():
    split = batches(10_000, 64)
    taken = channel_time(split, service=1e-2)
    found = adaptive_time(10_000, 64, task=0.01, channel=taken)
    assert taken == pytest.approx(10_000 * 63 / 64 * 1e-2)
    assert found.time == pytest.approx(float(taken) + 63 / 64 * 0.01)
    assert found.communication > 0.98 * found.time


def test_a_channel_carries_the_messages_of_the_drain_with_the_others():
    # 64 ranks and 100 items: the first message after a task, the last merge after all of them.
    split = batches(100, 64)
    sent = queued_delay(split, 100.0, service=1e-2, cv2=0.0)
    keys = {"task": 0.1, "merge": 0.01, "communication": sent}
    found = adaptive_time(100, 64, channel=channel_time(split, service=1e-2), **keys)
    assert found.time == pytest.approx(1.12, rel=0.07)  # simulated


@given(rate=st.floats(0, 1e6), p=few, cv2=st.floats(0, 10))
def test_a_path_waits_for_at_most_the_messages_of_its_first_level(rate, p, cv2):
    split = batches(10**6, p)
    delay = queued_delay(split, rate, service=1e-3, cv2=cv2, propagation=0.5)
    waiting = split.levels * (delay - 0.501)
    assert -1e-9 <= waiting <= min(p - 1, p / 2) * 1e-3 * (1 + 1e-9)


@pytest.mark.parametrize("processors", [64, 256])
@pytest.mark.parametrize("merge", [0.1, 0.5, 1.0])
def test_a_drain_through_one_busy_channel_is_near_the_simulated_one(processors, merge):
    """One or two items a processor, messages of a tenth of a task: at most 10% off."""
    scenario = Scenario(
        ranks=processors, items=100, task=1.0, merge=merge, service=0.1, is_shared=True
    )
    phase = {"items": 100, "task": "1 s", "merge": f"{merge} s", "message": "0.1 GB"}
    program = parcast.Program(phase=[{"law": "pipeline", "channel": "shared", **phase}])
    machine = parcast.Machine(network={"bandwidth": "1 GB/s"})
    law = float(program.times(machine, {"p": processors}).time)
    assert law == pytest.approx(simulate_pipeline(scenario).time, rel=0.1)


COSTS = [(0.0, 0.0), (0.05, 0.01), (0.3, 0.1), (1.0, 0.02), (0.3, 1.0), (2.0, 0.0)]


@pytest.mark.parametrize(("n", "median", "most"), [(100, 0.02, 0.21), (1000, 0.005, 0.03)])
def test_the_law_is_near_list_schedules_of_the_same_tree(n, median, most):
    errors = []
    for p in (2, 4, 7, 16):
        for merge, sent in COSTS:
            for batch, fan_in in ((1, 2), (4, 2), (1, 4)):
                keys = {"batch": batch, "fan_in": fan_in}
                keys |= {"task": 1.0, "merge": merge}
                law = adaptive_time(n, p, communication=sent, **keys).time
                errors.append(float(law) / greedy_time(n, p, message=sent, **keys) - 1)
    assert np.median(np.abs(errors)) <= median
    assert np.max(np.abs(errors)) <= most


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"items": 0}, "items must be at least 1, got 0. Use a whole number."),
        ({"batch": 0}, "batch must be at least 1, got 0. Use a whole number."),
        ({"fan_in": 2.5}, "fan_in must be a whole number of at least 2, got 2.5. 2 is usual."),
        ({"cores": 0}, "cores must be at least 1, got 0. Count the cores from 1."),
        (
            {"task_cv": -1.0},
            "task_cv must be at least 0, got -1. 0 is no variation, 1 exponential.",
        ),
        ({"task": -1.0}, "task must be a time of at least 0, got -1. Give it in seconds."),
    ],
)
def test_a_bad_argument_is_named_with_a_remedy(keys, says):
    with pytest.raises(ParameterError) as caught:
        adaptive_time(**{"items": 10, "p": 2, "task": 1.0} | keys)
    assert str(caught.value) == says
