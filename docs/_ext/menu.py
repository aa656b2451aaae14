"""The menu of the site: what the pages of links lead to, in their order.

A page of links stays Markdown that is read anywhere. Where it is read for the site, each of its
sections gets a hidden table of contents of the pages that it links to and no page before did.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Each page of links with the pages that stand above its own: those of the bar at the top.
BAR = ["docs/README.md", "docs/gallery/README.md", "docs/reference/python.md", "CHANGELOG.md"]
PAGES = ["docs/README.md", "docs/decisions/README.md"]
LINK = re.compile(r"\]\(([^)\s#]+\.md)[^)\s]*\)")
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
FENCE = "\n```{{toctree}}\n:hidden:\n{caption}\n{pages}\n```\n"


def menu() -> dict[str, list[tuple[str, list[str]]]]:
    """Give the sections of each page of links: a caption, and paths from the root."""
    taken = {"README.md", *BAR}
    found = {"README.md": [("", BAR)]}
    for page in PAGES:
        found[page] = []
        for section in SECTION.split((ROOT / page).read_text(encoding="utf-8")):
            heading = re.match(r"## (.*)", section)
            places = [(ROOT / page).parent / link for link in LINK.findall(section)]
            paths = [str(place.resolve().relative_to(ROOT)) for place in places]
            new = [path for path in dict.fromkeys(paths) if path not in taken]
            taken.update(new)
            found[page].append((heading[1] if heading else "", new))
    return found


def with_menu(_app: Any, docname: str, source: list[str]) -> None:
    """Add the tables of contents below a page of links."""
    for caption, pages in menu().get(f"{docname}.md", []):
        if pages:
            lines = "\n".join(f"/{page.removesuffix('.md')}" for page in pages)
            named = f":caption: {caption}\n" if caption else ""
            source[0] += FENCE.format(caption=named, pages=lines)


def setup(app: Any) -> dict[str, bool]:
    """Connect it to Sphinx."""
    app.connect("source-read", with_menu)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
