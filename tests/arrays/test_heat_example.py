"""The program of the tutorial on checkpoints: killed, restarted on other ranks, the same bits."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from parcast import arrays
from parcast.errors import FileProblems
from parcast.mpi.leftovers import processes_of
from tests.conftest import ROOT, until

PROGRAM = ROOT / "examples" / "arrays" / "heat.py"
PAGE = ROOT / "docs" / "tutorial" / "checkpoint-and-restart.md"


def step_of(path):
    while True:
        try:
            return arrays.open_store(path).attributes["step"]
        except FileProblems:  # it was replaced meanwhile
            continue


def test_the_page_has_the_program():
    text = re.search(r"<!-- file: heat.py -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert text[1] == PROGRAM.read_text().replace("  # noqa: T201 - its answer", "")


@pytest.mark.fault(
    "Stores of arrays",
    "A program with checkpoints is killed and restarted on other ranks.",
    promise="Its result has the same bits as without the interruption.",
)
def test_it_is_killed_and_restarted_on_other_ranks_with_the_same_bits(
    started, ran, gone, tmp_path
):
    program = tmp_path / "heat.py"  # in whose folder it writes
    shutil.copy(PROGRAM, program)
    path = tmp_path / "heat.zarr"
    process = started(program, 10**7, ranks=4)
    until(lambda: path.exists() and step_of(path) >= 100)
    ranks = [
        pid
        for pid in processes_of(process.token)
        if b"heat.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1]
    ]
    os.kill(ranks[1], signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert gone(process)

    steps = step_of(path) + 70
    status, out, err = ran(program, steps, ranks=3)
    assert status == 0, err
    assert out.splitlines()[-1] == f"step {steps} is in heat.zarr"
    restarted = arrays.open_store(path)["u"].read()
    path.rename(tmp_path / "restarted.zarr")
    status, _, err = ran(program, steps)
    assert status == 0, err
    assert arrays.open_store(path)["u"].read().tobytes() == restarted.tobytes()
