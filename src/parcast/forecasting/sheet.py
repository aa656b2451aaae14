"""The answer to a person: the table of a forecast, and under it what to think of each series.

A forecast for a notebook: the facts of the printed table, the reasons and the warnings.

A forecast as a table for a person: as wide as the page allows, in one unit of time.

Where the table does not fit, the names of the series become titles above their rows; where that
does not fit either, each row becomes a few lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import Any, Final

import numpy as np

from parcast.forecasting.result import Forecast, SeriesNotes
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side, spans
from parcast.units import TIME_UNITS, format_quantity, percent, shown
from parcast.words import common_unit, rounded, rounded_interval, supported_digits, whole

Values = tuple[str | float, ...]  # of the key of a series

LEGEND: Final = {
    "x": "xN: N times beyond the measured counts",
    "outside": "outside: what was measured lies outside the interval",
    "past": "past knee: more processors than are worth it",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One row of the table, as texts."""

    key: Mapping[str, str]
    p: str
    time: str
    lower: str
    upper: str
    speedup: str
    efficiency: str
    measured: str  # "" where it is not known
    error: str  # "" where the forecast was told what was measured
    remarks: tuple[str, ...]  # "x16", "outside", "past knee"

    @property
    def remark(self) -> str:
        """All remarks in a few words."""
        return ", ".join(self.remarks)


def table(
    forecast: Forecast, page: Page, *, knees: Mapping[Values, int] | None = None
) -> list[str]:
    """Lines of the table of a forecast.

    Parameters
    ----------
    forecast : Forecast
        What to show, all of it.
    page : Page
        Its width decides the layout.
    knees : mapping of tuple to int, optional
        The largest count worth it for the series of these values; larger ones are marked. [1]

    Returns
    -------
    list of str
    """
    unit, lines = lines_of(forecast, knees=knees)
    share = f"{forecast.interval * 100:g} %"
    for keys_as in ("columns", "titles"):
        laid_out = _laid_out(lines, unit, page, share=share, keys_as=keys_as)
        if laid_out:
            head = [page.bold(text) for text in laid_out[:2]]
            return [*head, *laid_out[2:], *_legend(forecast, lines, page)]
    return [*_in_full(lines, unit, page, share=share), *_legend(forecast, lines, page)]


def lines_of(
    forecast: Forecast, *, knees: Mapping[Values, int] | None = None
) -> tuple[str, list[Line]]:
    """Rows of a forecast as texts, and the unit that their times share."""
    unit = common_unit(forecast.time.ravel().tolist())
    place = {tuple(key.values()): i for i, key in enumerate(forecast.measured.keys)}
    lines = []
    for row in forecast.rows():
        series = tuple(row[name] for name in forecast.by)
        was_told = row["p"] in forecast.measured.p[place[series]]
        most = (knees or {}).get(series, row["p"])
        key = {name: _name(row[name]) for name in forecast.by}
        lines.append(_line(key, row, TIME_UNITS[unit], was_told=was_told, past=row["p"] > most))
    return unit, lines


def _line(
    key: Mapping[str, str], row: Mapping[str, Any], second: float, *, was_told: bool, past: bool
) -> Line:
    """Turn one row into texts."""
    time, lower, upper, measured = (
        row[name] and row[name] / second for name in ("time_s", "lower_s", "upper_s", "measured_s")
    )
    digits = supported_digits(lower, upper)
    texts = rounded_interval(time, lower, upper)
    remarks = []
    if row["reach"] > 1:
        remarks.append(f"x{format_quantity(row['reach'], 'count')}")
    if measured is not None and not lower <= measured <= upper:
        remarks.append("outside")
    if past:
        remarks.append("past knee")
    return Line(
        key=key,
        p=str(row["p"]),
        time=texts[0],
        lower=texts[1],
        upper=texts[2],
        speedup=rounded(row["speedup"], digits),
        efficiency=rounded(100 * row["efficiency"], digits),
        measured="" if measured is None else rounded(measured, max(digits, 3)),
        error="" if measured is None or was_told else _error(time / measured - 1),
        remarks=tuple(remarks),
    )


def _name(value: object) -> str:
    """Write the value of a series' key; a name may hold anything, and a terminal obeys it."""
    return shown(value, limit=10_000) if isinstance(value, str) else f"{value}"


def _error(relative: float) -> str:
    """Write by how much a forecast misses what was measured."""
    percent = 100 * relative
    return f"{percent:+.1f}" if abs(percent) < 9.95 else f"{percent:+.0f}"


def _laid_out(
    lines: Sequence[Line], unit: str, page: Page, *, share: str, keys_as: str
) -> list[str]:
    """Write the table, its series in columns or as titles above their rows; [] if too wide."""
    intervals = spans([line.lower for line in lines], [line.upper for line in lines])
    keys = lines[0].key if keys_as == "columns" else ()
    columns = [
        *(Column(title=x, cells=[line.key[x] for line in lines], is_text=True) for x in keys),
        Column(title="p", cells=[line.p for line in lines]),
        Column(title="time", unit=f"[{unit}]", cells=[line.time for line in lines]),
        Column(title=f"{share} interval", unit=f"[{unit}]", cells=intervals),
        Column(title="speedup", cells=[line.speedup for line in lines]),
        Column(title="efficiency", unit="[%]", cells=[line.efficiency for line in lines]),
    ]
    if any(line.measured for line in lines):
        measured = [line.measured for line in lines]
        columns.append(Column(title="measured", unit=f"[{unit}]", cells=measured))
    if any(line.error for line in lines):
        columns.append(Column(title="error", unit="[%]", cells=[line.error for line in lines]))
    columns.append(Column(title="", cells=[line.remark for line in lines], is_text=True))
    laid_out = side_by_side(columns, page)
    if not laid_out:
        return []
    head, units, *rows = laid_out
    if keys_as == "columns" or not lines[0].key:
        return [head, units, *rows]
    written = [head, units]
    for key, group in groupby(zip(lines, rows, strict=True), key=lambda pair: pair[0].key):
        written += ["", *_title(key, page), *(row for _, row in group)]
    return written


def _title(key: Mapping[str, str], page: Page) -> list[str]:
    """Name a series above its rows."""
    named = ", ".join(f"{name} {value}" for name, value in key.items())
    return page.wrapped(named, indent=0)


def _in_full(lines: Sequence[Line], unit: str, page: Page, *, share: str) -> list[str]:
    """Write each row as a few short lines, for a page too narrow for a table."""
    written: list[str] = []
    for line in lines:
        named = "".join(f"{name} {value}, " for name, value in line.key.items())
        remark = f" ({line.remark})" if line.remark else ""
        facts = [
            f"time        {line.time} {unit}",
            f"            {share} interval {line.lower} to {line.upper} {unit}",
            f"speedup     {line.speedup}",
            f"efficiency  {line.efficiency} %",
        ]
        if line.measured:
            error = f" (error {line.error} %)" if line.error else ""
            facts.append(f"measured    {line.measured} {unit}{error}")
        title = page.wrapped(f"{named}p = {line.p}{remark}", indent=0)
        written += ["", *map(page.bold, title)]
        written += [f"  {fact}" for fact in facts]
    return written[1:]


def _legend(forecast: Forecast, lines: Sequence[Line], page: Page) -> list[str]:
    """Explain the remarks that occur, and what speedup is over unless it is one processor."""
    said = " ".join(remark for line in lines for remark in line.remarks)
    meanings = [meaning for word, meaning in LEGEND.items() if word in said]
    first = {note.measured[0] for note in forecast.notes}
    if first != {1}:
        over = f"p = {whole(first.pop())}, " if len(first) == 1 else ""
        meanings.append(f"speedup and efficiency: over {over}the smallest measured count")
    legend = page.wrapped("; ".join(meanings), indent=0) if meanings else []
    return [page.faint(text) for text in ["", *legend]] if legend else []


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


MOST_ROWS = 60  # of the table; a notebook is no place for ten thousand


def html_of(forecast: Forecast) -> str:
    """HTML of a forecast and of what it rests on, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    unit, lines = lines_of(forecast)
    has_measured = any(line.measured for line in lines)
    heads = [
        *forecast.by,
        "p",
        f"time [{unit}]",
        f"{forecast.interval * 100:g} % interval [{unit}]",
        "speedup",
        "efficiency [%]",
        *([f"measured [{unit}]", "error [%]"] if has_measured else []),
        "",
    ]
    rows = []
    for line in lines[:MOST_ROWS]:
        span = f"{line.lower} to {line.upper}"
        cells = [*line.key.values(), line.p, line.time, span, line.speedup, line.efficiency]
        cells += [*([line.measured, line.error] if has_measured else []), line.remark]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    left_out = len(lines) - len(rows)
    more = f"<p>and {left_out} more rows</p>" if left_out else ""
    more += "".join(_about_of_html(note) for note in forecast.notes[:MOST_SERIES])
    unexplained = len(forecast.notes) - MOST_SERIES
    if unexplained > 0:
        more += f"<p>and {unexplained} more series; all of them: to_document()</p>"
    warnings = "".join(f"<li>{escape(text)}</li>" for text in forecast.warnings[:MOST_ROWS])
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}" + (
        f"<ul>{warnings}</ul>" if warnings else ""
    )


def _about_of_html(note: SeriesNotes) -> str:
    """Say what the forecast of a series rests on."""
    title = [f"<b>{escape(note.label)}</b>"] if note.label else []
    facts = [f"{name}: {escape(text)}" for name, text in reasons(note)]
    return f"<p>{'<br>'.join([*title, *facts])}</p>"
