"""Merge sort on one processor: the sequential program that sorters are compared with.

    T = alpha * n * lg(n) / W + 2 * gamma * n / B          [R], (1.1) and (1.2) of [1]_

n keys are read from a disk, sorted and written back. Use it to see whether the processor or the
disk holds a sort back, and to measure W and B (`parcast.models.capacities`). It assumes that the
keys fit into memory and that reading and computing do not overlap.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed; they give its Tables 1 to 3 to the digits printed.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from parcast.amounts import Amount
from parcast.description import Of
from parcast.machine import Machine
from parcast.models.steady_state import Counts, SteadyStatePhase, density, sizes


def merge_sort_counts(n: ArrayLike, *, alpha: ArrayLike = 1.0, gamma: ArrayLike = 8.0) -> Counts:
    """Steps and bytes of sorting `n` keys on one processor.

    Parameters
    ----------
    n : array_like, shape (...)
        Keys, at least 1. [1]
    alpha : array_like, broadcastable with `n`
        Steps of a comparison. [1]
    gamma : array_like, broadcastable with `n`
        Bytes of a key on the disk, each way. [B]

    Returns
    -------
    Counts
        Of the shape of `n`, `alpha` and `gamma` broadcast together.

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> counts = merge_sort_counts([1024, 4096])
    >>> counts.steps, counts.disk_bytes
    (array([10240., 49152.]), array([16384., 65536.]))
    """
    n, _ = sizes(n, 1.0)
    alpha, gamma = density("alpha", alpha), density("gamma", gamma)
    return Counts(steps=alpha * n * np.log2(n), disk_bytes=np.asarray(2.0 * gamma * n))


def _on_one(n: ArrayLike, _: ArrayLike, **densities: ArrayLike) -> Counts:
    """Count the same on any number of processors."""
    return merge_sort_counts(n, **densities)


class MergeSortPhase(SteadyStatePhase):
    """A merge sort on one processor, whatever the processors.

    Examples
    --------
    >>> own = {"compute": "5.2 Mflop/s", "disk": "2.5 MB/s"}
    >>> phase = MergeSortPhase(law="merge_sort", capacities=own)
    >>> phase.times(Machine(), {"p": 1, "n": [10_000, 640_000]}).time.round(2)
    array([0.09, 6.47])
    """

    source_of_law: ClassVar[str] = "merge_sort: Shi c. 1996, equations (1.1) and (1.2)"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(_on_one)
    law: Literal["merge_sort"] = Field(description="Timing law of the phase.")
    alpha: Annotated[Amount, Of("count", name="alpha")] = Field(
        default="1", validate_default=True, description="Steps of a comparison."
    )
    gamma: Annotated[Amount, Of("size", name="gamma")] = Field(
        default="8 B", validate_default=True, description="Bytes of a key on the disk, each way."
    )

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        yield from super().warnings(machine)
        yield "This sort is sequential: more processors do not change its time."
