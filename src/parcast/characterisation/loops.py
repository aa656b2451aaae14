"""Loops of a program: time and number of their iterations, from the passes that were timed.

    E(run) = max over ranks of the time / max over ranks of the iterations                  [D]

so that E * ceil(I / P) is the time of the slowest rank, as a region's time is the maximum over the
processors. Where the rank with the most has more than ceil(I / P), I is P times what it has. The
unit times of a complex loop follow from one row for each rank of each run, [S] (2) to (5). Its
time is that of the rank whose own counts take longest together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.characterisation.runs import RegionRuns
from parcast.descriptions.amount import WIDEST
from parcast.errors import FitFailed
from parcast.laws.count_formulas import CountFormula, count_formula, work_formulas
from parcast.laws.counters import unit_times
from parcast.show.warning import RankedWarning
from parcast.timings.profile import RegionTotal

UNEVEN: Final = 0.01  # share by which the most may exceed an even share unnoticed [D]
OF_MEDIAN: Final = np.pi / 2  # its variance over that of the mean, normal law
LEAST_SPREAD: Final = 0.001  # that is written [1]
SHARES: Final = 1e6  # into which work without iterations is divided [1] [D]
MOST_SMALL: Final = 200  # small regions of a complex loop
CLOCKS: Final = ("processor", "wall")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DescribedLoop:
    """A loop as the program file has it."""

    name: str
    kind: str  # "loop" or "replicated"
    calls: CountFormula
    iterations: CountFormula
    iteration: CountFormula  # time of one [s]
    spread: float  # half-width of the 90% interval of that time over itself [1]
    unit_time: Array  # of one, in each run [s]
    time: Array  # of all on the rank with the most, in each run [s]
    work: CountFormula | None = None  # time of a call, where no iterations were counted [s]
    residual: float | None = None  # of the whole loop that it is a small region of [1]
    warnings: tuple[str, ...] = ()


def simple_loop(region: RegionRuns, clock: str) -> DescribedLoop:
    """Loop whose iterations are equal."""
    kind = "replicated" if region.kind == "replicated" else "loop"
    time, most = region.most(clock), region.most("iterations")
    ran = (time > 0) & (most > 0)
    if not ran.any():
        raise FitFailed(
            f'Region "{region.name}" has no iterations that took time: there is nothing to '
            "characterise. Leave it out, or give its iterations and let it run longer."
        )
    calls = _calls(region)
    each = calls(region.p, _sizes(region))
    warnings = [*_uneven(region, kind), *_faster(region, clock)]
    if kind == "replicated":
        counted = most / each
    else:
        total = region.all_together("iterations")
        even = each * np.ceil(total / each / region.p - 1e-9)
        is_uneven = np.any(most > even * (1 + UNEVEN))
        counted = (most * region.p if is_uneven else total) / each
    one = np.divide(time, most, out=np.zeros_like(time), where=ran)
    return DescribedLoop(
        name=region.name,
        kind=kind,
        calls=calls,
        iterations=count_formula(counted, region.p, region.n),
        iteration=count_formula(
            one[ran], region.p[ran], None if region.n is None else region.n[ran], smooth=True
        ),
        spread=_spread(region, one, ran),
        unit_time=one,
        time=time,
        warnings=tuple(warnings),
    )


def is_counted(region: RegionRuns, clock: str) -> bool:
    """Whether iterations of a region were counted, as far as it took time."""
    took_time = region.most(clock).any()
    return region.kind != "compute" or not took_time or bool(region.most("iterations").any())


def work_of(region: RegionRuns, clock: str) -> list[DescribedLoop]:
    """Loops for work whose iterations nobody counted: what is shared, and what all repeat."""
    calls, sizes = _calls_at_all_p(region), _sizes(region)
    passes = calls(region.p, sizes)
    time = region.most(clock) / passes
    ran = time > 0
    p, n = region.p[ran], None if region.n is None else region.n[ran]
    shared, repeated = work_formulas(time[ran], p, n)
    parts = {
        "loop": np.zeros_like(time) if shared is None else shared(region.p, sizes) / region.p,
        "replicated": np.zeros_like(time) if repeated is None else repeated(region.p, sizes),
    }
    model = sum(parts.values())
    spread = _of_spreads((time / model)[ran], figures=1 + (None not in (shared, repeated)))
    loops = []
    for kind, formula, shares in (("loop", shared, SHARES), ("replicated", repeated, 1.0)):
        if formula is not None:
            is_second = kind == "replicated" and shared is not None
            own, of_one = time * parts[kind] / model, shares / region.p if kind == "loop" else 1.0
            loops.append(
                DescribedLoop(
                    name=f"{region.name} on every rank" if is_second else region.name,
                    kind=kind,
                    calls=calls,
                    iterations=count_formula([shares], [1.0]),
                    iteration=formula.scaled(1.0 / shares),
                    spread=spread,
                    unit_time=own / of_one,
                    time=own * passes,
                    work=formula,
                )
            )
    return loops


def complex_loop(region: RegionRuns, clock: str) -> tuple[list[DescribedLoop], float]:
    """Small regions inside a loop, each as its own loop, and the condition of their counts."""
    names = sorted({name for ranks in region.ranks for x in ranks if x for name in x.counts})
    rows = [x for ranks in region.ranks for x in ranks if x and getattr(x, clock) > 0]
    if not names or not rows:
        raise FitFailed(
            f'Region "{region.name}" is a complex loop without counts that took time. Give '
            "counts={...} or call count() in it, or make it of kind compute."
        )
    if len(names) > MOST_SMALL:
        raise FitFailed(
            f'Region "{region.name}" counts {len(names):,} small regions; their times are '
            f"determined for up to {MOST_SMALL}. Join small regions."
        )
    if len(rows) < len(names):
        raise FitFailed(
            f'Region "{region.name}" counts {len(names)} small regions, but all runs together '
            f"have only {len(rows)} ranks to determine their times from. Make more runs, or join "
            "small regions."
        )
    matrix = np.array([[x.counts.get(name, 0.0) for name in names] for x in rows])
    try:
        solved = unit_times(matrix, [getattr(x, clock) for x in rows])
    except FitFailed as refusal:
        raise FitFailed(f'Region "{region.name}": {refusal}') from refusal
    warnings = [
        f'The time of "{names[k]}" in region "{region.name}" depends on a single rank of one '
        "run. Make more runs in which its count differs."
        for k, run in enumerate(solved.fit.hangs_on)
        if run is not None
    ]
    spread = _of_spreads(solved.fit.residuals + 1.0, figures=len(names))
    residual = float(np.sqrt(np.mean(np.square(solved.fit.residuals))))
    units = dict(zip(names, map(float, solved.fit.coefficients), strict=True))
    slowest = _slowest(region, units)
    loops = [
        replace(_small_loop(region, name, unit, spread, slowest), residual=residual)
        for name, unit in units.items()
    ]
    loops[0] = replace(loops[0], warnings=tuple(warnings))  # of all of them
    return loops, solved.condition


def _counts_of(region: RegionRuns, name: str) -> list[Array]:
    """How often every rank passed a small region, an array for each run."""
    return [
        np.array([0.0 if x is None else x.counts.get(name, 0.0) for x in ranks])
        for ranks in region.ranks
    ]


def _slowest(region: RegionRuns, units: Mapping[str, float]) -> list[int]:
    """Number of the rank whose small regions take longest together, in each run."""
    times = [np.zeros(len(ranks)) for ranks in region.ranks]
    for name, unit in units.items():
        counts = _counts_of(region, name)
        times = [x + unit * own for x, own in zip(times, counts, strict=True)]
    return [int(np.argmax(time)) for time in times]


def _small_loop(
    region: RegionRuns, name: str, unit: float, spread: float, slowest: Sequence[int]
) -> DescribedLoop:
    """One small region of a complex loop, by the counts of the slowest rank of each run."""
    by_rank = _counts_of(region, name)
    total = np.array([counts.sum() for counts in by_rank])
    most = np.array([counts[rank] for counts, rank in zip(by_rank, slowest, strict=True)])
    even = total / region.p
    is_uneven = np.any(np.abs(most - even) > np.maximum(UNEVEN * even, 1.0))
    counted = most * region.p if is_uneven else total
    once = count_formula([1.0], [1.0])
    return DescribedLoop(
        name=f"{region.name} {name}",
        kind="loop",
        calls=once,
        iterations=count_formula(counted, region.p, region.n),
        iteration=count_formula([unit], [1.0]),
        spread=spread,
        unit_time=np.full(len(region.p), unit),
        time=unit * most,
    )


def _sizes(region: RegionRuns) -> Array:
    """Sizes of the runs; ones where the program has none."""
    return np.ones_like(region.p) if region.n is None else region.n


def _calls(region: RegionRuns) -> CountFormula:
    """How often a loop is run, where all ranks run it as often and a formula says it; else 1."""
    entries = region.of_ranks("entries")
    if all(1 <= x.min() == x.max() for x in entries):
        formula = count_formula(region.most("entries"), region.p, region.n)
        if formula.is_exact:
            return formula
    return count_formula([1.0], [1.0])


def _calls_at_all_p(region: RegionRuns) -> CountFormula:
    """How often a loop is run, where that does not depend on p; else 1, for all its passes."""
    sizes, entries = _sizes(region), region.most("entries")
    if all(len(np.unique(entries[sizes == size])) == 1 for size in np.unique(sizes)):
        return _calls(region)
    return count_formula([1.0], [1.0])


def _uneven(region: RegionRuns, kind: str) -> list[str]:
    """Say how unequal the iterations of the ranks are, where it is more than rounding."""
    most, mean = region.most("iterations"), region.mean("iterations")
    passes = np.maximum(region.most("entries"), 1.0)
    even = mean
    if kind == "loop":
        even = passes * np.ceil(region.all_together("iterations") / passes / region.p - 1e-9)
    ratio = np.divide(most, even, out=np.ones_like(most), where=even > 0)
    worst = int(np.argmax(ratio))
    if ratio[worst] <= 1 + UNEVEN:
        return []
    over_mean = most[worst] / mean[worst]
    return [
        RankedWarning(
            f'The iterations of region "{region.name}" are unevenly distributed: at p = '
            f"{region.p[worst]:g} the rank with the most has {over_mean:.3g} times the mean. The "
            "time of this rank is used.",
            kind="uneven",
            size=over_mean,
        )
    ]


def _faster(region: RegionRuns, clock: str) -> list[str]:
    """Say where ranks that had as many iterations took other times."""
    times, iterations = region.of_ranks(clock), region.of_ranks("iterations")
    worst, place = 1.0, 0.0
    for p, time, count in zip(region.p, times, iterations, strict=True):
        worked = (time > 0) & (count >= 1)
        if worked.sum() > 1:
            one = time[worked] / count[worked]
            ratio = float(one.max() / one.mean())
            worst, place = max((worst, place), (ratio, float(p)))
    if worst <= 1 + 10 * UNEVEN:
        return []
    return [
        RankedWarning(
            f'Ranks differ in speed in region "{region.name}": at p = {place:g} an iteration of '
            f"the slowest takes {worst:.3g} times the mean.",
            kind="unequal",
            size=worst,
        )
    ]


def _spread(region: RegionRuns, one: Array, ran: NDArray[np.bool_]) -> float:
    """Half-width of the 90% interval of the time of an iteration, over its value. [1]."""
    formula = count_formula(
        one[ran], region.p[ran], None if region.n is None else region.n[ran], smooth=True
    )
    sizes = _sizes(region)
    if ran.sum() > 1:
        return _of_spreads(one[ran] / formula(region.p[ran], sizes[ran]))
    passes = [x for ranks in region.ranks for x in ranks if x is not None and x.entries > 1]
    return max(map(_of_passes, passes), default=0.0)


def _of_passes(total: RegionTotal) -> float:
    """How well the passes of one run tell their mean."""
    mean = total.wall / total.entries
    variance = max(total.squares / total.entries - mean**2, 0.0)
    return float(min(1.645 * np.sqrt(variance / total.entries) / mean, WIDEST)) if mean else 0.0


def _of_spreads(ratio: Array, *, figures: int = 1) -> float:
    """Half-width of the 90% interval of one more run, by Student's law. [1].

    Each of the `figures` that the others gave is as unsure as a median.
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # SciPy ships no types

    freedom = len(ratio) - figures
    if freedom < 1:
        return 0.0
    sigma = float(np.std(np.log(np.maximum(ratio, 1e-300)), ddof=figures))
    sigma *= np.sqrt(1.0 + OF_MEDIAN * figures / len(ratio))
    return float(min(np.expm1(min(stdtrit(freedom, 0.95) * sigma, 5.0)), WIDEST))
