"""Ranks of this machine or of a testbed that run a job."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from parcast.pipeline.trials.observation import Parts, PipelineTrial, Point
from parcast.pipeline.trials.work import Job
from parcast.trials.launcher import run_on_ranks
from parcast.trials.trial import Launch

WORKER: Final = "parcast.pipeline.trials.worker"
PREFIX: Final = "parcast-validating-"


@dataclass(frozen=True, slots=True)
class PipelineLauncher:
    """Starts ranks, has them run a job at the points of a launch, and ends them."""

    work: Job
    batch: int

    def __call__(
        self, launch: Launch[Point], *, report: Callable[[PipelineTrial], object]
    ) -> None:
        """Make the runs of a launch; those that calibrate are traced."""
        made: Counter[Point] = Counter()

        def told(document: dict[str, Any]) -> None:
            point, parts = launch.cases[document["run"]], document["parts"]
            made[point] += 1
            report(
                launch.trial(
                    point,
                    document["seconds"],
                    None if parts is None else Parts(**parts),
                    repetition=made[point],
                    waiting=document["waiting"],
                )
            )

        run_on_ranks(
            WORKER,
            {
                "work": self.work.to_document(),
                "runs": [asdict(point) for point in launch.cases],
                "batch": self.batch,
                "is_traced": launch.purpose == "calibration",
            },
            ranks=launch.cases[0].layout.total,
            time_limit=launch.time_limit,
            report=told,
            called="the pipeline",
            prefix=PREFIX,
        )
