"""Points at which a program is measured: values for the names in braces of its command."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite
from string import Formatter
from typing import Any, Final

from parcast.advice import Choice, Command
from parcast.errors import Argument, ParameterError, as_list, require_at_most
from parcast.expressions import Expression
from parcast.files.numbers import number
from parcast.timings.columns import BESIDE, axis_name_fault
from parcast.trials.command import as_typed, filled
from parcast.units import shown
from parcast.words import listed, whole

MOST_POINTS: Final = 10_000
LARGEST: Final = 1e9  # p [1]
HINT: Final = "Give values for each name in braces."


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """Values of all names, p first."""

    values: tuple[tuple[str, int | float], ...]

    @property
    def layout(self) -> tuple[tuple[str, int | float], ...]:
        """Each point is launched by itself."""
        return self.values

    @property
    def columns(self) -> Mapping[str, Any]:
        """Values by their names."""
        return dict(self.values)

    def __str__(self) -> str:
        """Write it as a person does."""
        return ", ".join(f"{name} = {value:,}" for name, value in self.values)


def points_of(
    lists: Mapping[str, Iterable[float]], formulas: Mapping[str, str]
) -> list[MeasuredPoint]:
    """Every combination of the values, with what formulas such as ``{p}*1000`` make of them."""
    names = ["p", *(name for name in lists if name != "p")]
    values = [_values(name, lists[name]) for name in names]
    made = [dict(zip(names, combination, strict=True)) for combination in product(*values)]
    require_at_most("points", len(made), MOST_POINTS)
    for name, text in formulas.items():
        if name in lists:
            raise ParameterError(
                name, must="be a list or a formula", got="both", hint="Leave one out."
            )
        _require_name(name)
        if re.search(r",(?![^(]*\))|\.\.", text):
            hint = ("Write several values as ", _values_as(name, text))
            raise ParameterError(name, must="be one formula", got=shown(repr(text)), hint=hint)
        plain = re.sub(r"\{(\w+)\}", r"\1", text)
        axes = frozenset(made[0])
        formula = Expression(plain, dimension="count", name=name, known_axes=axes)
        for point in made:
            point[name] = _plain(float(formula(**point)))
    return [MeasuredPoint(tuple(point.items())) for point in made]


def names_in(words: Sequence[str]) -> set[str]:
    """Names in braces."""
    try:
        return {name for word in words for _, name, _, _ in Formatter().parse(word) if name}
    except ValueError:
        raise ParameterError(
            "command",
            must="have pairs of braces",
            got=shown(as_typed(words)),
            hint="Write a brace of the program's own twice: {{.",
        ) from None


def _values_as(name: str, text: str) -> Argument:
    return Argument("param", {name: text}, python=f"{name}=[{text.replace('..', ', ')}]")


def require_values(words: Sequence[str], known: Iterable[str]) -> None:
    """Refuse names in braces that have no values."""
    missing = sorted(names_in(words) - {*known})
    if missing:
        raise ParameterError(
            "command",
            must=f"have values for {listed([f'{{{name}}}' for name in missing])}",
            got="none",
            hint=("Give them, such as ", _values_as(missing[0], "1000,2000")),
        )


def require_other_runs(words: Sequence[str], points: Iterable[MeasuredPoint]) -> None:
    """Refuse points at which the same is run: the differences of their times would be noise."""
    known: dict[tuple[str, ...], MeasuredPoint] = {}
    for point in points if words else ():
        other = known.setdefault(tuple(filled(words, point.columns)), point)
        if other == point:
            continue
        name = next(x for x, value in point.columns.items() if other.columns[x] != value)
        raise ParameterError(
            "command",
            must=f"differ from one {name} to another",
            got=f"the same run at {name} = {other.columns[name]:,} and {point.columns[name]:,}",
            hint=(
                "Put {p} where the count goes: ",
                Command(("mpiexec", "-n", Choice("{p}"), "./app")),
                "; for threads ",
                Argument("environment", {"OMP_NUM_THREADS": "{p}"}),
                ".",
            )
            if name == "p"
            else f"Put {{{name}}} where its value goes.",
        )


def _values(name: str, given: Iterable[float]) -> list[int | float]:
    """Check values of a name, each once."""
    _require_name(name)
    found = []
    for value in as_list(name, given, hint=HINT):
        read = number(value) if not isinstance(value, str) else number(value, named=False)
        if read is None or not isfinite(read):
            raise ParameterError(name, must="be numbers", got=shown(repr(value)), hint=HINT)
        if name == "p" and not (1 <= read <= LARGEST and read == int(read)):
            must = "be whole numbers from 1 to 10^9"
            raise ParameterError(name, must=must, got=whole(read), hint="Count from 1.")
        found.append(_plain(read))
    if not found:
        raise ParameterError(name, must="have values", got="none", hint=HINT)
    return list(dict.fromkeys(found))


def _require_name(name: str) -> None:
    """Refuse what no column of a table can be called."""
    if name == "p":
        return
    if fault := axis_name_fault(name):
        raise fault
    if name in BESIDE or not name.isidentifier():
        must = "be the name of a parameter, such as n"
        raise ParameterError("name", must=must, got=shown(repr(name)), hint="Call it otherwise.")


def _plain(value: float) -> int | float:
    """Write whole numbers as such."""
    return int(value) if value == int(value) and abs(value) < 2**53 else value
