"""Metadata and codecs that other tools write: what is read, and what is refused by its name."""

import copy
import gzip
import sys

import numpy as np
import pytest

from parcast.arrays.store import codecs
from parcast.arrays.store.codecs import ByteCodec, Chain, DamageError, UnsupportedError
from parcast.arrays.store.data_types import fill_from_json, fill_to_json
from parcast.arrays.store.layout import ArraySpec, layout_of

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

DOCUMENT = ArraySpec(name="u", shape=(8, 6), dtype="f8", chunk=(4, 6), subchunk=(2, 3)).document()


def changed(path, value):
    """Change one entry of the metadata; `path` are the keys to it."""
    document = copy.deepcopy(DOCUMENT)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


def test_the_metadata_of_an_array_are_read_as_they_were_specified():
    layout = layout_of(DOCUMENT)
    assert (layout.shape, layout.chunk, layout.subchunk) == ((8, 6), (4, 6), (2, 3))
    assert layout.index_size == 4 * 16 + 4
    assert layout.key((1, 0)) == "c.1.0"
    assert layout.chain.encoded_size(6) == 52


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["data_type"], "bfloat16", 'has the data type "bfloat16", which is not read here'),
        (["data_type"], {"name": "struct"}, 'has the data type "struct"'),
        (["chunk_grid", "name"], "rectilinear", 'has the chunk grid "rectilinear"'),
        (["chunk_key_encoding", "name"], "morton", 'has the chunk key encoding "morton"'),
        (["storage_transformers"], [{"name": "x"}], "has the storage transformer"),
        (["extra"], {"must_understand": True}, 'has the member "extra"'),
        (["codecs"], [*DOCUMENT["codecs"], {"name": "zstd"}], 'codec around shards "zstd"'),
        (["codecs"], [{"name": "blosc"}], 'has the codec "blosc", which is not read here.'),
        (["codecs"], [], 'must have the codec "bytes".'),
        (
            ["codecs"],
            [{"name": "transpose", "configuration": {"order": [0, 0]}}, {"name": "bytes"}],
            "must have an order of 2 axes, got [0, 0].",
        ),
        (
            ["codecs", 0, "configuration", "index_codecs"],
            [{"name": "bytes"}, {"name": "gzip"}],
            'has the codec of the index "gzip"',
        ),
        (["chunk_grid", "configuration", "chunk_shape"], [4], "its extents do not fit together"),
        (["chunk_grid", "configuration", "chunk_shape"], [3, 6], "do not divide its chunks"),
        (["fill_value"], "none", "'none' is no float64"),
        (["fill_value"], "0x00", "'0x00' is no float64"),
        (["shape"], None, "must be the metadata of an array of Zarr 3"),
    ],
)
def test_what_is_not_read_is_refused_by_name(path, value, says, refusal):
    assert says in refusal(UnsupportedError, layout_of, changed(path, value))


@pytest.mark.parametrize(
    ("value", "dtype", "written"),
    [
        (True, "?", True),
        (-5, "i1", -5),
        (2**64 - 1, "u8", 2**64 - 1),
        (0.1, "f8", 0.1),
        (float("nan"), "f2", "NaN"),
        (float("-inf"), "f8", "-Infinity"),
        (complex(1, float("inf")), "c16", [1.0, "Infinity"]),
    ],
)
def test_fill_values_are_json_and_come_back(value, dtype, written):
    assert fill_to_json(value, np.dtype(dtype)) == written
    again = fill_from_json(written, np.dtype(dtype))
    assert np.asarray(again).tobytes() == np.asarray(value, dtype).tobytes()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, "?"), (True, "i4"), (300, "u1"), (1.5, "i4"), ("x", "f4"), (1.0, "c8"), (True, "f8")],
)
def test_a_fill_value_of_another_type_is_refused(value, dtype):
    with pytest.raises(ValueError, match="is no"):
        fill_from_json(value, np.dtype(dtype))


@pytest.mark.parametrize(
    ("codec", "harm", "says"),
    [
        ("crc32c", lambda x: x[:-1], "its checksum differs"),
        ("crc32c", lambda x: x[:2], "its checksum differs"),
        ("gzip", lambda x: x[:-3], "cannot be unpacked (gzip: the end is missing)"),
        ("gzip", lambda x: b"\0" * len(x), "cannot be unpacked (gzip"),
        ("gzip", lambda _: gzip.compress(b"1" * 99), "must unpack to 48 bytes, got more"),
        ("zstd", lambda x: b"\0" * len(x), "cannot be unpacked (zstd"),
        ("zstd", lambda x: x[:-3], "cannot be unpacked (zstd"),
    ],
)
def test_damaged_bytes_are_reported_and_never_returned(codec, harm, says, refusal):
    chain = Chain(np.dtype("<f8"), (), (ByteCodec(codec, 1),))
    encoded = b"".join(chain.encode(np.arange(6.0)))
    assert chain.decode(encoded, (6,)).tolist() == [*range(6)]
    assert says in refusal(DamageError, chain.decode, harm(encoded), (6,))


def test_a_zstd_frame_that_unpacks_to_more_is_refused():
    other = b"".join(Chain(np.dtype("<f8"), (), (ByteCodec("zstd", 1),)).encode(np.arange(99.0)))
    with pytest.raises(DamageError, match="must unpack to 48 bytes, got 792"):
        Chain(np.dtype("<f8"), (), (ByteCodec("zstd", 1),)).decode(other, (6,))


def test_without_the_packages_the_message_says_how_to_install_them(monkeypatch):
    for name, call in (
        ("_extend", codecs.crc32c),
        ("_zstandard", codecs.ByteCodec("zstd").encode),
    ):
        getattr(codecs, name).cache_clear()
        module = {"_extend": "google_crc32c", "_zstandard": "zstandard"}[name]
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(ModuleNotFoundError, match=r'pip install "parcast\[arrays\]"'):
                call([b"x"])
        getattr(codecs, name).cache_clear()
