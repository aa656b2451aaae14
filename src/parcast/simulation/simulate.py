"""Simulated times of a program on a machine, and the times its law predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.descriptions.breakdown import COMPONENTS, Breakdown
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program
from parcast.errors import ParameterError, as_number, require, require_one_of
from parcast.prediction.grid import grid_of, require_times
from parcast.queueing.arguments import whole
from parcast.queueing.simulation.cycle import Law, sampler
from parcast.simulation.phase import (
    PhaseEffort,
    Points,
    PointTask,
    Simulated,
    Simulator,
    Where,
    ends_of,
    simulated_of,
    simulators_of,
    warnings_of_simulation,
)
from parcast.simulation.result import Simulation

Tasks: TypeAlias = list[list[PointTask]]  # of each phase, at every point

MOST_POINTS: Final = 10_000
LEAST_SECONDS: Final = 1e-9  # that a simulation can be given


def simulate(
    program: ProgramLike,
    machine: MachineLike,
    *,
    p: ArrayLike,
    d: ArrayLike | None = None,
    n: ArrayLike | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    precision: float | None = 0.01,
    replications: int | None = None,
    most_seconds: float | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    laws: Mapping[str, Law] | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> Simulation:
    """Simulate a described program on a described machine, and compare with the times of its law.

    Parameters
    ----------
    program : Program or path
        The program, or the path of its TOML file; the law of its phases must be "spmd"
        or "pipeline".
    machine : Machine or path
        The machine, or the path of its TOML file.
    p, d, n, vary
        As for `parcast.predict`; at most 10,000 points.
    precision : float or None, default 0.01
        Each phase is simulated at each point until half the 90% interval of its mean time is less
        than this fraction of the mean. None: `replications` are simulated, and no more. [1]
    replications : int, optional
        Number to begin with, at least 2; by default 64. [1]
    most_seconds : float, optional
        Limit of the computing time of all points and phases; the first replications of each are
        always completed. The result then depends on the speed of this computer. [s]
    seed : int, default 0
        Seed of the random numbers, which differ between points and phases.
    executor : concurrent.futures.Executor, optional
        Where points are simulated, or the replications of a single point; by default in this
        process. The result does not depend on it, unless there is a time limit.
    laws : mapping of str to distribution, optional
        Distributions to use instead of the variability in the descriptions, for "compute",
        "communication" or "io", of a pipeline for "task", "merge", "message" or "fetch" (with
        several phases "solve.compute"). A distribution is "none",
        "exponential", a coefficient of variation, an array of measured times, or a function of a
        `numpy.random.Generator` and a size. The means remain those of the descriptions.
    progress : callable, optional
        Called with the number of completed simulations, with the part of the one that runs,
        and their total number.

    Returns
    -------
    Simulation
        Simulated times [s] with 95% intervals, and those of the law. The arrays have one
        dimension for each axis that was given, `p` first.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, there are too many points, a law cannot be
        simulated, or a description lacks what the simulation needs.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> import parcast
    >>> compute = {"parallel": "8 s", "variability": "exponential"}
    >>> program = parcast.Program(phase=[{"law": "spmd", "cycles": 10, "compute": compute}])
    >>> simulation = parcast.simulate(program, parcast.Machine(), p=[1, 4], seed=1)
    >>> simulation.predicted.round(1)
    array([80. , 41.7])
    >>> bool(np.all(abs(simulation.difference) < 0.03))
    True
    """
    program, machine = as_program(program), as_machine(machine)
    simulators = simulators_of(program.phase)
    _require_effort(precision, replications, most_seconds, seed)
    given = _laws_of(program, simulators, laws or {})
    grid = grid_of(
        program,
        machine,
        {"p": p, "d": d, "n": n},
        vary or {},
        most=MOST_POINTS,
        purpose=" to be simulated",
    )
    axes, shape, at = grid.axes, grid.shape, grid.at()
    points = [Points(machine, program.at_phase(i, at), shape, x) for i, x in enumerate(given)]
    each = zip(simulators, program.phase, points, strict=True)
    tasks = [simulator.tasks(phase, at_all) for simulator, phase, at_all in each]
    predicted, refused = _law_times(program, machine, at, shape)
    effort = PhaseEffort(
        precision=precision, replications=replications, most_seconds=most_seconds, seed=seed
    )
    simulated = _run_all(tasks, effort, executor, progress)
    breakdown, half_width, cycles = _of_program(simulated, shape)
    require_times(breakdown.time, axes)
    phases = list(zip(simulators, tasks, simulated, strict=True))
    warnings = warnings_of_simulation(
        program, machine, grid, phases, replaced=list(laws or {}), refused=refused
    )
    return Simulation(
        axes=axes,
        breakdown=breakdown,
        lower=np.maximum(breakdown.time - half_width, 0.0),
        upper=breakdown.time + half_width,
        predicted=predicted,
        cycles=cycles,
        ended_by=np.array(ends_of(simulated)).reshape(shape),
        precision=precision,
        seed=int(seed),
        simulated=simulated_of(program, phases),
        warnings=tuple(warnings),
        law=program.law,
        sources=program.sources_of_law,
        program=program.name,
        machine=machine.name,
        dimensions=grid.dimensions,
    )


def _require_effort(
    precision: float | None, replications: int | None, most_seconds: float | None, seed: int
) -> None:
    """Refuse what says nothing of when to stop."""
    for name, value in (("precision", precision), ("most_seconds", most_seconds)):
        if value is not None:
            hint = "Leave it out for none."
            number = as_number(name, value, hint=hint)
            require(name, number, number > 0, must="be above 0", hint=hint)
    if replications is not None:
        whole("replications", replications, 2, hint="A single one has no deviation.")
    whole("seed", seed, 0, hint="Use any such number.")


def _laws_of(
    program: Program, simulators: Sequence[Simulator], laws: Mapping[str, Law]
) -> list[dict[str, Law]]:
    """How times vary in each phase: as described, unless another law is given."""
    chosen: list[dict[str, Law]] = []
    known: dict[str, None] = {}
    for i, (simulator, phase) in enumerate(zip(simulators, program.phase, strict=True)):
        label = program.label(i)
        of_phase: dict[str, Law] = {}
        for part, described in simulator.described(phase).items():
            own = f"{label}.{part}" if label else part
            known |= {part: None, own: None}
            of_phase[part] = laws.get(own, laws.get(part, described))
        chosen.append(of_phase)
    for name, law in laws.items():
        must = f"name {', '.join(known)}"
        require_one_of("laws", name, known, "Use one of these names.", must=must)
        sampler(f"laws[{name!r}]", law)
    return chosen


def _law_times(
    program: Program, machine: Machine, at: Mapping[str, Array], shape: tuple[int, ...]
) -> tuple[Array, tuple[int, str]]:
    """Times by the law, NaN where it has none; how many those are, and why the first."""
    try:
        return np.array(np.broadcast_to(program.times(machine, at).time, shape)), (0, "")
    except ParameterError:
        pass
    times, refusals = np.full(shape, np.nan), list[str]()
    full = {name: np.broadcast_to(values, shape) for name, values in at.items()}
    for place in np.ndindex(shape):
        try:
            breakdown = program.times(machine, {name: x[place] for name, x in full.items()})
            times[place] = float(breakdown.time)
        except ParameterError as refusal:
            refusals.append(str(refusal))
    return times, (len(refusals), next(iter(refusals), ""))


def _of_program(
    simulated: list[list[Simulated]], shape: tuple[int, ...]
) -> tuple[Breakdown, Array, NDArray[np.intp]]:
    """Times of all phases together, the half-width of their interval, and their cycles."""
    columns = {
        name: np.array([[getattr(one, name) for one in x] for x in simulated], dtype=np.float64)
        for name in (*COMPONENTS, "half_width", "cycles")
    }
    breakdown = Breakdown(**{x: columns[x].sum(axis=0).reshape(shape) for x in COMPONENTS})
    half_width = np.sqrt(np.square(columns["half_width"]).sum(axis=0)).reshape(shape)
    return breakdown, half_width, columns["cycles"].sum(axis=0).reshape(shape).astype(np.intp)


def _seed(seed: int, point: int, phase: int) -> int:
    """Seed of one phase at one point, independent of those of the others."""
    sequence = np.random.SeedSequence(int(seed), spawn_key=(point, phase))
    high, low = sequence.generate_state(2, np.uint64).tolist()
    return int(high) << 64 | int(low)


def _run_all(
    tasks: Tasks,
    effort: PhaseEffort,
    executor: Executor | None,
    progress: Callable[[float, int], object] | None,
) -> list[list[Simulated]]:
    """Simulate every phase at every point, here or on an executor."""
    flat = [
        (task, replace(effort, seed=_seed(effort.seed, point, i)))
        for i, of_phase in enumerate(tasks)
        for point, task in enumerate(of_phase)
    ]
    results: dict[int, Simulated] = {}
    if executor is not None and len(flat) > 1:
        simulated = _elsewhere(flat, effort.most_seconds, executor)
    else:
        simulated = _here(flat, effort.most_seconds, executor, progress)
    for k, result in simulated:
        results[k] = result
        if progress is not None:
            progress(len(results), len(flat))
    points = len(tasks[0])
    return [[results[i * points + k] for k in range(points)] for i in range(len(tasks))]


def _here(
    flat: Sequence[tuple[PointTask, PhaseEffort]],
    most_seconds: float | None,
    executor: Executor | None,
    progress: Callable[[float, int], object] | None,
) -> Iterator[tuple[int, Simulated]]:
    """One simulation after the other; what one leaves of its time is shared by those to come."""
    began = monotonic()
    for k, (task, effort) in enumerate(flat):
        if most_seconds is not None:
            left = (most_seconds - (monotonic() - began)) / (len(flat) - k)
            effort = replace(effort, most_seconds=max(left, LEAST_SECONDS))  # noqa: PLW2901 - its share
        within = None
        if progress is not None:
            within = partial(_within, progress, k, len(flat))
        yield k, task.run(effort, Where(executor=executor, progress=within))


def _within(progress: Callable[[float, int], object], done: int, total: int, share: float) -> None:
    """Tell how much is done where one simulation is done in part."""
    progress(done + min(share, 1.0), total)


def _elsewhere(
    flat: Sequence[tuple[PointTask, PhaseEffort]], most_seconds: float | None, executor: Executor
) -> Iterator[tuple[int, Simulated]]:
    """Simulations as they end, each with an equal share of the time."""
    share = None if most_seconds is None else max(most_seconds / len(flat), LEAST_SECONDS)
    alone = Where(executor=None, progress=None)
    futures = {
        executor.submit(task.run, replace(effort, most_seconds=share), alone): k
        for k, (task, effort) in enumerate(flat)
    }
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()
