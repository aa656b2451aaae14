"""What is run of a job, the ranks that run it, and what its parts took."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from parcast.pipeline.trials.work import TimedJob
from parcast.trials.launcher import run_on_ranks
from parcast.trials.trial import Launch, Trial

Schedule: TypeAlias = Literal["adaptive", "source"]


class PipelineLayout(NamedTuple):
    """How ranks form pipelines: P ranks in each of G."""

    ranks: int  # of one pipeline, P
    pipelines: int  # G

    @property
    def total(self) -> int:
        """Ranks of all pipelines."""
        return self.ranks * self.pipelines

    def __str__(self) -> str:
        """As it is written: 4x2."""
        return f"{self.ranks}x{self.pipelines}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A run that is asked for."""

    schedule: Schedule
    items: int
    layout: PipelineLayout

    @property
    def columns(self) -> Mapping[str, Any]:
        """Ranks, items, and how they form pipelines."""
        return {
            "p": self.layout.total,
            "n": self.items,
            "pipelines": self.layout.pipelines,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """What a traced run spent, for the formulas; None where the run has no such event."""

    task: float  # mean wall time of a task [s]
    processor: float  # mean processor time of a task [s]
    merge: float | None  # mean wall time of a merge of two results [s]
    message: float | None  # mean time of a message, from sending to taking it up [s]
    exposed: float | None  # the same of those sent after the last task [s]
    quickest: float | None  # time of a message: that of the quickest tenth [s]
    bytes: float | None  # mean length of a message [B]
    cv2: float | None  # squared coefficient of variation of the lengths [1]
    overhead: float | None  # between two pieces of work of a rank that has work [s]


PipelineTrial: TypeAlias = Trial[Point, Parts | None]


WORKER: Final = "parcast.pipeline.trials.worker"
PREFIX: Final = "parcast-validating-"


@dataclass(frozen=True, slots=True)
class PipelineLauncher:
    """Starts ranks, has them run a job at the points of a launch, and ends them."""

    work: TimedJob
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
