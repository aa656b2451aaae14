"""Code blocks and tables take the focus, so that what is too wide is scrolled by keyboard.

The script of the theme takes it again from those that fit, where scripts run.
"""

from typing import Any, Final

SCROLLING: Final = ("<pre", '<div class="pst-scrollable-table-container"')


def with_focus(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Make what scrolls in a page a stop of the Tab key."""
    if "body" in context:
        for start in SCROLLING:
            context["body"] = context["body"].replace(f"{start}>", f'{start} tabindex="0">')


def setup(app: Any) -> dict[str, bool]:
    """Connect it to Sphinx."""
    app.connect("html-page-context", with_focus)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
