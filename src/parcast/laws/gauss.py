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

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of
from parcast.laws.counting import Counts, SteadyStatePhase, density, in_parallel, sizes

Exchange = Literal["rows", "pivot"]


def gauss_counts(
    n: ArrayLike,
    p: ArrayLike,
    *,
    alpha: ArrayLike = 3.0,
    beta: ArrayLike = 16.0,
    exchange: Exchange = "rows",
) -> Counts:
    """Steps, bytes and messages of eliminating `n` unknowns on `p` processors.

    Parameters
    ----------
    n : array_like, shape (...)
        Unknowns, at least 1; with one there is nothing to do. [1]
    p : array_like, broadcastable with `n`
        Processors, between 1 and `n`. [1]
    alpha : array_like, broadcastable with `n`
        Steps of an entry in a wave. [1]
    beta : array_like, broadcastable with `n`
        Bytes of an entry in a wave, sent out and back. [B]
    exchange : {"rows", "pivot"}, default "rows"
        Whether all rows travel in each wave, as in the source, or the pivot row alone.

    Returns
    -------
    Counts
        Of the shape of all broadcast together. Messages of a wave are 2*(P - 1) of a master, or
        the ceil(lg P) levels of a tree [D].

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> counts = gauss_counts(100, [1, 2])
    >>> counts.steps, counts.network_bytes
    (array([985050., 492525.]), array([      0., 5253600.]))
    """
    n, p = sizes(n, p, why="one row of the matrix for each")
    alpha, beta = density("alpha", alpha), density("beta", beta)
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


class GaussPhase(SteadyStatePhase):
    """A Gaussian elimination.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "10 Mflop/s", "network": "100 MB/s"}
    >>> phase = GaussPhase(law="gauss", capacities=own)
    >>> one, eight = phase.times(Machine(), {"p": [1, 8], "n": 500}).time
    >>> float(round(one / eight, 3))
    1.519
    """

    source_of_law: ClassVar[str] = "gauss: Shi c. 1996, equations (7.1) to (7.3)"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(gauss_counts)
    law: Literal["gauss"] = Field(description="Timing law of the phase.")
    alpha: Annotated[Amount, Of("count", name="alpha")] = Field(
        default="3", validate_default=True, description="Steps of an entry in a wave."
    )
    beta: Annotated[Amount, Of("size", name="beta")] = Field(
        default="16 B",
        validate_default=True,
        description="Bytes of an entry in a wave, sent out and back.",
    )
    exchange: Exchange = Field(
        default="rows", description="What travels in a wave: all rows, or the pivot row alone."
    )
