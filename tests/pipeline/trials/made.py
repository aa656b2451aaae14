"""An engine that takes exactly what a law says, so that a validation can be told its truth."""

from dataclasses import dataclass, field

import numpy as np

from parcast.pipeline.law.adaptive import adaptive_time
from parcast.pipeline.law.formulas import pipeline_time, sequential_time
from parcast.pipeline.trials.observation import Parts, Point

TASK, MERGE, MESSAGE, STARTUP = 0.02, 0.001, 0.0005, 0.01  # of the truth [s]
PARTS = Parts(
    task=TASK,
    processor=TASK,
    merge=MERGE,
    message=10 * MESSAGE,
    exposed=MESSAGE,
    quickest=MESSAGE / 5,
    bytes=24_000.0,
    cv2=0.0,
    overhead=0.0,
)


def lawful(point: Point) -> float:
    """Time of a run by the law, with a start; cores are as many as ranks."""
    n, layout = point.items, point.layout
    if layout.total == 1:
        return STARTUP + float(sequential_time(n, task=TASK, merge=MERGE))
    if point.schedule == "adaptive":
        costs = {"task": TASK, "merge": MERGE, "communication": MESSAGE}
        return STARTUP + float(adaptive_time(n, layout.total, **costs).time)
    return STARTUP + float(
        pipeline_time(
            n,
            layout.ranks,
            pipelines=layout.pipelines,
            task=TASK,
            merge=MERGE,
            communication=MESSAGE,
        )
    )


@dataclass
class Engine:
    """Makes runs that take what a function says, some of them disturbed."""

    time: object = lawful
    noise: float = 0.0  # relative [1]
    disturbed: object = lambda _point, _number: False  # of a point and how often it was run
    fails_after: int | None = None  # launches
    launches: list = field(default_factory=list)
    made: dict = field(default_factory=dict)  # how often each point was run

    def __call__(self, launch, *, report):
        if self.fails_after is not None and len(self.launches) >= self.fails_after:
            raise KeyboardInterrupt
        self.launches.append(launch)
        random = np.random.default_rng(len(self.launches))
        for i, point in enumerate(launch.cases):
            number = self.made[point] = self.made.get(point, 0) + 1
            is_disturbed = self.disturbed(point, number)
            slower = 3.0 if is_disturbed else 1.0
            seconds = self.time(point) * slower * (1.0 + self.noise * random.uniform(-1, 1))
            parts = PARTS if launch.purpose == "calibration" else None
            waiting = 0.6 if is_disturbed else 0.0
            report(launch.trial(point, seconds, parts, repetition=i + 1, waiting=waiting))
