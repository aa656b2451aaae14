"""Bytes into numbered lines of text, a block at a time, whatever ends the lines.

LF, CR LF and a lone CR end a line, a byte order mark of UTF-8 is dropped, and UTF-16 with its mark
is read. What cannot be a text file (an archive, a line without end) is refused before it fills the
memory.
"""

import difflib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, NoReturn, TextIO

from parcast.advice import STANDARD_INPUT, Command, File
from parcast.errors import ParameterError
from parcast.files.bounds import LARGEST, SPLIT, refuse_kind, refuse_size, too_large
from parcast.files.faults import Faults

LONGEST_LINE = 2**20  # bytes; a longer line is not a row of a table
STDIN: Final = STANDARD_INPUT
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
CONTROLS = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")  # which no text has
MOST_UTF16 = 100_000_000  # bytes that are turned into UTF-8 in memory
CLOSE = 0.75  # ratio of two names without their endings from which one may be meant (difflib)
PACKED = {
    b"PK\x03\x04": "must be text, got a spreadsheet or zip archive. Save the sheet as CSV UTF-8.",
}

Progress = Callable[[int, int | None], None]  # bytes read so far, bytes in all if known


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Some consecutive lines of a file."""

    first_line: int  # counted from 1
    text: str  # its lines end in LF, but the last; a byte that is not UTF-8 is U+DC80 to U+DCFF
    is_utf8: bool

    @property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.split("\n")


@contextmanager
def opened(
    source: str | os.PathLike[str] | TextIO | BinaryIO,
    *,
    largest: float = LARGEST,
    remedy: str = SPLIT,
) -> Iterator[tuple[str, TextIO | BinaryIO]]:
    """Open a file by its path, or standard input as "-": what messages call it, and the stream.

    A file of more than `largest` bytes is refused; a pipe or a stream is taken as it is, and
    bounded by who reads it.
    """
    if source == "-":
        yield STDIN, getattr(sys.stdin, "buffer", sys.stdin)
    elif isinstance(source, str | os.PathLike):
        faults = Faults(name_of(source))
        with _open(Path(source), faults) as stream:
            refuse_size(stream, largest, faults, remedy)
            yield name_of(source), stream
    else:
        if not hasattr(source, "read"):
            raise ParameterError(
                "source", must="be a path or a stream", got=f"{source!r:.60}", hint="Name a file."
            )
        name = getattr(source, "name", None)
        yield name if isinstance(name, str) else "stream", source


_COPIES: dict[str, str] = {}  # paths of copies, and what messages call them


@contextmanager
def copy_called(path: str, name: str) -> Iterator[None]:
    """Let messages call a file that is a copy by what it is a copy of."""
    _COPIES[path] = name
    try:
        yield
    finally:
        del _COPIES[path]


def name_of(path: str | os.PathLike[str]) -> str:
    """Name a file as messages do."""
    return _COPIES.get(os.fspath(path), os.fspath(path))


def is_text(head: bytes) -> bool:
    r"""Whether a file that begins so may be text.

    >>> is_text(b"p,time_s\n"), is_text(b"\x07\x00p"), is_text(b"\xff\xfep\x00")
    (True, False, True)
    """
    return head[:2] in UTF16_MARKS or not CONTROLS.search(head)


def base_name(path: str | os.PathLike[str]) -> str:
    """Name a file as messages do, without its folder."""
    return os.path.basename(name_of(path))


def gunzip(name: str) -> Command:
    """Write how a gzip archive is unpacked, which `gzip -d` refuses under another name."""
    if name.endswith(".gz"):
        return Command(("gzip", "-dk", File(name)))
    return Command(("gzip", "-dc"), reads=name, writes="unpacked")


def to_utf8(encoding: str, name: str, target: str = "converted") -> Command:
    """Write how a file in another encoding is converted."""
    return Command(("iconv", "-f", encoding, "-t", "UTF-8"), reads=name, writes=target)


def _open(path: Path, faults: Faults) -> BinaryIO:
    """Open a file, or say what is wrong with its path."""
    refuse_kind(path, faults)
    try:
        return path.open("rb")
    except FileNotFoundError:
        faults.refuse(_not_there(path))
    except PermissionError:
        faults.refuse(f"must be readable, got permission denied. Allow it: {_allow(path)}")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        faults.refuse(f"must be readable, got: {getattr(error, 'strerror', None) or error}.")


def _allow(path: Path) -> Command:
    """Write the command that lets us read a file, or enter the first folder that is closed."""
    closed = next(
        (x for x in reversed(path.absolute().parents) if not os.access(x, os.X_OK)), None
    )
    right, place = ("r", path) if closed is None else ("x", closed)
    return Command(("chmod", f"u+{right}", File(place)))


def _is_file(entry: "os.DirEntry[str]") -> bool:
    """Tell a file; a link in a loop is none."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _not_there(path: Path) -> str:
    """Say that a file does not exist and which one may be meant."""
    if path.is_symlink():
        to = path.readlink()
        return f"must exist, but is a link to {to}, which does not. Correct or remove the link."
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"must exist, but there is no folder {folder}. Check the path."
    files = [x for x in os.scandir(folder) if _is_file(x)] if os.access(folder, os.R_OK) else []
    stem_of = {x.name: Path(x.name).stem for x in sorted(files, key=lambda x: x.name)}
    stem = difflib.get_close_matches(path.stem, stem_of.values(), n=1, cutoff=CLOSE)
    names = [name for name in stem_of if stem_of[name] in stem]
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0)
    meant = f"Did you mean {path.with_name(near[0])}?" if near else "Check the name."
    return f"must exist, but is not in {folder}. {meant}"


def numbered_lines(
    stream: TextIO | BinaryIO,
    faults: Faults,
    *,
    chunk: int = 2**18,
    progress: Progress | None = None,
    largest: float = LARGEST,
) -> Iterator[LineBlock]:
    """Read a stream in blocks of whole lines, `chunk` bytes at a time.

    `progress` is called after each block with the bytes read and the bytes in all, None where
    unknown. A stream that goes on beyond `largest` bytes is refused.
    """
    total = _size(stream)
    done, line, rest = 0, 1, b""
    while True:
        read = _read(stream, max(chunk, 4) if done == 0 else chunk, faults)  # 4: any mark
        if done == 0:
            _refuse_packed(read, faults)
            if read[:2] in UTF16_MARKS:
                stream = _as_utf8(read, stream, faults)
                read = stream.read(max(chunk, 4))
        text = rest + (read.removeprefix(UTF8_MARK) if done == 0 else read)
        done += len(read)
        if done > largest:
            faults.refuse(too_large(largest))
        if b"\0" in read:
            _refuse_binary(text, line, faults)
        end = _after_last_line(text) if read else len(text)
        text, rest = text[:end], text[end:]
        if len(rest) > LONGEST_LINE:
            faults.refuse(
                "must be rows of a table, got a line of more than 1 MiB. Is this a CSV file?",
                line=line + _lines(text),
            )
        if text:
            block = _block(text, line)
            line += block.text.count("\n") + 1
            yield block
        if progress is not None:
            progress(done, total)
        if not read:
            return


def _as_utf8(start: bytes, stream: TextIO | BinaryIO, faults: Faults) -> BinaryIO:
    """Turn the whole of a stream of UTF-16 into one of UTF-8."""
    whole = start + _read(stream, MOST_UTF16, faults)
    if len(whole) > MOST_UTF16:
        faults.refuse(_utf16(faults.path))
    try:
        return BytesIO(whole.decode("utf-16").encode("utf-8"))
    except UnicodeDecodeError:
        faults.refuse("must be text, got UTF-16 that is cut off. Save it again.")


def _size(stream: TextIO | BinaryIO) -> int | None:
    """Ask how many bytes there are to read; a pipe does not know."""
    try:
        return os.fstat(stream.fileno()).st_size or None
    except (OSError, AttributeError):
        return None


def _read(stream: TextIO | BinaryIO, count: int, faults: Faults) -> bytes:
    """Read bytes; text is turned back into them."""
    try:
        read = stream.read(count)
    except UnicodeDecodeError:
        faults.refuse(
            "must be UTF-8 text, got other bytes. Save it as UTF-8, or open it as bytes."
        )
    except OSError as error:
        faults.refuse(f"must be readable, got: {error.strerror or error}.")
    return read.encode("utf-8", "surrogatepass") if isinstance(read, str) else read


def _refuse_packed(start: bytes, faults: Faults) -> None:
    """Refuse a file that begins as an archive does."""
    if start.startswith(b"\x1f\x8b"):
        unpack = gunzip(faults.path)
        faults.refuse(f"must be text, got a gzip archive. Unpack it: {unpack}")
    for mark, message in PACKED.items():
        if start.startswith(mark):
            faults.refuse(message)


def _refuse_binary(text: bytes, line: int, faults: Faults) -> NoReturn:
    """Refuse text with NULs: every second byte is one in UTF-16, else it is not text."""
    even, odd = text[::2].count(0), text[1::2].count(0)
    if line == 1 and max(even, odd) > len(text) // 4 and min(even, odd) <= len(text) // 20:
        faults.refuse(_utf16(faults.path))
    line += _lines(text[: text.index(0)])
    faults.refuse("must be text, got a NUL byte. Is this a CSV file?", line=line)


def _utf16(path: str) -> str:
    """Say how to turn UTF-16 into UTF-8."""
    return (
        "must be UTF-8, got UTF-16. Save it as CSV UTF-8, or convert it: "
        f"{to_utf8('UTF-16', path, 'converted.csv')}"
    )


def _after_last_line(text: bytes) -> int:
    """Find where the last whole line ends; a CR at the very end may be half of a CR LF."""
    end = len(text) - text.endswith(b"\r")
    return max(text.rfind(b"\n", 0, end), text.rfind(b"\r", 0, end)) + 1


def _lines(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def _block(text: bytes, first_line: int) -> LineBlock:
    """Decode whole lines and split them."""
    try:
        decoded, is_utf8 = text.decode("utf-8"), True
    except UnicodeDecodeError:
        decoded, is_utf8 = text.decode("utf-8", "surrogateescape"), False
    if "\r" in decoded:
        decoded = decoded.replace("\r\n", "\n").replace("\r", "\n")
    return LineBlock(first_line, decoded.removesuffix("\n"), is_utf8)
