"""What zarr-python, xarray, dask and TensorStore read of our stores, and we of zarr-python's."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from parcast.arrays.store.draft import Draft
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.writing import Writer
from parcast.errors import FileProblems
from tests.arrays.store.made import TYPES, any_bits, append_rows, same_bits, specs, write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")
zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")

often = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@often
@given(specs())
def test_zarr_python_reads_the_bits_that_were_written(tmp_path_factory, given_spec):
    spec, seed = given_spec
    array = any_bits(spec.shape, spec.dtype, seed)
    path = tmp_path_factory.mktemp("ours") / "s.zarr"
    with Draft.create(path, [spec]) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", array)
            writer.flush()
        draft.commit()
    assert same_bits(np.asarray(zarr.open_group(path, mode="r")["u"][...]), array)


@pytest.mark.parametrize(
    ("dtype", "order", "zstd"),
    [*((x, "C", None) for x in TYPES), ("float64", "F", 3), ("float64", "F", None)],
)
def test_tensorstore_reads_every_type(tmp_path, dtype, order, zstd):
    ts = pytest.importorskip("tensorstore", reason="TensorStore is not installed")
    array = any_bits((5, 7, 3), dtype, 1)
    path = write_store(
        tmp_path / "s.zarr",
        {"u": array},
        chunk=(4, 4, 3),
        subchunk=(2, 4, 1),
        order=order,
        zstd=zstd,
        fill=True if dtype == "bool" else 7,
        dimensions=("z", "y", "x"),
    )
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/u"}}
    opened = ts.open(spec, open=True).result()
    assert same_bits(np.asarray(opened.read().result()), array)
    assert opened.domain.labels == ("z", "y", "x")


def test_xarray_and_dask_read_arrays_with_coordinates_before_and_after_an_append(tmp_path):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("dask", reason="dask is not installed")
    array = np.arange(6 * 5 * 4, dtype="f4").reshape(6, 5, 4)
    path = write_store(
        tmp_path / "s.zarr",
        {"u": array, "v": -array},
        chunk=(4, 5, 2),
        dimensions=("t", "y", "x"),
        coordinates={"t": np.arange(6), "x": np.linspace(0, 1, 4)},
        attributes={"title": "Waves"},
    )
    append_rows(path, {"u": array[:3], "v": -array[:3]}, coordinates={"t": [6, 7, 8]})
    wanted = np.concatenate([array, array[:3]])
    with xarray.open_zarr(path, consolidated=False) as dataset:  # dask arrays
        assert dataset.attrs["title"] == "Waves"
        assert dataset.t.values.tolist() == [*range(9)]
        assert dataset.u.dims == ("t", "y", "x")
        assert dataset.u.chunks is not None
        assert (dataset.u.values == wanted).all()
        assert (dataset.v.sel(t=7).isel(x=1).values == -array[1, :, 1]).all()


CODECS = [
    {"compressors": None},
    {},  # zstd is the default of zarr-python
    {"compressors": [{"name": "gzip", "configuration": {"level": 1}}]},
    {"compressors": [{"name": "crc32c"}]},
    {"compressors": [{"name": "zstd", "configuration": {"level": 1}}, {"name": "crc32c"}]},
    {"filters": [{"name": "transpose", "configuration": {"order": [1, 2, 0]}}]},
    {"shards": (4, 6, 4)},
    {
        "shards": (4, 6, 4),
        "filters": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}}],
    },
    {"chunk_key_encoding": {"name": "v2", "separator": "."}},
    {"chunk_key_encoding": {"name": "default", "separator": "."}},
    {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
]


@pytest.mark.parametrize(
    ("settings", "dtype"),
    [*((x, "float64") for x in CODECS), *(({}, x) for x in ("uint8", "complex64", "bool"))],
    ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x)) or "default",
)
def test_what_zarr_python_wrote_is_read(tmp_path, settings, dtype):
    array = any_bits((5, 7, 6), dtype, 2)
    group = zarr.open_group(tmp_path / "s.zarr", mode="w")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = group.create_array(
            "u", shape=array.shape, dtype=array.dtype, chunks=(2, 3, 2), **settings
        )
        made[...] = array
    with open_store(tmp_path / "s.zarr") as store:
        assert same_bits(store["u"].read(), array)
        assert same_bits(store["u"].read((1, 2, 3), (3, 5, 2)), array[1:4, 2:7, 3:5])
    result = verify(tmp_path / "s.zarr")
    has_checksums = any(x["name"] in ("gzip", "crc32c") for x in settings.get("compressors") or ())
    assert result.status == ("whole" if has_checksums and not result.filled else "unchecked")
    assert result.unchecked_chunks == (0 if has_checksums else result.chunks)
    assert not result.faults


@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_chunks_that_zarr_python_left_out_are_fill_values(tmp_path, shards):
    made = zarr.create_array(
        tmp_path / "s.zarr",
        shape=(8, 6),
        chunks=(2, 3),
        shards=shards,
        dtype="f8",
        fill_value=np.nan,
    )
    made[2:4, 3:6] = 1.0
    with open_store(tmp_path / "s.zarr") as store:
        found = store[""].read()
    assert same_bits(found, made[...])
    assert np.isnan(found).sum() == 42
    result = verify(tmp_path / "s.zarr")
    assert (result.status, result.faults) == ("unchecked", ())
    assert result.filled == (1 if shards else 7)


def test_rows_can_be_appended_to_a_sharded_store_of_zarr_python(tmp_path):
    made = zarr.create_array(
        tmp_path / "s.zarr", shape=(5, 6), chunks=(2, 3), shards=(4, 6), dtype="i4"
    )
    made[...] = np.arange(30).reshape(5, 6)
    append_rows(tmp_path / "s.zarr", {"": np.full((6, 6), 9, "i4")})
    found = zarr.open_array(tmp_path / "s.zarr", mode="r")[...]
    assert (found[:5] == np.arange(30).reshape(5, 6)).all()
    assert (found[5:] == 9).all()
    assert found.shape == (11, 6)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"dtype": "datetime64[s]"}, 'data type "numpy.datetime64", which is not read here'),
        (
            {"dtype": "f8", "compressors": [{"name": "blosc", "configuration": {}}]},
            'has the codec "blosc", which is not read here. Read it with zarr-python',
        ),
    ],
)
def test_what_is_not_read_is_refused_by_name_and_the_other_arrays_are_read(
    tmp_path, settings, says
):
    path = tmp_path / "s.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_group(path, mode="w")
        group.create_array("odd", shape=(4,), chunks=(2,), **settings)
        group.create_array("usual", shape=(4,), dtype="f8")[...] = 3.0
    with open_store(path) as store:
        assert store["usual"].read().tolist() == [3.0] * 4
        with pytest.raises(FileProblems) as caught:
            store["odd"]
    assert says in str(caught.value)
    result = verify(path)
    assert result.status == "unchecked"
    assert any(says in text for text in result.unchecked)


def test_arrays_in_groups_of_groups_are_read_by_their_paths(tmp_path):
    group = zarr.open_group(tmp_path / "s.zarr", mode="w").create_group("ocean")
    group.create_array("u", shape=(3,), dtype="i2")[...] = [1, 2, 3]
    group.create_array("scalar", shape=(), dtype="i2")[...] = 5
    with open_store(tmp_path / "s.zarr") as store:
        assert [*store] == ["ocean/scalar", "ocean/u"]
        assert store["ocean/u"].read((1,), (2,)).tolist() == [2, 3]
        assert store["ocean/scalar"].read() == 5


def test_an_append_to_a_store_with_consolidated_metadata_drops_the_stale_copy(tmp_path):
    path = tmp_path / "s.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # consolidated metadata are not in the specification
        group = zarr.open_group(path, mode="w")
        for name in "uv":
            made = group.create_array(name, shape=(4,), chunks=(2,), shards=(4,), dtype="i4")
            made[...] = [1, 2, 3, 4]
        zarr.consolidate_metadata(path)
        append_rows(path, {"u": np.array([5], "i4"), "v": np.array([6], "i4")})
        found = zarr.open_group(path, mode="r")
        assert found["u"][...].tolist() == [1, 2, 3, 4, 5]
        assert found["v"][...].tolist() == [1, 2, 3, 4, 6]
        assert "consolidated_metadata" not in (path / "zarr.json").read_text()


def test_rows_are_not_appended_to_chunks_without_shards(tmp_path):
    zarr.create_array(tmp_path / "s.zarr", shape=(4,), chunks=(2,), dtype="f8")[...] = 1.0
    with pytest.raises(FileProblems, match="must have shards with the index at their end"):
        append_rows(tmp_path / "s.zarr", {"": np.zeros(2)})
    assert [x.name for x in tmp_path.iterdir()] == ["s.zarr"]
