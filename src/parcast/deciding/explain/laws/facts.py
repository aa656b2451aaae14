"""What the law of a program says of its speedup and its pieces.

    S = T(1)/T(p)                                       fixed size                          [S]
    sigma_1 = (1/S - 1/p) / (1 - 1/p)                   of the time on one processor        [S]
    sigma_p = p sigma_1 / (p sigma_1 + 1 - sigma_1)     of the time on p processors         [S]
    S' = p - sigma_1 (p - 1)                            where the shared work grows with p  [S]

sigma_1 is what Karp and Flatt call the serial fraction [1]_. Amdahl's law takes it, and gives S;
Gustafson's takes that of the time on p processors, and gives the same S with sigma_p: the laws are
one [2]_. An interval of S ends at p, unless S itself is above it [D]. S' is Gustafson's scaled
speedup of a problem whose shared work is p times as large, while all else stays.

References
----------
.. [1] A. H. Karp and H. P. Flatt, :doi:`10.1145/78607.78614`.
.. [2] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996; `parcast.laws.curves`.
"""

from dataclasses import dataclass

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.program import Program
from parcast.laws.counting import SteadyStatePhase


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseFacts:
    """What the law of a phase says of its pieces and its algorithm."""

    phase: str  # its name; "" of the only one
    law: str
    grain: tuple[float, float] | None  # least and largest piece worth handing over [inputs]
    is_compact: bool | None  # search-space compact; `null` where the law does not say


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SpeedupFacts:
    """Speedups and serial fractions at one count: each a value and the ends of its interval."""

    _outline = """
        p# speedup serial_of_one serial_of_p scaled_speedup rate_flop_per_s=rate
        used_rate_flop_per_s=used_rate
    """

    p: float  # processors [1]
    speedup: tuple[float, float, float]  # of fixed size: the value and its interval [1]
    serial_of_one: tuple[float, float, float]  # serial fraction of the time on one processor [1]
    serial_of_p: tuple[float, float, float]  # the same of the time on p processors [1]
    scaled_speedup: tuple[float, float, float]  # where the shared work grows with p [1]
    rate: float | None  # aggregate operations per second of all processors [1/s]

    @property
    def used_rate(self) -> tuple[float, float, float] | None:
        """Of the aggregate rate what is used: the speedup times the rate of one processor."""
        if self.rate is None:
            return None
        one = self.rate / self.p
        value, lower, upper = (one * x for x in self.speedup)
        return value, lower, upper


def speedup_facts(p: float, speedup: Array, rate: float | None) -> SpeedupFacts | None:
    """Give what follows from a speedup, its lower and its upper end; None on one processor."""
    if p <= 1:
        return None
    of_one = (1.0 / speedup - 1.0 / p) / (1.0 - 1.0 / p)
    of_p = p * of_one / (p * of_one + 1.0 - of_one)
    scaled = p - of_one * (p - 1.0)
    return SpeedupFacts(
        p=p,
        speedup=_ends(speedup),
        serial_of_one=_ends(of_one),
        serial_of_p=_ends(of_p),
        scaled_speedup=_ends(scaled),
        rate=None if rate is None else p * rate,
    )


def _ends(values: Array) -> tuple[float, float, float]:
    """Take a value, and its interval from the least up."""
    value, *ends = values.tolist()
    return value, min(ends), max(ends)


def phase_facts(program: Program, n: float | None, p: float) -> tuple[PhaseFacts, ...]:
    """What the laws of the phases say of pieces and of the algorithm; none that say nothing."""
    found = []
    for i, phase in enumerate(program.phase):
        grain = None
        if isinstance(phase, SteadyStatePhase) and n is not None:
            grain = phase.grain(n, p)
        if grain is not None or phase.is_compact is not None:
            found.append(
                PhaseFacts(
                    phase=program.label(i),
                    law=phase.law,
                    grain=grain,
                    is_compact=phase.is_compact,
                )
            )
    return tuple(found)


def is_weak(here: Array | None, alone: Array | None) -> bool:
    """Whether the work that processors share grows with them."""
    return here is not None and alone is not None and bool(np.any(here > alone * (1 + 1e-9)))
