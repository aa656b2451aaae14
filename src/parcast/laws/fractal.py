"""Fractals and other programs whose inputs need nothing of each other.

    T(1) = n*alpha/W ,   T(P) = n*alpha/(P*W) + n*beta/u                     [R], (4.1) and (4.2)
    S(P) = P / (1 + x) ,   efficiency = 1 / (1 + x) ,   x = beta*P*W/(alpha*u)   [R], (4.3), (4.4)

n pixels take alpha steps each and send beta bytes each. Use it wherever a loop is dealt out and
only its results travel: efficiency does not depend on n. The source prints 87 % where 1/(1 + x)
gives 88.6 %; 87 % is the value of 1 - x, the first order of it.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose.
"""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.description import parameter
from parcast.descriptions.program import LAW_KEY
from parcast.errors import require
from parcast.laws.counting import (
    COUNTED,
    Count,
    Counts,
    Size,
    SteadyStatePhase,
    in_parallel,
    positive,
    sizes,
)


class FractalPhase(SteadyStatePhase):
    """n independent inputs, such as pixels, that are dealt out.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> phase = FractalPhase(law="fractal", alpha="100", beta="8 B")
    >>> machine = Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "8 MB/s"})
    >>> phase.times(machine, {"p": [1, 10], "n": 1e6}).time
    array([100.,  11.])
    """

    source: ClassVar[str] = "Shi c. 1996, equations (4.1) to (4.4)"
    law: Literal["fractal"] = LAW_KEY
    alpha: Count = parameter("32000", "Steps of an input.")
    beta: Size = parameter("8 B", "Bytes that are sent for an input.")

    @staticmethod
    def law_counts(n: Array, p: Array, *, alpha: Array, beta: Array) -> Counts:
        """Count; a master sends each of the others its part and gets it back, 2*(P - 1) [D]."""
        steps = np.asarray(n * alpha / p)
        return Counts(
            steps=steps,
            shared=steps,
            network_bytes=in_parallel(p, n * beta),
            messages=in_parallel(p, 2.0 * (p - 1.0)),
        )


def fractal_efficiency(
    p: ArrayLike, *, compute: ArrayLike, network: ArrayLike, alpha: ArrayLike, beta: ArrayLike
) -> Array:
    """Efficiency where messages start at no cost, 1 / (1 + beta*P*W/(alpha*u)).

    W `compute` [1/s], u `network` [B/s] and `alpha` lie above 0, `beta` [B] is at least 0; one
    processor is taken to communicate as well.

    >>> float(fractal_efficiency(512, compute=101e6, network=100e6, alpha=32000, beta=8).round(4))
    0.8855
    """
    _, p = sizes(1.0, p, most=np.inf)
    alpha, beta = positive("alpha", alpha), np.asarray(beta, dtype=np.float64)
    require("beta", beta, (beta >= 0) & np.isfinite(beta), must="be at least 0", hint=COUNTED)
    compute, network = positive("compute", compute), positive("network", network)
    return np.asarray(1.0 / (1.0 + beta * p * compute / (alpha * network)))
