"""Several answers of one kind: a list that shows itself as a table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from parcast.places import load

if TYPE_CHECKING:
    from parcast.show.sheet import Sheet


class _Documented(Protocol):
    """What has a document."""

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document."""


AnyAnswer = TypeVar("AnyAnswer", bound=_Documented)


class Answers(list[AnyAnswer]):
    """A list of answers, with the tables of a `Result`."""

    __slots__ = ()

    _sheet: ClassVar[str]  # place of the function that makes one of a list

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each answer, with the keys of the JSON document."""
        for answer in self:
            yield answer.to_document()

    def to_pandas(self) -> Any:
        """Rows as a pandas data frame; what is not known is NaN. pandas must be installed."""
        from parcast.show.result import data_frame

        return data_frame(list(self.rows()))

    def to_sheet(self) -> "Sheet":
        """Everything as tables, facts and warnings for a person."""
        sheet: Sheet = load(self._sheet)(self)
        return sheet

    def __str__(self) -> str:
        """Write it as a table, without an edge."""
        from parcast.show.terminal import text_of

        return text_of(self.to_sheet())

    def _repr_html_(self) -> str:
        """Show it as a table in a notebook."""
        from parcast.show.html import html_of

        return html_of(self.to_sheet())
