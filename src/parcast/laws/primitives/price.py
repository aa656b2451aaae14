"""Communication primitives: time of a message among P processors, measured or from the network.

    T_q(P, m) = a(P) + b(P) * m ,   a, b in { alpha, alpha + beta*lg P, alpha + beta*P }      [R]

The source fits each primitive "first per P, then one simplified formula for any P", and the
formulas are lost [1]_. Of the nine pairs of forms the one with the lowest cross-validated error is
taken; all coefficients are at least 0. Where a machine has no such figures, a call is priced by
`standard_time` from latency and bandwidth of its network [D]. With one processor nobody
communicates.

The volume m of a call is the buffer of one partner, as the count of the MPI call has it and as the
benchmarks of OSU and Intel print it: of gather, scatter and allgather what one rank gives or gets,
of alltoall what one rank gives each other one; see `parcast.descriptions.machine.VOLUMES`. So a
gather of 1 MB each among 8 ranks has a volume of 1 MB, and its root gets 7 MB. A barrier has none.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, section on modelling communication.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.machine import Barrier, Machine, Primitive
from parcast.errors import FitFailed, ParameterError, require
from parcast.laws.primitives.standard import standard_time
from parcast.numerics import fit_non_negative

Pair = tuple[str, str]  # of forms: that of a(P), then that of b(P)

FORMS: Final = ("constant", "logarithmic", "linear")  # of a(P) and of b(P), simplest first
GROWING: Final = ("logarithmic", "linear")
NO_BYTES: Final = "none"  # form of b(P) of what sends no bytes
_TEXTS: Final = {NO_BYTES: "", "constant": "", "logarithmic": "log2(p)", "linear": "p"}
FEWEST_COUNTS: Final = 3  # of processors: one is left out in turn, and two give a slope


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


def fit_primitive(p: ArrayLike, volume: ArrayLike, time: ArrayLike) -> PrimitiveFit:
    """Choose the forms of a(P) and b(P) by their cross-validated error, and fit them.

    Parameters
    ----------
    p : array_like, shape (runs,)
        Processors of each run of the benchmark, at least 2; three different counts or more. [1]
    volume : array_like, shape (runs,)
        Bytes of the message, at least 0; two different sizes or more. [B]
    time : array_like, shape (runs,)
        Time of one call, above 0. [s]

    Returns
    -------
    PrimitiveFit
        That with the lowest error where each count of processors is left out in turn; of equal
        ones the simplest.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.
    FitFailed
        If there are fewer than three counts of processors or two sizes.

    Examples
    --------
    >>> p, m = np.meshgrid([2.0, 4, 8, 16, 32, 64], [8.0, 1e3, 1e6])
    >>> fit = fit_primitive(p.ravel(), m.ravel(), (2e-5 * np.log2(p) + 1e-8 * m).ravel())
    >>> fit.startup_form, fit.byte_form, float(fit.time(128, 0).round(6))
    ('logarithmic', 'constant', 0.00014)
    """
    counts, sizes, times = (np.asarray(x, dtype=np.float64).ravel() for x in (p, volume, time))
    if not len(counts) == len(sizes) == len(times):
        raise ParameterError(
            "p, volume and time",
            must="be of one length",
            got=f"{len(counts)}, {len(sizes)} and {len(times)}",
            hint="Give each run all three.",
        )
    require("p", counts, counts >= 2, must="be at least 2", hint="One processor sends nothing.")
    require("volume", sizes, sizes >= 0, must="be at least 0", hint="Give it in bytes.")
    if len(np.unique(counts)) < FEWEST_COUNTS or len(np.unique(sizes)) < 2:
        raise FitFailed(
            "A primitive must be measured at three counts of processors and two sizes or more, "
            f"got {len(np.unique(counts))} and {len(np.unique(sizes))}. Measure it at p = 2, 4, "
            "8, 16, 32, 64, each with short and long messages."
        )
    return _chosen(tuple(product(FORMS, FORMS)), counts, sizes, times)


def fit_startup(p: ArrayLike, time: ArrayLike) -> PrimitiveFit:
    """Choose the form of a(P) of a primitive without bytes, a barrier, as `fit_primitive` does.

    Parameters
    ----------
    p : array_like, shape (runs,)
        Processors of each run of the benchmark, at least 2; three different counts or more. [1]
    time : array_like, shape (runs,)
        Time of one call, above 0. [s]

    Returns
    -------
    PrimitiveFit
        Its bytes take no time.

    Raises
    ------
    ParameterError
        If a value lies outside its domain.
    FitFailed
        If there are fewer than three counts of processors.

    Examples
    --------
    >>> fit_startup([2, 4, 8, 16], [1e-6, 2e-6, 3e-6, 4e-6]).startup_form
    'logarithmic'
    """
    counts, times = (np.asarray(x, dtype=np.float64).ravel() for x in (p, time))
    require("p", counts, counts >= 2, must="be at least 2", hint="One processor waits for nobody.")
    if len(np.unique(counts)) < FEWEST_COUNTS:
        raise FitFailed(
            "A barrier must be measured at three counts of processors or more, got "
            f"{len(np.unique(counts))}. Measure it at p = 2, 4, 8, 16, 32, 64."
        )
    alone = tuple((form, NO_BYTES) for form in FORMS)
    return _chosen(alone, counts, np.zeros_like(counts), times)


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


def primitive_time(name: str, machine: Machine, at: Point, volume: Array) -> Array:
    """Time of one call of a primitive on a machine; 0 on one processor.

    Parameters
    ----------
    name : str
        One of `parcast.descriptions.machine.PRIMITIVES`.
    machine : Machine
        Its `primitives` say it, or else its `network`.
    at : mapping
        As for `parcast.descriptions.amount.Amount`.
    volume : ndarray
        Bytes of the buffer of one partner; 0 of a barrier. [B]

    Returns
    -------
    ndarray
        [s]

    Raises
    ------
    ParameterError
        If there are bytes to send and the machine gives no rate for them, or a barrier has some.
    """
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


def grows(form: str, p: Array) -> Array:
    """Give f(P), which multiplies the beta of a form; 0 where it has none."""
    if form in (NO_BYTES, "constant"):
        return np.zeros_like(p)
    return np.log2(p) if form == "logarithmic" else p


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


def _left_out(forms: Pair, p: Array, volume: Array, time: Array) -> float:
    """Root mean square of the relative errors at each count of p, told only the others. [1]."""
    terms = _terms(forms, p, volume)
    errors = np.empty_like(time)
    for count in np.unique(p):
        out = p == count
        if (~out).sum() < terms.shape[1]:
            return np.inf
        fit = fit_non_negative(terms[~out], time[~out])
        errors[out] = fit(terms[out]) / time[out] - 1.0
    return float(np.sqrt(np.mean(errors**2)))


def _simplest_first(pairs: Sequence[Pair]) -> list[Pair]:
    """Give pairs of forms, those with the fewest coefficients first."""
    return sorted(pairs, key=lambda forms: sum(form in GROWING for form in forms))


def _sum(unit: str, coefficients: tuple[float, float], form: str) -> str:
    """Write alpha + beta * f(p) as a formula."""
    texts = []
    for value, text in zip(coefficients, ("", _TEXTS[form]), strict=True):
        if value > 0:
            number = f"{value:.6g} {unit}".strip()
            texts.append(f"{number}*{text}" if text else number)
    return " + ".join(texts) or f"0 {unit}".strip()
