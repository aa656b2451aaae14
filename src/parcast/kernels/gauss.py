"""Gaussian elimination, rows dealt out as cards: the program of the law "gauss".

In each wave the owner of the next row chooses the largest entry of it as the pivot and sends the
row to all by a tree; all eliminate it from their rows below. Choosing the pivot within the row,
and exchanging columns, keeps the elimination stable as exchanging rows would, and needs no message
of its own. A matrix whose row has no pivot is singular and refused by all ranks. A step is
a third of what an entry takes in a wave, as the law counts: to read, multiply and subtract.

Updates are delayed [1]_: a wave brings only its row and its column up to date, and the others
follow BLOCK waves at a time, in pieces that stay in caches of the core. Wave by wave all of the
matrix would pass through the caches, and the rate fall where it outgrows them. A piece takes its
waves one after the other, not as one product of matrices by the library: that is many times as
fast, but so fast that the rest of a wave, which grows as n, would make the rate rise with n.

References
----------
.. [1] G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., Johns Hopkins University
   Press, 2013, section 3.2: block LU.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import RunFailed
from parcast.kernels.kernel import Functions, Kernel, random_numbers
from parcast.kernels.ledger import Ledger

Matrix = NDArray[np.float64]
Rows = tuple[int, int, Matrix]  # n, seed, rows r, r + p, ... of rank r; shape (m, n + 1)

BLOCK: Final = 32  # waves that are eliminated together
CHUNK: Final = 2048  # entries that are eliminated at once
COLUMNS: Final = 256  # of them in a row, at most
SINGULAR: Final = 1e-14  # of the largest entry of the matrix, for each row: no pivot below


@dataclass(slots=True)
class Pending:
    """Waves that the rows of a rank have not followed yet, but for its pivot rows."""

    pivots: Matrix  # the row that was sent in each; shape (BLOCK, n + 1)
    factors: Matrix  # by which each is subtracted from each row; shape (m, BLOCK)
    waves: int = 0  # of BLOCK [1]


@dataclass(frozen=True, slots=True)
class Triangle:
    """What elimination leaves: rows of the triangle, and the order of the unknowns."""

    rows: Matrix
    order: NDArray[np.int64]


def prepare(ledger: Ledger, n: int, seed: int) -> Rows:
    """Make the rows of this rank."""
    mine = range(ledger.rank, n, ledger.size)
    rows = np.empty((len(mine), n + 1))
    for place, number in enumerate(mine):
        rows[place] = row_of(n, seed, number)
    return n, seed, rows


def row_of(n: int, seed: int, number: int) -> Matrix:
    """Give a row and its right-hand side: numbers from -1 to 1 at random."""
    return random_numbers(seed, number).uniform(-1, 1, n + 1)


def work(ledger: Ledger, state: Rows) -> Triangle:
    """Eliminate on all ranks, which all refuse a matrix that is singular or not finite."""
    n, _, rows = state
    order = list(range(n))
    pending = Pending(np.zeros((BLOCK, n + 1)), np.zeros((len(rows), BLOCK)))
    room = np.empty(max(CHUNK, COLUMNS))
    message = np.empty(n + 3)  # a row, and before it the place of its pivot and a largest entry
    with ledger.computing:
        entries = rows[:, :n]
        largest = float(np.maximum(entries.max(initial=0.0), -entries.min(initial=0.0)))
    for i in range(n):
        owner = i % ledger.size
        sent = message[: n - i + 3]
        if ledger.rank == owner:
            with ledger.computing:
                row = _finished_row(rows, pending, i // ledger.size, i)
                sent[0] = np.abs(row[:-1]).argmax()
                sent[1] = largest
                sent[2:] = row
        if i < n - 1:
            ledger.broadcast(sent, owner)
        elif ledger.rank != owner:
            break
        with ledger.computing:
            _require_pivot(sent, i, n)
            row, place = sent[2:], int(sent[0])
            if place:
                row[0], row[place] = float(row[place]), float(row[0])
                order[i], order[i + place] = order[i + place], order[i]
                _exchange(rows, i, i + place)
                _exchange(pending.pivots[: pending.waves], i, i + place)
            if i < n - 1:
                first = len(range(ledger.rank, i + 1, ledger.size))
                _add_wave(rows, pending, row, first, i)
                ledger.steps += 3 * rows[first:, i + 1 :].size
                if pending.waves == BLOCK:
                    _eliminate(rows, pending, first, i + 1, room)
    return Triangle(rows, np.array(order, dtype=np.int64))


def _require_pivot(sent: Matrix, i: int, n: int) -> None:
    """Refuse a row that was sent and has no pivot."""
    pivot = float(sent[2 + int(sent[0])])  # the largest entry: one that is not finite, if any
    if not (isfinite(pivot) and isfinite(sent[-1])):
        raise RunFailed(
            f"Row {i + 1} of the matrix has entries that are not finite, so it cannot be "
            "eliminated."
        )
    if abs(pivot) <= SINGULAR * n * sent[1]:
        raise RunFailed(f"The matrix is singular: row {i + 1} depends on the rows above it.")


def _finished_row(rows: Matrix, pending: Pending, place: int, i: int) -> Matrix:
    """Bring the row of wave i up to date, for good, and give it from its diagonal on."""
    row, waves = rows[place, i:], pending.waves
    if waves:
        row -= pending.factors[place, :waves] @ pending.pivots[:waves, i:]
    return row


def _exchange(matrix: Matrix, i: int, j: int) -> None:
    """Exchange two columns."""
    column = matrix[:, i].copy()
    matrix[:, i] = matrix[:, j]
    matrix[:, j] = column


def _add_wave(rows: Matrix, pending: Pending, row: Matrix, first: int, i: int) -> None:
    """Keep the pivot row of wave i, and its factors for the rows of this rank below it."""
    waves = pending.waves
    column, factors = rows[first:, i], pending.factors[first:]
    if waves:
        column = column - factors[:, :waves] @ pending.pivots[:waves, i]
    np.divide(column, row[0], out=factors[:, waves])
    pending.pivots[waves, i:] = row
    pending.waves += 1


def _eliminate(rows: Matrix, pending: Pending, first: int, left: int, room: Matrix) -> None:
    """Bring the rows of this rank below the pending waves up to date, some entries at a time."""
    width = rows.shape[1] - left
    wide = -(-width // -(-width // COLUMNS))  # columns at once, all parts alike
    high = max(1, CHUNK // wide)  # rows at once
    waves, pending.waves = pending.waves, 0
    for begin in range(left, rows.shape[1], wide):
        pivots = list(pending.pivots[:waves, begin : begin + wide])
        for top in range(first, len(rows), high):
            part = rows[top : top + high, begin : begin + wide]
            factors = pending.factors[top : top + high]
            product = room[: part.size].reshape(part.shape)
            for wave, pivot in enumerate(pivots):
                np.multiply(factors[:, wave : wave + 1], pivot, out=product)
                np.subtract(part, product, out=part)


def serial(n: int, seed: int) -> Matrix:
    """Solve on one processor, by the library. Shape (n,)."""
    matrix, right = system_of(n, seed)
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def system_of(n: int, seed: int) -> tuple[Matrix, Matrix]:
    """Give the matrix and the right-hand side of a run."""
    rows = np.array([row_of(n, seed, i) for i in range(n)]).reshape(n, n + 1)
    return rows[:, :n], rows[:, n]


def solution(ledger: Ledger, state: Rows, triangle: Triangle) -> Matrix:
    """Solve by the triangle, on all ranks; its messages are not counted. Shape (n,)."""
    n = state[0]
    unknowns = np.zeros(n)
    for i in reversed(range(n)):
        owner, value = i % ledger.size, 0.0
        if ledger.rank == owner:
            row = triangle.rows[i // ledger.size]
            value = float((row[n] - row[i + 1 : n] @ unknowns[i + 1 :]) / row[i])
        unknowns[i] = ledger.comm.bcast(value, owner)
    in_order = np.empty(n)
    in_order[triangle.order] = unknowns
    return in_order


def is_correct(ledger: Ledger, state: Rows, result: Triangle) -> bool:
    """Compare the solution with that of one processor, on the master."""
    unknowns = solution(ledger, state, result)
    right = True
    if ledger.is_master:
        expected = serial(*state[:2])
        largest = float(np.abs(expected).max(initial=0.0))
        right = bool(np.allclose(unknowns, expected, rtol=0.0, atol=1e-6 * largest))
    return ledger.all_agree(right)


def memory(n: int, p: int) -> int:
    """Bytes that all ranks need: the matrix, factors of its rows, and pivot rows on each. [B]."""
    return 8 * ((n + 1) * (n + (BLOCK + 3) * p) + BLOCK * n)


KERNEL: Final = Kernel(
    name="gauss",
    title="Gaussian elimination, one broadcast per row",
    size="unknowns",
    step="reads, multiplications and subtractions of matrix entries",
    phase={
        "law": "gauss",
        "exchange": "pivot",
        "alpha": "6 * (n + 1) / (2 * n - 1)",
        "beta": "16 B * (n + 8) / n",
    },
    functions=Functions(prepare, work, is_correct, serial, memory),
    checked_up_to=2000,
    example=1000,
)
