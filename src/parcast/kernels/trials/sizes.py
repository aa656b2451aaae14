"""Which sizes `validate` calibrates with, and which it predicts.

A run that takes about 0.02 s is found by trial; from there sizes are taken such that the largest
calibrated one takes about 0.06 s on one processor and the largest predicted one, ten times larger,
no longer than allowed. Where the steps grow so fast that both cannot be had, first the factor of
ten shrinks, down to five, then the calibrated sizes: a law is no better than what it was
calibrated with.

Where messages grow with the size, as in an elimination, small runs on a slow network do little but
wait, which says little of larger ones. Then a second trial, on all ranks, shows what is waiting,
and the calibrated sizes grow until that takes no more than two thirds of a run, or until the
factor has come down to four. Ranks on hosts of their own, as on a testbed, may have a factor down
to two and a half, where waiting still takes four fifths. [D]

Where a testbed gives a host only a share of a core, all of these times are longer by that: the
share comes in slices of some 10 ms, and a run of few slices tells of slices, not of the law. For
the same reason calibrated sizes shrink there only where the factor would come down to two and a
half: for a law in n^2, a fifth of the size is a twenty-fifth of the slices. [D]
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.kernels.kernel import KernelRun
from parcast.kernels.trials.counting import CountedProgram
from parcast.kernels.worker import free_memory
from parcast.mpi.rank import PLACEMENT
from parcast.testbed.testbed import testbed_here

CALIBRATED: Final = 0.06  # wanted time of the largest calibrated size on one processor [s]
PARTS: Final = (0.35, 0.5, 0.7, 1.0)  # of the largest calibrated size [1]
LEAST, MOST = 4.0, 10.0  # factors by which predicted sizes are larger [1]
MIDDLE: Final = 5.0  # factor of the largest, below which calibrated sizes shrink instead [1]
TRIAL: Final = 0.02  # time of a trial that is long enough to go by [s]
MOST_TRIALS: Final = 5
REPEATED: Final = 5  # runs of a trial [1]
SMALLEST: Final = 16  # n [1]
LARGEST_SIZE: Final = 2.0**40  # n, which none reaches [1]
AT_ONCE: Final = 8  # doublings of n that are tried
WAITING: Final = 2 / 3  # share of a calibrated run that may be no computing [1] [D]
WAITING_AT_MOST: Final = 0.8  # share from which the factor may be `LOWEST` [1] [D]
LOWEST: Final = 2.5  # factor on hosts, where the calibrated runs do little but wait [1] [D]
WELL: Final = 1.5  # factor between counts that a third one lies between [1] [D]
NEAR: Final = 1.1  # factors that differ less give one size [1]
QUICK_LONGEST, QUICK_CALIBRATED = 0.5, 0.03  # of a predicted and a calibrated run, in a hurry [s]
MEMORY_SHARE: Final = 0.4  # of the memory that is available [1]

Tried = Callable[[Sequence[int], int], Sequence[KernelRun]]  # runs of sizes on so many ranks


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedSizes:
    """What was asked of every program."""

    counts: tuple[int, ...]  # of ranks to predict, ascending
    predicted: tuple[int, ...] | None  # sizes; None: to be chosen
    calibrated: tuple[int, ...] | None
    longest: float  # of a predicted run on one processor [s]
    is_quick: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Sizes to calibrate with and sizes to predict, ascending."""

    calibrated: tuple[int, ...]
    predicted: tuple[int, ...]


def sizes_for(wanted: AskedSizes, program: CountedProgram, each: float, tried: Tried) -> Sizes:
    """Choose sizes from the seconds of a step, `each`, as far as they were not given."""
    if wanted.predicted is not None and wanted.calibrated is not None:
        return Sizes(calibrated=wanted.calibrated, predicted=wanted.predicted)
    most_p, share = max(wanted.counts), share_of_core()
    choose = partial(
        chosen_sizes,
        program,
        each,
        longest=min(wanted.longest, QUICK_LONGEST) if wanted.is_quick else wanted.longest,
        calibrated=(QUICK_CALIBRATED if wanted.is_quick else CALIBRATED) / share,
        most_p=most_p,
        memory=free_memory() or float("inf"),
        middle=LOWEST if share < 1.0 else MIDDLE,
        lowest=LOWEST if os.environ.get(PLACEMENT) == "free" else LEAST,  # ranks on own hosts
    )
    chosen = choose()
    if wanted.calibrated is None:
        waiting = waiting_in(program, each, tried, n=chosen.calibrated[-1], p=most_p)
        chosen = choose(waiting=waiting)
    if wanted.predicted is not None:
        for most in (min(wanted.predicted) / LEAST, min(wanted.predicted)):
            below = tuple(n for n in chosen.calibrated if n <= most)
            if len(below) > 1:
                return Sizes(calibrated=below, predicted=wanted.predicted)
        return replace(chosen, predicted=wanted.predicted)
    if wanted.calibrated is not None:
        ratio = wanted.calibrated[-1] / chosen.calibrated[-1]
        predicted = tuple(round(ratio * n) for n in chosen.predicted)
        return Sizes(calibrated=wanted.calibrated, predicted=predicted)
    return chosen


def share_of_core() -> float:
    """Share of a core that a rank gets: that of a host on a testbed, else all of it [1]."""
    testbed = testbed_here()
    return 1.0 if testbed is None or testbed.cap is None else min(testbed.cap, 1.0)


def seconds_a_step(program: CountedProgram, tried: Tried) -> float:
    """Time of a step on one processor, found by trials that are long enough to go by [s].

    The shortest of some runs counts, so that others on the machine do not make the sizes smaller.
    """
    trial = TRIAL / share_of_core()
    n = max(SMALLEST, size_with(program, steps_of(program, program.kernel.example) / 100))
    for _ in range(MOST_TRIALS):
        took = min(run.time for run in tried([n] * REPEATED, 1))
        each = took / steps_of(program, n)
        larger = size_with(program, trial * 2 / each)
        if took >= trial or larger <= n:
            break
        n = larger
    return each


def waiting_in(
    program: CountedProgram, each: float, tried: Tried, *, n: int, p: int
) -> Callable[[int], float]:
    """Give the share of a run of some size that is no computing, by a trial of two sizes [1].

    It is split into messages and bytes; where messages do not grow with n, the share is 0.
    """
    both = [n, 2 * n]
    counted = program.counted(both, float(p))
    if p == 1 or counted.messages[1] <= counted.messages[0]:
        return lambda _: 0.0
    runs = tried(both * (REPEATED // 2 + 1), p)
    a_step = each * -(-p // runs[0].cores)  # ranks on the core with most
    took = np.array([min(run.time for run in runs if run.n == size) for size in both])
    rest = np.maximum(1.0 - counted.steps * a_step / took, 0.0)
    matrix = np.stack([counted.messages, counted.network_bytes], axis=1) / took[:, None]
    scale = matrix.max(axis=0)
    startup, a_byte = nnls(matrix / scale, rest)[0] / scale

    def share(size: int) -> float:
        there = program.counted(float(size), float(p))
        waiting = float(there.messages) * startup + float(there.network_bytes) * a_byte
        return float(waiting / (waiting + float(there.steps) * a_step))

    return share


def steps_of(program: CountedProgram, n: int) -> float:
    """Steps on one processor [1]."""
    return float(program.counted(float(n), 1.0).steps)


def size_with(program: CountedProgram, steps: float) -> int:
    """Largest size that takes no more than so many steps on one processor, at least 1."""

    def last_that_fits(sizes: Array) -> int:
        with np.errstate(over="ignore", invalid="ignore"):  # beyond the size that is looked for
            fits = program.counted(sizes[1:], 1.0).steps <= steps
        return int(np.argmin([*fits, False]))

    powers: Array = np.ones(1)  # in blocks: a formula need not be good far beyond the size
    last = AT_ONCE
    while last == AT_ONCE and powers[-1] < LARGEST_SIZE:
        powers = np.array([float(powers[-1]) * 2.0**i for i in range(AT_ONCE + 1)])
        last = last_that_fits(powers)
    low = powers[min(last, AT_ONCE - 1)]
    high = 2 * low
    while high - low > 1:
        sizes: Array = np.unique(np.floor(np.linspace(low, high, 65)))
        last = last_that_fits(sizes[:-1])
        low, high = sizes[last : last + 2]
    return int(low)


def chosen_sizes(
    program: CountedProgram,
    each: float,
    *,
    longest: float,
    calibrated: float = CALIBRATED,
    most_p: int,
    memory: float,
    waiting: Callable[[int], float] = lambda _: 0.0,
    middle: float = MIDDLE,
    lowest: float = LEAST,
) -> Sizes:
    """Choose the sizes, from the seconds of a step, `each`, and the memory [B].

    Below the factor `middle` calibrated sizes shrink; `lowest` is still taken where, by `waiting`
    of a size on `most_p` ranks, waiting is nearly all.
    """
    grain = program.kernel.block * most_p if program.kernel.block > 1 else 1
    fewest = max(SMALLEST, 4 * most_p * program.kernel.block)
    base = size_with(program, min(calibrated, longest / LEAST) / each)
    largest = size_with(program, longest / each)
    base = max(min(base, int(largest / middle)), fewest)
    base = _grown(base, int(largest / LEAST), waiting, WAITING)
    base = _grown(base, int(largest / lowest), waiting, WAITING_AT_MOST)
    lowest = min(max(largest / base, lowest), LEAST)
    top = min(max(largest / base, lowest), MOST)
    while program.kernel.functions.memory(round(top * base), most_p) > MEMORY_SHARE * memory:
        base = int(base * 0.8)
        if base < fewest:
            raise ParameterError(
                f"{program.kernel.name} needs more memory than is available, even for small "
                "sizes. Give sizes yourself, or fewer ranks."
            )
    factors = [lowest, (lowest * top) ** 0.5, top] if top >= 1.5 * lowest else [lowest, top]
    factors = factors if top >= NEAR * lowest else [top]
    small = {max(_whole(part * base, grain), 4 * most_p) for part in PARTS}
    return Sizes(
        calibrated=tuple(sorted(small)),
        predicted=tuple(sorted({_whole(x * max(small), grain) for x in factors})),
    )


def _grown(base: int, most: int, waiting: Callable[[int], float], share: float) -> int:
    """Grow a size until waiting takes no more than a share, or it is as large as it may be."""
    while base < most and waiting(base) > share:
        base = min(round(1.1 * base) + 1, most)
    return base


def _whole(n: float, grain: int) -> int:
    """Nearest size that can be dealt out evenly, of one piece at least. [1]."""
    return max(round(n / grain), 1) * grain


def calibrated_counts(p: Sequence[int]) -> tuple[int, ...]:
    """Rank counts to calibrate with: 1, 2, the largest, and one that lies well between.

    W is calibrated with one, u with two processors, an upper, and with all, a lower bound [S];
    what waiting costs need not lie between, so a count apart by `WELL` from both is added [D].
    """
    most = max(p)
    if most == 1:
        return (1,)
    between = [x for x in p if 2 * WELL <= x <= most / WELL]
    middle = (2 * most) ** 0.5
    nearest = sorted(between, key=lambda x: abs(np.log(x / middle)))[:1]
    return tuple(sorted({1, 2, most, *nearest}))


def repetitions_for(time: float, *, most: int, within: float) -> int:
    """Repetitions in a launch: as many as take so long, at least 2. [1]."""
    return int(np.clip(within / time, 2, most))
