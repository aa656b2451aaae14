"""What failed in functions and objects of a user, in words that name the items.

Anything that an object does, also its `repr` and its `__reduce__`, may fail in any way.
"""

import os
import pickle
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from parcast.errors import Argument, ParcastError, RunFailed, cause_of, text_of
from parcast.pipeline.engine.desk import span
from parcast.pipeline.engine.interrupts import is_interruption
from parcast.pipeline.engine.job import Skipped
from parcast.units import shown

ENGINE: Final = Path(__file__).parent
LONGEST: Final = 200  # characters of an item in a message
PICKLABLE: Final = (
    "Items and results are sent to other ranks and must be picklable: send for example a path in "
    "place of an open file, and make in setup= what cannot be pickled"
)


class Forks:
    """How often this process and those before it were forked."""

    count = 0


def _count() -> None:
    Forks.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)


@contextmanager
def calling(what: str, where: str, *, is_named: bool = False) -> Iterator[None]:
    """Say that a function of the user failed that the block calls, as "finish() of item 3".

    A failure that is ours is complete, but for the items where it `is_named` by them.
    """
    forks = Forks.count
    try:
        yield
    except BaseException as error:
        end_forked(forks, what)
        if is_interruption(error):
            raise
        raise function_failed(what, where, error, is_named=is_named) from error
    end_forked(forks, what)


def end_forked(forks: int, what: str) -> None:
    """End this process if a function has forked it and it came back here: it is no rank."""
    if Forks.count == forks:
        return
    text = (
        f"parcast: {what} has forked, and came back in the child as well, which was ended. Let it "
        "end by os._exit.\n"
    )
    os.write(2, text.encode())  # past what the parent had buffered
    os._exit(1)


def unsendable(error: BaseException) -> str:
    """Say why something cannot be sent, and what can."""
    return f"{cause_of(error).rstrip('.')}. {PICKLABLE}"


def sent_result(content: tuple[Any, ...]) -> str:
    """Name a result by the message that brings it, which ends with its items."""
    return f"The result of {span(*content[-2:])}, sent"


def unreadable(first: int, stop: int, where: str, error: BaseException) -> RunFailed:
    """Say that a result cannot be made again from its bytes."""
    result = f"The result of {span(first, stop)} cannot be unpickled{where}"
    advice = "Define the classes of items and results in a module that every rank can import."
    return RunFailed(f"{result}: {cause_of(error).rstrip('.')}. {advice}")


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


def function_failed(
    what: str, where: str, error: BaseException, *, is_named: bool = False
) -> ParcastError:
    """Say which other function failed, where, and what its traceback was."""
    if type(error) is RunFailed and is_named:
        return RunFailed(error.text, below=(*error.below, f"{what} failed{where}."))
    if isinstance(error, ParcastError):
        return error
    last, lines = _traced(error)
    return RunFailed(
        f"{what} failed{where}: {last}. Correct it.", below=lines.rstrip().splitlines()
    )


def described(index: int, item: str, error: BaseException) -> Skipped:
    """Describe the failure of an item for another rank."""
    return Skipped(index, item, *_traced(error))


def portable_failure(failure: ParcastError) -> ParcastError:
    """Give a failure that another process can read: that of a user may be of any class."""
    if type(failure).__module__.partition(".")[0] == __name__.partition(".")[0]:
        with suppress(Exception):  # of what it was raised with
            pickle.loads(pickle.dumps(failure))
            return failure
    text, *below = text_of(failure, str).split("\n")
    return RunFailed(text, below=below)


def _traced(error: BaseException) -> tuple[str, str]:
    """Give the last line of a traceback and all of it, without frames of the engine."""
    if isinstance(error, ParcastError):  # its text says what was wrong, where, and what to do
        return " ".join(map(str.strip, error.lines())).removesuffix("."), ""
    try:
        told = traceback.TracebackException.from_exception(error)
        _leave_engine_out(told)
        lines = list(told.format())
        return lines[-1].strip(), "".join(lines)
    except Exception:  # of an attribute of the error
        return cause_of(error), ""


def _leave_engine_out(told: traceback.TracebackException) -> None:
    """Leave the frames of the engine out, in which tasks are called and interrupted."""
    frames = (each for each in told.stack if Path(each.filename).parent != ENGINE)
    told.stack = traceback.StackSummary.from_list(list(frames))
    for before in (told.__cause__, told.__context__):
        if before is not None:
            _leave_engine_out(before)


def shortened(item: object) -> str:
    """Write an item for a message, whatever its `repr` does."""
    return shown(text_of(item), limit=LONGEST)
