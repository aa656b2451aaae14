"""Finite differences on a grid of n x n points whose rows are dealt out: the law of the stencil.

    T(1) = s * (n - 2)^2 / W + D / B                                                         [D]
    T(P) = s * ceil((n - 2)/P) * (n - 2) / W + s * (P - 1) * (2*v*n + v) / u
           + s * (min(2, P - 1) + ceil(lg P)) * t0 + D / B                                   [D]
    D = c * v * n * (n - 2)

s time steps, c checkpoints, v bytes of a number. In each step a processor updates its points,
sends its outer rows to its neighbours, and the largest change goes to one processor by a tree. It
is the simple loop of the region models, M(P) = E * ceil(I / P) [1]_, in the form of the
steady-state laws, so that `validate` can hold it against the program of `run/kernels/stencil.py`.

Use it for explicit schemes on regular grids. All bytes are taken to pass one network one after
another, as these laws do; where rows go between all neighbours at once, the region model's halo is
nearer.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, equation (1).
"""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of
from parcast.laws.counting import Counts, SteadyStatePhase, density, in_parallel, sizes


def stencil_counts(
    n: ArrayLike,
    p: ArrayLike,
    *,
    time_steps: ArrayLike = 1.0,
    checkpoints: ArrayLike = 0.0,
    number: ArrayLike = 8.0,
) -> Counts:
    """Updates, bytes and messages of some time steps on `p` processors.

    Parameters
    ----------
    n : array_like, shape (...)
        Points along an edge, at least 1; below 3 there is nothing to do. [1]
    p : array_like, broadcastable with `n`
        Processors, between 1 and `n`. [1]
    time_steps : array_like, broadcastable with `n`
        s. [1]
    checkpoints : array_like, broadcastable with `n`
        c. [1]
    number : array_like, broadcastable with `n`
        v. [B]

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
    >>> counts = stencil_counts(102, [1, 3], time_steps=20)
    >>> counts.steps, counts.messages
    (array([200000.,  68000.]), array([ 0., 80.]))
    """
    n, p = sizes(n, p, why="one row of the grid for each")
    steps, saved = density("time_steps", time_steps), density("checkpoints", checkpoints)
    number = density("number", number)
    inside = np.maximum(n - 2.0, 0.0)
    computed = steps * np.ceil(inside / p) * inside
    sent = steps * (p - 1.0) * (2.0 * n + 1.0) * number
    messages = steps * (np.minimum(2.0, p - 1.0) + np.ceil(np.log2(p)))
    return Counts(
        steps=np.asarray(computed),
        shared=np.asarray(computed),
        network_bytes=in_parallel(p, sent),
        messages=in_parallel(p, messages),
        disk_bytes=np.asarray(saved * number * n * inside + 0.0 * p),
    )


class StencilPhase(SteadyStatePhase):
    """Time steps of an explicit scheme on a grid.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "100 Mflop/s", "network": "1 GB/s"}
    >>> phase = StencilPhase(law="stencil", time_steps=20, capacities=own)
    >>> one, four = phase.times(Machine(), {"p": [1, 4], "n": 1002}).time
    >>> float(round(one / four, 3))
    3.924
    """

    source_of_law: ClassVar[str] = "stencil: parcast, after In, Jin, Peir, Ranka and Sahni c. 2000"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(stencil_counts)
    law: Literal["stencil"] = Field(description="Timing law of the phase.")
    time_steps: Annotated[Amount, Of("count", name="time_steps")] = Field(
        default="1", validate_default=True, description="Time steps of a cycle."
    )
    checkpoints: Annotated[Amount, Of("count", name="checkpoints")] = Field(
        default="0", validate_default=True, description="Times that a cycle writes the grid."
    )
    number: Annotated[Amount, Of("size", name="number")] = Field(
        default="8 B", validate_default=True, description="Bytes of a number."
    )
