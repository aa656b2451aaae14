"""Times that vary as they like: three formulas against a simulation, beside simpler ones.

Joined: K jobs share one queue and join after a geometric number of cycles. `geometric_cycles`
beside equation (16) of Cremonesi and Gennaro (2002), which takes all times as exponential.

Circulating: K jobs share a queue, and all of them or those of a cluster a second one, and never
join. `two_varied_queues`, times the exact solution for exponential services over its own, beside
that exact solution alone.

Unequal: K jobs share one queue and join after a fixed number of cycles; some of them have a longer
delay. `two_class_time` beside `fixed_cycles_time` of as many jobs with the mean delay.

Configurations are drawn at random and simulated by `parcast.queueing.simulation.simulate` (which
the tests compare with SimPy) until the mean is known to half a per cent:

    taskset -c 0 .venv/bin/python benchmarks/varied_times.py [--configurations 150] [--seed 3]
"""

import argparse

import numpy as np

from parcast.queueing.clusters import clusters
from parcast.queueing.fixed_cycles import fixed_cycles_time, geometric_cycles_time
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.simulation.cycle import Cycle
from parcast.queueing.simulation.simulate import simulate_joined, simulate_steady
from parcast.queueing.time_laws import exponential_service, gamma_service
from parcast.queueing.two_queues import two_queues
from parcast.queueing.unequal_cycles import TwoClasses, two_class_time
from parcast.queueing.varied_queues import two_varied_queues

PRECISION = 0.01  # half width of the interval of a simulated mean
LOADS = [0.1, 0.3, 0.6, 0.8, 1.0, 1.3, 2.0, 4.0]


def law(cv: float) -> str | float:
    """What the simulation calls a gamma law of that cv."""
    return {0.0: "none", 1.0: "exponential"}.get(cv, cv)


def joined(number: int, random: np.random.Generator) -> list[dict[str, float]]:
    """Simulated and computed times until all have joined; delays have mean 1."""
    rows = []
    for i in range(number):
        k, n = round(4 * 64 ** random.random()), round(50 ** random.random())
        c = float(random.choice([0, 0.05, 0.2, 0.5, 1, random.random()]))
        s, load = float(random.choice([0, 0.5, 1, 2])), float(random.choice([0, *LOADS]))
        cycle = Cycle(
            jobs=k,
            bursts=n,
            burst_count="geometric",
            cpu=1.0,
            service=load / k,
            cpu_law=law(c),
            service_law=law(s),
        )
        found = simulate_joined(cycle, replications=1024, precision=PRECISION, seed=i)
        ours = geometric_cycles_time(
            k, cycles=n, delay=1.0, service=load / k, delay_cv=c, service_cv=s
        )
        rows.append(
            {
                "jobs": k,
                "cycles": n,
                "delay_cv": c,
                "service_cv": s,
                "service": load / k,
                "time": found.joined.value,
                "parcast": float(ours.value),
                "exponential": n * float(departure_sum(k, delay=1.0, service=load / k).value),
            }
        )
    return rows


def circulating(number: int, random: np.random.Generator) -> list[dict[str, float]]:
    """Simulated and computed cycles of jobs that never join; delays have mean 1."""
    rows = []
    for i in range(number):
        d, n = int(random.choice([1, 1, 2, 3, 4, 8])), round(20 ** random.random())
        each = round(2 * 16 ** random.random())
        k = each * d
        c = float(random.choice([0, 0.2, 0.5, 1]))
        s = [float(cv) for cv in random.choice([0, 0.5, 1, 2], 2)]
        loads = random.choice([0.0, 0.3, 0.7, 1.0, 2.0], 2) * random.uniform(0.8, 1.2, 2)
        x, y = float(loads[0] / k), float(loads[1] * n / each)
        geometric = bool(random.random() < 0.5)
        cycle = Cycle(
            jobs=k,
            io_kind="clustered" if d > 1 else "striped",
            disks=d,
            bursts=n,
            burst_count="geometric" if geometric else "fixed",
            cpu=1.0,
            service=x,
            io=y,
            cpu_law=law(c),
            service_law=law(s[0]),
            io_law=law(s[1]),
        )
        found = simulate_steady(
            cycle, cycles=200, replications=32, precision=PRECISION, seed=i, most_cycles=300_000
        )
        approximate, exponential = (
            float(
                two_varied_queues(
                    k,
                    each,
                    visits=n,
                    delay=1.0,
                    first=x,
                    second=y,
                    delay_cv=c,
                    laws=laws,
                    geometric=geometric,
                ).time
            )
            for laws in (
                (gamma_service(s[0]), gamma_service(s[1])),
                (exponential_service(), exponential_service()),
            )
        )
        exact = exact_cycle(k, d, delay=n, first=n * x, second=y)
        rows.append(
            {
                "jobs": k,
                "sharing": each,
                "visits": n,
                "geometric": geometric,
                "delay_cv": c,
                "first_cv": s[0],
                "second_cv": s[1],
                "first": x,
                "second": y,
                "time": found.cycle.value,
                "parcast": exact * approximate / exponential,
                "exponential": exact,
            }
        )
    return rows


def unequal(number: int, random: np.random.Generator) -> list[dict[str, float]]:
    """Simulated and computed times until jobs of two classes have joined; the mean delay is 1."""
    rows = []
    for i in range(number):
        k = int(random.choice([2, 4, 8, 16, 32, 64, 128]))
        heavy = min(max(1, k // int(random.choice([2, 4, 8, 128]))), k - 1)
        n, c = int(random.choice([1, 2, 5, 10])), float(random.choice([0, 0.1, 0.3, 1]))
        s, load = float(random.choice([0, 0.5, 1])), float(random.choice([0.1, 0.3, 0.6, 1, 3]))
        ratio = float(random.choice([1.1, 1.3, 1.6, 2, 3]))  # heavy over light
        light = k / (k - heavy + heavy * ratio)
        cycle = Cycle(
            jobs=k,
            bursts=n,
            cpu=light,
            heavy=heavy,
            heavy_cpu=ratio * light,
            service=load / k,
            cpu_law=law(c),
            service_law=law(s),
        )
        found = simulate_joined(cycle, replications=64, precision=PRECISION / 2, seed=i)
        ours = TwoClasses(
            jobs=np.array([[k - heavy], [heavy]], float),
            delay=np.array([[light], [ratio * light]]),
            steady=np.zeros(1),
            delay_cv=np.full((2, 1), c),
            service=np.full(1, load / k),
            service_cv=np.full(1, s),
        )
        equal = fixed_cycles_time(
            k, cycles=n, delay=1.0, service=load / k, delay_cv=c, service_cv=s
        )
        rows.append(
            {
                "jobs": k,
                "heavy": heavy,
                "cycles": n,
                "delay_cv": c,
                "service_cv": s,
                "ratio": ratio,
                "service": load / k,
                "time": found.joined.value,
                "parcast": float(two_class_time(ours, np.full(1, float(n)))[0]),
                "equal": float(equal.value),
            }
        )
    return rows


def exact_cycle(k: int, d: int, *, delay: float, first: float, second: float) -> float:
    """Mean cycle with exponential services."""
    if d == 1:
        return k / float(two_queues(k, delay=delay, x=first, y=second).throughput)
    found = clusters([k // d], [d], delay=delay, own=second, shared=first)
    return k // d / float(found.throughput[0])


def main() -> None:
    """Simulate, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--configurations", type=int, default=150, help="of each kind")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--rows", action="store_true", help="print every configuration as CSV")
    asked = parser.parse_args()
    print("| jobs | formula | mean error | one in twenty above | worst |")
    print("|---|---|---|---|---|")
    for name, compare in (
        ("joined", joined),
        ("circulating", circulating),
        ("unequal", unequal),
    ):
        rows = compare(asked.configurations, np.random.default_rng(asked.seed))
        times = np.array([row["time"] for row in rows])
        for formula in [*rows[0]][-2:]:
            error = np.abs(np.array([row[formula] for row in rows]) / times - 1.0)
            figures = error.mean(), np.quantile(error, 0.95), error.max()
            print(f"| {name} | {formula} | " + " | ".join(f"{x:.1%}" for x in figures) + " |")
        if asked.rows:
            print(",".join(rows[0]))
            for row in rows:
                print(",".join(f"{float(value):.6g}" for value in row.values()))


if __name__ == "__main__":
    main()
