"""Run a reference program on some counts of ranks and at some sizes, and give its times."""

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Final

from parcast.errors import ParameterError, RunFailed, require
from parcast.run.kernels.kernel import Run
from parcast.run.kernels.registry import kernel_named
from parcast.run.kernels.worker import Task, memory_refusal, whole_size
from parcast.run.launcher import run_ranks

WORKER: Final = "parcast.run.kernels.worker"
HOUR: Final = 3600.0  # [s]


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
    progress: Callable[[int, int], object] | None = None,
) -> tuple[Run, ...]:
    """Runs of a reference program, on ranks that are started here.

    All sizes and repetitions for one count of ranks are run in one launch, after a tiny run that
    is not counted.

    Parameters
    ----------
    name : str
        One of `parcast.run.kernels.registry.KERNELS`, such as "sort".
    n : number, str, or sequence of numbers
        Problem sizes, whole numbers of at least 0; "1e6" is one. [1]
    ranks : int or sequence of int, default 1
        MPI processes, at least 1; more than there are cores take turns. [1]
    repetitions : int, default 1
        Of each, at least 1. [1]
    seed : int, default 0
        Of the input, at least 0.
    check : bool, optional
        Whether to compare each result with that of one processor; by default where `n` is small.
    directory : path, optional
        Where a program puts its files, by default the system's folder for such. They are removed.
    time_limit : float, default 3600
        For each launch. [s]
    progress : callable, optional
        Called with the number of launches done and of all.

    Returns
    -------
    tuple of Run
        In the order of `ranks`, then of `n`, then repetitions.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or a size is too large for the memory.
    RunFailed
        If there is no MPI, a rank fails, files cannot be written, or the time is over.

    Examples
    --------
    >>> from parcast import run_kernel
    >>> for run in run_kernel("sort", n=[1000, 2000], ranks=2):  # doctest: +SKIP
    ...     print(run.n, run.time, run.is_correct)
    1000 0.0021 True
    2000 0.0025 True
    """
    kernel = kernel_named(name)
    sizes = tuple(
        whole_size(x) for x in ([n] if isinstance(n, str) or not isinstance(n, Iterable) else n)
    )
    counts = list(ranks) if isinstance(ranks, Iterable) else [ranks]
    require("n", len(sizes), bool(sizes), must="name a size", hint="Give one such as 1e6.")
    for p in counts:
        is_count = isinstance(p, Integral) and p >= 1
        require("ranks", p, is_count, must="be whole numbers of at least 1", hint="Count from 1.")
    must = "be at least 1"
    require("repetitions", repetitions, repetitions >= 1, must=must, hint="Once is enough.")
    require("seed", seed, seed >= 0, must="be at least 0", hint="It is any whole number.")
    must, hint = "be above 0", "Give it in seconds."
    require("time_limit", time_limit, time_limit > 0, must=must, hint=hint)
    for refusal in (memory_refusal(kernel, size, p) for p in counts for size in sizes):
        if refusal:
            raise ParameterError(refusal)
    runs: list[Run] = []
    with _folder(None) as desk, _folder(directory) as folder:
        task = Task(
            kernel=name,
            sizes=sizes,
            repetitions=repetitions,
            seed=seed,
            check=check,
            directory=folder if kernel.uses_files else None,
        )
        for done, p in enumerate(counts):
            if progress is not None:
                progress(done, len(counts))
            runs += _launched(task, int(p), Path(desk), time_limit)
    return tuple(runs)


def _launched(task: Task, p: int, desk: Path, time_limit: float) -> Sequence[Run]:
    """Run a task on so many ranks."""
    asked, answer = desk / "task.json", desk / "runs.json"
    asked.write_text(json.dumps({**task.to_document(), "answer": str(answer)}), encoding="utf-8")
    try:
        run_ranks(WORKER, [str(asked)], ranks=p, time_limit=time_limit)
    except RunFailed as failure:
        text = str(failure)
        raise RunFailed(text.replace("kernels.worker on", f"{task.kernel} on", 1)) from failure
    told = json.loads(answer.read_text(encoding="utf-8"))
    answer.unlink()
    return [Run.from_document(document) for document in told]


def _folder(directory: str | Path | None) -> "tempfile.TemporaryDirectory[str]":
    """Make a folder that is removed with all that is in it, however the run ends."""
    try:
        return tempfile.TemporaryDirectory(
            prefix="parcast-run-", dir=directory, ignore_cleanup_errors=True
        )
    except OSError as failure:
        place = directory or tempfile.gettempdir()
        why = (failure.strerror or str(failure)).lower()
        raise RunFailed(
            f"{place} cannot hold the files of the run: {why}. Choose another directory."
        ) from failure
