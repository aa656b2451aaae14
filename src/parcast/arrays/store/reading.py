"""Reading boxes of arrays: of every Zarr 3 store whose codecs are known, and no more than needed.

    with open_store("out.zarr") as store:
        part = store["u"].read((0, 128), (64, 128))  # start, count

A store that is replaced meanwhile is read on as it was, or is refused; old and new never mix.
"""

import errno
import os
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from parcast.advice import File, ours
from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store import durable
from parcast.arrays.store.chunk_file import ChunkReader, subchunks_of
from parcast.arrays.store.codecs import DamageError
from parcast.arrays.store.grid import Index
from parcast.arrays.store.layout import METADATA, ArrayLayout, check_fill, label_of, new_array
from parcast.arrays.store.messages import not_readable, problem
from parcast.arrays.store.nodes import MANIFEST, Nodes, read_nodes, readable
from parcast.arrays.store.place import Failing, Lock, Stamp, StorePlace, settle
from parcast.errors import FileProblems, ParameterError, RunFailed, as_whole
from parcast.files.closing import Closing
from parcast.words import did_you_mean

OPEN: Final = 4  # files of an array that stay open between reads
VERIFY: Final = (
    "Check the store: {}. Boxes without it can be read, and everything else with lost=VALUE in "
    "its place."
)
READ_ONLY: Final = {errno.EROFS, errno.EACCES, errno.EPERM}


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Root:
    """The folder of an open store: it stays open if another takes its place."""

    path: str  # as messages call it
    place: Path  # absolute
    folder: int

    def check_same(self) -> None:
        """Refuse to go on where the store was replaced or removed."""
        try:
            if os.path.samestat(os.fstat(self.folder), os.stat(self.place)):
                return
        except FileNotFoundError:
            pass
        raise problem(self.path, "was replaced while it was read. Open it again.")


class StoredArray:
    """An array of a store: boxes of it can be read; its name is "" where it is the store."""

    def __init__(
        self,
        name: str,
        layout: ArrayLayout,
        root: "_Root",
        *,
        along: int | None = None,
        readers: "OrderedDict[Index, ChunkReader | None] | None" = None,
    ) -> None:
        """Read an array of an open store; `along`: only this index of axis 0.

        Arrays of a stack share the `readers` of its storage chunks.
        """
        self.name, self._layout, self._root, self._along = name, layout, root, along
        self._open = OrderedDict() if readers is None else readers
        own = slice(along is not None, None)  # of its dimensions
        self.shape, self.chunk = layout.shape[own], layout.chunk[own]
        self.subchunk = layout.subchunk[own]  # the least that is read
        self.dimensions = layout.dimensions[own]  # names of them
        self.dtype = layout.dtype.newbyteorder("=")  # of its elements in memory

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Its attributes, without what parcast keeps there."""
        held = deepcopy(dict(self._layout.attributes))  # equal arrays share a layout
        held.pop(MANIFEST, None)
        return MappingProxyType(held)

    def read(
        self,
        start: Any = None,
        count: Any = None,
        *,
        out: "np.ndarray[Any, Any] | None" = None,
        lost: Any = None,
    ) -> "np.ndarray[Any, Any]":
        """Read a box, by default everything from `start` on, into a new array or into `out`.

        Elements that are damaged or missing become `lost`; by default they are an error.
        """
        box = self._box(start, count)
        target = self._target(box, out)
        if lost is not None:
            check_fill("lost", lost, self._layout.dtype)
        if self._along is None:
            self._fill(box, target, lost)
        else:
            one = Box((self._along, *box.start), (1, *box.count))
            self._fill(one, target[np.newaxis], lost)
        return target

    def _box(self, start: Any, count: Any) -> Box:
        """Check a box."""
        rank = len(self.shape)
        begin = self._numbers("start", start, (0,) * rank)
        rest = tuple(n - b for n, b in zip(self.shape, begin, strict=True))
        extents = self._numbers("count", count, tuple(max(n, 0) for n in rest))
        if any(c > n for c, n in zip(extents, rest, strict=True)):
            raise ParameterError(
                "count",
                must=f"keep the box within the shape {self.shape}",
                got=f"{extents} from {begin} on",
                hint="Read a smaller box.",
            )
        return Box(begin, extents)

    def _numbers(self, name: str, given: Any, default: Index) -> Index:
        """Check the numbers of a box."""
        if given is None:
            return default
        hint = "Give one whole number for each dimension."
        numbers = given if hasattr(given, "__iter__") else (given,)
        checked = tuple(as_whole(name, n, least=0, hint=hint) for n in numbers)
        if len(checked) != len(default):
            raise ParameterError(
                name, must=f"have {len(default)} numbers", got=str(len(checked)), hint=hint
            )
        return checked

    def _target(self, box: Box, out: "np.ndarray[Any, Any] | None") -> "np.ndarray[Any, Any]":
        """Give the array to read into."""
        if out is None:
            return new_array(box.count, self.dtype)
        if out.shape != box.count or out.dtype != self.dtype:
            raise ParameterError(
                "out",
                must=f"have shape {box.count} and elements of {self.dtype.name}",
                got=f"{out.shape} and {out.dtype}",
                hint="Leave it out to get a new array.",
            )
        return out

    def _fill(self, box: Box, target: "np.ndarray[Any, Any]", lost: Any) -> None:
        """Read the elements of a box of the whole array."""
        for index in self._layout.grid.touching(box):
            try:
                reader = self._reader(index)
                if (
                    reader is not None
                    and not reader.has_index()
                    and not reader.assume_index(index)
                ):
                    reader.index()  # says what is wrong with it
                self._fill_from(reader, index, box, target)
            except (DamageError, OSError) as failure:
                if lost is not None:
                    self._rescue(index, box, target, lost)
                elif isinstance(failure, DamageError):
                    raise self._damaged(index, str(failure)) from failure
                else:
                    raise not_readable(self._path(index), failure) from failure

    def _rescue(self, index: Index, box: Box, target: "np.ndarray[Any, Any]", lost: Any) -> None:
        """Read what can be read of a damaged storage chunk, subchunk by subchunk."""
        target[(self._layout.grid.box(index) & box).within(box)] = lost
        with suppress(DamageError, OSError):
            reader = self._reader(index)
            for number, whole in subchunks_of(self._layout, index, box):
                if reader is not None and reader.has(number):
                    with suppress(DamageError, OSError):
                        part = whole & box
                        target[part.within(box)] = reader.decoded(number)[part.within(whole)]

    def _fill_from(
        self, reader: ChunkReader | None, index: Index, box: Box, target: "np.ndarray[Any, Any]"
    ) -> None:
        """Read what a storage chunk has of a box."""
        boxes = dict(subchunks_of(self._layout, index, box))
        there = {number for number in boxes if reader is not None and reader.has(number)}
        for number in boxes.keys() - there:
            place = (boxes[number] & box).within(box)
            if self._layout.is_whole:
                raise DamageError(f"has no elements {boxes[number] & box}")
            target[place] = self._layout.fill
        if reader is not None:
            for number, elements in reader.several(there):
                part = boxes[number] & box
                target[part.within(box)] = elements[part.within(boxes[number])]

    def _reader(self, index: Index) -> ChunkReader | None:
        """Open the file of a storage chunk; None where its elements are fill values."""
        if index in self._open:
            self._open.move_to_end(index)
            return self._open[index]
        while len(self._open) >= OPEN:
            _, oldest = self._open.popitem(last=False)
            if oldest is not None:
                oldest.close()
        self._open[index] = self._opened(index)
        return self._open[index]

    def _opened(self, index: Index) -> ChunkReader | None:
        """Open the file of a storage chunk."""
        key = os.path.join(self.name, self._layout.key(index))
        try:
            file = durable.open_regular(key, folder=self._root.folder)
        except FileNotFoundError:
            self._root.check_same()
            if self._layout.is_whole:
                raise DamageError("is missing") from None
            return None
        return ChunkReader(self._layout, file)

    def _path(self, index: Index) -> str:
        """Path of the file of a storage chunk, for messages."""
        return os.path.join(self._root.path, self.name, self._layout.key(index))

    def _damaged(self, index: Index, fault: str) -> FileProblems:
        """Say what is wrong with a chunk, and which elements are lost."""
        where = f"{label_of(self.name)}, chunk {'.'.join(map(str, index))}"
        lost = self._layout.grid.box(index)
        return problem(self._path(index), f"{fault} ({where}, elements {lost}). {self._verify()}")

    def _verify(self) -> str:
        """Say how to find all that is lost."""
        return VERIFY.format(ours("arrays", "verify", File(self._root.path)))

    def shares_files(self, other: "StoredArray") -> bool:
        """Whether it is in the same stack."""
        return self._open is other._open

    def close(self) -> None:
        """Close the files that are open."""
        for reader in self._open.values():
            if reader is not None:
                reader.close()
        self._open.clear()


class Store(Mapping[str, StoredArray], Closing):
    """The arrays of an open store by their names."""

    def __init__(self, root: "_Root", nodes: Nodes, stamp: Stamp) -> None:
        """Use `open_store`; `stamp` tells it from another store that takes its place."""
        self.stamp = stamp
        self.path, self._nodes, self._root = root.path, nodes, root
        self._arrays: dict[str, StoredArray] = {}
        self._readers: defaultdict[str, OrderedDict[Index, ChunkReader | None]]
        self._readers = defaultdict(OrderedDict)  # of storage chunks, by arrays on disk
        self._end = weakref.finalize(root, os.close, root.folder)  # arrays may outlive the store
        self._stacked = {
            name: (array, i)
            for array, node in nodes.arrays.items()
            if node.layout is not None
            for i, name in enumerate(_names_in(node.layout))
            if name not in nodes.arrays
        }

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes of its root, without what parcast keeps there."""
        held = self._nodes.attributes.items()
        return MappingProxyType({key: value for key, value in held if key != MANIFEST})

    def __getitem__(self, name: str) -> StoredArray:
        """Give one array, which may be part of a stacked one."""
        if name not in self._arrays:
            along = None
            place = name
            if name in self._stacked:
                place, along = self._stacked[name]
            if place not in self._nodes.arrays:
                raise ParameterError(
                    "name",
                    must=f"be an array of {self.path}",
                    got=f"{name!r:.80}",
                    hint=f"It has {_listed(self._nodes.arrays)}.{did_you_mean(str(name), self)}",
                )
            layout = readable(self._nodes.arrays[place], place)
            own = self._readers[place]
            self._arrays[name] = StoredArray(place, layout, self._root, along=along, readers=own)
        return self._arrays[name]

    def stack_of(self, name: str) -> str:
        """Name the stack that an array is in, or is; "" where there is none."""
        stacks = {stack for stack, _ in self._stacked.values()}
        return self._stacked[name][0] if name in self._stacked else name if name in stacks else ""

    def __iter__(self) -> Iterator[str]:
        """Names of the arrays."""
        return iter(self._nodes.arrays)

    def __len__(self) -> int:
        """Number of arrays."""
        return len(self._nodes.arrays)

    def __contains__(self, name: object) -> bool:
        """Tell whether an array can be read by this name."""
        return name in self._nodes.arrays or name in self._stacked

    def close(self) -> None:
        """Close every file."""
        for array in self._arrays.values():
            array.close()
        self._end()


def _names_in(layout: ArrayLayout) -> list[str]:
    """Names of the arrays that are stacked in one; none where it is a usual array."""
    names = layout.attributes.get("names")
    if not (layout.is_whole and isinstance(names, list) and layout.shape[:1] == (len(names),)):
        return []
    return names if all(isinstance(name, str) for name in names) else []


def _listed(names: Mapping[str, Any]) -> str:
    """List some names."""
    first = [name or '""' for name in list(names)[:8]]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(first) or "no array") + more


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open a Zarr 3 store to read boxes of its arrays.

    A store that an interrupted write has left aside is put back first.
    """
    place = StorePlace.of(path)
    root = place.target
    if not place.is_there() and os.path.lexists(place.aside):
        root = _put_back(place)
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as failure:
        read_nodes(root, place)  # says what is wrong
        raise not_readable(root, failure) from failure
    try:
        nodes = read_nodes(root, place)
        opened = _Root(os.fsdecode(path), root, folder)
        changed = os.stat(root / METADATA).st_mtime_ns
        opened.check_same()
    except OSError as failure:
        os.close(folder)
        raise not_readable(root, failure) from failure
    except BaseException:
        os.close(folder)
        raise
    return Store(opened, nodes, Stamp(changed, os.fstat(folder).st_ino))


def _put_back(place: StorePlace) -> Path:
    """Put back what an interrupted commit left aside; where that cannot be, read it there."""
    try:
        lock = Lock.take(place)
    except RunFailed:
        return place.target  # its writer is about to put it in place
    except OSError as failure:
        if failure.errno in READ_ONLY:
            return place.aside
        raise not_readable(place.target, failure) from failure
    with Failing("The store", place.target):
        try:
            settle(place)
        finally:
            lock.release()
    return place.target
