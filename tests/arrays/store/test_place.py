"""Locks where the file system has none, and journals that belong to another store."""

import errno
import fcntl
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from parcast.arrays.store import nodes
from parcast.arrays.store import place as places
from parcast.arrays.store.place import Lock, StorePlace, journal_of, settle, writer_at
from parcast.arrays.store.reading import open_store
from parcast.errors import RunFailed
from tests.arrays.store.made import append_rows, write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")


@pytest.fixture
def no_locks(monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)


def written_by(place, **owner):
    place.lock.write_text(json.dumps({"host": os.uname().nodename, **owner}))


@pytest.mark.usefixtures("no_locks")
def test_without_locks_the_process_that_is_named_decides(tmp_path):
    place = StorePlace.of(tmp_path / "s.zarr")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    written_by(place, pid=ended.pid)
    assert writer_at(place) == ""
    Lock.take(place).release()
    assert not place.lock.exists()
    with subprocess.Popen(["sleep", "60"]) as alive:
        written_by(place, pid=alive.pid)
        named = f"process {alive.pid} on {os.uname().nodename}"
        assert writer_at(place) == named
        with pytest.raises(RunFailed, match=named):
            Lock.take(place)
        alive.kill()
    written_by(place, pid=1, host="elsewhere")
    with pytest.raises(RunFailed, match="process 1 on elsewhere is writing it"):
        Lock.take(place)


def test_a_look_at_a_lock_that_was_left_does_not_stop_a_writer(tmp_path, monkeypatch):
    place = StorePlace.of(tmp_path / "s.zarr")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    written_by(place, pid=ended.pid)
    with place.lock.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr(places.time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        Lock.take(place).release()
        written_by(place, pid=ended.pid)
    with place.lock.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr(places.time, "sleep", lambda _: None)
        with pytest.raises(RunFailed, match="cannot be written now"):
            Lock.take(place)


@pytest.mark.fault(
    "Stores of arrays",
    "A process with the lock of a store is killed.",
    promise="The lock is free at once.",
)
def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    place = StorePlace.of(tmp_path / "s.zarr")
    code = (
        "import os, sys, signal\n"
        "from parcast.arrays.store.place import Lock, StorePlace\n"
        "lock = Lock.take(StorePlace.of(sys.argv[1]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, place.target], check=False)
    assert place.lock.exists()
    assert writer_at(place) == ""
    Lock.take(place).release()
    assert [*tmp_path.iterdir()] == []


def test_a_journal_of_another_store_is_ignored_and_removed(tmp_path):
    path = write_store(tmp_path / "s.zarr", {"u": np.arange(3.0), "v": np.arange(3.0)})
    place = StorePlace.of(path)
    other = dict.fromkeys("uv", (b"{}", b'{"shape": [9]}'))
    place.journal.write_bytes(journal_of(other))
    with open_store(path) as store:
        assert store["u"].shape == (3,)
    assert settle(place) == []
    assert not place.journal.exists()
    place.journal.write_text("{")
    assert places.pending_metadata(place) == {}


def test_a_journal_counts_as_done_for_readers_and_is_completed_by_the_next_writer(tmp_path):
    path = write_store(tmp_path / "s.zarr", {"u": np.arange(3.0), "v": np.arange(3.0)}, chunk=(8,))
    place = StorePlace.of(path)
    changed = {}
    for name in "uv":
        old = (path / name / "zarr.json").read_bytes()
        document = {**json.loads(old), "shape": [5]}
        changed[name] = old, json.dumps(document).encode()
    place.journal.write_bytes(journal_of(changed))
    (path / "u" / "zarr.json").write_bytes(changed["u"][1])  # killed before that of v
    with open_store(path) as store:
        assert store["u"].shape == store["v"].shape == (5,)
    assert settle(place) == ["an interrupted append was completed"]
    assert json.loads((path / "v" / "zarr.json").read_text())["shape"] == [5]


def test_an_append_that_ends_while_metadata_are_read_is_seen_whole(tmp_path, monkeypatch):
    path = write_store(tmp_path / "s.zarr", {"u": np.ones(2), "v": np.ones(2)})
    plain, rows = nodes._content, {"u": np.ones(3), "v": np.ones(3)}

    def content(file, *others):
        read = plain(file, *others)
        if rows and file.parent.name == "u":
            append_rows(path, {name: rows.pop(name) for name in "uv"})
        return read

    monkeypatch.setattr(nodes, "_content", content)
    with open_store(path) as store:
        assert [store[name].shape for name in "uv"] == [(5,), (5,)]
