"""A match for a notebook: the facts of the printed answer, as a table and a few lines."""

from html import escape

from parcast.match_result import Match
from parcast.text.match_answer import facts_of, lines_of, title_of


def html_of_match(match: Match) -> str:
    """HTML of a match, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    unit, lines = lines_of(match)
    share = f"{match.interval * 100:g} % interval"
    has_cost = any(x.cost for x in lines)
    money = f" [{match.currency}]" if match.currency else ""
    cost = [f"cost{money}", f"{share}{money}"] if has_cost else []
    heads = ["", "machine", "p", f"time [{unit}]", f"{share} [{unit}]", *cost]
    heads += ["efficiency [%]", "best [%]", "holds [%]", ""]
    body = ""
    for x in lines:
        cells = [x.rank, x.machine, x.p, x.time, f"{x.lower} to {x.upper}"]
        if has_cost:
            cells += [x.cost, f"{x.cost_lower} to {x.cost_upper}" if x.cost else ""]
        cells += [x.efficiency, x.best, x.holds, x.remark]
        body += "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in cells) + "</tr>"
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    facts = "<br>".join(escape(f"{name} {text}".strip()) for name, text in facts_of(match))
    left = [f"{name} is left out. {why}" for name, why in match.left_out.items()]
    said = "".join(f"<li>{escape(text)}</li>" for text in [*left, *match.warnings])
    return (
        f"<p><b>{escape(title_of(match))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{facts}</p>" + (f"<ul>{said}</ul>" if said else "")
    )
