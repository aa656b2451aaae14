"""Writing a store: a draft beside it, that many processes fill, takes its place when complete.

One process makes the draft and commits it. Every process that writes, that one too, makes a
`Writer` from `draft.part`, which can be sent to it, writes whole storage chunks, and flushes:

    with Draft.create("out.zarr", [ArraySpec(name="u", ...)]) as draft:
        with Writer(draft.part) as writer:
            for index in my_share_of(draft.part.chunks("u")):
                with writer.chunk("u", index) as chunk:
                    for box in chunk.boxes:
                        chunk.write(gathered(box))
            writer.flush()
        draft.commit()  # after all have flushed

Until then, and after an error, the place is what it was before.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.arrays.store import durable
from parcast.arrays.store.layout import (
    METADATA,
    ArrayLayout,
    ArraySpec,
    check_json,
    coordinate,
    is_too_large,
    label_of,
)
from parcast.arrays.store.messages import (
    exists,
    no_store,
    problem,
)
from parcast.arrays.store.nodes import (
    MANIFEST,
    GroupNode,
    encoded,
    is_store,
    layout_in,
    manifest,
    read_nodes,
    readable,
)
from parcast.arrays.store.place import (
    APPEND,
    HeldPlace,
    Lock,
    StorePlace,
    begun,
    journal_of,
    publish,
    settle,
)
from parcast.arrays.store.versions import check_link, linked_place, publish_version
from parcast.arrays.store.writing import Part, Writer, dotted
from parcast.errors import ParameterError, RunFailed, as_whole

LINK: Final = (
    "must be a folder, got a link, or lies below one: nothing is written outside of a store. Put "
    "what it leads to in its place."
)


class Draft(HeldPlace):
    """A store, or rows of one, in the making; the process that leads the others holds it."""

    _what = "The store"

    def __init__(
        self,
        place: StorePlace,
        lock: Lock,
        folder: Path,
        *,
        may_replace: bool = False,
        versions: int = 0,
    ) -> None:
        """Use `create` or `append`."""
        self._may_replace, self._versions = may_replace, versions
        self._place, self._lock, self._folder = place, lock, folder
        self._appended: dict[str, GroupNode] = {}
        self._is_open = True
        self.part: Part
        os.mkdir(folder)
        self._inode = os.stat(folder).st_ino
        self._unflushed = durable.Unflushed(folder)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        arrays: Sequence[ArraySpec],
        *,
        coordinates: Mapping[str, Any] | None = None,
        coordinate_attributes: Mapping[str, Mapping[str, Any]] | None = None,
        attributes: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        versions: int = 0,
    ) -> "Draft":
        """Begin a new store with some arrays, or one array without a name.

        `coordinates` are values for names of dimensions, which are written at once, some with
        attributes; `attributes` are those of the store. With `versions` the path becomes a link
        to the store, and so many are kept, the new one among them.
        """
        own = coordinate_attributes or {}
        along = [
            coordinate(name, values, own.get(name, {}))
            for name, values in (coordinates or {}).items()
        ]
        specs = [*arrays, *(spec for spec, _ in along)]
        _check_together(specs, attributes or {})
        hint = "Two let those read on who have opened the one before."
        versions = as_whole("versions", versions, least=0, hint=hint)
        place = linked_place(path) if versions else StorePlace.of(path)
        with begun(place, cls._what, lambda: _check_target(place, overwrite)) as lock:
            settings: dict[str, Any] = {"may_replace": overwrite, "versions": versions}
            draft = cls(place, lock, place.new_draft(), **settings)
            with draft._or_abandoned():
                draft._write_metadata(specs, attributes or {})
                draft._write_coordinates({spec.name: values for spec, values in along})
            return draft

    @classmethod
    def append(
        cls,
        path: str | os.PathLike[str],
        rows: int,
        *,
        dimension: str = "",
        coordinates: Mapping[str, Any] | None = None,
    ) -> "Draft":
        """Begin to append rows along axis 0 to every array whose axis 0 has that dimension.

        `dimension` is needed where the first axes of the arrays have different names. The
        coordinate of it, if there is one, needs a value for each row.
        """
        rows = as_whole("rows", rows, least=1, hint="Give the number of rows to append.")
        place = StorePlace.of(path)
        with begun(place, cls._what, lambda: None) as lock:
            found = read_nodes(place.target, place)
            nodes = found.arrays
            for link in found.links:
                raise problem(place.target / link, LINK)
            if not nodes:
                raise problem(place.target, "must have arrays to append to. Create the store.")
            name = dimension or _first_dimension(nodes)
            grown = {
                array: node
                for array, node in nodes.items()
                if (layout := readable(node, array)).shape
                and (not name or layout.dimensions[0] == name)
            }
            values = _new_coordinates(grown, name, rows, coordinates or {})
            _check_appendable(grown, name)
            draft = cls(place, lock, place.new_draft(APPEND))
            with draft._or_abandoned():
                draft._begin_append(grown, rows)
                draft._drop_consolidated(found.root)
                draft._write_coordinates(values)
            return draft

    @contextmanager
    def _or_abandoned(self) -> Iterator[None]:
        """Leave nothing behind where the beginning fails."""
        try:
            yield
        except BaseException:
            self.abandon(keep_lock=True)
            raise

    def _write_metadata(self, specs: Sequence[ArraySpec], attributes: Mapping[str, Any]) -> None:
        """Write the metadata of a new store to the draft; thousands of arrays may be equal."""
        names = [spec.name for spec in specs]
        of_root = {**attributes, **manifest(names)}
        if "" not in names:
            root = {"zarr_format": 3, "node_type": "group", "attributes": of_root}
            self._write_small("", encoded(root))
        known: dict[int, tuple[bytes, ArrayLayout]] = {}  # by the one that others are like
        layouts = {}
        for spec in specs:
            kind = id(spec.like or spec)
            if kind not in known:
                document = spec.document()
                if not spec.name:
                    document["attributes"] |= of_root
                content = encoded(document)
                known[kind] = content, layout_in(content, is_whole=True)
            content, layouts[spec.name] = known[kind]
            self._write_small(spec.name, content)
        self.part = Part(folder=self._folder, target=self._place.target, layouts=layouts)

    def _begin_append(self, grown: Mapping[str, GroupNode], rows: int) -> None:
        """Write the metadata that the arrays will have to the draft."""
        layouts, bases = {}, {}
        for name, node in grown.items():
            layout = readable(node, name)
            document = node.changed(shape=[layout.shape[0] + rows, *layout.shape[1:]])
            content = encoded(document)
            self._write_small(name, content)
            layouts[name] = layout_in(content, is_whole=layout.is_whole)
            bases[name] = layout.shape[0]
        self._appended = dict(grown)
        self.part = Part(
            folder=self._folder, target=self._place.target, layouts=layouts, bases=bases
        )

    def _drop_consolidated(self, root: GroupNode) -> None:
        """Leave out the copies of all metadata in those of the root: they would go stale."""
        document = root.changed()
        if document.get("consolidated_metadata"):
            del document["consolidated_metadata"]
            self._write_small("", encoded(document))
            self._appended[""] = root

    def _write_small(self, name: str, content: bytes) -> None:
        """Write the metadata of a node to the draft."""
        top = os.fspath(self._folder)
        folder = durable.path_in(top, name)
        durable.make_folders(folder, top)
        file = os.open(f"{folder}/{METADATA}", durable.NEW, 0o666)
        try:
            durable.write_all(file, [content], 0)
        except BaseException:
            os.close(file)
            raise
        self._unflushed.add_file(file)
        self._unflushed.add_folder(folder)

    def _write_coordinates(self, values: Mapping[str, Any]) -> None:
        """Write the values of coordinates, which are few."""
        if values:
            with Writer(self.part) as writer:
                for name, array in values.items():
                    writer.write(name, array)
                writer.flush()

    def _put(self) -> None:
        """Put the draft in place."""
        self._check_complete()
        self._unflushed.flush()
        if self._appended:
            self._merge()
            return
        _check_target(self._place, self._may_replace)  # it may be there by now
        if self._versions:
            publish_version(self._place, self._folder, self._versions)
        else:
            publish(self._place, self._folder)

    def _check_complete(self) -> None:
        """Refuse to commit while a chunk is missing."""
        top = os.fspath(self._folder)
        for name, layout in self.part.layouts.items():
            for index in self.part.chunks(name):
                if not os.path.exists(durable.path_in(top, name, layout.key(index))):
                    raise RunFailed(
                        f"{self._place.target} cannot be completed: {label_of(name)}, chunk "
                        f"{dotted(index)} was not written. Write every chunk of part.chunks()."
                    )

    def _merge(self) -> None:
        """Put new chunks beside the old, then the new metadata in place of the old."""
        target, folders = self._place.target, set()
        journal = self._journal() if len(self._appended) > 1 else b""
        for name, layout in self.part.layouts.items():
            for index in self.part.chunks(name):
                key = layout.key(index)
                path = target / name / key
                if path.parent not in folders and not durable.is_within(path.parent, target):
                    raise problem(path.parent, LINK)
                durable.make_folders(str(path.parent), str(target))
                os.replace(self._folder / name / key, path)
                folders |= {path.parent, *path.parents} - {target, *target.parents}
                if path.parent == target:  # of the one array of the store
                    folders.add(target)
        for folder in sorted(folders, reverse=True):
            durable.flush_folder(folder)
        if journal:  # from here on all metadata have changed
            draft = self._folder / "journal"
            durable.write_file(draft, journal)
            os.rename(draft, self._place.journal)
            durable.flush_folder(target.parent)
        for name in self._appended:
            os.replace(self._folder / name / METADATA, target / name / METADATA)
            durable.flush_folder(target / name)
        self._place.journal.unlink(missing_ok=True)

    def _journal(self) -> bytes:
        """Give what all metadata become, so that they change together; it must be read again."""
        changed = {
            name: (node.content, (self._folder / name / METADATA).read_bytes())
            for name, node in self._appended.items()
        }
        journal = journal_of(changed)
        if is_too_large(journal):
            raise RunFailed(
                f"{self._place.target} cannot be appended to: {len(changed):,} arrays are too "
                "many to grow together. Write many small ones as a stack."
            )
        return journal

    def _is_in_place(self) -> bool:
        """Tell whether the new store is what a reader gets."""
        with suppress(OSError):
            if self._appended:
                name, node = next(iter(self._appended.items()))
                now = read_nodes(self._place.target, self._place).arrays.get(name)
                return now is not None and now.content != node.content
            return os.stat(self._place.target).st_ino == self._inode
        return False

    def abandon(self, *, keep_lock: bool = False) -> None:
        """Remove the draft: the place stays what it was. After a commit nothing is to be done."""
        if not self._is_open:
            return
        self._is_open = False
        self._unflushed.close()
        with suppress(OSError):  # what cannot be removed now, the next writer removes
            settle(self._place)
        if not keep_lock:
            with suppress(OSError):
                self._lock.release()


def _check_target(place: StorePlace, overwrite: bool) -> None:
    """Refuse a place where something else is, or a store that is not to be replaced."""
    if not place.is_there():
        return
    check_link(place)
    if os.path.islink(place.target) and not os.path.exists(place.target):
        return  # to a version that was removed
    if not is_store(place.target):
        raise no_store(str(place.target), "a store")
    if not overwrite:
        raise exists(str(place.target))


def _check_together(specs: Sequence[ArraySpec], attributes: Mapping[str, Any]) -> None:
    """Refuse arrays that cannot lie in one store."""
    names = [spec.name for spec in specs]
    for name, count in Counter(names).items():
        if count > 1:
            raise ParameterError(
                "arrays",
                must="have different names",
                got=f'two called "{name}"',
                hint="A coordinate has the name of its dimension; no other array may have it.",
            )
    if not names or ("" in names and len(names) > 1):
        raise ParameterError(
            "arrays",
            must="be arrays with names, or one without",
            got="none" if not names else f"one without a name among {len(names)}",
            hint="Give each array a name.",
        )
    held = [attributes, *(spec.attributes for spec in specs if not spec.name)]
    if any(MANIFEST in each for each in held):
        raise ParameterError(
            "attributes", must=f'leave the name "{MANIFEST}" free', hint="Choose another name."
        )
    check_json("attributes", attributes)
    _check_dimensions(specs)


def _check_dimensions(specs: Sequence[ArraySpec]) -> None:
    """Refuse a dimension of two lengths, which xarray could not open."""
    lengths: dict[str, tuple[int, str]] = {}
    for spec in specs:
        for name, length in zip(spec.dimensions, spec.shape, strict=bool(spec.dimensions)):
            known, where = lengths.setdefault(name, (length, spec.label))
            if known != length:
                raise ParameterError(
                    f"dimension {name}",
                    must="have one length",
                    got=f"{known} of {where} and {length} of {spec.label}",
                    hint="Name the dimensions that differ differently.",
                )


def _first_dimension(nodes: Mapping[str, GroupNode]) -> str:
    """The name that the first axes of all arrays have that are no coordinates."""
    firsts = {
        layout.dimensions[0]
        for name, node in nodes.items()
        if (layout := readable(node, name)).shape and layout.dimensions != (name,)
    }
    if len(firsts) > 1:
        raise ParameterError(
            "dimension",
            must="be given where arrays have different first dimensions",
            got="none",
            hint=f"Choose one of {', '.join(sorted(map(str, firsts)))}.",
        )
    return next(iter(firsts), None) or ""


def _new_coordinates(
    grown: Mapping[str, GroupNode], dimension: str, rows: int, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Values that are appended to the coordinate of a dimension."""
    if not grown:
        raise ParameterError(
            "dimension", must="be the first of an array", got=dimension, hint="Check the name."
        )
    needed = {name for name, node in grown.items() if readable(node, name).dimensions == (name,)}
    if needed != set(given):
        raise ParameterError(
            "coordinates",
            must=f"give values of {', '.join(sorted(needed)) or 'nothing'}",
            got=f"those of {', '.join(sorted(given)) or 'nothing'}",
            hint=f"Give {rows} new values for each coordinate of the dimension.",
        )
    values = {}
    for name in needed:
        dtype = readable(grown[name], name).dtype
        array = np.asarray(given[name])
        if array.shape != (rows,) or not np.can_cast(array.dtype, dtype, "same_kind"):
            raise ParameterError(
                f"coordinates {name}",
                must=f"be {rows} values of {dtype.name}",
                got=f"{array.dtype} of shape {array.shape}",
                hint="Give one value for each new row.",
            )
        values[name] = array.astype(dtype)
    return values


def _check_appendable(grown: Mapping[str, GroupNode], dimension: str) -> None:
    """Refuse arrays that rows cannot be appended to."""
    for name, node in grown.items():
        layout = readable(node, name)
        if not layout.is_sharded or not layout.index_at_end:
            raise problem(
                node.path,
                f"{label_of(name)} must have shards with the index at their end to be appended "
                "to. Append with the tool that wrote it, or write a new store.",
            )
        if dimension and dimension in layout.dimensions[1:]:
            raise problem(
                node.path, f"{label_of(name)} has the dimension {dimension} twice. Rename one."
            )
