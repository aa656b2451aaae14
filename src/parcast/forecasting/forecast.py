"""Times at other processor counts, forecast from a few timings, each with its interval.

Four objects in a row: the question, the evidence that it is answered from, the curves that are
computed from this, and the notes on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from parcast.errors import ParameterError, require_kind
from parcast.forecasting.donors.gather import table_of_donors
from parcast.forecasting.evidence import SeriesEvidence, series_evidence
from parcast.forecasting.own_runs.call_paths import PATH, callers_of, profile_of
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.forecasting.result import Forecast
from parcast.forecasting.series.curve import Columns
from parcast.forecasting.series.notes import SeriesNotes
from parcast.forecasting.series.question import ForecastQuestion, question_of
from parcast.saved.call import Call
from parcast.timings.measurements import Measurements, MeasurementsLike

if TYPE_CHECKING:
    from parcast.descriptions.toml_files import MachineLike
    from parcast.forecasting.memory.result import MemoryForecast
    from parcast.forecasting.surface.evidence import SurfaceEvidence


def largest_regions(told: Forecast, top: int = 10) -> Forecast:
    """Keep the call paths with the largest exclusive times at the largest forecast count.

    Parameters
    ----------
    told : Forecast
        A forecast with series by `callpath`.
    top : int, default 10
        Number of call paths to keep, at least 1. [1]

    Returns
    -------
    Forecast
        The same forecast for these call paths, the longest first. The `shares` of their notes are
        the fractions of their exclusive time in the profile, at the largest measured count and at
        the largest forecast one. [1]

    Raises
    ------
    ParameterError
        If the series are not distinguished by call path, or `top` is below 1.

    Examples
    --------
    >>> import parcast
    >>> runs = parcast.Measurements(
    ...     p=[1, 2, 4, 1, 2, 4],
    ...     time=[80.0, 40.0, 20.0, 1.0, 2.0, 4.0],
    ...     callpath=["solve"] * 3 + ["gather"] * 3,
    ... )
    >>> first = parcast.largest_regions(parcast.forecast(runs, p=64), top=1).notes[0]
    >>> first.label, [round(share, 2) for share in first.shares]
    ('gather', [0.17, 0.97])
    """
    require_kind("told", told, Forecast, hint="Give what parcast.forecast(...) returned.")
    if PATH not in told.by:
        raise ParameterError(
            "top",
            must="be asked of series by callpath",
            got=", ".join(told.by) or "a single series",
            hint="Measure the time of each call path, in a column callpath.",
        )
    if not isinstance(top, int) or top < 1:
        raise ParameterError(
            "top",
            must="be a whole number of at least 1",
            got=f"{top!r}",
            hint="Give the number of call paths to keep.",
        )
    series = told.measured
    profile, groups = profile_of(series), callers_of(series)[2]
    points = max(np.size(told.p), 1)
    furthest = int(np.argmax(np.ravel(told.p)))
    rows = np.arange(len(series))
    shares = []
    for time in (
        series.time[rows, series.count - 1],
        np.reshape(told.time, (len(series), points))[:, furthest],
    ):
        alone = time if profile is None else np.maximum(time - profile.tree.summed(time), 0.0)
        shares.append(alone / np.bincount(groups, alone)[groups])
    order = np.argsort(-alone, kind="stable")[:top]
    kept = told.take(order)
    pairs = np.stack(shares, axis=1)[order].tolist()
    notes = zip(kept.notes, pairs, strict=True)
    return replace(kept, notes=tuple(replace(note, shares=tuple(pair)) for note, pair in notes))


def forecast(
    measurements: MeasurementsLike,
    p: ArrayLike | None = None,
    *,
    hold_out: ArrayLike | None = None,
    donors: MeasurementsLike | Sequence[MeasurementsLike] | None = None,
    machines: Sequence[MachineLike] = (),
    by: Sequence[str] | None = None,
    scaling: Scaling = "auto",
    progress: Callable[[int, int], None] | None = None,
    **at: ArrayLike,
) -> Forecast:
    """Forecast run times at processor counts `p` from times measured at a few counts.

    Parameters
    ----------
    measurements : Measurements, table or path
        Measured times: `Measurements`, a table with columns by name (a dict, a data frame), or the
        path of a CSV file or of a file that another tool wrote. Each series needs at least two
        processor counts; with `donors`, one is enough.
    p : int or array_like, optional
        Processor counts to forecast: whole numbers of at least 1. By default the counts in
        `hold_out`, or else the next two doublings of the largest measured count. [1]
    hold_out : int or array_like, optional
        Measured counts to leave out of the forecast, so that it can be compared with them. The
        times measured there are in `observed`. [1]
    donors : Measurements, table or path, or a list of them, optional
        Runs of the same program on other machines, with a column `machine`. How the time changes
        with `p` there improves the forecast here. Runs with the same call path and the same values
        of other axes are used.
    machines : sequence of Machine or path, optional
        Descriptions of the machines of the runs. With `donors`, machines similar to the target get
        a higher weight.
    by : sequence of str, optional
        Columns that distinguish the series. By default every label and every axis besides `p` that
        takes several values.
    scaling : {"auto", "strong", "weak"}, default "auto"
        Whether the problem size was fixed (strong) or grew with `p` (weak). It defines speedup and
        efficiency and does not change the times. "auto" is weak where a column `n`, the problem
        size, grows with `p`, and strong otherwise.
    progress : callable, optional
        Called with the number of series done and the number of all series.
    **at : float or array_like
        Values of other axes, such as ``n=[1000, 2000], theta=0.5``. The forecast is then based on
        all runs together and has every combination of the values; an axis that is not given takes
        its measured values. Cannot be combined with `donors` or `by`.

    Returns
    -------
    Forecast
        Times [s] with 90% intervals, speedup and efficiency [1]. The arrays have the shape of
        `p`; with columns that distinguish series, the series are one more axis, the first.
        `to_pandas()` gives a data frame, `plot()` a figure. A series that cannot be forecast is
        named in `refused`.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, `by` names a column that does not exist, or a
        keyword is no axis.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    FitFailed
        If no series has two processor counts, or one and donors.

    Examples
    --------
    >>> import parcast
    >>> runs = {"p": [1, 2, 4, 8], "time": [100.0, 52.0, 28.0, 16.0]}
    >>> result = parcast.forecast(runs, p=[16, 32])
    >>> result.time.round(1), result.notes[0].scaling
    (array([10. ,  6.6]), 'strong')
    >>> result.lower.round(1), result.upper.round(1)
    (array([8.2, 4.9]), array([14.1, 16.7]))
    """
    question = question_of(
        forecast,
        measurements,
        p,
        hold_out=hold_out,
        donors=donors,
        machines=machines,
        by=by,
        scaling=scaling,
        at=at,
    )
    evidence = evidence_of(question)
    tables, notes = [], list[SeriesNotes]()
    for part in evidence.parts():
        curves = part.curves()
        tables.append(curves.table)
        notes += curves.notes()
        if progress:
            progress(len(notes), len(evidence))
    table, notes = evidence.together(np.concatenate(tables, axis=1), notes)
    notes = evidence.judged(table, notes)
    shape = (len(evidence), *question.p.shape) if evidence.by else question.p.shape
    columns = Columns(*(np.reshape(column, shape) for column in table))
    return Forecast(
        p=question.p,
        **columns._asdict(),
        observed=np.reshape(evidence.observed(), shape),
        by=evidence.by,
        notes=tuple(notes),
        refused=evidence.refused,
        measured=evidence.measured,
        is_surface=evidence.curve is None,
        curve=evidence.curve,
        stopped=evidence.stopped,
        law=evidence.law,
        sources=evidence.sources,
        measure=question.measurements.measure,
        memory=None if evidence.by else _memory(question),
        parameters=parameters_of_runs(question.measurements, evidence.by),
        call=_call(question),
    )


def _call(question: ForecastQuestion) -> Call:
    """What the forecast is made from, as `parcast.load` calls it again."""
    arguments = {x: getattr(question, x) for x in ("measurements", "p", "hold_out", "by")}
    if question.donors is not None:
        arguments |= {"donors": table_of_donors(question.donors)[0]}
        arguments |= {"machines": question.machines or None}
    return Call(
        verb="forecast", arguments={**arguments, "scaling": question.scaling, **question.at}
    )


def _memory(question: ForecastQuestion) -> MemoryForecast | None:
    """Memory beside the times, where the table has it."""
    if not question.measurements.memory:
        return None
    from parcast.forecasting.memory.forecast_memory import memory_beside

    return memory_beside(question)


def parameters_of_runs(runs: Measurements, by: Sequence[str]) -> dict[str, float | None]:
    """Axes besides p that do not tell series apart, with their value; None if it goes with p.

    >>> parameters_of_runs(Measurements(p=[1, 2], time=[8, 4], n=[10, 20], threads=1), [])
    {'n': None, 'threads': 1.0}
    """
    others = {name: axis for name, axis in runs.axes.items() if name not in ("p", *by)}
    return {
        name: float(axis[0]) if np.all(axis == axis[0]) else None for name, axis in others.items()
    }


def evidence_of(question: ForecastQuestion) -> SeriesEvidence | SurfaceEvidence:
    """Find what the answer is based on: series along p, or runs over several axes."""
    if not question.at:
        return series_evidence(question)
    from parcast.forecasting.surface.evidence import surface_evidence

    return surface_evidence(question)
