"""Prices of an asset along random paths, in time slices: the program of the law "monte_carlo".

n paths of a geometric Brownian motion go through 4 slices of 16 steps. For each slice the master
sends every rank what the slice is like, 24 bytes, and gets the price of every path at its end
back, 8 bytes a path; from all of them it takes the mean. At the end the mean payment is the price
of a European call option, of which Black and Scholes give the exact value.

Random numbers belong to a block of paths and a slice, whatever the ranks: the generator is Philox,
whose counter starts where block and slice say.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.kernels.kernel import Functions, Kernel, random_numbers
from parcast.kernels.ledger import Ledger, shares

Prices = NDArray[np.float64]

SLICES: Final = 4
STEPS: Final = 16  # of a path in a slice
BLOCK: Final = 512  # paths that go on together
YEARS: Final = 1.0  # of all slices
RATE: Final = 0.05  # of interest, in a year
VOLATILITY: Final = 0.2  # in a year
START: Final = 100.0  # price of the asset
STRIKE: Final = 105.0  # price at which the option buys


@dataclass(frozen=True, slots=True)
class Exposure:
    """What the paths give."""

    means: Prices  # of the prices at the end of each slice
    prices: Prices  # of all paths at the end

    @property
    def option(self) -> float:
        """Price of the option; NaN without a path."""
        paid = np.maximum(self.prices - STRIKE, 0.0)
        return float(paid.mean() * exp(-RATE * YEARS)) if paid.size else float("nan")


@dataclass(frozen=True, slots=True)
class Paths:
    """What a rank holds."""

    n: int  # paths of all ranks
    seed: int
    first: int  # of the blocks of this rank
    logs: Prices  # of the prices of its paths
    prices: Prices  # of all paths, on the master


def prepare(ledger: Ledger, n: int, seed: int) -> Paths:
    """Share the blocks of paths out."""
    bounds = path_bounds(n, ledger.size)
    mine = int(bounds[ledger.rank + 1] - bounds[ledger.rank])
    return Paths(
        n=n,
        seed=seed,
        first=int(bounds[ledger.rank]) // BLOCK,
        logs=np.full(mine, log(START)),
        prices=np.zeros(n if ledger.is_master else mine),
    )


def path_bounds(n: int, p: int) -> NDArray[np.int64]:
    """Bounds of the paths of each rank, all but the last a multiple of a block. [1]."""
    return np.minimum(shares(-(-n // BLOCK), p) * BLOCK, n)


def work(ledger: Ledger, state: Paths) -> Exposure:
    """Follow all paths, on all ranks."""
    bounds = path_bounds(state.n, ledger.size).tolist()
    means = np.zeros(SLICES)
    for i in range(SLICES):
        task = np.array([i, (RATE - VOLATILITY**2 / 2) * YEARS, VOLATILITY * YEARS**0.5])
        ledger.send_to_all(task)
        if not ledger.is_master:
            with ledger.computing:
                advance(ledger, state, task)
                np.exp(state.logs, out=state.prices)
            ledger.send(state.prices, 0)
            continue
        with ledger.computing:
            advance(ledger, state, task)
            np.exp(state.logs, out=state.prices[: state.logs.size])
        ledger.collect([state.prices[slice(*x)] for x in pairwise(bounds)])
        means[i] = state.prices.mean() if state.n else np.nan
    return Exposure(means, state.prices)


def advance(ledger: Ledger, state: Paths, task: Prices) -> None:
    """Take the paths of this rank through a slice."""
    number, drift, volatility = int(task[0]), float(task[1]), float(task[2])
    part = 1.0 / (SLICES * STEPS)
    by, spread = drift * part, volatility * part**0.5
    chance = np.empty((STEPS, BLOCK))
    for begin in range(0, state.logs.size, BLOCK):
        paths = state.logs[begin : begin + BLOCK]
        draws = chance.ravel()[: STEPS * paths.size].reshape(STEPS, paths.size)
        block = state.first + begin // BLOCK
        random_numbers(state.seed, number, block).standard_normal(out=draws)
        draws *= spread
        draws += by
        for draw in draws:
            paths += draw
    ledger.steps += STEPS * state.logs.size


def serial(n: int, seed: int) -> Exposure:
    """Follow the paths on one processor, block by block through all slices."""
    ends = np.zeros((SLICES, n))
    for begin in range(0, n, BLOCK):
        logs = np.full(min(BLOCK, n - begin), log(START))
        by = (RATE - VOLATILITY**2 / 2) * YEARS / (SLICES * STEPS)
        spread = VOLATILITY * YEARS**0.5 * (1.0 / (SLICES * STEPS)) ** 0.5
        for i in range(SLICES):
            chance = random_numbers(seed, i, begin // BLOCK)
            for draw in chance.standard_normal((STEPS, logs.size)):
                logs = logs + (draw * spread + by)
            ends[i, begin : begin + BLOCK] = np.exp(logs)
    return Exposure(ends.mean(axis=1) if n else np.full(SLICES, np.nan), ends[-1])


def is_correct(ledger: Ledger, state: Paths, result: Exposure) -> bool:
    """Compare with one processor, on the master."""
    right = True
    if ledger.is_master:
        expected = serial(state.n, state.seed)
        right = all(
            np.allclose(ours, theirs, rtol=1e-12, atol=0.0, equal_nan=True)
            for ours, theirs in (
                (result.means, expected.means),
                (result.prices, expected.prices),
            )
        )
    return ledger.all_agree(right)


def memory(n: int, p: int) -> int:
    """Bytes that all ranks need. [B]."""
    return n * 8 * (2 if p == 1 else 3)


KERNEL: Final = Kernel(
    name="monte_carlo",
    title="Monte Carlo prices along random paths, in time slices",
    size="paths",
    step="steps of a path",
    phase={
        "law": "monte_carlo",
        "alpha": STEPS,
        "slices": SLICES,
        "beta": "8 B * (p - 1) / p + 24 B * (p - 1) / n",
    },
    functions=Functions(prepare, work, is_correct, serial, memory),
    checked_up_to=400_000,
    example=1_000_000,
    block=BLOCK,
)
