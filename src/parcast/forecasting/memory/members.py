"""Laws of memory: of a rank over the processors, and over the problem size.

    copy     a                      each rank holds everything
    shared   a + b/p                data that the ranks share, beside a copy
    halo     a + b/p + c p^(-2/3)   and the surface of a cube of it, of its neighbours
    tables   a + b/p + c p          and an entry for every rank, as of addresses and counts

What all ranks take together is forecast by its mean over them, for which the same holds. Over the
problem size n it is a constant and a power of n, or two. The coefficients are not negative, as of
laws of time, and the same ensemble weighs the laws by what they forecast. Unlike a time, memory
keeps the law of its data structures, so the laws that hold far out have a term that grows as p.
The choice of terms is parcast's own [D]; ``benchmarks/memory.py`` measures what they forecast.
"""

from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.own_runs.members import LawSet
from parcast.laws.curves import POWER, SumOfTerms, constant, linear, quadratic, shared

_SOURCE: Final = "data structures of parallel programs [D]"


def surface(p: Array) -> Array:
    """Surface of the share of a cube that a rank has: p^(-2/3). [1]."""
    return np.asarray(p ** (-2.0 / 3.0))


def cubic(n: Array) -> Array:
    """Data in a cube of side n: n^3. [1]."""
    return np.asarray(n**3)


def _law(name: str, formula: str, *terms: object) -> SumOfTerms:
    return SumOfTerms(name=name, formula=formula, source=_SOURCE, terms=terms)  # type: ignore[arg-type]  # each is a function of an array


COPY: Final = _law("copy", "a", constant)
SHARED: Final = _law("shared", "a + b/p", constant, shared)
HALO: Final = _law("halo", "a + b/p + c*p^(-2/3)", constant, shared, surface)
TABLES: Final = _law("tables", "a + b/p + c*p", constant, shared, linear)
# Memory repeats to a per cent, and nothing in it grows faster than the ranks that it is of. [D]
_OF_MEMORY: Final[dict[str, Any]] = {
    "near_error": 0.05,
    "least_hiding": 0.005,
    "growth": 1.0,
    "widening": 0.75,
}
ALONG_P: Final = LawSet(
    laws=(COPY, SHARED, HALO, TABLES, POWER),
    far=("shared", "halo", "tables"),
    fewest="copy",
    **_OF_MEMORY,
)

ALONG_N: Final = LawSet(
    laws=(
        COPY,
        _law("size", "a + b*n", constant, linear),
        _law("square", "a + b*n^2", constant, quadratic),
        _law("cube", "a + b*n^3", constant, cubic),
        _law("size and square", "a + b*n + c*n^2", constant, linear, quadratic),
        POWER,
    ),
    far=("size", "square", "cube"),
    fewest="copy",
    **_OF_MEMORY,
)
