"""A result in a notebook: what it is worth, its picture and its tables, in an element of its own.

No rule reaches beyond that element, and nothing in it is a script. Where a notebook takes styles
away, the picture has its light colours.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from parcast.errors import ParameterError
from parcast.show.html import html_of
from parcast.show.page.page import in_words
from parcast.show.pictures.canvas import svg_of
from parcast.show.pictures.elements import NOTEBOOK, Paint

if TYPE_CHECKING:
    from parcast.show.result import Result

SCOPE: Final = "parcast-result"  # class of the element
DARK: Final = {  # of `NOTEBOOK`, on a dark ground
    "--parcast-paper": "#1b1d21",
    "--parcast-grid": "#33363c",
    "--parcast-shade": "#2a2822",
    "--parcast-grey": "#9a9a9a",
    "--parcast-blue": "#3d9fe0",
}
IS_DARK: Final = (  # how JupyterLab, Visual Studio Code, Colab and sites of Sphinx say so
    '[data-jp-theme-light="false"]',
    ".vscode-dark",
    'html[theme="dark"]',
    '[data-theme="dark"]',
)
STYLE: Final = "".join(
    [
        ",".join(f"{x} .{SCOPE}" for x in IS_DARK),
        "{",
        *(f"{name}:{colour};" for name, colour in DARK.items()),
        f"}}.{SCOPE} .verdict{{border-left:.3em solid #d98200;padding-left:.7em}}",
    ]
)
SIZE: Final = "display:block;width:100%;min-width:30rem;max-width:52rem;height:auto"


def html_of_result(result: "Result") -> str:
    """HTML of a result for a notebook; the same result has the same, whatever stands beside it."""
    sheet = result.to_sheet()
    mark = sha256(f"{type(result).__name__} {html_of(sheet)}".encode()).hexdigest()[:8]
    shown = html_of(sheet, _picture(result, f"parcast-{mark}", in_words([sheet])))
    return f'<div class="{SCOPE}"><style>{STYLE}</style>{shown}</div>'


def _picture(result: "Result", mark: str, words: str) -> str:
    """Picture of a result as SVG; "" of none.

    Its ids begin with a mark, so that a notebook may show several results.
    """
    if not result._picture:
        return ""
    try:
        paint = Paint(prefix=mark, themed=NOTEBOOK)
        svg = svg_of(result._drawn, paint, description=words, style=SIZE)
    except ParameterError:  # it has too few values for one
        return ""
    return f'<div style="overflow-x:auto">{svg}</div>'
