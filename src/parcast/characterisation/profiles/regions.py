"""Regions of counted runs: which call paths are one, and what is known of them.

Computing is by call path. A path that takes less than 1% of every run, or is not in all runs,
counts with its caller [D]; other functions of MPI than those whose bytes are known count as
computing, as in a profile of `parcast record`, and MPI_Init and MPI_Finalize are left out. A path
that the ranks together visit equally often at every p, or a loop of as many iterations, is a loop
that they share; other visits are passes, whose work is determined from its time. Messages are by
what called MPI and by kind.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.characterisation.profiles.counted import (
    EXCHANGE,
    KINDS,
    CallPath,
    CountedRun,
    function_of,
)
from parcast.importers.call_profile import JOIN
from parcast.timings.profile import RankRecord, RegionTotal, RunProfile
from parcast.units import percent, shown
from parcast.words import listed

LEAST: Final = 0.01  # share of a run, below which computing is part of its caller's [D]
LEFT_OUT: Final = ("init", "init_thread", "finalize")
OUTSIDE: Final = "outside regions"  # computing that no kept call path has
MOST_NAMED: Final = 3  # call paths or functions in one note
Group = tuple[CallPath, str]  # what called MPI, and the kind of messages


@dataclass(slots=True, eq=False)
class _Sums:
    """What the ranks of a run did in one region, (p,) each."""

    time: Array  # [s]
    visits: Array  # of computing [1]
    iterations: Array  # of computing [1]
    sent: Array  # messages or calls [1]
    sent_bytes: Array  # [B]
    received: Array  # [1]
    received_bytes: Array  # [B]

    @property
    def calls(self) -> Array:
        """What was sent, or received where nothing was sent. [1]."""
        return np.where(self.sent > 0, self.sent, self.received)

    @property
    def volume(self) -> Array:
        """The bytes of it. [B]."""
        return np.where(self.sent > 0, self.sent_bytes, self.received_bytes)


@dataclass(slots=True, eq=False)
class _Parted:
    """One run in computing and messages."""

    run: CountedRun
    computing: dict[CallPath, _Sums] = field(default_factory=dict)
    messages: dict[Group, _Sums] = field(default_factory=dict)
    left_out: float = 0.0  # time in MPI_Init and MPI_Finalize, the most of a rank [s]
    others: dict[str, float] = field(default_factory=dict)  # by function, the most of a rank [s]

    def __post_init__(self) -> None:
        run = self.run
        left = np.zeros(run.p)
        for i, path in enumerate(run.paths):
            home, function = function_of(path)
            if function in LEFT_OUT:
                left += run.time[i]
                continue
            if function in KINDS:
                sums = self.messages.setdefault((home, KINDS[function]), _zeros(run.p))
            else:
                sums = self.computing.setdefault(home, _zeros(run.p))
            sums.time += run.time[i]
            if function and function not in KINDS:
                name = path[len(home)]
                self.others[name] = self.others.get(name, 0.0) + float(run.time[i].max())
            elif len(path) == len(home) + bool(function):
                for name in ("visits", "iterations", "sent", "sent_bytes", "received"):
                    getattr(sums, name)[:] += getattr(run, name)[i]
                sums.received_bytes += run.received_bytes[i]
        self.left_out = float(left.max())

    @property
    def spans(self) -> Array:
        """Time of each rank, without what is left out. [s]."""
        every = [*self.computing.values(), *self.messages.values()]
        return np.asarray(sum((x.time for x in every), np.zeros(self.run.p)) + self.run.outside)


def _zeros(p: int) -> _Sums:
    """Give sums of nothing yet."""
    return _Sums(*(np.zeros(p) for _ in range(7)))


def profiles_of(runs: Sequence[CountedRun]) -> tuple[list[RunProfile], list[str]]:
    """Give counted runs of one program as profiles of regions, and what must be known of them."""
    parted = [_Parted(run) for run in runs]
    in_all = set.intersection(*(set(of_run.computing) for of_run in parted))
    if not in_all:
        runs[-1].faults.refuse(
            "must have a call path of the other runs, got none of them. Characterise each program "
            "separately."
        )
    share = _shares(parted)
    kept = {path for path in in_all if share[path] >= LEAST or _has_iterations(path, parted)}
    notes = [*_notes(parted, {x for x in share if x not in in_all and share[x] >= LEAST})]
    for of_run in parted:
        _fold(of_run, kept)
    groups = [x for of_run in parted if of_run.run.p > 1 for x in of_run.messages]
    homes = [x for of_run in parted for x in of_run.computing]
    names = _names([*((x, "") for x in dict.fromkeys(homes)), *dict.fromkeys(groups)])
    shared = {path: _is_shared(path, parted) for path in dict.fromkeys(homes)}
    return [_profile(of_run, names, shared) for of_run in parted], notes


def _shares(parted: Sequence[_Parted]) -> dict[CallPath, float]:
    """Share of computing of each call path in the run where it is highest. [1]."""
    shares: dict[CallPath, float] = defaultdict(float)
    for of_run in parted:
        span = max(float(of_run.spans.max()), 1e-300)
        for path, sums in of_run.computing.items():
            shares[path] = max(shares[path], float(sums.time.max()) / span)
    return shares


def _has_iterations(path: CallPath, parted: Sequence[_Parted]) -> bool:
    return any(of_run.computing[path].iterations.any() for of_run in parted)


def _fold(of_run: _Parted, kept: set[CallPath]) -> None:
    """Add the computing of all other call paths to that of the nearest caller that is kept."""
    folded: dict[CallPath, _Sums] = {}
    for path, sums in of_run.computing.items():
        home = next((path[:i] for i in range(len(path), 0, -1) if path[:i] in kept), ())
        if home == path:
            sums.time += folded[home].time if home in folded else 0.0
            folded[home] = sums
        else:
            folded.setdefault(home, _zeros(of_run.run.p)).time += sums.time
    of_run.computing = {x: y for x, y in folded.items() if x or y.time.any()}


def _is_shared(path: CallPath, parted: Sequence[_Parted]) -> bool:
    """Tell whether all ranks together do as many iterations at every p, of two or more."""
    totals: dict[tuple[tuple[str, float], ...], dict[int, float]] = defaultdict(dict)
    for of_run in parted:
        if path in of_run.computing:
            key = tuple(sorted(of_run.run.parameters.items()))
            totals[key][of_run.run.p] = float(_counted(of_run.computing[path]).sum())
    several = [list(x.values()) for x in totals.values() if len(x) > 1]
    return bool(several) and all(min(x) == max(x) > 0 for x in several)


def _counted(sums: _Sums) -> Array:
    """Iterations where they are known, or else visits."""
    return sums.iterations if sums.iterations.any() else sums.visits


def _names(keys: Sequence[Group]) -> dict[Group, str]:
    """Name regions by the last part of their call path, or all of it where several have that."""

    def name(key: Group, *, is_short: bool) -> str:
        path, kind = key
        label = path[-1] if path and is_short else JOIN.join(path)
        label = "".join(x if x.isprintable() else "?" for x in label).strip()
        return f"{label or 'program'} {kind}" if kind else label or OUTSIDE

    short = {key: name(key, is_short=True) for key in keys}
    often = Counter(short.values())
    names = {x: y if often[y] == 1 else name(x, is_short=False) for x, y in short.items()}
    often = Counter(names.values())
    return {
        x: y if often[y] == 1 else f"{y} ({i})" for i, (x, y) in enumerate(names.items(), start=1)
    }


def _profile(
    of_run: _Parted, names: Mapping[Group, str], shared: Mapping[CallPath, bool]
) -> RunProfile:
    run, spans = of_run.run, of_run.spans
    totals: list[list[RegionTotal]] = [[] for _ in range(run.p)]
    for path, sums in of_run.computing.items():
        for rank, total in enumerate(_computing(names[path, ""], sums, is_shared=shared[path])):
            totals[rank] += [total] if total.wall > 0 or total.entries or not path else []
    for group, name in names.items():
        if not group[1] or (group not in of_run.messages and run.p == 1):
            continue
        is_there = group in of_run.messages
        for rank, total in enumerate(
            _messages(name, group[1], of_run.messages.get(group) or _zeros(run.p))
        ):
            # A run without such messages has 0 calls.
            is_told = total.wall > 0 or total.calls > 0 or (rank == 0 and not is_there)
            totals[rank] += [total] if is_told else []
    ranks = tuple(
        RankRecord(
            program=run.program or "program",
            rank=rank,
            p=run.p,
            begun=0.0,
            span=float(spans[rank]),
            entry=0.0,
            other_threads=0,
            parameters=run.parameters,
            regions=tuple(totals[rank]),
            host=run.host,
            is_wall_only=True,
        )
        for rank in range(run.p)
    )
    return RunProfile(ranks=ranks, place=run.faults.path)


def _computing(name: str, sums: _Sums, *, is_shared: bool) -> Iterator[RegionTotal]:
    counted = _counted(sums)
    if not is_shared:
        entries, iterations = counted, np.zeros_like(counted)
    else:
        entries = sums.visits if sums.iterations.any() else np.minimum(counted, 1.0)
        iterations = counted
    for time, passes, count in zip(sums.time, entries, iterations, strict=True):
        yield total_of(name, "compute", float(time), round(passes), iterations=float(count))


def _messages(name: str, kind: str, sums: _Sums) -> Iterator[RegionTotal]:
    in_file = "send" if kind == EXCHANGE else kind
    for time, calls, volume in zip(sums.time, sums.calls, sums.volume, strict=True):
        yield total_of(
            name, in_file, float(time), round(calls), calls=float(calls), volume=float(volume)
        )


def total_of(
    name: str,
    kind: str,
    time: float,
    entries: int,
    *,
    iterations: float = 0.0,
    calls: float = 0.0,
    volume: float = 0.0,
) -> RegionTotal:
    """Totals of a region on one rank, of which only the wall time is known."""
    return RegionTotal(
        name=name,
        kind=kind,
        entries=entries,
        wall=time,
        processor=time if kind == "compute" else 0.0,
        squares=0.0,
        iterations=iterations,
        calls=calls,
        volume=volume,
    )


def _notes(parted: Sequence[_Parted], not_in_all: set[CallPath]) -> Iterator[str]:
    """Say what is left out, and what counts with something else."""
    yield from dict.fromkeys(note for of_run in parted for note in of_run.run.notes)
    left = [x.left_out / max(float(x.spans.max()), 1e-300) for x in parted]
    if max(left) >= LEAST:
        worst = parted[int(np.argmax(left))]
        yield (
            f"MPI_Init and MPI_Finalize take up to {worst.left_out:.3g} s of a run (p = "
            f"{worst.run.p}) and are left out."
        )
    others: dict[str, float] = defaultdict(float)
    for of_run in parted:
        for name, time in of_run.others.items():
            others[name] = max(others[name], time / max(float(of_run.spans.max()), 1e-300))
    if named := [x for x in others if others[x] >= LEAST]:
        yield (
            "Counted as computing, as nothing is known of their bytes: "
            f"{listed(named, MOST_NAMED)}, up to {percent(max(others.values()))} of a run."
        )
    if not_in_all:
        paths = listed(sorted(f'"{shown(JOIN.join(x))}"' for x in not_in_all), MOST_NAMED)
        yield f"Not in every run, so counted with their callers: call paths {paths}."
