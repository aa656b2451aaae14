"""What a reader of a characterised program must know of its figures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from parcast.characterisation.loops import DescribedLoop
from parcast.characterisation.result import CharacterisedRegion, Perturbed
from parcast.characterisation.runs import RunsOfProgram
from parcast.errors import Argument, ParameterError
from parcast.laws.counters import NOTICED, perturbation, perturbation_warnings
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measurements import Measurements
from parcast.timings.profile import LOOP_KINDS, MESSAGE_KINDS
from parcast.units import percent
from parcast.words import listed

DIGITS: Final = re.compile(r"\d+")  # by which hosts of one machine differ [D]
NOT_COVERED: Final = 0.05  # share of the time in no region that is told [D]
WAITED: Final = 0.10  # share of the wall time of loops without processor that is told [D]
WIDE: Final = 0.20  # interval of the time of an iteration that is told [D]
EXPLAINED: Final = 0.5  # share of its time that the machine must explain of a region [D]
MUCH: Final = 0.10  # share of a run that is told where the machine does not explain it [D]


def notes_of(
    gathered: RunsOfProgram,
    loops: Sequence[DescribedLoop],
    rows: Sequence[CharacterisedRegion],
    *,
    clock: str,
    perturbed: Sequence[Perturbed],
    explained: Mapping[str, float],
) -> tuple[float, tuple[str, ...]]:
    """Share of the time that timing took, and all warnings.

    `explained` is, of each priced region, its time over the measured one in the largest run.
    """
    took = max(run.perturbation for run in gathered.runs)
    warnings = [
        *_perturbed(took),
        *perturbation_warnings([x.p for x in perturbed], [x.ratio for x in perturbed]),
        *gathered.warnings,
        *(text for loop in loops for text in loop.warnings),
        *_inexact(rows),
        *_hosts(gathered),
        *_one_value(gathered),
        *_one_value_of_some(gathered),
        *_spread_out(loops),
        *_waited(gathered, clock),
        *_unexplained(gathered, rows, explained),
        *_uncovered(gathered),
        *_not_timed(gathered),
    ]
    return took, tuple(warnings)


def _perturbed(took: float) -> Iterator[str]:
    """Warn of regions that are entered too often."""
    if took > NOTICED:
        yield RankedWarning(
            f"Timing the regions took {percent(took)} of a run, so times of nested regions are "
            "too long. Time fewer passes: put the region around the loop.",
            rank=Rank.SERIOUS,
        )


def perturbed_by_count(gathered: RunsOfProgram, plain: Measurements) -> tuple[Perturbed, ...]:
    """Compare with times of the same runs without regions, at each count that both have."""
    counts, with_regions, without = [], [], []
    for p, n, run in zip(gathered.p, _sizes(gathered), gathered.runs, strict=True):
        same = plain.axes["p"] == p
        if "n" in plain.axes and gathered.n is not None:
            same &= plain.axes["n"] == n
        if same.any():
            counts.append(p)
            with_regions.append(run.time)
            without.append(float(np.median(plain.time[same])))
    if not counts:
        raise ParameterError(
            "plain",
            must="have times at p (and n) of the runs",
            got="none",
            hint="Time the same runs without PARCAST_PROFILE.",
        )
    # Repetitions of one point are noise; their median tells what timing changes.
    points = sorted(set(counts))
    both = [
        [
            float(np.median([x for x, p in zip(times, counts, strict=True) if p == point]))
            for point in points
        ]
        for times in (with_regions, without)
    ]
    ratios = perturbation(*both).tolist()
    return tuple(
        Perturbed(p=int(p), with_regions=timed, without=bare, ratio=ratio)
        for p, timed, bare, ratio in zip(points, *both, ratios, strict=True)
    )


def _sizes(gathered: RunsOfProgram) -> Sequence[float]:
    """Sizes of the runs; ones where the program has none."""
    return [1.0] * len(gathered.runs) if gathered.n is None else gathered.n.tolist()


def _inexact(rows: Sequence[CharacterisedRegion]) -> Iterator[str]:
    """Name formulas that do not meet all counts."""
    for row in rows:
        if not row.is_exact:
            formulas = [f"calls {row.calls}"]
            formulas += [f"iterations {row.iterations}"] if row.iterations else []
            formulas += [f"volume {row.volume}"] if row.volume else []
            yield RankedWarning(
                f'No formula fits all counts of region "{row.name}" exactly; the closest: '
                f"{', '.join(formulas)}. Check it before extrapolating.",
                rank=Rank.SERIOUS,
            )


def _hosts(gathered: RunsOfProgram) -> Iterator[str]:
    """Say that runs are of other hosts, but for the numbers in their names."""
    machines: dict[str, str] = {}
    for run in gathered.runs:
        for host in (rank.host for rank in run.ranks if rank.host):
            machines.setdefault(DIGITS.sub("", host.partition(".")[0]), host)
    if len(machines) > 1:
        yield RankedWarning(
            f"The runs are of hosts with different names: {listed(machines.values(), 4)}. Times "
            "of loops hold for one machine: use its runs only, if these are several.",
            rank=Rank.SERIOUS,
        )


def _one_value(gathered: RunsOfProgram) -> Iterator[str]:
    """Say where an axis has one value, so that formulas cannot know it."""
    if gathered.n is not None and len(np.unique(gathered.n)) == 1:
        yield (
            f"All runs have n = {gathered.n[0]:g}, so the formulas are valid for this size only. "
            "Add a run of another size."
        )
    if len(np.unique(gathered.p)) == 1:
        yield (
            f"All runs have p = {gathered.p[0]:g}, so the same iterations and bytes are assumed "
            "for every p. Add a run on more processors."
        )


def _one_value_of_some(gathered: RunsOfProgram) -> Iterator[str]:
    """Say of which communication an axis has one value, though the runs have several."""
    axes = [("p", "p", "Add a run on more processors.")]
    if gathered.n is not None:
        axes.insert(0, ("n", "size", "Add a run of another size on several processors."))
    for axis, what, hint in axes:
        if len(np.unique(getattr(gathered, axis))) == 1:
            continue  # told of all
        alone: dict[float, list[str]] = {}
        for region in gathered.regions:
            values = np.unique(getattr(region, axis)[region.p > 1])
            if region.kind in MESSAGE_KINDS and len(values) == 1:
                alone.setdefault(float(values[0]), []).append(region.name)
        for value, names in alone.items():
            yield (
                f"{_regions(names)} measured at {axis} = {value:g} only (there is no "
                "communication at p = 1), so the same calls and bytes are assumed for every "
                f"{what}. {hint}"
            )


def _regions(names: Sequence[str]) -> str:
    """Write names of regions as the subject of a sentence."""
    listed = ", ".join(f'"{name}"' for name in names)
    return f"Region {listed} was" if len(names) == 1 else f"Regions {listed} were"


def _spread_out(loops: Sequence[DescribedLoop]) -> Iterator[str]:
    """Name loops whose time of an iteration differs between runs, or passes of the only one."""
    for loop in loops:
        if loop.spread > WIDE:
            several = np.count_nonzero(loop.unit_time) > 1
            yield RankedWarning(
                f'The time of an iteration of region "{loop.name}" is uncertain by '
                f"{percent(loop.spread)}: it differs between "
                f"{'runs' if several else 'passes of the run'}. Make more runs on an idle "
                "machine, or check whether it depends on caches.",
                kind="uncertain",
                rank=Rank.SERIOUS,
                size=loop.spread,
            )


def _waited(gathered: RunsOfProgram, clock: str) -> Iterator[str]:
    """Say where loops waited for a processor, or several threads worked in them."""
    loops = [region for region in gathered.regions if region.kind in LOOP_KINDS]
    wall = sum(float(x.all_together("wall").sum()) for x in loops)
    processor = sum(float(x.all_together("processor").sum()) for x in loops)
    if wall > 0 and clock == "processor" and processor < wall * (1 - WAITED):
        yield (
            f"Loops had a processor for only {percent(processor / wall)} of their wall time: "
            "other processes or other threads of the program used it. The processor time of one "
            f"thread is used; for a program with threads, use {Argument('clock', 'wall')}."
        )


def _unexplained(
    gathered: RunsOfProgram,
    rows: Sequence[CharacterisedRegion],
    explained: Mapping[str, float],
) -> Iterator[str]:
    """Say which regions took much longer than the machine has it, if they are much of the run."""
    shares = {x.name: x.share for x in rows if explained.get(x.name, 1.0) < EXPLAINED}
    took = sum(shares.values())
    if took > MUCH:
        model = sum(share * explained[name] for name, share in shares.items()) / took
        listed = ", ".join(f'"{name}"' for name in shares)
        one, takes = ("Region", "takes") if len(shares) == 1 else ("Regions", "take")
        yield RankedWarning(
            f"{one} {listed} {takes} {percent(took)} of the run at "
            f"{gathered.place_of(gathered.largest)}, but the machine explains "
            f"{percent(model)} of that: ranks waited for each other, other processes used the "
            "machine, or it is not the machine of the runs. Predictions do not include the rest.",
            rank=Rank.SERIOUS,
        )


def _uncovered(gathered: RunsOfProgram) -> Iterator[str]:
    """Say how much of the time is in no region."""
    share = gathered.uncovered
    if share > NOT_COVERED:
        yield RankedWarning(
            f"Up to {percent(share)} of a run is in no region and not predicted. Put regions "
            "around the rest of the program.",
            rank=Rank.SERIOUS,
        )


def _not_timed(gathered: RunsOfProgram) -> Iterator[str]:
    """Say that other threads entered regions, and that regions began and ended crosswise."""
    ranks = [rank for run in gathered.runs for rank in run.ranks]
    if passes := sum(rank.other_threads for rank in ranks):
        yield (
            f"{passes:,} passes of other threads were not timed: on each rank, only the thread "
            "of its first region is."
        )
    if passes := sum(rank.overlapping for rank in ranks):
        yield RankedWarning(
            f"{passes:,} passes overlapped, as in generators or coroutines that take turns: "
            "their times are counted twice. Do not put a yield or an await into a region.",
            rank=Rank.SERIOUS,
        )
