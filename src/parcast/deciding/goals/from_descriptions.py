"""Configurations of a program that is described: times are predicted, on every machine.

Times are computed at every count. Their intervals and the time on one processor, which go smoothly
along p, are computed at some two hundred counts and interpolated between them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.deciding.goals.configurations import ConfigurationTable, joined_tables
from parcast.deciding.goals.from_runs import PlanAsked, counts_for, table_of
from parcast.deciding.goals.nodes import node_size
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import Argument, ParameterError
from parcast.laws.allowances import LawError
from parcast.prediction.grid import require_times
from parcast.prediction.predict import predict

MOST_KNOTS: Final = 160  # counts at which intervals are computed; fewer where disks vary ...
FEWEST_KNOTS: Final = 24  # ... but not below
MOST_POINTS: Final = 2_000_000  # times of a simple law: a second


def configurations_of_program(
    program: Program,
    machine: Machine,
    asked: PlanAsked,
    *,
    n: float | None,
    disks: Sequence[int],
    law_error: bool,
    seed: int,
) -> tuple[ConfigurationTable, tuple[LawError, ...]]:
    """Predict a program on a machine at the counts to choose from, with each number of disks.

    The errors of its laws are those for which intervals allow.
    """
    if asked.p is None and machine.processors is None and asked.upto is None:
        raise ParameterError(
            "p",
            must="be given for a described program on a machine without processors",
            hint=("Give for example ", Argument("p", [1, 2, 4, 8]), "."),
        )
    if asked.goals.memory is not None:
        raise ParameterError(
            "memory",
            must="be combined with runs",
            got="a program",
            hint="Descriptions say nothing of the memory of a node. Leave it out.",
        )
    if asked.p_is == "nodes":
        raise ParameterError(
            "p_is",
            must="be cores for a described program",
            got="nodes",
            hint="p is the number of processors in its law. Leave it out.",
        )
    size = node_size(asked.p_is, asked.cores_per_node, machine)
    most = float(machine.processors or np.inf)
    p = counts_for(asked, size, 1.0, most, most)
    if len(p) * max(len(disks), 1) * program.dearness > MOST_POINTS:
        raise ParameterError(
            "p",
            must=f"be at most {MOST_POINTS // program.dearness // max(len(disks), 1):,} counts",
            got=f"{len(p):,}",
            hint="Use larger steps.",
        )
    every = disks or None  # those of the machine
    known = PredictedTimes.of(program, machine, p, every, n=n, law_error=law_error, seed=seed)
    tables = []
    for i, d in enumerate(disks or [None]):
        own_disks = machine.servers({"p": p}) if d is None else float(d)
        times = known.at(i, p, point_of({"n": n}) | {"d": own_disks})
        own = np.full(len(p), np.nan if d is None else float(d))
        facts = {"known": np.zeros(len(p), dtype=bool), "is_told": np.ones(len(p), dtype=bool)}
        tables.append(table_of(machine, size, asked, p, times, base=1.0, disks=own, **facts))
    return joined_tables(tables), known.errors


def point_of(at: Mapping[str, float | None]) -> dict[str, Any]:
    """Give the values of axes that there are."""
    return {name: value for name, value in at.items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PredictedTimes:
    """A prediction at some counts, with each of some numbers of disks: (counts, disks)."""

    program: Program
    machine: Machine
    knots: Array  # (counts,) [1]
    time: Array  # [s]
    lower: Array  # of the 90% interval [s]
    upper: Array  # of the 90% interval [s]
    efficiency: Array  # [1]
    errors: tuple[LawError, ...]  # of the laws

    @classmethod
    def of(
        cls, program: Program, machine: Machine, p: Array, disks: Sequence[int] | None, **how: Any
    ) -> "PredictedTimes":
        """Predict it at the counts `p`, or at some of them where there are many."""
        most = max(MOST_KNOTS // len(disks or [1]), FEWEST_KNOTS)
        some = np.unique(np.geomspace(p[0], p[-1], most).round())
        knots = p if len(p) <= most else p[np.unique(np.searchsorted(p, some))]
        told = predict(program, machine, p=knots, d=disks, bounds=False, **how)
        ends = (told.time if x is None else x for x in (told.lower, told.upper))
        columns = [np.reshape(x, (len(knots), -1)) for x in (told.time, *ends, told.efficiency)]
        names = ("time", "lower", "upper", "efficiency")
        given = dict(zip(names, columns, strict=True))
        return cls(program=program, machine=machine, knots=knots, errors=told.law_errors, **given)

    def at(self, i: int, p: Array, point: Mapping[str, Any]) -> tuple[Array, Array, Array, Array]:
        """Times, their intervals and efficiencies with one number of disks, (points,) each."""
        middle, lower, upper, efficiency = (
            x[:, i] for x in (self.time, self.lower, self.upper, self.efficiency)
        )
        if len(self.knots) == len(p):
            return middle, lower, upper, efficiency
        times = self.program.times(self.machine, {**point, "p": p}).time
        time = np.broadcast_to(times, p.shape)
        require_times(time, {"p": p})
        ratios = (lower / middle, upper / middle, efficiency * middle * self.knots)
        below, above, alone = (
            np.exp(np.interp(np.log(p), np.log(self.knots), np.log(ratio))) for ratio in ratios
        )
        return time, time * below, time * above, alone / (time * p)
