"""A fixed quantum of work in plain Python: whether the processor is as fast as at other times.

Before the first region and when the profile is written it is timed, by processor time. Whoever
reads several runs can see which of them others disturbed. `parcast.run.kernels.quanta` says more;
that needs NumPy, which a program that is timed may not have loaded.
"""

from time import thread_time_ns
from typing import Final

STEPS: Final = 2000  # of a loop
TIMED: Final = 9  # quanta, of which the median counts
NANO: Final = 1e-9  # [s]


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
