"""Solvers of closed queueing networks and whole surfaces, side by side, in one run.

parcast, exact mean value analysis as the textbooks have it, LINE (`line-solver`: its exact methods
and its approximations, in Python, and LDES, its compiled simulation) and Ciw (a simulation in
Python), on the networks of `solver_routes.py`.

Each route runs in a process of its own with a limit of time and of memory; what it says when it
gives up is printed. Errors are relative to a reference of 30 digits. After two networks in a row
that were too much, a route is not asked about larger ones of the same kind.

JMT, and LINE's engine in Java, are programs that the package registry does not have: LINE would
fetch them from SourceForge. They are not here.

    make benchmark-solvers
    taskset -c 0 .venv-benchmark-solvers/bin/python benchmarks/solvers.py [--limit 60]
"""

import argparse
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import astuple
from decimal import Decimal, localcontext
from pathlib import Path

from solver_routes import MEMORY, ROUTES, Net
from solver_surfaces import LIMIT, SURFACES

HERE = Path(__file__).resolve().parent
LADDER = [(2, 8), (4, 8), (8, 8), (16, 8), (64, 8), (512, 64), (4096, 256)]
FAMILIES = {
    "CLU-AIO, d clusters of k customers: delay 1, own queue 1/k, shared queue 1/(d k)": {
        f"d = {d}, k = {k}": Net(d, k, 1.0, 1 / k, 1 / (d * k)) for d, k in LADDER
    },
    "BUS-AIO, N customers: delay 1, disk 0.9/N, bus 1/N": {
        f"N = {n:,}": Net(1, n, 1.0, 0.9 / n, 1 / n) for n in (16, 256, 4096, 10**6)
    },
    "Machine repairman, N customers: delay 1, queue 1/N": {
        f"N = {n:,}": Net(1, n, 1.0, 0.0, 1 / n) for n in (10**e for e in range(2, 8))
    },
}
TRIES = 2  # networks in a row that may be too much for a route
WIDTH = 98


def ask(arguments: list[str], limit: float) -> dict:
    """What a route answers within a limit of wall time on one thread, or how it gave up."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False,
            env=os.environ | threads,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return {"gave_up": f"no answer in {limit:g} s"}
    if done.returncode:
        return {"gave_up": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def compare(title: str, nets: dict[str, Net], routes: list[str], limit: float) -> None:
    """Print the table of one family of networks."""
    print(f"\n{title}\n")
    print(f"{'':22}{'throughput':>16}{'error':>10}{'CPU [s]':>10}{'ratio':>10}{'MB':>6}")
    failed = dict.fromkeys(routes, 0)
    for name, net in nets.items():
        exact = reference(net)
        print(f"{name:22}{exact:16.10g}  the reference")
        ours = None
        for route in routes:
            if failed[route] == TRIES:
                continue
            numbers = map(str, astuple(net))
            answer = ask([str(HERE / "solver_routes.py"), route, *numbers], limit)
            if "gave_up" in answer:
                failed[route] += 1
                why = textwrap.shorten(answer["gave_up"], WIDTH - 24, placeholder=" ...")
                print(f"  {route:20}  {why}")
                continue
            failed[route] = 0
            seconds, throughput = answer["seconds"], answer["throughput"]
            ours = ours or seconds
            error = abs(throughput / exact - 1)
            print(
                f"  {route:20}{throughput:16.10g}{error:10.1e}{seconds:10.4f}"
                f"{seconds / ours:10,.1f}{answer['megabytes']:6.0f}",
                flush=True,
            )


def compare_surfaces(limit: float) -> None:
    """Print the table of surfaces."""
    print(
        "\nSurfaces of 262,144 points, p = 1..4096 by d = 1..64, on one core; MB above imports\n"
    )
    heads = f"{'points':>9}{'CPU [s]':>10}{'wall [s]':>10}{'ratio':>9}{'MB':>6}{'differs by':>12}"
    print(f"{'surface':9}{'route':24}{heads}")
    for surface, routes in SURFACES.items():
        ours: dict = {}
        for route in routes:
            here = [str(HERE / "solver_surfaces.py"), surface, route]
            answer = ask(here, 4 * limit)
            if "gave_up" in answer:
                print(f"{surface:9}{route:24}{answer['gave_up']}")
                continue
            ours = ours or answer
            seconds = answer["seconds"]
            both = [
                (t, ours["sample"][i]) for i, t in answer["sample"].items() if i in ours["sample"]
            ]
            other = "alike" in route  # another network
            off = "" if answer is ours or other else f"{max(abs(a / b - 1) for a, b in both):.0e}"
            print(
                f"{surface:9}{route:24}{answer['points']:9,}{seconds:10.3f}{answer['wall']:10.3f}"
                f"{seconds / ours['seconds']:9.1f}{answer['megabytes']:6.0f}{off:>12}",
                flush=True,
            )


def reference(net: Net) -> float:
    """The throughput of a cluster, from 30 digits: see `by_recursion` and `by_integral`."""
    return by_recursion(net) if net.classes == 1 else by_integral(net)


def by_recursion(net: Net) -> float:
    """Exact mean value analysis of one class in decimals."""
    with localcontext() as context:
        context.prec = 30
        z, own, shared = (Decimal(x) for x in (net.delay, net.own, net.shared))
        throughput = at_own = at_shared = Decimal(0)
        for n in range(1, net.customers + 1):
            at_own = own * (1 + throughput * at_own)
            at_shared = shared * (1 + throughput * at_shared)
            throughput = n / (z + at_own + at_shared)
        return float(throughput)


def by_integral(net: Net) -> float:
    """The normalising constant as the integral of exp(-t) e_k(u)^d, u = (z + shared t)/own.

    e_k is the exponential series up to u^k/k!, summed term by term; the throughput of a cluster is
    the mean of e_(k-1)(u)/e_k(u) over own.
    """
    import mpmath

    d, k = net.classes, net.customers
    with mpmath.workdps(30):
        z, own, shared = (mpmath.mpf(x) for x in (net.delay, net.own, net.shared))

        def at(t):
            u = (z + shared * t) / own
            term = total = mpmath.mpf(1)
            for m in range(1, k + 1):
                term *= u / m
                total += term
            return d * mpmath.log(total) - t, 1 - term / total

        low, high = mpmath.mpf(0), mpmath.mpf(4 * d * k)
        for _ in range(40):  # the slope of the logarithm falls from left to right
            top = (low + high) / 2
            rises = d * shared / own * at(top)[1] > 1
            low, high = (top, high) if rises else (low, top)
        ends = [_where_it_ends(lambda t: at(t)[0], low, far) for far in (0, 4 * d * k + 200)]
        cuts = mpmath.linspace(*ends, 9)
        highest = at(low)[0]
        weights = mpmath.quad(lambda t: mpmath.exp(at(t)[0] - highest), cuts)
        busy = mpmath.quad(lambda t: at(t)[1] * mpmath.exp(at(t)[0] - highest), cuts)
        return float(busy / weights / own)


def _where_it_ends(height: Callable, top, far):
    """Where a concave function, towards `far`, has dropped by 80."""
    inner, outer = top, far + 0 * top
    for _ in range(30):
        middle = (inner + outer) / 2
        inner, outer = (middle, outer) if height(middle) > height(top) - 80 else (inner, middle)
    return outer


def main() -> None:
    """Measure and print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a route")
    parser.add_argument("--only", nargs="+", choices=ROUTES, help="and leave out the surfaces")
    args = parser.parse_args()
    limit = args.limit
    print(f"ratio: CPU time over parcast's. Limits: {limit:g} s, {MEMORY / 2**30:g} GB.")
    if not args.only:
        compare_surfaces(max(limit, LIMIT))
    for title, nets in FAMILIES.items():
        compare(title, nets, args.only or list(ROUTES), limit)


if __name__ == "__main__":
    main()
