"""`run_pipeline`: a reduction of many items, on one process or on the ranks of MPI."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from parcast.errors import (
    Argument,
    ParameterError,
    RunFailed,
    as_whole,
    require,
    require_kind,
    spelled,
)
from parcast.files.document import check_place
from parcast.mpi.launched import is_inside_run, ranks_for
from parcast.mpi.payload import EMPTY
from parcast.pipeline.arguments import job_of, require_ranks
from parcast.pipeline.engine.checkpoint import has_manifest
from parcast.pipeline.engine.desk import span
from parcast.pipeline.engine.job import Job, Reduction
from parcast.pipeline.engine.session import Outcome, agreed, run_here
from parcast.pipeline.engine.tree import Merge
from parcast.pipeline.result import PipelineResult, RankShare
from parcast.signals import Terminated
from parcast.version import __version__

if TYPE_CHECKING:
    from mpi4py import MPI

    from parcast.pipeline.engine.root import Root
    from parcast.pipeline.traces.header import TraceHeader


MOST_NAMED: Final = 4  # spans of items in a warning
EMPTY_INPUT: Final = "the value is that of an empty input (zero)."


def result_of(job: Job, outcome: Outcome, *, is_root: bool) -> PipelineResult:
    """Make the result of a run."""
    return PipelineResult(
        value=outcome.value,
        items=outcome.items,
        resumed_items=outcome.resumed_items,
        retried=outcome.retried,
        seconds=outcome.seconds,
        reductions=outcome.reductions,
        skipped=outcome.skipped,
        was_stopped=outcome.was_stopped,
        ranks=tuple(
            RankShare(
                rank=x.rank,
                items=x.tasks,
                tasks=x.task_time,
                merges=x.merge_time,
                processor=x.task_processor + x.merge_processor,
                messages=x.messages,
                sent=x.sent,
            )
            for x in outcome.notes
        ),
        pipelines=job.pipelines,
        fan_in=job.fan_in,
        shards=job.shards,
        schedule=job.schedule,
        program=job.name,
        is_root=is_root,
        warnings=tuple(_warnings(outcome)),
    )


def _warnings(outcome: Outcome) -> Iterator[str]:
    if outcome.is_of_two_codes and outcome.resumed_items:
        yield (
            "The job file has changed since the interrupted run: the results of "
            f"{outcome.resumed_items:,} items are those of the earlier file."
        )
    if outcome.damaged:
        spans = [span(*each) for each in outcome.damaged]
        if len(spans) > MOST_NAMED:
            spans[MOST_NAMED:] = [f"{len(spans) - MOST_NAMED} more"]
        listed = ", ".join(spans)
        yield (
            f"Results in the checkpoint were damaged or missing ({listed}): the task was run "
            "again on their items."
        )
    if not outcome.items:
        yield f"There were no items: {EMPTY_INPUT}"
    elif len(outcome.skipped) == outcome.items:
        which = "The only item was" if outcome.items == 1 else f"All {outcome.items:,} items were"
        yield f"{which} skipped: {EMPTY_INPUT}"


def traced(
    job: Job, outcome: Outcome, started: datetime
) -> tuple[TraceHeader, Iterator[Mapping[str, Any]]]:
    """Make the header of a trace, and its events on the clock of rank 0."""
    from parcast.pipeline.traces.header import TraceHeader

    header = TraceHeader(
        program=job.name,
        schedule=job.schedule,
        ranks=len(outcome.notes),
        pipelines=job.pipelines,
        fan_in=job.fan_in,
        items=outcome.items,
        hosts=outcome.hosts,
        cores=outcome.cores,
        offset=tuple(clock.offset for clock in outcome.clocks),
        residual=tuple(clock.residual for clock in outcome.clocks),
        seconds=outcome.seconds,
        started=started.isoformat(timespec="seconds"),
        parcast=__version__,
    )
    return header, _events(outcome)


def _events(outcome: Outcome) -> Iterator[Mapping[str, Any]]:
    """Give all events, on the clock of rank 0 since the run began."""
    for notes in outcome.notes:
        for event in notes.events:
            aligned = dict(event)
            for key in ("start", "end", "sent", "received"):
                if key in event:
                    rank = event["source"] if key == "sent" else notes.rank
                    time = float(outcome.clocks[rank].aligned(event[key]))
                    aligned[key] = max(time - outcome.begun, 0.0)
            if "sent" in aligned:
                aligned["received"] = max(aligned["received"], aligned["sent"])
            yield aligned


UNSET: Final = EMPTY  # no zero was given

Told = Callable[[int, "int | None", "float | None"], object]


def run_pipeline(
    items: Iterable[Any],
    task: Callable[..., Any],
    merge: Callable[[Any, Any], Any] | Merge | str = "sum",
    *,
    zero: Any = UNSET,
    setup: Callable[[], Any] | None = None,
    finish: Callable[..., Any] | None = None,
    split: Callable[[Any, int], Sequence[Any]] | None = None,
    shards: int = 1,
    every: int | None = None,
    server: Callable[[Reduction], Any] | str | Path | None = None,
    server_rank: int | None = None,
    ranks: int | None = None,
    comm: MPI.Intracomm | None = None,
    pipelines: int = 1,
    fan_in: int = 2,
    batch: int | Literal["auto"] = "auto",
    schedule: Literal["adaptive", "source"] = "adaptive",
    on_error: Literal["raise", "skip"] = "raise",
    retries: int = 0,
    timeout: float | None = None,
    memory: float | None = None,
    window: int | None = None,
    directory: str | Path | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
    resume: bool = False,
    signature: str | Mapping[str, str] = "",
    check: bool = False,
    trace: str | Path | None = None,
    progress: Told | None = None,
    time_limit: float | None = None,
    name: str = "pipeline",
) -> PipelineResult:
    """Run a task on every item and merge the results, on one process or on many ranks of MPI.

    The merges follow a tree that depends on the numbers of the items alone: the result has the
    same bytes for every number of ranks, sums of floats included, and keeps the order of the items
    for merges that do not commute.

    Parameters
    ----------
    items : iterable
        What the task is run on, taken one by one as ranks need it, on rank 0; it may be endless.
        Ctrl-C ends it, and the run then ends with the result of the items taken so far.
    task : callable
        Result of an item; with `setup`, called with the item and what `setup` returned.
    merge : callable or str, default "sum"
        Result of two, of earlier and of later items; it must be associative and may change and
        return its first argument. "sum" adds, "counts" adds the values of mappings by key,
        "sorted" sorts arrays and lists, "top:10" keeps the 10 largest elements of lists.
    zero : object, optional
        Result of no item; by default 0 for "sum", {} for "counts", [] for "sorted" and "top:10",
        and None for a function.
    setup : callable, optional
        Called once on every rank before its first task.
    finish : callable, optional
        Called with a completed reduction (and with its shard, where `shards` is above 1) on the
        rank that holds it; what it returns takes its place. It may write a file and return its
        name.
    split : callable, optional
        Parts of a result, of `(result, shards)`; needed for `shards` above 1 unless `merge` is
        "counts" or "sum".
    shards : int, default 1
        Parts of a reduction that are merged apart, each on a rank of its own at the end, so that
        no rank holds all. The value is a list with one element for each. [1]
    every : int, optional
        Items of a reduction; it needs `server` or `finish`. By default all items are one
        reduction. [1]
    server : callable or path, optional
        What receives every completed reduction, in order and during the run: a function of a
        `Reduction` (`first`, `stop`, `value`), or a file to which they are added, ``.jsonl`` or
        ``.pickle``. With `every`, reductions are not kept after that. A resumed run cuts the file
        to what it held at the checkpoint; a function gets the reductions after the checkpoint
        again.
    server_rank : int, optional
        Rank that calls `server` and runs no tasks; the value of the result is then None. By
        default rank 0 calls it, or the process that has started the ranks.
    ranks : int, optional
        MPI ranks to start here. By default one process does all, without MPI. Under ``mpiexec`` or
        ``srun`` the ranks that call this are used, and another number is refused. A run that a
        function of another run starts uses its process alone, whatever is given. [1]
    comm : mpi4py communicator, optional
        Ranks that all call this; by default those of ``MPI.COMM_WORLD`` under ``mpiexec``.
    pipelines : int, default 1
        Groups of ranks that work on spans of items of their own, so that most merges stay within
        a group. [1]
    fan_in : int, default 2
        Results that are merged into one at a node of the tree, at least 2. [1]
    batch : int or "auto", default "auto"
        Items that a rank is given at a time, rounded down to a power of `fan_in`. "auto" gives
        short tasks together, so that messages cost little. [1]
    schedule : {"adaptive", "source"}
        "adaptive": a rank takes items whenever no merge waits for it. "source": the static
        schedule of [1]_, for a power of two of ranks; bytes then depend on their number.
    on_error : {"raise", "skip"}
        What to do with items whose task fails: end the run, or go on and list them.
    retries : int, default 0
        Further attempts at an item whose task fails; the result counts them. [1]
    timeout : float, optional
        Limit for the task of an item. [s]
    memory : float, optional
        Limit of the results that a rank holds in memory; others are written to `directory`. [B]
    window : int, optional
        Items that may be in work at a time, which bounds what ranks hold; by default it follows
        the batch. [1]
    directory : path, optional
        Folder for results that do not fit, by default the temporary folder of the system.
    checkpoint : path, optional
        Folder of a checkpoint, which all ranks must see. It is emptied when the run has ended.
    checkpoint_every : float, default 60
        Time between checkpoints. [s]
    resume : bool, default False
        Go on from the checkpoint of an interrupted run of the same items, if there is one; needs
        `checkpoint`. The result tells how many items were taken over.
    signature : str or mapping of str, optional
        Text that identifies items and functions, or several by their names; a run with another one
        is not resumed, nor is one with another `name` or another number of items.
    check : bool, default False
        Check on some results that the merge is associative.
    trace : path, optional
        File for the events of the run, ``.jsonl`` or ``.jsonl.gz``.
    progress : callable, optional
        Called now and then, possibly from another thread, with the numbers of items that are done
        and of all, and the predicted remaining time [s], each None if it is not known.
    time_limit : float, optional
        Limit for the run, by default none. A run that reaches it fails; a checkpoint is kept.
        Outside the main thread it is looked after between items. [s]
    name : str, default "pipeline"
        Name of the run in messages and traces.

    Returns
    -------
    PipelineResult
        Its `value` is that of the only reduction, None with `every` or `server_rank`. Under
        ``mpiexec`` the value is on rank 0 alone, where `is_root` is True; on other ranks it is
        None, and everything else is the same.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.
    RunFailed
        If a task fails, a rank ends early, a merge is not associative (with `check`), a file
        cannot be written, or the time limit is reached.

    References
    ----------
    .. [1] J. Kuntraruk, W. M. Pottenger and A. M. Ross, "Application resource requirement
       estimation in a parallel-pipeline model of execution," IEEE Trans. Parallel Distrib. Syst.,
       vol. 16, no. 12, pp. 1154-1165, 2005, :doi:`10.1109/TPDS.2005.143`.

    Examples
    --------
    >>> import parcast
    >>> result = parcast.run_pipeline(["a b", "b c b"], str.split, "sum")
    >>> result.value
    ['a', 'b', 'b', 'c', 'b']
    >>> parcast.run_pipeline(range(1000), lambda x: x * x, "sum").value
    332833500
    """
    given = locals()
    comm = ranks_for(_checked(comm))
    with agreed(comm):
        job = _job(given)
        if trace is not None:
            check_place(trace)
    started = datetime.now().astimezone()
    with _checkpoint_told(job):
        outcome, is_root = _run(job, items, ranks, comm, progress=progress)
    result = result_of(job, outcome, is_root=is_root)
    if trace is not None and is_root:
        from parcast.pipeline.traces.trace import write_trace

        try:
            write_trace(trace, *traced(job, outcome, started))
        except OSError as failure:  # the value, which took the time of the run, is not lost
            why = (failure.strerror or str(failure)).lower()
            fault = f"The trace cannot be written to {trace}: {why}."
            result = replace(result, warnings=(*result.warnings, fault))
    return result


@contextmanager
def _checkpoint_told(job: Job) -> Iterator[None]:
    """Add to what ends a run that its checkpoint is kept."""
    try:
        yield
    except (RunFailed, KeyboardInterrupt, Terminated) as failure:
        if job.checkpoint is None or not has_manifest(job.checkpoint):
            raise
        hint = "Its checkpoint is kept: go on with ", Argument("resume", True), "."
        if isinstance(failure, RunFailed):
            raise RunFailed(failure.text, below=(*failure.below, hint)) from failure
        failure.add_note(spelled(hint))
        raise


def _run(
    job: Job,
    items: Iterable[Any],
    ranks: int | None,
    comm: MPI.Intracomm | None,
    *,
    progress: Told | None,
) -> tuple[Outcome, bool]:
    """Run a job where it was asked for; tell also whether this process is rank 0 of the run."""
    if comm is not None:
        count = comm.Get_size()
        must = f"be {count}, the ranks that mpiexec or srun has started"
        require("ranks", ranks, ranks in (None, count), must=must, hint="Leave it out.")
        require_ranks(job, count)
        told = None if progress is None else _teller(progress)
        return run_here(job, items, comm=comm, progress=told), comm.Get_rank() == 0
    count = 1 if ranks is None else as_whole("ranks", ranks, least=1, hint="Count from 1.")
    count = 1 if is_inside_run() else count
    require_ranks(job, count)
    if count == 1:
        told = None if progress is None else _teller(progress)
        return run_here(job, items, progress=told), True
    from parcast.pipeline.engine.starting import run_started

    return run_started(job, items, ranks=count, progress=progress), True


def _job(given: Mapping[str, Any]) -> Job:
    job = job_of(given)
    if job.resumes and job.checkpoint is None:
        raise ParameterError(
            "resume",
            must=("be given with ", Argument("checkpoint")),
            hint="Name the folder with the checkpoint of the interrupted run.",
        )
    return job


def _checked(comm: MPI.Intracomm | None) -> MPI.Intracomm | None:
    if comm is not None:
        from mpi4py import MPI

        hint = "Give for example MPI.COMM_WORLD of mpi4py, or leave it out."
        require_kind("comm", comm, MPI.Intracomm, hint=hint)
    return comm


def _teller(progress: Told) -> Callable[[Root], object]:
    """Make a function that tells how far a run is from one that takes numbers."""
    return lambda root: progress(root.done, root.total, root.remaining)
