"""Whether processors became slower meanwhile, where the system tells their frequency."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from pathlib import Path
from statistics import median
from typing import Final

from parcast.units import percent

CORES: Final = Path("/sys/devices/system/cpu")
EACH: Final = "cpu[0-9]*/cpufreq/scaling_cur_freq"  # [kHz]
TABLE: Final = Path("/proc/cpuinfo")
BETWEEN: Final = 1.0  # readings, each of which asks every core [s]
FEWEST: Final = 6  # readings that show a change [1]
FELL: Final = 0.9  # of what it was, that is said [1] [D]


def fastest() -> float | None:
    """Frequency of the fastest core; None where that cannot be read [Hz]."""
    found = []
    with suppress(OSError, ValueError):
        found = [1e3 * float(path.read_text()) for path in CORES.glob(EACH)]
    with suppress(OSError):
        text = "" if found else TABLE.read_text(errors="replace")
        found += [1e6 * float(x) for x in re.findall(r"^cpu MHz\s*:\s*([\d.]+)", text, re.M)]
    return max(found, default=None)


class Frequencies:
    """Readings at the ends of runs, when the cores were just used."""

    def __init__(self, read: Callable[[], float | None] = fastest) -> None:
        self.read = read
        self.values: list[float] = []
        self.last = -inf

    def look(self) -> None:
        """Read it, unless that was done just now."""
        if time.monotonic() - self.last >= BETWEEN:
            self.last = time.monotonic()
            if (value := self.read()) is not None:
                self.values.append(value)

    def findings(self) -> Iterator[str]:
        """Say that it fell."""
        third = len(self.values) // 3
        if len(self.values) < FEWEST:
            return
        before, after = median(self.values[:third]), median(self.values[-third:])
        if after < FELL * before:
            yield (
                f"The processors' frequency fell by {percent(1 - after / before)} during the "
                f"measurement, to {after / 1e9:.2f} GHz: later runs are slower for it (heat, a "
                "limit of power)."
            )
