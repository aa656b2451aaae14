"""Time until K jobs that share a queue have all done n cycles: formulas against a simulation.

Configurations are drawn at random (K = 4..256, n = 1..50, delays of cv 0..1, K x/z = 0..4) and
simulated cycle by cycle, all replications at once; the standard error is printed with the result.
Against it: equation (16) of Cremonesi and Gennaro (2002), which holds for a geometric number of
cycles; the mean spacings of the delays, each stretched as the queue stretches a cycle; a p-norm of
all work and the longest delays; and `parcast.queueing.fixed_cycles`. Run on one core:

    taskset -c 0 .venv/bin/python benchmarks/fixed_cycles.py [--configurations 200] [--seed 1]
"""

import argparse
from typing import NamedTuple

import numpy as np
from scipy import special

from parcast.queueing.fixed_cycles import fixed_cycles_time
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.order import expected_maximum
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.time_laws import TimeLaw, gamma_times

PRECISION = 0.004  # standard error aimed at, of the time
BATCH = 64  # replications simulated at once
MOST = 40  # batches


class Configuration(NamedTuple):
    """K jobs, n cycles of a delay of mean 1 and a service of mean load/K."""

    jobs: int
    cycles: int
    delay_cv: float
    service_cv: float
    load: float


def drawn(number: int, random: np.random.Generator) -> list[Configuration]:
    """Configurations, half of them with a cv or a load of which much is known."""
    chosen = []
    for _ in range(number):
        simple = random.random(2) < 0.5
        delay_cv = random.choice([0, 0.05, 0.2, 0.5, 1]) if simple[0] else random.random()
        loads = [0, 0.1, 0.3, 0.6, 0.8, 1, 1.3, 2, 4]
        chosen.append(
            Configuration(
                jobs=round(4 * 64 ** random.random()),
                cycles=round(50 ** random.random()),
                delay_cv=float(delay_cv),
                service_cv=float(random.choice([0, 0.5, 1])),
                load=float(random.choice(loads) if simple[1] else 4 * random.random() ** 1.5),
            )
        )
    return chosen


def times(
    mean: float, cv: float, size: tuple[int, ...], random: np.random.Generator
) -> np.ndarray:
    """Gamma variates."""
    if mean == 0 or cv == 0:
        return np.full(size, mean)
    return random.gamma(cv**-2, mean * cv**2, size)


def replications(at: Configuration, random: np.random.Generator) -> np.ndarray:
    """When the last job has left, in `BATCH` independent runs."""
    rows = np.arange(BATCH)
    arrival = times(1.0, at.delay_cv, (BATCH, at.jobs), random)
    done = np.zeros((BATCH, at.jobs), dtype=int)
    free = np.zeros(BATCH)  # when the queue has served everybody who came so far
    for _ in range(at.jobs * at.cycles):
        job = arrival.argmin(axis=1)
        service = times(at.load / at.jobs, at.service_cv, (BATCH,), random)
        free = np.maximum(free, arrival[rows, job]) + service
        done[rows, job] += 1
        again = free + times(1.0, at.delay_cv, (BATCH,), random)
        arrival[rows, job] = np.where(done[rows, job] < at.cycles, again, np.inf)
    return free


def simulated(at: Configuration, random: np.random.Generator) -> tuple[float, float]:
    """Mean time and its standard error relative to it."""
    found = replications(at, random)
    for _ in range(MOST - 1):
        error = found.std(ddof=1) / np.sqrt(found.size) / found.mean()
        if error <= PRECISION:
            break
        found = np.concatenate([found, replications(at, random)])
    return found.mean(), found.std(ddof=1) / np.sqrt(found.size) / found.mean()


def spacings(c: int, law: TimeLaw) -> np.ndarray:
    """Mean time during which exactly i of `c` are still under way, for i = 1..`c`.

    The integral over x of C(c,i) P(T > x)^i P(T <= x)^(c-i), by parts over ln(P(T > x)/P(T <= x)).
    """
    step = min(0.35, 1.2 / np.sqrt(c))
    reach = np.log(c) + 55.0  # exp(-55) is nothing, even times the longest of times
    y = np.arange(-reach, reach + step, step)
    v = np.logaddexp(0.0, y)  # P(T <= x) = exp(-v)
    deviate = law.deviate(v, law.cv[..., None]) * law.cv[..., None] * step
    i = np.arange(1.0, c + 1.0)[:, None]
    ways = special.gammaln(c + 1.0) - special.gammaln(i + 1.0) - special.gammaln(c - i + 1.0)
    chance = np.exp(ways + i * (y - v) - (c - i) * v)
    answer = deviate @ (chance * (i * special.expit(-y) - (c - i) * special.expit(y))).T
    answer[..., -1] += 1.0
    return np.maximum(answer, 0.0)


def answers(at: Configuration) -> dict[str, float]:
    """What each formula says."""
    k, n, x = at.jobs, at.cycles, at.load / at.jobs
    law = gamma_times(at.delay_cv, bursts=n)
    i = np.arange(1, k + 1)
    response = repairman_equilibrium(i, delay=1.0, service=x).response.value
    longest = n * float(expected_maximum(k, law))
    ours = fixed_cycles_time(
        k, cycles=n, delay=1.0, service=x, delay_cv=at.delay_cv, service_cv=at.service_cv
    )
    return {
        "equation (16)": n * float(departure_sum(k, delay=1.0, service=x).value),
        "spacings": n * float(spacings(k, law) @ (1.0 + response)),
        "p-norm": float(np.linalg.norm([n * at.load + 1.0, longest + n * x], ord=6)),
        "parcast": float(ours.value),
    }


def main() -> None:
    """Simulate, compare and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    random = np.random.default_rng(args.seed)
    chosen = drawn(args.configurations, random)
    truth, uncertain = np.array([simulated(at, random) for at in chosen]).T
    told = [answers(at) for at in chosen]
    service_cv = np.array([at.service_cv for at in chosen])
    print(f"{len(chosen)} configurations, largest standard error {uncertain.max():.2%}; |error|:")
    print(f"{'service cv':12}{'formula':16}{'mean':>8}{'95%':>8}{'worst':>8}")
    for cv in (1.0, 0.5, 0.0):
        of = service_cv == cv
        if not of.any():
            continue
        for name in told[0]:
            error = np.abs(np.array([one[name] for one in told]) / truth - 1)[of]
            figures = error.mean(), np.quantile(error, 0.95), error.max()
            print(f"{cv:<12g}{name:16}" + "".join(f"{100 * figure:7.1f}%" for figure in figures))


if __name__ == "__main__":
    main()
