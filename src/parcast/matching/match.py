"""Which machine to use, and how many of its processors: ranked by a goal, under constraints.

On each machine the processor count is chosen that is best for the goal among those that meet the
constraints; the machines are then sorted by the goal. The certainty of that order is given by the
probability that a machine at its chosen count is better than every other at its own, with
everything uncertain sampled together (`parcast.matching.outcomes`). The result says what the times
are based on: measured, forecast from which runs, projected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.deciding.alternatives import best_first
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machines
from parcast.errors import Argument, FitFailed, as_whole
from parcast.forecasting.donors.gather import machines_in
from parcast.forecasting.own_runs.members import LAWS
from parcast.forecasting.own_runs.scaling import Scaling, ScalingReading
from parcast.forecasting.request import request_for
from parcast.forecasting.series.verdict import run_to_make
from parcast.laws.allowances import together
from parcast.matching.outcomes import (
    DIGITS,
    TAILS,
    Outcomes,
    Outlook,
    described,
    drawn_together,
    measured,
    projected,
)
from parcast.matching.question import (
    check_goal,
    constraints_of,
    counts_of,
    donors_beside,
    machines_of,
    on_named_machines,
    program_or_runs,
    ranked_ones,
    reading_for,
    require_limits_on_runs,
    require_prices,
    unrepeated,
)
from parcast.matching.result import Candidate, Match
from parcast.matching.verdict import HAIR, Constraints, verdict_of
from parcast.saved.call import Call
from parcast.show.warning import Rank, RankedWarning, is_remark, ranked, verdicts
from parcast.timings.measure import TIME, Measure
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import format_quantity, percent, shown
from parcast.words import listed, whole

Goal = Literal["time", "cost", "efficiency"]
MOST_WHYS: Final = 3  # machines of which it is said why they are not ranked
WORTH_IT: Final = 0.5  # efficiency below which a count is past the knee, as by `parcast.knee`
SURE: Final = 0.5  # probability of being best below which the order is open


def match(
    what: ProgramLike | MeasurementsLike,
    machines: MachineLike | Sequence[MachineLike] = (),
    *,
    p: ArrayLike | None = None,
    d: float | None = None,
    n: float | None = None,
    goal: Goal = "time",
    within: float | str | None = None,
    budget: float | None = None,
    certainty: float | str | None = None,
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
    p : int or array_like, optional
        Processor counts to choose from. By default those of the runs; required for a program. [1]
    d, n : float, optional
        Disks and problem size, for a program. [1]
    goal : {"time", "cost", "efficiency"}, default "time"
        What to minimise ("time", "cost") or maximise ("efficiency"). Of a machine the count is
        chosen at which the time kept with the `certainty` is least.
    within : float or str, optional
        Longest time allowed: a number, or text such as "2 h". [s]
    budget : float, optional
        Cost limit, in the currency of the prices.
    certainty : float in [0.5, 1), or text such as "90%", optional
        Probability with which `within` and `budget` must both hold, and a run must end within the
        wall-time limit that is to be requested. By default 0.9. [1]
    prices : mapping of str to float or str, optional
        Price of one processor-hour by the name of the machine, instead of that in its description.
    donors : Measurements, table or path, or a list of them, optional
        Runs of the same program on machines that are not to be ranked, with a column `machine`.
        They improve the forecasts as in `parcast.forecast`; projections do not use them.
    scaling : {"auto", "strong", "weak"}, default "auto"
        Whether the work of runs was the same at every `p`, as for `parcast.forecast`.
    beyond : bool, default False
        Whether to consider counts at which there is no forecast, too: where the 90 % interval
        spans more than thirtyfold, or the forecast was more than 100 % too high when tested.
    law_error : bool, default True
        Whether times of a program may err by what its law has been wrong, as in `parcast.predict`;
        forecasts and projections from runs have intervals of their own.
    seed : int, default 0
        Seed of the samples; the same question has the same answer.

    Returns
    -------
    Match
        Machines that fulfil `within` and `budget` first, in the order of the goal; then the
        others, those that miss least first.

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
    asked = dict(locals()) | {"donors": None}
    check_goal(goal)
    seed = as_whole("seed", seed, least=0, hint="Use any such number.")
    constraints = constraints_of(within, budget, certainty)
    what = on_named_machines(program_or_runs(what), prices or {})
    helping, remarks = donors_beside(what, donors)
    asked["donors"] = helping
    machines = as_machines(machines)
    given, not_ranked = ranked_ones(what, machines, helping)
    named = machines_of(what, given, prices or {})
    require_limits_on_runs(what, constraints)
    require_prices(named, goal, constraints)
    counts = counts_of(what, p, len(named))
    reading = reading_for(what, scaling)
    how: dict[str, Any] = {"seed": seed, "donors": helping, "law_error": law_error}
    at = {"d": d, "n": n}
    outlooks, left_out, notes = _outlooks(what, named, at, counts, reading=reading, **how)
    outcomes = _with_forecast(drawn_together(outlooks, seed), left_out, notes, beyond=beyond)
    measure = what.measure if isinstance(what, Measurements) else TIME
    candidates = _requested(_ranked(outcomes, goal, constraints), measure)
    notes += [*remarks, *unrepeated(what)]
    notes += _warnings(candidates, outcomes, goal, constraints, named)
    notes += _different_bases(what, outcomes) if goal == "efficiency" else ()
    return Match(
        candidates=candidates,
        goal=goal,
        within=constraints.within,
        budget=constraints.budget,
        certainty=constraints.certainty if constraints else None,
        currency=next((x.price.currency for x in named if x.price.currency), ""),
        left_out=left_out | not_ranked,
        verdict=() if candidates[0].fits else verdict_of(outcomes, constraints),
        warnings=tuple(dict.fromkeys([*verdicts(notes), *filter(is_remark, notes)])),
        program=what.name if isinstance(what, Program) else "",
        law=law_of(what, outcomes),
        sources=sources_of(what, outcomes),
        law_errors=together(error for x in outcomes for error in x.law_errors),
        reading=reading if isinstance(what, Measurements) else None,
        measure=measure,
        call=Call(verb="match", arguments=asked | {"what": what, "machines": machines}),
    )


def _outlooks(
    what: Program | Measurements,
    machines: Sequence[Machine],
    at: Mapping[str, float | None],
    counts: Array,
    *,
    seed: int,
    donors: Measurements | None,
    law_error: bool,
    reading: ScalingReading,
) -> tuple[list[Outlook], dict[str, str], list[str]]:
    """What is known of each machine; which have no answer, and why; which counts are none."""
    outlooks, left_out, notes = [], {}, []
    named = machines_in(what) if isinstance(what, Measurements) else []
    for machine in machines:
        most = machine.processors or np.inf
        here = counts[counts <= most]
        if here.size == 0:
            left_out[machine.name] = (
                f"It has {most:.0f} processors, fewer than p = {whole(float(counts[0]))}. Include "
                "smaller p."
            )
            continue
        try:
            if isinstance(what, Program):
                outlooks.append(described(what, machine, at, here, seed, law_error=law_error))
            elif machine.name in named:
                outlooks.append(measured(what, machine, here, seed, donors, reading=reading))
            else:
                known = [x for x in machines if x.name in named]
                outlooks.append(projected(what, machine, known, here, seed, reading=reading))
        except FitFailed as refusal:
            left_out[machine.name] = refusal.reason
            continue
        if here.size < counts.size:
            beyond = [f"{whole(x)}" for x in counts[counts > most].tolist()]
            listed = ", ".join(beyond[:4]) + (", ..." if len(beyond) > 4 else "")
            notes.append(
                f"{machine.name} has {most:.0f} processors: p = {listed} is not considered on it."
            )
    return outlooks, left_out, notes


def _with_forecast(
    outcomes: Sequence[Outcomes], left_out: dict[str, str], notes: list[str], *, beyond: bool
) -> list[Outcomes]:
    """Leave out the counts at which there is no forecast, and the machines that have none left."""
    kept = []
    for x in outcomes:
        useful = x.useful | beyond
        if useful.all():
            kept.append(x)
            continue
        missing = x.p[~useful]
        lower, upper = x.interval
        width = format_quantity(float((upper / lower)[~useful].max()), "count", 2)
        counts = listed([f"{whole(p)}" for p in missing.tolist()])
        text = (
            f"no forecast at p = {counts}: intervals of up to a factor of {width}. Measure a run "
            f"at p = {whole(_run_to_make(x, missing))}, or allow them: "
            f"{Argument('beyond', True)}."
        )
        if useful.any():
            last = whole(float(x.p[useful].max()))
            said = f"{x.machine}: {text} The last useful count is p = {last}."
            notes.append(RankedWarning(said, kind="no forecast there", rank=Rank.SERIOUS))
            kept.append(x.at(useful))
        else:
            left_out[x.machine] = f"There is {text}"
    if not kept:
        whys = [f"{name}: {why}" for name, why in list(left_out.items())[:MOST_WHYS]]
        raise FitFailed(f"No machine can be ranked. {' '.join(whys)}")
    return kept


def _run_to_make(x: Outcomes, missing: Array) -> float:
    """Count of a run that would help a machine; without any runs, the largest one missing."""
    known = x.p[x.known]
    first, last = (float(known[0]), float(known[-1])) if known.size else (1.0, 1.0)
    return run_to_make(float(missing.max()), first, last)


def _different_bases(runs: Program | Measurements, outcomes: Sequence[Outcomes]) -> Iterator[str]:
    """Say where efficiencies are relative to different counts: the smallest of each machine."""
    if isinstance(runs, Program):
        return
    named = sorted(x.base or x.machine for x in outcomes)
    first = {name: float(runs.select(machine=name).p.min()) for name in dict.fromkeys(named)}
    if len({*first.values()}) > 1:
        each = listed([f"{whole(p)} on {shown(name)}" for name, p in first.items()], 6)
        yield (
            "Efficiencies are relative to the smallest measured p of a machine, and these differ "
            f"({each}). Measure all of them at one small p."
        )


def _candidate(outcomes: Outcomes, goal: Goal, constraints: Constraints) -> Candidate:
    """Choose the best count of a machine."""
    fits = constraints.fits(outcomes)
    place = _kept(outcomes, constraints.certainty) if goal == "time" else _score(outcomes, goal)
    chosen = int(
        np.argmin(np.where(fits, place, np.inf) if fits.any() else constraints.excess(outcomes))
    )
    lower, upper = outcomes.interval
    kept = float(np.quantile(outcomes.times[:, chosen], constraints.certainty))
    cost_lower = cost_upper = None
    if outcomes.cost is not None and outcomes.costs is not None:
        ends = np.quantile(outcomes.costs, TAILS, axis=0)
        cost_lower, cost_upper = (
            np.minimum(ends[0], outcomes.cost),
            np.maximum(ends[1], outcomes.cost),
        )
    return Candidate(
        machine=outcomes.machine,
        p=outcomes.p,
        time=outcomes.time,
        lower=lower,
        upper=upper,
        cost=outcomes.cost,
        cost_lower=cost_lower,
        cost_upper=cost_upper,
        efficiency=outcomes.efficiency,
        holds=constraints.holds(outcomes),
        chosen=chosen,
        measured=outcomes.known,
        fits=bool(fits.any()),
        best=None,
        request=request_for(
            float(outcomes.p[chosen]),
            float(outcomes.time[chosen]),
            float(lower[chosen]),
            float(upper[chosen]),
            kept=kept,
            certainty=constraints.certainty,
        ),
    )


def _requested(candidates: tuple[Candidate, ...], measure: Measure) -> tuple[Candidate, ...]:
    """Tell what a run needs only where times are those of runs."""
    return (
        candidates if measure.is_of_a_run else tuple(replace(x, request=None) for x in candidates)
    )


def _kept(outcomes: Outcomes, certainty: float) -> Array:
    """Logarithm of the time that is kept with a certainty at each count; rounding as in `_score`.

    A count far beyond the runs has to be faster by more than is known of it.
    """
    return np.asarray(np.log(np.quantile(outcomes.times, certainty, axis=0)).round(DIGITS))


def _score(outcomes: Outcomes, goal: Goal) -> Array:
    """Logarithm of what is to be least, in the middle, at each count; rounding makes no order.

    Where time falls as 1/p all counts cost the same, and the smallest is taken in any unit.
    """
    if goal == "cost" and outcomes.cost is not None:
        middle = outcomes.cost
    else:
        middle = outcomes.time if goal == "time" else 1.0 / outcomes.efficiency
    with np.errstate(divide="ignore"):  # what costs nothing
        return np.asarray(np.log(middle).round(DIGITS))


def _place(candidate: Candidate, outcomes: Outcomes, goal: Goal) -> tuple[float, ...]:
    """What machines are ordered by: the goal, then time, then cost."""
    goals: tuple[Goal, ...] = (goal, "time", "cost")
    return tuple(float(_score(outcomes, x)[candidate.chosen]) for x in goals)


def _scores(outcomes: Outcomes, goal: Goal, at: int) -> Array:
    """What is to be least, in every sample, at one count."""
    if goal == "cost" and outcomes.costs is not None:
        return np.asarray(outcomes.costs[:, at])
    return np.asarray(outcomes.times[:, at] if goal == "time" else -outcomes.efficiencies[:, at])


def _ranked(
    outcomes: Sequence[Outcomes],
    goal: Goal,
    constraints: Constraints,
) -> tuple[Candidate, ...]:
    """Put those that fit first, in the order of the goal, with their chance of being best.

    Where machines are equally good, as efficiencies at p = 1 are, the shorter time comes first,
    then the lower cost.
    """
    pairs = [(_candidate(x, goal, constraints), x) for x in outcomes]
    scores = np.array([_place(x, y, goal) for x, y in pairs])
    order = best_first(
        scores[:, 1],
        scores[:, 2],
        score=scores[:, 0],
        fits=[x.fits for x, _ in pairs],
        excess=[float(constraints.excess(y).min()) for _, y in pairs],
    )
    good = [pairs[i] for i in order.tolist() if pairs[i][0].fits]
    others = [pairs[i][0] for i in order.tolist() if not pairs[i][0].fits]
    if not good:
        return tuple(others)
    table = np.stack(np.broadcast_arrays(*(_scores(y, goal, x.chosen) for x, y in good)), axis=1)
    least = table.min(axis=1, keepdims=True)
    is_best = table <= least + HAIR * np.abs(least)
    chance = (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)  # equals share
    ranked = [replace(x, best=float(c)) for (x, _), c in zip(good, chance, strict=True)]
    return (*ranked, *others)


def _warnings(
    candidates: Sequence[Candidate],
    outcomes: Sequence[Outcomes],
    goal: Goal,
    constraints: Constraints,
    machines: Sequence[Machine],
) -> list[str]:
    """Give what a reader of the ranking must know."""
    warnings: list[str] = []
    sizes = {x.name: x.processors for x in machines}
    by_name = {x.machine: x for x in outcomes}
    good = [x for x in candidates if x.fits]
    if len(good) > 1 and max(x.best or 0.0 for x in good) < SURE:
        text = (
            "The order is uncertain: no machine is the best with a probability of 50% or more. "
            "Compare the intervals; further runs on the first machines would narrow them."
        )
        warnings.append(RankedWarning(text, rank=Rank.SERIOUS))
    if goal == "time":
        warnings += filter(None, map(_past_the_knee, good[:1]))
    if goal != "time" and constraints.within is None:
        leading = "cheapest" if goal == "cost" else "most efficient"
        warnings.append(
            f"Without a time limit, the {leading} p is usually the smallest one. Give the longest "
            "time that is acceptable."
        )
    if candidates and all(x.upper[x.chosen] == x.lower[x.chosen] for x in candidates):
        warnings.append(
            "No parameter has an uncertainty (+-), so intervals have no width and the order seems "
            "certain. The error of the law is not included either. Write uncertain parameters as "
            '"27 MB/s +- 5%".'
        )
    about: dict[str, list[str]] = {}  # machines of which the same is to be said
    for x in candidates:
        texts = list(by_name[x.machine].doubts(x.best_p))
        has_more = (sizes[x.machine] or np.inf) > x.p[-1]
        if x.fits and goal == "time" and len(x.p) > 1 and x.chosen == len(x.p) - 1 and has_more:
            texts.append(f"A larger p than {x.best_p} may be faster. Include larger p.")
        for text in texts:
            about.setdefault(text, []).append(x.machine)
    for text, names in about.items():
        known, of_all = ranked(text), len(names) == len(candidates) > 1
        said = known if of_all else f"{', '.join(names)}: {known}"
        warnings.append(RankedWarning(said, kind=known.kind, rank=known.rank, size=known.size))
    return warnings


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


def law_of(what: Program | Measurements, outcomes: Sequence[Outcomes]) -> str:
    """Name the law of a described program, or say what the times of runs are based on."""
    if isinstance(what, Program):
        return what.law
    ranked = machines_in(what)
    groups: dict[tuple[bool, bool], list[Outcomes]] = {}  # by which other machines have a say
    bases: dict[str, list[str]] = {}
    for x in outcomes:
        if x.base:
            bases.setdefault(x.base, []).append(x.machine)
        elif not x.known.all():
            kind = any(y in ranked for y in x.donors), any(y not in ranked for y in x.donors)
            groups.setdefault(kind, []).append(x)
    if not groups and not bases:
        return "measured times only"
    is_one = len(groups) == 1 and sum(map(len, groups.values())) == len(outcomes) > 1
    texts = [_forecast(members, ranked, is_one=is_one) for members in groups.values()]
    texts = [f"forecast {'; '.join(texts)}"] if texts else []
    texts += [f"projection of {listed(names)} from {base}" for base, names in bases.items()]
    if any(x.known.any() for x in outcomes):
        texts.append("measured times where there are any")
    return "; ".join(texts)


def sources_of(what: Program | Measurements, outcomes: Sequence[Outcomes]) -> tuple[str, ...]:
    """Name where the law comes from; nowhere, where every time is measured."""
    if isinstance(what, Program):
        return what.sources_of_law
    if all(x.known.all() for x in outcomes):
        return ()
    return tuple(f"{name}: {law.source}" for name, law in LAWS.items())


def _forecast(members: Sequence[Outcomes], ranked: Sequence[str], *, is_one: bool) -> str:
    """Say what the forecasts of machines that are based on the same runs are based on."""
    named = list(dict.fromkeys(x for each in members for x in each.donors))
    outside = [x for x in named if x not in ranked]
    whose = "each machine" if is_one else listed([x.machine for x in members])
    its = "its" if is_one or len(members) == 1 else "their"
    rests = [f"{its} runs"]
    if len(outside) < len(named):
        is_other_one = all(len({*x.donors} & {*ranked} - {x.machine}) == 1 for x in members)
        rests.append("those on the other" if is_other_one else "those on the others")
    if outside:
        rests.append(f"those on the donor{'s' if len(outside) > 1 else ''} {listed(outside)}")
    if len(rests) == 1:
        return f"of {whose} from {rests[0]} alone"
    return f"of {whose} from {', '.join(rests[:-1])} and {rests[-1]}"
