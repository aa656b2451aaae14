"""Closed networks, and the routes to their throughput that `solvers.py` puts side by side.

All three networks are one family. In each of `classes` clusters `customers` circulate: a delay of
mean `delay`, then the queue of the cluster (mean `own`), then a queue for all (mean `shared`).
With one cluster that is BUS-AIO, and without service at the own queue the machine repairman.

    python benchmarks/solver_routes.py ROUTE CLASSES CUSTOMERS DELAY OWN SHARED

prints the throughput of a cluster, CPU seconds and peak memory as JSON. Imports and LINE's model
are made before the clock starts. Of what takes less than a second the median of 5 more counts.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # tests/ has the reference solvers

REPEATS = 5
SHORT = 1.0  # what takes less is measured again
MEMORY = 8 * 2**30  # address space of a route [B]
CYCLES = 20_000  # of all customers, to simulate
DELAYS = 20  # to simulate at least, as long as the delay is


@dataclass(frozen=True)
class Net:
    """One closed network of equal clusters."""

    classes: int
    customers: int  # of one cluster
    delay: float  # [s]
    own: float  # 0: there is no such queue [s]
    shared: float  # [s]


def parcast(net: Net) -> Callable[[], float]:
    """Closed forms and the integral."""
    from parcast.queueing.clusters import clusters
    from parcast.queueing.repairman import repairman_equilibrium
    from parcast.queueing.two_queues import two_queues

    d, k, z, own, shared = astuple(net)
    if own == 0:
        return lambda: float(repairman_equilibrium(k, delay=z, service=shared).throughput.value)
    if d == 1:
        return lambda: float(two_queues(k, delay=z, x=shared, y=own).throughput)
    return lambda: float(clusters([k], [d], delay=z, own=own, shared=shared).throughput[0])


def exact_mva(net: Net) -> Callable[[], float]:
    """The textbook: mean value analysis through all populations, in NumPy (of parcast's tests)."""
    import numpy as np

    from tests.queueing.routes import exact_multiclass_mva

    d, k, z, own, shared = astuple(net)
    demands = np.hstack([np.full((d, 1), shared), own * np.eye(d)])
    return lambda: float(exact_multiclass_mva([k] * d, demands, [z] * d)[0][0])


def line(solver: str, method: str) -> Callable[[Net], Callable[[], float]]:
    """One of LINE's solvers, on a model that is made anew each time, off the clock."""

    def route(net: Net) -> Callable[[], float]:
        import line_solver

        models = [_line_model(line_solver, net)]

        def solve() -> float:
            analysis = getattr(line_solver, solver)(models.pop(), method=method, verbose=False)
            return float(analysis.getAvgTable()["Tput"].iloc[0])

        # type: ignore below: mypy knows no attributes of functions; the clock calls this one first.
        solve.before = lambda: models.append(_line_model(line_solver, net))  # type: ignore[attr-defined]
        return solve

    return route


def _line_model(line_solver, net: Net):
    model = line_solver.Network("clusters")
    shares = line_solver.SchedStrategy.PS
    delay = line_solver.Delay(model, "delay")
    bus = line_solver.Queue(model, "bus", shares)
    count = net.classes if net.own else 0
    disks = [line_solver.Queue(model, f"disk{i}", shares) for i in range(count)]
    classes = [
        line_solver.ClosedClass(model, f"cluster{i}", net.customers, delay)
        for i in range(net.classes)
    ]
    routes = model.initRoutingMatrix()
    for i, own_class in enumerate(classes):
        delay.setService(own_class, line_solver.Exp(1 / net.delay))
        bus.setService(own_class, line_solver.Exp(1 / net.shared))
        for j, disk in enumerate(disks):
            service = line_solver.Exp(1 / net.own) if i == j else line_solver.Disabled()
            disk.setService(own_class, service)
        stops = [delay, bus, *disks[i : i + 1], delay]
        for start, end in pairwise(stops):
            routes.set(own_class, own_class, start, end, 1.0)
    model.link(routes)
    return model


def simulation(net: Net) -> Callable[[], float]:
    """Ciw, a discrete-event simulation; the first fifth is left out."""
    import ciw

    d, k, z, own, shared = astuple(net)
    most = max(DELAYS * z, CYCLES * (z + own + shared) / (d * k))  # [s]
    queues = d if own else 0

    class OwnQueue(ciw.routing.NodeRouting):
        def next_node(self, ind):
            return self.simulation.nodes[3 + ind.id_number % d]

    back = ciw.routing.Direct(to=1)
    out = [ciw.routing.Direct(to=2), OwnQueue() if queues else back]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([1e-9, float("inf")]), *[None] * (1 + queues)],
        batching_distributions=[ciw.dists.Deterministic(d * k)] * (2 + queues),
        service_distributions=[
            ciw.dists.Exponential(1 / mean) for mean in (z, shared, *[own] * queues)
        ],
        number_of_servers=[float("inf"), *[1] * (1 + queues)],
        routing=ciw.routing.NetworkRouting(routers=[*out, *[back] * queues]),
    )

    def solve() -> float:
        ciw.seed(1)
        run = ciw.Simulation(network)
        run.simulate_until_max_time(most)
        ends = (x.service_end_date for x in run.get_all_records() if x.node == 1)
        return sum(most / 5 < end <= most for end in ends) / (0.8 * most * d)

    return solve


ROUTES = {
    "parcast": parcast,
    "exact MVA, NumPy": exact_mva,
    "LINE MVA, exact": line("MVA", "exact"),
    "LINE NC, exact": line("NC", "exact"),
    "LINE NC, default": line("NC", "default"),
    "LINE MVA, default": line("MVA", "default"),
    "LINE Linearizer": line("MVA", "lin"),
    "LINE Bard-Schweitzer": line("MVA", "bs"),
    "LINE LDES simulation": line("LDES", "default"),
    "Ciw simulation": simulation,
}


def peak_memory() -> float:
    """Most memory this process has had, from Linux; getrusage would count its parent's. [MB]."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith("VmHWM")) / 1024


def cpu_seconds() -> float:
    """Of this process and of those it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(solve: Callable[[], float]) -> tuple[float, float]:
    """Throughput and CPU seconds, the median of repeats where they are short."""

    def once() -> tuple[float, float]:
        start = cpu_seconds()
        answer = solve()
        return answer, cpu_seconds() - start

    prepare = getattr(solve, "before", lambda: None)
    throughput, seconds = once()
    if seconds < SHORT:
        several = []
        for _ in range(REPEATS):
            prepare()
            several.append(once()[1])
        seconds = statistics.median(several)
    return throughput, seconds


def main() -> None:
    """Take one route through one network."""
    route, classes, customers, *demands = sys.argv[1:]
    net = Net(int(classes), int(customers), *map(float, demands))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        throughput, seconds = measure(ROUTES[route](net))
    except MemoryError as fault:
        print(json.dumps({"gave_up": f"out of memory: {fault}"}))
        return
    except Exception as fault:  # whatever it says is the result
        print(json.dumps({"gave_up": f"{type(fault).__name__}: {fault}"}))
        return
    answer = {"throughput": throughput, "seconds": seconds, "megabytes": peak_memory()}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
