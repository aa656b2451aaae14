"""Score-P and Scalasca profiles, `.cubex`, through pycubexr (the extra `cubex`).

    anchor.xml   what was measured: metrics, call paths and locations; may be packed by gzip
    7.index      the call paths of which metric 7 has values
    7.data       its values, a row for each of these call paths; rows may be packed by zlib

A row has one value for each location, so that its size is known before it is unpacked.

Several files make a series. Their folders tell the parameters as Extra-P names them: of
`x.p4.n100.r1/profile.cubex`, `p` is 4 and `n` 100, and `r1` is the first repetition. Where the
folder tells no `p`, it is the number of processes, or of threads where there is one process.

The time of a call path is inclusive, that of the slowest process or thread.
"""

import gzip
import io
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from parcast.files.bounds import as_size, require_at_most
from parcast.files.decoding import opened
from parcast.files.faults import Faults
from parcast.importers.axes import metric_argument
from parcast.importers.call_profile import FEWER, JOIN, split_mean
from parcast.importers.content import beginning, library, reading_with, refuse_packed
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.timings.columns import MOST_TEXT
from parcast.units import NUMBER, shown
from parcast.words import did_you_mean

LARGEST_ANCHOR: Final = 32_000_000  # bytes, unpacked: as objects it takes some 25 times as much
MOST_VALUES: Final = 20_000_000  # call paths of a profile, times its locations
MOST_MEMBERS: Final = 10_000  # two for each metric
BLOCK: Final = 512  # of a tar archive [B]
ANCHOR: Final = "anchor.xml"
CUT_OFF: Final = "The file may have been cut off: copy it again."
TYPES: Final = {  # of the values of a metric
    **dict.fromkeys(("DOUBLE", "FLOAT", "MINDOUBLE", "MAXDOUBLE"), "f8"),
    **dict.fromkeys(("INT64", "INTEGER", "SIGNED INTEGER"), "i8"),
    **dict.fromkeys(("UINT64", "UNSIGNED INTEGER"), "u8"),
    **dict.fromkeys(("INT", "INT32", "SIGNED INT"), "i4"),
    **dict.fromkeys(("UINT32", "UNSIGNED INT"), "u4"),
    **dict.fromkeys(("INT16", "SHORT INT", "SIGNED SHORT INT"), "i2"),
    **dict.fromkeys(("UINT16", "UNSIGNED SHORT INT"), "u2"),
    "INT8": "i1",
    **dict.fromkeys(("UINT8", "CHAR"), "u1"),
}
INCLUSIVE, EXCLUSIVE = "inclusive", "exclusive"
TIME = "time"  # the metric of Score-P; the others count, or are parts of it
UNITS = {"sec": 1.0, "s": 1.0, "": 1.0, "usec": 1e-6, "nsec": 1e-9, "msec": 1e-3}
NODE = re.compile(rb"<systemtreenode\b[^>]*>\s*<name>([^<]*)</name>\s*<class>node</class>")
PARAMETER = re.compile(rf"([A-Za-z_]+)({NUMBER.replace('.', ',')}|{NUMBER})")
PROFILE = "profile.cubex"  # in the folder of a run
WITHOUT = "Without it, import the JSON or text that Extra-P writes of these profiles."
TOGETHER = {"MINDOUBLE": np.minimum, "MAXDOUBLE": np.maximum}  # of a region and those it calls


@dataclass(frozen=True, slots=True)
class _Member:
    """Where a file of the archive lies."""

    start: int  # [B]
    size: int  # [B]


class Archive:
    """The files of an archive, each checked before it is unpacked."""

    def __init__(self, stream: Any, faults: Faults) -> None:
        self._stream, self._faults = stream, faults
        self.hosts: tuple[str, ...] = ()  # that the description names
        self._members = self._found()
        self._check_anchor()

    def rows(
        self, metric: int, type_of_values: str, locations: int
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Go through the rows of a metric: the number of a call path, and a value a location."""
        if type_of_values not in TYPES:
            self._refuse(f"must have values that are plain numbers, got {shown(type_of_values)}.")
        order, indices = self._index(f"{metric}.index")
        kind = np.dtype(f"{order}{TYPES[type_of_values]}")
        pieces = self._pieces(f"{metric}.data", order, len(indices), locations * kind.itemsize)
        for index, piece in zip(indices, pieces, strict=True):
            yield int(index), np.frombuffer(piece, dtype=kind).astype(np.float64)

    def _index(self, name: str) -> tuple[str, NDArray[np.int32]]:
        """Read the order of bytes, and the numbers of the call paths that have values."""
        content = self._content(name)
        order = "<" if content[11:15] == struct.pack("<i", 1) else ">"
        count = struct.unpack(f"{order}i", content[18:22])[0] if len(content) >= 22 else -1
        if not content.startswith(b"CUBEX.INDEX") or len(content) != 22 + 4 * count:
            self._refuse(f"{name} must be an index of as many call paths as it claims.")
        return order, np.frombuffer(content, dtype=f"{order}i4", offset=22)

    def _pieces(self, name: str, order: str, count: int, size: int) -> Iterator[bytes]:
        """Give rows of `size` bytes, unpacked."""
        content = self._content(name)
        if content.startswith(b"CUBEX.DATA"):
            if len(content) != 10 + count * size:
                self._refuse_data(name, count, size)
            for start in range(10, len(content), size):
                yield content[start : start + size]
            return
        head = 19 + 24 * count
        if not content.startswith(b"ZCUBEX.DATA") or len(content) < head:
            self._refuse_data(name, count, size)
        places = np.frombuffer(content[11:head], dtype=f"{order}i8")
        if places[0] != count or places.min() < 0:
            self._refuse_data(name, count, size)
        for packed in places[3::3].tolist():
            unpacker = zlib.decompressobj()
            piece = unpacker.decompress(content[head : head + packed], size + 1)
            if len(piece) != size or not unpacker.eof:
                self._refuse_data(name, count, size)
            yield piece
            head += packed

    def _refuse_data(self, name: str, count: int, size: int) -> NoReturn:
        """Refuse values of another size than they must have."""
        self._refuse(f"{name} must have {count:,} rows of {size:,} bytes, got others.")

    def _content(self, name: str) -> bytes:
        if name not in self._members:
            self._refuse(f"must have the file {name}, got none.")
        member = self._members[name]
        self._stream.seek(member.start)
        return bytes(self._stream.read(member.size))

    def _check_anchor(self) -> None:
        """Refuse a description that is too large, or grows when it is read."""
        size = self._members.get(ANCHOR, _Member(0, 0)).size
        content = self._content(ANCHOR) if size <= LARGEST_ANCHOR else b""
        if content and not content.startswith(b"<?xml"):
            with suppress(OSError, EOFError, zlib.error):  # the library says what is wrong with it
                content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(LARGEST_ANCHOR + 1)
        if max(size, len(content)) > LARGEST_ANCHOR:
            must = f"must have an {ANCHOR} of at most {as_size(LARGEST_ANCHOR)}"
            self._faults.refuse(f"{must}, got a larger one. Profile fewer regions.")
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            self._faults.refuse(f"must have an {ANCHOR} without entities, got some. {CUT_OFF}")
        named = (x.decode("utf-8", "replace") for x in NODE.findall(content))
        self.hosts = tuple(sorted(set(named)))

    def _found(self) -> dict[str, _Member]:
        """Find the files of the archive, none of which ends behind its end."""
        self._stream.seek(0, io.SEEK_END)
        end, start = self._stream.tell(), 0
        members: dict[str, _Member] = {}
        while start < end:
            self._stream.seek(start)
            head = self._stream.read(BLOCK)
            if not head.strip(b"\0"):
                break
            name, size = self._member(head)
            if start + BLOCK + size > end:
                holds = max(end - start - BLOCK, 0)
                self._refuse(f"{shown(name)} must have its {size:,} bytes, got {holds:,}.")
            if name in members or len(members) == MOST_MEMBERS:
                must = f"must have up to {MOST_MEMBERS:,} files, each once"
                self._refuse(f"{must}, got {shown(name)} again, or more.")
            members[name] = _Member(start + BLOCK, size)
            start += BLOCK + -(-size // BLOCK) * BLOCK
        return members

    def _member(self, head: bytes) -> tuple[str, int]:
        """Read the name and the size [B] in the head of a file, which is a plain one."""
        if len(head) < BLOCK:
            self._refuse(f"must end with a complete file, got {len(head)} bytes of a head.")
        parts = (head[345:500], head[:100]) if head[257:262] == b"ustar" else (head[:100],)
        texts = (part.split(b"\0", 1)[0].decode("utf-8", "replace") for part in parts)
        name = "/".join(filter(None, texts))
        if head[156:157] not in (b"0", b"\0", b"5"):
            self._refuse(f"must be an archive of plain files, got {shown(name)} of another kind.")
        if head[124] in (0o200, 0o377):
            return name, int.from_bytes(head[125:136], "big")
        with suppress(ValueError):
            return name, int(head[124:136].split(b"\0", 1)[0].strip() or b"0", 8)
        return self._refuse(f"{shown(name)} must have a size.")

    def _refuse(self, message: str) -> NoReturn:
        self._faults.refuse(f"{message} {CUT_OFF}")


def recognises(head: bytes, path: Path) -> bool:
    """Tell by its first bytes whether a file is a tar archive with a profile in it."""
    if path.is_dir():
        return (path / PROFILE).is_file()
    return head[257:262] == b"ustar" and (path.suffix == ".cubex" or ANCHOR.encode() in head[:100])


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each call path of each file, its `callpath` as ``main->solve``.

    `metric` is "inclusive", "exclusive", or a metric of the files in units of time; with ":mean"
    behind it, or "mean" alone, the mean over the locations. Default: inclusive, of the slowest.
    """
    wanted, mean = split_mean(metric)
    notes: list[str] = []
    for path, faults in runs.files():
        times, point, note = times_of(path, faults, wanted)
        notes += [note] if note not in notes else []
        for callpath, by_place in times.items():
            time = float(by_place.mean() if mean else by_place.max())
            runs.add(point, [time], faults, metric="time_s", callpath=callpath, field=callpath)
    kind = EXCLUSIVE if wanted == EXCLUSIVE else INCLUSIVE
    who = "the mean of the locations" if mean else "the slowest process or thread"
    notes.append(f"The time is {kind}, of {who}.")
    return runs.imported(notes=notes)


@contextmanager
def _opened(path: Path, faults: Faults, otherwise: str = "") -> Iterator[tuple[Any, Archive]]:
    """Give what the library reads of a profile, and the archive of its values."""
    _refuse_foreign(path, faults)
    pycubexr = library("pycubexr", faults, extra="cubex", otherwise=otherwise)
    with (
        reading_with("pycubexr", "a profile", faults, CUT_OFF),
        opened(path) as (_, stream),
    ):
        archive = Archive(stream, faults)
        with pycubexr.CubexParser(str(path)) as cube:
            yield cube, archive


def times_of(
    path: Path, faults: Faults, wanted: str | None
) -> tuple[dict[str, NDArray[np.float64]], dict[str, float], str]:
    """Give the times of each call path on all CPU threads [s], the parameters, and a note."""
    with _opened(path, faults, WITHOUT) as (cube, archive):
        chosen = _chosen(cube, wanted, faults)
        nodes = _nodes(cube, faults)
        is_inclusive = wanted != EXCLUSIVE
        values = _values(cube, archive, chosen, [x for x, _ in nodes], is_inclusive=is_inclusive)
        point, note = _point(path, cube)
    scale = UNITS[chosen.units or ""]
    times: dict[str, NDArray[np.float64]] = {}
    for node, callpath in nodes:
        times[callpath] = times.get(callpath, 0.0) + values[node.id] * scale
    return times, point, note


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CubexCounts:
    """What the first thread of each process did by call path, without what that calls."""

    paths: dict[tuple[str, ...], int]  # call paths and their rows
    metrics: dict[str, NDArray[np.float64]]  # (paths, processes); times [s]
    point: dict[str, float]  # parameters of the run
    hosts: tuple[str, ...]  # of all processes
    threads: int  # of the process with the most


def counts_of(path: Path, faults: Faults, names: Sequence[str]) -> CubexCounts:
    """Give the time and other metrics of each call path; those that a file lacks are left out."""
    with _opened(path, faults) as (cube, archive):
        chosen = {x.name: x for x in cube.all_metrics() if x.name in names}
        unit = next((x.units or "" for x in cube.all_metrics() if x.name == TIME), None)
        if unit not in UNITS:
            got = "none" if unit is None else shown(repr(unit))
            faults.refuse(
                f"must have the metric time in sec, msec, usec or nsec, got {got}. Take the "
                "profile.cubex that Score-P itself writes."
            )
        chosen[TIME] = _chosen(cube, None, faults)
        nodes = [node for node, _ in _nodes(cube, faults)]
        is_first = np.array([int(x.rank or 0) == 0 for x in _threads(cube)], dtype=bool)
        if not is_first.any():
            faults.refuse("must have processes, got none. Measure the run again.")
        paths, numbers = _paths(cube, nodes)
        metrics = {}
        for name, metric in chosen.items():
            values = _values(cube, archive, metric, nodes, is_inclusive=False)
            metrics[name] = np.zeros((len(paths), int(is_first.sum())))
            every = np.stack([values[node.id][is_first] for node in nodes])
            np.add.at(metrics[name], numbers, every)
        metrics[TIME] *= UNITS[chosen[TIME].units or ""]
        return CubexCounts(
            paths=paths,
            metrics=metrics,
            point=_point(path, cube)[0],
            hosts=archive.hosts,
            threads=int(np.bincount(np.cumsum(is_first)).max()),
        )


def _paths(cube: Any, nodes: Sequence[Any]) -> tuple[dict[tuple[str, ...], int], list[int]]:
    """Give the different paths and their numbers, and that of each node; callers come first."""
    above: dict[int, tuple[str, ...]] = {}
    paths: dict[tuple[str, ...], int] = {}
    numbers = []
    for node in nodes:
        own = (*above.get(node.id, ()), " ".join(str(cube.get_region(node).name).split()))
        above |= {child.id: own for child in node.get_children()}
        numbers.append(paths.setdefault(own, len(paths)))
    return paths, numbers


FORMAT = Format(
    title="Score-P or Scalasca .cubex",
    recognises=recognises,
    timings=read,
    member=PROFILE,
    extra="cubex",
)


def _refuse_foreign(path: Path, faults: Faults) -> None:
    """Refuse what is no archive, before a library is asked for."""
    head = beginning(path, 512)
    if not head:
        faults.refuse("must be a Score-P profile, got an empty file. Measure the run again.")
    refuse_packed(head, faults)
    is_archive = head[257:262] == b"ustar"
    if len(head) < 512:
        faults.refuse(f"must be a .cubex file, got {len(head)} bytes. {CUT_OFF}")
    if not is_archive:
        got = shown(repr(head[:24].decode(errors="replace")))
        faults.refuse(f"must be a .cubex file, a tar archive, got {got}. Name its format.")


def _chosen(cube: Any, wanted: str | None, faults: Faults) -> Any:
    """Find the metric that is the time."""
    name = TIME if wanted in (None, INCLUSIVE, EXCLUSIVE) else str(wanted)
    metrics = {metric.name: metric for metric in cube.all_metrics()}
    if name not in metrics or (metrics[name].units or "") not in UNITS:
        times = [x for x, metric in metrics.items() if (metric.units or "") in UNITS]
        near = did_you_mean(name, times)
        listed = shown(", ".join(times) or "none", limit=200)
        faults.refuse(
            f"must have the metric {shown(repr(name))} in units of time, got {listed}.{near} "
            f"Choose one of them: {metric_argument(faults)}"
        )
    return metrics[name]


def _nodes(cube: Any, faults: Faults) -> list[tuple[Any, str]]:
    """Give the nodes of the call tree, callers first, and their call paths."""
    nodes: list[tuple[Any, str]] = []
    below = [(root, "") for root in reversed(cube.get_root_cnodes())]
    length = 0
    while below:
        node, above = below.pop()
        name = " ".join(str(cube.get_region(node).name).split()) or "unnamed"
        callpath = f"{above}{JOIN}{name}" if above else name
        length += len(callpath)
        what = "characters in its call paths"
        require_at_most(MOST_TEXT, length, what, faults, remedy=FEWER)
        nodes.append((node, callpath))
        below += [(child, callpath) for child in reversed(node.get_children())]
    count = len(cube.get_locations())
    if len(nodes) * count > MOST_VALUES:
        must = f"must have at most {MOST_VALUES:,} values"
        got = f"{len(nodes):,} call paths at {count:,} locations"
        faults.refuse(f"{must}, got {got}. {FEWER}")
    return nodes


def _values(
    cube: Any,
    archive: Archive,
    metric: Any,
    nodes: Sequence[Any],
    *,
    is_inclusive: bool,
) -> dict[int, NDArray[np.float64]]:
    """Give the values of a metric at each node on all CPU threads; `nodes` has callers first."""
    locations = sorted(cube.get_locations(), key=lambda location: int(location.id))
    threads = [i for i, x in enumerate(locations) if _is_thread(x)]
    places = threads or list(range(len(locations)))
    values = {node.id: np.zeros(len(places)) for node in nodes}
    for index, row in archive.rows(metric.id, metric.data_type, len(locations)):
        values[metric.tree_index_to_cid_map[index]] = row[places]
    if is_inclusive and metric.metric_type == "EXCLUSIVE":
        together = TOGETHER.get(metric.data_type, np.add)
        for node in reversed(nodes):  # those that are called first
            for child in node.get_children():
                together(values[node.id], values[child.id], out=values[node.id])
    elif not is_inclusive and metric.metric_type == "INCLUSIVE":
        for node in nodes:  # callers first
            for child in node.get_children():
                values[node.id] -= values[child.id]
    return values


def _is_thread(location: Any) -> bool:
    """Tell whether a location is a CPU thread, and no metric of a device or a host."""
    return "thread" in (location.type or "thread").lower()


def _threads(cube: Any) -> list[Any]:
    """Give the CPU threads, in the order of their values."""
    return sorted(filter(_is_thread, cube.get_locations()), key=lambda x: int(x.id))


def _point(path: Path, cube: Any) -> tuple[dict[str, float], str]:
    """Give the parameters of a run: by its folder, with `p` by its processes where untold."""
    point: dict[str, float] = {}
    for part in path.absolute().parent.name.split(".")[1:]:
        match = PARAMETER.fullmatch(part)
        if match and match[1] != "r":  # repetitions are numbered as they come
            point[match[1]] = float(match[2].replace(",", "."))
    if "p" in point:
        return point, "p is taken from the names of the folders."
    locations = _threads(cube)
    processes = sum(int(location.rank or 0) == 0 for location in locations)
    if processes > 1 or len(locations) == 1:
        return {"p": processes} | point, "p is the number of processes in each file."
    return {"p": len(locations)} | point, "p is the number of threads of the one process."
