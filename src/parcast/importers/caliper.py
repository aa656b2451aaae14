"""Caliper profiles: the time that each region of a program took, file by file.

A `.cali` file needs the extra `caliper`; the JSON of `cali-query` needs no library. Several files
make a series: `p` is `mpi.world.size` or Adiak's `jobsize`, and other numbers that Caliper and
Adiak noted become axes where they vary from file to file.

The time is exclusive where a file has it: what a region took without those it calls, so that the
regions of a run add up to its total. `--metric inclusive` asks for the other.
"""

import re
from pathlib import Path

from parcast.files.faults import Faults
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
from parcast.importers.content import HEAD, beginning
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.units import shown

CALI = b"__rec="
SPLIT = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*\[')
RECORDS = re.compile(rb'\s*(\{\s*"records"\s*:\s*)?\[\s*\{[^{}]*"[^"{}]*time\.(\w+\.)?duration')
ALIASED = re.compile(rb'\s*(\{\s*"records"\s*:\s*)?\[\s*\{[^{}]*"path"\s*:[^{}]*[tT]ime')


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a Caliper profile."""
    if head.startswith(CALI):
        return True
    if SPLIT.match(head):
        return b'"column_metadata"' in head or len(head) >= HEAD  # else its end is not seen
    return bool(RECORDS.match(head) or ALIASED.match(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each region of each file, its `callpath` as ``main->solve``.

    `metric` is "exclusive", "inclusive" or the name of a column; with ":mean" behind it, or "mean"
    alone, the mean over the ranks. Default: exclusive, of the slowest rank.
    """
    wanted, mean = split_mean(metric)
    profiles: list[CallProfile] = []
    chosen: list[TimeColumn] = []
    outside: list[tuple[float, str]] = []
    for path, faults in runs.files():
        records = _records(path, faults)
        column = chosen_column(records.columns, wanted, faults)
        chosen.append(column)
        profiles.append(records.profile(column))
        if outside_time := records.outside.get(column):
            outside.append((outside_time, path.name))
    notes = [*notes_on(chosen), *add_profiles(profiles, runs, mean=mean)]
    if outside and chosen[0].kind == EXCLUSIVE:
        time, name = max(outside, key=lambda x: x[0])
        notes.append(
            f"What was spent outside any region is left out, up to {time:.3g} s a rank "
            f"({shown(name)})."
        )
    return runs.imported(notes=notes)


FORMAT = Format(
    title="Caliper .cali or JSON",
    recognises=recognises,
    timings=read,
    extra="caliper",
    extra_for=".cali",
)


def _records(path: Path, faults: Faults) -> Records:
    """Read a file in whichever form it is."""
    head = beginning(path)
    if not head:
        faults.refuse("must be a Caliper profile, got an empty file. Profile the run again.")
    if head.startswith(CALI) or (
        path.suffix == ".cali" and not head.lstrip().startswith((b"{", b"["))
    ):
        return records_of_cali(path, faults)
    return records_of_json(path, faults)
