"""Approximate mean value analysis, for closed networks whose states cannot be counted.

Both methods solve the equations of exact mean value analysis at the full population N alone, by
guessing what an arriving customer of class c sees. With F_cj(N) the fraction of class c that is
at queue j, and D the change of F when a customer of one class leaves [S]_::

    Q_j(N - e_c) = sum over i of (N - e_c)_i (F_ij(N) + D_ijc),    D_ijc = F_ij(N - e_c) - F_ij(N)

Bard and Schweitzer [1]_ set D = 0; the Linearizer [2]_ finds D by solving the populations with one
customer less, twice, with the D of the step before. Against exact values throughputs of the first
are some per cent low near saturation, and those of the second within a few tenths of a per cent.
The equations are iterated until no fraction changes by more than 1e-12 [D]_.

Slopes come from the equations, not from the sweeps [D]_: with F = g(F, t) for any time t, F'
solves the linear equations (I - dg/dF) F' = dg/dt. Their matrix has classes * queues rows, as the
slopes of response times by demands have, so that it is no larger than the answer. The Linearizer
solves equations three times, each with the D of the time before, and D' goes with D: its slopes
are those of the two steps that are made, not of a limit that is not taken. They differ from
those of what is returned as far as F has not settled, by some 1e-12/(1 - q) where each sweep
shrinks changes by q: relatively less than 1e-9 where a hundred sweeps settle.

References
----------
.. [1] P. J. Schweitzer, "Approximate analysis of multiclass closed networks of queues," in Proc.
   Int. Conf. Stochastic Control and Optimization, Amsterdam, 1979.
.. [2] K. M. Chandy and D. Neuse, "Linearizer: a heuristic algorithm for queueing network models of
   computing systems," Commun. ACM, vol. 25, no. 2, pp. 126-134, 1982,
   :doi:`10.1145/358396.358403`.
.. [D] parcast's own choice and derivation, by the implicit function theorem.
"""

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError
from tests.queueing.reference.mva import (
    MeanValues,
    length_slopes,
    network,
    step_slopes,
    times_of,
    with_slopes,
)

SETTLED = 1e-12  # change of a fraction of a class, from sweep to sweep
MOST_SWEEPS = 20_000
LINEARIZER_STEPS = 2  # as published: D is found twice


def schweitzer_mva(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0, *, slopes: bool = False
) -> MeanValues:
    """Approximate means of closed networks of several classes, by Bard and Schweitzer.

    Arguments are those of `exact_multiclass_mva`, but customers need not be whole. Equations that
    do not settle (thousands of customers at queues that are almost alike) are refused.

    >>> schweitzer_mva([8, 1], [[1.0], [1.0]], [8.0, 0.0]).throughput
    array([0.63..., 0.25...])
    """
    customers, demands, delay = network(customers, demands, delay, classes=True)
    unknown = np.zeros((*demands.shape, demands.shape[-2]))  # D: (..., class, queue, departed)
    return _means(customers, demands, delay, unknown, _no_slopes(unknown) if slopes else None)


def linearizer_mva(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0, *, slopes: bool = False
) -> MeanValues:
    """Approximate means of closed networks of several classes, by Chandy and Neuse.

    Costs some thrice (1 + classes) times what `schweitzer_mva` does.

    >>> linearizer_mva([8, 1], [[1.0], [1.0]], [8.0, 0.0]).throughput
    array([0.65..., 0.34...])
    """
    customers, demands, delay = network(customers, demands, delay, classes=True)
    classes = demands.shape[-2]
    change = np.zeros((*demands.shape, classes))
    change_by = _no_slopes(change) if slopes else None
    departed = np.concatenate([np.zeros((1, classes)), np.eye(classes)])
    smaller = customers - departed.reshape(-1, *(1,) * (customers.ndim - 1), classes)
    for _ in range(LINEARIZER_STEPS):
        fraction = _fractions(smaller, demands, delay, change)
        if change_by is not None:
            seen = _seen(smaller, fraction, change)
            fraction_by, _ = _fraction_slopes(smaller, demands, delay, seen, change_by)
            change_by = np.moveaxis(fraction_by[1:] - fraction_by[0], 0, -2)
        change = np.moveaxis(fraction[1:] - fraction[0], 0, -1)
    return _means(customers, demands, delay, change, change_by)


def _means(
    customers: Array, demands: Array, delay: Array, change: Array, change_by: Array | None
) -> MeanValues:
    seen = _seen(customers, _fractions(customers, demands, delay, change), change)
    response = demands * (1.0 + seen)
    cycle = delay + response.sum(axis=-1)
    throughput = customers / cycle
    if change_by is None:
        return MeanValues.of(throughput, response, demands)
    _, seen_by = _fraction_slopes(customers, demands, delay, seen, change_by)
    by = step_slopes(demands, seen, seen_by, throughput, cycle)
    return with_slopes(throughput, by[0], response, by[1], demands, classes=True)


def _fractions(customers: Array, demands: Array, delay: Array, change: Array) -> Array:
    """Fraction of each class at each queue, settled: shape (..., classes, queues)."""
    fraction = demands / (delay + demands.sum(axis=-1))[..., None]
    for _ in range(MOST_SWEEPS):
        response = demands * (1.0 + _seen(customers, fraction, change))
        now = response / (delay + response.sum(axis=-1))[..., None]
        moved = np.abs(now - fraction).max(initial=0.0)
        fraction = np.asarray(now)
        if moved <= SETTLED:
            return fraction
    raise ParameterError(
        "demands",
        must=f"let the equations settle in {MOST_SWEEPS} sweeps",
        got=f"changes of {moved:.1g} in the last",
        hint="Use two_queues, clusters or exact_mva.",
    )


def _seen(customers: Array, fraction: Array, change: Array) -> Array:
    """Customers that one of class c finds at queue j: shape (..., classes, queues)."""
    others = _others(customers)
    return np.asarray(np.einsum("...ic,...ijc->...cj", others, fraction[..., None] + change))


def _others(customers: Array) -> Array:
    """Customers of class i when one of class c is left out: shape (..., i, c)."""
    return np.maximum(customers[..., :, None] - np.eye(customers.shape[-1]), 0.0)


def _no_slopes(change: Array) -> Array:
    """Derivatives of a D of 0 by every time: shape (..., class, queue, departed, times)."""
    classes, queues = change.shape[-3:-1]
    return np.broadcast_to(0.0, (*change.shape, times_of(classes, queues)))


def _fraction_slopes(
    customers: Array, demands: Array, delay: Array, seen: Array, change_by: Array
) -> tuple[Array, Array]:
    """Derivatives of settled fractions and of what is seen: (..., classes, queues, times) [1/s].

    A fraction is the length that one customer leaves at a queue: R_cj / T_c.
    """
    classes, queues = demands.shape[-2:]
    others = _others(customers)
    seen_by = np.einsum("...ic,...ijcp->...cjp", others, change_by)  # as if F stayed
    response = demands * (1.0 + seen)
    cycle = delay + response.sum(axis=-1)
    rate = 1.0 / cycle
    by = step_slopes(demands, seen, seen_by, rate, cycle)
    direct = length_slopes(rate, by[0], response, by[1])  # dg/dt
    shares = response * rate[..., None]  # g itself, so that Euler's sums hold before F settles
    by_seen = (np.eye(queues) - shares[..., None]) * (demands * rate[..., None])[..., None, :]
    matrix = np.einsum("...cjk,...ic->...cjik", by_seen, others)  # dg_cj/dS_ck dS_ck/dF_ik
    unknowns = classes * queues
    matrix = np.eye(unknowns) - matrix.reshape(*matrix.shape[:-4], unknowns, unknowns)
    right = direct.reshape(*direct.shape[:-3], unknowns, direct.shape[-1])
    fraction_by = np.linalg.solve(matrix, right).reshape(direct.shape)
    return fraction_by, seen_by + np.einsum("...ic,...ijp->...cjp", others, fraction_by)
