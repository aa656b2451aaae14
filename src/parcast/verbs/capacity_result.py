"""What `capacities` answers: W, u, B and t0 with their intervals, and the phase that has them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from parcast.amounts import NORMAL_90, WIDEST
from parcast.models.steady_state import SteadyStatePhase
from parcast.units import Dimension, format_interval, format_quantity

DIMENSIONS: Final[Mapping[str, Dimension]] = {
    "compute": "operation_rate",
    "network": "rate",
    "latency": "time",
    "disk": "rate",
}
SYMBOLS: Final = {"compute": "W", "network": "u", "latency": "t0", "disk": "B"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """One capacity with its 90 % interval."""

    name: str  # "compute", "network", "latency" or "disk"
    value: float  # [flop/s], [B/s] or [s]; below 0 where the runs contradict each other
    lower: float  # NaN where nothing says how far it may be off
    upper: float  # may be infinite
    p: float | None = None  # processors that it was found with, of the network [1]
    note: str = ""  # "upper bound"

    @property
    def symbol(self) -> str:
        """What the source calls it."""
        return SYMBOLS[self.name] + (f"_{self.p:g}" if self.p is not None else "")

    @property
    def text(self) -> str:
        """As a description has it: "5.2 Mflop/s +- 3%"."""
        text = format_quantity(self.value, DIMENSIONS[self.name], digits=6)
        if self.value > 0 and 0 < self.lower < self.upper < np.inf:
            spread = float(np.sqrt(self.upper / self.lower) - 1.0)
            text += f" +- {_percentage(spread)}" if spread <= WIDEST else ""
        return text

    def __str__(self) -> str:
        """The value and its interval."""
        dimension = DIMENSIONS[self.name]
        if np.isnan(self.lower):
            return format_quantity(self.value, dimension)
        return format_interval(self.value, self.lower, self.upper, dimension)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundCapacities:
    """Capacities of a program on a machine."""

    phase: SteadyStatePhase  # with these capacities
    compute: Capacity | None  # W
    network: Capacity | None  # u between its bounds
    network_by_p: tuple[Capacity, ...]  # u_P; empty where all runs were fitted at once
    latency: Capacity | None  # t0
    disk: Capacity | None  # B
    model_error: float | None  # of a run by the others, root mean square, relative [1]
    warnings: tuple[str, ...]
    method: str
    runs: int  # configurations [1]

    @property
    def found(self) -> tuple[Capacity, ...]:
        """All that were found, in their order."""
        every = (self.compute, self.network, self.latency, self.disk)
        return tuple(each for each in every if each is not None)

    @property
    def toml(self) -> str:
        """Line that a phase of a program file takes."""
        keys = ", ".join(f'{each.name} = "{each.text}"' for each in self.found)
        return f"capacities = {{ {keys} }}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each capacity, and for the network at each count. [SI]."""
        for each in (*self.found, *self.network_by_p):
            bounds = (x if np.isfinite(x) else None for x in (each.lower, each.upper))
            lower, upper = bounds
            yield {
                "name": each.name,
                "symbol": each.symbol,
                "p": each.p,
                "value": each.value if np.isfinite(each.value) else None,
                "lower": lower,
                "upper": upper,
                "note": each.note,
            }

    def __str__(self) -> str:
        """The table, what to doubt, and the line for the program file."""
        every = (*self.found, *self.network_by_p)
        lines = [
            f"{each.symbol:<6} {each.name:<8} {each!s}{f'  {each.note}' if each.note else ''}"
            for each in every
        ]
        if self.model_error is not None:
            lines.append(f"A run left out is forecast within {self.model_error:.1%} (rms).")
        return "\n".join([*lines, *self.warnings, self.toml])


def result_of(
    phase: SteadyStatePhase,
    told: list[Capacity | None],
    *,
    by_p: list[Capacity],
    warnings: list[str],
    method: str,
    runs: int,
    error: float | None = None,
) -> FoundCapacities:
    """Put the capacities into the phase."""
    keys = phase.model_dump(exclude_none=True)
    keys["capacities"] |= {each.name: each.text for each in told if each is not None}
    if error is not None:
        spread = float(np.expm1(NORMAL_90 * error))
        text = phase.cycles.expression.text
        keys["cycles"] = f"{text} +- {_percentage(min(spread, WIDEST))}"
    compute, network, latency, disk = told
    return FoundCapacities(
        phase=type(phase)(**keys),
        compute=compute,
        network=network,
        network_by_p=tuple(by_p),
        latency=latency,
        disk=disk,
        model_error=error,
        warnings=tuple(warnings),
        method=method,
        runs=runs,
    )


def _percentage(share: float) -> str:
    """Share in percent, two digits of it where it is small."""
    percent = 100.0 * share
    return f"{percent:.2g}%" if percent < 99.5 else f"{percent:.0f}%"
