"""`parcast run sort-file`: what it says, and its exit statuses."""

import json

import numpy as np
import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An array of numbers, and one of records."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("numbers.npy", rng.normal(size=5000))
    events = np.zeros(500, [("time", "f4"), ("place", "i2")])
    events["time"], events["place"] = rng.integers(0, 9, 500), rng.integers(0, 9, 500)
    np.save("events.npy", events)
    (tmp_path / "text.npy").write_text("1 2 3")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_file_is_sorted(parcast):
    said = parcast("run", "sort-file", "numbers.npy", "-o", "sorted.npy", "-np", 2)
    assert (said.status, said.err) == (0, "")
    assert "Sorted 5000 elements (40 kB) into sorted.npy" in said.out
    assert "peak memory" in said.out
    assert "300 MB a rank" in said.out
    assert "\n-: not measured, as the rank wrote no shard\n" in said.out
    np.testing.assert_array_equal(np.load("sorted.npy"), np.sort(np.load("numbers.npy")))


@pytest.mark.usefixtures("folder")
def test_records_are_sorted_by_fields_and_told_as_json(parcast):
    said = parcast(
        "run", "sort-file", "events.npy", "-o", "sorted.npy", "--by", "place,time", "--json"
    )
    document = json.loads(said.out)
    assert document["schema"] == "parcast/sort/1"
    assert (document["elements"], document["by"]) == (500, ["place", "time"])
    assert document["rows"][0]["peak_B"] > 1e6
    events = np.load("events.npy")
    expected = events[np.lexsort((events["time"], events["place"]))]
    np.testing.assert_array_equal(np.load("sorted.npy"), expected)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["numbers.npy"], 2, "-o must be given."),
        (["numbers.npy", "-o", "sorted.csv"], 2, "-o must end in .npy"),
        (["text.npy", "-o", "text.npy"], 2, "text.npy must be another file than those that are"),
        (["numbers.npy", "-o", "none/sorted.npy"], 2, "must be in a folder that exists"),
        (["numbers.npy", "-o", "s.npy", "--by", "x"], 2, "--by must be left out"),
        (["events.npy", "-o", "s.npy", "--by", "tme"], 2, "Did you mean time?"),
        (["numbers.npy", "-o", "s.npy", "--memory", "1MB"], 2, "--memory must be at least 92 MB"),
        (["numbers.npy", "-o", "s.npy", "--memory", "9"], 2, "--memory"),
        (["none.npy", "-o", "s.npy"], 3, "no such file"),
        (["text.npy", "-o", "s.npy"], 3, "must be a .npy file, got other bytes."),
    ],
)
def test_what_cannot_be_sorted_has_its_status(parcast, arguments, status, says):
    said = parcast("run", "sort-file", *arguments)
    assert said.status == status, said.err
    assert says in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.usefixtures("folder")
def test_a_run_of_too_long_leaves_what_was_there(parcast, folder):
    (folder / "s.npy").write_bytes(b"before")
    said = parcast(
        *("run", "sort-file", "numbers.npy", "-o", "s.npy", "-np", 2, "--time-limit", "0.01s")
    )
    assert said.status == 4
    assert "did not end within 0.01 s" in said.err
    assert (folder / "s.npy").read_bytes() == b"before"
    assert not list(folder.glob(".parcast*"))
