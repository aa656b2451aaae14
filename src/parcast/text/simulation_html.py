"""A simulation for a notebook: the facts of the printed answer, as a table and a few lines."""

from html import escape

from parcast.simulation_result import Simulation
from parcast.text.prediction_rows import MOST_ROWS, SHORT
from parcast.text.simulation_answer import precision_of, rows_of, title_of


def html_of_simulation(simulation: Simulation) -> str:
    """HTML of a simulation, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    unit, rows = rows_of(simulation, most=MOST_ROWS)
    share = f"{simulation.interval * 100:g} % interval [{unit}]"
    shares = [f"{title} [%]" for title in SHORT.values()]
    heads = [*rows[0].axes, f"time [{unit}]", share, f"law [{unit}]", "difference [%]", *shares]
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(text)}</td>"
            for text in (
                *row.axes.values(),
                row.time,
                f"{row.lower} to {row.upper}",
                row.law,
                row.difference,
                *row.shares,
            )
        )
        + "</tr>"
        for row in rows
    )
    left_out = simulation.time.size - len(rows)
    more = f"<p>and {left_out} more rows; all of them: to_document()</p>" if left_out else ""
    facts = [f"simulated: {text}" for text in simulation.simulated]
    facts.append(f"precision: {precision_of(simulation)}")
    warnings = "".join(f"<li>{escape(text)}</li>" for text in simulation.warnings)
    return (
        f"<p><b>{escape(title_of(simulation))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        f"<p>{'<br>'.join(map(escape, facts))}</p>" + (f"<ul>{warnings}</ul>" if warnings else "")
    )
