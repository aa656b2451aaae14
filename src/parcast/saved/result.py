"""A result that was read from its document: its numbers, without what made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from parcast.show.result import Result
from parcast.show.sheet import Column, Form, Sheet, Table
from parcast.words import listed, rounded

ROWS: Final = (
    "rows",
    "plans",
    "servers",
    "scaling",
)  # keys, of which the first that is there counts
DIGITS: Final = 5
MOST_ROWS: Final = 40
MOST_COLUMNS: Final = 8  # of a table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SavedResult(Result):
    """The document of a result, as it was written: rows, and all else by its keys.

    It can be compared, and written again.
    """

    _sheet = "parcast.saved.result:sheet_of"
    _outline = ""
    _schema = "parcast/saved/1"  # of none: it is written with that of its document

    document: Mapping[str, Any]

    @property
    def schema(self) -> str:
        """What it is the document of, and the version of that: `parcast/match/1`."""
        return str(self.document["schema"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give the rows of the document."""
        yield from rows_in(self.document)

    def to_document(self) -> dict[str, Any]:
        """Give the document as it was read."""
        return dict(self.document)

    def __repr__(self) -> str:
        """Say what it is the document of."""
        return f"{type(self).__name__}({self.schema}: {len(list(self.rows()))} rows)"


def rows_in(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the rows of a document, which some call by what they are of."""
    return next((document[name] for name in ROWS if document.get(name)), [])


def sheet_of(told: SavedResult, *, show_all: bool = False) -> Sheet:
    """Rows as a table, and warnings."""
    every = list(told.rows())
    rows = every if show_all else every[:MOST_ROWS]
    names = [x for x in (rows[0] if rows else ()) if any(row.get(x) is not None for row in rows)]
    columns = {name: [row.get(name) for row in rows] for name in names}
    left = len(every) - len(rows)
    warnings = told.document.get("warnings")
    return Sheet(
        title=f"Saved {told.schema.split('/')[1].replace('-', ' ')}",
        tables=tuple(_tables(columns)),
        warnings=tuple(map(str, warnings)) if isinstance(warnings, list) else (),
        left_out=f"{len(rows)} of {len(every)} rows are shown. All of them" if left else "",
    )


def _tables(columns: Mapping[str, list[Any]]) -> Iterator[Table]:
    """Give tables as wide as a page, each with the columns that tell rows apart."""
    from parcast.show.dataset import distinguishing

    keys = distinguishing(columns) if len(columns) > MOST_COLUMNS else []
    others = [name for name in columns if name not in keys]
    size = max(MOST_COLUMNS - len(keys), 1)
    for i in range(0, len(others), size):
        names = [*keys, *others[i : i + size]]
        yield Table(forms=(Form(columns=[_column(x, columns[x]) for x in names]),))


def _column(name: str, values: list[Any]) -> Column:
    """Write a column, texts to the left."""
    is_text = all(isinstance(x, str | None) for x in values)
    return Column(
        title=name, cells=[_cell(x) for x in values], align="left" if is_text else "right"
    )


def _cell(value: Any) -> str:
    """Write a value."""
    if isinstance(value, float):
        return rounded(value, DIGITS)
    return (
        listed(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    )
