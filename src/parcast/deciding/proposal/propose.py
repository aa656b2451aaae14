"""Scaling, jobs and node-hours of a proposal, from timings.

Hours of several runs and sizes are forecast from the same runs, so that their errors go together:
an end of the interval of a sum is the sum of these ends [D]. That is wider than if they were
independent, never narrower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.deciding.goals.configurations import ConfigurationTable, Weighed
from parcast.deciding.goals.from_runs import PlanAsked
from parcast.deciding.goals.goals import (
    CORE_HOURS,
    NODE_HOURS,
    WORTH_IT,
    Goals,
    goals_of,
)
from parcast.deciding.goals.nodes import NodeSize, PKind, what_p_counts
from parcast.deciding.goals.question import on_named_machines, unrepeated
from parcast.deciding.goals.subjects import TimedProgram
from parcast.deciding.proposal.result import Proposal, ProposedJob, ScalingPoint
from parcast.deciding.proposal.sites import FOUR, SITES, items_of
from parcast.descriptions.machine import HOUR, Machine
from parcast.errors import (
    Argument,
    FitFailed,
    ParameterError,
    ParcastError,
    as_number,
    as_whole,
    require,
    require_one_of,
)
from parcast.forecasting.donors.gather import machines_in
from parcast.forecasting.memory.forecast_memory import forecast_memory
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.forecasting.request import LIMIT_HOLDS, time_kept, wall_time_limit
from parcast.forecasting.series.question import counts_of
from parcast.importers.registry import as_measurements
from parcast.saved.call import Call
from parcast.show.warning import is_remark, verdicts
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import percent_in_full, quantity, shown
from parcast.words import whole

Site = Literal["incite", "archer2", "ncar"]
ROOMY: Final = 1e18  # memory of a node of which only the need is asked [B]


def plan_proposal(
    measurements: MeasurementsLike,
    *,
    runs: int | Sequence[int] = 1,
    sizes: Mapping[str, ArrayLike] | None = None,
    p: ArrayLike | None = None,
    margin: float | str = 0.9,
    efficiency: float | str = WORTH_IT,
    cores_per_node: int | None = None,
    p_is: PKind | None = None,
    storage: float | str | None = None,
    per_run: str | None = None,
    site: Site | None = None,
    scaling: Scaling = "auto",
    beyond: bool = False,
) -> Proposal:
    """Make the tables of a proposal for computing time: scaling, jobs and node-hours.

    Parameters
    ----------
    measurements : Measurements, table or path
        Measured times of one program on one machine, as for `parcast.forecast`.
    runs : int or sequence of int, default 1
        Runs that are proposed of each size. [1]
    sizes : mapping of str to array_like, optional
        Sizes that are proposed, such as ``{"n": [1000, 2000]}``. Times of a size that was run at
        two counts are forecast from its runs, others from all runs together.
    p : int or array_like, optional
        Count of the runs, or one for each size. By default the largest count with the
        `efficiency`. [1]
    margin : float in [0.5, 1) or str, default 0.9
        Probability with which the hours that are asked for suffice, and with which the largest
        count has its efficiency. [1]
    efficiency : float in (0, 1] or str, default 0.5
        Efficiency up to which counts are used efficiently. [1]
    cores_per_node : int, optional
        Cores of a node; nodes that are not filled are charged in full. [1]
    p_is : {"cores", "nodes"}, optional
        What `p` counts. By default nodes where it is the column `nodes` of a table, else cores.
    storage : float or str, optional
        What a run leaves on disk, such as "50 GB". [B]
    per_run : str, optional
        What a run computes, such as "10 simulated years", to give the hours for one of them.
    site : {"incite", "archer2", "ncar"}, optional
        Site whose items are listed, each with its source.
    scaling, beyond
        As for `parcast.forecast` and `parcast.plan`.

    Returns
    -------
    Proposal
        Points of scaling, jobs with their node-hours [h], and how these were determined.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or the runs are of several machines or programs.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    FitFailed
        If nothing can be forecast.

    Examples
    --------
    >>> import parcast
    >>> runs = {"p": [1, 2, 4, 8], "time": [36000.0, 18500.0, 9900.0, 5600.0]}
    >>> told = parcast.plan_proposal(runs, runs=40, p=8, p_is="nodes")
    >>> told.unit, round(told.total)
    ('node-hours', 498)
    """
    goals = _goals(efficiency, margin)
    if site is not None:
        require_one_of("site", site, tuple(SITES), "")
    table = _of_one_machine(as_measurements(measurements))
    size = _node_size(what_p_counts(p_is, table), cores_per_node)
    asked = _asked(goals, size, beyond=beyond)
    cases = _cases(table, sizes, runs, p, scaling)
    answered = [_Answered.of(case, asked, size) for case in cases]
    unit, amount = _unit_of_science(per_run)
    left = _size("storage", storage)
    jobs = _named([x.job(goals.certainty, amount, left) for x in answered])
    has = _parts(answered, jobs, size, per_run, left)
    total, lower, upper, request = (
        float(sum(x.hours_at(which, goals.certainty) for x in answered))
        for which in ("time", "lower", "upper", "kept")
    )
    warnings = [text for x in answered for text in x.warnings()]
    return Proposal(
        scaling=tuple(point for x in answered for point in x.points()),
        jobs=jobs,
        request=request,
        unit=asked.unit,
        margin=goals.certainty,
        total=total,
        total_lower=lower,
        total_upper=upper,
        efficiency=goals.efficiency or WORTH_IT,
        node_size=size,
        method=tuple(x.method() for x in answered),
        unit_of_science=unit,
        site=site or "",
        items=() if site is None else tuple(items_of(site, has)),
        warnings=tuple(dict.fromkeys([*verdicts(warnings), *filter(is_remark, warnings)])),
        law=answered[0].case.subject.law,
        sources=answered[0].case.subject.sources,
        call=Call(
            verb="plan-proposal",
            arguments={
                **{"measurements": table, "runs": runs, "sizes": sizes, "p": p},
                **{"margin": margin, "efficiency": efficiency, "cores_per_node": cores_per_node},
                **{"p_is": size.p_is, "storage": storage, "per_run": per_run, "site": site},
                **{"scaling": scaling, "beyond": beyond},
            },
        ),
    )


def _goals(efficiency: float | str, margin: float | str) -> Goals:
    """The efficiency that is asked for, with a margin."""
    given: dict[str, Any] = {"within": None, "budget": None, "memory": None}
    try:
        return goals_of(efficiency=efficiency, certainty=margin, **given)
    except ParameterError as refusal:
        raise refusal.named("margin") if refusal.name == "certainty" else refusal from None


def _asked(goals: Goals, size: NodeSize, *, beyond: bool) -> PlanAsked:
    """Ask for the largest count that has the efficiency, of all that can be forecast."""
    return PlanAsked(
        goals=goals,
        p=None,
        upto=None,
        rule=None,
        p_is=size.p_is,
        cores_per_node=size.cores_per_node,
        unit=NODE_HOURS if size.knows_nodes else CORE_HOURS,
        beyond=beyond,
    )


def _node_size(p_is: PKind, cores_per_node: int | None) -> NodeSize:
    """Check the size of a node."""
    if cores_per_node is not None:
        cores_per_node = as_whole("cores_per_node", cores_per_node, least=1, hint="Give 48.")
    return NodeSize(p_is=p_is, cores_per_node=cores_per_node)


def _of_one_machine(runs: Measurements) -> Measurements:
    """Refuse runs on several machines, and of what is no whole run."""
    require_times_of_runs("measurements", runs.measure, must="be times of runs")
    runs = on_named_machines(runs, {})  # type: ignore[assignment]  # these are runs
    names = machines_in(runs)
    if len(names) > 1:
        raise ParameterError(
            "measurements",
            must="be of one machine",
            got=", ".join(map(shown, names[:4])),
            hint=("Select one: ", Argument("select", {"machine": names[0]}), "."),
        )
    return runs


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Case:
    """Runs of one size that are proposed."""

    size: str  # in words, "" for the only one
    subject: TimedProgram
    machine: Machine
    runs: int
    p: float | None  # None: the largest that is efficient [1]


def _cases(
    table: Measurements,
    sizes: Mapping[str, ArrayLike] | None,
    runs: int | Sequence[int],
    p: ArrayLike | None,
    scaling: Scaling,
) -> list[_Case]:
    """One case for each size."""
    machine = Machine(name=machines_in(table)[0])
    varied = [x for x in table.series().by if x != "machine"]
    if not sizes and varied:
        raise ParameterError(
            "sizes",
            must=f"be given, because {varied[0]} takes several values in the runs",
            hint=(
                "Give sizes, or rows of one value: ",
                Argument("select", {varied[0]: "VALUE"}),
                ".",
            ),
        )
    points: list[tuple[str, Measurements, dict[str, float]]] = [("", table, {})]
    if sizes:
        if len(sizes) > 1:
            raise ParameterError(
                "sizes", must="be of one axis", got=", ".join(sizes), hint="Select the others."
            )
        [(axis, given)] = sizes.items()
        values = list(dict.fromkeys(np.ravel(np.asarray(given, dtype=np.float64)).tolist()))
        points = [_of_size(table, axis, value) for value in values]
    counts = [None] * len(points) if p is None else _each("p", counts_as(p), len(points))
    each = np.ravel(np.asarray(runs, dtype=object)).tolist()
    many = _each("runs", each, len(points))
    return [
        _Case(
            size=text,
            subject=TimedProgram(runs=own, at=at, donors=None, scaling=scaling),
            machine=machine,
            runs=as_whole("runs", number, least=1, hint="Count the runs of each size."),
            p=count,
        )
        for (text, own, at), number, count in zip(points, many, counts, strict=True)
    ]


def counts_as(p: ArrayLike) -> list[float]:
    """Counts in the order given. [1]."""
    counts_of("p", p)
    return [float(x) for x in np.ravel(np.asarray(p, dtype=np.float64)).tolist()]


def _each(name: str, given: Sequence[Any], sizes: int) -> list[Any]:
    """One value for each size, or one for all."""
    if len(given) == 1:
        return list(given) * sizes
    if len(given) != sizes:
        raise ParameterError(
            name,
            must=f"be one, or one for each of {sizes} sizes",
            got=f"{len(given)}",
            hint="Give as many as there are sizes.",
        )
    return list(given)


def _of_size(
    table: Measurements, axis: str, value: float
) -> tuple[str, Measurements, dict[str, float]]:
    """Runs of a size, where it was run at two counts; else all runs, to forecast at it."""
    if axis not in table.axes or axis == "p":
        others = ", ".join(name for name in table.axes if name != "p") or "none"
        raise ParameterError(
            "sizes", must="name an axis of the runs", got=shown(axis), hint=f"There is {others}."
        )
    text = f"{axis} = {value:.10g}"
    here = table.axes[axis] == value
    if len(np.unique(table.p[here])) > 1:
        return text, table.select(**{axis: value}), {}
    return text, table, {axis: value}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Answered:
    """A case with its times at the counts that are shown."""

    case: _Case
    asked: PlanAsked
    size: NodeSize
    table: ConfigurationTable  # at measured counts, and at those up to the job's
    at: int  # place of the job among them
    largest: float | None  # largest count that is efficient [1]

    @classmethod
    def of(cls, case: _Case, asked: PlanAsked, size: NodeSize) -> _Answered:
        """Forecast a case."""
        every = case.subject.table(case.machine, asked)
        weighed = Weighed(table=every, goals=asked.goals)
        fits = every.p[weighed.fits]
        largest = float(fits.max()) if fits.size else None
        chosen = case.p if case.p is not None else largest
        if chosen is None:
            wanted, sure = asked.goals.efficiency or 0.0, asked.goals.certainty
            raise FitFailed(
                f"No count has an efficiency of {percent_in_full(wanted)} with a probability of "
                f"{percent_in_full(sure)}"
                f"{f' at {case.size}' if case.size else ''}. Give p, or a lower efficiency.",
                outcome="No proposal.",
            )
        known = np.unique(case.subject.runs.p) if not case.subject.at else np.empty(0)
        first = float(known[-1]) if known.size else float(every.p[0])
        steps = first * 2.0 ** np.arange(0 if not known.size else 1, 40)
        counts = np.unique(np.concatenate([known, steps[steps < chosen], [chosen]]))
        table = case.subject.table(case.machine, replace(asked, p=counts))
        at = int(np.flatnonzero(table.p == chosen)[0])
        if not table.is_told[at]:
            raise FitFailed(
                f"There is no forecast at p = {whole(chosen)}"
                f"{f' of {case.size}' if case.size else ''}. Measure a run closer to it, or allow "
                f"it: {Argument('beyond', True)}.",
                outcome="No proposal.",
            )
        return cls(case=case, asked=asked, size=size, table=table, at=at, largest=largest)

    def hours_at(self, which: str, margin: float) -> float:
        """Hours of all runs, at the time, an end of its interval, or what suffices. [h]."""
        table, i = self.table, self.at
        time = time_kept(float(table.time[i]), float(table.upper[i]), margin)
        if which != "kept":
            time = float(getattr(table, which)[i])
        return self.case.runs * float(table.rate[i]) * time / HOUR

    def points(self) -> list[ScalingPoint]:
        """Give the points of scaling, measured and forecast."""
        table, subject = self.table, self.case.subject
        measured = {} if subject.at else _medians(subject.runs)
        times = [
            measured.get(p, (t, 0))[0]
            for p, t in zip(table.p.tolist(), table.time.tolist(), strict=True)
        ]
        is_weak = subject.told[self.case.machine.name].notes[0].scaling == "weak"
        points = []
        known = np.isin(table.p, list(measured))
        base = int(np.argmax(known))  # the smallest measured count, or the first of all
        for i, (p, time) in enumerate(zip(table.p.tolist(), times, strict=True)):
            ratio = times[base] / time
            ideal = p / float(table.p[base])
            is_known = p in measured
            points.append(
                ScalingPoint(
                    size=self.case.size,
                    p=p,
                    nodes=float(table.nodes[i]) if self.size.knows_nodes else None,
                    cores=float(table.cores[i]),
                    kind="measured" if is_known else "forecast",
                    time=time,
                    lower=None if is_known else float(table.lower[i]),
                    upper=None if is_known else float(table.upper[i]),
                    runs=measured[p][1] if is_known else None,
                    speedup=ratio * ideal if is_weak else ratio,
                    efficiency=ratio if is_weak else ratio / ideal,
                )
            )
        return points

    def job(self, margin: float, amount: float | None, storage: float | None) -> ProposedJob:
        """Give the job."""
        table, i, runs = self.table, self.at, self.case.runs
        hours = [self.hours_at(x, margin) for x in ("time", "lower", "upper")]
        time, lower, upper = (float(x[i]) for x in (table.time, table.lower, table.upper))
        p = float(table.p[i])
        return ProposedJob(
            job="",
            size=self.case.size,
            p=p,
            nodes=float(table.nodes[i]) if self.size.knows_nodes else None,
            cores=float(table.cores[i]),
            runs=runs,
            time=time,
            lower=lower,
            upper=upper,
            time_limit=wall_time_limit(time_kept(time, upper, max(LIMIT_HOLDS, margin))),
            hours=hours[0],
            hours_lower=hours[1],
            hours_upper=hours[2],
            per_unit=None if amount is None else hours[0] / runs / amount,
            memory=self._memory(p),
            storage=None if storage is None else storage * runs,
            measured=bool(table.known[i]),
            largest=self.largest,
        )

    def _memory(self, p: float) -> float | None:
        """Memory of the node that needs most, where it is known. [B]."""
        subject, ranks = self.case.subject, self.size.cores_per_node
        if not subject.runs.memory or ranks is None or self.size.p_is == "nodes":
            return None
        given: dict[str, Any] = {**subject.at} or {"by": ()}
        try:
            told = forecast_memory(
                subject.runs, [int(p)], node_memory=ROOMY, ranks_per_node=ranks, **given
            )
        except ParcastError:
            return None
        need = np.ravel(told.node_need)[0] if told.node_need is not None else np.nan
        return float(need) if np.isfinite(need) else None

    def method(self) -> str:
        """Say how the times were determined."""
        subject, table = self.case.subject, self.table
        told = subject.told[self.case.machine.name].notes[0]
        name = self.case.machine.name
        on = "" if name == "here" else f" on {name}"
        of = f" of {self.case.size}" if self.case.size else ""
        p = whole(float(table.p[self.at]))
        if table.known[self.at]:
            return f"The time{of} at p = {p} was measured{on}: {told.rests_on}."
        last = told.measured[1]
        far = (
            f", {table.p[self.at] / last:.3g} times the largest measured one,"
            if not subject.at
            else ""
        )
        width = f"{table.upper[self.at] / table.lower[self.at]:.2g}"
        return (
            f"The time{of} at p = {p}{far} is forecast from {told.rests_on}{on}. Method: "
            f"{subject.law}. Its 90% interval spans a factor of {width}."
        )

    def warnings(self) -> list[str]:
        """Warnings on the time of the job."""
        case = self.case
        return [
            *case.subject.doubts(case.machine, float(self.table.p[self.at])),
            *unrepeated(case.subject.runs, "the answer"),
            *case.subject.remarks(case.machine),
        ]


def _medians(runs: Measurements) -> dict[float, tuple[float, int]]:
    """Median time [s] and number of runs at each count."""
    counts: Array = np.unique(runs.p)
    return {
        p: (float(np.median(runs.time[runs.p == p])), int(np.sum(runs.p == p)))
        for p in counts.tolist()
    }


def _named(jobs: Sequence[ProposedJob]) -> tuple[ProposedJob, ...]:
    """Name the largest, the typical (most hours of the others) and the smallest, in this order."""
    order = sorted(jobs, key=lambda x: (-x.p, -x.time))
    if len(order) == 1:
        return (replace(order[0], job="typical"),)
    inner = order[1:-1]
    typical = max(inner, key=lambda x: x.hours) if inner else None
    names = {id(order[0]): "largest", id(order[-1]): "smallest"}
    if typical is not None:
        names[id(typical)] = "typical"
    return tuple(replace(x, job=names.get(id(x), "")) for x in order)


def _unit_of_science(per_run: str | None) -> tuple[str, float | None]:
    """What a run computes: a unit, and how many of it.

    >>> _unit_of_science("10 simulated years")
    ('simulated years', 10.0)
    """
    if per_run is None:
        return "", None
    number, _, unit = per_run.strip().partition(" ")
    try:
        amount = as_number("per_run", float(number), hint="")
    except ValueError:
        amount = 0.0
    if not 0 < amount < np.inf or not unit.strip():
        raise ParameterError(
            "per_run",
            must="be a number above 0 and a unit",
            got=shown(repr(per_run)),
            hint='Write "10 simulated years".',
        )
    return unit.strip(), amount


def _size(name: str, value: float | str | None) -> float | None:
    """Read a size in bytes, above 0."""
    if value is None:
        return None
    size = quantity(value, "size", name=name) if isinstance(value, str) else value
    size = as_number(name, size, hint='Write "50 GB".')
    require(name, size, 0 < size < np.inf, must="be above 0", hint='Write "50 GB".')
    return size


def _parts(
    answered: Sequence[_Answered],
    jobs: Sequence[ProposedJob],
    size: NodeSize,
    per_run: str | None,
    storage: float | None,
) -> dict[str, bool]:
    """Which parts that a site may ask for a proposal has."""
    points = [len(x.points()) for x in answered]
    measured = [sum(point.kind == "measured" for point in x.points()) for x in answered]
    return {
        "scaling": min(points) > 1,
        "points": min(measured) >= FOUR,
        "largest": all(x.largest is not None for x in answered),
        "unit": per_run is not None,
        "storage": storage is not None,
        "memory": all(x.memory is not None for x in jobs),
        "full nodes": size.knows_nodes,
    }
