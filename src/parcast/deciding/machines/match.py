"""Which machine to use, and how many of its processors: ranked by a goal, under limits.

It is `parcast.plan` seen by its machines. On each machine the processor count is chosen that is
best for the goal among those that meet the limits; the machines are then sorted by the goal. The
certainty of that order is given by the probability that a machine at its chosen count is better
than every other at its own, with everything uncertain sampled together
(`parcast.deciding.machines.drawn`). The result says what the times are based on: measured,
forecast from which runs, projected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.deciding.alternatives import best_first
from parcast.deciding.goals.configurations import HAIR, ConfigurationTable, Weighed, joined_tables
from parcast.deciding.goals.goals import CORE_HOURS, NODE_HOURS, PRICED, Goals
from parcast.deciding.goals.needed import missed, reachable
from parcast.deciding.goals.nodes import PKind
from parcast.deciding.goals.posed import PosedQuestion, posed
from parcast.deciding.goals.question import unrepeated
from parcast.deciding.goals.subjects import DescribedProgram, TimedProgram
from parcast.deciding.machines.drawn import DIGITS, drawn, numbers_of
from parcast.deciding.machines.result import Candidate, Match
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike
from parcast.errors import Argument, FitFailed, ParameterError, require_one_of
from parcast.forecasting.donors.gather import machines_in
from parcast.forecasting.own_runs.members import LAWS
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.laws.allowances import together
from parcast.show.warning import Rank, RankedWarning, is_remark, ranked, verdicts
from parcast.timings.measure import TIME, Measure, require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import percent, shown
from parcast.words import listed, whole

Goal = Literal["time", "cost", "efficiency"]
MOST_WHYS: Final = 3  # machines of which it is said why they are not ranked
WORTH_IT: Final = 0.5  # efficiency below which a count is past the knee, as by `parcast.knee`
CHANCE_DIGITS: Final = 4  # of a probability that limits are met, as many as can be told
SURE: Final = 0.5  # probability of being best below which the order is open


def match(
    what: ProgramLike | MeasurementsLike,
    machines: MachineLike | Sequence[MachineLike] = (),
    *,
    goal: Goal = "time",
    within: float | str | None = None,
    efficiency: float | str | None = None,
    budget: float | str | None = None,
    memory: float | str | None = None,
    certainty: float | str | None = None,
    counts: str | None = None,
    p: ArrayLike | None = None,
    upto: int | None = None,
    d: float | None = None,
    n: float | None = None,
    cores_per_node: int | None = None,
    p_is: PKind | None = None,
    prices: Mapping[str, float | str] | None = None,
    donors: MeasurementsLike | Sequence[MeasurementsLike] | None = None,
    scaling: Scaling = "auto",
    beyond: bool = False,
    law_error: bool = True,
    seed: int = 0,
) -> Match:
    """Rank machines by time, cost or efficiency, each at its best processor count.

    Parameters
    ----------
    what : Program, Measurements, table or path
        A description of the program, or its measured times. Without a column `machine` they are
        of one machine: "here", or the only one in `prices`. A path that ends in .toml is that of
        a description; every other one is that of measured times.
    machines : Machine or path, or a sequence of them, optional
        Machines to rank. Required for a program. For measured times they give prices, `processors`
        and, of a machine without runs, the `compute.rate` by which it is projected; the machines
        of the runs need not be given.
    goal : {"time", "cost", "efficiency"}, default "time"
        What to minimise ("time", "cost") or maximise ("efficiency"). Of a machine the count is
        chosen at which the time kept with the `certainty` is least.
    within, efficiency, budget, memory, certainty, counts, upto, n, cores_per_node, p_is
        Limits, and what counts may be, as for `parcast.plan`; without an `efficiency` none is
        required.
    p : int or array_like, optional
        Processor counts to choose from. By default those of the runs; of a program as for
        `parcast.plan`. [1]
    d : float, optional
        Disks, for a program. [1]
    prices : mapping of str to float or str, optional
        Price of one processor-hour by the name of the machine, instead of that in its description.
    donors : Measurements, table or path, or a list of them, optional
        Runs of the same program on machines that are not to be ranked, with a column `machine`.
        They improve the forecasts as in `parcast.forecast`; projections do not use them.
    scaling : {"auto", "strong", "weak"}, default "auto"
        Whether the work of runs was the same at every `p`, as for `parcast.forecast`.
    beyond : bool, default False
        Whether to consider counts at which there is no forecast, too: where the 90% interval
        spans more than thirtyfold, or the forecast was more than 100% too high when tested.
    law_error : bool, default True
        Whether times of a program may err by what its law has been wrong, as in `parcast.predict`;
        forecasts and projections from runs have intervals of their own.
    seed : int, default 0
        Seed of the samples; the same question has the same answer.

    Returns
    -------
    Match
        Machines that meet all limits first, in the order of the goal; then the others, those that
        miss least first.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, a machine has no price where the cost is needed,
        the runs are of more than one program, or `donors` have no column `machine` or other
        columns.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    FitFailed
        If no machine can be ranked.

    Examples
    --------
    >>> import parcast
    >>> runs = parcast.Measurements(
    ...     p=[1, 2, 4, 1, 2, 4], time=[90, 50, 30, 60, 40, 35], machine=["A"] * 3 + ["B"] * 3
    ... )
    >>> matched = parcast.match(runs, goal="time", prices={"A": 1.0, "B": 2.0})
    >>> [(x.machine, x.best_p) for x in matched.candidates], round(matched.candidates[0].best, 2)
    ([('A', 4), ('B', 4)], 1.0)
    """
    require_one_of("goal", goal, ("time", "cost", "efficiency"), hint="")
    if d is not None and np.size(d) > 1:
        got = f"{np.size(d)} of them"
        raise ParameterError("d", must="be one value here", got=got, hint="Rank once for each.")
    question = posed("match", dict(locals()), is_ranking=True)
    goals, subject, what = question.asked.goals, question.subject, question.what
    measure = what.measure if isinstance(what, Measurements) else TIME
    if goal == "cost" and measure.is_relative:
        require_times_of_runs("goal", measure, must="be combined with times of runs")
    if goal == "cost" and (not _is_in_hours(question) or goals.budget is None):
        _require_prices(question.machines)
    tables, left_out, notes = question.tables()
    if not tables:
        whys = [f"{name}: {why}" for name, why in list(left_out.items())[:MOST_WHYS]]
        raise FitFailed(f"No machine can be ranked. {' '.join(whys)}")
    told = {name: x.take(np.flatnonzero(x.is_told)) for name, x in tables.items()}
    every = [Weighed(table=x, goals=goals) for x in told.values()]
    candidates = _ranked(question, [*tables.values()], every, goal)
    notes += [*unrepeated(what, "the order"), *_warnings(question, candidates, goal)]
    if goal == "efficiency" and isinstance(subject, TimedProgram):
        notes += _different_bases(subject, [*tables])
    unit = question.asked.unit
    return Match(
        candidates=candidates,
        goal=goal,
        goals=goals,
        currency="" if unit == PRICED or not _has_cost(question) else unit,
        left_out=left_out,
        verdict=() if candidates[0].fits else tuple(_verdict(every, goals)),
        warnings=tuple(dict.fromkeys([*verdicts(notes), *filter(is_remark, notes)])),
        program=what.name if isinstance(what, Program) else "",
        law=law_of(subject, told) if isinstance(subject, TimedProgram) else subject.law,
        sources=_sources(subject, told),
        law_errors=together(x for errors in subject.errors.values() for x in errors),
        reading=subject.reading,
        measure=measure,
        call=question.call,
    )


def _sources(
    subject: DescribedProgram | TimedProgram, tables: Mapping[str, ConfigurationTable]
) -> tuple[str, ...]:
    """Name where the law comes from; nowhere, where every time is measured."""
    if isinstance(subject, DescribedProgram):
        return subject.sources
    if all(x.known.all() for x in tables.values()):
        return ()
    return tuple(f"{name}: {law.source}" for name, law in LAWS.items())


def _is_in_hours(question: PosedQuestion) -> bool:
    """Whether costs are hours, which are shown where the budget is in them."""
    return question.asked.unit in (CORE_HOURS, NODE_HOURS)


def _has_cost(question: PosedQuestion) -> bool:
    """Whether costs are shown: in money, or in hours where these are asked for; of times alone."""
    if isinstance(question.what, Measurements) and question.what.measure.is_relative:
        return False
    return not _is_in_hours(question) or question.asked.goals.budget is not None


def _require_prices(machines: Sequence[Machine]) -> None:
    """Refuse machines without a price where the cost matters."""
    free = [machine.name for machine in machines if machine.price.amount is None]
    if free:
        raise ParameterError(
            "price",
            must=f"be given for {', '.join(map(shown, free[:8]))}, because the cost is needed",
            hint=(
                "Add [price] with processor_hour to the file of the machine, or give ",
                Argument(
                    "prices", {shown(free[0]): 0.05}, python=f'prices={{"{shown(free[0])}": 0.05}}'
                ),
                ".",
            ),
        )


def _score(table: ConfigurationTable, goal: Goal, certainty: float | None = None) -> Array:
    """Logarithm of what is to be least at each count; rounding makes no order.

    Where time falls as 1/p all counts cost the same, and the smallest is taken in any unit. With a
    certainty the time is that which is kept with it: a count far beyond the runs has to be faster
    by more than is known of it.
    """
    if goal == "cost":
        value = table.cost
    elif goal == "efficiency":
        value = 1.0 / table.efficiency
    else:
        value = table.time if certainty is None else table.kept(certainty)
    return np.nan_to_num(np.log(value).round(DIGITS))


def _chosen(weighed: Weighed, goal: Goal) -> int:
    """Choose the best count of a machine, or the one that comes nearest to the limits."""
    if not weighed.fits.any():
        return weighed.nearest()
    score = _score(weighed.table, goal, weighed.goals.certainty)
    return int(np.argmin(np.where(weighed.fits, score, np.inf)))


def _ranked(
    question: PosedQuestion,
    tables: Sequence[ConfigurationTable],
    every: Sequence[Weighed],
    goal: Goal,
) -> tuple[Candidate, ...]:
    """Put those that fit first, in the order of the goal, with their chance of being best.

    Where machines are equally good, as efficiencies at p = 1 are, the shorter time comes first,
    then the lower cost.
    """
    chosen = [_chosen(x, goal) for x in every]
    pairs = list(zip(every, chosen, strict=True))
    goals: tuple[Goal, ...] = (goal, "time", "cost")
    score, time, cost = np.array([[_score(x.table, y)[i] for x, i in pairs] for y in goals])
    fits = [bool(x.fits.any()) for x in every]
    excess = [float(x.excess[i]) for x, i in pairs]
    order = best_first(time, cost, score=score, fits=fits, excess=excess).tolist()
    by_name = {x.name: x for x in question.machines}
    machines = [by_name[x.machines[0]] for x in tables]
    numbers = numbers_of(tables, machines)
    good = [i for i in order if fits[i]]
    samples = [
        drawn(question, machines[i], every[i].table, chosen[i], own=numbers[i])[goal] for i in good
    ]
    best = dict(zip(good, _chances(samples, goal), strict=True))
    return tuple(_candidate(question, *pairs[i], best=best.get(i)) for i in order)


def _chances(samples: Sequence[Array], goal: Goal) -> list[float]:
    """Probability of being the best of each, from samples of what they are ranked by."""
    if not samples:
        return []
    table = np.stack(np.broadcast_arrays(*samples), axis=1) * (-1 if goal == "efficiency" else 1)
    least = table.min(axis=1, keepdims=True)
    is_best = table <= least + HAIR * np.abs(least)
    shares = is_best / is_best.sum(axis=1, keepdims=True)  # equals share
    return [float(x) for x in shares.mean(axis=0)]


def _candidate(
    question: PosedQuestion, weighed: Weighed, chosen: int, *, best: float | None
) -> Candidate:
    """Say what comes out on a machine, with costs where it has a price or hours are asked for."""
    table = weighed.table
    lower, upper = table.cost_ends
    has_cost = _has_cost(question) and not np.isnan(table.cost).any()
    measure = question.what.measure if isinstance(question.what, Measurements) else TIME
    return Candidate(
        machine=table.machines[0],
        p=table.p,
        time=table.time,
        lower=table.lower,
        upper=table.upper,
        cost=table.cost if has_cost else None,
        cost_lower=lower if has_cost else None,
        cost_upper=upper if has_cost else None,
        efficiency=table.efficiency,
        holds=weighed.sure.round(CHANCE_DIGITS),
        chosen=chosen,
        measured=table.known,
        fits=bool(weighed.fits.any()),
        best=best,
        request=weighed.request(chosen) if measure.is_of_a_run else None,
    )


def _verdict(every: Sequence[Weighed], goals: Goals) -> Iterator[str]:
    """Say how each machine fails at the count that comes nearest, and what would fit."""
    for x in sorted(every, key=lambda x: float(x.excess[x.nearest()])):
        i = x.nearest()
        at = f"{x.table.machines[0]} at best (p = {whole(float(x.table.p[i]))})"
        yield f"{at} {missed(x, i)}."
    ways = list(reachable(Weighed(table=joined_tables([x.table for x in every]), goals=goals)))
    if ways:
        yield f"Reachable: {'; or '.join(ways)}."


def _warnings(
    question: PosedQuestion, candidates: Sequence[Candidate], goal: Goal
) -> Iterator[str]:
    """Give what a reader of the ranking must know."""
    good = [x for x in candidates if x.fits]
    if len(good) > 1 and max(x.best or 0.0 for x in good) < SURE:
        text = (
            "The order is uncertain: no machine is the best with a probability of 50% or more. "
            "Compare the intervals; further runs on the first machines would narrow them."
        )
        yield RankedWarning(text, rank=Rank.SERIOUS)
    if goal == "time":
        yield from filter(None, map(_past_the_knee, good[:1]))
    what = question.what
    if goal == "time" and len(candidates) > 1 and isinstance(what, Measurements):
        yield from _of_one_run(what.measure)
    if goal != "time" and question.asked.goals.within is None:
        leading = "cheapest" if goal == "cost" else "most efficient"
        yield (
            f"Without a time limit, the {leading} p is usually the smallest one. Give the longest "
            "time that is acceptable."
        )
    if all(x.upper[x.chosen] == x.lower[x.chosen] for x in candidates):
        yield (
            "No parameter has an uncertainty (+-), so intervals have no width and the order seems "
            "certain. The error of the law is not included either. Write uncertain parameters as "
            '"27 MB/s +- 5%".'
        )
    about: dict[str, list[str]] = {}  # machines of which the same is to be said
    machines = {x.name: x for x in question.machines}
    for x in candidates:
        machine = machines[x.machine]
        texts = [*question.subject.doubts(machine, x.best_p), *question.subject.remarks(machine)]
        has_more = (machine.processors or np.inf) > x.p[-1]
        if x.fits and goal == "time" and len(x.p) > 1 and x.chosen == len(x.p) - 1 and has_more:
            texts.append(f"A larger p than {x.best_p} may be faster. Include larger p.")
        for text in texts:
            about.setdefault(text, []).append(x.machine)
    for text, names in about.items():
        known, of_all = ranked(text), len(names) == len(candidates) > 1
        said = known if of_all or names[0] in known else f"{', '.join(names)}: {known}"
        yield RankedWarning(said, kind=known.kind, rank=known.rank, size=known.size)


def _of_one_run(measure: Measure) -> Iterator[str]:
    """Say when machines cannot be ranked by speedups."""
    if measure.is_relative:
        text = (
            "The order holds only if the speedups on all machines are over the same run. If each "
            "is over a run on its own machine, they do not say which is faster: give times."
        )
        yield RankedWarning(text, rank=Rank.SERIOUS)


def _past_the_knee(first: Candidate) -> str:
    """Say where the count that was chosen is not worth it: half of the processors do nothing."""
    efficiency = first.efficiency
    if efficiency[first.chosen] >= WORTH_IT or not np.any(efficiency >= WORTH_IT):
        return ""
    knee = whole(float(first.p[efficiency >= WORTH_IT].max()))
    return RankedWarning(
        f"{first.machine} has an efficiency of {percent(float(efficiency[first.chosen]))} at "
        f"p = {first.best_p}; up to p = {knee} it is at least {percent(WORTH_IT)}.",
        kind="past the knee",
    )


def _different_bases(subject: TimedProgram, machines: Sequence[str]) -> Iterator[str]:
    """Say where efficiencies are relative to different counts: the smallest of each machine."""
    named = sorted({subject.bases.get(name, name) for name in machines})
    first = {name: float(subject.runs.select(machine=name).p.min()) for name in named}
    if len({*first.values()}) > 1:
        each = listed([f"{whole(p)} on {shown(name)}" for name, p in first.items()], 6)
        yield (
            "Efficiencies are relative to the smallest measured p of a machine, and these differ "
            f"({each}). Measure all of them at one small p."
        )


def law_of(subject: TimedProgram, tables: Mapping[str, ConfigurationTable]) -> str:
    """Say what the times of runs are based on."""
    ranked = machines_in(subject.runs)
    groups: dict[tuple[bool, bool], dict[str, list[str]]] = {}  # by which others have a say
    bases: dict[str, list[str]] = {}
    for name, table in tables.items():
        if name in subject.bases:
            bases.setdefault(subject.bases[name], []).append(name)
        elif not table.known.all():
            curve = subject.told[name].curve
            donors = [] if curve is None else [*curve.as_elsewhere(0, table.p)]
            kind = any(x in ranked for x in donors), any(x not in ranked for x in donors)
            groups.setdefault(kind, {})[name] = donors
    if not groups and not bases:
        return "measured times only"
    is_one = len(groups) == 1 and sum(map(len, groups.values())) == len(tables) > 1
    texts = [_forecast(members, ranked, is_one=is_one) for members in groups.values()]
    texts = [f"forecast {'; '.join(texts)}"] if texts else []
    texts += [f"projection of {listed(names)} from {base}" for base, names in bases.items()]
    if any(x.known.any() for x in tables.values()):
        texts.append("measured times where there are any")
    return "; ".join(texts)


def _forecast(members: Mapping[str, list[str]], ranked: Sequence[str], *, is_one: bool) -> str:
    """Say what the forecasts of machines that are based on the same runs are based on."""
    named = list(dict.fromkeys(x for donors in members.values() for x in donors))
    outside = [x for x in named if x not in ranked]
    whose = "each machine" if is_one else listed(members)
    its = "its" if is_one or len(members) == 1 else "their"
    rests = [f"{its} runs"]
    if len(outside) < len(named):
        is_other_one = all(len({*x} & {*ranked} - {name}) == 1 for name, x in members.items())
        rests.append("those on the other" if is_other_one else "those on the others")
    if outside:
        rests.append(f"those on the donor{'s' if len(outside) > 1 else ''} {listed(outside)}")
    if len(rests) == 1:
        return f"of {whose} from {rests[0]} alone"
    return f"of {whose} from {', '.join(rests[:-1])} and {rests[-1]}"
