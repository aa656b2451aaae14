"""A result as a document: JSON or CSV with the same facts, written whole or not at all.

A number that is not finite has no place in JSON and becomes `null`; in CSV its cell is empty. One
that a few operations have left beside a short one is that one: 19.0, not 18.999999999999996.
"""

import csv
import errno
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from parcast.advice import Command, File
from parcast.errors import ParameterError, RunFailed, one_line
from parcast.files.held import hold, host_mark, left_behind, let_go

ROWS_AT_A_TIME = 4096  # of CSV, in one piece of text
ESCAPING: Final = "backslashreplace"  # a byte of a name that is not UTF-8: \udcff, as JSON has it

SUPPORTED: Final = 15  # significant digits that a double has after a few operations
# Most digits of a number that is taken for exact [D]. Of measured numbers of 17 digits one in
# 100,000 lies as near to such a number, and keeps 15 of them.
SHORT: Final = 10
NEARLY: Final = re.compile(r"(?:0000|9999)\d{1,3}(?!\d)")  # how a number near a short one may end

# How a cell begins that a spreadsheet takes for a formula, or that was written to be none. Both
# patterns stand in show/page/page.js as well.
FORMULA: Final = re.compile(r"'+[=+\-@]|[=+\-@][\s\S]")
NUMBER: Final = re.compile(
    r"[+\-]?(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?(?: ?%)?"
)

OWN_FILES: Final = 0o077  # umask of files that others may not read
DRAFTS: Final = ".parcast-*.tmp"  # names of files that are being written


def json_pieces(document: Mapping[str, Any], *, exact: bool = False) -> Iterator[str]:
    """Text of strict JSON, piece by piece: a line for each key, and for each row of a list.

    With `exact` every number keeps all its digits, as what users compute must.
    """
    written = _json if exact else _shortened
    before = "{"
    for key, value in document.items():
        yield f"{before}\n  {_json(key)}: "
        if isinstance(value, list | tuple) and value:
            between = "["
            for element in value:
                yield f"{between}\n    {written(element)}"
                between = ","
            yield "\n  ]"
        else:
            yield written(value)
        before = ","
    yield "\n}\n" if document else "{}\n"


def csv_pieces(rows: Iterable[Mapping[str, Any]], *, exact: bool = False) -> Iterator[str]:
    r"""Text of a CSV file, piece by piece: a header of the keys of all rows, then a line for each.

    `exact` is as for `json_pieces`. Rows that are not, are for people: their text is escaped as on
    a screen, for a terminal that shows the file would obey a control character in a name.

    >>> "".join(csv_pieces([{"p": 64, "time_s": 1.5, "measured_s": None}]))
    'p,time_s,measured_s\n64,1.5,\n'
    """
    every = iter(rows)
    first = next(every, None)
    if first is not None:
        cell = partial(_strict, written=float) if exact else _legible
        lines = ([cell(row[name]) for name in first] for row in chain([first], every))
        yield from row_pieces(chain([list(first)], lines))


def _legible(value: Any) -> Any:
    """Write a value for people: numbers short, and text such that no terminal obeys it."""
    if isinstance(value, str):
        return one_line(value, limit=sys.maxsize)
    return _strict(value, shortened)


def guarded(text: str) -> str:
    """Put an apostrophe before a name that a spreadsheet would run as a formula.

    >>> guarded("=1+1"), guarded("-x"), guarded("-5"), guarded("'=x"), unguarded("'=1+1")
    ("'=1+1", "'-x", '-5', "''=x", '=1+1')
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    """Give the name that `guarded` wrote."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def row_pieces(rows: Iterable[Sequence[object]], *, for_people: bool = True) -> Iterator[str]:
    """Text of rows as CSV, piece by piece; one `for_people` may be opened in a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for i, row in enumerate(rows, start=1):
        cells = [guarded(x) if isinstance(x, str) else x for x in row] if for_people else row
        writer.writerow(cells)
        if i % ROWS_AT_A_TIME == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def check_place(
    path: str | os.PathLike[str], *, sources: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Refuse a path that no file can be written to, before anything is computed for it.

    `sources` are files that are read, by whatever names; it must be none of them. An empty file is
    created beside it for a moment.
    """
    try:
        target = _target(path)
    except OSError as error:
        is_loop = error.errno == errno.ELOOP
        why = "a loop of links" if is_loop else (error.strerror or str(error)).lower()
        raise ParameterError(
            str(path), must="lead to a file", got=why, hint="Choose another name."
        ) from error
    if target.is_dir() or os.fspath(path).endswith(("/", os.sep)):
        raise ParameterError(
            str(path), must="be a file", got="a folder", hint="Name a file in it."
        )
    if not target.parent.is_dir():
        make = Command(("mkdir", "-p", File(target.parent)))
        raise ParameterError(str(path), must="be in a folder that exists", hint=f"Make it: {make}")
    if _is_read_only(target):
        allow = Command(("chmod", "u+w", File(target)))
        raise ParameterError(
            str(path),
            must="be a file that may be written",
            got="a read-only one",
            hint=f"Choose another name, or allow it: {allow}",
        )
    if target.is_file() and any(os.path.exists(x) and target.samefile(x) for x in sources):
        raise ParameterError(
            str(path), must="be another file than those that are read", hint="Choose another name."
        )
    try:
        if not _is_special(target):
            for draft in left_behind(target.parent, _pattern_of_drafts()):
                draft.unlink(missing_ok=True)
            with _new_draft(target):
                pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ParameterError(
            str(path),
            must=f"be in a folder that can be written to, got: {why}",
            hint="Choose another place.",
        ) from error


def ending_of(
    path: str | os.PathLike[str], endings: Collection[str], *, name: str = "path", must: str = ""
) -> str:
    """Give the ending of a path in lower case, or refuse one that is no format."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        *others, last = endings
        must = must or f"end in {' or '.join(filter(None, [', '.join(others), last]))}"
        hint = "The ending chooses the format."
        got = one_line(os.fspath(path), limit=60)
        raise ParameterError(name, must=must, got=f'"{got}"', hint=hint)
    return ending


def why_not_writable(folder: str | os.PathLike[str]) -> str:
    """Say why nothing can be written to a folder; "" where it can."""
    import tempfile  # late: most commands need none of it

    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as refusal:
        return (refusal.strerror or str(refusal)).lower()


def require_umask() -> None:
    """Refuse a umask by which not even their owner may use new files and folders."""
    mask = os.umask(OWN_FILES)
    os.umask(mask)
    if mask & 0o700:
        allow = Command(("umask", "022"))
        raise RunFailed(
            f"Files cannot be written: the umask {mask:03o} leaves you no rights to new ones. "
            f"Allow it: {allow}"
        )


def write_document(path: str | os.PathLike[str], pieces: Iterable[str]) -> None:
    """Write text to a UTF-8 file, which is replaced only when all of it has been written."""
    with (
        replacing(path) as draft,
        draft.open("w", encoding="utf-8", errors=ESCAPING, newline="") as stream,
    ):
        stream.writelines(pieces)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a draft to write, which takes the place of `path` when the block ends without error.

    After an error what was there before is still there, and no draft is left. A pipe or a device
    cannot be replaced, and is its own draft.
    """
    target = _target(path)
    if _is_read_only(target):
        raise PermissionError(errno.EACCES, "it is read-only", os.fspath(path))
    if _is_special(target):
        with _naming(path):
            yield target
        return
    with _naming(path), _new_draft(target) as draft:
        yield draft
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        draft.replace(target)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in an error that does not, such as that of a full disk."""
    try:
        yield
    except OSError as failure:
        failure.filename = failure.filename or os.fspath(path)
        raise


def _target(path: str | os.PathLike[str]) -> Path:
    """File that a path leads to, which need not exist; links in a loop lead to none."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return target


def _is_special(target: Path) -> bool:
    """Tell a pipe or a device from a file."""
    return target.exists() and not target.is_file()


def _is_read_only(target: Path) -> bool:
    """Tell a file that was protected: replacing it would take no right to write to it."""
    if not target.is_file():
        return False
    nobody_may = not target.stat().st_mode & 0o222  # asked of root as well, who may everything
    return nobody_may or not os.access(target, os.W_OK)


def _pattern_of_drafts() -> str:
    """Pattern of the names of the drafts of this host."""
    return DRAFTS.replace("*", f"{host_mark()}-*")


@contextmanager
def _new_draft(target: Path) -> Iterator[Path]:
    """Create an empty file beside the target, which is held and removed when the block ends."""
    require_umask()
    draft = target.with_name(_pattern_of_drafts().replace("*", os.urandom(6).hex()))
    try:
        draft.open("x").close()
    except OSError as failure:  # the name of the draft is no name that a caller gave
        failure.filename = os.fspath(target.parent)
        raise
    lock = None
    try:
        lock = hold(draft)
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        let_go(lock)


def _json(value: Any) -> str:
    """Write one value on one line, as strict JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_strict(value), ensure_ascii=False, allow_nan=False)


def shortened(number: float) -> float:
    """Give the short number that a number differs from by rounding errors only, or the number.

    >>> shortened(18.999999999999996), shortened(0.1 + 0.2), shortened(1 / 3)
    (19.0, 0.3, 0.3333333333333333)
    """
    text = f"{number:.{SUPPORTED}g}"
    digits = text.partition("e")[0].strip("-0.").replace(".", "")
    return float(text) if len(digits) <= SHORT else number


def _shortened(value: Any) -> str:
    """Write one value as `_json` does, with each number that is nearly a short one as that."""
    text = _json(value)
    return _json(_strict(value, shortened)) if NEARLY.search(text) else text


def _strict(value: Any, written: Callable[[float], float] = float) -> Any:
    """Put None for every number that is not finite, and others as they are written."""
    if isinstance(value, float):
        return written(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _strict(element, written) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(element, written) for element in value]
    return value
