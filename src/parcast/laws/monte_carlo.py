"""Monte Carlo simulations in time slices: independent samples, gathered after each slice.

    T(1) = sum over slices of n*alpha/W                                           [R], (5.1)
    T(P) = sum over slices of [ n*alpha/(P*W) + n*beta/u ]                        [R], (5.2)

Speedup and efficiency are those of `parcast.laws.fractal`, (5.3) and (5.4): they depend neither
on n nor on the slices. Use it for samples that need nothing of each other within a slice.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

from numpy.typing import ArrayLike
from pydantic import Field

from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of
from parcast.laws.counting import Counts, SteadyStatePhase, density
from parcast.laws.fractal import fractal_counts


def monte_carlo_counts(
    n: ArrayLike,
    p: ArrayLike,
    *,
    alpha: ArrayLike = 1.0,
    beta: ArrayLike = 8.0,
    slices: ArrayLike = 1.0,
) -> Counts:
    """Steps, bytes and messages of `slices` times `n` samples on `p` processors.

    Parameters
    ----------
    n : array_like, shape (...)
        Samples of a slice, at least 1. [1]
    p : array_like, broadcastable with `n`
        Processors, between 1 and `n`. [1]
    alpha : array_like, broadcastable with `n`
        Steps of a sample. [1]
    beta : array_like, broadcastable with `n`
        Bytes that are sent for a sample. [B]
    slices : array_like, broadcastable with `n`
        Time slices. [1]

    Returns
    -------
    Counts
        Of the shape of all broadcast together.

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> monte_carlo_counts(1000, [1, 10], alpha=50, slices=3).steps
    array([150000.,  15000.])
    """
    one, slices = fractal_counts(n, p, alpha=alpha, beta=beta), density("slices", slices)
    return Counts(
        steps=one.steps * slices,
        shared=one.shared * slices,
        network_bytes=one.network_bytes * slices,
        messages=one.messages * slices,
    )


class MonteCarloPhase(SteadyStatePhase):
    """Independent samples in time slices.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> phase = MonteCarloPhase(law="monte_carlo", alpha=100, slices=2)
    >>> machine = Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "8 MB/s"})
    >>> phase.times(machine, {"p": [1, 10], "n": 1e6}).time
    array([200.,  22.])
    """

    source_of_law: ClassVar[str] = "monte_carlo: Shi c. 1996, equations (5.1) to (5.4)"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(monte_carlo_counts)
    law: Literal["monte_carlo"] = Field(description="Timing law of the phase.")
    alpha: Annotated[Amount, Of("count", name="alpha")] = Field(
        default="1", validate_default=True, description="Steps of a sample."
    )
    beta: Annotated[Amount, Of("size", name="beta")] = Field(
        default="8 B",
        validate_default=True,
        description='Bytes that are sent for a sample; "8 B * p / n" for one sum a processor.',
    )
    slices: Annotated[Amount, Of("count", name="slices")] = Field(
        default="1", validate_default=True, description="Time slices."
    )
