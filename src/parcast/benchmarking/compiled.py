"""Ping-pong and stream as a C program, compiled where the MPI has a compiler.

Between two messages Python takes longer than a message of a few bytes does, and pushes the code of
the MPI out of the nearest cache, so its share cannot be subtracted to 5%. A C program has none.
Ranks become it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from parcast.benchmarking.records import BenchmarkPlan

SOURCE: Final = Path(__file__).with_name("pingpong.c")
PATIENCE: Final = 60.0  # with the compiler [s]


def compile_pingpong(mpiexec: str, directory: Path) -> Path | str:
    """Compile the program with the mpicc beside mpiexec; a text says why there is none."""
    compiler = shutil.which("mpicc", path=os.path.dirname(os.path.abspath(mpiexec)))
    if compiler is None:
        return "there is no mpicc in the folder of mpiexec"
    program = directory / "pingpong"
    command = [compiler, "-O2", "-o", str(program), str(SOURCE)]
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"mpicc failed: {failure}"
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return f"mpicc failed: {lines[0] if lines else f'status {done.returncode}'}"
    return program


def arguments_of(plan: BenchmarkPlan, record: Path) -> list[str]:
    """Arguments of the program."""
    numbers = (plan.budget, plan.fewest, plan.most, *plan.sizes)
    return [str(record), *map(str, numbers)]


def main(arguments: Sequence[str]) -> None:
    """Become the program whose path comes first; MPI has not started in this process yet."""
    os.execv(arguments[0], list(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
