"""Costs from a trace: those it was made with come back, and a real run on two ranks is planned."""

from dataclasses import replace
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import parcast
from parcast.errors import FitFailed
from parcast.pipeline.planning.from_trace import fit_power, measured_costs
from parcast.pipeline.planning.plan import plan_pipeline
from parcast.pipeline.traces.header import TraceHeader
from parcast.pipeline.traces.trace import (
    EVENTS,
    Trace,
    joined,
    read_trace,
    reductions_of,
    write_trace,
)

TASK, MERGE, MESSAGE, FETCH = 4e-3, 2e-4, 1000.0, 3e-5
LATENCY, BANDWIDTH, GAP = 1e-4, 5e7, 5e-5


def events(kind, rows):
    """Make the array of one kind of events."""
    return np.array([tuple(row) for row in rows], dtype=EVENTS[kind])


def made(items=256, batch=4, *, merge_growth=0.0, message_growth=0.0, cores=2, ranks=2, slow=1.0):
    """Make a trace of known costs, on ranks that take turns; wall times are `slow` times those."""

    def merge(k):
        return MERGE * (k / 2) ** merge_growth

    clock = [0.01] * ranks
    tasks, merges, messages = [], [], []

    def spend(rank, seconds):
        start = clock[rank]
        clock[rank] += slow * seconds + GAP
        return start, start + slow * seconds

    local = sum(batch / k * merge(k) for k in 2 ** np.arange(1, int(np.log2(batch)) + 1))
    for i, first in enumerate(range(0, items, batch)):
        rank = i % ranks
        start, end = spend(rank, batch * TASK + local)
        tasks.append((rank, start, end, (end - start) / slow, first, first + batch))
    size = 2 * batch
    while size <= items:
        for i, first in enumerate(range(0, items, size)):
            rank = i % ranks
            half = MESSAGE * (size / 2) ** message_growth
            sent = clock[rank]
            took = LATENCY + half / BANDWIDTH
            if ranks > 1:
                other = (rank + 1) % ranks
                where = (first + size // 2, first + size)
                messages.append((other, rank, sent, sent + took, round(half), *where))
            start, end = spend(rank, merge(size))
            merges.append((rank, start, end, (end - start) / slow, first, first + size, 2))
        size *= 2
    header = TraceHeader(
        program="made",
        schedule="adaptive",
        ranks=ranks,
        items=items,
        hosts=("host",) * ranks,
        cores=cores,
        offset=(0.0,) * ranks,
        residual=(0.0,) * ranks,
        seconds=max(clock),
    )
    return Trace(
        header=header,
        tasks=events("task", tasks),
        merges=events("merge", merges),
        messages=events("message", messages),
        fetches=events("fetch", [(0, 0.002, 0.002 + items * FETCH, items)]),
        deliveries=events("deliver", [(0, 1.0, 1.0, 0, items, MESSAGE)]),
        path="run.jsonl",
    )


@pytest.mark.parametrize("growth", [0.0, 0.6, 1.0])
def test_the_costs_of_a_trace_come_back(growth):
    costs = measured_costs(made(merge_growth=growth, message_growth=growth)).costs
    assert costs["items"] == 256
    assert costs["task"] == pytest.approx(TASK, rel=1e-6)
    assert costs["merge"] == pytest.approx(MERGE, rel=1e-6)
    assert costs["merge_growth"] == pytest.approx(growth, abs=1e-6)
    assert costs["message"] == pytest.approx(MESSAGE, rel=2e-3)
    assert costs["message_growth"] == pytest.approx(growth, abs=2e-3)
    assert costs["fetch"] == pytest.approx(FETCH)
    # 64 batches and 63 merges have a gap each; (2*64 - 1)/2 messages
    assert costs["overhead"] == pytest.approx(GAP * 127 / 63.5)
    assert costs["startup"] == pytest.approx(0.002)
    if growth:
        assert costs["latency"] == pytest.approx(LATENCY, rel=0.05)
        assert costs["bandwidth"] == pytest.approx(BANDWIDTH, rel=0.05)
    else:  # all messages have one size
        assert costs["latency"] == pytest.approx(LATENCY + MESSAGE / BANDWIDTH)
        assert "bandwidth" not in costs


def test_growth_is_said_and_changes_the_plan():
    flat = plan_pipeline(made(cores=256), items=50_000, ranks=256)
    several = made(merge_growth=0.9, message_growth=0.9, cores=256)
    grown = plan_pipeline(several, items=50_000, ranks=256)
    assert any(
        text.startswith("merges grow as items^0.90 (0.90 to 0.90)") for text in grown.origins
    )
    assert any(text.startswith("results grow as items^0.90") for text in grown.origins)
    assert grown.best.ranks < flat.best.ranks
    assert grown.best.batch > flat.best.batch
    assert any("growth is extrapolated 200 times" in text for text in grown.warnings)


def test_ranks_that_share_cores_are_timed_by_their_processors():
    shared = measured_costs(made(cores=1, slow=2.0))
    assert shared.costs["task"] == pytest.approx(TASK, rel=1e-6)
    assert shared.origins[0] == "processor times of a run of 256 items on 2 ranks"
    assert any("2 ranks shared 1 core:" in text for text in shared.warnings)
    alone = measured_costs(made(cores=2, slow=2.0))
    assert alone.costs["task"] == pytest.approx(2 * TASK, rel=1e-6)
    assert any("The traced tasks used 50% of a core" in text for text in alone.warnings)
    assert not any("of a core" in text for text in measured_costs(made()).warnings)
    chosen = plan_pipeline(made(cores=2, slow=2.0), clock="processor", ranks=2)
    assert chosen.costs.task == pytest.approx(TASK, rel=1e-6)
    assert not any("of a core" in text for text in chosen.warnings)
    assert alone.origins[0] == "wall times of a run of 256 items on 2 ranks"


def test_a_run_on_one_rank_has_no_messages():
    measured = measured_costs(made(ranks=1))
    assert (measured.costs["overhead"], measured.costs["latency"]) == (0.0, 0.0)
    assert measured.costs["message"] == pytest.approx(MESSAGE)  # that of the delivery
    assert any("had one rank and no messages" in text for text in measured.warnings)


def test_few_merges_have_no_growth():
    measured = measured_costs(made(items=8))
    assert measured.costs["merge_growth"] == 0.0
    assert any("Too few merges" in text for text in measured.warnings)


def test_a_trace_without_tasks_is_refused():
    empty = made()
    none = Trace(
        header=empty.header,
        tasks=empty.tasks[:0],
        merges=empty.merges[:0],
        messages=empty.messages[:0],
        fetches=empty.fetches[:0],
        deliveries=empty.deliveries[:0],
    )
    with pytest.raises(FitFailed, match=r"No plan\. The trace has no task"):
        plan_pipeline(none)


def test_a_power_is_fitted_to_scattered_times_with_an_interval_that_contains_it():
    random = np.random.default_rng(3)
    x = np.repeat(2.0 ** np.arange(1, 10), 2 ** np.arange(8, -1, -1))
    contained = 0
    for _ in range(40):
        y = 0.1 * x**0.7 * np.exp(0.2 * random.standard_normal(len(x)))
        found = fit_power(x, y)
        assert found.growth == pytest.approx(0.7, abs=0.15)
        contained += abs(found.growth - 0.7) <= found.width
    assert contained >= 30  # of 36 expected


def test_numbers_replace_those_of_the_trace():
    plan = plan_pipeline(made(), task="8 ms", growth=0.5, bandwidth="1 GB/s", ranks=4)
    assert plan.costs.task == 8e-3
    assert plan.costs.merge_growth == plan.costs.message_growth == 0.5
    assert plan.costs.bandwidth == 1e9
    assert plan.costs.merge == pytest.approx(MERGE)
    assert "task" not in plan.costs.spreads


def count_to(n):
    """Work for some time, and return a number."""
    return sum(i % 7 for i in range(20_000 + n % 3))


def test_a_run_on_two_ranks_is_planned_and_its_time_is_near(tmp_path):
    path = tmp_path / "run.jsonl"
    result = parcast.run_pipeline(
        range(400), count_to, "sum", ranks=2, batch=4, trace=path, time_limit=120
    )
    trace = read_trace(path)
    plan = plan_pipeline(path, ranks=2)
    assert plan.costs.items == 400
    assert plan.costs.prefetch
    # The planned task is the mean over the traced items, without the merges of batches.
    spent = trace.tasks["end"] - trace.tasks["start"]
    if trace.header.ranks > trace.header.cores:
        spent = trace.tasks["processor"]
    assert 0.8 * spent.sum() / 400 <= plan.costs.task <= spent.sum() / 400
    assert plan.best.ranks == 2
    counts = [count_to(n) for n in range(3)]
    assert result.value == sum(counts[n % 3] for n in range(400))
    work = 400 * plan.costs.task
    assert work / 2 <= plan.best.time - plan.costs.startup <= 2 * work
    bigger = plan_pipeline(path, items=100_000, ranks=64)
    assert bigger.best.ranks <= trace.header.cores
    bigger = plan_pipeline(path, items=100_000, ranks=64, cores=64)
    assert bigger.best.ranks > 8
    assert parcast.run_pipeline(
        range(40), count_to, "sum", **{**plan.arguments, "ranks": 1}
    ).value == sum(counts[n % 3] for n in range(40))


@pytest.mark.parametrize(("ranks", "cores"), [(None, 1), (4, 3), (64, 2)])
def test_no_more_ranks_are_planned_than_the_traced_run_had_cores(cores, ranks):
    plan = plan_pipeline(made(items=4096, cores=cores), ranks=ranks)
    assert plan.best.ranks == cores
    assert max(each.ranks for each in plan.plans) == cores
    assert plan.to_use_more[0] == (
        f"more cores than the {cores} of the traced run. Plan for a machine that has more: "
        "cores=COUNT"
    )
    assert plan.to_document()["limits"]["measured_cores"] == cores
    late = plan_pipeline(made(items=4096, cores=cores), ranks=ranks, within=0.1)
    assert late.best is None
    assert f"ranks keep to the {cores} core" in " ".join(late.verdict)


@pytest.mark.parametrize("machine", [{"cores": 16}, {"per_node": 8}])
def test_a_plan_for_a_larger_machine_says_that_it_assumes_more_cores(machine):
    plan = plan_pipeline(made(items=4096), ranks=16, **machine)
    assert plan.best.ranks > 2
    [said] = [text for text in plan.warnings if "cores, and the traced run had" in text]
    assert said.startswith(f"The plan assumes {plan.best.ranks} cores, and the traced run had 2:")
    small = plan_pipeline(made(items=4096), ranks=2, **machine)
    assert not any("traced run had" in text for text in small.warnings)


def both(*traces):
    """Write some traces as one, and read it."""
    with TemporaryDirectory() as folder:
        write_trace(f"{folder}/run.jsonl", *joined(traces, program="both"))
        return read_trace(f"{folder}/run.jsonl")


def test_costs_of_several_reductions_are_added_and_their_plan_takes_all_of_them():
    kinds = {"merge_growth": 0.6, "message_growth": 1.0}, {"slow": 3.0}
    first, second = (made(items=256, **kind) for kind in kinds)
    first = replace(first, deliveries=first.deliveries[:0])
    trace = both(first, second)
    assert trace.header.items == 256
    assert trace.header.seconds == pytest.approx(first.header.seconds + second.header.seconds)
    parts = reductions_of(trace)
    for part, alone in zip(parts, (first, second), strict=True):
        found, expected = measured_costs(part).costs, measured_costs(alone).costs
        for name in ("task", "merge", "merge_growth", "message", "fetch", "overhead", "latency"):
            assert found[name] == pytest.approx(expected[name], rel=1e-3, abs=1e-7), name
        assert part.header.seconds == pytest.approx(alone.header.seconds, rel=1e-3)
    for ranks in (1, 2, 8):
        keys = {"ranks": ranks, "cores": ranks, "samples": 2}
        own = [plan_pipeline(each, **keys).plans[-1].time for each in (first, second)]
        assert plan_pipeline(trace, **keys).plans[-1].time == pytest.approx(sum(own), rel=0.05)
    measured = measured_costs(trace)
    assert measured.costs["merge"] == pytest.approx(4 * MERGE, rel=1e-3)
    assert measured.origins[0] == "made: wall times of a run of 256 items on 2 ranks"
    assert 0 < measured.costs["merge_growth"] < 0.6
    assert len(reductions_of(first)) == 1


def test_a_search_is_traced_with_both_reductions_and_planned_as_a_whole(tmp_path):
    words = [f"word{i}" for i in range(500)]
    for i in range(12):
        text = " ".join(words[(i * k) % 500] for k in range(40_000))
        (tmp_path / f"{i}.txt").write_text(text)
    trace_path = tmp_path / "run.jsonl.gz"
    found = parcast.search_documents(tmp_path, "word1 word7", ranks=2, trace=trace_path)
    assert found.has_hits
    assert found.run.warnings == ()
    trace = read_trace(trace_path)
    assert [x.program for x in trace.header.reductions] == [
        "search, statistics",
        "search, ranking",
    ]
    one, other = reductions_of(trace)
    assert [int((x.tasks["stop"] - x.tasks["first"]).sum()) for x in (one, other)] == [12, 12]
    assert trace.header.seconds >= found.run.seconds + one.header.seconds * 0.99
    plan = plan_pipeline(trace, clock="wall", ranks=2, cores=2)
    spent = sum(float((x.tasks["end"] - x.tasks["start"]).sum()) for x in (one, other))
    assert plan.costs.task == pytest.approx(spent / 12, rel=0.06)
    assert plan.plans[-1].time >= spent / 2
    timeline = parcast.timeline_of(trace)
    assert timeline.warnings == ()
    assert sum(rank.items for rank in timeline.ranks) == 24


def test_a_search_without_a_hit_is_traced_as_the_one_reduction_that_ran(tmp_path):
    (tmp_path / "a.txt").write_text("some words")
    trace = tmp_path / "run.jsonl"
    parcast.search_documents(tmp_path / "a.txt", "nothing", trace=trace)
    assert read_trace(trace).header.reductions == ()
