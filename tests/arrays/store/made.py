"""Arrays, boxes and stores that several tests make."""

import numpy as np
from hypothesis import strategies as st

from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.writing import Writer

TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


def any_bits(shape, dtype, seed):
    """An array of any bits that its type has: NaN with payloads, infinities, -0.0."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(rng.bytes(size), dtype).reshape(shape).copy()


def same_bits(one, other):
    """Tell whether two arrays are equal, the payloads of NaN as well."""
    return (
        one.shape == other.shape
        and one.dtype == other.dtype
        and np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()
    )


@st.composite
def specs(draw, *, most_rank=6, types=TYPES):
    """An array of any shape, cut in any way, and a number to make its elements from."""
    rank = draw(st.integers(1, most_rank))
    shape = tuple(draw(st.lists(st.integers(0, 9 - rank), min_size=rank, max_size=rank)))
    subchunk = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    times = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    return ArraySpec(
        name="u",
        shape=shape,
        dtype=draw(st.sampled_from(types)),
        chunk=tuple(s * t for s, t in zip(subchunk, times, strict=True)),
        subchunk=subchunk,
        order=draw(st.sampled_from("CF")),
        zstd=draw(st.sampled_from([None, 1])),
        dimensions=tuple("abcdef"[:rank]),
    ), draw(st.integers(0, 2**32))


@st.composite
def boxes_in(draw, shape):
    start = tuple(draw(st.integers(0, n)) for n in shape)
    count = tuple(draw(st.integers(0, n - s)) for n, s in zip(shape, start, strict=True))
    return start, count


def slices(box):
    start, count = box
    return tuple(slice(s, s + c) for s, c in zip(start, count, strict=True))


def write_store(
    path, arrays, *, overwrite=False, versions=0, coordinates=None, attributes=None, **settings
):
    listed = [
        ArraySpec(name=name, shape=array.shape, dtype=array.dtype, **settings)
        for name, array in arrays.items()
    ]
    others = {"coordinates": coordinates, "attributes": attributes, "versions": versions}
    with Draft.create(path, listed, overwrite=overwrite, **others) as draft:
        with Writer(draft.part) as writer:
            for name, array in arrays.items():
                writer.write(name, array)
            writer.flush()
        draft.commit()
    return path


def append_rows(path, arrays, **settings):
    """Append whole arrays to those of a store."""
    rows = len(next(iter(arrays.values())))
    with Draft.append(path, rows, **settings) as draft:
        with Writer(draft.part) as writer:
            for name, array in arrays.items():
                writer.write(name, array)
            writer.flush()
        draft.commit()
