"""Constants of a calibrated law, as a person and a document have them."""

from dataclasses import dataclass
from typing import Any, Final

from parcast.units import Dimension, format_quantity
from parcast.words import rounded

MEANING: Final[dict[str, tuple[str, Dimension, str]]] = {  # of each: words, dimension, unit
    "W": ("steps per second of one processor", "operation_rate", "1/s"),
    "n_half": ("size that reaches half of W", "count", "1"),
    "m_half": ("size per rank that reaches half of W", "count", "1"),
    "m_2": ("the same for work done once per row", "count", "1"),
    "u": ("network bandwidth", "rate", "B/s"),
    "t0": ("startup time of a message", "time", "s"),
    "B": ("file bandwidth", "rate", "B/s"),
    "S0": ("startup time of file access", "time", "s"),
}
RATES: Final = ("W", "u", "B")


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """One constant of a calibrated law, with its 90 % interval; its value may not be determined.

    Then the finite end is a bound: a rate is at least `lower`, a startup at most `upper`.
    """

    symbol: str  # of MEANING
    p: int | None  # ranks that it holds for; None: any [1]
    value: float | None  # [SI]
    lower: float | None
    upper: float | None

    def row(self) -> dict[str, Any]:
        """As the JSON document has it."""
        known = {name: getattr(self, name) for name in self.__slots__}
        return {**known, "unit": MEANING[self.symbol][2]}

    def __str__(self) -> str:
        """Say what it is; "" where the runs say nothing of it."""
        of = f"{self.symbol}{f' at p = {self.p}' if self.p else ''} ({MEANING[self.symbol][0]})"
        if self.value is not None:
            low = "unknown" if self.lower is None else self._quantity(self.lower)
            high = "unlimited" if self.upper is None else self._quantity(self.upper)
            return f"{of}: {self._quantity(self.value)} ({low} to {high})"
        is_rate = self.symbol in RATES
        bound = self.lower if is_rate else self.upper
        if not bound:
            return ""
        return f"{of}: {'at least' if is_rate else 'at most'} {self._quantity(bound)}"

    def _quantity(self, value: float) -> str:
        dimension = MEANING[self.symbol][1]
        if dimension == "operation_rate":
            return f"{rounded(value, 3)}/s" if value < 1e5 else f"{value:.3g}/s"
        return rounded(value, 3) if dimension == "count" else format_quantity(value, dimension)
