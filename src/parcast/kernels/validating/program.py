"""One program of `validate`: its sizes, its calibration, its predictions, its runs."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Final

import numpy as np

from parcast.errors import Argument, FitFailed
from parcast.kernels.validating.calibration import Calibration, calibrated, forms_of
from parcast.kernels.validating.cells import (
    FEWEST,
    Cells,
    disturbed_warnings,
    joined,
    parted,
    timed,
    timed_runs,
)
from parcast.kernels.validating.interval import (
    allowance,
    doubt_of_law,
    doubt_of_small_sizes,
    interval,
    scatter,
)
from parcast.kernels.validating.plan import (
    CALIBRATED,
    LEAST,
    LOWEST,
    MIDDLE,
    TRIAL,
    Sizes,
    calibrated_counts,
    chosen_sizes,
    repetitions_for,
    seconds_a_step,
    steps_of,
    waiting_in,
)
from parcast.kernels.validating.result import Comparison, ValidatedProgram
from parcast.kernels.validating.runs import (
    Job,
    Runner,
    Stopwatch,
    jobs_of,
    launched,
    launched_again,
)
from parcast.kernels.validating.subject import Subject
from parcast.kernels.validating.verdict import count_checks, verdict_of, warnings_of
from parcast.kernels.worker import free_memory
from parcast.mpi.rank import PLACEMENT
from parcast.testbed.testbed import testbed_here

LONGEST: Final = 5.0  # a predicted run on one processor, unless asked otherwise [s]
LAUNCHES: Final = 5  # of a calibration, for each count [1]
WITHIN: Final = 0.25  # of a launch, for the repetitions of one size [s]
MOST_REPETITIONS: Final = 12
AGAIN: Final = 2  # more launches of calibrated sizes with too few undisturbed runs, at most [1]
QUICK_LONGEST, QUICK_CALIBRATED, QUICK_LAUNCHES = 0.5, 0.03, 3  # the same in a hurry
A_LAUNCH: Final = 2  # runs of a predicted size in one launch [1]
ENOUGH: Final = 2  # undisturbed runs of a predicted size, from which the others do not count [1]
SLOWER: Final = 2.0  # a run on several ranks over the longest on one, if not asked otherwise [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What was asked of every program."""

    counts: tuple[int, ...]  # of ranks, ascending
    sizes: tuple[int, ...] | None  # to predict
    calibrate_with: tuple[int, ...] | None
    repetitions: int
    longest: float  # [s]
    is_quick: bool
    seed: int
    runner: Runner


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What is launched to validate one program."""

    counts: tuple[int, ...]  # of ranks to calibrate with
    sizes: Sizes
    seconds: Callable[[int], float]  # expected of a run of a size [s]
    small: list[Job]  # the calibrating ones
    launches: int  # of them, for each count
    a_launch: int  # predicted runs of a size in one launch
    rounds: int  # launches of predicted runs
    random: np.random.Generator


def _plan_of(task: Task, subject: Subject) -> _Plan:
    """Choose sizes by a trial, and the launches that calibrate."""
    random = np.random.default_rng([task.seed, *subject.name.encode()])
    counts = calibrated_counts(task.counts)
    each = seconds_a_step(
        subject, runner=task.runner, seed=task.seed, trial=TRIAL / share_of_core()
    )
    sizes = _sizes(task, subject, each)

    @cache
    def seconds(n: int) -> float:
        return each * steps_of(subject, n)

    most = 4 if task.is_quick else MOST_REPETITIONS
    times = {n: repetitions_for(seconds(n), most=most, within=WITHIN) for n in sizes.calibrated}
    launches = QUICK_LAUNCHES if task.is_quick else LAUNCHES
    a_launch = min(A_LAUNCH, task.repetitions)
    return _Plan(
        counts=counts,
        sizes=sizes,
        seconds=seconds,
        small=jobs_of(counts, times, launches=launches, seconds=seconds, random=random),
        launches=launches,
        a_launch=a_launch,
        rounds=-(-task.repetitions // a_launch),
        random=random,
    )


def validated(task: Task, subject: Subject, watch: Stopwatch) -> ValidatedProgram:
    """Validate one program."""
    begun = watch.seconds
    plan = _plan_of(task, subject)
    counts, sizes, rounds = plan.counts, plan.sizes, plan.rounds
    later = rounds * plan.a_launch * len(task.counts) * sum(map(plan.seconds, sizes.predicted))
    watch.total = sum(job.expected for job in plan.small) + later
    launch = partial(launched, subject.name, runner=task.runner, watch=watch)
    again = partial(launched_again, subject.name, runner=task.runner, watch=watch)
    everything = launch(plan.small, seed=task.seed)
    _require_calibrated(subject, counts, everything, watch)
    everything = again(plan.small, everything, rounds=AGAIN, fewest=FEWEST, seed=task.seed)
    cells, others = parted(everything, watch.quanta)
    cores = max(samples[0].runs[0].cores for samples in cells.values())
    forms = forms_of(subject, counts, sizes.calibrated, cores)
    calibration = calibrated(forms, cells, seed=task.seed)
    chosen = sizes.predicted
    if task.sizes is None:
        chosen = affordable(calibration, chosen, task.counts, longest=SLOWER * task.longest)
    predicted = predictions(calibration, cells, chosen, task.counts)
    large = jobs_of(
        task.counts,
        dict.fromkeys(chosen, plan.a_launch),
        launches=rounds,
        seconds=plan.seconds,
        random=plan.random,
    )
    seed = task.seed + plan.launches + AGAIN
    larger = launch(large, seed=seed)
    is_complete = all(len(larger.get((x.n, x.p), ())) >= rounds for x in predicted)
    enough = min(ENOUGH, task.repetitions)
    larger = again(large, larger, rounds=rounds, fewest=enough, seed=seed)
    compared = with_runs(predicted, larger, watch.quanta, fewest=enough)
    calibration_runs = timed_runs(cells, others, watch.quanta)
    least = min((n for n, _ in larger), default=sizes.calibrated[-1])
    checks = count_checks(subject, joined(everything, larger), least=least)
    holds, verdict = verdict_of([x for x in compared if x.runs], checks, calibration_runs)
    return ValidatedProgram(
        program=subject.name,
        title=subject.title,
        size=subject.size,
        law=subject.phase.law,
        source=subject.phase.source_of_law,
        calibration=calibration_runs,
        capacities=calibration.capacities(),
        counts=checks,
        comparisons=compared,
        holds=holds,
        verdict=verdict,
        warnings=(
            *warnings_of(subject, calibration, cells, compared, checks),
            *disturbed_warnings([*calibration_runs, *(run for x in compared for run in x.runs)]),
        ),
        cores=cores,
        seconds=watch.seconds - begun,
        ended_by="" if is_complete and not watch.interrupted else watch.ended_by,
        repetitions=rounds * plan.a_launch,
    )


def with_runs(
    predicted: Sequence[Comparison],
    larger: Cells,
    least: Mapping[int, float],
    *,
    fewest: int,
) -> tuple[Comparison, ...]:
    """Put runs to what was predicted, disturbed ones apart where there are enough others."""
    counting, others = parted(larger, least, fewest=fewest)
    return tuple(
        replace(
            x,
            runs=timed(counting.get((x.n, x.p), ()), least),
            disturbed=timed(others.get((x.n, x.p), ()), least, counts=False),
        )
        for x in predicted
    )


def affordable(
    calibration: Calibration, sizes: Sequence[int], counts: Sequence[int], *, longest: float
) -> tuple[int, ...]:
    """Bring sizes down, at most to the first, where ranks take longer than `longest` [s]."""
    first, last = sizes[0], sizes[-1]
    p = np.array(counts, dtype=np.float64)
    while last > first:
        if calibration.time(calibration.form.terms(np.full(p.shape, last), p)).max() <= longest:
            break
        last = max(round(0.9 * last), first)
    kept = [n for n in sizes if n < 0.9 * last]
    return tuple(dict.fromkeys([*kept, last]))


def predictions(
    calibration: Calibration, cells: Cells, sizes: Sequence[int], counts: Sequence[int]
) -> tuple[Comparison, ...]:
    """Predict every size on every count, with the interval of a run."""
    form = calibration.form
    n, p = (np.array(x, dtype=np.float64) for x in zip(*product(sizes, counts), strict=True))
    terms = form.terms(n, p)
    time = calibration.time(terms)
    largest = max(size for size, _ in cells)
    factor = n / largest
    calibrated_share = calibration.of_small_sizes(form.terms(np.full(n.shape, largest), p))
    parts = calibration.parts(terms)
    deviation = np.sqrt(
        calibration.doubt(terms) ** 2
        + doubt_of_law(calibration.residuals, len(form.columns)) ** 2
        + allowance(factor, p, form.counts, parts[2] / time) ** 2
        + doubt_of_small_sizes(calibration.of_small_sizes(terms), calibrated_share) ** 2
    )
    lower, upper = interval(time, scatter(cells), deviation)
    return tuple(
        Comparison(
            n=int(n[i]),
            p=int(p[i]),
            factor=float(factor[i]),
            predicted=float(time[i]),
            lower=float(lower[i]),
            upper=float(upper[i]),
            compute=float(parts[0][i]),
            communication=float(parts[1][i]),
            disk=float(parts[2][i]),
            is_shared=bool(p[i] > form.cores),
            is_calibrated_p=int(p[i]) in form.counts,
        )
        for i in range(n.size)
    )


def share_of_core() -> float:
    """Share of a core that a rank gets: that of a host on a testbed, else all of it [1]."""
    testbed = testbed_here()
    return 1.0 if testbed is None or testbed.cap is None else min(testbed.cap, 1.0)


def _sizes(task: Task, subject: Subject, each: float) -> Sizes:
    """Choose sizes, as far as they were not given."""
    if task.sizes is not None and task.calibrate_with is not None:
        return Sizes(calibrated=task.calibrate_with, predicted=task.sizes)
    choose = partial(
        chosen_sizes,
        subject,
        each,
        longest=min(task.longest, QUICK_LONGEST) if task.is_quick else task.longest,
        calibrated=(QUICK_CALIBRATED if task.is_quick else CALIBRATED) / share_of_core(),
        most_p=max(task.counts),
        memory=free_memory() or float("inf"),
        middle=LOWEST if share_of_core() < 1.0 else MIDDLE,
        lowest=LOWEST if os.environ.get(PLACEMENT) == "free" else LEAST,  # ranks on own hosts
    )
    chosen = choose()
    if task.calibrate_with is None:
        n, p = chosen.calibrated[-1], max(task.counts)
        waiting = waiting_in(subject, each, n=n, p=p, runner=task.runner, seed=task.seed)
        chosen = choose(waiting=waiting)
    if task.sizes is not None:
        for most in (min(task.sizes) / LEAST, min(task.sizes)):
            below = tuple(n for n in chosen.calibrated if n <= most)
            if len(below) > 1:
                return Sizes(calibrated=below, predicted=task.sizes)
        return replace(chosen, predicted=task.sizes)
    if task.calibrate_with is not None:
        largest = task.calibrate_with[-1]
        ratio = [n / chosen.calibrated[-1] for n in chosen.predicted]
        predicted = tuple(round(largest * x) for x in ratio)
        return Sizes(calibrated=task.calibrate_with, predicted=predicted)
    return chosen


def _require_calibrated(
    subject: Subject, counts: Sequence[int], cells: Cells, watch: Stopwatch
) -> None:
    """Refuse to predict from counts that were not run."""
    if watch.interrupted:
        raise KeyboardInterrupt
    if not {p for _, p in cells} >= set(counts):
        raise FitFailed(
            f"{subject.name} could not be calibrated within the time limit. Allow more time, or "
            f"use {Argument('quick', True)}."
        )
