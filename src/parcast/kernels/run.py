"""Run a reference program on some rank counts and at some sizes, and give its times."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Final

from parcast.errors import RunFailed, as_number, as_whole, require
from parcast.kernels.course import Course, how_to_go_on, require_one_run
from parcast.kernels.kernel import Kernel, KernelRun
from parcast.kernels.registry import kernel_named
from parcast.kernels.worker import KernelTask, memory_refusal, whole_size
from parcast.mpi.find import available_cores
from parcast.mpi.folders import documents_in, failing_for, folder_for
from parcast.mpi.launcher import MOST_RANKS, run_ranks
from parcast.mpi.rank import PLACEMENT
from parcast.saved.fields import object_of, written
from parcast.show.answers import Answers
from parcast.signals import as_interrupts

WORKER: Final = "parcast.kernels.worker"
HOUR: Final = 3600.0  # [s]
UNEVEN: Final = "1.5 is half as many rows more."


class KernelRuns(Answers[KernelRun]):
    """Runs of a reference program, as a list."""

    _sheet = "parcast.kernels.sheet:sheet_of"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give a row for each run, with the keys of the JSON document."""
        from parcast.kernels.sheet import document_of

        yield from document_of(self)["rows"]


def run_kernel(
    name: str,
    *,
    n: float | str | Iterable[float],
    ranks: int | Iterable[int] = 1,
    repetitions: int = 1,
    seed: int = 0,
    check: bool | None = None,
    directory: str | Path | None = None,
    time_limit: float = HOUR,
    patience: float = 0.0,
    quantum: float | None = None,
    progress: Callable[[int, int], object] | None = None,
    each: Callable[[KernelRun], object] | None = None,
    steps: int | None = None,
    mesh: Sequence[int] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    servers: int | None = None,
    restart: str | PathLike[str] | None = None,
    io: str | None = None,
    group: int | None = None,
    imbalance: float | None = None,
) -> KernelRuns:
    """Run a reference program on MPI ranks that are started here.

    All sizes and repetitions for one count of ranks are run in one launch, after a tiny warm-up
    run.

    Parameters
    ----------
    name : str
        One of `parcast.kernels.registry.KERNELS`, such as "sort".
    n : number, str, or sequence of numbers
        Problem sizes, whole numbers of at least 0; "1e6" is one. [1]
    ranks : int or sequence of int, default 1
        MPI processes, at least 1; if there are more than cores, they take turns on them. [1]
    repetitions : int, default 1
        Runs of each size, at least 1. [1]
    seed : int, default 0
        Seed of the input, at least 0.
    check : bool, optional
        Whether to compare each result with that of one processor; by default where `n` is small.
    directory : path, optional
        Folder for files of the program, by default the temporary folder of the system. They are
        removed afterwards.
    time_limit : float, default 3600
        Limit for each launch. [s]
    patience : float, default 0
        Time that a launch may wait for idle processors and repeat disturbed runs, as defined in
        `parcast.timings.disturbed`. Disturbed runs are returned too. [s]
    quantum : float, optional
        The shortest work quantum of earlier runs on as many ranks. [s]
    progress : callable, optional
        Called with the number of finished launches and of all.
    each : callable, optional
        Called with each run when its launch has ended, also if the launch failed or was
        interrupted, so that finished runs are not lost.
    steps : int, optional
        Time steps, of "stencil" those before a restart included and by default 20, of "writer"
        by default 40. [1]
    mesh : sequence of int, optional
        Ranks in each dimension of "stencil", such as (2, 2); by default (ranks, 1). [1]
    checkpoint : path, optional
        Zarr store that "stencil" and "writer" write their points to during the run and at its
        end. Until a new one is complete, the old one stays. Requires one size, one rank count and
        one repetition.
    checkpoint_every : int, default 10
        Time steps between two checkpoints, or writes of "writer". [1]
    servers : int, default 1
        Ranks that access the files of checkpoints, as in `parcast.arrays.connect`. [1] Of
        "writer" without a checkpoint, ranks beside `ranks` that write and have a disk each.
    restart : path, optional
        Checkpoint to go on from, written by any number of ranks on any mesh.
    io : {"synchronous", "striped", "clustered"}, optional
        Whether ranks of "writer" write together, each to all servers, or each to one.
    group : int, default 1
        Ranks of "writer" that pass points on to each other; it divides `ranks`. [1]
    imbalance : float, optional
        Rows of the first rank of "stencil" over the mean, at least 1; nothing is written then. [1]

    Returns
    -------
    list of KernelRun
        In the order of `ranks`, then of `n`, then repetitions; with `patience` there may be more
        repetitions than requested. It shows itself as a table; as a data frame with `to_pandas()`.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, a size is too large for the memory, or a
        checkpoint belongs to another program, size or seed.
    FileProblems
        If `restart` is no checkpoint.
    RunFailed
        If there is no MPI, a rank fails, files cannot be written, or the time limit is reached.

    Examples
    --------
    >>> from parcast import run_kernel
    >>> for run in run_kernel("sort", n=[1000, 2000], ranks=2):  # doctest: +SKIP
    ...     print(run.n, run.time, run.is_correct)
    1000 0.0021 True
    2000 0.0025 True
    """
    kernel = kernel_named(name)
    sizes = _sizes(n)
    counts = _counts(ranks)
    repetitions = as_whole("repetitions", repetitions, least=1, hint="Give 1 or more.")
    seed = as_whole("seed", seed, least=0, hint="Use any whole number.")
    _check_times(patience, time_limit, quantum)
    _check_memory(kernel, sizes, counts)
    course = Course(
        steps=steps,
        mesh=None if mesh is None else tuple(mesh),
        checkpoint=None if checkpoint is None else os.fspath(checkpoint),
        checkpoint_every=checkpoint_every,
        servers=servers,
        restart=None if restart is None else os.fspath(restart),
        io=io,
        group=group,
        imbalance=None if imbalance is None else as_number("imbalance", imbalance, hint=UNEVEN),
    )
    _check_course(course, kernel, sizes, counts, repetitions=repetitions, seed=seed)
    with as_interrupts(), _folder(None) as desk, _folder(directory) as folder:
        task = KernelTask(
            kernel=name,
            sizes=sizes,
            repetitions=repetitions,
            seed=seed,
            check=check,
            directory=str(folder) if kernel.uses_files else None,
            patience=patience,
            quantum=quantum,
            course=None if course == Course() else course,
        )
        runs = KernelRuns()
        for done, p in enumerate(counts):
            if progress is not None:
                progress(done, len(counts))
            runs += _launched(task, int(p), desk / f"runs_{done}.jsonl", time_limit, each)
        return runs


def _sizes(n: float | str | Iterable[float]) -> tuple[int, ...]:
    """Refuse problem sizes that cannot be."""
    given = [n] if isinstance(n, str) or not isinstance(n, Iterable) else n
    sizes = tuple(map(whole_size, given))
    require("n", len(sizes), bool(sizes), must="name a size", hint="Give a size such as 1e6.")
    return sizes


def _check_memory(kernel: Kernel, sizes: Sequence[int], counts: Sequence[int]) -> None:
    """Refuse sizes that are too large for the memory."""
    for p in counts:
        for size in sizes:
            if refusal := memory_refusal(kernel, size, p):
                raise refusal


def _check_times(patience: float, time_limit: float, quantum: float | None) -> None:
    """Refuse times that cannot be."""
    must, hint = "be at least 0", "Give it in seconds."
    ok = as_number("patience", patience, hint=hint) >= 0
    require("patience", patience, ok, must=must, hint=hint)
    must = "be above 0"
    ok = as_number("time_limit", time_limit, hint=hint) > 0
    require("time_limit", time_limit, ok, must=must, hint=hint)
    hint = "Use the value of earlier runs."
    ok = quantum is None or as_number("quantum", quantum, hint=hint) > 0
    require("quantum", quantum, ok, must=must, hint=hint)


def _check_course(
    course: Course,
    kernel: Kernel,
    sizes: Sequence[int],
    counts: Sequence[int],
    *,
    repetitions: int,
    seed: int,
) -> None:
    """Refuse a course that does not fit every run, before anything is started."""
    if course == Course():
        return
    require_one_run(course, len(sizes) * len(counts) * repetitions)
    for p in counts:
        kernel.settled(course, sizes, seed=seed, ranks=int(p))


@contextmanager
def _naming_the_checkpoint(path: str | None) -> Iterator[None]:
    """Say where a run that fails can be taken up again."""
    try:
        yield
    except RunFailed as failure:
        if text := how_to_go_on(path):
            raise RunFailed(f"{failure} {text}") from failure
        raise


def _counts(ranks: int | Iterable[int]) -> list[int]:
    """Refuse rank counts that cannot be."""
    counts = list(ranks) if isinstance(ranks, Iterable) else [ranks]
    for p in counts:
        is_count = isinstance(p, Integral) and p >= 1
        require("ranks", p, is_count, must="be whole numbers of at least 1", hint="Count from 1.")
        must = f"be at most {MOST_RANKS}"
        require("ranks", p, p <= MOST_RANKS, must=must, hint="They all run on this machine.")
    return counts


def _launched(
    task: KernelTask,
    p: int,
    answer: Path,
    time_limit: float,
    each: Callable[[KernelRun], object] | None,
) -> list[KernelRun]:
    """Run a task on so many computing ranks; `each` is called with every run, whatever the end."""
    course, ended = task.course or Course(), []
    ranks = p + course.io_servers
    task_file = answer.with_name("task.json")
    document = {**written(task), "answer": str(answer)}
    task_file.write_text(json.dumps(document), encoding="utf-8")
    # All on one core, as where a network is measured, more ranks would be no faster than one.
    is_crowded = PLACEMENT not in os.environ and ranks > len(available_cores())
    try:
        with _naming_the_checkpoint(course.checkpoint):
            run_ranks(
                WORKER,
                [str(task_file)],
                ranks=ranks,
                time_limit=time_limit,
                placement="spread" if is_crowded else "auto",
                called=task.kernel,
            )
    finally:
        for told in documents_in(answer):
            ended.append(object_of(KernelRun, told))
            if each is not None:
                each(ended[-1])
    return ended


@contextmanager
def _folder(directory: str | Path | None) -> Iterator[Path]:
    """Make a folder that is removed with all that is in it, however the run ends."""
    with ExitStack() as stack:
        with failing_for(directory or tempfile.gettempdir(), "the run"):
            folder = stack.enter_context(folder_for("parcast-run-", directory))
        yield folder
