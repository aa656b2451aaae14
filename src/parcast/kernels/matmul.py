"""Product of two square matrices: the program of the law "matmul", its product sent back.

The master sends every rank some rows of A and all of B, one message each from itself, and gets
the rows of the product back. Each rank multiplies tile by tile: one call of the library for all
would take fewer nanoseconds a step the larger the matrix.
"""

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.kernels.kernel import Functions, Kernel
from parcast.kernels.ledger import Ledger, shares

Matrix = NDArray[np.float64]
Matrices = tuple[
    Matrix, Matrix, Matrix
]  # A, B, C; of A and C all rows on the master, else its own

TILE: Final = 256  # rows and columns


def matrices_of(n: int, seed: int) -> tuple[Matrix, Matrix]:
    """Give A and B of a run: numbers from -1 to 1 at random."""
    source = np.random.default_rng(seed)
    return source.uniform(-1, 1, (n, n)), source.uniform(-1, 1, (n, n))


def prepare(ledger: Ledger, n: int, seed: int) -> Matrices:
    """Make A and B on the master, and room for them on the others."""
    bounds = shares(n, ledger.size)
    rows = n if ledger.is_master else int(bounds[ledger.rank + 1] - bounds[ledger.rank])
    if ledger.is_master:
        a, b = matrices_of(n, seed)
    else:
        a, b = np.ones((rows, n)), np.ones((n, n))
    return a, b, np.ones((rows, n))  # ones: the memory is there before the time runs


def work(ledger: Ledger, state: Matrices) -> Matrix:
    """Multiply on all ranks; the master has the product, others their rows of it."""
    a, b, c = state
    n = b.shape[0]
    parts = [slice(*bounds) for bounds in pairwise(shares(n, ledger.size).tolist())]
    if ledger.is_master:
        ledger.deal([a[rows] for rows in parts])
    else:
        ledger.receive(a, 0)
    ledger.send_to_all(b)
    mine = parts[0].stop if ledger.is_master else a.shape[0]
    with ledger.computing:
        multiply(a[:mine], b, c[:mine])
        ledger.steps += mine * n * n
    if ledger.is_master:
        ledger.collect([c[rows] for rows in parts])
    else:
        ledger.send(c, 0)
    return c


def multiply(a: Matrix, b: Matrix, c: Matrix) -> None:
    """Set C, shape (m, n), to A B, tile by tile."""
    c.fill(0.0)
    room = np.empty((TILE, TILE))
    for k in range(0, b.shape[0], TILE):
        for j in range(0, b.shape[1], TILE):
            factor = b[k : k + TILE, j : j + TILE]
            for i in range(0, a.shape[0], TILE):
                target = c[i : i + TILE, j : j + TILE]
                product = room[: target.shape[0], : target.shape[1]]
                np.matmul(a[i : i + TILE, k : k + TILE], factor, out=product)
                target += product


def serial(n: int, seed: int) -> Matrix:
    """Multiply on one processor, by the library."""
    a, b = matrices_of(n, seed)
    product: Matrix = a @ b
    return product


def is_correct(ledger: Ledger, state: Matrices, result: Matrix) -> bool:
    """Compare with the product of the library, on the master."""
    a, b, _ = state
    right = not ledger.is_master or bool(
        np.allclose(result, a @ b, rtol=0.0, atol=1e-13 * max(b.shape[0], 1))
    )
    return ledger.all_agree(right)


def memory(n: int, p: int) -> int:
    """Bytes that all ranks need: three matrices, and one with two shares of rows on each other."""
    return 8 * n * n * (3 if p == 1 else p + 4)


KERNEL: Final = Kernel(
    name="matmul",
    title="product of two square matrices",
    size="rows",
    step="multiply-add operations",
    phase={"law": "matmul", "kappa": 1, "beta": "8 B * (p - 1) / p"},
    functions=Functions(prepare, work, is_correct, serial, memory),
    checked_up_to=2000,
    example=2000,
)
