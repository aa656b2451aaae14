"""Whichever rank is killed at whichever step, the path holds the old store or the new one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPT = Path(__file__).with_name("dying.py")
EVERY = bool(os.environ.get("PARCAST_EVERY_STEP"))  # one minute; by default each third step
FEW = 3


def died(folder, action, victim, stride=1):
    """Run the script; it checks every state that it finds."""
    run = subprocess.run(
        [sys.executable, SCRIPT, folder, action, victim, str(stride)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("action", "least", "before", "after"),
    [
        ("write", 60, "absent", "new"),
        ("overwrite", 70, "old", "new"),
        ("append", 60, "old", "appended"),
        ("npy", 10, "old", "new"),
    ],
)
def test_a_server_master_killed_at_any_step_leaves_the_old_store_or_the_new(
    tmp_path, action, least, before, after
):
    found = died(tmp_path, action, "server-master", 1 if EVERY else FEW)
    assert found["steps"] >= least
    # The last ones may be missing: how often a rank polls is not always the same.
    assert found["cases"] >= 0.8 * found["steps"] / (1 if EVERY else FEW) - 1
    assert {before} <= found["states"].keys() <= {before, after}
    assert after in found["states"] or not EVERY  # of few steps, none may lie after the commit
    assert 0 < found["drafts"] <= found["told"]


@pytest.mark.parametrize("action", ["write", "overwrite", "append", "npy"])
@pytest.mark.parametrize("victim", ["server", "client-master", "client"])
def test_another_rank_killed_at_any_step_leaves_the_old_store_or_the_new(tmp_path, action, victim):
    stride = 1 if EVERY or victim != "server" else FEW
    found = died(tmp_path, action, victim, stride)
    assert found["steps"] >= 5
    assert found["cases"] >= 1
    assert "half" not in found["states"]
    assert sum(found["states"].values()) == found["cases"]
