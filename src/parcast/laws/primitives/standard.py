"""Communication primitives from latency and bandwidth alone, as a textbook prices them.

With startup ``a`` of a message, time ``b`` of a byte, and the volume m of one partner,
L = ceil(lg P):

    send, receive        a + b*m                       one message
    broadcast, reduce    L * (a + b*m)                 binomial tree                  [1]_ [2]_
    allreduce            2 * L * (a + b*m)             a reduction, then a broadcast  [2]_
    gather, scatter      L * a + (P - 1) * b*m         binomial tree                  [1]_
    allgather            L * a + (P - 1) * b*m         Bruck, recursive doubling      [1]_
    alltoall             (P - 1) * (a + b*m)           exchange in pairs              [1]_
    barrier              L * a                         dissemination                  [3]_

Use it where nothing was measured. An MPI library takes other algorithms for long messages and for
ranks that share a memory, and nothing here waits for anything else, so that a measured primitive
is always better. Of the many algorithms in the sources these are taken for every length [D].

One message between two processors: a start-up and a time for each byte.

    t(m) = t0 + m / r_inf                                                             [4]_

Use it to read latency and bandwidth off a ping-pong. t0 and r_inf are at least 0 and make the sum
of the absolute relative residuals least [D]: short messages count as much as long ones, and a few
disturbed ones, which on a busy machine take ten times as long, do not move the line. The line is
straight: where the protocol changes with the size, `protocol_switch` says so, and one line for
all sizes is then wrong by as much as the two lines differ.

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
.. [4] R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2,"
   Parallel Computing, vol. 20, no. 3, pp. 389-398, 1994, :doi:`10.1016/S0167-8191(06)80021-9`.
   Ping-pong as COMMS1 of the PARKBENCH low-level benchmarks has it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError, require

SLACK = 1e-9  # by which lg P may exceed a whole number by rounding
Counts = Callable[[Array], tuple[Array, Array]]  # startups and volumes after one another


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


def standard_time(
    name: str, p: ArrayLike, volume: ArrayLike, *, startup: ArrayLike, byte: ArrayLike
) -> Array:
    """Time of one call of a primitive from startup and rate of a message; 0 on one processor.

    Parameters
    ----------
    name : str
        One of `parcast.descriptions.machine.PRIMITIVES`.
    p : array_like, shape (...)
        Processors, at least 1. [1]
    volume : array_like, broadcastable with `p`
        Buffer of one partner, see `parcast.descriptions.machine.VOLUMES`; a barrier does not look
        at it. [B]
    startup : array_like, broadcastable with `p`
        Of one message. [s]
    byte : array_like, broadcastable with `p`
        Time of one byte. [s/B]

    Returns
    -------
    ndarray, shape of all broadcast together
        [s]

    Examples
    --------
    Eight ranks give the root 1 MB each: three startups of 10 us, and 7 MB at 1 GB/s.

    >>> round(float(standard_time("gather", 8, 1e6, startup=10e-6, byte=1e-9)), 6)
    0.00703
    """
    p = np.asarray(p, dtype=np.float64)
    messages, volumes = COUNTS[name](np.maximum(p, 2.0))
    time = messages * np.asarray(startup) + volumes * np.asarray(byte) * np.asarray(volume)
    return np.asarray(np.where(p > 1, time, 0.0))


MOST_SIZES = 64  # that are fitted: all pairs of them are tried
FEWEST_ON_A_SIDE = 4  # sizes below and above a switch: two decide a line, two confirm it [D]
BENT = 0.10  # mean relative error of one line from which two are tried [D]
STRAIGHTER = 0.5  # of that error: what two lines must bring it down to [D]


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
    """Start-up and time of a byte that fit measured messages best.

    Parameters
    ----------
    volume : array_like, shape (runs,)
        Bytes of each message, at least 0; two different sizes or more. [B]
    time : array_like, shape (runs,)
        Time of each message one way, above 0. [s]

    Returns
    -------
    MessageFit
        Of the lines through two of the runs, and those through one and the origin or of no
        slope, that with the least sum of absolute relative residuals. It is the least of all
        lines. Of more than 64 runs, 64 spread evenly over them by size are fitted.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.
    FitFailed
        If there are fewer than two sizes.

    Examples
    --------
    >>> fit = fit_message([1e3, 1e4, 1e5, 1e6], [2e-6, 1.1e-5, 9.0, 1.001e-3])
    >>> print(f"{fit.startup:.3g} s, {1 / fit.byte:.3g} B/s")
    1e-06 s, 1e+09 B/s
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
    """Size from which messages seem to be sent in another way.

    Parameters
    ----------
    volume, time : array_like, shape (runs,)
        As for `fit_message`.

    Returns
    -------
    float or None
        First size of the upper of two lines, where these halve a mean relative error of at least
        10 % that one line has; None where one line does, or there are too few sizes. [B]

    Raises
    ------
    ParameterError, FitFailed
        As `fit_message`.

    Examples
    --------
    >>> sizes = 2.0 ** np.arange(4, 21)
    >>> protocol_switch(sizes, np.where(sizes < 8192, 1e-6, 2e-5) + sizes / 1e10)
    8192.0
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
            must="be of one length",
            got=f"{len(volumes)} and {len(times)}",
            hint="Give each run both.",
        )
    ok = (volumes >= 0) & np.isfinite(volumes)
    require("volume", volumes, ok, must="be at least 0", hint="Give it in bytes.")
    ok = (times > 0) & np.isfinite(times)
    require("time", times, ok, must="be above 0", hint="Leave out runs that failed.")
    if len(np.unique(volumes)) < 2:
        raise FitFailed(
            "Messages must be of two sizes or more to tell a latency and a bandwidth, got "
            f"{len(np.unique(volumes))}. Measure short and long ones."
        )
    order = np.argsort(volumes, kind="stable")
    if len(order) > MOST_SIZES:
        order = order[np.linspace(0, len(order) - 1, MOST_SIZES).round().astype(int)]
    return volumes[order], times[order]
