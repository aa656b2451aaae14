"""What ranks that make trials have in common: they read their task, and tell what they made."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpi4py import MPI


def task_of(comm: "MPI.Intracomm", arguments: Sequence[str]) -> dict[str, Any]:
    """Give the task of the file that is the only argument, on all ranks."""
    text = Path(arguments[0]).read_text(encoding="utf-8") if comm.Get_rank() == 0 else ""
    task: dict[str, Any] = json.loads(comm.bcast(text))
    return task


def tell(task: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Add a document to the answer, as a line of JSON: it is not lost with those after it."""
    with Path(task["answer"]).open("a", encoding="utf-8") as answer:
        print(json.dumps(document), file=answer, flush=True)
