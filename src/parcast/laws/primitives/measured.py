"""Communication as its benchmarks measured it: a primitive for every P, and one message.

    T_q(P, m) = a(P) + b(P) * m ,   a, b in { alpha, alpha + beta*lg P, alpha + beta*P }      [R]
    t(m)      = t0 + m / r_inf                                                               [2]_

The source fits each primitive "first per P, then one simplified formula for any P", and the
formulas are lost [1]_. Of three processor counts or more, the one of the nine pairs of forms
with the lowest cross-validated error is taken; all coefficients are at least 0. With fewer counts,
the line of the largest is taken for every P [D], which a machine file then says. Of one size, or
of a barrier, there is a startup and nothing else.

No call of MPI takes no time. A line through long messages often meets the axis at 0 or below, and
a sum with coefficients of at least 0 then has no startup, so that a million short calls would cost
next to nothing. The shortest message that was measured is mostly startup: at least half of its
time is taken for one [D].

Of one message, as a ping-pong measures it, t0 and r_inf are at least 0 and make the sum of the
absolute relative residuals least [D]: short messages count as much as long ones, and a few
disturbed ones, which on a busy machine take ten times as long, do not move the line. The line is
straight: where the protocol changes with the size, `protocol_switch` says so, and one line for
all sizes is then wrong by as much as the two lines differ.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, section on modelling communication.
.. [2] R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2,"
   Parallel Computing, vol. 20, no. 3, pp. 389-398, 1994, :doi:`10.1016/S0167-8191(06)80021-9`.
   Ping-pong as COMMS1 of the PARKBENCH low-level benchmarks has it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError, require
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
MOST_MESSAGES: Final = 64  # sizes of a message that are fitted: all pairs of them are tried
FEWEST_ON_A_SIDE: Final = (
    4  # sizes on each side of a switch: two decide a line, two confirm it [D]
)
BENT: Final = 0.10  # mean relative error of one line from which two are tried [D]
STRAIGHTER: Final = 0.5  # of that error: what two lines must bring it down to [D]


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


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageFit:
    """Time of one message; made by `fit_message`."""

    startup: float  # t0 [s]
    byte: float  # 1 / r_inf [s/B]
    error: float  # mean absolute relative residual [1]

    def time(self, volume: ArrayLike) -> Array:
        """Time of a message of `volume` bytes. [s]."""
        return np.asarray(self.startup + self.byte * np.asarray(volume, dtype=np.float64))


def fit_message(volume: ArrayLike, time: ArrayLike) -> MessageFit:
    """Start-up and time of a byte that fit messages of `volume` [B] and `time` [s], (runs,), best.

    Of the lines through two of the runs, and those through one and the origin or of no slope, that
    with the least sum of absolute relative residuals, which is the least of all lines. Of more
    than 64 runs, 64 spread evenly over them by size are fitted.
    """
    volumes, times = _checked(volume, time)
    one, other = np.triu_indices(len(volumes), k=1)
    apart = volumes[other] - volumes[one]
    ok = apart > 0
    slopes = (times[other] - times[one])[ok] / apart[ok]
    starts = times[one][ok] - slopes * volumes[one][ok]
    through_origin = times[volumes > 0] / volumes[volumes > 0]
    bytes_ = np.concatenate([slopes, np.zeros(len(times)), through_origin])
    startups = np.concatenate([starts, times, np.zeros(len(through_origin))])
    allowed = (bytes_ >= 0) & (startups >= 0)
    bytes_, startups = bytes_[allowed], startups[allowed]
    errors = np.abs((startups[:, None] + bytes_[:, None] * volumes) / times - 1.0).mean(axis=1)
    best = int(np.argmin(errors))
    return MessageFit(
        startup=float(startups[best]), byte=float(bytes_[best]), error=float(errors[best])
    )


def protocol_switch(volume: ArrayLike, time: ArrayLike) -> float | None:
    """Size from which messages seem to be sent in another way [B], or None.

    It is the first size of the upper of two lines, where these halve a mean relative error of at
    least 10 % that one line has; None where one line does, or there are too few sizes.
    """
    volumes, times = _checked(volume, time)
    whole = fit_message(volumes, times)
    if whole.error < BENT:
        return None
    best, switch = STRAIGHTER * whole.error, None
    for first in np.unique(volumes)[FEWEST_ON_A_SIDE : 1 - FEWEST_ON_A_SIDE]:
        above = volumes >= first
        below_error, above_error = (
            fit_message(volumes[side], times[side]).error for side in (~above, above)
        )
        error = (below_error * (~above).sum() + above_error * above.sum()) / len(volumes)
        if error < best:
            best, switch = error, float(first)
    return switch


def _checked(volume: ArrayLike, time: ArrayLike) -> tuple[Array, Array]:
    """Give sizes and times in the order of the sizes, not too many, or refuse them."""
    volumes, times = (np.asarray(x, dtype=np.float64).ravel() for x in (volume, time))
    if len(volumes) != len(times):
        raise ParameterError(
            "volume and time",
            must="have the same length",
            got=f"{len(volumes)} and {len(times)}",
            hint="Give each run both.",
        )
    ok = (volumes >= 0) & np.isfinite(volumes)
    require("volume", volumes, ok, must="be at least 0", hint="Give it in bytes.")
    ok = (times > 0) & np.isfinite(times)
    require("time", times, ok, must="be above 0", hint="Leave out runs that failed.")
    if len(np.unique(volumes)) < 2:
        raise FitFailed(
            "Messages must have two sizes or more to determine latency and bandwidth, got "
            f"{len(np.unique(volumes))}. Measure short and long ones."
        )
    order = np.argsort(volumes, kind="stable")
    if len(order) > MOST_MESSAGES:
        order = order[np.linspace(0, len(order) - 1, MOST_MESSAGES).round().astype(int)]
    return volumes[order], times[order]
