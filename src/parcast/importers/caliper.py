"""Caliper profiles: the time that each region of a program took, file by file.

A `.cali` file needs the extra `caliper`; the JSON of `cali-query` needs no library. Several files
make a series: `p` is `mpi.world.size` or Adiak's `jobsize`, and other numbers that Caliper and
Adiak noted become axes where they vary from file to file.

The time is exclusive where a file has it: what a region took without those it calls, so that the
regions of a run add up to its total. `--metric inclusive` asks for the other.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from parcast.files.decoding import name_of, opened
from parcast.files.faults import Faults
from parcast.importers.axes import Constants
from parcast.importers.caliper_cali import records_of_cali
from parcast.importers.caliper_columns import (
    EXCLUSIVE,
    Records,
    TimeColumn,
    chosen_column,
    notes_on,
)
from parcast.importers.caliper_json import records_of_json
from parcast.importers.call_profile import CallProfile, add_profiles, split_mean
from parcast.importers.registry import Imported
from parcast.importers.runs import Runs
from parcast.units import shown

CALI = b"__rec="
SPLIT = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*\[')
RECORDS = re.compile(rb'\s*(\{\s*"records"\s*:\s*)?\[\s*\{[^{}]*"[^"{}]*time\.(\w+\.)?duration')
ALIASED = re.compile(rb'\s*(\{\s*"records"\s*:\s*)?\[\s*\{[^{}]*"path"\s*:[^{}]*[tT]ime')
HEAD = 2**16  # bytes that a format is recognised by: of a longer file, the end is not seen


def recognises(head: bytes, path: Path) -> bool:  # noqa: ARG001 - every format is given the path
    """Tell by its first bytes whether a file is a Caliper profile."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.startswith(CALI):
        return True
    if SPLIT.match(head):
        return b'"column_metadata"' in head or len(head) >= HEAD
    return bool(RECORDS.match(head) or ALIASED.match(head))


def read(
    paths: Sequence[Path],
    *,
    metric: str | None = None,
    rename: Mapping[str, str] | None = None,
    constants: Constants | None = None,
) -> Imported:
    """Read Caliper profiles, one run a file.

    Parameters
    ----------
    paths : sequence of path
        `.cali` files, or what `cali-query` wrote of them with `format json-split` or `json`.
    metric : str, optional
        "exclusive", "inclusive" or the name of a column; with ":mean" behind it, or "mean"
        alone, the mean over the ranks. Default: exclusive, of the slowest rank.
    rename : mapping of str to str, optional
        New names of axes.
    constants : mapping, optional
        Axes that the files do not tell: ``{"p": 64}``.

    Returns
    -------
    Imported
        One row for each region of each file, its `callpath` as ``main->solve``.

    Raises
    ------
    MissingLibrary
        If a file is `.cali` and hatchet is not installed.
    FileProblems
        If a file is no such profile, is cut off, or a time is none.
    ParameterError
        If what is to be renamed is not there.
    """
    wanted, mean = split_mean(metric)
    runs = Runs(rename=rename, constants=constants)
    profiles: list[CallProfile] = []
    chosen: list[TimeColumn] = []
    outside: list[tuple[float, Faults]] = []
    faults = Faults("")
    for path in paths:
        faults = Faults(name_of(path))
        records = _records(path, faults)
        column = chosen_column(records.columns, wanted, faults)
        chosen.append(column)
        profiles.append(records.profile(column))
        if outside_time := records.outside.get(column):
            outside.append((outside_time, faults))
    notes = [*notes_on(chosen), *add_profiles(profiles, runs, mean=mean)]
    if outside and chosen[0].kind == EXCLUSIVE:
        time, of = max(outside, key=lambda x: x[0])
        notes.append(
            f"What was spent outside any region is left out, up to {time:.3g} s a rank "
            f"({shown(Path(of.path).name)})."
        )
    return runs.imported(faults, notes=notes)


def _records(path: Path, faults: Faults) -> Records:
    """Read a file in whichever form it is."""
    with opened(path) as (_, stream):
        head = stream.read(HEAD)
    head = head.encode() if isinstance(head, str) else head
    if not head:
        faults.refuse("must be a Caliper profile, got an empty file. Profile the run again.")
    if head.startswith(CALI) or (
        path.suffix == ".cali" and not head.lstrip().startswith((b"{", b"["))
    ):
        return records_of_cali(path, faults)
    return records_of_json(path, faults)
