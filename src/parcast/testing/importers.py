"""A check of importers: they read their example, and refuse in words what is left of it."""

import random
import shutil
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from parcast.errors import FileProblems, ParameterError, ParcastError
from parcast.importers.content import HEAD
from parcast.importers.registry import Format, machine_by, timings_by

CUTS: Final = (0.25, 0.5, 0.75, 0.999)  # of the bytes that are left [1]
CHANGES: Final = 4  # of a few bytes, each time
CHANGED: Final = 16  # bytes
BINARY: Final = 4096  # bytes


def check_importer(known: Format, example: str | PathLike[str], **question: Any) -> Any:
    """Check a format with an example: a file of it, or a folder with its `member`.

    It must be recognised and read, with the `question` of `import_timings` where it needs one:
    `constants`, `rename`, `metric`. Then it is emptied, cut, changed and replaced by other bytes:
    each time `recognises` must give True or False, and reading must give an answer, or raise a
    `FileProblems` or another `ParcastError` that names the file and says what to do. Of empty
    files and of other bytes there is no answer.

    Raises
    ------
    ParameterError
        If it does something else.

    Examples
    --------
    >>> from parcast.importers.registry import format_named
    >>> from parcast.testing.importers import check_importer
    >>> check_importer(format_named("extrap"), "examples/imports/weather.txt").measurements
    Measurements(10 rows: p 1 to 16, callpath 2 names, time 3.02 to 61.4 s)
    """
    place = Path(example)
    if _recognised(known, place) is not True:
        _refuse(known, "recognise its example", f"False for {place.name}")
    answer = _read(known, place, question)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / place.name
        if place.is_dir():
            shutil.copytree(place, copy)
        else:
            shutil.copy(place, copy)
        file = copy / known.member if place.is_dir() else copy
        for what, content, is_none in _damaged(file.read_bytes()):
            file.write_bytes(content)
            _recognised(known, copy)
            try:
                _read(known, copy, question)
            except ParcastError as refusal:
                _require_helpful(known, refusal, what, {file.name, copy.name})
            except Exception as crash:
                _refuse(known, f"refuse {what} in words", repr(crash), crash)
            else:
                if is_none:
                    _refuse(known, f"refuse {what}", "an answer")
    return answer


def _damaged(content: bytes) -> Iterator[tuple[str, bytes, bool]]:
    """Give what may become of a file, in words, and whether it has no answer."""
    chance = random.Random(0)
    yield "an empty file", b"", True
    yield "other bytes", chance.randbytes(BINARY), True
    for share in CUTS:
        yield f"a file cut off at {share:.1%}", content[: int(share * len(content))], False
    for _ in range(CHANGES):
        at = chance.randrange(len(content))
        changed = content[:at] + chance.randbytes(CHANGED) + content[at + CHANGED :]
        yield f"a file with other bytes at {at}", changed, False


def _recognised(known: Format, place: Path) -> bool:
    """Ask whether it is a file of the format, as the registry does."""
    head = b"" if place.is_dir() else place.read_bytes()[:HEAD]
    try:
        given = known.recognises(head, place)
    except Exception as crash:
        _refuse(known, "recognise a file, or not, and never raise", repr(crash), crash)
    return bool(given)


def _read(known: Format, place: Path, question: Mapping[str, Any]) -> Any:
    """Read it as timings, or as a machine."""
    if known.timings is None:
        return machine_by(known, [place], **question)
    return timings_by(known, [place], **question)


def _require_helpful(known: Format, refusal: ParcastError, what: str, names: set[str]) -> None:
    """Refuse a message without the file, or without what to do."""
    text = str(refusal)
    if not any(name in text for name in names):
        _refuse(known, f"name the file where it refuses {what}", text)
    faults = [text]
    if isinstance(refusal, FileProblems):
        faults = [f"{x.message} {x.hint}" for x in refusal.problems]
    for fault in faults:
        if ". " not in fault.strip():
            _refuse(known, f"say what to do where it refuses {what}", fault)


def _refuse(known: Format, must: str, got: str, crash: Exception | None = None) -> Any:
    """Say what a format does wrong."""
    raise ParameterError(
        f"the format {known.title}", must=must, got=f"{got:.200}", hint="Correct its module."
    ) from crash
