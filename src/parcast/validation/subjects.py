"""Subjects in, their validation out: what every validation has in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from parcast.errors import FitFailed, ParcastError, RunFailed, as_number, as_whole, require
from parcast.files.faults import AnyPath
from parcast.signals import as_interrupts
from parcast.testbed.testbed import in_words, testbed_here
from parcast.timings.disturbed import slowdown
from parcast.trials.clock import Clock, Progress, system_load
from parcast.trials.launcher import Launcher
from parcast.trials.trial import Trial
from parcast.validation.comparison import Comparison
from parcast.validation.frame import Examined, compared
from parcast.validation.result import Conditions, Validated, Validation
from parcast.validation.subject import Findings, Saving, Subject
from parcast.validation.verdict import Quietness


def _run_documents(outcome: Examined[Any, Any]) -> Iterator[dict[str, Any]]:
    """Give every run with the keys of the JSON document, by case, the calibration first."""
    for found in outcome.runs.counted("calibration").values():
        for trial in (*found.counting, *found.others):
            yield _run(outcome, trial, counts=trial in found.counting, of=None)
    for x in outcome.comparisons():
        for trial in outcome.runs.of("comparison"):
            if trial.case == x.case:
                yield _run(outcome, trial, counts=trial in x.runs, of=x)


def _run(
    outcome: Examined[Any, Any],
    trial: Trial[Any, Any],
    *,
    counts: bool,
    of: Comparison[Any, Any] | None,
) -> dict[str, Any]:
    """Facts of one run."""
    judge = outcome.runs.judge
    least = judge.quanta.get(trial.case.layout)
    predicted = outcome.predictions[trial.turn - 1].get(trial.case) if of is not None else None
    return {
        "callpath": outcome.subject.callpath(trial.case),
        "key": tuple(trial.case.columns),
        "purpose": trial.purpose,
        **trial.case.columns,
        "pass": trial.turn,
        "launch": trial.launch,
        "repetition": trial.repetition,
        "time_s": trial.seconds,
        **{f"{name}_s": x for name, x in outcome.subject.parts(trial).items()},
        "slowdown": None if least is None else slowdown(trial.quanta, least),
        "waiting": trial.waiting,
        "others": trial.others,
        "disturbed": judge.is_disturbed(trial),
        "counts": counts,
        "predicted_s": None if predicted is None else predicted.time,
        "lower_s": None if predicted is None else predicted.lower,
        "upper_s": None if predicted is None else predicted.upper,
        **{f"{way}_s": x for way, x in (predicted.ways if predicted else {}).items()},
        "inside": None if of is None else of.holds(trial.seconds),
    }


def validated_of(
    outcomes: Sequence[Examined[Any, Any]],
    *,
    seconds: float,
    missing: int = 0,
    ended_by: str = "",
) -> Validated:
    """Make the answer of a subject, or of several that test one law."""
    subject = outcomes[0].subject
    comparisons = [x for outcome in outcomes for x in outcome.comparisons()]
    ran = [x for x in comparisons if x.runs]
    is_disturbed = 2 * sum(x.is_disturbed for x in ran) >= len(ran) > 0
    calibrated = [x for outcome in outcomes if (x := outcome.is_calibration_busy) is not None]
    findings = [outcome.subject.findings(outcome.runs) for outcome in outcomes]
    return Validated(
        name=subject.name,
        title=subject.title,
        law=subject.law,
        rule=subject.rule,
        comparisons=tuple(comparisons),
        runs=tuple(run for outcome in outcomes for run in _run_documents(outcome)),
        findings=Findings(
            facts=findings[0].facts,
            document=findings[0].document,
            warnings=[x for each in findings for x in each.warnings],
            objections=[x for each in findings for x in each.objections],
        ),
        # Where a subject calibrates itself in each pass, both are of the same minutes.
        quietness=Quietness(
            calibration=any(calibrated) if calibrated else is_disturbed, comparison=is_disturbed
        ),
        seconds=seconds,
        ended_by=next((x.ended_by for x in outcomes if x.ended_by), ended_by),
        missing=missing,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What every validation may be asked for."""

    seed: int = 0
    time_limit: float | None = None  # [s]
    save: AnyPath | None = None  # file for the predictions
    launcher: Launcher[Any, Any] | None = None  # in place of those of the subjects
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        as_whole("seed", self.seed, least=0, hint="Use any whole number.")
        if self.time_limit is not None:
            hint = "Give it in seconds."
            ok = as_number("time_limit", self.time_limit, hint=hint) > 0
            require("time_limit", self.time_limit, ok, must="be above 0", hint=hint)


def validate_subjects(
    subjects: Sequence[Subject[Any, Any]],
    asked: Asked,
    *,
    names: tuple[str, str],
    cores: int,
    **told: Any,
) -> Validation:
    """Validate subjects one after another; of several, those that fail are named.

    Subjects of one name test one law together. `told` are other fields of the answer.
    """
    clock = Clock(limit=asked.time_limit)
    before, saving = (
        system_load(),
        Saving(path=asked.save),
    )
    outcomes: list[Examined[Any, Any]] = []
    spent: list[float] = []
    failures: dict[str, str] = {}
    left_out: Sequence[Subject[Any, Any]] = ()
    for i, subject in enumerate(subjects):
        clock.progress = _part(asked.progress, i, len(subjects))
        begun, known = clock.seconds, len(outcomes)
        try:
            with as_interrupts():  # between launches too
                compared(
                    subject,
                    clock=clock,
                    random=np.random.default_rng([asked.seed, i, *subject.name.encode()]),
                    saving=saving,
                    launcher=asked.launcher,
                    begun=lambda x: None if x in outcomes else outcomes.append(x),
                )
        except KeyboardInterrupt:
            if not outcomes:
                raise
            clock.interrupted = True
        except (ParcastError, OSError) as failure:
            if len({x.name for x in subjects}) == 1:
                raise
            failures[subject.name] = str(failure)
        spent += [clock.seconds - begun] * (len(outcomes) - known)
        if clock.interrupted:
            left_out = subjects[i + (len(outcomes) > known) :]
            break
    if not outcomes:
        _refuse(failures)
    after = system_load()
    bed = testbed_here()
    parts = tuple(_parts(outcomes, spent, subjects, clock.ended_by))
    return Validation(
        names=names,
        parts=parts,
        conditions=Conditions(
            place="" if bed is None else in_words(bed),
            cores=cores,
            load=None if before is None or after is None else (before, after),
        ),
        saved=saving.saved(),
        failures=failures,
        left_out=tuple(x.name for x in left_out if x.name not in {part.name for part in parts}),
        seconds=clock.seconds,
        seed=asked.seed,
        **told,
    )


def _parts(
    outcomes: Sequence[Examined[Any, Any]],
    spent: Sequence[float],
    subjects: Sequence[Subject[Any, Any]],
    ended_by: str,
) -> Iterator[Validated]:
    """Make the answer of each law: of all subjects of a name together."""
    reached = [outcome.subject for outcome in outcomes]
    for name in dict.fromkeys(subject.name for subject in reached):
        missing = sum(len(x.cases()) for x in subjects if x.name == name and x not in reached)
        yield validated_of(
            [x for x in outcomes if x.subject.name == name],
            seconds=sum(x for x, of in zip(spent, reached, strict=True) if of.name == name),
            missing=missing,
            ended_by=ended_by if missing else "",
        )


def _refuse(failures: Mapping[str, str]) -> NoReturn:
    """Say why there is no answer at all."""
    if failures:
        why = next(iter(failures.values()))
        if len({*failures.values()}) > 1:
            why = "; ".join(f"{name}: {text.removesuffix('.')}" for name, text in failures.items())
        raise RunFailed(f"No program could be validated. {why}")
    raise FitFailed(
        "The time limit was reached before anything was predicted. Allow more time.",
        outcome="No prediction.",
    )


def _part(progress: Progress | None, i: int, of: int) -> Progress | None:
    """Make the progress of one subject that of all."""
    if progress is None:
        return None

    def tell(done: int, total: int | None) -> None:
        progress(round((1000 * i + (1000 * done / total if total else 0)) / of), 1000)

    return tell
