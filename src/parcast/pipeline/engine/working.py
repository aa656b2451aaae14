"""The work of a rank on a block: its tasks, one after the other, merged as the tree says."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from parcast.errors import Argument, ParameterError, ParcastError, RunFailed
from parcast.mpi.payload import EMPTY, packed
from parcast.pipeline.engine.associativity import Checked
from parcast.pipeline.engine.coordinator import Block
from parcast.pipeline.engine.desk import ITEM, NONE, Place, span
from parcast.pipeline.engine.interrupts import is_interruption
from parcast.pipeline.engine.job import Job, Reduction, Skipped
from parcast.pipeline.engine.limits import Alarm
from parcast.pipeline.engine.tree import Combiner
from parcast.units import shown

ENGINE: Final = Path(__file__).parent
LONGEST: Final = 200  # characters of an item in a message


class ItemFailed(Exception):  # noqa: N818 - it carries what failed
    """A task failed for good."""

    def __init__(self, failure: Skipped) -> None:
        self.failure = failure
        super().__init__(failure)


@dataclass(frozen=True, slots=True)
class Unsendable:
    """In place of an item that cannot be sent to a rank."""

    failure: Skipped


def unsendable(error: BaseException) -> str:
    """Say why something cannot be sent, and what can."""
    why = f"{type(error).__name__}: {error}".rstrip(": .")
    return (
        f"{why}. Items and results are sent to other ranks and must be picklable: send for "
        "example a path in place of an open file, and make in setup= what cannot be pickled"
    )


def sendable(index: int, item: Any) -> Any:
    """Give an item, or what stands for one that cannot be pickled."""
    try:
        packed(item)
    except Exception as error:
        return Unsendable(Skipped(index, shortened(item), unsendable(error), ""))
    return item


@dataclass(slots=True)
class Done:
    """What the tasks of a block gave."""

    values: list[Any]  # of each shard; EMPTY: of no item
    skipped: list[Skipped] = field(default_factory=list)
    retried: int = 0  # attempts at items whose task had failed


class Work:
    """Runs tasks on this rank."""

    def __init__(
        self,
        job: Job,
        alarm: Alarm,
        *,
        place: Place | None = None,
        where: str = "",
        pulse: Callable[[], object] = lambda: None,
    ) -> None:
        """Begin; messages say `where`, as " on rank 1" does; `pulse` is called between items."""
        self._job, self._where, self._pulse, self._alarm = job, where, pulse, alarm
        self.place = place or Place()
        self._has_state = job.setup is not None
        self._state: Any = None
        self._is_set_up = False
        self._checked = Checked(job.merge.two) if job.check else None
        self._retried = 0  # of the block

    def on(self, block: Block, items: Sequence[Any]) -> Done:
        """Run the task on all items of a block; RunFailed says which failed for good."""
        job = self._job
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
                    if isinstance(failed.__cause__, ParcastError):  # its text is complete
                        raise failed.__cause__ from None
                    raise item_failed(failed.failure, self._where) from failed.__cause__
                skipped.append(failed.failure)
                parts = [EMPTY] * job.shards
            try:
                if self._checked is not None and parts[0] is not EMPTY:
                    self._checked.see(index, parts[0])
                for combiner, part in zip(combiners, parts, strict=True):
                    combiner.add(part)
            except Exception as error:
                what = f"The merge of {span(block.first, index + 1)}"
                raise function_failed(what, self._where, error) from error
        try:
            values = [combiner.total() for combiner in combiners]
        except Exception as error:
            what = f"The merge of {span(block.first, block.stop)}"
            raise function_failed(what, self._where, error) from error
        numbers[ITEM] = NONE
        return Done(values, skipped, self._retried)

    def _set_up(self) -> None:
        """Prepare this rank, once."""
        if self._job.setup is not None:
            try:
                with self.place.at("setup()"):
                    self._state = self._job.setup()
            except Exception as error:
                raise function_failed("setup()", self._where, error) from error
        self._is_set_up = True

    def _result(self, index: int, item: Any) -> Any:
        """Run the task on an item, as often as it may be tried."""
        if isinstance(item, Unsendable):
            raise ItemFailed(item.failure)
        for attempt in range(self._job.retries + 1):
            try:
                if self._job.timeout is None:
                    return self._called(item)
                with self._alarm.of_item():
                    return self._called(item)
            except BaseException as error:
                if is_interruption(error):
                    raise
                if attempt == self._job.retries:
                    raise ItemFailed(described(index, shortened(item), error)) from error
            self._retried += 1
        raise AssertionError

    def _called(self, item: Any) -> Any:
        """Call the task on an item."""
        if self._has_state:
            return self._job.task(item, self._state)
        return self._job.task(item)

    def _parts(self, index: int, result: Any) -> Sequence[Any]:
        """Split the result of an item into its shards."""
        if self._job.shards == 1 or self._job.split is None:
            return [result]
        try:
            parts = self._job.split(result, self._job.shards)
        except Exception as error:
            what = f"split() of the result of item {index}"
            raise function_failed(what, self._where, error) from error
        if len(parts) != self._job.shards:
            raise ParameterError(
                "split",
                must=f"give {self._job.shards} parts",
                got=str(len(parts)),
                hint="One for each shard.",
            )
        return parts


def item_failed(failure: Skipped, where: str) -> RunFailed:
    """Say which item failed, where, and what its traceback was."""
    return RunFailed(
        (
            f"Item {failure.index} failed{where}: {failure.item}: {failure.error}. Correct it, or "
            "skip such items with ",
            Argument("on_error", "skip", python='on_error="skip"'),
            ".",
        ),
        below=failure.traceback.rstrip().splitlines(),
    )


def function_failed(what: str, where: str, error: BaseException) -> ParcastError:
    """Say which other function failed, where, and what its traceback was."""
    if isinstance(error, ParcastError):
        return error
    last, lines = _traced(error)
    return RunFailed(
        f"{what} failed{where}: {last}. Correct it.", below=lines.rstrip().splitlines()
    )


def server_failed(reduction: Reduction, where: str, error: BaseException) -> ParcastError:
    """Say that the server stage failed, and at which reduction."""
    what = f"server() of {span(reduction.first, reduction.stop)}"
    return function_failed(what, where, error)


def described(index: int, item: str, error: BaseException) -> Skipped:
    """Describe the failure of an item for another rank."""
    return Skipped(index, item, *_traced(error))


def _traced(error: BaseException) -> tuple[str, str]:
    """Give the last line of a traceback and all of it, without frames of the engine."""
    if isinstance(error, ParcastError):  # its text says what was wrong, where, and what to do
        return " ".join(map(str.strip, error.lines())).removesuffix("."), ""
    told = traceback.TracebackException.from_exception(error)
    _leave_engine_out(told)
    lines = list(told.format())
    return lines[-1].strip(), "".join(lines)


def _leave_engine_out(told: traceback.TracebackException) -> None:
    """Leave the frames of the engine out, in which tasks are called and interrupted."""
    frames = (each for each in told.stack if Path(each.filename).parent != ENGINE)
    told.stack = traceback.StackSummary.from_list(list(frames))
    for before in (told.__cause__, told.__context__):
        if before is not None:
            _leave_engine_out(before)


def shortened(item: Any) -> str:
    """Write an item for a message, whatever its `repr` does."""
    try:
        return shown(repr(item), limit=LONGEST)
    except Exception:
        return f"<{type(item).__name__}>"
