"""`parcast arrays verify` of what has no checksums or is not read: not whole, not damaged."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from parcast.arrays.store.verify import verify
from tests.arrays.store.made import write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")
zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")

DATA = Path(__file__).parent / "data"
CRC = {"name": "crc32c"}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
PLAIN_ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": True}}
BLOSC = {
    "name": "blosc",
    "configuration": {
        **{"typesize": 8, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}
    },
}
VALUES = np.arange(6 * 400.0).reshape(6, 400)


def made(path, *compressors, shards=None, values=VALUES, **settings):
    """Write a store of zarr-python; 3 chunks, or 2 shards of 4 rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.create_array(
            path, shape=values.shape, chunks=(2, 400), shards=(4, 400) if shards else None,
            dtype=values.dtype, compressors=compressors or None, **settings,
        )  # fmt: skip
        array[...] = values
    return path


def test_a_store_of_which_nothing_can_be_checked_is_neither_whole_nor_damaged(parcast):
    said = parcast("arrays", "verify", DATA / "blosc_cut.zarr")
    assert said.status == 5
    assert "could not be checked: not known to be whole or damaged" in said.out.splitlines()[0]
    words = " ".join(said.out.split())
    assert 'not checked 3 chunks of the array: it has the codec "blosc", which is not' in words
    document = json.loads(parcast("arrays", "verify", DATA / "blosc_cut.zarr", "--json").out)
    (store,) = document["stores"]
    assert (store["status"], store["sound"]) == ("unchecked", False)
    assert (store["chunks"], store["unchecked_chunks"]) == (3, 3)
    assert store["rows"] == []


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize(
    ("compressors", "has_checksums"),
    [
        ((), False),
        ((PLAIN_ZSTD,), False),
        ((ZSTD,), True),
        ((GZIP,), True),
        ((CRC,), True),
        ((PLAIN_ZSTD, CRC), True),
        ((CRC, PLAIN_ZSTD), True),
    ],
)
def test_a_chain_of_codecs_is_checked_if_a_checksum_covers_all_of_it(
    tmp_path, compressors, has_checksums, shards
):
    path = made(tmp_path / "s.zarr", *compressors, shards=shards)
    result = verify(path)
    assert result.faults == ()
    assert result.status == ("whole" if has_checksums else "unchecked")
    assert result.unchecked_chunks == (0 if has_checksums else result.chunks)
    file = next(path.glob("c/0/0"))
    content = bytearray(file.read_bytes())
    content[len(content) // 3 if not shards else 40] ^= 1
    file.write_bytes(content)
    assert verify(path).status == ("damaged" if has_checksums else verify(path).status)


@pytest.mark.parametrize(
    "codec", [(), (PLAIN_ZSTD,), (ZSTD,), (GZIP,), (CRC,), (PLAIN_ZSTD, GZIP)]
)
@pytest.mark.parametrize(
    "cut",
    [lambda x: x[:10], lambda x: x[:-1], lambda x: x[:0], lambda x: x + b"!", lambda x: x + x],
)
def test_a_wrong_length_is_damage_wherever_it_can_be_told(tmp_path, codec, cut):
    path = made(tmp_path / "s.zarr", *codec)
    file = path / "c/2/0"
    file.write_bytes(cut(file.read_bytes()))
    result = verify(path)
    assert (result.status, len(result.faults)) == ("damaged", 1)
    assert result.faults[0].chunk == (2, 0)


def test_a_store_that_can_be_checked_in_part_says_how_much(tmp_path, parcast, monkeypatch):
    monkeypatch.chdir(tmp_path)
    group = zarr.open_group("s.zarr", mode="w")
    for name, codecs in {"a": [CRC], "b": [BLOSC], "c": None}.items():
        made_ = group.create_array(
            name, shape=(6, 400), chunks=(2, 400), dtype="f8", compressors=codecs
        )
        made_[...] = VALUES + 1
    said = parcast("arrays", "verify", "s.zarr")
    assert said.status == 5
    assert said.out.splitlines()[0] == (
        "s.zarr was checked in part: 6 of 9 chunks could not be checked, the others are right"
    )
    words = " ".join(said.out.split())
    assert "3 chunks of array b: it has the codec" in words
    assert "3 chunks of array c: no checksums; their lengths are right" in words
    (tmp_path / "s.zarr/a/c/1/0").write_bytes(b"?" * 100)
    assert parcast("arrays", "verify", "s.zarr").status == 1  # damage comes first


def test_several_stores_end_with_the_worst_that_was_found(tmp_path, parcast, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_store("whole.zarr", {"u": VALUES})
    made(tmp_path / "open.zarr", BLOSC)
    shutil.copytree("whole.zarr", "bad.zarr")
    (tmp_path / "bad.zarr/u/c.0.0").write_bytes(b"")
    statuses = {
        ("whole.zarr",): 0,
        ("whole.zarr", "open.zarr"): 5,
        ("open.zarr", "bad.zarr"): 1,
        ("open.zarr", "none.zarr"): 3,
    }
    for stores, status in statuses.items():
        assert parcast("arrays", "verify", *stores).status == status
