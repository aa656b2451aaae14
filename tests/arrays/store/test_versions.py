"""Versions of a store: a link to the newest, and those before it for who reads them."""

import os
import threading
import time
from contextlib import suppress
from itertools import count

import numpy as np
import pytest

from parcast.arrays.store.draft import Draft
from parcast.arrays.store.place import Lock, StorePlace
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.versions import linked_place, sweep
from parcast.errors import FileProblems, ParameterError, RunFailed
from tests.arrays.store.made import append_rows, write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

FORM = {"chunk": (2, 2), "dimensions": ("t", "x")}


def write(path, value, versions=2, **options):
    u = np.full((4, 2), float(value))
    write_store(path, {"u": u, "v": u}, overwrite=True, versions=versions, **FORM, **options)


def value_of(path):
    """Read the only value of a store."""
    with open_store(path) as store:
        values = {x for name in store for x in np.unique(store[name].read())}
    assert len(values) == 1
    return values.pop()


def names_in(folder):
    return sorted(os.listdir(folder))


def test_the_path_is_a_link_to_the_newest_and_those_before_stay(tmp_path):
    path = tmp_path / "o.zarr"
    for value in range(4):
        write(path, value)
        assert value_of(path) == value
    assert names_in(tmp_path) == ["o.zarr", "o.zarr.parcast-000003", "o.zarr.parcast-000004"]
    assert os.readlink(path) == "o.zarr.parcast-000004"
    assert value_of(tmp_path / "o.zarr.parcast-000003") == 2
    assert verify(path).status == "whole"
    append_rows(path, {"u": np.full((2, 2), 3.0), "v": np.full((2, 2), 3.0)})
    assert value_of(path) == 3
    write(path, 4, versions=1)
    assert names_in(tmp_path) == ["o.zarr", "o.zarr.parcast-000005"]


def test_a_lost_link_and_the_version_before_a_damaged_one_are_named(tmp_path):
    path = tmp_path / "o.zarr"
    for value in range(2):
        write(path, value)
    file = path / "u" / "c.0.0"
    file.write_bytes(b"x" + file.read_bytes()[1:])
    damaged = verify(path)
    assert damaged.earlier == f"{path}.parcast-000001"
    assert f"The version before is {path}.parcast-000001." in str(damaged)
    path.unlink()
    for ask in (verify, open_store):
        with pytest.raises(FileProblems, match=rf"Make it: ln -s o.zarr.parcast-000002 {path}"):
            ask(path)


def test_a_store_without_versions_becomes_one_with(tmp_path, monkeypatch):
    for name, can_exchange in (("a.zarr", True), ("b.zarr", False)):
        path = tmp_path / name
        write(path, 1, versions=0)
        if not can_exchange:
            monkeypatch.setattr("parcast.arrays.store.durable.exchange", lambda *_: False)
        write(path, 2)
        assert value_of(path) == 2
        write(path, 3, versions=0)  # in place of the newest
        assert value_of(path) == 3
    expected = ["a.zarr", "a.zarr.parcast-000001", "b.zarr", "b.zarr.parcast-000001"]
    assert names_in(tmp_path) == expected


def test_what_is_no_version_is_left(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere/x.zarr", 1, versions=0)
    (tmp_path / "o.zarr").symlink_to("elsewhere/x.zarr")
    with pytest.raises(ParameterError, match="or a link to a version of it, got "):
        write(tmp_path / "o.zarr", 2)
    (tmp_path / "file.zarr").write_text("kept")
    with pytest.raises(ParameterError, match="which is something else"):
        write(tmp_path / "file.zarr", 2)
    write(tmp_path / "p.zarr", 1)
    with pytest.raises(ParameterError, match="which exists"):
        write_store(tmp_path / "p.zarr", {"u": np.ones((2, 2))}, versions=2)
    with pytest.raises(ParameterError, match="versions must be"):
        write(tmp_path / "p.zarr", 1, versions=2.5)
    assert value_of(tmp_path / "elsewhere/x.zarr") == 1
    assert value_of(tmp_path / "p.zarr") == 1


def test_a_version_that_a_writer_appends_to_is_kept(tmp_path):
    path = tmp_path / "o.zarr"
    write(path, 1)
    with Draft.append(path, 2):
        write(path, 2)
        write(path, 3)
        assert "o.zarr.parcast-000001" in names_in(tmp_path)
    write(path, 4)
    assert names_in(tmp_path) == ["o.zarr", "o.zarr.parcast-000003", "o.zarr.parcast-000004"]


def test_the_version_that_was_read_is_kept_whatever_is_newer(tmp_path):
    path = tmp_path / "o.zarr"
    for value in (1, 2):
        write(path, value)
    (tmp_path / "o.zarr.parcast-000003").mkdir()  # as an interrupted write leaves it
    (tmp_path / "o.zarr.parcast-000009").mkdir()
    (tmp_path / "o.zarr.20261128").mkdir()  # a copy by the user
    sweep(path)  # which is no reason to remove what somebody may have linked by hand
    assert value_of(path) == 2
    write(path, 4)
    kept = ["o.zarr", "o.zarr.20261128", "o.zarr.parcast-000002", "o.zarr.parcast-000010"]
    assert names_in(tmp_path) == kept
    assert value_of(path) == 4


def test_what_an_append_has_left_beside_a_version_goes_with_it(tmp_path):
    path = tmp_path / "o.zarr"
    write(path, 1)
    old = StorePlace.of(path)
    old.lock.write_bytes(b"")
    old.new_draft("append").mkdir()
    for value in (2, 3):
        write(path, value)
    assert names_in(tmp_path) == ["o.zarr", "o.zarr.parcast-000002", "o.zarr.parcast-000003"]


def test_an_interrupted_write_of_a_version_is_told_and_swept(tmp_path):
    path = tmp_path / "o.zarr"
    write(path, 1)
    draft = linked_place(path).new_draft()
    draft.mkdir()
    assert [left.path for left in verify(path).left] == [draft]
    lock = Lock.take(linked_place(path))
    assert verify(path).writer
    assert not verify(path).left
    with pytest.raises(RunFailed, match="is writing it"):
        sweep(path)
    lock.release()
    assert sweep(path) == [f"the draft {draft.name} of an interrupted write was removed"]
    assert verify(path).status == "whole"


def test_an_open_store_whose_version_is_removed_is_refused_in_words(tmp_path):
    path = tmp_path / "o.zarr"
    write(path, 1)
    with open_store(path) as store:
        write(path, 2)
        assert (store["u"].read() == 1).all()
        write(path, 3)
        with pytest.raises(FileProblems, match="was replaced while it was read"):
            store["v"].read()


@pytest.mark.fault(
    "Stores of arrays",
    "Another program, such as zarr-python, reads a store while it is replaced.",
    promise="With `versions=2`, a program that opens what the link leads to reads one version; "
    "without, it may mix the old with the new.",
)
def test_zarr_python_reads_one_version_while_others_are_written(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")
    path = tmp_path / "o.zarr"
    write(path, 0)
    is_enough = threading.Event()

    def replace():
        for value in count(1):
            if is_enough.is_set():
                return
            write(path, value, versions=4)

    writer = threading.Thread(target=replace)
    writer.start()
    read, end = [], time.monotonic() + 30.0
    try:
        while len({*map(frozenset, read)}) < 5 and time.monotonic() < end:
            version = os.path.realpath(path)
            values = set()
            with suppress(FileNotFoundError, KeyError):
                group = zarr.open_group(version, mode="r")
                values = {*np.unique(group["u"][...]), *np.unique(group["v"][...])}
            if os.path.exists(version):  # otherwise it was removed meanwhile
                read.append(values)
    finally:
        is_enough.set()
        writer.join()
    assert len({*map(frozenset, read)}) == 5
    assert {len(values) for values in read} == {1}
