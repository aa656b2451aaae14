"""Result of `match`: machines ranked by a goal, each at its best processor count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.goals.goals import Goals
from parcast.forecasting.own_runs.scaling import ScalingReading
from parcast.forecasting.request import Request
from parcast.laws.allowances import LawError
from parcast.saved.call import Call
from parcast.show.outline import document_of
from parcast.show.result import Result
from parcast.timings.measure import TIME, Measure


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Candidate:
    """One machine at every processor count considered; arrays of one dimension."""

    _outline = """
        machine p# time_s lower_s upper_s cost cost_lower cost_upper efficiency
        probability_holds=holds measured
    """
    _chosen: ClassVar[str] = "fits probability_best=best *request"  # of the chosen count as well

    machine: str  # its name
    p: Array  # processors, ascending [1]
    time: Array  # time of a run [s]
    lower: Array  # lower end of its 90% interval [s]
    upper: Array  # upper end of its 90% interval [s]
    cost: Array | None  # price of a run; None without a price [currency]
    cost_lower: Array | None  # lower end of the interval of the cost [currency]
    cost_upper: Array | None  # upper end of the interval of the cost [currency]
    efficiency: Array  # speedup over the ideal speedup [1]
    holds: Array  # probability that all constraints hold; 1 where there are none [1]
    chosen: int  # place of the best count; of the nearest one where none fits
    measured: NDArray[np.bool_]  # whether the program was run there
    fits: bool  # whether the constraints hold there as asked
    best: float | None  # probability that it is the best of all that fit; None where it does not
    request: Request | None = None  # what a run there needs; None where times are not of runs

    @property
    def best_p(self) -> int:
        """The count of processors that was chosen [1]."""
        return int(self.p[self.chosen])

    def row(self, i: int) -> dict[str, Any]:
        """Facts of one count, with the keys of the JSON document."""
        return document_of(self, at=i)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Match(Result):
    """Machines ranked for a program and a goal."""

    _schema = "parcast/match/1"
    _axes = "machine p"
    _outline = """
        ranking rows interval goal within_s efficiency=goals.efficiency budget
        node_memory_B=goals.memory certainty currency left_out=_without_answer verdict warnings
        scaling=reading.name scaling_reason=reading.reason measured?=measure.rated program law
        law_error=law_errors sources inputs call?
    """
    _picture = "parcast.deciding.machines.picture:figure_of_match"

    candidates: tuple[Candidate, ...]  # the best first; those that do not fit last
    goal: str  # `time`, `cost` or `efficiency`
    goals: Goals  # the limits, and how surely they have to be met
    currency: str  # of costs: its name, `core-hours` or `node-hours`; empty without one
    left_out: Mapping[str, str]  # machines that are not ranked, and why
    verdict: tuple[str, ...]  # what fails and what would fit, where nothing fits
    warnings: tuple[str, ...]
    program: str
    law: str
    sources: tuple[str, ...]
    interval: float = 0.9
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    # `least` and `most` that are allowed for each law and kind of platform [1]
    law_errors: tuple[LawError, ...] = ()
    call: Call | None = None  # what made it, with the runs or descriptions: for `parcast.load`
    # how runs were read: strong or weak scaling; None of a program
    reading: ScalingReading | None = None
    measure: Measure = TIME  # what the times are: wall times, or those that a rate gives

    @property
    def best(self) -> Candidate | None:
        """The recommended machine, at its best processor count; None if none fits."""
        first = self.candidates[0]
        return first if first.fits else None

    @property
    def _without_answer(self) -> list[dict[str, str]]:
        """Machines without an answer: `machine` and `why`."""
        return [{"machine": name, "why": why} for name, why in self.left_out.items()]

    @property
    def within(self) -> float | None:
        """Limit of the time [s]."""
        return self.goals.within

    @property
    def budget(self) -> float | None:
        """Limit of the cost [currency]."""
        return None if self.goals.budget is None else self.goals.budget.amount

    @property
    def certainty(self) -> float | None:
        """Required probability of meeting all limits; None without any [1]."""
        return self.goals.certainty if self.goals else None

    def ranking(self) -> Iterator[dict[str, Any]]:
        """One row for each machine, at the chosen processor count."""
        for rank, candidate in enumerate(self.candidates, start=1):
            yield {
                "rank": rank,
                **candidate.row(candidate.chosen),
                **document_of(candidate, candidate._chosen),
            }

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each machine and processor count; `chosen` marks those of the ranking."""
        for ranked, candidate in zip(self.ranking(), self.candidates, strict=True):
            for i in range(len(candidate.p)):
                chosen = i == candidate.chosen
                yield {
                    "rank": ranked["rank"],
                    **candidate.row(i),
                    "chosen": chosen,
                    "fits": candidate.fits if chosen else None,
                    "probability_best": candidate.best if chosen else None,
                }

    def __repr__(self) -> str:
        """Goal and machines in one line."""
        names = ", ".join(f"{x.machine} p={x.best_p}" for x in self.candidates[:4])
        return f"Match({self.goal}: {names}{', ...' if len(self.candidates) > 4 else ''})"
