"""What a run has to meet: a longest time, an efficiency, a budget, memory of a node, each surely.

Cost is time by a rate, and efficiency falls as time grows. So every goal but memory is a longest
time, at each count::

    T <= within        T <= budget / rate(p)        T <= t(p) * E(p) / efficiency

and the probability of meeting them together is that of the shortest of these times.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from parcast.errors import ParameterError, as_number, require
from parcast.forecasting.request import LIMIT_HOLDS
from parcast.units import LEAST, MOST, format_quantity, percent_in_full, quantity, shown

CORE_HOURS: Final = "core-hours"
NODE_HOURS: Final = "node-hours"
PRICED: Final = "units of the price"  # of costs, where prices have no currency
CERTAIN: Final = 0.9  # probability with which goals are met where nothing else is asked [D]
WORTH_IT: Final = 0.5  # efficiency that must hold where neither a time nor another is asked for
UNITS: Final = {
    CORE_HOURS: ("core-h", "core-hour", "core-hours", "corehours", "cpu-h", "cpu-hours", "coreh"),
    NODE_HOURS: ("node-h", "node-hour", "node-hours", "nodehours", "nodeh"),
}
NUMBER: Final = re.compile(r"([\d.,]++(?:[eE][+-]?\d++)?)(.*)", re.DOTALL)
THOUSANDS: Final = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?([eE].*)?")  # the only commas
EXAMPLE: Final = 'Write "5000 core-h", "200 node-h" or "500 EUR".'


@dataclass(frozen=True, slots=True)
class CostLimit:
    """The highest cost, and what it is counted in."""

    amount: float  # in its unit
    unit: str  # `core-hours`, `node-hours`, a currency; "" where it was not said

    def __str__(self) -> str:
        """Write it with its unit."""
        return f"{self.amount:,.10g} {self.unit}".rstrip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Goals:
    """What a run has to meet; None where nothing was asked for."""

    _outline: ClassVar[str] = (
        "within_s efficiency efficiency_by_default=is_default budget=budget.amount "
        "budget_unit=budget.unit node_memory_B=memory certainty"
    )

    within: float | None  # longest time [s]
    efficiency: float | None  # least [1]
    budget: CostLimit | None
    memory: float | None  # what programs can use of a node [B]
    certainty: float  # probability with which all are to be met together [1]
    is_default: bool  # whether the efficiency was not given

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.asked) or self.memory is not None

    @property
    def limit_holds(self) -> float:
        """Probability with which a run ends within its wall-time limit. [1]."""
        return max(LIMIT_HOLDS, self.certainty)

    @property
    def asked(self) -> list[str]:
        """Names of the goals on time that there are."""
        given = {x: getattr(self, x) for x in ("within", "budget", "efficiency")}
        return [name for name, value in given.items() if value is not None]

    def texts(self) -> Iterator[str]:
        """Say each of them."""
        if self.within is not None:
            yield f"within {format_quantity(self.within, 'time')}"
        if self.efficiency is not None:
            default = " of what is charged (default)" if self.is_default else ""
            yield f"efficiency of at least {percent_in_full(self.efficiency)}{default}"
        if self.budget is not None:
            yield f"at most {self.budget}"
        if self.memory is not None:
            yield f"nodes of {format_quantity(self.memory, 'size')}"


def amount_text(value: float, *, up: bool = False) -> str:
    """Write a cost in full, with commas, to three digits below a thousand; rounded, or up.

    >>> amount_text(1680.4), amount_text(12.345), amount_text(0.01234), amount_text(12345678)
    ('1,680', '12.3', '0.0123', '12,300,000')
    >>> amount_text(12428919, up=True), amount_text(12.31, up=True), amount_text(2.0, up=True)
    ('12,500,000', '12.4', '2.00')
    """
    if not 1e-4 <= value < 1e15:
        return f"{value:.3g}"
    places = 2 - int(np.floor(np.log10(value)))
    places = max(places, 0) if value < 1e4 else places
    if up:
        value = float(np.ceil(value * 10.0**places * (1 - 1e-12)) * 10.0**-places)
    return f"{round(value, places):,.{max(places, 0)}f}"


def goals_of(
    *,
    within: float | str | None,
    efficiency: float | str | None,
    budget: float | str | None,
    memory: float | str | None,
    certainty: float | str | None,
    is_ranking: bool = False,
) -> Goals:
    """Check what is asked for; without a time, an efficiency of 50% of what is charged holds.

    A ranking has no such default.
    """
    share = None
    if efficiency is not None:
        if isinstance(efficiency, str):
            efficiency = quantity(efficiency, "fraction", name="efficiency")
        share = as_number("efficiency", efficiency, hint="Write 70% as 0.7.")
        require("efficiency", share, 0 < share <= 1, must="lie in (0, 1]", hint="Write 0.7.")
    if isinstance(certainty, str):
        certainty = quantity(certainty, "fraction", name="certainty")
    hint = "Write 90% as 0.9."
    sure = as_number("certainty", CERTAIN if certainty is None else certainty, hint=hint)
    require("certainty", sure, 0.5 <= sure < 1, must="lie in [0.5, 1)", hint=hint)
    is_default = within is None and share is None and not is_ranking
    return Goals(
        within=_amount("within", within, "time", "2 h"),
        efficiency=WORTH_IT if is_default else share,
        budget=None if budget is None else cost_limit(budget),
        memory=_amount("memory", memory, "size", "256 GB"),
        certainty=sure,
        is_default=is_default,
    )


def cost_limit(value: float | str) -> CostLimit:
    """Read a budget, with or without its unit.

    >>> cost_limit("5,000 core-h"), cost_limit("500 EUR").unit, cost_limit(200).unit
    (CostLimit(amount=5000.0, unit='core-hours'), 'EUR', '')
    """
    match = NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None and "," in match[1] and THOUSANDS.fullmatch(match[1]) is None:
        raise ParameterError(
            "budget",
            must="have commas between groups of three digits only, as in 5,000 core-h",
            got=shown(repr(value)),
            hint="Write 1.5 with a point.",
        )
    text = value if match is None else match[1].replace(",", "")
    try:
        amount = float(text)
    except (TypeError, ValueError):
        amount = np.nan
    if isinstance(value, bool) or not LEAST <= amount <= MOST:
        raise ParameterError(
            "budget", must="be a number above 0", got=f"{shown(repr(value))}", hint=EXAMPLE
        )
    unit = "" if match is None else match[2].strip()
    if re.search(r"\d", unit):
        raise ParameterError(
            "budget", must="have a unit after its number", got=shown(repr(value)), hint=EXAMPLE
        )
    plain = unit.casefold().replace(" ", "-").replace("_", "-")
    return CostLimit(amount, next((x for x, own in UNITS.items() if plain in own), unit))


def _amount(name: str, value: float | str | None, dimension: str, example: str) -> float | None:
    """Read an amount above 0, None where there is none."""
    if value is None:
        return None
    if isinstance(value, str):
        value = quantity(value, dimension, name=name)  # type: ignore[arg-type]  # time or size
    hint = f'Write "{example}".'
    amount = as_number(name, value, hint=hint)
    require(name, amount, amount > 0, must="be above 0", hint=hint)
    must = f"lie between {LEAST:g} and {MOST:g}"
    require(name, amount, LEAST <= amount <= MOST, must=must, hint=hint)
    return amount
