"""What the times of a table are: wall times, or what rates or speedups make of them.

A rate says how much is done in a time: ns/day, samples/s, Gflop/s. A forecast needs times, so a
rate r becomes the time of one unit of work, or of an amount of it::

    time = seconds * work / rate        seconds: 86400 for ns/day, 1 for samples/s

A speedup s becomes 1/s, the time relative to the run that it is over.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import Argument, ParameterError
from parcast.units import TIME_UNITS, format_quantity
from parcast.words import common_unit

UNKNOWN: Final = "unit of work"  # what a rate counts, where its title does not say it
_AS_READ: Final = {"": "1", "simulated years/day": "sypd", "simulated days/day": "sdpd"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """What was measured, and how it became times."""

    quantity: Literal["time", "rate", "speedup"] = "time"
    title: str = ""  # of the column in the file: "SYPD"
    unit: str = ""  # of the rate: "ns/day"
    amount: str = ""  # what a rate counts: "ns", "simulated year"
    seconds: float = 1.0  # that a rate is over: 86400 for ns/day [s]
    work: float | None = None  # amount that a time is of; None: one unit [amount]
    counts_nodes: bool = field(default=False, compare=False)  # p is a column of nodes in the file

    @property
    def is_time(self) -> bool:
        """Whether wall times were measured."""
        return self.quantity == "time"

    @property
    def rated(self) -> "Measure | None":
        """Only where rates or speedups were measured: the column and what its unit is."""
        return None if self.is_time else self

    @property
    def is_relative(self) -> bool:
        """Whether times are over that of another run and have no unit: those of speedups."""
        return self.quantity == "speedup"

    @property
    def is_of_a_run(self) -> bool:
        """Whether a time is that of a whole run, not of one unit of work or relative."""
        return self.is_time or (self.quantity == "rate" and self.work is not None)

    def is_like(self, other: "Measure") -> bool:
        """Whether times of both can be compared: of runs, or of the same work."""
        ours, theirs = (replace(x, title="", work=x.work or 1.0) for x in (self, other))
        return ours == theirs

    @property
    def fixed_work(self) -> str:
        """Why the times are of fixed work, however the problem size changed; "" if unknown."""
        reasons = {"rate": "a rate is per unit of work", "speedup": "a speedup is of equal work"}
        return reasons.get(self.quantity, "")

    @property
    def rate_unit(self) -> str:
        """Unit of a rate as a reader knows it: "simulated years/day"; "" if unknown."""
        if self.unit in {"", "1"}:
            return ""
        is_named = self.amount.startswith("simulated ")
        return f"{self.amount}s/day" if is_named else self.unit

    @property
    def axis_title(self) -> str:
        """The title of the column, with the unit where it does not say it."""
        is_said = self.unit in {"", "1"} or self.unit.lower() in self.title.lower()
        return self.title if is_said else f"{self.title} [{self.rate_unit}]"

    @property
    def time_title(self) -> str:
        """The title of times in tables and pictures, without a unit."""
        return "relative time" if self.is_relative else "time"

    def time_unit(self, times: ArrayLike) -> str:
        """Unit to print some times in [s]: "ms"; "1" of relative ones."""
        return "1" if self.is_relative else common_unit(np.ravel(times).tolist())

    def time_text(self, time: float, digits: int = 3) -> str:
        """Write a time with its unit; a relative one has none."""
        return format_quantity(time, "count" if self.is_relative else "time", digits)

    @property
    def of_time(self) -> str:
        """What a time is, in a few words: "time per ns"."""
        match self.quantity:
            case "rate" if self.work is None:
                return f"time per {self.amount}"
            case "rate":
                return f"time of {self.work_done}"
            case "speedup":
                return "relative time (1/speedup)"
        return "time"

    @property
    def work_done(self) -> str:
        """The amount of work that a time is of, with its unit: "10 simulated years"."""
        work = 1.0 if self.work is None else self.work
        if self.amount == UNKNOWN and work != 1:
            return f"{work:g} units of work"
        is_word = len(self.amount) > 3 and self.amount.islower() and work != 1
        return f"{work:g} {self.amount}{'s' if is_word else ''}"

    def times(self, given: ArrayLike) -> NDArray[np.float64]:
        """Turn what was measured into times [s]; relative ones of speedups [1]."""
        given = np.asarray(given, dtype=np.float64)
        return given if self.is_time else self.rates(given)

    def rates(self, time: ArrayLike) -> NDArray[np.float64]:
        """Turn times back into what was measured, in its unit."""
        time = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(self.seconds * (self.work or 1.0) / time)

    def to_document(self) -> dict[str, Any]:
        """Say in a document what the times are."""
        if self.is_time:
            return {"quantity": "time"}
        document: dict[str, Any] = {"quantity": self.quantity, "column": self.title}
        if self.quantity == "rate":
            document |= {"unit": self.rate_unit, "amount": self.amount, "work": self.work or 1.0}
            document["seconds"] = self.seconds
            if self.work == 1:  # which one unit of a rate is as well
                document["is_of_a_run"] = True
        return document

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "Measure":
        """Read what `to_document` gave.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is no such document.
        """
        if document["quantity"] == "speedup":
            return cls(quantity="speedup", title=str(document["column"]))
        work, unit = float(document["work"]), str(document["unit"])
        return cls(
            quantity="rate",
            title=str(document["column"]),
            unit=_AS_READ.get(unit, unit),
            amount=str(document["amount"]),
            seconds=float(document["seconds"]),
            work=None if work == 1 and not document.get("is_of_a_run") else work,
        )


def seconds_in(unit: str) -> float:
    """Seconds in a unit of `Measure.time_unit`; 1 of relative times."""
    return 1.0 if unit == "1" else TIME_UNITS[unit]


TIME: Final = Measure()


def require_times_of_runs(name: str, measure: Measure, *, must: str = "be times of runs") -> None:
    """Refuse speedups, and rates without the work of a run.

    >>> known = Measure(quantity="rate", unit="ns/day", amount="ns")
    >>> require_times_of_runs("known", replace(known, work=10.0))
    >>> try:
    ...     require_times_of_runs("known", known)
    ... except ParameterError as refusal:
    ...     print(refusal.got, "->", refusal.hint[1])
    times of one unit of work -> parcast.read_measurements(path, work='1000 ns')
    """
    if measure.is_of_a_run:
        return
    is_rate = measure.quantity == "rate"
    example = replace(measure, work=1000.0).work_done
    raise ParameterError(
        name,
        must=must,
        got="times of one unit of work" if is_rate else "speedups",
        hint=(
            "Give the work of a run: ",
            Argument("work", example, python=f"parcast.read_measurements(path, work={example!r})"),
            ".",
        )
        if is_rate
        else "Give a table of times.",
    )
