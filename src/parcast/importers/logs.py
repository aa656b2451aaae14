"""What logs of programs have in common: runs that failed, and ranks that are runs of their own.

A program that is linked with another MPI than `mpirun` belongs to starts as p copies of one rank,
each of which says that it ran alone.
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final, NoReturn

from parcast.files.faults import Faults
from parcast.importers.counts import count_in
from parcast.units import shown

REMEDY: Final = (
    "Start it with the mpirun of the MPI that the program is linked with (ldd PROGRAM), and time "
    "it again."
)


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
