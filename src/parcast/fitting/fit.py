"""A program and timings in, the constants of its law out, and which of them the timings determine.

The parameters theta minimise, with sigma the scatter of the runs about the law (`noise_of`)::

    sum over runs of (ln T(theta) - ln T_measured)^2 / sigma^2
      + sum over parameters with +- of (ln theta - ln theta_described)^2 / sigma_theta^2

which is the most probable set where timings scatter by a common share and +- are measurements of
their own. Logarithms treat twice too long like twice too short, and short runs as long ones.

Of speedups only ratios of times are known: time on one processor and one disk is then held at
what the description says, as the source normalises its parameters by it [1]_, unless most of it
is made up by amounts that are not fitted [D].

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`, section on parameter estimation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program
from parcast.errors import Argument, FitFailed, ParameterError, as_whole
from parcast.fitting.by_p import ConstantByP
from parcast.fitting.capacity_bounds import bounds_in_words
from parcast.fitting.findings import findings
from parcast.fitting.guesses import guesses_in_words, with_guesses, without_guesses
from parcast.fitting.model import Model, Parameter, parameters_of
from parcast.fitting.observed import Observed, observed_columns, unexplained
from parcast.fitting.result import Fit
from parcast.fitting.runs import Noise, runs_of
from parcast.fitting.solver import FitTask, Solution, intervals, with_scale
from parcast.fitting.trend import Trend, trend_of_fit, trend_with_p
from parcast.fitting.varying import constants_by_p, terms_of_n
from parcast.fitting.written import one_value, with_formulas, written_by_p
from parcast.importers.registry import as_measurements
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import LEAST, MOST

SPREAD_OF_STARTS: Final = 30.0  # largest over least factor
FIRST_STEPS: Final = 15  # of all starts; the best go on
GO_ON: Final = 3  # starts
SAME_END: Final = 1e-4  # by how much sums of squares over the noise may differ
NOISE_ROUNDS: Final = 10
MOST_STARTS: Final = 10_000


def fit(
    program: ProgramLike,
    measurements: MeasurementsLike,
    machine: MachineLike | None = None,
    *,
    free: Iterable[str] | None = None,
    fixed: Iterable[str] | None = None,
    starts: int = 10,
    seed: int = 0,
    interval: bool = True,
    by_p: bool = False,
) -> Fit:
    """Fit the constants of a described program to measured times.

    Parameters
    ----------
    program : Program or path
        The program, or the path of its TOML file. Its amounts are the initial values; an amount
        with +- counts as a measurement of its own. Capacities that a law needs and that are not
        given are estimated from the runs first.
    measurements : Measurements, table or path
        Measured times with the axes p and, where the program uses them, d and n. Of repetitions
        the median is taken; every configuration has the same weight. The columns `compute_s`,
        `communication_s` and `disk_s`, if any, are each fitted by this part of the law, and what
        is left of the time by the other parts. Speedups over
        one processor and one disk, as `parcast.read_measurements` gives them, are fitted as such.
    machine : Machine or path, optional
        The machine of the runs, or the path of its TOML file.
    free : iterable of str, optional
        Names of the amounts to fit, as in `program.parameters()` and `machine.parameters()`. By
        default all nonzero amounts of compute, communication, io and capacities of the phases.
    fixed : iterable of str, optional
        Names of amounts to leave as described.
    starts : int, default 10
        Number of sets of initial values: the described ones, and others within a factor of 30. [1]
    seed : int, default 0
        Seed of these sets.
    interval : bool, default True
        Whether to compute the 90% interval of every constant.
    by_p : bool, default False
        Whether constants that are found to depend on p become formulas of p.

    Returns
    -------
    Fit
        Values with 90% intervals [SI], which of them the runs determine, and the fitted program.

    Raises
    ------
    ParameterError
        If a name is unknown, the runs have an axis that the program does not use, the law has no
        answer at one of them, or they are rates without the work of a run.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    FitFailed
        If there are fewer runs than constants without +-, or the runs determine none.

    Examples
    --------
    >>> import parcast
    >>> work = {"parallel": "5 s", "serial": "1 s"}
    >>> program = parcast.Program(phase=[{"law": "spmd", "compute": work}])
    >>> found = parcast.fit(program, {"p": [1, 2, 4, 8], "time": [12.0, 7.0, 4.5, 3.25]})
    >>> round(found["compute.parallel"].value, 6), round(found["compute.serial"].value, 6)
    (10.0, 2.0)
    """
    program = as_program(program)
    machine = Machine() if machine is None else as_machine(machine)
    if not 1 <= starts <= MOST_STARTS:
        raise ParameterError(
            "starts",
            must=f"lie between 1 and {MOST_STARTS}",
            got=f"{starts}",
            hint="Ten are usual.",
        )
    seed = as_whole("seed", seed, least=0, hint="Use any such number.")
    measurements = as_measurements(measurements)
    are_times = not measurements.measure.is_relative
    if are_times:
        require_times_of_runs("measurements", measurements.measure)
    else:
        _require_one_processor(measurements)
    free, fixed = None if free is None else list(free), list(fixed or ())
    guessed = free if are_times else []  # speedups do not tell rates
    program, guesses = with_guesses(program, machine, measurements, free=guessed, fixed=fixed)
    task = _task(program, machine, measurements, free=free, fixed=fixed)
    idle = tuple(_idle(program, machine, task.model.points))
    from_start = partial(_fitted, starts=starts, seed=seed, interval=interval)
    fitted, noise, coordinates = from_start(task)
    trends: list[str] = []
    if fitted.has_converged and not task.model.is_speedup:
        varying = constants_by_p(task, noise, coordinates)
        if varying and by_p:
            described = with_formulas(program, machine, {x.name: x.formula for x in varying})
            task = _task(*described, measurements, free=free, fixed=fixed)
            fitted, noise, coordinates = from_start(task)
            fitted = written_by_p(fitted, varying, program)
        elif varying:
            fitted = replace(fitted, by_p=varying)
            of_times = len(task.columns) == 1 and len(task.model.parameters) > 1
            trends += (x.warning(one_value(fitted[x.name]), of_times=of_times) for x in varying)
    if fitted.has_converged and not fitted.by_p and (trend := _trend(task, noise, coordinates)):
        trends.append(trend_of_fit(trend, or_else=", or write a constant as a formula of p"))
    if fitted.has_converged and free is None and not task.model.is_speedup:
        trends += terms_of_n(task, noise, coordinates, measurements)
    trends += [*unexplained(task.runs, task.columns), *_fitted_again(program, fitted)]
    if task.model.is_speedup:
        return replace(fitted, warnings=(*trends, *fitted.warnings))
    bounds = bounds_in_words(fitted.program, fitted.machine, measurements)
    said = (*trends, *guesses_in_words(guesses), *idle, *fitted.warnings, *bounds)
    return replace(fitted, parameters=without_guesses(fitted.parameters, guesses), warnings=said)


def _fitted(task: FitTask, *, starts: int, seed: int, interval: bool) -> tuple[Fit, Noise, Array]:
    """Fit from several starts; give what was found, with its noise and its coordinates."""
    solved, noise, best, reached = _solve(task, _starts(task.model.parameters, starts, seed))
    coordinates = solved.coordinates[best]
    ends = None
    if interval:
        ends = intervals(task, noise, coordinates, float(solved.squares[best]))
    fitted = findings(
        task,
        noise,
        coordinates,
        ends=ends,
        has_converged=bool(solved.converged[best]),
        starts=starts,
        reached=reached,
    )
    return fitted, noise, coordinates


def varying_constants(
    program: Program, machine: Machine, measurements: Measurements
) -> tuple[ConstantByP, ...]:
    """Constants of a program that differ with p, fitted from where it is described."""
    task = _task(program, machine, measurements, free=None, fixed=[])
    solved, noise, best, _ = _solve(task, np.ones((1, len(task.model.parameters))))
    return constants_by_p(task, noise, solved.coordinates[best])


def _fitted_again(program: Program, fitted: Fit) -> list[RankedWarning]:
    """Warn where the +- of the description come from the very runs that are fitted."""
    before, now = program.fit, fitted.program.fit
    if before is None or now is None or before.runs != now.runs:
        return []
    return [
        RankedWarning(
            f"The description was fitted to {now.runs} before: if these are the same runs, they "
            "count twice, and the intervals are too narrow. Fit the description as it was then.",
            kind="fitted again",
            rank=Rank.SERIOUS,
        )
    ]


def _trend(task: FitTask, noise: Noise, coordinates: Array) -> Trend | None:
    """How the runs depend on p beyond what parameters that are not on a bound explain."""
    if len(task.columns) > 1:
        return None
    residuals, rows = task.residuals(noise.levels, coordinates[None])
    inside = (coordinates > task.lower) & (coordinates < task.upper)
    return trend_with_p(
        task.model.points["p"],
        residuals[0],
        rows[0][:, inside],
        level=noise.level,
        repetitions=task.runs.repetitions,
    )


def _task(
    program: Program,
    machine: Machine,
    measurements: Measurements,
    *,
    free: list[str] | None,
    fixed: list[str],
) -> FitTask:
    """What is minimised: the model with its parameters, beside the runs that say something."""
    runs = runs_of(measurements, program, machine)
    is_speedup = measurements.measure.is_relative
    points = dict(runs.axes)
    points.setdefault("d", np.full_like(points["p"], machine.servers(points)))
    if is_speedup:
        # The run that speedups are over says nothing: it is 1 whatever the parameters are.
        others = (points["p"] != 1) | (points["d"] != 1)
        points = {axis: column[others] for axis, column in points.items()}
        runs = replace(runs.select(others), parts={})  # they are of times
    _require_times(program, machine, points)
    parameters = parameters_of(program, machine, points, free=free, fixed=fixed)
    model = Model(
        program=program,
        machine=machine,
        parameters=parameters,
        points=points,
        is_speedup=is_speedup,
    )
    columns = observed_columns(runs, program.times(machine, points))
    _require_enough(columns, parameters)
    task = FitTask(model=model, columns=columns, runs=runs, scale=None)
    return with_scale(task) if model.is_speedup else task


def _solve(task: FitTask, starts: Array) -> tuple[Solution, Noise, int, int]:
    """Best solution of several starts, with the noise that goes with it."""
    noise = task.expected()
    solved = task.solve(noise.levels, starts, FIRST_STEPS)
    order = np.argsort(solved.squares, kind="stable")[:GO_ON]
    # The description is where undetermined directions stay as they are: it goes on in any case.
    going_on = np.unique([0, *order])
    further = task.solve(noise.levels, solved.coordinates[going_on])
    squares, coordinates = solved.squares.copy(), solved.coordinates.copy()
    converged = solved.converged.copy()
    squares[going_on], coordinates[going_on] = further.squares, further.coordinates
    converged[going_on] = further.converged
    near = squares <= np.min(squares) + SAME_END
    reached = int(np.sum(squares <= np.min(squares) * 1.01 + 0.01))
    best = int(np.flatnonzero(near)[0])
    solved = Solution(coordinates=coordinates, squares=squares, converged=converged)
    is_one = not np.isfinite(task.deviations).any() and len(task.columns) == 1
    for _ in range(NOISE_ROUNDS):
        before, noise = noise, task.noise(solved.coordinates[best], noise.levels)
        if is_one:  # the noise scales all squares alike
            ratio = before.levels[0] / noise.levels[0]
            solved = replace(solved, squares=solved.squares * ratio**2)
            break
        solved = task.solve(noise.levels, solved.coordinates[best : best + 1])
        best = 0
        if np.allclose(noise.levels, before.levels, rtol=1e-3):
            break
    return solved, noise, best, reached


def _starts(parameters: tuple[Parameter, ...], starts: int, seed: int) -> Array:
    """Coordinates to start from: the description, then a Latin hypercube around it."""
    random = np.random.default_rng(seed)
    columns = []
    for x in parameters:
        levels = (random.permutation(starts) + random.uniform(size=starts)) / starts
        reach = min(np.log(SPREAD_OF_STARTS) / 2.0, 2.0 * x.sigma)
        column = np.exp((2.0 * levels - 1.0) * reach)
        column[0] = 1.0
        columns.append(np.clip(column, x.lower, x.upper))
    return np.stack(columns, axis=1)


def _require_one_processor(runs: Measurements) -> None:
    """Refuse speedups over a larger count, which show by a speedup of 1 there."""
    least = runs.p.min()
    if least > 1 and np.allclose(runs.time[runs.p == least], 1.0):
        raise ParameterError(
            "measurements",
            must="be speedups over one processor",
            got=f"a speedup of 1 at p = {least:g}, the smallest count",
            hint="Give the times, or multiply the speedups by that of this count.",
        )


def _idle(program: Program, machine: Machine, points: Mapping[str, Array]) -> Iterator[str]:
    """Say that no time depends on a machine that gives amounts."""
    if not machine.parameters():
        return
    try:
        without = program.times(Machine(), points).time
    except ParameterError:  # they are needed
        return
    if np.array_equal(without, program.times(machine, points).time):
        yield RankedWarning(
            f"The machine {machine.name} has no effect: the amounts of the program are times, or "
            'have capacities of their own. To use its rates, write work such as "2 Gflop", give '
            "the capacities, or leave the machine out.",
            rank=Rank.SERIOUS,
        )


def _require_times(program: Program, machine: Machine, points: Mapping[str, Array]) -> None:
    """Refuse a program that takes no time at a run."""
    time = np.broadcast_to(program.times(machine, points).time, points["p"].shape)
    none = ~((time >= LEAST) & (time <= MOST))
    if none.any():
        raise ParameterError(
            "the described program",
            must="take a time above 0 at every run",
            got=f"{time[none][0]:g} s at p = {points['p'][none][0]:g}",
            hint="Check its amounts.",
        )


def _require_enough(columns: Sequence[Observed], parameters: tuple[Parameter, ...]) -> None:
    """Refuse fewer times of runs than parameters of which nothing is known beforehand."""
    count = sum(len(x.rows) for x in columns)
    unknown = [x.name for x in parameters if not np.isfinite(x.sigma)]
    if count < max(len(unknown), 1):
        raise FitFailed(
            f"{count} run{'s' if count != 1 else ''} cannot determine {len(unknown)} "
            f"parameters ({', '.join(unknown)}). Measure more runs, fix some parameters "
            f"({Argument('fixed')}), "
            'or write known values with their uncertainty, such as "6.9 s +- 5%".',
            outcome="No fit.",
        )
