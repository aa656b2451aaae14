"""A forecast for a notebook: the facts of the printed table, the reasons and the warnings."""

from html import escape

from parcast.result import Forecast, SeriesNotes
from parcast.text.answer import MOST_SERIES, reasons
from parcast.text.table import lines_of

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
    more += "".join(_about(note) for note in forecast.notes[:MOST_SERIES])
    unexplained = len(forecast.notes) - MOST_SERIES
    if unexplained > 0:
        more += f"<p>and {unexplained} more series; all of them: to_document()</p>"
    warnings = "".join(f"<li>{escape(text)}</li>" for text in forecast.warnings[:MOST_ROWS])
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}" + (
        f"<ul>{warnings}</ul>" if warnings else ""
    )


def _about(note: SeriesNotes) -> str:
    """Say what the forecast of a series rests on."""
    title = [f"<b>{escape(note.label)}</b>"] if note.label else []
    facts = [f"{name}: {escape(text)}" for name, text in reasons(note)]
    return f"<p>{'<br>'.join([*title, *facts])}</p>"
