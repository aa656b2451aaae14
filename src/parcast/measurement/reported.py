"""Times that programs tell of themselves, found in what they write."""

import re
from collections.abc import Callable
from typing import Final

from parcast.errors import ParameterError
from parcast.files.numbers import number
from parcast.timings.tables.cells import read_shown
from parcast.units import TIME_UNITS, shown

LONGEST: Final = 500  # pattern, in characters
KNOWN: Final = {  # what programs write, by the name that chooses it
    "lammps": r"^Loop time of (?P<time>\S+) on ",
    "gromacs": r"^\s+Time:\s+\S+\s+(?P<time>\S+)\s+\S+\s*$",
    "time": r"^real\s+(?P<time>\S+)\s*$",
}
NESTED: Final = re.compile(r"\([^()]*[*+][^()]*\)[*+{]")  # may take forever


def clock_of(pattern: str) -> Callable[[str], float]:
    """Function that finds the time in the output of a program [s].

    `pattern` is a regular expression whose group `time`, or the only one, is the time, or the name
    of one that is known: lammps, gromacs or time.
    """
    text = KNOWN.get(pattern, pattern)
    try:
        expression = re.compile(text, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as fault:
        raise _refusal(pattern, f"which is none: {fault}") from fault
    if len(text) > LONGEST or NESTED.search(text):
        raise _refusal(pattern, "which may take forever: a repetition within a repetition")
    group: int | str = "time" if "time" in expression.groupindex else 1
    if expression.groups != 1 and group != "time":
        raise _refusal(pattern, f"with {expression.groups} groups")

    def clock(output: str) -> float:
        found = [match[group] for match in expression.finditer(output)]
        if len(found) != 1:
            got = "none" if not found else f"{len(found)}: {', '.join(map(shown, found[:3]))}"
            raise ParameterError(
                "time_pattern",
                must="match one time in the output of each run",
                got=got,
                hint="Look at what the program writes.",
            )
        return _seconds(found[0])

    return clock


def _seconds(text: str) -> float:
    """Understand a time such as 12.5, 788 ms or 1m40.2s; seconds where it has no unit [s]."""
    plain = number(text)
    if plain is None:
        cell = read_shown(text)
        plain = cell.value * TIME_UNITS.get(cell.unit, 1.0)
    if not 0 < plain < float("inf"):
        raise ParameterError(
            "time_pattern", must="match a time above 0", got=shown(text), hint="Change it."
        )
    return plain


def _refusal(pattern: str, got: str) -> ParameterError:
    return ParameterError(
        "time_pattern",
        must=f"be a regular expression with one group, or one of {', '.join(KNOWN)}",
        got=f"{shown(repr(pattern))}, {got}",
        hint=r"Write for example 'Elapsed: (\S+) s'.",
    )
