"""How the response times of a delay and two queues follow the demands.

The lengths n_x, n_y and the customers n_z in the delay of a product-form network of n customers
covary as the derivatives of its normalising constant tell [1]_, and their sum is n [D]_::

    dQ_x/dlny = dQ_y/dlnx = Cov(n_x, n_y),    dQ_x/dlnz = Cov(n_x, n_z)
    dQ_x/dlnx = Var(n_x) = -Cov(n_x, n_y) - Cov(n_x, n_z)

No covariance of two different places is above 0. R_x(N) = x (1 + Q_x(N-1)), so that three numbers
of the population n = N - 1, none below 0, hold all six derivatives of the response times::

    pair = -Cov(n_x, n_y) x/y    relief_x = -Cov(n_x, n_z) x/z    relief_y = -Cov(n_y, n_z) y/z
    dR_x/dy = -pair              dR_x/dz = -relief_x              dR_y/dx = -pair (y/x)^2
    dR_x/dx = 1 + Q_x + (y/x) pair + (z/x) relief_x

Let x >= y. With L, U, V of each queue alone with the delay (Q, U, V of `erlang`), and r as in
`two_queues`, they are at any population [D]_::

    pair     = 1/(1 - y/x)^2 - (1 + L_x)(1 + L_y) (x/y) r / (1-r)^2
    relief_x = V_x / (1-r) - (1 + L_x) d / (1-r)^2,    d = r (L_x - L_y) x/z
    relief_y = (1 + L_y) d (y/x) / (1-r)^2 - r V_y / (1-r)

Where r is near 1 they are averages over the integral that G is there: with h the mean customers
of two equal queues v, its derivative h' by ln v, and p = s x/v the chance to be at the queue x::

    -Cov(n_x, n_y) = E[p (1-p) (h - h')] - Cov(p h, (1-p) h)
    -Cov(n_x, n_z) = E[p h'] + Cov(p h, h)

One step of mean value analysis, differentiated, leads from N - 2 to N - 1 (`one_more`). It adds
positive numbers, and what rounding left before counts less after it. N need not be whole; below
N = 2 the three numbers are taken at N - 1 itself.

Errors, relative to response time over demand or to the slope, whichever is larger, are below 1e-10
for N up to 1e6 [D]_. Relative to response time over demand alone they are near 1e-9 at most, but
for queues that share a saturated network, whose slopes are up to N times as large.

References
----------
.. [1] E. de Souza e Silva and R. R. Muntz, "Simple relationships among moments of queue lengths in
   product form queueing networks," IEEE Trans. Comput., vol. 37, no. 9, pp. 1125-1129, 1988.
.. [D] parcast's own derivation.
"""

from dataclasses import dataclass

import numpy as np

from parcast.aliases import Array
from parcast.queueing.erlang import State

MOST_LOAD = 1e150  # delay over service beyond which a queue is never found busy


@dataclass(frozen=True, slots=True, eq=False)
class TwoQueueSlopes:
    """Derivatives of the two response times of `two_queues` by its demands.

    Arrays of the shape of its arguments broadcast together, without unit [s/s].
    """

    x_by_delay: Array  # of the response at the first queue, in [-1, 0]
    x_by_x: Array  # at least 1
    x_by_y: Array  # at most 0
    y_by_delay: Array  # of the response at the second queue, in [-1, 0]
    y_by_x: Array  # at most 0
    y_by_y: Array  # at least 1


def apart(load: Array, one: State, log_constants: Array, log_r: Array, less: Array) -> Array:
    """`pair`, `relief_x` and `relief_y` from the closed forms, shape (3, points).

    `load`, delay over service of the queues x >= y, and `one`, each queue alone with the delay,
    have shape (2, points); `log_constants` and `log_r` are the logarithms of G(n, y) / G(n, x) and
    of r, `less` is 1 - y/x, all of shape (points,).
    """
    alone = without_delay(load, one)
    turns_x, turns_y = 1.0 + alone.length
    r, rest = np.exp(log_r), -np.expm1(log_r)
    away_y = load[1] * alone.utilisation[1]
    d = np.where(
        (load[0] > 0) & (alone.length[0] < away_y),  # the smaller of what is subtracted
        r * (alone.length[0] - alone.length[1]) / load[0],
        np.exp(log_constants) * alone.utilisation[1] - r * alone.utilisation[0],
    )
    crowd = turns_x * turns_y * np.exp(log_constants)
    return np.stack(
        [
            1.0 / less**2 - crowd / rest**2,
            (alone.relief[0] - turns_x * d / rest) / rest,
            (turns_y * d * (1.0 - less) / rest - r * alone.relief[1]) / rest,
        ]
    )


def near(load: Array, one: State, weight: Array, s: Array, less: Array) -> Array:
    """The same as averages over the integral, where y is near x; shape (3, points).

    `load`, delay over v, `one`, a queue v alone with the delay, and `weight`, the share of the
    nodes in the integral, have shape (nodes, points); the nodes `s`, (nodes, 1), are 0 where v is
    y and 1 where it is x; `less` is 1 - y/x.
    """
    v = 1.0 - (1.0 - s) * less  # over x
    at_x, at_y = s / v, (1.0 - s) * (1.0 - less) / v  # p and 1 - p
    alone = without_delay(load, one)
    empty, length, relief = np.exp(alone.log_empty), alone.length, alone.relief
    turns = 1.0 + length
    third = empty * length * turns - relief * (1.0 + load * empty)  # d(aV)/dlnv / a
    h = length + load * relief / turns
    h_slope = relief + third / turns - load * (relief / turns) ** 2  # h' / a
    away = alone.utilisation - relief / turns  # (n - h) / a
    h_off = np.where(  # h less its mean, over z/x, from the smaller of h and n - h
        load * away <= np.abs(h), -_centred(away / v, weight), _centred(h, weight) / (load * v)
    )
    x_off, y_off = _centred(at_x * h, weight), _centred(at_y * h, weight)
    pair = at_x * at_y * (h - load * h_slope) - x_off * y_off
    relief_x = at_x * h_slope / v + x_off * h_off
    relief_y = at_y * h_slope / v + y_off * h_off
    scale = np.stack([1.0 / (1.0 - less), np.ones_like(less), 1.0 - less])
    return np.asarray(scale * (weight * np.stack([pair, relief_x, relief_y])).sum(axis=1))


def one_more(customers: Array, delay: Array, x: Array, y: Array, before: Array) -> Array:
    """`pair`, `relief_x` and `relief_y` of `customers`, at least 1, shape (3, points).

    `before`, (5, points), holds 1 + Q_x, 1 + Q_y, `pair`, `relief_x` and `relief_y` with one
    customer less, for the delay and the services x >= y. [s].
    """
    turns_x, turns_y, pair, relief_x, relief_y = before
    cycle = delay + x * turns_x + y * turns_y
    delay, x, y = delay / cycle, x / cycle, y / cycle
    both = pair * np.where(x > 0, y / x, 1.0)
    crowd = turns_x * turns_y + both * (turns_x + turns_y)
    apart_x = x * turns_x * (1.0 - relief_y) + relief_x * (delay + y * turns_y)
    apart_y = y * turns_y * (1.0 - relief_x) + relief_y * (delay + x * turns_x)
    apart_xy = x * crowd + delay * (relief_x * turns_y + both)
    return np.asarray(customers * np.stack([x * apart_xy, x * apart_x, y * apart_y]))


def slopes_of(delay: Array, x: Array, y: Array, before: Array) -> Array:
    """Rows of `TwoQueueSlopes`, in its order, for x >= y; shape (6, points).

    `before` is what `one_more` has for one customer less than there are in the network.
    """
    turns_x, turns_y = before[:2]
    pair, relief_x, relief_y = before[2:] * (np.stack([x, x, y]) > 0)
    ratio = np.where(x > 0, y / x, 1.0)
    away_x, away_y = (  # -Cov with n_z; next to none where nobody is ever found at the queue
        np.fmin(delay / v, MOST_LOAD) * relief for v, relief in ((x, relief_x), (y, relief_y))
    )
    x_by_x, y_by_y = turns_x + ratio * pair + away_x, turns_y + ratio * pair + away_y
    rows = [-relief_x, x_by_x, -pair, -relief_y, -pair * ratio * ratio, y_by_y]
    return np.stack(rows) + 0.0  # none is -0


def without_delay(load: Array, one: State) -> State:
    """The same state, but with limits where there is no delay: somebody is always at the queue."""
    busy = (load == 0.0) & (one.length > 0)
    return State(
        utilisation=np.where(busy, 1.0, one.utilisation),
        length=one.length,
        relief=np.where(busy, 1.0, one.relief),
        log_empty=np.where(busy, -np.inf, one.log_empty),
    )


def _centred(value: Array, weight: Array) -> Array:
    """Value less its mean over the nodes."""
    return np.asarray(value - (weight * value).sum(axis=0))
