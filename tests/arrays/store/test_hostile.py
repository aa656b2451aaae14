"""Stores that are not what they seem: links, pipes, and files beside them that lie."""

import hashlib
import json
import os
import threading

import numpy as np
import pytest

from parcast.arrays.store.draft import Draft
from parcast.arrays.store.place import NOTE, Lock, Place, journal_of
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.versions import sweep
from parcast.errors import FileProblems, ParameterError, ParcastError, RunFailed
from tests.arrays.store.made import append_rows, write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

U = np.arange(8.0).reshape(4, 2)
KEPT = b"kept, to the last byte"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of two arrays that grow together, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    return write_store(
        tmp_path / "d/u.zarr", {"u": U, "v": U}, chunk=(2, 2), dimensions=("t", "x")
    )


def in_time(call, *arguments):
    """Call it; fail if it waits for something that never comes."""
    ended = []

    def run():
        try:
            ended.append(call(*arguments))
        except ParcastError as failure:
            ended.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it hangs"
    return ended[0]


WRITES = {
    "sweep": sweep,
    "append": lambda path: append_rows(path, {"u": U, "v": U}),
    "overwrite": lambda path: write_store(path, {"u": U}, overwrite=True),
}


@pytest.mark.fault(
    "Stores of arrays",
    "A link or another file has the name of a lock.",
    promise="Nothing of it is changed, and the write is refused.",
)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("kind", ["link", "hard link", "file", "dangling", "pipe", "folder"])
def test_what_has_the_name_of_a_lock_and_is_none_is_left_alone(store, tmp_path, kind, write):
    lock, victim = Place.of(store).lock, tmp_path / "victim.txt"
    victim.write_bytes(KEPT)
    {
        "link": lambda: lock.symlink_to(victim),
        "hard link": lambda: lock.hardlink_to(victim),
        "file": lambda: lock.write_bytes(KEPT),
        "dangling": lambda: lock.symlink_to(tmp_path / "none"),
        "pipe": lambda: os.mkfifo(lock),
        "folder": lock.mkdir,
    }[kind]()
    refusal = in_time(write, store)
    assert isinstance(refusal, RunFailed)
    assert f"{lock} must be a lock of parcast, and is something else" in str(refusal)
    assert victim.read_bytes() == KEPT
    assert not (tmp_path / "none").exists()
    assert os.path.lexists(lock)
    assert verify(store).status == "whole"


@pytest.mark.parametrize("where", ["v", "v/c"])
def test_nothing_is_appended_outside_of_the_store(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")
    group = zarr.open_group("s.zarr", mode="w")
    for name in ("u", "v"):
        made = group.create_array(name, shape=(4, 2), chunks=(2, 2), shards=(2, 2), dtype="f8")
        made[...] = U + 1
    outside = tmp_path / "outside"
    os.rename(tmp_path / "s.zarr" / where, outside)
    (tmp_path / "s.zarr" / where).symlink_to(outside)
    before = {x: x.read_bytes() for x in outside.rglob("*") if x.is_file()}
    with pytest.raises(FileProblems, match="nothing is written outside of a store"):
        append_rows("s.zarr", {"u": U, "v": U})
    assert {x: x.read_bytes() for x in outside.rglob("*") if x.is_file()} == before
    assert verify("s.zarr").status == "unchecked"


def journal(store, name, node):
    """Write a journal beside a store."""
    content = {"schema": "parcast/array-append/1", "nodes": {name: node}}
    Place.of(store).journal.write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["../../outside", "/outside", "v/../../../outside", "link", "."])
def test_a_journal_changes_nothing_outside_of_the_store(store, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "zarr.json").write_bytes(KEPT)
    (store / "link").symlink_to(outside)
    name = str(outside) if name == "/outside" else name
    journal(store, name, {"was": hashlib.sha256(KEPT).hexdigest(), "becomes": "changed"})
    sweep(store)
    assert (outside / "zarr.json").read_bytes() == KEPT
    assert not Place.of(store).journal.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"schema": "parcast/array-append/1", "nodes": []}',
        b'{"schema": "parcast/array-append/1", "nodes": {"u": 3}}',
        b'{"schema": "parcast/array-append/1", "nodes": {"u": {"was": "x", "becomes": 2}}}',
        b'{"schema": "parcast/array-append/1", "nodes": {"a\\u0000": {"becomes": "x"}}}',
        b"3",
    ],
)
def test_a_journal_that_makes_no_sense_is_none(store, content):
    Place.of(store).journal.write_bytes(content)
    assert verify(store).status == "interrupted"
    with open_store(store) as opened:
        assert (opened["u"].read() == U).all()
    sweep(store)
    assert verify(store).status == "whole"


def test_a_journal_that_is_a_link_is_removed_and_not_what_it_leads_to(store, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(journal_of({"u": (KEPT, KEPT)}))
    before = victim.read_bytes()
    Place.of(store).journal.symlink_to(victim)
    sweep(store)
    assert victim.read_bytes() == before


@pytest.mark.parametrize("begun", ["NaN", "Infinity", "-Infinity", "1e300", "-5", '"x"', "null"])
@pytest.mark.parametrize("pid", ["1", "99999999999999999999", "-1", "0"])
def test_a_lock_with_odd_values_is_told(store, begun, pid):
    note = f'{{"host": "h", "pid": {pid}, "program": "p", "begun": {begun}}}'
    place = Place.of(store)
    place.lock.write_text(note)
    place.new_draft().mkdir()
    result = verify(store)
    assert result.status == "interrupted"
    assert str(result)
    json.dumps(result.to_document(), allow_nan=False)


def test_a_draft_of_a_huge_array_is_told_at_once(store):
    place = Place.of(store)
    for kind in ("draft", "append"):
        draft = place.new_draft(kind)
        draft.mkdir()
        (draft / "u").mkdir()
        document = json.loads((store / "u/zarr.json").read_text())
        document["shape"] = [10**12, 2]
        (draft / "u/zarr.json").write_text(json.dumps(document))
    result = in_time(verify, store)
    assert {left.expected for left in result.left} == {5 * 10**11, 5 * 10**11 - 2}
    in_time(sweep, store)
    assert verify(store).status == "whole"


@pytest.mark.parametrize("names", [["/etc"], ["../u"], ["u", "a/../../b"], ["a\0"], [3], "u"])
def test_a_manifest_that_names_what_lies_outside_is_damage(store, names):
    document = json.loads((store / "zarr.json").read_text())
    document["attributes"]["parcast"]["arrays"] = names
    (store / "zarr.json").write_text(json.dumps(document))
    assert verify(store).status == "damaged"
    with pytest.raises(FileProblems, match="must name the arrays of the store as text, within it"):
        open_store(store)


@pytest.mark.fault(
    "Stores of arrays",
    "A pipe or a loop of links lies in a store.",
    promise="No command waits for it: it is named.",
)
@pytest.mark.parametrize("file", ["u/c.0.0", "u/zarr.json", "zarr.json"])
def test_a_pipe_in_a_store_is_named_and_not_waited_for(store, file):
    (store / file).unlink()
    os.mkfifo(store / file)
    result = in_time(verify, store)
    is_named = isinstance(result, FileProblems) or result.status == "damaged"
    assert is_named, result

    def read():
        with open_store(store) as opened:
            return opened["u"].read()

    assert isinstance(in_time(read), ParcastError)
    refusal = in_time(append_rows, store, {"u": U, "v": U})
    assert isinstance(refusal, ParcastError) or file == "u/c.0.0"


def test_links_to_the_folder_itself_are_not_followed(store):
    for name in ("a", "b"):
        (store / name).symlink_to(store)
    result = in_time(verify, store)
    assert result.status == "unchecked"
    assert "array or group a: it is a link, which is not followed" in result.unchecked
    with open_store(store) as opened:
        assert sorted(opened) == ["u", "v"]


def test_an_array_larger_than_memory_is_refused_in_words(store):
    document = json.loads((store / "u/zarr.json").read_text())
    document["shape"] = [10**14, 10**3]
    (store / "u/zarr.json").write_text(json.dumps(document))
    with open_store(store) as opened, pytest.raises(ParameterError, match="fits into memory, got"):
        opened["u"].read()


@pytest.mark.parametrize("length", [0, 1, 8, 20])
def test_a_lock_that_was_written_in_part_is_one(store, length):
    lock = Lock.take(Place.of(store))
    note = Place.of(store).lock.read_bytes()
    assert note.startswith(NOTE)
    lock.release()
    Place.of(store).lock.write_bytes(note[:length])
    Lock.take(Place.of(store)).release()


def test_a_lock_of_a_writer_is_still_taken_and_given_up(store):
    lock = Lock.take(Place.of(store))
    with pytest.raises(RunFailed, match="a request of this program is writing it"):
        Draft.append(store, 1)
    lock.release()
    assert not Place.of(store).lock.exists()
