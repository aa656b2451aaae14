"""The work of a rank on a block: its tasks, one after the other, merged as the tree says.

Whether a merge is associative is checked by merging three results of the run in two ways, in their
order: the first few triples of a rank, then some. Numbers may differ in their last digits, as sums
of floats do.
"""

import cmath
import copy
import pickle
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from math import isfinite
from types import NoneType
from typing import Any, Final

from parcast.errors import FAILURES, ParameterError, ParcastError, RunFailed, text_of
from parcast.mpi.payload import EMPTY, PackedValue, has, packed, unpacked
from parcast.pipeline.engine.coordinator import TaskBlock
from parcast.pipeline.engine.desk import ITEM, NONE, WorkPlace, span
from parcast.pipeline.engine.failures import (
    Forks,
    at_place,
    calling,
    described,
    end_forked,
    is_ours,
    item_failed,
    shortened,
    unsendable,
)
from parcast.pipeline.engine.job import Job, Skipped
from parcast.pipeline.engine.limits import Alarm, is_interruption
from parcast.pipeline.engine.tree import Combiner
from parcast.units import shown

TRIPLES: Final = 8  # of a rank that are all checked, then one in as many [1]
ROUNDING: Final = 1e-9  # difference of numbers that are the same, relative to what was merged
EPSILONS: Final = 16  # the same of short types, in units of their rounding [1]


class CheckedMerge:
    """Watches the results of a rank."""

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self._merge = merge
        self._last: deque[tuple[int, Any]] = deque(maxlen=3)
        self._seen = 0

    def see(self, index: int, value: Any) -> None:
        """Take note of the result of an item; RunFailed says that three show a fault."""
        self._last.append((index, copy.deepcopy(value)))
        if len(self._last) < 3:
            return
        self._seen += 1
        if self._seen <= TRIPLES or self._seen % TRIPLES == 0:
            self._check()

    def _check(self) -> None:
        """Merge three results in two ways; a merge may refuse those that are not neighbours."""
        copies = (copy.deepcopy([value for _, value in self._last]) for _ in range(2))
        try:
            a, b, c = next(copies)
            left = self._merge(self._merge(a, b), c)
            a, b, c = next(copies)
            right = self._merge(a, self._merge(b, c))
        except Exception:
            if self._last[-1][0] - self._last[0][0] == 2:
                raise
            return
        if not same(left, right, [value for _, value in self._last]):
            items = ", ".join(str(index) for index, _ in self._last)
            shown_left, shown_right = (shown(text_of(x), limit=80) for x in (left, right))
            raise RunFailed(
                f"The merge is not associative: of items {items}, merge(merge(a, b), c) is "
                f"{shown_left} and merge(a, merge(b, c)) is {shown_right}. Correct it, or return "
                "from the task what can be merged in any grouping, such as a sum and a count in "
                "place of a mean."
            )


def same(a: Any, b: Any, merged: Sequence[Any] = ()) -> bool:
    """Tell whether two results are the same but for rounding of what was `merged` to them.

    >>> same(5.6e-17, 2.8e-17), same(5.6e-17, 2.8e-17, [0.1, 0.2, -0.3])
    (False, True)
    """
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        of = [x for x in merged if isinstance(x, Mapping)]
        return a.keys() == b.keys() and all(
            same(a[key], b[key], [x[key] for x in of if key in x]) for key in a
        )
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        alike = [x for x in merged if isinstance(x, list | tuple) and len(x) == len(a)]
        each = zip(*alike, strict=True) if alike else repeat(())
        return len(a) == len(b) and all(map(same, a, b, each))
    if has(a, "dtype") and has(b, "dtype"):
        return _same_arrays(a, b, merged)
    if isinstance(a, float | complex) and isinstance(b, float | complex | int):
        is_nan = cmath.isnan(a) and cmath.isnan(b)
        most = max((abs(x) for x in merged if isinstance(x, int | float | complex)), default=0.0)
        most = most if isfinite(most) else 0.0
        return is_nan or cmath.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING * most)
    equality: Any = type(a).__eq__
    if type(a) is type(b) and equality is object.__eq__ and hasattr(a, "__dict__"):
        return same(vars(a), vars(b), [vars(x) for x in merged if type(x) is type(a)])
    return bool(a == b)


def _same_arrays(a: Any, b: Any, merged: Sequence[Any]) -> bool:
    import numpy as np

    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not np.issubdtype(a.dtype, np.inexact):
        return bool(np.array_equal(a, b))
    of = [np.asarray(x) for x in (a, *(x for x in merged if has(x, "dtype")))]
    each = (np.max(np.abs(x), initial=0.0, where=np.isfinite(x)) for x in of)
    rounding = max(ROUNDING, EPSILONS * float(np.finfo(a.dtype).eps))
    atol = rounding * float(max(each))
    return bool(np.allclose(a, b, rtol=0.0, atol=atol, equal_nan=True))


class ItemFailed(Exception):  # noqa: N818 - it carries what failed
    """A task failed for good."""

    def __init__(self, failure: Skipped) -> None:
        self.failure = failure
        super().__init__(failure)


@dataclass(frozen=True, slots=True)
class Unsendable:
    """In place of an item that cannot be sent to a rank."""

    failure: Skipped


class Parcel:
    """An item as it travels: it is made again where its task runs, whose failure it then is."""

    __slots__ = ("buffers", "head")

    def __init__(self, head: bytes, *buffers: Any) -> None:
        self.head, self.buffers = head, buffers

    def __reduce__(self) -> tuple[Any, ...]:
        """Let large buffers travel by themselves."""
        return Parcel, (self.head, *map(pickle.PickleBuffer, self.buffers))


# Items that travel as they are: those that cannot fail, and what stands for others.
SENT: Final = {Parcel, Unsendable}
AS_THEY_ARE: Final = {NoneType, bool, int, float, complex, str, bytes, *SENT}


def parcel(index: int, item: Any, pickled: Callable[[Any], PackedValue] = packed) -> Any:
    """Give an item as it is sent to other ranks, or what stands for one that cannot be pickled."""
    if type(item) in AS_THEY_ARE:
        return item
    try:
        head, buffers = pickled(item)
    except FAILURES as error:
        return Unsendable(Skipped(index, shortened(item), unsendable(error), ""))
    return Parcel(head, *buffers)


def _opened(index: int, item: Parcel | Unsendable) -> Any:
    if isinstance(item, Unsendable):
        raise ItemFailed(item.failure)
    try:
        return unpacked(item.head, item.buffers)
    except BaseException as error:
        if is_interruption(error):
            raise
        raise ItemFailed(described(index, "it cannot be unpickled", error)) from error


@dataclass(slots=True)
class Done:
    """What the tasks of a block gave."""

    values: list[Any]  # of each shard; EMPTY: of no item
    skipped: list[Skipped] = field(default_factory=list)
    retried: int = 0  # attempts at items whose task had failed


class BlockWork:
    """Runs tasks on this rank."""

    def __init__(
        self,
        job: Job,
        alarm: Alarm,
        *,
        place: WorkPlace | None = None,
        where: str = "",
        pulse: Callable[[], object] = lambda: None,
    ) -> None:
        """Begin; messages say `where`, as " on rank 1" does; `pulse` is called between items."""
        self._job, self._where, self._pulse, self._alarm = job, where, pulse, alarm
        self.place = place or WorkPlace()
        self._has_state = job.setup is not None
        self._state: Any = None
        self._is_set_up = False
        self._checked = CheckedMerge(job.merge.two) if job.check else None
        self._retried = 0  # of the block
        self._forks = 0  # when it began

    def on(self, block: TaskBlock, items: Sequence[Any]) -> Done:
        """Run the task on all items of a block; RunFailed says which failed for good."""
        job, self._forks = self._job, Forks.count
        if not self._is_set_up:
            self._set_up()
        combiners = [Combiner(job.merge.of, job.fan_in) for _ in range(job.shards)]
        skipped: list[Skipped] = []
        self._retried, numbers = 0, self.place.numbers
        for index, item in enumerate(items, start=block.first):
            self._pulse()
            numbers[ITEM] = index
            try:
                parts = self._parts(index, self._result(index, item))
            except ItemFailed as failed:
                if not job.skips:
                    raise self._failure(failed) from failed.__cause__
                skipped.append(failed.failure)
                parts = [EMPTY] * job.shards
            if Forks.count != self._forks:
                end_forked(self._forks, f"The task of item {index}")
            if self._checked is not None and parts[0] is not EMPTY:
                with calling(f"The check of the merge at item {index}", self._where):
                    self._checked.see(index, parts[0])
            try:
                for combiner, part in zip(combiners, parts, strict=True):
                    combiner.add(part)
            except BaseException:
                with calling(f"The merge of {span(block.first, index + 1)}", self._where):
                    raise
            if Forks.count != self._forks:
                end_forked(self._forks, f"The merge of {span(block.first, index + 1)}")
        with calling(f"The merge of {span(block.first, block.stop)}", self._where):
            values = [combiner.total() for combiner in combiners]
        numbers[ITEM] = NONE
        return Done(values, skipped, self._retried)

    def _failure(self, failed: ItemFailed) -> ParcastError:
        cause = failed.__cause__
        if type(cause) is RunFailed:
            return at_place(cause, f"Item {failed.failure.index}", self._where)
        if cause is not None and is_ours(cause):  # its text is complete
            return cause
        return item_failed(failed.failure, self._where)

    def _set_up(self) -> None:
        """Prepare this rank, once."""
        if self._job.setup is not None:
            with calling("setup()", self._where), self.place.at("setup()"):
                self._state = self._job.setup()
        self._is_set_up = True

    def _result(self, index: int, item: Any) -> Any:
        """Run the task on an item, as often as it may be tried."""
        if type(item) in SENT:
            item = _opened(index, item)
        for attempt in range(self._job.retries + 1):
            try:
                if self._job.timeout is None:
                    return self._called(item)
                with self._alarm.of_item():
                    return self._called(item)
            except BaseException as error:
                end_forked(self._forks, f"The task of item {index}")
                if is_interruption(error):
                    raise
                if attempt == self._job.retries:
                    raise ItemFailed(described(index, shortened(item), error)) from error
            self._retried += 1
        raise AssertionError

    def _called(self, item: Any) -> Any:
        if self._has_state:
            return self._job.task(item, self._state)
        return self._job.task(item)

    def _parts(self, index: int, result: Any) -> Sequence[Any]:
        if self._job.shards == 1 or self._job.split is None:
            return [result]
        with calling(f"split() of the result of item {index}", self._where):
            parts = [*self._job.split(result, self._job.shards)]
        if len(parts) != self._job.shards:
            raise ParameterError(
                "split",
                must=f"give {self._job.shards} parts",
                got=f"{len(parts)} of the result of item {index}",
                hint="One for each shard.",
            )
        return parts
