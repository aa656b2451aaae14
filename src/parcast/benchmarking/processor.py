"""One processor: its rate of operations in cache, its rate of bytes out of it, and its timer.

- POLY1 [1]_: a polynomial of order 1 to 10 by Horner's rule over a vector that stays in cache.
  Order k is 2*k operations for each element. NumPy does each operation as a pass over the vector,
  so this is the rate of a program that is written with arrays; one that a compiler keeps in
  registers can be faster.
- Triad as STREAM has it [2]_: ``a = b + s*c``. NumPy makes two passes of it: one that reads c and
  writes a, one that reads a and b and writes a, 5 words for each element. These are counted; what
  a cache reads because it is going to be written is not: 5 words of 6 are, of STREAM's one pass 3
  of 4, so STREAM reports 0.9 times this [D]. It is measured on one core while the
  others are idle, and on one while all others do the same, each on vectors of its own.
- Timer: time of one call of the clock that times everything here, and its least step.

Times of POLY1 and triad are processor times of the thread, which other programs do not lengthen.

References
----------
.. [1] PARKBENCH Committee, "Public international benchmarks for parallel computers," Scientific
   Programming, vol. 3, no. 2, 1994: POLY1.
.. [2] J. D. McCalpin, "Memory bandwidth and machine balance in current high performance
   computers," IEEE TCCA Newsletter, 1995, pp. 19-25.
"""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import perf_counter, thread_time
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from parcast.benchmarking.records import (
    OVERRUN,
    BenchmarkPlan,
    BenchmarkRecorder,
    stopped_collector,
)
from parcast.mpi.rank import other_cores, pin

ORDERS: Final = tuple(range(1, 11))
VECTOR: Final = 10_000  # elements, the most of POLY1 [1]; two such vectors are in the cache
LEAST: Final = 1e-3  # of one timing, since the clock of the processor is a coarse one [s]
WORDS: Final = 5  # of the triad for each element
WORD: Final = 8  # [B]
TRIAD: Final = 2  # times the largest cache that each of its vectors has
LEAST_TRIAD: Final = 1 << 25  # bytes of a vector, where no cache is told [B]
MOST_TRIAD: Final = 1 << 28  # [B]
LEAST_SHARED: Final = 1 << 22  # of a vector of each core, beyond the caches of its own [B]
PAGE: Final = 4096  # [B]
CALLS: Final = 1000  # of the clock in one timing
CACHES: Final = Path("/sys/devices/system/cpu/cpu0/cache")
SIZES: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def horner(order: int, x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Evaluate ``1 + x + ... + x**order`` into `out`, with 2*order operations an element."""
    out.fill(1.0)
    for _ in range(order):
        np.multiply(out, x, out=out)
        np.add(out, 1.0, out=out)


def triad(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> None:
    """Evaluate ``a = b + 3*c`` in two passes."""
    np.multiply(c, 3.0, out=a)
    np.add(a, b, out=a)


def largest_cache() -> int:
    """Size of the largest cache of the first core; 0 where the system does not give it. [B]."""
    sizes = [0]
    for path in CACHES.glob("index*/size"):
        text = path.read_text(encoding="ascii").strip()
        if text[:-1].isdigit() and text[-1:] in SIZES:
            sizes.append(int(text[:-1]) * SIZES[text[-1]])
    return max(sizes)


def placed(count: int, offset: int) -> NDArray[np.float64]:
    """Vector that begins at an `offset` in a page [B].

    Where two vectors lie to each other changes the rate by up to a third.
    """
    room = np.empty(count * WORD + PAGE + offset, np.uint8)
    start = -room.ctypes.data % PAGE + offset
    return room[start : start + count * WORD].view(np.float64)


def measure_rate(record: BenchmarkRecorder, plan: BenchmarkPlan) -> None:
    """Record the times of the polynomials, each over the whole vector. [s]."""
    x, out = placed(VECTOR, 0), placed(VECTOR, PAGE // 2)
    x[:] = np.linspace(0.0, 0.5, VECTOR)
    for order in ORDERS:
        horner(order, x, out)
        began = thread_time()
        horner(order, x, out)
        inner = max(1, round(LEAST / max(thread_time() - began, 1e-7)))

        def polynomials(order: int = order, inner: int = inner) -> float:
            began = thread_time()
            for _ in range(inner):
                horner(order, x, out)
            return (thread_time() - began) / inner

        record.times("polynomial", order, in_time(polynomials, plan, LEAST))


def measure_memory(record: BenchmarkRecorder, plan: BenchmarkPlan, size: int) -> None:
    """Record the times of triads over vectors of `size` bytes. [s]."""
    moved, times = _triads(plan, size)
    record.times("triad", moved, times)


def measure_shared_memory(
    record: BenchmarkRecorder, plan: BenchmarkPlan, size: int, others: Sequence[int]
) -> None:
    """Record the times of triads while `others` do the same, and the bytes of all cores. [s].

    The vectors of all cores together are at least of `size` bytes. That each core moves as much
    as this one is assumed.
    """
    cores = 1 + len(others)
    size = max(size // cores, LEAST_SHARED)
    with _busy(others, size) as are_busy:
        if are_busy:
            moved, times = _triads(plan, size)
            record.times("shared_triad", cores * moved, times)


@contextmanager
def _busy(cores: Sequence[int], size: int) -> Iterator[bool]:
    """Have processes on other cores do triads while the block runs; they end with this one.

    Whether all of them do: one may have too little memory.
    """
    end, held = os.pipe()
    children: dict[int, int] = {}  # and what each says
    try:
        for core in cores:
            ready, told = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(held)
                _do_triads(core, size, end, told)
            os.close(told)
            children[child] = ready
        yield all(os.read(ready, 1) for ready in children.values())
    finally:
        for file in (end, held, *children.values()):
            os.close(file)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _do_triads(core: int, size: int, end: int, told: int) -> NoReturn:
    """Do triads on a core until the process that started this one closes its pipe."""
    try:
        os.sched_setaffinity(0, {core})
        a, b, c = (np.ones(max(size // WORD, 1)) for _ in range(3))
        triad(a, b, c)
        os.write(told, b".")
        while not select.select([end], [], [], 0)[0]:
            triad(a, b, c)
    finally:
        os._exit(0)


def _triads(plan: BenchmarkPlan, size: int) -> tuple[int, list[float]]:
    """Bytes of a triad over vectors of `size` bytes, and its times [B], [s]."""
    a, b, c = (np.ones(max(size // WORD, 1)) for _ in range(3))
    triad(a, b, c)
    began = thread_time()
    triad(a, b, c)
    cost = thread_time() - began

    def triads() -> float:
        began = thread_time()
        triad(a, b, c)
        return thread_time() - began

    return WORDS * WORD * len(a), in_time(triads, plan, cost)


def in_time(once: Callable[[], float], plan: BenchmarkPlan, cost: float) -> list[float]:
    """What `once` returns [s] again and again, until the budget of the plan is over.

    `cost` is what a repetition is expected to take, in time of the processor. [s].
    """
    times: list[float] = []
    began = perf_counter()
    for _ in range(plan.repetitions(cost)):
        times.append(once())
        if len(times) >= plan.fewest and perf_counter() - began > OVERRUN * plan.budget:
            break  # other programs have the processor most of the time
    return times


def measure_timer(record: BenchmarkRecorder, plan: BenchmarkPlan) -> None:
    """Record the time of a call of the clock, and its steps. [s]."""
    costs, steps = [], []
    for _ in range(plan.repetitions(plan.budget / max(plan.most, 1))):
        readings = [perf_counter() for _ in range(CALLS)]
        costs.append((readings[-1] - readings[0]) / (CALLS - 1))
        steps.append(min((b - a for a, b in pairwise(readings) if b > a), default=0.0))
    record.times("timer", 0, costs)
    record.times("timer_step", 0, steps)


def main(arguments: Sequence[str]) -> None:
    """Measure; the arguments are a file for the records and a plan.

    Its one size is that of the triad, where 0 takes twice the largest cache.
    """
    pin()
    path, text = arguments
    record, plan = BenchmarkRecorder(Path(path)), BenchmarkPlan.from_text(text)
    size = plan.sizes[0] or min(max(TRIAD * largest_cache(), LEAST_TRIAD), MOST_TRIAD)
    with stopped_collector():
        measure_timer(record, plan)
        measure_rate(record, plan)
        measure_memory(record, plan, size)
        if others := other_cores():
            measure_shared_memory(record, plan, size, others)


if __name__ == "__main__":
    main(sys.argv[1:])
