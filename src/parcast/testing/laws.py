"""A check of laws: a phase answers for a whole grid as it does for each point."""

from collections.abc import Sequence

import numpy as np

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase
from parcast.errors import ParameterError


def check_law(
    phase: Phase,
    machine: Machine | None = None,
    *,
    p: Sequence[float] = (1, 2, 3, 8),
    n: float = 64,
) -> None:
    """Check that times are finite, not negative and the same for a grid and each of its points.

    Raises
    ------
    ParameterError
        If they are not.

    Examples
    --------
    >>> from parcast import Program
    >>> from parcast.testing.laws import check_law
    >>> [phase] = Program(phase=[{"law": "amdahl", "t1": "80 s", "serial": 0.25}]).phase
    >>> check_law(phase)
    """
    known = Machine() if machine is None else machine
    grid = {"p": np.array(p, dtype=np.float64), "n": np.full(len(p), float(n))}
    times = np.broadcast_to(phase.times(known, grid).time, (len(p),))
    if not (np.isfinite(times).all() and (times >= 0).all()):
        raise ParameterError(
            f"times of {phase.law}",
            must="be finite and at least 0",
            got=str(times.tolist()),
            hint="Check its formula.",
        )
    for i, each in enumerate(p):
        alone = float(phase.times(known, {"p": float(each), "n": float(n)}).time)
        if not np.isclose(alone, times[i], rtol=1e-12):
            raise ParameterError(
                f"times of {phase.law}",
                must="be the same for a grid and for each of its points",
                got=f"{times[i]:g} s and {alone:g} s at p = {each:g}",
                hint="Let its formula broadcast.",
            )
