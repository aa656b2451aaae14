"""How long something takes as what it is given grows, whatever the clock and the machine.

Work that is linear takes four times as long for four times as much; `grows` tells what takes far
longer. Sizes begin small, so that what doubles with each character is found before it hangs. The
time is that of the processor, which others on the machine hardly disturb.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from time import thread_time

LINEAR = 9.0  # times as long for four times as much: 4 is linear, 16 quadratic
UNSURE = 1e-4  # below which a time says little of growth [s]
TRIALS = 4  # of which the fastest counts, where the first ones look as if they grew


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Leave the collector out, which looks at all that others hold."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _time(work: Callable[[int], object], size: int) -> float:
    begun = thread_time()
    work(size)
    return thread_time() - begun


def grows(
    work: Callable[[int], object], sizes: Sequence[int], most: float = LINEAR
) -> tuple[str, float]:
    """Say at which step of `sizes` the time of `work` grows too fast, "" if it never does.

    Each size is up to four times that before it, and may take `most` times as long. Beside it
    stands the time of the largest [s].
    """
    with _undisturbed():
        before = _time(work, sizes[0])
        for less, more in pairwise(sizes):
            bound = most * more / (4 * less)
            taken = _time(work, more)
            for _ in range(TRIALS):
                if taken < UNSURE or taken <= bound * before:
                    break
                taken = min(taken, _time(work, more))
                before = max(before, _time(work, less))
            else:
                if taken >= UNSURE and taken > bound * before:
                    said = f"from {less} to {more}: {taken / before:.1f} times as long"
                    return said, taken
            before = taken
    return "", before
