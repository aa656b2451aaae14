"""A forecast for a person: a table of all series, and below it what the forecast is based on.

Of several series the facts are brought together, and those on each of them are details.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from parcast.forecasting.result import Forecast, SeriesNotes
from parcast.forecasting.table import table_of
from parcast.show.sheet import Fact, Sheet
from parcast.show.warning import Rank, RankedWarning, minor
from parcast.units import percent, shown
from parcast.words import whole

MOST_SERIES: Final = 20  # shown unless all are asked for
NEARLY_ALL: Final = 0.95  # of the time: warnings on call paths that take the rest are minor [D]
NAMED_LAWS: Final = 3  # those that weigh most
REFUSED: Final[dict[str, Any]] = {"kind": "no forecast", "rank": Rank.UNUSABLE}


def sheet_of(forecast: Forecast, *, knees: Sequence[Any] = (), show_all: bool = False) -> Sheet:
    """Everything that is said of a forecast: a table, facts on all series, and on each.

    Of many series those with the largest times are shown, unless all are asked for.
    """
    shown, left_out = forecast, ""
    by_series = {tuple(knee.key.values()): knee for knee in knees}
    if len(forecast.notes) > MOST_SERIES and not show_all:
        shown = forecast.take(forecast.slowest(MOST_SERIES))
        left_out = (
            f"{len(forecast.notes) - MOST_SERIES} more series are not shown; these "
            f"{MOST_SERIES} take longest. All of them"
        )
    is_one = len(forecast.notes) == 1
    labels = {note.label for note in shown.notes}
    parts = [
        Sheet(
            title=note.label,
            facts=tuple(
                fact if is_one else replace(fact, is_detail=True)
                for fact in (_facts(note) if note.label in labels else ())
            ),
            warnings=note.warnings if matters else tuple(map(minor, note.warnings)),
        )
        for note, matters in zip(forecast.notes, _matter(forecast), strict=True)
    ]
    parts += [
        Sheet(title=label, warnings=(RankedWarning(f"No forecast. {why}", **REFUSED),))
        for label, why in forecast.refused.items()
    ]
    found = [by_series.get(tuple(x.key.values())) for x in shown.notes]
    knee_facts = [*_knee_facts([knee for knee in found if knee])]
    if is_one:
        facts = (*_facts_on_measure(forecast), *parts[0].facts, *knee_facts)
        parts[0] = replace(parts[0], facts=facts)
    known = {x: knee.p for x, knee in by_series.items()}
    return Sheet(
        tables=(table_of(shown, known, forecast.totals),),
        facts=() if is_one else (*_facts_on_all(forecast), *knee_facts),
        parts=tuple(parts),
        left_out=left_out,
    )


def _knee_facts(knees: Sequence[Any]) -> Iterator[Fact]:
    """Give the knees, and what a run at each of them needs."""
    for name, texts in (
        ("knee", [f"{knee}" for knee in knees]),
        ("request", [f"p = {knee.p}: {knee.request}" for knee in knees if knee.request]),
    ):
        for i, (knee, text) in enumerate(zip(knees, texts, strict=False)):  # all or none request
            yield Fact("" if i else name, f"{knee.label}: {text}" if knee.label else text)


def _matter(forecast: Forecast) -> list[bool]:
    """Tell which series may take notable time at the largest count, by the ends of intervals.

    Call paths outside the largest ones, which make up nearly all of the time, do not.
    """
    if forecast.totals is None:
        return [True] * len(forecast.notes)
    most = np.reshape(forecast.upper, (len(forecast.notes), -1))[:, np.argmax(forecast.p)]
    order = np.argsort(-most, kind="stable")
    before = np.cumsum(most[order]) - most[order]
    matters = np.empty(len(most), dtype=bool)
    matters[order] = before < NEARLY_ALL * most.sum()
    return matters.tolist()


def _facts(note: SeriesNotes) -> Iterator[Fact]:
    """Give how a series scales, and what its forecast is based on."""
    if note.shares is not None:
        now, then = (percent(part) for part in note.shares)
        last = whole(note.measured[1])
        yield Fact("own share", f"{then} of all time at the largest p, {now} at p = {last}")
    yield Fact("scaling", f"{note.scaling} ({note.scaling_reason})")
    yield Fact("limited by", note.limited_by)
    yield Fact("based on", note.rests_on)
    if note.follows is not None:
        law = f"{note.follows.formula} (residual {note.follows.residual:.1%})"
        yield Fact("follows", law)
    if note.elsewhere:
        yield Fact("donors", note.elsewhere)
    if note.laws:
        laws = ", ".join(f"{name} {percent(weight)}" for name, weight in note.laws[:NAMED_LAWS])
        yield Fact("laws", f"those that weigh most up to twice the last p: {laws}", is_detail=True)


def _facts_on_measure(forecast: Forecast) -> Iterator[Fact]:
    """Say what the times are, where they are no wall times, and which parameters the runs had."""
    measure = forecast.measure
    if measure.quantity == "rate":
        yield Fact("time", f"that of {measure.work_done}, from the rate {measure.title}")
    elif measure.quantity == "speedup":
        yield Fact("time", f"relative: 1/{measure.title}")
    if forecast.parameters:
        each = (
            f"{name} goes with p" if value is None else f"{name} = {whole(value)}"
            for name, value in forecast.parameters.items()
        )
        yield Fact("parameters", shown(", ".join(each)))


def _facts_on_all(forecast: Forecast) -> Iterator[Fact]:
    """Give how several series scale, and what their forecasts are based on."""
    yield from _facts_on_measure(forecast)
    first = forecast.notes[0]  # all series are read alike
    yield Fact("scaling", f"{first.scaling} ({first.scaling_reason})")
    if forecast.is_surface:  # the table has no room for the effects of several axes
        slowest = forecast.notes[forecast.slowest(1)[0]]
        yield Fact("limited by", f"{slowest.limited_by} ({slowest.label})")
    yield Fact("based on", _basis_of_all(forecast))


def _basis_of_all(forecast: Forecast) -> str:
    """Say which runs the forecasts of several series are based on, and how they were tested."""
    notes, measured = forecast.notes, forecast.measured
    if len({note.rests_on for note in notes}) == 1:
        return notes[0].rests_on
    if forecast.is_surface:
        return f"{notes[0].rests_on} ({notes[0].label})"
    each = measured.repetitions.sum(axis=1)
    runs = _range(each.min(), each.max())
    first, last = (min(x.measured[0] for x in notes), max(x.measured[1] for x in notes))
    text = f"{runs} runs of each series at p = {whole(first)} to {whole(last)}"
    errors = sorted(abs(note.backtest) for note in notes if note.backtest is not None)
    if errors:
        off = _range(percent(errors[0]), percent(errors[-1]))
        text += f"; tested by leaving out the largest p: {off} off"
        if len(errors) > 2:
            text += f", median {percent(float(np.median(errors)))}"
    if untested := len(notes) - len(errors):
        some = f"not tested: {untested} series with too few counts"
        text += f"; {some if errors else 'too few counts to be tested'}"
    if any(note.donors for note in notes):
        weights = sorted(sum(donor.weight for donor in note.donors) for note in notes)
        text += f"; weight of other machines {_range(*(percent(weights[i]) for i in (0, -1)))}"
    return text


def _range(least: object, largest: object) -> str:
    """Write the ends of a range, or one of them where they are the same."""
    return f"{least}" if least == largest else f"{least} to {largest}"
