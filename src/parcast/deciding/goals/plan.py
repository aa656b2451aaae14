"""How many nodes to ask for, for how long and at which cost, so that goals are met.

What is recommended is the configuration of the least cost that ends in the longest time allowed;
without such a time the one of the least time, or one that costs less and takes up to 5 % longer.
Of both only those are considered that meet all goals together with the certainty asked for, and at
which there is a forecast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from numpy.typing import ArrayLike

from parcast.deciding.goals.configurations import Weighed, joined_tables
from parcast.deciding.goals.from_runs import PlanAsked, cost_unit
from parcast.deciding.goals.goals import goals_of
from parcast.deciding.goals.needed import reachable
from parcast.deciding.goals.nodes import PKind, node_size, what_p_counts
from parcast.deciding.goals.result import ResourcePlan
from parcast.deciding.goals.subjects import DescribedProgram, TimedProgram
from parcast.deciding.goals.usable_counts import rule_of
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machines
from parcast.errors import (
    Argument,
    FitFailed,
    ParameterError,
    as_number,
    as_whole,
)
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.forecasting.series.question import counts_of
from parcast.matching.question import (
    donors_beside,
    machines_of,
    on_named_machines,
    program_or_runs,
    ranked_ones,
    reading_for,
)
from parcast.saved.call import Call
from parcast.show.warning import Rank, RankedWarning, is_remark, verdicts
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import percent
from parcast.words import listed, whole

POOR: Final = 0.3  # efficiency below which it is said that most of the cost is idle [D]


def plan(
    what: ProgramLike | MeasurementsLike,
    machines: MachineLike | Sequence[MachineLike] = (),
    *,
    within: float | str | None = None,
    efficiency: float | str | None = None,
    budget: float | str | None = None,
    memory: float | str | None = None,
    certainty: float | str | None = None,
    counts: str | None = None,
    p: ArrayLike | None = None,
    upto: int | None = None,
    d: ArrayLike | None = None,
    n: float | None = None,
    cores_per_node: int | None = None,
    p_is: PKind | None = None,
    prices: Mapping[str, float | str] | None = None,
    donors: MeasurementsLike | Sequence[MeasurementsLike] | None = None,
    scaling: Scaling = "auto",
    beyond: bool = False,
    law_error: bool = True,
    seed: int = 0,
) -> ResourcePlan:
    """Choose how many nodes to ask for, so that a run meets goals of time, cost and memory.

    Parameters
    ----------
    what : Program, Measurements, table or path
        Measured times of a program, or its description, as for `parcast.match`.
    machines : Machine or path, or a sequence of them, optional
        Machines to choose from. Required for a program. For measured times they give prices and
        `processors`, the most that there are; those without runs are projected, as in
        `parcast.match`.
    within : float or str, optional
        Longest time: a number, or text such as "2 h". [s]
    efficiency : float in (0, 1] or str, optional
        Least efficiency. By default 0.5, if `within` is not given. [1]
    budget : float or str, optional
        Highest cost: "5000 core-h", "200 node-h" or "500 EUR". Without a unit it is money where
        all machines have a price, else core-hours, or node-hours if `p` counts nodes of unknown
        size.
    memory : float or str, optional
        Memory of a node that programs can use, such as "256 GB". The runs need memory, and
        `cores_per_node` must be given. [B]
    certainty : float in [0.5, 1) or str, optional
        Probability with which all goals must be met together. By default 0.9. The wall-time limit
        holds with 0.95, or with this if it is higher. [1]
    counts : str, optional
        Counts that the program can use: "square", "power-of-two", "divides:1280" or "multiple:48".
    p : int or array_like, optional
        Counts to choose from. By default counts 3 % apart, or all that are usable, from the
        smallest measured one to 16 times the largest, or to the processors of the machine; with
        `cores_per_node` those that fill nodes. [1]
    upto : int, optional
        Largest count, where `p` is not given. [1]
    d : int or array_like, optional
        Numbers of disks to choose from, for a program. [1]
    n : float, optional
        Problem size: of a program, or to forecast runs of several sizes at.
    cores_per_node : int, optional
        Cores of a node; nodes that are not filled are charged in full. By default the
        `node.processors` of the machine. [1]
    p_is : {"cores", "nodes"}, optional
        What `p` counts. By default nodes where it is the column `nodes` of a table, else cores.
    prices, donors, scaling, beyond, law_error, seed
        As for `parcast.match`.

    Returns
    -------
    ResourcePlan
        The recommended configuration with its wall-time limit [s] and cost, the front of time and
        cost, and where nothing meets the goals, what comes nearest and what is needed.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, a price or the size of a node is missing, or the
        runs are of more than one program, or no times of runs.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    FitFailed
        If no machine has a forecast.

    Examples
    --------
    >>> import parcast
    >>> runs = {"p": [1, 2, 4, 8, 16], "time": [4000.0, 2050.0, 1080.0, 590.0, 340.0]}
    >>> told = parcast.plan(runs, within="10 min", budget="4 core-h", cores_per_node=4)
    >>> told.recommended.nodes, told.recommended.clock
    (3.0, '00:09:00')
    """
    called = dict(locals())
    goals = goals_of(
        within=within, efficiency=efficiency, budget=budget, memory=memory, certainty=certainty
    )
    seed = as_whole("seed", seed, least=0, hint="Use any such number.")
    if cores_per_node is not None:
        cores_per_node = as_whole("cores_per_node", cores_per_node, least=1, hint="Give 48.")
    if n is not None:
        n = as_number("n", n, hint="Give one problem size.")
    what = on_named_machines(program_or_runs(what), prices or {})
    p_is = what_p_counts(p_is, what)
    sized = isinstance(what, Measurements) and n is not None
    helping, remarks = donors_beside(None if sized else what, donors)  # type: ignore[arg-type]  # of several sizes
    machines = as_machines(machines)
    given, left_out = ranked_ones(what, machines, helping)
    named = machines_of(what, given, prices or {})
    unit = cost_unit(goals, named, p_is, cores_per_node)
    if goals.budget is not None:
        goals = replace(goals, budget=replace(goals.budget, unit=unit))
    asked = PlanAsked(
        goals=goals,
        p=None if p is None else counts_of("p", p),
        upto=None if upto is None else int(counts_of("upto", upto)[0]),
        rule=None if counts is None else rule_of(counts),
        p_is=p_is,
        cores_per_node=cores_per_node,
        unit=unit,
        beyond=beyond,
    )
    of_program: dict[str, Any] = {"law_error": law_error, "seed": seed}
    subject = _subject(what, d, named, n=n, donors=helping, scaling=scaling, **of_program)
    call = Call(
        verb="plan",
        arguments=called | {"what": what, "machines": machines, "donors": helping, "p_is": p_is},
    )
    return replace(_planned(subject, named, asked, remarks, left_out), call=call)


def _subject(
    what: Program | Measurements,
    d: ArrayLike | None,
    machines: Sequence[Machine],
    *,
    n: float | None,
    donors: Measurements | None,
    scaling: Scaling,
    law_error: bool,
    seed: int,
) -> DescribedProgram | TimedProgram:
    """Take a program by what is known of it."""
    if isinstance(what, Measurements):
        if d is not None:
            raise ParameterError("d", must="be combined with a program", got="runs")
        require_times_of_runs("what", what.measure)
        at = {} if n is None else {"n": n}
        return TimedProgram(runs=what, at=at, donors=donors, scaling=scaling, machines=machines)
    reading_for(what, scaling)  # which is of runs
    disks = [] if d is None else [int(x) for x in counts_of("d", d).tolist()]
    return DescribedProgram(program=what, n=n, disks=disks, law_error=law_error, seed=seed)


def _planned(
    subject: DescribedProgram | TimedProgram,
    machines: Sequence[Machine],
    asked: PlanAsked,
    remarks: Sequence[str],
    left_out: Mapping[str, str],
) -> ResourcePlan:
    """Choose among the configurations on all machines."""
    tables, told_by, why_not = [], {}, dict(left_out)
    for machine in machines:
        try:
            tables.append(subject.table(machine, asked))
            told_by[machine.name] = machine
        except FitFailed as refusal:
            why_not[machine.name] = refusal.reason
    if not tables:
        whys = [f"{x}: {why}" if len(why_not) > 1 else why for x, why in why_not.items()]
        raise FitFailed(" ".join(whys), outcome="No plan.")
    weighed = Weighed(table=joined_tables(tables), goals=asked.goals)
    return _answered(subject, weighed, asked, told_by, [*remarks, *_omitted(why_not)])


def _omitted(left_out: Mapping[str, str]) -> Iterator[str]:
    """Say which machines are not considered."""
    for name, why in left_out.items():
        yield RankedWarning(f"{name} is not considered. {why}", rank=Rank.SERIOUS)


def _answered(
    subject: DescribedProgram | TimedProgram,
    weighed: Weighed,
    asked: PlanAsked,
    machines: Mapping[str, Machine],
    remarks: Sequence[str],
) -> ResourcePlan:
    """Choose among configurations, and say what is to be said of the choice."""
    if not weighed.table.is_told.any():
        raise FitFailed(
            "There is no forecast at any of these counts. Give smaller ones, or allow them with "
            "beyond.",
            outcome="No plan.",
        )
    best, near = weighed.best(), weighed.nearest()
    at = near if best is None else best
    table = weighed.table
    machine = machines[table.machines[table.of[at]]]
    warnings = [*subject.warnings_at(machine, float(table.p[at])), *remarks]
    warnings += _warnings(weighed, best, asked)
    fewer, now = weighed.thinned(best, near)
    return ResourcePlan(
        weighed=fewer,
        node_size=node_size(asked.p_is, asked.cores_per_node, machine),
        place=None if best is None else now[best],
        near=now[near],
        considered=len(table),
        reachable=() if best is not None else tuple(reachable(weighed)),
        needed=() if best is not None else tuple(subject.needed(list(machines.values()), weighed)),
        needed_of_runs=() if best is not None else tuple(subject.faster(weighed)),
        next_run=subject.next_run(machine, float(table.p[at])),
        warnings=tuple(dict.fromkeys([*verdicts(warnings), *filter(is_remark, warnings)])),
        law=subject.law,
        sources=subject.sources,
        counts="" if asked.rule is None else asked.rule.text,
    )


def _warnings(weighed: Weighed, best: int | None, asked: PlanAsked) -> Iterator[str]:
    """Give what a reader of the recommendation must know."""
    table = weighed.table
    if best is not None and table.efficiency[best] < POOR:
        yield RankedWarning(
            f"The efficiency is {percent(float(table.efficiency[best]))}: most of the cost is "
            "spent on idle processors. Allow a longer time, or ask for an efficiency.",
            rank=Rank.SERIOUS,
        )
    if asked.rule is not None and asked.p is not None:
        unusable = asked.p[~asked.rule.holds(asked.p)]
        if unusable.size:
            named = listed([f"{whole(x)}" for x in unusable.tolist()])
            yield f"p = {named}: not considered, as usable counts are {asked.rule.text}."
    hidden = ~table.is_told
    if hidden.any():
        counts = table.p[hidden]
        is_beyond = counts.min() > table.p[~hidden].max()
        where = f", from p = {whole(float(counts.min()))} on" if is_beyond else ""
        yield (
            f"There is no forecast at {hidden.sum():,} of {len(table):,} counts{where}: they are "
            f"not considered. Allow them: {Argument('beyond', True)}."
        )
    is_end = best is not None and table.p[best] == table.p[table.is_told].max()
    if is_end and weighed.goals.within is None and asked.p is None and len(table) > 1:
        yield (
            f"p = {whole(float(table.p[best]))} is the largest count that was considered: more "
            "may be faster."
        )
