"""The law of the pipeline as what is validated: each schedule calibrated small, and predicted.

1. Small runs of the job are traced: on one rank, on the smallest layout and on the largest.
2. The times of their parts are put into the formulas, and the law is fitted to their times.
3. Larger runs are predicted, on all layouts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from parcast.errors import FitFailed, ParameterError, as_list, as_whole, require, require_one_of
from parcast.mpi.find import available_cores
from parcast.pipeline.engine.tree import level_of
from parcast.pipeline.law.constants import CalibratedLaw
from parcast.pipeline.law.formulas import steps
from parcast.pipeline.trials.observation import (
    Parts,
    PipelineLauncher,
    PipelineLayout,
    PipelineTrial,
    Point,
    Schedule,
)
from parcast.pipeline.trials.predicting import (
    CALIBRATED,
    StageCosts,
    calibration_of,
    costs_of,
    expected_in,
    predicted,
)
from parcast.pipeline.trials.work import OwnJob, TimedJob, Work
from parcast.show.outline import document_of
from parcast.show.sheet import Fact
from parcast.show.warning import RankedWarning
from parcast.testbed.testbed import Testbed, testbed_here
from parcast.timings.disturbed import WAITING
from parcast.trials.campaign import Campaign, Rhythm
from parcast.trials.clock import Progress
from parcast.trials.launcher import Launcher
from parcast.units import format_quantity
from parcast.validation.result import Validation
from parcast.validation.subject import Findings, Passes, Predicted, Rule
from parcast.validation.subjects import Asked, validate_subjects
from parcast.words import counted, rounded, whole

SCHEDULES: Final[tuple[Schedule, ...]] = ("adaptive", "source")
LAYOUTS: Final = (
    PipelineLayout(2, 1),
    PipelineLayout(4, 1),
    PipelineLayout(4, 2),
    PipelineLayout(8, 2),
)
FACTORS: Final = (4, 8, 16)  # items for each rank of the largest layout, to predict [1]
QUICK: Final = (2, 4, 8)
SMALLER: Final = (4, 2)  # times as few items as the fewest to predict, to calibrate with [1]
CALIBRATIONS: Final = 3  # runs of each small size [1]
LAUNCHES: Final = 2  # of a layout, at most [1]
ENOUGH: Final = 2  # undisturbed runs of a point, as far as so many are asked for [1]
ROUNDS: Final = 3  # of repeating disturbed runs, at most [1]
FURTHER: Final = 2  # passes on a machine that is never idle [1]
PATIENCE: Final = 0.5  # for repeating, of the time that all took until then [1]
GUESS: Final = 0.1  # of an item of an unknown job, for the progress line [s]
START: Final = 3.0  # of ranks, expected [s]
FEWEST: Final = 64  # items of a job of the user's own [1]
MOST_RANKS: Final = 4096
TASK: Final = 0.02  # processor time of a task [s]
SLOW_TASK: Final = 0.05  # where hosts get a share of a core, in slices of a millisecond [s]
SHARE: Final = 0.15  # below its share of a core, that a host of a testbed may be [1] [D]
# The mean error of the source's own table is 10%, and its largest one 26%. [S]
RULE: Final = Rule(median=0.10, worst=0.25, cases="row")
MEANINGS: Final[dict[Schedule, dict[str, str]]] = {
    "adaptive": {
        "stated": "formula (6) of the published schedule, with M/M/1",
        "law": "law of the default schedule, messages by their length",
        "given": "the same with the measured times of messages",
        CALIBRATED: "the law fitted to the small runs",
    },
    "source": {
        "mm1": "(6) with the delay of M/M/1",
        "md1": "(6) with that which the source calls M/G/1 (it is M/D/1)",
        "given": "(6) with the measured time of a message",
        "overlapped": "overlapped form with the same",
        CALIBRATED: "the law fitted to the small runs",
    },
}


@dataclass(kw_only=True, slots=True)
class PipelineSubject:
    """One schedule of the pipeline, with a job and the layouts that run it."""

    schedule: Schedule
    layouts: tuple[PipelineLayout, ...]
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    work: TimedJob
    batch: int
    repetitions: int
    cores: int
    share: float  # of a core that a rank has [1]
    link: float | None  # [B/s]
    rounds: int
    each: float | None = None  # processor time of an item, as far as it is known [s]
    costs: StageCosts | None = field(init=False, default=None)
    fitted: CalibratedLaw | None = field(init=False, default=None)
    used: Sequence[PipelineTrial] = field(init=False, default=())  # small runs that count

    law = "pipeline"
    rule = RULE

    @property
    def name(self) -> str:
        """Name of the schedule."""
        return self.schedule

    @property
    def title(self) -> str:
        """The job."""
        return f"pipeline, {self.work}"

    @property
    def rhythm(self) -> Rhythm:
        """How launches are made."""
        enough = min(ENOUGH, self.repetitions)
        return Rhythm(
            start=START,
            enough={"calibration": ENOUGH, "comparison": enough},
            waiting=WAITING if self.share == 1.0 else SHARE,
        )

    @property
    def passes(self) -> Passes:
        """Repetitions are dealt out to some launches."""
        most = min(LAUNCHES, self.repetitions)
        return Passes(
            first=(tuple(len(range(i, self.repetitions, most)) for i in range(most)),),
            further=((1,),) * FURTHER,
            again=self.rounds,
            patience=PATIENCE,
        )

    @property
    def launcher(self) -> PipelineLauncher:
        """Ranks here."""
        return PipelineLauncher(self.work, self.batch)

    def seconds(self, point: Point) -> float | None:
        """Time that a run should take, about [s]."""
        if self.each is None:
            return None
        busy = min(point.layout.total, self.cores)
        if point.schedule == "source":
            busy = min(max(point.layout.total // 2, 1), self.cores)
        return point.items * self.each / busy / self.share

    def calibrate(
        self, runs: Campaign[Point, Parts | None], wanted: Sequence[Point] | None
    ) -> None:
        """Trace small runs, and fit the law to their times."""
        points, cases = self._small_points(), self.cases()
        if wanted is None:
            every = [*points * CALIBRATIONS, *cases * self.repetitions]
            runs.clock.total = sum(self.seconds(x) or GUESS * x.items for x in every)
            runs.clock.total += START * (3 + len(self.layouts) * LAUNCHES)
            runs.make(runs.dealt(dict.fromkeys(points, CALIBRATIONS)), "calibration")
            if not runs.is_busy("calibration"):
                until = runs.clock.seconds * (1.0 + PATIENCE)
                once = dict.fromkeys(points, 1)
                runs.again(once, "calibration", rounds=self.rounds, until=until)
        else:
            runs.make(runs.dealt(dict.fromkeys(points, 1)), "calibration")
        counting = [x for found in runs.counted("calibration").values() for x in found.counting]
        if len({trial.case for trial in counting}) < len(points):
            if runs.clock.interrupted:
                return
            raise FitFailed(
                "The time limit was reached before the small runs had ended. Allow more time.",
                outcome="No prediction.",
            )
        self.used = [x for x in counting if self.schedule == "adaptive" or x.case.layout.ranks > 1]
        self.costs = costs_of(counting, self.schedule, cores=self.cores, link=self.link)
        self.fitted = calibration_of(self.used, self.schedule, cores=self.cores, batch=self.batch)
        self.each = self.costs.processor + self.costs.merge * self.share

    def cases(self) -> list[Point]:
        """All sizes on all layouts."""
        return [
            Point(schedule=self.schedule, items=n, layout=layout)
            for layout in self.layouts
            for n in self.sizes
        ]

    def predict(self, point: Point) -> Predicted:
        """Predict a run by the calibrated law, and in the other ways."""
        assert self.costs is not None
        assert self.fitted is not None
        layout = point.layout
        ways = predicted(point, self.costs, self.fitted, cores=self.cores, batch=self.batch)
        lower, upper = expected_in(point, self.fitted)
        k = None
        if is_possible("source", layout):
            k = whole(float(steps(point.items, layout.ranks, pipelines=layout.pipelines)))
        return Predicted(
            time=ways[CALIBRATED] or 0.0,
            lower=lower,
            upper=upper,
            ways=ways,
            facts={
                "P": layout.ranks,
                "steps": k,
                "shared_cores": layout.total > self.cores,
                "calibrated_layout": layout in {x.case.layout for x in self.used},
            },
        )

    def labels(self, point: Point, predicted: Predicted) -> Mapping[tuple[str, str], str]:
        """Layout, items and steps."""
        steps = predicted.facts["steps"]
        return {
            ("P", ""): str(point.layout.ranks),
            ("G", ""): str(point.layout.pipelines),
            ("k", ""): "-" if steps is None else f"{steps:g}",
            ("N", ""): f"{point.items:,}",
        }

    def kind(self, point: Point) -> str:  # noqa: ARG002 - one for all
        """One symbol for all."""
        return "calibrated law"

    def callpath(self, point: Point) -> str:
        """Name of the schedule."""
        return f"pipeline/{point.schedule}"

    def parts(self, trial: PipelineTrial) -> Mapping[str, float]:  # noqa: ARG002 - of none
        """Runs that are compared are not traced."""
        return {}

    def findings(self, runs: Campaign[Point, Parts | None]) -> Findings:  # noqa: ARG002 - of used
        """Say what the law was fitted to, and what the parts of small runs took."""
        assert self.costs is not None
        assert self.fitted is not None
        costs, found = self.costs, self.fitted
        constants = {"startup": found.startup, "step": found.step, "level": found.level}
        return Findings(
            facts=tuple(self._facts(costs, found)),
            document={
                "ways": MEANINGS[self.schedule],
                "costs": document_of(costs),
                "constants": {x: y and document_of(y) for x, y in constants.items()},
            },
            warnings=(*self._shared(), *found.warnings),
        )

    def _facts(self, costs: StageCosts, found: CalibratedLaw) -> Iterator[Fact]:
        sizes = sorted({run.case.items for run in self.used})
        layouts = sorted({run.case.layout for run in self.used}, key=lambda x: (x.total, x))
        yield Fact(
            "calibration",
            f"{len(self.used)} runs, N = {sizes[0]:,} to {sizes[-1]:,}, PxG = "
            f"{', '.join(map(str, layouts))}",
        )
        unit = "step" if self.schedule == "source" else "item on a core"
        yield Fact("", f"T_0: {found.startup}")
        yield Fact("", f"{unit}: {found.step}")
        if found.level is not None:
            yield Fact("", f"level of the tree: {found.level}")
        yield Fact(
            "measured",
            f"T_comp {_time(costs.task)} ({_time(costs.processor)} of processor time), "
            f"T_merge {_time(costs.merge)}",
        )
        if costs.bytes:
            exposed = f", {_time(costs.exposed)} after the last task"
            text = f"T_comm {_time(costs.message)} from sending to taking it up"
            yield Fact("", text + (exposed if self.schedule == "adaptive" else ""))
            which = "capacity of the link" if costs.is_nominal else "rate of the quickest tenth"
            yield Fact(
                "messages",
                f"{format_quantity(costs.bytes, 'size')}, cv2 {rounded(costs.cv2, 2)}; C = "
                f"{format_quantity(costs.capacity, 'rate')}, {which}",
            )

    def _shared(self) -> Iterator[str]:
        shared = sorted({x.total for x in self.layouts if x.total > self.cores})
        if shared:
            what = "cores" if testbed_here() is None else "hosts"
            yield RankedWarning(
                f"{', '.join(map(str, shared))} ranks share {self.cores} {what}: the work of a "
                f"step is divided by the {what}, in all ways. The waste of the published schedule "
                "is hidden, as ranks that wait need no core.",
                kind="shared cores",
            )

    def _small_points(self) -> list[Point]:
        """Small runs: on one rank, on the smallest layout and on the largest."""
        ends = dict.fromkeys((PipelineLayout(1, 1), self.layouts[0], self.layouts[-1]))
        return [
            Point(schedule=self.schedule, items=n, layout=layout)
            for layout in ends
            for n in dict.fromkeys(self.small)
        ]


def _time(seconds: float) -> str:
    return format_quantity(seconds, "time")


def is_possible(schedule: Schedule, layout: PipelineLayout) -> bool:
    """Whether a layout can run a schedule: the published one takes powers of two."""
    return schedule == "adaptive" or (layout.ranks > 1 and layout.ranks & (layout.ranks - 1) == 0)


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
    save_predictions: str | os.PathLike[str] | None = None,
    launcher: Launcher[Point, Parts | None] | None = None,
    progress: Progress | None = None,
) -> Validation:
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
    save_predictions : path, optional
        JSON file for the predictions, each written before its runs.
    launcher : callable, optional
        What makes the runs, in place of ranks of this machine: a
        `parcast.trials.launcher.Launcher`.
    progress : callable, optional
        Called with how far it is.

    Returns
    -------
    Validation
        ``parts``, one for each schedule, with ``compared`` (predicted and measured times, and
        errors), ``accuracy`` and ``holds``: whether the law is within its tolerance. ``rows()``
        gives all.

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
    >>> [each.holds for each in result.parts]  # doctest: +SKIP
    [True, True]
    """
    asked = Asked(seed, time_limit, save_predictions, launcher, progress)
    bed = testbed_here()
    work: TimedJob = OwnJob(path=job or "", arguments=tuple(arguments))
    if job is None:
        usual = TASK if bed is None or bed.cap is None else SLOW_TASK
        own = usual if task is None else task
        work = Work(task=own, merge=merge, message=message, grows=grows)
    common: dict[str, Any] = {
        "work": work,
        "batch": 2 ** level_of(as_whole("batch", batch, least=1, hint="1 is one at a time."), 2),
        "repetitions": as_whole("repetitions", repetitions, least=1, hint="Give 1 or more."),
        "cores": _cores(cores, bed),
        "share": bed.cap if bed is not None and bed.cap is not None else 1.0,
        "link": bed.link if bed is not None else None,
        "rounds": 1 if quick else ROUNDS,
        "each": work.seconds,
    }
    common |= {"repetitions": 1} if quick else {}
    chosen = _layouts(layouts, most=bed.hosts if bed is not None else LAYOUTS[-1].total)
    every = _schedules(schedules, chosen)
    most = max(layout.total for layout in chosen)
    to_predict = _sizes("sizes", sizes) or _chosen_sizes(work, most, is_quick=quick)
    common |= {"sizes": to_predict, "small": _small(calibrate_with, to_predict[0])}
    return validate_subjects(
        [PipelineSubject(schedule=x, layouts=_possible(x, chosen), **common) for x in every],
        asked,
        names=("pipeline-validation", "schedule"),
        cores=common["cores"],
        repetitions=common["repetitions"],
        facts={"work": work.to_document()},
    )


def _possible(schedule: Schedule, layouts: Iterable[PipelineLayout]) -> tuple[PipelineLayout, ...]:
    return tuple(layout for layout in layouts if is_possible(schedule, layout))


def _cores(given: int | None, bed: Testbed | None) -> int:
    """Cores that ranks share: hosts of a testbed that have a share of one each."""
    if given is not None:
        return as_whole("cores", given, least=1, hint="Count from 1.")
    return bed.hosts if bed is not None and bed.cap is not None else len(available_cores())


def _small(given: Iterable[int] | None, least: int) -> tuple[int, ...]:
    """Sizes to calibrate with, below the smallest that is predicted."""
    small = _sizes("calibrate_with", given) or tuple(
        max(least // x, min(4, least - 1)) for x in SMALLER
    )
    if small[-1] >= least:
        raise ParameterError(
            "calibrate_with",
            must=f"be below the smallest size that is predicted, {least}",
            got=str(small[-1]),
            hint="Calibrate with smaller runs.",
        )
    return small


def _chosen_sizes(work: TimedJob, ranks: int, *, is_quick: bool) -> tuple[int, ...]:
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


def _layouts(given: Iterable[tuple[int, int]] | None, *, most: int) -> tuple[PipelineLayout, ...]:
    """Layouts to run, in the order of their ranks."""
    if given is None:
        return tuple(x for x in LAYOUTS if x.total <= most) or LAYOUTS[:1]
    hint = "Give pairs of P and G such as (4, 2)."
    layouts = {PipelineLayout(*pair) for pair in as_list("layouts", given, hint=hint)}
    for layout in layouts:
        ok = min(layout) >= 1 and 2 <= layout.total <= MOST_RANKS
        must = f"be from 2 to {MOST_RANKS} ranks"
        require("layouts", layout.total, ok, must=must, hint="One rank has no pipeline.")
    if not layouts:
        raise ParameterError("layouts", must="name a layout", got="none", hint=hint)
    return tuple(sorted(layouts, key=lambda x: (x.total, x.pipelines)))


def _schedules(
    given: Iterable[Schedule], layouts: Sequence[PipelineLayout]
) -> tuple[Schedule, ...]:
    """Schedules to run, each once."""
    hint = 'Choose "adaptive" or "source".'
    chosen = tuple(dict.fromkeys(as_list("schedules", given, hint=hint)))
    for schedule in chosen:
        require_one_of("schedules", schedule, SCHEDULES)
        if not any(is_possible(schedule, x) for x in layouts):
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
