"""The grid of a question: values of the axes and of parameters that are varied, checked."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.amount import Amount
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError, as_numbers, require, require_one_of
from parcast.units import Dimension, require_amount, require_computable

MOST_COUNT = 2**53  # whole numbers that a float holds beyond doubt


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConfigurationGrid:
    """Every combination of the values of some axes."""

    axes: dict[str, Array]  # each of one dimension
    dimensions: dict[str, Dimension]  # of those that are varied parameters

    @property
    def shape(self) -> tuple[int, ...]:
        """Values of each axis [1]."""
        return tuple(len(values) for values in self.axes.values())

    @property
    def points(self) -> int:
        """How many combinations there are [1]."""
        return int(np.prod([float(size) for size in self.shape]))

    def at(self) -> dict[str, Array]:
        """Values of the axes, each along its own dimension."""
        return dict(zip(self.axes, np.ix_(*self.axes.values()), strict=True))


def grid_of(
    program: Program,
    machine: Machine,
    given: Mapping[str, ArrayLike | None],
    vary: Mapping[str, ArrayLike],
    *,
    most: int,
    purpose: str = "",
) -> ConfigurationGrid:
    """Grid of the axes that are given, checked, of `most` points at most."""
    known = machine.parameters() | program.parameters()
    axes = _axes(given, vary, known)
    grid = ConfigurationGrid(axes=axes, dimensions={name: known[name].dimension for name in vary})
    if grid.points > most:
        raise ParameterError(
            "the grid",
            must=f"have at most {most:,} points{purpose}",
            got=f"{' x '.join(str(size) for size in grid.shape)} = {grid.points:,}",
            hint="Use larger steps.",
        )
    return grid


def _axes(
    given: Mapping[str, ArrayLike | None],
    vary: Mapping[str, ArrayLike],
    known: Mapping[str, Amount],
) -> dict[str, Array]:
    """Values of every axis that is given, checked, each of one dimension."""
    axes = {name: _numbers(name, values) for name, values in given.items() if values is not None}
    for name in ("p", "d"):
        if name in axes:
            whole = (axes[name] >= 1) & (axes[name] == np.floor(axes[name]))
            must = "be a whole number of at least 1"
            require(name, axes[name], whole, must=must, hint="Count from 1.")
            few = axes[name] <= MOST_COUNT
            require(name, axes[name], few, must=f"be at most {MOST_COUNT:,}", hint="Give fewer.")
    if "n" in axes:
        above = axes["n"] > 0
        require("n", axes["n"], above, must="be above 0", hint="Give the problem size.")
        for value in axes["n"].tolist():
            require_computable("n", value)
    for name, values in vary.items():
        hint = f"Available: {', '.join(sorted(known)) or 'none'}."
        require_one_of("vary", name, known, hint, must="name parameters in the descriptions")
        numbers = _numbers(name, values)
        require(name, numbers, numbers >= 0, must="be at least 0", hint="Check its range.")
        for number in (numbers.max(), numbers.min()):
            require_amount(name, float(number), known[name].dimension)
        axes[name] = numbers
    return axes


def _numbers(name: str, values: ArrayLike) -> Array:
    """Finite numbers of one dimension, at least one."""
    hint = f"Give one number or a list, such as {name}=[1, 2, 4]."
    numbers = as_numbers(name, values, hint=hint)
    if numbers.ndim > 1 or numbers.size == 0:
        raise ParameterError(
            name,
            must="have one dimension and at least one number",
            got=f"the shape {numbers.shape}",
            hint=hint,
        )
    numbers = np.atleast_1d(numbers)
    require(name, numbers, np.isfinite(numbers), must="be finite", hint=hint)
    return numbers


def require_times(time: Array, axes: Mapping[str, Array]) -> None:
    """Refuse times that are no times, and say where."""
    wrong = ~((time > 0) & np.isfinite(time))
    if wrong.any():
        point = tuple(np.argwhere(wrong)[0])
        at = ", ".join(
            f"{name} = {values[i]:g}"
            for (name, values), i in zip(axes.items(), point, strict=True)
        )
        raise ParameterError(
            "the time",
            must="be above 0 and finite",
            got=f"{time[point]:g} s at {at}",
            hint="Check the amounts in the descriptions.",
        )


def uncertain_amounts(
    program: Program, machine: Machine, axes: Mapping[str, Array]
) -> dict[str, Amount]:
    """Parameters that are known within an interval only, except those that are varied."""
    known = machine.parameters() | program.parameters()
    return {name: x for name, x in known.items() if x.spread > 0 and name not in axes}
