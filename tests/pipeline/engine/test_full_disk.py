"""A disk that is really full: a file system of 2 MB in a namespace of this user's own.

What is mounted there is seen by the program alone, and is gone with it.
"""

import re
import shutil
import subprocess
import sys

import pytest

UNSHARE = shutil.which("unshare")
MOUNT = "mount -t tmpfs -o size=2m none small"


def why_not():
    """Say why no file system can be mounted here; nothing if one can."""
    if UNSHARE is None:
        return "there is no program unshare"
    command = [UNSHARE, "-rm", "sh", "-c", "mount -t tmpfs -o size=2m none /mnt"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(WHY_NOT != "", reason=f"unshare -rm mount: {WHY_NOT}")

PROGRAM = """
import subprocess, sys, time
from pathlib import Path

Path("small").mkdir()
subprocess.run({mount!r}.split(), check=True)

import numpy as np
import parcast

free = lambda: len(list(Path("small").iterdir()))


def task(item):
    return np.full(20_000, item)  # 160 kB


kind, ranks = sys.argv[1], int(sys.argv[2])
keys = {{
    "spill": {{"memory": 200e3, "directory": "small"}},
    "checkpoint": {{"checkpoint": "small/kept", "checkpoint_every": 0.0}},
    "temporary": {{"memory": 200e3}},
}}[kind]
if ranks:
    keys["ranks"] = ranks
try:
    parcast.run_pipeline(
        range(64), task, lambda a, b: np.concatenate([a, b]), batch=1, **keys
    )
except parcast.RunFailed as failure:
    print(failure)
left = [str(path) for path in Path("small").rglob("*") if path.is_file()]
print("left:", *sorted(left), sep="\\n")
"""

SPILLED = (
    r"A result of [\d.]+ [kM]B cannot be written to .*small/parcast-pipeline-[\w/-]+: no space "
)
ADVICE = "Choose a directory with more space, allow more memory, or use more shards"
TOLD = {
    "spill": SPILLED + r"left on device\. " + ADVICE,
    "checkpoint": r"The checkpoint cannot be written to .*small/kept: no space left on device\. "
    r"Choose another folder",
    "temporary": SPILLED + r"left on device\. " + ADVICE,
}


@pytest.mark.fault(
    "Pipelines",
    "The disk is full where results or checkpoints are kept.",
    promise="The folder is named with what to do; nothing is left in it.",
)
@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("kind", TOLD)
def test_a_full_disk_is_named_with_what_to_do_and_nothing_is_left(
    started, gone, tmp_path, kind, ranks
):
    folder = {"TMPDIR": str(tmp_path / "small")} if kind == "temporary" else {}
    program = tmp_path / "fills.py"
    program.write_text(PROGRAM.format(mount=MOUNT))
    inner = tmp_path / "inner.py"
    inner.write_text(
        "import os, sys\n"
        f"os.execv({UNSHARE!r}, ['unshare', '-rm', {sys.executable!r}, {str(program)!r}, "
        "*sys.argv[1:]])\n"
    )
    process = started(inner, kind, ranks, **folder)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    message, left = out.split("left:\n")
    assert re.match(TOLD[kind], message), message
    kept = [line for line in left.splitlines() if not line.startswith("small/kept/")]
    assert kept == []
    assert not any(line.endswith(".part") for line in left.splitlines())
    assert gone(process)
    assert list((tmp_path / "small").iterdir()) == []  # the mount is gone with the program
