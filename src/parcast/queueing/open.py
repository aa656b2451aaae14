"""Open queues of one server: customers arrive at a rate of their own, wait, are served, and leave.

With arrival rate lambda, mean service s, coefficient of variation of the service times cv, and
utilisation u = lambda s below 1, the mean wait is::

    M/G/1   W = u s (1 + cv^2) / (2 (1 - u))     Pollaczek and Khinchine
    M/M/1   W = u s / (1 - u)                    cv = 1
    M/D/1   W = u s / (2 (1 - u))                cv = 0

The response is W + s. Arrivals are Poisson: use it for messages on a channel that come from many
sources independently of each other; a program whose processes wait for their own messages is a
closed network.

The messages of [1]_, equations (7) and (8) [S], are `mm1` and `md1`: what it calls M/G/1 is the
formula for service times that are all the same.

References
----------
.. [1] J. Kuntraruk, W. M. Pottenger and A. M. Ross, "Application resource requirement estimation
   in a parallel-pipeline model of execution," IEEE Trans. Parallel Distrib. Syst., vol. 16,
   no. 12, pp. 1154-1165, 2005, :doi:`10.1109/TPDS.2005.143`.
.. [2] L. Kleinrock, Queueing Systems, vol. 1: Theory, Wiley, 1975, sections 3.2 and 5.6.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import at_least, mean_time


class OpenQueue(NamedTuple):
    """Equilibrium of an open queue; arrays of one shape."""

    waiting: Array  # before service [s]
    response: Array  # waiting and service [s]


def mm1(arrival_rate: ArrayLike, *, service: ArrayLike) -> OpenQueue:
    """Exponential service times: `mg1` with a cv of 1.

    >>> mm1([0.5, 0.9], service=1.0).response
    array([ 2., 10.])
    """
    return mg1(arrival_rate, service=service, cv2=1.0)


def md1(arrival_rate: ArrayLike, *, service: ArrayLike) -> OpenQueue:
    """Every service the same: `mg1` with a cv of 0.

    >>> md1([0.5, 0.9], service=1.0).response
    array([1.5, 5.5])
    """
    return mg1(arrival_rate, service=service, cv2=0.0)


def mg1(arrival_rate: ArrayLike, *, service: ArrayLike, cv2: ArrayLike) -> OpenQueue:
    """Service times of any law with the given variance.

    Arguments broadcast together: `arrival_rate` [1/s] and mean `service` [s], whose product must
    be below 1, and `cv2`, the variance of the service time over its mean squared.

    >>> mg1(0.5, service=1.0, cv2=[0.0, 1.0, 4.0]).waiting
    array([0.5, 1. , 2.5])
    """
    rate = at_least("arrival_rate", arrival_rate, 0, hint="Give it per second.")
    s = mean_time("service", service)
    u = rate * s
    hint = "The queue would grow without limit: slow the arrivals or speed up the service."
    require("utilisation", u, u < 1, must="be below 1", hint=hint)
    squared = at_least("cv2", cv2, 0, hint="Give variance over mean squared.")
    waiting = np.asarray(u * s * (1.0 + squared) / (2.0 * (1.0 - u)))
    return OpenQueue(waiting, np.asarray(waiting + s))
