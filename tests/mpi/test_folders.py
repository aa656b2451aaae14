"""Folders of runs: removed at the end, and those that killed programs left by the next one."""

import os
import subprocess
import sys
import time

import pytest

from parcast.mpi import folders
from parcast.mpi.folders import folder_for

AN_HOUR_AGO = time.time() - 3600.0


def aged(path):
    """Let a path be an hour old."""
    os.utime(path, (AN_HOUR_AGO, AN_HOUR_AGO))
    return path


def test_a_folder_is_removed_with_all_that_is_in_it(tmp_path):
    def interrupted():
        with folder_for("a-", tmp_path) as folder:
            assert folder.parent == tmp_path
            (folder / "file").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_place_it_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError), folder_for("a-", tmp_path / "no"):
        pass


@pytest.mark.fault(
    "Ranks and processes",
    "parcast is killed and leaves a temporary folder.",
    promise="The next start removes it.",
)
def test_what_a_killed_program_left_is_removed_by_the_next(tmp_path, monkeypatch):
    since = []
    monkeypatch.setattr(folders, "remove_shared_memory", since.append)
    source = (
        "import os; from parcast.mpi.folders import folder_for\n"
        f"with folder_for('a-', {str(tmp_path)!r}) as folder:\n"
        "    (folder / 'file').touch(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == -9
    (left,) = tmp_path.iterdir()
    with folder_for("a-", tmp_path):
        assert left.exists()  # it is young
    aged(left / "file")
    aged(left)
    with folder_for("b-", tmp_path):
        assert left.exists()  # it is not of this kind
    with folder_for("a-", tmp_path):
        assert not left.exists()
    assert since == [pytest.approx(AN_HOUR_AGO)]


def test_what_is_in_use_or_no_folder_of_this_user_is_left(tmp_path, monkeypatch):
    with folder_for("a-", tmp_path) as used:
        aged(used)
        (tmp_path / "a-file").touch()
        aged(tmp_path / "a-file")
        other = tmp_path / "a-other"
        other.mkdir()
        (tmp_path / "a-link").symlink_to(other)
        folders.remove_abandoned(tmp_path, "a-")
        assert {path.name for path in tmp_path.iterdir()} == {
            used.name,
            "a-file",
            "a-other",
            "a-link",
        }
        aged(other)
        monkeypatch.setattr(os, "getuid", lambda: -1)
        folders.remove_abandoned(tmp_path, "a-")
        assert other.exists()


@pytest.mark.parametrize("missing", ["locks", "users"])
def test_without_locks_or_users_no_folder_is_taken_for_left(tmp_path, monkeypatch, missing):
    if missing == "locks":
        monkeypatch.setitem(sys.modules, "fcntl", None)
    else:
        monkeypatch.delattr(os, "getuid")
    (tmp_path / "a-left").mkdir()
    aged(tmp_path / "a-left")
    with folder_for("a-", str(tmp_path)) as folder:
        assert folder.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a-left"]
