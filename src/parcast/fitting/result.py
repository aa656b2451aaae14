"""Result of `fit`: parameters with their intervals, and what the runs do not determine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.fitting.by_p import ConstantByP
from parcast.show.outline import document_of
from parcast.show.result import Result
from parcast.units import Dimension, in_percent
from parcast.words import whole


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedParameter:
    """One fitted amount, with its described value and its interval."""

    _outline = """
        name value=amount lower=least upper=most unit described factor determined
        columns=_columns of
    """

    name: str  # its place in the file
    dimension: Dimension
    is_of_machine: bool
    described: str  # how it was written; "" where a guess from the runs stood in for it
    scale: (
        float | None
    )  # described value, or guess; None where a formula is scaled as a whole [SI]
    factor: float  # fitted over described [1]
    lower: float  # of its interval, over described; NaN where none was requested [1]
    upper: float  # may be infinite [1]
    drawn: float | None = None  # half-width that its sets have, as +- says it [1]
    determined: str  # `runs`, `runs and +-`, `+- alone`, `only from above`, `not`, `on its bound`
    columns: tuple[str, ...] = ("time_s",)  # of the runs that say something of it

    @property
    def value(self) -> float | None:
        """Fitted value; None where it is a formula. [SI]."""
        return None if self.scale is None else self.scale * self.factor

    @property
    def spread(self) -> float | None:
        """Half-width of the interval over the value, as +- says it; None without one. [1]."""
        if not self.is_determined or not (0 < self.lower < self.upper < np.inf):
            return self.drawn
        return float(np.sqrt(self.upper / self.lower) - 1.0)

    @property
    def is_determined(self) -> bool:
        """Whether the runs or its +- determine it."""
        return self.determined in {"runs", "runs and +-", "+- alone"}

    @property
    def amount(self) -> float:
        """Fitted value; of a formula the factor. [SI]."""
        return self.factor * self._unit

    @property
    def least(self) -> float | None:
        """Lower end of its interval; `null`: no such end. [SI]."""
        return self.lower * self._unit if np.isfinite(self.lower) else None

    @property
    def most(self) -> float | None:
        """Upper end of its interval; `null`: no such end. [SI]."""
        return self.upper * self._unit if np.isfinite(self.upper) else None

    @property
    def unit(self) -> str:
        """Kind of amount, or `times the formula`."""
        return "times the formula" if self.scale is None else self.dimension

    @property
    def of(self) -> str:
        """`program` or `machine`."""
        return "machine" if self.is_of_machine else "program"

    @property
    def _columns(self) -> str:
        """Columns of the runs that say something of it."""
        return ", ".join(self.columns)

    @property
    def _unit(self) -> float:
        """What `factor` and its interval are multiplied by."""
        return 1.0 if self.scale is None else self.scale


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Fit(Result):
    """Fitted constants of a program, how well they explain the runs, and which are determined."""

    _schema = "parcast/fit/1"
    _picture = "parcast.prediction.trials.picture:figure_of_fit"
    _outline = """
        rows=parameters runs=run_rows quantity interval error rms_relative_error=rms
        worst=_worst_run noise noise_of_columns law_error degrees_of_freedom=freedom rank
        singular_values by_p=_by_p undetermined advice warnings converged=has_converged starts
        reached law sources inputs program=program.name machine=machine.name call=_of_fields
    """

    parameters: tuple[FittedParameter, ...]
    program: Program  # as fitted
    machine: Machine  # as fitted
    axes: Mapping[str, Array]  # of the runs; repetitions of a run are one
    measured: Array  # median of its repetitions: times or speedups [s] or [1]
    fitted: Array  # what the law gives there [s] or [1]
    quantity: str  # `time` or `speedup`
    noise: float  # standard deviation of a run about the law, relative [1]
    freedom: float  # degrees of freedom of the noise [1]
    # half-width of the 90% interval at counts that were left out; None if too few [1]
    law_error: float | None
    rank: int  # parameters, or combinations of them, that the runs determine [1]
    singular_values: Array  # of the relative Jacobian of the runs [1]
    undetermined: tuple[str, ...]  # parameters and combinations, in words
    advice: tuple[str, ...]  # runs that would determine them
    warnings: tuple[str, ...]
    has_converged: bool  # whether the best start converged
    holds_scale: bool  # the time on one processor and one disk is as described
    starts: int  # starts that were made [1]
    reached: int  # starts that ended at the same sum of squares [1]
    law: str
    sources: tuple[str, ...]
    noise_of_columns: Mapping[str, float] = field(default_factory=dict)  # of each alone [1]
    by_p: tuple[ConstantByP, ...] = ()  # constants that one value does not hold of
    writes_by_p: bool = False  # whether these are formulas of p in the fitted descriptions
    interval: float = 0.9  # probability of the intervals
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options

    @property
    def errors(self) -> Array:
        """Relative error at every run, fitted over measured less 1. [1]."""
        return np.asarray(self.fitted / self.measured - 1.0)

    @property
    def rms(self) -> float:
        """Root of the mean squared relative error. [1]."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def error(self) -> float:
        """Root of the sum of squared relative errors, divided by the number of runs. [1].

        Publications report it as E; it is `rms` divided by the root of the number of runs.
        """
        return self.rms / float(np.sqrt(len(self.measured)))

    @property
    def worst(self) -> tuple[float, str]:
        """The largest relative error, and the run it is at: (-0.04, "p = 9, d = 1")."""
        i = int(np.argmax(np.abs(self.errors)))
        return float(self.errors[i]), self.place(i)

    @property
    def _worst_run(self) -> dict[str, Any]:
        """The largest `relative_error`, and the run that it is `at`."""
        return dict(zip(("relative_error", "at"), self.worst, strict=True))

    @property
    def is_settled(self) -> bool:
        """Whether it converged and everything is determined."""
        return (
            self.has_converged
            and not self.undetermined
            and (self.writes_by_p or not self.by_p)
            and all(x.is_determined for x in self.parameters)
        )

    @property
    def is_of_parts(self) -> bool:
        """Whether columns of parts of the time were fitted."""
        return set(self.noise_of_columns) > {"time_s"} or "time_s" not in self.noise_of_columns

    def _by_p(self) -> list[dict[str, Any]]:
        """Constants that one value does not hold of: their values at each p, and a formula."""
        return [
            {"name": x.name, "unit": x.dimension, "formula": x.text, "values": [*x.rows()]}
            for x in self.by_p
        ]

    def place(self, i: int) -> str:
        """Name a run by its axes."""
        return ", ".join(f"{axis} = {x[i]:g}" for axis, x in self.axes.items())

    def __getitem__(self, name: str) -> FittedParameter:
        """One parameter by its name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each parameter, as in the JSON document and the CSV file."""
        return map(document_of, self.parameters)

    def run_rows(self) -> Iterator[dict[str, Any]]:
        """One row for each run: its axes, the measured and the fitted value."""
        unit = "_s" if self.quantity == "time" else ""
        for i in range(len(self.measured)):
            axes = {axis: whole(float(x[i])) for axis, x in self.axes.items()}
            yield axes | {
                f"measured_{self.quantity}{unit}": float(self.measured[i]),
                f"fitted_{self.quantity}{unit}": float(self.fitted[i]),
                "relative_error": float(self.errors[i]),
            }

    def __repr__(self) -> str:
        """Say what was fitted, in one line."""
        settled = sum(x.is_determined for x in self.parameters)
        return (
            f"Fit({self.program.name}: {settled} of {len(self.parameters)} parameters determined "
            f"by {len(self.measured)} runs, rms error {in_percent(self.rms)}%)"
        )
