"""A cost of array I/O as it is declared: once, for numbers of the law and for keys of files."""

from dataclasses import dataclass, field, fields
from functools import cache
from math import inf, isfinite, nan
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array

Dimension = Literal["time", "rate", "size", "count", ""]  # "": whether something is so
UNITS: Final = {"time": " s", "size": " B", "rate": " B/s", "count": ""}


@dataclass(frozen=True, slots=True)
class DeclaredCost:
    """What a cost is, and where its values lie."""

    dimension: Dimension
    default: (
        float | None
    )  # [SI]; None: it must be given, infinite: unlimited, nan: that of another
    what: str
    above: float | None = None  # else it is `least` at least
    least: float = 0.0
    must: str = field(init=False)  # the domain, in words

    def __post_init__(self) -> None:
        """Name the domain once: it is asked for with every number."""
        lies = f"at least {self.least:g}" if self.above is None else f"above {self.above:g}"
        limit = "" if self.default == inf else " and finite"  # unlimited where it is left out
        object.__setattr__(self, "must", f"be {lies}{limit}")

    def holds(self, value: Array) -> NDArray[np.bool_]:
        """Tell where values lie in the domain."""
        ok = value >= self.least if self.above is None else value > self.above
        return ok if self.default == inf else ok & np.isfinite(value)

    @property
    def in_file(self) -> Any:
        """Its default as a file would give it; None: another one, or no limit."""
        if not self.dimension:
            return self.default
        if self.default is None:
            return ...
        return f"{self.default:g}{UNITS[self.dimension]}" if isfinite(self.default) else None


def cost(
    dimension: Dimension,
    default: float | None,
    what: str,
    *,
    above: float | None = None,
    least: float = 0.0,
) -> Any:
    """Declare a cost as the field of a dataclass; rates lie above 0."""
    positive = 0.0 if dimension == "rate" else above
    declared = DeclaredCost(dimension, default, what, positive, least)
    if default is None:
        return field(metadata={"cost": declared})
    return field(default=default, metadata={"cost": declared})


def other(dimension: Dimension, what: str) -> DeclaredCost:
    """Declare a cost in place of another one, which holds where it is left out."""
    return DeclaredCost(dimension, nan, what, 0.0 if dimension == "rate" else None)


@cache
def declared_of(kind: Any) -> tuple[tuple[str, DeclaredCost], ...]:
    """Give the costs that a dataclass declares, by name."""
    return tuple((each.name, each.metadata["cost"]) for each in fields(kind))
