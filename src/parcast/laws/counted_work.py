"""What a program was counted to do on several numbers of processors, and what lies between them.

Between two counted numbers a quantity is taken on the straight line in log-log, and in log p alone
where it is 0 at one of them, as the messages of one processor are. Beyond the counted numbers the
last two of them set the line [D].
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError, require

SLACK = 1e-9  # by which sums of measured times may miss each other


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedWork:
    """Counts of all processors together; every array has one element for each `p`."""

    p: Array  # ascending, each once [1]
    compute: Array  # computing, all processors together, on the machine that counted [s]
    busiest: Array  # that of the processor that computes most [s]
    messages: Array  # between two processors, all of them [1]
    volume: Array  # bytes of these messages [B]
    in_turn: Array  # messages that one processor waits for, one after another [1]
    calls: Mapping[str, Array] = field(default_factory=dict)  # of each collective, all ranks' [1]
    volumes: Mapping[str, Array] = field(default_factory=dict)  # of one call, one partner [B]

    def __post_init__(self) -> None:
        """Refuse counts that contradict each other."""
        p = self.p
        order = (p >= 1) & (np.diff(p, prepend=0.0) > 0)
        require("p", p, order, must="ascend from at least 1", hint="Give each count once.")
        ok = (self.compute > 0) & np.isfinite(self.compute)
        require("compute", self.compute, ok, must="be above 0", hint="Give processor seconds.")
        busy = self.busiest
        within = (busy >= self.compute / p * (1 - SLACK)) & (busy <= self.compute * (1 + SLACK))
        require(
            "busiest",
            busy,
            within,
            must="lie between compute / p and compute",
            hint="It is the computing of one processor, compute that of all.",
        )
        for name, values in self._numbers():
            ok = (values >= 0) & np.isfinite(values)
            require(name, values, ok, must="be at least 0", hint="Give what was counted.")

    def _numbers(self) -> Iterator[tuple[str, Array]]:
        """Give what may be 0."""
        yield "messages", self.messages
        yield "volume", self.volume
        yield "in_turn", self.in_turn
        for name, values in self.calls.items():
            yield f"calls of {name}", values
        for name, values in self.volumes.items():
            yield f"volume of {name}", values

    def at(self, p: ArrayLike) -> "CountedAt":
        """Everything on `p` processors; see the module.

        Parameters
        ----------
        p : array_like
            At least 1. [1]

        Raises
        ------
        ParameterError
            If only one number was counted and another is asked for.

        Examples
        --------
        >>> p, sent = np.array([1.0, 4.0]), np.array([0.0, 96.0])
        >>> same = {"messages": sent, "volume": 8 * sent, "in_turn": sent / p}
        >>> work = CountedWork(p=p, compute=8 * p, busiest=np.array([8.0, 8.0]), **same)
        >>> float(work.at(2).compute.round(6)), float(work.at(2).messages)
        (16.0, 48.0)
        """
        asked = np.asarray(p, dtype=np.float64)
        if len(self.p) == 1 and np.any(asked != self.p):
            raise ParameterError(
                "p",
                must=f"be {self.p[0]:g}, the only count of processors that was counted",
                got=f"{asked[asked != self.p].flat[0]:g}",
                hint="Count the program at another p as well.",
            )
        compute = self._of(self.compute, asked)
        busiest = np.clip(self._of(self.busiest, asked), compute / asked, compute)
        return CountedAt(
            compute=compute,
            busiest=busiest,
            messages=self._of(self.messages, asked),
            volume=self._of(self.volume, asked),
            in_turn=self._of(self.in_turn, asked),
            calls={name: self._of(x, asked) for name, x in self.calls.items()},
            volumes={name: self._of(x, asked) for name, x in self.volumes.items()},
        )

    def _of(self, values: Array, asked: Array) -> Array:
        """One quantity on the line between its neighbours."""
        if len(self.p) == 1:
            return np.broadcast_to(values[0], asked.shape)
        x, at = np.log(self.p), np.log(asked)
        i = np.clip(np.searchsorted(self.p, asked, side="left") - 1, 0, len(x) - 2)
        low, high = values[i], values[i + 1]
        share = (at - x[i]) / (x[i + 1] - x[i])
        both = (low > 0) & (high > 0)
        with np.errstate(over="ignore"):  # what is infinite is refused where it is asked for
            bent = np.where(both, low, 1.0) ** (1 - share) * np.where(both, high, 1.0) ** share
        straight = np.maximum(low + share * (high - low), 0.0)
        found = np.where(share == 1.0, high, np.where(share == 0.0, low, bent))
        return np.asarray(np.where(both, found, straight))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedAt:
    """Counts of all processors together on the processors asked for; arrays of their shape."""

    compute: Array  # [s]
    busiest: Array  # [s]
    messages: Array  # [1]
    volume: Array  # [B]
    in_turn: Array  # [1]
    calls: Mapping[str, Array]  # [1]
    volumes: Mapping[str, Array]  # [B]
