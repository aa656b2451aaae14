"""How a table is to be read, where its titles and cells leave it open."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final

from parcast.errors import ParameterError, require_one_of

SEPARATOR_NAMES: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " "}
WIDE: Final = ("machine", "callpath")  # what may tell columns of times apart
DECIMALS: Final = {"point": ".", "comma": ","}


@dataclass(frozen=True, kw_only=True, slots=True)
class TableOptions:
    """What a user says of a table; `parcast.read_measurements` explains each."""

    ignore: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # names, and what the file calls them
    rate: str | None = None  # the column that is a rate
    work: str | float | None = None  # amount of work that a time is of
    repeats: Sequence[str] = ()  # columns that are repetitions of one another
    wide: str | None = None  # what tells columns of times apart: "machine"
    separator: str = ""
    decimal: str = ""
    p: int | None = None  # processors of all rows, where no column has them [1]
    along: str = ""  # with it, the axis that is asked for: names of files may tell it

    def __post_init__(self) -> None:
        """Refuse what excludes each other."""
        hint, must = "Name the separator of the columns.", f"be {' or '.join(WIDE)}"
        require_one_of("wide", self.wide, (None, *WIDE), hint, must=must)
        several = {"repeats": self.repeats, "wide": self.wide}
        if self.rate and (other := next((x for x, y in several.items() if y), "")):
            raise ParameterError(
                "rate",
                must=f"be left out with {other}",
                got=f"{self.rate!r:.60}",
                hint="Columns whose titles have the unit of a rate are recognised.",
            )

    def to_document(self) -> dict[str, Any]:
        """Give what was said as it stands in a document."""
        given = {
            "column": [f"{new}={old}" for new, old in self.columns.items()],
            "rate": self.rate,
            "work": self.work,
            "repeats": list(self.repeats),
            "wide": self.wide,
            "separator": self.separator,
            "decimal": self.decimal,
        }
        said = {name: value for name, value in given.items() if value}
        return {"ignore": list(self.ignore) or None} | said

    def only(self, titles: Set[str]) -> "TableOptions":
        """Leave out what names columns that are not among some titles."""

        def is_there(title: str) -> bool:
            return title in titles or all(part.strip() in titles for part in title.split("*"))

        return replace(
            self,
            ignore=[title for title in self.ignore if title in titles],
            columns={new: old for new, old in self.columns.items() if is_there(old)},
        )

    @property
    def named(self) -> set[str]:
        """Titles of columns that are ignored or get another name."""
        return {*self.ignore, *self.columns.values()}

    @property
    def is_of_table(self) -> bool:
        """Whether something is said that only a table of one's own can need."""
        more = self.rate or self.work or self.repeats or self.wide
        return bool(more or self.separator or self.decimal)


AS_IT_IS: Final = TableOptions()
