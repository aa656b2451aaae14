"""The planner: its times against the law called plan by plan, and limits that must hold."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

import parcast
from parcast.descriptions.machine import Machine
from parcast.pipeline.law.adaptive import adaptive_time, batches, channel_time
from parcast.pipeline.law.phase import PipelinePhase
from parcast.pipeline.planning.costs import ReductionCosts, tree_of
from parcast.pipeline.planning.grid import FAN_INS, Shapes, counts_up_to, figures_of, shapes_of
from parcast.pipeline.planning.plan import plan_pipeline

NETWORK = {"bandwidth": "1 GB/s", "latency": "20 us"}
COSTS = {"task": "5 ms", "merge": "0.4 ms", "message": "200 kB", "overhead": "100 us"}
REDUCTION = {"items": 3000, **COSTS, **NETWORK, "fetch": "30 us"}


def by_the_law(costs, schedule, shape):
    """Time of one plan by the law itself, as a program file has it [s]."""
    ranks, pipelines, fan_in, batch = shape
    phase = PipelinePhase(
        law="pipeline",
        form="adaptive" if schedule == "adaptive" else "overlapped",
        items=costs.items,
        task=f"{costs.task!r} s",
        merge=f"{costs.merge!r} s",
        message=f"{costs.message!r} B",
        overhead=f"{costs.overhead!r} s",
        fetch=f"{costs.fetch!r} s",
        startup=f"{costs.startup!r} s",
        prefetch=costs.prefetch,
        channel="shared" if costs.shares_channel else "own",
        pipelines=str(pipelines),
        fan_in=str(fan_in),
        batch=str(batch),
        cores=None if costs.cores is None else str(costs.cores),
    )
    network = {"bandwidth": f"{costs.bandwidth!r} B/s", "latency": f"{costs.latency!r} s"}
    return float(phase.times(Machine(network=network), {"p": float(ranks)}).time)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(
    ("schedule", "cores", "channel"),
    [
        *(("adaptive", None, True), ("adaptive", 5, False)),
        *(("source", None, False), ("source", 5, True)),
    ],
)
def test_the_grid_is_the_law_at_every_plan(schedule, cores, channel):
    costs = ReductionCosts.of(
        **REDUCTION, cores=cores, startup=0.1, prefetch=False, shares_channel=channel
    )
    shapes = shapes_of(costs.items, counts_up_to(16), schedule)
    figures = figures_of(costs, shapes, schedule)
    kept = shapes.batch <= 256
    columns = (shapes.ranks, shapes.pipelines, shapes.fan_in, shapes.batch, figures.time)
    rows = list(zip(*(x[kept] for x in columns), strict=True))
    if schedule == "adaptive":  # some of the many, and others for each cores and channel
        rows = rows[2 * (cores is None) + channel :: 3]
    several = 0
    for ranks, pipelines, fan_in, batch, time in rows:
        if schedule == "adaptive" or ranks > 1:
            shape = (ranks, pipelines, fan_in, batch)
            assert time == pytest.approx(by_the_law(costs, schedule, shape), rel=1e-9), shape
            several += ranks > 1
    assert several >= 8


def test_items_that_are_fetched_ahead_begin_a_batch_later():
    costs = ReductionCosts.of(**REDUCTION)
    shapes = shapes_of(costs.items, np.array([2, 16]), "adaptive")
    time = figures_of(costs, shapes).time
    for i in range(0, len(shapes), 7):
        shape = [getattr(shapes, x)[i] for x in ("ranks", "pipelines", "fan_in", "batch")]
        law = by_the_law(costs, "adaptive", shape)
        assert law - 1e-9 <= time[i] <= law + shape[-1] * costs.fetch + 1e-9


@pytest.mark.parametrize("schedule", ["adaptive", "source"])
def test_the_chosen_plan_is_the_best_of_all_one_by_one(schedule):
    costs = ReductionCosts.of(**REDUCTION, shares_channel=True)
    plan = plan_pipeline(**REDUCTION, ranks=12, schedule=schedule)
    best = {}
    for ranks in range(2, 13):
        for pipelines, fan_in, power in product(range(1, 7), FAN_INS, range(12)):
            batch = fan_in**power
            own = Shapes(
                ranks=np.array([ranks]),
                pipelines=np.array([pipelines]),
                fan_in=np.array([fan_in]),
                batch=np.array([batch]),
            )
            if ranks % pipelines or ranks < 2 * pipelines or -(-costs.items // batch) < ranks:
                continue
            p = ranks // pipelines
            if schedule == "source" and ((p & (p - 1)) or (fan_in, batch) != (2, 1)):
                continue
            if schedule == "source" and p == 2 and pipelines > 1:
                continue
            figures = figures_of(costs, own, schedule)
            stages = (figures.merge, figures.communication, figures.fetch)
            if all(x[0] <= figures.task[0] for x in np.broadcast_arrays(*stages)):
                best[ranks] = min(best.get(ranks, np.inf), float(figures.time[0]))
    least = min(best.values())
    fewest = min(ranks for ranks, time in best.items() if time <= 1.05 * least)
    assert plan.best.ranks == fewest
    for each in plan.plans[1:]:
        if each.ranks in best:
            assert each.fits
            # Of plans as near as half a percent the simplest is taken.
            assert best[each.ranks] <= each.time <= best[each.ranks] * 1.005
        else:
            assert not each.fits


def test_free_merges_and_messages_take_all_ranks():
    for ranks in (16, 100, 1000):
        plan = plan_pipeline(items=1_000_000, task="5 ms", ranks=ranks)
        assert plan.best.ranks in range(int(ranks / 1.05), ranks + 1)
        assert plan.plans[-1].speedup == pytest.approx(ranks, rel=1e-2)
        assert (plan.best.pipelines, plan.best.fan_in) == (1, 2)


def test_costly_messages_take_larger_batches():
    chosen = [
        plan_pipeline(items=100_000, task="1 ms", overhead=x, latency=x, ranks=16).best.batch
        for x in (0.0, 1e-5, 1e-3, 1e-2)
    ]
    assert chosen == sorted(chosen)
    assert chosen[0] == 1
    assert chosen[-1] >= 64


def test_costly_messages_exceed_a_small_batch_which_is_said():
    plan = plan_pipeline(items=100_000, task="1 ms", latency="1.5 ms", ranks=16)
    assert plan.best.batch == 4
    assert any(
        "with a batch of 1, communication would take 1.5 times the task" in x for x in plan.reasons
    )


def test_merges_longer_than_a_task_are_named():
    source = plan_pipeline(items=1000, task="5 ms", merge="10 ms", ranks=64, schedule="source")
    assert source.best.ranks == 1
    why = "no plan of several ranks is balanced: a merge takes 2 times the task (10 ms and 5 ms)"
    assert source.reasons[0].startswith(why)
    assert source.to_use_more == ("Merge faster, or return less from a task",)
    late = plan_pipeline(
        items=1000, task="5 ms", merge="10 ms", ranks=64, schedule="source", within=1.0
    )
    assert (late.best, late.arguments) == (None, {})
    assert late.verdict[0].startswith("the least time of a balanced plan is 15 s, with 1 rank")
    assert late.verdict[1].startswith(why)
    adaptive = plan_pipeline(items=1000, task="5 ms", merge="10 ms", ranks=64)
    assert adaptive.best.batch >= 2  # a batch merges within itself and is longer than a merge
    assert adaptive.best.stages["merge"] <= adaptive.best.stages["task"]
    assert any("A merge of two results takes longer than a task" in x for x in adaptive.warnings)


def test_fetching_limits_the_ranks():
    plan = plan_pipeline(items=100_000, task="5 ms", fetch="0.5 ms", ranks=64)
    assert plan.best.ranks <= 10  # ten ranks need an item every 0.5 ms
    assert plan.best.longest[0] == "fetch"
    assert plan.to_use_more[0].startswith(
        "no plan of 20 ranks is balanced: fetching would take 2 times the task at best"
    )
    twelve = next(x for x in plan.plans if x.ranks == 12)
    assert not twelve.is_balanced


def test_every_rank_of_a_plan_gets_a_batch():
    plan = plan_pipeline(items=1000, task="5 ms", latency="20 ms", ranks=300)
    for each in plan.plans:
        assert -(-1000 // each.batch) >= each.ranks
    more = plan_pipeline(items=10, task="5 ms", ranks=64)
    assert more.best.ranks == more.plans[-1].ranks == 10


def test_no_stage_of_a_plan_that_fits_exceeds_its_task():
    plan = plan_pipeline(**REDUCTION, growth=0.8, ranks=200)
    assert any(not x.fits for x in plan.plans) or plan.best.ranks > 1
    for each in plan.plans:
        if each.fits:
            assert max(each.stages.values()) <= each.stages["task"] * (1 + 1e-9)


def test_merges_that_grow_take_fewer_ranks_and_more_time():
    plans = [
        plan_pipeline(items=20_000, task="2 ms", merge="50 us", growth=x, ranks=256)
        for x in (0.0, 0.5, 0.8, 1.0)
    ]
    times = [plan.plans[plan.fastest].time for plan in plans]
    assert times == sorted(times)
    ranks = [plan.best.ranks for plan in plans]
    assert ranks == sorted(ranks, reverse=True)
    assert any("last merges" in text for text in plans[-1].to_use_more)


def test_the_tree_of_growing_merges_is_summed_node_by_node():
    items, fan_in, batch, growth = 4096, 4, 16, 0.7
    costs = ReductionCosts(items=items, task=1.0, merge=0.1, merge_growth=growth, message=10.0)
    costs = replace(costs, message_growth=0.9)
    tree = tree_of(costs, np.array(float(fan_in)), np.array(float(batch)))

    def node(size):
        """Time of all merges of a node of `size` items [s]."""
        return sum(0.1 * (i * size / fan_in / 2) ** growth for i in range(2, fan_in + 1))

    local = node(4) * 4 + node(16)
    levels = [64, 256, 1024, 4096]
    total = sum(items / size * node(size) for size in levels)
    assert float(tree.local) == pytest.approx(local)
    assert float(tree.merge) == pytest.approx(total / 255)
    assert float(tree.path) == pytest.approx(sum(map(node, levels)) / 3 / 4)
    sent = [(items // size, 10.0 * size**0.9) for size in (16, 64, 256, 1024)]
    moved = [count - count // fan_in for count, _ in sent]
    mean = sum(n * size for n, (_, size) in zip(moved, sent, strict=True)) / 255
    assert float(tree.message) == pytest.approx(mean)
    squares = sum(n * size**2 for n, (_, size) in zip(moved, sent, strict=True)) / 255
    assert float(tree.cv2) == pytest.approx(squares / mean**2 - 1)


def test_growing_merges_are_the_work_and_the_path_of_the_law():
    costs = ReductionCosts(items=4096, task=1e-3, merge=1e-4, merge_growth=0.8)
    shapes = Shapes(
        ranks=np.array([8.0]), pipelines=np.ones(1), fan_in=np.array([2.0]), batch=np.array([4.0])
    )
    [time] = figures_of(costs, shapes).time
    tree = tree_of(costs, np.array(2.0), np.array(4.0))
    local = 1e-4 * (2 + 2**0.8)
    merges = sum(4096 / size * 1e-4 * (size / 2) ** 0.8 for size in 2.0 ** np.arange(3, 13))
    work = 4096 * 1e-3 + 1024 * local + merges
    path = sum(1e-4 * (size / 2) ** 0.8 for size in 2.0 ** np.arange(3, 13))
    assert float(tree.local) == pytest.approx(local)
    assert time == pytest.approx(work / 8 + 7 / 8 * path)


def test_pipelines_with_channels_of_their_own_carry_more():
    heavy = {**REDUCTION, "message": "20 MB", "items": 4000}
    shared = plan_pipeline(**heavy, ranks=32)
    own = plan_pipeline(**heavy, ranks=32, channel="own")
    assert shared.best.pipelines == 1
    assert own.best.pipelines > 1
    assert own.plans[own.fastest].time < shared.plans[shared.fastest].time
    assert "--pipelines" in own.options
    split = batches(4000, own.best.ranks, batch=own.best.batch, fan_in=own.best.fan_in)
    taken = channel_time(split, service=0.02, channels=own.best.pipelines)
    assert own.best.utilisation == pytest.approx(float(taken) / own.best.time)


def test_cores_that_are_shared_bound_the_ranks():
    plan = plan_pipeline(**REDUCTION, cores=8, ranks=64)
    assert plan.best.ranks <= 8
    assert "more cores than 8" in plan.to_use_more[0] or plan.best.ranks < 8


def test_a_second_rank_does_not_take_the_plan_of_one_away():
    """With --ranks 1 there was a plan, with --ranks 2 none."""
    for ranks in (1, 2, 64):
        plan = plan_pipeline(items=100_000, task="1 us", fetch="5 ms", ranks=ranks)
        assert (plan.best.ranks, plan.best.fits) == (1, True)


@pytest.mark.parametrize("per_node", [1, 3, 64])
def test_fewer_ranks_are_tried_wherever_more_are(per_node):
    tried = [set(counts_up_to(most, per_node).tolist()) for most in (1, 2, 127, 129, 999, 4096)]
    assert all(fewer <= more for fewer, more in pairwise(tried))
    assert all(2**i in tried[-1] or 2**i % per_node for i in range(13))


def test_whole_nodes_are_planned():
    plan = plan_pipeline(**REDUCTION, ranks=100, per_node=16)
    ranks = [x.ranks for x in plan.plans]
    assert ranks == [*range(1, 17), 32, 48, 64, 80, 96]
    assert plan.nodes == -(-plan.best.ranks // 16)
    assert f"{plan.best.ranks} ranks on {plan.nodes} nodes" in plan.to_sheet().title


def test_limits_of_time_and_efficiency():
    free = plan_pipeline(**REDUCTION, ranks=64)
    within = plan_pipeline(**REDUCTION, ranks=64, within=2.0)
    assert within.best.time <= 2.0
    assert within.best.ranks < free.best.ranks
    fewer = next(x for x in within.plans if x.ranks == within.best.ranks - 1)
    assert fewer.time > 2.0
    efficient = plan_pipeline(**REDUCTION, ranks=64, efficiency=0.9)
    assert efficient.best.efficiency >= 0.9
    assert all(x.efficiency >= 0.9 for x in efficient.plans if x.fits)
    doubtful = REDUCTION | {"task": "5 ms +- 20%"}
    unsure = plan_pipeline(**doubtful, ranks=64, within=2.0)
    assert unsure.best.upper <= 2.0  # as `match` asks for
    assert unsure.best.ranks > within.best.ranks
    short = plan_pipeline(**doubtful, ranks=within.best.ranks, within=2.0)
    assert short.best is None
    assert short.verdict[0].startswith("no balanced plan keeps 2 s surely: with ")
    none = plan_pipeline(**REDUCTION, ranks=64, within=0.01)
    assert none.best is None
    assert none.verdict[0].startswith("the least time of a balanced plan is ")
    both = plan_pipeline(**REDUCTION, ranks=64, within=1.0, efficiency=0.999)
    assert both.best is None
    assert both.verdict[0].startswith("the highest efficiency within the time is ")


def test_uncertain_costs_give_an_interval():
    plan = plan_pipeline(items=10_000, task="5 ms +- 10%", merge="0.1 ms", ranks=8)
    best = plan.best
    assert best.time / 1.11 < best.lower < best.time / 1.08
    assert best.time * 1.08 < best.upper < best.time * 1.11
    again = plan_pipeline(items=10_000, task="5 ms +- 10%", merge="0.1 ms", ranks=8)
    assert (again.best.lower, again.best.upper) == (best.lower, best.upper)
    sure = plan_pipeline(items=10_000, task="5 ms", merge="0.1 ms", ranks=8).best
    assert sure.lower == sure.time == sure.upper


def test_arguments_are_those_of_a_run():
    plan = plan_pipeline(items=64, task="5 ms", overhead="1 ms", ranks=2)
    assert set(plan.arguments) == {"ranks", "pipelines", "fan_in", "batch"}
    given = {**plan.arguments, "ranks": None}  # in this process
    given["pipelines"] = 1
    assert parcast.run_pipeline(range(64), float, "sum", **given).value == 2016.0
    source = plan_pipeline(items=640, task="5 ms", ranks=8, schedule="source")
    assert source.arguments == {"ranks": 8, "pipelines": 1, "schedule": "source"}
    assert source.options == "-np 8 --schedule source"


def test_memory_is_what_waits_on_a_path_of_the_tree_and_the_total():
    costs = {"items": 1024, "task": "5 ms", "message": "1 MB", "ranks": 4}
    plan = plan_pipeline(**costs, growth=1.0)
    for each in plan.plans[1:]:
        sizes = [each.batch]
        while sizes[-1] * each.fan_in < 1024:
            sizes.append(sizes[-1] * each.fan_in)
        if sizes[-1] * each.fan_in == 1024:
            waiting = (each.fan_in - 1) * sum(sizes)
            assert each.memory == pytest.approx(1e6 * (waiting + 1024))
    assert plan_pipeline(**costs).best.memory == pytest.approx(11e6)  # 10 levels, batches of 1


def test_one_rank_is_a_plan_where_no_other_is_faster():
    plan = plan_pipeline(items=4, task="1 ms", overhead="2 ms", ranks=2)
    assert plan.plans[1].is_balanced
    assert plan.plans[1].time > plan.plans[0].time
    assert plan.best.ranks == 1
    assert "no balanced plan of several ranks is faster than one rank" in plan.reasons
    assert plan_pipeline(items=100, task="1 ms", ranks=1).best.ranks == 1
    assert plan_pipeline(items=1, task="1 ms", ranks=8).best.ranks == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": "5 ms"}, "items must be given"),
        ({"items": 10}, "task must be given"),
        ({"items": 10, "task": "0 s"}, "task must be above 0"),
        ({"items": 10, "task": "5"}, 'task must be a time such as "150 us", got "5"'),
        ({"items": 10, "task": "5 ms * p"}, "task must be one value for all plans, got a formula"),
        ({"items": 0, "task": 1.0}, "items must be"),
        ({"items": 10, "task": 1.0, "growth": -1}, "growth must lie between 0 and 3"),
        ({"items": 10, "task": 1.0, "ranks": 0}, "ranks must be"),
        ({"items": 10, "task": 1.0, "ranks": 10**9}, "ranks must be at most 100000"),
        ({"items": 10, "task": 1.0, "per_node": 0}, "per_node must be"),
        ({"items": 10, "task": 1.0, "efficiency": 1.5}, "efficiency must be above 0 and at most"),
        ({"items": 10, "task": 1.0, "within": -1.0}, "within must be above 0"),
        ({"items": 10, "task": 1.0, "schedule": "other"}, 'schedule must be "adaptive" or'),
        ({"items": 10, "task": 1.0, "channel": "none"}, 'channel must be "own" or "shared"'),
        ({"items": 10, "task": 1.0, "cores": 0}, "cores must be"),
        ({"items": 10, "task": 1.0, "bandwidth": 0.0}, "bandwidth must be above 0"),
    ],
)
def test_what_cannot_be_planned_is_refused(given, message):
    with pytest.raises(parcast.ParameterError) as refusal:
        plan_pipeline(**given)
    assert message in str(refusal.value)


def test_the_law_is_reached_without_a_channel():
    costs = ReductionCosts.of(items=3000, task=5e-3, merge=4e-4)
    shapes = Shapes(
        ranks=np.array([7.0]), pipelines=np.ones(1), fan_in=np.array([2.0]), batch=np.array([4.0])
    )
    law = adaptive_time(3000, 7, task=5e-3, merge=4e-4, batch=4, fan_in=2).time
    assert float(figures_of(costs, shapes).time[0]) == pytest.approx(float(law))
