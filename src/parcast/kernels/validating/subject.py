"""What `validate` needs to know of a program: how its law counts, and what bounds its size.

A program joins by registering a kernel whose law counts (`parcast.laws.counting`); there is
nothing else to do. The law counts from n and p alone, so it can be asked before anything runs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.advice import ours
from parcast.descriptions.program import IO_LAWS, LAWS, law_named
from parcast.errors import ParameterError
from parcast.kernels.registry import KERNELS, kernel_named
from parcast.laws.allowances import how_to_measure
from parcast.laws.counting import Counts, SteadyStatePhase
from parcast.units import shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A program and its law."""

    name: str
    title: str
    size: str  # what n counts: "keys"
    phase: SteadyStatePhase  # its law, with the densities of this program
    memory: Callable[[int, int], int]  # of n and p [B]
    example: int  # an n that takes about a second on one processor [1]
    block: int = 1  # of n, that no two ranks share [1]

    def counted(self, n: ArrayLike, p: ArrayLike) -> Counts:
        """Count, with every array of the shape of `n` and `p` broadcast together."""
        shape = np.broadcast_shapes(np.shape(n), np.shape(p))
        counts = self.phase.counts(n, p)
        names = ("steps", "network_bytes", "messages", "disk_bytes", "shared")
        return Counts(**{x: np.broadcast_to(getattr(counts, x), shape) for x in names})


def subject_named(name: str) -> Subject:
    """Give a program of the registry and its law, which must count steps, messages and bytes."""
    law = str(name)
    is_file = law.endswith(".toml")
    if law not in KERNELS and (is_file or law in LAWS or law in IO_LAWS):
        raise ParameterError(
            "name",
            must="be a program that parcast runs",
            got=f"{shown(law)}, a {'description' if is_file else 'law'}",
            hint=how_to_measure([law]),
        )
    kernel = kernel_named(name)
    law = kernel.phase["law"]
    phase = law_named(law).model_validate(kernel.phase)
    if not isinstance(phase, SteadyStatePhase):
        raise ParameterError(
            "name",
            must="be a program whose law counts steps",
            got=f'{name}: its law "{law}" has no counts of steps, messages and bytes',
            hint=f"Run it: {ours('run', name)}",
        )
    return Subject(
        name=kernel.name,
        title=kernel.title,
        size=kernel.size,
        phase=phase,
        memory=kernel.functions.memory,
        example=kernel.example,
        block=kernel.block,
    )
