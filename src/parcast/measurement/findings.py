"""What spoils a measurement: found in its runs, and said in sentences."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from math import expm1, inf, log
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Final

from parcast.measurement.launchers import (
    launcher_of,
    may_use_openmp,
    mismatch,
    turns_taken,
)
from parcast.measurement.point import MeasuredPoint
from parcast.measurement.table import DISTURBED, OK, OVERSUBSCRIBED, RunRow
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.disturbed import USED, used_though_disturbed
from parcast.units import format_quantity, percent
from parcast.words import listed

FIRST: Final = 1.25  # times as long, that a first run is slower than the others [1] [D]
TREND: Final = 0.1  # change over the rounds that is said [1] [D]
MOST_NAMED: Final = 3  # reasons, and points of one, that are named [1]
FEWEST: Final = 4  # rounds that show a trend [1]
ALIKE: Final = 0.8  # of the lines of an output that are written p times [1] [D]
NO_GAIN: Final = 0.95  # of the time on one rank, on two and more, where nothing is gained [1] [D]
CORES: Final = Path("/sys/devices/system/cpu")
EACH: Final = "cpu[0-9]*/cpufreq/scaling_cur_freq"  # [kHz]
CPUINFO: Final = Path("/proc/cpuinfo")
BETWEEN: Final = 1.0  # readings, each of which asks every core [s]
FEWEST_LOOKS: Final = 6  # readings that show a change [1]
FELL: Final = 0.9  # of what it was, that is said [1] [D]


def findings_of(
    command: Sequence[str],
    rows: Sequence[RunRow],
    cores: int,
    outputs: Mapping[MeasuredPoint, str],
    environment: Container[str] = (),
) -> Iterator[str]:
    """Say what a person should know of some runs.

    `outputs` are of one run of each point, `environment` has the variables that were set for them.
    """
    yield from _failures(rows)
    yield from _lone_ranks(command, outputs)
    counts = [x.point.columns["p"] for x in rows if x.status == OVERSUBSCRIBED]
    if turns := turns_taken(command, counts, cores):
        text = f"{turns} These runs do not count."
        yield RankedWarning(text, kind="cores", rank=Rank.SERIOUS)
    if "OMP_NUM_THREADS" not in environment:
        yield from _threads(command)
    yield from _first_slower(rows)
    yield from _trend(rows)
    yield from _disturbed(rows)
    yield from _no_gain(rows)


def _disturbed(rows: Sequence[RunRow]) -> Iterator[str]:
    """Say how many runs others disturbed, and whether these count."""
    left_out = sum(x.status == DISTURBED for x in rows)
    if left_out:
        yield f"{left_out} of {len(rows)} runs were disturbed by others and do not count."
    if used := sum(x.status == USED for x in rows):
        yield used_though_disturbed(used, sum(x.status in (OK, USED) for x in rows))


def _failures(rows: Sequence[RunRow]) -> Iterator[str]:
    """Name points that failed, and why."""
    points: dict[str, dict[MeasuredPoint, None]] = {}  # by why their runs failed
    for row in rows:
        if not row.is_run:
            points.setdefault(row.note, {})[row.point] = None
    for note, failed in [*points.items()][:MOST_NAMED]:
        yield RankedWarning(f"{_named(failed)}: {note}.", kind=note, rank=Rank.SERIOUS)
    if len(points) > MOST_NAMED:
        yield "More runs failed for other reasons: see the column note."
    yield from _refused(rows)


def _named(points: Collection[MeasuredPoint]) -> str:
    """Name points: by their counts where these alone tell them apart."""
    if all([*x.columns] == ["p"] for x in points):
        return f"p = {listed([str(x) for x in sorted(x.columns['p'] for x in points)])}"
    return "; ".join([*map(str, points)][:MOST_NAMED] + ["..."] * (len(points) > MOST_NAMED))


def _refused(rows: Sequence[RunRow]) -> Iterator[str]:
    """Name counts at which alone a program ends with an error."""
    good = {x.point.columns["p"] for x in rows if x.is_run}
    bad = {x.point.columns["p"]: x.exit or 0 for x in rows if not x.is_run}
    if good and bad and not good & {*bad} and min(bad.values()) > 0:
        wrong, right = (listed(map(str, sorted(x))) for x in (bad, good))
        yield RankedWarning(
            f"The program ends with an error at p = {wrong} and not at p = {right}: it may refuse "
            f"{'this count' if len(bad) == 1 else 'these counts'}.",
            kind="failed",
        )


def _lone_ranks(command: Sequence[str], outputs: Mapping[MeasuredPoint, str]) -> Iterator[str]:
    """Say that ranks did not find each other: each did the whole work."""
    launcher = launcher_of(command)
    if not launcher:
        return
    if text := mismatch(command):
        yield RankedWarning(text, kind="ranks", rank=Rank.UNUSABLE)
        return
    copies = [p for p, of_one, of_all in _pairs(outputs) if _are_copies(of_one, of_all, p)]
    if copies:
        yield RankedWarning(
            f"p = {listed(map(str, copies))}: the program wrote each line p times, as p runs on "
            "one rank do. "
            f"Its ranks did not find each other: {launcher} is probably of another MPI than the "
            "program. Use the launcher of the MPI that it was built with.",
            kind="ranks",
            rank=Rank.UNUSABLE,
        )


def _pairs(outputs: Mapping[MeasuredPoint, str]) -> Iterator[tuple[int, str, str]]:
    """Outputs on one rank and on more, of equal values otherwise."""
    alone = {x.values[1:]: text for x, text in outputs.items() if x.columns["p"] == 1}
    for point, text in outputs.items():
        p = point.columns["p"]
        if p > 1 and point.values[1:] in alone:
            yield p, alone[point.values[1:]], text


def _are_copies(of_one: str, of_all: str, p: int) -> bool:
    """Whether most lines of one rank stand p times in the output of all."""
    one, every = (Counter(_lines(text)) for text in (of_one, of_all))
    known = [line for line in one if every[line]]
    if len(known) < max(2, ALIKE * len(one)):
        return False
    return sum(every[line] == p * one[line] for line in known) >= ALIKE * len(known)


def _lines(text: str) -> list[str]:
    """Lines without their numbers, which differ from run to run."""
    return [
        re.sub(r"[0-9.eE+-]+", "#", line.strip()) for line in text.splitlines() if line.strip()
    ]


def _threads(command: Sequence[str]) -> Iterator[str]:
    """Say that each rank may start threads of its own."""
    if launcher_of(command) and "OMP_NUM_THREADS" not in os.environ and may_use_openmp(command):
        yield (
            "OMP_NUM_THREADS is not set: a program with OpenMP starts as many threads in each "
            "rank as there are cores. Set it to 1 if it is one (--env OMP_NUM_THREADS=1)."
        )


def _first_slower(rows: Sequence[RunRow]) -> Iterator[str]:
    """Say that first runs took longer than the others, where others disturbed none of them."""
    slower = []
    for point, own in _by_point(rows).items():
        first, *others = own
        if any(x.status in (DISTURBED, USED) for x in own):
            continue
        if len(others) > 1 and first.seconds > FIRST * max(x.seconds for x in others):
            slower.append((first.seconds / median(x.seconds for x in others), point))
    if slower:
        factor, point = max(slower, key=lambda x: x[0])
        yield (
            f"The first run took up to {factor:.1f} times as long as the others ({point}): caches "
            "were cold. Use --warmup 1 if later runs are what counts."
        )


def _trend(rows: Sequence[RunRow]) -> Iterator[str]:
    """Say that runs became slower or faster over the rounds."""
    rounds: dict[int, list[float]] = {}
    for own in _by_point(rows).values():
        middle = median(x.seconds for x in own)
        for row in own:
            rounds.setdefault(row.repetition, []).append(log(row.seconds / middle))
    if len(rounds) < FEWEST:
        return
    means = [mean(rounds[i]) for i in sorted(rounds)]
    scatter = pstdev([x for own in rounds.values() for x in own])
    change, later = _change(means), _change(means[1:])
    goes_on = later * change > 0 and abs(later) > TREND  # it is not the first run alone
    if abs(change) > max(TREND, 2.0 * scatter) and goes_on:
        how = "longer" if change > 0 else "shorter"
        yield (
            f"Runs took {percent(abs(expm1(change)))} {how} in the last round than in the first: "
            "the machine changed meanwhile (frequency, temperature, other users)."
        )


def _change(means: Sequence[float]) -> float:
    """Change of the straight line through the means of rounds, from the first to the last."""
    x = [i - (len(means) - 1) / 2 for i in range(len(means))]
    slope = sum(i * y for i, y in zip(x, means, strict=True)) / sum(i**2 for i in x)
    return slope * (len(means) - 1)


def _by_point(rows: Sequence[RunRow]) -> dict[MeasuredPoint, list[RunRow]]:
    """Runs of each point, in their order."""
    found: dict[MeasuredPoint, list[RunRow]] = {}
    for row in sorted(rows, key=lambda x: x.repetition):
        if row.is_run:
            found.setdefault(row.point, []).append(row)
    return found


def _no_gain(rows: Sequence[RunRow]) -> Iterator[str]:
    """Say that more processors gained nothing at all, as where each rank does the whole work."""
    times: dict[
        tuple[tuple[str, float], ...], dict[int, list[float]]
    ] = {}  # by the values of other names, and p
    for row in rows:
        if row.is_run:
            own = times.setdefault(row.point.values[1:], {})
            own.setdefault(row.point.columns["p"], []).append(row.seconds)
    gains = []
    for others_at, own in times.items():
        if min(own) == 1 and len(own) > 1:
            alone, *others = (median(own[p]) for p in sorted(own))
            gains.append((min(others) / alone, alone, others_at))
    if gains and min(gains)[0] >= NO_GAIN:
        _, alone, others_at = min(gains)
        at = "".join(f", {name} = {value:,}" for name, value in others_at)
        yield (
            f"No count is faster than p = 1{at} ({format_quantity(alone, 'time')}): check "
            "that the command uses {p}, and that its ranks find each other."
        )


def fastest() -> float | None:
    """Frequency of the fastest core; None where that cannot be read [Hz]."""
    found = []
    with suppress(OSError, ValueError):
        found = [1e3 * float(path.read_text()) for path in CORES.glob(EACH)]
    with suppress(OSError):
        text = "" if found else CPUINFO.read_text(errors="replace")
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
        if len(self.values) < FEWEST_LOOKS:
            return
        before, after = median(self.values[:third]), median(self.values[-third:])
        if after < FELL * before:
            yield (
                f"The processors' frequency fell by {percent(1 - after / before)} during the "
                f"measurement, to {after / 1e9:.2f} GHz: later runs are slower for it (heat, a "
                "limit of power)."
            )
