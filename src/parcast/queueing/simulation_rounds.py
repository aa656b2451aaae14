"""Replications of a simulation in chunks, until there are enough of them, on any executor.

The size of a chunk and its random numbers follow from its place alone, and results are used in
order, so that they do not depend on where and when chunks are run.
"""

import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parcast.errors import require
from parcast.queueing.arguments import whole
from parcast.queueing.batch_means import Moments, merged, moments
from parcast.queueing.erlang import Array

Chunk: TypeAlias = Callable[[int, np.random.SeedSequence], Array]
Ended: TypeAlias = Literal["replications", "precision", "most_cycles", "most_seconds"]

PENDING = 32  # chunks submitted and not yet used
GROWTH = (1.25, 4.0)  # of the replications, from round to round
MARGIN = 1.1  # in the replications that a precision is expected to take


@dataclass(frozen=True, slots=True)
class Effort:
    """When to stop."""

    replications: int
    precision: float | None
    most_cycles: int
    most_seconds: float | None
    cycles: int  # of one replication

    def __post_init__(self) -> None:
        for name in ("precision", "most_seconds"):
            value: ArrayLike | None = getattr(self, name)
            if value is not None:
                number = np.asarray(value, dtype=np.float64)
                require(name, number, number > 0, must="be above 0", hint="Leave it out for none.")
        whole("most_cycles", self.most_cycles, 1, hint="Count the cycles you have time for.")


def sampled_means(
    chunk: Chunk,
    reduced: Callable[[Array], Array],
    most_rows: int,
    effort: Effort,
    *,
    seed: int,
    executor: Executor | None,
) -> tuple[Moments, Ended]:
    """Moments of the samples of enough replications, and what ended them."""
    whole("seed", seed, 0, hint="Any whole number will do.")
    root = np.random.SeedSequence(int(seed))
    most = max(effort.replications, effort.most_cycles // effort.cycles)
    began = time.monotonic()
    sampled: Moments | None = None
    done, target = 0, int(effort.replications)
    while True:
        results = _results(chunk, _sizes(target - done, most_rows), root, executor)
        for rows, samples in results:
            new = moments(reduced(samples))
            sampled = new if sampled is None else merged(sampled, new)
            done += rows
            late = effort.most_seconds is not None
            late = late and time.monotonic() - began > (effort.most_seconds or 0.0)
            if late and sampled.samples > 1:
                results.close()
                return sampled, "most_seconds"
        assert sampled is not None
        if effort.precision is None:
            return sampled, "replications"
        cycle = sampled.estimate(0)
        ratio = cycle.half_width / (effort.precision * cycle.value)
        if ratio <= 1:
            return sampled, "precision"
        if done >= most:
            return sampled, "most_cycles"
        growth = float(np.clip(MARGIN * ratio * ratio, *GROWTH))
        target = min(int(np.ceil(done * growth)), most)


def _sizes(replications: int, most_rows: int) -> list[int]:
    """Chunks of replications."""
    full, rest = divmod(replications, most_rows)
    return [most_rows] * full + [rest] * (rest > 0)


def _results(
    chunk: Chunk,
    sizes: list[int],
    root: np.random.SeedSequence,
    executor: Executor | None,
) -> Generator[tuple[int, Array], None, None]:
    """Replications and samples of each chunk, in order, a bounded number of them at a time."""
    if executor is None:
        for rows in sizes:
            yield rows, chunk(rows, root.spawn(1)[0])
        return
    pending: deque[tuple[int, Future[Array]]] = deque()
    try:
        for rows in sizes:
            if len(pending) == PENDING:
                first, future = pending.popleft()
                yield first, future.result()
            pending.append((rows, executor.submit(chunk, rows, root.spawn(1)[0])))
        while pending:
            first, future = pending.popleft()
            yield first, future.result()
    finally:
        for _, future in pending:
            future.cancel()
