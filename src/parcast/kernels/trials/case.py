"""A program at a size on some ranks, the ranks that run it, and what runs of a launch share."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple, TypeAlias

from parcast.advice import ours
from parcast.errors import RunFailed
from parcast.kernels.kernel import KernelRun
from parcast.kernels.run import run_kernel
from parcast.trials.trial import Launch, Trial


class KernelCase(NamedTuple):
    """A program at a problem size on a number of ranks."""

    program: str
    n: int
    p: int

    @property
    def layout(self) -> int:
        """Ranks."""
        return self.p

    @property
    def columns(self) -> Mapping[str, Any]:
        """Ranks and size."""
        return {"p": self.p, "n": self.n}


KernelTrial: TypeAlias = Trial[KernelCase, KernelRun]


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchSample:
    """Runs of one size in one launch."""

    launch: int
    runs: Sequence[KernelRun]

    @property
    def time(self) -> float:
        """Median time [s]."""
        return median(run.time for run in self.runs)

    @property
    def compute(self) -> float:
        """Median of the processor seconds of the rank that computed most [s]."""
        return median(max(run.compute) for run in self.runs)

    @property
    def disk(self) -> float:
        """Median wall seconds of access to files [s]."""
        return median(run.disk for run in self.runs)


Cells = Mapping[tuple[int, int], Sequence[LaunchSample]]  # of each size and count of ranks


def cells_of(trials: Sequence[KernelTrial]) -> Cells:
    """Put trials together by size and count of ranks, and by launch."""
    found: dict[tuple[int, int], dict[int, list[KernelRun]]] = {}
    for trial in trials:
        launches = found.setdefault((trial.case.n, trial.case.p), {})
        launches.setdefault(trial.launch, []).append(trial.observed)
    return {
        place: [LaunchSample(launch=launch, runs=tuple(runs)) for launch, runs in launches.items()]
        for place, launches in found.items()
    }


@dataclass(frozen=True, slots=True)
class KernelLauncher:
    """Starts ranks, has them run a program, and ends them; each launch has an input of its own."""

    seed: int = 0

    def __call__(
        self, launch: Launch[KernelCase], *, report: Callable[[KernelTrial], object]
    ) -> None:
        """Make the runs of a launch. Those of launch 0, which finds sizes, are checked."""
        program, _, p = launch.cases[0]
        made: Counter[int] = Counter()

        def told(run: KernelRun) -> None:
            if run.is_correct is False:
                where = f"{program} on {p} rank{'s' if p > 1 else ''}"
                raise RunFailed(
                    f"{where} gave a wrong result, so it is not timed. Check it: "
                    f"{ours('run', program)}"
                )
            made[run.n] += 1
            if made[run.n] > launch.discarded:
                report(
                    launch.trial(
                        KernelCase(program, run.n, run.p),
                        run.time,
                        run,
                        repetition=made[run.n] - launch.discarded,
                        quanta=run.quanta,
                        waiting=run.waiting if run.quanta else None,
                    )
                )

        run_kernel(
            program,
            n=[case.n for case in launch.cases],
            ranks=p,
            seed=self.seed + launch.number,
            check=False if launch.number else None,
            time_limit=launch.time_limit,
            patience=launch.patience,
            quantum=launch.quantum,
            each=told,
        )
