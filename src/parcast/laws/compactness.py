"""Search-space compactness: whether a superlinear speedup is real or a poor sequential program.

    not compact:  g(n) >= c * n^epsilon * f(n)   for some epsilon > 0      [S in words, exponent R]

f(n) is the cost of verifying a solution, g(n) that of finding one. If finding costs a power of n
more than verifying, the algorithm examines more than necessary, and splitting the problem may save
steps: the speedup may be above P. But then a better sequential program may save them as well.
Sorting in n^2 steps is not compact (epsilon = 1: comparing neighbours verifies a solution in n
steps); sorting in n*lg(n) steps is.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.expressions import Expression, Overflow
from parcast.show.warning import Rank, RankedWarning

FAR: Final = (1e40, 1e80)  # sizes between which growth is taken: n^3 is still a float there
LEAST: Final = 0.02  # power of n that is one: that of lg(n) seems to be 0.009 there
HAIR: Final = 1e-9  # by which rounding may bring a speedup above p


@dataclass(frozen=True, kw_only=True, slots=True)
class Compactness:
    """How much more expensive it is to find a solution than to verify one."""

    epsilon: float  # power of n between the two, 0 or less where there is none; may be infinite
    is_compact: bool

    def __str__(self) -> str:
        """Say what follows."""
        if self.is_compact:
            return (
                "compact: no parallel version needs fewer steps, so a speedup above p must have "
                "another cause"
            )
        return (
            f"not compact (epsilon = {self.epsilon:.2g}): superlinear speedup is possible, and a "
            "better sequential program exists"
        )


def compactness(solution: str, verification: str) -> Compactness:
    """Whether an algorithm is search-space compact, by formulas in n of its steps.

    Constant factors and logarithms do not count.

    >>> compactness("n^2", "n")
    Compactness(epsilon=1.0, is_compact=False)
    >>> print(compactness("n * log2(n)", "n"))  # doctest: +ELLIPSIS
    compact: no parallel version needs fewer steps, ...
    """
    difference = _power(solution, "solution") - _power(verification, "verification")
    if np.isnan(difference):
        raise ParameterError(
            "solution and verification",
            must="not both grow faster than any power of n",
            got=f'"{solution}" and "{verification}"',
            hint="Divide both by their common factor.",
        )
    epsilon = round(difference, 2) + 0.0
    return Compactness(epsilon=epsilon, is_compact=bool(difference < LEAST))


def _power(text: str, name: str) -> float:
    """Power of n that a formula grows with; infinite where it is more than any."""
    formula = Expression(text, name=name, known_axes=frozenset({"n"}))
    try:
        near, far = formula(n=np.asarray(FAR))
    except Overflow:
        return float("inf")
    if not (near > 0 and far > 0):
        raise ParameterError(
            name, must="be above 0 for large n", got=f'"{text}"', hint='Write for example "n^2".'
        )
    return float(np.log(far / near) / np.log(FAR[1] / FAR[0]))


def superlinear_warnings(program: Program, p: Array, speedup: Array) -> Iterator[str]:
    """Say where speedup is above p, and why that may be, if the laws state their compactness."""
    known = [phase.is_compact for phase in program.phase if phase.is_compact is not None]
    p, speedup = np.broadcast_arrays(p, speedup)
    above = speedup > p * (1.0 + HAIR)
    if not known or not above.any():
        return
    most = np.unravel_index(np.argmax(speedup / p), p.shape)
    claim = f"Speedup is above p: {speedup[most]:.3g} at p = {p[most]:g}."
    if all(known):
        yield RankedWarning(
            f"{claim} No parallel version of this algorithm needs fewer steps (it is search-space "
            "compact). Check what else grows with p: caches, disks, rates that are formulas in p, "
            "or a slow sequential run.",
            rank=Rank.SERIOUS,
        )
    else:
        yield (
            f"{claim} This may be real, as the algorithm is not search-space compact. A better "
            "sequential program would remove the advantage: one that processes the parts one "
            "after another, or needs fewer steps."
        )
