"""Programs are started as their users do, under mpiexec or by Python alone."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcast.mpi.find import find_mpi
from parcast.mpi.leftovers import TOKEN, kill_processes_of, processes_of

SOURCE = Path(__file__).parents[3] / "src"
LIMIT = 60.0  # of a program [s]


@pytest.fixture
def started(tmp_path):
    """Start a program, on ranks if they are counted; nothing of it is left at the end."""
    token = f"test-{os.urandom(8).hex()}"
    processes = []

    def start(program, *arguments, ranks=None, **variables):
        mpi = find_mpi()
        mpiexec = [] if ranks is None else [mpi.mpiexec, "-n", str(ranks)]
        if isinstance(program, str):
            path = tmp_path / "program.py"
            path.write_text(program)
            program = path
        process = subprocess.Popen(
            [*mpiexec, sys.executable, str(program), *map(str, arguments)],
            env=os.environ
            | mpi.environment(crowded=True)
            | {"PYTHONPATH": str(SOURCE), TOKEN: token}
            | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            start_new_session=True,
        )
        process.token = token
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()
    kill_processes_of(token)


@pytest.fixture
def ran(started):
    """Run a program to its end; give its status, output and messages."""

    def run(program, *arguments, limit=LIMIT, **keys):
        process = started(program, *arguments, **keys)
        out, err = process.communicate(timeout=limit)
        return process.returncode, out, err

    return run


@pytest.fixture
def gone():
    """Tell whether all processes of a program have ended, after a while."""

    def wait(process, seconds=10.0):
        end = time.monotonic() + seconds
        while (left := processes_of(process.token)) and time.monotonic() < end:
            time.sleep(0.05)
        return not left

    return wait
