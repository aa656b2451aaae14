"""What a program may hand to the library, in one process: it arrives as it was at the call."""

import resource

import numpy as np
import pytest

from parcast import arrays
from parcast.arrays.library.client import Client, Described
from parcast.arrays.library.endpoint import Endpoint
from parcast.errors import ParcastError, RunFailed
from parcast.mpi.messages import Alone

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")


@pytest.fixture
def io():
    with arrays.connect() as session:
        yield session


def block(values):
    """All of an array."""
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
    with io.endpoint.lock:
        handle = io.write(
            tmp_path / "s.zarr",
            {"u": block(values)},
            dimensions={"u": ("time", "x")},
            coordinates={"time": time},
            attributes=title,
            wait=False,
        )
        values[:], time[:], title["title"][0] = 2, -1, "run 8"
    handle.wait()
    found = io.read(tmp_path / "s.zarr")
    assert found["u"].tolist() == np.ones((3, 2)).tolist()
    assert found["time"].tolist() == [0, 1, 2]
    with arrays.open_store(tmp_path / "s.zarr") as store:
        assert store.attributes["title"] == ["run 7"]


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


@pytest.mark.parametrize("late", ["want", "give"])
def test_messages_of_a_request_that_has_failed_are_dropped(late):
    client = Client(Endpoint(Alone()), master=0, number=0)
    job = client.submit(Described("write", "s.zarr", {}), [])
    assert client.hear(0, "end", (0, RunFailed("the disk is full"), ()), None)
    assert client.hear(0, late, {"want": (0, 0, (0,), ()), "give": (0, (0,), ())}[late], None)
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
