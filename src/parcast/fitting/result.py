"""Result of `fit`: parameters with their intervals, and what the runs do not determine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.show.result import Result
from parcast.units import Dimension, in_percent
from parcast.words import whole


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedParameter:
    """One fitted amount, with its described value and its interval."""

    name: str
    dimension: Dimension
    is_of_machine: bool
    described: str  # as it was written
    scale: float | None  # described value; None where it is a formula, scaled as a whole [SI]
    factor: float  # fitted over described [1]
    lower: float  # of its interval, over described; NaN where none was requested [1]
    upper: float  # may be infinite [1]
    drawn: float | None = None  # half-width that its sets have, as +- says it [1]
    determined: str  # "runs", "runs and +-", "+- alone", "only from above", "not", "on its bound"

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

    def row(self) -> dict[str, Any]:
        """As the JSON document and the CSV file have it."""
        unit = 1.0 if self.scale is None else self.scale
        lower, upper = (x * unit if np.isfinite(x) else None for x in (self.lower, self.upper))
        return {
            "name": self.name,
            "value": self.factor * unit,
            "lower": lower,
            "upper": upper,
            "unit": "times the formula" if self.scale is None else self.dimension,
            "described": self.described,
            "factor": self.factor,
            "determined": self.determined,
            "of": "machine" if self.is_of_machine else "program",
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Fit(Result):
    """Fitted constants of a program, how well they explain the runs, and which are determined."""

    _sheet: ClassVar[str] = "parcast.fitting.sheet:sheet_of"

    parameters: tuple[FittedParameter, ...]
    program: Program  # as fitted
    machine: Machine  # as fitted
    axes: Mapping[str, Array]  # of the runs; repetitions of a run are one
    measured: Array  # median of its repetitions: times or speedups [s] or [1]
    fitted: Array  # what the law gives there [s] or [1]
    quantity: str  # "time" or "speedup"
    noise: float  # standard deviation of a run about the law, relative [1]
    freedom: float  # its degrees of freedom [1]
    law_error: float | None  # at p that were left out, half-width of the 90 % interval [1]
    rank: int  # parameters, or combinations of them, that the runs determine [1]
    singular_values: Array  # of the relative Jacobian of the runs [1]
    undetermined: tuple[str, ...]  # parameters and combinations, in words
    advice: tuple[str, ...]  # runs that would determine them
    warnings: tuple[str, ...]
    has_converged: bool
    holds_scale: bool  # the time on one processor and one disk is as described
    starts: int
    reached: int  # starts that ended at the same sum of squares
    law: str
    sources: tuple[str, ...]
    interval: float = 0.9  # probability of the intervals
    inputs: Mapping[str, Any] | None = None  # files, what was asked: set by who reads

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
    def is_settled(self) -> bool:
        """Whether it converged and everything is determined."""
        return (
            self.has_converged
            and not self.undetermined
            and all(x.is_determined for x in self.parameters)
        )

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
        return (parameter.row() for parameter in self.parameters)

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

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/fit/1``."""
        error, place = self.worst
        return {
            "schema": "parcast/fit/1",
            "rows": list(self.rows()),
            "runs": list(self.run_rows()),
            "quantity": self.quantity,
            "interval": self.interval,
            "error": self.error,
            "rms_relative_error": self.rms,
            "worst": {"relative_error": error, "at": place},
            "noise": self.noise,
            "law_error": self.law_error,
            "degrees_of_freedom": self.freedom,
            "rank": self.rank,
            "singular_values": self.singular_values.tolist(),
            "undetermined": list(self.undetermined),
            "advice": list(self.advice),
            "warnings": list(self.warnings),
            "converged": self.has_converged,
            "starts": self.starts,
            "reached": self.reached,
            "law": self.law,
            "sources": list(self.sources),
            "inputs": dict(self.inputs or {}),
            "program": self.program.name,
            "machine": self.machine.name,
        }

    def __repr__(self) -> str:
        """Say what was fitted, in one line."""
        settled = sum(x.is_determined for x in self.parameters)
        return (
            f"Fit({self.program.name}: {settled} of {len(self.parameters)} parameters determined "
            f"by {len(self.measured)} runs, rms error {in_percent(self.rms)} %)"
        )
