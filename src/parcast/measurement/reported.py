"""Times that programs tell of themselves, found in what they write."""

from collections.abc import Callable
from typing import Final

from parcast.errors import ParameterError
from parcast.timings.tables.durations import LONGEST, compiled, found_in, group_of
from parcast.units import shown

KNOWN: Final = {  # what programs write, by the name that chooses it
    "lammps": r"^Loop time of (\S+) on ",
    "gromacs": r"^\s+Time:\s+\S+\s+(\S+)\s+\S+\s*$",
    "time": r"^real\s+(\S+)\s*$",
}


def clock_of(pattern: str) -> Callable[[str], float]:
    """Function that finds the time in the output of a program [s].

    `pattern` is a regular expression whose group is the time in a line, or the name of one that is
    known: lammps, gromacs or time.
    """
    expression = compiled(KNOWN.get(pattern, pattern), "time_pattern")
    assert expression is not None

    def clock(output: str) -> float:
        lines = (line[:LONGEST] for line in output.splitlines())
        found = [(match, line) for line in lines for match in expression.finditer(line)]
        if len(found) != 1:
            texts = ", ".join(shown(group_of(match)) for match, _ in found[:3])
            raise _refusal(
                "match one time in the output of each run",
                f"{len(found)}: {texts}" if found else "none",
                "Look at what the program writes.",
            )
        read = found_in(*found[0])
        if read is None or not 0 < read[0] < float("inf"):
            raise _refusal("match a time above 0", shown(group_of(found[0][0])), "Change it.")
        return read[0]

    return clock


def _refusal(must: str, got: str, hint: str) -> ParameterError:
    return ParameterError("time_pattern", must=must, got=got, hint=hint)
