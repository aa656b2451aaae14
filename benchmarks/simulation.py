"""The simulation of parcast beside the same model in SimPy: CPU time of one cycle of all jobs.

The model is that of `parcast.queueing.simulation.simulate` with 5 bursts and exponential times:
I/O where all jobs join, and I/O at one disk queue without a join. Run on one core, with SimPy
installed:

    taskset -c 0 .venv/bin/python benchmarks/simulation.py
"""

import argparse
import importlib.util
import random
import time

from parcast.queueing.simulation.cycle import Cycle
from parcast.queueing.simulation.simulate import simulate_joined, simulate_runs

JOBS = (16, 64, 256)
BURSTS = 5
CYCLES = 20  # of every job in one run without joins


def model(jobs: int, io_kind: str) -> Cycle:
    """A communication queue and a disk that are each about half busy."""
    io = 1.0 if io_kind == "synchronous" else 0.5 / jobs
    return Cycle(
        jobs=jobs, io_kind=io_kind, bursts=BURSTS, cpu=0.2, service=0.5 / BURSTS / jobs, io=io
    )


def with_parcast(cycle: Cycle, cycles: int) -> tuple[float, float]:
    """CPU time [s] and mean cycle [s] of about so many cycles."""
    start = time.process_time()
    if cycle.io_kind == "synchronous":
        mean = simulate_joined(cycle, replications=cycles).cycle.value
    else:
        runs = simulate_runs(cycle, cycles=CYCLES, replications=cycles // CYCLES)
        mean = runs.makespan.value / CYCLES
    return time.process_time() - start, mean


def with_simpy(cycle: Cycle, cycles: int) -> tuple[float, float]:
    """The same by SimPy: one process a job, one resource a queue."""
    import simpy

    draw = random.Random(1)
    joins = cycle.io_kind == "synchronous"

    def served(world, queue, mean):
        with queue.request() as turn:
            yield turn
            yield world.timeout(draw.expovariate(1 / mean))

    def job(world, bus, disk):
        for _ in range(1 if joins else CYCLES):
            for _ in range(BURSTS):
                yield world.timeout(draw.expovariate(1 / cycle.cpu))
                yield from served(world, bus, cycle.service)
            if not joins:
                yield from served(world, disk, cycle.io)

    start = time.process_time()
    total = 0.0
    for _ in range(cycles if joins else cycles // CYCLES):
        world = simpy.Environment()
        bus, disk = simpy.Resource(world), simpy.Resource(world)
        for _ in range(cycle.jobs):
            world.process(job(world, bus, disk))
        world.run()
        total += world.now + (draw.expovariate(1 / cycle.io) if joins else 0.0)
    return time.process_time() - start, total / cycles


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=5120, help="of parcast")
    parser.add_argument("--simpy-cycles", type=int, default=800, help="of SimPy, at 64 jobs")
    args = parser.parse_args()
    simpy = importlib.util.find_spec("simpy") is not None
    if not simpy:
        print(
            'SimPy is not installed; its half is left out. Install with: pip install "simpy>=4.1"'
        )
    columns = f"{'parcast ms':>12}{'cycle':>9}{'SimPy ms':>10}{'cycle':>9}{'ratio':>7}"
    print(f"{'I/O':12}{'jobs':>5}{columns}")
    for io_kind in ("synchronous", "striped"):
        for jobs in JOBS:
            cycle = model(jobs, io_kind)
            with_parcast(cycle, CYCLES * 2)  # warm
            number = max(CYCLES * 2, args.cycles // CYCLES * CYCLES)
            seconds, mean = with_parcast(cycle, number)
            line = f"{io_kind:12}{jobs:5}{1e3 * seconds / number:12.4f}{mean:9.4f}"
            if simpy:
                few = max(CYCLES, args.simpy_cycles * 64 // jobs // CYCLES * CYCLES)
                slow, other = with_simpy(cycle, few)
                ratio = slow / few / (seconds / number)
                line += f"{1e3 * slow / few:10.3f}{other:9.4f}{ratio:7.0f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
