"""What goes wrong, in words a person can act on.

Every message says what must be how, what was got, and what to do; an error holds these as
attributes, and its text is made from them. Arguments that a text names are objects in it, so that
the command line can call them by its options. A fault in a file also says where, and all faults
of a file come back together.

A message is one line, and so is each line below it. What comes from outside may stand in a text
as it is: line breaks, and all else that a terminal obeys, are escaped where the line is made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parcast.advice import Command, spelling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_LINE: Final = 10_000  # characters of a line that is shown; names in a file may be longer
LONGEST_FIELD: Final = 200  # characters of a column, a key or its place in a list of faults
FAILURES: Final = (Exception, SystemExit, GeneratorExit)  # of code of a user; not what ends it


def one_line(text: str, *, limit: int = LONGEST_LINE) -> str:
    r"""Text as a line that no terminal obeys: what does not print is escaped, and the rest cut.

    Control characters do not print, nor do line breaks of any script, marks that turn the
    direction of what follows, and bytes that are not UTF-8. What is such a line stays as it is.

    >>> print(one_line("T3E\n\x1b[31m\u202e\udcff"))
    T3E\n\x1b[31m\u202e\xff
    """
    start = text[: limit + 1]
    if not start.isprintable():
        start = "".join(x if x.isprintable() else _escaped(x) for x in start)
    return start if len(start) <= limit else f"{start[:limit]}..."


def _escaped(character: str) -> str:
    """Write what does not print as a string of Python has it."""
    if "\udc80" <= character <= "\udcff":  # how Python reads a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def text_of(value: object, written: Callable[[Any], str] = repr) -> str:
    """Text of an object of a user; its class where writing it fails."""
    try:
        return written(value)
    except FAILURES:
        return f"<{type(value).__name__}>"


def is_of_system(failure: BaseException) -> bool:
    """Tell a failure of the system, such as a full disk, from one that is raised as such."""
    return isinstance(failure, OSError) and failure.errno is not None


def cause_of(failure: BaseException) -> str:
    """Name an exception with what it says, as the last line of its traceback does.

    >>> cause_of(ValueError("no number")), cause_of(MemoryError())
    ('ValueError: no number', 'MemoryError')
    """
    return f"{type(failure).__name__}: {text_of(failure, str)}".removesuffix(": ")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument or a call that a text names, with the value that the text gives it.

    Python's spelling is `python`, by default the name and the value. Who spells it otherwise looks
    at `name`, `value` and `file`, the file that it is said of, if it is said of one.

    >>> print(Argument("by"), Argument("p", [1, 2]), Argument("n", 8, python="runs.select(n=8)"))
    by p=[1, 2] runs.select(n=8)
    """

    name: str
    value: Any = None
    python: str = ""
    file: str = ""

    def __str__(self) -> str:
        """Write it as who is running does: the command line by an option, else Python."""
        spell = spelling()
        return self.in_python() if spell is None else spell(self)

    def in_python(self) -> str:
        """Write it as Python does."""
        return self.python or (self.name if self.value is None else f"{self.name}={self.value!r}")


def subject(name: str) -> Argument:
    """Name what a message is about, which need not be an argument of who is running."""
    return Argument(name, python=name)


def selection(column: str, value: str | float) -> Argument:
    """Name the call that selects the rows with one value in a column.

    >>> print(selection("machine", "T3E"), selection("n", 1234567.0))
    select(machine='T3E') select(n=1234567)
    """
    text = value if isinstance(value, str) else repr(float(value)).removesuffix(".0")
    written = repr(value) if isinstance(value, str) else text
    return Argument("select", {column: text}, python=f"select({column}={written})")


Part: TypeAlias = Argument | Command  # what a text names, which is spelled as who is running does
Text: TypeAlias = str | tuple[str | Part, ...]


def spelled(text: Text, spelling: Callable[[Part], str] = str) -> str:
    """Write a text as one line, with its arguments in a spelling.

    >>> spelled(("Add it to ", Argument("by"), "."), lambda argument: f"--{argument.name}")
    'Add it to --by.'
    """
    return one_line("".join(x if isinstance(x, str) else spelling(x) for x in parts(text)))


def parts(text: Text) -> tuple[str | Part, ...]:
    """Take a text apart: what it says, and the arguments it names."""
    return text if isinstance(text, tuple) else (str(text),)


class ParcastError(Exception):
    r"""Base of every error that parcast raises on purpose.

    >>> print(ParcastError("The task failed.", below=["  File x.py, line 3", "Bad\nworse."]))
    The task failed.
      File x.py, line 3
    Bad\nworse.
    """

    text: Text
    below: tuple[Text, ...] = ()  # lines that stand below the first

    def __init__(self, text: Text = "", *, below: Iterable[Text] = (), **others: Any) -> None:
        self.text, self.below = text, tuple(below)
        super().__init__("\n".join(self.lines()), **others)

    def lines(self, spelling: Callable[[Part], str] = str) -> list[str]:
        """Lines of its message, with arguments in a spelling."""
        return [spelled(line, spelling) for line in (self.text, *self.below)]

    def facts(self) -> dict[str, Any]:
        """Arguments that make an error of the same class and text, for another process."""
        text, *below = self.lines()
        return {"text": text, "below": below}

    def __reduce__(self) -> tuple[Any, ...]:
        """Give what it is made again from: its attributes, whatever its class is called with."""
        _, given, *attributes = tuple(super().__reduce__())
        return _again, (type(self), given), *attributes


def _again(kind: type[ParcastError], given: tuple[Any, ...]) -> ParcastError:
    """Make an error that was pickled or copied; its attributes are set afterwards."""
    return kind.__new__(kind, *given)


class ParameterError(ParcastError, ValueError):
    """A value lies outside its domain: "`name` must `must`, got `got`. `hint`".

    >>> error = ParameterError("p", must="be at least 1", got="0", hint="Count from 1.")
    >>> print(error)
    p must be at least 1, got 0. Count from 1.
    >>> error.name, error.got
    ('p', '0')

    Parameters
    ----------
    name : str
        Name of the value; without `must`, the whole message.
    must : str or tuple of str and Argument
        The domain: "be at least 1".
    got : str or tuple of str and Argument, optional
        What was given instead.
    hint : str or tuple of str and Argument
        What to do, in sentences.
    below : iterable of the same
        Lines below that.
    """

    name: str
    must: Text
    got: Text | None
    hint: Text

    def __init__(
        self,
        name: str,
        *,
        must: Text = "",
        got: Text | None = None,
        hint: Text = "",
        below: Iterable[Text] = (),
    ) -> None:
        self.name, self.must, self.got, self.hint = name, must, got, hint
        if not must:
            super().__init__(name, below=below)
            return
        given = () if got is None else (", got ", *parts(got))
        advice = (" ", *parts(hint)) if hint else ()
        text = (subject(name), " must ", *parts(must), *given, ".", *advice)
        super().__init__(text, below=below)

    @property
    def fault(self) -> str:
        """What is wrong, to be read after a name: "must be at least 1, got 0. Count from 1."."""
        if not self.must:
            return self.name
        given = "" if self.got is None else f", got {spelled(self.got)}"
        advice = f" {spelled(self.hint)}" if self.hint else ""
        return f"must {spelled(self.must)}{given}.{advice}"

    def named(self, name: str) -> ParameterError:
        """Give the same error for another name."""
        return ParameterError(name, must=self.must, got=self.got, hint=self.hint)

    def facts(self) -> dict[str, Any]:
        """Attributes that it is made from, in Python's spelling."""
        given = {"got": spelled(self.got)} if self.got is not None else {}
        return {"name": self.name, "must": spelled(self.must), "hint": spelled(self.hint)} | given


class FitFailed(ParcastError, ArithmeticError):  # noqa: N818 - says what happened, as a result
    """The measurements do not suffice for the requested forecast or fit.

    >>> error = FitFailed("All times are at p = 8.", outcome="No forecast.")
    >>> print(error)
    No forecast. All times are at p = 8.
    >>> error.reason
    'All times are at p = 8.'
    """

    outcome: str
    reason: str

    def __init__(self, reason: str, *, outcome: str = "", below: Iterable[Text] = ()) -> None:
        self.outcome, self.reason = outcome, reason  # what there is not, and why
        super().__init__(f"{outcome} {reason}".lstrip(), below=below)

    def facts(self) -> dict[str, Any]:
        """Attributes that it is made from."""
        return {"reason": self.reason, "outcome": self.outcome}


class RunFailed(ParcastError, RuntimeError):  # noqa: N818 - says what happened, as a result
    """A program that was to run did not start, or did not end as it should."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One fault in a file: where it is and what to do about it."""

    message: str  # "must be a time above 0, got 'fast'. Write seconds as a number."
    line: int | None = None  # counted from 1, as an editor does; None: the whole file
    field: str = ""  # the column or key the fault is in
    hint: Text = ""  # what else to do, where it names an argument


class FileProblems(ParcastError, ValueError):  # noqa: N818 - it holds many
    """A file has errors: all of them, with their places."""

    problems: tuple[Problem, ...]

    def __init__(self, path: str, problems: Sequence[Problem], *, unlisted: int = 0) -> None:
        self.path = path
        self.problems = tuple(problems)
        self.unlisted = unlisted  # further faults that were counted and not kept
        count = len(self.problems) + unlisted
        head = f"{path}: {count} problem{'s' if count > 1 else ''}"
        super().__init__(head, below=_listing(self.problems, unlisted))

    def facts(self) -> dict[str, Any]:
        """Attributes that it is made from; each problem by those of its own."""
        problems = [
            {"message": x.message, "line": x.line, "field": x.field, "hint": spelled(x.hint)}
            for x in self.problems
        ]
        return {"path": self.path, "problems": problems, "unlisted": self.unlisted}


class NoRunEnded(FileProblems):
    """All runs of a table failed or were stopped."""

    def __init__(self, path: str, problems: Sequence[Problem], *, stopped: Any = None) -> None:
        self.stopped = stopped  # `Measurements` of those that were stopped, with their limits
        super().__init__(path, problems)

    def facts(self) -> dict[str, Any]:
        """Attributes that it is made from, but for the runs."""
        return {name: x for name, x in super().facts().items() if name != "unlisted"}


def _listing(problems: Sequence[Problem], unlisted: int) -> Iterator[Text]:
    """Lay the faults out in aligned columns, as an editor's user can follow them."""
    places = [f"line {x.line}" if x.line is not None else "file" for x in problems]
    fields = [one_line(x.field, limit=LONGEST_FIELD) for x in problems]
    place_width = max(map(len, places), default=0)
    field_width = max(map(len, fields), default=0)
    for place, field, problem in zip(places, fields, problems, strict=True):
        where = f"  {place:{place_width}}  " + (f"{field:{field_width}}  " if field_width else "")
        hint = (" ", *parts(problem.hint)) if problem.hint else ()
        yield (where, problem.message, *hint)
    if unlisted:
        yield f"  and {unlisted} more."


def require(name: str, value: object, ok: object, *, must: str, hint: str) -> None:
    """Raise `ParameterError` naming the first element of `value` that is not `ok`.

    >>> require("p", 4, True, must="be at least 1", hint="Count processors from 1.")
    """
    if ok is True or (getattr(ok, "ndim", None) == 0 and ok):
        return
    import numpy as np  # late: the command line names these errors before it needs arrays

    accepted = np.asarray(ok, dtype=bool)
    if accepted.all():
        return
    given = np.asarray(value)
    first = given[~np.broadcast_to(accepted, given.shape)].flat[0]
    got = f"{first:g}" if isinstance(first, np.number | np.bool_) else repr(first)
    raise ParameterError(name, must=must, got=got, hint=hint)


def as_numbers(
    name: str, values: Any, *, hint: str, must: str = "be numbers"
) -> NDArray[np.float64]:
    """Give values as an array of floats: what holds no numbers is refused in words."""
    import numpy as np

    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, must=must, got=f"{values!r:.60}", hint=hint) from None


def as_number(name: str, value: object, *, hint: str) -> float:
    """Value as a float: what is no number, such as text, is refused in words.

    >>> as_number("time_limit", "5s", hint="Give it in seconds.")
    Traceback (most recent call last):
    parcast.errors.ParameterError: time_limit must be a number, got '5s'. Give it in seconds.
    """
    if not isinstance(value, str | bytes):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)  # type: ignore[arg-type]  # whatever was given
    raise ParameterError(name, must="be a number", got=f"{value!r:.60}", hint=hint)


def as_whole(name: str, value: Any, *, least: int, hint: str) -> int:
    """Value as an int: what is no whole number of at least `least` is refused in words."""
    number = as_number(name, value, hint=hint)
    ok = number >= least and number.is_integer()
    require(name, value, ok, must=f"be a whole number of at least {least}", hint=hint)
    return int(value)


def require_one_of(
    name: str,
    value: object,
    known: Collection[object],
    hint: str = "Choose one.",
    *,
    must: str = "",
) -> None:
    """Refuse in words what is not among some words; `must` takes the place of naming them all."""
    if value not in known:
        if not must:
            *others, last = (f'"{word}"' for word in known)
            must = f"be {', '.join(others)} or {last}"
        raise ParameterError(name, must=must, got=one_line(text_of(value), limit=60), hint=hint)


def require_at_most(
    name: str, value: float, most: int, *, hint: str = "Give fewer.", of: str = ""
) -> None:
    """Refuse a count that is too large to be worked with; `of` follows it in the message."""
    if value > most:
        raise ParameterError(name, must=f"be at most {most:,}{of}", got=f"{value:,.0f}", hint=hint)


def require_kind(name: str, value: object, kind: type, *, hint: str) -> None:
    """Refuse in words what is not of a class."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        must, got = f"be {article} {kind.__name__}", type(value).__name__
        raise ParameterError(name, must=must, got=got, hint=hint)


def as_list(name: str, values: object, *, hint: str) -> list[Any]:
    """Values as a list: one alone, text or None is refused in words."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        with suppress(TypeError):  # an array without axes
            return list(values)
    raise ParameterError(name, must="be a sequence", got=f"{values!r:.60}", hint=hint)
