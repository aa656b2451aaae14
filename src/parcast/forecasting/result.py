"""The answer to a question: times, their intervals, and what they are based on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.forecasting.own_runs.call_paths import PATH
from parcast.forecasting.own_runs.cut_off import CutOffRuns
from parcast.forecasting.series.curve import Columns, Curve
from parcast.forecasting.series.notes import SeriesNotes
from parcast.forecasting.series.totals import Totals, totals_of
from parcast.saved.call import Call
from parcast.show.outline import columns_of, table_rows
from parcast.show.result import Result
from parcast.show.warning import is_remark, said_of, verdicts
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Key, Series, label_of
from parcast.words import whole

if TYPE_CHECKING:
    from parcast.forecasting.memory.result import MemoryForecast

ANSWERS = ("time", "lower", "upper", "speedup", "efficiency", "reach", "observed")
RATES = ("rate", "rate_lower", "rate_upper", "rate_unit")  # of a row, where rates were measured


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Forecast(Result):
    """Forecast times with their 90% intervals, and what each forecast is based on.

    The arrays have the shape of `p`; with columns that distinguish series (`by` is not empty), the
    series are one more axis, the first.
    """

    _schema = "parcast/forecast/1"
    _axes = "*time_s"
    _outline = """
        verdict rows memory?=_memory_rows interval measured?=measure.rated parameters? limited_by
        warnings law sources inputs series=notes refused=_without_forecast totals?=_total_rows
        call?
    """
    _row: ClassVar[str] = (
        "time_s lower_s upper_s rate rate_lower rate_upper rate_unit compute_s=_unknown "
        "communication_s=_unknown io_s=_unknown synchronisation_s=_unknown speedup efficiency "
        "reach measured_s=observed"
    )
    _picture = "parcast.forecasting.picture:figure_of"
    _never_filled: ClassVar[tuple[str, ...]] = (  # times do not tell the parts
        "compute_s",
        "communication_s",
        "io_s",
        "synchronisation_s",
    )

    p: Array  # processors asked for [1]
    time: Array  # forecast time [s]
    lower: Array  # lower end of its interval [s]
    upper: Array  # upper end of its interval [s]
    speedup: Array  # over the smallest measured count [1]
    efficiency: Array  # speedup over the ideal speedup [1]
    reach: Array  # how many times beyond the measured counts; 1 inside [1]
    observed: Array  # median measured there, held out or not; None where none was [s]
    by: tuple[str, ...]  # the columns that distinguish the series
    notes: tuple[SeriesNotes, ...]  # what the forecast of each series is based on
    refused: Mapping[str, str]  # label of each series without a forecast, and why
    measured: Series  # the runs that the forecast is based on
    interval: float = 0.9  # nominal coverage of the intervals [1]
    law: str = "weighted median of simple laws"
    sources: tuple[str, ...] = ()
    is_surface: bool = False  # forecast over several axes at once: no line is drawn through it
    curve: Curve | None = None  # the same series at any other count; None of a surface
    stopped: CutOffRuns | None = None  # runs that were ended, where they exclude shorter times
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    measure: Measure = TIME  # what the times are: wall times, or those that a rate gives
    memory: MemoryForecast | None = None  # of the only series, where its runs have memory
    call: Call | None = None  # what made it, with the runs it is made from: for `parcast.load`
    # axes that do not tell series apart: the value of each; None where it goes with p
    parameters: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def is_without_p(self) -> bool:
        """Whether runs over other axes, and all that is forecast, are of one processor."""
        both = [np.ravel(self.p), np.ravel(self.measured.p)]
        return self.is_surface and bool(np.nanmax(np.concatenate(both)) == 1)

    def slowest(self, most: int) -> NDArray[np.intp]:
        """Numbers of the series with the largest times at the largest count, the largest first."""
        times = np.reshape(self.time, (len(self.notes), -1))[:, np.argmax(self.p)]
        return np.argsort(-times, kind="stable")[:most]

    def take(self, rows: NDArray[np.intp]) -> Forecast:
        """Keep some of the series, by their numbers and in that order.

        Call paths that were adjusted to agree with others stay as they are.
        """
        return replace(
            self,
            notes=tuple(self.notes[i] for i in rows.tolist()),
            measured=self.measured.take(rows),
            curve=None if self.curve is None else self.curve.choose(rows),
            stopped=None if self.stopped is None else self.stopped.take(rows),
            **{
                name: getattr(self, name)[rows] if self.by else getattr(self, name)
                for name in ANSWERS
            },
        )

    def _as_saved(self, document: Mapping[str, Any]) -> Forecast:
        """Keep the series that a document has, in its order."""
        row_of = {label_of(note.key): i for i, note in enumerate(self.notes)}
        written = document.get("series") or ()
        kept = [row_of[label_of({name: x[name] for name in self.by})] for x in written]
        return (
            self
            if kept == list(range(len(self.notes)))
            else self.take(np.array(kept, dtype=np.intp))
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings of all series, each after the name of its series; verdicts come first."""
        of_series = [
            said_of(note.label, text) if note.label else text
            for note in self.notes
            for text in note.warnings
        ]
        left_out = [f"{name}: no forecast. {why}" for name, why in self.refused.items()]
        every = (*of_series, *left_out)
        return (*filterfalse(is_remark, every), *filter(is_remark, every))

    @property
    def verdict(self) -> tuple[str, ...]:
        """What the answer is worth: which series do not scale, and where there is no forecast."""
        return tuple(verdicts(self.warnings))

    @property
    def limited_by(self) -> tuple[str, ...]:
        """What limits each series at the largest count asked for."""
        return tuple(note.limited_by for note in self.notes)

    @property
    def totals(self) -> Totals | None:
        """Times of whole profiles, those of all their call paths; None without call paths."""
        if self.curve is None or PATH not in self.by:
            return None
        every = self.curve
        shape = (len(every.series), np.size(self.p))
        if every.chosen is None:
            columns = Columns(*(getattr(self, name) for name in Columns._fields))
            observed = np.reshape(self.observed, shape)
        else:
            every = replace(every, chosen=None)
            columns, observed = every.at(self.p), np.full(shape, np.nan)
        answers = Columns(*(np.reshape(column, shape) for column in columns))
        return totals_of(every, np.ravel(self.p), answers, observed)

    @property
    def _without_forecast(self) -> list[dict[str, str]]:
        """Series without a forecast: `series` and `why`."""
        return [{"series": name, "why": why} for name, why in self.refused.items()]

    @property
    def _memory_rows(self) -> list[dict[str, Any]]:
        """Memory at the same counts, where the runs of a single series have it."""
        return [] if self.memory is None else list(self.memory.rows())

    @property
    def _unknown(self) -> None:
        """`null`, as the parts of times are not known."""

    @property
    def rate(self) -> Array:
        """Rate that is forecast, in `rate_unit`."""
        return self.measure.rates(self.time)

    @property
    def rate_lower(self) -> Array:
        """Lower end of the interval of the rate."""
        return self.measure.rates(self.upper)

    @property
    def rate_upper(self) -> Array:
        """Upper end of the interval of the rate."""
        return self.measure.rates(self.lower)

    @property
    def rate_unit(self) -> str | None:
        """Unit of a rate, such as `ns/day`; `null` if unknown."""
        return self.measure.rate_unit or None

    @property
    def _total_rows(self) -> list[dict[str, Any]]:
        """Times of whole profiles that are sums of call paths."""
        totals = self.totals
        if totals is None:
            return []
        some = np.flatnonzero(totals.parts > 1)
        keys = [{**totals.keys[i], "callpaths": int(totals.parts[i])} for i in some.tolist()]
        columns = {name: x[some] for name, x in columns_of(totals, totals._row).items()}
        return list(_table(keys, columns, self.p))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one tidy row for each series and count, with the keys of the JSON document."""
        columns = columns_of(self, self._row)
        if self.measure.quantity != "rate":
            columns = {name: x for name, x in columns.items() if name not in RATES}
        return _table([note.key for note in self.notes], columns, self.p)

    def __repr__(self) -> str:
        """Say how much was asked, in one line."""
        series = f"{len(self.notes)} series, " if self.by else ""
        counts = ", ".join(str(whole(x)) for x in np.ravel(self.p).tolist()[:6])
        more = ", ..." if np.size(self.p) > 6 else ""
        return f"Forecast({series}p = {counts}{more})"


def one_series(forecast: Forecast, series: int) -> Forecast:
    """One series of a forecast, counted from 0, as if there had been no other."""
    if not 0 <= series < len(forecast.notes):
        raise ParameterError(
            "series",
            must=f"be a number from 0 to {len(forecast.notes) - 1}",
            got=f"{series}",
            hint="The notes of the forecast name its series in this order.",
        )
    alone = forecast.take(np.array([series]))
    answers = {name: getattr(alone, name)[0] for name in ANSWERS} if forecast.by else {}
    return replace(alone, by=(), refused={}, call=None, **answers)


def _table(
    keys: Sequence[Key], columns: Mapping[str, Any], counts: Array
) -> Iterator[dict[str, Any]]:
    """Give the rows of series and counts, of columns with a value for each of both."""
    shape = (len(keys), np.size(counts))
    named = {
        name: np.array([[key[name]] for key in keys], dtype=object)
        for name in dict.fromkeys(name for key in keys for name in key)
    }
    values = {
        name: x if x is None or np.ndim(x) == 0 else np.reshape(x, shape)
        for name, x in columns.items()
    }
    rows = {**named, "p": np.reshape(counts, (1, -1)), **values}
    return table_rows(rows, shape, counts=(*named, "p"))
