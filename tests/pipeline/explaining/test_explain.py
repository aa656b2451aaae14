"""Schedules expanded step by step: the published one, and adaptive for any number of ranks."""

from collections import Counter

import numpy as np
import pytest

from parcast.errors import ParameterError
from parcast.pipeline.explaining.explain import explain_pipeline
from parcast.pipeline.explaining.result import tree_of
from parcast.pipeline.published.schedule import ItemRange, cycle_length
from parcast.pipeline.simulation.replications import run_once
from parcast.pipeline.simulation.scenario import Scenario


def joined(result):
    """Execute what a schedule says with texts, and give what is delivered."""
    held, moved, delivered = {}, {}, []
    for step in range(result.steps + 1):
        moving = {
            (x.source, x.items): held.pop((x.source, x.items))
            for x in result.messages
            if x.step == step
        }
        moved |= {
            (x.target, x.items): moving[x.source, x.items]
            for x in result.messages
            if x.step == step
        }
        for x in [x for x in result.activities if x.step == step]:
            if x.kind == "task":
                assert x.items.length == 1
                held[x.rank, x.items] = f"{x.items.first},"
                continue
            own = {**moved, **held}
            parts = sorted(
                part
                for rank, part in own
                if rank == x.rank and x.items.first <= part.first and part.stop <= x.items.stop
            )
            assert len(parts) == (2 if x.kind == "merge" else 1)
            assert parts[0].first == x.items.first
            assert parts[-1].stop == x.items.stop
            text = "".join(own[x.rank, part] for part in parts)
            for part in parts:
                (moved if (x.rank, part) in moved else held).pop((x.rank, part))
            held[x.rank, x.items] = text
        assert not moved or not result.is_source, "every message is merged in its step"
        delivered += [held.pop((x.rank, x.items)) for x in result.deliveries if x.step == step]
    return "".join(delivered), held | moved


@pytest.mark.parametrize("ranks", [*range(2, 10), 12, 15, 16, 17, 31, 33, 64])
def test_adaptive_is_what_the_engine_does_in_simulated_time(ranks):
    result = explain_pipeline(ranks, schedule="adaptive")
    scenario = Scenario(ranks=ranks, items=4 * ranks, task=1.0, merge=1.0)
    run = run_once(scenario, np.random.SeedSequence(0))
    assert run.time == result.steps + 1
    [delivered] = result.deliveries
    assert run.messages == len(result.messages) + (delivered.rank > 0)


SCHEDULES = [("source", size) for size in (1, 2, 4, 16)]
SCHEDULES += [("adaptive", size) for size in (1, 2, 3, 5, 7, 8, 12)]


@pytest.mark.parametrize(("schedule", "size"), SCHEDULES)
@pytest.mark.parametrize("items", [1, 2, 7, 9, 65])
def test_executing_it_gives_the_items_in_order(schedule, size, items):
    result = explain_pipeline(size, items=items, schedule=schedule)
    text, left = joined(result)
    assert text == "".join(f"{x}," for x in range(items))
    assert left == {}
    kinds = Counter(x.kind for x in result.activities)
    assert kinds["task"] == items
    assert kinds["merge"] == items - len(result.deliveries)
    assert len({(x.step, x.rank) for x in result.activities}) == len(result.activities)


@pytest.mark.parametrize("items", [1, 7, 24, 33])
def test_the_tree_of_adaptive_is_the_same_for_every_number_of_ranks(items):
    trees = {
        frozenset(
            x.items for x in explain_pipeline(p, items=items, schedule="adaptive").activities
        )
        for p in (1, 2, 3, 5, 8, 40)
    }
    assert len(trees) == 1
    [nodes] = trees
    assert all(first % (1 << (stop - first - 1).bit_length()) == 0 for first, stop in nodes)


def test_adaptive_ranks_are_busy_whenever_there_are_items():
    result = explain_pipeline(6, items=300, schedule="adaptive")
    last = max(x.step for x in result.activities if x.kind == "task")
    by_step = Counter(x.step for x in result.activities)
    assert {by_step[step] for step in range(last)} == {6}
    assert result.speedup == pytest.approx(599 / (result.steps + 1))
    assert result.speedup > 0.9 * 6


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_all_ranks_of_the_published_schedule_are_busy(size):
    result = explain_pipeline(size, cycles=3)
    assert result.steps == 3 * cycle_length(size)
    assert result.busy == 1.0
    tasks = Counter(x.step for x in result.activities if x.kind == "task")
    assert [tasks[i] for i in range(result.steps + 1)] == [size] + [size // 2] * result.steps
    every = size // 2 * cycle_length(size)
    ends = [size, size + every, size + 2 * every]
    assert [x.items for x in result.deliveries] == [*zip([0, *ends], ends, strict=False)]


def test_ideal_speedups_are_the_published_ones():
    sixteen, eight = explain_pipeline(16), explain_pipeline(8)
    assert sixteen.speedup_plain == pytest.approx(16 / 9)
    assert sixteen.speedup == pytest.approx(14.2222, abs=5e-5)
    assert (eight.depth, round(eight.speedup, 3)) == (7, 6.857)
    assert explain_pipeline(16, pipelines=4).speedup == pytest.approx(4 * sixteen.speedup)


def test_the_tree_of_the_published_schedule_has_lg_p_levels_of_merges():
    tree = tree_of(explain_pipeline(8))
    assert [len(level) for level in tree.levels] == [8, 4, 2, 1]
    assert [node.rank for node in tree.levels[0]] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert [node.rank for node in tree.levels[1]] == [7, 5, 3, 1]
    assert tree.levels[3][0].items == ItemRange(0, 8)
    assert len(list(tree.branches())) == 14
    assert len(tree_of(explain_pipeline(1024)).levels[0]) == 64


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ranks": 2.5}, "ranks must be a whole number of at least 1, got 2.5. Count from 1."),
        ({"ranks": "4"}, "ranks must be a number, got '4'. Count from 1."),
        ({"ranks": 4, "pipelines": 0}, "pipelines must be a whole number of at least 1, got 0."),
        ({"ranks": 4, "schedule": "other"}, 'schedule must be "source" or "adaptive", got'),
        ({"ranks": 4, "items": 3, "cycles": 1}, "cycles must be left out for a number of items"),
        ({"ranks": 75, "items": 50_001}, "items must be at most 50,000 on 75 ranks, got 50,001."),
    ],
)
def test_what_has_no_schedule_is_refused(options, says, refusal):
    assert refusal(ParameterError, explain_pipeline, **options).startswith(says)


def test_the_default_schedule_is_the_published_one_where_it_can_be():
    assert [explain_pipeline(p).schedule for p in (1, 3, 4, 6)] == [
        "source",
        "adaptive",
        "source",
        "adaptive",
    ]
    assert (
        repr(explain_pipeline(8, pipelines=2)) == "PipelineSchedule(source, 2 x 8 ranks, 6 steps)"
    )
