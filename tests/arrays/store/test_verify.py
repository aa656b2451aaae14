"""`parcast.arrays.store.verify`: every kind of damage is found, named, and told apart."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.npy import NpyDraft
from parcast.arrays.store.place import StorePlace
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.versions import sweep
from parcast.errors import FileProblems, ParameterError
from tests.arrays.store.made import write_store
from tests.conftest import ROOT

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
    return StorePlace.of("s.zarr").target


def test_a_whole_store_is_whole(path):
    result = verify("s.zarr")
    assert (result.status, result.faults, result.lost) == ("whole", (), {})
    assert (result.arrays, result.chunks, result.subchunks) == (2, 4, 8 + 8 + 4 + 1)
    assert result.size == sum(x.stat().st_size for x in path.rglob("c.*"))
    assert "s.zarr is whole" in str(result)


def flip(file, offset):
    content = bytearray(file.read_bytes())
    content[offset] ^= 0x10
    file.write_bytes(content)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**20), st.sampled_from(["u/c.0.0", "u/c.2.0", "v/c.0"]))
def test_any_flipped_byte_is_found_and_nothing_else_is_lost(path, where, file):
    place = path / file
    before = place.read_bytes()
    flip(place, where % len(before))
    result = verify("s.zarr")
    place.write_bytes(before)
    assert result.status == "damaged"
    (fault,) = result.faults
    assert 0 <= where % len(before) - fault.span.offset < fault.span.length
    assert fault.file == f"s.zarr/{file}"
    assert (fault.array, fault.chunk) == (file[0], tuple(map(int, file[4:].split("."))))
    assert fault.kind in ("damaged chunk", "damaged subchunk")


def test_a_flipped_byte_names_its_subchunk_and_the_rest_can_be_read(path):
    flip(path / "u/c.1.0", (2 * 3 * 8 + 4) * 3 + 5)  # in the fourth subchunk
    result = verify("s.zarr")
    (fault,) = result.faults
    assert (fault.kind, fault.subchunk) == ("damaged subchunk", (1, 1))
    assert (fault.span.offset, fault.span.length) == (156, 52)
    assert "(in bytes 156 to 207)" in fault.message
    assert result.lost == {"u": (Box((10, 3), (2, 3)),)}
    with open_store("s.zarr") as store:
        kept = np.concatenate([store["u"].read((0, 0), (10, 6)), store["u"].read((12, 0))])
        assert (kept == np.delete(U, [10, 11], axis=0)).all()
        assert (store["u"].read((10, 0), (2, 3)) == U[10:12, :3]).all()
        with pytest.raises(FileProblems) as caught:
            store["u"].read((11, 3), (1, 1))
    assert str(caught.value) == (
        "s.zarr/u/c.1.0: 1 problem\n  file  has other bytes than were written: its checksum "
        "differs (array u, chunk 1.0, elements [8:16, 0:6]). Check the store: parcast arrays "
        "verify s.zarr. Boxes without it can be read, and everything else with lost=VALUE in its "
        "place."
    )


@pytest.mark.parametrize(
    ("harm", "kind", "file", "lost"),
    [
        (lambda p: (p / "u/c.2.0").unlink(), "missing chunk", "u/c.2.0", Box((16, 0), (4, 6))),
        (
            lambda p: os.truncate(p / "u/c.0.0", 100),
            "truncated chunk",
            "u/c.0.0",
            Box((0, 0), (8, 6)),
        ),
        (
            lambda p: os.truncate(p / "u/c.0.0", 0),
            "truncated chunk",
            "u/c.0.0",
            Box((0, 0), (8, 6)),
        ),
        (lambda p: os.truncate(p / "v/c.0", 20), "damaged chunk", "v/c.0", Box((0,), (9,))),
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


@pytest.mark.fault(
    "Stores of arrays",
    "Parts of a store are damaged or missing.",
    promise="Damage is named; everything else can be read.",
)
def test_what_is_damaged_can_be_replaced_by_a_value_and_all_else_is_read(path):
    flip(path / "u/c.1.0", (2 * 3 * 8 + 4) * 3 + 5)
    (path / "u/c.2.0").unlink()
    os.truncate(path / "v/c.0", 20)
    expected = U.copy()
    for fault in verify("s.zarr").faults:
        if fault.array == "u":
            expected[fault.lost.within(Box((0, 0), U.shape))] = -1
    with open_store("s.zarr") as store:
        assert (store["u"].read(lost=-1) == expected).all()
        part = store["u"].read((7, 2), (9, 3), lost=np.nan)
        assert np.isnan(part).sum() == 2 * 2
        assert (store["v"].read(lost=7) == 7).all()
        assert (store["u"].read((0, 0), (10, 6)) == U[:10]).all()
        with pytest.raises(ParameterError, match="lost must be a value of int32, got nan"):
            store["v"].read(lost=np.nan)


@pytest.mark.parametrize("there", range(6))
def test_the_beginning_of_a_truncated_chunk_can_be_read(path, there):
    os.truncate(path / "u/c.0.0", there * 52 + 7)
    (fault,) = verify("s.zarr").faults
    assert fault.kind == "truncated chunk"
    assert fault.message == f"is cut off: it must have at least 548 bytes, got {there * 52 + 7}."
    rows = there // 2 * 2
    assert fault.lost == Box((rows, 0), (8 - rows, 6))
    with open_store("s.zarr") as store:
        assert (store["u"].read((0, 0), (rows, 6)) == U[:rows]).all()
        read = store["u"].read(lost=0)
        assert (read[8:] == U[8:]).all()
        assert ((read[:8] == 0) | (read[:8] == U[:8])).all()
        assert (read[:8] != 0).sum() == there * 6 - (there > 0)  # U[0, 0] is 0
        with pytest.raises(FileProblems, match="is cut off"):
            store["u"].read((6, 3), (1, 1))


def test_a_chunk_whose_index_alone_is_damaged_can_be_read(path):
    flip(path / "u/c.0.0", 8 * 52 + 3)
    (fault,) = verify("s.zarr").faults
    assert (fault.kind, fault.lost) == ("damaged chunk", None)
    assert fault.span.offset <= 8 * 52 + 3 < fault.span.offset + fault.span.length
    assert verify("s.zarr").status == "damaged"
    with open_store("s.zarr") as store:
        assert (store["u"].read() == U).all()


KILLED = """
import os, signal, sys
import numpy as np
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.npy import NpyDraft, NpyWriter
from parcast.arrays.store.writing import Writer
kind, path = sys.argv[1:]
if kind == "npy":
    draft = NpyDraft.create(path, (4, 1000), "f8")
    NpyWriter(draft.part).write(0, np.ones((1, 1000)))
else:
    spec = ArraySpec(name="u", shape=(8,), dtype="f8", chunk=(2,), dimensions=("t",))
    draft = Draft.append(path, 6) if kind == "append" else Draft.create(path, [spec])
    writer = Writer(draft.part)
    for index in [*draft.part.chunks("u")][:2]:
        with writer.chunk("u", index) as chunk:
            for box in chunk.boxes:
                chunk.write(np.ones(box.count))
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(tmp_path, kind, path):
    """Write in a process that is killed; give its number."""
    program = tmp_path / "simulate.py"
    program.write_text(KILLED)
    with subprocess.Popen(
        [sys.executable, program, kind, path], env=os.environ | {"PYTHONPATH": str(ROOT / "src")}
    ) as process:
        process.wait()
    assert process.returncode == -9
    return process.pid


@pytest.mark.fault(
    "Stores of arrays",
    "A write was interrupted.",
    promise="`parcast arrays verify` names the process, the time and how far it was.",
)
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("write", "2 of 4 chunks complete"),
        ("append", "2 of 3 chunks complete"),
        ("npy", " written"),
    ],
)
def test_an_interrupted_write_is_told_with_its_process_its_time_and_how_far_it_was(
    tmp_path, kind, said
):
    path = tmp_path / ("u.npy" if kind == "npy" else "u.zarr")
    if kind == "append":
        write_store(path, {"u": np.zeros(2)}, chunk=(2,), dimensions=("t",))
    before = time.time()
    pid = killed(tmp_path, kind, path)
    result = verify(path)
    (left,) = result.left
    assert (left.owner.pid, left.owner.program) == (pid, "simulate.py")
    assert left.owner.host == os.uname().nodename
    assert before - 1 <= left.owner.begun <= left.last + 1 <= time.time() + 1
    history = f"by process {pid} (simulate.py) on {os.uname().nodename}, last written 20"
    assert history in left.message
    assert said in left.message
    assert left.message.endswith("The next write to this place removes it.")
    assert (result.is_there, result.is_sound) == (kind == "append",) * 2
    row = json.loads(json.dumps(result.to_document()))["interrupted"][0]
    assert (row["pid"], row["kind"]) == (pid, "stale draft")
    with Draft.create(tmp_path / "w.zarr", [ArraySpec(name="u", shape=(2,), dtype="f8")]) as other:
        assert other.cleared == ()
    assert len(StorePlace.of(path).drafts()) == 1  # a write to another place leaves it
    if kind == "npy":
        with NpyDraft.create(path, (2,), "f8") as draft:
            (cleared,) = draft.cleared
    else:
        spec = ArraySpec(name="u", shape=(2,), dtype="f8")
        with Draft.create(path, [spec], overwrite=True) as draft:
            (cleared,) = draft.cleared
    assert said in cleared.cleared
    assert cleared.cleared.endswith(f"Its draft {left.path.name} was removed.")
    assert not StorePlace.of(path).drafts()


def test_a_subchunk_that_is_missing_from_its_index_is_found(path):
    from parcast.arrays.store.codecs import crc32c

    file = path / "u/c.0.0"
    content = file.read_bytes()
    index = bytearray(content[-(8 * 16 + 4) : -4])
    index[2 * 16 : 3 * 16] = b"\xff" * 16
    file.write_bytes(content[: -(8 * 16 + 4)] + index + crc32c([bytes(index)]))
    kinds = {fault.kind: fault.lost for fault in verify("s.zarr").faults}
    assert kinds == {"missing subchunk": Box((2, 0), (2, 3)), "wrong length": None}
    with open_store("s.zarr") as store, pytest.raises(FileProblems, match="has no elements"):
        store["u"].read()


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
            lambda p: shutil.copy(p / "u/c.2.0", p / "u/c.3.0"),
            "interrupted append",
            "s.zarr/u/c.3.0",
        ),
        (lambda p: (p / "u/notes.txt").touch(), "unexpected file", "s.zarr/u/notes.txt"),
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
    assert "Opening it with parcast, or the next write, puts it back." in fault.message
    with open_store("s.zarr") as store:
        assert (store["u"].read() == U).all()
    assert verify("s.zarr").status == "whole"


@pytest.mark.usefixtures("path")
def test_the_draft_of_a_live_writer_is_no_fault_and_is_not_swept():
    spec = ArraySpec(name="u", shape=(4,), dtype="f8")
    with Draft.create("s.zarr", [spec], overwrite=True) as draft:
        result = verify("s.zarr")
        assert result.status == "whole"
        program = Path(sys.argv[0]).name
        assert result.writer == f"process {os.getpid()} ({program}) on {os.uname().nodename}"
        with pytest.raises(Exception, match="is writing it"):
            sweep("s.zarr")
        assert draft.part.folder.is_dir()
