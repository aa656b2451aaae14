"""What a closed network of queues does in the long run, and which networks can be asked about.

A network is a matrix of demands: the service a customer needs of each queue in one cycle, all its
visits together. Beside the queues there may be a delay, where nobody waits for anybody. Classes
are customers that differ in their demands or their delay. Everything here has a product form, so
that means depend on demands and delays alone and not on the order of visits [1]_.

References
----------
.. [1] M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks,"
   J. ACM, vol. 27, no. 2, pp. 313-322, 1980, :doi:`10.1145/322186.322195`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parcast.errors import ParameterError, require
from parcast.queueing.arguments import customers_from_one, mean_time, require_time
from parcast.queueing.erlang import Array


class Slope(NamedTuple):
    """Derivatives of one mean by every delay and every demand of its network.

    The axes of the mean come first, those of what it is differentiated by after them: none for
    the delay of one class and (queues) for its demands, (classes) and (classes, queues) for
    several classes. By a time of 0 it is the derivative from above.
    """

    by_delay: Array
    by_demands: Array


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeanValueSlopes:
    """How the means of a closed network follow its delays and demands.

    Shapes are written for one class as (by delay), (by demands); for several classes, with (...)
    the shape of the networks, c of the classes and j of the queues, they are (..., c, c) and
    (..., c, c, j) for throughput, (..., c, j, c) and (..., c, j, c, j) for the others.
    """

    throughput: Slope  # shapes (...), (..., queues) [1/s^2]
    response_times: Slope  # shapes (..., queues), (..., queues, queues) [1]
    queue_lengths: Slope  # shapes (..., queues), (..., queues, queues) [1/s]
    utilisations: Slope  # shapes (..., queues), (..., queues, queues) [1/s]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeanValues:
    """Means of a closed network in equilibrium.

    For a network of one class (...) is the shape of the networks solved together; for several
    classes it ends with the axis of the classes.
    """

    throughput: Array  # cycles of all customers of a class, shape (...) [1/s]
    response_times: Array  # of all visits of a cycle to a queue, shape (..., queues) [s]
    queue_lengths: Array  # mean customers at a queue, the served included, (..., queues) [1]
    utilisations: Array  # fraction of time a class is served, shape (..., queues) [1]
    slopes: MeanValueSlopes | None = None  # where they were asked for

    @classmethod
    def of(
        cls,
        throughput: Array,
        response_times: Array,
        demands: Array,
        slopes: MeanValueSlopes | None = None,
    ) -> "MeanValues":
        """Everything that follows from throughput and response times by Little's law [S]_."""
        return cls(
            throughput=np.asarray(throughput),
            response_times=response_times,
            queue_lengths=throughput[..., None] * response_times,
            utilisations=throughput[..., None] * demands,
            slopes=slopes,
        )


def network(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike, *, classes: bool = False
) -> tuple[Array, Array, Array]:
    """Arguments that describe networks, broadcast together.

    Parameters
    ----------
    customers, delay : array_like, shape (...), which ends with the axis of classes, if any
        Customers [1] and their delay. [s]
    demands : array_like, shape (..., queues)
        Service of one cycle at each queue. [s]
    classes : bool
        Whether there is an axis of classes.

    Returns
    -------
    customers, demands, delay : ndarrays, shape (...), (..., queues), (...)

    Raises
    ------
    ParameterError
        If customers are below 1, a demand or a delay is below 0, something is not finite, a cycle
        takes no time, or an axis is missing.
    """
    hint = "Count the customers of each class from 1." if classes else "Count customers from 1."
    customers = customers_from_one(customers, hint=hint)
    demands = np.asarray(demands, dtype=np.float64)
    if demands.ndim < 1 + classes or demands.shape[-1] == 0:
        example = "[[0.1, 0.2], [0.1, 0.4]]" if classes else "[0.1, 0.2]"
        raise ParameterError(
            f"demands must have a number for each queue{' of each class' if classes else ''}, got "
            f"an array of shape {demands.shape}. Write {example} for two queues."
        )
    demands, delay = mean_time("demands", demands), mean_time("delay", delay)
    shape = np.broadcast_shapes(customers.shape, demands.shape[:-1], delay.shape)
    demands = np.broadcast_to(demands, (*shape, demands.shape[-1]))
    cycle = demands.sum(axis=-1) + delay
    require_time("delay + sum of demands", cycle, cycle)
    return np.broadcast_to(customers, shape), demands, np.broadcast_to(delay, shape)


def require_whole(customers: Array) -> None:
    """Refuse customers that exact recursions cannot count up to."""
    whole = customers == np.floor(customers)
    hint = "Use two_queues, clusters or schweitzer_mva between whole numbers."
    require("customers", customers, whole, must="be a whole number", hint=hint)
