"""Profiles that Hatchet or Thicket saved as JSON; needs no library.

Whatever Hatchet can read becomes one: HPCToolkit, TAU, gprof, Caliper and more.

    frame = hatchet.GraphFrame.from_hpctoolkit("database")
    open("profile.json", "w").write(frame.to_json())

`GraphFrame.to_json` and `to_literal` (through `json.dumps`) are read, and `Thicket.to_json`, whose
profiles are runs and whose metadata tell `p` and other axes. A pickle is refused, since reading
one runs what it holds; so is HDF5, in which Hatchet keeps pickles.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from parcast.io.decoding import opened
from parcast.io.faults import Faults
from parcast.io.formats.axes import Constants
from parcast.io.formats.caliper_columns import TimeColumn, notes_on
from parcast.io.formats.call_profile import CallProfile, add_profiles, split_mean
from parcast.io.formats.content import json_document
from parcast.io.formats.hatchet_json import ASK, profiles_of_graph, profiles_of_literal
from parcast.io.formats.imported import Imported
from parcast.io.formats.runs import Runs

GRAPH = re.compile(rb'\s*\{\s*"graph"\s*:\s*\[\s*\{\s*"\d+"\s*:\s*\{\s*"data"\s*:')
LITERAL = re.compile(rb'\s*\[\s*\{[^\[\]]*"frame"\s*:\s*\{')
PICKLE, HDF5 = b"\x80", b"\x89HDF"


def recognises(head: bytes, path: Path) -> bool:  # noqa: ARG001 - every format is given the path
    """Tell by its first bytes whether a file is a JSON of Hatchet or Thicket."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    return bool(GRAPH.match(head) or (LITERAL.match(head) and b'"metrics"' in head))


def read(
    paths: Sequence[Path],
    *,
    metric: str | None = None,
    rename: Mapping[str, str] | None = None,
    constants: Constants | None = None,
) -> Imported:
    """Read profiles of Hatchet and Thicket.

    Parameters
    ----------
    paths : sequence of path
        What `to_json` gave.
    metric : str, optional
        "exclusive", "inclusive" or the name of a metric; with ":mean" behind it, or "mean"
        alone, the mean over the ranks. Default: exclusive where there is one, since the
        exclusive times of regions add up to the total; of the slowest rank.
    rename : mapping of str to str, optional
        New names of axes.
    constants : mapping, optional
        Axes that the files do not tell: ``{"p": 64}``.

    Returns
    -------
    Imported
        One row for each region of each run, its `callpath` as ``main->solve``.

    Raises
    ------
    FileProblems
        If a file is no such JSON, is cut off, or a time is none.
    ParameterError
        If what is to be renamed is not there.
    """
    wanted, mean = split_mean(metric)
    runs = Runs(rename=rename, constants=constants)
    profiles: list[CallProfile] = []
    chosen: list[TimeColumn] = []
    faults = Faults("")
    for path in paths:
        faults = Faults(str(path))
        _refuse_others(path, faults)
        document = json_document(path, faults)
        if isinstance(document, list):
            found, column = profiles_of_literal(document, wanted, faults)
        else:
            found, column = profiles_of_graph(document, wanted, faults)
        profiles += found
        chosen.append(column)
    notes = [*notes_on(chosen), "Times are taken for seconds."]
    notes += add_profiles(profiles, runs, mean=mean)
    return runs.imported(faults, notes=notes)


def _refuse_others(path: Path, faults: Faults) -> None:
    """Refuse what is no JSON, with the way to one."""
    if path.is_dir():
        faults.refuse(f"must be a JSON of Hatchet, got a folder. Read it with Hatchet: {ASK}")
    with opened(path) as (_, stream):
        head = stream.read(8)
    head = head.encode() if isinstance(head, str) else head
    if not head:
        faults.refuse(f"must be a profile, got an empty file. {ASK}")
    if head.startswith(PICKLE):
        faults.refuse(
            f"must not be a pickle, since reading one runs what it holds. Save it as JSON: {ASK}"
        )
    if head.startswith(HDF5):
        faults.refuse(f"must be JSON, got HDF5, in which Hatchet keeps pickles. {ASK}")
    if head.startswith(b"__rec="):
        faults.refuse("must be JSON, got a .cali file. Its format is caliper.")
