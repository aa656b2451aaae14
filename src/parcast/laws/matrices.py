"""Dense matrices of n rows: a product by rows, and a Gaussian elimination step by step.

    matmul  T(1) = alpha*n^3/W                                                        [R], (6.1)
            T(P) = alpha*n^3/(P*W) + beta*n^2*(1 + P + kappa)/u                       [R], (6.2)
            S(P) = P / (1 + beta*P*(P + 1 + kappa)*W/(alpha*n*u))                     [R], (6.3)
    gauss   T(1) = alpha*Q/W ,   Q = sum over i of (n - i)^2 = (n - 1)*n*(2*n - 1)/6  [R], (7.1)
            T(P) = alpha*Q/(P*W) + beta*Q/u                                           [R], (7.2)
            S(P) = P / (1 + beta*P*W/(alpha*u))                                       [R], (7.3)

For a product A*B, A is distributed and B is sent to all processors. kappa = 0 counts what the
source's prose counts, A once and B for each of the P processors; kappa = 1 also sends the product
back. If the network has a hardware broadcast, B is sent once: ``broadcast = true`` replaces the P
in the bracket by 1. A master sends the others their rows of A, B, and gets rows of the product
[D]. Time is least at about sqrt(alpha*n*u/(beta*W)) processors [D].

An elimination has steps i = 1 .. n - 1 over the remaining n - i rows. alpha = 3 and beta = 16 B
are the source's: three multiplications, and a number sent out and back in every step, in 2*(P - 1)
messages of a master [D]. As the whole matrix is sent in every step, the speedup does not depend on
n and is poor unless u is far above P*W. A program that keeps its rows sends only the pivot row, by
a tree: ``exchange = "pivot"`` [D] has beta/2 * n*(n - 1)/2 * ceil(lg P) bytes. For one unknown
nothing is computed.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose.
"""

from typing import Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.description import parameter
from parcast.descriptions.program import LAW_KEY
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase, dealt_out, share

Exchange = Literal["rows", "pivot"]


class MatmulPhase(SteadyStatePhase):
    """A product of two matrices of n rows.

    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "10 Mflop/s", "network": "100 MB/s"}
    >>> phase = MatmulPhase(law="matmul", capacities=own)
    >>> one, many = phase.times(Machine(), {"p": [1, 32], "n": 1000}).time
    >>> float(round(one / many, 3))
    17.346
    """

    source = "Shi c. 1996, equations (6.1) to (6.3)"
    workers = "one row of the matrix for each"
    law: Literal["matmul"] = LAW_KEY
    alpha: Count = parameter("1", "Steps of one multiplication and addition.")
    beta: Size = parameter("8 B", "Bytes of one matrix entry.")
    kappa: Count = parameter("0", "How often the product is sent back.")
    broadcast: bool = parameter(False, "Whether the network has a hardware broadcast.")

    @staticmethod
    def law_counts(
        n: Array, p: Array, *, alpha: Array, beta: Array, kappa: Array, broadcast: bool
    ) -> Counts:
        """Count what the product takes."""
        copies, sends = (1.0, 1.0) if broadcast else (p, p - 1.0)
        return dealt_out(
            p,
            alpha * n**3 / p,
            sent=beta * n**2 * (1.0 + copies + kappa),
            messages=(1.0 + kappa) * (p - 1.0) + sends,
        )

    def grain(self, n: float, p: float) -> tuple[float, float]:
        """Entries of the product, from a processor's part on."""
        return n * share(n, p), float(n**2)


class GaussPhase(SteadyStatePhase):
    """A Gaussian elimination of n unknowns.

    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "10 Mflop/s", "network": "100 MB/s"}
    >>> phase = GaussPhase(law="gauss", capacities=own)
    >>> one, eight = phase.times(Machine(), {"p": [1, 8], "n": 500}).time
    >>> float(round(one / eight, 3))
    1.519
    """

    source = "Shi c. 1996, equations (7.1) to (7.3)"
    workers = "one row of the matrix for each"
    law: Literal["gauss"] = LAW_KEY
    alpha: Count = parameter("3", "Steps per entry in one elimination step.")
    beta: Size = parameter("16 B", "Bytes per entry in one elimination step, sent out and back.")
    exchange: Exchange = parameter(
        "rows", "What is sent in one elimination step: all rows, or the pivot row only."
    )

    @staticmethod
    def law_counts(n: Array, p: Array, *, alpha: Array, beta: Array, exchange: Exchange) -> Counts:
        """Count what all waves take."""
        entries, levels = (n - 1.0) * n * (2.0 * n - 1.0) / 6.0, np.ceil(np.log2(p))
        sent, messages = beta * entries, (n - 1.0) * 2.0 * (p - 1.0)
        if exchange == "pivot":
            sent, messages = beta * n * (n - 1.0) / 4.0 * levels, (n - 1.0) * levels
        return dealt_out(p, alpha * entries / p, sent=sent, messages=messages)

    def grain(self, n: float, p: float) -> tuple[float, float]:
        """Rows, from one on."""
        return 1.0, share(n, p)
