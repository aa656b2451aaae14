"""One rank of a run: it pins itself to a core, then runs a module as ``python -m mpi4py`` does.

``python -m parcast.mpi.rank MODULE ARGUMENTS...`` is what the launcher starts under mpiexec. An
exception aborts all ranks; one of parcast's own is handed to the launcher as its facts, in a
folder of the run, apart from what the program prints.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from parcast.errors import ParcastError

CORES: Final = "PARCAST_CORES"  # variable: those a process might use before it was pinned
PLACEMENT: Final = "PARCAST_PLACEMENT"  # variable: how ranks are pinned
TOLD: Final = "PARCAST_TOLD"  # variable: the folder for what ranks tell the launcher
_LOCAL_RANK: Final = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_RANK")
_LOCAL_SIZE: Final = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE")


def pin() -> None:
    """Pin this process to the core that its placement and its rank on this host give it.

    The cores that it might use before are kept in its environment, see `other_cores`.
    """
    placement = os.environ.get(PLACEMENT, "free")
    if placement == "free" or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    os.environ.setdefault(CORES, ",".join(map(str, cores)))
    rank, ranks = _number(_LOCAL_RANK, 0), _number(_LOCAL_SIZE, 1)
    together = placement == "one" or (placement == "auto" and ranks > len(cores))
    # The first core is the one that most interrupts go to.
    os.sched_setaffinity(0, {cores[-1] if together else cores[rank % len(cores)]})


def other_cores() -> list[int]:
    """Cores that this process might use before it was pinned to one; none if it was not."""
    given = os.environ.get(CORES, "")
    own = os.sched_getaffinity(0) if given else set[int]()
    return sorted({*map(int, given.split(","))} - own) if len(own) == 1 else []


def _number(names: Sequence[str], default: int) -> int:
    """Give the first of these variables that holds a number."""
    texts = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in texts if text.isdigit()), default)


def main(arguments: Sequence[str]) -> None:
    """Run a module with its arguments, on this rank."""
    pin()
    # This file's own name would hide the package it is part of from the module that is run.
    from mpi4py import run

    try:
        run.run_command_line(["-m", *arguments])
    except ParcastError as refusal:
        message = str(refusal)
        if not tell(
            {"kind": type(refusal).__name__, "facts": refusal.facts(), "message": message}
        ):
            print(f"parcast: {message}", file=sys.stderr, flush=True)  # noqa: T201 - to the user
        run.set_abort_status(1)
        _end_others("")
        sys.exit(1)
    except BaseException as failure:
        run.set_abort_status(failure)
        if not isinstance(failure, SystemExit):
            _end_others(traceback.format_exc())
        elif failure.code:
            _end_others(f"{failure.code}\n")
        raise


def tell(document: dict[str, Any]) -> bool:
    """Tell the launcher why a rank fails, unless its folder cannot be reached from this host."""
    folder = os.environ.get(TOLD)
    if not folder:
        return False
    name = f"{time.time_ns():020d}-{os.getpid()}"
    with suppress(OSError):
        draft = Path(folder, f"{name}.part")
        draft.write_text(json.dumps(document), encoding="utf-8")
        draft.rename(draft.with_suffix(".json"))
        return True
    return False


def first_told(folder: Path) -> dict[str, Any] | None:
    """Give what the first rank told that told something."""
    for path in sorted(folder.glob("*.json")):
        with suppress(OSError, ValueError):
            document = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(document, dict):
                return document
    return None


def _end_others(words: str) -> None:
    """End all ranks, with last words, where this one cannot abort them: it has no MPI yet.

    mpiexec of MPICH waits for the others, which wait for this one in MPI_Init, whatever its
    status is; a signal ends them.
    """
    if "mpi4py.MPI" not in sys.modules and _number(_LOCAL_SIZE, 1) > 1:
        sys.stderr.write(words)
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1:])
