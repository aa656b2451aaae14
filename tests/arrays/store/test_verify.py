"""`parcast.arrays.store.verify`: every kind of damage is found, named, and told apart."""

import json
import os
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcast.arrays.geometry import Box
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.place import Place, sweep
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.errors import FileProblems, ParameterError
from tests.arrays.store.made import write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

U = np.arange(20 * 6, dtype="f8").reshape(20, 6)
V = np.arange(9, dtype="i4")


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A store of two arrays; chunks of 8 rows in subchunks of 2 rows and 3 columns."""
    write_store(
        tmp_path / "s.zarr", {"u": U}, chunk=(8, 6), subchunk=(2, 3), dimensions=("y", "x")
    )
    os.rename(tmp_path / "s.zarr", tmp_path / "t.zarr")
    specs = {"chunk": (8, 6), "subchunk": (2, 3), "dimensions": ("y", "x")}
    listed = [
        ArraySpec(name="u", shape=U.shape, dtype="f8", **specs),
        ArraySpec(name="v", shape=V.shape, dtype="i4", zstd=3),
    ]
    from parcast.arrays.store.writing import Writer

    with Draft.create(tmp_path / "s.zarr", listed) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", U)
            writer.write("v", V)
            writer.flush()
        draft.commit()
    shutil.rmtree(tmp_path / "t.zarr")
    monkeypatch.chdir(tmp_path)
    return Place.of("s.zarr").target


def test_a_whole_store_is_whole(path):
    result = verify("s.zarr")
    assert (result.status, result.faults, result.lost) == ("whole", (), {})
    assert (result.arrays, result.chunks, result.subchunks) == (2, 4, 8 + 8 + 4 + 1)
    assert (
        result.size
        == sum(x.stat().st_size for x in path.rglob("c/*/*") if x.is_file())
        + (path / "v/c/0").stat().st_size
    )
    assert "s.zarr is whole" in str(result)


def flip(file, offset):
    content = bytearray(file.read_bytes())
    content[offset] ^= 0x10
    file.write_bytes(content)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**20), st.sampled_from(["u/c/0/0", "u/c/2/0", "v/c/0"]))
def test_any_flipped_byte_is_found_and_nothing_else_is_lost(path, where, file):
    place = path / file
    before = place.read_bytes()
    flip(place, where % len(before))
    result = verify("s.zarr")
    place.write_bytes(before)
    assert result.status == "damaged"
    (fault,) = result.faults
    assert fault.file == f"s.zarr/{file}"
    assert (fault.array, fault.chunk) == (file[0], tuple(map(int, file[4:].split("/"))))
    assert fault.kind in ("damaged chunk", "damaged subchunk")


def test_a_flipped_byte_names_its_subchunk_and_the_rest_can_be_read(path):
    flip(path / "u/c/1/0", (2 * 3 * 8 + 4) * 3 + 5)  # in the fourth subchunk
    result = verify("s.zarr")
    (fault,) = result.faults
    assert (fault.kind, fault.subchunk) == ("damaged subchunk", (1, 1))
    assert result.lost == {"u": (Box((10, 3), (2, 3)),)}
    with open_store("s.zarr") as store:
        kept = np.concatenate([store["u"].read((0, 0), (10, 6)), store["u"].read((12, 0))])
        assert (kept == np.delete(U, [10, 11], axis=0)).all()
        assert (store["u"].read((10, 0), (2, 3)) == U[10:12, :3]).all()
        with pytest.raises(FileProblems) as caught:
            store["u"].read((11, 3), (1, 1))
    assert str(caught.value) == (
        "s.zarr/u/c/1/0: 1 problem\n  file  has other bytes than were written: its checksum "
        "differs (array u, chunk 1.0, elements [8:16, 0:6]). Check the store with verify; boxes "
        "that do not touch it can be read."
    )


@pytest.mark.parametrize(
    ("harm", "kind", "file", "lost"),
    [
        (lambda p: (p / "u/c/2/0").unlink(), "missing chunk", "u/c/2/0", Box((16, 0), (4, 6))),
        (
            lambda p: os.truncate(p / "u/c/0/0", 100),
            "truncated chunk",
            "u/c/0/0",
            Box((0, 0), (8, 6)),
        ),
        (
            lambda p: os.truncate(p / "u/c/0/0", 0),
            "truncated chunk",
            "u/c/0/0",
            Box((0, 0), (8, 6)),
        ),
        (lambda p: os.truncate(p / "v/c/0", 20), "damaged chunk", "v/c/0", Box((0,), (9,))),
        (lambda p: (p / "u/zarr.json").write_text("{"), "damaged metadata", "u/zarr.json", None),
        (lambda p: (p / "zarr.json").write_text("[]"), "damaged metadata", "zarr.json", None),
        (lambda p: shutil.rmtree(p / "v"), "missing array", "v/zarr.json", None),
    ],
)
def test_each_damage_is_named(path, harm, kind, file, lost):
    harm(path)
    result = verify("s.zarr")
    (fault,) = result.faults
    assert (fault.kind, fault.file, fault.lost) == (kind, f"s.zarr/{file}", lost)
    assert result.status == "damaged"
    assert kind in str(result) or fault.message in str(result)


def test_a_subchunk_that_is_missing_from_its_index_is_found(path):
    from parcast.arrays.store.codecs import crc32c

    file = path / "u/c/0/0"
    content = file.read_bytes()
    index = bytearray(content[-(8 * 16 + 4) : -4])
    index[2 * 16 : 3 * 16] = b"\xff" * 16
    file.write_bytes(content[: -(8 * 16 + 4)] + index + crc32c([bytes(index)]))
    kinds = {fault.kind: fault.lost for fault in verify("s.zarr").faults}
    assert kinds == {"missing subchunk": Box((2, 0), (2, 3)), "wrong length": None}
    with open_store("s.zarr") as store, pytest.raises(FileProblems, match="has no elements"):
        store["u"].read()


def test_a_file_that_is_too_long_is_told(path):
    file = path / "u/c/0/0"
    content = file.read_bytes()
    file.write_bytes(b"\0" * 7 + content)
    faults = verify("s.zarr").faults
    assert faults[0].kind == "wrong length"
    assert faults[0].message == f"must have {len(content)} bytes, got {len(content) + 7}."


@pytest.mark.parametrize(
    ("leave", "kind", "file"),
    [
        (
            lambda p: (p.parent / ".s.zarr.parcast-draft-1a").mkdir(),
            "stale draft",
            ".s.zarr.parcast-draft-1a",
        ),
        (
            lambda p: shutil.copytree(p, p.parent / ".s.zarr.parcast-old"),
            "interrupted commit",
            ".s.zarr.parcast-old",
        ),
        (
            lambda p: (p / "u/c/3").mkdir() or shutil.copy(p / "u/c/2/0", p / "u/c/3/0"),
            "interrupted append",
            "s.zarr/u/c/3/0",
        ),
        (lambda p: (p / "u/c/notes.txt").touch(), "unexpected file", "s.zarr/u/c/notes.txt"),
    ],
)
def test_what_was_left_is_told_and_nothing_is_lost(path, leave, kind, file):
    leave(path)
    result = verify("s.zarr")
    (fault,) = result.faults
    assert (fault.kind, fault.file) == (kind, file)
    assert (result.status, result.lost) == ("interrupted", {})
    assert "left over" in str(result)
    with open_store("s.zarr") as store:
        assert (store["u"].read() == U).all()


def test_sweep_removes_what_was_left(path):
    (path.parent / ".s.zarr.parcast-draft-1a").mkdir()
    shutil.copytree(path, path.parent / ".s.zarr.parcast-old")
    assert sweep("s.zarr") == [
        "an old store was removed",
        "the draft .s.zarr.parcast-draft-1a of an interrupted write was removed",
    ]
    assert [x.name for x in path.parent.iterdir()] == ["s.zarr"]
    assert sweep("s.zarr") == []


def test_a_store_that_was_moved_aside_is_told_and_put_back_when_it_is_opened(path):
    path.rename(path.parent / ".s.zarr.parcast-old")
    (fault,) = verify("s.zarr").faults
    assert fault.kind == "interrupted commit"
    assert "Opening it, or sweep, puts it back." in fault.message
    with open_store("s.zarr") as store:
        assert (store["u"].read() == U).all()
    assert verify("s.zarr").status == "whole"


@pytest.mark.usefixtures("path")
def test_the_draft_of_a_live_writer_is_no_fault_and_is_not_swept():
    spec = ArraySpec(name="u", shape=(4,), dtype="f8")
    with Draft.create("s.zarr", [spec], overwrite=True) as draft:
        result = verify("s.zarr")
        assert result.status == "whole"
        assert result.writer == f"process {os.getpid()} on {os.uname().nodename}"
        with pytest.raises(Exception, match="is writing it"):
            sweep("s.zarr")
        assert draft.part.folder.is_dir()


def test_the_document_has_a_row_for_each_fault(path, tmp_path):
    (path / "u/c/2/0").unlink()
    result = verify("s.zarr")
    document = json.loads(json.dumps(result.to_document()))
    assert document["schema"] == "parcast/array-verification/1"
    assert document["status"] == "damaged"
    assert document["rows"] == [
        {
            "kind": "missing chunk",
            "array": "u",
            "chunk": "2.0",
            "subchunk": None,
            "lost_start": "16.0",
            "lost_count": "4.6",
            "file": "s.zarr/u/c/2/0",
            "message": "is missing.",
        }
    ]
    result.save(tmp_path / "faults.csv")
    assert (tmp_path / "faults.csv").read_text().splitlines()[1].startswith("missing chunk,u,2.0")
    assert repr(result) == "Verification(s.zarr: damaged, 1 fault)"


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="path must exist"):
        verify(tmp_path / "none.zarr")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileProblems, match=r"got a folder without zarr\.json"):
        verify(tmp_path / "empty")
