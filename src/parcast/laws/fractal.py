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

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from parcast.aliases import Array
from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of
from parcast.laws.counting import Counts, SteadyStatePhase, density, in_parallel, positive, sizes


def fractal_counts(
    n: ArrayLike, p: ArrayLike, *, alpha: ArrayLike = 32000.0, beta: ArrayLike = 8.0
) -> Counts:
    """Steps, bytes and messages of `n` independent inputs on `p` processors.

    Parameters
    ----------
    n : array_like, shape (...)
        Inputs, such as pixels, at least 1. [1]
    p : array_like, broadcastable with `n`
        Processors, between 1 and `n`. [1]
    alpha : array_like, broadcastable with `n`
        Steps of an input. [1]
    beta : array_like, broadcastable with `n`
        Bytes that are sent for an input. [B]

    Returns
    -------
    Counts
        Of the shape of all broadcast together. Messages are those of a master that sends each
        processor its part and gets it back, 2*(P - 1) [D].

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> counts = fractal_counts(1000, [1, 10], alpha=50)
    >>> counts.steps, counts.network_bytes
    (array([50000.,  5000.]), array([   0., 8000.]))
    """
    n, p = sizes(n, p)
    alpha, beta = density("alpha", alpha), density("beta", beta)
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

    Parameters
    ----------
    p : array_like, shape (...)
        Processors, at least 1; one processor is taken to communicate as well. [1]
    compute, network : array_like, broadcastable with `p`
        W and u, above 0. [1/s], [B/s]
    alpha, beta : array_like, broadcastable with `p`
        Steps, above 0, and bytes of an input. [1], [B]

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> float(fractal_efficiency(512, compute=101e6, network=100e6, alpha=32000, beta=8).round(4))
    0.8855
    """
    _, p = sizes(1.0, p, most=np.inf)
    alpha, beta = positive("alpha", alpha), density("beta", beta)
    compute, network = positive("compute", compute), positive("network", network)
    return np.asarray(1.0 / (1.0 + beta * p * compute / (alpha * network)))


class FractalPhase(SteadyStatePhase):
    """Independent inputs that are dealt out.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> phase = FractalPhase(law="fractal", alpha="100", beta="8 B")
    >>> machine = Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "8 MB/s"})
    >>> phase.times(machine, {"p": [1, 10], "n": 1e6}).time
    array([100.,  11.])
    """

    source_of_law: ClassVar[str] = "fractal: Shi c. 1996, equations (4.1) to (4.4)"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(fractal_counts)
    law: Literal["fractal"] = Field(description="Timing law of the phase.")
    alpha: Annotated[Amount, Of("count", name="alpha")] = Field(
        default="32000", validate_default=True, description="Steps of an input."
    )
    beta: Annotated[Amount, Of("size", name="beta")] = Field(
        default="8 B", validate_default=True, description="Bytes that are sent for an input."
    )
