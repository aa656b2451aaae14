"""What a fit may change: amounts of a program and a machine, each by a factor.

A factor of 1 is what the description says. An amount that is a formula is scaled as a whole. The
coordinate of an amount is its factor, of a rate the inverse of it: times are nearly linear in
these, so that a step of the fit goes far, and none at all (0) is a place like any other [D].
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.amounts import NORMAL_90, Amount, Point
from parcast.errors import ParameterError
from parcast.machine import Machine
from parcast.program import Program
from parcast.units import shown

Array = NDArray[np.float64]

LEAST: Final = 1e-9  # of what is described: stands for none at all
MOST: Final = 1e6  # times what is described
INSEPARABLE: Final = ("cycles", "bursts_per_io", "group")  # from the demands they multiply
RATES: Final = ("rate", "operation_rate")
TABLES: Final = ("compute.", "communication.", "io.", "capacities.")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Parameter:
    """An amount that the fit may scale."""

    name: str  # under which a point replaces it
    amount: Amount
    is_of_machine: bool
    is_rate: bool  # its coordinate is the inverse of its factor
    value: float | None  # as described; None where it is a formula [SI]
    lower: float  # bounds of its coordinate [1]
    upper: float
    sigma: float  # standard deviation of its logarithm that +- says; infinite without [1]

    def factor(self, coordinate: Array) -> Array:
        """Factor at a coordinate, and the coordinate of a factor. [1]."""
        return 1.0 / coordinate if self.is_rate else coordinate

    def by_coordinate(self, slope: Array, coordinate: Array) -> Array:
        """Turn a derivative by the logarithm of the amount into that by the coordinate."""
        return -slope / coordinate if self.is_rate else slope / coordinate


def parameters_of(
    program: Program,
    machine: Machine,
    points: Point,
    *,
    free: Iterable[str] | None,
    fixed: Iterable[str] | None,
) -> tuple[Parameter, ...]:
    """Parameters that a fit changes.

    Parameters
    ----------
    program, machine
        What describes them.
    points : mapping
        Axes of the runs, as for `Amount`.
    free, fixed : iterable of str, optional
        Names; without `free` all that the tables compute, communication, io and capacities of the
        phases give and that are not 0 anywhere; `fixed` are left as they are.

    Raises
    ------
    ParameterError
        If a name is not known, or cannot be fitted, or none is left.
    """
    ours, theirs = program.parameters(), machine.parameters()
    known = ours | theirs
    for argument, names in (("free", free), ("fixed", fixed)):
        for name in names or ():
            _require_known(argument, name, known)
    chosen = [name for name in ours if is_usual(name)] if free is None else list(free)
    parameters = []
    for name in dict.fromkeys(chosen):
        if name in set(fixed or ()) or name in points:
            continue
        amount = known[name]
        if name.endswith(INSEPARABLE):
            raise ParameterError(
                f"free must name amounts that can be fitted, got {name}, which only multiplies "
                "others. Free those, and leave it as it is."
            )
        values = amount(_for_amount(points))
        if not np.all(values > 0):
            if free is None:
                continue
            raise ParameterError(
                f"free must name amounts above 0 at every run, got {name} = {amount}. "
                "Write a first guess in the description."
            )
        parameters.append(_parameter(name, amount, values, is_of_machine=name not in ours))
    if not parameters:
        raise ParameterError(
            "free must leave at least one amount to fit, got none. "
            f"There are {', '.join(known) or 'none'}."
        )
    return tuple(parameters)


def _parameter(name: str, amount: Amount, values: Array, *, is_of_machine: bool) -> Parameter:
    """Bounds and what is known of an amount before the runs."""
    most = float(np.max(values))
    return Parameter(
        name=name,
        amount=amount,
        is_of_machine=is_of_machine,
        is_rate=amount.dimension in RATES,
        value=None if amount.expression.axes else most,
        lower=LEAST,
        upper=1.0 / most if name.endswith(".contention") else MOST,
        sigma=float(np.log1p(amount.spread)) / NORMAL_90 if amount.spread else np.inf,
    )


def scaled(parameters: Iterable[Parameter], coordinates: Array) -> dict[str, Array]:
    """Entries of a point that scale the amounts; one more axis of length 1 comes last."""
    at = {}
    for i, parameter in enumerate(parameters):
        at[f"{parameter.name}*"] = parameter.factor(coordinates[..., i])[..., None]
    return at


def is_usual(name: str) -> bool:
    """Whether an amount is fitted unless something else is said."""
    inner = f".{name}"
    return any(f".{table}" in inner for table in TABLES) and not name.endswith(INSEPARABLE)


def _for_amount(points: Point) -> Point:
    """Points where formulas of communication need not be good for a lone processor."""
    return {**points, "p": np.maximum(points["p"], 2.0)}


def _require_known(argument: str, name: str, known: Mapping[str, Amount]) -> None:
    """Refuse a name that no description gives, and suggest the nearest."""
    if name in known:
        return
    near = difflib.get_close_matches(name.casefold(), list(known), n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"They give {', '.join(known) or 'none'}."
    raise ParameterError(
        f"{argument} must name amounts that the descriptions give, got {shown(repr(name))}. {hint}"
    )
