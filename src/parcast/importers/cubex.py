"""Score-P and Scalasca profiles, `.cubex`, through pycubexr (the extra `cubex`).

Several files make a series. Their folders tell the parameters as Extra-P names them: of
`x.p4.n100.r1/profile.cubex`, `p` is 4 and `n` 100, and `r1` is the first repetition. Where the
folder tells no `p`, it is the number of processes, or of threads where there is one process.

The time of a call path is inclusive, that of the slowest process or thread.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.files.decoding import name_of, opened
from parcast.files.faults import Faults
from parcast.importers.axes import Constants
from parcast.importers.call_profile import JOIN, split_mean
from parcast.importers.content import library
from parcast.importers.registry import Imported
from parcast.importers.runs import Runs
from parcast.units import NUMBER, shown
from parcast.words import did_you_mean

INCLUSIVE, EXCLUSIVE = "inclusive", "exclusive"
TIME = "time"  # the metric of Score-P; the others count, or are parts of it
UNITS = {"sec": 1.0, "s": 1.0, "": 1.0, "usec": 1e-6, "nsec": 1e-9, "msec": 1e-3}
PARAMETER = re.compile(rf"([A-Za-z_]+)({NUMBER.replace('.', ',')}|{NUMBER})")
PROFILE = "profile.cubex"  # in the folder of a run
ANCHOR = b"anchor.xml"
WITHOUT = "Without it, import the JSON or text that Extra-P writes of these profiles."
CUT_OFF = "The file may have been cut off: copy it again."


def recognises(head: bytes, path: Path) -> bool:
    """Tell by its first bytes whether a file is a tar archive with a profile in it."""
    if path.is_dir():
        return (path / PROFILE).is_file()
    return head[257:262] == b"ustar" and (path.suffix == ".cubex" or ANCHOR in head[:100])


def read(
    paths: Sequence[Path],
    *,
    metric: str | None = None,
    rename: Mapping[str, str] | None = None,
    constants: Constants | None = None,
) -> Imported:
    """Read Score-P profiles, one run a file.

    Parameters
    ----------
    paths : sequence of path
        `.cubex` files, or folders with a `profile.cubex`.
    metric : str, optional
        "inclusive", "exclusive", or a metric of the files in units of time; with ":mean" behind
        it, or "mean" alone, the mean over the locations. Default: inclusive, of the slowest.
    rename : mapping of str to str, optional
        New names of parameters: ``{"size": "n"}``.
    constants : mapping, optional
        Axes that neither files nor folders tell: ``{"n": 100}``.

    Returns
    -------
    Imported
        One row for each call path of each file, its `callpath` as ``main->solve``.

    Raises
    ------
    MissingLibrary
        If pycubexr is not installed.
    FileProblems
        If a file is no profile, is cut off, or has no such metric.
    ParameterError
        If what is to be renamed is not there.
    """
    wanted, mean = split_mean(metric)
    runs = Runs(rename=rename, constants=constants)
    notes: list[str] = []
    faults = Faults("")
    for given in paths:
        path = given / PROFILE if given.is_dir() else given
        faults = Faults(name_of(path))
        _refuse_foreign(path, faults)
        pycubexr = library("pycubexr", faults, extra="cubex", otherwise=WITHOUT)
        with _said_plainly(faults), pycubexr.CubexParser(str(path)) as cube:
            found, places = _chosen(cube, wanted, faults), _places(cube)
            times = _times(cube, found, places, is_inclusive=wanted != EXCLUSIVE)
            point, note = _point(path, cube)
        notes += [note] if note not in notes else []
        scale = UNITS[found.units or ""]
        for callpath, by_place in times.items():
            time = float(by_place.mean() if mean else by_place.max()) * scale
            runs.add(point, [time], faults, metric="time_s", callpath=callpath, field=callpath)
    kind = EXCLUSIVE if wanted == EXCLUSIVE else INCLUSIVE
    who = "the mean of the locations" if mean else "the slowest process or thread"
    notes.append(f"The time is {kind}, that of {who}.")
    return runs.imported(faults, notes=notes)


def _refuse_foreign(path: Path, faults: Faults) -> None:
    """Refuse what is no archive, before a library is asked for."""
    with opened(path) as (_, stream):
        head = stream.read(512)
    head = head.encode() if isinstance(head, str) else head
    if not head:
        faults.refuse("must be a Score-P profile, got an empty file. Measure the run again.")
    is_archive = head[257:262] == b"ustar" or head.startswith(b"\x1f\x8b")
    if len(head) < 512 and not head.startswith(b"\x1f\x8b"):
        faults.refuse(f"must be a .cubex file, got {len(head)} bytes. {CUT_OFF}")
    if not is_archive:
        got = shown(repr(head[:24].decode(errors="replace")))
        faults.refuse(f"must be a .cubex file, a tar archive, got {got}. Name its format.")


@contextmanager
def _said_plainly(faults: Faults) -> Iterator[None]:
    """Turn what pycubexr raises into a refusal of the file."""
    from parcast.errors import ParcastError

    try:
        yield
    except ParcastError:
        raise
    except Exception as error:  # tar, zlib, XML and its own errors, and failed assertions
        why = shown(f"{type(error).__name__}: {error}".rstrip(": "), limit=100)
        faults.refuse(f"must be a profile that pycubexr can read, got {why}. {CUT_OFF}")


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
            "Name one of them: --metric NAME"
        )
    return metrics[name]


def _places(cube: Any) -> list[int]:
    """Give the places of the CPU threads among the values, which are in the order of their ids."""
    locations = sorted(cube.get_locations(), key=lambda location: int(location.id))
    threads = [i for i, x in enumerate(locations) if "thread" in (x.type or "thread").lower()]
    return threads or list(range(len(locations)))


def _times(
    cube: Any, metric: Any, places: Sequence[int], *, is_inclusive: bool
) -> dict[str, NDArray[np.float64]]:
    """Give the times of each call path on all CPU threads, in the unit of the metric."""
    values = cube.get_metric_values(metric, cache=False)
    times: dict[str, NDArray[np.float64]] = {}
    below = [(root, "") for root in reversed(cube.get_root_cnodes())]
    while below:
        node, above = below.pop()
        name = " ".join(str(cube.get_region(node).name).split()) or "unnamed"
        callpath = f"{above}{JOIN}{name}" if above else name
        of_node = values.cnode_values(
            node, convert_to_inclusive=is_inclusive, convert_to_exclusive=not is_inclusive
        )
        found = np.asarray(of_node, dtype=np.float64)[list(places)]
        times[callpath] = times[callpath] + found if callpath in times else found
        below += [(child, callpath) for child in reversed(node.get_children())]
    return times


def _point(path: Path, cube: Any) -> tuple[dict[str, float], str]:
    """Give the parameters of a run: by its folder, with `p` by its processes where untold."""
    point: dict[str, float] = {}
    for part in path.absolute().parent.name.split(".")[1:]:
        found = PARAMETER.fullmatch(part)
        if found and found[1] != "r":  # repetitions are numbered as they come
            point[found[1]] = float(found[2].replace(",", "."))
    if "p" in point:
        return point, "p is what the folders of the files tell."
    locations = [x for x in cube.get_locations() if "thread" in (x.type or "thread").lower()]
    processes = sum(int(location.rank or 0) == 0 for location in locations)
    if processes > 1 or len(locations) == 1:
        return {"p": processes} | point, "p is the number of processes in each file."
    return {"p": len(locations)} | point, "p is the number of threads of the one process."
