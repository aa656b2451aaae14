"""Programs described by counts only: what they compute, send and call, for each p.

    T(P) = pace * C_max(P) + sum over collectives of calls / P * T_q(P, m) + S(P)            [D]
    S(P) = max(m * (t0 + V / M / r_inf),  V / r_sat(P))                                      [D]

C_max      processor seconds of the busiest rank, counted on some machine
pace       how much longer the machine takes for them: T(1) over the seconds counted at P = 1
M, V       messages between two ranks and their bytes, of all ranks together
m          messages that one rank waits for, one after another: M / P where all send at once
t0, r_inf  startup and rate of one message [1]_, r_sat rate of all pairs together, both measured
T_q        time of a collective, see `laws.primitives.price`; an alltoall that was not measured
           is never faster than all its bytes at r_sat

The two sides of the maximum are bounds for a queue in front of the network: each rank sends its
messages one after another, and all bytes pass through what all ranks share. The counts do not
contain the sizes of messages, so one straight line is used for all sizes.

Use it if a trace or a profile has counted a program that is not described. Counts do not show
which message waits for which. If ranks send in turn, as in a wavefront that enters a grid of q * r
ranks at one corner, the inner ranks wait for two messages a step while all wait for
2 - 1/q - 1/r on average [2]_: then give m, or the time is too short. Messages sent while the
program computes take less time than predicted.

Between two counted p a quantity is interpolated linearly in log-log, and in log p only if it is 0
at one of them, as the messages of one processor are. Beyond the counted p it is extrapolated from
the last two [D].

References
----------
.. [1] R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2,"
   Parallel Computing, vol. 20, no. 3, pp. 389-398, 1994, :doi:`10.1016/S0167-8191(06)80021-9`,
   for the line t0 + m / r_inf.
.. [2] D. Sundaram-Stukel and M. K. Vernon, "Predictive analysis of a wavefront application using
   LogGP," in Proc. ACM PPoPP, 1999, pp. 141-150, :doi:`10.1145/301104.301117`, for what a rank of
   a wavefront waits for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import Description, DescriptionError, Of, parameter, tables
from parcast.descriptions.machine import PRIMITIVES, Machine
from parcast.descriptions.program import LAW_KEY, MEASURED_ON, Phase, measured_elsewhere
from parcast.errors import ParameterError, Problem, require
from parcast.files.numbers import LARGEST_COUNT
from parcast.laws.allowances import counted_half_width
from parcast.laws.primitives.measured import figures_of, primitive_time
from parcast.show.warning import Rank, RankedWarning

COLLECTIVES: Final = tuple(name for name in PRIMITIVES if name not in ("send", "receive"))
SHORT: Final = 8.0  # bytes of a call whose volume nobody counted: one number [B] [D]
SLACK: Final = 1e-9  # by which sums of measured times may miss each other
TINY: Final = 1e-300  # against division by nothing
LONG: Final = ("alltoall", "allgather", "gather", "scatter")  # what data are moved by [D]


class Calls(Description):
    """Calls of one collective at one processor count."""

    kind: Literal[COLLECTIVES] = Field(description="Name of the collective.")  # type: ignore[valid-type]  # made from PRIMITIVES
    calls: Annotated[Amount, Of("count")] = Field(description="Calls of all ranks together.")
    volume: Annotated[Amount, Of("size")] | None = parameter(
        None, "Bytes of one call for one partner; by default 8."
    )


class Count(Description):
    """What was counted at one processor count."""

    p: int = Field(ge=1, le=LARGEST_COUNT, description="Processors of the counted run.")
    compute: Annotated[Amount, Of("time")] = Field(
        description="Computing time of all processors together."
    )
    busiest: Annotated[Amount, Of("time")] | None = parameter(
        None, "Computing time of the processor with the most; by default the mean."
    )
    messages: Annotated[Amount, Of("count")] = parameter(
        "0", "Messages between pairs of processors, in total."
    )
    volume: Annotated[Amount, Of("size")] = parameter("0 B", "Bytes of these messages.")
    in_turn: Annotated[Amount, Of("count")] | None = parameter(
        None,
        "Messages that one processor waits for, one after another; by default messages / p.",
    )
    call: Annotated[tuple[Calls, ...], tables("call", "[[phase.count.call]]")] = Field(
        default=(), description="Collectives, one table for each."
    )


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
        """Everything on `p` processors; of a single counted number no other is known."""
        wanted = np.asarray(p, dtype=np.float64)
        if len(self.p) == 1 and np.any(wanted != self.p):
            raise ParameterError(
                "p",
                must=f"be {self.p[0]:g}, the only counted p",
                got=f"{wanted[wanted != self.p].flat[0]:g}",
                hint="Count the program at another p as well.",
            )
        compute = self._of(self.compute, wanted)
        busiest = np.clip(self._of(self.busiest, wanted), compute / wanted, compute)
        return CountedAt(
            compute=compute,
            busiest=busiest,
            messages=self._of(self.messages, wanted),
            volume=self._of(self.volume, wanted),
            in_turn=self._of(self.in_turn, wanted),
            calls={name: self._of(x, wanted) for name, x in self.calls.items()},
            volumes={name: self._of(x, wanted) for name, x in self.volumes.items()},
        )

    def octaves_beyond(self, p: ArrayLike) -> Array:
        """How far `p` is outside of what was counted: 1 at twice the largest count, 0 inside."""
        wanted = np.asarray(p, dtype=np.float64)
        return np.asarray(np.abs(np.log2(wanted / np.clip(wanted, self.p[0], self.p[-1]))))

    def _of(self, values: Array, wanted: Array) -> Array:
        """One quantity on the line between its neighbours."""
        if len(self.p) == 1:
            return np.broadcast_to(values[0], wanted.shape)
        x, at = np.log(self.p), np.log(wanted)
        i = np.clip(np.searchsorted(self.p, wanted, side="left") - 1, 0, len(x) - 2)
        low, high = values[i], values[i + 1]
        share = (at - x[i]) / (x[i + 1] - x[i])
        both = (low > 0) & (high > 0)
        with np.errstate(over="ignore"):  # what is infinite is refused where it is asked for
            bent = np.where(both, low, 1.0) ** (1 - share) * np.where(both, high, 1.0) ** share
        straight = np.maximum(low + share * (high - low), 0.0)
        between = np.where(share == 1.0, high, np.where(share == 0.0, low, bent))
        return np.asarray(np.where(both, between, straight))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedAt:
    """Counts of all processors together on the processors; arrays of their shape."""

    compute: Array  # [s]
    busiest: Array  # [s]
    messages: Array  # [1]
    volume: Array  # [B]
    in_turn: Array  # [1]
    calls: Mapping[str, Array]  # [1]
    volumes: Mapping[str, Array]  # [B]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedCosts:
    """Time of a counted program by what it is spent on, which add up to it; see the module."""

    compute: Array  # the mean over processors [s]
    imbalance: Array  # what the busiest computes longer [s]
    startups: Array  # of messages [s]
    pairs: Array  # bytes of messages at the rate of a pair [s]
    shared: Array  # what the network shared by all adds [s]
    collectives: Array  # [s]
    beyond: Array = field(default_factory=lambda: np.zeros(()))  # octaves from the nearest count

    @property
    def communication(self) -> Array:
        """All that is not computing [s]."""
        return np.asarray(self.startups + self.pairs + self.shared + self.collectives)

    @property
    def time(self) -> Array:
        """All of it [s]."""
        return np.asarray(self.compute + self.imbalance + self.communication)

    @property
    def half_width(self) -> Array:
        """Half-width of the 90% interval of log time, from what takes the time [1]."""
        time = np.maximum(self.time, TINY)
        own = (self.startups + self.pairs + self.collectives) / time
        return counted_half_width(own=own, shared=self.shared / time, beyond=self.beyond)


class CountedPhase(Phase):
    """A phase described by counts.

    >>> phase = CountedPhase(
    ...     law="counted",
    ...     count=[
    ...         {"p": 1, "compute": "8 s"},
    ...         {"p": 4, "compute": "8 s", "busiest": "2.5 s", "messages": 4000, "volume": "4 MB"},
    ...     ],
    ... )
    >>> machine = Machine(network={"latency": "0.1 ms", "bandwidth": "10 MB/s"})
    >>> phase.times(machine, {"p": np.array([1.0, 4.0])}).time.round(3)
    array([8. , 2.7])
    """

    source: ClassVar[str] = "parcast, from bounds of one rank and of the network"
    law: Literal["counted"] = LAW_KEY
    pace: Annotated[Amount, Of("count")] = parameter(
        "1", "Computing time on the machine divided by that on the machine of the counts."
    )
    measured_on: str = Field(default="", description=MEASURED_ON)
    count: Annotated[tuple[Count, ...], tables("count", "[[phase.count]]")] = Field(
        description="Counts, one table for each p."
    )

    @model_validator(mode="after")
    def _counts_agree(self) -> "CountedPhase":
        try:
            self.counted  # noqa: B018 - refuses counts that contradict each other
        except ParameterError as refusal:
            field = refusal.name if refusal.name == "count" else f"count.{refusal.name}"
            problem = Problem(message=refusal.fault, field=field)
            raise DescriptionError("CountedPhase", [problem]) from None
        return self

    @cached_property
    def counted(self) -> CountedWork:
        """Its counts as arrays, ascending in p."""
        return work_of(sorted(self.count, key=lambda count: count.p))

    def costs(self, machine: Machine, at: Point) -> CountedCosts:
        """Time of one cycle by what it is spent on, at every point of a grid [s]."""
        p = np.asarray(at["p"], dtype=np.float64)
        work, pace = self.counted.at(p), self.pace(at)
        collectives = shared = np.zeros(())
        for name, calls in work.calls.items():
            volume = work.volumes.get(name, np.full(p.shape, _unknown_volume(name, machine)))
            each = primitive_time(name, machine, at, volume)
            if name == "alltoall" and figures_of(machine, name) is None:
                least = (
                    volume * (p - 1) * p / machine.all_pairs_rate(at, why="a counted phase")
                    if np.any(volume)
                    else 0.0
                )
                each = np.maximum(each, least)
            collectives = collectives + calls / p * each
        alone = p <= 1  # nobody to send to, whatever was counted
        latency = machine.network.latency
        startups = work.in_turn * (latency(at) if latency is not None else 0.0)
        startups = np.where(alone, 0.0, startups)
        pairs = np.zeros(())
        if np.any(work.volume > 0):
            pair = machine.pair_rate(at, why="a message of a counted phase")
            each = work.volume / np.maximum(work.messages, TINY)
            pairs = np.where(alone, 0.0, work.in_turn * each / pair)
            busy = np.where(
                alone, 0.0, work.volume / machine.all_pairs_rate(at, why="a counted phase")
            )
            shared = np.maximum(busy - startups - pairs, 0.0)
        mean = pace * work.compute / p
        return CountedCosts(
            compute=mean,
            imbalance=pace * work.busiest - mean,
            startups=startups,
            pairs=np.asarray(pairs),
            shared=np.asarray(shared),
            collectives=np.asarray(collectives),
            beyond=self.counted.octaves_beyond(p),
        )

    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle at every point of a grid [s]."""
        costs = self.costs(machine, at)
        return Breakdown(
            compute=costs.compute,
            communication=costs.communication,
            synchronisation=costs.imbalance,
        )

    def half_width(self, machine: Machine, at: Point) -> Array:
        """Half-width of the 90% interval of log time from the error of the law [1]."""
        return self.costs(machine, at).half_width

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        if "pace" not in self.model_fields_set:
            yield from measured_elsewhere(self.measured_on, machine, "give the pace of the phase")
        work = self.counted
        sent = [name for name in LONG if name in work.calls and name not in work.volumes]
        if sent:
            yield RankedWarning(
                f"The bytes of {', '.join(sent)} were not counted: every call is assumed to have "
                f"{SHORT:g} B, so times may be far too low. Add the volume.",
                rank=Rank.SERIOUS,
            )
        network = machine.network
        if np.any(work.volume > 0) and network.saturation is None and network.contention is None:
            yield (
                f"{machine.name} has no network.saturation: messages are assumed not to share the "
                "network. Add network.saturation if they do."
            )
        unknown = [name for name in work.calls if figures_of(machine, name) is None]
        if unknown:
            yield (
                f"{machine.name} has no [primitives] for {', '.join(unknown)}: their times are "
                "estimated from the latency and bandwidth of its network. Measure them for better "
                "times."
            )
        p = work.p
        yield RankedWarning(
            f"Counted at p = {', '.join(f'{x:g}' for x in p)}; counts are interpolated between "
            "them and extrapolated beyond them from the last two."
            if len(p) > 1
            else f"Counted only at p = {p[0]:g}.",
            rank=Rank.MINOR,
        )


def work_of(counts: Sequence[Count]) -> CountedWork:
    """Counts as arrays, ascending in p, or a refusal of what stands twice or contradicts."""
    p = [count.p for count in counts]
    twice = sorted({x for x in p if p.count(x) > 1})
    if twice:
        raise ParameterError(
            "count", must="give each p once", got=f"{twice[0]} twice", hint="Remove one."
        )
    by_name: list[dict[str, Calls]] = []
    for count in counts:
        names = [call.kind for call in count.call]
        if len(set(names)) < len(names):
            raise ParameterError(
                "count",
                must=f"give each collective once at p = {count.p}",
                hint="Add up its calls.",
            )
        by_name.append({call.kind: call for call in count.call})
    kinds = [name for name in COLLECTIVES if any(name in calls for calls in by_name)]
    points = [{"p": float(x)} for x in p]

    def values(amounts: Sequence[Amount | None], otherwise: float = 0.0) -> Array:
        """Evaluate an amount of each count at its own p."""
        each = zip(amounts, points, strict=True)
        return np.array([otherwise if x is None else float(x(at)) for x, at in each])

    def column(name: str, key: str) -> Array:
        """One number of a collective for each p: 0 where it is not called, or gives none."""
        return values([getattr(calls.get(name), key, None) for calls in by_name])

    sized = [x for x in kinds if any(c[x].volume is not None for c in by_name if x in c)]
    calls = {name: column(name, "calls") for name in kinds}
    for name in sized:
        for count, named in zip(counts, by_name, strict=True):
            if name in named and named[name].volume is None:
                raise ParameterError(
                    f"volume of {name}",
                    must="be given for every p or for none",
                    got=f"none at p = {count.p}",
                    hint="Add it there.",
                )
    compute = values([count.compute for count in counts])
    at_p = np.array(p, dtype=np.float64)
    mean = compute / at_p
    messages = values([count.messages for count in counts])
    in_turn = values([count.in_turn for count in counts], np.nan)
    busiest = values([count.busiest for count in counts], np.nan)
    volume = values([count.volume for count in counts])
    lost = (volume > 0) & (messages <= 0)
    require("volume", volume, ~lost, must="be 0 without messages", hint="Give messages as well.")
    return CountedWork(
        p=at_p,
        compute=compute,
        busiest=np.where(np.isnan(busiest), mean, busiest),
        messages=messages,
        volume=volume,
        in_turn=np.where(np.isnan(in_turn), messages / at_p, in_turn),
        calls=calls,
        volumes={name: column(name, "volume") for name in sized},
    )


def tables_of_counts(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tables `count` of a phase from numbers in SI.

    Each row has "p" and "compute", and optionally "busiest", "messages", "volume", "in_turn", and
    "calls" and "volumes" by collective.
    """
    units = {"compute": " s", "busiest": " s", "messages": "", "volume": " B", "in_turn": ""}
    tables = []
    for row in rows:
        table: dict[str, Any] = {"p": int(row["p"])}
        table |= {key: f"{row[key]!r}{unit}" for key, unit in units.items() if key in row}
        calls = []
        for kind, number in row.get("calls", {}).items():
            call = {"kind": kind, "calls": repr(number)}
            volume = row.get("volumes", {}).get(kind)
            calls.append(call if volume is None else call | {"volume": f"{volume!r} B"})
        tables.append(table | ({"call": calls} if calls else {}))
    return tables


def _unknown_volume(name: str, machine: Machine) -> float:
    """Bytes of a call that nobody counted: none where the machine has no rate for them. [B]."""
    known = figures_of(machine, name)
    has_none = name == "barrier" or (known is not None and known.bandwidth is None)
    return 0.0 if has_none else SHORT
