"""Finite differences on a grid of n x n points whose rows are distributed: the stencil law.

    T(1) = s * (n - 2)^2 / W + D / B                                                         [D]
    T(P) = s * ceil((n - 2)/P) * (n - 2) / W + s * (P - 1) * (2*v*n + v) / u
           + s * (min(2, P - 1) + ceil(lg P)) * t0 + D / B                                   [D]
    D = c * v * n * (n - 2)

s time steps, c checkpoints, v bytes of a number. In each step a processor updates its points,
sends its outer rows to its neighbours, and the largest change is sent to one processor by a tree.
It is the simple loop of the region models, M(P) = E * ceil(I / P) [1]_, in the form of the
steady-state laws, so that `validate` can compare it with the program of `parcast.kernels.stencil`.

Use it for explicit schemes on regular grids. It assumes, as these laws do, that all bytes pass one
network one after another; if all neighbours exchange rows at the same time, the halo of the
region model is more accurate.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, equation (1).
"""

from typing import Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.description import parameter
from parcast.descriptions.program import LAW_KEY
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase, dealt_out


class StencilPhase(SteadyStatePhase):
    """Time steps of an explicit scheme on a grid of n x n points; below 3 nothing is computed.

    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "100 Mflop/s", "network": "1 GB/s"}
    >>> phase = StencilPhase(law="stencil", time_steps=20, capacities=own)
    >>> one, four = phase.times(Machine(), {"p": [1, 4], "n": 1002}).time
    >>> float(round(one / four, 3))
    3.924
    """

    source = "parcast, after In, Jin, Peir, Ranka and Sahni c. 2000"
    workers = "one row of the grid for each"
    law: Literal["stencil"] = LAW_KEY
    time_steps: Count = parameter("1", "Time steps of a cycle.")
    checkpoints: Count = parameter("0", "How often a cycle writes the grid.")
    number: Size = parameter("8 B", "Bytes of one number.")

    @staticmethod
    def law_counts(
        n: Array, p: Array, *, time_steps: Array, checkpoints: Array, number: Array
    ) -> Counts:
        """Count what the steps and checkpoints take."""
        inside = np.maximum(n - 2.0, 0.0)
        return dealt_out(
            p,
            time_steps * np.ceil(inside / p) * inside,
            sent=time_steps * (p - 1.0) * (2.0 * n + 1.0) * number,
            messages=time_steps * (np.minimum(2.0, p - 1.0) + np.ceil(np.log2(p))),
            disk=checkpoints * number * n * inside + 0.0 * p,
        )
