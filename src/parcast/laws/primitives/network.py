"""A network as benchmarks measured it: messages, an exchange among all, and collectives.

    t(m)     = t_i + m / r_i                        one message, `fit_messages`            [1]_
    g(P)     = dT/dm of an exchange of all with all, at its longest, over P - 1            [D]
    g(P)     = g0 + g1 * P                          where it exceeds 1 / (r_inf * (P - 1)) [D]
    r_sat(P) = P / g(P)                             rate of all pairs together

g is how long a rank takes for a byte that it sends while all others send too: 1 / r_inf / (P - 1)
where every pair has a link of its own, the same for every P behind a crossbar (g0), and growing
with P on one medium for all (g1), whose rate is 1 / g1. So one form covers contention levels from
0 to 1 and what lies between, as the upper levels of a tree.

Short messages often get less of a network than long ones, most of all where they share it. With
the sizes that a program sends, g is multiplied by

    f(s) = E[T(P, S) - T(P, 0)] / s / (dT/dm at its longest),  S exponential of mean s       [D]

the median over P; an exponential law is what is least sure of sizes of which the mean is known. An
exchange whose size is given has that size.

Messages alone have pieces, too, where their time bends: up to a burst they pass at the rate of the
wire, and longer ones at that of a limit. The longest decide `bandwidth`, and the shortest
`latency`. With the sizes that a program sends, the time of a byte is that of the pieces [D]:

    b(s) = E[t(S) - t0] / s ,  S exponential of mean s

Many benchmarks put a barrier before each collective and time both. A broadcast of a few bytes
between two ranks is one message: where it takes a barrier and a message, the barrier is in all
times, and is taken off [D].

References
----------
.. [1] R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2,"
   Parallel Computing, vol. 20, no. 3, pp. 389-398, 1994, :doi:`10.1016/S0167-8191(06)80021-9`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError
from parcast.laws.primitives.measured import Times, chosen_sizes, measured_primitive
from parcast.laws.primitives.message import MessageCurve, fit_messages
from parcast.numerics import fit_non_negative
from parcast.units import shown

COLLECTIVES: Final = ("broadcast", "reduce", "allreduce", "gather", "scatter", "allgather")
MEETS: Final = 1.2  # times the time of a pair from which others are taken to be in the way [D]
HELD: Final = 0.5  # of a message: what may miss where a barrier is taken to be in the times [D]
MOST_COUNTS: Final = 12  # of processors whose sizes are heard: a formula has an end
FEWEST_SIZES: Final = 3  # of an exchange that tell how its rate depends on them
SAME: Final = 0.01  # from 1: what a factor may differ by that is left out
SPREAD: Final = -np.log1p(-(np.arange(200) + 0.5) / 200)  # quantiles of an exponential law
TRACE: Final = 1e-6  # of the other term: what rounding alone may leave
LEAST: Final = 0.1  # of a time: what is left of it at least when others are taken off [D]


def network_keys(
    messages: Mapping[int, float],
    *,
    exchange: Times | None = None,
    collectives: Mapping[str, Times] | None = None,
    with_barrier: bool | None = None,
    message_sizes: Mapping[int, float] | None = None,
    exchange_sizes: Mapping[int, float] | None = None,
) -> dict[str, Any]:
    """Arguments `network` and `primitives` of `parcast.Machine`, from what benchmarks measured.

    Parameters
    ----------
    messages : mapping from bytes to time
        Of one message one way, at two sizes or more. [B], [s]
    exchange : mapping from processors to mapping from bytes to time, optional
        Of an exchange of all with all: what one rank sends each other one. [B], [s]
    collectives : mapping from names to such mappings, optional
        Of "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather" and "barrier", the
        last with its time at 0 bytes.
    with_barrier : bool, optional
        Whether all times of collectives and of the exchange hold a barrier; by default it is
        determined by a broadcast between two ranks, and is no without one.
    message_sizes, exchange_sizes : mapping from processors to bytes, optional
        Mean size of the messages of the program that the machine is asked for, and what one
        rank sends each other one in an alltoall of it: `saturation`, the rate of an alltoall and,
        where messages bend, `bandwidth` are then those of such messages. By default those of the
        longest. [B]

    Examples
    --------
    >>> line = {8: 1.008e-4, 1000: 2e-4, 1000000: 0.1001}
    >>> bus = {p: {m: p * (p - 1) * m / 2e7 for m in line} for p in (2, 4, 8)}
    >>> keys = network_keys(line, exchange=bus)
    >>> keys["network"]["latency"], keys["network"]["saturation"]
    ('0.0001 s', '1 B/s*p / (5e-08*p)')
    """
    curve = fit_messages(list(messages), list(messages.values()))
    if not curve.byte > 0:
        raise FitFailed("Longer messages must take more time. Measure longer ones.")
    network = {"latency": f"{curve.startup:.6g} s", "bandwidth": f"{1 / curve.byte:.6g} B/s"}
    if own := _bytes_of(curve, message_sizes or {}, is_mean=True):
        network["bandwidth"] = f"1 B/s / ({own})"
    timed = dict(collectives or {})
    for name in timed:
        if name not in (*COLLECTIVES, "barrier"):
            raise ParameterError(
                "collectives",
                must=f"be {', '.join(COLLECTIVES)} or barrier",
                got=shown(repr(name)),
                hint="Leave it out.",
            )
    barriers = {p: min(x.values()) for p, x in timed.pop("barrier", {}).items() if p > 1}
    is_in = with_barrier
    if is_in is None:
        is_in = _holds_barrier(timed.get("broadcast", {}), barriers, messages)
    taken_off = barriers if is_in else {}
    primitives: dict[str, dict[str, str]] = {}
    for name, times in timed.items():
        primitives[name] = measured_primitive(_thinned(_without(times, taken_off))).described()
    if barriers:
        primitives["barrier"] = measured_primitive(
            {p: {0: t} for p, t in barriers.items()}
        ).described()
    if exchange:
        sent = _without(exchange, taken_off)
        shortest = {p: {0: of_size[min(of_size)]} for p, of_size in sent.items()}
        primitives["alltoall"] = measured_primitive(shortest).described()
        pair = _bytes_of(curve, exchange_sizes or {}, is_mean=False) or f"{curve.byte:.6g}"
        primitives["alltoall"]["bandwidth"] = f"1 B/s / ({pair})"
        if g := _shared(exchange, messages):
            factor = _factor(exchange, message_sizes or {}, is_mean=True)
            network["saturation"] = (
                f"1 B/s*p / (({g})*({factor}))" if factor else f"1 B/s*p / ({g})"
            )
            factor = _factor(exchange, exchange_sizes or {}, is_mean=False)
            each = f"({g})*({factor})" if factor else f"({g})"
            rate = f"1 B/s / max({pair}, (p - 1)*{each})"
            primitives["alltoall"]["bandwidth"] = rate
    return {"network": network, "primitives": primitives}


def _holds_barrier(
    broadcast: Mapping[int, Mapping[int, float]],
    barriers: Mapping[int, float],
    messages: Mapping[int, float],
) -> bool:
    """Tell whether a short broadcast between two ranks takes a barrier and a message."""
    if 2 not in broadcast or 2 not in barriers:
        return False
    return min(broadcast[2].values()) >= barriers[2] + HELD * min(messages.values())


def _without(times: Times, barriers: Mapping[int, float]) -> Times:
    """Times of two ranks or more without the barrier before each of them."""
    return {
        p: {m: max(t - barriers.get(p, 0.0), LEAST * t) for m, t in of_size.items()}
        for p, of_size in times.items()
        if p > 1
    }


def _thinned(times: Times) -> Times:
    """Times of some of the sizes, where there are many."""
    kept = {p: chosen_sizes(sorted(of_size)) for p, of_size in times.items()}
    return {p: {m: times[p][m] for m in sizes} for p, sizes in kept.items()}


def _shared(exchange: Times, messages: Mapping[int, float]) -> str:
    """Give g(P) as a formula in p; "" where no pair is in the way of another."""
    counts, slopes = [], []
    sizes = sorted(messages)
    alone = [messages[m] for m in sizes]
    for p, of_size in sorted(exchange.items()):
        if p < 2 or len(of_size) < 2:
            continue
        before, last = sorted(of_size)[-2:]
        slope = (of_size[last] - of_size[before]) / (last - before)
        pair = np.diff(np.interp([before, last], sizes, alone))[0] / (last - before)
        if slope > MEETS * pair > 0:
            counts.append(float(p))
            slopes.append(slope / (p - 1))
    if not counts:
        return ""
    at = np.array(counts)
    terms = np.stack([np.ones_like(at), at], axis=1) if len(at) > 1 else at[:, None]
    rates = fit_non_negative(terms, slopes).coefficients.tolist()
    g0, g1 = rates if len(rates) > 1 else (0.0, rates[0])
    most = float(at.max())
    texts = [f"{g0:.6g}"] if g0 > TRACE * g1 * most else []
    return " + ".join([*texts, f"{g1:.6g}*p"] if g1 * most > TRACE * g0 else texts)


def _bytes_of(curve: MessageCurve, sizes: Mapping[int, float], *, is_mean: bool) -> str:
    """Time of a byte in messages of these sizes alone, as a formula in p [s/B].

    "" where no size is known, or one line fits all sizes.
    """
    wanted = _known(sizes)
    if not wanted or len(curve.pieces) == 1:
        return ""
    least = LEAST * min(piece.byte for piece in curve.pieces if piece.byte > 0)
    values = []
    for _, size in wanted:
        at = size * SPREAD if is_mean else np.array([size])
        sent = float((curve.time(at) - curve.startup).sum())
        values.append(max(sent / float(at.sum()), least))  # a flat piece has no rate
    return _formula([p for p, _ in wanted], values)


def _known(sizes: Mapping[int, float]) -> list[tuple[int, float]]:
    """Sizes that are known, at not too many counts, by count."""
    known = sorted((p, size) for p, size in sizes.items() if p > 1 and size > 0)
    if len(known) <= MOST_COUNTS:
        return known
    return [known[i] for i in np.linspace(0, len(known) - 1, MOST_COUNTS).round().astype(int)]


def _factor(exchange: Times, sizes: Mapping[int, float], *, is_mean: bool) -> str:
    """Give f of the sizes as a formula in p; "" where none is known, or size does not matter."""
    wanted = _known(sizes)
    curves = [sorted(x.items()) for p, x in exchange.items() if p > 1 and len(x) >= FEWEST_SIZES]
    if not wanted or not curves:
        return ""
    factors = []
    for _, size in wanted:
        at = size * SPREAD if is_mean else np.array([size])
        factors.append(float(np.median([_relative(curve, at) for curve in curves])))
    if max(abs(f - 1.0) for f in factors) < SAME:
        return ""
    return _formula([p for p, _ in wanted], factors)


def _formula(counts: Sequence[int], values: Sequence[float]) -> str:
    """Values at some counts as a formula in p: straight in log-log between them."""
    if len(counts) == 1:
        return f"{values[0]:.4g}"
    slopes = np.diff(np.log(values)) / np.diff(np.log(counts))
    texts = [
        f"{value / p**slope:.4g}*p^({slope:.4g})"
        for value, p, slope in zip(values, counts, slopes, strict=False)
    ]
    formula = texts[-1]  # beyond the last count as between the two before it
    for p, text in zip(reversed(counts[1:-1]), reversed(texts[:-1]), strict=True):
        formula = f"{text} if p <= {p} else {formula}"
    return formula


def _relative(curve: Sequence[tuple[int, float]], sizes: Array) -> float:
    """Time of a byte in an exchange of these sizes, over that in the longest."""
    m, t = (np.array(x, dtype=np.float64) for x in zip(*curve, strict=True))
    longest = (t[-1] - t[-2]) / (m[-1] - m[-2])
    start = t[0] - (t[1] - t[0]) / (m[1] - m[0]) * m[0]
    m, t = np.append(0.0, m[m > 0]), np.append(start, t[m > 0])
    inside = np.interp(sizes, m, t - start)
    times = inside + np.maximum(sizes - m[-1], 0.0) * longest
    return float(max(times.sum() / sizes.sum() / longest, 1.0))
