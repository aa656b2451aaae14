"""Where an answer goes: to the screen, and to files by their endings, checked before computing."""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from parcast.cli.screen import require_stdout, show_sheets, tell
from parcast.show.result import DOCUMENTS, PICTURES, TABLES
from parcast.words import listed

if TYPE_CHECKING:
    from parcast.show.result import Result
    from parcast.show.sheet import Sheet


Answer = TypeVar("Answer", bound="Result")

ANSWERS: Final = (*TABLES, *DOCUMENTS)
FIGURES: Final = (*ANSWERS, *PICTURES)  # of an answer that can be drawn
MATPLOTLIB: Final = ("png", "pdf")  # pictures that it writes


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenAnswer:
    """What a command answered, where it is not printed."""

    result: "Result"
    rows: Callable[[], Iterable[Mapping[str, Any]]]
    document: Callable[[], Mapping[str, Any]]
    sheets: "Callable[[bool], Sequence[Sheet]]"  # told whether all rows are wanted
    picture: Mapping[str, Any]  # options of it
    drawn: "Result | None"  # whose picture it is, if of another result


TAKEN: Final[ContextVar[list[GivenAnswer] | None]] = ContextVar("taken", default=None)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the answer of a command was asked to go; to "-", standard output, as CSV."""

    paths: Sequence[str]
    as_json: bool = False  # print one JSON document
    formats: Sequence[str] = FIGURES  # endings of files that are known

    def check(self, sources: Sequence[str] = ()) -> None:
        """Refuse what cannot be written, before time is spent on computing it.

        `sources` are the files that are read, which must not be overwritten.
        """
        if self.paths.count("-") + self.as_json > 1:
            raise click.UsageError(
                "-o - and --json cannot be combined: both print. Leave one out."
            )
        named: dict[str, str] = {}  # outputs by the files they lead to
        for path in filter(lambda path: path != "-", self.paths):
            self._check_file(path, sources)
            place = os.path.realpath(path)
            if place in named:
                both = f"{named[place]} and {path}"
                raise click.ClickException(
                    f"-o must be different files, got {both}. Leave one out."
                )
            named[place] = path

    def _check_file(self, path: str, sources: Sequence[str]) -> None:
        """Refuse a file that cannot be written."""
        from parcast.errors import ParameterError
        from parcast.files.document import check_place

        if format_of(path) not in self.formats:
            endings = ", ".join(f".{ending}" for ending in self.formats)
            raise click.ClickException(f"-o must be a path that ends in {endings}, got {path!r}.")
        if format_of(path) in MATPLOTLIB:
            _require_matplotlib()
        try:
            check_place(path)
        except ParameterError as error:
            raise click.ClickException(f"-o {error}") from error
        if any(_is_same_file(source, path) for source in sources):
            raise click.ClickException(
                f"-o must be another file than the one that is read, got {path}. "
                "Choose another name."
            )

    @property
    def pictures(self) -> list[str]:
        """Those that are drawn."""
        return [path for path in self.paths if format_of(path) in PICTURES]

    @property
    def is_drawn(self) -> bool:
        """Whether there is a picture, in a file of its own or in a page."""
        return bool(self.pictures) or "html" in map(format_of, self.paths)

    def _figures_beside(self, path: str) -> list[str]:
        """Places of the pictures as a document names them; LaTeX reads no SVG."""
        beside = os.path.dirname(os.path.abspath(path))
        places = [os.path.relpath(x, beside).replace(os.sep, "/") for x in self.pictures]
        return [x for x in places if format_of(x) != "svg" or format_of(path) != "tex"]

    def of_part(self) -> "Outputs":
        """Where a part of the answer goes that must not take the place of a whole one."""
        return replace(self, paths=[x if x == "-" else place_of_part(x) for x in self.paths])

    def give(
        self,
        result: "Result",
        *,
        rows: Callable[[], Iterable[Mapping[str, Any]]] | None = None,
        document: Callable[[], Mapping[str, Any]] | None = None,
        sheets: "Callable[[bool], Sequence[Sheet]] | None" = None,
        picture: Mapping[str, Any] | None = None,
        drawn: "Result | None" = None,
        write: Callable[[str], None] | None = None,
        **shown: Any,
    ) -> None:
        """Write a result to every output, and print it once: as JSON, CSV, or for a person.

        What is given here takes the place of what the result has itself: rows, document, sheets
        (told whether all rows are wanted), the result whose picture is drawn and options of the
        picture, and what writes files of other endings than `FIGURES`.
        """
        from parcast.files.document import json_pieces

        def own_sheets(is_whole: bool) -> "Sequence[Sheet]":
            return [result._whole_sheet(**shown) if is_whole else result.to_sheet(**shown)]

        every, is_whole = sheets or own_sheets, bool(shown.get("show_all"))

        def for_readers() -> "Sequence[Sheet]":
            return every(is_whole or result._fits_a_page())

        rows, document = rows or result.rows, document or result.to_document
        taken = TAKEN.get()
        if taken is not None:
            own = GivenAnswer(
                result=result,
                rows=rows,
                document=document,
                sheets=every,
                picture=picture or {},
                drawn=drawn,
            )
            taken.append(own)
            return

        def write_other(path: str) -> None:
            ending = format_of(path)
            if ending == "html":
                from parcast.show.page.page import answer_for, save_page

                answer = answer_for(result, sheets=for_readers(), drawn=drawn, **picture or {})
                save_page(path, [answer], command=command_line())
            elif ending in DOCUMENTS:
                write_sheets(path, for_readers(), result._origin(), self._figures_beside(path))
            elif ending in PICTURES:
                (drawn or result).save(path, **picture or {})
            else:
                (write or result.save)(path)

        written = partial(write_answer, rows=rows, document=document, write=write_other)
        tasks: list[Callable[[], object]] = [partial(written, path) for path in self.paths]
        if self.as_json:
            tasks.append(lambda: print_pieces(json_pieces(document())))
        elif "-" not in self.paths:
            tasks.append(lambda: show_sheets(every(is_whole)))
        do_each(tasks)


def write_sheets(
    path: str,
    sheets: "Sequence[Sheet]",
    document: Mapping[str, Any],
    figures: Sequence[str] = (),
) -> None:
    """Write sheets for a reader; a page says where they come from by a document, or part of it."""
    if format_of(path) == "html":
        from parcast.show.page import page

        page.save_page(path, [page.Answer(sheets=sheets, origin=document)], command=command_line())
    else:
        from parcast.show.documents import save_sheets, titled

        save_sheets(path, titled(sheets, document), figures)


def _require_matplotlib() -> None:
    """Refuse pictures where matplotlib is missing, and keep it from telling of its cache."""
    import logging

    if find_spec("matplotlib") is None:
        from parcast.needs import missing_package

        raise missing_package("Figures need", "matplotlib", "plot")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def do_each(tasks: Iterable[Callable[[], object]]) -> None:
    """Do several things, such as write files, each whatever becomes of the others.

    What failed is raised when all are done: alone, or as a group.
    """
    failures = []
    for task in tasks:
        try:
            task()
        except Exception as failure:
            failures.append(failure)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup("several outputs failed", failures)


def write_answer(
    path: str,
    *,
    rows: Callable[[], Iterable[Mapping[str, Any]]],
    document: Callable[[], Mapping[str, Any]],
    write: Callable[[str], None],
) -> None:
    """Write an answer in the format that the ending of a path asks for; to "-" as CSV."""
    from parcast.files.document import csv_pieces, json_pieces, write_document

    ending = format_of(path)
    if path == "-":
        print_pieces(csv_pieces(rows()))
        return
    if ending == "csv":
        write_document(path, csv_pieces(rows()))
    elif ending == "json":
        write_document(path, json_pieces(document()))
    else:
        write(path)
    tell_written(path)


def tell_written(*paths: str, more: str = "") -> None:
    """Say that files were written, and what is to be said of them."""
    tell(f"wrote {listed(paths)}{f': {more}' if more else ''}.")


def command_line() -> str:
    """Command line that is run, as it can be typed again."""
    return shlex.join([Path(sys.argv[0]).stem.replace("__main__", "parcast"), *sys.argv[1:]])


def _is_same_file(one: str, other: str) -> bool:
    """Tell whether two paths lead to one file."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def print_pieces(pieces: Iterator[str]) -> None:
    """Print a document as UTF-8, whatever the terminal is set to."""
    write_all("".join(pieces))


def write_all(text: str) -> None:
    """Write text to standard output, all of it: an unbuffered stream may take only a part."""
    from parcast.files.document import ESCAPING

    require_stdout()
    sys.stdout.flush()
    stream: Any = sys.stdout.buffer
    left = memoryview(text.encode("utf-8", errors=ESCAPING))
    while left:
        left = left[stream.write(left) or 0 :]
    stream.flush()


def format_of(path: str) -> str:
    """Tell the format by the ending of a path."""
    return Path(path).suffix.removeprefix(".").lower()


def place_of_part(output: str) -> str:
    """Path to write a part to: it does not take the place of what is there, which may be whole."""
    if not os.path.exists(output):
        return output
    path = Path(output)
    beside = str(path.with_name(f"{path.stem}.interrupted{path.suffix}"))
    tell(f"{output} is left as it was; see {beside}.")
    return beside


def same_as(file: str, other: str) -> str:
    """Say that a file has the bytes of another one, or is given twice."""
    return f"{file} is given twice." if file == other else f"{file} is the same as {other}."


def tell_copy(file: str, other: str) -> None:
    """Say on standard error that a file with the bytes of another one is left out."""
    tell(f"{same_as(file, other)} It is used once.")


def with_inputs(result: Answer, **inputs: Any) -> Answer:
    """Note in a result what it was made from, and the version that made it.

    That two of its files are the same is a warning of the answer.
    """
    from parcast.show.warning import Rank, RankedWarning
    from parcast.version import __version__

    names: dict[str, list[str]] = {}
    for file, mark in _files_in({x: y for x, y in inputs.items() if x != "donors"}):
        names.setdefault(mark, []).append(file)
    if same := [same_as(x, first) for first, *others in names.values() for x in others]:
        graver = (RankedWarning(x, rank=Rank.SERIOUS) for x in same)
        inputs["warnings"] = [*graver, *inputs.get("warnings", ())]
    data: Any = result
    noted: Answer = replace(data, inputs={**inputs, "parcast": __version__})
    return noted


def _files_in(inputs: Any) -> Iterator[tuple[str, str]]:
    """Files that an answer is made from, each with its digest."""
    if isinstance(inputs, Mapping):
        if inputs.get("sha256") is not None:
            yield inputs["file"], inputs["sha256"]
        inputs = list(inputs.values())
    for each in inputs if isinstance(inputs, list | tuple) else ():
        yield from _files_in(each)
