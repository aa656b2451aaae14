"""A described program beside its runs: a validation of the configurations of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.fit_record import KINDS, OwnLawError, validated_law_error
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.laws.allowances import platform_of
from parcast.saved.call import Call
from parcast.validation.comparison import Comparison, quiet
from parcast.validation.result import Validation

Axes: TypeAlias = tuple[tuple[str, float], ...]  # names and values


class Configuration(NamedTuple):
    """A configuration of a table of runs: its axes and their values."""

    axes: Axes

    @property
    def layout(self) -> float:
        """Processors."""
        return self.columns["p"]

    @property
    def columns(self) -> Mapping[str, float]:
        """Values by axis."""
        return dict(self.axes)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSpeedup:
    """A speedup as it was measured and as it was predicted, each over its own first time."""

    case: Configuration
    base: float  # processors whose time it is over [1]
    measured: float  # [1]
    predicted: float  # [1]

    @property
    def error(self) -> float:
        """Predicted over measured speedup, less 1 [1]."""
        return self.predicted / self.measured - 1.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ProgramValidation(Validation):
    """A described program on a described machine, beside runs of it."""

    _sheet = "parcast.prediction.trials.sheet:sheet_of"
    _picture = "parcast.prediction.trials.picture:figure_of"
    _axes = "*predicted_s"

    program: Program
    machine: Machine
    are_speedups: bool = False  # measured times are those of speedups, over the described one
    call: Call | None = None  # what made it, with the descriptions: for `parcast.load`

    @property
    def cases(self) -> tuple[Comparison[Configuration, None], ...]:
        """Every configuration, in the order of its axes."""
        return self.parts[0].comparisons

    @property
    def varied(self) -> dict[str, Array]:
        """Axes that have several values, each with all of them, ascending."""
        names = self.cases[0].case.columns
        values = {name: np.unique([x.case.columns[name] for x in self.cases]) for name in names}
        return {name: x for name, x in values.items() if len(x) > 1}

    def column(self, name: str) -> Array:
        """A column of the rows, (configurations,); NaN where it has none."""
        return np.array([x.row[name] for x in self.cases], dtype=np.float64)

    def groups(self) -> dict[Axes, list[Comparison[Configuration, None]]]:
        """Configurations by the values of all axes but p."""
        groups: dict[Axes, list[Comparison[Configuration, None]]] = {}
        for x in self.cases:
            groups.setdefault(tuple(y for y in x.case.axes if y[0] != "p"), []).append(x)
        return groups

    def speedups(self) -> list[ComparedSpeedup]:
        """Speedups of all configurations with fewer processors at the same other axes."""
        found = []
        for cases in self.groups().values():
            base = min(cases, key=lambda x: x.case.layout)
            for x in cases:
                if x is base or x.measured is None or base.measured is None:
                    continue
                found.append(
                    ComparedSpeedup(
                        case=x.case,
                        base=base.case.layout,
                        measured=base.measured / x.measured,
                        predicted=base.predicted / x.predicted,
                    )
                )
        return found

    def own_law_errors(self) -> tuple[OwnLawError, ...]:
        """What the laws were wrong by, of each kind of platform; of runs that were not fitted."""
        laws = [law for phase in self.program.phase for law in phase.laws_within]
        known = [x for x in quiet(self.cases) if not x.was_fitted]
        if not known:
            return ()
        points = {name: np.array([x.case.columns[name] for x in known]) for name in self._names}
        points.setdefault("d", np.asarray(self.machine.servers(points)))
        kinds = np.broadcast_to(platform_of(self.machine, points), len(known))
        found: list[OwnLawError] = []
        for kind in np.unique(kinds).astype(int).tolist():
            here = [x for x, own in zip(known, kinds, strict=True) if own == kind]
            errors = [error for x in here if (error := x.error()) is not None]
            axes = {name: [x.case.columns[name] for x in here] for name in self._names}
            found += validated_law_error(laws, KINDS[kind], errors, axes)
        return tuple(found)

    @property
    def _names(self) -> list[str]:
        return [*self.cases[0].case.columns]

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        described = {"machine": self.machine.name, "are_speedups": self.are_speedups}
        call = {} if self.call is None else {"call": self.call.to_document()}
        return self._told | described | call

    def _as_saved(self, document: Mapping[str, Any]) -> Self:  # noqa: ARG002 - as of all results
        """Give it as it is, for it is computed again."""
        return self
