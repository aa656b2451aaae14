"""Launches of ranks that make runs of the job, again where others disturbed them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Protocol

from parcast.mpi.folders import documents_in, failing_for, folder_for
from parcast.mpi.launcher import run_task
from parcast.pipeline.validating.observation import Observed, Point
from parcast.pipeline.validating.work import Job
from parcast.testbed.testbed import testbed_here
from parcast.timings.disturbed import WAITING

WORKER: Final = "parcast.pipeline.validating.worker"
PREFIX: Final = "parcast-validating-"
SHARE: Final = 0.15  # below its share of a core, that a host of a testbed may be [1] [D]
DAY: Final = 86400.0  # [s]
LIMIT: Final = (120.0, 20.0)  # of a launch: so long, and times what is expected [s], [1]


class Runner(Protocol):
    """What makes runs on ranks; `launch` does."""

    def __call__(
        self,
        points: Sequence[Point],
        *,
        work: Job,
        launch: int,
        batch: int,
        time_limit: float,
        is_traced: bool,
    ) -> Sequence[Observed]:
        """Make runs on as many ranks each, in one launch."""


def launch(
    points: Sequence[Point],
    *,
    work: Job,
    launch: int,
    batch: int,
    time_limit: float,
    is_traced: bool,
) -> Sequence[Observed]:
    """Start ranks, make runs, and end the ranks."""
    ranks = points[0].layout.total
    with folder_for(PREFIX) as desk, failing_for(desk, "the validation"):
        answer = desk / "runs.jsonl"
        document = {
            "work": work.to_document(),
            "runs": [asdict(point) for point in points],
            "launch": launch,
            "batch": batch,
            "answer": str(answer),
            "trace": str(desk / "trace.jsonl") if is_traced else None,
        }
        run_task(WORKER, document, ranks=ranks, time_limit=time_limit, called="the pipeline")
        return tuple(map(Observed.from_document, documents_in(answer)))


def tolerated() -> float:
    """Share of a run that others may have had its processors. [1]."""
    testbed = testbed_here()
    return WAITING if testbed is None or testbed.cap is None else SHARE


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Runs of one layout that are asked for, and what a launch of them should take."""

    points: tuple[Point, ...]
    expected: float  # [s]
    is_known: bool = True  # whether that is more than a guess

    @property
    def time_limit(self) -> float:
        """Limit of a launch [s]."""
        return LIMIT[0] + LIMIT[1] * self.expected if self.is_known else DAY
