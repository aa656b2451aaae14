"""The page of the gallery: what docs/gallery/pictures.toml lists, below what the page says."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draw import Picture

ROOT = Path(__file__).parents[2]
PAGE = "docs/gallery/README"
MOST_LINES = 40  # of a file that is shown
LANGUAGES = {".toml": "toml"}


def page() -> str:
    """Write the sections, two pictures beside each other."""
    from draw import sections  # docs/gallery/draw.py

    return "\n\n".join(
        f"## {title}\n\n::::::{{grid}} 1 1 2 2\n:gutter: 3\n"
        + "\n".join(map(card, some))
        + "\n::::::"
        for title, some in sections()
    )


def card(picture: "Picture") -> str:
    """Write a picture with what it shows, its commands, and the files they read."""
    commands = "\n".join(f"$ {line}" for line in picture.commands)
    data = "\n".join(map(dropdown, picture.data))
    return f"""
:::::{{grid-item-card}} {picture.title}
:class-card: picture

![{picture.title}]({picture.name}.svg)

{picture.shows} See [](/{picture.page}).

```console
{commands}
```

{data}
:::::"""


def dropdown(path: str) -> str:
    """Show a file, or the beginning of a long one; only lead to one that is no text."""
    link = f"[{path}](../../{path})"
    if path.endswith(".gz"):
        return f"{link}\n"
    lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
    some = f":lines: 1-{MOST_LINES}" if lines > MOST_LINES else ""
    return f"""
::::{{dropdown}} {path}
{link}{f", its first {MOST_LINES} lines:" if some else ""}
:::{{literalinclude}} ../../{path}
:language: {LANGUAGES.get(Path(path).suffix, "text")}
{some}
:::
::::"""


def with_pictures(app: Any, docname: str, source: list[str]) -> None:
    """Add the pictures to the page, which is read anew when their list changes."""
    if docname == PAGE:
        app.env.note_dependency(str(ROOT / "docs/gallery/pictures.toml"))
        source[0] += f"\n{page()}\n"


def setup(app: Any) -> dict[str, bool]:
    """Connect it to Sphinx."""
    app.connect("source-read", with_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
