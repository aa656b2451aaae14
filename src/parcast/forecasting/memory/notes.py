"""What forecasts of memory are based on, and what a reader must know of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.memory.curves import MemoryAt, MemoryCurve
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.series import Key, Series, label_of
from parcast.units import format_quantity, percent
from parcast.words import listed, whole

OF_LAUNCHER: Final = 32e6  # memory up to which a process may be a launcher alone [B] [D]
SAME: Final = 0.02  # relative difference of what does not change [D]
MISSED: Final = 0.25  # relative error in the test that is remarked [D]
WIDE: Final = 2.0  # upper / lower of an interval that is remarked [D]
USELESS: Final = 10.0  # the same that is no forecast [D]
FAR: Final = 8.0  # times the largest measured count that is remarked [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryNotes:
    """What the forecast of one series is based on."""

    _outline: ClassVar[str] = (
        "*key# measured_p# rests_on follows backtest_error=backtest no_forecast_p# warnings"
    )

    key: Key  # the columns that distinguish the series
    measured: tuple[float, float]  # smallest and largest measured count [1]
    rests_on: str  # the runs that it is based on, and how it was tested
    follows: str  # law that memory of a rank follows; "" where none is recognised
    backtest: float | None  # relative error of the largest count's forecast from the others
    no_forecast: tuple[float, ...]  # counts asked for at which there is no forecast [1]
    warnings: tuple[str, ...]

    @property
    def label(self) -> str:
        """The series in a few words: "T3E", or "" where there is only one."""
        return label_of(self.key)


def notes_of(
    rank: MemoryCurve | None,
    total: MemoryCurve | None,
    p: Array,
    answers: list[MemoryAt],
    *,
    has_total: bool,
) -> list[MemoryNotes]:
    """Notes of every series; `answers` are those at `p` of what is known, of a rank first."""
    first = rank or total
    assert first is not None
    follows, errors = first.follows(float(p.max())), first.backtest()
    width = np.max([x.upper / x.lower for x in answers], axis=0)
    answer = []
    for i, key in enumerate(first.series.keys):
        series = first.series
        counts = series.p[i, : series.count[i]]
        error = float(errors[i])
        useless = p[width[i] > USELESS]
        warnings = [
            *_no_forecast(useless, width[i]),
            *_of_launcher(rank, i),
            *_unchanged(rank, total, i),
            *_on_total(rank, total, has_total=has_total),
            *_tested(error, float(counts[-1])),
            *_reach(p, counts, width[i]),
        ]
        answer.append(
            MemoryNotes(
                key=key,
                measured=(float(counts[0]), float(counts[-1])),
                rests_on=_basis(series, i, error),
                follows=follows[i],
                backtest=None if np.isnan(error) else error,
                no_forecast=tuple(useless.tolist()),
                warnings=tuple(warnings),
            )
        )
    return answer


def _basis(series: Series, i: int, error: float) -> str:
    """Say which runs a forecast is based on, and how it was tested."""
    count = int(series.count[i])
    first, last = (whole(float(series.p[i, j])) for j in (0, count - 1))
    text = f"{int(series.repetitions[i].sum())} runs at {count} counts, p = {first} to {last}"
    if np.isnan(error):
        return f"{text}; too few counts to be tested"
    way = "too high" if error > 0 else "too low"
    return f"{text}; tested by leaving out p = {last}: memory forecast {percent(abs(error))} {way}"


def _no_forecast(p: Array, widths: Array) -> Iterator[RankedWarning]:
    """Say where the interval is too wide for a forecast."""
    if p.size:
        counts = listed([f"{whole(x)}" for x in p.tolist()])
        factor = format_quantity(float(widths.max()), "count", 2)
        yield RankedWarning(
            f"No forecast of memory at p = {counts}: the 90% interval spans a factor of "
            f"{factor}. Measure memory at a larger count.",
            kind="no forecast there",
            rank=Rank.VERDICT,
            size=float(widths.max()),
        )


def _span(curve: MemoryCurve, i: int) -> tuple[float, float]:
    """Least and most memory that was measured of a series, of a rank or of all. [B]."""
    memory = curve.measured_of(i).values()
    return min(memory), max(memory)


def _of_launcher(rank: MemoryCurve | None, i: int) -> Iterator[RankedWarning]:
    """Say that memory may be that of what starts the ranks, and not of these."""
    if rank is None:
        return
    least, most = _span(rank, i)
    if most <= OF_LAUNCHER and most <= (1 + SAME) * least:
        yield RankedWarning(
            "This may be no memory of ranks: the largest process has "
            f"{format_quantity(most, 'size')} at every p, as a launcher has whose ranks run "
            "elsewhere (srun, mpiexec on other nodes). Take MaxRSS of sacct, or let the program "
            "print its own.",
            kind="memory of the launcher",
            rank=Rank.VERDICT,
        )


def _unchanged(
    rank: MemoryCurve | None, total: MemoryCurve | None, i: int
) -> Iterator[RankedWarning]:
    """Say that more ranks do not lower the memory of each, or of all."""
    if rank is None:
        return
    least, most = _span(rank, i)
    if most <= OF_LAUNCHER or most > (1 + SAME) * least:
        return
    text = f"Memory of a rank does not change with p ({format_quantity(most, 'size')})"
    if total is not None and (ends := _span(total, i))[1] <= (1 + SAME) * ends[0]:
        text += ", nor does that of all: check that it is that of the ranks, and of all of them."
    else:
        text += ": each rank holds everything, and more ranks a node need as much more."
    yield RankedWarning(text, kind="memory does not change", rank=Rank.SERIOUS)


def _on_total(
    rank: MemoryCurve | None, total: MemoryCurve | None, *, has_total: bool
) -> Iterator[RankedWarning]:
    """Say where memory of all is not known well enough, or is that of one process."""
    if has_total and total is None:
        yield RankedWarning(
            "Memory of all is not forecast: all processes were seen together at fewer than two "
            "counts, as short runs end before they are looked at. A node is taken to need as much "
            "for each rank as the largest does. Take longer runs.",
            kind="total unseen",
        )
    elif rank is not None and rank is total:
        yield RankedWarning(
            "Memory of all is that of one process at every p: it is taken to be one of several "
            "threads. If ranks are processes, take longer runs, and do not rely on it.",
            kind="total of one process",
        )


def _tested(error: float, last: float) -> Iterator[RankedWarning]:
    """Say that the forecast failed its test."""
    if abs(error) > MISSED:
        way = "too high" if error > 0 else "too low"
        yield RankedWarning(
            f"Tested at p = {whole(last)}, the forecast of memory was {percent(abs(error))} "
            f"{way}: measure memory at a larger count.",
            kind="failed test",
            rank=Rank.SERIOUS,
            size=abs(error),
        )


def _reach(p: Array, counts: Array, widths: Array) -> Iterator[RankedWarning]:
    """Say that a count lies far beyond the runs, or has a wide interval."""
    furthest, last = int(np.argmax(p)), float(counts[-1])
    at = whole(float(p[furthest]))
    if WIDE < widths[furthest] <= USELESS:
        factor = format_quantity(float(widths[furthest]), "count", 2)
        yield RankedWarning(
            f"The 90% interval of memory at p = {at} spans a factor of {factor}: measure memory "
            "at a larger count.",
            kind="wide interval",
            rank=Rank.SERIOUS,
            size=float(widths[furthest]),
        )
    if p[furthest] > FAR * last:
        yield RankedWarning(
            f"p = {at} is an extrapolation to {format_quantity(p[furthest] / last, 'count')}x the "
            f"largest measured p ({whole(last)}).",
            kind="extrapolation",
            size=float(p[furthest] / last),
        )
