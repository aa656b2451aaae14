"""What text is laid out for: how wide it may be, and how it is emphasised."""

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

LABEL_WIDTH: Final = 12  # of the names that stand before what is said of them


def unstyled(text: str, _role: str) -> str:
    """Leave a text as it is, whatever its role."""
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Where text will stand. By default it has no edge and no colours."""

    width: int | None = None  # characters in a line; None: as many as there are
    style: Callable[[str, str], str] = unstyled  # text and role ("bold", "faint", "marked")

    def bold(self, text: str) -> str:
        """Make a title stand out."""
        return self.style(text, "bold")

    def faint(self, text: str) -> str:
        """Make a text stand back."""
        return self.style(text, "faint")

    def marked(self, text: str) -> str:
        """Mark a text that asks for attention; it says so in words as well."""
        return self.style(text, "marked")

    def entry(self, name: str, text: str, *, is_marked: bool = False) -> Iterator[str]:
        """Write a name and what is said of it, broken into lines that stand beside the name."""
        first, *others = self.wrapped(text, indent=LABEL_WIDTH)
        title = f"{name:{LABEL_WIDTH}}"
        yield (self.marked(title) if is_marked else self.faint(title)) + first
        for line in others:
            yield " " * LABEL_WIDTH + line

    def wrapped(self, text: str, *, indent: int) -> list[str]:
        """Break a text into lines that leave room for an indent; long words stay whole.

        >>> Page(width=40).wrapped("a cost that grows with the processors", indent=12)
        ['a cost that grows with the', 'processors']
        """
        if self.width is None:
            return [text]
        room = max(self.width - indent, 20)
        lines = textwrap.wrap(text, width=room, break_long_words=False, break_on_hyphens=False)
        return lines or [""]
