"""What a program calls: `region` and `profile_parameters`, and the profiling behind them."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from parcast.instrument.accounts import name_of_program, rank_of_environment
from parcast.instrument.recorder import NANO, OFF, Off, Recorder, Timed, require_number

if TYPE_CHECKING:
    from parcast.timings.profile import RankRecord


PLACE: Final = "PARCAST_PROFILE"  # in the environment: the file to write
TRIALS, TRIAL = 5, 400  # of empty regions that tell what one costs: so many times so many


class Profiling:
    """Whether regions are timed, where to, and what is known of the program."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        self.place = ""
        self.program = ""
        self.parameters: dict[str, float] = {}
        self.entry = 0.0  # cost of one pass [s]

    def start(self, place: str) -> None:
        """Time regions from here on; the file is written by `stop`, or when the process ends."""
        if self.recorder is None:
            atexit.register(self._stop_quietly)
        self.place = place
        self.entry, inside = cost_of_a_region()
        self.recorder = Recorder(region, inside)

    def doubt_place(self) -> None:
        """Say at once, on one rank, where the file cannot be written as things are."""
        target = self.place if os.path.exists(self.place) else os.path.dirname(self.place)
        what = "is not writable"
        if not os.path.exists(target):
            what = "is missing"
        elif os.path.isdir(self.place):
            what = "is a folder"
        elif os.access(target, os.W_OK):
            return
        if rank_of_environment()[0] == 0:
            print(  # noqa: T201 - the program that loads this has not begun
                f"parcast: no profile can be written to {self.place}: {target} {what}. Correct "
                "this before the program ends, or restart it with another PARCAST_PROFILE.",
                file=sys.stderr,
            )

    def discard(self) -> None:
        """Forget what was timed so far, such as a run that only warmed up."""
        if self.recorder is not None:
            self.recorder = self.recorder.afresh()

    def begin_run(self, program: str, **parameters: float) -> None:
        """Begin a run, of several in one process: what was timed before is written as another."""
        recorder = self.recorder
        if recorder is not None and recorder.totals:
            self.stop()
            self.recorder = recorder.afresh()
            atexit.register(self._stop_quietly)
        self.parameters = {}
        profile_parameters(program=program, **parameters)

    def stop(self) -> RankRecord | None:
        """Write what was timed and time no more; give the record, None if there is none.

        A file that cannot be written is left as it was before. A ParameterError says that numbers
        of a later pass were below 0 or none, so that their sum is.
        """
        recorder, self.recorder = self.recorder, None
        atexit.unregister(self._stop_quietly)
        if recorder is None or recorder.process != os.getpid():
            return None
        record = recorder.record(self.program or name_of_program(), self.parameters, self.entry)
        if not record.regions:
            return None
        _append(self.place, record)
        return record

    def _stop_quietly(self) -> None:
        """Write the file at the end of the process, whose own end is not to be spoilt."""
        try:
            self.stop()
        except Exception as error:  # whatever it is, the program has done its work
            why = (getattr(error, "strerror", None) or str(error)).lower()
            print(  # noqa: T201 - there is no one left to raise it to
                f"parcast: the profile {self.place} cannot be written: {why}.", file=sys.stderr
            )


def _append(place: str, record: RankRecord) -> None:
    """Add a line to a file that other ranks write too, all of it or nothing."""
    import json
    from contextlib import suppress

    line = json.dumps(record.to_document(), allow_nan=False).encode() + b"\n"
    file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        with suppress(ImportError, OSError):  # where locks are not known a line is one write
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        before = os.fstat(file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(file, line[written:])
        except OSError:
            with suppress(OSError):  # half a line would spoil those of the other ranks
                os.ftruncate(file, before)
            raise
    finally:
        os.close(file)


PROFILING: Final = Profiling()


def region(
    name: str,
    kind: str = "compute",
    *,
    iterations: float = 1,
    calls: float = 1,
    volume: float = 0,
    counts: Mapping[str, float] | None = None,
) -> Timed | Off:
    """Time a ``with`` block, or all calls of a function, as a region.

    Parameters
    ----------
    name : str
        Name of the region. Passes with the same name are summed.
    kind : str, default "compute"
        "compute": a loop that is divided among the ranks; "replicated": one that every rank
        runs in full; "complex": a loop whose time depends on counts of what happens in it; "send",
        "receive", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather",
        "alltoall", "barrier": that primitive; "halo": messages to neighbours and back; "write",
        "read": files.
    iterations : number, default 1
        Iterations of this pass on this rank, of a loop. [1]
    calls : number, default 1
        Calls of the primitive, or requests to the file, in this pass. [1]
    volume : number, default 0
        Bytes of all calls of this pass, counted as the machine's primitives count them; of a halo
        those to one neighbour; of files those of this rank. [B]
    counts : mapping from str to number, optional
        How often each small region inside a complex loop ran in this pass; or call ``count``.

    Returns
    -------
    context manager and decorator
        It has a method ``count(name, times=1)``.

    Raises
    ------
    ParameterError
        If the kind is not known, a name has two kinds, or a number is below 0 or none; only
        where regions are timed.

    Examples
    --------
    >>> with region("cells", kind="complex") as cells:
    ...     cells.count("wet", 5)
    """
    recorder = PROFILING.recorder
    if recorder is None:
        return OFF
    amounts = (iterations, calls, volume)
    total = recorder.totals.get(name)
    if total is None or total.kind != kind or counts or get_ident() != recorder.thread:
        return recorder.unusual(name, kind, amounts, counts)
    return Timed(recorder, total, amounts)


def profile_parameters(*, program: str | None = None, **parameters: float) -> None:
    """Set the name of the program and its parameters, such as n, for the profile of this run.

    Parameters
    ----------
    program : str, optional
        Name of the program. By default that of the file that was started.
    **parameters : float
        Parameters such as the problem size, ``n=512``. Later values replace earlier ones.

    Raises
    ------
    ParameterError
        If a parameter is no finite number.

    Examples
    --------
    >>> import parcast
    >>> parcast.profile_parameters(program="stencil", n=512)
    """
    for name, given in parameters.items():
        require_number(f"parameter {name}", given)
    if program is not None:
        PROFILING.program = program
    PROFILING.parameters |= {name: float(given) for name, given in parameters.items()}


def cost_of_a_region() -> tuple[float, int]:
    """Time that a pass takes here, the least of several trials [s], and that seen inside it [ns].

    The latter is what reading processor time adds to each region.
    """
    before, recorder = PROFILING.recorder, Recorder(region)
    PROFILING.recorder = recorder
    least = inside = sys.maxsize
    for i in range(TRIALS):
        name = f"trial {i}"
        begun = perf_counter_ns()
        for _ in range(TRIAL):
            with region(name, iterations=TRIAL):
                pass
        least = min(least, perf_counter_ns() - begun)
        trial = recorder.totals[name]
        inside = min(inside, trial.processor // trial.sampled)
    PROFILING.recorder = before
    return least * NANO / TRIAL, inside


if os.environ.get(PLACE):
    PROFILING.start(os.path.abspath(os.environ[PLACE]))
    PROFILING.doubt_place()
