"""Ranks of this machine or of a testbed that run a program at some sizes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from parcast.advice import ours
from parcast.errors import RunFailed
from parcast.kernels.kernel import KernelRun
from parcast.kernels.run import run_kernel
from parcast.kernels.trials.case import KernelCase, KernelTrial
from parcast.trials.trial import Launch


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
