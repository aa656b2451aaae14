"""Costs of a pipeline from the trace of a small run.

By default times are those of the processor where ranks shared cores, and wall times otherwise, so
that waits for files count. Merges and messages are fitted by powers of the items in a result: by
the medians of all results of equally many items, weighted by the square root of their number, on
logarithmic scales. The power then gives the time that all merges of the run took together.

A message takes latency and size over bandwidth: the lower quartiles of its delays, since most wait
for a rank that is busy. Its processor time is what lies between a task or a merge and the next one
of a rank: the median gap, times the tasks and merges over the messages that the law counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90
from parcast.errors import FitFailed
from parcast.numerics import fit_non_negative
from parcast.pipeline.law.adaptive import batches
from parcast.pipeline.planning.costs import MOST_GROWTH, ReductionCosts, tree_of
from parcast.pipeline.traces.trace import Trace, reductions_of
from parcast.units import format_quantity, percent
from parcast.words import counted

Clock: TypeAlias = Literal["wall", "processor"]
FEW: Final = 8  # results below which a growth is not fitted
FEWEST: Final = 3  # different sizes of results, for the same
SHORTEST: Final = 1e-9  # a time that a clock tells [s]
QUARTILE: Final = 0.25
LEAST_TASK: Final = 0.05  # of the time of a batch that is its tasks, whatever its merges take
BUSY: Final = 0.9  # of a core, that tasks use if they wait for nothing
BINS: Final = 8  # of message sizes


class Power(NamedTuple):
    """y = value * x^growth, with the half-widths of 90% intervals."""

    value: float
    growth: float
    spread: float  # of the value, over it [1]
    width: float | None  # of the growth; None: it was not fitted


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedCosts:
    """Costs of a run."""

    costs: dict[str, Any]
    origins: tuple[str, ...]
    warnings: tuple[str, ...]
    largest: int  # items of a result that was merged; 0: none [1]
    cores: int  # that the ranks could use [1]


def measured_costs(trace: Trace, clock: Clock | None = None) -> TracedCosts:
    """Take the costs of a run from its trace, by a clock or the one that suits the run.

    Those of several reductions are added: an item, a merge and a message then stand for one of
    each, and the time of the plan is that of all of them.
    """
    parts = reductions_of(trace)
    measured = [_measured(part, clock) for part in parts]
    if len(parts) == 1:
        return measured[0]
    return _added(measured, [part.header.program for part in parts])


def _measured(trace: Trace, clock: Clock | None) -> TracedCosts:
    header = trace.header
    if not len(trace.tasks):
        raise FitFailed("The trace has no task. Trace a run of some items.", outcome="No plan.")
    if clock is None:
        clock = "processor" if header.ranks > header.cores else "wall"
    merge = _merge(trace, clock)
    message = _message(trace)
    work, items = _spent(trace.tasks, clock), _length(trace.tasks)
    count = int(items.sum())
    local = _local(merge, header.fan_in, items)
    task = max(work.sum() - local, LEAST_TASK * work.sum()) / count
    each = work / items
    known = len(each) > 1 and each.mean() > 0
    error = float(stats.sem(each) / each.mean()) if known else 0.0
    spreads = {
        "task": min(NORMAL_90 * error, 1.0),
        "merge": merge.spread,
        "message": message.spread,
    }
    spreads |= {
        f"{name}_growth": x.width
        for name, x in (("merge", merge), ("message", message))
        if x.width is not None
    }
    latency, bandwidth = _channel(trace)
    costs: dict[str, Any] = {
        "items": header.items if header.items else count,
        "task": max(task, SHORTEST),
        "merge": merge.value,
        "merge_growth": merge.growth,
        "message": message.value,
        "message_growth": message.growth,
        "fetch": _fetch(trace),
        "overhead": _overhead(trace),
        "startup": _startup(trace),
        "latency": latency,
        "spreads": spreads,
    }
    if bandwidth is not None:
        costs["bandwidth"] = bandwidth
    return TracedCosts(
        costs=costs,
        origins=tuple(_origins(trace, clock, costs, merge, message)),
        warnings=tuple(_warnings(trace, clock, merge)),
        largest=int(_length(trace.merges).max()) if len(trace.merges) else 0,
        cores=header.cores,
    )


def _added(measured: Sequence[TracedCosts], programs: Sequence[str]) -> TracedCosts:
    each = [part.costs for part in measured]
    largest = max(part.largest for part in measured)
    costs = dict(each[0])
    for name in ("task", "merge", "message", "fetch", "overhead", "startup", "latency"):
        costs[name] = sum(x[name] for x in each)
    for name in ("merge", "message"):
        costs[f"{name}_growth"] = _growth([(x[name], x[f"{name}_growth"]) for x in each], largest)
    costs.pop("bandwidth", None)
    transfer = sum(x["message"] / x["bandwidth"] for x in each if "bandwidth" in x)
    if transfer > 0:
        costs["bandwidth"] = costs["message"] / transfer
    costs["spreads"] = _spreads(each, costs)
    origins = zip(programs, measured, strict=True)
    return TracedCosts(
        costs=costs,
        origins=tuple(f"{name}: {text}" for name, part in origins for text in part.origins),
        warnings=tuple(dict.fromkeys(text for part in measured for text in part.warnings)),
        largest=largest,
        cores=measured[0].cores,
    )


def _growth(powers: Sequence[tuple[float, float]], largest: int) -> float:
    """Growth of a sum of powers of the items, between one item and the largest result."""
    if largest < 2 or not sum(value for value, _ in powers):
        return 0.0
    at_largest = sum(value * float(largest) ** growth for value, growth in powers)
    return float(np.log(at_largest / sum(value for value, _ in powers)) / np.log(largest))


def _spreads(each: Sequence[dict[str, Any]], costs: dict[str, Any]) -> dict[str, float]:
    """Relative half-widths of sums, and the largest half-widths of growths."""
    spreads: dict[str, float] = {}
    for name in {name for x in each for name in x["spreads"]}:
        own = [x["spreads"].get(name, 0.0) for x in each]
        if name.endswith("_growth"):
            spreads[name] = max(own)
        elif costs[name]:
            parts = [x[name] * spread for x, spread in zip(each, own, strict=True)]
            spreads[name] = float(np.linalg.norm(parts)) / costs[name]
    return spreads


def fit_power(x: Array, y: Array) -> Power:
    """Fit y = c*x^g, g at least 0, by the medians of equal x; the sum of all y is kept.

    >>> x = np.repeat([2.0, 4.0, 8.0, 16.0], [16, 8, 4, 2])
    >>> [round(z, 3) for z in fit_power(x, 0.5 * x**0.7)[:2]]
    [0.5, 0.7]
    """
    y = np.maximum(y, SHORTEST)
    sizes, where, number = np.unique(x, return_inverse=True, return_counts=True)
    growth, width = 0.0, None
    if len(x) >= FEW and len(sizes) >= FEWEST:
        medians = np.log([np.median(y[where == i]) for i in range(len(sizes))])
        places, weights = np.log(sizes), np.sqrt(number)
        middle = np.average(places, weights=weights)
        beside = places - middle
        total = float(np.sum(weights * beside**2))
        slope = float(np.sum(weights * beside * medians)) / total
        rest = medians - np.average(medians, weights=weights) - slope * beside
        freedom = len(sizes) - 2
        variance = float(np.sum(weights * rest**2)) / freedom / total
        growth = min(max(slope, 0.0), MOST_GROWTH)
        width = min(float(stats.t.ppf(0.95, freedom)) * variance**0.5, MOST_GROWTH)
    shape = x**growth
    value = float(y.sum() / shape.sum())
    spread = 0.0
    if len(x) > 1:
        spread = min(NORMAL_90 * float(stats.sem(y / shape) / np.mean(y / shape)), 1.0)
    return Power(value, growth, spread, width)


def _spent(events: Any, clock: Clock) -> Array:
    wall = events["end"] - events["start"]
    return np.asarray(events["processor"] if clock == "processor" else wall, dtype=np.float64)


def _length(events: Any) -> Array:
    return np.asarray(events["stop"] - events["first"], dtype=np.float64)


def _merge(trace: Trace, clock: Clock) -> Power:
    """Time of a merge of the results of two items, and its growth; 0 where there was none."""
    merges = trace.merges
    some = merges[merges["inputs"] > 1]
    if not len(some):
        return Power(0.0, 0.0, 0.0, None)
    inputs = np.asarray(some["inputs"], dtype=np.float64)
    # Inputs join one after another: the mean merge of a node is into (f + 2)/(2 f) of its items.
    items = _length(some) * (inputs + 2.0) / (2.0 * inputs)
    return fit_power(np.maximum(items, 2.0) / 2.0, _spent(some, clock) / (inputs - 1.0))


def _message(trace: Trace) -> Power:
    """Size of the result of an item, and its growth; 0 where none moved."""
    sent = trace.messages
    if not len(sent):
        sent = trace.deliveries
    if not len(sent):
        return Power(0.0, 0.0, 0.0, None)
    return fit_power(np.maximum(_length(sent), 1.0), np.asarray(sent["bytes"], dtype=np.float64))


def _local(merge: Power, fan_in: int, items: Array) -> float:
    """Time of the merges within the batches of a run [s]."""
    if not merge.value:
        return 0.0
    sizes, number = np.unique(items, return_counts=True)
    largest = int(sizes.max())
    costs = ReductionCosts(items=largest, task=1.0, merge=merge.value, merge_growth=merge.growth)
    tree = tree_of(costs, np.full(len(sizes), float(fan_in)), sizes)
    return float(np.sum(np.broadcast_to(tree.local, sizes.shape) * number))


def _channel(trace: Trace) -> tuple[float, float | None]:
    """Latency [s] and bandwidth [B/s] of messages; None where delays do not grow with sizes."""
    sent = trace.messages
    if not len(sent):
        return 0.0, None
    delay = np.maximum(sent["received"] - sent["sent"], 0.0)
    size = np.maximum(np.asarray(sent["bytes"], dtype=np.float64), 1.0)
    order = np.argsort(size, kind="stable")
    parts = np.array_split(order, min(BINS, max(len(order) // FEW, 1)))
    quick = np.array([np.quantile(delay[part], QUARTILE) for part in parts])
    small = np.array([np.quantile(size[part], QUARTILE) for part in parts])
    if len(parts) < FEWEST or small[-1] < 2 * small[0] or np.any(quick <= 0):
        return float(np.quantile(delay, QUARTILE)), None
    fitted = fit_non_negative(np.stack([np.ones(len(parts)), small], axis=1), quick)
    latency, slope = (float(x) for x in fitted.coefficients)
    return latency, 1.0 / slope if slope > 0 else None


def _overhead(trace: Trace) -> float:
    """Processor time of a message [s]."""
    ranks = trace.header.ranks
    if ranks == 1:
        return 0.0
    work = [(x["rank"], x["start"], x["end"]) for x in (trace.tasks, trace.merges)]
    rank, start, end = (np.concatenate(x) for x in zip(*work, strict=True))
    order = np.lexsort((start, rank))
    same = rank[order][1:] == rank[order][:-1]
    gaps = (start[order][1:] - end[order][:-1])[same]
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return 0.0
    number = len(trace.tasks)
    messages = batches(number, ranks).messages
    return float(np.median(gaps)) * len(rank) / float(messages)


def _fetch(trace: Trace) -> float:
    fetches = trace.fetches
    count = int(fetches["items"].sum()) if len(fetches) else 0
    return float(np.sum(fetches["end"] - fetches["start"])) / count if count else 0.0


def _startup(trace: Trace) -> float:
    firsts = [x["start"].min() for x in (trace.fetches, trace.tasks) if len(x)]
    return max(float(min(firsts)), 0.0)


def _origins(
    trace: Trace, clock: Clock, costs: dict[str, Any], merge: Power, message: Power
) -> Iterator[str]:
    header = trace.header
    ranks = counted(header.ranks, "rank")
    times = "processor times" if clock == "processor" else "wall times"
    yield f"{times} of a run of {int(_length(trace.tasks).sum())} items on {ranks}"
    if len(trace.merges):
        text = f"merges {_grow(merge)}, fitted to {len(trace.merges)}"
        yield text if merge.width is not None else f"merges of constant time, {len(trace.merges)}"
    if message.value:
        yield f"results {_grow(message)}" if message.width is not None else "results of one size"
    if len(trace.messages):
        text = f"messages: latency {format_quantity(costs['latency'], 'time', 2)}"
        if "bandwidth" in costs:
            text += f", bandwidth {format_quantity(costs['bandwidth'], 'rate', 2)}"
        yield f"{text}, {format_quantity(costs['overhead'], 'time', 2)} of a processor each"


def _grow(power: Power) -> str:
    width = power.width or 0.0
    low, high = max(power.growth - width, 0.0), power.growth + width
    return f"grow as items^{power.growth:.2f} ({low:.2f} to {high:.2f})"


def _warnings(trace: Trace, clock: Clock, merge: Power) -> Iterator[str]:
    header = trace.header
    if header.ranks == 1:
        yield (
            "The run had one rank and no messages: give their latency and bandwidth, or trace a "
            "run on 2 ranks."
        )
    if header.ranks > header.cores:
        cores = counted(header.cores, "core")
        yield (
            f"In the traced run {header.ranks} ranks shared {cores}: delays of messages may be "
            "too long. Trace a run with a core for each rank."
        )
    elif clock == "wall":
        spent = float(_spent(trace.tasks, "processor").sum())
        share = spent / max(float(_spent(trace.tasks, "wall").sum()), SHORTEST)
        if 0 < share < BUSY:
            yield (
                f"The traced tasks used {percent(share)} of a core: they waited for files, or "
                "other programs used the cores. In the latter case plan by processor times."
            )
    if merge.width is None and len(trace.merges):
        yield (
            "Too few merges of different sizes to fit how merges grow: constant times are "
            "assumed. Trace more items."
        )
