"""Running totals of the regions of this process, the passes that add to them, what is refused.

What a pass does stands here and nowhere else, as it is what a program pays for: two clocks, and
sums in place of lists. Reading processor time costs more than all the rest, so after the first
passes only some are sampled. Each stands for those since the one before it, so that a loop that
gets longer counts right, and one in a prime number, so that stages which take turns do too.
"""

import os
import time
from collections.abc import Callable, Mapping
from functools import wraps
from threading import get_ident
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from parcast.errors import ParameterError
from parcast.instrument.accounts import (
    rank_of_environment,
    rank_of_mpi,
    waited_for_core,
    work_quantum,
)

if TYPE_CHECKING:
    from parcast.timings.profile import RankRecord


def require_number(name: str, given: object) -> None:
    """Refuse what is no finite number."""
    try:
        is_number = abs(float(given)) < float("inf")  # type: ignore[arg-type]  # what is none is refused
    except (TypeError, ValueError):
        is_number = False
    if not is_number:
        raise ParameterError(name, must="be a finite number", got=f"{given!r:.60}")


def require_count(name: str, given: object) -> None:
    """Refuse what is no finite number of at least 0."""
    require_number(name, given)
    if float(given) < 0:  # type: ignore[arg-type]  # it is a number, as was seen
        raise ParameterError(name, must="be at least 0", got=f"{given!r:.60}")


def require_call_that_computes(name: str, function: Callable[..., Any]) -> None:
    """Refuse to time calls that only make a generator or a coroutine, which runs later."""
    import inspect

    runs_later = (
        inspect.isgeneratorfunction(function)
        or inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
    )
    if runs_later:
        called = getattr(function, "__name__", "a function")
        raise ParameterError(
            name,
            must=f"not time calls of {called}, which is a generator or a coroutine: its "
            "call ends before it runs",
            hint='Put "with region(...)" around what computes in it.',
        )


NANO: Final = 1e-9  # [s]
FIRST: Final = 20  # passes whose processor time is read, all
SHORT: Final = 100_000  # mean of passes below which fewer are sampled [ns]
OF_SHORT, OF_LONG = 17, 5  # one in so many, then

AMOUNTS: Final = ("iterations", "calls", "volume")  # of a pass

Function = TypeVar("Function", bound=Callable[..., Any])


class Off:
    """A region where nothing is timed."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        """Leave a function as it is."""
        return function

    def count(self, name: str, times: float = 1) -> None:
        """Count nothing."""


class Total:
    """Running totals of one region."""

    __slots__ = (
        *("sampled", "calls", "computes", "counts", "entries", "iterations", "kind", "name"),
        *("processor", "squares", "volume", "wall"),
    )
    name: str
    kind: str
    computes: bool

    def __init__(self, name: str, kind: str, *, computes: bool) -> None:
        self.name, self.kind = name, kind
        self.computes = computes  # only then processor time is read
        self.entries = 0  # passes
        self.sampled = 0  # of these, those up to the last whose processor time was read
        self.wall = self.processor = self.squares = 0  # [ns], [ns], [ns^2]
        self.iterations = self.calls = self.volume = 0.0
        self.counts: dict[str, float] = {}


class Timed:
    """One pass through a region, or several one after the other."""

    __slots__ = (
        *("_amounts", "_inner_processor", "_inner_wall", "_is_sampled", "_parent", "_processor"),
        *("_recorder", "_total", "_wall"),
    )
    _counts: Mapping[str, float] | None = None  # of small regions in each pass
    _inner_processor: int  # of regions inside this pass [ns]
    _inner_wall: int  # [ns]
    _is_sampled: bool  # others are read for the sake of the pass around them
    _parent: "Timed | None"  # pass that this one stands in
    _processor: int  # thread's when it was entered; 0 where it is not read [ns]
    _wall: int  # clock when it was entered [ns]

    def __init__(
        self, recorder: "Recorder", total: Total, amounts: tuple[float, float, float]
    ) -> None:
        self._recorder, self._total, self._amounts = recorder, total, amounts

    def __enter__(self) -> Self:
        recorder = self._recorder
        total = self._total
        self._parent = parent = recorder.inside
        recorder.inside = self
        self._inner_wall = self._inner_processor = 0
        entries = total.entries
        self._is_sampled = is_sampled = total.computes and (
            entries < FIRST
            or not entries % (OF_LONG if total.wall >= SHORT * entries else OF_SHORT)
        )
        self._processor = thread_time_ns() if is_sampled or (parent and parent._processor) else 0
        self._wall = perf_counter_ns()
        return self

    def __exit__(self, *_: object) -> None:
        end = perf_counter_ns()
        wall = end - self._wall
        recorder, total, parent = self._recorder, self._total, self._parent
        recorder.last = end
        if recorder.inside is self:
            recorder.inside = parent
        else:  # another that began later goes on
            recorder.overlapping += 1
            recorder.inside = None
        total.entries += 1
        if self._processor:
            processor = thread_time_ns() - self._processor
            if self._is_sampled:
                new = total.entries - total.sampled
                total.processor += (processor - self._inner_processor) * new
                total.sampled = total.entries
            if parent is not None:
                parent._inner_processor += processor
        if parent is not None:
            parent._inner_wall += wall
        wall -= self._inner_wall
        total.wall += wall
        total.squares += wall * wall
        iterations, calls, volume = self._amounts
        total.iterations += iterations
        total.calls += calls
        total.volume += volume

    def __call__(self, function: Function) -> Function:
        """Time every call of a function as a pass through this region."""
        name, kind, begin = self._total.name, self._total.kind, self._recorder.begin
        (iterations, calls, volume), counts = self._amounts, self._counts
        require_call_that_computes(f'region "{name}"', function)

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with begin(
                name, kind, iterations=iterations, calls=calls, volume=volume, counts=counts
            ):
                return function(*args, **kwargs)

        return timed  # type: ignore[return-value]  # wraps keeps the signature

    def count(self, name: str, times: float = 1) -> None:
        """Count passes through a small region inside this one."""
        counts = self._total.counts
        counts[name] = counts.get(name, 0) + times


class CountedPass(Timed):
    """One pass in which small regions were counted beforehand, or several equal ones."""

    __slots__ = ("_counts",)
    _counts: Mapping[str, float]

    def __init__(
        self,
        recorder: "Recorder",
        total: Total,
        amounts: tuple[float, float, float],
        counts: Mapping[str, float],
    ) -> None:
        super().__init__(recorder, total, amounts)
        self._counts = counts

    def __enter__(self) -> Self:
        for name, times in self._counts.items():
            self.count(name, times)
        return super().__enter__()


def _require_sums(total: Total) -> None:
    """Refuse sums that are none: of the passes of a region only the first is looked at."""
    for what in AMOUNTS:
        require_count(f'{what} of region "{total.name}"', getattr(total, what))
    for small, times in total.counts.items():
        require_count(f'count "{small}" of region "{total.name}"', times)


OFF: Final = Off()


class Recorder:
    """Totals of all regions of this process."""

    def __init__(self, begin: Callable[..., "Timed | Off"], empty: int = 0) -> None:
        self.begin = begin  # gives a pass through a region, of the recorder there is then
        self.empty = empty  # processor time of an empty region [ns]
        self.totals: dict[str, Total] = {}
        self.inside: Timed | None = None  # the innermost region that has been entered
        self.thread = get_ident()  # that of the first region, once there is one
        self.process = os.getpid()
        self.other_threads = 0  # passes of others, which are not timed
        self.overlapping = 0  # passes that ended before others that began in them
        self.begun = time.time()
        self.first = self.last = perf_counter_ns()
        self.rank_and_size: tuple[int, int] | None = None
        self.quantum = 0.0  # of work, before the first region [s]
        self.waited: float | None = None  # for the core, before the first region [s]

    def afresh(self) -> "Recorder":
        """Give a recorder of nothing yet."""
        return Recorder(self.begin, self.empty)

    def unusual(
        self,
        name: str,
        kind: str,
        amounts: tuple[float, float, float],
        counts: Mapping[str, float] | None,
    ) -> "Timed | Off":
        """Give a pass through a region that is new, counts, or runs on another thread."""
        if not self.totals:
            self.thread = get_ident()
        if get_ident() != self.thread:
            self.other_threads += 1
            return OFF
        total = self.totals.get(name)
        if total is None:
            total = self._new(name, kind, amounts, counts)
        elif total.kind != kind:
            raise ParameterError(
                f'region "{name}"',
                must="keep its kind",
                got=f"{kind} after {total.kind}",
                hint="Give one of them another name.",
            )
        return CountedPass(self, total, amounts, counts) if counts else Timed(self, total, amounts)

    def _new(
        self,
        name: str,
        kind: str,
        amounts: tuple[float, float, float],
        counts: Mapping[str, float] | None,
    ) -> Total:
        """Begin a region, once it is known to make sense."""
        from parcast.timings.profile import KINDS, LOOP_KINDS

        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ParameterError(
                "region",
                must="have a printable name",
                got=f"{name!r:.60}",
                hint="Name it after what it does.",
            )
        if kind not in KINDS:
            raise ParameterError(
                f'region "{name}"',
                must="be of a known kind",
                got=f"{kind!r:.60}",
                hint=f"Known are {', '.join(KINDS)}.",
            )
        for what, given in zip(AMOUNTS, amounts, strict=True):
            require_count(f'{what} of region "{name}"', given)
        for small, times in (counts or {}).items():
            require_count(f'count "{small}" of region "{name}"', times)
        if not self.totals:
            self.quantum, self.waited = work_quantum(), waited_for_core()
            self.begun, self.first = time.time(), perf_counter_ns()
        if self.rank_and_size is None:
            self.rank_and_size = rank_of_mpi()
        total = self.totals[name] = Total(name, kind, computes=kind in LOOP_KINDS)
        return total

    def record(self, program: str, parameters: Mapping[str, float], entry: float) -> "RankRecord":
        """Give the totals so far as a record of this rank."""
        import platform

        from parcast.timings.profile import RankRecord, RegionTotal
        from parcast.version import __version__

        for total in self.totals.values():
            _require_sums(total)
        rank, size = self.rank_and_size or rank_of_mpi() or rank_of_environment()
        return RankRecord(
            program=program,
            rank=rank,
            p=size,
            begun=self.begun,
            span=(self.last - self.first) * NANO,
            entry=entry,
            other_threads=self.other_threads,
            overlapping=self.overlapping,
            parameters=parameters,
            regions=tuple(
                RegionTotal(
                    name=total.name,
                    kind=total.kind,
                    entries=total.entries,
                    wall=total.wall * NANO,
                    processor=self._processor(total),
                    squares=total.squares * NANO**2,
                    iterations=float(total.iterations),
                    calls=float(total.calls),
                    volume=float(total.volume),
                    counts={name: float(times) for name, times in total.counts.items()},
                )
                for total in self.totals.values()
                if total.entries  # a function that was never called is none
            ),
            version=__version__,
            host=platform.node(),
            quanta=(self.quantum, work_quantum()) if self.quantum else (),
            waited=self._waited(),
        )

    def _waited(self) -> float | None:
        """Time that the core was another's, from the first region to the end of the last. [s]."""
        now, until_now = perf_counter_ns(), waited_for_core()
        if self.waited is None or until_now is None or get_ident() != self.thread:
            return None
        # It is known for all of the time until now, of which this is the share.
        share = (self.last - self.first) / max(now - self.first, 1)
        return max(until_now - self.waited, 0.0) * min(max(share, 0.0), 1.0)

    def _processor(self, total: Total) -> float:
        """Processor time of all passes, from those that were sampled. [s]."""
        net = max(total.processor - self.empty * total.sampled, 0)
        return net * NANO * (total.entries / total.sampled) if total.sampled else 0.0
