"""What several ranks and servers wrote, as zarr-python, xarray, TensorStore and NumPy read it."""

import numpy as np
import pytest

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")
zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")

PROGRAM = """
import numpy as np
from parcast.arrays import Block, connect
from parcast.arrays.geometry.boxes import block_of


def block(whole, mesh, client):
    box = zip(*block_of(whole.shape, mesh, client), strict=True)
    return Block(whole[tuple(slice(a, a + n) for a, n in box)], whole.shape, mesh)


u = np.arange(7 * 10.0).reshape(7, 10)
with connect(servers=2) as io:
    rows, columns = (block(u, mesh, io.client) for mesh in ((3, 1), (1, 3)))
    more = block(u[:5], (1, 3), io.client)
    along = {"dimensions": {"u": ("t", "x"), "v": ("t", "x")}}
    io.write("s.zarr", {"u": columns, "v": rows}, subchunk=160, zstd=1, **along,
             coordinates={"t": np.arange(7), "x": np.linspace(0, 1, 10)}, attributes={"a": 1})
    io.append("s.zarr", {"u": more, "v": more}, coordinates={"t": np.arange(7, 12)})
    io.write("stack.zarr", {"a": columns, "b": rows, "c": columns}, stack="all", subchunk=160)
    io.write("u.npy", {"u": columns}, subchunk=160)
"""


def test_other_programs_read_what_ranks_and_servers_wrote(ran, tmp_path):
    status, out, err = ran(PROGRAM, ranks=3)
    assert (status, out, err) == (0, "", "")
    u = np.arange(7 * 10.0).reshape(7, 10)
    whole = np.concatenate([u, u[:5]])

    group = zarr.open_group(tmp_path / "s.zarr", mode="r")
    assert (np.asarray(group["u"][...]) == whole).all()
    assert (np.asarray(group["v"][...]) == whole).all()
    stack = zarr.open_group(tmp_path / "stack.zarr", mode="r")["all"]
    assert (np.asarray(stack[...]) == np.stack([u, u, u])).all()
    assert stack.attrs["names"] == ["a", "b", "c"]

    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    with xarray.open_zarr(tmp_path / "s.zarr", consolidated=False) as dataset:
        assert dataset.attrs["a"] == 1
        assert isinstance(dataset.u.data, dask.Array)
        assert (dataset.u.sel(t=slice(6, 8)).values == whole[6:9]).all()
        assert (dataset.v.values == whole).all()
        assert dataset.x.values.tolist() == np.linspace(0, 1, 10).tolist()

    ts = pytest.importorskip("tensorstore", reason="TensorStore is not installed")
    kvstore = {"driver": "file", "path": f"{tmp_path}/s.zarr/v"}
    opened = ts.open({"driver": "zarr3", "kvstore": kvstore}, open=True).result()
    assert (np.asarray(opened.read().result()) == whole).all()

    assert (np.load(tmp_path / "u.npy") == u).all()
