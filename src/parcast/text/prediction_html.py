"""A prediction for a notebook: the facts of the printed answer, as a table and a few lines."""

from html import escape

from parcast.prediction import Prediction
from parcast.text.prediction_answer import facts_of, title_of
from parcast.text.prediction_rows import (
    MOST_ROWS,
    SHORT,
    Row,
    points_of,
    rows_of,
    spread_out,
    varied_axes,
)


def html_of_prediction(prediction: Prediction) -> str:
    """HTML of a prediction, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    axes = varied_axes(prediction)
    most = MOST_ROWS
    chosen = {}
    for name in reversed(axes):  # rows first, then blocks as far as there is room
        chosen[name] = spread_out(prediction.axes[name], max(most, 1))
        most //= len(chosen[name])
    unit, rows = rows_of(prediction, points_of(prediction, chosen))
    span = [f"{prediction.interval * 100:g} % interval [{unit}]"] if prediction.interval else []
    shares = [f"{title} [%]" for title in SHORT.values()]
    heads = [*axes, f"time [{unit}]", *span, "speedup", "efficiency [%]", *shares, "limited by"]
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(map(_row, rows))
    left_out = prediction.time.size - len(rows)
    more = f"<p>and {left_out} more rows; all of them: to_document()</p>" if left_out else ""
    facts = "<br>".join(escape(f"{fact.name}: {fact.text}") for fact in facts_of(prediction))
    warnings = "".join(f"<li>{escape(text)}</li>" for text in prediction.warnings)
    return (
        f"<p><b>{escape(title_of(prediction))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        f"<p>{facts}</p>" + (f"<ul>{warnings}</ul>" if warnings else "")
    )


def _row(row: Row) -> str:
    """One row of the table."""
    span = [f"{row.lower} to {row.upper}"] if row.lower else []
    cells = [*row.axes.values(), row.time, *span, row.speedup, row.efficiency, *row.shares]
    texts = [*cells, row.limited_by]
    return "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>"
