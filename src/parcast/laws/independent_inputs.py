"""Programs with independent inputs: fractals, and Monte Carlo in time slices.

    fractal      T(1) = n*alpha/W ,   T(P) = n*alpha/(P*W) + n*beta/u        [R], (4.1) and (4.2)
                 S(P) = P/(1 + x) ,   x = beta*P*W/(alpha*u)                 [R], (4.3) and (4.4)
    monte_carlo  the same in each of some slices                             [R], (5.1) to (5.4)

n pixels, or samples of a slice, take alpha steps each and send beta bytes each; the results of a
slice are gathered after it. Use it if a loop is distributed and only its results are sent: the
efficiency, 1/(1 + x), depends neither on n nor on the slices. The source prints 87% where
1/(1 + x) gives 88.6%; 87% is the value of 1 - x, its first order. A master sends each of the
others its part and gets it back, in 2*(P - 1) messages per slice [D]; if each has a startup t0,
time is least at sqrt(n*alpha/(2*W*t0)) processors [D]. An image that is dealt out line by line
takes whole lines, and two messages for each of them: ceil(n/(line*P)) lines of the processor with
most, and 2*ceil(n/line) messages [D].

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose.
"""

from typing import Final, Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.description import parameter
from parcast.descriptions.program import LAW_KEY
from parcast.errors import require
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase, dealt_out, positive, share

ROUNDING: Final = 1e-9  # of a number of lines


class FractalPhase(SteadyStatePhase):
    """n independent inputs, such as pixels, that are distributed.

    >>> from parcast.descriptions.machine import Machine
    >>> phase = FractalPhase(law="fractal", alpha="100", beta="8 B")
    >>> machine = Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "8 MB/s"})
    >>> phase.times(machine, {"p": [1, 10], "n": 1e6}).time
    array([100.,  11.])
    """

    source = "Shi c. 1996, equations (4.1) to (4.4)"
    law: Literal["fractal"] = LAW_KEY
    alpha: Count = parameter("32000", "Steps per input.")
    beta: Size = parameter("8 B", "Bytes sent per input.")
    line: Count | None = parameter(
        None, "Inputs dealt out at a time, such as a line of an image; by default n/p."
    )

    @staticmethod
    def law_counts(
        n: Array, p: Array, *, alpha: Array, beta: Array, line: Array | None = None
    ) -> Counts:
        """Count what n inputs take."""
        if line is None:
            return _slices(n, p, alpha, beta, 1.0)
        piece = np.minimum(positive("line", line), n)
        most = piece * np.ceil(n / (piece * p) - ROUNDING)
        steps = alpha * np.where(p > 1, np.minimum(most, n), n)
        return dealt_out(p, steps, sent=n * beta, messages=2.0 * np.ceil(n / piece - ROUNDING))

    def grain(self, n: float, p: float) -> tuple[float, float]:
        """Between a line of the image, sqrt(n) pixels unless it is given, and a processor's part.

        >>> FractalPhase(law="fractal", line=400).grain(240_000, 8)
        (400.0, 30000.0)
        """
        each = share(n, p)
        line = np.sqrt(n) if self.line is None else positive("line", self.line({"n": n, "p": p}))
        return min(float(line), each), max(float(line), each)


class MonteCarloPhase(SteadyStatePhase):
    """n independent samples in each of some time slices.

    >>> from parcast.descriptions.machine import Machine
    >>> phase = MonteCarloPhase(law="monte_carlo", alpha=100, slices=2)
    >>> machine = Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "8 MB/s"})
    >>> phase.times(machine, {"p": [1, 10], "n": 1e6}).time
    array([200.,  22.])
    """

    source = "Shi c. 1996, equations (5.1) to (5.4)"
    law: Literal["monte_carlo"] = LAW_KEY
    alpha: Count = parameter("1", "Steps per sample.")
    beta: Size = parameter(
        "8 B", 'Bytes sent per sample; "8 B * p / n" for one sum per processor.'
    )
    slices: Count = parameter("1", "Time slices.")

    @staticmethod
    def law_counts(n: Array, p: Array, *, alpha: Array, beta: Array, slices: Array) -> Counts:
        """Count as many slices of independent samples."""
        return _slices(n, p, alpha, beta, slices)

    def grain(self, n: float, p: float, *, k: float = 2.0) -> tuple[float, float]:
        """From k pieces for each processor to one.

        >>> MonteCarloPhase(law="monte_carlo").grain(1e6, 10, k=4)
        (25000.0, 100000.0)
        """
        each, hint = share(n, p), "1 is one piece per processor."
        require("k", np.asarray(k), 1 <= k <= each, must="lie between 1 and n/p", hint=hint)
        return each / k, each


def _slices(n: Array, p: Array, alpha: Array, beta: Array, slices: Array | float) -> Counts:
    """Counts of independent inputs that a master deals out, slice by slice."""
    return dealt_out(
        p, n * alpha / p * slices, sent=n * beta * slices, messages=2.0 * (p - 1.0) * slices
    )
