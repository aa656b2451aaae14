"""Times that programs tell of themselves: in what they write, or by the regions that they time.

Regions are kept as call paths beside the table of the runs.
"""

import os
from collections.abc import Callable, Mapping
from typing import Final

from parcast.errors import Argument, FileProblems, ParameterError
from parcast.files.document import row_pieces
from parcast.instrument.regions import PLACE
from parcast.measurement.table import RunRow
from parcast.timings.profile import RunProfile
from parcast.timings.read_profiles import read_profiles
from parcast.timings.tables.durations import LONGEST, compiled, found_in, group_of
from parcast.units import shown

PROFILE: Final = "profile"  # in place of a pattern
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


class ProfileClock:
    """Tells the time of a run by the profile that it has added to a file."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.size = self._size()
        self.run: RunProfile | None = None  # the last one
        self.table = f"{os.path.splitext(self.path)[0]}.regions.csv"

    def __call__(self, _: str) -> float:
        """Read the last run, which must be new."""
        before, self.size = self.size, self._size()
        try:
            runs = read_profiles(self.path).runs if self.size > before else ()
        except FileProblems as problems:
            raise self._refusal(str(problems)) from problems
        if not runs:
            raise self._refusal("none")
        self.run = runs[-1]
        return self.run.time

    def _size(self) -> int:
        return os.path.getsize(self.path) if os.path.exists(self.path) else 0

    def _refusal(self, got: str) -> ParameterError:
        return ParameterError(
            "time_pattern",
            must=f"find regions of each run (parcast.region) in {shown(self.path)}",
            got=got,
            hint="Name a full path if the program changes its folder.",
        )

    def keep(self, row: RunRow) -> None:
        """Add the regions of the last run to a table of call paths: times of the slowest rank."""
        if self.run is None:
            return
        names = [*row.point.columns]
        rows: list[list[object]] = [
            [*row.point.columns.values(), region, row.repetition, max(x.wall for x in own if x)]
            for region, own in self.run.by_region().items()
        ]
        if not os.path.exists(self.table):
            rows.insert(0, [*names, "callpath", "repetition", "time_s"])
        with open(self.table, "a", encoding="utf-8", newline="") as stream:
            stream.writelines(row_pieces(rows))


def profile_clock(environment: Mapping[str, str]) -> ProfileClock:
    """Clock of the file that is named in an environment."""
    path = environment.get(PLACE, "")
    if not path or "{" in path:
        raise ParameterError(
            "time_pattern",
            must=f"come with one file in {PLACE}",
            got=shown(path) if path else "none",
            hint=("Name it: ", Argument("env", {PLACE: "app.jsonl"})),
        )
    return ProfileClock(path)
