"""The files of a request: a draft of a Zarr store that servers fill, or a store that is read."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from parcast.arrays.library.distribution import Array, Point
from parcast.arrays.library.schema import Schema, Stored, Subchunk
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.draft import Draft, Part, Writer
from parcast.arrays.store.layout import ArraySpec, stacked
from parcast.arrays.store.reading import Store, open_store


def catalogue(path: str, names: Sequence[str] | None) -> list[Stored]:
    """Tell which arrays a store has, of some names or all."""
    with open_store(path) as store:
        arrays = [(name, store[name]) for name in (store if names is None else names)]
        return [Stored(name, x.shape, x.dtype.str, x.chunk, x.subchunk) for name, x in arrays]


@dataclass
class Drafts:
    """Requests on the file system, on the server master."""

    open: dict[str, Draft] = field(default_factory=dict)  # by path

    def begin(self, schema: Schema) -> Part | None:
        """Begin a store, or rows of one; give what each server needs to write to it."""
        storage = schema.storage
        if schema.operation == "read":
            return None
        if schema.operation == "append":
            rows = schema.kinds[0].shape[0] - schema.kinds[0].base
            draft = Draft.append(
                schema.path,
                rows,
                dimension=storage.get("dimension", ""),
                coordinates=storage.get("coordinates"),
            )
        else:
            draft = Draft.create(
                schema.path,
                specs_of(schema),
                coordinates=storage.get("coordinates"),
                attributes=storage.get("attributes"),
                overwrite=bool(storage.get("overwrite")),
            )
        self.open[schema.path] = draft
        return draft.part

    def commit(self, schema: Schema) -> None:
        """Put what all servers wrote in its place."""
        if schema.operation != "read":
            self.open.pop(schema.path).commit()

    def discard(self, schema: Schema) -> None:
        """Remove what was written."""
        if schema.operation != "read":
            self.open.pop(schema.path).abandon()


def specs_of(schema: Schema) -> list[ArraySpec]:
    """Specify the arrays of a store that is written."""
    dimensions = schema.storage.get("dimensions", {})
    specs = []
    for array in schema.arrays:
        kind = schema.kinds[array.kind]
        specs.append(
            ArraySpec(
                name=array.name,
                shape=kind.shape,
                dtype=kind.dtype,
                chunk=kind.chunk,
                subchunk=kind.inner,
                zstd=schema.storage.get("zstd"),
                fill=schema.storage.get("fill", 0),
                dimensions=tuple(dimensions.get(array.name, ())),
            )
        )
    if not schema.stack:
        return specs
    whole = stacked(specs, name=schema.stack)
    return [replace(whole, chunk=(schema.arrays_a_chunk, *whole.chunk[1:]))]


class WritingFiles:
    """The storage chunks that a server writes, one after the other."""

    def __init__(self, schema: Schema, part: Part) -> None:
        self._schema = schema
        self._writer = Writer(part)
        self._chunk: tuple[str, Point] | None = None
        self._open = ExitStack()
        self._target: ChunkWriter | None = None

    def write(self, array: int, subchunk: Subchunk, values: Array) -> None:
        """Write a subchunk; those of a storage chunk come in row-major order."""
        name, index = self._schema.arrays[array].name, subchunk.chunk
        if self._schema.stack:
            name, index = self._schema.stack, (array // self._schema.arrays_a_chunk, *index)
            values = values[None]
        if self._chunk != (name, index):
            self._open.close()
            self._target = self._open.enter_context(self._writer.chunk(name, index))
            self._chunk = name, index
        assert self._target is not None
        self._target.write(values)

    def flush(self) -> None:
        """Have all that was written reach the device."""
        self._open.close()
        self._writer.flush()

    def close(self) -> None:
        """Let go of the files."""
        self._open.pop_all()
        self._writer.close()


class ReadingFiles:
    """The store that a server reads."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._store: Store = open_store(schema.path)

    def read(self, array: int, subchunk: Subchunk) -> Array:
        """Read a subchunk."""
        name = self._schema.arrays[array].name
        values: Array = self._store[name].read(subchunk.start, subchunk.count)
        return values

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()


def files_of(schema: Schema, draft: Any) -> WritingFiles | ReadingFiles:
    """Open the files of a request on a server."""
    return ReadingFiles(schema) if schema.operation == "read" else WritingFiles(schema, draft)
