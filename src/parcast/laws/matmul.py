"""Multiplication of two n x n matrices, by rows: A dealt out, B sent to everybody.

    T(1) = alpha*n^3/W                                                            [R], (6.1)
    T(P) = alpha*n^3/(P*W) + beta*n^2*(1 + P + kappa)/u                           [R], (6.2)
    S(P) = P / (1 + beta*P*(P + 1 + kappa)*W/(alpha*n*u))                         [R], (6.3)

kappa = 0 counts what the source's prose counts, A once and B for each of the P processors;
kappa = 1 sends the product back as well. Where the network broadcasts by itself, B travels once:
``broadcast = true`` puts 1 for the P in the bracket. Time is least at about sqrt(n*u/(8*W))
processors [D] (`parcast.laws.grain`).

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


class MatmulPhase(SteadyStatePhase):
    """A product of two matrices of n rows.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "10 Mflop/s", "network": "100 MB/s"}
    >>> phase = MatmulPhase(law="matmul", capacities=own)
    >>> one, many = phase.times(Machine(), {"p": [1, 32], "n": 1000}).time
    >>> float(round(one / many, 3))
    17.346
    """

    source: ClassVar[str] = "Shi c. 1996, equations (6.1) to (6.3)"
    workers: ClassVar[str] = "one row of the matrix for each"
    law: Literal["matmul"] = LAW_KEY
    alpha: Count = parameter("1", "Steps of a multiplication and the addition after it.")
    beta: Size = parameter("8 B", "Bytes of an entry.")
    kappa: Count = parameter("0", "How often the product is sent back.")
    broadcast: bool = parameter(False, "Whether the network sends to all at once by itself.")

    @staticmethod
    def law_counts(
        n: Array, p: Array, *, alpha: Array, beta: Array, kappa: Array, broadcast: bool
    ) -> Counts:
        """Count; a master sends the others rows of A, B, and gets rows of the product [D]."""
        steps = np.asarray(alpha * n**3 / p)
        copies, sends = (1.0, 1.0) if broadcast else (p, p - 1.0)
        return Counts(
            steps=steps,
            shared=steps,
            network_bytes=in_parallel(p, beta * n**2 * (1.0 + copies + kappa)),
            messages=in_parallel(p, (1.0 + kappa) * (p - 1.0) + sends),
        )
