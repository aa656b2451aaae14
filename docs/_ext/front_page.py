"""The front page: README.md, with the picture of each of its three things beside it."""

import re
from typing import Any

# From its name in bold to its picture.
THING = re.compile(r"^(\*\*(?:Forecast|Reduce|Store)\*\*: .*?)^(!\[.*?\)\n)", re.M | re.S)
BESIDE = r"""::::{grid} 1 1 2 2
:class-container: thing
:::{grid-item}
:columns: 12 12 7 7
\1:::
:::{grid-item}
:columns: 12 12 5 5
\2:::
::::
"""


def with_columns(_app: Any, docname: str, source: list[str]) -> None:
    """Put each of the three beside its picture."""
    if docname == "README":
        source[0] = THING.sub(BESIDE, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect it to Sphinx."""
    app.connect("source-read", with_columns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
