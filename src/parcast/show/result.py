"""What every answer of a question can do; its sheet and its picture are loaded when asked for."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import islice
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from parcast.errors import ParameterError
from parcast.places import load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from parcast.show.sheet import Sheet


TABLES: Final = ("csv", "json")  # endings of files
DOCUMENTS: Final = ("html", "md", "tex")  # for readers
PICTURES: Final = ("svg", "png", "pdf")
ORIGIN: Final = ("law", "sources", "inputs")  # keys that say where an answer comes from
LONGEST: Final = 2000  # rows of an answer of which a page has all, 1.6 MB; else what is printed


class _Listed(ABCMeta):
    """Has `dir` of a class list what its users call, and what every class has."""

    def __dir__(cls) -> list[str]:
        """List its names without those of parcast's own use."""
        return [name for name in super().__dir__() if _is_public(name)]


def _is_public(name: str) -> bool:
    """Whether users may call a name: it has no leading underscore, or is one of Python's."""
    return not name.startswith("_") or name.startswith("__")


class Result(metaclass=_Listed):
    """An answer: frozen data with rows, a document, a sheet and possibly a picture.

    A subclass names by place the functions of a result that make its sheet and draw its figure,
    and what its document has by an outline, see `parcast.show.outline`.
    """

    __slots__ = ()

    _schema: ClassVar[str]  # "parcast/match/1"
    _outline: ClassVar[str]  # "rows goal within_s warnings"
    _sheet: ClassVar[str] = ""  # "parcast.deciding.sheet:sheet_of"; else that of its folder
    _picture: ClassVar[str] = ""  # "" where there is none
    # axes of rows, for `to_xarray`: their columns, or all before a column: "*time_s"
    _axes: ClassVar[str] = ""
    _never_filled: ClassVar[tuple[str, ...]] = ()  # columns of rows that other results fill

    @abstractmethod
    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one tidy row for each answer, as CSV and the JSON document have them.

        They are made one by one: `list` makes a list of them.
        """

    def __eq__(self, other: object) -> bool:
        """Whether it is of one kind with another result, and has the same document."""
        if type(other) is not type(self):
            return NotImplemented
        return self.to_document() == other.to_document()

    def __hash__(self) -> int:
        """One number for all of a kind: equal ones share it, and few are compared."""
        return hash(type(self))

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        from parcast.show.outline import document_of

        return {"schema": self._schema, **document_of(self)}

    def _origin(self) -> dict[str, Any]:
        """What its document says of where it comes from, without the rows where it can."""
        from parcast.show.outline import document_of

        if type(self).to_document is not Result.to_document:
            return self.to_document()
        keys = (x for x in self._outline.split() if x.partition("=")[0].strip("?") in ORIGIN)
        wanted = " ".join(keys)
        return {"schema": self._schema, **(document_of(self, wanted) if wanted else {})}

    @property
    def _of_fields(self) -> Any:
        """The call of its class with its fields: of results whose outline has it."""
        return load("parcast.saved.fields:call_of")(self)

    def _as_saved(self, document: Mapping[str, Any]) -> Self:  # noqa: ARG002 - for those that can
        """Give it as it was when a document was made of it: it may have fewer series."""
        return self  # a subclass that may have been reduced does so

    def to_sheet(self, **options: Any) -> "Sheet":
        """Everything as tables, facts and warnings for a person."""
        from parcast.show.warning import warnings_in

        sheet: Sheet = self._sheet_maker()(self, **options)
        of_files = warnings_in(getattr(self, "inputs", None))
        return replace(sheet, warnings=(*sheet.warnings, *of_files)) if of_files else sheet

    def _fits_a_page(self) -> bool:
        """Whether a page or a document for a reader has all of its rows."""
        return next(islice(self.rows(), LONGEST, None), None) is None

    def _whole_sheet(self, **options: Any) -> "Sheet":
        """Everything with all rows that a page has, where its sheet can leave some out."""
        if "show_all" in signature(self._sheet_maker()).parameters:
            options["show_all"] = options.get("show_all") or self._fits_a_page()
        return self.to_sheet(**options)

    def _sheet_maker(self) -> Any:
        """Function that makes its sheet."""
        folder = type(self).__module__.rpartition(".")[0]
        return load(self._sheet or f"{folder}.sheet:sheet_of")

    def to_pandas(self) -> Any:
        """Rows as a pandas data frame; what is not known is NaN. pandas must be installed.

        The columns are those of the CSV file, without those that no such result fills. For a
        paper, pandas has `set_index`, `round`, `to_latex` and `to_markdown`.
        """
        frame = data_frame(list(self.rows())).drop(columns=[*self._never_filled], errors="ignore")
        empty = [name for name in frame.columns if frame[name].isna().all()]
        return frame.astype(dict.fromkeys(empty, float))

    def to_xarray(self, axes: Sequence[str] | None = None) -> Any:
        """Rows as an `xarray.Dataset`: each axis a dimension, each other column a variable.

        Variables have the names of columns without their unit, which is the attribute `units`;
        ends of intervals are variables too, such as `lower` and `upper`. Where rows do not fill
        the grid of their axes, the others are NaN, and a warning says how many. What is to be said
        of the answer is the attribute `comment`. xarray must be installed.

        Parameters
        ----------
        axes : sequence of str, optional
            Columns of the rows that are axes. By default those of the result: the columns that
            tell series apart, `p`, and what else was varied; else the first columns that tell
            its rows apart.

        Raises
        ------
        ParameterError
            If there are no such columns, if two rows have the same values of all axes, or if the
            grid would be nearly empty.
        """
        return load("parcast.show.dataset:dataset_of")(self, axes)

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Write it to a file: its rows, its document, all of it for a reader, or its picture.

        Parameters
        ----------
        path : str or path
            Its ending is the format: ``.csv``, ``.json``, ``.html`` (a page with its pictures),
            ``.md`` and ``.tex`` (tables), and of a result that can be drawn ``.svg``, ``.png`` or
            ``.pdf``, the last two by matplotlib.
        **options
            Of its picture, as for `plot`.

        Raises
        ------
        ParameterError
            If the ending is none of these, or no file can be written there.
        OSError
            If the file cannot be written; what was there before is still there.
        """
        from parcast.files.document import (
            check_place,
            csv_pieces,
            ending_of,
            json_pieces,
            write_document,
        )

        check_place(path)
        own = (*TABLES, *DOCUMENTS, *(PICTURES if self._picture else ()))
        ending = ending_of(path, [f".{x}" for x in own])[1:]
        if ending == "csv":
            write_document(fspath(path), csv_pieces(self.rows()))
        elif ending == "json":
            write_document(fspath(path), json_pieces(self.to_document()))
        elif ending == "html":
            load("parcast.show.page.page:save_result")(self, path, **options)
        elif ending in DOCUMENTS:
            from parcast.show.documents import save_sheets, titled

            save_sheets(path, titled([self._whole_sheet()], self.to_document()))
        else:
            load("parcast.show.pictures.canvas:save_picture")(
                partial(self._drawn, **options), path
            )

    def plot(self, ax: "Axes | None" = None, **options: Any) -> Any:
        """Draw it with matplotlib: in `ax`, or in a new figure that `plt.show()` shows.

        Parameters
        ----------
        ax : matplotlib Axes, default: new ones
            Where to draw a picture of one panel.
        **options
            Of its picture. A forecast has `quantity` ("time", "speedup" or "efficiency"),
            `overlay` (whether its series share one panel), `knees` and `planned`; a prediction
            has `picture` ("lines", "contours", "map" or "surface") and `quantity` ("time",
            "speedup", "efficiency", "power" or "cost"); others have none.

        Returns
        -------
        Axes or array of Axes
            What was drawn in; ``.figure`` of each is the figure.

        Raises
        ------
        ParameterError
            If it has no picture, or one of several panels and `ax` is given.
        MissingPackage
            If matplotlib is not installed.
        """
        from parcast.show.pictures.canvas import plot_in

        return plot_in(ax, partial(self._drawn, **options))

    def _drawn(self, **options: Any) -> "Figure":
        """Draw it in one matplotlib figure."""
        if not self._picture:
            raise ParameterError(
                f"{type(self).__name__} has no picture. Draw the rows of to_pandas()."
            )
        figure: Figure = load(self._picture)(self, **options)
        return figure

    def __dir__(self) -> list[str]:
        """List its names without those of parcast's own use, and `plot` where it has a picture."""
        hidden = () if self._picture else ("plot",)
        return [x for x in super().__dir__() if _is_public(x) and x not in hidden]

    def __str__(self) -> str:
        """Write what the command line prints, without an edge."""
        from parcast.show.terminal import text_of

        return text_of(self.to_sheet())

    def _repr_html_(self) -> str:
        """Show in a notebook what it is worth, its picture, then its tables."""
        shown: str = load("parcast.show.page.notebook:html_of_result")(self)
        return shown


def data_frame(columns_or_rows: Any) -> Any:
    """Make a `pandas.DataFrame`; where pandas is missing, say how to install it."""
    try:
        import pandas as pd
    except ImportError:
        raise ModuleNotFoundError(
            "to_pandas needs pandas. Install with: pip install pandas", name="pandas"
        ) from None
    return pd.DataFrame(columns_or_rows)
