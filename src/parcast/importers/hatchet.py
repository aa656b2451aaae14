"""Profiles that Hatchet or Thicket saved as JSON; needs no library.

Whatever Hatchet can read becomes one: HPCToolkit, TAU, gprof, Caliper and more.

    frame = hatchet.GraphFrame.from_hpctoolkit("database")
    open("profile.json", "w").write(frame.to_json())

`GraphFrame.to_json` and `to_literal` (through `json.dumps`) are read, and `Thicket.to_json`, whose
profiles are runs and whose metadata tell `p` and other axes. A pickle is refused, since reading
one runs what it holds; so is HDF5, in which Hatchet keeps pickles.

The JSON is a graph of regions, and a table with a row for each::

    {"graph": [{"0": {"data": {"name": "main"}, "children": [1]}, ...}],
     "dataframe_indices": ["node", "rank"],
     "dataframe": [{"node": 0, "rank": 0, "time": 0.5, "time (inc)": 2.0, "name": "main"}, ...],
     "inclusive_metrics": ["time (inc)"], "exclusive_metrics": ["time"]}

Thicket adds `metadata`, one object a profile. A literal is the tree itself: `frame`, `metrics`
and `children` of each node.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole
from parcast.importers.axes import metric_argument
from parcast.importers.caliper import (
    EXCLUSIVE,
    INCLUSIVE,
    UNTOLD,
    TimeColumn,
    chosen_column,
    notes_on,
    time_column,
)
from parcast.importers.call_profile import (
    CallPaths,
    CallProfile,
    RegionTimes,
    add_profiles,
    split_mean,
)
from parcast.importers.content import beginning, json_document
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.units import shown

ASK = "Write GraphFrame.to_json() to a file."
PROFILE = "profile"  # what Thicket calls a run, unless told otherwise

CallPath = tuple[str, ...]
Found = tuple[list[CallProfile], TimeColumn]  # the runs, and what their time is
GRAPH = re.compile(rb'\s*\{\s*"graph"\s*:\s*\[\s*\{\s*"\d+"\s*:\s*\{\s*"data"\s*:')
LITERAL = re.compile(rb'\s*\[\s*\{[^\[\]]*"frame"\s*:\s*\{')
TAU = ".TAU application"  # its root, of whose times Hatchet leaves the unit, a microsecond
PICKLE, HDF5 = b"\x80", b"\x89HDF"


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a JSON of Hatchet or Thicket."""
    return bool(GRAPH.match(head) or (LITERAL.match(head) and b'"metrics"' in head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each region of each run, its `callpath` as ``main->solve``.

    `metric` is "exclusive", "inclusive" or the name of a metric; with ":mean" behind it, or "mean"
    alone, the mean over the ranks. Default: that of the slowest rank, exclusive where there is
    one, since the exclusive times of regions add up to the total.
    """
    wanted, mean = split_mean(metric)
    profiles: list[CallProfile] = []
    chosen: list[TimeColumn] = []
    for path, faults in runs.files():
        _refuse_others(path, faults)
        document = json_document(path, faults)
        read_profiles = profiles_of_literal if isinstance(document, list) else profiles_of_graph
        of_file, column = read_profiles(document, wanted, faults)
        profiles += of_file
        chosen.append(column)
    units = {"microseconds, as TAU writes them" if x.scale == 1e-6 else "seconds" for x in chosen}
    notes = [*notes_on(chosen), f"Times are read as {' and '.join(sorted(units))}."]
    notes += add_profiles(profiles, runs, mean=mean)
    return runs.imported(notes=notes)


FORMAT = Format(title="Hatchet or Thicket JSON", recognises=recognises, timings=read)


def _refuse_others(path: Path, faults: Faults) -> None:
    """Refuse what is no JSON, with the way to one."""
    if path.is_dir():
        faults.refuse(f"must be a JSON of Hatchet, got a folder. Read it with Hatchet: {ASK}")
    head = beginning(path, 8)
    if not head:
        faults.refuse(f"must be a profile, got an empty file. {ASK}")
    if head.startswith(PICKLE):
        faults.refuse(
            f"must not be a pickle, since reading one runs the code in it. Save it as JSON: {ASK}"
        )
    if head.startswith(HDF5):
        faults.refuse(f"must be JSON, got HDF5, in which Hatchet stores pickles. {ASK}")
    if head.startswith(b"__rec="):
        faults.refuse("must be JSON, got a .cali file. Use the format caliper.")


def profiles_of_graph(document: Any, wanted: str | None, faults: Faults) -> Found:
    """Make profiles of what `GraphFrame.to_json` or `Thicket.to_json` gave."""
    parts = {"graph", "dataframe", "inclusive_metrics", "exclusive_metrics"}
    if not isinstance(document, dict) or not all(isinstance(document.get(x), list) for x in parts):
        got = ", ".join(document) if isinstance(document, dict) else "another kind of JSON"
        faults.refuse(f"must have {', '.join(sorted(parts))}, got {shown(got)}. {ASK}")
    paths = _paths_of_graph(document["graph"], faults)
    column = _chosen(
        [str(x) for x in document["exclusive_metrics"]],
        [str(x) for x in document["inclusive_metrics"]],
        wanted,
        faults,
    )
    if any(path[0] == TAU for path in paths.values()):
        column = replace(column, scale=1e-6)
    index = str(document.get("profile_idx_name", PROFILE))
    times: dict[str, RegionTimes] = {}
    ranks: dict[Any, set[int]] = {}
    places: dict[str, dict[tuple[int, int], int]] = {}  # of ranks and their threads
    has_threads = any("thread" in row for row in document["dataframe"] if isinstance(row, dict))
    for i, row in enumerate(document["dataframe"]):
        field = f"dataframe[{i}]"
        if not isinstance(row, dict) or str(row.get("node")) not in paths:
            faults.refuse(f"must be a row of a node that is in the graph. {ASK}", field=field)
        value = row.get(column.name)
        if value is None:
            continue  # a region that this run or rank never came to
        profile = str(row.get(index, ""))
        rank, thread = (_number(row, name, field, faults) for name in ("rank", "thread"))
        if "rank" in row:
            ranks.setdefault(profile, set()).add(rank)
        path = paths[str(row["node"])]
        if profile not in times:
            times[profile] = RegionTimes()
        known = places.setdefault(profile, {})
        place = known.setdefault((rank, thread), len(known)) if has_threads else rank
        times[profile].add(path, place, _time(value, column, field, faults))
    metadata = _metadata(document, index, faults)
    if not times:
        faults.refuse(
            f"must have times as {shown(column.name)}, got none. {ASK}", field="dataframe"
        )
    profiles = [
        CallProfile(
            faults=faults,
            times=of_profile,
            ranks=len(ranks.get(profile, ())) or None,
            metadata=metadata.get(profile, {}),
            divide=column.across == "sum",
            places=len(places[profile]) if has_threads else None,
        )
        for profile, of_profile in times.items()
    ]
    return profiles, column


def profiles_of_literal(document: list[Any], wanted: str | None, faults: Faults) -> Found:
    """Make a profile of a tree of nodes, as `GraphFrame.to_literal` gives it."""
    paths = CallPaths(faults)
    nodes: list[tuple[CallPath, dict[str, Any]]] = []
    below: list[tuple[CallPath, Any, str]] = [
        ((), one, f"[{i}]") for i, one in reversed(list(enumerate(document)))
    ]
    while below:
        above, one, field = below.pop()
        frame = one.get("frame") if isinstance(one, dict) else None
        metrics = one.get("metrics") if isinstance(one, dict) else None
        name = frame.get("name", one.get("name")) if isinstance(frame, dict) else None
        children = one.get("children", []) if isinstance(one, dict) else None
        if (
            not isinstance(name, str)
            or not isinstance(metrics, dict)
            or not isinstance(children, list)
        ):
            faults.refuse(f"must have a frame with a name, and metrics. {ASK}", field=field)
        path = paths.below(above, name, field)
        nodes.append((path, metrics))
        below += [
            (path, child, f"{field}.children[{i}]")
            for i, child in reversed(list(enumerate(children)))
        ]
    names = list(dict.fromkeys(x for _, metrics in nodes for x in metrics))
    inclusive = [x for x in names if "(inc)" in x]
    exclusive = [x for x in names if x not in inclusive and not x.startswith("_")]
    column = _chosen(exclusive, inclusive, wanted, faults)
    times = RegionTimes()
    for path, metrics in nodes:
        if metrics.get(column.name) is not None:
            times.add(path, 0, _time(metrics[column.name], column, "->".join(path), faults))
    profile = CallProfile(faults=faults, times=times, divide=column.across == "sum")
    return [profile], column


def _paths_of_graph(graphs: list[Any], faults: Faults) -> dict[str, CallPath]:
    """Give the path of each node from its root; of several, that by its first parent."""
    paths: dict[str, CallPath] = {}
    checked = CallPaths(faults)
    for graph in graphs:
        if not isinstance(graph, dict):
            faults.refuse(f"must be objects of nodes. {ASK}", field="graph")
        children: dict[str, list[str]] = {}
        names: dict[str, str] = {}
        for number, node in graph.items():
            frame = node.get("data") if isinstance(node, dict) else None
            below = node.get("children") if isinstance(node, dict) else None
            if not isinstance(frame, dict) or not isinstance(below, list):
                faults.refuse(
                    f"must have data and children. {ASK}", field=f"graph.{shown(number)}"
                )
            children[number] = [str(child) for child in below]
            name = frame.get("name") or frame.get("file") or frame.get("type") or "unnamed"
            line = f":{frame['line']}" if "name" not in frame and "line" in frame else ""
            names[number] = f"{name}{line}"
        called = {child for of in children.values() for child in of}
        if missing := called - set(graph):
            faults.refuse(
                f"must have the node {shown(min(missing))}, got none. {ASK}", field="graph"
            )
        below_these: list[tuple[str, CallPath]] = [
            (number, ()) for number in graph if number not in called
        ]
        while below_these:
            number, above = below_these.pop()
            if number not in paths:
                paths[number] = checked.below(above, names[number], "graph")
                below_these += [(child, paths[number]) for child in children[number]]
    return paths


def _chosen(
    exclusive: list[str], inclusive: list[str], wanted: str | None, faults: Faults
) -> TimeColumn:
    kinds = dict.fromkeys(inclusive, INCLUSIVE) | dict.fromkeys(exclusive, EXCLUSIVE)
    times = [
        column if column.kind == UNTOLD else replace(column, kind=kinds[name])
        for name in kinds
        if (column := time_column(name)) is not None
    ]
    if wanted in kinds and wanted not in {column.name for column in times}:
        return TimeColumn(name=str(wanted), kind=kinds[str(wanted)], across="", scale=1.0)
    if not times:
        listed = shown(", ".join(kinds) or "none", limit=200)
        faults.refuse(
            f"must have a metric that is a time, got {listed}. Choose one: "
            f"{metric_argument(faults)}"
        )
    return chosen_column(times, wanted, faults)


def _metadata(document: dict[str, Any], index: str, faults: Faults) -> dict[str, dict[str, Any]]:
    """Give the metadata of each profile of a Thicket."""
    metadata = document.get("metadata", [])
    if not isinstance(metadata, list) or not all(isinstance(x, dict) for x in metadata):
        faults.refuse(
            "must be objects, one per profile. Write Thicket.to_json().", field="metadata"
        )
    return {str(x.get(index, "")): {y: z for y, z in x.items() if y != index} for x in metadata}


def _number(row: dict[str, Any], name: str, field: str, faults: Faults) -> int:
    """Give the number of a rank or thread, 0 where a profile does not tell them apart."""
    number = whole(row.get(name, 0))
    if number is None:
        got = shown(repr(row.get(name)))
        faults.refuse(f"must have a {name}, got {got}. {ASK}", field=field)
    return number


def _time(value: Any, column: TimeColumn, field: str, faults: Faults) -> float:
    """Take a time, in seconds unless its name ends in another unit, or refuse it. [s]."""
    time = finite(value)
    if time is None or time < 0:
        got = shown(repr(value))
        faults.refuse(
            f"{shown(column.name)} must be a time of at least 0, got {got}. {ASK}", field=field
        )
    return time * column.scale
