"""`parcast.files.held`: what an ended process left is told from what is in use."""

import os
import sys

import pytest

from parcast.files.held import hold, left_behind, let_go


@pytest.fixture(params=["file", "folder"])
def path(request, tmp_path):
    """Give a file or a folder."""
    place = tmp_path / "own-1"
    place.touch() if request.param == "file" else place.mkdir()
    return place


def test_what_is_held_is_in_use_and_then_left(path):
    lock = hold(path)
    assert hold(path, is_awaited=False) is None
    assert not list(left_behind(path.parent, "own-*"))
    let_go(lock)
    for left in left_behind(path.parent, "own-*"):
        assert left == path
        assert hold(path, is_awaited=False) is None, "nobody else may remove it too"
    assert not list(left_behind(path.parent, "other-*"))


def test_what_is_not_ours_is_never_given(tmp_path, monkeypatch):
    (tmp_path / "target").touch()
    (tmp_path / "own-link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "own-pipe")
    assert not list(left_behind(tmp_path, "own-*"))
    (tmp_path / "own-file").touch()
    assert list(left_behind(tmp_path, "own-*")) == [tmp_path / "own-file"]
    monkeypatch.setattr(os, "getuid", lambda: -1)
    assert not list(left_behind(tmp_path, "own-*"))


@pytest.mark.parametrize("missing", ["locks", "users"])
def test_without_locks_or_users_nothing_is_taken_for_left(path, monkeypatch, missing):
    if missing == "locks":
        monkeypatch.setitem(sys.modules, "fcntl", None)
        assert hold(path) is None
    else:
        monkeypatch.delattr(os, "getuid")
    assert not list(left_behind(path.parent, "own-*"))
    let_go(None)


def test_what_is_not_there_cannot_be_held(tmp_path):
    assert hold(tmp_path / "none") is None
