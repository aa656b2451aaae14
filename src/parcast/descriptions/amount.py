"""Numbers in a description: with a unit, optionally a formula, optionally uncertain.

`"27 MB/s"`, `"1.40628 MB * (p/4)^(-1/6)"` and `"6.9 s +- 5%"` are amounts. `+-` gives the extent
of the 90% interval, as a share s of the value or in the unit of the value: from the value divided
by 1 + s to the value times 1 + s. A value that ends in `?`, as in `"1 GB/s ?"`, is a placeholder:
it is used, and every answer says so.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import ParameterError
from parcast.expressions import DEFAULT_AXES, Expression, at_character
from parcast.units import EXPECTED, MOST, Dimension, OtherDimension, quantity, shown

NORMAL_90: Final = 1.6448536269514722  # half-width of a 90% interval of a normal law [sigma]
PLACEHOLDER: Final = "?"  # at the end of a value that is to be replaced
WIDEST: Final = 10.0  # times the value: half-width of an interval that still says something
_PLUS_MINUS = re.compile(r"\+/?-|\u00b1")

Point = Mapping[
    str, Any
]  # values of axes, and of parameters by their names, arrays that broadcast


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit as a function of the axes, and its uncertainty.

    Build one from text with `Amount.of`; it is then called with the axes.
    """

    text: str  # as it was written
    expression: Expression = field(repr=False)
    spread: float = 0.0  # half-width of its 90% interval over its value [1]
    _number: float = field(init=False, repr=False, compare=False)  # NaN of a formula in axes

    def __post_init__(self) -> None:
        """Compute once what does not depend on axes."""
        number = np.nan if self.expression.axes else float(self.expression())
        object.__setattr__(self, "_number", number if 0 <= number <= MOST else np.nan)

    @classmethod
    def of(cls, value: object, dimensions: Sequence[Dimension], *, name: str) -> "Amount":
        """Read an amount, "27 MB/s", "6*sqrt(p)", "6.9 s +- 5%" or "6.9 s +- 0.2 s".

        `dimensions` are what it may be, what it most often is first; `name` is what messages call
        it, such as "network.bandwidth".

        >>> work = Amount.of("830 Mflop +- 5%", ["time", "operations"], name="compute.parallel")
        >>> work.dimension, float(work({"p": [1.0, 4.0]})), work.spread
        ('operations', 830000000.0, 0.05)
        """
        if isinstance(value, Amount):
            return value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ParameterError(name, must=f"be {_either(dimensions)}", got=shown(repr(value)))
        text = value if isinstance(value, str) else repr(value)
        number, *after = _PLUS_MINUS.split(text.rstrip().removesuffix(PLACEHOLDER))
        expression = _expression(number.strip(), dimensions, name)
        if not expression.axes and float(expression()) < 0:
            raise ParameterError(
                name, must="be at least 0", got=f'"{shown(text)}"', hint="Check its sign."
            )
        if not after:
            return cls(text, expression)
        if len(after) > 1:
            raise ParameterError(
                name,
                must='have at most one "+-"',
                got=f'"{shown(text)}"',
                hint='Write for example "6.9 s +- 5%".',
            )
        return cls(text, expression, _spread(after[0].strip(), expression, name))

    def __str__(self) -> str:
        """The text it was written as."""
        return self.text

    @property
    def is_placeholder(self) -> bool:
        """Whether it was written to be replaced."""
        return self.text.rstrip().endswith(PLACEHOLDER)

    @property
    def dimension(self) -> Dimension:
        """What it is: "time", "size", ..."""
        return self.expression.dimension

    @property
    def name(self) -> str:
        """What messages call it, and what overrides it: "network.bandwidth"."""
        return self.expression.name

    def __call__(self, at: Point) -> NDArray[np.float64]:
        """Value at every point of a grid [SI], at least 0 and finite.

        Axes that the amount does not use do not shape the result. A value under the amount's own
        name replaces it; one under its name and "*" multiplies it.
        """
        factor = np.asarray(at.get(f"{self.name}*", 1.0), dtype=np.float64)
        if self.name in at:
            return np.asarray(at[self.name], dtype=np.float64) * factor
        if not math.isnan(self._number):
            return np.asarray(self._number * factor)
        used = {axis: at[axis] for axis in self.expression.axes if axis in at}
        value = self.expression(**used)
        large = value > MOST
        if large.any():
            raise ParameterError(
                self.name,
                must=f"be at most {MOST:g}",
                got=f"{value[large].flat[0]:g}{_place(large, used)}",
                hint=f"Check {shown(self.expression.text)} and its units." if used else "",
            )
        negative = value < 0
        if negative.any():
            raise ParameterError(
                self.name,
                must=f"be at least 0: {shown(self.expression.text)} is "
                f"{value[negative].flat[0]:g}{_place(negative, used)}",
                hint="Check the formula.",
            )
        return np.asarray(value * factor)


def _expression(text: str, dimensions: Sequence[Dimension], name: str) -> Expression:
    """Read a formula as the first dimension that it fits."""
    refusals, others = list[ParameterError](), list[ParameterError]()
    for dimension in dimensions:
        try:
            return Expression(text, dimension=dimension, name=name, known_axes=DEFAULT_AXES)
        except ParameterError as refusal:
            is_all = refusal.name == at_character(name, 1)  # it is a quantity, not a formula
            refusals.append(refusal.named(name) if is_all else refusal)
            others += () if isinstance(refusal, OtherDimension) else (refusals[-1],)
    if len(dimensions) == 1:
        raise refusals[0]
    # A unit of another of the dimensions is no fault; what else is wrong is one.
    if 0 < len(others) < len(refusals) or len(set(map(str, refusals))) == 1:
        raise [*others, *refusals][0]
    raise ParameterError(name, must=f"be {_either(dimensions)}", got=f'"{shown(text)}"')


def _spread(text: str, expression: Expression, name: str) -> float:
    """Half-width of the 90% interval, over the value."""
    if text.endswith("%"):
        spread = quantity(text, "fraction", name=f"{name} after +-")
    else:
        if expression.axes:
            raise ParameterError(
                f"{name} after +-",
                must=f"be a percentage, as the value depends on "
                f"{', '.join(sorted(expression.axes))}",
                got=f'"{shown(text)}"',
                hint='Write for example "+- 5%".',
            )
        value = float(expression())
        width = quantity(text, expression.dimension, name=f"{name} after +-")
        spread = width / value if value else np.inf
    if not 0 <= spread <= WIDEST:
        raise ParameterError(
            f"{name} after +-",
            must=f"lie between 0 and {WIDEST:g} times the value",
            got=f'"{shown(text)}"',
            hint='Write for example "+- 5%".',
        )
    return spread


def _either(dimensions: Sequence[Dimension]) -> str:
    """Name what is expected, each with an example."""
    return " or ".join("{} such as {}".format(*EXPECTED[each]) for each in dimensions)


def _place(wrong: NDArray[np.bool_], at: Mapping[str, Any]) -> str:
    """Say at which point of a grid something first goes wrong: " at p = 4"."""
    point = tuple(np.argwhere(wrong)[0])
    places = [
        f"{axis} = {np.broadcast_to(np.asarray(values, dtype=np.float64), wrong.shape)[point]:g}"
        for axis, values in sorted(at.items())
    ]
    return f" at {', '.join(places)}" if places else ""
