"""What limits along p: the resource that the time follows most, and from which count on.

That is the one with the largest elasticity of the time. `predict` and `explain` ask here, so that
they name the same counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.breakdown import RESOURCES, Breakdown
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.spmd.demands import with_servers
from parcast.prediction.best_processors import DEAR

SPENT_ON: Final = {
    "compute": "computing",
    "communication": "communication",
    "io": "I/O",
    "synchronisation": "waiting for the slowest processor",
}
POINTS: Final = 400  # along p, of a simple law
FEWEST: Final = 24
SATURATED: Final = 0.9  # elasticity from which a resource is saturated [D]
AT_ONCE: Final = 64  # counts between two, looked at together
MOST_CHANGES: Final = 4  # that are named


def shares_and_slopes(
    program: Program, machine: Machine, at: Mapping[str, Array]
) -> tuple[Breakdown, dict[str, Array]]:
    """Time by what it is spent on [s], and the elasticity of each resource [1]."""
    at = with_servers(machine, at)
    parts = program.times(machine, at)
    slopes = program.resource_slopes(machine, at)
    return parts, dict(zip(RESOURCES, elasticities_of(slopes, parts.time), strict=True))


def elasticities_of(slopes: Breakdown, time: Array) -> Array:
    """Slopes of each resource over the time, of which nothing may be left. [1]."""
    each = np.stack(np.broadcast_arrays(*(getattr(slopes, name) for name in RESOURCES)))
    shape = np.broadcast_shapes(each.shape, np.shape(time))
    found: Array = np.divide(each, time, out=np.zeros(shape), where=np.asarray(time) > 0)
    return found


class AlongCounts:
    """Elasticities of the resources along p, (resources, counts), between two counts as well.

    Where they are given and the law takes long, nothing is evaluated between counts.
    """

    def __init__(
        self,
        program: Program,
        machine: Machine,
        at: Mapping[str, Any],
        p: Array,
        elasticity: Array | None = None,
    ) -> None:
        self.program, self.machine, self.at, self.p = program, machine, at, p
        self.is_fine = elasticity is None or program.dearness < DEAR
        self.elasticity = self._at(p) if elasticity is None else elasticity

    @classmethod
    def up_to(
        cls, program: Program, machine: Machine, at: Mapping[str, Any], asked: Array
    ) -> "AlongCounts":
        """Evaluate them from p = 1 to the largest count that was asked for."""
        points = int(np.clip(POINTS * 20 / program.dearness, FEWEST, POINTS))
        asked = np.unique(asked)
        try:
            every = np.unique(np.round(np.geomspace(1.0, float(asked[-1]), points)))
            return cls(program, machine, at, every)
        except ParameterError:  # the law has an answer at those that were asked for
            return cls(program, machine, at, asked)

    def _at(self, counts: Array) -> Array:
        """Elasticities at counts, (resources, counts)."""
        _, found = shares_and_slopes(self.program, self.machine, {**self.at, "p": counts})
        return np.stack([np.broadcast_to(found[name], counts.shape) for name in RESOURCES])

    def leading(self) -> list[tuple[int, str]]:
        """From which count on the time follows which resource most, from the least count on."""
        return [(p, RESOURCES[row]) for p, row in self._changes(None)]

    def saturated(self, resource: str) -> int | None:
        """Count from which a resource is saturated up to the largest; None if it is not there."""
        row = RESOURCES.index(resource)
        *_, (p, is_so) = self._changes(row)
        return p if is_so else None

    def _changes(self, row: int | None) -> list[tuple[int, int]]:
        """Counts where something changes, and what it is from there on."""
        state = self._state(self.elasticity, row).tolist()
        found = [(int(self.p[0]), state[0])]
        for i, j in pairwise(range(len(self.p))):
            if state[i] != state[j]:
                found += self._between(self.p[i], self.p[j], (state[i], state[j]), row)
        return found

    def _between(
        self, low: float, high: float, state: tuple[int, int], row: int | None
    ) -> Iterator[tuple[int, int]]:
        """Changes after `low` up to `high`, where `state` is what it is at both.

        `row` is the resource that is saturated, None where it is asked which leads. They are as
        near as the law has answers between.
        """
        first, before = low, state[0]
        while high - low > 1 and self.is_fine:
            counts = np.unique(np.round(np.linspace(low, high, AT_ONCE)))
            try:
                found = self._state(self._at(counts), row)
            except ParameterError:
                break
            other = np.flatnonzero(found != state[1])
            last = int(other[-1]) if len(other) else 0
            before, low = int(found[last]), float(counts[last])
            high = float(counts[min(last + 1, len(counts) - 1)])
        if before != state[0]:
            yield from self._between(first, low, (state[0], before), row)
        yield int(high), state[1]

    @staticmethod
    def _state(elasticity: Array, row: int | None) -> NDArray[np.intp]:
        """Which resource leads, or whether one is saturated."""
        if row is None:
            return np.asarray(np.argmax(elasticity, axis=0))
        return np.asarray(elasticity[row] >= SATURATED, dtype=np.intp)


def changes_in_words(changes: Sequence[tuple[int, str]]) -> str:
    """Say what limits from which count on; of many changes the last ones.

    >>> changes_in_words([(1, "compute"), (38, "communication")])
    'computing, then communication from p = 38'
    """
    named = changes[-MOST_CHANGES:]
    words = [
        SPENT_ON[resource] + ("" if (p, resource) == changes[0] else f" from p = {p}")
        for p, resource in named
    ]
    often = " (and others before)" if len(named) < len(changes) else ""
    return f"{', then '.join(words)}{often}"
