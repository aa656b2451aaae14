"""The cases of hostile stores: each step makes what it says, and what lies outside is watched."""

import os
import stat
from pathlib import Path

import pytest

from tests.fuzzing import stores
from tests.fuzzing.stores import BESIDE, STORE, FaultError, attacked, prepared

PLACE = f"{STORE}/u/c.0.0"


@pytest.mark.parametrize(
    ("step", "holds"),
    [
        (["write", PLACE, "x"], lambda path: path.read_bytes() == b"x"),
        (["write", PLACE, {"a": 1}], lambda path: path.read_bytes() == b'{"a": 1}'),
        (["remove", PLACE, None], lambda path: not path.exists()),
        (["pipe", PLACE, None], lambda path: stat.S_ISFIFO(path.stat().st_mode)),
        (["socket", PLACE, None], lambda path: stat.S_ISSOCK(path.stat().st_mode)),
        (["folder", f"{PLACE}0", None], lambda path: Path(f"{path}0").is_dir()),
        (["size", PLACE, 2**40], lambda path: path.stat().st_size == 2**40),
        (["deep", PLACE, 3], lambda path: (path / "f/f/f").is_dir()),
        (["hard", PLACE, "outside/zarr.json"], lambda path: path.stat().st_nlink == 2),
        (["link", PLACE, "../../.."], lambda path: os.readlink(path) == "/dev/zero"),
        (["link", PLACE, "../v/c.0.0"], lambda path: os.readlink(path) == "../v/c.0.0"),
        (["write", "../x", "x"], lambda path: not path.parents[4].joinpath("x").exists()),
        (["write", PLACE], lambda path: path.is_file()),
        (3, lambda path: path.is_file()),
    ],
)
def test_a_step_makes_what_it_says_and_nothing_outside_of_the_case(
    tmp_path, monkeypatch, step, holds
):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    top = tmp_path / "case"
    prepared(Path("case"), [step])
    assert holds(top / PLACE)
    assert os.listdir(tmp_path) == ["case"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (lambda path: (path.parents[1] / "outside/zarr.json").write_text("x"), "lies outside"),
        (lambda path: (path.parents[1] / "outside/new").mkdir(), "lies outside"),
        (lambda path: os.stat(path / "no"), "an error of the system"),
        (lambda _: {}[3], "3"),
    ],
)
def test_what_must_not_happen_is_a_fault(tmp_path, monkeypatch, command, says):
    monkeypatch.setitem(stores.COMMANDS, "verify", command)
    monkeypatch.setattr(stores, "MEMORY", tmp_path)
    with pytest.raises((FaultError, KeyError), match=says):
        attacked(tmp_path / "document", [], ["verify"])
    assert os.listdir(tmp_path) == []


def test_a_lock_that_leads_outside_would_be_noticed(tmp_path, monkeypatch):
    steps = [["link", f"{BESIDE}lock", "../outside/zarr.json"]]
    attacked(tmp_path / "document", steps)
    monkeypatch.setattr("parcast.arrays.store.place._is_note", lambda _: True)
    monkeypatch.setattr("parcast.arrays.store.place.os.O_NOFOLLOW", 0)
    with pytest.raises(FaultError, match="append has changed what lies outside"):
        attacked(tmp_path / "document", steps)
