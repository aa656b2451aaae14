"""The efficiencies of the POP project, from what each rank of some runs computed.

With C_i the useful time of rank i, outside communication, p ranks and the elapsed time T of a
run [1]_::

    parallel efficiency         PE = mean C / T = LB * CommE                             [S]
    load balance                LB = mean C / max C                                      [S]
    communication efficiency    CommE = max C / T                                        [S]
    computation scalability     CompE = sum C at the smallest p / sum C  (strong)        [S]
                                CompE = mean C at the smallest p / mean C  (weak)        [S]
    global efficiency           GE = PE * CompE                                          [S]

Of a hybrid program LB and CommE are those of its ranks, and what else PE loses is the efficiency
of the threads, PE / (LB * CommE) [2]_.

References
----------
.. [1] POP Centre of Excellence, "POP standard metrics for parallel performance analysis,"
   https://pop-coe.eu/node/69.
.. [2] DLB, "TALP: Tracking Application Live Performance," https://pm.bsc.es/ftp/dlb/doc/user-guide/.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.aliases import Array

EFFICIENCIES: Final = (
    *("global_efficiency", "parallel_efficiency", "load_balance", "communication_efficiency"),
    *("thread_efficiency", "computation_scalability"),
)
GROWTH: Final = 0.75  # of instructions over that of processors, from which scaling is weak [R]


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionUse:
    """What the ranks of one run did in a region, or in all of it; NaN where not measured."""

    region: str  # "" for the whole run
    p: int  # ranks, or processors where these have threads [1]
    elapsed: float  # of the slowest rank [s]
    useful: float  # mean over the processors [s]
    busiest: float  # useful time of the rank that has most [s]
    thread_efficiency: float = 1.0  # of the threads of a rank [1]
    instructions: float = np.nan  # useful ones, of all processors [1]
    lost: float = np.nan  # processor time not useful in a single region, of all processors [s]
    why: str = ""  # what it is lost to: "messages", "files", "imbalance"
    is_waited: bool = False  # whether others wait for it, and their messages count it
    outside: float = 0.0  # share of the time of a run that is in no region [1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Efficiencies:
    """Efficiencies of a region at some counts, (counts,) each; NaN where not measured."""

    p: Array  # ascending [1]
    elapsed: Array  # median over the runs of a count [s]
    values: dict[str, Array]  # by name, those of `EFFICIENCIES` [1]
    spread: dict[str, Array]  # half-width of the 90% interval of the logarithm; NaN of one run
    runs: Array  # of each count [1]


def efficiencies_of(runs: Sequence[RegionUse], *, is_weak: bool) -> Efficiencies:
    """Efficiencies at each count of some runs: medians, and the spread of repetitions."""
    p = np.array([x.p for x in runs], dtype=np.float64)
    elapsed, useful, busiest, threads = (
        np.array([getattr(x, name) for x in runs], dtype=np.float64)
        for name in ("elapsed", "useful", "busiest", "thread_efficiency")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        parallel = useful / elapsed
        of_ranks = busiest / elapsed
        balance = parallel / (of_ranks * threads)
    counts = np.unique(p)
    total = useful if is_weak else useful * p
    reference = float(np.median(total[p == counts[0]]))
    with np.errstate(divide="ignore", invalid="ignore"):
        scalability = reference / total
    each = {
        "global_efficiency": parallel * scalability,
        "parallel_efficiency": parallel,
        "load_balance": balance,
        "communication_efficiency": of_ranks,
        "thread_efficiency": threads,
        "computation_scalability": scalability,
    }
    values, spread = {}, {}
    for name, x in each.items():
        groups = [x[p == count] for count in counts]
        values[name] = np.array([np.median(group) for group in groups])
        spread[name] = np.array([_half_width(group) for group in groups])
    return Efficiencies(
        p=counts,
        elapsed=np.array([np.median(elapsed[p == count]) for count in counts]),
        values=values,
        spread=spread,
        runs=np.array([(p == count).sum() for count in counts]),
    )


def _half_width(values: Array) -> float:
    """Half-width of the 90% interval of the mean logarithm, by Student's t; NaN of one value."""
    if len(values) < 2 or not np.all(values > 0):
        return float("nan")
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # SciPy ships no types

    logs = np.log(values)
    return float(stdtrit(len(logs) - 1, 0.95) * logs.std(ddof=1) / np.sqrt(len(logs)))


def is_weak_by_instructions(runs: Sequence[RegionUse]) -> bool:
    """Whether instructions grow with the processors, as `talp-pages` takes it."""
    counts = sorted({x.p for x in runs})
    means = [np.mean([x.instructions for x in runs if x.p == count]) for count in counts]
    if len(counts) < 2 or not means[0] > 0:
        return False
    growth = [m / means[0] / (count / counts[0]) for m, count in zip(means, counts, strict=True)]
    return bool(np.all(np.array(growth) >= GROWTH))
