"""How one array lies on disk: its `zarr.json`, from a specification and as a layout.

A storage chunk is a shard (`sharding_indexed`, its index at the end), a subchunk an inner chunk of
it. Chunks that were written without shards are storage chunks of one subchunk.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final, Literal

import numpy as np

from parcast.arrays.store.codecs import (
    CHECKSUM,
    ByteCodec,
    Chain,
    UnsupportedError,
    chain_from_json,
)
from parcast.arrays.store.data_types import (
    NAMES,
    fill_from_json,
    fill_to_json,
    stored_type,
)
from parcast.arrays.store.durable import LARGEST_SMALL
from parcast.arrays.store.grid import MOST_DIMENSIONS, CellGrid, Index
from parcast.errors import ParameterError, as_whole
from parcast.units import format_quantity, shown

METADATA: Final = "zarr.json"
FILES: Final = "manifest"  # attribute of the root: what the store must have
SCHEMA: Final = "parcast/array-store/1"
ENTRY: Final = 16  # offset and length of a subchunk in the index of its shard [B]
ZSTD_LEVELS: Final = range(-7, 23)
MOST_DIGITS: Final = 20  # of an index
MOST_LEVELS: Final = 128  # of a document
MOST_VALUES: Final = 1 << 22  # of a document, each of which takes some 100 bytes of memory
LARGEST: Final = 2**63 - 1  # extent [1], and subchunk [B]
COORDINATE_CHUNK: Final = 4096  # elements of a coordinate in one file at least


@dataclass(frozen=True, kw_only=True, slots=True)
class ArraySpec:
    """An array to be written: what it holds, and how it is cut into files.

    `chunk` is the shape of a storage chunk, by default the whole array; `subchunk` divides it and
    is by default all of it. `zstd` is a level, None: not compressed.
    """

    name: str  # "" for the only array of a store
    shape: Index
    dtype: Any
    chunk: Index = ()
    subchunk: Index = ()
    order: Literal["C", "F"] = "C"  # of the elements of a subchunk
    zstd: int | None = None
    fill: Any = 0  # what lies outside of the array
    dimensions: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # The one that this was renamed from.
    like: "ArraySpec | None" = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be stored."""
        check_name(self.name)
        where = self.label
        shape = _extents(f"shape of {where}", self.shape, least=0)
        if not 1 <= len(shape) <= MOST_DIMENSIONS:
            raise ParameterError(
                f"shape of {where}",
                must=f"have 1 to {MOST_DIMENSIONS} dimensions",
                got=str(len(shape)),
                hint="Write a single number as an array of shape (1,).",
            )
        chunk = _extents(f"chunk of {where}", self.chunk or tuple(max(n, 1) for n in shape))
        subchunk = _extents(f"subchunk of {where}", self.subchunk or chunk)
        for name, extents in (("chunk", chunk), ("subchunk", subchunk)):
            if len(extents) != len(shape):
                raise ParameterError(
                    f"{name} of {where}",
                    must=f"have {len(shape)} extents, as the array",
                    got=str(len(extents)),
                    hint="Give one extent for each dimension.",
                )
        if any(c % s for c, s in zip(chunk, subchunk, strict=True)):
            raise ParameterError(
                f"subchunk of {where}",
                must=f"divide the chunk {chunk}",
                got=str(subchunk),
                hint="Choose a divisor in each dimension.",
            )
        if self.order not in ("C", "F"):
            raise ParameterError(
                f"order of {where}", must='be "C" or "F"', got=f"{self.order!r:.60}"
            )
        if self.zstd is not None and self.zstd not in ZSTD_LEVELS:
            raise ParameterError(
                f"zstd of {where}",
                must=f"be a level from {ZSTD_LEVELS[0]} to {ZSTD_LEVELS[-1]} or None",
                got=f"{self.zstd!r:.60}",
                hint="3 suits most data.",
            )
        dtype = stored_type(self.dtype, name=f"dtype of {where}")
        self._check_dimensions(where, len(shape))
        check_json(f"attributes of {where}", self.attributes)
        check_fill(f"fill of {where}", self.fill, dtype)
        for name, value in (
            ("shape", shape),
            ("chunk", chunk),
            ("subchunk", subchunk),
            ("dtype", dtype),
        ):
            object.__setattr__(self, name, value)

    def _check_dimensions(self, where: str, rank: int) -> None:
        """Refuse names of dimensions that no reader could tell apart."""
        names = tuple(self.dimensions)
        object.__setattr__(self, "dimensions", names)
        if names and (len(names) != rank or len({*names}) != rank or not all(names)):
            raise ParameterError(
                f"dimensions of {where}",
                must=f"be {rank} different names",
                got=f"{names!r:.80}",
                hint='Example: ("time", "y", "x").',
            )

    @property
    def label(self) -> str:
        """What messages call it."""
        return label_of(self.name)

    def renamed(self, name: str) -> "ArraySpec":
        """Specify an array that is equal but for its name: there may be thousands."""
        check_name(name)
        other = object.__new__(ArraySpec)
        for each in self.__slots__:
            object.__setattr__(other, each, getattr(self, each))
        object.__setattr__(other, "name", name)
        object.__setattr__(other, "like", self.like or self)
        return other

    def document(self) -> dict[str, Any]:
        """Its `zarr.json`."""
        rank = len(self.shape)
        axes = tuple(reversed(range(rank))) if self.order == "F" and rank > 1 else ()
        pack = () if self.zstd is None else (ByteCodec("zstd", self.zstd),)
        chain = Chain(self.dtype, axes, (*pack, ByteCodec("crc32c")))
        shard = {
            "chunk_shape": list(self.subchunk),
            "codecs": chain.to_json(rank),
            "index_codecs": [
                {"name": "bytes", "configuration": {"endian": "little"}},
                {"name": "crc32c"},
            ],
            "index_location": "end",
        }
        regular = {"chunk_shape": list(self.chunk)}
        document = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": self.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": regular},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": fill_to_json(self.fill, self.dtype),
            "codecs": [{"name": "sharding_indexed", "configuration": shard}],
            "attributes": dict(self.attributes),
        }
        if self.dimensions:
            document["dimension_names"] = list(self.dimensions)
        return document


def coordinate(
    name: str, values: Any, attributes: Mapping[str, Any]
) -> tuple[ArraySpec, "np.ndarray[Any, Any]"]:
    """Specify the coordinate of a dimension: an array of one dimension and its values."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ParameterError(
            f"coordinates {name}",
            must="have one dimension",
            got=f"shape {array.shape}",
            hint="Give one value for each index.",
        )
    dtype = stored_type(array.dtype, name=f"coordinates {name}")
    chunk = max(len(array), COORDINATE_CHUNK)
    spec = ArraySpec(
        name=name,
        shape=array.shape,
        dtype=dtype,
        chunk=(chunk,),
        dimensions=(name,),
        attributes=attributes,
    )
    return spec, array


def stacked(specs: "list[ArraySpec]", *, name: str, dimension: str = "array") -> ArraySpec:
    """Specify one array that holds equal ones along a new first axis.

    Their names become its attribute `names`, in the order of that axis.
    """
    first = specs[0]
    for each in specs[1:]:
        for what in ("shape", "dtype", "order", "zstd", "dimensions"):
            mine, theirs = getattr(first, what), getattr(each, what)
            if mine != theirs:
                raise ParameterError(
                    "arrays of a stack",
                    must=f"have equal {what}",
                    got=f"{mine} of {first.name} and {theirs} of {each.name}",
                    hint="Write those that differ as arrays of their own.",
                )
    return ArraySpec(
        name=name,
        shape=(len(specs), *first.shape),
        dtype=first.dtype,
        chunk=(1, *first.chunk),
        subchunk=(1, *first.subchunk),
        order=first.order,
        zstd=first.zstd,
        fill=first.fill,
        dimensions=(dimension, *first.dimensions) if first.dimensions else (),
        attributes={**first.attributes, "names": [each.name for each in specs]},
    )


def check_name(name: str) -> None:
    """Refuse a name that cannot be a folder of a store."""
    is_name = isinstance(name, str) and not {"/", "\0"} & {*name}
    if not is_name or name.startswith(("__", ".")) or name == METADATA:
        raise ParameterError(
            "name of an array",
            must='be text without "/", and without "." or "__" in front',
            got=f"{name!r:.80}",
            hint='Example: "temperature".',
        )


def label_of(name: str) -> str:
    """What messages call an array."""
    return f"array {name}" if name else "the array"


def _extents(name: str, extents: Any, *, least: int = 1) -> Index:
    """Extents as whole numbers."""
    if isinstance(extents, str | bytes) or not hasattr(extents, "__iter__"):
        extents = (extents,)
    hint = "Give one whole number for each dimension."
    return tuple(as_whole(name, n, least=least, hint=hint) for n in extents)


def new_array(count: Index, dtype: "np.dtype[Any]") -> "np.ndarray[Any, Any]":
    """Make room for a box that is read, or say that it is too large."""
    try:
        return np.empty(count, dtype)
    except (MemoryError, ValueError):
        size = float(min(prod(count) * dtype.itemsize, LARGEST))
        raise ParameterError(
            "count",
            must="be a box that fits into memory",
            got=f"{count}, {format_quantity(size, 'size')}",
            hint="Read a smaller box.",
        ) from None


def check_json(name: str, value: Any) -> None:
    """Refuse attributes that JSON has no form for."""
    try:
        json.dumps(value if not isinstance(value, Mapping) else dict(value), allow_nan=False)
        if _is_deeper(value, MOST_LEVELS // 2):
            raise ValueError(f"more than {MOST_LEVELS // 2} levels of them")  # noqa: TRY301 - as JSON
    except (TypeError, ValueError, RecursionError) as failure:
        raise ParameterError(
            name,
            must="be text, finite numbers, lists and dictionaries",
            got=str(failure),
            hint="Convert arrays with .tolist().",
        ) from None


def check_fill(name: str, value: Any, dtype: "np.dtype[Any]") -> None:
    """Refuse a fill value that the type cannot hold."""
    try:
        held = fill_to_json(value, dtype)
        same = fill_from_json(held, dtype)
        is_lost = dtype.kind in "biu" and same != value
    except (TypeError, ValueError, OverflowError):
        is_lost = True
    if is_lost:
        raise ParameterError(
            name, must=f"be a value of {dtype.name}", got=f"{value!r:.60}", hint="0 always is."
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrayLayout:
    """How an array lies on disk, by its metadata; equal arrays may share one."""

    shape: Index
    dtype: "np.dtype[Any]"  # of its elements in memory
    chunk: Index  # shape of a storage chunk
    subchunk: Index
    chain: Chain  # codecs of a subchunk
    fill: Any
    is_sharded: bool
    index_type: "np.dtype[Any]"  # of the entries of the index
    index_has_checksum: bool
    index_at_end: bool
    prefix: str  # of the names of chunks
    separator: str
    dimensions: tuple[str | None, ...]
    attributes: Mapping[str, Any]
    is_whole: bool = False  # every chunk in the array must have its file
    grid: CellGrid = field(init=False)  # of storage chunks in the array
    inner: CellGrid = field(init=False)  # of subchunks in a storage chunk

    def __post_init__(self) -> None:
        """Find both grids once."""
        object.__setattr__(self, "grid", CellGrid(self.shape, self.chunk))
        object.__setattr__(self, "inner", CellGrid(self.chunk, self.subchunk))

    @property
    def index_size(self) -> int:
        """Length of the index of a shard. [B]."""
        if not self.is_sharded:
            return 0
        count = prod(self.inner.cells)
        return ENTRY * count + CHECKSUM * self.index_has_checksum

    def key(self, index: Index) -> str:
        """Path of a storage chunk in the folder of the array."""
        numbers = list(map(str, index))
        if self.prefix:
            return self.separator.join([self.prefix, *numbers])
        return self.separator.join(numbers) or "0"

    def index_of(self, key: str) -> Index | None:
        """Index of a storage chunk by its path; None where it is no such path."""
        numbers = key.split(self.separator)
        if self.prefix and numbers.pop(0) != self.prefix:
            return None
        if not self.prefix and not self.shape:
            numbers = numbers[1:]
        index = tuple(int(x) for x in numbers if x.isdecimal() and len(x) <= MOST_DIGITS)
        return index if len(self.shape) == len(numbers) == len(index) else None


def is_too_large(content: bytes) -> bool:
    """Tell whether a document of JSON is larger than what is read."""
    values = sum(map(content.count, (b"[", b"{", b",")))
    return values > MOST_VALUES or len(content) > LARGEST_SMALL


def parsed(content: bytes) -> Any:
    """Read JSON of a file; ValueError where it is none, or takes far more memory than its size."""
    if is_too_large(content):
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    too_deep = f"it is nested more than {MOST_LEVELS} levels deep"
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError(too_deep) from None
    is_deep = sum(map(content.count, (b"[", b"{"))) > MOST_LEVELS
    if is_deep and _is_deeper(document, MOST_LEVELS):
        raise ValueError(too_deep)
    return document


def _is_deeper(value: Any, levels: int) -> bool:
    """Tell whether lists and dictionaries are nested deeper, without calling itself."""
    layer = [value]
    for _ in range(levels + 1):
        held = [x for x in layer if isinstance(x, list | tuple | Mapping)]
        layer = [each for x in held for each in (x.values() if isinstance(x, Mapping) else x)]
    return bool(layer)


def layout_of(document: Mapping[str, Any], *, is_whole: bool = False) -> ArrayLayout:
    """Read the `zarr.json` of an array; UnsupportedError with a whole message if it cannot be."""
    try:
        return _layout_of(document, is_whole)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as failure:
        why = shown(f"{type(failure).__name__}: {failure}")
        raise UnsupportedError(
            f"must be the metadata of an array of Zarr 3 ({why}). Restore it from a copy."
        ) from failure


def _layout_of(document: Mapping[str, Any], is_whole: bool) -> ArrayLayout:
    """Read the metadata, where what is missing is a KeyError."""
    shape = _extents_in(document["shape"], least=0)
    dtype = _type_of(document["data_type"])
    _check_members(document)
    grid = document["chunk_grid"]
    if grid["name"] != "regular":
        raise UnsupportedError(_unread("chunk grid", grid["name"]))
    chunk = _extents_in(grid["configuration"]["chunk_shape"])
    codecs = document["codecs"]
    shard = next((x["configuration"] for x in codecs if x["name"] == "sharding_indexed"), None)
    if shard is not None and len(codecs) > 1:
        other = next(x["name"] for x in codecs if x["name"] != "sharding_indexed")
        raise UnsupportedError(_unread("codec around shards", other))
    subchunk = chunk if shard is None else _extents_in(shard["chunk_shape"])
    if not len(shape) == len(chunk) == len(subchunk) <= MOST_DIMENSIONS:
        raise ValueError("its extents do not fit together")
    if prod(subchunk) * dtype.itemsize > LARGEST:
        raise ValueError("its chunks are larger than any file")
    if any(c % s for c, s in zip(chunk, subchunk, strict=True)):
        raise ValueError("its inner chunks do not divide its chunks")
    listed = codecs if shard is None else shard["codecs"]
    chain = chain_from_json(listed, dtype, len(shape))
    of_index = [{"name": "bytes"}] if shard is None else shard["index_codecs"]
    index = chain_from_json(of_index, np.dtype("u8"), 1)
    if any(codec.name != "crc32c" for codec in index.then) or len(index.then) > 1:
        raise UnsupportedError(_unread("codec of the index", index.then[0].name))
    prefix, separator = _keys(document["chunk_key_encoding"])
    return ArrayLayout(
        shape=shape,
        dtype=dtype,
        chunk=chunk,
        subchunk=subchunk,
        chain=chain,
        fill=fill_from_json(document["fill_value"], dtype),
        is_sharded=shard is not None,
        index_type=index.dtype,
        index_has_checksum=bool(index.then),
        index_at_end=shard is None or shard.get("index_location", "end") == "end",
        prefix=prefix,
        separator=separator,
        dimensions=_names_of(document.get("dimension_names"), len(shape)),
        attributes=dict(document.get("attributes", {})),
        is_whole=is_whole,
    )


def _extents_in(extents: Any, *, least: int = 1) -> Index:
    """Read extents: whole numbers, which `True` and 4.0 are not."""
    read = tuple(extents)
    if not all(type(n) is int and least <= n <= LARGEST for n in read):
        raise ValueError("its extents are no such numbers")
    return read


def _names_of(names: Any, rank: int) -> tuple[str | None, ...]:
    """Read the names of dimensions."""
    read = tuple(names or (None,) * rank)
    if len(read) != rank or not all(x is None or isinstance(x, str) for x in read):
        raise ValueError("its names of dimensions are no such names")
    return read


def _check_members(document: Mapping[str, Any]) -> None:
    """Refuse metadata with members that change what the others mean."""
    if document.get("storage_transformers"):
        raise UnsupportedError(_unread("storage transformer", "of this array"))
    known = {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "codecs"}
    known |= {"chunk_key_encoding", "fill_value", "attributes", "dimension_names"}
    known |= {"storage_transformers", "consolidated_metadata"}
    for member in document.keys() - known:
        value = document[member]
        if not (isinstance(value, Mapping) and value.get("must_understand") is False):
            raise UnsupportedError(_unread("member", member))


def _type_of(name: Any) -> "np.dtype[Any]":
    """Read the type of elements."""
    if isinstance(name, str) and name in NAMES:
        known: np.dtype[Any] = np.dtype(name)
        return known
    called = name["name"] if isinstance(name, Mapping) and "name" in name else name
    raise UnsupportedError(_unread("data type", called))


def _keys(encoding: Mapping[str, Any]) -> tuple[str, str]:
    """Read how chunks are named: what stands in front, and what between the numbers."""
    name, settings = encoding["name"], encoding.get("configuration", {})
    known = {"default": ("c", "/"), "v2": ("", ".")}
    if name not in known:
        raise UnsupportedError(_unread("chunk key encoding", name))
    prefix, usual = known[name]
    separator = settings.get("separator", usual)
    if separator not in ("/", "."):
        raise UnsupportedError(_unread("separator of chunk keys", separator))
    return prefix, separator


def _unread(what: str, name: object) -> str:
    """Say that something is not read here, and what reads it."""
    return f'has the {what} "{shown(name)}", which is not read here. Read it with zarr-python.'
