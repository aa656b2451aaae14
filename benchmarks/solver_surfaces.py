"""Whole surfaces of the SPMD laws, p = 1..4096 processors by d = 1..64 disks, 262,144 networks.

    python benchmarks/solver_surfaces.py SURFACE ROUTE

prints CPU and wall seconds of one surface, its peak memory above that of the imports, how many
points it reached, and a sum of the answers to compare. `solvers.py` puts the routes side by side.
Parameters: parallel and serial part of a computation 7.6 s and 0.4 s, message start-up 0.01 s and
transfer 0.5 s / sqrt(p), a share of 0.3 of it over the bus, 5 computations to one I/O of
0.05 s + 8 s.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from solver_routes import peak_memory

from parcast.queueing.clusters import clusters, deal
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.two_queues import two_queues
from tests.queueing.routes import MOST_NUMBERS, exact_multiclass_mva

REPEATS = 5
LONG = 10.0  # what takes longer is run once [s]
LIMIT = 60.0  # for the route that does not get through [s]
SPARSE = 7  # one answer in so many is compared
P = np.arange(1.0, 4097.0)[:, None]
D = np.arange(1.0, 65.0)
BURSTS = 5.0
TRANSFER = np.where(P > 1, 0.5 / np.sqrt(P), 0.0)
DELAY = 7.6 / P + 0.4 + np.where(P > 1, 0.01, 0.0) + 0.7 * TRANSFER
BUS = 0.3 * TRANSFER
DISK = {"SIO": 0.05 + 8.0 / D, "BUS": 0.05 + 8.0 / (D * P), "CLU": 0.05 + 8.0 / P}


def sio() -> np.ndarray:
    """Cycle times, (p, d). [s]."""
    return BURSTS * departure_sum(P, delay=DELAY, service=BUS).value + DISK["SIO"]


def sio_textbook() -> np.ndarray:
    """The same by the recursion in the customers, once for all d."""
    z, x = DELAY[:, 0], BUS[:, 0]
    queue, total = np.zeros_like(z), np.zeros_like(z)
    for i in range(1, P.size + 1):
        left = slice(i - 1, None)  # p >= i
        response = x[left] * (1.0 + queue[left])
        cycle = z[left] + response
        total[left] += cycle / i
        queue[left] = i / cycle * response
    return BURSTS * total[:, None] + DISK["SIO"]


def bus() -> np.ndarray:
    """Cycle times, (p, d). [s]."""
    means = two_queues(P, delay=BURSTS * DELAY, x=BURSTS * BUS, y=DISK["BUS"])
    return P / means.throughput


def bus_equal() -> np.ndarray:
    """The hardest case: both queues alike everywhere."""
    same = np.broadcast_to(BURSTS * BUS, DISK["BUS"].shape)
    return P / two_queues(P, delay=BURSTS * DELAY, x=same, y=same).throughput


def bus_textbook() -> np.ndarray:
    """By the recursion in the customers, all points that still need it at once."""
    z, x, y = BURSTS * DELAY, BURSTS * BUS, DISK["BUS"]
    at_bus, at_disk, cycle = (np.zeros_like(y) for _ in range(3))
    for n in range(1, P.size + 1):
        left = slice(n - 1, None)
        first, second = x[left] * (1.0 + at_bus[left]), y[left] * (1.0 + at_disk[left])
        cycle[left] = z[left] + first + second
        throughput = n / cycle[left]
        at_bus[left], at_disk[left] = throughput * first, throughput * second
    return cycle


def clu() -> np.ndarray:
    """Cycle times, (p, d); where d does not divide p, some clusters have one processor more."""
    customers, count = deal(P, D)
    means = clusters(customers, count, delay=BURSTS * DELAY, own=DISK["CLU"], shared=BURSTS * BUS)
    return P / means.total_throughput


def clu_textbook() -> np.ndarray:
    """By exact mean value analysis of p or d classes, cheapest points first, till time is up."""
    customers, count = deal(P, D)
    logs = (count * np.log(customers + 1.0)).sum(axis=-1)
    used = np.minimum(P, D)
    numbers = logs + np.log(used * (used + 1.0))
    cycle = np.full(logs.shape, np.nan)
    stop = time.perf_counter() + LIMIT
    for flat in np.argsort(numbers, axis=None):
        i, j = np.unravel_index(flat, logs.shape)
        if time.perf_counter() > stop or numbers[i, j] > np.log(MOST_NUMBERS):
            break
        k = np.repeat(customers[i, j], count[i, j].astype(int))
        k = k[k > 0]
        own = DISK["CLU"][i, 0] * np.eye(k.size)
        demands = np.hstack([np.full((k.size, 1), BURSTS * BUS[i, 0]), own])
        throughput, _ = exact_multiclass_mva(k, demands, np.full(k.size, BURSTS * DELAY[i, 0]))
        cycle[i, j] = P[i, 0] / throughput.sum()
    return cycle


SURFACES: dict[str, dict[str, Callable[[], np.ndarray]]] = {
    "SIO": {"parcast": sio, "recursion": sio_textbook},
    "BUS-AIO": {"parcast": bus, "parcast, queues alike": bus_equal, "recursion": bus_textbook},
    "CLU-AIO": {"parcast": clu, "exact MVA by classes": clu_textbook},
}


def main() -> None:
    """Measure one route; the first run warms up where it is short."""
    surface, route = sys.argv[1:]
    solve = SURFACES[surface][route]
    resting = peak_memory()
    used, passed = [], []
    while len(used) < 1 + REPEATS and not (used and used[0] > LONG):
        start, wall = time.process_time(), time.perf_counter()
        cycle = solve()
        used.append(time.process_time() - start)
        passed.append(time.perf_counter() - wall)
    megabytes = peak_memory() - resting
    reached = np.isfinite(cycle)
    places = np.flatnonzero(reached)[::SPARSE]
    answer = {
        "seconds": statistics.median(used[1:] or used),
        "wall": statistics.median(passed[1:] or passed),
        "megabytes": megabytes,
        "points": int(reached.sum()),
        "sample": dict(zip(places.tolist(), cycle.flat[places].tolist(), strict=True)),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
