"""Descriptions of machines and programs as TOML files, every fault with its line.

`tomllib` tells no lines of keys, and the time that it takes grows with the square of the parts of
a key. What a text holds is therefore counted first, and a text beyond the bounds is refused before
anything is built of it.

They are written back with other amounts only: the results of a fit replace the amounts in the
user's own file, and comments, order and layout stay unchanged.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, cast

from parcast.descriptions.description import Description, DescriptionError, key_named
from parcast.descriptions.fit_record import FitRecord, OwnLawError
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError, as_list, require_kind
from parcast.files.decoding import opened
from parcast.files.document import write_document
from parcast.files.faults import AnyPath, Faults
from parcast.files.numbers import MOST_DIGITS, is_no_float
from parcast.units import shown

MOST_LEVELS: Final = 30  # of tables and lists in each other; a description has 6
MOST_TABLES: Final = 1_000  # as many phases are no longer a description that a person checks
MOST_KEYS: Final = 20_000

Place: TypeAlias = tuple[str | int, ...]  # the way to a key: ("phase", 1, "io", "volume")

_TOKEN = re.compile(
    r"""
    (?P<text> \"{3} (?: [^"\\]++ | \\. | "(?!"") )*+ "{0,5}
            | '{3} (?: [^']++ | '(?!'') )*+ '{0,5}
            | " (?: [^"\\\n]++ | \\[^\n] )*+ "?
            | ' [^'\n]*+ '? )
  | (?P<mark> [][{}=.,\n] )
  | (?P<word> [\w-]++ )
  | \#[^\n]*+
  | [^][{}=.,\n\w\-"'#]++
    """,
    re.VERBOSE | re.DOTALL,
)
Described = TypeVar("Described", bound=Description)

LARGEST: Final = 1_000_000  # bytes: no person writes more
_GIVE: Final = "Give the path of its file, or build it with"
_LONG_NUMBER = re.compile(r"(?<![0-9A-Za-z_])[0-9][0-9A-Za-z_]{250,}+")  # of hexadecimal digits
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")
_FOLDER: Final = ContextVar("folder", default="")  # of the file that is being read
MARK: Final = "# parcast fit: "  # what each line begins with that a fit writes above a description
_FIRST_LINES = re.compile(rf"\A(?:{re.escape(MARK)}.*\n)+")


ProgramLike: TypeAlias = Program | AnyPath
MachineLike: TypeAlias = Machine | AnyPath


def lines_of_keys(text: str, faults: Faults) -> dict[Place, int]:
    r"""Give the line of every key and table of a text, or refuse one that is beyond the bounds.

    What is no TOML is ignored: who parses the text says what is wrong with it.

    >>> lines_of_keys("compute.rate = '1 flop/s'  # here\nstorage = {\n}", Faults("x.toml"))
    {('compute',): 1, ('compute', 'rate'): 1, ('storage',): 2}
    """
    scan = _Scan(faults)
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "mark":
            scan.mark(token[0])
        elif token.lastgroup is not None:
            scan.part(token[0])
    return scan.lines


@dataclass(slots=True)
class _Open:
    """A list or a table in braces whose end is not yet reached."""

    place: Place
    is_list: bool
    index: int = 0  # of the element that is read


@dataclass(slots=True)
class _Scan:
    """How far a text is read: in which table, within which brackets, in a key or in a value."""

    faults: Faults
    lines: dict[Place, int] = field(default_factory=dict)
    line: int = 1
    table: Place = ()  # that the last header began
    elements: Counter[Place] = field(default_factory=Counter)  # of lists of tables, so far
    tables: int = 0
    header: int = 0  # brackets of the header that is read
    key: list[str] = field(default_factory=list)  # its parts so far
    is_joined: bool = False  # the next part by a point
    value: Place | None = None  # the key whose value is read; None: a key is read
    open: list[_Open] = field(default_factory=list)

    def part(self, token: str) -> None:
        """Take in a word or a text in quotes: of a key it is a part."""
        if self.value is None:
            if not self.is_joined:  # a word behind another, as in prose
                self.key.clear()
            self.is_joined = False
            self.key.append(_unquoted(token))
            self._require(len(self.key) + len(self.open), MOST_LEVELS, "levels")
        self.line += token.count("\n")

    def mark(self, mark: str) -> None:
        """Take in a sign between words."""
        if self.value is not None:
            self._mark_in_value(mark)
        elif mark == ".":
            self.is_joined = True
        elif mark == "=":
            self._begin_value()
        elif mark == "[" and not self.key and not self.open:
            self.header += 1
        elif mark == "]" and self.header and self.key:
            self._begin_table()
        elif mark == "}" and self.open:
            self._close()
        elif mark == "\n":
            self._end_line()

    def _mark_in_value(self, mark: str) -> None:
        assert self.value is not None
        inner = self.open[-1] if self.open else None
        if mark in "[{":
            place = (
                self.value if inner is None or not inner.is_list else (*self.value, inner.index)
            )
            self.open.append(_Open(place, is_list=mark == "["))
            self._require(len(place) + 1, MOST_LEVELS, "levels")
            if mark == "{":
                self._count_table(place)
            self.value = place if mark == "[" else None
        elif mark in "]}":
            self._close()
        elif mark == "," and inner is not None:
            inner.index += 1
            self.value = self.value if inner.is_list else None
        elif mark == "\n":
            self._end_line()

    def _close(self) -> None:
        """End the innermost list or table; what it is in is read on."""
        self.key.clear()
        if self.open:
            self.open.pop()
        inner = self.open[-1] if self.open else None
        self.value = inner.place if inner is not None else ()

    def _end_line(self) -> None:
        """End a line; outside brackets a key of the table is next."""
        self.line += 1
        if not self.open:
            self.header, self.value = 0, None
            self.key.clear()

    def _begin_value(self) -> None:
        within = self.open[-1].place if self.open else self.table
        place = (*within, *self.key)
        self._note(place, start=len(within) + 1)
        self.key.clear()
        self.value = place

    def _begin_table(self) -> None:
        """Note the table whose header was read."""
        *outer, last = self.key
        place: Place = ()
        for part in outer:
            place = (*place, part)
            if place in self.elements:
                place = (*place, self.elements[place] - 1)
        place = (*place, last)
        if self.header > 1:
            self._note(place, start=1)
            self.elements[place] += 1
        if place in self.elements:
            place = (*place, self.elements[place] - 1)
        self.table = place
        self._count_table(place)
        self.key.clear()
        self.header, self.value = 0, ()  # what follows on the line is no key

    def _count_table(self, place: Place) -> None:
        self.tables += 1
        self._require(self.tables, MOST_TABLES, "tables")
        self._note(place, start=1)

    def _note(self, place: Place, *, start: int) -> None:
        """Note the line of a key, and of the tables around it that its parts begin."""
        self._require(len(place), MOST_LEVELS, "levels")
        for stop in range(start, len(place) + 1):
            self.lines.setdefault(place[:stop], self.line)
        self._require(len(self.lines), MOST_KEYS, "keys")

    def _require(self, count: int, most: int, what: str) -> None:
        """Refuse a text that holds more than a description does."""
        if count > most:
            self.faults.refuse(
                f"must have at most {most:,} {what}, got more. Write a simpler description.",
                line=self.line,
            )


def _unquoted(token: str) -> str:
    """Give the part of a key that a word or a text in quotes writes."""
    if token[0] not in "\"'":
        return token
    if "\\" not in token:
        return token.strip(token[0])
    try:
        return str(tomllib.loads(f"key = {token}")["key"])
    except tomllib.TOMLDecodeError:
        return token


def as_program(given: ProgramLike) -> Program:
    """Take a program as it is, and read the file of a path."""
    program = read_program(given) if isinstance(given, str | os.PathLike) else given
    require_kind("program", program, Program, hint=f"{_GIVE} parcast.Program(...).")
    return program


def as_machine(given: MachineLike, *, name: str = "machine") -> Machine:
    """Take a machine as it is, and read the file of a path; `name` is that of the argument."""
    machine = read_machine(given) if isinstance(given, str | os.PathLike) else given
    require_kind(name, machine, Machine, hint=f"{_GIVE} parcast.Machine(...).")
    return machine


def as_machines(given: MachineLike | Sequence[MachineLike]) -> list[Machine]:
    """Take one or several machines, and read the files of those that are paths."""
    if isinstance(given, Machine | str | os.PathLike):
        return [as_machine(given)]
    hint = "Give Machines, or leave it out where the runs name them."
    each = as_list("machines", given, hint=hint)
    return [as_machine(x, name=f"machines[{i}]") for i, x in enumerate(each)]


def read_machine(path: AnyPath) -> Machine:
    """Read the description of a machine from a TOML file.

    Parameters
    ----------
    path : str or path
        The file; "-" is standard input.

    Returns
    -------
    Machine

    Raises
    ------
    FileProblems
        If the file cannot be read, or something in it is wrong: all faults, with their lines.

    Examples
    --------
    >>> import parcast
    >>> parcast.read_machine("examples/matching/sp.toml").name
    'SP'
    """
    return read_description(path, Machine, "compute, network and storage", _refuse_program)


def read_program(path: AnyPath) -> Program:
    """Read the description of a program from a TOML file.

    Parameters
    ----------
    path : str or path
        The file; "-" is standard input.

    Returns
    -------
    Program

    Raises
    ------
    FileProblems
        If the file cannot be read, or something in it is wrong: all faults, with their lines.

    Examples
    --------
    >>> import parcast
    >>> parcast.read_program("examples/btio/program.toml").name
    'BTIO, class A'
    """
    return read_description(path, Program, "[[phase]]", _refuse_machine)


def read_description(
    path: AnyPath,
    kind: type[Described],
    expected: str,
    refuse_other: Callable[[Mapping[str, Any], Faults], None] | None = None,
) -> Described:
    """Read a file as a description of a kind, unless it is refused as one of another."""
    with opened(path) as (name, stream):
        content = cast(bytes, stream.read(LARGEST + 1))
    faults = Faults(name)
    if len(content) > LARGEST:
        faults.refuse(
            f"must have at most {LARGEST:,} bytes. Give a description, such as machine.toml."
        )
    text = _decoded(content, faults).replace("\r\n", "\n")
    lines = lines_of_keys(text, faults)
    keys = _parsed(text, faults)
    if not keys:
        faults.refuse(f"must describe a {kind.__name__.lower()}, but is empty. Write {expected}.")
    if refuse_other is not None:
        refuse_other(keys, faults)
    folder = _FOLDER.set(os.path.dirname(name))
    try:
        return kind(**keys)
    except DescriptionError as refusal:
        named = {key_named(*place): line for place, line in lines.items()}
        for problem in refusal.problems:
            line = _line_of(problem.field, named)
            faults.add(problem.message, line=line, field=problem.field)
        faults.count_more(refusal.unlisted)
        faults.raise_all()
    finally:
        _FOLDER.reset(folder)


def path_beside(path: AnyPath) -> str:
    """Path that a description gives: from the folder of its file, if it is read from one."""
    return os.path.join(_FOLDER.get(), path)


def _decoded(content: bytes, faults: Faults) -> str:
    """Text of a file in UTF-8, with or without a byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        faults.refuse("must be text in UTF-8. Save it as UTF-8.", line=line)


def _parsed(text: str, faults: Faults) -> dict[str, Any]:
    try:
        keys = tomllib.loads(text, parse_float=_float)
    except tomllib.TOMLDecodeError as error:
        message = str(error)  # tomllib tells the line in its text alone
        place = _AT_LINE.search(message)
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        why = _AT_LINE.sub("", message)
        faults.refuse(
            f'must be valid TOML, such as rate = "120 Mflop/s": {why[:1].lower()}{why[1:]}. '
            "Check this line and the one before.",
            line=line,
        )
    except _NoFloatError as number:
        faults.refuse(
            f"must have numbers between 1e-308 and 1e308, got {shown(str(number))}. Correct it.",
            line=text.count("\n", 0, text.find(str(number))) + 1,
        )
    except ValueError:  # a whole number of more digits than Python reads
        _refuse_long_number(text, faults)
    below: list[Any] = [keys]
    while below:
        value = below.pop()
        if isinstance(value, dict | list):
            below += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
            _refuse_long_number(text, faults)
    return keys


class _NoFloatError(Exception):
    """A number that is larger or smaller than any float."""


def _float(text: str) -> float:
    """Value of a number in TOML, which may be inf."""
    value = float(text)
    if is_no_float(text, value):
        raise _NoFloatError(text)
    return value


def _refuse_long_number(text: str, faults: Faults) -> NoReturn:
    """Refuse a whole number that no float holds, at its first digit."""
    place = _LONG_NUMBER.search(text)
    faults.refuse(
        f"must have numbers of at most {MOST_DIGITS} digits, got a longer one. Correct it.",
        line=None if place is None else text.count("\n", 0, place.start()) + 1,
    )


def _refuse_program(keys: Mapping[str, Any], faults: Faults) -> None:
    if "phase" in keys:
        faults.refuse(
            "must describe a machine, but has phases like a program. Check the order of the files."
        )


def _refuse_machine(keys: Mapping[str, Any], faults: Faults) -> None:
    of_machines = Machine.model_fields.keys() - Program.model_fields.keys()
    if "phase" not in keys and of_machines & keys.keys():
        faults.refuse(
            "must describe a program, but has no [[phase]], like a machine. Check the order of "
            "the files."
        )


def _line_of(field: str, lines: Mapping[str, int]) -> int | None:
    """Line of a key, "phase 2, io.volume", or of the innermost table around it, or None."""
    for _ in range(MOST_LEVELS):
        if field in lines:
            return lines[field]
        field = field[: max(field.rfind("."), field.rfind(" "), 0)].removesuffix(",")
    return None


def with_amounts(
    text: str,
    texts: Mapping[str, str],
    program: Program | None = None,
    *,
    record: FitRecord | None = None,
    law_errors: Sequence[OwnLawError] = (),
    first: Iterable[str] = (),
) -> str:
    r"""Text of a description in TOML with these amounts in place of those it has.

    `texts` are new texts by the names of the amounts, as `Program.parameters()` has them. What
    `text` does not have is added to it. Without `program` the text describes a machine. `record`
    becomes its table [fit], `law_errors` its tables [[law_error]], and `first` the comment that it
    begins with, for those it has.

    >>> print(with_amounts('[network]  # fast\nlatency = "150 us" # guessed\n',
    ...                    {"network.latency": "151 us +- 2%"}), end="")
    [network]  # fast
    latency = "151 us +- 2%" # guessed
    """
    import tomlkit

    document: Any = tomlkit.parse(_FIRST_LINES.sub("", text.removeprefix("\ufeff")))
    for name, new in texts.items():
        place = document
        *tables, key = name.split(".") if program is None else program.place(name)
        for table in tables:
            if isinstance(table, str) and table not in place:
                place[table] = tomlkit.inline_table()
            if not isinstance(place[table], Mapping | list):
                raise ParameterError(
                    name,
                    must="be written in the description itself to be replaced there",
                    got=f'{table} = "{shown(place[table])}"',
                    hint=f"Copy the contents of that file to tables below {table}.",
                )
            place = place[table]
        old = place.get(key)
        place[key] = new
        if old is not None:
            after, before = place[key].trivia, old.trivia  # what stands after it on its line
            after.comment_ws, after.comment = before.comment_ws, before.comment
    written = with_law_errors(tomlkit.dumps(document), law_errors)
    kept = record and record.model_dump(mode="json", exclude_none=True)
    written = _with_table(written, "fit", kept)
    return "".join(f"{MARK}{line}\n" for line in first) + written


def with_law_errors(text: str, errors: Sequence[OwnLawError]) -> str:
    """Text of a program whose tables [[law_error]] are these, in place of those it has."""
    return _with_table(text, "law_error", [x.model_dump(mode="json") for x in errors])


def _with_table(text: str, name: str, content: object) -> str:
    """Text of a description that ends with this table, in place of the one it has."""
    import tomlkit

    if not content and name not in text:
        return text
    document: Any = tomlkit.parse(text)
    document.pop(name, None)
    written = tomlkit.dumps(document)
    return f"{written.rstrip()}\n\n{tomlkit.dumps({name: content})}" if content else written


def moved(text: str, source: str, target: str) -> str:
    """Text of a program for a file `target` that names the same files as that of `source`."""
    import tomlkit

    here, there = (os.path.dirname(os.path.abspath(path)) for path in (source, target))
    if here == there:
        return text
    document: Any = tomlkit.parse(text)
    for phase in document["phase"]:
        named = phase.get("io", {})
        if isinstance(named, Mapping) and isinstance(named.get("costs"), str):
            named["costs"] = os.path.relpath(os.path.join(here, named["costs"]), there)  # type: ignore[index]  # a table of tomlkit can be changed
    return tomlkit.dumps(document)


def write_description(path: AnyPath, text: str) -> None:
    """Write a description to a file, replaced only when all of it has been written."""
    write_document(path, [re.sub(r"\r\n?", "\n", text)])
