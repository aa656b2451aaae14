"""Second routes to what the solvers compute, and points by which slopes are compared."""

import math

import numpy as np

from parcast.queueing.varied_queues import general_state

MOST_NUMBERS = 2**26  # states * classes * queues: some seconds, half a gigabyte
STEP = 1e-5  # of each amount, relative


def exact_multiclass_mva(customers, demands, delay):
    """Throughput of each class and its responses at each queue, by Reiser & Lavenberg's recursion.

    A customer of class c who arrives sees the network without itself, for every population:
    R_cj(n) = D_cj (1 + Q_j(n - e_c)), X_c(n) = n_c / (Z_c + sum over j of R_cj(n)).
    """
    counts, demands = np.asarray(customers, dtype=np.int64), np.asarray(demands)
    limits = counts + 1
    if math.prod(limits.tolist()) * demands.size > MOST_NUMBERS:
        raise MemoryError(f"{math.prod(limits.tolist())} states")
    strides = np.array([math.prod(limits[c + 1 :].tolist()) for c in range(counts.size)])
    states = np.indices(limits).reshape(counts.size, -1).T  # (states, classes)
    queue = np.zeros((len(states), demands.shape[1]))
    total = states.sum(axis=1)
    order = np.argsort(total, kind="stable")
    for members in np.split(order, np.cumsum(np.bincount(total)))[1:-1]:  # all but the empty state
        before = members[:, None] - strides  # any other state where there is none to take away
        responses = demands * (1.0 + queue[before])
        throughput = states[members] / (delay + responses.sum(axis=-1))
        queue[members] = np.einsum("sc,scj->sj", throughput, responses)
    return throughput[0], responses[0]


def one_general_queue(n, *, delay, service, law):
    """State of one queue of any arguments that broadcast."""
    n, z, b, cv = np.broadcast_arrays(*(np.asarray(x, float) for x in (n, delay, service, law.cv)))
    return general_state(n, z, b, law, cv)


def nearby(at):
    """Give arrays of each amount: of shape (amounts, 2), one of them being more, then less."""
    values = np.array([*at.values()])[:, None, None]
    moved = 1.0 + STEP * np.eye(len(at))[..., None] * np.array([1.0, -1.0])
    return dict(zip(at, values * moved, strict=True))
