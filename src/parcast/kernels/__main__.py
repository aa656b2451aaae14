"""``mpiexec -n 4 python -m parcast.kernels sort -n 1e6``: a program, without the launcher.

For a batch script, where mpiexec or srun starts the ranks. The first rank prints a table of
measurements, or writes it to a file.
"""

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from parcast.errors import FileProblems, ParameterError, ParcastError, RunFailed
from parcast.kernels.course import KINDS, NAMES, Course, mesh_of, read_checkpoint, require_one_run
from parcast.kernels.kernel import KernelRun
from parcast.kernels.ledger import Communicator
from parcast.kernels.registry import KERNELS, kernel_named
from parcast.kernels.sheet import document_of, measurement_rows, warnings_of
from parcast.kernels.worker import KernelTask, runs_of, waiting_time, whole_size
from parcast.mpi.launched import is_first, one_world

WRONG_USE, BAD_FILE, FAILED = 2, 3, 4  # as the command line has them


def parser() -> argparse.ArgumentParser:
    """Give what reads the arguments."""
    reader = argparse.ArgumentParser(
        prog="python -m parcast.kernels",
        description="Run a program on the ranks that mpiexec started.",
        epilog=f"Programs: {', '.join(KERNELS)}.",
    )
    reader.add_argument("name", help="the program")
    reader.add_argument(
        "-n", "--size", dest="n", help="problem sizes: 1e5,1e6 (default: one of about a second)"
    )
    reader.add_argument("--repetitions", type=int, default=1, help="of each size (default 1)")
    reader.add_argument("--seed", type=int, default=0, help="of the input (default 0)")
    reader.add_argument(
        "--check",
        action=argparse.BooleanOptionalAction,
        help="compare results with those of one processor; by default for small n",
    )
    reader.add_argument("--directory", help="directory for files")
    reader.add_argument(
        "--patience",
        default="0s",
        help="time to wait for idle processors and to repeat disturbed runs, such as 10s",
    )
    steps = reader.add_argument_group("stencil", "time steps and checkpoints")
    steps.add_argument("--steps", type=int, help="time steps in all (default 20)")
    steps.add_argument("--mesh", help="ranks in each dimension, such as 2x2")
    steps.add_argument("--checkpoint", metavar="PATH", help="Zarr store for checkpoints")
    steps.add_argument(
        "--checkpoint-every", type=int, metavar="COUNT", help="time steps between (default 10)"
    )
    steps.add_argument("--servers", type=int, help="ranks that access files (default 1)")
    steps.add_argument("--restart", metavar="PATH", help="checkpoint to go on from")
    steps.add_argument("--io", choices=KINDS, help="how writer writes (default synchronous)")
    steps.add_argument("--group", type=int, help="ranks of writer that pass points on (default 1)")
    steps.add_argument(
        "--imbalance", type=float, help="rows of stencil's first rank over the mean"
    )
    reader.add_argument(
        "-o", "--output", help="write to this .csv or .json file; by default print CSV"
    )
    return reader


def main(arguments: Sequence[str], comm: Communicator | None = None) -> int:
    """Run a program on the ranks that are there, and give the exit status."""
    try:
        world: Communicator = one_world() if comm is None else comm
    except RunFailed as failure:
        if is_first():
            _note(str(failure))
        return FAILED
    is_root = world.Get_rank() == 0
    task_or_status: tuple[KernelTask, str | None] | int | None = None
    if is_root:
        try:
            task_or_status = _task(arguments)
        except SystemExit as stop:  # argparse has said why
            task_or_status = int(stop.code or 0)
        except ParcastError as refusal:
            _note(str(refusal))
            task_or_status = BAD_FILE if isinstance(refusal, FileProblems) else WRONG_USE
    task_or_status = world.bcast(task_or_status, 0)
    if not isinstance(task_or_status, tuple):
        return int(task_or_status or 0)
    task, output = task_or_status
    try:
        runs = list(runs_of(world, task))
        if is_root:
            _write(runs, output)
    except ParameterError as refusal:  # of the task: all ranks refuse it
        if is_root:
            _note(str(refusal))
        return WRONG_USE
    except (ParcastError, OSError) as failure:
        status = BAD_FILE if isinstance(failure, FileProblems) else FAILED
        _note(str(failure))
        _abort(world, status)
        return status
    return int(any(run.is_correct is False for run in runs))


def _task(arguments: Sequence[str]) -> tuple[KernelTask, str | None]:
    """Read the arguments: what is to be run, and where it is to be written."""
    given = parser().parse_args(arguments)
    if given.output and not given.output.endswith((".csv", ".json")):
        raise ParameterError(
            "-o", must="be a path that ends in .csv or .json", got=f"{given.output!r}"
        )
    kernel = kernel_named(given.name)
    mesh = None if given.mesh is None else mesh_of(given.mesh)
    course = Course(**{name: getattr(given, name) for name in NAMES} | {"mesh": mesh})
    example = kernel.example
    if given.n is None and course.restart is not None and kernel.time_steps:
        example = read_checkpoint(course.restart).n
    sizes = [str(example)] if given.n is None else given.n.split(",")
    require_one_run(course, len(sizes) * given.repetitions)
    task = KernelTask(
        kernel=given.name,
        sizes=tuple(map(whole_size, sizes)),
        repetitions=given.repetitions,
        seed=given.seed,
        check=given.check,
        directory=given.directory,
        patience=waiting_time(given.patience, name="--patience"),
        course=None if course == Course() else course,
    )
    return task, given.output


def _write(runs: Sequence[KernelRun], output: str | None) -> None:
    """Write the runs to a file, or print them."""
    for text in warnings_of(runs):
        _note(text)
    if output is None:
        _write_table(runs, sys.stdout)
    elif output.endswith(".json"):
        Path(output).write_text(json.dumps(document_of(runs), indent=1) + "\n", encoding="utf-8")
    else:
        with Path(output).open("w", encoding="utf-8", newline="") as stream:
            _write_table(runs, stream)


def _write_table(runs: Sequence[KernelRun], stream: TextIO) -> None:
    """Write the runs as a table of measurements."""
    rows = list(measurement_rows(runs))
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _note(text: str) -> None:
    """Print a message for the user."""
    print(f"parcast: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a program of its own


def _abort(world: Communicator, status: int) -> None:
    """End all ranks: the others may wait for this one for ever."""
    abort = getattr(world, "Abort", None)
    if abort is not None and world.Get_size() > 1:
        abort(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
