"""Notes on a simulation: what was simulated, and warnings."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.laws.spmd.law import SpmdPhase
from parcast.prediction.grid import Grid, uncertain_amounts
from parcast.prediction.notes import labelled, warnings_of
from parcast.show.warning import Rank, RankedWarning
from parcast.simulation.phase import Simulated, Task, Way
from parcast.units import Dimension
from parcast.words import axis_value

OfPhase = Sequence[Simulated]  # of one phase at every point

ENDS = {  # what ended a simulation early, and what to do
    "most_cycles": ("The largest number of cycles", "Request a lower precision."),
    "most_seconds": ("The time limit", "Allow more time, or request a lower precision."),
}


def simulated_of(
    program: Program, tasks: Sequence[Sequence[Task]], simulated: Sequence[OfPhase]
) -> tuple[str, ...]:
    """Say of each phase what was simulated."""
    texts = ("; ".join(_ways(*of_phase)) for of_phase in zip(tasks, simulated, strict=True))
    labels = map(program.label, range(len(program.phase)))
    return tuple(
        f"{label}: {text}" if label else text for label, text in zip(labels, texts, strict=True)
    )


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
    much = f"{_range([one.cycles for one in simulated])} cycles of every group"
    if way == "nothing":
        return "no cycles"
    if way == "joined":
        return f"{much}, each ending when all have joined; time: mean cycle x {count}"
    if way == "run":
        return f"{much}, in complete runs of {count} cycles until the last group has finished"
    runs = _range([one.run_cycles for one in simulated])
    if way == "part of a run":
        return (
            f"{much}, in runs of {runs} cycles until the last group has finished, scaled to the "
            f"{count} cycles of the program"
        )
    dropped = _range([one.warm_up for one in simulated])
    return (
        f"{much} in steady state, the first {dropped} of {runs} dropped as warm-up; time: mean "
        f"cycle x {count}, without start and end of the program"
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
            yield labelled(
                program,
                i,
                'The published reading concerns the formulas only (reading = "published"): the '
                "simulation is of the described program, with p/c groups.",
            )
    if replaced:
        yield (
            f"The given laws of {_listed(replaced)} are simulated, but the law's times are those "
            "of the variability in the description."
        )
    if uncertain:
        yield f"Uncertain parameters (+-) have their described values: {_listed(uncertain)}."
    points, why = refused
    if points:
        yield RankedWarning(
            f"The law has no answer at {_of(points, shape)}: {why}", rank=Rank.SERIOUS
        )
    for i, of_phase in enumerate(simulated):
        stretched = sum(one.way == "part of a run" for one in of_phase)
        if stretched:
            yield labelled(
                program,
                i,
                f"Clusters are unequal at {_of(stretched, shape)}: only a part of the run was "
                "simulated there and scaled up, so its start and end weigh too much.",
            )
        cold = [k for k, one in enumerate(of_phase) if not one.warmed_up]
        if cold:
            text = (
                f"The times had not settled after half of the cycles at {_of(len(cold), shape)}, "
                f"first at {_at(axes, dimensions, cold[0])}: the interval may be too narrow. "
                "Request a higher precision."
            )
            yield labelled(program, i, RankedWarning(text, rank=Rank.SERIOUS))
    for end, (what, remedy) in ENDS.items():
        short = [k for k, ends in enumerate(zip(*simulated, strict=True)) if _ended(ends) == end]
        if short:
            yield RankedWarning(
                f"{what} was reached before the requested precision at {_of(len(short), shape)}, "
                f"first at {_at(axes, dimensions, short[0])}. {remedy}",
                rank=Rank.SERIOUS,
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
