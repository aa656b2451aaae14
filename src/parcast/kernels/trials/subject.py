"""A program and its law as what is validated: calibrated small, predicted larger, compared.

1. A trial finds sizes that take some hundredths of a second (`sizes`).
2. Small sizes are timed with P = 1, 2, the largest count and possibly one between, in several
   launches; the capacities of the law are fitted to them (`calibration`).
3. Larger sizes and all counts are predicted, with intervals (`predicting`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from parcast.errors import (
    Argument,
    FitFailed,
    ParameterError,
    as_list,
    as_number,
    as_whole,
    require,
)
from parcast.kernels.kernel import KernelRun
from parcast.kernels.registry import COUNTED
from parcast.kernels.trials.calibration import KernelCalibration, calibrated, forms_of
from parcast.kernels.trials.case import Cells, KernelCase, KernelLauncher, KernelTrial, cells_of
from parcast.kernels.trials.counting import (
    CountCheck,
    CountedProgram,
    count_checks,
    counted_program,
)
from parcast.kernels.trials.predicting import affordable, predictions
from parcast.kernels.trials.sizes import (
    AskedSizes,
    Sizes,
    calibrated_counts,
    repetitions_for,
    seconds_a_step,
    sizes_for,
    steps_of,
)
from parcast.kernels.trials.warnings import warnings_of
from parcast.mpi.find import available_cores
from parcast.mpi.launcher import MOST_RANKS
from parcast.show.outline import document_of
from parcast.show.sheet import Fact
from parcast.trials.campaign import Campaign, Rhythm
from parcast.trials.clock import Progress
from parcast.trials.launcher import Launcher, require_every_case
from parcast.trials.trial import Launch
from parcast.units import shown
from parcast.validation.result import Validation
from parcast.validation.subject import Findings, Passes, Predicted, Rule
from parcast.validation.subjects import Asked, validate_subjects

LONGEST: Final = 5.0  # a predicted run on one processor, unless asked otherwise [s]
LAUNCHES: Final = 5  # of a calibration, for each count [1]
WITHIN: Final = 0.25  # of a launch, for the repetitions of one size [s]
MOST_REPETITIONS: Final = 12
AGAIN: Final = 2  # more launches of calibrated sizes with too few undisturbed runs, at most [1]
QUICK_LAUNCHES, QUICK_REPETITIONS = 3, 4  # the same in a hurry [1]
A_LAUNCH: Final = 2  # runs of a predicted size in one launch [1]
ENOUGH: Final = (3, 2)  # undisturbed runs of a calibrated and of a predicted size that suffice [1]
FURTHER: Final = 2  # passes on a machine that is never idle [1]
SLOWER: Final = 2.0  # a run on several ranks over the longest on one, if not asked otherwise [1]
RULE: Final = Rule(
    chance=0.05,
    cases="point",
    remedy="Repeat on an idle machine, with larger sizes, or not in the quick form",
)


@dataclass(kw_only=True, slots=True)
class KernelSubject:
    """A program at some rank counts."""

    program: CountedProgram
    wanted: AskedSizes
    repetitions: int  # of each size and count
    seed: int
    each: float | None = field(init=False, default=None)  # time of a step [s]
    sizes: Sizes = field(init=False)
    cells: Cells = field(init=False, default_factory=dict)  # calibrated runs that count
    calibration: KernelCalibration = field(init=False)
    known: Mapping[tuple[int, int], Predicted] = field(init=False, default_factory=dict)

    rule = RULE

    @property
    def name(self) -> str:
        """Name of the program."""
        return self.program.kernel.name

    @property
    def title(self) -> str:
        """What it does."""
        return self.program.kernel.title

    @property
    def law(self) -> str:
        """Its law."""
        return self.program.phase.law

    @property
    def rhythm(self) -> Rhythm:
        """How launches are made: they wait for quiet processors, and repeat disturbed runs."""
        enough = min(ENOUGH[1], self.repetitions)
        return Rhythm(
            start=0.5,
            patience=(1.0, 0.5),
            enough={"calibration": ENOUGH[0], "comparison": enough},
            launches=2,
        )

    @property
    def passes(self) -> Passes:
        """Two runs in each launch."""
        a_launch = min(A_LAUNCH, self.repetitions)
        rounds = -(-self.repetitions // a_launch)
        return Passes(
            first=((a_launch,) * rounds,), further=((a_launch,),) * FURTHER, again=rounds
        )

    @property
    def launcher(self) -> KernelLauncher:
        """Ranks here."""
        return KernelLauncher(self.seed)

    def seconds(self, case: KernelCase) -> float | None:
        """Time that a run takes on one rank; unknown before the trial [s]."""
        return None if self.each is None else self.each * steps_of(self.program, case.n)

    def calibrate(
        self, runs: Campaign[KernelCase, KernelRun], wanted: Sequence[KernelCase] | None
    ) -> None:
        """Run small sizes, and fit the law to their times."""
        if wanted is None:
            self._choose(runs.launcher)
        times = self._times()
        if wanted is not None:
            runs.make(runs.dealt(times), "calibration")
        else:
            launches = QUICK_LAUNCHES if self.wanted.is_quick else LAUNCHES
            runs.clock.total = self._expected(times, launches)
            for _ in range(launches):
                runs.make(runs.dealt(times), "calibration")
            self._require_calibrated(runs)
            runs.again(times, "calibration", rounds=AGAIN)
        if runs.clock.interrupted:
            return
        counted = runs.counted("calibration").values()
        self.cells = cells_of([trial for found in counted for trial in found.counting])
        cores = max(sample.runs[0].cores for samples in self.cells.values() for sample in samples)
        counts = calibrated_counts(self.wanted.counts)
        forms = forms_of(self.program, counts, self.sizes.calibrated, cores)
        self.calibration = calibrated(forms, self.cells, seed=self.seed)
        if wanted is None and self.wanted.predicted is None:
            longest = SLOWER * self.wanted.longest
            sizes, most = self.sizes.predicted, self.wanted.counts
            chosen = affordable(self.calibration, sizes, most, longest=longest)
            self.sizes = replace(self.sizes, predicted=chosen)
        sizes = self.sizes.predicted
        self.known = predictions(self.calibration, self.cells, sizes, self.wanted.counts)

    def cases(self) -> list[KernelCase]:
        """All sizes on all counts."""
        return [KernelCase(self.name, n, p) for n, p in self.known]

    def predict(self, case: KernelCase) -> Predicted:
        """Give what was predicted when the law was calibrated."""
        return self.known[case.n, case.p]

    def labels(self, case: KernelCase, predicted: Predicted) -> Mapping[tuple[str, str], str]:
        """Size, how much larger it is than those calibrated, and ranks."""
        return {
            ("n", f"[{shown(self.program.kernel.size, limit=20)}]"): f"{case.n:,}",
            ("n over", "cal."): f"x{predicted.facts['factor']:.3g}",
            ("p", ""): str(case.p),
        }

    def kind(self, case: KernelCase) -> str:
        """Its count of ranks."""
        return f"p = {case.p}"

    def callpath(self, case: KernelCase) -> str:
        """Name of the program."""
        return case.program

    def parts(self, trial: KernelTrial) -> Mapping[str, float]:
        """Processor time of the rank that computes most, and time of access to files."""
        return {"compute": max(trial.observed.compute), "disk": trial.observed.disk}

    def findings(self, runs: Campaign[KernelCase, KernelRun]) -> Findings:
        """Say what the law was calibrated to, and object where it counts something else."""
        compared = runs.counted("comparison")
        measured = {
            (case.n, case.p): median(trial.seconds for trial in found.counting)
            for case, found in compared.items()
        }
        least = min((n for n, _ in measured), default=self.sizes.calibrated[-1])
        checks = count_checks(self.program, cells_of(runs.trials), least=least)
        capacities = self.calibration.capacities()
        return Findings(
            facts=tuple(self._facts(checks)),
            document={
                "size": self.program.kernel.size,
                "source": self.program.phase.source_of_law,
                "capacities": [capacity.row() for capacity in capacities],
                "counts": [document_of(check) for check in checks],
            },
            warnings=tuple(
                warnings_of(
                    self.calibration,
                    self.cells,
                    checks,
                    predicted={place: each.time for place, each in self.known.items()},
                    measured=measured,
                )
            ),
            objections=[str(x) for x in checks if not x.agrees and x.what != "messages"],
        )

    def _facts(self, checks: Sequence[CountCheck]) -> Iterator[Fact]:
        """Say what the prediction is based on."""
        runs = sum(len(x.runs) for samples in self.cells.values() for x in samples)
        sizes, counts = (sorted(set(x)) for x in zip(*self.cells, strict=True))
        yield Fact(
            "calibration",
            f"{runs} runs, n = {sizes[0]:,} to {sizes[-1]:,}, p = {', '.join(map(str, counts))}",
        )
        yield from (Fact("", text) for x in self.calibration.capacities() if (text := str(x)))
        ratios = [f"{x.what} {x.ratio}" + ("" if x.agrees else " (differs)") for x in checks]
        means = "(counted by the law over counted by the program)"
        yield Fact("counts", f"{'; '.join(ratios)} {means}")
        yield Fact("source", self.program.phase.source_of_law)

    def _choose(self, launcher: Launcher[KernelCase, KernelRun]) -> None:
        """Choose sizes by trials."""

        def tried(sizes: Sequence[int], p: int) -> Sequence[KernelRun]:
            cases = tuple(KernelCase(self.name, n, p) for n in sizes)
            launch = Launch(number=0, cases=cases, expected=0.0, purpose="calibration")
            made: list[KernelTrial] = []
            launcher(launch, report=made.append)
            require_every_case(launch, made)
            return [trial.observed for trial in made]

        self.each = seconds_a_step(self.program, tried)
        self.sizes = sizes_for(self.wanted, self.program, self.each, tried)

    def _times(self) -> dict[KernelCase, int]:
        """How often each calibrated size is run in a launch, on each count."""
        most = QUICK_REPETITIONS if self.wanted.is_quick else MOST_REPETITIONS
        cases = [
            KernelCase(self.name, n, p)
            for p in calibrated_counts(self.wanted.counts)
            for n in self.sizes.calibrated
        ]
        return {
            case: repetitions_for(self.seconds(case) or 0.0, most=most, within=WITHIN)
            for case in cases
        }

    def _expected(self, times: Mapping[KernelCase, int], launches: int) -> float:
        """Time of all that is run on a quiet machine [s]."""
        small = sum((self.seconds(case) or 0.0) * number for case, number in times.items())
        [shares] = self.passes.first
        large = [KernelCase(self.name, n, 1) for n in self.sizes.predicted]
        later = sum(self.seconds(case) or 0.0 for case in large) * sum(shares)
        counts = len(calibrated_counts(self.wanted.counts)), len(self.wanted.counts)
        starts = self.rhythm.start * (launches * counts[0] + len(shares) * counts[1])
        return launches * small + counts[1] * later + starts

    def _require_calibrated(self, runs: Campaign[KernelCase, KernelRun]) -> None:
        """Refuse to predict from counts that were not run."""
        made = {trial.case.p for trial in runs.of("calibration")}
        if not runs.clock.interrupted and not made >= set(calibrated_counts(self.wanted.counts)):
            raise FitFailed(
                f"{self.name} could not be calibrated within the time limit. Allow more time, or "
                f"use {Argument('quick', True)}."
            )


def validate(
    names: str | Iterable[str],
    *,
    p: Iterable[int] = (1, 2),
    sizes: Iterable[float] | None = None,
    calibrate_with: Iterable[float] | None = None,
    repetitions: int = 4,
    longest: float = LONGEST,
    quick: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    save_predictions: str | os.PathLike[str] | None = None,
    launcher: Launcher[KernelCase, KernelRun] | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Test laws on this machine: calibrate, predict larger runs, run them and compare.

    Parameters
    ----------
    names : str or sequence of str
        Programs, such as "sort"; "all" is every one of `parcast.kernels.registry.COUNTED`.
    p : sequence of int, default (1, 2)
        Processor counts (MPI ranks) to predict and run. The law is calibrated with 1, 2, the
        largest and one of them that lies well between. [1]
    sizes : sequence of float, optional
        Problem sizes to predict. By default 4 to 10 times the largest calibrated one. [1]
    calibrate_with : sequence of float, optional
        Problem sizes to calibrate with, two or more. By default four that take up to 0.06 s. [1]
    repetitions : int, default 4
        Runs of each predicted size and count, in half as many launches; more where runs are
        disturbed. [1]
    longest : float, default 5
        Longest time of a predicted run on one processor; sizes are chosen for it. [s]
    quick : bool, default False
        Use smaller sizes and fewer launches: two minutes for all programs, and wider intervals.
    seed : int, default 0
        Seed of inputs, orders and resampling.
    time_limit : float, optional
        After this time no launch begins, for all programs together. [s]
    save_predictions : path, optional
        JSON file for the predictions, each written before its runs.
    launcher : callable, optional
        What makes the runs, in place of ranks of this machine: a
        `parcast.trials.launcher.Launcher`.
    progress : callable, optional
        Called with the amount done and the amount of all.

    Returns
    -------
    Validation
        Measured and predicted times [s], and whether each law holds. After Ctrl-C, SIGTERM or the
        time limit, what was compared until then.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or a program is unknown.
    RunFailed
        If the only program fails; of several, the others continue.
    FitFailed
        If the time limit was reached before anything could be predicted.

    Examples
    --------
    >>> import parcast
    >>> print(parcast.validate("fractal", quick=True))  # doctest: +SKIP
    """
    programs = _programs(names)
    hint = "Give it in seconds."
    ok = as_number("longest", longest, hint=hint) > 0
    require("longest", longest, ok, must="be above 0", hint=hint)
    asked = Asked(seed, time_limit, save_predictions, launcher, progress)
    wanted = AskedSizes(
        counts=_counts(p),
        predicted=_whole("sizes", sizes, fewest=1),
        calibrated=_whole("calibrate_with", calibrate_with, fewest=2),
        longest=longest,
        is_quick=quick,
    )
    hint = "Use 2 or more to see how they differ."
    runs = as_whole("repetitions", repetitions, least=1, hint=hint)
    subjects = [
        KernelSubject(program=x, wanted=wanted, repetitions=runs, seed=seed) for x in programs
    ]
    validation = validate_subjects(
        subjects,
        asked,
        names=("validation", "program"),
        cores=len(available_cores()),
        repetitions=runs,
    )
    cores = max(x.calibration.form.cores for x in subjects if x.known)  # of all hosts
    return replace(validation, conditions=replace(validation.conditions, cores=cores))


def _programs(names: str | Iterable[str]) -> list[CountedProgram]:
    """Programs by their names, each once."""
    hint = "Give a name such as sort, or all."
    programs = [names] if isinstance(names, str) else as_list("names", names, hint=hint)
    programs = list(COUNTED) if programs == ["all"] else programs
    if not programs:
        raise ParameterError("names", must="be programs", got="none", hint=hint)
    return [counted_program(name) for name in dict.fromkeys(programs)]


def _counts(p: Iterable[int]) -> tuple[int, ...]:
    """Check rank counts, and put them in order."""
    hint = "Give counts such as 1, 2 and 4."
    counts = sorted({as_number("p", x, hint=hint) for x in as_list("p", p, hint=hint)})
    if not (counts and all(1 <= x <= MOST_RANKS and x == int(x) for x in counts)):
        got = ", ".join(f"{x:g}" for x in counts)
        must = f"be counts from 1 to {MOST_RANKS}"
        raise ParameterError("p", must=must, got=f"[{got}]", hint=hint)
    return tuple(map(int, counts))


def _whole(name: str, given: Iterable[float] | None, *, fewest: int) -> tuple[int, ...] | None:
    """Check problem sizes and put them in order, each once."""
    if given is None:
        return None
    must, hint = "be whole numbers of at least 1", "Give a size such as 1e6."
    values = [as_number(name, x, hint=hint) for x in as_list(name, given, hint=hint)]
    for value in values:
        is_whole = 1 <= value < 2**53 and value == int(value)
        require(name, value, is_whole, must=must, hint=hint)
    sizes = tuple(sorted({int(value) for value in values}))
    if len(sizes) < fewest:
        raise ParameterError(
            name,
            must=f"be at least {fewest} size{('s' if fewest > 1 else '')}",
            got=f"{len(sizes)}",
            hint="Give sizes such as 1e5, 2e5.",
        )
    return sizes
