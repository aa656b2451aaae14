"""Score-P and Scalasca profiles, `.cubex`, through pycubexr (the extra `cubex`).

Several files make a series. Their folders tell the parameters as Extra-P names them: of
`x.p4.n100.r1/profile.cubex`, `p` is 4 and `n` 100, and `r1` is the first repetition. Where the
folder tells no `p`, it is the number of processes, or of threads where there is one process.

The time of a call path is inclusive, that of the slowest process or thread.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.files.bounds import require_at_most
from parcast.files.decoding import opened
from parcast.files.faults import Faults
from parcast.importers.axes import metric_argument
from parcast.importers.call_profile import FEWER, JOIN, split_mean
from parcast.importers.content import beginning, library, reading_with, refuse_packed
from parcast.importers.cubex_archive import CUT_OFF, MOST_VALUES, Archive
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.timings.columns import MOST_TEXT
from parcast.units import NUMBER, shown
from parcast.words import did_you_mean

INCLUSIVE, EXCLUSIVE = "inclusive", "exclusive"
TIME = "time"  # the metric of Score-P; the others count, or are parts of it
UNITS = {"sec": 1.0, "s": 1.0, "": 1.0, "usec": 1e-6, "nsec": 1e-9, "msec": 1e-3}
PARAMETER = re.compile(rf"([A-Za-z_]+)({NUMBER.replace('.', ',')}|{NUMBER})")
PROFILE = "profile.cubex"  # in the folder of a run
ANCHOR = b"anchor.xml"
WITHOUT = "Without it, import the JSON or text that Extra-P writes of these profiles."
TOGETHER = {"MINDOUBLE": np.minimum, "MAXDOUBLE": np.maximum}  # of a region and those it calls


def recognises(head: bytes, path: Path) -> bool:
    """Tell by its first bytes whether a file is a tar archive with a profile in it."""
    if path.is_dir():
        return (path / PROFILE).is_file()
    return head[257:262] == b"ustar" and (path.suffix == ".cubex" or ANCHOR in head[:100])


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each call path of each file, its `callpath` as ``main->solve``.

    `metric` is "inclusive", "exclusive", or a metric of the files in units of time; with ":mean"
    behind it, or "mean" alone, the mean over the locations. Default: inclusive, of the slowest.
    """
    wanted, mean = split_mean(metric)
    notes: list[str] = []
    for path, faults in runs.files():
        _refuse_foreign(path, faults)
        pycubexr = library("pycubexr", faults, extra="cubex", otherwise=WITHOUT)
        with (
            reading_with("pycubexr", "a profile", faults, CUT_OFF),
            opened(path) as (_, stream),
        ):
            archive = Archive(stream, faults)
            with pycubexr.CubexParser(str(path)) as cube:
                chosen = _chosen(cube, wanted, faults)
                nodes = _nodes(cube, faults)
                times = _times(cube, archive, chosen, nodes, is_inclusive=wanted != EXCLUSIVE)
                point, note = _point(path, cube)
        notes += [note] if note not in notes else []
        scale = UNITS[chosen.units or ""]
        for callpath, by_place in times.items():
            time = float(by_place.mean() if mean else by_place.max()) * scale
            runs.add(point, [time], faults, metric="time_s", callpath=callpath, field=callpath)
    kind = EXCLUSIVE if wanted == EXCLUSIVE else INCLUSIVE
    who = "the mean of the locations" if mean else "the slowest process or thread"
    notes.append(f"The time is {kind}, of {who}.")
    return runs.imported(notes=notes)


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


def _times(
    cube: Any,
    archive: Archive,
    metric: Any,
    nodes: Sequence[tuple[Any, str]],
    *,
    is_inclusive: bool,
) -> dict[str, NDArray[np.float64]]:
    """Give the times of each call path on all CPU threads, in the unit of the metric."""
    locations = sorted(cube.get_locations(), key=lambda location: int(location.id))
    threads = [i for i, x in enumerate(locations) if "thread" in (x.type or "thread").lower()]
    places = threads or list(range(len(locations)))
    values = {node.id: np.zeros(len(places)) for node, _ in nodes}
    for index, row in archive.rows(metric.id, metric.data_type, len(locations)):
        values[metric.tree_index_to_cid_map[index]] = row[places]
    if is_inclusive and metric.metric_type == "EXCLUSIVE":
        together = TOGETHER.get(metric.data_type, np.add)
        for node, _ in reversed(nodes):  # those that are called first
            for child in node.get_children():
                together(values[node.id], values[child.id], out=values[node.id])
    elif not is_inclusive and metric.metric_type == "INCLUSIVE":
        for node, _ in nodes:  # callers first
            for child in node.get_children():
                values[node.id] -= values[child.id]
    times: dict[str, NDArray[np.float64]] = {}
    for node, callpath in nodes:
        before = times.get(callpath, 0.0)
        times[callpath] = before + values[node.id]
    return times


def _point(path: Path, cube: Any) -> tuple[dict[str, float], str]:
    """Give the parameters of a run: by its folder, with `p` by its processes where untold."""
    point: dict[str, float] = {}
    for part in path.absolute().parent.name.split(".")[1:]:
        match = PARAMETER.fullmatch(part)
        if match and match[1] != "r":  # repetitions are numbered as they come
            point[match[1]] = float(match[2].replace(",", "."))
    if "p" in point:
        return point, "p is taken from the names of the folders."
    locations = [x for x in cube.get_locations() if "thread" in (x.type or "thread").lower()]
    processes = sum(int(location.rank or 0) == 0 for location in locations)
    if processes > 1 or len(locations) == 1:
        return {"p": processes} | point, "p is the number of processes in each file."
    return {"p": len(locations)} | point, "p is the number of threads of the one process."
