"""What profiles say of useful time: those of `parcast.region`, of TALP, Caliper and Score-P.

A rank of a `parcast.region` profile is useful outside its regions of messages and files, so that
messages in no region count as computing, which is said. A rank of a Caliper or Score-P profile is
useful outside the functions of MPI, what these call, and barriers of OpenMP. TALP measures useful
time itself.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parcast.aliases import Array
from parcast.characterisation.profiles.counted import MESSAGES
from parcast.characterisation.profiles.reading import kind_of_profile
from parcast.deciding.explain.profiles.efficiencies import (
    RegionUse,
    is_weak_by_instructions,
)
from parcast.errors import ParameterError
from parcast.files.faults import AnyPath, Faults, as_paths
from parcast.files.numbers import is_number
from parcast.importers.caliper import EXCLUSIVE, chosen_column, records_of
from parcast.importers.call_profile import JOIN
from parcast.importers.cubex import times_of
from parcast.importers.talp import IN_A_SECOND, WHOLE, TalpRegion, regions_of
from parcast.timings.profile import LOOP_KINDS, RunProfile
from parcast.timings.series import Key
from parcast.units import shown

NAN = float("nan")
BARRIER = re.compile(r"!\$omp (implicit )?barrier")  # as Score-P names those of OpenMP
OF_RANKS = ("mpiCommunicationEfficiency", "communicationEfficiency")
BALANCE = ("mpiLoadBalance", "loadBalance")
OF_MPI = ("mpiParallelEfficiency",)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfiledRuns:
    """Runs of one problem at some counts."""

    key: Key  # parameters of the problem, where several were profiled
    uses: tuple[RegionUse, ...]
    is_weak: bool  # whether the problem grows with the processors, as far as that is known


def profiled(paths: AnyPath | Sequence[AnyPath]) -> tuple[list[ProfiledRuns], list[str]]:
    """Read profiles: runs of each problem, and notes."""
    listed = as_paths(paths, hint="Name profiles.")
    kinds = {kind_of_profile(path) for path in listed}
    if kinds == {"talp"}:
        uses = tuple(use for path in listed for use in _of_talp(path))
        return [ProfiledRuns(key={}, uses=uses, is_weak=is_weak_by_instructions(uses))], []
    if kinds in ({"caliper"}, {"cubex"}):
        of_one = _of_caliper if kinds == {"caliper"} else _of_cubex
        uses = tuple(use for path in listed for use in of_one(path))
        return [ProfiledRuns(key={}, uses=uses, is_weak=False)], []
    if kinds != {"region"}:
        others = [os.fspath(x) for x in listed if not kind_of_profile(x)]
        raise ParameterError(
            "profiles",
            must="all be of parcast.region, all of TALP, of Score-P, or of Caliper with ranks",
            got=shown(", ".join(others)) or "several of these",
            hint="Explain them apart.",
        )
    from parcast.timings.read_profiles import read_profiles

    read = read_profiles(listed)
    return list(_by_problem(read.runs)), [*read.notes]


def _by_problem(runs: Sequence[RunProfile]) -> Iterator[ProfiledRuns]:
    """Group runs by their parameters, but for those that go with the count of processors."""
    counts = {run.p for run in runs}
    names = sorted({name for run in runs for name in run.parameters})
    values = {
        name: {p: {run.parameters.get(name) for run in runs if run.p == p} for p in counts}
        for name in names
    }
    several = [name for name in names if any(len(x) > 1 for x in values[name].values())]
    follows = [
        name
        for name in names
        if name not in several and len({next(iter(x)) for x in values[name].values()}) > 1
    ]
    groups: dict[tuple[float | None, ...], list[RunProfile]] = {}
    for run in runs:
        groups.setdefault(tuple(run.parameters.get(name) for name in several), []).append(run)
    for key, those in groups.items():
        yield ProfiledRuns(
            key={name: x for name, x in zip(several, key, strict=True) if x is not None},
            uses=tuple(use for run in those for use in _of_run(run)),
            is_weak="n" in follows,
        )


def _of_run(run: RunProfile) -> Iterator[RegionUse]:
    """What the ranks of a run did: in all of it, and in each region."""
    elapsed, p = run.time, run.p
    useful = [
        max(rank.span - sum(x.wall for x in rank.regions if x.kind not in LOOP_KINDS), 0.0)
        for rank in run.ranks
    ]
    inside = sum(x.wall for rank in run.ranks for x in rank.regions)
    spans = sum(rank.span for rank in run.ranks)
    yield RegionUse(
        region="",
        p=p,
        elapsed=elapsed,
        useful=sum(useful) / p,
        busiest=max(useful),
        outside=max(1.0 - inside / spans, 0.0) if spans > 0 else 0.0,
    )
    for name, totals in run.by_region().items():
        walls = [0.0 if x is None else x.wall for x in totals]
        kind = next(x.kind for x in totals if x is not None)
        is_useful = kind in LOOP_KINDS
        most, total = max(walls), sum(walls)
        yield RegionUse(
            region=name,
            p=p,
            elapsed=most,
            useful=total / p if is_useful else 0.0,
            busiest=most if is_useful else 0.0,
            lost=p * most - total if is_useful else total,
            why="imbalance" if is_useful else "files" if kind in ("read", "write") else "messages",
            is_waited=is_useful,
        )


def _of_caliper(path: AnyPath) -> Iterator[RegionUse]:
    """What the ranks of a run did by its call paths, of which those of MPI are not useful."""
    faults = Faults(os.fspath(path))
    records = records_of(Path(os.fspath(path)), faults)
    profile = records.profile(chosen_column(records.columns, EXCLUSIVE, faults))
    paths, times = profile.times.on_ranks()
    ranks = times.shape[1]
    p = profile.p or ranks
    if ranks < p:
        faults.refuse(f"must have times of all {p} ranks, got {ranks}. Profile the run again.")
    yield from _of_calls([JOIN.join(x) for x in paths], times, p)


def _of_cubex(path: AnyPath) -> Iterator[RegionUse]:
    """What the processes and threads of a run did by its call paths; each counts in p."""
    faults = Faults(os.fspath(path))
    times, _, _ = times_of(Path(os.fspath(path)), faults, EXCLUSIVE)
    every = np.stack(list(times.values()))
    yield from _of_calls(list(times), np.maximum(every, 0.0), every.shape[1])


def _of_calls(paths: Sequence[str], times: Array, p: int) -> Iterator[RegionUse]:
    """What ranks did by exclusive times of call paths, (paths, ranks) [s]."""
    calls = [x.split(JOIN) for x in paths]
    is_message = np.array([any(map(MESSAGES.match, x)) for x in calls], dtype=bool)
    is_barrier = np.array([any(map(BARRIER.match, x)) for x in calls], dtype=bool) & ~is_message
    is_lost = is_message | is_barrier
    elapsed = float(times.sum(axis=0).max())
    useful = times[~is_lost].sum(axis=0) if is_lost.any() or p == 1 else np.full(1, NAN)
    yield RegionUse(
        region="",
        p=p,
        elapsed=elapsed,
        useful=float(useful.mean()),
        busiest=float(useful.max()),
    )
    for name, own, waits, sends in zip(
        paths, times, is_lost.tolist(), is_message.tolist(), strict=True
    ):
        most, total = float(own.max()), float(own.sum())
        yield RegionUse(
            region=name,
            p=p,
            elapsed=most,
            useful=0.0 if waits else total / p,
            busiest=0.0 if waits else most,
            lost=total if waits else p * most - total,
            why="messages" if sends else "imbalance",
            is_waited=not waits,
        )


def _of_talp(path: AnyPath) -> Iterator[RegionUse]:
    """What TALP measured in each region of a run; the whole run is without a name."""
    faults = Faults(os.fspath(path))
    regions = list(regions_of(path, faults))
    whole = next((x.name for name in WHOLE for x in regions if x.name == name), None)
    if whole is None:
        whole = max(regions, key=lambda x: _number(x.record, "elapsedTime")).name
    for region in regions:
        yield _use_of(region, faults, is_whole=region.name == whole)


def _use_of(region: TalpRegion, faults: Faults, *, is_whole: bool) -> RegionUse:
    """Take the metrics of one region."""
    record = region.record
    p = region.cpus or region.ranks
    elapsed = _number(record, "elapsedTime") / IN_A_SECOND
    if p is None or not elapsed > 0:
        faults.refuse(
            "must have numCpus or numMpiRanks and an elapsedTime above 0. Measure it again.",
            field=region.field,
        )
    parallel = _share(record, ("parallelEfficiency",))
    useful = _number(record, "usefulTime") / IN_A_SECOND / p
    if not useful > 0:
        useful = parallel * elapsed
    elif not parallel > 0:
        parallel = useful / elapsed
    communication, balance = _share(record, OF_RANKS), _share(record, BALANCE)
    of_mpi = _share(record, OF_MPI)
    of_mpi = of_mpi if of_mpi > 0 else communication * balance
    return RegionUse(
        region="" if is_whole else region.name,
        p=p,
        elapsed=elapsed,
        useful=parallel * elapsed if parallel > 0 else useful,
        busiest=communication * elapsed,
        thread_efficiency=parallel / of_mpi if of_mpi > 0 else NAN,
        instructions=_number(record, "instructions"),
        lost=(1.0 - parallel) * elapsed * p,
        why="imbalance" if balance < communication else "messages",
    )


def _number(record: dict[str, Any], key: str) -> float:
    """Take a number, NaN where there is none."""
    value = record.get(key)
    return float(value) if is_number(value) else NAN


def _share(record: dict[str, Any], keys: Sequence[str]) -> float:
    """Take the first efficiency that is there."""
    return next((float(record[key]) for key in keys if is_number(record.get(key))), NAN)
