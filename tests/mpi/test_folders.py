"""Folders of runs: removed at the end, and those that killed programs left by the next one."""

import os
import subprocess
import sys
import time

import pytest

from parcast.files import held
from parcast.mpi import folders
from parcast.mpi.folders import folder_for

AN_HOUR_AGO = time.time() - 3600.0
KILLED = """
import os, sys
from parcast.mpi.folders import folder_for
with folder_for('a-', sys.argv[1]) as folder:
    (folder / 'file').touch()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def since(monkeypatch):
    """Give the times from which shared memory is removed."""
    times = []
    monkeypatch.setattr(folders, "remove_shared_memory", times.append)
    return times


@pytest.fixture
def left(tmp_path):
    """Give a folder that a killed program left."""
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert ended.returncode == -9
    [folder] = tmp_path.iterdir()
    return folder


def test_a_folder_is_removed_with_all_that_is_in_it(tmp_path):
    def interrupted():
        with folder_for("a-", tmp_path) as folder:
            assert folder.parent == tmp_path
            (folder / "file").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(
    "Ranks and processes",
    "parcast is killed and leaves a temporary folder.",
    promise="The next start removes it.",
)
def test_what_a_killed_program_left_is_removed_by_the_next(tmp_path, left, since):
    os.utime(left / "file", (AN_HOUR_AGO, AN_HOUR_AGO))
    with folder_for("b-", tmp_path):
        assert left.exists()  # it is not of this kind
    with folder_for("a-", tmp_path):
        assert not left.exists()
    assert since == [pytest.approx(AN_HOUR_AGO)]


def test_what_is_in_use_or_not_of_this_host_is_left(tmp_path, left, since, monkeypatch):
    other = tmp_path / "a-other"
    other.mkdir()
    with folder_for("a-", tmp_path) as used, folder_for("a-", tmp_path):
        assert used.exists()
        assert not left.exists()
        assert other.exists()
    [only] = tmp_path.iterdir()
    assert only == other
    left.mkdir()
    monkeypatch.setattr(folders, "host_mark", lambda: "00000000")
    with folder_for("a-", tmp_path):
        assert left.exists()
    assert len(since) == 1


def test_a_folder_that_another_run_takes_for_left_before_it_is_held_is_made_again(
    tmp_path, monkeypatch
):
    made = []

    def hold(path):
        made.append(path)
        if len(made) == 1:
            path.rmdir()
        return held.hold(path)

    monkeypatch.setattr(folders, "hold", hold)
    with folder_for("a-", tmp_path) as folder:
        assert [x.exists() for x in made] == [False, True]
        assert folder == made[1]
    assert not list(tmp_path.iterdir())
