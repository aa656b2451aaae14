"""A folder of a checkpoint is used by one run at a time."""

import os
import re
import signal
import threading
import time

import pytest

import parcast
from parcast.errors import ParameterError
from parcast.pipeline.engine import checkpoint as module
from parcast.pipeline.engine.checkpoint import LOCK, taken

USING = """
import sys, time
from pathlib import Path
import parcast


def task(i):
    Path("ready").touch()
    time.sleep(0 if Path("go").exists() else 60)
    return i


parcast.run_pipeline(range(4), task, checkpoint="kept", batch=1, ranks=int(sys.argv[1]))
"""


def refusal(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PATIENCE", 0.3)
        with pytest.raises(ParameterError) as refused:
            parcast.run_pipeline(range(4), abs, checkpoint=folder)
    return str(refused.value)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_folder_is_refused_while_another_run_uses_it(started, tmp_path, ranks):
    process, end = started(USING, ranks), time.monotonic() + 30
    while not (tmp_path / "ready").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    said = refusal(tmp_path / "kept")
    assert re.fullmatch(
        r"checkpoint must be a folder that no other run uses, got .*kept, in use by process \d+ "
        r"on \S+\. Wait until that run has ended, or choose another folder\.",
        said,
    )
    if ranks == 1:
        assert f"process {process.pid} on" in said
        assert (tmp_path / "kept" / LOCK).exists()  # as it still does when the process is killed
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert parcast.run_pipeline(range(4), abs, checkpoint=tmp_path / "kept").value == 6
    assert not list((tmp_path / "kept").iterdir())


def test_a_run_waits_for_one_that_is_just_ending(tmp_path):
    has, may_end = threading.Event(), threading.Event()

    def use():
        with taken(tmp_path):
            has.set()
            may_end.wait(30)

    thread = threading.Thread(target=use)
    thread.start()
    has.wait(30)
    threading.Timer(0.2, may_end.set).start()
    with taken(tmp_path):
        assert may_end.is_set()
    thread.join()
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    monkeypatch.setattr("fcntl.flock", lambda *_: os.close(-1))  # EBADF
    with pytest.raises(OSError, match="Bad file"), taken(tmp_path):
        pass
    monkeypatch.setattr(module, "NO_LOCKS", {9})
    with taken(tmp_path), taken(tmp_path):
        assert (tmp_path / LOCK).exists()
