"""Profiles of TALP as runs of regions.

TALP tells of each region its useful time, the time in MPI and the number of calls, but neither
what is called nor bytes. So of each region two are made: what is useful, and the rest of its
elapsed time, in MPI and waiting, whose dependence on p follows from the times [D]::

    useful time of a rank    usefulTime / numCpus on average, maxUsefulNormdProc at most
    the rest                 elapsedTime - useful time of the rank with most

The ranks but that with most share what remains equally, unless the file has each process. What the
whole run has beside its other regions is a region too; they are taken not to lie in each other,
which no file says.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.characterisation.profiles.regions import OUTSIDE, total_of
from parcast.files.faults import AnyPath, Faults
from parcast.files.numbers import is_number, whole
from parcast.importers.talp import IN_A_SECOND, WHOLE, TalpRegion, counted_by_cpus, regions_of
from parcast.timings.profile import RankRecord, RegionTotal, RunProfile
from parcast.units import shown

NOT_USEFUL: Final = "MPI and waiting"
SLACK: Final = 0.01  # share by which times may exceed those around them, by rounding [D]
NOTE: Final = (
    "TALP reports neither kinds nor bytes of messages: time in MPI is taken as measured, as work "
    "of the machine of the runs. For other machines give profiles of Caliper, Score-P or parcast."
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Spent:
    """What the ranks spent in a region."""

    elapsed: float  # [s]
    useful: Array  # of each, (p,) [s]
    visits: int  # [1]


def of_talp(paths: Sequence[AnyPath]) -> tuple[list[RunProfile], list[str]]:
    """Read runs that TALP measured, and say what is taken for granted."""
    every = []
    for path in paths:
        faults = Faults(os.fspath(path))
        every.append((faults, list(regions_of(path, faults))))
    by_cpus, notes = counted_by_cpus([x for _, regions in every for x in regions])
    spent = [_spent_in(regions, faults, by_cpus=by_cpus) for faults, regions in every]
    took = {
        name: (any(x[name].useful.any() for x in spent if name in x), any(map(_rest, of_name)))
        for name in dict.fromkeys(name for x in spent for name in x)
        if (of_name := [x[name] for x in spent if name in x])
    }
    runs = [
        _run(of_run, took, faults, regions)
        for of_run, (faults, regions) in zip(spent, every, strict=True)
    ]
    return runs, [*notes, NOTE]


def _rest(spent: _Spent) -> float:
    """Time of a region in which the rank with most useful time had none. [s]."""
    return max(spent.elapsed - float(spent.useful.max()), 0.0)


def _spent_in(
    regions: Sequence[TalpRegion], faults: Faults, *, by_cpus: bool
) -> dict[str, _Spent]:
    """Give what was spent in each region, of the whole run only what is in no other."""
    spent: dict[str, _Spent] = {}
    for region in regions:
        p = region.cpus if by_cpus else region.ranks or region.cpus
        if p is None:
            faults.refuse(
                "must have numMpiRanks or numCpus of at least 1, got neither. Measure it again.",
                field=region.field,
            )
        spent[region.name] = _spent(region, p, faults)
    name = next((x for x in WHOLE if x in spent), None)
    if name is None or len(spent) == 1:
        return spent
    of_run = spent.pop(name)
    elapsed = of_run.elapsed - sum(x.elapsed for x in spent.values())
    useful = of_run.useful.mean() - sum(float(x.useful.mean()) for x in spent.values())
    if min(elapsed, useful) < -SLACK * of_run.elapsed:
        faults.refuse(
            f"must have regions that do not lie in each other, got some that together take longer "
            f'than "{name}". Measure with one level of regions.'
        )
    elapsed = max(elapsed, 0.0)
    share = np.full_like(of_run.useful, min(max(useful, 0.0), elapsed))
    return spent | {OUTSIDE: _Spent(elapsed=elapsed, useful=share, visits=1)}


def _spent(region: TalpRegion, p: int, faults: Faults) -> _Spent:
    record, processes = region.record, region.processes
    if processes and len(processes) != p:
        faults.refuse(
            f"must have each of {p} processes, got {len(processes)}. Measure the run again.",
            field=region.field,
        )
    elapsed = _seconds(record, "elapsedTime", region, faults)
    cpus = (region.cpus or p) / p  # of each
    if processes:
        times = [_seconds(x, "usefulTime", region, faults) for x in processes]
        useful = np.array(times) / cpus
    else:
        useful = _of_ranks(record, region, p, elapsed, faults)
    if useful.max() > elapsed * (1 + SLACK):
        faults.refuse(
            f"must have no more usefulTime on a CPU than elapsedTime, got {useful.max():.4g} s in "
            f"{elapsed:.4g} s. Measure the run again.",
            field=region.field,
        )
    if p == 1:  # a lone rank waits for nobody: its calls are work
        useful = np.array([elapsed])
    visits = whole(record.get("numMeasurements"), least=1) or 1
    return _Spent(elapsed=elapsed, useful=np.minimum(useful, elapsed), visits=visits)


def _of_ranks(
    record: Mapping[str, Any], region: TalpRegion, p: int, elapsed: float, faults: Faults
) -> Array:
    """Useful time of each rank, from its mean and that of the one with most, (p,) [s]."""
    efficiency, balance = (record.get(x) for x in ("parallelEfficiency", "mpiLoadBalance"))
    if "usefulTime" not in record and is_number(efficiency):
        mean = float(efficiency) * elapsed
    else:
        mean = _seconds(record, "usefulTime", region, faults) / (region.cpus or p)
    most = mean
    if is_number(record.get("maxUsefulNormdProc")):
        most = _seconds(record, "maxUsefulNormdProc", region, faults)
    elif is_number(balance) and balance > 0:
        most = mean / float(balance)
    most = min(max(most, mean), max(elapsed, mean), p * mean)
    useful = np.full(p, (p * mean - most) / max(p - 1, 1))
    useful[0] = most
    return useful


def _seconds(record: Mapping[str, Any], key: str, region: TalpRegion, faults: Faults) -> float:
    """Take a time. [s]."""
    value = record.get(key)
    if not is_number(value) or value < 0:
        faults.refuse(
            f"must have a {key} of at least 0, in nanoseconds, got {shown(repr(value))}. Measure "
            "it again.",
            field=region.field,
        )
    return float(value) / IN_A_SECOND


def _run(
    spent: Mapping[str, _Spent],
    took: Mapping[str, tuple[bool, bool]],
    faults: Faults,
    regions: Sequence[TalpRegion],
) -> RunProfile:
    """Write one run as a profile has it; what took no time in any run is left out."""
    p = len(next(iter(spent.values())).useful)
    hosts = (x.get("hostname") for region in regions for x in region.processes)
    ranks = tuple(
        RankRecord(
            program="program",
            rank=rank,
            p=p,
            begun=0.0,
            span=sum(float(x.useful[rank]) + _rest(x) for x in spent.values()),
            entry=0.0,
            other_threads=0,
            parameters={},
            regions=tuple(_totals(spent, took, rank)),
            host=str(next(filter(None, hosts), "")) if rank == 0 else "",
            is_wall_only=True,
        )
        for rank in range(p)
    )
    return RunProfile(ranks=ranks, place=faults.path)


def _totals(
    spent: Mapping[str, _Spent], took: Mapping[str, tuple[bool, bool]], rank: int
) -> Iterator[RegionTotal]:
    for name, of_region in spent.items():
        is_useful, is_waiting = took[name]
        if is_useful:
            time = float(of_region.useful[rank])
            yield total_of(name, "compute", time, of_region.visits)
        if is_waiting:
            yield total_of(f"{name} {NOT_USEFUL}", "compute", _rest(of_region), of_region.visits)
