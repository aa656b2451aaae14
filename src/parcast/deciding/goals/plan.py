"""How many nodes to ask for, for how long and at which cost, so that goals are met.

What is recommended is the configuration of the least cost that ends in the longest time allowed;
without such a time the one of the least time, or one that costs less and takes up to 5% longer.
Of both only those are considered that meet all goals together with the certainty asked for, and at
which there is a forecast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from numpy.typing import ArrayLike

from parcast.deciding.goals.configurations import Weighed, joined_tables
from parcast.deciding.goals.from_runs import PlanAsked
from parcast.deciding.goals.needed import reachable
from parcast.deciding.goals.nodes import PKind, node_size
from parcast.deciding.goals.posed import PosedQuestion, posed
from parcast.deciding.goals.question import unrepeated
from parcast.deciding.goals.result import ResourcePlan
from parcast.descriptions.toml_files import MachineLike, ProgramLike
from parcast.errors import (
    FitFailed,
)
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.show.warning import Rank, RankedWarning, is_remark, verdicts
from parcast.timings.measurements import MeasurementsLike
from parcast.units import percent
from parcast.words import listed, whole

POOR: Final = 0.3  # efficiency below which it is said that most of the cost is idle [D]
HARDLY: Final = 0.01  # probability of meeting the goals below which a run more decides nothing [D]


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
        Least efficiency of the cores that are used. By default, if `within` is not given, 0.5 of
        the cores that are charged, over the best use of the fewest nodes. [1]
    budget : float or str, optional
        Highest cost: "5000 core-h", "200 node-h" or "500 EUR". Without a unit it is money where
        all machines have a price, else core-hours, or node-hours if `p` counts nodes of unknown
        size.
    memory : float or str, optional
        Memory of a node that programs can use, such as "256 GB". The runs need memory, and
        `cores_per_node` must be given. [B]
    certainty : float in [0.5, 1) or str, optional
        Probability with which all goals must be met together, or "90%". By default 0.9. The
        wall-time limit holds with 0.95, or with this if it is higher. [1]
    counts : str, optional
        Counts that the program can use: "square", "power-of-two", "divides:1280" or "multiple:48".
    p : int or array_like, optional
        Counts to choose from. By default counts 3% apart, or all that are usable, from the
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
    question = posed("plan", dict(locals()))
    tables, why_not, notes = question.tables()
    if not tables:
        whys = [f"{x}: {why}" if len(why_not) > 1 else why for x, why in why_not.items()]
        raise FitFailed(" ".join(whys), outcome="No plan.")
    weighed = Weighed(table=joined_tables([*tables.values()]), goals=question.asked.goals)
    return _answered(question, weighed, [*notes, *_omitted(why_not)])


def _omitted(left_out: Mapping[str, str]) -> Iterator[str]:
    """Say which machines are not considered."""
    for name, why in left_out.items():
        yield RankedWarning(f"{name} is not considered. {why}", rank=Rank.SERIOUS)


def _answered(question: PosedQuestion, weighed: Weighed, notes: Sequence[str]) -> ResourcePlan:
    """Choose among configurations, and say what is to be said of the choice."""
    subject, asked = question.subject, question.asked
    machines = {x.name: x for x in question.machines if x.name in weighed.table.machines}
    best, near = weighed.best(), weighed.nearest()
    at = near if best is None else best
    table = weighed.table
    machine = machines[table.machines[table.of[at]]]
    is_open = best is not None or float(weighed.sure.max()) >= HARDLY  # else no run changes it
    warnings = [*subject.doubts(machine, float(table.p[at])), *subject.remarks(machine), *notes]
    warnings += [*unrepeated(question.what, "the answer"), *_warnings(weighed, best, asked)]
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
        next_run=subject.next_run(machine, float(table.p[at])) if is_open else None,
        warnings=tuple(dict.fromkeys([*verdicts(warnings), *filter(is_remark, warnings)])),
        law=subject.law,
        sources=subject.sources,
        counts="" if asked.rule is None else asked.rule.text,
        call=question.call,
    )


def _warnings(weighed: Weighed, best: int | None, asked: PlanAsked) -> Iterator[str]:
    """Give what a reader of the recommendation must know."""
    table = weighed.table
    is_timed = weighed.goals.within is not None  # then it is the cheapest already
    remedy = "Allow a longer time." if is_timed else "Ask for a higher efficiency."
    if best is not None and weighed.efficiency[best] < POOR:
        yield RankedWarning(
            f"The efficiency is {percent(float(weighed.efficiency[best]))}: most of the cost is "
            f"spent on idle processors. {remedy}",
            rank=Rank.SERIOUS,
        )
    if asked.rule is not None and asked.p is not None:
        unusable = asked.p[~asked.rule.holds(asked.p)]
        if unusable.size:
            named = listed([f"{whole(x)}" for x in unusable.tolist()])
            yield f"p = {named}: not considered, as usable counts are {asked.rule.text}."
    is_end = best is not None and table.p[best] == table.p[table.is_told].max()
    if is_end and weighed.goals.within is None and asked.p is None and len(table) > 1:
        yield (
            f"p = {whole(float(table.p[best]))} is the largest count that was considered: more "
            "may be faster."
        )
