"""`plan_pipeline`: the ranks, pipelines, fan-in and batch of the least balanced time."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.alternatives import best_first
from parcast.errors import ParameterError, as_number, as_whole, require
from parcast.pipeline.planning.costs import ReductionCosts
from parcast.pipeline.planning.from_trace import Clock
from parcast.pipeline.planning.grid import (
    STAGES,
    Shapes,
    StageFigures,
    counts_up_to,
    figures_of,
    shapes_of,
)
from parcast.pipeline.planning.reasons import (
    advice_for,
    beyond_the_run,
    limits_of,
    reasons_of,
    unbalanced,
    verdict_of,
    warnings_of,
)
from parcast.pipeline.planning.result import Curves, PipelinePlan, PlanLimits, RankPlan
from parcast.pipeline.planning.sources import KnownCosts, costs_of

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program
    from parcast.pipeline.traces.trace import Trace

CLOSE: Final = 0.05  # of the least time, for which fewer ranks are recommended
EQUAL: Final = 0.005  # times as near as this count as equal: the simpler plan is chosen
MOST_RANKS: Final = 1024  # that are tried by default
LARGEST: Final = 100_000


def plan_pipeline(
    source: Program | Trace | str | PathLike[str] | None = None,
    machine: Machine | str | PathLike[str] | None = None,
    *,
    n: float | None = None,
    items: int | None = None,
    task: str | float | None = None,
    merge: str | float | None = None,
    message: str | float | None = None,
    growth: float | None = None,
    fetch: str | float | None = None,
    overhead: str | float | None = None,
    startup: str | float | None = None,
    bandwidth: str | float | None = None,
    latency: str | float | None = None,
    cores: int | None = None,
    channel: Literal["own", "shared"] | None = None,
    schedule: Literal["adaptive", "source"] | None = None,
    clock: Clock | None = None,
    ranks: int | None = None,
    per_node: int | None = None,
    within: float | None = None,
    efficiency: float | None = None,
    samples: int = 256,
    seed: int = 0,
) -> PipelinePlan:
    """Choose ranks, pipelines, fan-in and batch of a pipeline, so that its stages are balanced.

    Plans of up to `ranks` are evaluated by the law of the pipeline: of every number of ranks up to
    128, and of 64 numbers in each doubling above. Of those in which no stage (merges, messages,
    fetching) takes longer than the task, the one of the least time with the fewest ranks within
    5% of it is recommended; one rank always is such a plan. Give the costs as numbers, in a
    program file with a phase of ``law = "pipeline"``, or by the trace of a small run; numbers
    replace what a file or a trace says.

    Parameters
    ----------
    source : Program, Trace or path, optional
        A program with one pipeline, or the trace of a run (``.jsonl``, ``.jsonl.gz``).
    machine : Machine or path, optional
        A machine, of which the bandwidth and latency of the network are used.
    n : float, optional
        Problem size, where formulas of the program use n. [1]
    items : int, optional
        Items to reduce, N; by default those of the program or of the traced run. [1]
    task : str or float
        Time of the task of an item, such as "5 ms" or "5 ms +- 10%". [s]
    merge : str or float, default 0
        Time of a merge of the results of two items. [s]
    message : str or float, default 0
        Size of the result of an item, which messages carry. [B]
    growth : float, default 0
        Exponent with which messages and merges grow with the items in a result: 0 for sums, 1 for
        concatenated results, between them for lexicons. A trace gives each its own. [1]
    fetch : str or float, default 0
        Time in which rank 0 takes an item from the input. [s]
    overhead : str or float, default 0
        Processor time of a message. [s]
    startup : str or float, default 0
        Time before the first item. [s]
    bandwidth, latency : str or float, optional
        Of the channel of messages; by default unlimited [B/s] and 0 [s].
    cores : int, optional
        Cores that all ranks share; by default each rank has its own, and with a trace there are no
        more ranks than cores of the traced run, unless `per_node` is given. [1]
    channel : {"own", "shared"}, optional
        Whether each pipeline has a channel, such as a node of its own, or all share one. By
        default that of the program, or "shared".
    schedule : {"adaptive", "source"}, optional
        Schedule of the run. "source", the published one, takes pipelines of a power of two and no
        batches. By default "adaptive", or that of the program.
    clock : {"wall", "processor"}, optional
        Times of a trace that are used. By default those of the processor where ranks shared cores,
        else wall times, in which waits for files count.
    ranks : int, default 1024
        Most ranks. [1]
    per_node : int, optional
        Ranks of a node. Plans of several nodes use whole ones, and the answer names them. [1]
    within : float, optional
        Longest time allowed: the plan of the fewest ranks whose 90% interval ends within it is
        recommended. [s]
    efficiency : float, optional
        Least efficiency allowed. Where faster messages or fetches make one rank faster as well,
        fewer ranks may reach it. [1]
    samples : int, default 256
        Samples of uncertain costs for the interval. [1]
    seed : int, default 0
        Seed of the samples.

    Returns
    -------
    PipelinePlan
        ``best``, ``arguments`` (of `run_pipeline`), ``plans`` (the best one for each number of
        ranks), ``reasons`` and ``to_use_more``. If no plan is balanced within the limits,
        ``best`` is None and ``verdict`` says why.

    Raises
    ------
    ParameterError
        If a cost is missing or lies outside its domain.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> import parcast
    >>> plan = parcast.plan_pipeline(items=100_000, task="5 ms", merge="0.2 ms", ranks=16)
    >>> plan.arguments
    {'ranks': 16, 'pipelines': 1, 'fan_in': 2, 'batch': 1}
    >>> round(plan.best.time, 1)
    32.5
    """
    limits = PlanLimits(
        ranks=_most("ranks", MOST_RANKS if ranks is None else ranks),
        per_node=None if per_node is None else _most("per_node", per_node),
        within=_limit("within", within, np.inf),
        efficiency=_limit("efficiency", efficiency, 1.0),
    )
    sampling = (
        as_whole("samples", samples, least=2, hint="256 are usual."),
        as_whole("seed", seed, least=0, hint="Use any such number."),
    )
    given = {
        **{"items": items, "task": task, "merge": merge, "message": message, "fetch": fetch},
        **{"overhead": overhead, "startup": startup, "bandwidth": bandwidth, "latency": latency},
        **{"cores": cores, "growth": growth, "channel": channel, "schedule": schedule},
    }
    return _planned(costs_of(source, machine, n=n, clock=clock, **given), limits, sampling)


def _planned(known: KnownCosts, limits: PlanLimits, sampling: tuple[int, int]) -> PipelinePlan:
    costs, own = known.costs, known.schedule
    if known.measured is not None and costs.cores is None and limits.per_node is None:
        most = min(limits.ranks, known.measured)
        limits = replace(limits, ranks=most, measured=known.measured)
    each = limits.per_node or 1
    most = min(limits.ranks, -(-costs.items // each) * each)  # that have an item
    shapes = shapes_of(costs.items, counts_up_to(most, each), own)
    figures = figures_of(costs, shapes, own)
    balanced, meets = figures.is_balanced, _meeting(costs, shapes, figures, limits)
    rows = _best_of_each(shapes, figures, balanced & meets, balanced)
    plans = _plans(costs, shapes[rows], own, (meets & balanced)[rows], sampling)
    if limits.within is not None:  # surely, as `match` asks for
        plans = tuple(replace(x, fits=x.fits and x.upper <= limits.within) for x in plans)
    several = np.flatnonzero(shapes.ranks > 1)
    nearest = None
    if len(several) and not balanced[several].any():
        at = several[[np.argmin(figures.ratio[several])]]
        [nearest] = _plans(costs, shapes[at], own, np.zeros(1, dtype=bool), sampling)
    chosen, fastest = _recommended(plans, by_ranks=limits.within is not None)
    best = None if chosen is None else plans[chosen]
    reasons = to_use_more = verdict = tuple[str, ...]()
    if best is None or fastest is None:
        verdict = (*verdict_of(plans, limits), *unbalanced(nearest), *advice_for(nearest))
    elif nearest is not None:
        reasons, to_use_more = tuple(unbalanced(nearest)), tuple(advice_for(nearest))
    else:
        reasons = tuple(reasons_of(costs, own, best, plans[fastest], limits))
        to_use_more = tuple(limits_of(costs, own, best, _twice(costs, own, best), limits))
    shown = nearest or best
    return PipelinePlan(
        costs=costs,
        schedule=own,
        plans=plans,
        chosen=chosen,
        fastest=fastest,
        nearest=nearest,
        limits=limits,
        reasons=reasons,
        to_use_more=to_use_more,
        verdict=verdict,
        curves=None if shown is None else _curves(costs, own, shown, plans),
        origins=known.origins,
        warnings=(
            *known.warnings,
            *warnings_of(costs, shown),
            *beyond_the_run(shown, known.measured),
        ),
        inputs=known.inputs,
    )


def _twice(costs: ReductionCosts, schedule: str, plan: RankPlan) -> RankPlan:
    shapes = shapes_of(costs.items, np.array([2 * plan.ranks]), schedule)
    figures = figures_of(costs, shapes, schedule)
    rows = _best_of_each(shapes, figures, figures.is_balanced, figures.is_balanced)
    [found] = _plans(replace(costs, spreads={}), shapes[rows], schedule, np.ones(1, bool), (2, 0))
    return found


def _meeting(
    costs: ReductionCosts, shapes: Shapes, figures: StageFigures, limits: PlanLimits
) -> NDArray[np.bool_]:
    """Whether plans meet the limits other than of their times."""
    if limits.efficiency is None:
        return np.ones(len(shapes), dtype=bool)
    efficiency = costs.on_one / figures.time / _cores(costs, shapes)
    return np.asarray(efficiency >= limits.efficiency)


def _cores(costs: ReductionCosts, shapes: Shapes) -> Array:
    return shapes.ranks if costs.cores is None else np.minimum(shapes.ranks, costs.cores)


def _most(name: str, value: Any) -> int:
    count = as_whole(name, value, least=1, hint="Count ranks from 1.")
    require(name, count, count <= LARGEST, must=f"be at most {LARGEST}", hint="Give fewer.")
    return count


def _limit(name: str, value: Any, most: float) -> float | None:
    if value is None:
        return None
    number = as_number(name, value, hint="Or leave it out.")
    if not 0 < number <= most:
        must = "be above 0" if np.isinf(most) else f"be above 0 and at most {most:g}"
        raise ParameterError(name, must=must, got=f"{number:g}", hint="Or leave it out.")
    return number


def _best_of_each(
    shapes: Shapes, figures: StageFigures, fits: NDArray[np.bool_], balanced: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Places of the best plan of each number of ranks.

    It is the one of the least time that fits; of those that are equally fast the simplest one.
    Where none fits, it is the fastest that is balanced, or else the nearest to balance.
    """
    tier = np.where(fits, 0, np.where(balanced, 1, 2))
    cost = np.where(tier < 2, figures.time, figures.ratio)
    ranks, where = np.unique(shapes.ranks, return_inverse=True)
    lowest = np.full(len(ranks), 9)
    np.minimum.at(lowest, where, tier)
    of_tier = tier == lowest[where]
    least = np.full(len(ranks), np.inf)
    np.minimum.at(least, where, np.where(of_tier, cost, np.inf))
    near = np.flatnonzero(of_tier & (cost <= least[where] * (1.0 + EQUAL)))
    order = near[
        np.lexsort(
            (
                cost[near],
                shapes.batch[near],
                shapes.fan_in[near],
                shapes.pipelines[near],
                where[near],
            )
        )
    ]
    _, first = np.unique(where[order], return_index=True)
    return np.asarray(order[first])


def _plans(
    costs: ReductionCosts,
    shapes: Shapes,
    schedule: str,
    fits: NDArray[np.bool_],
    sampling: tuple[int, int],
) -> tuple[RankPlan, ...]:
    """Give plans with all their figures and intervals, from so many samples and a seed."""
    figures = figures_of(costs, shapes, schedule)
    lower = upper = figures.time
    if costs.spreads:
        drawn = figures_of(costs.samples(*sampling), shapes, schedule).time
        # The middle of the samples may lie beside the time of the middle costs.
        low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
        lower, upper = np.minimum(low, figures.time), np.maximum(high, figures.time)
    speedup = costs.on_one / figures.time
    cores = _cores(costs, shapes)
    stages = {name: np.broadcast_to(getattr(figures, name), lower.shape) for name in STAGES}
    balanced = figures.is_balanced
    return tuple(
        RankPlan(
            ranks=int(shapes.ranks[i]),
            pipelines=int(shapes.pipelines[i]),
            fan_in=int(shapes.fan_in[i]),
            batch=int(shapes.batch[i]),
            time=float(figures.time[i]),
            lower=float(lower[i]),
            upper=float(upper[i]),
            speedup=float(speedup[i]),
            efficiency=float(speedup[i] / cores[i]),
            stages={name: float(stages[name][i]) for name in STAGES},
            utilisation=float(figures.utilisation[i]),
            memory=float(figures.memory[i]),
            is_balanced=bool(balanced[i]),
            fits=bool(fits[i]),
        )
        for i in range(len(shapes))
    )


def _recommended(plans: tuple[RankPlan, ...], *, by_ranks: bool) -> tuple[int | None, int | None]:
    """Places of the recommended plan and of the fastest one.

    Recommended are the fewest ranks within 5% of the least time, or of all that meet a limit.
    """
    fits = np.array([plan.fits for plan in plans])
    if not fits.any():
        return None, None
    times, ranks = [plan.time for plan in plans], [plan.ranks for plan in plans]
    close = np.inf if by_ranks else CLOSE
    chosen = best_first(times, ranks, fits=fits, close=close)[0]
    return int(chosen), int(best_first(times, ranks, fits=fits)[0])


def _curves(
    costs: ReductionCosts, schedule: str, plan: RankPlan, plans: tuple[RankPlan, ...]
) -> Curves:
    """Stages of a plan at other numbers of ranks.

    Of the published schedule they are those of one pipeline, which differ in no other number.
    """
    several = [each for each in plans if each.ranks > 1] or [plan]
    if schedule == "source":
        several = [each for each in several if each.pipelines == 1]
        return Curves(
            ranks=np.array([float(each.ranks) for each in several]),
            stages={name: np.array([each.stages[name] for each in several]) for name in STAGES},
        )
    ranks = np.array(
        [float(x.ranks) for x in several if x.ranks >= 2 * plan.pipelines or x is plan]
    )
    ones = np.ones(len(ranks))
    shapes = Shapes(
        ranks=ranks,
        pipelines=ones * plan.pipelines,
        fan_in=ones * plan.fan_in,
        batch=ones * plan.batch,
    )
    figures = figures_of(costs, shapes, schedule)
    stages = {name: np.broadcast_to(getattr(figures, name), ones.shape) for name in STAGES}
    return Curves(ranks=ranks, stages=stages)
