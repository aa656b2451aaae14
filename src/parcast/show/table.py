"""Columns of a table for a person, laid out side by side, and the unit that its times share."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from parcast.show.page import Page

GAP: Final = "  "


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of the table, with two lines of title."""

    title: str
    unit: str = ""
    cells: Sequence[str]
    is_text: bool = False

    def laid_out(self) -> Iterator[str]:
        """Give the titles and the cells, all of one width."""
        texts = [self.title, self.unit, *self.cells]
        width = max(map(len, texts))
        for text in texts:
            yield text.ljust(width) if self.is_text else text.rjust(width)


def side_by_side(columns: Iterable[Column], page: Page) -> list[str]:
    """Lines of a table: two of titles and one for each row; [] if the page is too narrow."""
    lines = [
        GAP.join(texts).rstrip() for texts in zip(*(x.laid_out() for x in columns), strict=True)
    ]
    return lines if page.width is None or max(map(len, lines)) <= page.width else []


def spans(lower: Sequence[str], upper: Sequence[str]) -> list[str]:
    """Texts of intervals, their ends below each other."""
    low, high = (max(map(len, texts), default=0) for texts in (lower, upper))
    return [f"{x:>{low}} to {y:{high}}" for x, y in zip(lower, upper, strict=True)]
