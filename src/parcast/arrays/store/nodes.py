"""The metadata of a store: its groups and arrays, as a complete append makes them."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from parcast.arrays.store import durable
from parcast.arrays.store.codecs import UnsupportedError
from parcast.arrays.store.durable import LARGEST_SMALL
from parcast.arrays.store.layout import (
    METADATA,
    MOST_VALUES,
    SCHEMA,
    ArrayLayout,
    is_too_large,
    label_of,
    layout_of,
    parsed,
)
from parcast.arrays.store.messages import not_readable, problem
from parcast.arrays.store.place import StorePlace, is_name_within, pending_metadata
from parcast.arrays.store.versions import not_there
from parcast.errors import FileProblems, ParameterError

MANIFEST: Final = "parcast"  # attribute of the root of a store that parcast wrote
OLDER: Final = (".zgroup", ".zarray", ".zattrs")  # of Zarr 2
DEEPEST: Final = 32  # groups in groups
TRIES: Final = 3  # of reading all metadata at one time


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupNode:
    """An array of a store with the bytes of its metadata."""

    path: Path  # of its metadata
    content: bytes
    layout: ArrayLayout | None  # None where it is not read here
    refusal: str = ""  # why
    is_damaged: bool = False  # the metadata are no JSON

    def changed(self, **members: Any) -> dict[str, Any]:
        """Give the metadata with some members changed."""
        return {**parsed(self.content), **members}


@dataclass(frozen=True, kw_only=True, slots=True)
class Nodes:
    """The arrays of a store by their names, and the attributes of its root."""

    root: GroupNode
    arrays: Mapping[str, GroupNode]
    attributes: Mapping[str, Any]
    missing: tuple[str, ...] = ()  # arrays that the store should have
    links: tuple[str, ...] = ()  # to folders, which are not followed

    @property
    def is_ours(self) -> bool:
        """Whether parcast wrote the store: every chunk has a file."""
        return is_ours(self.attributes)


def is_ours(attributes: Mapping[str, Any]) -> bool:
    """Tell by the attributes of its root whether parcast wrote a store."""
    manifest = attributes.get(MANIFEST)
    return isinstance(manifest, Mapping) and manifest.get("schema") == SCHEMA


def encoded(document: Mapping[str, Any]) -> bytes:
    """Write metadata as the text of a file, which must be read again."""
    content = _indented(json.dumps(document))
    if is_too_large(content):
        raise ParameterError(
            "attributes",
            must=f"have at most {MOST_VALUES:,} values in {LARGEST_SMALL >> 20} MiB",
            got=f"{len(content) >> 20} MiB",
            hint="Write long lists as arrays.",
        )
    return content


@lru_cache(maxsize=4)
def _indented(text: str) -> bytes:
    """Indent a document, which takes long: many arrays have the same."""
    return (json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n").encode()


def manifest(names: "list[str]") -> dict[str, Any]:
    """Attribute of the root that says what the store must have."""
    return {MANIFEST: {"schema": SCHEMA, "arrays": names}}


def is_store(path: Path) -> bool:
    """Tell whether a folder is the root of a Zarr 3 store."""
    return (path / METADATA).is_file()


def read_nodes(root: Path, place: StorePlace) -> Nodes:
    """Read the metadata of a store; what an append has completed counts as done.

    They are read again if an append has put its journal beside the store, or removed it,
    meanwhile: otherwise some arrays might have its rows, and others not.
    """
    for _ in range(TRIES - 1):
        before = _last_change(place.target.parent)
        nodes = _nodes(root, place)
        if _last_change(place.target.parent) == before:
            return nodes
    return _nodes(root, place)


def _last_change(folder: Path) -> int:
    """Time at which a name was last made or removed in a folder. [ns]; 0 if there is none."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _nodes(root: Path, place: StorePlace) -> Nodes:
    """Read the metadata of a store once."""
    pending = pending_metadata(place)
    top = _content(root / METADATA, pending, root)
    document = _document(root / METADATA, top)
    attributes = document.get("attributes") or {}
    if document.get("node_type") == "array":
        node = _node(root / METADATA, top, is_whole=is_ours(attributes))
        return Nodes(root=node, arrays={"": node}, attributes=attributes)
    root_node = GroupNode(path=root / METADATA, content=top, layout=None)
    expected = _expected(attributes, root) if is_ours(attributes) else set()
    links: list[str] = []
    arrays = _arrays_in(root, "", pending, expected, links)
    return Nodes(
        root=root_node,
        arrays=arrays,
        attributes=attributes,
        missing=tuple(sorted(expected - arrays.keys())),
        links=tuple(links),
    )


def _expected(attributes: Mapping[str, Any], root: Path) -> set[str]:
    """Names of the arrays that a store that parcast wrote should have."""
    names = attributes[MANIFEST].get("arrays")
    if not isinstance(names, list) or not all(map(is_name_within, names)):
        message = "must name the arrays of the store as text, within it. Restore it from a copy."
        raise problem(root / METADATA, message)
    return set(names)


def _arrays_in(
    root: Path, group: str, pending: Mapping[Path, bytes], expected: set[str], links: list[str]
) -> dict[str, GroupNode]:
    """Find the arrays in a group and in those within it; links to folders are noted."""
    arrays: dict[str, GroupNode] = {}
    try:
        entries = sorted(os.scandir(root / group), key=lambda entry: entry.name)
    except OSError as failure:
        raise not_readable(root / group, failure) from failure
    for entry in entries:
        path = Path(entry.path) / METADATA
        if entry.name.startswith(".") or not entry.is_dir() or not os.path.lexists(path):
            continue
        name = f"{group}/{entry.name}" if group else entry.name
        if entry.is_symlink():
            links.append(name)
            continue
        content = _content(path, pending, root) if os.path.isfile(path) else b""
        try:
            document = _document(path, content)
        except FileProblems as failure:  # the other arrays can be read
            refusal = failure.problems[0].message
            arrays[name] = GroupNode(
                path=path, content=content, layout=None, refusal=refusal, is_damaged=True
            )
            continue
        if document.get("node_type") == "array":
            arrays[name] = _node(path, content, is_whole=name in expected)
        elif name.count("/") < DEEPEST:
            arrays |= _arrays_in(root, name, pending, expected, links)
    return arrays


@lru_cache(maxsize=64)
def layout_in(content: bytes, *, is_whole: bool) -> ArrayLayout:
    """Read the `zarr.json` of an array; arrays with the same one share the layout."""
    return layout_of(parsed(content), is_whole=is_whole)


def _node(path: Path, content: bytes, *, is_whole: bool) -> GroupNode:
    """Read one array, or why it cannot be read."""
    try:
        layout = layout_in(content, is_whole=is_whole)
    except UnsupportedError as failure:
        return GroupNode(path=path, content=content, layout=None, refusal=str(failure))
    return GroupNode(path=path, content=content, layout=layout)


def readable(node: GroupNode, name: str) -> ArrayLayout:
    """Give the layout of an array, or say why it is not read here."""
    if node.layout is None:
        raise problem(node.path, f"{label_of(name)} {node.refusal}")
    return node.layout


def _content(path: Path, pending: Mapping[Path, bytes], root: Path) -> bytes:
    """Read the metadata of a node."""
    try:
        return pending[path] if path in pending else durable.read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise problem(root, _no_store(root)) from None
    except OSError as failure:
        raise not_readable(path, failure) from failure


def _no_store(root: Path) -> str:
    """Say why a place is no store."""
    if not os.path.exists(root):
        return not_there(root)
    if not os.path.isdir(root):
        return "must be a folder with a Zarr 3 store, got a file. Check the path."
    if any(os.path.exists(root / name) for name in OLDER):
        return (
            "must be a Zarr 3 store, got Zarr 2. Convert a copy with zarr-python: zarr migrate v3"
        )
    return f"must be a Zarr 3 store, got a folder without {METADATA}. Check the path."


def _document(path: Path, content: bytes) -> dict[str, Any]:
    """Read metadata as JSON."""
    if not content and os.path.lexists(path) and not os.path.isfile(path):
        raise problem(path, "must be a file with JSON, got none. Restore it from a copy.")
    try:
        document = parsed(content)
    except ValueError as failure:
        raise problem(path, f"must be JSON, got: {failure}. Restore it from a copy.") from failure
    if not isinstance(document, dict) or document.get("zarr_format") != 3:
        raise problem(path, "must be the metadata of Zarr 3. Restore it from a copy.")
    if not isinstance(document.get("attributes") or {}, dict):
        raise problem(path, "must have an object as attributes. Restore it from a copy.")
    return document
