"""A delay and two queues in a closed network, for any number of customers, in closed form.

N customers circulate between a delay of mean z and two queues of mean service x and y [1]_. With
G(n, v) the normalising constant of one queue v and the same delay, and B, Q its probability of
emptiness and mean length (`erlang`), the network has, for x >= y [D]_::

    G(n) = (x G(n, x) - y G(n, y)) / (x - y),      G(n, v) = z^n / n! / B(n, z/v)
    1 + Q_x(n) = (1 + Q(n, z/x)) / (1 - r) - y / (x - y),    r = y G(n, y) / (x G(n, x))
    1 + Q_y(n) = x / (x - y) - (1 + Q(n, z/y)) r / (1 - r)

These subtract nearly equal numbers only where r is near 1. There G is evaluated as the divided
difference that it is, a positive integral of smooth functions over v from y to x::

    G(n) = integral over 0 < s < 1 of d(v G(n, v))/dv,    v = y + s (x - y)

Both are used at n = N - 2 alone. Two steps of mean value analysis, which add positive numbers,
lead from there to N [2]_ [S]_, so that response times are accurate however short the queues are::

    R_x(N) = x (1 + Q_x(N-1)),   X(N) = N / (z + R_x(N) + R_y(N)),   Q_x(N) = X(N) R_x(N)

R_x(N) is R2(N, z, x, y) of [1]_, equation (22), which sums factorials. The populations N - 1 also
give the derivatives [D]_: dX/dz = X (X(N-1) - X), and dlnX/dlnx = Q_x(N-1) - Q_x(N).

N need not be whole: 1/n! and B have continuations for which all of this stays true.

Relative errors are near 1e-15 in throughput and below 2e-12 in response times for N up to 1e5
[D]_. Beyond, response times of queues that share a saturated network follow rounding of their
demands, N times 1e-16. Derivatives, as elasticities, which lie in [-1, 0], are off by 1e-15 N.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`, equation (22).
.. [2] M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks,"
   J. ACM, vol. 27, no. 2, pp. 313-322, 1980, :doi:`10.1145/322186.322195`.
.. [D] parcast's own derivation, by partial fractions of the generating function 1/((1-xs)(1-ys)).
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.queueing.arguments import customers_from_one, mean_time, require_time
from parcast.queueing.erlang import QueueState, state

Pair: TypeAlias = Array | tuple[Array, Array]  # of the queue x and of another

CLOSE = -0.3  # ln r above which the integral is used
NEXT_TO = 0.03  # -ln r and 1 - y/x below which four nodes do
FEW, MANY = (np.polynomial.legendre.leggauss(nodes) for nodes in (4, 8))
BLOCK = 16_384  # networks solved together, so that their arrays stay in the cache
UNSEEN = 1e-18  # probability that may be left out beside 1
MOST_LOAD = 1e150  # delay over service beyond which a queue is never found busy
NOTHING = -700.0  # least logarithm of y/x, that of 0 included


@dataclass(frozen=True, slots=True, eq=False)
class TwoQueues:
    """Means of a delay and two queues, and how throughput follows the demands.

    Arrays of the shape of the arguments of `two_queues` broadcast together.
    """

    throughput: Array  # cycles of all customers [1/s]
    response_x: Array  # at the first queue, waiting included [s]
    response_y: Array  # at the second queue [s]
    throughput_by_delay: Array  # derivative of throughput by the delay [1/s^2]
    throughput_by_x: Array  # by the service of the first queue [1/s^2]
    throughput_by_y: Array  # by the service of the second [1/s^2]


def two_queues(customers: ArrayLike, *, delay: ArrayLike, x: ArrayLike, y: ArrayLike) -> TwoQueues:
    """Means of closed networks of one delay and two queues.

    Arguments broadcast together: `customers`, at least 1, not only whole numbers, checked up to
    1e7; of one cycle the `delay` and the services `x` and `y` at the queues, not all 0 [s].

    >>> two_queues([1, 4], delay=2.0, x=0.5, y=1.0).response_x
    array([0.5       , 0.72532189])
    """
    customers = customers_from_one(customers)
    delay, x, y = mean_time("delay", delay), mean_time("x", x), mean_time("y", y)
    cycle = delay + x + y
    require_time("delay + x + y", cycle, cycle)
    arguments = np.broadcast_arrays(customers, delay, x, y)
    flat = [v.ravel() for v in arguments]
    answer = np.empty((6, flat[0].size))
    with np.errstate(all="ignore"):  # each branch of a choice is evaluated where it has no meaning
        for start in range(0, flat[0].size, BLOCK):
            block = slice(start, start + BLOCK)
            answer[:, block] = _solve(*(v[block] for v in flat))
    return TwoQueues(*(row.reshape(arguments[0].shape) for row in answer))


def _solve(customers: Array, delay: Array, x: Array, y: Array) -> tuple[Array, ...]:
    """Rows of the answer, in the order of the fields of `TwoQueues`."""
    slow, fast = np.maximum(x, y), np.minimum(x, y)
    slow_turns, fast_turns = _turns(customers - 2.0, delay, slow, fast)
    swapped, alone = x < y, customers == 1.0
    turns_x = np.where(alone, 1.0, np.where(swapped, fast_turns, slow_turns))
    turns_y = np.where(alone, 1.0, np.where(swapped, slow_turns, fast_turns))
    before = (customers - 1.0) / (delay + x * turns_x + y * turns_y)  # X(N-1)
    now_x, now_y = 1.0 + before * x * turns_x, 1.0 + before * y * turns_y
    response_x, response_y = x * now_x, y * now_y
    throughput = customers / (delay + response_x + response_y)
    return (
        throughput,
        response_x,
        response_y,
        throughput * (before - throughput),
        throughput * (before * turns_x - throughput * now_x),
        throughput * (before * turns_y - throughput * now_y),
    )


def _turns(n: Array, delay: Array, x: Array, y: Array) -> Array:
    """Services that an arrival waits for and receives, 1 + Q(n), at the queues x >= y."""
    gap = x - y
    less = np.where(x > 0, gap / x, 0.0)  # 1 - y/x
    log_y_to_x = np.maximum(np.where(less < 0.5, np.log1p(-less), np.log(y / x)), NOTHING)
    load = np.stack([_load(delay, x), _load(delay, y)])
    one = state(n, load)
    length_x, length_y = _length(n, load, one)
    log_constants = _log_constants(n, load, one.log_empty, log_y_to_x)
    log_r = log_y_to_x + log_constants
    rest = -np.expm1(log_r)
    turns_x = (1.0 + length_x) / rest - y / gap
    turns_y = x / gap - (1.0 + length_y) * np.exp(log_r) / rest
    rows = np.stack([turns_x, turns_y])
    close = ~(log_r <= CLOSE)
    next_to = close & (log_r > -NEXT_TO) & (less < NEXT_TO)
    for some, rule in ((next_to, FEW), (close & ~next_to, MANY)):
        if some.any():
            rows[:, some] = _close_turns(
                n[some], load[0, some], one.log_empty[0, some], less[some], rule
            )
    return rows


def _close_turns(
    n: Array, load: Array, log_empty: Array, less: Array, rule: tuple[Array, Array]
) -> Array:
    """The same where y = x (1 - less) is so near that G(n) is the better integral over y to x."""
    nodes, weights = rule
    s = 0.5 * (1.0 + nodes[:, None])
    short = (1.0 - s) * less  # v = x (1 - short)
    load_v = load / (1.0 - short)
    one = state(n, load_v)
    log_constants = _log_constants(n, (load, load_v), (log_empty, one.log_empty), np.log1p(-short))
    weight = 0.5 * weights[:, None] * np.exp(log_constants)
    length = _length(n, load_v, one)
    total = (weight * (1.0 + length)).sum(axis=0)
    slope = length * (1.0 + length) + load_v * one.relief  # v^2/G d2(v G)/dv2 / v
    slope *= weight / (1.0 - short)
    at_x = (s * slope).sum(axis=0) / total
    at_y = ((1.0 - s) * slope).sum(axis=0) * (1.0 - less) / total
    return np.stack([1.0 + at_x, 1.0 + at_y])


def _load(delay: Array, x: Array) -> Array:
    """Delay over service; a queue without service is never found busy."""
    return np.where(x > 0, np.minimum(delay / x, MOST_LOAD), MOST_LOAD)


def _length(n: Array, load: Array, one: QueueState) -> Array:
    """Mean length of one queue; without delay all are there, also if n is less than none."""
    return np.where(load == 0.0, n, one.length)


def _log_constants(n: Array, load: Pair, log_empty: Pair, log_v_to_x: Array) -> Array:
    """Logarithm of G(n, v) / G(n, x), from the loads and emptiness of x and v.

    Where next to no probability lies beyond n, G(n, v) is v^n exp(z/v): the logarithms of the
    probabilities, which are of order n there, need not cancel.
    """
    load_x, load_v = load
    log_x, log_v = log_empty
    unseen = np.exp(log_v) * load_v <= UNSEEN * (n + 1.0 - load_v)
    exponential = n * log_v_to_x + load_x * np.expm1(-log_v_to_x)
    return np.where(unseen, exponential, log_x - log_v)
