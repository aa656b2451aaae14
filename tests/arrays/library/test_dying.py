"""Whichever rank is killed at whichever step, the path holds the old store or the new one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcast.errors import RunFailed
from parcast.mpi.launcher import started_ranks
from parcast.mpi.leftovers import processes_of
from tests.arrays.library.dying import RANKS, STATES, check, prepared
from tests.conftest import ROOT, unmeasured

SCRIPT = Path(__file__).with_name("dying.py")
EVERY = bool(os.environ.get("PARCAST_EVERY_STEP"))  # one minute; by default each eighth step
FEW = 8


PATHS = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def died(folder, actions, victim, *, stride=1 if EVERY else FEW, kind="dedicated"):
    """Run the script; it checks every state that it finds, and gives them by action."""
    run = subprocess.run(
        [sys.executable, SCRIPT, folder, ",".join(actions), victim, str(stride), kind],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=unmeasured() | PATHS,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.fault(
    "Stores of arrays",
    "A rank is killed during a collective write, at many steps.",
    promise="The store is the old one or the new one, never a mixture.",
)
def test_a_server_master_killed_at_any_step_leaves_the_old_store_or_the_new(tmp_path):
    least = {"write": 55, "overwrite": 65, "append": 55, "npy": 10}
    for action, found in died(tmp_path, STATES, "server-master").items():
        before, after = STATES[action]
        assert found["steps"] >= least[action]
        # The last ones may be missing: how often a rank polls is not always the same.
        assert found["cases"] >= 0.8 * found["steps"] / (1 if EVERY else FEW) - 1
        assert {before} <= found["states"].keys() <= {before, after}
        assert after in found["states"] or not EVERY  # of few steps, none may lie after the commit
        assert 0 < found["drafts"] <= found["told"]


@pytest.mark.fault(
    "Stores of arrays",
    "A rank is killed during a collective write, at many steps.",
    promise="The store is the old one or the new one, never a mixture.",
)
@pytest.mark.parametrize("victim", ["server", "client-master", "client"])
def test_another_rank_killed_at_any_step_leaves_the_old_store_or_the_new(tmp_path, victim):
    found = died(tmp_path, STATES, victim)
    assert found.keys() == STATES.keys()
    for each in found.values():
        assert each["steps"] >= 5
        assert each["cases"] >= 1
        assert "half" not in each["states"]
        assert sum(each["states"].values()) == each["cases"]


@pytest.mark.fault(
    "Stores of arrays",
    "A rank is killed during a collective write, at many steps.",
    promise="The store is the old one or the new one, never a mixture.",
)
@pytest.mark.parametrize("victim", ["client-master", "server-master", "server"])
def test_a_server_that_is_a_client_too_leaves_the_old_store_or_the_new(tmp_path, victim):
    stride = 1 if EVERY else 14
    found = died(tmp_path, ["overwrite"], victim, stride=stride, kind="shared")["overwrite"]
    assert found["steps"] >= 10
    assert {"old"} <= found["states"].keys() <= {"old", "new"}


@pytest.mark.fault(
    "Stores of arrays",
    "A rank is killed during a collective write.",
    promise="All ranks end within 20 s; no process and no shared memory is left.",
)
def test_mpiexec_ends_all_ranks_within_seconds_and_nothing_of_them_is_left(tmp_path):
    action, victim, at = "overwrite", "server", 14
    path = prepared(tmp_path / "here", action)
    began = time.monotonic()
    with (
        started_ranks(
            "tests.arrays.library.killed_rank",
            [action, str(path), victim, str(at)],
            ranks=RANKS,
            environment=PATHS,
        ) as started,
        pytest.raises(RunFailed, match=r"on 4 ranks ended with status [1-9].*Killed"),
    ):
        started.ended(30.0)
    assert time.monotonic() - began < 20
    assert processes_of(started.token) == []
    noted = [*tmp_path.glob("segments-*")]
    assert len(noted) == RANKS
    segments = {name for file in noted for name in file.read_text().splitlines()}
    assert segments
    assert not [name for name in segments if Path(name).exists()]
    check(path, action, at)


@pytest.mark.fault(
    "Stores of arrays",
    "Ctrl-C during a collective write.",
    promise="All ranks end; the store is the old one or the new one.",
)
def test_ctrl_c_ends_all_ranks_and_leaves_the_old_store_or_the_new(started, left, tmp_path):
    path = tmp_path / "u.zarr"
    process = started(Path(__file__).with_name("replacing.py"), 2, "dedicated", path, ranks=4)
    for _ in range(2):
        assert process.stdout.readline() == "x\n"
    process.send_signal(signal.SIGINT)
    assert left(process, path) >= 1
