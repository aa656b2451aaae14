"""A program for the tests: runs that start their own ranks, as scripts do."""

import asyncio
import os
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

import parcast
from parcast.errors import RunFailed


@dataclass
class Item:
    """A class of the script, as item and as result."""

    number: int


def doubled(item):
    return Item(2 * item.number)


def joined(a, b):
    assert isinstance(a, Item)
    return Item(a.number + b.number)


def classes_of_the_script():
    served = []
    parcast.run_pipeline(
        map(Item, range(9)), doubled, joined, every=3, server=served.append, ranks=2
    )
    assert [x.value for x in served] == [Item(6), Item(24), Item(42)]
    assert all(isinstance(x.value, Item) for x in served)


def closures_that_print_and_progress():
    factor, told = 3, []

    def task(i):
        time.sleep(0.02)
        if i < 4:
            print(f"said by {i}")  # noqa: T201 - what a task of a user does
            print("warned", file=sys.stderr)  # noqa: T201 - likewise
        return factor * i

    result = parcast.run_pipeline(
        range(40), task, lambda a, b: a + b, ranks=2, progress=lambda *x: told.append(x)
    )
    assert result.value == 2340
    assert len(result.ranks) == 2
    assert told[-1][1] == 40
    assert 0 < told[-1][0] <= 40


def setup_once_a_rank():
    def setup():
        return [os.getpid(), 0]

    def task(_, state):
        state[1] += 1
        time.sleep(0.002)
        return [tuple(state)]

    made = parcast.run_pipeline(range(60), task, setup=setup, batch=1, ranks=3).value
    counts = {}
    for number, count in made:
        counts.setdefault(number, []).append(count)
    assert len(counts) == 3, counts
    assert os.getpid() not in counts
    assert all(seen == list(range(1, len(seen) + 1)) for seen in counts.values())


def large_results():
    def task(i):
        return {i: np.full((1000, 2500), i, order="F")}  # 20 MB

    result = parcast.run_pipeline(
        range(3), task, lambda a, b: a | b, ranks=2, batch=1, finish=lambda x: x
    )
    assert list(result.value) == list(range(3))
    assert all(x.shape == (1000, 2500) and (x == i).all() for i, x in result.value.items())
    assert all(x.flags.f_contiguous and x.flags.writeable for x in result.value.values())
    assert sum(x.sent for x in result.ranks) >= 20e6


def a_rank_that_lets_no_other_thread_run():
    def task(i):
        before = sys.getswitchinterval()
        sys.setswitchinterval(60)
        end = time.monotonic() + (0.6 if i == 0 else 0.001)
        while time.monotonic() < end:
            pass
        sys.setswitchinterval(before)
        return f"{i},"

    result = parcast.run_pipeline(range(200), task, ranks=3, batch=1)
    assert result.value == "".join(f"{i}," for i in range(200))


def timeouts_and_retries():
    def task(i):
        if i % 4 == 1:
            time.sleep(60)
        if i == 6:
            raise ValueError("six")
        return [i]

    result = parcast.run_pipeline(
        range(10), task, timeout=0.2, retries=1, on_error="skip", ranks=2, batch=1
    )
    assert result.value == [0, 2, 3, 4, 7, 8]
    errors = [(x.index, x.error) for x in result.skipped]
    late = "TimeoutError: the task took longer than 0.2 s"
    assert errors == [(1, late), (5, late), (6, "ValueError: six"), (9, late)], errors


def from_a_thread():
    found = []

    def run():
        found.append(parcast.run_pipeline(range(5), abs, ranks=2, timeout=9.0).value)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [10]


def failure(*args, **keys):
    with pytest.raises(RunFailed) as caught:
        parcast.run_pipeline(*args, **keys)
    return str(caught.value)


def a_result_that_cannot_be_returned():
    """From an event loop."""

    async def main():
        return failure(range(5), abs, finish=lambda _: threading.Lock(), ranks=2)

    said = asyncio.run(main())
    assert "cannot pickle '_thread.lock' object" in said, said


def a_time_limit():
    begun = time.monotonic()
    said = failure(range(5), lambda _: time.sleep(60), ranks=2, time_limit=1.5)
    assert "pipeline did not end within 1.5 s and was stopped. It was working on item " in said, (
        said
    )

    def blocked():
        yield 1
        time.sleep(60)

    said = failure(blocked(), abs, ranks=2, time_limit=1.5)
    assert said.startswith("pipeline did not end within 1.5 s and was stopped. Allow more"), said
    assert time.monotonic() - begun < 30


def main():
    for run in (
        classes_of_the_script,
        closures_that_print_and_progress,
        setup_once_a_rank,
        large_results,
        a_rank_that_lets_no_other_thread_run,
        timeouts_and_retries,
        from_a_thread,
        a_result_that_cannot_be_returned,
        a_time_limit,
    ):
        run()
        sys.stdout.write(f"{run.__name__}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
