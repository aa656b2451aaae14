"""The law of the pipeline tested on this machine: calibrate small, predict, run, compare.

1. Small runs of the job are traced: on one rank, on the smallest layout and on the largest.
2. The times of their parts are put into the formulas, and the law is fitted to their times.
3. Larger runs are predicted, on all layouts, before any of them is started.
4. They are made in launches of random order; those that others disturbed are made again for a
   while, and count only where there are no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from parcast.errors import FitFailed, ParameterError, as_list, as_number, as_whole, require
from parcast.mpi.find import available_cores
from parcast.pipeline.engine.tree import level_of
from parcast.pipeline.law.formulas import steps
from parcast.pipeline.validating.launches import Request, Runner, launch, tolerated
from parcast.pipeline.validating.observation import Layout, Observed, Point, Schedule
from parcast.pipeline.validating.predicting import calibration_of, costs_of, expected_in, predicted
from parcast.pipeline.validating.result import Compared, PipelineValidation, ValidatedSchedule
from parcast.pipeline.validating.work import Job, OwnJob, Work
from parcast.signals import as_interrupts
from parcast.testbed.testbed import Testbed, in_words, testbed_here
from parcast.trials.clock import Clock, Progress, system_load
from parcast.words import counted

SCHEDULES: Final[tuple[Schedule, ...]] = ("adaptive", "source")
LAYOUTS: Final = (Layout(2, 1), Layout(4, 1), Layout(4, 2), Layout(8, 2))
FACTORS: Final = (4, 8, 16)  # items for each rank of the largest layout, to predict [1]
QUICK: Final = (2, 4, 8)
SMALLER: Final = (4, 2)  # times as few items as the fewest to predict, to calibrate with [1]
CALIBRATIONS: Final = 3  # runs of each small size [1]
LAUNCHES: Final = 2  # of a layout, at most [1]
ENOUGH: Final = 2  # undisturbed runs of a row, as far as so many are asked for [1]
ROUNDS: Final = 3  # of repeating disturbed runs, at most [1]
PATIENCE: Final = 0.5  # for them, of the time that all took until then [1]
GUESS: Final = 0.1  # of an item of an unknown job, for the progress line [s]
START: Final = 3.0  # of ranks, expected [s]
FEWEST: Final = 64  # items of a job of the user's own [1]
MOST_RANKS: Final = 4096
TASK: Final = 0.02  # processor time of a task [s]
SLOW_TASK: Final = 0.05  # where hosts get a share of a core, in slices of a millisecond [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """What is to be done."""

    schedules: tuple[Schedule, ...]
    layouts: tuple[Layout, ...]
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    work: Job
    each: float | None  # processor time of an item, as far as it is known [s]
    batch: int
    repetitions: int
    cores: int
    share: float  # of a core that a rank has [1]
    link: float | None  # [B/s]
    seed: int
    runner: Runner
    rounds: int

    def seconds(self, point: Point) -> float:
        """Time that a run should take, about [s]."""
        busy = min(point.layout.total, self.cores)
        if point.schedule == "source":
            busy = min(max(point.layout.total // 2, 1), self.cores)
        return point.items * (self.each or GUESS) / busy / self.share


def validate_pipeline(
    *,
    schedules: Iterable[Schedule] = SCHEDULES,
    layouts: Iterable[tuple[int, int]] | None = None,
    sizes: Iterable[int] | None = None,
    calibrate_with: Iterable[int] | None = None,
    job: str | None = None,
    arguments: Sequence[str] = (),
    task: float | None = None,
    merge: float = 0.001,
    message: int = 24_000,
    grows: bool = False,
    batch: int = 1,
    repetitions: int = 3,
    quick: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    cores: int | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> PipelineValidation:
    """Test the law of the pipeline on this machine: calibrate, predict larger runs, run, compare.

    Parameters
    ----------
    schedules : iterable of {"adaptive", "source"}, default both
        Schedules to test.
    layouts : iterable of (P, G), optional
        Ranks of a pipeline, and pipelines. Of the published schedule those are taken whose P is a
        power of two.
    sizes : iterable of int, optional
        Items to predict, at least 4 each. [1]
    calibrate_with : iterable of int, optional
        Items of the small runs, two sizes or more. [1]
    job : path, optional
        Python file of a job of your own, as `parcast run pipeline` takes it; its first items are
        used. By default a synthetic job.
    arguments : sequence of str
        Arguments of `job`.
    task, merge : float
        Processor time of a task and of a merge of the synthetic job. By default 20 ms (50 ms on
        capped hosts of a testbed) and 1 ms. [s]
    message : int, default 24000
        Size of the result of an item. [B]
    grows, quick : bool
        Whether a result of k items is k times as long; whether to make fewer and smaller runs.
    batch : int, default 1
        Items that a rank takes at a time in the default schedule. [1]
    repetitions : int, default 3
        Runs of each point. [1]
    seed : int
        Of the order of the runs.
    time_limit : float, optional
        Of all runs. [s]
    cores : int, optional
        Cores that the ranks share, by default those of this machine, or the hosts of a testbed.
    runner : callable, optional
        What makes a run, in place of `run_pipeline`.
    progress : callable, optional
        Called with how far it is.

    Returns
    -------
    PipelineValidation
        ``schedules``, each with ``compared`` (predicted and measured times, and errors),
        ``accuracy`` and ``holds``: whether the law is within its tolerance. ``rows()`` gives all.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.
    RunFailed
        If a run fails.

    Examples
    --------
    >>> import parcast
    >>> result = parcast.validate_pipeline(layouts=[(2, 1)], quick=True)  # doctest: +SKIP
    >>> [each.holds for each in result.schedules]  # doctest: +SKIP
    [True, True]
    """
    bed = testbed_here()
    study = _study(
        schedules,
        layouts,
        sizes,
        calibrate_with,
        OwnJob(path=job, arguments=tuple(arguments))
        if job is not None
        else Work(
            task=(TASK if bed is None or bed.cap is None else SLOW_TASK) if task is None else task,
            merge=merge,
            message=message,
            grows=grows,
        ),
        batch=2 ** level_of(as_whole("batch", batch, least=1, hint="1 is one item at a time."), 2),
        repetitions=as_whole("repetitions", repetitions, least=1, hint="Give 1 or more."),
        cores=cores,
        is_quick=quick,
        seed=as_whole("seed", seed, least=0, hint="Use any whole number."),
        runner=launch if runner is None else runner,
        bed=bed,
    )
    if time_limit is not None:
        ok = as_number("time_limit", time_limit, hint="Give it in seconds.") > 0
        require("time_limit", time_limit, ok, must="be above 0", hint="Give it in seconds.")
    clock = Clock(limit=time_limit, progress=progress)
    before = system_load()
    validated = _validated(study, clock)
    after = system_load()
    return PipelineValidation(
        schedules=validated,
        work=study.work,
        cores=study.cores,
        place="" if bed is None else in_words(bed),
        load=None if before is None or after is None else (before, after),
        ended_by=clock.ended_by if _lacks(validated, study) else "",
        seconds=clock.seconds,
        seed=study.seed,
    )


def _validated(study: Study, clock: Clock) -> tuple[ValidatedSchedule, ...]:
    """Make all runs and predictions."""
    random = np.random.default_rng(study.seed)
    small = _small_points(study)
    large = [
        Point(schedule=schedule, items=n, layout=layout)
        for schedule in study.schedules
        for layout in study.layouts
        for n in study.sizes
        if _is_possible(schedule, layout)
    ]
    first = _requests(study, small, repetitions=CALIBRATIONS, launches=1, random=random)
    second = _requests(
        study, large, repetitions=study.repetitions, launches=LAUNCHES, random=random
    )
    clock.total = sum(START + request.expected for request in (*first, *second))
    with as_interrupts():
        observed = _made(study, first, clock, is_traced=True)
        observed += _again(study, small, observed, clock, is_traced=True)
        if clock.ended_by and len({run.point for run in observed}) < len(set(small)):
            if clock.interrupted:
                raise KeyboardInterrupt
            raise FitFailed(
                "The time limit was reached before the small runs had ended. Allow more time.",
                outcome="No prediction.",
            )
        started = [_calibrated(study, schedule, observed) for schedule in study.schedules]
        costs = started[0].costs
        study = replace(study, each=costs.processor + costs.merge * study.share)
        second = [
            replace(x, expected=sum(map(study.seconds, x.points)), is_known=True) for x in second
        ]
        rows = {row.point: row for each in started for row in _predicted_rows(study, each, large)}
        runs = _made(study, second, clock, is_traced=False)
        runs += _again(study, large, runs, clock, is_traced=False)
    return tuple(
        _with_rows(each, [_with_runs(rows[x], runs) for x in large if x.schedule == each.schedule])
        for each in started
    )


def _again(
    study: Study,
    points: Sequence[Point],
    runs: Sequence[Observed],
    clock: Clock,
    *,
    is_traced: bool,
) -> list[Observed]:
    """Make runs again of which too few were undisturbed, in a few rounds and for a while."""
    more: list[Observed] = []
    end = clock.seconds * (1.0 + PATIENCE)
    for number in range(study.rounds):
        made = {run.point for run in runs}
        wanted = min(ENOUGH, study.repetitions)
        few = [x for x in points if x in made and len(_quiet([*runs, *more], x)) < wanted]
        for request in _grouped(study, few):
            if clock.ended_by or clock.seconds > end:
                return more
            more += _made(
                study, [request], clock, is_traced=is_traced, launch=LAUNCHES + 1 + number
            )
    return more


def _quiet(runs: Sequence[Observed], point: Point) -> list[Observed]:
    """Undisturbed runs of a point."""
    return [run for run in runs if run.point == point and not is_disturbed(run)]


def is_disturbed(run: Observed) -> bool:
    """Whether others had the processors of a run."""
    return run.waiting is not None and run.waiting > tolerated()


def _made(
    study: Study,
    requests: Sequence[Request],
    clock: Clock,
    *,
    is_traced: bool,
    launch: int | None = None,
) -> list[Observed]:
    """Make the launches, until time is over; Ctrl-C ends them, and what was made is kept."""
    made: list[Observed] = []
    number: dict[Layout, int] = {}
    try:
        for request in requests:
            if clock.ended_by:
                break
            layout = request.points[0].layout
            number[layout] = number.get(layout, 0) + 1
            made += study.runner(
                request.points,
                work=study.work,
                launch=launch or number[layout],
                batch=study.batch,
                time_limit=request.time_limit,
                is_traced=is_traced,
            )
            clock.advance(START + request.expected)
    except KeyboardInterrupt:
        clock.interrupted = True
    return made


def _requests(
    study: Study,
    points: Sequence[Point],
    *,
    repetitions: int,
    launches: int,
    random: np.random.Generator,
) -> list[Request]:
    """Launches of every layout, the repetitions dealt out to them, in random order."""
    most = min(launches, repetitions)
    every: list[Request] = []
    for number in range(most):
        times = len(range(number, repetitions, most))
        requests = _grouped(study, [x for x in points for _ in range(times)])
        every += [
            Request(
                points=tuple(
                    request.points[i] for i in random.permutation(len(request.points)).tolist()
                ),
                expected=request.expected,
                is_known=request.is_known,
            )
            for request in (requests[i] for i in random.permutation(len(requests)).tolist())
        ]
    return every


def _grouped(study: Study, points: Sequence[Point]) -> list[Request]:
    """One launch for each layout."""
    return [
        Request(
            points=own,
            expected=sum(map(study.seconds, own)),
            is_known=study.each is not None,
        )
        for layout in dict.fromkeys(x.layout for x in points)
        for own in [tuple(x for x in points if x.layout == layout)]
    ]


def _small_points(study: Study) -> list[Point]:
    """Small runs: on one rank, on the smallest layout and on the largest."""
    points = [
        Point(schedule=study.schedules[0], items=n, layout=Layout(1, 1)) for n in study.small
    ]
    for schedule in study.schedules:
        possible = sorted(
            (x for x in study.layouts if _is_possible(schedule, x)), key=lambda x: x.total
        )
        ends = dict.fromkeys((possible[0], possible[-1]))
        points += [Point(schedule=schedule, items=n, layout=x) for x in ends for n in study.small]
    return points


def _calibrated(
    study: Study, schedule: Schedule, observed: Sequence[Observed]
) -> ValidatedSchedule:
    """Fit a schedule to the small runs, the undisturbed ones where there are enough."""
    counting = []
    for point in sorted({run.point for run in observed}, key=repr):
        quiet = _quiet(observed, point)
        is_enough = len(quiet) >= ENOUGH
        counting += quiet if is_enough else [x for x in observed if x.point == point]
    own = [
        run
        for run in counting
        if run.point.schedule == schedule
        and (schedule == "adaptive" or run.point.layout.ranks > 1)
    ]
    return ValidatedSchedule(
        schedule=schedule,
        costs=costs_of(counting, schedule, cores=study.cores, link=study.link),
        calibration=calibration_of(own, schedule, cores=study.cores, batch=study.batch),
        small=tuple(own),
        rows_=(),
        most_disturbed=2 * sum(map(is_disturbed, own)) > len(own),
    )


def _predicted_rows(
    study: Study, each: ValidatedSchedule, points: Sequence[Point]
) -> list[Compared]:
    """Rows of a schedule, before they are run."""
    calibrated = {run.point.layout for run in each.small}
    rows = []
    for point in points:
        if point.schedule != each.schedule:
            continue
        layout = point.layout
        lower, upper = expected_in(point, each.calibration)
        is_stated = _is_possible("source", layout)
        k = (
            float(steps(point.items, layout.ranks, pipelines=layout.pipelines))
            if is_stated
            else None
        )
        rows.append(
            Compared(
                point=point,
                steps=k,
                predicted=predicted(
                    point, each.costs, each.calibration, cores=study.cores, batch=study.batch
                ),
                lower=lower,
                upper=upper,
                is_shared=layout.total > study.cores,
                is_calibrated=layout in calibrated,
            )
        )
    return rows


def _with_runs(row: Compared, runs: Sequence[Observed]) -> Compared:
    """Add the runs of a row: the undisturbed ones count, or all if there are none."""
    own = [run for run in runs if run.point == row.point]
    quiet = [run for run in own if not is_disturbed(run)]
    return replace(
        row,
        runs=tuple(quiet or own),
        others=tuple(run for run in own if quiet and is_disturbed(run)),
        is_disturbed=bool(own) and not quiet,
    )


def _with_rows(each: ValidatedSchedule, rows: Sequence[Compared]) -> ValidatedSchedule:
    return replace(each, rows_=tuple(rows))


def _lacks(validated: Sequence[ValidatedSchedule], study: Study) -> bool:
    """Whether a row has fewer runs than were asked for."""
    return any(
        len(row.runs) + len(row.others) < study.repetitions
        for each in validated
        for row in each.rows_
    )


def _is_possible(schedule: Schedule, layout: Layout) -> bool:
    """Whether a layout can run a schedule: the published one takes powers of two."""
    return schedule == "adaptive" or (layout.ranks > 1 and layout.ranks & (layout.ranks - 1) == 0)


def _study(
    schedules: Iterable[Schedule],
    layouts: Iterable[tuple[int, int]] | None,
    sizes: Iterable[int] | None,
    calibrate_with: Iterable[int] | None,
    work: Job,
    *,
    batch: int,
    repetitions: int,
    cores: int | None,
    is_quick: bool,
    seed: int,
    runner: Runner,
    bed: Testbed | None,
) -> Study:
    """Check what was asked for, and choose the rest."""
    is_capped = bed is not None and bed.cap is not None
    hosts = bed.hosts if bed is not None and is_capped else len(available_cores())
    number = hosts if cores is None else as_whole("cores", cores, least=1, hint="Count from 1.")
    chosen = _layouts(layouts, most=bed.hosts if bed is not None else LAYOUTS[-1].total)
    every = _schedules(schedules, chosen)
    largest = max(layout.total for layout in chosen)
    to_predict = _sizes("sizes", sizes) or _chosen_sizes(work, largest, is_quick=is_quick)
    small = _sizes("calibrate_with", calibrate_with) or tuple(
        max(to_predict[0] // factor, 4) for factor in SMALLER
    )
    if small[-1] >= to_predict[0]:
        raise ParameterError(
            "calibrate_with",
            must=f"be below the smallest size that is predicted, {to_predict[0]}",
            got=str(small[-1]),
            hint="Calibrate with smaller runs.",
        )
    return Study(
        schedules=every,
        layouts=chosen,
        sizes=to_predict,
        small=small,
        work=work,
        each=work.seconds,
        batch=batch,
        repetitions=1 if is_quick else repetitions,
        cores=number,
        share=bed.cap if bed is not None and bed.cap is not None else 1.0,
        link=bed.link if bed is not None else None,
        seed=seed,
        runner=runner,
        rounds=1 if is_quick else ROUNDS,
    )


def _chosen_sizes(work: Job, ranks: int, *, is_quick: bool) -> tuple[int, ...]:
    """Sizes by the number of ranks; of a job of the user's own, parts of its items."""
    if not isinstance(work, OwnJob):
        return tuple(factor * ranks for factor in (QUICK if is_quick else FACTORS))
    count = work.count()
    if count < FEWEST:
        raise ParameterError(
            "arguments",
            must=f"give a job {FEWEST} items or more",
            got=str(count),
            hint="Name more items.",
        )
    return (count // 4, count // 2, count)


def _layouts(given: Iterable[tuple[int, int]] | None, *, most: int) -> tuple[Layout, ...]:
    """Layouts to run, in the order of their ranks."""
    if given is None:
        return tuple(x for x in LAYOUTS if x.total <= most) or LAYOUTS[:1]
    hint = "Give pairs of P and G such as (4, 2)."
    layouts = {Layout(*pair) for pair in as_list("layouts", given, hint=hint)}
    for layout in layouts:
        ok = min(layout) >= 1 and 2 <= layout.total <= MOST_RANKS
        must = f"be from 2 to {MOST_RANKS} ranks"
        require("layouts", layout.total, ok, must=must, hint="One rank has no pipeline.")
    if not layouts:
        raise ParameterError("layouts", must="name a layout", got="none", hint=hint)
    return tuple(sorted(layouts, key=lambda x: (x.total, x.pipelines)))


def _schedules(given: Iterable[Schedule], layouts: Sequence[Layout]) -> tuple[Schedule, ...]:
    """Schedules to run, each once."""
    hint = 'Choose "adaptive" or "source".'
    chosen = tuple(dict.fromkeys(as_list("schedules", given, hint=hint)))
    for schedule in chosen:
        if schedule not in SCHEDULES:
            must = 'be "adaptive" or "source"'
            raise ParameterError("schedules", must=must, got=repr(schedule), hint="Choose one.")
        if not any(_is_possible(schedule, x) for x in layouts):
            raise ParameterError(
                "layouts",
                must="have a P that is a power of two, for the published schedule",
                got=", ".join(map(str, layouts)),
                hint='Add one such as 4x1, or choose the schedule "adaptive".',
            )
    if not chosen:
        raise ParameterError("schedules", must="name a schedule", got="none", hint=hint)
    return chosen


def _sizes(name: str, given: Iterable[int] | None) -> tuple[int, ...]:
    """Sizes in their order, each once; () if none are given."""
    if given is None:
        return ()
    hint = "Give items such as 64, 128."
    least = 2 if name == "calibrate_with" else 1
    values = {as_whole(name, x, least=4, hint=hint) for x in as_list(name, given, hint=hint)}
    if len(values) < least:
        must = f"be at least {counted(least, 'size')}"
        raise ParameterError(name, must=must, got=str(len(values)), hint=hint)
    return tuple(sorted(values))
