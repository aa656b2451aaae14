"""A program that only says how long it took, to be validated without MPI and without noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from parcast.kernels.kernel import KernelRun
from parcast.kernels.validating.subject import Subject
from parcast.laws.counting import Counts
from parcast.laws.sorters import SortPhase

W, U, T0, B = 1e8, 5e7, 1e-4, 2e8  # capacities of the machine of these tests
QUANTUM = 3e-4  # of work on it [s]
PHASE = SortPhase(law="sort")


def subject(name: str = "sort") -> Subject:
    """Give a program that sorts and whose law says so."""
    return Subject(
        name=name,
        title="sort keys that nobody has",
        size="keys",
        phase=PHASE,
        memory=lambda n, _: 16 * n,
        example=1_000_000,
    )


@cache
def counted(n: float, p: float) -> Counts:
    """Count as the law does."""
    return subject().counted(n, p)


def lawful(n: float, p: float) -> float:
    """Time as the law has it, for capacities W, U, T0 and B [s]."""
    counts = counted(n, p)
    parts = (counts.steps / W, counts.network_bytes / U, counts.messages * T0)
    return float(sum(parts) + counts.disk_bytes / B)


@dataclass
class FakeRunner:
    """Gives runs whose time is a function of n and p, with noise where asked."""

    time: Callable[[float, float], float] = lawful
    noise: float = 0.0  # standard deviation of the logarithm of a time
    cores: int = 64
    steps: Callable[[float, float], float] = lambda n, p: float(counted(n, p).steps)
    is_correct: bool | None = None
    fails_after: int | None = None  # launches
    failure: BaseException = field(default_factory=KeyboardInterrupt)
    disturbed: float = 0.0  # share of runs that are slowed, as work quanta around them tell
    slowed: float = 2.0  # so many times
    asked: list[dict] = field(default_factory=list)

    def __call__(
        self,
        name: str,
        *,
        n: Sequence[int],
        ranks: int,
        seed: int,
        check: bool | None,
        time_limit: float,
        patience: float = 0.0,
        quantum: float | None = None,
    ) -> list[KernelRun]:
        """Time one run of each size; a disturbed one is not repeated."""
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise self.failure
        asked = {"n": tuple(n), "p": ranks, "seed": seed, "limit": time_limit}
        self.asked.append(asked | {"patience": patience, "quantum": quantum})
        random = np.random.default_rng([seed, ranks, len(self.asked)])
        return [self._run(name, size, ranks, check, random) for size in n]

    def _run(
        self, name: str, n: int, p: int, check: bool | None, random: np.random.Generator
    ) -> KernelRun:
        counts = counted(n, p)
        steps = round(self.steps(n, p))
        slower = self.slowed if random.random() < self.disturbed else 1.0
        per_rank = [0] * (p - 1)
        return KernelRun(
            kernel=name,
            n=n,
            p=p,
            repetition=1,
            time=self.time(n, p) * slower * float(np.exp(random.normal(0.0, self.noise))),
            compute=(float(counts.steps) / W * slower, *per_rank),
            disk=float(counts.disk_bytes) / B,
            steps=(steps, *per_rank),
            messages=(round(float(counts.messages)), *per_rank),
            sent=(round(float(counts.network_bytes)), *per_rank),
            disk_bytes=round(float(counts.disk_bytes)),
            is_correct=None if check is False else self.is_correct,
            cores=min(p, self.cores),
            quanta=(QUANTUM, QUANTUM * slower),
        )
