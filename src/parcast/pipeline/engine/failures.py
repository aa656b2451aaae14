"""What failed in functions and objects of a user, in words that name the items.

Anything that an object does, also its `repr` and its `__reduce__`, may fail in any way.
"""

import os
import pickle
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeGuard

from parcast.errors import Argument, ParcastError, RunFailed, cause_of, text_of
from parcast.pipeline.engine.desk import span
from parcast.pipeline.engine.job import Skipped
from parcast.pipeline.engine.limits import is_interruption
from parcast.units import shown

ENGINE: Final = Path(__file__).parent
LONGEST: Final = 200  # characters of an item in a message
PICKLABLE: Final = (
    "Items and results are sent to other ranks and must be picklable: send for example a path in "
    "place of an open file, and make in setup= what cannot be pickled"
)


class Unfit(RunFailed):
    """A merge or file of parcast's does not take results; which they are is not known there."""


class Forks:
    """How often this process and those before it were forked."""

    count = 0


def _count() -> None:
    Forks.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)


class calling:  # noqa: N801 - it is used as a function, and would hide a StopIteration as one
    """Say that a function of the user failed that the block calls, as "finish() of item 3"."""

    def __init__(self, what: str, where: str) -> None:
        self._what, self._where, self._forks = what, where, Forks.count

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        end_forked(self._forks, self._what)
        if error is not None and not is_interruption(error):
            raise function_failed(self._what, self._where, error) from error


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


def is_ours(error: BaseException) -> TypeGuard[ParcastError]:
    """Tell whether a failure is one of this package, and not of a program that uses it."""
    own = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    return own and isinstance(error, ParcastError)


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


def function_failed(what: str, where: str, error: BaseException) -> ParcastError:
    """Say which other function failed, where, and what its traceback was."""
    if isinstance(error, Unfit):
        return at_place(error, what, where)
    if is_ours(error):
        return error
    last, lines = _traced(error)
    return RunFailed(
        f"{what} failed{where}: {last}. Correct it.", below=lines.rstrip().splitlines()
    )


def at_place(failure: RunFailed, what: str, where: str) -> RunFailed:
    """Say what has failed below a text that is complete but for that."""
    return RunFailed(failure.text, below=(*failure.below, f"{what} failed{where}."))


def described(index: int, item: str, error: BaseException) -> Skipped:
    """Describe the failure of an item for another rank."""
    return Skipped(index, item, *_traced(error))


def portable_failure(failure: ParcastError) -> ParcastError:
    """Give a failure that another process can read: that of a user may be of any class."""
    if is_ours(failure):
        with suppress(Exception):  # of what it was raised with
            pickle.loads(pickle.dumps(failure))
            return failure
    text, *below = text_of(failure, str).split("\n")
    return RunFailed(text, below=below)


def _traced(error: BaseException) -> tuple[str, str]:
    """Give the last line of a traceback and all of it, without frames of the engine."""
    if is_ours(error):  # its text says what was wrong, where, and what to do
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
