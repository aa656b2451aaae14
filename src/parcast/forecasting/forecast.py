"""Times at other processor counts, forecast from a few timings, each with its interval.

Four objects in a row: the question, the evidence that it is answered from, the curves that are
computed from this, and the notes on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from parcast.forecasting.curve import Columns
from parcast.forecasting.evidence import SeriesEvidence, series_evidence
from parcast.forecasting.question import Question, question_of
from parcast.forecasting.result import Forecast, SeriesNotes
from parcast.forecasting.scaling import Scaling
from parcast.timings.measurements import Measurements, MeasurementsLike

if TYPE_CHECKING:
    from parcast.descriptions.toml_files import MachineLike
    from parcast.forecasting.surface.evidence import SurfaceEvidence


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
        Times [s] with 90 % intervals, speedup and efficiency [1]. The arrays have the shape of
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
        law=evidence.law,
        sources=evidence.sources,
        measure=question.measurements.measure,
        parameters=parameters_of_runs(question.measurements, evidence.by),
    )


def parameters_of_runs(runs: Measurements, by: Sequence[str]) -> dict[str, float | None]:
    """Axes besides p that do not tell series apart, with their value; None if it goes with p.

    >>> parameters_of_runs(Measurements(p=[1, 2], time=[8, 4], n=[10, 20], threads=1), [])
    {'n': None, 'threads': 1.0}
    """
    others = {name: axis for name, axis in runs.axes.items() if name not in ("p", *by)}
    return {
        name: float(axis[0]) if np.all(axis == axis[0]) else None for name, axis in others.items()
    }


def evidence_of(question: Question) -> SeriesEvidence | SurfaceEvidence:
    """Find what the answer is based on: series along p, or runs over several axes."""
    if not question.at:
        return series_evidence(question)
    from parcast.forecasting.surface.evidence import surface_evidence

    return surface_evidence(question)
