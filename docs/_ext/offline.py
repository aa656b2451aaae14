"""Refuse a site whose pages load anything from another host when they are opened."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOST = r"(?:https?:)?//"
LOADED = re.compile(
    rf'<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\s(?:src|data)="{HOST}[^"]*'
    rf'|<link\b(?![^>]*rel="canonical")[^>]*?\shref="{HOST}[^"]*'
)
OF_STYLE = re.compile(rf"(?:url\(\s*['\"]?|@import\s+['\"]){HOST}[^)'\"]*")


def loaded_in(folder: Path) -> Iterator[str]:
    """Name the pages and style sheets that load something, and what."""
    for pattern, looked_for in (("*.html", LOADED), ("*.css", OF_STYLE)):
        for path in sorted(folder.rglob(pattern)):
            for found in looked_for.findall(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(folder)} loads from another host: {found}"


def check(app: Any, failure: Exception | None) -> None:
    """Fail where there is one."""
    if failure is None and app.builder.format == "html":
        found = "\n".join(loaded_in(Path(app.outdir)))
        if found:
            raise ValueError(found)


def setup(app: Any) -> dict[str, bool]:
    """Connect it to Sphinx, and name the lexer of tables, which Pygments has not."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
