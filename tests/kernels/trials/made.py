"""Ranks that only say how long they took, so that a program is validated without MPI and noise."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from parcast.kernels.kernel import KernelRun
from parcast.kernels.trials.case import KernelCase
from parcast.kernels.trials.counting import CountedProgram, counted_program
from parcast.kernels.trials.subject import validate
from parcast.laws.counting import Counts

W, U, T0, B = 1e8, 5e7, 1e-4, 2e8  # capacities of the machine of these tests
QUANTUM = 3e-4  # of work on it [s]


@cache
def program(name: str = "sort") -> CountedProgram:
    """Give a program and its law."""
    return counted_program(name)


@cache
def counted(n: float, p: float, name: str = "sort") -> Counts:
    """Count as the law does."""
    return program(name).counted(n, p)


def lawful(n: float, p: float, name: str = "sort") -> float:
    """Time as the law has it, for capacities W, U, T0 and B [s]."""
    counts = counted(n, p, name)
    parts = (counts.steps / W, counts.network_bytes / U, counts.messages * T0)
    return float(sum(parts) + counts.disk_bytes / B)


@dataclass
class FakeRanks:
    """Makes runs whose time is a function of n and p, with noise where asked."""

    time: Callable[[float, float], float] | None = None  # by default what the law says
    noise: float = 0.0  # standard deviation of the logarithm of a time
    cores: int = 64
    steps: Callable[[float, float], float] | None = None  # by default those of the law
    fails_after: int | None = None  # launches
    failure: BaseException = field(default_factory=KeyboardInterrupt)
    disturbed: float = 0.0  # share of runs that are slowed, as work quanta around them tell
    slowed: float = 2.0  # so many times
    change: Callable[[KernelRun], KernelRun] = lambda run: run
    launches: list = field(default_factory=list)

    def __call__(self, launch, *, report):
        """Make one run of each case; a disturbed one is not repeated."""
        if self.fails_after is not None and len(self.launches) >= self.fails_after:
            raise self.failure
        self.launches.append(launch)
        random = np.random.default_rng([launch.number, launch.layout, len(self.launches)])
        made = {}
        for case in launch.cases:
            run = self.change(self.run(case, random))
            made[case] = made.get(case, 0) + 1
            if made[case] > launch.discarded:
                report(
                    launch.trial(
                        case,
                        run.time,
                        run,
                        repetition=made[case] - launch.discarded,
                        quanta=run.quanta,
                    )
                )

    def run(self, case: KernelCase, random: np.random.Generator | None = None) -> KernelRun:
        """Give one run."""
        random = random or np.random.default_rng(0)
        name, n, p = case
        counts = counted(n, p, name)
        steps = round(self.steps(n, p) if self.steps else float(counts.steps))
        time = self.time(n, p) if self.time else lawful(n, p, name)
        slower = self.slowed if random.random() < self.disturbed else 1.0
        per_rank = [0] * (p - 1)
        return KernelRun(
            kernel=name,
            n=n,
            p=p,
            repetition=1,
            time=time * slower * float(np.exp(random.normal(0.0, self.noise))),
            compute=(float(counts.steps) / W * slower, *per_rank),
            disk=float(counts.disk_bytes) / B,
            steps=(steps, *per_rank),
            messages=(round(float(counts.messages)), *per_rank),
            sent=(round(float(counts.network_bytes)), *per_rank),
            disk_bytes=round(float(counts.disk_bytes)),
            is_correct=None,
            cores=min(p, self.cores),
            quanta=(QUANTUM, QUANTUM * slower),
        )


def asked(ranks: FakeRanks | None = None, names="sort", **options):
    """Validate programs on such ranks."""
    return validate(names, launcher=ranks or FakeRanks(), **options)


def without_quanta(run: KernelRun) -> KernelRun:
    """As where ranks share cores."""
    return replace(run, quanta=())
