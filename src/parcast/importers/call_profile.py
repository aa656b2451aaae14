"""Profiles of call paths: what each rank of one run spent in each region of the program.

Caliper, Hatchet and Thicket tell the same in different forms. A row of the measurements is a
call path of a run, `main->solve`; its time is that of the slowest rank, since the others wait.
Times are kept region by region and rank by rank, in 24 bytes each, until they are added up.
"""

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.advice import Command, File, ours
from parcast.files.bounds import require_at_most
from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole
from parcast.importers.axes import metric_argument
from parcast.importers.runs import Runs
from parcast.timings.columns import axis_name_fault
from parcast.units import shown
from parcast.words import listed

Path = tuple[str, ...]


FEWER: Final = "Profile fewer regions."
DEEPEST: Final = 1_000  # regions that are one within the other
MOST_PARTS: Final = 20_000_000  # regions of all call paths together, each with all its callers


class CallPaths:
    """Call paths made one from another, refused where they are too deep or too many."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._parts = 0

    def below(self, above: Path, name: str, field: str = "") -> Path:
        """Give the path of a region that another one calls."""
        return self.checked((*above, name), field)

    def checked(self, path: Path, field: str = "", line: int | None = None) -> Path:
        """Take in a path that was not met before."""
        self._parts += len(path)
        for most, count, what in (
            (DEEPEST, len(path), "regions one within the other"),
            (MOST_PARTS, self._parts, "regions in all its call paths"),
        ):
            require_at_most(most, count, what, self._faults, line=line, field=field, remedy=FEWER)
        return path


class RegionTimes:
    """The times of one run by region and rank."""

    def __init__(self) -> None:
        self._numbers: dict[Path, int] = {}
        self._regions, self._ranks, self._times = array("q"), array("q"), array("d")

    def __len__(self) -> int:
        """Return how many times there are."""
        return len(self._times)

    def __contains__(self, path: Path) -> bool:
        """Tell whether a region was met."""
        return path in self._numbers

    def add(self, path: Path, rank: int, time: float) -> None:
        """Take in a time [s] of a region below its callers; several of one rank add up."""
        self._regions.append(self._numbers.setdefault(path, len(self._numbers)))
        self._ranks.append(rank)
        self._times.append(time)

    def slowest(self) -> Iterator[tuple[Path, float]]:
        """Go through the regions with the time of the slowest rank in each. [s]."""
        regions, times = self._by_rank()
        starts = np.flatnonzero(np.diff(regions, prepend=-1))
        yield from zip(self._numbers, np.maximum.reduceat(times, starts).tolist(), strict=True)

    def total(self) -> Iterator[tuple[Path, float]]:
        """Go through the regions with the sum over the ranks. [s]."""
        sums = np.bincount(np.asarray(self._regions), weights=np.asarray(self._times))
        yield from zip(self._numbers, sums.tolist(), strict=True)

    def on_ranks(self) -> tuple[list[Path], NDArray[np.float64]]:
        """Give the regions, and the times of each on every rank, (regions, ranks) [s]."""
        places, rank = np.unique(np.asarray(self._ranks), return_inverse=True)
        times = np.zeros((len(self._numbers), len(places)))
        np.add.at(times, (np.asarray(self._regions), rank), np.asarray(self._times))
        return list(self._numbers), times

    def at(self, paths: Mapping[Path, int], ranks: int) -> NDArray[np.float64]:
        """Give the numbers of given regions on each rank, (regions, ranks), 0 where untold."""
        rows = np.array([paths[path] for path in self._numbers], dtype=np.intp)
        table = np.zeros((len(paths), ranks))
        np.add.at(table, (rows[np.asarray(self._regions)], self._ranks), np.asarray(self._times))
        return table

    @property
    def paths(self) -> Iterable[Path]:
        """The regions, in the order in which they came."""
        return self._numbers.keys()

    def _by_rank(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Add up what is of one region and rank; the regions in order. [s]."""
        ranks = np.asarray(self._ranks)
        span = int(ranks.max()) + 1
        keys, place = np.unique(np.asarray(self._regions) * span + ranks, return_inverse=True)
        times = np.bincount(place, weights=np.asarray(self._times)).astype(np.float64, copy=False)
        return keys // span, times


RANKS: Final = ("mpi.world.size", "jobsize", "adiak.jobsize", "p", "nprocs", "mpi.comm.world.size")
MEAN: Final = "mean"  # of the ranks, where a metric is asked for as NAME:mean
JOIN: Final = "->"
# Numbers that a run ends with or is known by: no parameter of the program.
RESULTS = re.compile(
    r"time|date|elapsed|duration|merit|(^|[._])fom|version|walltime|uid|pid|job_?id|"
    r"cali\.|spot\.|adiak|hash|epoch|start|seed",
    re.IGNORECASE,
)
MOST_NAMED = 8


@dataclass(kw_only=True, slots=True)
class CallProfile:
    """One run."""

    faults: Faults  # of its file
    times: RegionTimes
    ranks: int | None = None  # those that the times tell apart
    metadata: Mapping[str, Any] = field(default_factory=dict)
    divide: bool = False  # the times are sums over the ranks
    places: int | None = None  # ranks and their threads, where the times tell these apart too

    @property
    def p(self) -> int | None:
        """The ranks of the run, None where untold. [1]."""
        told = (whole(self.metadata.get(name), least=1) for name in RANKS)
        return next((p for p in told if p is not None), self.ranks)


def split_mean(metric: str | None) -> tuple[str | None, bool]:
    """Divide what was asked for into the metric and whether the mean of the ranks is meant.

    >>> split_mean("inclusive:mean"), split_mean("mean"), split_mean(None)
    (('inclusive', True), (None, True), (None, False))
    """
    if metric is None:
        return None, False
    name, _, how = metric.rpartition(":")
    if how == MEAN:
        return name or None, True
    return metric, False


def add_profiles(profiles: Sequence[CallProfile], runs: Runs, *, mean: bool = False) -> list[str]:
    """Add the call paths of some runs, and say in sentences what was taken for granted.

    `p`, if it is given, and other numbers that vary between the runs become axes. A time is that
    of the slowest rank, or the mean over the ranks.
    """
    counts = [profile.p for profile in profiles]
    axes, passed_over = varying(profiles)
    for profile, p in zip(profiles, counts, strict=True):
        if p is None and any(counts):
            profile.faults.refuse(
                "must have its number of ranks like the other files, got none. Import it "
                f"separately: {_import_with_p(profile.faults)}"
            )
        if not profile.times:
            profile.faults.refuse(
                "must have regions with times, got none. Was the program annotated?"
            )
        point: dict[str, float | None] = {} if p is None else {"p": p}
        point |= {name: finite(profile.metadata[name]) for name in axes}
        for path, time in _over_ranks(profile, p or runs.constant_p, mean=mean):
            callpath = JOIN.join(" ".join(name.split()) or "unnamed" for name in path)
            runs.add(
                point, [time], profile.faults, metric="time_s", callpath=callpath, field=callpath
            )
    return _notes(profiles, axes, passed_over, mean=mean)


def _over_ranks(
    profile: CallProfile, p: int | None, *, mean: bool
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Go through the regions with the time of the slowest rank, or the mean over all. [s]."""
    if not mean and not profile.divide:
        yield from profile.times.slowest()
        return
    ranks = (p if profile.divide else profile.places or profile.ranks) or 1
    for path, total in profile.times.total():  # a rank that never came there spent no time there
        yield path, total / ranks


def varying(profiles: Sequence[CallProfile]) -> tuple[list[str], list[str]]:
    """Find the numbers that vary between the runs: parameters, and what is none."""
    shared = [
        name
        for name in profiles[0].metadata
        if name not in RANKS and all(name in other.metadata for other in profiles)
    ]
    axes: list[str] = []
    passed_over: list[str] = []
    for name in shared:
        values = [finite(profile.metadata[name]) for profile in profiles]
        if None in values or len(set(values)) == 1:
            continue
        is_result = RESULTS.search(name) or axis_name_fault(name)
        (passed_over if is_result else axes).append(name)
    return axes, passed_over


def _notes(
    profiles: Sequence[CallProfile],
    axes: Sequence[str],
    passed_over: Sequence[str],
    *,
    mean: bool,
) -> list[str]:
    """Say what the times are, and where the axes come from."""
    notes = []
    if any(profile.divide for profile in profiles):
        notes.append("The times are sums over the ranks, divided by p: the mean of the ranks.")
    elif mean:
        notes.append("The time of a region is the mean over the ranks.")
    elif any((profile.ranks or 0) > 1 for profile in profiles):
        notes.append(
            "The time of a region is that of its slowest rank "
            f"({metric_argument(profiles[0].faults, 'mean')} for the mean)."
        )
    if any(profile.places for profile in profiles):
        notes.append("Each thread counts as a rank does, but not in p.")
    by_name = next((name for name in RANKS if name in profiles[0].metadata), None)
    if profiles[0].p is not None:
        source = f"{by_name} of each file" if by_name else "the number of ranks in each file"
        notes.append(f"p is {source}.")
    if axes:
        notes.append(
            f"Metadata that vary are imported as axes: {listed(map(shown, axes), MOST_NAMED)}."
        )
    if passed_over:
        notes.append(
            "Metadata that vary but are not parameters are left out: "
            f"{listed(map(shown, passed_over), MOST_NAMED)}."
        )
    odd = [x for x in profiles if x.ranks is not None and x.p is not None and x.ranks < x.p]
    if odd:
        first, name = odd[0], os.path.basename(odd[0].faults.path)
        notes.append(f"{shown(name)} has times of {first.ranks} of its {first.p} ranks.")
    return notes


def _import_with_p(faults: Faults) -> Command:
    """Write how a file is imported alone, with its number of ranks."""
    return ours("import", File(faults.path), "--set", "p=COUNT", "-o", "timings.csv")
