"""What a program may hand to the library, in one process: it arrives as it was at the call."""

import json
import resource
import subprocess
import sys
import time
from types import MappingProxyType

import numpy as np
import pytest

from parcast import arrays
from parcast.arrays.library import storing
from parcast.arrays.library.client import Client, DescribedRequest
from parcast.arrays.library.gathering import KindOverlaps
from parcast.arrays.library.schema import Schema
from parcast.arrays.library.server import Server
from parcast.arrays.library.storing import ReadingFiles, WritingFiles, catalogue
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.interrupted import InterruptedWriteWarning
from parcast.arrays.store.reading import open_store
from parcast.errors import ParcastError, RunFailed
from parcast.mpi.loop import EventLoop
from parcast.mpi.messages import LoneChannel, Message
from tests.arrays.store.made import append_rows

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")


@pytest.fixture
def io():
    with arrays.connect() as session:
        yield session


def block(values):
    return arrays.Block(values, shape=values.shape, mesh=(1,) * values.ndim)


def halves(values):
    """All of an array, in two boxes."""
    half = len(values) // 2
    rest = (0,) * (values.ndim - 1)
    return arrays.Boxes(
        [((0, *rest), values[:half]), ((half, *rest), values[half:])], values.shape
    )


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("subchunk", [None, 64])
def test_a_stack_keeps_the_order_of_arrays_that_are_held_in_different_ways(
    io, tmp_path, batch, subchunk
):
    values = {name: np.full((4, 3), i, "f8") for i, name in enumerate("abcde")}
    ways = (block, halves, block, lambda x: block(x.astype(">f8")), halves)
    held = {name: way(own) for way, (name, own) in zip(ways, values.items(), strict=True)}
    io.write(tmp_path / "s.zarr", held, stack="all", batch=batch, subchunk=subchunk)
    found = io.read(tmp_path / "s.zarr", list(values))
    assert {name: np.unique(own).tolist() for name, own in found.items()} == {
        name: [i] for i, name in enumerate("abcde")
    }


def test_a_stack_has_another_name_than_its_arrays(io, tmp_path):
    held = {"u": block(np.zeros((2, 2))), "v": block(np.ones((2, 2)))}
    with pytest.raises(ParcastError, match="stack must be another name than those of the arr"):
        io.write(tmp_path / "s.zarr", held, stack="u")
    along = {"dimensions": {"u": ("y", "v"), "v": ("y", "v")}, "coordinates": {"v": [0, 1]}}
    with pytest.raises(ParcastError, match="coordinates must have other names than the arrays"):
        io.write(tmp_path / "s.zarr", held, stack="all", **along)
    assert not (tmp_path / "s.zarr").exists()


def test_numbers_of_another_byte_order_are_read_and_appended(io, tmp_path):
    values = np.arange(6, dtype=">i4").reshape(3, 2)
    np.save(tmp_path / "be.npy", values)
    assert (io.read(tmp_path / "be.npy")["array"] == values).all()
    for call in (io.write, io.append):
        call(tmp_path / "s.zarr", {"u": block(values)})
    assert (io.read(tmp_path / "s.zarr")["u"] == np.concatenate([values, values])).all()


def test_what_is_not_waited_for_is_copied_with_its_coordinates(io, tmp_path):
    values, time, title = np.ones((3, 2)), np.arange(3.0), {"title": ["run 7"]}
    with io.loop.lock:
        handle = io.write(
            tmp_path / "s.zarr",
            {"u": block(values)},
            dimensions={"u": ("time", "x")},
            coordinates={"time": time},
            attributes=title,
            wait=False,
        )
        values[:], time[:], title["title"][0] = 2, -1, "run 8"
        assert not handle.is_done  # nobody could go on with it
    handle.wait()
    assert handle.is_done
    found = io.read(tmp_path / "s.zarr")
    assert found["u"].tolist() == np.ones((3, 2)).tolist()
    assert found["time"].tolist() == [0, 1, 2]
    with arrays.open_store(tmp_path / "s.zarr") as store:
        assert store.attributes["title"] == ["run 7"]


@pytest.mark.parametrize("writer", ["sync", "write-behind", "double-buffer"])
def test_a_server_gathers_the_next_subchunk_while_the_last_is_written(
    io, tmp_path, monkeypatch, writer
):
    asked, written = [], []
    ask, write = Server._ask, WritingFiles.write

    def noted(self, *given):
        asked.append(time.perf_counter())
        ask(self, *given)

    def slower(self, *given, **keys):
        time.sleep(0.02)
        write(self, *given, **keys)
        written.append(time.perf_counter())

    monkeypatch.setattr(Server, "_ask", noted)
    monkeypatch.setattr(WritingFiles, "write", slower)
    rows = block(np.arange(1024.0).reshape(8, 128))
    io.write(tmp_path / "s.zarr", {"u": rows}, writer=writer, subchunk=1024)
    assert len(asked) == len(written) == 8
    meanwhile = [later < end for later, end in zip(asked[1:], written, strict=False)]
    assert meanwhile == 7 * [writer == "double-buffer"]


def test_an_append_to_a_store_that_has_just_grown_is_refused(io, tmp_path, monkeypatch):
    path, rows = tmp_path / "s.zarr", np.ones((4, 3))
    io.write(path, {"u": block(rows)})
    plain = Draft.append

    def later(*given, **options):
        monkeypatch.setattr(storing.Draft, "append", plain)
        append_rows(path, {"u": rows})
        return plain(*given, **options)

    monkeypatch.setattr(storing.Draft, "append", later)
    with pytest.raises(RunFailed, match="has been changed by another program"):
        io.append(path, {"u": block(rows)})
    assert [*tmp_path.iterdir()] == [path]
    io.append(path, {"u": block(rows)})
    assert io.read(path)["u"].shape == (12, 3)


def test_arrays_without_elements_are_stacked(io, tmp_path):
    held = {name: block(np.zeros((0, 3))) for name in "ab"}
    io.write(tmp_path / "s.zarr", held, stack="all")
    found = io.read(tmp_path / "s.zarr", ["a", "b", "all"])
    assert [x.shape for x in found.values()] == [(0, 3), (0, 3), (2, 0, 3)]


def test_a_mesh_and_a_box_may_be_arrays(io, tmp_path):
    values = np.arange(12.0).reshape(4, 3)
    io.write(tmp_path / "s.zarr", {"u": block(values)})
    box = np.array([[1, 0], [2, 3]])
    found = io.read(tmp_path / "s.zarr", mesh=np.array([1, 1]), box=box)["u"]
    assert (found == values[1:3]).all()


@pytest.mark.parametrize("name", ["u.zarr", "u.npy"])
def test_a_write_that_is_refused_leaves_what_an_interrupted_one_has_left(io, tmp_path, name):
    path = tmp_path / name
    io.write(path, {"u": block(np.ones((4, 3)))})
    subprocess.run([sys.executable, "-c", LEAVING, path], check=True)
    left = {*tmp_path.iterdir()} - {path}
    assert left
    with pytest.raises(ParcastError, match="exists"):
        io.write(path, {"u": block(np.ones((4, 3)))})
    assert {*tmp_path.iterdir()} - {path} == left
    with pytest.warns(InterruptedWriteWarning, match="a write was interrupted") as noted:
        io.write(path, {"u": block(np.ones((4, 3)))}, overwrite=True)
    assert noted[0].filename == __file__
    assert [*tmp_path.iterdir()] == [path]


LEAVING = """
import os, sys
import numpy as np
from parcast import arrays
from parcast.arrays.store.npy import NpyWriter
from parcast.arrays.store.writing import Writer
NpyWriter.flush = Writer.flush = lambda self: os._exit(0)
with arrays.connect() as io:
    io.write(sys.argv[1], {"u": arrays.Block(np.zeros((4, 3)), (4, 3), (1, 1))}, overwrite=True)
"""


def sleeping(monkeypatch, owner, name):
    """Have a method take 0.1 s longer."""
    original = getattr(owner, name)

    def slower(*arguments, **keys):
        time.sleep(0.1)
        return original(*arguments, **keys)

    monkeypatch.setattr(owner, name, slower)


@pytest.mark.parametrize(
    ("halo", "words"),
    [
        (1.5, "halo must be whole numbers"),
        (-1, "halo must be a number of at least 0, or 2 of them, got -1"),
        ((1, 1, 1), "halo must be a number of at least 0, or 2 of them"),
    ],
)
def test_a_halo_that_cannot_be_is_refused_in_writes_and_reads(io, tmp_path, halo, words):
    path, values = tmp_path / "s.zarr", np.ones((4, 3))
    with pytest.raises(ParcastError, match=words):
        io.write(path, {"u": arrays.Block(values, (4, 3), (1, 1), halo=halo)})
    io.write(path, {"u": block(values)})
    with pytest.raises(ParcastError, match=words):
        io.read(path, halo=halo)


def test_arrays_that_are_held_in_the_same_boxes_are_of_one_kind(io, tmp_path):
    mixed = {"u": block(np.ones((2, 2))), "v": arrays.Boxes([((0, 0), np.ones((2, 2)))], (2, 2))}
    written = io.write(tmp_path / "s.zarr", mixed)
    assert [spent.messages for spent in written.servers] == [1]


@pytest.mark.parametrize("writer", ["sync", "write-behind", "double-buffer"])
def test_a_server_tells_what_it_took_to_find_and_ask_clients(io, tmp_path, monkeypatch, writer):
    sleeping(monkeypatch, Server, "_ask")
    sleeping(monkeypatch, KindOverlaps, "gathering")
    [wrote] = io.write(tmp_path / "s.zarr", {"u": block(np.ones(4))}, writer=writer).servers
    assert wrote.seconds > wrote.gathering >= 0.2
    sleeping(monkeypatch, Server, "_until_idle")
    [slower] = io.write(tmp_path / "t.zarr", {"u": block(np.ones(4))}, writer=writer).servers
    assert slower.seconds - slower.gathering >= 0.1


def test_what_a_server_takes_to_open_a_store_that_it_reads_is_access(io, tmp_path, monkeypatch):
    io.write(tmp_path / "s.zarr", {"u": block(np.ones(4))})
    sleeping(monkeypatch, ReadingFiles, "__init__")
    io.read(tmp_path / "s.zarr")
    [read] = io.last_read.servers
    assert read.seconds > read.accessing >= 0.1


@pytest.mark.parametrize("late", ["want", "give"])
def test_messages_of_a_request_that_has_failed_are_dropped(late):
    client = Client(EventLoop(LoneChannel()), master=0, number=0)
    job = client.submit(DescribedRequest("write", "s.zarr", {}), [])
    assert client.hear(Message(0, ("end", 0, RunFailed("the disk is full"), ())))
    assert client.hear(
        Message(0, (late, *{"want": (0, 0, (0,), ()), "give": (0, (0,), ())}[late]))
    )
    assert str(job.failure) == "the disk is full"


def test_unequal_rows_are_refused_and_the_next_append_goes_on(io, tmp_path):
    def rows(count):
        return block(np.ones((count, 4)))

    path = tmp_path / "s.zarr"
    io.write(path, {"T": rows(1), "U": rows(1)})
    with pytest.raises(RunFailed, match="the same number of rows: T gets 2, U 1"):
        io.append(path, {"T": rows(2), "U": rows(1)})
    io.append(path, {"T": rows(1), "U": rows(1)})
    assert {name: own.shape for name, own in io.read(path).items()} == dict.fromkeys("TU", (2, 4))


@pytest.fixture
def few_files():
    """Allow no more open files than are there and a few."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def allow(count):
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, before[1]))

    yield allow
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("stack", ["", "all"])
def test_more_arrays_are_read_than_files_can_be_open(io, tmp_path, few_files, stack):
    number = 300
    held = {f"a{i}": block(np.full((2, 2), float(i))) for i in range(number)}
    few_files(256)
    io.write(tmp_path / "s.zarr", held, stack=stack)
    found = io.read(tmp_path / "s.zarr", list(held))
    assert [own[0, 0] for own in found.values()] == list(range(number))


def test_boxes_may_be_drawn_once_and_names_have_no_order(io, tmp_path):
    starts, values = [(0, 0), (2, 0)], [np.ones((2, 3)), np.full((2, 3), 2.0)]
    held = {"u": arrays.Boxes(zip(starts, values, strict=True), (4, 3)), "v": block(np.ones(2))}
    io.write(tmp_path / "s.zarr", held, dimensions=None)
    assert io.read(tmp_path / "s.zarr", {"u", "v"})["u"][:, 0].tolist() == [1, 1, 2, 2]
    empty = arrays.Boxes([((0, 0), np.empty((0, 3), "f4"))], (4, 3)).held(0, 2)
    assert (empty.dtype, empty.parts) == (np.float32, ())


def test_arrays_and_coordinates_have_attributes_of_their_own(io, tmp_path):
    path, held = tmp_path / "s.zarr", {"u": block(np.zeros((2, 3))), "v": block(np.ones((2, 3)))}
    seconds = {"units": "seconds since 1970-01-01"}
    io.write(
        path,
        held,
        dimensions={"u": ("time", "x")},
        coordinates={"time": [0, 60]},
        array_attributes={"u": {"units": "K"}, "time": seconds},
    )
    said = {
        name: json.loads((path / name / "zarr.json").read_text())["attributes"]
        for name in ("u", "v", "time")
    }
    assert said == {"u": {"units": "K"}, "v": {}, "time": seconds}
    io.write(path, held, stack="all", array_attributes={"all": {"units": "m"}}, overwrite=True)
    whole = json.loads((path / "all" / "zarr.json").read_text())["attributes"]
    assert whole == {"units": "m", "names": ["u", "v"]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"w": {"units": "K"}}, "array_attributes must have a dict for names of arrays on disk"),
        ({"u": "K"}, "array_attributes must have a dict for names of .*, got 'K'"),
        ("K", "array_attributes must be a dict, got str"),
        ({"u": {"parcast": 1}}, 'array_attributes must leave the name "parcast" of u free'),
    ],
)
def test_attributes_of_what_is_no_array_are_refused(io, tmp_path, given, words):
    with pytest.raises(ParcastError, match=words):
        io.write(tmp_path / "s.zarr", {"u": block(np.zeros(3))}, array_attributes=given)
    assert not (tmp_path / "s.zarr").exists()


def test_rows_are_not_appended_to_a_stack(io, tmp_path):
    held = {"u": block(np.zeros((2, 2))), "v": block(np.ones((2, 2)))}
    io.write(tmp_path / "s.zarr", held, stack="all")
    with pytest.raises(ParcastError, match="got u, which is in the stack all"):
        io.append(tmp_path / "s.zarr", held)
    with pytest.raises(ParcastError, match="got the stack all"):
        io.append(tmp_path / "s.zarr", {"all": block(np.zeros((1, 2, 2)))})
    assert np.array_equal(io.read(tmp_path / "s.zarr", ["v"])["v"], np.ones((2, 2)))


def test_an_array_that_does_not_fit_a_mesh_is_named(io, tmp_path):
    along = {"dimensions": {"u": ("time", "x")}, "coordinates": {"time": [0, 60]}}
    io.write(tmp_path / "s.zarr", {"u": block(np.zeros((2, 3)))}, **along)
    with pytest.raises(ParcastError, match="mesh of array time must have one number for each of"):
        io.read(tmp_path / "s.zarr", mesh=(1, 1))


@pytest.mark.parametrize(
    ("names", "keys", "words"),
    [
        (["u", "v"], {}, "names must be one name for the one array of .*u.npy, or be left out"),
        ([], {}, "names must be one name .*, got 0 names"),
        (None, {"lost": 0.0}, "lost must be left out for a .npy file, which has no checksums"),
    ],
)
def test_what_a_npy_file_has_not_is_refused(io, tmp_path, names, keys, words):
    np.save(tmp_path / "u.npy", np.arange(6.0))
    with pytest.raises(ParcastError, match=words):
        io.read(tmp_path / "u.npy", names, **keys)


def test_a_failed_write_that_nobody_waits_for_is_told_at_the_end(tmp_path):
    held = {"u": block(np.zeros(3))}
    (tmp_path / "there").mkdir()
    with (
        pytest.raises(ParcastError, match=r"got .*there, which is something else"),
        arrays.connect() as io,
    ):
        io.write(tmp_path / "there", held, wait=False)
    with arrays.connect() as io:
        handle = io.write(tmp_path / "there", held, wait=False)
        with pytest.raises(ParcastError, match="which is something else"):
            handle.wait()  # and not again at the end


def test_a_read_sees_what_was_written_before_it(io, tmp_path):
    for step in range(5):
        values = np.full((64, 64), step, "f8")
        io.write(tmp_path / "s.zarr", {"u": block(values)}, wait=False, overwrite=True)
        assert np.array_equal(io.read(tmp_path / "s.zarr")["u"], values)


def test_a_read_of_what_could_not_be_written_is_refused(tmp_path):
    path, held = tmp_path / "s.zarr", {"u": block(np.zeros(3))}
    with arrays.connect() as io:
        io.write(path, held)
        io.write(path, held, wait=False)
        with pytest.raises(ParcastError, match="which exists"):
            io.read(path)  # instead of the old store
        assert io.read(path)["u"].tolist() == [0, 0, 0]


def test_rows_go_behind_what_was_written_after_a_failure(tmp_path):
    path, held = tmp_path / "s.zarr", {"u": block(np.zeros((2, 3)))}
    io = arrays.connect()
    io.write(path, held)
    io.write(path, held, wait=False)  # fails, which is told at the end
    io.write(path, held, overwrite=True)
    io.append(path, held)
    assert io.read(path)["u"].shape == (4, 3)
    with pytest.raises(ParcastError, match="which exists"):
        io.close()


@pytest.mark.parametrize("name", ["s.zarr", "s.npy"])
def test_rows_after_some_that_were_lost_are_refused(tmp_path, name):
    path, held = tmp_path / name, {"u": block(np.zeros((2, 3)))}
    with arrays.connect() as io:
        io.write(path, held)
        io.write(path, held, wait=False)  # fails, as the store exists
        for _ in range(2):  # they are not behind other rows than the program has written
            io.append(path, held, wait=False)
        with pytest.raises(ParcastError) as caught:
            io.append(path, held)
        said = "An earlier request to the same path has failed: path must be a place"
        assert str(caught.value).startswith(said)
        assert str(caught.value).count("earlier") == 1
    assert np.shape(open_store(path)["u"] if name == "s.zarr" else np.load(path)) == (2, 3)


def test_arrays_that_cannot_be_distributed_are_read_by_one_rank(io, tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=3)
    group.create_array("u", data=np.arange(6.0).reshape(2, 3), chunks=(1, 3))
    group.create_array("spatial_ref", data=np.array(7))
    group.create_array("many", data=np.zeros((1,) * 7))
    read = io.read(tmp_path / "s.zarr")
    assert list(read) == ["u"]
    del group["u"], group["many"]
    assert io.read(tmp_path / "s.zarr") == {}
    group.create_array("many", data=np.zeros((1,) * 7))
    assert read["u"].tolist() == [[0, 1, 2], [3, 4, 5]]
    for name, count in (("spatial_ref", 0), ("many", 7)):
        with pytest.raises(ParcastError, match=f"array {name} must have 1 to 6 .* got {count}"):
            io.read(tmp_path / "s.zarr", [name])
    np.save(tmp_path / "x.npy", 5.0)
    with pytest.raises(ParcastError, match=r"the array of .*x\.npy must have 1 to 6 .* got 0"):
        io.read(tmp_path / "x.npy")


def test_a_numpy_file_has_no_stack(io, tmp_path):
    with pytest.raises(ParcastError, match="to stack arrays"):
        io.write(tmp_path / "u.npy", {"u": block(np.zeros(3))}, stack="all")
    assert not [*tmp_path.iterdir()]


def test_arrays_that_differ_are_not_stacked(io, tmp_path):
    differing = {"a": block(np.zeros(3)), "b": block(np.zeros(4))}
    with pytest.raises(ParcastError, match="arrays of a stack must have equal shape"):
        io.write(tmp_path / "s.zarr", differing, stack="all")
    assert not [*tmp_path.iterdir()]


def test_rows_are_appended_to_what_was_written_before(io, tmp_path):
    held = {"u": block(np.zeros((2, 3)))}
    io.write(tmp_path / "s.zarr", held, wait=False)
    for _ in range(3):
        io.append(tmp_path / "s.zarr", held, wait=False)
    assert io.read(tmp_path / "s.zarr")["u"].shape == (8, 3)


def test_attributes_of_another_store_are_written(io, tmp_path):
    path, held = tmp_path / "s.zarr", {"u": block(np.zeros(3))}
    io.write(path, held, attributes=MappingProxyType({"a": 1}), wait=False)
    assert io.read(path)["u"].tolist() == [0, 0, 0]
    with open_store(path) as store:
        io.write(tmp_path / "t.zarr", held, array_attributes={"u": store.attributes}, wait=False)
    assert io.read(tmp_path / "t.zarr")["u"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["s.zarr", "s.npy"])
def test_a_store_that_is_replaced_before_a_server_opens_it_is_refused(io, tmp_path, name):
    path = str(tmp_path / name)
    io.write(path, {"u": block(np.zeros(3))})
    there = catalogue(path, None)
    read = Schema("read", path, (), (), stamp=there.stamp)
    ReadingFiles(read).close()
    time.sleep(0.02)  # clocks of file systems tick
    io.write(path, {"u": block(np.ones(3))}, overwrite=True)
    with pytest.raises(ParcastError, match="was replaced while it was read"):
        ReadingFiles(read)


def test_rows_that_are_appended_before_a_server_opens_a_store_do_not_matter(io, tmp_path):
    path = str(tmp_path / "s.zarr")
    io.write(path, {"": block(np.zeros(3))})  # its metadata are written again
    there = catalogue(path, None)
    io.append(path, {"": block(np.ones(3))})
    ReadingFiles(Schema("read", path, (), (), stamp=there.stamp)).close()
