"""A few timings in, times at other numbers of processors out, each with its interval.

Four objects in a row: the question, the evidence that it is answered from, the curves that are
computed from this, and the notes on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from parcast.forecasting.curve import Columns
from parcast.forecasting.evidence import SeriesEvidence, series_evidence
from parcast.forecasting.question import Question, question_of
from parcast.forecasting.result import Forecast, SeriesNotes
from parcast.forecasting.scaling import Scaling
from parcast.forecasting.surface.evidence import SurfaceEvidence, surface_evidence
from parcast.timings.measurements import Measurements

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine


def forecast(
    measurements: Measurements | Any,
    p: ArrayLike | None = None,
    *,
    hold_out: ArrayLike | None = None,
    donors: Measurements | Sequence[Any] | Any | None = None,
    machines: Sequence[Machine] = (),
    by: Sequence[str] | None = None,
    scaling: Scaling = "auto",
    progress: Callable[[int, int], None] | None = None,
    **at: ArrayLike,
) -> Forecast:
    """Times at `p` processors from the times measured at a few, with 90 % intervals.

    Parameters
    ----------
    measurements : Measurements, or a table that `Measurements.from_table` accepts
        At least two counts of processors for each series; with `donors`, at least one.
    p : array_like, any shape
        Processor counts to forecast: whole numbers of at least 1. By default the counts in
        `hold_out`, or else the next two doublings of the largest measured count. [1]
    hold_out : array_like, optional
        Measured counts that the forecast is not told, so that it can be compared with them: what
        was measured there comes back in `observed`. [1]
    donors : Measurements, such a table, or a list of them, optional
        Runs of the same program on other machines, with a column `machine`. How time goes on
        there, with the same callpath and other axes, helps to forecast it here.
    machines : sequence of Machine
        Descriptions of the machines of the runs: with `donors`, those like the target weigh more.
    by : sequence of str, optional
        Columns that tell the series apart; by default every label there is and every axis besides
        `p` that takes several values.
    scaling : {"auto", "strong", "weak"}
        Whether the work was fixed or grew with the processors. It decides what speedup and
        efficiency mean, not the times. "auto" tells it from a column `n`, the size of the problem,
        or from the times, for all call paths of a run alike.
    progress : callable, optional
        Called with the series done so far and in all.
    **at : array_like
        Values of other axes asked for, such as ``n=[1000, 2000], theta=0.5``: all runs are then
        forecast from together, in every combination of the values; an axis not named takes its
        measured ones. Not with `donors` or `by`.

    Returns
    -------
    Forecast
        Its arrays have the shape of `p`; with one axis more, first, if there are columns in `by`.
        A series with a single count and no donors is left out and named in `refused`.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, `by` names a column that is not there, or a
        keyword is no axis.
    FitFailed
        If no series has two counts of processors, or one and donors.

    Examples
    --------
    >>> from parcast import Measurements, forecast
    >>> runs = Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
    >>> result = forecast(runs, p=[16, 32])
    >>> result.time.round(1), result.notes[0].scaling
    (array([10.2,  7.3]), 'strong')
    >>> bool(np.all((result.lower < result.time) & (result.time < result.upper)))
    True
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
        law=evidence.law,
        sources=evidence.sources,
    )


def evidence_of(question: Question) -> SeriesEvidence | SurfaceEvidence:
    """Find what a question is answered from: series along p, or runs over several axes."""
    return surface_evidence(question) if question.at else series_evidence(question)
