"""Configurations of a program that was run: times are forecast from its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parcast.advice import Choice
from parcast.aliases import Array
from parcast.deciding.goals.configurations import HAIR, ConfigurationTable
from parcast.deciding.goals.goals import CORE_HOURS, NODE_HOURS, PRICED, Goals
from parcast.deciding.goals.nodes import NodeSize, PKind, node_size
from parcast.deciding.goals.usable_counts import CountRule
from parcast.descriptions.machine import Machine
from parcast.errors import Argument, FitFailed, ParameterError
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import REACH_OF_KNEE
from parcast.forecasting.memory.forecast_memory import forecast_memory
from parcast.forecasting.own_runs.scaling import ScalingReading
from parcast.forecasting.result import Forecast
from parcast.forecasting.series.verdict import WIDEST_USEFUL, counts_between
from parcast.timings.measurements import Measurements
from parcast.words import whole


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlanAsked:
    """What is asked of every machine."""

    goals: Goals
    p: Array | None  # counts to choose from; None: those that are likely [1]
    upto: int | None  # the largest of them, where they are not given [1]
    rule: CountRule | None
    p_is: PKind
    cores_per_node: int | None
    unit: str  # of costs
    beyond: bool  # whether to choose where there is no forecast

    def __post_init__(self) -> None:
        """Refuse what is neither yes nor no."""
        if not isinstance(self.beyond, bool | np.bool_):
            got = f"{self.beyond!r:.60}"
            raise ParameterError(
                "beyond", must="be True or False", got=got, hint="Leave it out for False."
            )


def counts_for(asked: PlanAsked, size: NodeSize, first: float, last: float, most: float) -> Array:
    """Counts to choose from on a machine of `most` processors: likely ones from first to last."""
    last = min(last if asked.upto is None else asked.upto, most)
    if asked.p is None and asked.upto is not None and asked.upto < min(first, most):
        raise FitFailed(f"upto = {whole(asked.upto)} is below the smallest count, {whole(first)}.")
    if asked.p is not None:
        counts = asked.p[asked.p <= most]
        counts = counts if asked.rule is None else counts[asked.rule.holds(counts)]
    elif asked.rule is not None:
        counts = asked.rule.between(first, last)
    elif first >= last:
        counts = np.array([first]) if first <= last else np.empty(0)
    else:
        counts = _likely(size, first, last)
    if counts.size:
        return counts
    is_of_nodes = size.p_is == "nodes" and size.cores_per_node is not None
    has = f"It has {whole(most)} {'nodes' if is_of_nodes else 'processors'}"
    if asked.p is None and asked.rule is None:
        raise FitFailed(f"{has}, fewer than p = {whole(first)}.")
    if asked.rule is None or (asked.p is not None and asked.p.min() > most):
        raise FitFailed(f"{has}, fewer than any count of p.")
    among = "one of p" if asked.p is not None else f"one from {whole(first)} to {whole(last)}"
    raise ParameterError(
        "counts", must=f"allow {among}", got=asked.rule.text, hint="Give other counts."
    )


def _likely(size: NodeSize, first: float, last: float) -> Array:
    """Counts about 3% apart; of several nodes those that fill them."""
    per_node = size.cores_per_node if size.p_is == "cores" else None
    if per_node is None or last <= per_node:
        return counts_between(first, last)
    most = float(last // per_node)
    full = per_node * (counts_between(1, most) if most > 1 else np.ones(1))
    below = counts_between(first, per_node) if first < per_node else np.empty(0)
    return np.union1d(below, full[full >= first])


def cost_unit(
    goals: Goals,
    machines: Sequence[Machine],
    p_is: PKind,
    per_node: int | None,
    *,
    is_ranking: bool = False,
) -> str:
    """What costs are counted in: as the budget says, else money where all have a price.

    A ranking without a budget has costs in money where some have a price.
    """
    priced = [x.price.amount is not None for x in machines]
    currency = next((x.price.currency for x in machines if x.price.currency), "")
    said = goals.budget.unit if goals.budget is not None else ""
    if said in (CORE_HOURS, NODE_HOURS):
        return said
    if said and currency and said != currency:
        raise ParameterError(
            "budget", must=f"be in {currency}, as the prices are", got=said, hint="Convert it."
        )
    if said and not all(priced):
        free = next(x.name for x, has in zip(machines, priced, strict=True) if not has)
        raise ParameterError(
            "price",
            must=f"be given for {free}, because the budget is in {said}",
            hint=(
                "Write it in core-h or node-h, add [price] to the file of the machine, or ",
                Argument("prices", {free: 0.05}),
                ".",
            ),
        )
    if all(priced) or (is_ranking and goals.budget is None and any(priced)):
        return said or currency or PRICED
    return NODE_HOURS if p_is == "nodes" and per_node is None else CORE_HOURS


def rates(machine: Machine, size: NodeSize, p: Array, unit: str) -> Array:
    """Cost of an hour at each count, at the expected price; NaN without one. [unit]."""
    if unit in (CORE_HOURS, NODE_HOURS):
        return size.charged(p, unit)
    if machine.price.amount is None:
        return np.full(len(p), np.nan)
    cores = size.charged(p, unit)
    return machine.cost(np.full(len(p), 3600.0), {"p": cores})


def dearest(machine: Machine, unit: str) -> float:
    """How much higher than expected the price may be: budgets hold at its upper end. [1]."""
    amount = machine.price.amount
    in_money = unit not in (CORE_HOURS, NODE_HOURS) and amount is not None
    return 1.0 + (amount.spread if in_money and amount is not None else 0.0)


def table_of(
    machine: Machine,
    size: NodeSize,
    asked: PlanAsked,
    p: Array,
    times: Sequence[Array],
    *,
    base: float,
    **known: Any,
) -> ConfigurationTable:
    """Make the table of a machine; `times` are time, its interval and the efficiency.

    `base` is the count that efficiencies are over.
    """
    time, lower, upper, efficiency = times
    is_told = known["known"] | (known.pop("is_told") & (upper / lower <= WIDEST_USEFUL))
    given: dict[str, Any] = {"out_of_memory": np.zeros(len(p)), "disks": np.full(len(p), np.nan)}
    return ConfigurationTable(
        machines=(machine.name,),
        of=np.zeros(len(p), dtype=np.intp),
        p=p,
        nodes=size.nodes(p),
        cores=size.cores(p),
        time=time,
        lower=lower,
        upper=upper,
        efficiency=efficiency,
        of_charged=size.efficiency_of_charged(p, efficiency),
        rate=rates(machine, size, p, asked.unit),
        dearest=np.full(len(p), dearest(machine, asked.unit)),
        unit=asked.unit,
        is_base=(p == base) & (np.abs(efficiency - 1.0) <= HAIR),
        is_told=is_told | asked.beyond,
        **given | known,
    )


def configurations_of_runs(
    here: Measurements,
    machine: Machine,
    asked: PlanAsked,
    *,
    reading: ScalingReading,
    at: Mapping[str, float],
    **given: Any,
) -> tuple[ConfigurationTable, Forecast]:
    """Forecast the runs on one machine at the counts to choose from, as `given`."""
    size = node_size(asked.p_is, asked.cores_per_node, machine)
    first, last = float(here.p.min()), float(here.p.max())
    most = size.most(machine)
    p = counts_for(asked, size, first, REACH_OF_KNEE * last, most)
    told = forecast(here, p, scaling=reading.scaling, **given)
    missing = [x for note in told.notes for x in note.no_forecast]
    times = [np.reshape(x, len(p)) for x in (told.time, told.lower, told.upper, told.efficiency)]
    table = table_of(
        machine,
        size,
        asked,
        p,
        times,
        base=first,
        known=np.isin(p, here.p) & (not at),
        is_told=~np.isin(p, missing),
        out_of_memory=_running_out(here, size, asked, p, at),
    )
    return table, told


def _running_out(
    runs: Measurements, size: NodeSize, asked: PlanAsked, p: Array, at: Mapping[str, float]
) -> Array:
    """Probability that a node runs out of memory at each count, 0 where that is not asked. [1]."""
    memory = asked.goals.memory
    if memory is None:
        return np.zeros(len(p))
    if size.p_is == "nodes" or size.cores_per_node is None:
        raise ParameterError(
            "memory",
            must="be combined with the cores of a node, p counting cores",
            got="p that counts nodes" if size.p_is == "nodes" else "none",
            hint=("Give for example ", Argument("cores_per_node", Choice("COUNT")), "."),
        )
    ranks = size.cores_per_node
    given: dict[str, Any] = {**at} or {"by": ()}
    told = forecast_memory(runs, p, node_memory=memory, ranks_per_node=ranks, **given)
    assert told.out_of_memory is not None
    return np.reshape(told.out_of_memory, len(p))
