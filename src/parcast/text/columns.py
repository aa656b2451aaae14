"""Columns of a table for a person, laid out side by side, and the unit that its times share."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from parcast.text.page import Page
from parcast.units import TIME_UNITS, format_quantity

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


def common_unit(times: Sequence[float]) -> str:
    """Choose the unit of time that suits most of the times [s]; above seconds, all of them."""
    unit = readable_unit(median(times))
    if TIME_UNITS[unit] <= 1:
        return unit
    least = readable_unit(min(times))
    return least if TIME_UNITS[least] > 1 else "s"


def readable_unit(time: float) -> str:
    """Tell the unit in which one time [s] is best read."""
    return format_quantity(time, "time").rpartition(" ")[2]
