"""A machine in, its parameters out: micro-benchmarks of processor, network, primitives, storage.

Each part is launched several times, all in turn; a value is the median of the launches, its
interval is over launches, and launching goes on until the intervals are narrow or time is over.
Ranks are pinned, each to a core of its own where there are enough, since an unpinned message is
one of two times, on the same core or on another, and which one no statistics can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Final

from parcast.benchmarking.compiled import compile_pingpong
from parcast.benchmarking.records import BenchmarkPlan
from parcast.calibration.cases import (
    PARTS,
    WITHOUT_MPI,
    BenchmarkCase,
    BenchmarkJob,
    cases_of,
    placement_of,
)
from parcast.calibration.host import Clocks, clock_notes, host_of, load_average, page_cache
from parcast.calibration.launches import FIRST, BenchmarkLauncher, LaunchCourse
from parcast.calibration.lines import line_of
from parcast.calibration.notes import notes_of
from parcast.calibration.result import BenchmarkTable, Calibration, Line, Measured
from parcast.calibration.values import VALUES, measured, of_a_share, tables_of, values_of
from parcast.errors import ParameterError, RunFailed, as_list, as_number
from parcast.mpi.find import Mpi, find_mpi
from parcast.mpi.folders import folder_for
from parcast.signals import as_interrupts
from parcast.testbed.testbed import Testbed, testbed_here

TARGET: Final = 0.05  # half-width of an interval over its value, at which it is settled [1]
LAUNCHES: Final = 5  # at least; of fewer no interval of a median is exact
QUICK_LAUNCHES: Final = 3
MOST_LAUNCHES: Final = 30
TIME_LIMIT: Final = 240.0  # [s]
QUICK_TIME_LIMIT: Final = 15.0  # leaves 5 s of the 20 that are promised to end and to fit [s]
MOST_RANKS: Final = 1024
TRIAL: Final = BenchmarkPlan(sizes=(0,), budget=0.0, fewest=1)  # of the compiled ping-pong
SETTLED: Final = 0.9  # share of the sizes of the primitives that must be settled


def calibrate(
    *,
    ranks: int = 2,
    quick: bool = False,
    time_limit: float | None = None,
    only: Sequence[str] = PARTS,
    directory: str | PathLike[str] | None = None,
    progress: Callable[[float, str], None] | None = None,
    launches: int | None = None,
    name: str = "",
) -> Calibration:
    """Measure processor, network, collectives and storage of this machine.

    Parameters
    ----------
    ranks : int, default 2
        Largest number of MPI ranks. Network and collectives are measured with 2, 4, 8, ... and
        this number, and with 3 where formulas in p would have too few counts otherwise. More ranks
        than cores are all pinned to one core, and a warning says so. [1]
    quick : bool, default False
        Three launches of few sizes: under 20 s on a quiet machine for two ranks.
    time_limit : float, optional
        A launch that is not expected to end within this time is not begun, and one that runs is
        ended. By default 240 s, with `quick` 15 s. [s]
    only : sequence of {"processor", "network", "primitives", "storage"}, optional
        Parts to measure. By default all.
    directory : path, optional
        Where files are written to measure the storage. By default the current directory. The files
        have no names, so that none remain.
    progress : callable, optional
        Called with the fraction that is done and what is being measured.
    launches : int, optional
        Launches of each part before its intervals are evaluated. By default 5, with `quick` 3. [1]
    name : str, optional
        Name of the machine. By default that of the host.

    Returns
    -------
    Calibration
        Values with intervals [SI]. `parcast.calibration.machine_file.machine_figures` makes a
        machine file of it. After Ctrl-C or SIGTERM, what had been measured until then.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.
    RunFailed
        If nothing could be measured; the message says why.

    Examples
    --------
    >>> import parcast
    >>> machine = parcast.calibrate(ranks=4, quick=True)  # doctest: +SKIP
    """
    chosen = _checked(ranks, only, launches, time_limit)
    least = launches or (QUICK_LAUNCHES if quick else LAUNCHES)
    limit = time_limit or (QUICK_TIME_LIMIT if quick else TIME_LIMIT)
    where = _place(directory) if "storage" in chosen else Path()
    date = datetime.now().astimezone().isoformat(timespec="seconds")
    began, load, clocks = monotonic(), load_average(), Clocks.read()
    mpi, notes = _mpi(chosen)
    with as_interrupts(), folder_for("parcast-calibrate-") as folder:
        program = None
        if mpi is not None and "network" in chosen and ranks > 1:
            program = _program(mpi, folder, notes, limit - (monotonic() - began))
        course = LaunchCourse(
            cases=cases_of(
                chosen, ranks=ranks, quick=quick, directory=where, mpi=mpi, program=program
            ),
            launcher=BenchmarkLauncher(mpi, folder),
            least=least,
            most=least if quick else max(MOST_LAUNCHES, least),
            time_limit=limit - (monotonic() - began),
        )
        course.make(_is_settled, progress or (lambda *_: None))
    jobs = course.jobs()
    _require_something(jobs, course, notes)
    notes += clock_notes(clocks, Clocks.read())
    testbed = testbed_here()
    host = host_of(
        load_before=load,
        mpi=mpi,
        library=_library(jobs),
        placement={x.case.ranks: placement_of(x.case.ranks) for x in jobs if x.launches},
        directory=str(where) if "storage" in chosen else "",
        testbed=testbed,
    )
    values, tables, lines = _results(jobs, testbed, chosen)
    notes += notes_of(course, values, tables, host, target=TARGET)
    inputs = {"ranks": ranks, "quick": quick, "time_limit_s": limit, "only": list(chosen)}
    return Calibration(
        name=name or host.name,
        date=date,
        seconds=monotonic() - began,
        host=host,
        measured=tuple(values),
        tables=tuple(tables),
        lines=tuple(lines),
        warnings=tuple(notes),
        was_interrupted=course.was_interrupted,
        lost=sum(len(job.lost) for job in jobs),
        target=TARGET,
        inputs=inputs | {"launches": least},
    )


def _results(
    jobs: Sequence[BenchmarkJob], testbed: Testbed | None, chosen: Sequence[str]
) -> tuple[list[Measured], list[BenchmarkTable], list[Line]]:
    """Values, tables and lines of what was launched, and the cache that the system tells."""
    values = list(values_of(jobs, target=TARGET))
    if testbed is not None:  # its hosts share the memory of this one
        values = [x for x in values if x.key != "node.memory_bandwidth"]
    if testbed is not None and testbed.cap is not None:
        values = [of_a_share(x, testbed.cap) for x in values]
    if "storage" in chosen and (cache := page_cache()) is not None:
        values.append(cache)
    tables, lines = [], []
    for job in jobs:
        for table in tables_of(job, target=TARGET):
            tables.append(table)
            if table.bench != "polynomial" and (line := line_of(table, job.launches)) is not None:
                lines.append(line)
    return values, tables, lines


def _library(jobs: Sequence[BenchmarkJob]) -> str:
    """Name the MPI as the ranks do; "" where none did."""
    launches = (launch for job in jobs for launch in job.launches)
    return next((str(x.facts["mpi"]) for x in launches if "mpi" in x.facts), "")


def _place(directory: str | PathLike[str] | None) -> Path:
    """Refuse a folder that is not there; give its whole path."""
    where = Path(directory or ".").absolute()
    if not where.is_dir():
        raise ParameterError("directory", must="be an existing folder", got=f"{str(where)!r}")
    return where


def _checked(
    ranks: int, only: Sequence[str], launches: int | None, time_limit: float | None
) -> tuple[str, ...]:
    """Refuse arguments that cannot be; give the parts in order."""
    hint = "Give a number such as 4."
    if not 1 <= as_number("ranks", ranks, hint=hint) <= MOST_RANKS:
        hint = "Give 2 or more." if ranks < 1 else "Give fewer."
        raise ParameterError("ranks", must=f"lie in 1 to {MOST_RANKS}", got=f"{ranks}", hint=hint)
    if isinstance(only, str):
        only = (only,)
    only = as_list("only", only, hint=f"Choose from {', '.join(PARTS)}.")
    unknown = [part for part in only if part not in PARTS]
    if unknown or not only:
        got = repr(unknown[0]) if unknown else "nothing"
        raise ParameterError("only", must=f"be some of {', '.join(PARTS)}", got=got)
    if launches is not None and as_number("launches", launches, hint="Give 5 or more.") < 1:
        raise ParameterError(
            "launches", must="be at least 1", got=f"{launches}", hint="Give 5 or more."
        )
    hint = "Give it in seconds."
    if time_limit is not None and not as_number("time_limit", time_limit, hint=hint) > 0:
        raise ParameterError(
            "time_limit", must="be above 0", got=f"{time_limit:g}", hint="Give seconds."
        )
    return tuple(part for part in PARTS if part in only)


def _mpi(chosen: Sequence[str]) -> tuple[Mpi | None, list[str]]:
    """Find an MPI; where there is none and something can be measured without, say so."""
    try:
        return find_mpi(), []
    except RunFailed as missing:
        alone = [part for part in chosen if part in WITHOUT_MPI]
        if not alone:
            raise
        left = [part for part in chosen if part not in WITHOUT_MPI]
        if left:
            return None, [f"Not measured: {' and '.join(left)}. {missing}"]
        if "storage" in chosen:
            return None, [f"The storage was measured with only one writer. {missing}"]
        return None, []


def _program(mpi: Mpi, folder: Path, notes: list[str], left: float) -> Path | None:
    """Compile the ping-pong and try it in what is left of the time; where that fails, say so."""
    compiled: Path | str = compile_pingpong(mpi.mpiexec, folder)
    if isinstance(compiled, Path):
        case = BenchmarkCase(
            part="network", module="compiled", ranks=2, plan=TRIAL, program=compiled
        )
        try:
            BenchmarkLauncher(mpi, folder).start(case, folder / "trial.jsonl", max(left, FIRST))
        except RunFailed as failure:
            compiled = f"the compiled program does not run ({failure})"
        else:
            return compiled
    notes.append(
        f"The ping-pong was run from Python: {compiled}. Most of the overhead of Python is "
        "subtracted; the latency may be up to 20% too high."
    )
    return None


def _is_settled(job: BenchmarkJob, jobs: Sequence[BenchmarkJob]) -> bool:
    if job.case.part == "primitives":
        samples = [x for table in tables_of(job, target=TARGET) for x in table.samples]
        return sum(x.settled for x in samples) >= SETTLED * len(samples)
    chosen = {(x.key, x.ranks) for x in values_of(jobs, target=TARGET)}
    own = (measured(value, job, target=TARGET) for value in VALUES)
    return all(x.settled for x in own if x is not None and (x.key, x.ranks) in chosen)


def _require_something(
    jobs: Sequence[BenchmarkJob], course: LaunchCourse, notes: Sequence[str]
) -> None:
    if any(job.launches for job in jobs):
        return
    if course.was_interrupted:
        raise KeyboardInterrupt
    reasons = [reason for job in jobs for reason in job.lost]
    if course.cut:
        reasons.append(
            f"the time limit ended during the first launch ({course.cut}). Allow more time."
        )
    why = [*reasons, *notes, "a network needs at least 2 ranks. Give 2 or more."][0]
    raise RunFailed(f"Nothing could be measured: {why}")
