"""Steady-state timing: steps, bytes and messages counted, over capacities measured.

    T = steps / W * (1 + n_half/n + m_half*P/n + m_2^2*P/n^2) + network bytes / u + messages * t0
        + disk bytes / B + S0                                        [R]; n_half to m_2, S0 [D]

Every law of this kind is one function that counts, for a problem of size n on P processors, what
happens one after another: the steps of the processor with most of them, the bytes that all send
through the network, the bytes of the disk. W, u and B are the capacities of a processor, of the
network when all processors send, and of the disk *for this program*: they are measured with it
(`parcast.fitting.capacity_sums`), not taken from a data sheet.

Use it for programs whose counts are known and that keep all processors busy. There is no waiting
in it, so it is a lower bound of the time for algorithms that are search-space compact, see
`parcast.laws.compactness`; for others it is not reliable. Startups of messages are this project's
addition [D]; the source has t0 = 0. So are what weighs on small sizes, and the startup S0 of the
files: by default there are none. n_half is Hockney's [2]_: a program reaches half its rate at this
size, because of what it does for each row, call or input. m_half is the same for what each
processor does however small its part n/P is, m_2 for what it does for each of n rows of n.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The general forms are reconstructed from its prose, [R].
.. [2] R. W. Hockney, The Science of Computer Benchmarking, SIAM, 1996,
   :doi:`10.1137/1.9780898719666`.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import Description, Of, parameter
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase
from parcast.errors import require

COUNTED = "Count it in the serial program."
Count: TypeAlias = Annotated[Amount, Of("count", hint=COUNTED)]  # a density of a law [1]
Size: TypeAlias = Annotated[Amount, Of("size", hint=COUNTED)]  # [B]


class SmallSize(NamedTuple):
    """What weighs on small sizes: a half size of a law."""

    symbol: str
    power: int  # of the half size, and of n [1]
    weight: Callable[[Array, Array], Array]  # of n and P: what the half size is multiplied by


SMALL_SIZES: Final = {  # by the key of `Capacities`
    "half_size": SmallSize("n_half", 1, lambda n, _: 1.0 / n),
    "half_share": SmallSize("m_half", 1, lambda n, p: p / n),
    "half_rows": SmallSize("m_2", 2, lambda n, p: p / n**2),
}


def _nothing() -> Array:
    return np.zeros(())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Counts:
    """What a run does one after the other, arrays that broadcast together."""

    steps: Array  # of the processor with most of them [1]
    network_bytes: Array = field(default_factory=_nothing)  # of all processors [B]
    messages: Array = field(default_factory=_nothing)  # that wait for each other [1]
    disk_bytes: Array = field(default_factory=_nothing)  # read and written [B]
    shared: Array = field(default_factory=_nothing)  # of `steps`: its part of what was dealt out


def sizes(
    n: ArrayLike, p: ArrayLike, *, most: ArrayLike | None = None, why: str = "one for each input"
) -> tuple[Array, Array]:
    """Problem sizes of at least 1, and processors between 1 and `most`, by default n."""
    n, p = np.asarray(n, dtype=np.float64), np.asarray(p, dtype=np.float64)
    require("n", n, (n >= 1) & np.isfinite(n), must="be at least 1", hint="Count inputs from 1.")
    ok = (p >= 1) & np.isfinite(p)
    require("p", p, ok, must="be at least 1", hint="Count processors from 1.")
    limit = n if most is None else np.asarray(most, dtype=np.float64)
    ok = p <= limit
    hint = f"At most n processors have work ({why}). Use fewer processors or a larger n."
    require("p", np.broadcast_to(p, ok.shape), ok, must="be at most n", hint=hint)
    return n, p


def in_parallel(p: Array, parallel: ArrayLike, alone: ArrayLike = 0.0) -> Array:
    """Counts of more than one processor, and those of one: the sequential program."""
    return np.where(p > 1, parallel, alone)


def dealt_out(
    p: Array, steps: ArrayLike, *, sent: ArrayLike, messages: ArrayLike, disk: ArrayLike = 0.0
) -> Counts:
    """Counts of work that is dealt out whole: a lone processor sends nothing of it."""
    steps = np.asarray(steps)
    return Counts(
        steps=steps,
        shared=steps,
        network_bytes=in_parallel(p, sent),
        messages=in_parallel(p, messages),
        disk_bytes=np.asarray(disk, dtype=np.float64),
    )


def share(n: float, p: float) -> float:
    """Inputs of one of `p` processors, no more than there are inputs [1]."""
    size, processors = sizes(n, p)
    return float(size / processors)


def positive(name: str, value: ArrayLike) -> Array:
    """Rate or other amount above 0, or a refusal that names it."""
    measured = np.asarray(value, dtype=np.float64)
    ok = (measured > 0) & np.isfinite(measured)
    require(name, measured, ok, must="be above 0", hint="Give what was measured.")
    return measured


class Capacities(Description):
    """Capacities of the machine for this program; they override those of the machine."""

    compute: Annotated[Amount, Of("operation_rate", name="capacities.compute")] | None = parameter(
        None, "Steps per second of one processor, W."
    )
    together: Annotated[Amount, Of("operation_rate", name="capacities.together")] | None = (
        parameter(
            None,
            "Steps per second of p unequal processors, the sum of their W; compute is then that "
            "of the slowest. By default p * compute.",
        )
    )
    network: Annotated[Amount, Of("rate", name="capacities.network")] | None = parameter(
        None, "Bandwidth of the network when all processors send, u."
    )
    disk: Annotated[Amount, Of("rate", name="capacities.disk")] | None = parameter(
        None, "Bandwidth of one disk, B."
    )
    latency: Annotated[Amount, Of("time", name="capacities.latency")] | None = parameter(
        None, "Startup time of one message, t0."
    )
    disk_startup: Annotated[Amount, Of("time", name="capacities.disk_startup")] | None = parameter(
        None, "Startup time of the access to files, S0."
    )
    half_size: Annotated[Amount, Of("count", name="capacities.half_size")] | None = parameter(
        None, "Size n that reaches half of W, n_half."
    )
    half_share: Annotated[Amount, Of("count", name="capacities.half_share")] | None = parameter(
        None, "Size n/p per processor that reaches half of W, m_half."
    )
    half_rows: Annotated[Amount, Of("count", name="capacities.half_rows")] | None = parameter(
        None, "The same for work done once per row of n, m_2."
    )


class SteadyStatePhase(Phase):
    """A phase whose law counts: its fields are its densities, and `law_counts` its formula."""

    is_compact = True
    workers: ClassVar[str] = "one for each input"  # why no more than n processors have work
    size: Annotated[Amount, Of("count")] = parameter("n", "Problem size, the law's n.")
    messages: Annotated[Amount, Of("count")] | None = parameter(
        None, "Messages of a cycle sent one after another; by default those of the law."
    )
    disks: Annotated[Amount, Of("count")] = parameter(
        "1", 'Disks that work in parallel: "d", or "p" if every processor has its own.'
    )
    capacities: Capacities = Capacities()

    @staticmethod
    @abstractmethod
    def law_counts(*sizes: Any, **densities: Any) -> Counts:
        """Count what one cycle does, of n, p and the densities, all within their domains."""

    def counts(self, n: ArrayLike, p: ArrayLike, at: Point | None = None) -> Counts:
        """Count what one cycle does, by the formula of the law and the keys of the phase.

        Densities that are formulas are taken at `at`, by default `n` and `p`, which may also
        hold values that replace them.
        """
        at = {"n": n, "p": p} if at is None else at
        n, p = self.checked_sizes(n, p)
        return self.law_counts(n, p, **self.values(at, {"n": n}))

    def grain(self, n: float, p: float) -> tuple[float, float] | None:  # noqa: ARG002 - for laws that deal out
        """Least and largest piece worth handing over, in inputs; None where nothing is dealt out.

        Grain is what one message hands over. The rule is to maximise alpha/beta, computing over
        communication, at the same work: deal out the highest loop whose iterations are
        independent [S in words]. A piece that is too small costs bytes and messages, one that is
        too large leaves processors idle.
        """
        return None

    def checked_sizes(self, n: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
        """Sizes and processors of which the law knows the counts."""
        return sizes(n, p, why=self.workers)

    def counted(self, at: Point) -> Counts:
        """Count what one cycle does at every point of a grid, with the messages of the phase."""
        p = np.asarray(at["p"], dtype=np.float64)
        counts = self.counts(self.size(at), p, at)
        if self.messages is None:
            return counts
        return replace(counts, messages=in_parallel(p, self.messages(at)))

    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle at every point of a grid [s]."""
        counts = self.counted(at)
        network = _time(counts.network_bytes, lambda: self.network_rate(machine, at))
        return Breakdown(
            compute=np.asarray(self._computing(counts, machine, at) * self.slower(at)),
            communication=np.asarray(network + counts.messages * self.latency(machine, at)),
            io=np.asarray(
                _time(self.of_one_disk(counts, at), lambda: self.disk_rate(machine, at))
                + self.disk_startup(counts, at)
            ),
        )

    def work(self, machine: Machine, at: Point) -> Array:
        """Work of all cycles on one processor [s]."""
        alone = {**at, "p": np.ones(())}
        steps = self.counts(self.size(at), 1.0, alone).steps
        with np.errstate(over="ignore"):  # what is infinite is refused where it is asked for
            steps = self.cycles(at) * steps * self.slower(alone)
            return np.asarray(steps / self.compute_rate(machine, alone))

    def slower(self, at: Point) -> Array:
        """How much longer a step takes than 1/W, for what weighs on small sizes. [1]."""
        factor: Array = np.ones(())
        for key, small in SMALL_SIZES.items():
            amount: Amount | None = getattr(self.capacities, key)
            if amount is not None:
                n, p = (np.asarray(x, dtype=np.float64) for x in (self.size(at), at["p"]))
                factor = factor + amount(at) ** small.power * small.weight(n, p)
        return factor

    def disk_startup(self, counts: Counts, at: Point) -> Array:
        """S0 of one cycle, where it accesses files. [s]."""
        own = self.capacities.disk_startup
        return np.zeros(()) if own is None else np.where(counts.disk_bytes > 0, own(at), 0.0)

    def compute_rate(self, machine: Machine, at: Point) -> Array:
        """W: that of the phase, else the machine's. [flop/s]."""
        return self._capacity(self.capacities.compute, machine, "compute.rate", at)

    def network_rate(self, machine: Machine, at: Point) -> Array:
        """u: that of the phase, else what saturates the machine's network, else a pair. [B/s]."""
        saturates = machine.network.saturation is not None or "network.saturation" in at
        key = "network.saturation" if saturates else "network.bandwidth"
        return self._capacity(self.capacities.network, machine, key, at)

    def disk_rate(self, machine: Machine, at: Point) -> Array:
        """B of one disk: that of the phase, else the machine's. [B/s]."""
        return self._capacity(self.capacities.disk, machine, "storage.bandwidth", at)

    def of_one_disk(self, counts: Counts, at: Point) -> Array:
        """Bytes of each of the disks that work at once. [B]."""
        disks = self.disks(at)
        require("disks", disks, disks > 0, must="be above 0", hint="Leave it out if there is one.")
        return np.asarray(counts.disk_bytes / disks)

    def latency(self, machine: Machine, at: Point) -> Array:
        """t0: that of the phase, else the machine's, else 0. [s]."""
        own = self.capacities.latency
        amount = own if own is not None else machine.network.latency
        if amount is None:
            return np.asarray(at.get("network.latency", 0.0), dtype=np.float64)
        return amount(at)

    def _computing(self, counts: Counts, machine: Machine, at: Point) -> Array:
        """Time of the steps: what is dealt out goes by what all processors do together [s]."""
        rate = self.compute_rate(machine, at)
        together = self.capacities.together
        if together is None:
            return np.asarray(counts.steps / rate)
        p = np.asarray(at["p"], dtype=np.float64)
        total = together(at)
        require(together.name, total, total > 0, must="be above 0", hint="Sum up every W.")
        share = np.where(p > 1, p / total, 1.0 / rate)
        return np.asarray((counts.steps - counts.shared) / rate + counts.shared * share)

    def _capacity(self, own: Amount | None, machine: Machine, key: str, at: Point) -> Array:
        """Value of a capacity, above 0."""
        if own is None:
            return machine.need(key, at, why=f'law = "{self.law}"')
        return positive(own.name, own(at))


def _time(amount: Array, rate: Callable[[], Array]) -> Array:
    """Time of bytes, where there are any: a rate that nothing needs may be missing. [s]."""
    return np.asarray(amount / rate()) if np.any(amount > 0) else np.zeros(())
