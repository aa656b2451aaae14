"""What the person at the other end can see: how wide, in colour or not, and how far we are."""

import errno
import os
import shutil
import sys
import time
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

import click

from parcast.errors import one_line

if TYPE_CHECKING:
    from parcast.show.sheet import Sheet
    from parcast.show.terminal import Page

VERBOSE: Final = "parcast.verbose"  # in the context of a command: whether -v was given
PATIENCE: Final = 1.0  # how long nothing is said of progress [s]
SAID: Final[ContextVar[list[str] | None]] = ContextVar("said", default=None)  # if not printed
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "bold": {"bold": True},
    "faint": {"dim": True},
    "marked": {"fg": "yellow"},
}


def page_of_stdout() -> "Page":
    """Tell how wide standard output is, and whether it may have colours."""
    from parcast.show.terminal import Page  # late: help needs none

    columns = os.environ.get("COLUMNS", "")
    is_terminal = is_a_terminal(sys.stdout)
    width = None
    if columns.isdigit() and int(columns) > 0:
        width = int(columns)
    elif is_terminal:
        width = shutil.get_terminal_size().columns
    context = click.get_current_context(silent=True)
    page = Page(
        width=width,
        is_verbose=bool(context and context.meta.get(VERBOSE)),
        rows_are_in="--all, --json or -o all.csv",
        warnings_are_in="-v shows all",
    )
    return replace(page, style=_in_colour) if is_terminal and may_colour() else page


def show(lines: list[str]) -> None:
    """Print lines of the answer, as they are."""
    require_stdout()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names in any script, anywhere
    for line in lines:  # one by one: an unbuffered stream may take only a part of a long text
        click.echo(line, color=True)


def require_stdout() -> None:
    """Refuse to print where standard output was closed before parcast began."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "standard output")


def show_sheet(sheet: "Sheet") -> None:
    """Print an answer for a person, and on stderr what it leaves out."""
    show_sheets([sheet])


def show_sheets(sheets: "Iterable[Sheet]") -> None:
    """Print the parts of an answer, with an empty line between them."""
    from parcast.show.terminal import lay_out

    for i, sheet in enumerate(sheets):
        lines, left_out = lay_out(sheet, page_of_stdout())
        show(["", *lines] if i else lines)
        if left_out:
            tell(left_out)


def tell(text: str) -> None:
    """Say something beside the answer, on one line of stderr, whatever names stand in it."""
    said = SAID.get()
    if said is not None:
        said.append(one_line(text))
        return
    click.echo(f"parcast: {one_line(text)}", err=True)


def _in_colour(text: str, role: str) -> str:
    """Give a text the look of its role on a terminal."""
    return click.style(text, **LOOKS[role])


class Progress:
    """A line on stderr that says how far a long task is; gone when the task is done."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._begun = time.monotonic()
        self._stream = sys.stderr if is_a_terminal(sys.stderr) and may_move() else None
        self._shown = ""

    def __call__(
        self, done: float, total: float | None, *, task: str | None = None, words: str = ""
    ) -> None:
        """Say how much is done, once the task has taken a while.

        `task` names its part, `words` stand in place of the share that is done.
        """
        self._task = task or self._task
        if self._stream is None or time.monotonic() - self._begun < PATIENCE:
            return
        share = words or (f"{done / total:4.0%}" if total else f"{done / 1e6:.0f} MB")
        bar = f" [{'#' * int(20 * done / total):20}]" if total else ""
        self._put(f"{self._task}{bar} {share}")

    def __enter__(self) -> Self:
        """Begin the task."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the line as it was, however the task ended."""
        self._put("")

    def _put(self, text: str) -> None:
        text = one_line(text)
        if self._stream is None or text == self._shown:
            return
        try:
            self._stream.write(f"\r{text:{len(self._shown)}}" + ("" if text else "\r"))
            self._stream.flush()
        except OSError:  # the terminal was closed; the task goes on
            self._stream = None
        self._shown = text


def is_a_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person sees what is written there."""
    return stream is not None and not stream.closed and stream.isatty()


def may_move() -> bool:
    """Tell whether a terminal can go back in a line."""
    return os.environ.get("TERM") != "dumb"


def may_colour() -> bool:
    """Tell whether a terminal may be given colours."""
    return may_move() and not os.environ.get("NO_COLOR")
