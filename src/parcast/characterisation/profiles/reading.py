"""The profiles that a program is characterised from, whichever tool wrote them.

All become runs of regions, so that nothing else needs to know the tool.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Final, cast

from parcast.errors import ParameterError
from parcast.files.decoding import opened
from parcast.files.faults import AnyPath, Faults, as_paths
from parcast.importers.caliper import SPLIT
from parcast.importers.cubex import PROFILE
from parcast.importers.registry import recognised
from parcast.timings.profile import SCHEMA, RunProfile
from parcast.timings.read_profiles import ProfilesRead
from parcast.timings.read_profiles import read_profiles as read_own

RANK: Final = b"mpi.rank"  # in the head of a Caliper profile whose times are those of single ranks
TOOLS: Final = {"region": "parcast", "talp": "TALP", "cubex": "Score-P", "caliper": "Caliper"}


def kind_of_profile(path: AnyPath) -> str:
    """Tell what wrote a profile that has useful times of ranks; "" for anything else.

    `region`, `talp`, `cubex`, or `caliper` where its times are those of single ranks.
    """
    head, kind = _head_and_kind(path)
    return kind if kind != "caliper" or RANK in head else ""


def _head_and_kind(path: AnyPath) -> tuple[bytes, str]:
    """Give how a file begins and what wrote it; "" where it is no profile."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(65536)
    except (OSError, TypeError, ValueError):
        return b"", ""
    first = head.partition(b"\n")[0].decode("utf-8", "replace")
    if first.lstrip().startswith("{") and f'"{SCHEMA.rpartition("/")[0]}' in first:
        return head, "region"
    known = recognised(os.fspath(path))
    cut = "caliper" if SPLIT.match(head) else ""  # which says so itself
    name = cut if known is None else known.name
    return head, name if name in TOOLS else ""


def read_profiles(paths: AnyPath | Sequence[AnyPath]) -> ProfilesRead:
    """Read profiles of a program: of `parcast.region`, Caliper, Score-P or TALP.

    Parameters
    ----------
    paths : path or sequence of path
        The files, of one tool; "-" is standard input, for profiles of parcast. Files of Caliper,
        Score-P and TALP hold one run each.

    Returns
    -------
    ProfilesRead
        Complete runs, in the order of files and dates. A run that lacks a rank is left out and
        named in `notes`.

    Raises
    ------
    FileProblems
        If a file cannot be read, is no profile, or something in it is wrong, or if no run is
        complete. All faults of all profiles of parcast come together.
    MissingLibrary
        If a `.cali` or `.cubex` file needs an extra that is not installed.
    ParameterError
        If no path is given, or the files are of several tools.

    Examples
    --------
    >>> import parcast
    >>> parcast.read_profiles("examples/stencil/runs.jsonl")
    ProfilesRead(6 runs)
    """
    listed = as_paths(paths, hint="Name profiles.")
    places = [os.path.join(x, PROFILE) if os.path.isdir(x) else os.fspath(x) for x in listed]
    kinds = {path: _head_and_kind(path)[1] for path in places if path != "-"}
    tools = {TOOLS[kind]: path for path, kind in kinds.items() if kind}
    if len(tools) > 1:
        raise ParameterError(
            "profiles",
            must="all be of one tool",
            got=" and ".join(f"{tool} ({path})" for tool, path in tools.items()),
            hint="Characterise them separately.",
        )
    if not tools or "parcast" in tools or "-" in places:
        return read_own(listed)
    files = _files(places)
    runs, notes = _runs(next(iter(tools)), places)
    return ProfilesRead(runs=tuple(runs), notes=tuple(notes), files=files)


def _runs(tool: str, paths: Sequence[str]) -> tuple[list[RunProfile], list[str]]:
    if tool == "TALP":
        from parcast.characterisation.profiles.talp import of_talp

        return of_talp(paths)
    from parcast.characterisation.profiles.counted import of_caliper, of_cubex
    from parcast.characterisation.profiles.regions import profiles_of

    return profiles_of(of_caliper(paths) if tool == "Caliper" else of_cubex(paths))


def _files(paths: Sequence[str]) -> tuple[tuple[str, str, int], ...]:
    """Name each file with its SHA-256 and its one run; a file given twice is refused."""
    files: dict[str, str] = {}
    for path in paths:
        with opened(path) as (_, stream):
            digest = hashlib.sha256(cast(bytes, stream.read())).hexdigest()
        if digest in files:
            Faults(path).refuse(
                f"must be of another run than {files[digest]}, got the same. Give each file once."
            )
        files[digest] = path
    return tuple((name, digest, 1) for digest, name in files.items())
