"""What `validate` answers: what a law predicted for real programs, beside what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar, Final

from parcast.descriptions.fit_record import OwnLawError, validated_law_error
from parcast.show.result import Result
from parcast.timings.disturbed import name_of_time

INTERVAL: Final = 0.9  # share of runs that the intervals are meant to hold


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedRun:
    """One run that was timed."""

    n: int  # problem size [1]
    p: int  # ranks [1]
    launch: int  # which start of the ranks, from 1 [1]
    repetition: int  # of this launch, from 1 [1]
    time: float  # wall [s]
    compute: float  # processor seconds of the rank that computed most [s]
    disk: float  # wall seconds of access to files [s]
    slowdown: float | None = None  # work quanta around and in it, over the least known [1]
    waiting: float = 0.0  # share of it that a rank waited for its core [1]
    is_disturbed: bool = False  # whether others used its processors
    counts: bool = True  # False: it was disturbed, and enough other runs were not


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """One constant of a calibrated law, with its 90 % interval; its value may not be determined.

    Then the finite end is a bound: a rate is at least `lower`, a startup at most `upper`.
    """

    symbol: str  # "W", "n_half", "m_half", "m_2", "u", "t0", "B", "S0"
    p: int | None  # ranks that it holds for; None: any [1]
    value: float | None  # [SI]
    lower: float | None
    upper: float | None
    unit: str  # "1/s", "1", "B/s", "s"

    def row(self) -> dict[str, Any]:
        """As the JSON document has it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class CountCheck:
    """How what a law counts compares with what the program counted, over all runs."""

    what: str  # "steps", "network bytes", "messages", "disk bytes"
    least: float  # counted by the law over counted by the program [1]
    most: float
    agrees: bool  # whether the two grow alike: a constant factor is within the capacity

    def row(self) -> dict[str, Any]:
        """As the JSON document has it."""
        return {
            "what": self.what,
            "least_ratio": self.least,
            "most_ratio": self.most,
            "agrees": self.agrees,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One size on one count of ranks: what was predicted before it ran, and its runs."""

    n: int  # [1]
    p: int  # [1]
    factor: float  # n over the largest calibrated one [1]
    predicted: float  # [s]
    lower: float  # of the 90 % interval of a run [s]
    upper: float  # [s]
    compute: float  # parts of the predicted time [s]
    communication: float  # [s]
    disk: float  # [s]
    is_shared: bool  # whether ranks share cores
    is_calibrated_p: bool  # whether this count of ranks was calibrated
    runs: tuple[TimedRun, ...] = ()  # that count; none yet where it was interrupted
    disturbed: tuple[TimedRun, ...] = ()  # that do not, since others had the processors too

    @property
    def measured(self) -> float:
        """Median time of the runs. [s]."""
        return median(run.time for run in self.runs)

    @property
    def error(self) -> float:
        """Predicted over measured time, less 1: above 0 where the law is too slow. [1]."""
        return self.predicted / self.measured - 1.0

    @property
    def is_inside(self) -> bool:
        """Whether the median of the runs lies in the interval."""
        return self.lower <= self.measured <= self.upper

    @property
    def is_disturbed(self) -> bool:
        """Whether disturbed runs count, as there are too few others."""
        return any(run.is_disturbed for run in self.runs)

    @property
    def runs_inside(self) -> int:
        """Runs in the interval. [1]."""
        return sum(self.lower <= run.time <= self.upper for run in self.runs)

    def row(self) -> dict[str, Any]:
        """Facts of the comparison, with the keys of the JSON document."""
        ran = bool(self.runs)
        return {
            "n": self.n,
            "p": self.p,
            "factor": self.factor,
            "predicted_s": self.predicted,
            "lower_s": self.lower,
            "upper_s": self.upper,
            "compute_s": self.compute,
            "communication_s": self.communication,
            "disk_s": self.disk,
            "measured_s": self.measured if ran else None,
            "error": self.error if ran else None,
            "inside": self.is_inside if ran else None,
            "runs": len(self.runs),
            "runs_inside": self.runs_inside,
            "runs_disturbed": len(self.disturbed),
            "disturbed_count": self.is_disturbed,
            "shared_cores": self.is_shared,
            "calibrated_p": self.is_calibrated_p,
        }


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How well comparisons were predicted."""

    errors: tuple[float, ...]  # absolute, of each [1]
    runs: int
    inside: int  # runs in their intervals


def undisturbed(compared: Sequence[Comparison]) -> Sequence[Comparison]:
    """Leave aside comparisons where disturbed runs count; if all are such, none."""
    return [x for x in compared if not x.is_disturbed] or compared


def accuracy_of(compared: Sequence[Comparison]) -> Accuracy:
    """How well those that nobody disturbed were predicted."""
    quiet = undisturbed(compared)
    return Accuracy(
        errors=tuple(abs(x.error) for x in quiet),
        runs=sum(len(x.runs) for x in quiet),
        inside=sum(x.runs_inside for x in quiet),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidatedProgram:
    """One program and its law: calibrated small, predicted, run, compared."""

    program: str
    title: str
    size: str  # what n counts
    law: str
    source: str  # of the law
    calibration: tuple[TimedRun, ...]
    capacities: tuple[Capacity, ...]
    counts: tuple[CountCheck, ...]
    comparisons: tuple[Comparison, ...]
    holds: bool | None  # None: nothing was compared, or that cannot tell
    verdict: tuple[str, ...]  # by which rules
    warnings: tuple[str, ...]
    cores: int  # that the ranks may use [1]
    seconds: float  # spent [s]
    ended_by: str = ""  # "time limit" or "interrupted" where not all was compared
    repetitions: int = 1  # runs that were asked of each size and count [1]

    @property
    def answer(self) -> str:
        """Whether the law holds, in the words of the JSON document."""
        if self.holds is None:
            return "cannot tell" if self.compared else "not compared"
        return "holds" if self.holds else "does not hold"

    @property
    def agreement(self) -> str:
        """Whether law and measured times agree, in the words that a person reads."""
        if self.holds is None:
            return "inconclusive" if self.compared else "not compared"
        return "agrees" if self.holds else "disagrees"

    @property
    def compared(self) -> tuple[Comparison, ...]:
        """Comparisons that have runs."""
        return tuple(x for x in self.comparisons if x.runs)

    def law_errors(self, platform: str) -> tuple[OwnLawError, ...]:
        """What the law was wrong by on this kind of platform; nothing of too few comparisons."""
        quiet = [x for x in self.compared if not x.is_disturbed]
        axes = {"p": [x.p for x in quiet], "n": [x.n for x in quiet]}
        return validated_law_error(self.law, platform, [x.error for x in quiet], axes)

    @property
    def disturbed(self) -> tuple[TimedRun, ...]:
        """Runs that others disturbed, of the calibration and of the comparisons."""
        compared = [run for x in self.comparisons for run in (*x.runs, *x.disturbed)]
        return tuple(run for run in (*self.calibration, *compared) if run.is_disturbed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Validation(Result):
    """Agreement of the laws of some programs with measured times on this machine."""

    _sheet: ClassVar[str] = "parcast.kernels.validating.sheet:sheet_of"
    _picture: ClassVar[str] = "parcast.kernels.validating.picture:figure_of_validation"

    programs: tuple[ValidatedProgram, ...]
    failures: Mapping[str, str] = field(default_factory=dict)  # programs without answer, and why
    left_out: tuple[str, ...] = ()  # programs that were not begun or not calibrated: interrupted
    seed: int = 0
    interval: float = INTERVAL
    inputs: Mapping[str, Any] | None = None  # what was asked: set by who reads

    @property
    def compared(self) -> tuple[Comparison, ...]:
        """Comparisons of all programs that have runs."""
        return tuple(x for program in self.programs for x in program.compared)

    @property
    def median_error(self) -> float | None:
        """Median of the absolute errors of the undisturbed comparisons. [1]."""
        errors = accuracy_of(self.compared).errors
        return median(errors) if errors else None

    @property
    def worst_error(self) -> float | None:
        """Largest absolute error of them. [1]."""
        return max(accuracy_of(self.compared).errors, default=None)

    @property
    def coverage(self) -> float | None:
        """Share of their runs that lie in their intervals. [1]."""
        accuracy = accuracy_of(self.compared)
        return accuracy.inside / accuracy.runs if accuracy.runs else None

    @property
    def holds(self) -> bool | None:
        """Whether every law agrees; None where some are inconclusive and none disagrees.

        Those of programs that failed or were not reached are inconclusive.
        """
        verdicts = {x.holds for x in self.programs}
        if self.failures or self.left_out:
            verdicts.add(None)
        return None if None in verdicts and False not in verdicts else False not in verdicts

    def comparisons(self) -> Iterator[dict[str, Any]]:
        """Give one row for each program, size and count of ranks."""
        for program in self.programs:
            for x in program.comparisons:
                yield {"program": program.program, **x.row()}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each run, by size and count: those of the calibration come first."""
        for program in self.programs:
            for run in sorted(program.calibration, key=lambda run: (run.n, run.p)):
                yield _row(program.program, "calibration", run, None)
            for x in sorted(program.comparisons, key=lambda x: (x.n, x.p)):
                for run in (*x.runs, *x.disturbed):
                    yield _row(program.program, "comparison", run, x)

    def measurement_rows(self) -> Iterator[dict[str, Any]]:
        """Give runs as rows of a table of measurements, one for each figure of a run.

        In the columns `metric,value` a forecast reads the time and ignores the rest. Repetitions
        are counted over all launches.
        """
        made: Counter[tuple[str, int, int]] = Counter()
        cores = {program.program: program.cores for program in self.programs}
        for row in self.rows():
            program, n, p = place = (row["program"], row["n"], row["p"])
            made[place] += 1
            key = {"callpath": program, "p": p, "n": n, "repetition": made[place]}
            figures = {
                name_of_time(p, cores[program], counts=row["counts"]): row["time_s"],
                "compute_max": row["compute_s"],
                "disk": row["disk_s"],
                "launch": row["launch"],
                "slowdown": row["slowdown"],
                "waiting": row["waiting"],
                "is_disturbed": int(row["disturbed"]),
                "counts": int(row["counts"]),
                "is_calibration": int(row["purpose"] == "calibration"),
                "predicted": row["predicted_s"],
                "lower": row["lower_s"],
                "upper": row["upper_s"],
                "is_inside": None if row["inside"] is None else int(row["inside"]),
            }
            for metric, value in figures.items():
                if value is not None:
                    yield {**key, "metric": metric, "value": value}

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/validation/1``."""
        return {
            "schema": "parcast/validation/1",
            "comparisons": list(self.comparisons()),
            "rows": list(self.rows()),
            "interval": self.interval,
            "median_error": self.median_error,
            "worst_error": self.worst_error,
            "coverage": self.coverage,
            "holds": self.holds,
            "programs": [
                {
                    "program": x.program,
                    "title": x.title,
                    "size": x.size,
                    "law": x.law,
                    "source": x.source,
                    "answer": x.answer,
                    "holds": x.holds,
                    "verdict": list(x.verdict),
                    "capacities": [capacity.row() for capacity in x.capacities],
                    "counts": [check.row() for check in x.counts],
                    "warnings": list(x.warnings),
                    "runs_disturbed": len(x.disturbed),
                    "cores": x.cores,
                    "seconds": x.seconds,
                    "ended_by": x.ended_by or None,
                }
                for x in self.programs
            ],
            "failures": [{"program": name, "why": why} for name, why in self.failures.items()],
            "left_out": list(self.left_out),
            "seed": self.seed,
            "inputs": dict(self.inputs or {}),
        }

    def __repr__(self) -> str:
        """Say what was validated, in one line."""
        answers = ", ".join(f"{x.program} {x.agreement}" for x in self.programs)
        return f"Validation({answers})"


def _row(program: str, purpose: str, run: TimedRun, of: Comparison | None) -> dict[str, Any]:
    """Facts of one run, with the keys of the JSON document."""
    return {
        "program": program,
        "purpose": purpose,
        "n": run.n,
        "p": run.p,
        "launch": run.launch,
        "repetition": run.repetition,
        "time_s": run.time,
        "compute_s": run.compute,
        "disk_s": run.disk,
        "slowdown": run.slowdown,
        "waiting": run.waiting,
        "disturbed": run.is_disturbed,
        "counts": run.counts,
        "predicted_s": of.predicted if of else None,
        "lower_s": of.lower if of else None,
        "upper_s": of.upper if of else None,
        "inside": of.lower <= run.time <= of.upper if of else None,
    }
