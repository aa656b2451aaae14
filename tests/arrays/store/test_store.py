"""Zarr stores written by boxes and read by boxes; what is refused, and in which words."""

import json
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcast.arrays.store import durable
from parcast.arrays.store.codecs import crc32c
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec, stacked
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.writing import Writer
from parcast.errors import FileProblems, ParameterError, RunFailed
from tests.arrays.store.made import (
    any_bits,
    append_rows,
    boxes_in,
    same_bits,
    slices,
    specs,
    write_store,
)

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

often = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_the_checksum_is_that_of_the_standard():
    assert crc32c([b"1234", memoryview(b"56789"), b""]) == (0xE3069283).to_bytes(4, "little")


@often
@given(specs(), st.data())
def test_written_in_any_order_and_read_in_any_box_an_array_keeps_its_bits(
    tmp_path, given_spec, data
):
    spec, seed = given_spec
    array = any_bits(spec.shape, spec.dtype, seed)
    path = tmp_path / f"{os.urandom(6).hex()}.zarr"
    with Draft.create(path, [spec]) as draft:
        with Writer(draft.part) as writer:
            for index in data.draw(st.permutations(list(draft.part.chunks("u")))):
                with writer.chunk("u", index) as chunk:
                    for box in chunk.boxes:
                        assert chunk.expected == box
                        chunk.write(array[slices((box.start, box.count))])
            writer.flush()
        draft.commit()
    with open_store(path) as store:
        assert same_bits(store["u"].read(), array)
        for _ in range(3):
            box = data.draw(boxes_in(spec.shape))
            assert same_bits(store["u"].read(*box), array[slices(box)])


@often
@given(specs(most_rank=4), st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_appended_rows_follow_those_that_were_there(tmp_path, given_spec, later):
    spec, seed = given_spec
    path = tmp_path / f"{os.urandom(6).hex()}.zarr"
    array = any_bits(spec.shape, spec.dtype, seed)
    with Draft.create(path, [spec]) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", array)
            writer.flush()
        draft.commit()
    for rows in later:
        more = any_bits((rows, *spec.shape[1:]), spec.dtype, seed + rows)
        append_rows(path, {"u": more})
        array = np.concatenate([array, more])
    with open_store(path) as store:
        assert same_bits(store["u"].read(), array)


def test_a_reader_reads_the_index_and_the_subchunks_it_needs_and_no_more(tmp_path, monkeypatch):
    array = np.arange(64 * 64, dtype="f8").reshape(64, 64)
    path = write_store(tmp_path / "s.zarr", {"u": array}, chunk=(32, 64), subchunk=(4, 32))
    read = []
    plain = durable.read_at
    monkeypatch.setattr(durable, "read_at", lambda f, n, o: read.append(n) or plain(f, n, o))
    with open_store(path) as store:
        store["u"].read((0, 0), (8, 64))  # four subchunks, next to each other
        index, subchunk = 16 * 16 + 4, 4 * 32 * 8 + 4
        assert read == [index, 4 * subchunk]
        read.clear()
        store["u"].read((0, 40), (6, 10))  # two subchunks, not next to each other
        assert read == [subchunk, subchunk]


def test_arrays_coordinates_and_attributes_come_back(tmp_path):
    u, v = np.ones((4, 3), "f4"), np.zeros((4, 3), "i2")
    path = write_store(
        tmp_path / "s.zarr",
        {"u": u, "v": v},
        dimensions=("y", "x"),
        coordinates={"x": [10.0, 20.0, 30.0]},
        attributes={"title": "Two"},
    )
    with open_store(path) as store:
        assert [*store] == ["u", "v", "x"]
        assert dict(store.attributes) == {"title": "Two"}
        assert store["u"].dimensions == ("y", "x")
        assert store["x"].read().tolist() == [10.0, 20.0, 30.0]
        assert (store["u"].shape, store["u"].dtype) == ((4, 3), np.dtype("f4"))


@pytest.mark.parametrize("more", [False, True])
def test_a_large_chunk_is_on_its_way_to_disk_before_it_is_flushed(tmp_path, monkeypatch, more):
    begun = []
    monkeypatch.setattr(durable, "start_writing", lambda *given: begun.append(given[1:]))
    spec = ArraySpec(name="u", shape=(8,), dtype="f8", subchunk=(4,))
    with (
        Draft.create(tmp_path / "s.zarr", [spec]) as draft,
        Writer(draft.part, write_out=60) as writer,
    ):
        with writer.chunk("u", (0,)) as chunk:
            for _ in chunk.boxes:
                chunk.write(np.ones(4), more=more)
        begins, lengths = zip(*begun, strict=True)
    assert begins[0] == 0
    assert sum(lengths) >= 64


def test_stacked_arrays_are_one_and_are_read_by_their_names(tmp_path):
    arrays = {f"p{i}": np.full((3, 2), i, "f8") for i in range(5)}
    each = [ArraySpec(name=n, shape=a.shape, dtype=a.dtype) for n, a in arrays.items()]
    spec = stacked(each, name="all")
    assert spec.shape == (5, 3, 2)
    path = tmp_path / "s.zarr"
    with Draft.create(path, [spec]) as draft:
        with Writer(draft.part) as writer:
            writer.write("all", np.stack([*arrays.values()]))
            writer.flush()
        draft.commit()
    with open_store(path) as store:
        assert [*store] == ["all"]
        for name, array in arrays.items():
            assert name in store
            assert store[name].shape == (3, 2)
            assert store[name].read((1, 0), (2, 1)).tolist() == array[1:, :1].tolist()


@pytest.mark.parametrize("fill", [np.nan, -np.inf, np.uint32(0x7FC12345).view("f4"), -0.0, 7])
def test_what_lies_outside_is_filled_with_the_fill_value(tmp_path, fill):
    path = write_store(
        tmp_path / "s.zarr", {"u": np.zeros(3, "f4")}, chunk=(8,), subchunk=(4,), fill=fill
    )
    raw = (path / "u" / "c.0").read_bytes()
    assert raw[12:16] == np.float32(fill).tobytes()  # element 3, within the first subchunk
    assert len(raw) == 16 + 4 + 2 * 16 + 4  # the second subchunk is absent
    assert raw[-20:-4] == b"\xff" * 16
    document = json.loads((path / "u" / "zarr.json").read_text())
    assert document["codecs"][0]["name"] == "sharding_indexed"


def test_a_store_that_is_replaced_while_it_is_read_stays_what_it_was(tmp_path):
    path = write_store(tmp_path / "s.zarr", {"u": np.zeros((64, 4))}, chunk=(1, 4))
    with open_store(path) as store:
        assert not store["u"].read((0, 0), (1, 4)).any()
        write_store(path, {"u": np.ones((64, 4))}, chunk=(1, 4), overwrite=True)
        with pytest.raises(FileProblems, match=r"was replaced while it was read\. Open it again"):
            store["u"].read()
    with open_store(path) as store:
        assert store["u"].read().all()


def test_a_chunk_that_is_not_written_to_its_end_is_told(tmp_path):
    spec = ArraySpec(name="u", shape=(8,), dtype="f8", subchunk=(4,))
    with Draft.create(tmp_path / "s.zarr", [spec]) as draft, Writer(draft.part) as writer:
        with pytest.raises(ParameterError) as caught, writer.chunk("u", (0,)) as chunk:
            chunk.write(np.zeros(4))
        assert "got no elements of [4:8]" in str(caught.value)
        with pytest.raises(RunFailed, match=r"array u, chunk 0 was not written to its end"):
            writer.flush()


def test_what_fails_in_the_block_of_a_chunk_is_raised_as_it_is(tmp_path):
    spec = ArraySpec(name="u", shape=(8,), dtype="f8")
    with Draft.create(tmp_path / "s.zarr", [spec]) as draft, Writer(draft.part) as writer:
        with pytest.raises(FileNotFoundError, match="mine"), writer.chunk("u", (0,)):
            raise FileNotFoundError("mine")
        assert not (draft.part.folder / "u" / "c.0").exists()


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"dtype": object}, "got Python objects (object). Convert it: array.astype(float)."),
        ({"dtype": "longdouble"}, 'longdouble (float128). Convert it: array.astype("float64").'),
        ({"dtype": "datetime64[s]"}, "seconds since 1970-01-01"),
        ({"dtype": "U5"}, "got strings (<U5). Write them as attributes, or as integer codes."),
        ({"dtype": [("a", "f8")]}, "got records"),
        ({"dtype": "nonsense"}, "must be a NumPy type, got 'nonsense'"),
        ({"shape": ()}, "shape of array u must have 1 to 32 dimensions, got 0."),
        ({"shape": (3, -1)}, "shape of array u must be a whole number of at least 0, got -1"),
        ({"chunk": (2, 2)}, "chunk of array u must have 1 extents, as the array, got 2."),
        ({"chunk": (4,), "subchunk": (3,)}, "must divide the chunk (4,), got (3,)."),
        ({"subchunk": (0,)}, "subchunk of array u must be a whole number of at least 1, got 0"),
        ({"zstd": 99}, "zstd of array u must be a level from -7 to 22 or None, got 99."),
        ({"order": "K"}, 'order of array u must be "C" or "F", got \'K\'.'),
        ({"fill": "none"}, "fill of array u must be a value of float64, got 'none'."),
        ({"dimensions": ("a", "a")}, "dimensions of array u must be 1 different names"),
        ({"attributes": {"a": np.zeros(2)}}, "attributes of array u must be text, finite"),
        ({"name": "a/b"}, 'name of an array must be text without "/"'),
        ({"name": ".hidden"}, "name of an array must be text"),
    ],
)
def test_an_array_that_cannot_be_stored_is_refused(bad, says):
    with pytest.raises(ParameterError) as caught:
        ArraySpec(**({"name": "u", "shape": (8,), "dtype": "f8"} | bad))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("names", "more", "says"),
    [
        (["u", "u"], {}, 'must have different names, got two called "u".'),
        ([], {}, "arrays must be arrays with names, or one without, got none."),
        (["", "u"], {}, "got one without a name among 2."),
        (["x"], {"coordinates": {"x": [1.0] * 4}}, 'got two called "x".'),
        (["u"], {"coordinates": {"x": [1.0] * 5}}, "dimension x must have one length, got 4 of"),
        (["u"], {"coordinates": {"x": [[1.0]]}}, "must have one dimension, got shape (1, 1)."),
        (["u"], {"attributes": {"parcast": 1}}, 'must leave the name "parcast" free.'),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, names, more, says, refusal):
    listed = [ArraySpec(name=n, shape=(4,), dtype="f8", dimensions=("x",)) for n in names]
    assert says in refusal(ParameterError, Draft.create, tmp_path / "s.zarr", listed, **more)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (np.zeros(5), "block must have the shape (4,) of the box [0:4], got (5,)."),
        (np.zeros(4, "f4"), "block must have elements of float64, got float32."),
    ],
)
def test_a_block_of_another_shape_or_type_is_refused(tmp_path, block, says):
    spec = ArraySpec(name="u", shape=(4,), dtype="f8")
    draft = Draft.create(tmp_path / "s.zarr", [spec])
    with draft, Writer(draft.part) as writer:
        chunks = writer.chunk("u", (0,))
        with pytest.raises(ParameterError) as caught, chunks as chunk:
            chunk.write(block)
    assert says in str(caught.value)


def test_an_append_needs_to_know_the_dimension_and_its_coordinate(tmp_path):
    path = tmp_path / "s.zarr"
    with Draft.create(
        path,
        [
            ArraySpec(name="u", shape=(2, 3), dtype="f8", dimensions=("t", "x")),
            ArraySpec(name="mask", shape=(3,), dtype="u1", dimensions=("x",)),
        ],
        coordinates={"t": [0.0, 1.0]},
    ) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", np.zeros((2, 3)))
            writer.write("mask", np.ones(3, "u1"))
            writer.flush()
        draft.commit()
    with pytest.raises(ParameterError, match=r"Choose one of t, x\."):
        Draft.append(path, 1)
    with pytest.raises(ParameterError, match="must give values of t, got those of nothing"):
        Draft.append(path, 1, dimension="t")
    with pytest.raises(ParameterError, match="coordinates t must be 1 values of float64"):
        Draft.append(path, 1, dimension="t", coordinates={"t": [2.0, 3.0]})
    with pytest.raises(ParameterError, match="rows must be a whole number of at least 1"):
        Draft.append(path, 0)
    append_rows(path, {"u": np.ones((1, 3))}, dimension="t", coordinates={"t": [2]})
    with open_store(path) as store:
        assert store["u"].shape == (3, 3)
        assert store["mask"].shape == (3,)
        assert store["t"].read().tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _: None, "must exist. Check the path."),
        (lambda path: path.write_text("x"), "must be a folder with a Zarr 3 store, got a file."),
        (lambda path: path.mkdir(), "must be a Zarr 3 store, got a folder without zarr.json."),
        (lambda path: (path.mkdir(), (path / ".zgroup").touch()), "got Zarr 2. Convert a copy"),
        (lambda path: (path.mkdir(), (path / "zarr.json").write_text("{")), "must be JSON"),
    ],
)
def test_what_is_no_store_is_refused_by_what_it_is(tmp_path, make, says, refusal):
    path = tmp_path / "s.zarr"
    make(path)
    assert says in refusal(FileProblems, open_store, path)


def test_a_wrong_box_or_name_is_refused(tmp_path):
    path = write_store(tmp_path / "s.zarr", {"speed": np.zeros((4, 4))})
    with open_store(path) as store:
        with pytest.raises(ParameterError, match=r"It has speed\. Did you mean speed\?"):
            store["sped"]
        for box, says in [
            (((0,), (1, 1)), "start must have 2 numbers, got 1."),
            (((3, 0), (2, 4)), r"must keep the box within the shape \(4, 4\), got \(2, 4\)"),
            (((-1, 0), (1, 1)), "start must be a whole number of at least 0"),
        ]:
            with pytest.raises(ParameterError, match=says):
                store["speed"].read(*box)
        with pytest.raises(ParameterError, match="out must have shape"):
            store["speed"].read(out=np.zeros(3))


def flip(file, offset):
    content = bytearray(file.read_bytes())
    content[offset] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda file: file.unlink(), "u/c.1: 1 problem\n  file  is missing; rows cannot be"),
        (lambda file: flip(file, -1), "the checksum of its index differs; rows cannot be"),
        (lambda file: file.write_bytes(b"12"), "is cut off: its index alone takes"),
        (lambda file: flip(file, 3), "Array u, chunk 1, has other bytes than were written"),
    ],
)
def test_rows_are_not_appended_to_a_damaged_chunk(tmp_path, harm, says, refusal):
    path = write_store(tmp_path / "s.zarr", {"u": np.arange(5.0)}, chunk=(4,), subchunk=(2,))
    harm(path / "u" / "c.1")
    assert says in refusal(FileProblems, append_rows, path, {"u": np.arange(3.0)})
    with open_store(path) as store:
        assert store["u"].shape == (5,)
    assert [x.name for x in tmp_path.iterdir()] == ["s.zarr"]


def test_a_damaged_subchunk_that_an_append_copies_stays_damaged(tmp_path):
    path = write_store(tmp_path / "s.zarr", {"u": np.arange(3.0)}, chunk=(8,), subchunk=(2,))
    flip(path / "u" / "c.0", 3)  # in the first subchunk; the second is completed
    append_rows(path, {"u": np.arange(3.0)})
    with open_store(path) as store:
        assert store["u"].read((2,)).tolist() == [2.0, 0.0, 1.0, 2.0]
        with pytest.raises(FileProblems, match="has other bytes than were written"):
            store["u"].read((0,), (2,))


def test_what_is_appended_must_fit(tmp_path):
    path = write_store(
        tmp_path / "s.zarr", {"u": np.zeros((4, 2))}, chunk=(2, 2), dimensions=("t", "x")
    )
    with pytest.raises(ParameterError, match="dimension must be the first of an array, got y"):
        Draft.append(path, 1, dimension="y")
    with Draft.append(path, 3) as draft, Writer(draft.part) as writer:
        assert [*draft.part.chunks("u")] == [(2, 0), (3, 0)]
        with pytest.raises(ParameterError, match=r"array u must have the shape \(3, 2\)"):
            writer.write("u", np.zeros((4, 2)))
        with pytest.raises(ParameterError, match="name must be one of u, got 'v'"):
            writer.write("v", np.zeros((3, 2)))
        chunk = writer.chunk("u", (1, 0))
        with pytest.raises(ParameterError, match="index must be that of a chunk"), chunk:
            pass
    with Draft.append(path, 3) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", np.ones((3, 2)))
            writer.flush()
        draft.commit()
        with pytest.raises(ParameterError, match="draft must not be committed twice"):
            draft.commit()
    with open_store(path) as store:
        assert store["u"].read((3, 0)).tolist() == [[0, 0], [1, 1], [1, 1], [1, 1]]


@pytest.mark.parametrize("shards", [1, 3])
def test_thousands_of_subchunks_are_written_in_a_few_accesses(tmp_path, monkeypatch, shards):
    accesses, pwritev = [], os.pwritev
    monkeypatch.setattr(
        os, "pwritev", lambda *given: accesses.append(len(given[1])) or pwritev(*given)
    )
    values = np.arange(3000.0)
    spec = ArraySpec(name="u", shape=(3000,), dtype="f8", chunk=(3000 // shards,), subchunk=(1,))
    with Draft.create(tmp_path / "s.zarr", [spec]) as draft:
        accesses.clear()
        with Writer(draft.part) as writer:
            for index in draft.part.chunks("u"):
                with writer.chunk("u", index) as chunk:
                    for box in chunk.boxes:
                        chunk.write(values[box.start[0]][np.newaxis], more=True)
            writer.flush()
        draft.commit()
    assert max(accesses) == 1024
    assert len(accesses) < 12
    with open_store(tmp_path / "s.zarr") as store:
        assert np.array_equal(store["u"].read(), values)
