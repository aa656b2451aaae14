"""A case that was predicted before it was run, and its runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, log
from statistics import median, pstdev
from typing import Any, ClassVar, Final, Generic

from parcast.trials.disturbance import Counted
from parcast.trials.precision import Interval, interval_of, is_known
from parcast.trials.trial import C, O, ToldCase, Trial
from parcast.validation.subject import Predicted

INTERVAL: Final = 0.9  # share of runs that intervals are meant to hold
Z: Final = 1.645  # of the middle 90% of a normal law


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison(Generic[C, O]):
    """A case with what was predicted in each pass, and its runs."""

    _saved_as: ClassVar = {"case": ToldCase}

    case: C
    kind: str
    predictions: Mapping[int, Predicted]  # by pass, from 1; each was made before its runs
    counted: Counted[C, O]
    labels: Mapping[tuple[str, str], str]  # cells that name it, by title and unit
    observed: Mapping[str, float]  # medians of the parts of the time of the runs [s]
    was_fitted: bool = False  # whether the law was fitted to runs of it: then it predicts nothing

    @property
    def runs(self) -> Sequence[Trial[C, O]]:
        """Runs that count."""
        return self.counted.counting

    @property
    def others(self) -> Sequence[Trial[C, O]]:
        """Runs that do not, as they were disturbed."""
        return self.counted.others

    @property
    def is_disturbed(self) -> bool:
        """Whether disturbed runs count, as there are too few others."""
        return self.counted.is_disturbed

    @property
    def first(self) -> Predicted:
        """Prediction of the first pass."""
        return next(iter(self.predictions.values()))

    @property
    def predicted(self) -> float:
        """Median, over the runs that count, of the time predicted in the pass of each [s]."""
        return self._median(lambda each: each.time)

    @property
    def lower(self) -> float | None:
        """Lower end of the 90% interval of a run, wider as the predictions differ [s]."""
        return self._end(lambda each: each.lower)

    @property
    def upper(self) -> float | None:
        """Upper end [s]."""
        return self._end(lambda each: each.upper)

    @property
    def parts(self) -> dict[str, float]:
        """Parts of the predicted time [s]."""
        return {name: self._median(lambda x, n=name: x.parts[n]) for name in self.first.parts}  # type: ignore[misc]  # a name of this turn

    @property
    def ways(self) -> dict[str, float | None]:
        """Times by other formulas; None where one does not apply [s]."""
        return {
            name: None if x is None else self._median(lambda each, n=name: each.ways[n] or 0.0)  # type: ignore[misc]  # a name of this turn
            for name, x in self.first.ways.items()
        }

    @property
    def measured(self) -> float | None:
        """Median time of the runs that count [s]."""
        return median(run.seconds for run in self.runs) if self.runs else None

    @property
    def interval(self) -> Interval | None:
        """90% interval of that median [s]; of two to four runs their range."""
        return interval_of([run.seconds for run in self.runs]) if len(self.runs) > 1 else None

    @property
    def is_known(self) -> bool:
        """Whether the interval ends within 10% of the median."""
        return is_known([run.seconds for run in self.runs])

    def error(self, way: str = "") -> float | None:
        """Predicted over measured time, less 1; by another way if one is named."""
        time, measured = self.ways[way] if way else self.predicted, self.measured
        return None if time is None or measured is None else time / measured - 1.0

    def part_error(self, name: str) -> float | None:
        """Predicted less measured part of the time, over the whole measured time [1]."""
        measured = self.measured
        if measured is None or name not in self.observed:
            return None
        return (self.parts[name] - self.observed[name]) / measured

    @property
    def is_inside(self) -> bool | None:
        """Whether the median of the runs lies in the interval; None without one."""
        return None if self.measured is None else self.holds(self.measured)

    @property
    def runs_inside(self) -> int | None:
        """Runs in the interval; None without one. [1]."""
        if self.lower is None:
            return None
        return sum(bool(self.holds(run.seconds)) for run in self.runs)

    def holds(self, seconds: float) -> bool | None:
        """Whether a time lies in the interval; None without one."""
        if self.lower is None or self.upper is None:
            return None
        return self.lower <= seconds <= self.upper

    @property
    def row(self) -> dict[str, Any]:
        """Facts of it, with the keys of the JSON document."""
        interval, times = self.interval, [each.time for each in self.predictions.values()]
        facts: dict[str, Any] = {
            **self.case.columns,
            **self.first.facts,
            "predicted_s": self.predicted,
            "lower_s": self.lower,
            "upper_s": self.upper,
            "predicted_least_s": min(times),
            "predicted_most_s": max(times),
            "measured_s": self.measured,
            "measured_lower_s": None if interval is None else interval.lower,
            "measured_upper_s": None if interval is None else interval.upper,
            "error": self.error(),
            "inside": self.is_inside,
            **({"fitted": True} if self.was_fitted else {}),
            **{f"{way}_s": time for way, time in self.ways.items()},
            **{f"{way}_error": self.error(way) for way in self.ways},
        }
        for name, seconds in self.parts.items():
            facts[f"predicted_{name}_s"] = seconds
            facts[f"measured_{name}_s"] = self.observed.get(name)
            facts[f"{name}_error"] = self.part_error(name)
        return facts | {
            "passes": len(self.predictions),
            "runs": len(self.runs),
            "runs_inside": self.runs_inside,
            "runs_disturbed": self.counted.disturbed,
            "disturbed_count": self.is_disturbed,
        }

    def _median(self, of: Callable[[Predicted], float]) -> float:
        """Median over the predictions of the runs that count; of all where none does."""
        paired = [self.predictions[run.turn] for run in self.runs]
        return median(map(of, paired or self.predictions.values()))

    def _end(self, of: Callable[[Predicted], float | None]) -> float | None:
        """End of the interval: what one prediction allows, and how far passes are apart."""
        if of(self.first) is None:
            return None
        end = self._median(lambda each: of(each) or 0.0)
        apart = Z * pstdev([log(each.time) for each in self.predictions.values()])
        if not (apart and end):
            return end
        width = log(end / self.predicted)
        return self.predicted * exp(hypot(width, apart) * (1 if width > 0 else -1))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far predictions are from measured times."""

    errors: tuple[float, ...]  # with their signs [1]
    runs: int
    inside: int  # runs in their intervals

    @property
    def points(self) -> int:
        """Cases that were compared."""
        return len(self.errors)

    @property
    def median(self) -> float:
        """Median of the absolute errors [1]."""
        return median(map(abs, self.errors))

    @property
    def worst(self) -> float:
        """Largest absolute error [1]."""
        return max(map(abs, self.errors))

    @property
    def mean(self) -> float:
        """Mean error: below 0 where predicted times are too short [1]."""
        return sum(self.errors) / len(self.errors)

    def within(self, tolerance: float) -> int:
        """Cases whose error is no larger."""
        return sum(abs(error) <= tolerance for error in self.errors)


def quiet(compared: Iterable[Comparison[C, O]]) -> list[Comparison[C, O]]:
    """Comparisons with runs; without fitted and disturbed ones, unless all are such."""
    ran = [x for x in compared if x.runs]
    new = [x for x in ran if not x.was_fitted] or ran
    return [x for x in new if not x.is_disturbed] or new


def accuracy_of(compared: Iterable[Comparison[C, O]], way: str = "") -> Accuracy | None:
    """How well comparisons were predicted; None where none was run, or this way."""
    known = [(x, error) for x in compared if (error := x.error(way)) is not None]
    if not known:
        return None
    return Accuracy(
        errors=tuple(error for _, error in known),
        runs=sum(len(x.runs) for x, _ in known),
        inside=sum(x.runs_inside or 0 for x, _ in known),
    )
