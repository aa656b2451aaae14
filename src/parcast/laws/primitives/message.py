"""Time of one message, as a ping-pong measures it.

    t(m) = t0 + m / r_inf                                                                    [1]_

t0 and r_inf are at least 0 and make the sum of the absolute relative residuals least [D]: short
messages count as much as long ones, and a few disturbed ones, which on a busy machine take ten
times as long, do not move the line. The line is straight: where the protocol changes with the
size, `protocol_switch` says so, and one line for all sizes is then wrong by as much as the two
lines differ.

References
----------
.. [1] R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2,"
   Parallel Computing, vol. 20, no. 3, pp. 389-398, 1994, :doi:`10.1016/S0167-8191(06)80021-9`.
   Ping-pong as COMMS1 of the PARKBENCH low-level benchmarks has it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError, require

MOST_MESSAGES: Final = 64  # sizes of a message that are fitted: all pairs of them are tried
FEWEST_ON_A_SIDE: Final = (
    4  # sizes on each side of a switch: two decide a line, two confirm it [D]
)
BENT: Final = 0.10  # mean relative error of one line from which two are tried [D]
STRAIGHTER: Final = 0.5  # of that error: what two lines must bring it down to [D]


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
