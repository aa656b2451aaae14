"""Stores that are not what they seem: links, pipes, and files beside them that lie."""

import gzip
import hashlib
import json
import os
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from parcast.arrays.store.layout import MOST_VALUES
from parcast.arrays.store.place import NOTE, Lock, StorePlace, journal_of
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.versions import sweep
from parcast.errors import FileProblems, ParameterError, ParcastError, RunFailed
from tests.arrays.store.made import append_rows, write_store
from tests.fuzzing.stores import make_deep

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


def read_array(opened):
    """Read an array of an open store."""
    return opened["u"].read()


def bound(path):
    """Make a socket with a name."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


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
@pytest.mark.parametrize(
    "kind", ["link", "hard link", "empty", "file", "dangling", "pipe", "socket", "folder"]
)
def test_what_has_the_name_of_a_lock_and_is_none_is_left_alone(store, tmp_path, kind, write):
    lock, victim = StorePlace.of(store).lock, tmp_path / "victim.txt"
    kept = b"" if kind == "empty" else KEPT
    victim.write_bytes(kept)
    {
        "link": lambda: lock.symlink_to(victim),
        "hard link": lambda: lock.hardlink_to(victim),
        "empty": lambda: lock.hardlink_to(victim),
        "file": lambda: lock.write_bytes(KEPT),
        "dangling": lambda: lock.symlink_to(tmp_path / "none"),
        "pipe": lambda: os.mkfifo(lock),
        "socket": lambda: bound(lock),
        "folder": lock.mkdir,
    }[kind]()
    refusal = in_time(write, store)
    assert isinstance(refusal, RunFailed)
    assert f"{lock} must be a lock of parcast, and is something else" in str(refusal)
    assert victim.read_bytes() == kept
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
    content = {"schema": "parcast/array-append/1", "nodes": {name: node}}
    StorePlace.of(store).journal.write_text(json.dumps(content))


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
    assert not StorePlace.of(store).journal.exists()


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
    StorePlace.of(store).journal.write_bytes(content)
    assert verify(store).status == "interrupted"
    with open_store(store) as opened:
        assert (opened["u"].read() == U).all()
    sweep(store)
    assert verify(store).status == "whole"


def test_a_journal_that_is_a_link_is_removed_and_not_what_it_leads_to(store, file):
    victim = file(journal_of({"u": (KEPT, KEPT)}), "victim")
    before = victim.read_bytes()
    StorePlace.of(store).journal.symlink_to(victim)
    sweep(store)
    assert victim.read_bytes() == before


@pytest.mark.parametrize("begun", ["NaN", "Infinity", "-Infinity", "1e300", "-5", '"x"', "null"])
@pytest.mark.parametrize("pid", ["1", "99999999999999999999", "-1", "0"])
def test_a_lock_with_odd_values_is_told(store, begun, pid):
    note = f'{{"host": "h", "pid": {pid}, "program": "p", "begun": {begun}}}'
    place = StorePlace.of(store)
    place.lock.write_text(note)
    place.new_draft().mkdir()
    result = verify(store)
    assert result.status == "interrupted"
    assert str(result)
    json.dumps(result.to_document(), allow_nan=False)


def test_a_draft_of_a_huge_array_is_told_at_once(store):
    place = StorePlace.of(store)
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
@pytest.mark.parametrize(
    "make",
    [os.mkfifo, bound, Path.mkdir, lambda path: path.symlink_to("/dev/zero")],
    ids=["pipe", "socket", "folder", "device"],
)
def test_a_pipe_in_a_store_is_named_and_not_waited_for(store, file, make):
    (store / file).unlink()
    make(store / file)
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
    assert "what could not be checked is named, the rest is right" in str(result)
    with open_store(store) as opened:
        assert sorted(opened) == ["u", "v"]


def test_metadata_of_a_terabyte_are_refused(store):
    for file in (store / "u/zarr.json", StorePlace.of(store).journal):
        with open(file, "ab") as stream:
            stream.truncate(1 << 40)
    assert in_time(verify, store).status == "damaged"
    assert isinstance(in_time(append_rows, store, {"u": U, "v": U}), FileProblems)
    assert isinstance(in_time(sweep, store), list)
    assert not StorePlace.of(store).journal.exists()


def test_a_document_of_millions_of_values_is_refused(store):
    (store / "u/zarr.json").write_bytes(b"[" + b"[]," * (MOST_VALUES // 2) + b"[]]")
    result = in_time(verify, store)
    assert "it has more than" in result.faults[0].message


@pytest.mark.parametrize("where", ["u/f", "g", ".u.zarr.parcast-draft-1", ".u.zarr.parcast-old"])
def test_thousands_of_folders_in_folders_are_looked_into_so_far_and_removed(store, where):
    make_deep(store.with_name(where) if where.startswith(".") else store / where)
    assert in_time(verify, store).status in {"whole", "interrupted"}
    assert isinstance(in_time(sweep, store), list)
    in_time(WRITES["overwrite"], store)
    assert verify(store).status == "whole"
    assert os.listdir(store.parent) == ["u.zarr"]


def test_a_link_with_the_name_of_a_store_that_was_moved_is_not_put_in_its_place(store, tmp_path):
    place = StorePlace.of(store)
    os.rename(store, tmp_path / "outside.zarr")
    place.aside.symlink_to(tmp_path / "outside.zarr")
    in_time(sweep, store)
    assert os.listdir(store.parent) == []
    assert verify(tmp_path / "outside.zarr").status == "whole"


ODD = {
    "shape": ["4", [4, "2"], [4.0, 2], [True, 2], [-1, 2], [2**63, 2], [1e300, 2], [], [1] * 99],
    "chunk_grid": [{"name": "regular", "configuration": {"chunk_shape": [2**62, 2**62]}}, [], 3],
    "dimension_names": ["tx", ["t"], [["t"], "x"], [3, 4], {"t": 1, "x": {}}],
    "codecs": [[], {}, [{"name": "gzip", "configuration": {"level": 99}}], [{"name": ["a"]}]],
    "fill_value": [None, [], 10**400, {"a": 1}],
    "attributes": [3, [], "a", {"names": [{}]}],
}


@pytest.mark.parametrize(("member", "value"), [(k, v) for k in ODD for v in ODD[k]])
def test_metadata_of_other_types_are_refused_in_words(store, member, value):
    document = json.loads((store / "u/zarr.json").read_text())
    (store / "u/zarr.json").write_text(json.dumps({**document, member: value}))
    assert str(in_time(verify, store))
    with open_store(store) as opened:
        in_time(read_array, opened)
    refusal = in_time(append_rows, store, {"u": U, "v": U})
    assert refusal is None or isinstance(refusal, ParcastError)


@pytest.mark.parametrize("call", [open_store, verify, sweep, *WRITES.values()])
@pytest.mark.parametrize("path", ["", "a\0b", 3, None, ["u.zarr"], "loop"])
@pytest.mark.usefixtures("store")
def test_what_is_no_path_is_refused_in_words(call, path):
    with pytest.raises((ParameterError, FileProblems, RunFailed)):
        call(many_links() if path == "loop" else path)


def many_links():
    for i in range(2000):
        os.symlink(f"{i + 1}.zarr", f"{i}.zarr")
    return "0.zarr"


@pytest.mark.parametrize("call", [open_store, verify, sweep, *WRITES.values()])
@pytest.mark.parametrize("length", [250, 300, 5000])
@pytest.mark.usefixtures("store")
def test_a_name_that_is_too_long_is_refused_in_words(call, length):
    with pytest.raises((FileProblems, RunFailed)):
        call("n" * length)


def test_a_chunk_that_unpacks_to_more_than_memory_is_no_error_of_python(store):
    document = json.loads((store / "u/zarr.json").read_text())
    size = 2**40
    document |= {"shape": [size], "dimension_names": None, "data_type": "uint8", "fill_value": 0}
    document["codecs"] = [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 0}}]
    document["chunk_grid"]["configuration"]["chunk_shape"] = [size]
    (store / "u/zarr.json").write_text(json.dumps(document))
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    frame = bytearray(zstandard.ZstdCompressor(write_content_size=True).compress(bytes(2**20)))
    (store / "u/c.0").write_bytes(frame)  # which says how much it unpacks to
    assert in_time(verify, store).status == "damaged"
    with (
        open_store(store) as opened,
        pytest.raises(FileProblems, match="it unpacks to 1099511627"),
    ):
        opened["u"].read((0,), (1,))


@pytest.mark.parametrize("outer", ["zstd", "gzip"])
def test_a_chunk_that_unpacks_without_a_known_end_is_damage(store, monkeypatch, outer):
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    monkeypatch.setattr("parcast.arrays.store.codecs.LARGEST_UNPACKED", 10_000)
    monkeypatch.setattr("parcast.arrays.store.codecs.MOST_TIMES", 1)
    document = json.loads((store / "u/zarr.json").read_text())
    document["codecs"] = [{"name": "bytes"}, {"name": "gzip"}, {"name": outer}]
    (store / "u/zarr.json").write_text(json.dumps(document))
    packed = {"zstd": zstandard.ZstdCompressor().compress, "gzip": gzip.compress}[outer]
    for size, kind in ((10**6, "got more"), (10, "cannot be unpacked")):
        (store / "u/c.0.0").write_bytes(packed(bytes(size)))
        assert any(kind in fault.message for fault in in_time(verify, store).faults)
    (store / "u/c.0.0").write_bytes(packed(gzip.compress(U[:2].tobytes())))
    with open_store(store) as opened:
        assert (opened["u"].read((0, 0), (2, 2)) == U[:2]).all()


def test_what_would_not_be_read_again_is_not_written(store, tmp_path, monkeypatch):
    monkeypatch.setattr("parcast.arrays.store.layout.MOST_VALUES", 100)
    append_rows(store, {"u": U, "v": U})
    with pytest.raises(ParameterError, match="Write long lists as arrays"):
        write_store(tmp_path / "a.zarr", {"u": U}, attributes={"a": [*range(100)]})
    monkeypatch.setattr("parcast.arrays.store.layout.MOST_VALUES", 50)
    with pytest.raises(RunFailed, match="2 arrays are too many to grow together"):
        append_rows(store, {"u": U, "v": U})
    with open_store(store) as opened:
        assert opened["u"].shape == (8, 2)
    assert os.listdir(tmp_path) == ["d"]


def test_metadata_that_are_nested_too_deeply_are_neither_read_nor_written(store, tmp_path):
    deepest = json.loads("[" * 60 + "]" * 60)
    write_store(tmp_path / "a.zarr", {"u": U}, attributes={"a": deepest})
    with open_store(tmp_path / "a.zarr") as opened:
        assert opened.attributes["a"] == deepest
    with pytest.raises(ParameterError, match="got more than 64 levels of them"):
        write_store(
            tmp_path / "b.zarr", {"u": U}, attributes={"a": [deepest] * 9 + [[[[[deepest]]]]]}
        )
    text = (store / "u/zarr.json").read_text()
    (store / "u/zarr.json").write_text(text.replace("{}", '{"a": ' + "[" * 200 + "]" * 200 + "}"))
    assert "nested more than 128 levels deep" in verify(store).faults[0].message


def test_an_array_larger_than_memory_is_refused_in_words(store):
    document = json.loads((store / "u/zarr.json").read_text())
    document["shape"] = [10**14, 10**3]
    (store / "u/zarr.json").write_text(json.dumps(document))
    with open_store(store) as opened, pytest.raises(ParameterError, match="fits into memory, got"):
        opened["u"].read()


@pytest.mark.parametrize("length", [0, 1, 8, 20])
def test_a_lock_that_was_written_in_part_is_one(store, length):
    lock = Lock.take(StorePlace.of(store))
    note = StorePlace.of(store).lock.read_bytes()
    assert note.startswith(NOTE)
    lock.release()
    StorePlace.of(store).lock.write_bytes(note[:length])
    Lock.take(StorePlace.of(store)).release()
