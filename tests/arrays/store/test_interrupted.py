"""A write that is killed, or fails, at any system call leaves the old store or the new."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import unmeasured

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

SCRIPT = Path(__file__).with_name("interruptions.py")
EVERY = bool(os.environ.get("PARCAST_EVERY_STEP"))  # of errors; by default each fifth step
SOME = 1 if EVERY else 5
SHARED = Path("/dev/shm")  # a file system in memory: a flush takes no time


@pytest.fixture
def folder(tmp_path):
    """A folder where thousands of flushes do not take minutes."""
    if not SHARED.is_dir():
        yield tmp_path
        return
    place = SHARED / f"parcast-{tmp_path.parent.name}-{tmp_path.name}"
    yield place
    subprocess.run(["rm", "-rf", place], check=True)


def interrupted(folder, action, fault, *fallback, stride=1):
    """Run the script; it checks every state that it finds."""
    run = subprocess.run(
        [sys.executable, SCRIPT, folder, action, fault, str(stride), *fallback],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=unmeasured(),
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.fault(
    "Stores of arrays",
    "The writing process is killed, at every single step.",
    promise="The store is the old one or the new one, never a mixture.",
)
@pytest.mark.parametrize(
    ("action", "least", "before", "after"),
    [
        ("create", 60, "absent", "new"),
        ("version", 70, "old", "new"),
        ("append", 76, "old", "appended"),
        ("npy", 8, "old", "new"),
    ],
)
def test_a_process_killed_at_any_step_leaves_the_old_store_or_the_new(
    folder, action, least, before, after
):
    found = interrupted(folder, action, "kill")
    assert found["steps"] >= least
    assert found["states"].keys() == {before, after}
    assert found["states"][before] > found["states"][after]


@pytest.mark.parametrize("action", ["replace", "first version"])
def test_the_same_holds_where_names_cannot_be_exchanged(folder, action):
    found = interrupted(folder, action, "kill", "fallback", stride=SOME)
    assert found["states"].keys() == {"old", "new"}


@pytest.mark.fault(
    "Stores of arrays",
    "A system call fails (disk full, quota, I/O error), at many steps.",
    promise="The message says what is there now and what to do.",
)
@pytest.mark.parametrize(
    ("action", "code", "says"),
    [
        ("create", "ENOSPC", "Free space there"),
        ("replace", "EIO", "errors of the disk"),
        ("append", "EDQUOT", "larger quota"),
        ("npy", "ENOSPC", "Free space there"),
    ],
)
def test_an_error_at_any_step_is_told_with_what_is_there_now(folder, action, code, says):
    found = interrupted(folder, action, code, stride=SOME)
    messages = [x for x in found["messages"] if x]
    assert messages
    assert all(says in message and "STORE" in message for message in messages)
    assert any("as it was before" in x or "Nothing was put there" in x for x in messages)


@pytest.mark.parametrize("action", ["create", "replace", "version", "append", "npy"])
def test_everything_is_flushed_before_it_gets_its_name(folder, action):
    target, log = interrupted(folder, action, "log")
    beside = f"{Path(target).parent}/.{Path(target).name}.parcast-"
    unflushed, moves = set(), 0
    for name, (path, *other) in log:
        if "parcast-lock" in path:
            continue
        is_draft = path.startswith((f"{beside}draft", f"{beside}append"))
        if name in ("open", "mkdir", "pwritev") and is_draft:
            unflushed |= {path, str(Path(path).parent)} - {str(Path(target).parent)}
        elif name == "fsync":
            unflushed.discard(path)
        elif name in ("rename", "replace", "exchange") and is_draft:
            moves += 1
            below = {x for x in unflushed if f"{x}/".startswith(f"{path}/")}
            assert not below, (name, path, other)
    assert moves
    published = max(
        i
        for i, (name, (path, *_)) in enumerate(log)
        if name in ("rename", "replace", "exchange") and path.startswith(beside)
    )
    assert any(x == "fsync" for x, _ in log[published:]), "the folder of the last name is flushed"
