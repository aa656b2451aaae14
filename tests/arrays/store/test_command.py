"""`parcast arrays verify`: what it prints and writes, how it ends, and what it refuses."""

import json
import os

import numpy as np
import pytest

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

from parcast.arrays.library.distribution import Block
from parcast.arrays.library.session import connect
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.place import StorePlace
from tests.arrays.store.made import write_store
from tests.arrays.store.test_verify import killed
from tests.conftest import ROOT

U = np.arange(16 * 4, dtype="f8").reshape(16, 4)


def damaged_example():
    """Make the store of the how-to: a byte of u is changed, the file of v cut off."""
    values = np.arange(64 * 8.0).reshape(64, 8)
    with connect() as io:
        held = {name: Block(values, (64, 8), (1, 1)) for name in ("u", "v")}
        io.write("step.zarr", held, subchunk=256)
    with open("step.zarr/u/c.0.0", "r+b") as file:
        file.seek(700)
        file.write(b"!")
    os.truncate("step.zarr/v/c.0.0", 900)


def test_the_how_to_shows_what_is_printed(parcast, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    damaged_example()
    said = parcast("arrays", "verify", "step.zarr")
    page = (ROOT / "docs/howto/write-arrays.md").read_text(encoding="utf-8")
    assert f"$ parcast arrays verify step.zarr\n{said.out}$ echo $?\n{said.status}\n" in page


@pytest.fixture
def stores(tmp_path, monkeypatch):
    """A whole store and a damaged one of two arrays."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("whole.zarr", "bad.zarr"):
        write_store(name, {"u": U, "v": U}, chunk=(8, 4), subchunk=(2, 4))
    file = tmp_path / "bad.zarr/u/c.1.0"
    content = bytearray(file.read_bytes())
    content[2 * 68 + 5] ^= 1
    file.write_bytes(content)
    return tmp_path


@pytest.mark.usefixtures("stores")
def test_what_is_no_store_is_told_and_the_others_are_checked(parcast, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("none")
    for name, words in {
        "none.zarr": "must exist. Check the path.",
        "empty": "must be a Zarr 3 store, got a folder without zarr.json. Check the path.",
        "notes.txt": "must be a folder with a Zarr 3 store, got a file. Check the path.",
    }.items():
        alone = parcast("arrays", "verify", name)
        assert (alone.status, alone.out) == (3, "")
        assert words in alone.err
        said = parcast("arrays", "verify", name, "whole.zarr")
        assert said.status == 3
        assert said.err == f"parcast: {name}: {words}\n"
        assert "whole.zarr is whole" in said.out
    said = parcast("arrays", "verify", "none.zarr", "whole.zarr", "--json")
    document = json.loads(said.out)
    assert document["problems"] == [
        {"path": "none.zarr", "message": "must exist. Check the path."}
    ]
    assert len(document["stores"]) == 1


@pytest.mark.parametrize("kind", ["write", "append"])
def test_an_interrupted_write_is_told_and_swept(parcast, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "u.zarr"
    if kind == "append":
        write_store(path, {"u": np.zeros(2)}, chunk=(2,), dimensions=("t",))
    pid = killed(tmp_path, kind, path)
    said = parcast("arrays", "verify", "u.zarr")
    words = " ".join(said.out.split())
    assert said.status == (0 if kind == "append" else 1)
    if kind == "write":
        assert words.startswith("u.zarr is not there: a write was interrupted")
    else:
        assert words.startswith("u.zarr is whole, but a write was interrupted")
    (draft,) = StorePlace.of(path).drafts()
    assert f"left over {draft.name} is the draft of a" in words
    assert f"by process {pid} (simulate.py) on" in words
    assert f"2 of {4 if kind == 'write' else 3} chunks complete" in words
    assert "parcast arrays verify --sweep u.zarr" in words
    swept = parcast("arrays", "verify", "u.zarr", "--sweep")
    assert f"the draft {draft.name} of an interrupted write was removed" in swept.err
    assert {x.name for x in tmp_path.iterdir()} == {"simulate.py"} | (
        {"u.zarr"} if kind == "append" else set()
    )
    assert swept.status == (0 if kind == "append" else 3)


@pytest.mark.usefixtures("stores")
def test_a_store_that_is_being_written_says_by_whom_and_is_not_swept(parcast):
    spec = ArraySpec(name="u", shape=(4,), dtype="f8")
    with Draft.create("whole.zarr", [spec], overwrite=True), Draft.create("new.zarr", [spec]):
        said = parcast("arrays", "verify", "whole.zarr")
        assert said.status == 0
        assert f"writing now process {os.getpid()} (" in said.out
        said = parcast("arrays", "verify", "new.zarr")
        assert (said.status, said.out.splitlines()[0]) == (1, "new.zarr is being written")
        said = parcast("arrays", "verify", "--sweep", "whole.zarr")
        assert said.status == 4
        assert "whole.zarr cannot be written now" in said.err
