"""Which sizes `validate` calibrates with, and which it predicts.

A run that takes about 0.02 s is found by trial; from there sizes are taken such that the largest
calibrated one takes about 0.06 s on one processor and the largest predicted one, ten times larger,
no longer than allowed. Where the steps grow so fast that both cannot be had, first the factor of
ten shrinks, down to five, then the calibrated sizes: a law is no better than what it was
calibrated with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.errors import ParameterError
from parcast.verbs.validate_runs import PATIENCE, Runner, require_runs
from parcast.verbs.validate_subject import Subject

CALIBRATED: Final = 0.06  # wanted time of the largest calibrated size on one processor [s]
PARTS: Final = (0.35, 0.5, 0.7, 1.0)  # of the largest calibrated size [1]
LEAST, MOST = 4.0, 10.0  # factors by which predicted sizes are larger [1]
MIDDLE: Final = 5.0  # factor of the largest, below which calibrated sizes shrink instead [1]
TRIAL: Final = 0.02  # time of a trial that is long enough to go by [s]
MOST_TRIALS: Final = 5
REPEATED: Final = 5  # runs of a trial [1]
SMALLEST: Final = 16  # n [1]
MEMORY_SHARE: Final = 0.4  # of the memory that is available [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Sizes to calibrate with and sizes to predict, ascending."""

    calibrated: tuple[int, ...]
    predicted: tuple[int, ...]


def seconds_a_step(subject: Subject, *, runner: Runner, seed: int) -> float:
    """Time of a step on one processor, found by trial [s].

    The shortest of some runs counts, so that others on the machine do not make the sizes smaller.

    Raises
    ------
    RunFailed
        If the program fails or its result is wrong.
    """
    n = max(SMALLEST, size_with(subject, steps_of(subject, subject.example) / 100))
    for _ in range(MOST_TRIALS):
        sizes = [n] * REPEATED
        runs = runner(
            subject.name, n=sizes, ranks=1, seed=seed, check=None, time_limit=PATIENCE[0]
        )
        require_runs(subject.name, sizes, 1, runs)
        took = min(run.time for run in runs)
        each = took / steps_of(subject, n)
        larger = size_with(subject, TRIAL * 2 / each)
        if took >= TRIAL or larger <= n:
            break
        n = larger
    return each


def steps_of(subject: Subject, n: int) -> float:
    """Steps on one processor [1]."""
    return float(subject.counted(float(n), 1.0).steps)


def size_with(subject: Subject, steps: float) -> int:
    """Largest size that takes no more than so many steps on one processor, at least 1."""
    low, high = 1, 2
    while steps_of(subject, high) <= steps and high < 2**40:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if steps_of(subject, middle) <= steps else (low, middle)
    return low


def chosen_sizes(
    subject: Subject,
    each: float,
    *,
    longest: float,
    calibrated: float = CALIBRATED,
    most_p: int,
    memory: float,
) -> Sizes:
    """Choose the sizes.

    Parameters
    ----------
    subject : Subject
        The program.
    each : float
        Time of a step on one processor. [s]
    longest : float
        That a run may take on one processor. [s]
    calibrated : float, optional
        That the largest calibrated size should take. [s]
    most_p : int
        Largest count of ranks. [1]
    memory : float
        That is available. [B]

    Raises
    ------
    ParameterError
        If the memory has no room for sizes four times those calibrated.
    """
    fewest = max(SMALLEST, 4 * most_p)
    base = size_with(subject, min(calibrated, longest / LEAST) / each)
    largest = size_with(subject, longest / each)
    base = max(min(base, int(largest / MIDDLE)), fewest)
    top = min(max(largest / base, LEAST), MOST)
    while subject.memory(round(top * base), most_p) > MEMORY_SHARE * memory:
        base = int(base * 0.8)
        if base < fewest:
            raise ParameterError(
                f"{subject.name} needs more memory than there is, even for small sizes. Give "
                "sizes with --sizes, or fewer ranks."
            )
    factors = [LEAST, top] if top < 1.5 * LEAST else [LEAST, (LEAST * top) ** 0.5, top]
    return Sizes(
        calibrated=tuple(sorted({max(round(part * base), 4 * most_p) for part in PARTS})),
        predicted=tuple(sorted({round(x * base) for x in factors})),
    )


def calibrated_counts(p: Sequence[int]) -> tuple[int, ...]:
    """Counts of ranks to calibrate with: 1, 2 and the largest.

    The source calibrates W with one, u with two processors, an upper bound, and with all of them,
    a lower bound.

    Examples
    --------
    >>> calibrated_counts([1, 2, 3, 8]), calibrated_counts([1]), calibrated_counts([4])
    ((1, 2, 8), (1,), (1, 2, 4))
    """
    return tuple(sorted({1, 2, max(p)})) if max(p) > 1 else (1,)


def repetitions_for(time: float, *, most: int, within: float) -> int:
    """Repetitions in a launch: as many as take so long, at least 2. [1].

    >>> [repetitions_for(t, most=10, within=0.3) for t in (0.001, 0.09, 5.0)]
    [10, 3, 2]
    """
    return int(np.clip(within / time, 2, most))
