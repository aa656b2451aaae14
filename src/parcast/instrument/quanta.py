"""Whether a program has its processor to itself: a quantum of work, and waiting for the core.

A fixed quantum of work in plain Python tells whether the processor is as fast as at other times.
Before the first region and when the profile is written it is timed, by processor time. The run
delay of the scheduler tells how long the system had given the core to another program meanwhile.
Whoever reads several runs can see which of them others disturbed. `parcast.run.kernels.quanta`
says more; that needs NumPy, which a program that is timed may not have loaded.
"""

from pathlib import Path
from time import thread_time_ns
from typing import Final

STEPS: Final = 2000  # of a loop
TIMED: Final = 9  # quanta, of which the median counts
NANO: Final = 1e-9  # [s]
RUN_DELAY: Final = Path("/proc/thread-self/schedstat")  # of Linux: ran, waited, slices [ns]


def work_quantum() -> float:
    """Processor time of a fixed piece of work, some 0.05 ms; the median of nine. [s]."""
    times = []
    for _ in range(TIMED):
        began = thread_time_ns()
        total = 0.0
        for step in range(STEPS):
            total += step * 0.5
        times.append(thread_time_ns() - began)
    return sorted(times)[TIMED // 2] * NANO


def waited_for_core() -> float | None:
    """Time that this thread was ready and its core another's; None where nobody tells. [s]."""
    try:
        return int(RUN_DELAY.read_text(encoding="ascii").split()[1]) * NANO
    except (OSError, ValueError, IndexError):
        return None
