"""What a rank notes for the trace of a run, and its statistics."""

from dataclasses import dataclass, field
from time import perf_counter, thread_time
from typing import Any, Self


@dataclass(slots=True)
class Notes:
    """Sums over what a rank did, and its events where the run is traced."""

    rank: int
    is_traced: bool
    tasks: int = 0
    task_time: float = 0.0  # wall [s]
    task_processor: float = 0.0  # [s]
    retried: int = 0  # attempts at items whose task had failed
    merges: int = 0
    merge_time: float = 0.0  # wall [s]
    merge_processor: float = 0.0  # [s]
    messages: int = 0  # results that were sent
    sent: int = 0  # [B]
    events: list[dict[str, Any]] = field(default_factory=list)

    def task(self, first: int, stop: int, lap: "Lap", *, retried: int = 0) -> None:
        """Note the tasks of a block."""
        self.tasks += stop - first
        self.retried += retried
        self.task_time += lap.seconds
        self.task_processor += lap.processor
        if self.is_traced:
            self._note("task", lap, first=first, stop=stop)

    def merge(self, first: int, stop: int, inputs: int, lap: "Lap") -> None:
        """Note a merge of some inputs."""
        self.merges += inputs - 1
        self.merge_time += lap.seconds
        self.merge_processor += lap.processor
        if self.is_traced:
            self._note("merge", lap, first=first, stop=stop, inputs=inputs)

    def fetch(self, items: int, lap: "Lap") -> None:
        """Note that items were fetched."""
        if self.is_traced and items:
            self.events.append(_spent("fetch", self.rank, lap) | {"items": items})

    def deliver(self, first: int, stop: int, size: float, lap: "Lap") -> None:
        """Note that a completed reduction was given to the server stage."""
        if self.is_traced:
            event = _spent("deliver", self.rank, lap)
            self.events.append(event | {"first": first, "stop": stop, "bytes": int(size)})

    def message(self, source: int, sent: float, size: int, first: int, stop: int) -> None:
        """Note a result that has arrived; it was sent at a time of the clock of its source."""
        if self.is_traced:
            self.events.append(
                {
                    "event": "message",
                    "source": source,
                    "target": self.rank,
                    "sent": sent,
                    "received": perf_counter(),
                    "bytes": size,
                    "first": first,
                    "stop": stop,
                }
            )

    def _note(self, event: str, lap: "Lap", **facts: int) -> None:
        self.events.append(_spent(event, self.rank, lap) | {"processor": lap.processor} | facts)


def _spent(event: str, rank: int, lap: "Lap") -> dict[str, Any]:
    return {"event": event, "rank": rank, "start": lap.begun, "end": lap.begun + lap.seconds}


class Lap:
    """Wall and processor time of a block of code. [s]."""

    begun = seconds = processor = 0.0

    def __enter__(self) -> Self:
        self._processor = thread_time()
        self.begun = perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = perf_counter() - self.begun
        self.processor = thread_time() - self._processor
