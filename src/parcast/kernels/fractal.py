"""The Mandelbrot set, pixel by pixel: the program of the law "fractal".

The image shows the square of side 2 around -0.5, whatever the number of pixels, so that the steps
of a pixel are the same on the average: about 100 iterations. Rank r computes the pixels r, r + p,
r + 2p, ..., which shares the slow ones out evenly. The master sends every rank the description of
its work, 24 bytes, and gets its pixels back, 4 bytes each.
"""

from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.kernels.kernel import Functions, Kernel
from parcast.kernels.ledger import Ledger

Pixels = NDArray[np.int32]
Numbers = NDArray[np.float64]

MOST: Final = 256  # iterations of a pixel
TOGETHER: Final = 2048  # pixels that are iterated at once, at most
LOOK: Final = 16  # iterations after which those that have left are dropped


def prepare(ledger: Ledger, n: int, seed: int) -> tuple[int, Pixels]:  # noqa: ARG001 - no chance
    """Give n, and the image that the master fills."""
    return n, np.zeros(n if ledger.is_master else 0, dtype=np.int32)


def work(ledger: Ledger, state: tuple[int, Pixels]) -> Pixels:
    """Compute the image on all ranks; the master has all of it, others their pixels."""
    n, image = state
    ranks = range(ledger.size)
    task = np.array([ledger.rank, ledger.size, n], dtype=np.int64)
    if ledger.is_master:
        ledger.deal([np.array([rank, ledger.size, n], dtype=np.int64) for rank in ranks])
    else:
        ledger.receive(task, 0)
    first, step, n = (int(x) for x in task)
    with ledger.computing:
        mine = pixels_of(n, first, step)
        ledger.steps += int(mine.sum(dtype=np.int64))
    if not ledger.is_master:
        ledger.send(mine, 0)
        return mine
    parts = [mine, *(np.empty(len(range(x, n, ledger.size)), np.int32) for x in ranks[1:])]
    ledger.collect(parts)
    for rank, part in enumerate(parts):
        image[rank :: ledger.size] = part
    return image


def pixels_of(n: int, first: int, step: int) -> Pixels:
    """Iterations of the pixels first, first + step, ... of an image of n; `MOST` where one stays.

    >>> pixels_of(9, 0, 2)
    array([  3,  10, 256,   3,  10], dtype=int32)
    """
    count = len(range(first, n, step))
    pixels = np.empty(count, dtype=np.int32)
    chunks = -(-count // TOGETHER)
    for i in range(chunks):  # from all over the image, so that all are alike, however many
        numbers = np.arange(i, count, chunks, dtype=np.int64) * step + first
        pixels[i::chunks] = iterations(*points(n, numbers))
    return pixels


def points(n: int, numbers: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Real and imaginary part of the points of some pixels of an image of n."""
    width = max(isqrt(n), 1)
    height = -(-n // width)
    real = -1.5 + 2.0 * (numbers % width + 0.5) / width
    imaginary = -1.0 + 2.0 * (numbers // width + 0.5) / max(height, 1)
    return real, imaginary


def iterations(real: Numbers, imaginary: Numbers) -> Pixels:
    """Iterations of points, all together; those that have left are dropped now and then."""
    counts: Pixels = np.zeros(real.size, dtype=np.int32)
    counted = np.zeros(real.size, dtype=np.int32)
    here = np.arange(real.size)
    x, y = np.zeros_like(real), np.zeros_like(real)
    with np.errstate(over="ignore", invalid="ignore"):  # those that have left go on to infinity
        for done in range(0, MOST, LOOK):
            for _ in range(min(LOOK, MOST - done)):
                x, y, is_inside = _iterated(x, y, real, imaginary)
                counted += is_inside
            counts[here] = counted
            if not is_inside.all():
                here, counted = here[is_inside], counted[is_inside]
                x, y = x[is_inside], y[is_inside]
                real, imaginary = real[is_inside], imaginary[is_inside]
            if here.size == 0:
                break
    return np.minimum(counts + 1, MOST, dtype=np.int32)


def _iterated(
    x: Numbers, y: Numbers, real: Numbers, imaginary: Numbers
) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """Iterate once: z^2 + c, and whether it is in the circle."""
    xx, yy = x * x, y * y
    xy = x * y
    new_x, new_y = xx - yy + real, xy + xy + imaginary
    return new_x, new_y, new_x * new_x + new_y * new_y <= 4.0


def serial(n: int, seed: int) -> Pixels:  # noqa: ARG001 - nothing in it is chance
    """Compute the image on one processor, all pixels at once and to the last iteration."""
    real, imaginary = points(n, np.arange(n, dtype=np.int64))
    x, y = np.zeros_like(real), np.zeros_like(real)
    counts = np.ones(n, dtype=np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(MOST - 1):
            x, y, is_inside = _iterated(x, y, real, imaginary)
            counts += is_inside
    return counts


def is_correct(ledger: Ledger, state: tuple[int, Pixels], result: Pixels) -> bool:
    """Compare the image with that of one processor, on the master."""
    right = not ledger.is_master or bool(np.array_equal(result, serial(state[0], 0)))
    return ledger.all_agree(right)


def memory(n: int, p: int) -> int:
    """Bytes that all ranks need. [B]."""
    return n * 4 * (2 if p == 1 else 3)


KERNEL: Final = Kernel(
    name="fractal",
    title="Mandelbrot set, pixel by pixel",
    size="pixels",
    step="iterations",
    phase={"law": "fractal", "alpha": 103.6, "beta": "4 B * (p - 1) / p + 24 B * (p - 1) / n"},
    functions=Functions(prepare, work, is_correct, serial, memory),
    checked_up_to=400_000,
    example=400_000,
)
