"""What is simulated of a pipeline, and what a simulated run gives."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from parcast.errors import ParameterError, require
from parcast.pipeline.engine.tree import level_of
from parcast.pipeline.law.formulas import tree_levels
from parcast.queueing.arguments import at_least, mean_time, whole
from parcast.queueing.simulation.cycle import Law, sampler

TIMES: Final = ("task", "merge", "fetch", "service", "given", "latency", "overhead")
LAWS: Final = ("task", "merge", "message", "fetch")  # of what varies


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scenario:
    """A reduction on a machine; laws are what `parcast.queueing.simulation.cycle.sampler` takes.

    A message occupies a channel for `service`, first come, first served; where T_comm is `given`,
    it occupies the link of its sender for that time instead. It arrives `latency` later.
    """

    ranks: int  # of all pipelines [1]
    items: int  # of all pipelines, N [1]
    task: float  # mean time of the task of an item [s]
    merge: float = 0.0  # mean time of a merge of two results [s]
    pipelines: int = 1  # G [1]
    fan_in: int = 2
    batch: int = 1  # items that a rank takes at a time [1]
    schedule: Literal["adaptive", "source"] = "adaptive"
    waits: bool = False  # whether a rank waits for each of its messages to arrive, with "source"
    service: float = 0.0  # mean time that a message occupies the channel, L/C [s]
    given: float | None = None  # mean time of a message, T_comm [s]
    latency: float = 0.0  # of every message, tau [s]
    is_shared: bool = False  # the channel, by all pipelines
    overhead: float = 0.0  # processor time of a message, half of it on either side [s]
    fetch: float = 0.0  # mean time to fetch an item [s]
    prefetch: bool = False  # by one rank for all; otherwise it is a part of the task
    cores: float | None = None  # that all ranks share equally; None: each has its own [1]
    task_law: Law = "none"
    merge_law: Law = "none"
    message_law: Law = "none"  # of the lengths, or of T_comm if that is given
    fetch_law: Law = "none"

    def __post_init__(self) -> None:
        for name in ("ranks", "items", "pipelines", "batch"):
            whole(name, getattr(self, name), 1, hint="Use a whole number.")
        whole("fan_in", self.fan_in, 2, hint="2 is usual.")
        for name in TIMES:
            value = getattr(self, name)
            if value is not None:
                mean_time(name, value)
        positive = np.asarray(self.task)
        require("task", positive, positive > 0, must="be above 0", hint="Give it in seconds.")
        if self.cores is not None:
            at_least("cores", self.cores, 1, hint="Count the cores.")
        for name in LAWS:
            sampler(f"{name}_law", getattr(self, f"{name}_law"))
        if self.schedule == "source":
            whole(
                "ranks of a pipeline", self.ranks / self.pipelines, 1, hint="Choose other ranks."
            )
            tree_levels(self.processors)
            if self.fan_in != 2 and self.processors > 1:
                raise ParameterError(
                    "fan_in",
                    must="be 2 for the published schedule to be simulated",
                    got=str(self.fan_in),
                    hint='Use form = "adaptive", which takes any.',
                )

    @property
    def processors(self) -> int:
        """Ranks of each pipeline, P; in the default schedule some may have one more [1]."""
        return self.ranks // self.pipelines

    @property
    def block(self) -> int:
        """Items that a rank takes at a time: in the tree of "adaptive" a whole node [1]."""
        if self.schedule == "source":
            return self.batch
        return int(self.fan_in ** level_of(self.batch, self.fan_in))

    @property
    def blocks(self) -> int:
        """Blocks of all items [1]."""
        return -(-self.items // self.block)

    @property
    def is_random(self) -> bool:
        """Whether any time varies."""
        means = (self.task, self.merge, self.service + (self.given or 0.0), self.fetch)
        laws = (getattr(self, f"{name}_law") for name in LAWS)
        return any(
            mean > 0 and not (isinstance(law, str) and law == "none")
            for mean, law in zip(means, laws, strict=True)
        )


@dataclass(slots=True)
class SimulatedRun:
    """What a simulated run took, and what happened in it."""

    time: float  # until the last result is delivered [s]
    work: float  # of tasks, merges and fetching, all ranks [s]
    overhead: float  # of messages, all ranks [s]
    waiting: float  # for messages that were under way, all ranks [s]
    messages: int  # with results [1]
    delay: float  # of all of them, from when they were sent until they arrived [s]
    busy: float  # time that the channels were occupied, all of them [s]
    events: int  # [1]
