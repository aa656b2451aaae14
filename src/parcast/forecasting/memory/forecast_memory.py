"""Memory at other processor counts, forecast from what runs at a few counts had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from parcast.advice import ours
from parcast.aliases import Array
from parcast.errors import Argument, FitFailed, ParameterError, ParcastError, as_numbers, as_whole
from parcast.forecasting.memory.curves import (
    RANK,
    TOTAL,
    MemoryAt,
    MemoryCurve,
    curve_along_p,
    curve_over_sizes,
)
from parcast.forecasting.memory.nodes import Both, NodeMemory, NodesNeeded, nodes_needed
from parcast.forecasting.memory.notes import notes_of
from parcast.forecasting.memory.result import MemoryForecast
from parcast.forecasting.series.question import ForecastQuestion, question_of
from parcast.saved.call import Call
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.timings.series import label_of
from parcast.units import quantity
from parcast.words import whole

OUTCOME = "No forecast of memory."
Keys = list[dict[str, str | float]]


def forecast_memory(
    measurements: MeasurementsLike,
    p: ArrayLike | None = None,
    *,
    hold_out: ArrayLike | None = None,
    by: Sequence[str] | None = None,
    node_memory: float | str | None = None,
    ranks_per_node: int | None = None,
    **at: ArrayLike,
) -> MemoryForecast:
    """Forecast memory of a rank and of all ranks at processor counts `p`.

    Parameters
    ----------
    measurements, p, hold_out, by
        As for `parcast.forecast`. The runs need the column `memory_B` or `memory_total_B`.
    node_memory : float or str, optional
        Memory of a node that programs can use, such as ``"256 GB"``; with `ranks_per_node` the
        fewest nodes that fit are found. [B]
    ranks_per_node : int, optional
        Ranks on each node. [1]
    **at : float or array_like
        Values of one other axis, such as ``n=[1000, 2000]``, above 0.

    Returns
    -------
    MemoryForecast
        Memory [B] with 90% intervals; with a node, the probability of running out of it [1], and
        the fewest nodes that fit.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or the runs have no memory.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    FitFailed
        If no series has memory at two processor counts.

    Examples
    --------
    >>> import parcast
    >>> runs = {"p": [1, 2, 4, 8], "time": [8.0, 4.0, 2.0, 1.0]}
    >>> runs["memory_B"] = [8.1e9, 4.1e9, 2.1e9, 1.1e9]
    >>> runs["memory_total_B"] = [8.1e9, 8.2e9, 8.4e9, 8.8e9]
    >>> told = parcast.forecast_memory(runs, [16], node_memory="4 GB", ranks_per_node=4)
    >>> (told.memory / 1e9).round(1), told.nodes[0].p
    (array([0.6]), 12)
    """
    question = question_of(forecast_memory, measurements, p, hold_out=hold_out, by=by, at=at)
    node = _node(node_memory, ranks_per_node)
    require_memory(question.measurements)
    curves, keys, refused = _matched(question)
    counts = np.ravel(question.p)
    both = _both_at(curves, counts)
    first = curves[0] or curves[1]
    assert first is not None
    by_columns = first.series.by
    shape = (len(keys), *question.p.shape) if by_columns else question.p.shape

    def shaped(given: Array | None) -> Array:
        """Give an answer the shape that was asked for, NaN where it is not known."""
        unknown = np.full((len(keys), len(counts)), np.nan)
        return np.reshape(unknown if given is None else given, shape)

    rank, total = (MemoryAt(*map(shaped, (None,) * 3 if x is None else x)) for x in both)
    observed, observed_total = map(shaped, _observed(question, keys, counts))
    nodes: list[NodesNeeded] = []
    if node is not None:
        upto = int(max(counts.max(), question.measurements.p.max()))
        nodes = nodes_needed(node, keys, lambda x: _both_at(curves, x), upto)
    known = [x for x in both if x is not None]
    has_total = TOTAL in question.measurements.memory
    return MemoryForecast(
        p=question.p,
        memory=rank.value,
        lower=rank.lower,
        upper=rank.upper,
        total=total.value,
        total_lower=total.lower,
        total_upper=total.upper,
        reach=shaped(first.curve(counts).reach),
        observed=observed,
        observed_total=observed_total,
        by=by_columns,
        notes=tuple(notes_of(*curves, counts, known, has_total=has_total)),
        refused=refused,
        curves=curves,
        node=node,
        nodes=tuple(nodes),
        call=_call(question, node),
    )


def _call(question: ForecastQuestion, node: NodeMemory | None) -> Call:
    """What the forecast is made from, as `parcast.load` calls it again."""
    arguments = {x: getattr(question, x) for x in ("measurements", "p", "hold_out", "by")}
    if node is not None:
        arguments |= {"node_memory": node.memory, "ranks_per_node": node.ranks}
    return Call(verb="forecast-memory", arguments={**arguments, **question.at})


def memory_beside(question: ForecastQuestion) -> MemoryForecast | None:
    """Memory of a single series that is forecast, where it is known at two counts."""
    runs = question.measurements
    try:
        told = forecast_memory(runs, question.p, hold_out=question.hold_out, by=question.by)
    except ParcastError:
        return None
    return None if told.by else replace(told, call=None)


def require_memory(runs: Measurements) -> None:
    """Refuse runs of which no memory is known."""
    if not any((~np.isnan(x)).any() for x in runs.memory.values()):
        raise FitFailed(
            f"The table has no memory: no column memory_B or memory_total_B. {ours('measure')}, "
            "sacct with MaxRSS, hyperfine, GNU time and LAMMPS write it; another column is named "
            f"with {Argument('rename', {'NAME': 'memory_GB'})}.",
            outcome=OUTCOME,
        )


def _node(memory: float | str | None, ranks: int | None) -> NodeMemory | None:
    """Check what a node has; both are given or none."""
    if memory is None and ranks is None:
        return None
    if memory is None or ranks is None:
        missing = "ranks_per_node" if ranks is None else "node_memory"
        example = "ranks_per_node=128" if ranks is None else "node_memory='256 GB'"
        raise ParameterError(
            missing, must="be given with the other", got="none", hint=f"Give {example}."
        )
    hint = "Give what programs can use of a node, such as '256 GB'."
    if isinstance(memory, str):
        memory = quantity(memory, "size", name="node_memory")
    memory = float(as_numbers("node_memory", memory, hint=hint))
    if not 0 < memory < np.inf:
        raise ParameterError("node_memory", must="be memory above 0", got=f"{memory:g}", hint=hint)
    ranks = as_whole("ranks_per_node", ranks, least=1, hint="Count the ranks of a full node.")
    return NodeMemory(memory=memory, ranks=ranks)


def _curves(question: ForecastQuestion, runs: Measurements) -> list[MemoryCurve | None]:
    """Curves of a rank and of all, of every series."""
    if not question.at:
        return [curve_along_p(runs, column, question.by) for column in (RANK, TOTAL)]
    if len(question.at) > 1 or question.by is not None:
        raise ParameterError(
            "at",
            must="be one axis, without by",
            got=", ".join(question.at) + (" with by" if question.by is not None else ""),
            hint="Select the values of the others: runs.select(theta=0.5).",
        )
    [(axis, given)] = question.at.items()
    values = np.unique(as_numbers(axis, given, hint=f"Give {axis}=[1000, 2000]."))
    rank = curve_over_sizes(runs, RANK, axis, values)
    try:
        return [rank, curve_over_sizes(runs, TOTAL, axis, values)]
    except FitFailed:
        if rank is None:
            raise
        return [rank, None]  # the notes say that all were not seen


def _matched(
    question: ForecastQuestion,
) -> tuple[tuple[MemoryCurve | None, MemoryCurve | None], Keys, dict[str, str]]:
    """Curves of the same series in both, their keys, and why others have none."""
    found = _curves(question, question.known())
    first = next(curve for curve in found if curve is not None)
    refused = {
        label_of(key): f"Memory is known at p = {whole(p)} alone: two counts are needed."
        for key, count, p in zip(
            first.series.keys,
            first.series.count.tolist(),
            first.series.p[:, 0].tolist(),
            strict=True,
        )
        if count < 2
    }
    keys = [key for key in first.series.keys if label_of(key) not in refused]
    if not keys:
        raise FitFailed(next(iter(refused.values())), outcome=OUTCOME)
    rank, total = (None if curve is None else _of_series(curve, keys) for curve in found)
    if rank is not None and total is not None and total.is_of_one_process(rank):
        total = None if rank.falls else rank  # threads are one process; ranks were not seen
    return (rank, total), keys, refused


def _of_series(curve: MemoryCurve, keys: Keys) -> MemoryCurve | None:
    """Keep the series of some keys in their order; None where one is not known at two counts."""
    series = curve.series
    known = [key for key, count in zip(series.keys, series.count, strict=True) if count > 1]
    if any(key not in known for key in keys):
        return None
    return curve.take(np.array([series.keys.index(key) for key in keys]))


def _both_at(curves: tuple[MemoryCurve | None, MemoryCurve | None], p: Array) -> Both:
    """Memory of a rank and of all at some counts; all have no less than the largest rank."""
    rank, total = (None if curve is None else curve.at(p) for curve in curves)
    if rank is not None and total is not None:
        total = MemoryAt(*(np.maximum(t, x) for t, x in zip(total, rank, strict=True)))
    return rank, total


def _observed(question: ForecastQuestion, keys: Keys, p: Array) -> list[Array | None]:
    """Medians that were measured at some counts, held out or not."""
    found: list[Array | None] = []
    for curve in _curves(question, question.measurements):
        if curve is None:
            found.append(None)
            continue
        rows = [curve.series.keys.index(key) if key in curve.series.keys else -1 for key in keys]
        values = curve.measured_at(p)[np.maximum(rows, 0)]
        if question.at:
            values = values * np.nan  # made along the axis, and not measured
        found.append(np.where(np.array(rows)[:, None] >= 0, values, np.nan))
    return found
