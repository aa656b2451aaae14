"""The files of a request: a draft of a Zarr store that servers fill, or a store that is read."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

from parcast.arrays.geometry.boxes import MOST_DIMENSIONS, Point
from parcast.arrays.library.distribution import Array
from parcast.arrays.library.schema import Schema, Stored, Subchunk, layout_for
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec, label_of, stacked
from parcast.arrays.store.messages import problem
from parcast.arrays.store.nodes import MANIFEST
from parcast.arrays.store.npy import NpyArray, NpyDraft, NpyPart, NpyWriter, open_npy
from parcast.arrays.store.place import Stamp
from parcast.arrays.store.reading import StoredArray, open_store
from parcast.arrays.store.writing import Part, Writer
from parcast.errors import ParameterError, RunFailed
from parcast.words import did_you_mean

NPY_OPTIONS: Final = frozenset({"overwrite"})
APPEND_OPTIONS: Final = frozenset({"coordinates", "dimension"})
WRITE_OPTIONS: Final = NPY_OPTIONS | {
    *("array_attributes", "attributes", "coordinates", "dimensions", "fill", "versions", "zstd")
}


def is_npy(path: str) -> bool:
    """Tell whether a path is that of a .npy file, which holds one array in whole rows."""
    return path.endswith(".npy")


class Catalogue(NamedTuple):
    """What a store has that is going to be read."""

    arrays: list[Stored]
    stamp: Stamp | None = None  # that servers must find as well


def catalogue(path: str, names: Sequence[str] | None, *, grows: bool = False) -> Catalogue:
    """Tell which arrays a store has, of some names or all that can be distributed.

    Stacks are refused if it `grows`.
    """
    if is_npy(path):
        array = open_npy(path)
        with closing(array):
            _require_dimensions(f"the array of {path}", array.shape)
            item = array.dtype.itemsize
            slabs = layout_for(array.shape, item, servers=1, whole_rows=True)
            dtype = array.dtype.newbyteorder("=").str  # as it is read
            name = _only_name(path, names)
            stored = [Stored(name, array.shape, dtype, slabs[1], slabs[1])]
            return Catalogue(stored, array.stamp)
    with open_store(path) as store:
        for name in names or () if grows else ():
            if stack := store.stack_of(name):
                raise _of_stack(path, name, stack)
        arrays = [(name, store[name]) for name in (store if names is None else names)]
        if names is None:
            arrays = [(name, x) for name, x in arrays if _can_be_distributed(x.shape)]
        for name, x in arrays:
            _require_dimensions(label_of(name), x.shape)
        stored = [Stored(name, x.shape, x.dtype.str, x.chunk, x.subchunk) for name, x in arrays]
        return Catalogue(stored, store.stamp)


def _can_be_distributed(shape: Point) -> bool:
    return 1 <= len(shape) <= MOST_DIMENSIONS


def _require_dimensions(label: str, shape: Point) -> None:
    if not _can_be_distributed(shape):
        raise ParameterError(
            label,
            must=f"have 1 to {MOST_DIMENSIONS} dimensions, to be on several ranks",
            got=str(len(shape)),
            hint="Read it on one rank: parcast.arrays.open_store, or numpy.load for a .npy file.",
        )


def _of_stack(path: str, name: str, stack: str) -> ParameterError:
    """Refuse to append to arrays of a stack, whose first dimension is not theirs."""
    return ParameterError(
        "arrays",
        must=f"be arrays of their own in {path}, to get more rows",
        got=f"the stack {name}" if name == stack else f"{name}, which is in the stack {stack}",
        hint="Write arrays that will grow without stack=.",
    )


def _only_name(path: str, names: Sequence[str] | None) -> str:
    """Name the array of a .npy file as it is asked for."""
    if names is None:
        return "array"
    if len(names) != 1:
        raise ParameterError(
            "names",
            must=f"be one name for the one array of {path}, or be left out",
            got=f"{len(names)} names",
            hint='Example: ["u"].',
        )
    return names[0]


@dataclass
class Drafts:
    """Requests on the file system, on the server master."""

    open: dict[str, Draft | NpyDraft] = field(default_factory=dict)  # by path

    def begin(self, schema: Schema) -> tuple[Part | NpyPart | None, tuple[str, ...]]:
        """Begin a store, or rows of one; give what each server needs to write to it.

        And what was cleared up that an interrupted write had left.
        """
        if schema.operation == "read":
            return None, ()
        draft = _npy_draft(schema) if is_npy(schema.path) else _zarr_draft(schema)
        self.open[schema.path] = draft
        return draft.part, tuple(f"{schema.path}: {each.cleared}" for each in draft.cleared)

    def commit(self, schema: Schema) -> None:
        """Put what all servers wrote in its place."""
        if schema.operation != "read":
            self.open.pop(schema.path).commit()

    def discard(self, schema: Schema) -> None:
        """Remove what was written."""
        if schema.operation != "read":
            self.open.pop(schema.path).abandon()


def no_zarr(path: str, purpose: str) -> ParameterError:
    """Refuse a .npy file where it cannot be one."""
    return ParameterError(
        "path",
        must=f"be that of a Zarr store, to {purpose}",
        got=path,
        hint="A .npy file holds one array, and does not grow. Choose a name like out.zarr.",
    )


def _npy_draft(schema: Schema) -> NpyDraft:
    """Begin a .npy file."""
    if len(schema.arrays) != 1:
        raise no_zarr(schema.path, "write several arrays")
    if schema.stack:
        raise no_zarr(schema.path, "stack arrays")
    kind = schema.kinds[0]
    _require_known(schema, NPY_OPTIONS)
    overwrite = bool(schema.storage.get("overwrite"))
    return NpyDraft.create(schema.path, kind.shape, kind.dtype, overwrite=overwrite)


def _zarr_draft(schema: Schema) -> Draft:
    """Begin a store, or rows of one."""
    storage = schema.storage
    coordinates = storage.get("coordinates")
    if schema.operation == "append":
        _require_known(schema, APPEND_OPTIONS)
        rows = schema.kinds[0].shape[0] - schema.kinds[0].base
        dimension = storage.get("dimension", "")
        draft = Draft.append(schema.path, rows, dimension=dimension, coordinates=coordinates)
        bases = {array.name: schema.kinds[array.kind].base for array in schema.arrays}
        if any(draft.part.bases.get(name, base) != base for name, base in bases.items()):
            draft.abandon()
            raise RunFailed(f"{schema.path} has been changed by another program. Append again.")
        named = bases.keys()
        if missing := draft.part.layouts.keys() - named - {*(coordinates or {})}:
            draft.abandon()
            raise ParameterError(
                "arrays",
                must="have rows for every array with the same first dimension",
                got=f"none for {', '.join(sorted(missing))}",
                hint="Append to all of them in one call.",
            )
        return draft
    _require_known(schema, WRITE_OPTIONS)
    if schema.stack and (hidden := {*(coordinates or {})} & {x.name for x in schema.arrays}):
        raise ParameterError(
            "coordinates",
            must="have other names than the arrays of a stack",
            got=min(hidden),
            hint="Rename the array, or write arrays of their own.",
        )
    return Draft.create(
        schema.path,
        specs_of(schema),
        coordinates=coordinates,
        coordinate_attributes=_attributes(schema),
        attributes=storage.get("attributes"),
        overwrite=bool(storage.get("overwrite")),
        versions=storage.get("versions") or 0,
    )


def _attributes(schema: Schema) -> Mapping[str, Mapping[str, Any]]:
    """Attributes of arrays and coordinates by their names; refuse those of others."""
    given: Mapping[str, Mapping[str, Any]] = schema.storage.get("array_attributes") or {}
    arrays = [schema.stack] if schema.stack else [array.name for array in schema.arrays]
    known = {*arrays, *(schema.storage.get("coordinates") or {})}
    for name, attributes in given.items():
        if name not in known or not isinstance(attributes, Mapping):
            raise ParameterError(
                "array_attributes",
                must="have a dict for names of arrays on disk, or of coordinates",
                got=f"{name!r:.60}" if name not in known else f"{attributes!r:.60}",
                hint=did_you_mean(str(name), known).strip() or 'Example: {"u": {"units": "K"}}.',
            )
        if taken := {MANIFEST, *(["names"] if name == schema.stack else [])} & attributes.keys():
            raise ParameterError(
                "array_attributes",
                must=f'leave the name "{min(taken)}" of {name} free',
                hint="Choose another name.",
            )
    return given


def _require_known(schema: Schema, known: frozenset[str]) -> None:
    """Refuse options that the files do not have."""
    for name in schema.storage:
        if name not in known:
            raise ParameterError(
                name,
                must=f"be one of {', '.join(sorted(known))}",
                got="an option of another name",
                hint=did_you_mean(name, known).strip() or "Leave it out.",
            )


def specs_of(schema: Schema) -> list[ArraySpec]:
    """Specify the arrays of a store that is written."""
    dimensions, attributes = schema.storage.get("dimensions") or {}, _attributes(schema)
    specs, known = [], dict[tuple[int, tuple[str, ...]], ArraySpec]()
    for array in schema.arrays:
        kind, names = schema.kinds[array.kind], tuple(dimensions.get(array.name, ()))
        equal = known.get((array.kind, names))
        if equal is None:
            equal = known[array.kind, names] = ArraySpec(
                name=array.name,
                shape=kind.shape,
                dtype=kind.dtype,
                chunk=kind.chunk,
                subchunk=kind.inner,
                zstd=schema.storage.get("zstd"),
                fill=schema.storage.get("fill", 0),
                dimensions=names,
            )
        own = attributes.get(array.name)
        renamed = equal.renamed(array.name)
        specs.append(replace(renamed, attributes=own) if own else renamed)
    if not schema.stack:
        return specs
    whole = stacked(specs, name=schema.stack)
    all_of_it = {**attributes.get(schema.stack, {}), **whole.attributes}
    chunk = (schema.arrays_a_chunk, *whole.chunk[1:])
    return [replace(whole, chunk=chunk, attributes=all_of_it)]


class WritingFiles:
    """The storage chunks that a server writes, one after the other."""

    def __init__(self, schema: Schema, part: Part) -> None:
        self._schema = schema
        self._writer = Writer(part)
        self._chunk: tuple[str, Point] | None = None
        self._open = ExitStack()
        self._target: ChunkWriter | None = None
        self.compresses = any(not x.chain.keeps_length for x in part.layouts.values())

    def write(self, array: int, subchunk: Subchunk, values: Array, *, more: bool = False) -> None:
        """Write a subchunk; those of a storage chunk come in row-major order.

        With `more` its values stay until the next is written.
        """
        name, index = self._schema.arrays[array].name, subchunk.chunk
        if self._schema.stack:
            name, index = self._schema.stack, (array // self._schema.arrays_a_chunk, *index)
            values = values[None]
        if self._chunk != (name, index):
            self._open.close()
            self._target = self._open.enter_context(self._writer.chunk(name, index))
            self._chunk = name, index
        assert self._target is not None
        assert self._target.expected is not None
        place = (array, *subchunk.start) if self._schema.stack else subchunk.start
        assert self._target.expected.start == place
        is_sync = self._schema.writer == "sync"
        self._target.write(values, more=more and not is_sync)
        if is_sync:
            self._target.flush()

    def flush(self) -> None:
        """Have all that was written reach the device."""
        self._open.close()
        self._writer.flush()

    def close(self) -> None:
        """Let go of the files."""
        self._open.pop_all()
        self._writer.close()


class NpyFiles:
    """The rows of a .npy file that a server writes."""

    compresses: Final = False

    def __init__(self, schema: Schema, part: NpyPart) -> None:
        self._is_sync = schema.writer == "sync"
        self._writer = NpyWriter(part)
        self.flush, self.close = self._writer.flush, self._writer.close

    def write(self, array: int, subchunk: Subchunk, values: Array, *, more: bool = False) -> None:  # noqa: ARG002 - there is one
        """Write a subchunk, which has whole rows."""
        self._writer.write(subchunk.start[0], values)
        if self._is_sync:
            self._writer.flush()


class ReadingFiles:
    """The store that a server reads."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        if is_npy(schema.path) and schema.storage.get("lost") is not None:
            raise ParameterError(
                "lost",
                must="be left out for a .npy file, which has no checksums",
                got=f"a value for {schema.path}",
                hint="Write a Zarr store to find damage.",
            )
        self._open = open_npy(schema.path) if is_npy(schema.path) else open_store(schema.path)
        if schema.stamp is not None and schema.stamp.is_of_other(self._open.stamp):
            self._open.close()
            raise problem(schema.path, "was replaced while it was read. Read it again.")
        self._last: StoredArray | None = None  # whose files are open

    def read(self, array: int, subchunk: Subchunk) -> Array:
        """Read a subchunk."""
        opened = self._open
        name = self._schema.arrays[array].name
        stored = opened if isinstance(opened, NpyArray) else opened[name]
        box = subchunk.start, subchunk.count
        if isinstance(stored, NpyArray):  # which has no checksums
            return stored.read(*box)
        if self._last is not None and not self._last.shares_files(stored):
            self._last.close()
        self._last = stored
        return stored.read(*box, lost=self._schema.storage.get("lost"))

    def close(self) -> None:
        """Let go of the files."""
        self._open.close()


Writes: TypeAlias = WritingFiles | NpyFiles


def files_of(schema: Schema, draft: Part | NpyPart | None) -> Writes | ReadingFiles:
    """Open the files of a request on a server."""
    if draft is None:
        return ReadingFiles(schema)
    return NpyFiles(schema, draft) if isinstance(draft, NpyPart) else WritingFiles(schema, draft)
