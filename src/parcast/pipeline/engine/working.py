"""The work of a rank on a block: its tasks, one after the other, merged as the tree says."""

import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from parcast.errors import Argument, ParameterError, ParcastError, RunFailed
from parcast.pipeline.engine.associativity import Checked
from parcast.pipeline.engine.coordinator import Block
from parcast.pipeline.engine.job import Job, Reduction, Skipped
from parcast.pipeline.engine.payload import packed
from parcast.pipeline.engine.tree import EMPTY, Combiner
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


def sendable(index: int, item: Any) -> Any:
    """Give an item, or what stands for one that cannot be pickled."""
    try:
        packed(item)
    except Exception as error:
        return Unsendable(described(index, shortened(item), error))
    return item


@dataclass(slots=True)
class Done:
    """What the tasks of a block gave."""

    values: list[Any]  # of each shard; EMPTY: of no item
    skipped: list[Skipped] = field(default_factory=list)


class Work:
    """Runs tasks on this rank."""

    def __init__(
        self, job: Job, *, where: str = "", pulse: Callable[[], object] = lambda: None
    ) -> None:
        """Begin; messages say `where`, as " on rank 1" does; `pulse` is called between items."""
        self._job, self._where, self._pulse = job, where, pulse
        self._has_state = job.setup is not None
        self._state: Any = None
        self._is_set_up = False
        self._checked = Checked(job.merge.two) if job.check else None
        self.current: tuple[int, float] | None = None  # item, and when its task began [s]

    def on(self, block: Block, items: Sequence[Any]) -> Done:
        """Run the task on all items of a block; RunFailed says which failed for good."""
        job = self._job
        if not self._is_set_up:
            self._set_up()
        combiners = [Combiner(job.merge.of, job.fan_in) for _ in range(job.shards)]
        skipped: list[Skipped] = []
        for index, item in enumerate(items, start=block.first):
            self._pulse()
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
            return Done([combiner.total() for combiner in combiners], skipped)
        except Exception as error:
            what = f"The merge of {span(block.first, block.stop)}"
            raise function_failed(what, self._where, error) from error

    def _set_up(self) -> None:
        """Prepare this rank, once."""
        if self._job.setup is not None:
            try:
                self._state = self._job.setup()
            except Exception as error:
                raise function_failed("setup()", self._where, error) from error
        self._is_set_up = True

    def _result(self, index: int, item: Any) -> Any:
        """Run the task on an item, as often as it may be tried."""
        if isinstance(item, Unsendable):
            raise ItemFailed(item.failure)
        for attempt in range(self._job.retries + 1):
            self.current = (index, time.monotonic())
            try:
                if self._job.timeout is None:
                    return self._called(item)
                with _limited(self._job.timeout):
                    return self._called(item)
            except (Exception, SystemExit) as error:
                if attempt == self._job.retries:
                    raise ItemFailed(described(index, shortened(item), error)) from error
            finally:
                self.current = None
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


def span(first: int, stop: int) -> str:
    """Name consecutive items.

    >>> span(3, 4), span(3, 9)
    ('item 3', 'items 3 to 8')
    """
    return f"items {first} to {stop - 1}" if stop - first > 1 else f"item {first}"


def item_failed(failure: Skipped, where: str) -> RunFailed:
    """Say which item failed, where, and what its traceback was."""
    lines = f"\n{failure.traceback}".rstrip()
    return RunFailed(
        (
            f"Item {failure.index} failed{where}: {failure.item}: {failure.error}. Correct it, or "
            "skip such items with ",
            Argument("on_error", "skip", python='on_error="skip"'),
            f".{lines}",
        )
    )


def function_failed(what: str, where: str, error: BaseException) -> ParcastError:
    """Say which other function failed, where, and what its traceback was."""
    if isinstance(error, ParcastError):
        return error
    last, lines = _traced(error)
    return RunFailed(f"{what} failed{where}: {last}. Correct it.\n{lines}".rstrip())


def server_failed(reduction: Reduction, where: str, error: BaseException) -> ParcastError:
    """Say that the server stage failed, and at which reduction."""
    what = f"server() of {span(reduction.first, reduction.stop)}"
    return function_failed(what, where, error)


def described(index: int, item: str, error: BaseException) -> Skipped:
    """Describe the failure of an item for another rank."""
    return Skipped(index, item, *_traced(error))


def _traced(error: BaseException) -> tuple[str, str]:
    """Give the last line of a traceback and all of it, without the first frames of the engine."""
    if isinstance(error, ParcastError):  # its text says what was wrong, where, and what to do
        return str(error).removesuffix("."), ""
    frames = error.__traceback__
    while frames and Path(frames.tb_frame.f_code.co_filename).parent == ENGINE:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return lines[-1].strip(), "".join(lines)


def shortened(item: Any) -> str:
    """Write an item for a message, whatever its `repr` does."""
    try:
        return shown(repr(item), limit=LONGEST)
    except Exception:
        return f"<{type(item).__name__}>"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after some time; the main thread alone can."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"the task took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def require_main_thread(timeout: float | None) -> None:
    """Refuse a time limit where it cannot be kept."""
    if timeout is not None and threading.current_thread() is not threading.main_thread():
        raise ParameterError(
            "timeout",
            must="be None outside the main thread",
            got=f"{timeout:g}",
            hint="Call run_pipeline from the main thread, or leave it out.",
        )
