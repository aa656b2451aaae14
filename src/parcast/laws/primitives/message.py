"""Time of one message, as a ping-pong measures it.

    t(m) = t0 + m / r_inf                          `fit_message`: one line for all sizes      [1]_
    t(m) = t_i + m / r_i ,  m_i <= m < m_i+1       `fit_messages`: pieces, most often one      [D]

The values of a line make the sum of the absolute relative residuals least [D]: short messages
count as much as long ones, and a few disturbed ones, which on a busy machine take ten times as
long, do not move it.

A line is cut where two fit much better than one, again and again. There are two reasons. Where the
protocol changes, longer messages have a larger startup and often a higher rate. Where a link is
limited after a burst, short messages pass at the rate of the wire and long ones at that of the
limit: the time bends. One line through all sizes then has the rate of neither: with ten sizes, of
which three pass at 12 MB/s, 80 to 800 MB/s. The line of the longer ones meets the axis below 0, by
what the burst saved, so only the first piece must have a startup of at least 0.

References
----------
.. [1] R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2,"
   Parallel Computing, vol. 20, no. 3, pp. 389-398, 1994, :doi:`10.1016/S0167-8191(06)80021-9`.
   Ping-pong as COMMS1 of the PARKBENCH low-level benchmarks has it.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError, require

MOST_MESSAGES: Final = 64  # sizes of a message that are fitted: all pairs of them are tried
FEWEST_BELOW: Final = 4  # sizes below a switch: two decide a line, two confirm it [D]
FEWEST_ABOVE: Final = 3  # sizes from a switch on: one confirms it, as few are that long [D]
FEWEST_LONG: Final = 3  # long sizes that decide a rate: two give a line whatever they are
LONG: Final = 64  # times the largest message is larger than the least of the long ones [D]
SLOWER: Final = 2.0  # times as long for a byte, from which a switch is a bend [D]
BENT: Final = 0.10  # mean relative error of one line from which two are tried [D]
STRAIGHTER: Final = 0.5  # of that error: what two lines must bring it down to [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageFit:
    """One line of the time of messages; made by `fit_message`."""

    startup: float  # t0; below 0 only above a bend [s]
    byte: float  # 1 / r_inf [s/B]
    error: float  # mean absolute relative residual [1]
    first: float = 0.0  # size from which it holds [B]

    def time(self, volume: ArrayLike) -> Array:
        """Time of a message of `volume` bytes. [s]."""
        return np.asarray(self.startup + self.byte * np.asarray(volume, dtype=np.float64))


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageCurve:
    """Time of messages of all sizes in pieces, by ascending size; made by `fit_messages`."""

    pieces: tuple[MessageFit, ...]

    @property
    def startup(self) -> float:
        """That of the shortest messages. [s]."""
        return self.pieces[0].startup

    @property
    def byte(self) -> float:
        """That of the longest messages. [s/B]."""
        return self.pieces[-1].byte

    @property
    def switches(self) -> tuple[float, ...]:
        """First measured size of each piece but the first. [B]."""
        return tuple(piece.first for piece in self.pieces[1:])

    @property
    def bend(self) -> float | None:
        """First measured size from which a byte takes twice as long or more, or None. [B]."""
        pairs = zip(self.pieces, self.pieces[1:], strict=False)
        return next((y.first for x, y in pairs if y.byte > SLOWER * x.byte), None)

    def time(self, volume: ArrayLike) -> Array:
        """Time of a message of `volume` bytes. [s].

        Between the last size that was measured below a bend and the first above, the lines meet.
        """
        volume = np.asarray(volume, dtype=np.float64)
        times = self.pieces[0].time(volume)
        for below, above in zip(self.pieces, self.pieces[1:], strict=False):
            begin = above.first
            if above.startup < below.startup and above.byte > below.byte:
                begin = min(begin, (below.startup - above.startup) / (above.byte - below.byte))
            times = np.where(volume >= begin, above.time(volume), times)
        return times


def fit_messages(volume: ArrayLike, time: ArrayLike) -> MessageCurve:
    """Lines that fit messages of `volume` [B] and `time` [s], (runs,), cut where they bend.

    Each cut halves a mean relative error of at least 10% that one line has, and leaves at least
    four sizes below and three above it.

    Examples
    --------
    >>> sizes = np.array([1, 64, 1024, 16384, 65536, 262144, 1048576])
    >>> burst = 1e-4 + sizes / 1e9  # and after 32 kB 12 MB/s
    >>> curve = fit_messages(sizes, np.maximum(burst, burst + (sizes - 32e3) / 12e6))
    >>> print(f"{curve.bend:g} B, {1 / curve.pieces[0].byte:.3g} B/s, {1 / curve.byte:.3g} B/s")
    65536 B, 1e+09 B/s, 1.19e+07 B/s
    """
    volumes, times = _checked(volume, time)
    cut, firsts = [(volumes, times)], []
    while cut:
        sizes, seconds = cut.pop()
        switch = _switch(sizes, seconds, is_first=sizes[0] == volumes[0])
        if switch is None:
            firsts.append(float(sizes[0]))
        else:
            cut += [(sizes[s], seconds[s]) for s in (sizes < switch, sizes >= switch)]
    firsts.sort()
    pieces: list[MessageFit] = []
    for first, end in zip(firsts, [*firsts[1:], np.inf], strict=True):
        inside = (volumes >= first) & (volumes < end)
        fit = _line(volumes[inside], times[inside], from_zero=not pieces)
        pieces.append(replace(fit, first=first))
    return MessageCurve(pieces=tuple(pieces))


def fit_long_messages(volume: ArrayLike, time: ArrayLike) -> MessageFit | None:
    """Line of the long messages, which decides the rate; None where fewer than three are long.

    Long are those from 1/64 of the largest on, or fewer, those above the last switch.
    """
    volumes, times = _checked(volume, time)
    pieces = fit_messages(volumes, times).pieces
    last = max(pieces[-1].first, volumes[-1] / LONG, min(volumes[volumes > 0]))
    long = volumes >= last
    if len(pieces) > 1 and len(np.unique(volumes[long])) < FEWEST_LONG:
        long = volumes >= pieces[-1].first
    if len(np.unique(volumes[long])) < FEWEST_LONG:
        return None
    fit = _line(volumes[long], times[long], from_zero=len(pieces) == 1)
    return replace(fit, first=float(volumes[long][0]))


def fit_message(volume: ArrayLike, time: ArrayLike) -> MessageFit:
    """Start-up and time of a byte that fit messages of `volume` [B] and `time` [s], (runs,), best.

    Of the lines through two of the runs, and those through one and the origin or of no slope, that
    with the least sum of absolute relative residuals, which is the least of all lines. Of more
    than 64 runs, 64 spread evenly over them by size are fitted.
    """
    return _line(*_checked(volume, time), from_zero=True)


def _line(volumes: Array, times: Array, *, from_zero: bool) -> MessageFit:
    """Line of least absolute relative residuals; from a startup of at least 0, or from any."""
    one, other = np.triu_indices(len(volumes), k=1)
    apart = volumes[other] - volumes[one]
    ok = apart > 0
    slopes = (times[other] - times[one])[ok] / apart[ok]
    starts = times[one][ok] - slopes * volumes[one][ok]
    through_origin = times[volumes > 0] / volumes[volumes > 0]
    bytes_ = np.concatenate([slopes, np.zeros(len(times)), through_origin])
    startups = np.concatenate([starts, times, np.zeros(len(through_origin))])
    allowed = (bytes_ >= 0) & ((startups >= 0) | (not from_zero))
    bytes_, startups = bytes_[allowed], startups[allowed]
    errors = np.abs((startups[:, None] + bytes_[:, None] * volumes) / times - 1.0).mean(axis=1)
    best = int(np.argmin(errors))
    return MessageFit(
        startup=float(startups[best]), byte=float(bytes_[best]), error=float(errors[best])
    )


def _switch(volumes: Array, times: Array, *, is_first: bool) -> float | None:
    """First size of the upper of two lines, where these fit much better than one. [B]."""
    error = _line(volumes, times, from_zero=is_first).error
    if error < BENT:
        return None
    best, switch = STRAIGHTER * error, None
    sizes = np.unique(volumes)
    for first in sizes[FEWEST_BELOW : len(sizes) - FEWEST_ABOVE + 1]:
        below, above = volumes < first, volumes >= first
        error = below.mean() * _line(volumes[below], times[below], from_zero=is_first).error
        error += above.mean() * _line(volumes[above], times[above], from_zero=False).error
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
