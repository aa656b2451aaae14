"""Where time stops falling: the count of processors that is fastest, between those asked for."""

from collections.abc import Iterator, Mapping

import numpy as np

from parcast.amounts import Point
from parcast.breakdown import Array
from parcast.errors import ParameterError
from parcast.machine import Machine
from parcast.program import Program
from parcast.units import Dimension, format_quantity
from parcast.verbs.best_processors import least_between
from parcast.verbs.predict_notes import lines_told, place_of


def fastest_of(
    program: Program,
    machine: Machine,
    time: Array,
    axes: Mapping[str, Array],
    dimensions: Mapping[str, Dimension],
) -> tuple[str, ...]:
    """Say with how many processors a program is fastest, where more than that were asked for.

    Parameters
    ----------
    program, machine : Program, Machine
        What was predicted.
    time : ndarray
        Of the shape of the grid, p first. [s]
    axes : mapping from names to ndarray
        Their values.
    dimensions : mapping from names to str
        Of the axes that are parameters with a unit.

    Returns
    -------
    tuple of str
        For each line of the grid along p, or for the first and the last of many; none where time
        falls up to the largest count.
    """
    return tuple(_told(program, machine, time, axes, dimensions))


def _told(
    program: Program,
    machine: Machine,
    time: Array,
    axes: Mapping[str, Array],
    dimensions: Mapping[str, Dimension],
) -> Iterator[str]:
    others = [(name, values) for name, values in axes.items() if name != "p"]
    lines = time.reshape(len(axes["p"]), -1)
    order = np.argsort(axes["p"], kind="stable")
    p = axes["p"][order]
    for line in lines_told(lines.shape[1]):
        along = lines[order, line]
        i = int(np.argmin(along))
        if p[i] == p[-1] or along[-1] <= along[i]:
            continue
        at = _point(others, line, machine)
        try:
            best, least = least_between(program, machine, at, p[max(i - 1, 0)], p[i + 1])
        except ParameterError:  # the law has no answer at some count between those asked for
            best, least = int(p[i]), float(along[i])
        yield (
            f"{place_of(others, line, dimensions)}with p = {best} "
            f"({format_quantity(least, 'time', 3)}); more processors make it slower"
        )


def _point(others: list[tuple[str, Array]], line: int, machine: Machine) -> Point:
    """Point of a line of the grid along p, without p."""
    place = np.unravel_index(line, [len(values) for _, values in others]) if others else ()
    at = {name: float(values[i]) for (name, values), i in zip(others, place, strict=True)}
    at.setdefault("d", float(machine.storage.servers or 1))
    return at
