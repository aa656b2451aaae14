"""What a law counts for a program, and whether the program counts the same.

A program joins by registering a kernel whose law counts (`parcast.laws.counting`); there is
nothing else to do. The law counts from n and p alone, so it can be asked before anything runs.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.descriptions.program import IO_LAWS, LAWS, law_named
from parcast.errors import ParameterError
from parcast.kernels.kernel import Kernel
from parcast.kernels.registry import KERNELS, kernel_named
from parcast.kernels.trials.case import Cells
from parcast.laws.allowances import how_to_measure
from parcast.laws.counting import Counts, SteadyStatePhase
from parcast.units import shown

ALIKE: Final = 1.1  # ratio of counts that still grow alike [1]
BLOCKS: Final = 20  # of a rank, from which shares are even enough to compare counts [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedProgram:
    """A program and its law."""

    kernel: Kernel
    phase: SteadyStatePhase  # its law, with the densities of this program

    def counted(self, n: ArrayLike, p: ArrayLike) -> Counts:
        """Count, with every array of the shape of `n` and `p` broadcast together."""
        shape = np.broadcast_shapes(np.shape(n), np.shape(p))
        counts = self.phase.counts(n, p)
        names = ("steps", "network_bytes", "messages", "disk_bytes", "shared")
        return Counts(**{x: np.broadcast_to(getattr(counts, x), shape) for x in names})


def counted_program(name: str) -> CountedProgram:
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
            hint=how_to_measure([law]),
        )
    return CountedProgram(kernel=kernel, phase=phase)


@dataclass(frozen=True, kw_only=True, slots=True)
class CountCheck:
    """How what a law counts compares with what the program counted, over all runs."""

    _outline = "what least_ratio=least most_ratio=most agrees"

    what: str  # "steps", "network bytes", "messages", "disk bytes"
    least: float  # counted by the law over counted by the program [1]
    most: float
    agrees: bool  # whether the two grow alike: a constant factor is within the capacity

    def __str__(self) -> str:
        """Say that a law counts what the program does not do."""
        return (
            f"the law counts {self.least:.3g} to {self.most:.3g} times the {self.what} that the "
            "program counted, a ratio that varies between runs"
        )

    @property
    def ratio(self) -> str:
        """Both ends, or the one that they are."""
        first, last = f"{self.least:.3g}", f"{self.most:.3g}"
        return first if first == last else f"{first} to {last}"


def count_checks(program: CountedProgram, cells: Cells, *, least: int) -> tuple[CountCheck, ...]:
    """Compare what the law counts with what the program counted.

    Runs on several ranks count from size `least` on, if a rank has `BLOCKS` rows or blocks.
    """
    runs = [
        s.runs[0]
        for (n, p), samples in cells.items()
        if p == 1 or n >= max(least, BLOCKS * program.kernel.block * p)
        for s in samples
    ]
    n, p = (np.array([getattr(run, x) for run in runs], dtype=np.float64) for x in "np")
    law = program.counted(n, p)
    pairs = {
        "steps": (law.steps, [max(run.steps) for run in runs]),
        "network bytes": (law.network_bytes, [sum(run.sent) for run in runs]),
        "messages": (law.messages, [sum(run.messages) for run in runs]),
        "disk bytes": (law.disk_bytes, [run.disk_bytes for run in runs]),
    }
    return tuple(
        check
        for what, (by_law, by_program) in pairs.items()
        if (check := _check(what, np.asarray(by_law), np.asarray(by_program, float), p))
    )


def _check(
    what: str, by_law: np.ndarray, by_program: np.ndarray, p: np.ndarray
) -> CountCheck | None:
    """Compare one count; None where neither has any."""
    some = (by_law > 0) | (by_program > 0)
    if not some.any():
        return None
    with np.errstate(divide="ignore"):
        ratio = by_law[some] / by_program[some]
    groups = [ratio] if what == "steps" else [ratio[p[some] == x] for x in np.unique(p[some])]
    agrees = all(x.min() > 0 and x.max() <= ALIKE * x.min() < np.inf for x in groups)
    return CountCheck(what=what, least=float(ratio.min()), most=float(ratio.max()), agrees=agrees)
