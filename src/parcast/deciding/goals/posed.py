"""A question of `plan` or `match`, checked, and the configurations that it chooses among."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parcast.deciding.goals.configurations import ConfigurationTable
from parcast.deciding.goals.from_runs import PlanAsked, cost_unit
from parcast.deciding.goals.goals import goals_of
from parcast.deciding.goals.nodes import node_size, what_p_counts
from parcast.deciding.goals.question import (
    donors_beside,
    in_one_currency,
    machines_of,
    on_named_machines,
    program_or_runs,
    ranked_ones,
    reading_for,
)
from parcast.deciding.goals.subjects import DescribedProgram, TimedProgram
from parcast.deciding.goals.usable_counts import rule_of
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import as_machines
from parcast.errors import Argument, FitFailed, ParameterError, as_number, as_whole
from parcast.forecasting.series.question import counts_of
from parcast.forecasting.series.verdict import run_to_make
from parcast.saved.call import Call
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements
from parcast.units import format_quantity
from parcast.words import listed, whole

LIMITS = ("within", "efficiency", "budget", "memory", "certainty")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PosedQuestion:
    """What is asked, and of which program and machines."""

    what: Program | Measurements
    machines: Sequence[Machine]  # with their prices
    subject: DescribedProgram | TimedProgram
    asked: PlanAsked
    remarks: tuple[str, ...]
    not_asked: Mapping[str, str]  # machines that are donors, and why they are left out
    seed: int  # of samples
    call: Call

    def tables(self) -> tuple[dict[str, ConfigurationTable], dict[str, str], list[str]]:
        """Configurations on each machine; machines without any, and why; what is to be said."""
        tables, left_out, notes = {}, dict(self.not_asked), list(self.remarks)
        for machine in self.machines:
            try:
                table = self.subject.table(machine, self.asked)
            except FitFailed as refusal:
                left_out[machine.name] = refusal.reason
                continue
            hidden = without_forecast(table)
            if not table.is_told.any():
                left_out[machine.name] = hidden
                continue
            tables[machine.name] = table
            of = f"{machine.name}: " if len(self.machines) > 1 else ""
            if hidden:
                last = whole(float(table.p[table.is_told].max()))
                text = f"{of}{hidden} The last useful count is p = {last}."
                notes.append(RankedWarning(text, kind="no forecast there", rank=Rank.SERIOUS))
            notes += self._beyond(machine)
        return tables, left_out, notes

    def _beyond(self, machine: Machine) -> Iterator[str]:
        """Say which of the counts a machine does not have."""
        asked = self.asked
        most = node_size(asked.p_is, asked.cores_per_node, machine).most(machine)
        if asked.p is not None and asked.p.max() > most:
            beyond = listed([f"{whole(x)}" for x in asked.p[asked.p > most].tolist()])
            yield (
                f"{machine.name} has {machine.processors} processors; larger counts are left out: "
                f"p = {beyond}."
            )


def without_forecast(table: ConfigurationTable) -> str:
    """Say at which counts there is no forecast, and what to do; "" where there is none."""
    hidden = ~table.is_told
    if not hidden.any():
        return ""
    missing, known = table.p[hidden], table.p[table.known]
    width = format_quantity(float((table.upper / table.lower)[hidden].max()), "count", 2)
    first, last = (float(known.min()), float(known.max())) if known.size else (1.0, 1.0)
    run = whole(run_to_make(float(missing.max()), first, last))
    return (
        f"There is no forecast at p = {listed([f'{whole(x)}' for x in missing.tolist()])}: "
        f"intervals of up to a factor of {width}. Measure a run at p = {run}, or allow them: "
        f"{Argument('beyond', True)}."
    )


def posed(verb: str, given: Mapping[str, Any], *, is_ranking: bool = False) -> PosedQuestion:
    """Check the arguments of `plan`, or of `match`, which ranks."""
    goals = goals_of(**{name: given[name] for name in LIMITS}, is_ranking=is_ranking)
    seed = as_whole("seed", given["seed"], least=0, hint="Use any such number.")
    n, per_node, prices = given["n"], given["cores_per_node"], given["prices"] or {}
    if per_node is not None:
        per_node = as_whole("cores_per_node", per_node, least=1, hint="Give 48.")
    if n is not None:
        n = as_number("n", n, hint="Give one problem size.")
    upto = given["upto"]
    if upto is not None:
        [upto] = counts_of("upto", as_number("upto", upto, hint="Give one count."))
    what = on_named_machines(program_or_runs(given["what"]), prices)
    p_is = what_p_counts(given["p_is"], what)
    is_sized = isinstance(what, Measurements) and n is not None
    donors, remarks = donors_beside(None if is_sized else what, given["donors"])  # type: ignore[arg-type]  # of several sizes
    machines = as_machines(given["machines"])
    own, not_asked = ranked_ones(what, machines, donors)
    by_time = is_ranking and given["goal"] != "cost" and goals.budget is None
    named, unpriced = in_one_currency(machines_of(what, own, prices), needs_costs=not by_time)
    unit = cost_unit(goals, named, p_is, per_node, is_ranking=is_ranking)
    if goals.budget is not None:
        goals = replace(goals, budget=replace(goals.budget, unit=unit))
    if isinstance(what, Measurements):
        if not is_ranking:
            require_times_of_runs("what", what.measure)
        for name in ("within", "budget"):
            if getattr(goals, name) is not None:
                must = "be combined with times of runs"
                require_times_of_runs(name, what.measure, must=must)
    rule = None if given["counts"] is None else rule_of(given["counts"])
    p = None if given["p"] is None else counts_of("p", given["p"])
    is_free = p is None and rule is None and upto is None
    if is_free and is_ranking and isinstance(what, Measurements):
        p = np.unique(what.p)  # those that were measured
    asked = PlanAsked(
        goals=goals,
        p=p,
        upto=None if upto is None else int(upto),
        rule=rule,
        p_is=p_is,
        cores_per_node=per_node,
        unit=unit,
        beyond=given["beyond"],
    )
    found = {"what": what, "machines": machines, "donors": donors, "p_is": p_is}
    return PosedQuestion(
        what=what,
        machines=named,
        subject=_subject(what, named, donors, {**given, "n": n, "seed": seed}),
        asked=asked,
        seed=seed,
        remarks=(*remarks, *unpriced),
        not_asked=not_asked,
        call=Call(verb=verb, arguments={**given, **found}),
    )


def _subject(
    what: Program | Measurements,
    machines: Sequence[Machine],
    donors: Measurements | None,
    given: Mapping[str, Any],
) -> DescribedProgram | TimedProgram:
    """Take a program by what is known of it."""
    n, d, scaling = given["n"], given["d"], given["scaling"]
    if isinstance(what, Measurements):
        if d is not None:
            raise ParameterError("d", must="be combined with a program", got="runs")
        at = {} if n is None else {"n": n}
        return TimedProgram(runs=what, at=at, donors=donors, scaling=scaling, machines=machines)
    reading_for(what, scaling)  # which is of runs
    disks = [] if d is None else [int(x) for x in counts_of("d", d).tolist()]
    how = {name: given[name] for name in ("law_error", "seed")}
    return DescribedProgram(program=what, n=n, disks=disks, **how)
