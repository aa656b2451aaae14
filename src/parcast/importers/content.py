"""The content of a file of another tool: lines of text one by one, or one JSON document.

A program that is linked with another MPI than `mpirun` belongs to starts as p copies of one rank,
each of which says that it ran alone.

Whatever cannot be such a file is refused with its place: an archive, other bytes than UTF-8, a
document that was cut off. Where only a library reads a file, it is an extra of parcast.
"""

import json
import os
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final, NoReturn

from parcast.advice import Command, File
from parcast.errors import FileProblems, ParcastError, Problem
from parcast.files.bounds import LARGEST, LARGEST_OBJECTS, as_size, json_takes, too_large
from parcast.files.decoding import UTF8_MARK, gunzip, opened, to_utf8
from parcast.files.faults import Faults
from parcast.files.numbers import whole_of_json
from parcast.importers.counts import count_in
from parcast.needs import install
from parcast.units import shown

REMEDY: Final = (
    "Start it with the mpirun of the MPI that the program is linked with (ldd PROGRAM), and time "
    "it again."
)
LONGEST_LINE = 2**24  # bytes; what is longer is no line of a profile
LARGEST_DOCUMENT = 200_000_000  # bytes of one JSON document, which is in memory as a whole
HEAD = 2**16  # bytes that tell what a file is
MOST_JOBS: Final = 500_000  # of a table of jobs
LOOKED_AT: Final = 2**20  # characters; a shorter document takes little memory
CUT_OFF = "The file may have been cut off: write it again."

Hook = Callable[[dict[str, Any]], Any]


def refuse_copies(got: str, faults: Faults, line: int | None = None) -> NoReturn:
    """Refuse a log of several ranks that ran alone."""
    faults.refuse(
        f"must be of ranks that work together, got {got}: they did not find each other. {REMEDY}",
        line=line,
    )


def refuse_lone_rank(p: int, faults: Faults) -> None:
    """Refuse a log of 1 process whose name says that it had more."""
    expected = count_in(PurePath(faults.path).stem) or 1
    if p == 1 < expected:
        refuse_copies(f"{expected} in its name and 1 process in its text", faults)


def note_on_lone_ranks(counts: Sequence[int]) -> list[str]:
    """Say what it may mean that all of several runs were alone."""
    if len(counts) < 2 or set(counts) != {1}:
        return []
    return [
        f"All {len(counts)} runs say that they had 1 process. If they were started with more, "
        f"their ranks did not find each other. {REMEDY}"
    ]


def first_error(text: str) -> str:
    """Shorten a line by which a program says why it stopped."""
    return shown(" ".join(text.split()), limit=80)


def raw_lines(
    path: str | os.PathLike[str], faults: Faults, *, largest: int = LARGEST
) -> Iterator[tuple[int, bytes]]:
    """Go through the lines of a file, with their numbers and their ends."""
    with opened(path, largest=largest) as (_, stream):
        number = 0
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            raw = line if isinstance(line, bytes) else line.encode()
            if len(raw) > LONGEST_LINE:
                faults.refuse(
                    f"must be lines of up to {LONGEST_LINE // 2**20} MiB, got a longer one. "
                    "Name the format if it is another.",
                    line=number,
                )
            yield number, raw


def text_lines(
    path: str | os.PathLike[str], faults: Faults, *, largest: int = LARGEST
) -> Iterator[tuple[int, str]]:
    """Go through the lines of a UTF-8 file that hold something, stripped, with their numbers."""
    is_empty = True
    for number, raw in raw_lines(path, faults, largest=largest):
        if number == 1:
            refuse_packed(raw, faults)
        text = decoded(raw, faults, line=number).strip()
        if text:
            is_empty = False
            yield number, text
    if is_empty:
        _refuse_empty(faults)


def beginning(path: str | os.PathLike[str], size: int = HEAD) -> bytes:
    """Read how a file begins."""
    with opened(path) as (_, stream):
        head = stream.read(size)
    return head if isinstance(head, bytes) else head.encode()


def head_of(path: str | os.PathLike[str]) -> bytes | None:
    """Read how a file begins, None where it cannot be read: of a pipe nothing is taken away."""
    if not os.path.isfile(path):
        return None
    with suppress(OSError), open(path, "rb") as stream:
        return stream.read(HEAD)
    return None


def first_line(path: str | os.PathLike[str], faults: Faults) -> str:
    """Read the first line that holds something, up to 64 KiB of it."""
    head = beginning(path)
    refuse_packed(head, faults)
    text = head.removeprefix(UTF8_MARK).decode("utf-8", errors="replace").lstrip()
    if not text and len(head) < HEAD:
        _refuse_empty(faults)
    return text.split("\n", 1)[0].strip()


def json_document(
    path: str | os.PathLike[str], faults: Faults, *, hook: Hook | None = None
) -> Any:
    """Read a file that is one JSON document; `NaN` and `Infinity` are floats in it.

    `hook` gives what to put in place of each object as soon as it is read, so that a large
    document need not be in memory with all that is ignored.
    """
    return parsed(document_text(path, faults), faults, hook=hook)


def keeping(keys: Container[str]) -> Hook:
    """Keep only what is read of an object: a job of Slurm has hundreds of other keys."""
    return lambda read: {key: value for key, value in read.items() if key in keys}


def benchmarks_in(document: Any, written_by: str, faults: Faults) -> list[Any]:
    """Give the list of benchmarks of a document that a benchmark tool writes."""
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    if not isinstance(benchmarks, list) or not benchmarks:
        faults.refuse(
            f"must be a list of benchmarks, as {written_by} writes it. "
            "Name the format if it is another.",
            field="benchmarks",
        )
    return benchmarks


def document_text(path: str | os.PathLike[str], faults: Faults) -> str:
    """Read the text of a file that is one JSON document."""
    remedy = "Split it, or write the runs line by line."
    with opened(path, largest=LARGEST_DOCUMENT, remedy=remedy) as (_, stream):
        read = stream.read(LARGEST_DOCUMENT + 1)
    raw = read if isinstance(read, bytes) else read.encode()
    del read
    if len(raw) > LARGEST_DOCUMENT:
        faults.refuse(too_large(LARGEST_DOCUMENT, remedy))
    refuse_packed(raw[:4], faults)
    text = decoded(raw, faults)
    if not text or text.isspace():
        _refuse_empty(faults)
    return text


def parsed(text: str, faults: Faults, *, line: int = 1, hook: Hook | None = None) -> Any:
    """Parse JSON that begins on some line of a file."""
    if len(text) > LOOKED_AT and (takes := json_takes(text)) > LARGEST_OBJECTS:
        faults.refuse(
            f"must be JSON whose objects take at most {as_size(LARGEST_OBJECTS)} of memory, got "
            f"up to {as_size(float(f'{takes:.1e}'))}. Split it, or write the runs line by line.",
            line=line,
        )
    try:
        return json.loads(text, object_hook=hook, parse_int=whole_of_json)
    except json.JSONDecodeError as error:
        place = line + error.lineno - 1
        rest = text[error.pos : error.pos + 40].strip()
        if not rest or error.msg.startswith("Unterminated"):  # json tells it by its text alone
            faults.refuse(f"must be complete JSON, got an early end. {CUT_OFF}", line=place)
        faults.refuse(
            f"must be JSON, got {shown(repr(rest), limit=24)} at column {error.colno}. "
            "Correct it there, or name the format if it is another.",
            line=place,
        )
    except RecursionError:
        faults.refuse("must be JSON that can be read, got objects nested too deeply.", line=line)


def json_object(
    value: Any,
    field: str,
    faults: Faults,
    *,
    kind: str = "an object",
    remedy: str = "Correct it.",
) -> dict[str, Any]:
    """Take an object of a document, or refuse what is none."""
    if not isinstance(value, dict):
        got = shown(repr(value), limit=30)
        faults.refuse(f"must be {kind}, got {got}. {remedy}", field=field)
    return value


def decoded(raw: bytes, faults: Faults, *, line: int | None = None) -> str:
    """Turn bytes into text, or say which byte is not UTF-8."""
    raw = raw.removeprefix(UTF8_MARK) if line in (None, 1) else raw
    if b"\0" in raw:
        faults.refuse("must be text, got a NUL byte. Name the format if it is another.", line=line)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        place = line or raw.count(b"\n", 0, error.start) + 1
        byte = f"0x{raw[error.start]:02x}"
        faults.refuse(f"must be UTF-8, got the byte {byte}. Save it as UTF-8.", line=place)


def refuse_packed(start: bytes, faults: Faults) -> None:
    """Refuse archives and UTF-16 by how they begin."""
    if start.startswith(b"\x1f\x8b"):
        unpack = gunzip(faults.path)
        faults.refuse(f"must be unpacked, got a gzip archive. Unpack it: {unpack}")
    if start.startswith(b"PK\x03\x04"):
        unpack = Command(("unzip", File(faults.path)))
        faults.refuse(f"must be unpacked, got a zip archive. Unpack it: {unpack}")
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        convert = to_utf8("UTF-16", faults.path)
        faults.refuse(f"must be UTF-8, got UTF-16. Convert it: {convert}")


def _refuse_empty(faults: Faults) -> NoReturn:
    """Refuse a file without content."""
    faults.refuse(f"must contain measurements, got an empty file. {CUT_OFF}")


class MissingLibrary(  # type: ignore[misc]  # noqa: N818 - both have a path; says what is missing
    FileProblems,
    ModuleNotFoundError,
):
    """A file that only a library can read that is not installed; `name` says which."""


def library(name: str, faults: Faults, *, extra: str, otherwise: str) -> Any:
    """Load the library that reads a file, or say which extra of parcast installs it.

    `otherwise` is what to do without it, one sentence.
    """
    try:
        return import_module(name)
    except (ImportError, OSError, RuntimeError) as error:
        why = why_missing(name, error)
        raise missing_library(name, why, faults, extra=extra, otherwise=otherwise) from error


def why_missing(name: str, error: Exception) -> str:
    """Say why a library does not load; nothing where it is not installed."""
    is_absent = isinstance(error, ModuleNotFoundError) and error.name == name
    return "" if is_absent else str(error) or type(error).__name__


def missing_library(
    name: str, why: str, faults: Faults, *, extra: str, otherwise: str
) -> MissingLibrary:
    """Say which extra of parcast installs a library, which is missing for a reason or for none."""
    reason = f"does not load: {why}" if why else "is not installed"
    message = f"needs {name}, which {reason}. Install with: {install(extra)} {otherwise}"
    missing = MissingLibrary(faults.path, [Problem(message=message.rstrip())])
    missing.name = name
    return missing


@contextmanager
def reading_with(name: str, what: str, faults: Faults, remedy: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads `what` into a refusal of the file."""
    try:
        yield
    except ParcastError:
        raise
    except Exception as error:  # of tar, zlib, XML, of their own, and failed assertions
        refuse_unread(name, what, raised(error), faults, remedy)


def refuse_unread(name: str, what: str, why: str, faults: Faults, remedy: str) -> NoReturn:
    """Refuse a file that a library cannot read."""
    faults.refuse(f"must be {what} that {name} can read, got {shown(why, limit=100)}. {remedy}")


def raised(error: Exception) -> str:
    """Name an exception of a library."""
    return f"{type(error).__name__}: {error}".rstrip(": ")
