"""Where the time tends to: many processors, many disks, and along the counts asked for.

A count is without end at 2^24, 2^34 and 2^44: the time has a limit there if it no longer changes,
and else grows or falls.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.explain.descriptions.elasticities import shares_and_slopes
from parcast.descriptions.breakdown import RESOURCES
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.spmd.demands import with_servers
from parcast.prediction.best_processors import DEAR

MANY: Final = 2.0 ** np.array([24, 34, 44])
SETTLED: Final = 1e-3  # of the time, by which it changes between the last two where it has a limit
POINTS: Final = 400  # along p, of a simple law
FEWEST: Final = 24
SATURATED: Final = 0.9  # elasticity from which a resource is saturated [D]
AT_ONCE: Final = 64  # counts between two, looked at together


def without_end(
    program: Program, machine: Machine, at: Mapping[str, Array], name: str
) -> tuple[str, float | None]:
    """What becomes of the time as a count grows: in a word, and the count where it is the limit.

    The word is `limit`, `grows`, `falls`, or why the law has no answer.
    """
    if program.dearness >= DEAR:  # it makes a table of all requests of so many
        return "its law counts every request", None
    try:
        with np.errstate(all="ignore"):
            point = with_servers(machine, {**at, name: MANY})
            time = np.broadcast_to(program.times(machine, point).time, MANY.shape)
    except ParameterError as refusal:
        return f"{refusal.name} must {refusal.must}", None
    if not np.all(np.isfinite(time)):
        return "grows", None
    if abs(time[-1] - time[-2]) <= SETTLED * time[-2]:
        return "limit", float(MANY[-1])
    return ("grows" if time[-1] > time[-2] else "falls"), None


class AlongCounts:
    """Elasticities of the resources from p = 1 to the largest count."""

    def __init__(
        self, program: Program, machine: Machine, at: Mapping[str, Array], most: float
    ) -> None:
        self.program, self.machine, self.at = program, machine, at
        points = int(np.clip(POINTS * 20 / program.dearness, FEWEST, POINTS))
        self.p = np.unique(np.round(np.geomspace(1.0, most, points)))
        self.p, self.elasticity = self._known(self.p)

    def _known(self, counts: Array) -> tuple[Array, Array]:
        """Counts at which the law has an answer, and elasticities there, (resources, counts)."""
        try:
            return counts, self._at(counts)
        except ParameterError:
            last = counts[-1:]  # it has one at those that were asked for
            return last, self._at(last)

    def _at(self, counts: Array) -> Array:
        """Elasticities at counts, (resources, counts)."""
        _, found = shares_and_slopes(self.program, self.machine, {**self.at, "p": counts})
        return np.stack([np.broadcast_to(found[name], counts.shape) for name in RESOURCES])

    def first(self, low: float, high: float, row: int | None) -> int:
        """First count after `low` where it is as at `high`: what leads, or that one is saturated.

        `row` is the resource that is saturated, None where it is asked which leads.
        """
        wanted = self._state(self._at(np.array([high])), row)[0]
        while high - low > 1:
            counts = np.unique(np.round(np.linspace(low, high, AT_ONCE)))
            state = self._state(self._at(counts), row) == wanted
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


def used(resources: Sequence[str], shares: Mapping[str, Array]) -> list[str]:
    """Resources that take time anywhere."""
    return [name for name in resources if np.any(shares[name] > 0)]
