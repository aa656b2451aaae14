"""What limits along p: the resource that the time follows most, and from which count on.

That is the one with the largest elasticity of the time. `predict` and `explain` ask here, so that
they name the same counts.
"""

from collections.abc import Mapping, Sequence
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
    return parts, {name: np.asarray(getattr(slopes, name) / parts.time) for name in RESOURCES}


class AlongCounts:
    """Elasticities of the resources from p = 1 to the largest count that was asked for."""

    def __init__(
        self, program: Program, machine: Machine, at: Mapping[str, Any], asked: Array
    ) -> None:
        self.program, self.machine, self.at = program, machine, at
        points = int(np.clip(POINTS * 20 / program.dearness, FEWEST, POINTS))
        asked = np.unique(asked)
        self.p: Array = np.unique(np.round(np.geomspace(1.0, float(asked[-1]), points)))
        try:
            self.elasticity = self._at(self.p)
        except ParameterError:  # the law has an answer at those that were asked for
            self.p, self.elasticity = asked, self._at(asked)

    def _at(self, counts: Array) -> Array:
        """Elasticities at counts, (resources, counts)."""
        _, found = shares_and_slopes(self.program, self.machine, {**self.at, "p": counts})
        return np.stack([np.broadcast_to(found[name], counts.shape) for name in RESOURCES])

    def first(self, low: float, high: float, row: int | None) -> int:
        """First count after `low` where it is as at `high`: what leads, or that one is saturated.

        `row` is the resource that is saturated, None where it is asked which leads. It is `high`
        where the law has no answer between.
        """
        wanted = self._state(self._at(np.array([high])), row)[0]
        while high - low > 1:
            counts = np.unique(np.round(np.linspace(low, high, AT_ONCE)))
            try:
                state = self._state(self._at(counts), row) == wanted
            except ParameterError:
                break
            other = np.flatnonzero(~state)
            last = int(other[-1]) if len(other) else 0
            low, high = float(counts[last]), float(counts[min(last + 1, len(counts) - 1)])
        return int(high)

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
        state = self._state(self.elasticity, row)
        found = [(int(self.p[0]), int(state[0]))]
        for i, j in pairwise(range(len(self.p))):
            if state[i] != state[j]:
                found.append((self.first(self.p[i], self.p[j], row), int(state[j])))
        return found

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
