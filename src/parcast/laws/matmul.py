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

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of
from parcast.laws.counting import Counts, SteadyStatePhase, density, in_parallel, sizes


def matmul_counts(
    n: ArrayLike,
    p: ArrayLike,
    *,
    alpha: ArrayLike = 1.0,
    beta: ArrayLike = 8.0,
    kappa: ArrayLike = 0.0,
    broadcast: bool = False,
) -> Counts:
    """Steps, bytes and messages of a product of `n` x `n` matrices on `p` processors.

    Parameters
    ----------
    n : array_like, shape (...)
        Rows of a matrix, at least 1. [1]
    p : array_like, broadcastable with `n`
        Processors, between 1 and `n`. [1]
    alpha : array_like, broadcastable with `n`
        Steps of a multiplication and an addition. [1]
    beta : array_like, broadcastable with `n`
        Bytes of an entry. [B]
    kappa : array_like, broadcastable with `n`
        How often the product is sent back, 0 or 1. [1]
    broadcast : bool, default False
        Whether the network sends to all at once.

    Returns
    -------
    Counts
        Of the shape of all broadcast together. Messages are those of a master to each of the
        others: rows of A, B, and rows of the product kappa times [D].

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> counts = matmul_counts(100, [1, 4])
    >>> counts.steps, counts.network_bytes
    (array([1000000.,  250000.]), array([     0., 400000.]))
    """
    n, p = sizes(n, p, why="one row of the matrix for each")
    alpha, beta = density("alpha", alpha), density("beta", beta)
    kappa = density("kappa", kappa)
    steps = np.asarray(alpha * n**3 / p)
    copies, sends = (1.0, 1.0) if broadcast else (p, p - 1.0)
    return Counts(
        steps=steps,
        shared=steps,
        network_bytes=in_parallel(p, beta * n**2 * (1.0 + copies + kappa)),
        messages=in_parallel(p, (1.0 + kappa) * (p - 1.0) + sends),
    )


class MatmulPhase(SteadyStatePhase):
    """A product of two square matrices.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "10 Mflop/s", "network": "100 MB/s"}
    >>> phase = MatmulPhase(law="matmul", capacities=own)
    >>> one, many = phase.times(Machine(), {"p": [1, 32], "n": 1000}).time
    >>> float(round(one / many, 3))
    17.346
    """

    source_of_law: ClassVar[str] = "matmul: Shi c. 1996, equations (6.1) to (6.3)"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(matmul_counts)
    law: Literal["matmul"] = Field(description="Timing law of the phase.")
    alpha: Annotated[Amount, Of("count", name="alpha")] = Field(
        default="1",
        validate_default=True,
        description="Steps of a multiplication and the addition after it.",
    )
    beta: Annotated[Amount, Of("size", name="beta")] = Field(
        default="8 B", validate_default=True, description="Bytes of an entry."
    )
    kappa: Annotated[Amount, Of("count", name="kappa")] = Field(
        default="0", validate_default=True, description="How often the product is sent back."
    )
    broadcast: bool = Field(
        default=False, description="Whether the network sends to all at once by itself."
    )
