"""What `plan` and `match` are asked of: runs or a program, and machines with their prices."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from parcast.advice import Choice
from parcast.descriptions.machine import LARGEST_PRICE, Machine, Price
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import ProgramLike, read_program
from parcast.errors import Argument, ParameterError, require_one_of
from parcast.forecasting.donors.gather import machines_in, table_of_donors
from parcast.forecasting.own_runs.measured import UNKNOWN_NOISE
from parcast.forecasting.own_runs.scaling import Scaling, ScalingReading, reading_of, size_of_runs
from parcast.forecasting.series.question import check_scaling, remedy_of_lone_runs
from parcast.importers.registry import as_measurements
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import percent, shown
from parcast.words import listed


def program_or_runs(what: ProgramLike | MeasurementsLike) -> Program | Measurements:
    """Take a program or runs as they are; a path that ends in .toml describes a program."""
    if isinstance(what, Program):
        return what
    if isinstance(what, str | PathLike) and Path(what).suffix.lower() == ".toml":
        return read_program(what)
    return as_measurements(what)


def machines_of(
    what: Program | Measurements, given: Sequence[Machine], prices: Mapping[str, float | str]
) -> list[Machine]:
    """All machines that are to be ranked, with their prices."""
    names = [machine.name for machine in given]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(
                "machines",
                must="have different names",
                got=f"{shown(repr(name))} twice",
                hint="Change the name in one of their files, or leave one out.",
            )
    machines = list(given)
    if isinstance(what, Measurements):
        machines += [Machine(name=x) for x in machines_in(what) if x not in names]
    if not machines:
        raise ParameterError(
            "machines", must="include at least one", got="none", hint="Give their files."
        )
    known = [machine.name for machine in machines]
    for name in prices:
        hint = f"Ranked: {', '.join(known[:8])}."
        require_one_of("prices", name, known, hint, must="name machines that are ranked")
    return [
        x.model_copy(update={"price": _price(x, prices[x.name])}) if x.name in prices else x
        for x in machines
    ]


def in_one_currency(
    machines: Sequence[Machine], *, needs_costs: bool
) -> tuple[list[Machine], list[str]]:
    """Machines whose costs can be compared, or without prices, and what is to be said of these."""
    currencies = sorted({x.price.currency for x in machines if x.price.currency})
    if len(currencies) < 2:
        return list(machines), []
    if needs_costs:
        raise ParameterError(
            "price",
            must="have the same currency on all machines",
            got=" and ".join(currencies),
            hint="Convert the prices, or take [price] out of the files.",
        )
    text = f"Prices are in {listed(currencies)}: costs are left out. To see them, convert these."
    return [x.model_copy(update={"price": Price()}) for x in machines], [text]


def on_named_machines(
    what: Program | Measurements, prices: Mapping[str, float | str]
) -> Program | Measurements:
    """Take runs without a column machine as those of one: "here", or the only one with a price."""
    if isinstance(what, Program) or "machine" in what.labels:
        return what
    name = next(iter(prices)) if len(prices) == 1 else "here"
    return what.with_columns(machine=name)


def donors_beside(
    what: Program | Measurements, donors: MeasurementsLike | None
) -> tuple[Measurements | None, tuple[str, ...]]:
    """Check the runs, and the donors beside them; say of these what is to be said."""
    if isinstance(what, Measurements):
        _require_one_program(what)
    if donors is None:
        return None, ()
    if isinstance(what, Program):
        raise ParameterError(
            "donors",
            must="be combined with runs",
            got="a program",
            hint="Donors improve forecasts from runs only: leave them out.",
        )
    return table_of_donors(donors)


def ranked_ones(
    what: Program | Measurements, given: Sequence[Machine], donors: Measurements | None
) -> tuple[list[Machine], dict[str, str]]:
    """Leave out the machines that have no runs but among the donors, and say so."""
    if donors is None or isinstance(what, Program):
        return list(given), {}
    helping = set(machines_in(donors)) - set(machines_in(what))
    why = "Its runs are donors, which are not ranked. Put them into the table of runs to rank it."
    names = [x.name for x in given if x.name in helping]
    kept = [x for x in given if x.name not in helping]
    return kept, dict.fromkeys(names, why)


def reading_for(what: Program | Measurements, scaling: Scaling) -> ScalingReading:
    """How the runs of all machines are read: it is one program on all of them."""
    check_scaling(scaling)
    if isinstance(what, Measurements):
        return reading_of(scaling, size_of_runs(what, ["machine"]), measure=what.measure)
    if scaling != "auto":
        raise ParameterError(
            "scaling",
            must="be combined with runs",
            got="a program",
            hint="Its description says how the work changes with p: leave it out.",
        )
    return reading_of(scaling, "")


def _price(machine: Machine, price: float | str) -> Price:
    """Replace the price of a machine by one of its processors for an hour."""
    keys: dict[str, Any] = {"processor_hour": price, "currency": machine.price.currency}
    try:
        return Price(**keys)
    except ParameterError:
        raise ParameterError(
            "prices",
            must=f"be numbers above 0 and up to {LARGEST_PRICE:g}",
            got=f"{shown(repr(price))} for {shown(machine.name)}",
            hint="Write what a processor-hour costs, such as 0.05.",
        ) from None


def unrepeated(what: Program | Measurements, which: str = "the order") -> list[str]:
    """Say that the scatter of times is assumed, where no run was repeated."""
    if isinstance(what, Program) or np.any(what.series().shows_spread):
        return []
    return [
        f"No run was repeated: times are assumed to scatter by {percent(UNKNOWN_NOISE)}. If they "
        f"scatter more, {which} is less certain than shown: repeat the runs that decide it."
    ]


def _require_one_program(runs: Measurements) -> None:
    """Refuse runs that are of more than one program or problem."""
    series = runs.series()
    several = [name for name, values in runs.labels.items() if len(set(values.tolist())) > 1]
    apart = [x for x in series.by if x != "machine" and (x in several or x not in runs.labels)]
    if apart:
        remedy = remedy_of_lone_runs(runs, series, briefly=True)
        call = f"runs.select({apart[0]}=...)."
        any_value = Argument(
            "select", {apart[0]: Choice("VALUE")}, python=call
        )  # it ends the sentence
        raise ParameterError(
            "runs",
            must="be of one program and problem",
            got=f"several values of {', '.join(apart)}",
            hint=remedy or (*_ranked_by(runs, apart[0]), any_value),
        )


def _ranked_by(runs: Measurements, column: str) -> tuple[str | Argument, ...]:
    """Say that values of a column can be ranked as machines are, if the runs have none."""
    if len({*runs.labels.get("machine", ())}) > 1 or column in ("n", "callpath"):
        return ("Select one, such as ",)
    ranked = Argument("columns", {"machine": column}, python=f"columns={{'machine': {column!r}}}")
    return ("Rank them as machines with ", ranked, ", or select one: ")
