"""Erlang's loss formula for any number of customers: the kernel of the closed networks.

`n` customers circulate between a delay of mean z and one queue of mean service x, a = z/x. Seen
from the queue while it is busy, the delay is a loss system with n lines and offered load a, so the
probability of an empty queue is Erlang's B [S]_; it does not depend on the law of the delay::

    1/B = integral over s in (0, inf) of exp(-s) (1 + s/a)^n = sum over k of n(n-1)..(n-k+1) / a^k

    U = 1 - B              utilisation of the queue
    Q = n - a U            mean length of the queue, the customer in service included
    V = U - B Q = -dQ/da   what one unit of a takes off the queue
    dlnB/dlna = Q          dU/dlna = -B Q

The integral defines B for every real n. Four ways to evaluate it [D]_, none of which subtracts
nearly equal numbers, keep relative errors below 1e-12 for n up to 1e7 and a from 1e-8 to 1e8:

- light load, a > n + 2 sqrt(n): the positive continued fraction
  ``Q = n/(a-n+2 + 2(n-1)/(a-n+4 + 3(n-2)/(a-n+6 + ...)))``, differentiated term by term for V;
- heavy load, a < n - 9 sqrt(n) - 1: B is a Poisson probability, in Loader's saddle-point form;
- between: a ratio of that probability and the Poisson distribution function;
- n below 0: one step of the recursion in n, backwards.

References
----------
.. [S] A. K. Erlang, "Solution of some problems in the theory of probabilities of significance in
   automatic telephone exchanges," 1917; the continuation to real n: D. L. Jagerman, "Some
   properties of the Erlang loss function," Bell Syst. Tech. J., vol. 53, 1974, pp. 525-551.
.. [D] parcast's own choice of method and limits. The saddle-point form: C. Loader, "Fast and
   accurate computation of binomial probabilities," 2000. The tail of the Poisson law for n above
   1e5: N. M. Temme, SIAM J. Math. Anal., vol. 10, 1979, pp. 757-766, :doi:`10.1137/0510071`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array

LIGHT = 2.0  # standard deviations of the delay's load by which a exceeds n
LIGHT_ANYWHERE = 2.0  # a from which the continued fraction converges for every small n
HEAVY = 9.0  # the same below n: beyond it, the tail of the Poisson law is under 1e-18
# Terms of the fraction, from so many standard deviations on.
TERMS = ((0.0, 96), (4.0, 36), (8.0, 20), (50.0, 8), (1e4, 3))
TEMME = (1e5, 4.4)  # n and standard deviations beyond which SciPy's series ends too early
TINY = 1e-300  # stands for a = 0, where the formulas have limits and the arithmetic has none
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
ODD = tuple(1.0 / k for k in range(3, 21, 2))


class QueueState(NamedTuple):
    """One delay and one queue in equilibrium; arrays of one shape."""

    utilisation: Array  # U, fraction of time the queue is busy [1]
    length: Array  # Q, mean customers at the queue [1]
    relief: Array  # V = U - B*Q = -dQ/da [1]
    log_empty: Array  # ln B, logarithm of the probability of an empty queue [1]


def state(n: ArrayLike, a: ArrayLike) -> QueueState:
    """Equilibrium of the queue, with the derivative of its length. No argument is checked.

    `n`, customers, broadcasts with `a`, delay over service, infinity included. n is at least -1;
    below 0 it is the continuation that makes ``1 + Q(n-1)``, the services a customer waits for and
    receives, hold for n below 1.
    """
    customers, load = np.asarray(n, dtype=np.float64), np.asarray(a, dtype=np.float64)
    shape = np.broadcast_shapes(customers.shape, load.shape)
    customers = np.broadcast_to(customers, shape).ravel()
    load = np.maximum(np.broadcast_to(load, shape).ravel(), TINY)
    answer = np.empty((4, customers.size))
    for where, solve in _regimes(customers, load):
        if where.all():
            answer[:] = solve(customers, load)
        elif where.any():
            answer[:, where] = solve(customers[where], load[where])
    return QueueState(*(np.asarray(part) for part in answer.reshape(4, *shape)))


def _regimes(n: Array, a: Array) -> list[tuple[NDArray[np.bool_], Callable[..., Array]]]:
    """Where each way to evaluate B is the right one: every point is in at least one."""
    root = np.sqrt(np.maximum(n, 0.0))
    gap = a - n
    light = (gap > LIGHT * root) & (a >= LIGHT_ANYWHERE)
    heavy = gap < -HEAVY * root - 1.0
    rest = ~(light | heavy)
    far = np.where(light, gap / np.maximum(root, 1.0), -1.0)
    ends = [*(start for start, _ in TERMS[1:]), np.inf]
    return [
        (heavy, _heavy),
        (rest & (n >= 0), _between),
        (rest & (n < 0), _below_zero),
        *(
            ((far >= start) & (far <= end), partial(_light, terms=terms))
            for (start, terms), end in zip(TERMS, ends, strict=True)
        ),
    ]


def _light(n: Array, a: Array, terms: int) -> Array:
    """Light load: the continued fraction of Q, from its last term up, with its derivative."""
    if n.size and n.min() >= 0 and np.array_equal(n, np.floor(n)):  # terms beyond a whole n are 0
        terms = min(terms, int(n.max()))
    gap = a - n
    q = np.zeros_like(n)
    slope = np.zeros_like(n)  # dq/da
    for k in range(terms, 0, -1):
        divisor = gap + 2.0 * k + q
        q = k * (n - (k - 1.0)) / divisor  # n - (k-1), that a small n be kept
        slope = -q / divisor * (1.0 + slope)
    u = (n - q) / a
    log_empty = np.log1p(-u)
    busy = u >= 0.5
    log_empty[busy] = np.log((gap[busy] + q[busy]) / a[busy])
    return np.stack([u, q, -slope, log_empty])


def _heavy(n: Array, a: Array) -> Array:
    """Heavy load: the queue is empty with a Poisson probability, next to never."""
    log_empty = _log_poisson(n, a)
    empty = np.exp(log_empty)
    q = n - a
    return np.stack([1.0 - empty, q, 1.0 - empty * (1.0 + q), log_empty])


def _between(n: Array, a: Array) -> Array:
    """Near n = a, and few customers: a Poisson probability over its distribution function."""
    up_to_n = _poisson_up_to(n, a)
    log_empty = _log_poisson(n, a) - np.log(up_to_n)
    empty = np.exp(log_empty)
    u = 1.0 - empty
    q = (n - a) + a * empty
    idle = empty > 0.5
    u[idle] = special.gammaincc(n[idle], a[idle]) / up_to_n[idle]
    q[idle] = n[idle] - a[idle] * u[idle]
    log_empty[idle] = np.log1p(-u[idle])
    return np.stack([u, q, u - empty * q, log_empty])


def _below_zero(n: Array, a: Array) -> Array:
    """Few customers less one, for small a: from the equilibrium of m = n + 1 customers."""
    m = n + 1.0
    some = np.where(m > 0, m, 1.0)
    up_to_m = special.gammaincc(m + 1.0, a)
    share = np.where(m > 0, special.gammaincc(some, a) / some, special.exp1(a)) / up_to_m  # U(m)/m
    waits = 1.0 / share - a  # 1 + Q(n) = Q(m)/U(m)
    log_empty = _log_poisson(m, a) - np.log(up_to_m * a * share)  # B(n) = m B(m) / (a U(m))
    empty = np.exp(log_empty)
    return np.stack([1.0 - empty, waits - 1.0, 1.0 - empty * waits, log_empty])


def _log_poisson(n: Array, a: Array) -> Array:
    """Logarithm of the density ``a^n e^-a / Gamma(n+1)``; its terms are large, it is not."""
    large = np.maximum(n, 16.0)
    inverse = 1.0 / (large * large)
    correction = np.polynomial.polynomial.polyval(inverse, STIRLING) / large
    saddle = -_deviance(large, a) - correction - 0.5 * np.log(2.0 * np.pi * large)
    return np.where(n < 16.0, special.xlogy(n, a) - a - special.gammaln(n + 1.0), saddle)


def _deviance(n: Array, a: Array) -> Array:
    """``n ln(n/a) + a - n``, also where the terms cancel."""
    far = n * np.log(n / a) + (a - n)
    v = (n - a) / (n + a)
    squared = np.minimum(v * v, 0.01)
    series = np.polynomial.polynomial.polyval(squared, ODD)
    return np.where(np.abs(v) < 0.1, (n - a) * v + 2.0 * n * v * squared * series, far)


def _poisson_up_to(n: Array, a: Array) -> Array:
    """Probability that a Poisson variable of mean `a` is at most `n`, for real n."""
    up_to = np.empty_like(n)
    far = (n > TEMME[0]) & (n - a > TEMME[1] * np.sqrt(n))
    up_to[~far] = special.gammaincc(n[~far] + 1.0, a[~far])
    s, load = n[far] + 1.0, a[far]
    exponent = _deviance(s, load)
    bend = 1.0 / (load / s - 1.0) + np.sqrt(0.5 * s / exponent)
    up_to[far] = (
        1.0
        - 0.5 * special.erfc(np.sqrt(exponent))
        + np.exp(-exponent) / np.sqrt(2.0 * np.pi * s) * bend
    )
    return up_to
