"""What does a region cost a program? Beside an empty `with` and one from `contextlib`.

    .venv/bin/python benchmarks/region_cost.py

Prints the least of several trials, in microseconds a pass: with and without a profile, of a loop,
of a message, of one inside another, and of a function. Of short passes one in 17 is asked for its
processor time, of those of more than 100 us one in 5: these have a row of their own.
"""

import tempfile
import timeit
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from parcast.instrument.recorder import SHORT
from parcast.instrument.regions import PROFILING, region

PASSES, TRIALS = 50_000, 7


class Nothing:
    """A context manager that does nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


@contextmanager
def generator():  # type: ignore[no-untyped-def]  # contextlib's own way
    """A context manager that does nothing, from a generator."""
    yield


def cost(statement: str) -> float:
    """Time of a statement, the least of several trials. [us]."""
    known = {"region": region, "Nothing": Nothing, "generator": generator, "call": lambda: None}
    known["timed"] = region("function")(known["call"])
    trials = timeit.repeat(statement, globals=known, number=PASSES, repeat=TRIALS)
    return min(trials) / PASSES * 1e6


def main() -> None:
    """Print the table."""
    loop = "with region('loop', iterations=8): pass"
    print(f"{cost('with Nothing(): pass'):6.2f} us  an empty class")
    print(f"{cost('with generator(): pass'):6.2f} us  contextlib.contextmanager")
    print(f"{cost(loop):6.2f} us  a region, no profile asked for")
    with tempfile.TemporaryDirectory() as folder:
        PROFILING.start(str(Path(folder) / "cost.jsonl"))
        print(f"{cost(loop):6.2f} us  a region of kind compute, short passes")
        halo = "with region('halo', 'halo', volume=8): pass"
        print(f"{cost(halo):6.2f} us  a region of kind halo")
        nested = "with region('outer'):\n with region('inner'): pass"
        print(f"{cost(nested) / 2:6.2f} us  each of two, one inside the other")
        print(f"{cost('timed()') - cost('call()'):6.2f} us  a function that is a region")
        total = PROFILING.recorder.totals["loop"] if PROFILING.recorder else None
        if total is not None:
            total.wall += SHORT * 10**9  # as if its passes had been long
        print(f"{cost(loop):6.2f} us  a region of kind compute, long passes")
        PROFILING.stop()


if __name__ == "__main__":
    main()
