"""What is to be said of a simulation: what was simulated, and what to doubt."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.laws.spmd.law import SpmdPhase
from parcast.prediction.grid import Grid, uncertain_amounts
from parcast.prediction.notes import warnings_of
from parcast.simulation.phase import Simulated, Task, Way
from parcast.units import Dimension
from parcast.words import axis_value

OfPhase = Sequence[Simulated]  # of one phase at every point

UNITS_OF_ENDS = {"most_cycles": "the number of cycles", "most_seconds": "the time limit"}


def simulated_of(
    program: Program, tasks: Sequence[Sequence[Task]], simulated: Sequence[OfPhase]
) -> tuple[str, ...]:
    """Say of each phase what was simulated."""
    return tuple(
        _labelled(program, i, "; ".join(_ways(tasks[i], simulated[i])))
        for i in range(len(program.phase))
    )


def _labelled(program: Program, i: int, text: str) -> str:
    label = program.label(i)
    return f"{label}: {text}" if label else text


def _ways(tasks: Sequence[Task], simulated: OfPhase) -> Iterator[str]:
    """Give a sentence for each way that a phase was simulated."""
    for way in dict.fromkeys(one.way for one in simulated):
        here = [(task, one) for task, one in zip(tasks, simulated, strict=True) if one.way == way]
        yield _way(
            way,
            _range([task.cycles for task, _ in here]),
            [one for _, one in here],
        )


def _way(way: Way, count: str, simulated: OfPhase) -> str:
    """Say how a phase was simulated, and how much of it."""
    much = f"{_range([one.cycles for one in simulated])} of every group"
    if way == "nothing":
        return "no cycles"
    if way == "joined":
        return f"cycles that end when all have joined, {much}; the mean cycle, times {count}"
    if way == "run":
        return f"whole runs of {count} cycles until the last group has ended, {much}"
    runs = _range([one.run_cycles for one in simulated])
    if way == "part of a run":
        return (
            f"runs of {runs} cycles until the last group has ended, {much}, stretched to the "
            f"{count} of the program"
        )
    dropped = _range([one.warm_up for one in simulated])
    return (
        f"cycles of the long run, {much}, the first {dropped} of {runs} dropped as warm-up; the "
        f"mean cycle, times {count}, without start and end of the program"
    )


def _range(values: Sequence[float]) -> str:
    """Write the least and the largest of some numbers."""
    least, most = min(values), max(values)
    return f"{least:,.10g}" if least == most else f"{least:,.10g} to {most:,.10g}"


def warnings_of_simulation(
    program: Program,
    machine: Machine,
    grid: Grid,
    simulated: Sequence[OfPhase],
    *,
    replaced: Sequence[str],
    refused: tuple[int, str],
) -> Iterator[str]:
    """Give everything that a reader of the simulated times must know.

    `replaced` has other laws than described; at `refused` points the law has no answer.
    """
    axes, dimensions, shape = grid.axes, grid.dimensions, grid.shape
    yield from warnings_of(program, machine, axes, uncertain=False)
    uncertain = list(uncertain_amounts(program, machine, axes))
    for i, phase in enumerate(program.phase):
        if isinstance(phase, SpmdPhase) and phase.reading == "published":
            yield _labelled(
                program,
                i,
                "the published reading is of formulas; what it describes was simulated, with p/c "
                "groups as customers.",
            )
    if replaced:
        yield (
            f"Times of {_listed(replaced)} vary as the laws given do; the law's time is that of "
            "the description."
        )
    if uncertain:
        yield (
            f"The middle values were taken of what is known within an interval only: "
            f"{_listed(uncertain)}."
        )
    points, why = refused
    if points:
        yield f"The law has no answer at {_of(points, shape)}: {why}"
    for i, of_phase in enumerate(simulated):
        stretched = sum(one.way == "part of a run" for one in of_phase)
        if stretched:
            yield _labelled(
                program,
                i,
                f"clusters are unequal at {_of(stretched, shape)}, where a part of the run was "
                "simulated and stretched; its start and end weigh too much.",
            )
        cold = [k for k, one in enumerate(of_phase) if not one.warmed_up]
        if cold:
            yield _labelled(
                program,
                i,
                f"at {_of(len(cold), shape)} the times still changed when half of the cycles were "
                f"over, first at {_at(axes, dimensions, cold[0])}; the interval may be too "
                "narrow.",
            )
    for end, what in UNITS_OF_ENDS.items():
        short = [k for k, ends in enumerate(zip(*simulated, strict=True)) if _ended(ends) == end]
        if short:
            yield (
                f"{what.capitalize()} ended the simulation before its precision was reached at "
                f"{_of(len(short), shape)}, first at {_at(axes, dimensions, short[0])}."
            )


def _listed(names: Sequence[str]) -> str:
    """Name a few."""
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return ", ".join(names[: 4 if more else 5]) + more


def _of(count: int, shape: tuple[int, ...]) -> str:
    """Write a number of points."""
    total = int(np.prod(shape))
    if total == 1:
        return "the point"
    return f"{count:,} of {total:,} points"


def _at(axes: Mapping[str, Array], dimensions: Mapping[str, Dimension], k: int) -> str:
    """Name the point of a flat index."""
    place = np.unravel_index(k, [len(values) for values in axes.values()])
    return ", ".join(
        f"{name} = {axis_value(float(values[i]), dimensions.get(name, 'count'))}"
        for (name, values), i in zip(axes.items(), place, strict=True)
    )


def ends_of(simulated: Sequence[OfPhase]) -> list[str]:
    """Say of every point what ended its simulation."""
    return [_ended(ends) for ends in zip(*simulated, strict=True)]


def _ended(phases: Sequence[Simulated]) -> str:
    """What ended the simulation of the phases of a point: the least welcome."""
    ends = [one.ended_by for one in phases]
    order = ("most_seconds", "most_cycles", "replications")
    return next((end for end in order if end in ends), "precision")
