"""The answer to a person: the table of a forecast, and under it what to think of each series."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from parcast.result import Forecast, SeriesNotes, whole
from parcast.text.page import Page
from parcast.text.table import table
from parcast.units import percent, shown

MOST_SERIES: Final = 20  # shown unless all are asked for
MOST_REFUSED: Final = 5


def answer(
    forecast: Forecast, page: Page, *, knees: Sequence[Any] = (), show_all: bool = False
) -> tuple[list[str], str]:
    """Lines of the answer, and what is to be said of what they leave out.

    Parameters
    ----------
    forecast : Forecast
        What to show.
    page : Page
        Where it is shown.
    knees : sequence of Knee, optional
        Up to where processors are worth it, one for each series in the order of the forecast.
    show_all : bool, default False
        Whether to show every series; otherwise those with the largest times.

    Returns
    -------
    lines : list of str
    left_out : str
        "" where nothing is left out.
    """
    shown_series, left_out = forecast, ""
    by_series = {tuple(knee.key.values()): knee for knee in knees}
    if len(forecast.notes) > MOST_SERIES and not show_all:
        shown_series = _slowest(forecast)
        left_out = (
            f"{len(forecast.notes) - MOST_SERIES} more series are not shown; these "
            f"{MOST_SERIES} take longest. All of them: --all, --json or -o all.csv."
        )
    lines = table(shown_series, page, knees={x: knee.p for x, knee in by_series.items()})
    for note in shown_series.notes:
        lines += ["", *_about(note, page, by_series.get(tuple(note.key.values())))]
    refused = list(_refused(forecast.refused, page, show_all=show_all))
    return [*lines, *([""] if refused else []), *refused], left_out


def _slowest(forecast: Forecast) -> Forecast:
    """Keep the series with the largest times at the largest count, the largest first."""
    places = (len(forecast.notes), -1)
    last = int(np.argmax(forecast.p))
    at_last = np.reshape(forecast.time, places)[:, last]
    kept = np.argsort(-at_last, kind="stable")[:MOST_SERIES]
    columns = ("time", "lower", "upper", "speedup", "efficiency", "reach", "observed")
    return replace(
        forecast,
        notes=tuple(forecast.notes[i] for i in kept.tolist()),
        **{name: getattr(forecast, name)[kept] for name in columns},
    )


def reasons(note: SeriesNotes) -> list[tuple[str, str]]:
    """Give what a series' forecast rests on and how far it goes, each fact with its name."""
    share = []
    if note.shares is not None:
        now, then = (percent(part) for part in note.shares)
        last = whole(note.measured[1])
        share = [("share", f"{then} of all time at the largest p asked for, {now} at p = {last}")]
    return [
        *share,
        ("scaling", f"{note.scaling}: {note.scaling_reason}"),
        ("limited by", note.limited_by),
        ("rests on", note.rests_on),
        *([("elsewhere", note.elsewhere)] if note.elsewhere else []),
    ]


def _about(note: SeriesNotes, page: Page, knee: Any) -> Iterator[str]:
    """Say what is to be thought of a series' forecast, in a few lines."""
    if note.label:
        yield page.bold(_one_line(note.label))
    facts = reasons(note)
    if knee is not None:
        facts.append(("knee", str(knee)))
    for name, text in facts:
        yield from page.entry(name, text)
    for text in note.warnings:
        yield from page.entry("warning:", text, is_marked=True)


def _refused(refused: Mapping[str, str], page: Page, *, show_all: bool) -> Iterator[str]:
    """List the series that have no forecast, the first of them where there are many."""
    listed = list(refused.items())[: None if show_all else MOST_REFUSED]
    for label, why in listed:
        text = f"{_one_line(label)}: no forecast. {why}"
        yield from page.entry("warning:", text, is_marked=True)
    more = len(refused) - len(listed)
    if more:
        yield from page.entry(
            "warning:",
            f"{more} more series have no forecast. All of them: --all or --json.",
            is_marked=True,
        )


def _one_line(label: str) -> str:
    """Write a name that a file gave, which may hold anything."""
    return shown(label, limit=10_000)
