"""What makes the trials of a launch: ranks of this machine or of a testbed, or another program."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from parcast.errors import ParameterError
from parcast.mpi.folders import documents_in, failing_for, folder_for
from parcast.mpi.launcher import run_task
from parcast.trials.trial import C, Launch, O, Trial

if TYPE_CHECKING:
    from mpi4py import MPI


HINT: Final = "parcast.testing.validation.check_launcher tests a launcher."


class Launcher(Protocol[C, O]):
    """Makes the trials of a launch, here or somewhere else."""

    def __call__(self, launch: Launch[C], *, report: Callable[[Trial[C, O]], object]) -> None:
        """Run every case as often as the launch has it, and report each trial that has ended.

        The first `launch.discarded` runs of a case are made but not reported; more may be
        reported than asked for. Trials are made by `launch.trial`. Those reported before a
        KeyboardInterrupt are kept.
        """


def require_trial(launch: Launch[C], trial: object) -> None:
    """Refuse what a launcher reports and no launcher may."""
    got = ""
    if not isinstance(trial, Trial):
        got = f"{trial!r:.60}"
    elif trial.case not in launch.cases:
        got = f"one of {trial.case!r:.60}"
    elif (trial.launch, trial.turn, trial.purpose) != (launch.number, launch.turn, launch.purpose):
        got = f"one of launch {trial.launch}"
    elif not 0.0 < trial.seconds < inf:
        got = f"one that took {trial.seconds:g} s"
    if got:
        raise ParameterError(
            "launcher",
            must="report trials of the cases of its launch, of a time above 0",
            got=got,
            hint=f"Make them by launch.trial(case, seconds, ...). {HINT}",
        )


def require_every_case(launch: Launch[C], trials: list[Trial[C, O]]) -> None:
    """Refuse a launcher that has ended before it reported what it was asked for."""
    for case in launch.distinct:
        asked = launch.cases.count(case) - launch.discarded
        made = sum(trial.case == case for trial in trials)
        if made < asked:
            raise ParameterError(
                "launcher",
                must=f"report {asked} trials of {case!r:.60}",
                got=str(made),
                hint=f"Report as many as the launch has, or raise RunFailed. {HINT}",
            )


def run_on_ranks(
    worker: str,
    task: Mapping[str, Any],
    *,
    ranks: int,
    time_limit: float,
    report: Callable[[Any], object],
    called: str,
    prefix: str,
    folder: Path | None = None,
    is_pinned: bool = True,
) -> None:
    """Have ranks execute a worker, and report every document that it tells, however it ends.

    The worker finds the task by `task_of`, with a `folder` for its files, which is
    made below the given one and removed.
    """
    with ExitStack() as stack:
        stack.enter_context(failing_for(folder or tempfile.gettempdir(), called))
        files = stack.enter_context(folder_for(prefix, folder))
        answer = files / "trials.jsonl"
        try:
            run_task(
                worker,
                {**task, "folder": str(files), "answer": str(answer)},
                ranks=ranks,
                time_limit=time_limit,
                is_pinned=is_pinned,
                called=called,
            )
        finally:
            for document in documents_in(answer):
                report(document)


def task_of(comm: "MPI.Intracomm", arguments: Sequence[str]) -> dict[str, Any]:
    """Give the task of the file that is the only argument, on all ranks."""
    text = Path(arguments[0]).read_text(encoding="utf-8") if comm.Get_rank() == 0 else ""
    task: dict[str, Any] = json.loads(comm.bcast(text))
    return task


def tell(task: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Add a document to the answer, as a line of JSON: it is not lost with those after it."""
    with Path(task["answer"]).open("a", encoding="utf-8") as answer:
        print(json.dumps(document), file=answer, flush=True)
