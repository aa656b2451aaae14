"""A small program whose regions are timed: Jacobi's method on a square, on one processor.

    PARCAST_PROFILE=jacobi.jsonl python jacobi.py 200
    PARCAST_PROFILE=jacobi.jsonl python jacobi.py 400
    parcast characterise jacobi.jsonl -o program.toml

Without PARCAST_PROFILE it is not timed. A larger one, for MPI, comes with parcast:
``python -m parcast.kernels.stencil 400``.
"""

import sys

import numpy as np

import parcast

STEPS = 50


def main(n: int) -> None:
    """Take all steps on n x n points."""
    parcast.profile_parameters(program="jacobi", n=n)
    with parcast.region("setup", kind="replicated", iterations=n * n):
        grid = np.zeros((n, n))
        grid[0] = 1.0
    for _ in range(STEPS):
        with parcast.region("sweep", iterations=(n - 2) ** 2):
            inside = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
            grid[1:-1, 1:-1] = inside / 4
    print(f"{grid[n // 2, n // 2]:.3g} in the middle")  # noqa: T201 - its answer


if __name__ == "__main__":
    main(int(sys.argv[1]))
