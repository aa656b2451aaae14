"""Command lines that messages advise: made here only, and printed so that a shell can run them.

What a message tells a reader to type stands in it as an object: a whole command line is a
`Command`, and an argument alone, which is an option of the command that is running, is an
`errors.Argument`. Both become text in the spelling of who asks: Python's, or while a command runs
that of the command line, which knows its options and its files (`spelled_by`).

One convention holds for what only the reader can decide: a `Choice` is a word in capitals, as in
the usage that `--help` prints. Everything else is quoted where a shell would take it apart.
"""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

STANDARD_INPUT: Final = "standard input"  # what messages call "-"
OURS: Final = "parcast"

Spelling: TypeAlias = Callable[[Any], str]
_SPELLING: Final[ContextVar[Spelling | None]] = ContextVar("spelling", default=None)


class Choice(str):
    """A word that the reader replaces by what is meant: FILE, COUNT."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Write it without quotation marks in Python as well."""
        return str(self)


class File(str):
    """A word that is the name of a file, as messages have it."""

    __slots__ = ()


@contextmanager
def spelled_by(spelling: Spelling) -> Iterator[None]:
    """Have arguments and commands spelled as the command line does, or whoever runs."""
    before = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(before)


def spelling() -> Spelling | None:
    """Who spells arguments and commands at present; None where it is Python."""
    return _SPELLING.get()


def quoted(word: str) -> str:
    r"""Write a word as a shell takes it; what does not print as bash, zsh and ksh read it.

    >>> print(quoted("p=nodes"), quoted("p=wall [ms]"), quoted("$HOME's"), quoted("a\nb"))
    p=nodes 'p=wall [ms]' '$HOME'"'"'s' $'a\012b'
    """
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    """Write a character between $' and '."""
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Command:
    """A command line: the words of a program, and the files that it reads and writes.

    >>> print(Command(("tr", ";", ","), reads="my runs.csv", writes="converted.csv"))
    tr ';' , < 'my runs.csv' > converted.csv
    >>> print(Command(("parcast", "import", "osu", File("-x"), "-o", "machine.toml")))
    parcast import osu ./-x -o machine.toml
    """

    words: tuple[str, ...]
    reads: str = ""
    writes: str = ""
    into: "Command | None" = None  # what reads its output

    def __str__(self) -> str:
        """Write it as who is running does."""
        spell = spelling()
        return self.line() if spell is None else spell(self)

    def line(self, chosen: Callable[[Choice], str] = str) -> str:
        """Write it for a shell; `chosen` may know what the reader would write for a choice."""
        is_ours = self.words[0] == OURS
        line = " ".join(_in_shell(word, chosen, is_ours=is_ours) for word in self.words)
        for mark, name in (("<", self.reads), (">", self.writes)):
            if name:
                line += f" {mark} {_in_shell(File(name), chosen)}"
        return line if self.into is None else f"{line} | {self.into.line(chosen)}"


def _in_shell(word: str, chosen: Callable[[Choice], str], *, is_ours: bool = False) -> str:
    """Write one word of a command line."""
    if isinstance(word, File):
        if word == STANDARD_INPUT:
            return "-" if is_ours else "FILE"
        return quoted(f"./{word}" if word.startswith("-") else word)
    return chosen(word) if isinstance(word, Choice) else quoted(word)


def ours(*words: str) -> Command:
    """Give a command line of parcast itself: `ours("simulate", Choice("PROGRAM"))`.

    >>> print(ours("simulate", Choice("PROGRAM"), Choice("MACHINE"), "-p", Choice("LIST")))
    parcast simulate PROGRAM MACHINE -p LIST
    """
    return Command((OURS, *words))


# The configurations that were asked for, of the same program on the same machine.
PREDICT: Final = ours("predict", Choice("PROGRAM"), Choice("MACHINE"), Choice("-p LIST"))
SIMULATE: Final = ours("simulate", Choice("PROGRAM"), Choice("MACHINE"), Choice("-p LIST"))
