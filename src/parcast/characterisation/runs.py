"""The runs that a program is characterised from: whether they are of one program.

All runs must be of the same program and know the same regions; only communication may be missing
from runs on one processor.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.errors import Argument, FileProblems, Problem
from parcast.timings.profile import LOOP_KINDS, MESSAGE_KINDS, RegionTotal, RunProfile
from parcast.words import listed

MOST_NAMED: Final = 5  # regions in one message
Totals = Mapping[str, Sequence[RegionTotal | None]]  # of a run: of each rank, by the region


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RegionRuns:
    """One region in all runs that know it."""

    name: str
    kind: str  # as it was timed: "compute", "halo", ...
    runs: tuple[int, ...]  # numbers of the runs, from 0
    p: Array  # of each run [1]
    n: Array | None  # of each run; None where the program has no size [1]
    ranks: tuple[tuple[RegionTotal | None, ...], ...]  # totals of the ranks of each run

    def of_ranks(self, key: str) -> list[Array]:
        """One number of every rank, 0 where a rank never entered, an array for each run."""
        return [
            np.array([0.0 if x is None else float(getattr(x, key)) for x in ranks])
            for ranks in self.ranks
        ]

    def most(self, key: str) -> Array:
        """That of the rank with the most, in each run."""
        return np.array([values.max() for values in self.of_ranks(key)])

    def all_together(self, key: str) -> Array:
        """Sum over the ranks, in each run."""
        return np.array([values.sum() for values in self.of_ranks(key)])

    def mean(self, key: str) -> Array:
        """Mean over the ranks, in each run."""
        return np.array([values.mean() for values in self.of_ranks(key)])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunsOfProgram:
    """All runs of a program."""

    program: str
    runs: tuple[RunProfile, ...]
    regions: tuple[RegionRuns, ...]
    p: Array
    n: Array | None
    warnings: tuple[str, ...]

    @property
    def largest(self) -> int:
        """Number of the run with the largest size, and of these with the most processors."""
        sizes = self.p if self.n is None else self.n
        return int(np.lexsort((self.p, sizes))[-1])

    @property
    def uncovered(self) -> float:
        """Share of the time of a rank that is in no region, at most. [1]."""
        shares = [
            1 - sum(region.wall for region in rank.regions) / rank.span
            for run in self.runs
            for rank in run.ranks
            if rank.span > 0
        ]
        return max(shares, default=0.0)

    def place_of(self, run: int) -> str:
        """Say which run it is: "p = 2, n = 512"."""
        size = "" if self.n is None else f", n = {self.n[run]:g}"
        return f"p = {self.p[run]:g}{size}"


def runs_of_program(runs: Sequence[RunProfile], *, size: str = "n") -> RunsOfProgram:
    """Gather the regions of runs of one program; `size` is the parameter that formulas call n."""
    problems = [*_other_programs(runs), *_other_regions(runs), *_other_parameters(runs, size)]
    if problems:
        raise FileProblems("profiles", problems)
    p = np.array([run.p for run in runs], dtype=np.float64)
    has_size = all(size in run.parameters for run in runs)
    n = np.array([run.parameters[size] for run in runs]) if has_size else None
    totals = [run.by_region() for run in runs]
    return RunsOfProgram(
        program=runs[0].program,
        runs=tuple(runs),
        regions=tuple(_region(name, kind, totals, p, n) for name, kind in _kinds(runs).items()),
        p=p,
        n=n,
        warnings=tuple(_partial(runs, totals)),
    )


def _kinds(runs: Sequence[RunProfile]) -> dict[str, str]:
    """Kind of every region, in the order of the run that knows most."""
    fullest = max(runs, key=lambda run: len({x.name for rank in run.ranks for x in rank.regions}))
    kinds: dict[str, str] = {}
    for run in (fullest, *runs):
        for rank in run.ranks:
            for region in rank.regions:
                kinds.setdefault(region.name, region.kind)
    return kinds


def _region(
    name: str, kind: str, totals: Sequence[Totals], p: Array, n: Array | None
) -> RegionRuns:
    known = [i for i, of_run in enumerate(totals) if name in of_run]
    return RegionRuns(
        name=name,
        kind=kind,
        runs=tuple(known),
        p=p[known],
        n=None if n is None else n[known],
        ranks=tuple(tuple(totals[i][name]) for i in known),
    )


def _other_programs(runs: Sequence[RunProfile]) -> list[Problem]:
    """Say which runs are of another program than most."""
    usual = Counter(run.program for run in runs).most_common(1)[0][0]
    return [
        Problem(
            field=run.place,
            message=f'must be of the program "{usual}" like the other runs, got "{run.program}". '
            "Characterise each program separately, or give both the same name with "
            "profile_parameters.",
        )
        for run in runs
        if run.program != usual
    ]


def _other_regions(runs: Sequence[RunProfile]) -> list[Problem]:
    """Say which runs have other regions than most, or give them another kind."""
    usual = Counter(run.program for run in runs).most_common(1)[0][0]
    runs = [run for run in runs if run.program == usual]  # the others are told already
    owns = [{x.name: x.kind for rank in run.ranks for x in rank.regions} for run in runs]
    kinds = _kinds(runs)
    # A lone processor need not communicate.
    eligible = {
        name: {i for i, run in enumerate(runs) if run.p > 1 or kind not in MESSAGE_KINDS}
        for name, kind in kinds.items()
    }
    expected = {
        name
        for name in kinds
        if 2 * sum(name in owns[i] for i in eligible[name]) >= len(eligible[name])
    }
    problems = []
    for i, (run, own) in enumerate(zip(runs, owns, strict=True)):
        for name, kind in own.items():
            if kind != kinds[name]:
                message = (
                    f'must be of one kind in all runs, got "{kind}" and "{kinds[name]}". Make '
                    "all runs with the same program."
                )
                problems.append(Problem(field=f'{run.place}, region "{name}"', message=message))
        absent = expected - own.keys()
        lacking = [name for name in kinds if name in absent and i in eligible[name]]
        besides = [name for name in own if name not in expected]
        if lacking or besides:
            problems.append(Problem(field=run.place, message=_odd(lacking, besides, own)))
    return problems


def _odd(lacking: Sequence[str], besides: Sequence[str], own: Iterable[str]) -> str:
    """Name regions that a run lacks or has beside those of the others."""
    lacks = f"lacks {_names(lacking)}" if lacking else ""
    has = f"also has {_names(besides)}" if besides else ""
    near = difflib.get_close_matches(lacking[0], own, n=1) if lacking else []
    hint = f' Is "{near[0]}" the same as "{lacking[0]}"?' if near else ""
    return (
        "must have the regions of the other runs, but "
        f"{' and '.join(filter(None, [lacks, has]))}.{hint} Make all runs with the same program, "
        "and characterise other programs separately."
    )


def _names(names: Sequence[str]) -> str:
    return listed((f'"{name}"' for name in names), MOST_NAMED)


def _other_parameters(runs: Sequence[RunProfile], size: str) -> list[Problem]:
    """Say which parameters vary that no formula can know."""
    names = sorted({name for run in runs for name in run.parameters})
    problems = []
    for name in names:
        values = {run.parameters.get(name) for run in runs}
        if len(values) == 1 or (name == size and None not in values):
            continue
        listed = sorted("none" if value is None else f"{value:g}" for value in values)
        shown = ", ".join(listed[:MOST_NAMED]) + (", ..." if len(listed) > MOST_NAMED else "")
        hint = (
            "Give it in all runs."
            if None in values
            else f"Formulas depend on p and one size: make this the size with "
            f"{Argument('size', name)}, or use runs with one value of it."
        )
        message = f"must be the same in all runs, got {shown}. {hint}"
        problems.append(Problem(field=f"parameter {name}", message=message))
    return problems


def _partial(runs: Sequence[RunProfile], totals: Sequence[Totals]) -> list[str]:
    """Say which regions only some ranks entered."""
    warnings: dict[str, str] = {}
    for run, of_run in zip(runs, totals, strict=True):
        for name, kind in _kinds([run]).items():
            entered = [i for i, total in enumerate(of_run[name]) if total is not None]
            if len(entered) == run.p or name in warnings:
                continue
            what = "its work is treated as uneven" if kind in LOOP_KINDS else "the others skip it"
            listed = ", ".join(map(str, entered[:MOST_NAMED]))
            more = ", ..." if len(entered) > MOST_NAMED else ""
            warnings[name] = (
                f'Region "{name}" ran only on rank {listed}{more} of {run.p} (p = {run.p}): '
                f"{what}."
            )
    return list(warnings.values())
