"""A program for the tests: runs that fail in the ways its arguments name, one after the other.

Under mpiexec it uses those ranks, else it starts two. Every rank tells what was raised in a line
that begins with @ and a number; the last failure is not caught.
"""

import errno
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import parcast
from parcast.mpi import payload
from parcast.mpi.launched import is_rank
from parcast.pipeline.engine import rank


class Odd:
    """Can be pickled, and not read again."""

    def __reduce__(self):
        return (int, ("odd",))


class OddError(Exception):
    """Cannot be pickled, nor read again."""

    def __init__(self, a, b):
        super().__init__(a)
        self.lock = b


def raises(i):
    if i == 30:
        raise ValueError("this item is bad")
    return i


class OwnError(BaseException):
    """What no library should raise, and some do."""


def raising(made):
    """Make a task that raises at an item what is made then."""

    def task(i):
        if i == 30:
            raise made()
        return i

    return task


def raises_while_another_works(i):
    rank.GRACE = 0.5  # read when the run fails
    if i == 0:
        time.sleep(60)
    if i > 3:
        time.sleep(0.3)
        raise ValueError("this item is bad")
    return i


def is_ready(i):
    if i == 1:
        Path("ready").touch()
    time.sleep(60)


def is_killed(i):
    if i == 30:
        os.kill(os.getpid(), 9)
    return i


def ends(how):
    """Make a task that ends its process at an item."""

    def task(text):
        if text == "bad item":
            if isinstance(how, int):  # and prints what the launcher took for a message to it
                os.write(2, b"parcast-refusal: {}\n")
                os._exit(how)
            how()
        return text

    return task


def merge_that_ends(a, b):
    if len(a + b) == 4:
        os.kill(os.getpid(), signal.SIGTERM)
    return a + b


def end(*_):
    os._exit(5)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)  # as a fault in a library does


def items_that_end():
    yield from range(20)
    raise OSError("the disk is gone")


def refuses(*_):
    raise ValueError("this one is bad")


def identity(i):
    return i


def lock_of(_):
    return threading.Lock()


def fill_disk():
    """Let every file that is written by the engine fail as on a full disk."""

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    payload.pickle = SimpleNamespace(**vars(pickle) | {"dump": refuse})


def ones(*_):
    import numpy as np

    return np.ones(10_000)


def concatenated(a, b):
    import numpy as np

    return np.concatenate([a, b])


def either(a, _):
    return a


def mean(a, b):
    return (a + b) / 2


FIFTY = {"items": range(50), "task": identity, "batch": 1}
BAD = {"items": ["a", "b", "bad item", "c"], "batch": 1}
RUNS = {
    "task": FIFTY | {"task": raises},
    "odd exception": FIFTY | {"task": raising(lambda: OddError("odd", threading.Lock()))},
    "exit": FIFTY | {"task": raising(lambda: SystemExit("no more"))},
    "interrupt": FIFTY | {"task": raising(KeyboardInterrupt)},
    "own": FIFTY | {"task": raising(lambda: OwnError("own"))},
    "generator": FIFTY | {"task": raising(lambda: GeneratorExit("no more"))},
    "memory": FIFTY | {"task": raising(MemoryError)},
    "busy": FIFTY | {"task": raises_while_another_works},
    "busy forever": FIFTY | {"task": is_ready},
    "killed": FIFTY | {"task": is_killed},
    "exits with 3": BAD | {"task": ends(3)},
    "exits with 0": BAD | {"task": ends(0)},
    "crashes": BAD | {"task": ends(crash)},
    "merge ends": {"items": ["a", "b", "c", "d"], "task": str, "merge": merge_that_ends}
    | {"batch": 1},
    "setup ends": FIFTY | {"setup": end},
    "finish ends": FIFTY | {"finish": end},
    "items": {"items": items_that_end, "task": identity},
    "no items": {"items": 5, "task": identity},
    "setup": FIFTY | {"setup": refuses},
    "merge": FIFTY | {"merge": refuses},
    "split": FIFTY | {"split": refuses, "shards": 2},
    "wrong split": FIFTY | {"split": lambda a, _: [a], "shards": 2},
    "finish": FIFTY | {"finish": refuses},
    "server": FIFTY | {"server": refuses, "every": 5},
    "json": FIFTY | {"task": complex, "server": "out.jsonl", "every": 5},
    "mean": FIFTY | {"task": float, "merge": mean, "check": True},
    "lock as item": FIFTY | {"items": lambda: (threading.Lock() for _ in range(9))},
    "lock as result": FIFTY | {"task": lock_of, "merge": either},
    "odd result": FIFTY | {"task": lambda _: Odd(), "merge": either},
    "timeout": FIFTY | {"task": lambda _: time.sleep(5), "timeout": 0.2},
    "too many": FIFTY | {"pipelines": 9},
    "no folder": FIFTY | {"directory": "missing/folder", "memory": 1e6},
    "no place": FIFTY | {"trace": "missing/trace.jsonl"},
    "checkpoint": FIFTY | {"checkpoint": "file/below"},
    "disk": FIFTY
    | {"task": ones, "merge": concatenated}
    | {"memory": 1000.0, "directory": "small", "setup": fill_disk},
    "disk of checkpoint": FIFTY
    | {"checkpoint": "small", "checkpoint_every": 0.0, "setup": fill_disk}
    | {"task": lambda i, _: i},
    "skipped locks": FIFTY
    | {"items": lambda: (threading.Lock() if i % 3 else i for i in range(30))}
    | {"on_error": "skip"},
}


def run(kind, number):
    keys = dict(RUNS[kind])
    items = keys.pop("items")
    if not is_rank():
        keys["ranks"] = 2
    begun = time.monotonic()
    try:
        result = parcast.run_pipeline(items() if callable(items) else items, **keys)
        sys.stdout.write(f"@{number} {result!r}\n")
    except BaseException as failure:
        late = "" if time.monotonic() - begun < 10 else "LATE "
        sys.stdout.write(f"@{number} {late}{type(failure).__name__}: {failure}\n")
        sys.stdout.flush()
        return failure


def main(kinds):
    Path("file").touch()
    Path("small").mkdir(exist_ok=True)
    failures = [run(kind, number) for number, kind in enumerate(kinds)]
    raise failures[-1]


if __name__ == "__main__":
    main(sys.argv[1:])
