"""The parallel pipeline as a phase of a program: items that are worked on and merged in a tree.

    form = "adaptive"     parcast's default schedule, `pipeline.law.adaptive`               [D]
    form = "overlapped"   the published schedule, a step as long as its longest stage           [D]
    form = "serial"       equation (6) as published, each message added to its task             [S]

with the equations of `pipeline.law.formulas`. p are all processors, P*G. Use `adaptive` for
`run_pipeline` as it is: its pipelines share one tree over all items, and matter only where each
has a channel. Use the others for `schedule="source"`: `serial` where a processor waits for each of
its messages, `overlapped` where it does not. One processor has no messages and takes T_0 + T_seq,
equation (1), in every form.

The time of a message, T_comm, is `communication` if it was measured. Otherwise it is the delay (7)
to (11) of `message` bytes on a channel with the machine's `network.bandwidth` C and
`network.latency` tau [S]. Messages arrive as if from independent sources, with a mean
`interarrival` time of T_comp/P by default in `serial` [S], 2*step/P in `overlapped` and the time
of the run over its messages in `adaptive` [D], and G times as fast where pipelines share the
channel [D].

A batch of b items is one task of b*T_comp + (b - 1)*T_merge [D]. T_fetch is a part of the task;
with `prefetch` one rank fetches all items ahead, which then bounds each step of P*G/2 items [D].
p processors on fewer `cores` share them, P*G/2 tasks and merges a step [D].

Assumed: items and merges take the mean times given here, whatever their place in the tree; the
published schedule needs P a power of the fan-in. Ignored: times that vary, but for those of tasks
(`task_cv`) in `adaptive`; unequal processors, other traffic.

References
----------
.. [1] J. Kuntraruk, W. M. Pottenger and A. M. Ross, "Application resource requirement estimation
   in a parallel-pipeline model of execution," IEEE Trans. Parallel Distrib. Syst., vol. 16,
   no. 12, pp. 1154-1165, 2005, :doi:`10.1109/TPDS.2005.143`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from parcast.advice import SIMULATE
from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import Of, parameter
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import LAW_KEY, Phase
from parcast.errors import ParameterError, require
from parcast.pipeline.law.adaptive import adaptive_time, batches, channel_time, queued_delay
from parcast.pipeline.law.formulas import (
    arrival_rate,
    largest_share,
    message_delay,
    sequential_time,
    step_time,
    steps,
    tree_levels,
)

FEW_STEPS: Final = 30  # after the first, of a pipeline of the published schedule
FEW_BATCHES: Final = 5  # for each processor, in the default one
CV2: Final = {"mm1": 1.0, "md1": 0.0}  # of the lengths of messages, squared
Time: TypeAlias = Annotated[Amount, Of("time", hint='Write for example "2 ms".')]
Count: TypeAlias = Annotated[Amount, Of("count", least=1.0, hint="Use a whole number.")]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CycleReduction:
    """What one cycle reduces and what its parts take, arrays that broadcast together."""

    items: Array  # N [1]
    p: Array  # processors of one pipeline, P [1]
    pipelines: Array  # G [1]
    fan_in: Array  # f [1]
    batch: Array  # b [1]
    task: Array  # T_comp [s]
    merge: Array  # T_merge [s]
    fetch: Array  # T_fetch [s]
    overhead: Array  # processor time of a message [s]
    startup: Array  # T_0 [s]
    task_cv: Array | None  # standard deviation of the time of a task over its mean [1]
    cores: Array | None  # that all processors share [1]
    prefetch: bool  # by one rank for all

    @property
    def alone(self) -> Array:
        """Work on one processor, T_seq. [s]."""
        return sequential_time(self.items, task=self.task, merge=self.merge, fetch=self.fetch)

    @property
    def of_one_processor(self) -> Array:
        """Time of pipelines of one processor each [s]."""
        own = np.maximum(self.items / self.pipelines, 1.0)
        time = sequential_time(own, task=self.task, merge=self.merge, fetch=self.fetch)
        if self.cores is not None:
            time = time * np.maximum(self.pipelines / self.cores, 1.0)
        if self.prefetch:
            time = np.maximum(time, self.items * self.fetch)
        return time


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ResultChannel:
    """How messages travel, arrays that broadcast together."""

    given: Array | None  # T_comm, where it was measured [s]
    service: Array  # that a message occupies the channel, L/C; 0 if unknown [s]
    propagation: Array  # tau [s]
    cv2: Array  # squared coefficient of variation of the lengths [1]
    interarrival: Array | None  # 1/lambda, where it is given [s]
    is_shared: bool  # by all pipelines


class PipelinePhase(Phase):
    """A reduction of many items by a parallel pipeline.

    >>> phase = PipelinePhase(law="pipeline", items=4096, task="150 ms", merge="1 ms")
    >>> phase.times(Machine(), {"p": [1, 3, 16]}).time.round(2)
    array([618.5 , 206.17,  38.67])
    """

    source: ClassVar[str] = (
        "Kuntraruk, Pottenger and Ross 2005, doi:10.1109/TPDS.2005.143, and parcast's schedule"
    )
    fitted: ClassVar[tuple[str, ...]] = (
        "task",
        "merge",
        "communication",
        "fetch",
        "overhead",
        "startup",
    )
    resources: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("task", "merge", "fetch", "overhead"), "compute"),
        "communication": "communication",
    }
    simulator = "parcast.simulation.pipeline:PipelineSimulator"
    law: Literal["pipeline"] = LAW_KEY
    form: Literal["adaptive", "overlapped", "serial"] = Field(
        default="adaptive",
        description="adaptive: a processor takes items whenever no merge waits, as `run_pipeline` "
        "does; overlapped: the published schedule, a step is as long as its longest stage; "
        "serial: equation (6), which adds each message to a task.",
    )
    items: Count = parameter("n", "Items of all pipelines, N.")
    task: Annotated[Amount, Of("time", above=0.0, hint='Write for example "150 ms".')] = parameter(
        ..., "Time of the task of one item, T_comp."
    )
    merge: Time = parameter(
        "0 s", "Time of a merge of two results, T_merge; that of a task is an upper bound."
    )
    fetch: Time = parameter("0 s", "Time to fetch an item, added to its task.")
    prefetch: bool = Field(
        default=False,
        description="Whether one rank fetches the items for all, ahead of their tasks.",
    )
    message: Annotated[Amount, Of("size")] = parameter("0 B", "Mean size of a message, L.")
    communication: Time | None = parameter(
        None, "Time of a message, T_comm, if it was measured; by default from its size."
    )
    delay: Literal["mm1", "md1", "mg1"] = Field(
        default="md1",
        description="Lengths of messages, for their delay: mm1 (exponential), md1 (all the same; "
        "what the source calls M/G/1) or mg1 (cv2).",
    )
    cv2: Annotated[Amount, Of("count")] | None = parameter(
        None, "Variance of the lengths over their mean squared, with mg1."
    )
    interarrival: Annotated[Amount, Of("time", above=0.0)] | None = parameter(
        None, "Mean time between two messages at the channel, 1/lambda; by default from the form."
    )
    channel: Literal["own", "shared"] = Field(
        default="own", description="Whether each pipeline has a channel, or all share one."
    )
    overhead: Time = parameter(
        "0 s", "Processor time of a message, half of it to send and half to receive."
    )
    startup: Time = parameter("0 s", "Time of a run that depends on nothing else, T_0.")
    drain: bool = Field(
        default=True,
        description="Whether to include the terms with the depth of the tree (false: the short "
        "form of the published tables).",
    )
    pipelines: Annotated[Amount, Of("count", above=0.0, hint="Use a whole number.")] = parameter(
        "1", "Pipelines that share the items, G, each of p/G processors."
    )
    fan_in: Annotated[Amount, Of("count", least=2.0, hint="2 is usual.")] = parameter(
        "2", "Results that a merge joins."
    )
    batch: Count = parameter("1", "Items that a processor takes at a time.")
    task_cv: Annotated[Amount, Of("count")] | None = parameter(
        None,
        "Standard deviation of the time of a task over its mean, 0 by default; adaptive only.",
    )
    cores: Count | None = parameter(
        None, "Cores that all processors share; by default each has its own."
    )

    @property
    def dearness(self) -> int:
        """Five: two microseconds a point."""
        return 5

    @model_validator(mode="after")
    def _variance_of_mg1(self) -> "PipelinePhase":
        if self.delay == "mg1" and self.cv2 is None and self.communication is None:
            raise ParameterError(
                "phase",
                must='give cv2 if delay = "mg1"',
                hint="Add the variance of the lengths over their mean squared; 0 is md1, 1 mm1.",
            )
        if self.delay != "mg1" and self.cv2 is not None:
            raise ParameterError(
                "phase",
                must='give cv2 only if delay = "mg1"',
                hint='Add delay = "mg1", or leave cv2 out.',
            )
        return self

    @model_validator(mode="after")
    def _variation_of_adaptive(self) -> "PipelinePhase":
        if self.form != "adaptive" and self.task_cv is not None:
            raise ParameterError(
                "phase",
                must='give task_cv only if form = "adaptive"',
                hint=f"Leave task_cv out. A simulation takes the variation for all: {SIMULATE}",
            )
        return self

    def described(self, machine: Machine, at: Point) -> tuple[CycleReduction, ResultChannel]:
        """What a cycle reduces, and how its messages travel, at every point of a grid."""
        own = self.values(at)
        return self._reduction(at, own), self._channel(machine, at, own)

    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle at every point of a grid [s]."""
        run, channel = self.described(machine, at)
        here = self._adaptive if self.form == "adaptive" else self._published
        parts = here(run, channel)
        return Breakdown(
            compute=parts.compute,
            communication=parts.communication,
            synchronisation=parts.synchronisation + run.startup,
        )

    def work(self, machine: Machine, at: Point) -> Array:  # noqa: ARG002 - the same on all
        """Work of all cycles on one processor, without the start of a run. [s]."""
        return np.asarray(self.cycles(at) * self._reduction(at, self.values(at)).alone)

    def warnings(self, machine: Machine) -> Iterator[str]:  # noqa: ARG002 - the same on all
        """Give what a reader of the times must know, in sentences."""
        if self.form == "serial":
            yield (
                "Equation (6) adds the communication of each step to its task: the time is too "
                'high where messages overlap with work (form = "overlapped").'
            )
        if self.form != "adaptive":
            yield (
                "In the published schedule half of the processors merge in every step; where a "
                'merge takes less than a task they wait (form = "adaptive" does not).'
            )
        is_chosen = self.form != "adaptive" or "delay" in self.model_fields_set
        if self._has_queue and self.delay == "md1" and is_chosen:
            yield (
                "The delay md1 is for messages of equal length, although the source calls it "
                'M/G/1. Where lengths vary give delay = "mg1" with cv2.'
            )
        if self._has_queue and self.channel == "shared":
            yield "All pipelines share one channel: messages arrive G times as fast."

    def warnings_at(self, machine: Machine, at: Point) -> Iterator[str]:  # noqa: ARG002 - as above
        """Give what holds at some points of a grid only."""
        own = self.values(at)
        run = self._reduction(at, own)
        p = np.asarray(at["p"], dtype=np.float64)
        shape, even = {"pipelines": run.pipelines, "fan_in": run.fan_in}, run.items / run.pipelines
        few = run.items < p * run.batch
        if few.any():
            yield (
                f"With fewer than p * batch items some processors have no work (at p = "
                f"{_first(p, few):g})."
            )
        yield from self._few_steps(run, p)
        if run.cores is not None and np.any(over := p > run.cores):
            yield (
                f"p = {_first(p, over):g} exceeds the {_first(run.cores, over):g} cores: "
                "processors share them, and the time of a task is meant as that on a core of "
                "its own."
            )
        share = largest_share(run.items, run.p, **shape) if self.form == "serial" else even
        if np.any(uneven := (p > 1) & (share > 1.05 * even)):
            yield (
                f"One pipeline gets {_first(share, uneven):g} of the items, not N/G = "
                f"{_first(even, uneven):g} as in equation (6), whose time is too low (at p = "
                f'{_first(p, uneven):g}). form = "overlapped" counts them.'
            )
        if self.form == "serial" and np.any(run.merge > run.task):
            yield (
                "A merge takes longer than a task, which equation (6) excludes: its time is too "
                'low. Use form = "overlapped".'
            )

    def _few_steps(self, run: CycleReduction, p: Array) -> Iterator[str]:
        """Say where a run is so short that the law is known to be less accurate."""
        b = np.minimum(run.batch, np.maximum(run.items / run.pipelines, 1.0))
        blocks = np.maximum(run.items / b, 1.0)
        if self.form == "adaptive":
            each = blocks / p
            if np.any(few := (each < FEW_BATCHES) & (p > 1)):
                yield (
                    f"Fewer than {FEW_BATCHES} batches for each processor "
                    f"({_first(each, few):.2g} at p = {_first(p, few):g}): there the law was up "
                    "to 15% from simulations, and 33% too high where the channel is the "
                    "bottleneck."
                )
            return
        k = steps(blocks, run.p, pipelines=run.pipelines, fan_in=run.fan_in)
        if np.any(few := (k < FEW_STEPS) & (p > 1)):
            yield (
                f"Fewer than {FEW_STEPS} steps of each pipeline ({_first(k, few):.2g} at p = "
                f"{_first(p, few):g}): where tasks vary the time is too low, in simulations of "
                f"exponential ones by up to 73%. A simulation takes their variation: {SIMULATE}"
            )

    @property
    def _has_queue(self) -> bool:
        """Whether the time of messages comes from their sizes."""
        is_empty = not self.message.expression.axes and float(self.message({})) == 0
        return self.communication is None and not is_empty

    def _reduction(self, at: Point, own: dict[str, Any]) -> CycleReduction:
        """What a cycle reduces at every point; on one processor by one pipeline."""
        total = np.asarray(at["p"], dtype=np.float64)
        require("p", total, total >= 1, must="be at least 1", hint="Count processors from 1.")
        pipelines = np.where(total > 1, own["pipelines"], 1.0)
        each = total / pipelines
        p = np.broadcast_to(total, each.shape)
        whole = (pipelines >= 1) & _whole(pipelines)
        if "p" in self.pipelines.expression.axes:
            must = f'give a whole number of pipelines = "{self.pipelines}"'
            require("p", p, whole, must=must, hint="Choose another p.")
        require("pipelines", pipelines, whole, must="be a whole number", hint="Use for example 4.")
        ok, must = each >= 1, "be at least pipelines"
        if self.form != "adaptive":
            ok, must = ok & _whole(each), "be a multiple of pipelines"
        require(
            "p",
            p,
            ok,
            must=must,
            hint='Choose such a p, or let pipelines follow it, such as "p / 16".',
        )
        known = {x.name: own[x.name] for x in fields(CycleReduction) if x.name in own}
        return CycleReduction(**{**known, "p": each, "pipelines": pipelines})

    def _channel(self, machine: Machine, at: Point, own: dict[str, Any]) -> ResultChannel:
        """How messages travel at every point."""
        size, latency = own["message"], machine.network.latency
        has_rate = machine.network.bandwidth is not None or "network.bandwidth" in at
        service: Array = np.zeros(())
        if np.any(size > 0) and (has_rate or self.communication is None):
            rate = machine.need("network.bandwidth", at, why='law = "pipeline"')
            service = np.asarray(size / rate)
        propagation = at.get("network.latency", 0.0) if latency is None else latency(at)
        return ResultChannel(
            given=own["communication"],
            service=service,
            propagation=np.asarray(propagation, dtype=np.float64),
            cv2=np.asarray(own["cv2"] if self.delay == "mg1" else CV2[self.delay]),
            interarrival=own["interarrival"],
            is_shared=self.channel == "shared",
        )

    def _adaptive(self, run: CycleReduction, channel: ResultChannel) -> Breakdown:
        """Time by the default schedule, without the start [s]."""
        p = run.p * run.pipelines
        shape: dict[str, Any] = {"batch": run.batch, "cores": run.cores, "fan_in": run.fan_in}
        split = batches(run.items, p, **shape)
        costs: dict[str, Any] = {
            "task": run.task,
            "merge": run.merge,
            "fetch": run.fetch,
            "overhead": run.overhead,
            "prefetch": run.prefetch,
            "latency": channel.propagation,
            "task_cv": 0.0 if run.task_cv is None else run.task_cv,
            **shape,
        }
        channels = np.ones(()) if channel.is_shared else run.pipelines
        costs["channel"] = channel_time(split, service=channel.service, channels=channels)
        if channel.given is not None:
            sent = channel.given
        else:
            steady = adaptive_time(run.items, p, **costs, drain=False).time
            known = channel.interarrival
            sent = queued_delay(
                split,
                split.results / channels / steady if known is None else 1.0 / known,
                service=channel.service,
                cv2=channel.cv2,
                propagation=channel.propagation,
                channels=channels,
            )
        return adaptive_time(run.items, p, **costs, communication=sent, drain=self.drain)

    def _published(self, run: CycleReduction, channel: ResultChannel) -> Breakdown:
        """Time by the published schedule, without the start; T_seq on one processor. [s]."""
        f, g = run.fan_in, run.pipelines
        b = np.minimum(run.batch, np.maximum(run.items / g, 1.0))
        blocks, dealt = np.maximum(run.items / b, 1.0), self.form == "overlapped"
        k = steps(blocks, run.p, pipelines=g, fan_in=f, whole_cycles=dealt)
        is_parallel = run.p > 1
        taking = run.p * (f - 1) / f * g  # tasks, and merges of two, of one step
        merge, own_cost = (f - 1) * run.merge, (f - 1) * run.overhead
        task = b * run.task + (b - 1) * run.merge
        fill: Array = np.zeros(())
        if run.prefetch:
            fill = run.p * g * b * run.fetch
        else:
            task = task + b * run.fetch
        first = busy = task  # of the processors in the first step, and in the others
        if run.cores is not None:
            first = task * np.maximum(run.p * g / run.cores, 1.0)
            busy = np.maximum(busy, taking * (task + run.merge) / run.cores)
        if run.prefetch:
            busy = np.maximum(busy, taking * b * run.fetch)
        sent = (f - 1) * self._message_time(run, channel, busy, merge)
        each = step_time(
            task=busy,
            merge=merge,
            communication=sent,
            overhead=own_cost,
            overlapped=self.form == "overlapped",
        )
        without = busy if self.form == "serial" else np.maximum(busy, merge)
        levels = tree_levels(run.p, fan_in=f) if self.drain else np.zeros(())
        total = fill + first + k * each + levels * (merge + sent + own_cost)
        seen = k * (each - without) + levels * (sent + own_cost)
        alone = run.of_one_processor
        total = np.where(is_parallel, total, alone)
        seen = np.where(is_parallel, seen, 0.0)
        cores = run.p * g if run.cores is None else np.minimum(run.p * g, run.cores)
        mean = np.where(is_parallel, (run.alone - (g - 1) * run.merge) / cores, alone)
        compute = np.clip(mean, 0.0, total - seen)
        return Breakdown(
            compute=compute, communication=seen, synchronisation=total - seen - compute
        )

    def _message_time(
        self, run: CycleReduction, channel: ResultChannel, task: Array, merge: Array
    ) -> Array:
        """T_comm in the published schedule: what is given, or the delay on the channel [s]."""
        if channel.given is not None:
            return channel.given
        shared = run.pipelines if channel.is_shared else 1.0
        if channel.interarrival is not None:
            rate: Array = 1.0 / channel.interarrival
        elif self.form == "serial":
            rate = arrival_rate(run.p, task, pipelines=shared)
        else:
            sending = (run.fan_in - 1) / run.fan_in
            step = np.maximum(task, merge)
            rate = arrival_rate(run.p, step, pipelines=shared, sending=sending)
        return message_delay(
            np.where(run.p > 1, rate, 0.0),
            service=channel.service,
            delay="mg1",
            cv2=channel.cv2,
            propagation=channel.propagation,
        )


def _whole(values: Array) -> NDArray[np.bool_]:
    return np.asarray(np.abs(values - np.rint(values)) < 1e-9)


def _first(values: Array, where: NDArray[np.bool_]) -> float:
    """First of the values at the points that a warning is about."""
    return float(np.broadcast_to(values, where.shape)[where].flat[0])
