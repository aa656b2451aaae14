"""Replications of a simulated pipeline, until the mean of their times is known.

A run of very many blocks is extrapolated from shorter ones: with T(M/2) and T(M) of the same
random numbers, T(N) = T(M) + (N - M)/(M/2)*(T(M) - T(M/2)). How far the same rule is off from
T(M/4) and T(M/2) to T(M) is its error, in proportion to N - M; the interval includes it [D].
"""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.pipeline.simulation.adaptive import AdaptiveSimulation
from parcast.pipeline.simulation.scenario import Scenario, SimulatedRun
from parcast.places import load
from parcast.queueing.simulation.rounds import Effort, Ended, sampled_means

STATIC: Final = "parcast.pipeline.published.simulated:StaticSimulation"
MOST_BLOCKS: Final = 100_000  # of a run that is simulated as a whole [1]
FEW_BLOCKS: Final = 2**15  # of the longest that is simulated of another [1]
OF_A_RANK: Final = 64  # blocks that this has at least [1]
REPLICATIONS: Final = 8  # at first


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimates:
    """Mean times of a pipeline, and how many runs they are from."""

    time: float  # [s]
    half_width: float  # of its 90% interval, with that of the extrapolation [s]
    work: float  # of tasks, merges and fetching, all ranks [s]
    overhead: float  # of messages, all ranks [s]
    waiting: float  # for messages that were under way, all ranks [s]
    messages: float  # with results [1]
    delay: float  # of one of them, from when it was sent until it arrived [s]
    utilisation: float  # of a channel; of links, their sum [1]
    events: float  # of a replication [1]
    runs: int  # replications [1]
    blocks: int  # of a simulated run; of the longest, where it is a part [1]
    extrapolation: float  # its share of the half width [s]
    ended_by: Ended


def run_once(scenario: Scenario, seed: np.random.SeedSequence) -> SimulatedRun:
    """Simulate one run."""
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    static: type[AdaptiveSimulation] = load(STATIC)
    one = static if scenario.schedule == "source" else AdaptiveSimulation
    return one(scenario, fresh).run()


def simulate_pipeline(
    scenario: Scenario,
    *,
    replications: int | None = None,
    precision: float | None = 0.01,
    most_seconds: float | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[float], object] | None = None,
) -> Estimates:
    """Simulate a pipeline until half the 90% interval is below `precision` of the mean time.

    Where nothing is random one run is enough.

    >>> simulate_pipeline(Scenario(ranks=4, items=64, task=1.0)).time
    16.0
    """
    blocks = _simulated_blocks(scenario)
    first = 1 if not scenario.is_random else int(replications or REPLICATIONS)
    sampled, ended_by = sampled_means(
        partial(_replications, scenario, blocks),
        np.asarray,
        1,
        Effort(
            replications=first,
            cycles=1,
            precision=precision if scenario.is_random else None,
            most_seconds=most_seconds,
            seed=seed,
            executor=executor,
            progress=progress,
        ),
    )
    time = sampled.estimate(0)
    _, off, work, overhead, waiting, messages, delay, busy, events = sampled.mean.tolist()
    channels = 1 if scenario.is_shared or scenario.given is not None else scenario.pipelines
    return Estimates(
        time=time.value,
        half_width=(time.half_width if scenario.is_random else 0.0) + abs(off),
        work=work,
        overhead=overhead,
        waiting=waiting,
        messages=messages,
        delay=delay / max(messages, 1.0),
        utilisation=busy / time.value / channels,
        events=events,
        runs=sampled.samples,
        blocks=blocks,
        extrapolation=abs(off),
        ended_by=ended_by if scenario.is_random else "precision",
    )


def _simulated_blocks(scenario: Scenario) -> int:
    if scenario.blocks <= MOST_BLOCKS:
        return scenario.blocks
    least = max(FEW_BLOCKS, OF_A_RANK * scenario.ranks)
    return min(least // (4 * scenario.ranks) * 4 * scenario.ranks or least, scenario.blocks)


def _replications(
    scenario: Scenario, blocks: int, rows: int, seed: np.random.SeedSequence
) -> Array:
    """What some replications give, one in a row, in the order of `Estimates`."""
    return np.array([_replication(scenario, blocks, one) for one in seed.spawn(rows)])


def _replication(
    scenario: Scenario, blocks: int, seed: np.random.SeedSequence
) -> tuple[float, ...]:
    """What a replication gives: of the whole run, or extrapolated from parts of it."""
    if blocks == scenario.blocks:
        return _row(run_once(scenario, seed), 1.0, 0.0)
    quarter, half, whole = (
        run_once(replace(scenario, items=blocks // parts * scenario.block), seed)
        for parts in (4, 2, 1)
    )
    beyond = (scenario.items / scenario.block - blocks) / (blocks / 2)
    step, before = whole.time - half.time, half.time - quarter.time
    off = beyond * (step - 2 * before)
    events = quarter.events + half.events + whole.events
    factor = (whole.time + beyond * step) / whole.time
    return _row(replace(whole, events=events), factor, off)


def _row(run: SimulatedRun, factor: float, off: float) -> tuple[float, ...]:
    """Write a run as numbers; of a part of a run the times are those of the whole."""
    scaled = (run.work, run.overhead, run.waiting, float(run.messages), run.delay, run.busy)
    return (run.time * factor, off, *(factor * x for x in scaled), float(run.events))
