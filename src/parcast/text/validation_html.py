"""A validation for a notebook: the facts of the printed answer, as tables and a few lines."""

from collections.abc import Sequence
from html import escape

from parcast.text.validation_answer import (
    facts_of,
    legend_of,
    lines_of,
    sum_of,
    title_of,
)
from parcast.validation_result import ValidatedProgram, Validation


def html_of_validation(validation: Validation) -> str:
    """HTML of a validation, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    told = "".join(_program(x, interval=validation.interval) for x in validation.programs)
    failed = [f"{name} failed. {why}" for name, why in validation.failures.items()]
    left = ", ".join(validation.left_out)
    failed += [f"interrupted before anything of {left} was compared."] if left else []
    told += _list(failed)
    return told + (f"<p>{escape(sum_of(validation))}</p>" if validation.compared else "")


def _program(program: ValidatedProgram, *, interval: float) -> str:
    """Show one program."""
    table = ""
    if program.comparisons:
        unit, lines = lines_of(program)
        heads = [f"n [{program.size}]", "over calibrated", "p", f"predicted [{unit}]"]
        heads += [f"{interval * 100:g} % interval [{unit}]", f"measured [{unit}]"]
        heads += ["error [%]", "inside"]
        rows = [
            [
                *(x.n, x.factor, x.p, x.predicted),
                *(f"{x.lower} to {x.upper}", x.measured, x.error, x.inside),
            ]
            for x in lines
        ]
        head = "".join(f"<th>{escape(text)}</th>" for text in heads)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in cells) + "</tr>"
            for cells in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        table += f"<p>{escape(legend_of(program))}</p>"
    facts = "<br>".join(escape(f"{name} {text}".strip()) for name, text in facts_of(program))
    warned = _list(program.warnings)
    return f"<p><b>{escape(title_of(program))}</b></p>{table}<p>{facts}</p>{warned}"


def _list(texts: Sequence[str]) -> str:
    """Show texts one below the other; "" where there are none."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
