"""How mean values follow delays and demands: one step of mean value analysis, differentiated.

All methods of mean value analysis take the same step, from what an arriving customer of class c
finds at the queues, S_cj, to response times, throughputs and lengths::

    R_cj = D_cj (1 + S_cj)     X_c = n_c / T_c,  T_c = Z_c + sum over j of R_cj     Q_cj = X_c R_cj

Its derivatives by any one of the times t, which are the delays and the demands, are [D]_, with
dZ_c/dt and dD_cj/dt either 0 or 1::

    R_cj' = D_cj' (1 + S_cj) + D_cj S_cj'       X_c' = -X_c/T_c (Z_c' + sum over j of R_cj')
    Q_cj' = X_c R_cj' + X_c' R_cj

The methods differ in S and S'. Here all times of a network are one last axis, class by class, the
delay first and then the demands: times = classes * (1 + queues). One class has an axis of 1.

R is homogeneous of degree 1 in all times, X of degree -1, Q of degree 0: the sums over t of t
times the derivative by t are R, -X and 0 (Euler). The step keeps this to rounding. Of the exact
recursions t X'/X and t R'/R are off by 1e-16 N times the largest of them at most [D]_.

References
----------
.. [D] parcast's own derivation, by the rules of calculus, and comparison with 40 digits.
"""

import numpy as np

from parcast.queueing.erlang import Array
from parcast.queueing.mean_values import MeanValues, MeanValueSlopes, Slope


def times_of(classes: int, queues: int) -> int:
    """Delays and demands of one network: the length of the axis of times."""
    return classes * (1 + queues)


def step_slopes(
    demands: Array, seen: Array, seen_by: Array, throughput: Array, cycle: Array
) -> tuple[Array, Array]:
    """Derivatives of throughput and response times, from those of what arrivals find.

    Parameters
    ----------
    demands, seen : ndarray, shape (..., classes, queues)
        Service of one cycle [s], and customers that an arrival finds. [1]
    seen_by : ndarray, shape (..., classes, queues, times)
        Derivatives of `seen`. [1/s]
    throughput, cycle : ndarray, shape (..., classes)
        Result of the step [1/s], and the time that a cycle takes one customer. [s]

    Returns
    -------
    throughput_by : ndarray, shape (..., classes, times)
        [1/s^2]
    response_by : ndarray, shape (..., classes, queues, times)
        [1]
    """
    response_by = demands[..., None] * seen_by
    _by_own_demand(response_by)[...] += 1.0 + seen
    cycle_by = response_by.sum(axis=-2)
    _by_own_delay(cycle_by)[...] += 1.0
    cycle_by *= -(throughput / cycle)[..., None]
    return cycle_by, response_by


def length_slopes(
    throughput: Array, throughput_by: Array, response: Array, response_by: Array
) -> Array:
    """Derivatives of throughput times response times: (..., classes, queues, times). [1/s]."""
    by = throughput[..., None, None] * response_by
    by += throughput_by[..., None, :] * response[..., None]
    return np.asarray(by)


def with_slopes(
    throughput: Array,
    throughput_by: Array,
    response: Array,
    response_by: Array,
    demands: Array,
    *,
    classes: bool,
) -> MeanValues:
    """All means and their derivatives.

    Parameters
    ----------
    throughput, response, demands : ndarray, shapes (..., classes), (..., classes, queues) twice
        Of cycles [1/s], of a cycle at each queue [s], and service there. [s]
    throughput_by, response_by : ndarray, as of `step_slopes`
        Their derivatives.
    classes : bool
        Whether the answer keeps the axes of the classes.
    """
    lengths_by = length_slopes(throughput, throughput_by, response, response_by)
    busy_by = throughput_by[..., None, :] * demands[..., None]
    _by_own_demand(busy_by)[...] += throughput[..., None]
    slopes = MeanValueSlopes(
        throughput=_slope(throughput_by, demands.shape, -2, classes=classes),
        response_times=_slope(response_by, demands.shape, -3, classes=classes),
        queue_lengths=_slope(lengths_by, demands.shape, -3, classes=classes),
        utilisations=_slope(busy_by, demands.shape, -3, classes=classes),
    )
    if not classes:
        throughput, response, demands = throughput[..., 0], response[..., 0, :], demands[..., 0, :]
    return MeanValues.of(throughput, response, demands, slopes)


def _slope(by: Array, shape: tuple[int, ...], own_class: int, *, classes: bool) -> Slope:
    """The axis of times apart in delays and demands, for networks of demands of this shape."""
    if not classes:
        only = by.squeeze(axis=own_class)
        return Slope(by_delay=np.asarray(only[..., 0]), by_demands=only[..., 1:])
    apart = _apart(by, *shape[-2:])
    return Slope(by_delay=apart[..., 0], by_demands=apart[..., 1:])


def _apart(by: Array, classes: int, queues: int) -> Array:
    """A view of (..., times) as (..., classes, 1 + queues)."""
    return by.reshape(*by.shape[:-1], classes, 1 + queues)


def _by_own_demand(by: Array) -> Array:
    """Of (..., classes, queues, times) the elements by their own demand, to be written to."""
    demands = _apart(by, *by.shape[-3:-1])[..., 1:]
    return np.asarray(np.einsum("...cjcj->...cj", demands))  # a view, not a copy


def _by_own_delay(by: Array) -> Array:
    """Of (..., classes, times) the elements by the delay of their own class, to be written to."""
    classes, times = by.shape[-2:]
    delays = _apart(by, classes, times // classes - 1)[..., 0]
    return np.asarray(np.einsum("...cc->...c", delays))  # a view, not a copy
