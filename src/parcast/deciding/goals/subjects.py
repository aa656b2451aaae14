"""What plans are made of: a program that was run, and one that is described.

Both give configurations on a machine, warnings on them, and what would be needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.deciding.goals.configurations import ConfigurationTable, Weighed
from parcast.deciding.goals.from_descriptions import configurations_of_program, point_of
from parcast.deciding.goals.from_runs import (
    PlanAsked,
    configurations_of_runs,
    counts_for,
    table_of,
)
from parcast.deciding.goals.needed import Needed, needed_of_program, needed_of_runs
from parcast.deciding.goals.nodes import node_size
from parcast.deciding.goals.projected import ProjectedTimes, projected_times
from parcast.deciding.goals.question import reading_for
from parcast.deciding.goals.sawtooth import uneven_counts
from parcast.deciding.goals.usable_counts import CountRule
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import FitFailed, ParameterError, ParcastError
from parcast.forecasting.donors.gather import donors_of, machines_in
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import REACH_OF_KNEE
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.forecasting.next_runs.result import PlannedRun
from parcast.forecasting.own_runs.scaling import (
    Scaling,
    ScalingReading,
    reading_of,
    size_of_runs,
)
from parcast.forecasting.result import Forecast
from parcast.laws.allowances import LawError
from parcast.prediction.predict import predict
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measurements import Measurements
from parcast.words import listed, whole

MOST_COUNTS: Final = 64  # at which a next run may be, the largest
FEWEST: Final = 3  # usable counts from which runs at others are left out [D]


def usable_runs(runs: Measurements, rule: CountRule | None) -> Measurements:
    """Leave out runs at counts that are not usable: their times say nothing of those that are."""
    if rule is None:
        return runs
    counts = np.unique(runs.p[rule.holds(runs.p)])
    return runs.select(p=counts) if len(counts) >= FEWEST else runs


@dataclass(kw_only=True, slots=True, eq=False)
class TimedProgram:
    """A program that was run."""

    runs: Measurements  # with a column machine
    at: Mapping[str, float]  # values of axes to forecast at; {}: those of the runs
    donors: Measurements | None
    scaling: Scaling
    rule: CountRule | None = None  # which counts are usable
    machines: Sequence[Machine] = ()  # also those without runs, which are projected
    told: dict[str, Forecast] = field(default_factory=dict)  # by machine
    bases: dict[str, str] = field(default_factory=dict)  # of machines that are projected
    errors: Mapping[str, tuple[LawError, ...]] = field(default_factory=dict)  # which is of laws

    def __post_init__(self) -> None:
        """Refuse a value of what is no axis of the runs."""
        for name in self.at:
            if name not in self.runs.axes:
                raise ParameterError(
                    name,
                    must=f"be combined with runs that have a column {name}",
                    hint="Leave it out, or name the column.",
                )

    def _runs_on(self, machine: Machine) -> tuple[Measurements, dict[str, Any]]:
        """Runs on a machine, and how forecasts are made from them."""
        here = usable_runs(self.runs.select(machine=machine.name), self.rule)
        if self.at:
            return here, {**self.at}
        return here, {"donors": donors_of(machine.name, self.runs, self.donors), "by": ()}

    @property
    def reading(self) -> ScalingReading:
        """How the runs on all machines are read."""
        if self.at:
            return reading_of(self.scaling, "fixed", measure=self.runs.measure)
        return reading_for(self.runs, self.scaling)

    def table(self, machine: Machine, asked: PlanAsked) -> ConfigurationTable:
        """Forecast it on a machine."""
        self.rule = asked.rule
        if machine.name not in machines_in(self.runs):
            return self._projected(machine, asked)
        here, given = self._runs_on(machine)
        table, told = configurations_of_runs(
            here, machine, asked, reading=self.reading, at=self.at, **given
        )
        self.told[machine.name] = told
        return table

    def _projected(self, machine: Machine, asked: PlanAsked) -> ConfigurationTable:
        """Project it onto a machine without runs."""
        if self.at or asked.goals.memory is not None:
            what = "memory" if asked.goals.memory is not None else ", ".join(self.at)
            raise FitFailed(f"It has no runs, and {what} cannot be projected. Measure it there.")
        size = node_size(asked.p_is, asked.cores_per_node, machine)
        first, last = float(self.runs.p.min()), float(self.runs.p.max())
        most = size.most(machine)
        p = counts_for(asked, size, first, REACH_OF_KNEE * last, most)
        told = self._projected_at(machine, p)
        self.bases[machine.name] = told.base
        facts = {"known": np.zeros(len(p), dtype=bool), "is_told": np.ones(len(p), dtype=bool)}
        base = float(self.runs.select(machine=told.base).p.min())
        return table_of(machine, size, asked, p, told[:4], base=base, **facts)

    def _projected_at(self, machine: Machine, p: Array) -> ProjectedTimes:
        """Project its runs onto a machine at some counts."""
        known = [x for x in self.machines if x.name in machines_in(self.runs)]
        return projected_times(self.runs, machine, known, p, reading=self.reading)

    def doubts(self, machine: Machine, p: float) -> Iterable[str]:
        """Warnings on the time at one count."""
        if machine.name in self.bases:
            yield f"The time on {machine.name} is projected from {self.bases[machine.name]}."
            yield from self._projected_at(machine, np.array([p])).warnings
            return
        here, given = self._runs_on(machine)
        yield from forecast(here, [p], scaling=self.scaling, **given).warnings

    def remarks(self, machine: Machine) -> Iterable[str]:
        """Warnings on the runs on a machine."""
        if machine.name in self.bases or self.at:
            return
        here, _ = self._runs_on(machine)
        if self.rule is None and (text := uneven_counts(here.series())):
            yield text
        left_out = np.setdiff1d(self.runs.select(machine=machine.name).p, here.p)
        if self.rule is not None and left_out.size:
            counts = listed([f"{whole(x)}" for x in left_out.tolist()])
            yield f"Runs at p = {counts} are left out: usable counts are {self.rule.text}."
        if size_of_runs(self.runs, ["machine"]) == "grows" and self.scaling != "strong":
            yield RankedWarning(
                "The problem size n grows with p: larger counts solve larger problems, and their "
                "times and costs are of these.",
                rank=Rank.SERIOUS,
            )

    def needed(
        self,
        machines: Sequence[Machine],  # noqa: ARG002 - of both kinds of programs
        weighed: Weighed,  # noqa: ARG002 - of both kinds of programs
    ) -> list[Needed]:
        """No parameter is known of runs."""
        return []

    def faster(self, weighed: Weighed) -> Iterable[str]:
        """Say how much faster the program has to become."""
        return needed_of_runs(weighed)

    def next_run(self, machine: Machine, p: float) -> PlannedRun | None:
        """Find the run that narrows the interval there most for its cost."""
        if machine.name in self.bases:
            return None
        here, given = self._runs_on(machine)
        if self.rule is not None:
            given["counts"] = self.rule.between(1.0, p)[-MOST_COUNTS:]
        try:
            runs = plan_runs(here, [int(p)], runs=1, upto=int(p), **given)
        except ParcastError:
            return None  # nothing to narrow, or too few runs
        return runs[0] if runs else None

    @property
    def law(self) -> str:
        """What the times are based on."""
        forecast_by = [x.law for x in self.told.values()][:1]
        onto = [f"projection of {name} from {base}" for name, base in self.bases.items()]
        return "; ".join([*forecast_by, *onto])

    @property
    def sources(self) -> tuple[str, ...]:
        """Sources of these."""
        return next((x.sources for x in self.told.values()), ())


@dataclass(kw_only=True, slots=True, eq=False)
class DescribedProgram:
    """A program that is described."""

    program: Program
    n: float | None
    disks: Sequence[int]  # to choose from; none: those of the machine
    law_error: bool
    seed: int
    errors: dict[str, tuple[LawError, ...]] = field(default_factory=dict)  # allowed, by machine
    reading: None = None  # which is of runs

    def table(self, machine: Machine, asked: PlanAsked) -> ConfigurationTable:
        """Predict it on a machine."""
        table, self.errors[machine.name] = configurations_of_program(
            self.program,
            machine,
            asked,
            n=self.n,
            disks=self.disks,
            law_error=self.law_error,
            seed=self.seed,
        )
        return table

    def doubts(self, machine: Machine, p: float) -> Iterable[str]:
        """Warnings on the time at one count."""
        given: Mapping[str, Any] = {"bounds": False, "law_error": self.law_error, "n": self.n}
        d = self.disks[0] if self.disks else None
        return predict(self.program, machine, p=int(p), d=d, **given).warnings

    def remarks(self, machine: Machine) -> Iterable[str]:  # noqa: ARG002 - of both kinds
        """No run has to be doubted."""
        return ()

    def needed(self, machines: Sequence[Machine], weighed: Weighed) -> list[Needed]:
        """Find the least change of each parameter."""
        at = point_of({"n": self.n})
        return needed_of_program(self.program, machines, weighed, at, law_error=self.law_error)

    def faster(self, weighed: Weighed) -> Iterable[str]:  # noqa: ARG002 - of both kinds
        """Parameters say it."""
        return ()

    def next_run(self, machine: Machine, p: float) -> PlannedRun | None:  # noqa: ARG002 - of both kinds
        """No run is known of descriptions."""
        return None

    @property
    def law(self) -> str:
        """Name of the law."""
        return self.program.law

    @property
    def sources(self) -> tuple[str, ...]:
        """Where it comes from."""
        return self.program.sources_of_law
