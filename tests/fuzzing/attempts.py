"""One case: a file given to a reader, within limits of time and memory, and what became of it."""

import mmap
import resource
import signal
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from types import FrameType
from typing import Any

import click

from parcast.cli.failures import BAD_FILE, NO_FORECAST, WRONG_USE, run
from parcast.errors import FileProblems, ParcastError

SECONDS = 10.0  # that a case may take [s]
MEMORY = 10**9  # that it may take beyond the size of its file [B]
LONGEST = 12_000  # of one line of a message [1]
REFUSED = (WRONG_USE, BAD_FILE, NO_FORECAST)  # exit statuses
GOOD = ("read", "refused")
BAD = ("exception", "time", "memory", "dead", "message")


class LateError(BaseException):
    """A case takes too long; no `except Exception` catches it."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    kind: str  # one of GOOD or BAD
    detail: str = ""  # what is wrong, and where in parcast
    seconds: float = 0.0
    memory: int = 0  # that was resident at most, beyond what was before [B]

    @property
    def is_bad(self) -> bool:
        return self.kind in BAD


def attempt(read: Callable[[Path], Any], path: Path) -> Outcome:
    """Give a file to a reader; only BaseException that is no failure of a case comes out."""
    began = perf_counter()
    try:
        with limited(SECONDS, MEMORY + path.stat().st_size), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # of NumPy: a number that is none
            read(path)
        kind, detail = "read", ""
    except LateError as late:
        kind, detail = "time", place_in(late)
    except MemoryError as full:
        kind, detail = "memory", place_in(full)
    except (ParcastError, OSError, click.UsageError) as refusal:
        kind, detail = ("memory", place_in(refusal)) if _is_full(refusal) else judged(refusal)
    except Exception as fault:
        kind, detail = "exception", f"{type(fault).__name__} {place_in(fault)}"
    seconds = perf_counter() - began
    if seconds > SECONDS and kind in GOOD:
        kind, detail = "time", "although it was interrupted"
    return Outcome(kind, detail, seconds)


@contextmanager
def limited(seconds: float, memory: float) -> Iterator[None]:
    """Interrupt the main thread after a while, and refuse memory beyond what there is now."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise LateError

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, interrupt)
    resource.setrlimit(resource.RLIMIT_AS, (_virtual() + int(memory), hard))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def _is_full(failure: BaseException | None) -> bool:
    """Whether a lack of memory is behind a refusal."""
    seen: set[int] = set()  # what failed twice may lead to itself
    while failure is not None and not isinstance(failure, MemoryError) and id(failure) not in seen:
        seen.add(id(failure))
        failure = failure.__cause__ or failure.__context__
    return isinstance(failure, MemoryError)


def _virtual() -> int:
    """Address space of this process [B]."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


def place_in(failure: BaseException) -> str:
    """Name the last place of parcast on the way to a failure."""
    frames = extract_tb(failure.__traceback__)
    ours = [x for x in frames if "/parcast/" in x.filename and "/tests/" not in x.filename]
    last = ours[-1] if ours else frames[-1]
    return f"in {Path(last.filename).parent.name}/{Path(last.filename).name}: {last.name}"


def judged(refusal: Exception) -> tuple[str, str]:
    """Tell whether a refusal is one that may be printed, by what the command line prints of it."""
    place = place_in(refusal)
    text, status = said(refusal)
    if status not in REFUSED:
        return "exception", f"{type(refusal).__name__} {place}, status {status}"
    wrong = fault_in(text)
    if isinstance(refusal, FileProblems):
        lines = 1 + len(refusal.problems) + bool(refusal.unlisted)
        if text.rstrip("\n").count("\n") + 1 != lines:
            wrong = wrong or "a line that was forged"
        if max(map(len, text.split("\n"))) > LONGEST:
            wrong = wrong or "a message of thousands of characters"
    return ("message", f"{wrong} {place}") if wrong else ("refused", "")


class _Terminal(StringIO):
    """Takes what is printed as a terminal does, for which nothing is left out."""

    def isatty(self) -> bool:
        return True


def said(failure: Exception) -> tuple[str, int]:
    """What a command prints that ends with a failure, and its status."""

    def fail() -> None:
        raise failure

    with redirect_stderr(_Terminal()) as printed:
        status = run(click.Command("reader", callback=fail), [])
    return printed.getvalue(), status


def fault_in(text: str) -> str:
    """Say what a message must not have: characters that control a terminal; "" for none."""
    control = any(unicodedata.category(x) == "Cc" for x in set(text) - {"\n", "\t"})
    return "a raw control character" if control else ""
