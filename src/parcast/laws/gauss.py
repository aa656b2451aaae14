"""Gaussian elimination of n unknowns: waves i = 1 .. n - 1 over the n - i rows that are left.

    T(1) = alpha * Q / W                                                          [R], (7.1)
    T(P) = alpha * Q / (P*W) + beta * Q / u                                       [R], (7.2)
    S(P) = P / (1 + beta*P*W/(alpha*u))                                           [R], (7.3)
    Q = sum over i of (n - i)^2 = (n - 1)*n*(2*n - 1)/6

alpha = 3 and beta = 16 B are the source's: three multiplications, and a number sent out and back
in every wave. As the whole matrix travels in each wave, speedup does not depend on n and is poor
unless u is far above P*W. A program that keeps its rows sends the pivot row alone, by a tree:
``exchange = "pivot"`` [D] has beta/2 * n*(n - 1)/2 * ceil(lg P) bytes.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose.
"""

from typing import ClassVar, Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.description import parameter
from parcast.descriptions.program import LAW_KEY
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase, in_parallel

Exchange = Literal["rows", "pivot"]


class GaussPhase(SteadyStatePhase):
    """A Gaussian elimination of n unknowns; with one there is nothing to do.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "10 Mflop/s", "network": "100 MB/s"}
    >>> phase = GaussPhase(law="gauss", capacities=own)
    >>> one, eight = phase.times(Machine(), {"p": [1, 8], "n": 500}).time
    >>> float(round(one / eight, 3))
    1.519
    """

    source: ClassVar[str] = "Shi c. 1996, equations (7.1) to (7.3)"
    workers: ClassVar[str] = "one row of the matrix for each"
    law: Literal["gauss"] = LAW_KEY
    alpha: Count = parameter("3", "Steps of an entry in a wave.")
    beta: Size = parameter("16 B", "Bytes of an entry in a wave, sent out and back.")
    exchange: Exchange = parameter(
        "rows", "What travels in a wave: all rows, or the pivot row alone."
    )

    @staticmethod
    def law_counts(n: Array, p: Array, *, alpha: Array, beta: Array, exchange: Exchange) -> Counts:
        """Count; messages of a wave are 2*(P - 1) of a master, or ceil(lg P) of a tree [D]."""
        entries = (n - 1.0) * n * (2.0 * n - 1.0) / 6.0
        steps = np.asarray(alpha * entries / p)
        if exchange == "rows":
            sent, messages = beta * entries, (n - 1.0) * 2.0 * (p - 1.0)
        else:
            levels = np.ceil(np.log2(p))
            sent, messages = beta * n * (n - 1.0) / 4.0 * levels, (n - 1.0) * levels
        return Counts(
            steps=steps,
            shared=steps,
            network_bytes=in_parallel(p, sent),
            messages=in_parallel(p, messages),
        )
