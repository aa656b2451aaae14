"""Notes on a simulation: what was simulated, and warnings."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.prediction.grid import Grid, uncertain_amounts
from parcast.prediction.notes import labelled, warnings_of
from parcast.show.warning import Rank, RankedWarning
from parcast.simulation.phase import Simulated, Simulator, Task
from parcast.words import axis_value

OfPhase: TypeAlias = tuple[Simulator, Sequence[Task], Sequence[Simulated]]  # at every point

ENDS = {  # what ended a simulation early, and what to do
    "most_cycles": ("The largest number of cycles", "Request a lower precision."),
    "most_seconds": ("The time limit", "Allow more time, or request a lower precision."),
}


def simulated_of(program: Program, phases: Sequence[OfPhase]) -> tuple[str, ...]:
    """Say of each phase what was simulated."""
    texts = ("; ".join(simulator.ways(tasks, found)) for simulator, tasks, found in phases)
    labels = map(program.label, range(len(program.phase)))
    return tuple(
        f"{label}: {text}" if label else text for label, text in zip(labels, texts, strict=True)
    )


def warnings_of_simulation(
    program: Program,
    machine: Machine,
    grid: Grid,
    phases: Sequence[OfPhase],
    *,
    replaced: Sequence[str],
    refused: tuple[int, str],
) -> Iterator[str]:
    """Give everything that a reader of the simulated times must know.

    `replaced` has other laws than described; at `refused` points the law has no answer.
    """
    axes, shape = grid.axes, grid.shape
    yield from warnings_of(program, machine, axes)
    uncertain = list(uncertain_amounts(program, machine, axes))
    for i, (simulator, *_) in enumerate(phases):
        for text in simulator.remarks(program.phase[i]):
            yield labelled(program, i, text)
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
            f"The law has no answer at {points_of(points, shape)}: {why}", rank=Rank.SERIOUS
        )
    for i, (simulator, tasks, simulated) in enumerate(phases):
        for text in simulator.warnings(tasks, simulated, grid):
            yield labelled(program, i, text)
    ended = ends_of([simulated for *_, simulated in phases])
    for end, (what, remedy) in ENDS.items():
        short = [k for k, here in enumerate(ended) if here == end]
        if short:
            yield RankedWarning(
                f"{what} was reached before the requested precision at "
                f"{points_of(len(short), shape)}, first at {point_of(grid, short[0])}. {remedy}",
                rank=Rank.SERIOUS,
            )


def _listed(names: Sequence[str]) -> str:
    """Name a few."""
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return ", ".join(names[: 4 if more else 5]) + more


def points_of(count: int, shape: tuple[int, ...]) -> str:
    """Write a number of points."""
    total = int(np.prod(shape))
    if total == 1:
        return "the point"
    return f"{count:,} of {total:,} points"


def point_of(grid: Grid, k: int) -> str:
    """Name the point of a flat index."""
    axes, dimensions = grid.axes, grid.dimensions
    place = np.unravel_index(k, [len(values) for values in axes.values()])
    return ", ".join(
        f"{name} = {axis_value(float(values[i]), dimensions.get(name, 'count'))}"
        for (name, values), i in zip(axes.items(), place, strict=True)
    )


def ends_of(simulated: Sequence[Sequence[Simulated]]) -> list[str]:
    """Say of every point what ended its simulation."""
    return [_ended(ends) for ends in zip(*simulated, strict=True)]


def _ended(phases: Sequence[Simulated]) -> str:
    """What ended the simulation of the phases of a point: the least welcome."""
    ends = [one.ended_by for one in phases]
    order = ("most_seconds", "most_cycles", "replications")
    return next((end for end in order if end in ends), "precision")
