"""Facts of the machine that is measured, and whether its clocks agree."""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Final

import numpy as np

from parcast.calibration.result import Host, Measured
from parcast.instrument.memory import memory_limit
from parcast.mpi.find import Mpi, available_cores
from parcast.show.warning import Rank, RankedWarning
from parcast.testbed.testbed import Testbed, short_name
from parcast.trials.clock import system_load

CPUINFO: Final = Path("/proc/cpuinfo")
MEMINFO: Final = Path("/proc/meminfo")
GOVERNOR: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
APART: Final = 0.01  # of the time that passed, by which clocks may differ
LEAST_APART: Final = 0.05  # [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """Readings of the clocks at one moment."""

    counter: float  # what times are measured with [s]
    monotonic: float  # [s]
    of_day: float  # [s]

    @classmethod
    def read(cls) -> "Clocks":
        """Read them now; the monotonic one is that of the hardware where the system has it."""
        raw = getattr(time, "CLOCK_MONOTONIC_RAW", None)
        monotonic = time.monotonic() if raw is None else time.clock_gettime(raw)
        return cls(counter=time.perf_counter(), monotonic=monotonic, of_day=time.time())


def clock_notes(before: Clocks, after: Clocks) -> list[str]:
    """Say where clocks do not agree on the time between two moments."""
    passed = after.counter - before.counter
    allowed = max(APART * abs(passed), LEAST_APART)
    notes: list[str] = []
    monotonic = after.monotonic - before.monotonic
    if passed < 0 or abs(monotonic - passed) > allowed:
        notes.append(
            RankedWarning(
                f"Two clocks of the machine disagree ({passed:.3f} s and {monotonic:.3f} s "
                "passed): do not use these times. Check its clock source.",
                rank=Rank.UNUSABLE,
            )
        )
    of_day = after.of_day - before.of_day
    if abs(of_day - passed) > allowed:
        notes.append(
            f"The time of day was changed by {of_day - passed:+.3f} s during the measurement. "
            "This affects the date, not the measured times."
        )
    return notes


def host_of(
    *,
    load_before: float,
    mpi: Mpi | None,
    library: str,
    placement: Mapping[int, str],
    directory: str,
    testbed: Testbed | None = None,
) -> Host:
    """Facts of this machine, or of the testbed that ranks ran on; `library` as they name it."""
    started_with = "" if mpi is None else f"{mpi.vendor} {mpi.version}".strip()
    return Host(
        name=platform.node() if testbed is None else short_name(testbed),
        system=f"{platform.system()} {platform.release()}",
        model=processor_model(),
        cores=len(available_cores()),
        governor=_text(GOVERNOR).strip(),
        load_before=load_before,
        load_after=load_average(),
        mpi=library or started_with,
        python=platform.python_version(),
        numpy=np.__version__,
        placement=dict(placement),
        directory=directory,
        hosts=0 if testbed is None else testbed.hosts,
    )


def load_average() -> float:
    """Load average over the last minute; NaN where the system has none. [1]."""
    load = system_load()
    return nan if load is None else load


def processor_model() -> str:
    """Model of the processor; "" where it is not known."""
    return _value_of(CPUINFO, "model name") or platform.processor()


def page_cache() -> Measured | None:
    """Memory that the system would give the page cache; None if it does not."""
    words = _value_of(MEMINFO, "MemAvailable").split()
    if len(words) != 2 or not words[0].isdigit():
        return None
    available = float(words[0]) * 1024
    limit = memory_limit()
    method = "memory available to the page cache according to /proc/meminfo, not measured"
    if limit is not None and limit < available:
        available = float(limit)
        method = "memory limit of the control group, not measured"
    return Measured(
        key="storage.cache",
        value=available,
        dimension="size",
        lower=nan,
        upper=nan,
        launches=0,
        repetitions=0,
        outliers=0,
        worst=1.0,
        cv=nan,
        method=method,
        settled=True,
    )


def _value_of(path: Path, key: str) -> str:
    """Give what stands behind the first "key:" of a file; "" where there is none."""
    for line in _text(path).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _text(path: Path) -> str:
    """Give a file of the system; "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
