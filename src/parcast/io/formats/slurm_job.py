"""One job as `sacct` tells it, in whichever form."""

from dataclasses import dataclass
from typing import Final

ASK: Final = "sacct -P -o JobID,JobName,AllocCPUS,NTasks,Elapsed,State"  # prints all that is read
PARTS: Final = frozenset({"batch", "extern", "interactive"})  # steps that Slurm adds to a job


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One job of an account."""

    name: str
    cluster: str  # "" where it is not told
    state: str
    elapsed: float | None  # [s]
    tasks: int | None  # of its largest step [1]
    processors: int | None  # allocated to it [1]
    line: int | None = None  # its place in the file
    field: str = ""
