"""Where the time tends to: many processors, and many disks.

A count is without end at 2^24, 2^34 and 2^44: the time has a limit there if it no longer changes,
and else grows or falls.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.spmd.demands import with_servers
from parcast.prediction.best_processors import DEAR

MANY: Final = 2.0 ** np.array([24, 34, 44])
SETTLED: Final = 1e-3  # of the time, by which it changes between the last two where it has a limit


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


def used(resources: Sequence[str], shares: Mapping[str, Array]) -> list[str]:
    """Resources that take time anywhere."""
    return [name for name in resources if np.any(shares[name] > 0)]
