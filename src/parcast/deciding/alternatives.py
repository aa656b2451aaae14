"""Ways to do the same, as arrays, and their order: what every plan gives, and who asks gets.

An alternative has a time with its 90% interval, and a cost: what one asks for, such as ranks,
servers or processors. Some do not fit the limits. A plan knows its alternatives and the reasons;
the order, the sheet, the picture and the command are those of this folder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.places import PluginFaultError

GIVES: Final = (
    "title and asked, which are texts, cost and time, arrays of one length that are above 0, and "
    "what it has of lower, upper, fits, within, close, columns, remedies and reasons(chosen)"
)


class Alternatives(Protocol):
    """What a plan gives; all arrays have an element for each alternative."""

    title: str  # what is planned, under which limits
    asked: str  # the cost in the plural: "ranks"
    cost: ArrayLike  # [1]
    time: ArrayLike  # [s]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Ways:
    """Alternatives that were checked; the other fields are those that they may have."""

    title: str
    asked: str
    cost: Array  # [1]
    time: Array  # [s]
    lower: Array  # of the 90% interval [s]
    upper: Array  # [s]
    fits: NDArray[np.bool_]  # the limits
    within: float | None = None  # the longest time allowed, to be drawn [s]
    close: float | None = None  # of the least time, by which one of less cost may be longer [1]
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # what tells them apart
    machines: tuple[str, ...] = ()  # that each is on; () where there is one
    remedies: tuple[str, ...] = ()  # what would have to change, where none fits

    @property
    def times(self) -> tuple[Array, Array, Array]:
        """Times, and the ends of their intervals. [s]."""
        return self.time, self.lower, self.upper

    def order(self) -> NDArray[np.intp]:
        """Places of the alternatives, the best first."""
        return best_first(self.time, self.cost, fits=self.fits, close=self.close)


def checked(given: Any, *, plan: str, author: str) -> Ways:
    """Check what a plan of another package gave; what it must give is said if it is not that."""
    try:
        return _as_ways(given)
    except (AttributeError, TypeError, ValueError) as error:
        raise _broken(f"{error}", plan=plan, author=author) from error


def reasons_of(given: Any, chosen: int, *, plan: str, author: str) -> tuple[str, ...]:
    """Reasons of a plan of another package for an alternative, none where it gives none."""
    reasons = given.reasons(chosen) if hasattr(given, "reasons") else ()
    if not isinstance(reasons, list | tuple) or not all(isinstance(x, str) for x in reasons):
        got = f"reasons that are no list of texts: {reasons!r:.60}"
        raise _broken(got, plan=plan, author=author)
    return tuple(reasons)


def _broken(got: str, *, plan: str, author: str) -> PluginFaultError:
    """Say what a plan must give; its author is the module of its function."""
    return PluginFaultError(f"a plan must give {GIVES}, got {got}", of=author, name=plan)


def _as_ways(given: Any) -> Ways:
    """Read alternatives, or raise what is wrong with them."""
    if any(np.iscomplexobj(getattr(given, name)) for name in ("time", "cost")):
        raise TypeError("complex numbers")
    time = np.asarray(given.time, dtype=np.float64)
    if time.ndim != 1 or not len(time):
        raise ValueError(f"time of the shape {time.shape}")
    ends = {name: getattr(given, name, None) for name in ("lower", "upper")}
    arrays = {name: time if x is None else x for name, x in ends.items()} | {"cost": given.cost}
    read = {name: np.asarray(x, dtype=np.float64) for name, x in arrays.items()}
    columns = {str(name): list(x) for name, x in dict(getattr(given, "columns", {})).items()}
    lengths = {name: len(values) for each in (read, columns) for name, values in each.items()}
    for name, length in lengths.items():
        if length != len(time):
            raise ValueError(f"{name} of another length than time, which has {len(time)}")
    for name, values in {"time": time, **read}.items():
        if not np.all(values > 0):
            raise ValueError(f"{name} that is not above 0 everywhere")
    for name in ("title", "asked"):
        if not isinstance(getattr(given, name), str):
            raise TypeError(f"{name} that is no text")
    fits = np.asarray(getattr(given, "fits", True), dtype=bool)
    within, close = (
        None if x is None else float(x)
        for x in (getattr(given, name, None) for name in ("within", "close"))
    )
    return Ways(
        title=given.title,
        asked=given.asked,
        time=time,
        fits=np.broadcast_to(fits, time.shape),
        columns=columns,
        remedies=tuple(map(str, getattr(given, "remedies", ()))),
        machines=(),
        within=within,
        close=close,
        **read,
    )


def best_first(
    time: ArrayLike,
    cost: ArrayLike,
    *,
    fits: ArrayLike = True,
    score: ArrayLike | None = None,
    close: float | None = None,
    excess: ArrayLike = 0.0,
) -> NDArray[np.intp]:
    """Places of alternatives, the best first: those that fit by score, then time, then cost.

    The score is the time where there is no other. With `close`, the fastest of each cost that
    takes at most so much longer than the least time come first, the least cost before. Those that
    do not fit come last, the least excess over the limits before.

    >>> best_first([3.0, 2.0, 2.1, 9.0], [1, 4, 2, 1])
    array([1, 2, 0, 3])
    >>> best_first([3.0, 2.0, 2.1, 9.0], [1, 4, 2, 1], close=0.1)
    array([2, 1, 0, 3])
    """
    times, costs = (np.asarray(x, dtype=np.float64) for x in (time, cost))
    fit = np.broadcast_to(np.asarray(fits, dtype=bool), times.shape)
    first = times if score is None else np.asarray(score, dtype=np.float64)
    missed = np.where(fit, 0.0, excess)
    order = np.lexsort((costs, times, first, missed, ~fit))
    if close is None or not fit.any():
        return order
    _, of_each = np.unique(costs[order], return_index=True)
    leads = np.zeros(len(times), dtype=bool)
    leads[order[of_each]] = True
    leads &= fit & (times <= times[fit].min() * (1 + close))
    return np.lexsort((costs, times, np.where(leads, costs, first), ~leads, missed, ~fit))
