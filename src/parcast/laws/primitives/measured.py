"""Time of one call of a communication primitive: measured for every P, or from textbook formulas.

    T_q(P, m) = a(P) + b(P) * m ,   a, b in { alpha, alpha + beta*lg P, alpha + beta*P }      [R]

The source fits each primitive "first per P, then one simplified formula for any P", and the
formulas are lost [4]_. Of three processor counts or more, the one of the nine pairs of forms
with the lowest cross-validated error is taken; all coefficients are at least 0. With fewer counts,
the line of the largest is taken for every P [D], which a machine file then says. Of one size, or
of a barrier, there is a startup and nothing else.

No call of MPI takes no time. A line through long messages often meets the axis at 0 or below, and
a sum with coefficients of at least 0 then has no startup, so that a million short calls would cost
next to nothing. The shortest message that was measured is mostly startup: at least half of its
time is taken for one [D].

Where the description of a machine has no measured primitive, textbook formulas are used [D], with
startup ``a`` of a message, time ``b`` of a byte, the volume m of one partner, and L = ceil(lg P):

    send, receive        a + b*m                       one message
    broadcast, reduce    L * (a + b*m)                 binomial tree                  [1]_ [2]_
    allreduce            2 * L * (a + b*m)             a reduction, then a broadcast  [2]_
    gather, scatter      L * a + (P - 1) * b*m         binomial tree                  [1]_
    allgather            L * a + (P - 1) * b*m         Bruck, recursive doubling      [1]_
    alltoall             (P - 1) * (a + b*m)           exchange in pairs              [1]_
    barrier              L * a                         dissemination                  [3]_

One processor does not communicate. Use the table only if nothing was measured: an MPI library uses
other algorithms for long messages and for ranks that share a memory, and the formulas contain no
waiting, so a measured primitive is always better. Of the many algorithms in the sources these are
used for every length [D].

The volume m of a call is the buffer of one partner, like the count in the MPI call and as printed
by the benchmarks of OSU and Intel: for gather, scatter and allgather what one rank sends or
receives, for alltoall what one rank sends to each other one; see
`parcast.descriptions.machine.VOLUMES`. So a gather of 1 MB each among 8 ranks has a volume of
1 MB, and its root receives 7 MB. A barrier has none.

References
----------
.. [1] R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
   operations in MPICH," Int. J. High Perform. Comput. Appl., vol. 19, no. 1, pp. 49-66, 2005,
   :doi:`10.1177/1094342005051521`, its costs of a binomial tree, of recursive doubling and of
   exchange in pairs; n there is all the bytes of a gather, or those one rank gives in an
   all-to-all: P * m here.
.. [2] E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
   practice, and experience," Concurrency Comput. Pract. Exper., vol. 19, no. 13, pp. 1749-1783,
   2007, :doi:`10.1002/cpe.1206`.
.. [3] D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization,"
   Int. J. Parallel Program., vol. 17, no. 1, pp. 1-17, 1988, :doi:`10.1007/BF01379320`.
.. [4] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, section on modelling communication.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.machine import Barrier, Machine, Primitive
from parcast.errors import FitFailed, ParameterError, require
from parcast.laws.primitives.message import fit_message
from parcast.numerics import fit_non_negative

Pair = tuple[str, str]  # of forms: that of a(P), then that of b(P)
Times = Mapping[int, Mapping[int, float]]  # by processors and bytes [s]

FORMS: Final = ("constant", "logarithmic", "linear")  # of a(P) and of b(P), simplest first
GROWING: Final = ("logarithmic", "linear")
NO_BYTES: Final = "none"  # form of b(P) of what sends no bytes
_TEXTS: Final = {NO_BYTES: "", "constant": "", "logarithmic": "log2(p)", "linear": "p"}
FEWEST_COUNTS: Final = 3  # of processors: one is left out in turn, and two give a slope
MOST_SIZES: Final = 12  # of a primitive at each count that are fitted: more cost time, tell little
LEAST: Final = 0.5  # share of the time of the shortest message that its startup has at least [D]
SLACK = 1e-9  # by which lg P may exceed a whole number by rounding
Counts = Callable[[Array], tuple[Array, Array]]  # startups and volumes after one another


@dataclass(frozen=True, kw_only=True, slots=True)
class PrimitiveFit:
    """A primitive as its micro-benchmark measured it; made by `fit_primitive`."""

    startup_form: str  # of a(P), one of FORMS
    byte_form: str  # of b(P); NO_BYTES of a barrier
    startup: tuple[float, float]  # alpha and beta of a(P) [s]
    byte: tuple[float, float]  # alpha and beta of b(P) [s/B]
    error: float  # cross-validated: root mean square of the relative error [1]

    def time(self, p: ArrayLike, volume: ArrayLike) -> Array:
        """Time of a message of `volume` bytes among `p` processors. [s]."""
        p, volume = np.asarray(p, dtype=np.float64), np.asarray(volume, dtype=np.float64)
        a = self.startup[0] + self.startup[1] * grows(self.startup_form, p)
        b = self.byte[0] + self.byte[1] * grows(self.byte_form, p)
        return np.asarray(np.where(p > 1, a + b * volume, 0.0))

    def described(self) -> dict[str, str]:
        """Keys `startup` and `bandwidth` for the [primitives] of a machine file."""
        keys = {"startup": _sum("s", self.startup, self.startup_form)}
        if any(self.byte):
            keys["bandwidth"] = f"1 B/s / ({_sum('', self.byte, self.byte_form)})"
        return keys


def measured_primitive(times: Times) -> PrimitiveFit:
    """Formula of a primitive for every P and size, from times of one call, above 0.

    Its error is cross-validated where there are three counts or more, and else the mean absolute
    relative residual of the line.
    """
    runs = [(p, m, t) for p, of_size in times.items() for m, t in of_size.items()]
    if not runs:
        raise FitFailed("A primitive must have been measured, got no time. Measure it.")
    counts, sizes, seconds = (np.array(x, dtype=np.float64) for x in zip(*runs, strict=True))
    many = len(times) >= FEWEST_COUNTS
    if len(np.unique(sizes)) < 2:
        return fit_startup(counts, seconds) if many else _only_startup(times)
    if many:
        return with_least_startup(fit_primitive(counts, sizes, seconds), times)
    largest = times[max(times)]
    if len(largest) < 2:
        return _only_startup(times)
    line = fit_message(list(largest), list(largest.values()))
    return of_line(line.startup, line.byte, line.error, times)


def of_line(startup: float, byte: float, error: float, times: Times) -> PrimitiveFit:
    """Formula of a line, of the largest count of `times`, which stands for every P.

    `startup` [s], half the time of the shortest message at least, and time of a `byte` [s/B];
    `error` is the mean absolute relative residual [1].
    """
    fit = PrimitiveFit(
        startup_form="constant",
        byte_form="constant",
        startup=(startup, 0.0),
        byte=(byte, 0.0),
        error=error,
    )
    return with_least_startup(fit, times)


def chosen_sizes(sizes: list[int]) -> list[int]:
    """Sizes spread evenly over those that were measured, not too many. [B]."""
    if len(sizes) <= MOST_SIZES:
        return sizes
    chosen = np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int)
    return [sizes[i] for i in chosen]


def chosen_times(times: Times) -> dict[int, dict[int, float]]:
    """Times at sizes above 0 that are chosen of those at any count; no count without one."""
    chosen = set(chosen_sizes(sorted({m for of_size in times.values() for m in of_size if m > 0})))
    kept = {p: {m: t for m, t in of.items() if m in chosen} for p, of in times.items()}
    return {p: of for p, of in kept.items() if of}


def fit_primitive(p: ArrayLike, volume: ArrayLike, time: ArrayLike) -> PrimitiveFit:
    """Choose the forms of a(P) and b(P) by their cross-validated error, and fit them.

    Each count of processors `p`, three or more, is left out in turn; `volume` [B] has two sizes
    or more and `time` [s] is that of one call, all (runs,). Of equal errors the simplest pair of
    forms is taken.
    """
    counts, sizes, times = (np.asarray(x, dtype=np.float64).ravel() for x in (p, volume, time))
    if not len(counts) == len(sizes) == len(times):
        raise ParameterError(
            "p, volume and time",
            must="have the same length",
            got=f"{len(counts)}, {len(sizes)} and {len(times)}",
            hint="Give each run all three.",
        )
    require("p", counts, counts >= 2, must="be at least 2", hint="One processor sends nothing.")
    require("volume", sizes, sizes >= 0, must="be at least 0", hint="Give it in bytes.")
    if len(np.unique(counts)) < FEWEST_COUNTS or len(np.unique(sizes)) < 2:
        raise FitFailed(
            "A primitive must be measured at three processor counts and two sizes or more, "
            f"got {len(np.unique(counts))} and {len(np.unique(sizes))}. Measure it at p = 2, 4, "
            "8, 16, 32, 64, each with short and long messages."
        )
    return _chosen(tuple(product(FORMS, FORMS)), counts, sizes, times)


def fit_startup(p: ArrayLike, time: ArrayLike) -> PrimitiveFit:
    """Choose the form of a(P) of what has no bytes, a barrier, as `fit_primitive` does."""
    counts, times = (np.asarray(x, dtype=np.float64).ravel() for x in (p, time))
    require(
        "p", counts, counts >= 2, must="be at least 2", hint="A single processor does not wait."
    )
    if len(np.unique(counts)) < FEWEST_COUNTS:
        raise FitFailed(
            "A barrier must be measured at three processor counts or more, got "
            f"{len(np.unique(counts))}. Measure it at p = 2, 4, 8, 16, 32, 64."
        )
    alone = tuple((form, NO_BYTES) for form in FORMS)
    return _chosen(alone, counts, np.zeros_like(counts), times)


def least_startup(times: Mapping[int, float]) -> float:
    """Least startup of a call [s], from its times [s] by bytes [B]."""
    return LEAST * times[min(times)]


def with_least_startup(
    fit: PrimitiveFit, times: Mapping[int, Mapping[int, float]]
) -> PrimitiveFit:
    """Raise the startup of a formula where it is less than a call can have at a P of `times`.

    a(P) is then raised to suffice at each, and b(P) fitted anew to what it leaves of the times. Of
    fewer than three counts only the largest is looked at, which stands for every P.
    """
    if len(times) < FEWEST_COUNTS:
        times = {max(times): times[max(times)]}
    counts = np.array(sorted(times), dtype=np.float64)
    least = np.array([least_startup(times[int(p)]) for p in counts])
    startups = fit.time(counts, 0.0)
    if np.all(startups >= least):
        return fit
    form, startup = "constant", (float(max(startups[-1], least[-1])), 0.0)
    if len(counts) >= FEWEST_COUNTS:
        raised = fit_startup(counts, np.maximum(startups, least))
        factor = max(float(np.max(least / raised.time(counts, 0.0))), 1.0)
        form, startup = (
            raised.startup_form,
            (factor * raised.startup[0], factor * raised.startup[1]),
        )
    fit = replace(fit, startup_form=form, startup=startup)
    runs = [(p, m, t) for p, of_size in times.items() for m, t in of_size.items()]
    p, volume, time = (np.array(x, dtype=np.float64) for x in zip(*runs, strict=True))
    fit = replace(fit, byte=_byte(fit, p, volume, time))
    error = float(np.sqrt(np.mean((fit.time(p, volume) / time - 1.0) ** 2)))
    return replace(fit, error=max(error, fit.error))


def _byte(fit: PrimitiveFit, p: Array, volume: Array, time: Array) -> tuple[float, float]:
    """Fit b(P) to what its startup leaves of the times; where that is nothing, it stays."""
    terms = np.stack([volume, volume * grows(fit.byte_form, p)], axis=1)
    left = np.maximum(time - fit.time(p, 0.0), 0.0)
    scale = max(float(volume.max()), 1.0)  # the solver likes numbers near 1
    (alpha, beta), _ = optimize.nnls(terms / time[:, None] / scale, left / time)
    byte = (float(alpha) / scale, float(beta) / scale)
    return byte if any(byte) else fit.byte


def _only_startup(times: Times) -> PrimitiveFit:
    """Startup of the largest count, for every P."""
    seconds = list(times[max(times)].values())
    return PrimitiveFit(
        startup_form="constant",
        byte_form=NO_BYTES,
        startup=(float(np.median(seconds)), 0.0),
        byte=(0.0, 0.0),
        error=0.0,
    )


def _chosen(pairs: Sequence[Pair], p: Array, volume: Array, time: Array) -> PrimitiveFit:
    """Fit the pair of forms with the least cross-validated error."""
    errors = {forms: _left_out(forms, p, volume, time) for forms in pairs}
    least = min(errors.values())
    # Noise-free times are met by every form that holds the right one: take the simplest of them.
    forms = next(x for x in _simplest_first(pairs) if errors[x] <= least * (1 + 1e-9) + 1e-9)
    fit = fit_non_negative(_terms(forms, p, volume), time)
    a0, a1, b0, b1 = _spread_out(forms, fit.coefficients)
    return PrimitiveFit(
        startup_form=forms[0],
        byte_form=forms[1],
        startup=(a0, a1),
        byte=(b0, b1),
        error=errors[forms],
    )


def _left_out(forms: Pair, p: Array, volume: Array, time: Array) -> float:
    """Root mean square of the relative errors at each count of p, from the others. [1]."""
    terms = _terms(forms, p, volume)
    errors = np.empty_like(time)
    for count in np.unique(p):
        out = p == count
        if (~out).sum() < terms.shape[1]:
            return np.inf
        fit = fit_non_negative(terms[~out], time[~out])
        errors[out] = fit(terms[out]) / time[out] - 1.0
    return float(np.sqrt(np.mean(errors**2)))


def _terms(forms: Pair, p: Array, volume: Array) -> Array:
    """Terms of a pair of forms, shape (runs, 1 to 4)."""
    columns = []
    for form, factor in zip(forms, (np.ones_like(p), volume), strict=True):
        if form == NO_BYTES:
            continue
        columns.append(factor)
        if form != "constant":
            columns.append(factor * grows(form, p))
    return np.stack(columns, axis=1)


def _spread_out(forms: Pair, coefficients: Array) -> Iterator[float]:
    """Give alpha and beta of both forms, 0 for what a form does not have."""
    left = iter(coefficients.tolist())
    for form in forms:
        yield next(left) if form != NO_BYTES else 0.0
        yield next(left) if form not in (NO_BYTES, "constant") else 0.0


def _simplest_first(pairs: Sequence[Pair]) -> list[Pair]:
    """Give pairs of forms, those with the fewest coefficients first."""
    return sorted(pairs, key=lambda forms: sum(form in GROWING for form in forms))


def grows(form: str, p: Array) -> Array:
    """Give f(P), which multiplies the beta of a form; 0 where it has none."""
    if form in (NO_BYTES, "constant"):
        return np.zeros_like(p)
    return np.log2(p) if form == "logarithmic" else p


def _sum(unit: str, coefficients: tuple[float, float], form: str) -> str:
    """Write alpha + beta * f(p) as a formula."""
    texts = []
    for value, text in zip(coefficients, ("", _TEXTS[form]), strict=True):
        if value > 0:
            number = f"{value:.6g} {unit}".strip()
            texts.append(f"{number}*{text}" if text else number)
    return " + ".join(texts) or f"0 {unit}".strip()


def primitive_time(name: str, machine: Machine, at: Point, volume: Array) -> Array:
    """Time of one call of a primitive on a machine [s], of `volume` bytes; 0 on one processor."""
    if name == "barrier":
        hint = "A barrier sends no bytes: leave its volume out."
        require("volume", np.asarray(volume), np.asarray(volume) == 0, must="be 0", hint=hint)
    p = np.asarray(at["p"], dtype=np.float64)
    known = figures_of(machine, name)
    if known is not None:
        alone = np.maximum(p, 2.0)  # a formula need not have a value where nothing is sent
        there = {**at, "p": alone}
        time = known.startup(there) if known.startup is not None else np.zeros(())
        if np.any(volume > 0):
            time = time + volume / _rate(known.bandwidth, name, machine, there)
        return np.asarray(np.where(p > 1, time, 0.0))
    network = machine.network
    startup = network.latency(at) if network.latency is not None else np.zeros(())
    byte = np.zeros(())
    if np.any(volume > 0):
        byte = 1.0 / machine.need("network.bandwidth", at, why=f"a region of kind {name}")
    return standard_time(name, p, volume, startup=startup, byte=byte)


def figures_of(machine: Machine, name: str) -> Primitive | Barrier | None:
    """What a machine file says of a primitive; None where it says nothing."""
    figures: Primitive | Barrier = getattr(machine.primitives, name)
    is_given = figures.startup is not None or figures.bandwidth is not None
    return figures if is_given else None


def _rate(bandwidth: Amount | None, name: str, machine: Machine, at: Point) -> Array:
    """Rate of the bytes of a message, above 0."""
    key = f"primitives.{name}.bandwidth"
    if bandwidth is None:
        raise ParameterError(
            key,
            must=f"be given in the description of {machine.name}: a region sends bytes with it",
            hint="Add it beside its startup.",
        )
    rate = bandwidth(at)
    ok = (rate > 0) & np.isfinite(rate)
    require(key, rate, ok, must="be above 0", hint="Give the rate that was measured.")
    return rate


def standard_time(
    name: str, p: ArrayLike, volume: ArrayLike, *, startup: ArrayLike, byte: ArrayLike
) -> Array:
    """Time of one call [s] from `startup` [s] and time of a `byte` [s/B] of a message.

    Eight ranks give the root 1 MB each: three startups of 10 us, and 7 MB at 1 GB/s.

    >>> round(float(standard_time("gather", 8, 1e6, startup=10e-6, byte=1e-9)), 6)
    0.00703
    """
    p = np.asarray(p, dtype=np.float64)
    messages, volumes = COUNTS[name](np.maximum(p, 2.0))
    time = messages * np.asarray(startup) + volumes * np.asarray(byte) * np.asarray(volume)
    return np.asarray(np.where(p > 1, time, 0.0))


def levels(p: Array) -> Array:
    """Levels of a tree of `p` processors: ceil(lg p), at least 1 of two or more."""
    return np.asarray(np.maximum(np.ceil(np.log2(p) - SLACK), 1.0))


def _message(p: Array) -> tuple[Array, Array]:
    return np.ones_like(p), np.ones_like(p)


def _tree(p: Array) -> tuple[Array, Array]:
    return levels(p), levels(p)


def _two_trees(p: Array) -> tuple[Array, Array]:
    return 2.0 * levels(p), 2.0 * levels(p)


def _of_parts(p: Array) -> tuple[Array, Array]:
    return levels(p), p - 1.0


def _in_pairs(p: Array) -> tuple[Array, Array]:
    return p - 1.0, p - 1.0


def _no_bytes(p: Array) -> tuple[Array, Array]:
    return levels(p), np.zeros_like(p)


COUNTS: Final[dict[str, Counts]] = {
    "send": _message,
    "receive": _message,
    "broadcast": _tree,
    "reduce": _tree,
    "allreduce": _two_trees,
    "gather": _of_parts,
    "scatter": _of_parts,
    "allgather": _of_parts,
    "alltoall": _in_pairs,
    "barrier": _no_bytes,
}
WORDS: Final = {  # each of `COUNTS`, for those who read of it
    "send": "a message",
    "receive": "a message",
    "broadcast": "a tree of ceil(log2 p) messages",
    "reduce": "a tree of ceil(log2 p) messages",
    "allreduce": "two trees of ceil(log2 p) messages",
    "gather": "ceil(log2 p) startups and p - 1 volumes",
    "scatter": "ceil(log2 p) startups and p - 1 volumes",
    "allgather": "ceil(log2 p) startups and p - 1 volumes",
    "alltoall": "p - 1 messages",
    "barrier": "ceil(log2 p) startups",
}
