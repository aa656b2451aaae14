"""Counted runs: what each rank did by call path, as Caliper and Score-P wrote it.

Bytes are given as machines count those of a primitive: the message to or from one partner. Caliper
counts [1]_ the buffer that a rank gives: of a broadcast or a scatter at its root only, of a
reduction or a gather everywhere else, of an all-to-all for all partners. Score-P counts [2]_ what
goes to and comes from the ranks of the communicator: p messages where all give and get, or p - 1
with MPI_IN_PLACE. Which one follows from runs at several p: where a message does not depend on p,
only the right divisor leaves the same bytes at each [D].

References
----------
.. [1] Caliper, src/services/mpiwrap/Wrapper.w and MpiTracing.cpp,
   https://github.com/LLNL/Caliper.
.. [2] Score-P, src/adapters/mpi/scorep_mpi_coll.inc.c, https://www.score-p.org.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.advice import Choice, Command
from parcast.files.decoding import base_name
from parcast.files.faults import AnyPath, Faults
from parcast.files.numbers import finite, whole
from parcast.importers.caliper import COUNT, EXCLUSIVE, Records, chosen_column, records_of
from parcast.importers.call_profile import CallProfile, RegionTimes, varying
from parcast.importers.cubex import TIME, counts_of
from parcast.units import shown
from parcast.words import listed

Table = NDArray[np.float64]  # (call paths, ranks)
CallPath = tuple[str, ...]

CALIPER: Final = (
    "CALI_CONFIG=runtime-profile,profile.mpi,region.count,loop.stats,mpi.message.count,"
    "mpi.message.size"
)
MESSAGES: Final = re.compile("p?mpix?_", re.IGNORECASE)  # how functions of MPI begin
EXCHANGE: Final = "exchange"  # messages that do not block, and both ways at once
KINDS: Final = {  # of functions of MPI, in lower case, whose calls and bytes are counted
    **dict.fromkeys(("send", "ssend", "bsend", "rsend"), "send"),
    **dict.fromkeys(("recv", "mrecv", "probe", "iprobe", "mprobe", "improbe"), "receive"),
    **dict.fromkeys(
        (
            *("isend", "issend", "ibsend", "irsend", "irecv", "imrecv", "start", "startall"),
            *("sendrecv", "sendrecv_replace", "wait", "waitall", "waitany", "waitsome"),
            *("test", "testall", "testany", "testsome"),
        ),
        EXCHANGE,
    ),
    "barrier": "barrier",
    "bcast": "broadcast",
    **dict.fromkeys(
        ("reduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"), "reduce"
    ),
    "allreduce": "allreduce",
    **dict.fromkeys(("gather", "gatherv"), "gather"),
    **dict.fromkeys(("scatter", "scatterv"), "scatter"),
    **dict.fromkeys(("allgather", "allgatherv"), "allgather"),
    **dict.fromkeys(("alltoall", "alltoallv"), "alltoall"),
}
SENDERS: Final = frozenset(
    (
        *("send", "ssend", "bsend", "rsend", "isend", "issend", "ibsend", "irsend"),
        *("start", "startall", "sendrecv", "sendrecv_replace"),
    )
)
RECEIVERS: Final = frozenset(("recv", "mrecv", "irecv", "imrecv", "sendrecv", "sendrecv_replace"))
AT_ROOT: Final = frozenset(("bcast", "scatter", "scatterv"))  # which gives what others get
SCATTERED: Final = frozenset(("reduce_scatter", "reduce_scatter_block"))
OF_ALL: Final = frozenset(  # whose bytes Score-P counts for all partners
    (
        *("allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "scan", "exscan"),
        *SCATTERED,
    )
)
EQUAL: Final = 1e-6  # relative difference of equal bytes, which Caliper writes to six digits


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedRun:
    """What each rank of one run did by call path; all tables are (paths, p)."""

    faults: Faults  # of its file
    tool: str
    p: int  # ranks [1]
    program: str  # "" where untold
    host: str  # cluster, or first host; "" where untold
    parameters: Mapping[str, float]
    outside: float  # time of a rank in no call path, the most [s]
    paths: tuple[CallPath, ...]
    time: Table  # without what a path calls [s]
    visits: Table  # of a path [1]
    iterations: Table  # of loops, in all passes [1]
    sent: Table  # messages, or calls of a collective [1]
    sent_bytes: Table  # [B]
    received: Table  # messages [1]
    received_bytes: Table  # [B]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse runs on several ranks without functions of MPI."""
        if self.p > 1 and not any(function_of(path)[1] for path in self.paths):
            build = Command(("scorep", "--mpp=mpi", Choice("COMPILER")))
            hint = f"Profile it with {CALIPER}" if self.tool == "Caliper" else f"Build it: {build}"
            self.faults.refuse(
                f"must have functions of MPI such as MPI_Send, as it ran on {self.p} ranks, got "
                f"none. {hint}."
            )


def function_of(path: CallPath) -> tuple[CallPath, str]:
    """Divide a call path into what called MPI and the name of its function; "" without one.

    >>> function_of(("main", "halo", "MPI_Isend"))
    (('main', 'halo'), 'isend')
    """
    for i, name in enumerate(path):
        if begin := MESSAGES.match(name):
            return path[:i], name[begin.end() :].lower().removesuffix("_c").rstrip("_")
    return path, ""


def of_caliper(paths: Sequence[AnyPath]) -> list[CountedRun]:
    """Read runs that Caliper profiled rank by rank."""
    profiles: list[CallProfile] = []
    records: list[Records] = []
    for path in paths:
        faults = Faults(os.fspath(path))
        records.append(records_of(Path(os.fspath(path)), faults, counts=True))
        profiles.append(_exclusive(records[-1], faults))
    axes, _ = varying(profiles)
    return [
        _of_records(
            of_one, profile, {name: finite(profile.metadata[name]) or 0.0 for name in axes}
        )
        for of_one, profile in zip(records, profiles, strict=True)
    ]


def _exclusive(records: Records, faults: Faults) -> CallProfile:
    """Take the exclusive times of each rank, all of which must be there."""
    usable = [x for x in records.columns if x.kind == EXCLUSIVE and x.across in ("", "sum")]
    if not records.ranks or not usable:
        faults.refuse(
            "must have exclusive times of each rank, with mpi.rank, got others. Profile it with "
            f"{CALIPER}."
        )
    profile = records.profile(chosen_column(usable, None, faults))
    told = profile.metadata.get("mpi.world.size", 1)
    if whole(told, least=1) is None:
        got = shown(repr(told))
        faults.refuse(f"must have an mpi.world.size of at least 1, got {got}. Profile it again.")
    p = profile.p or 0
    missing = sorted(set(range(p)) - records.ranks)
    if missing or len(records.ranks) > p:
        got = f"no rank {listed(map(str, missing), 5)}" if missing else f"{len(records.ranks)}"
        faults.refuse(f"must have times of all {p} ranks, got {got}. Profile the run again.")
    return profile


def _of_records(
    records: Records, profile: CallProfile, parameters: Mapping[str, float]
) -> CountedRun:
    """Put the columns of one run together."""
    p, metadata = profile.p or 1, profile.metadata
    counts = {x.name: times for x, times in records.columns.items() if x.kind == COUNT}
    every = chain.from_iterable(times.paths for times in (profile.times, *counts.values()))
    paths = {path: i for i, path in enumerate(dict.fromkeys(every))}
    empty = RegionTimes()
    told = {name: counts.get(name, empty).at(paths, p) for name in _COLUMNS}
    functions = [function_of(path)[1] for path in paths]
    _require_messages(functions, counts, p, profile.faults)
    one_way = told["sent"] + told["received"]
    size = told["size"]
    volume = np.rint(size * np.where(told["collectives"] > 0, told["collectives"], told["sent"]))
    for i, function in enumerate(functions):
        if told["collectives"][i].any():
            volume[i] = _of_one_partner(
                function, volume[i], told["collectives"][i], told["largest"][i], p
            )
    notes = []
    if "calls" not in counts:
        notes.append(
            "The profile has no visits of regions, so nothing is known of how often loops run: "
            "add region.count to CALI_CONFIG."
        )
    passes = told["calls"]
    if np.any((told["iterations"] > 0) & (passes > 1)):
        notes.append(
            "Every pass of a loop counts the iterations of its longest, which is all that Caliper "
            "tells."
        )
    names = ("executable", "executablepath", "program")
    program = next((str(metadata[x]) for x in names if metadata.get(x)), "")
    return CountedRun(
        faults=profile.faults,
        tool="Caliper",
        p=p,
        program=base_name(program) if program else "",
        host=str(metadata.get("cluster") or metadata.get("hostname") or ""),
        parameters=parameters,
        outside=max((t for x, t in records.outside.items() if x.kind == EXCLUSIVE), default=0.0),
        paths=tuple(paths),
        time=profile.times.at(paths, p),
        visits=passes,
        iterations=told["iterations"] * passes,
        sent=told["sent"] + told["collectives"],
        sent_bytes=volume,
        received=told["received"],
        received_bytes=np.rint(size * np.where(one_way > 0, told["received"], 0.0)),
        notes=tuple(notes),
    )


_COLUMNS: Final = ("calls", "iterations", "sent", "received", "collectives", "size", "largest")


def _require_messages(
    functions: Sequence[str], counts: Mapping[str, RegionTimes], p: int, faults: Faults
) -> None:
    called = {x for x in functions if x in KINDS}
    if p == 1 or not called:
        return
    without = [] if {"sent", "received", "collectives"} & set(counts) else ["mpi.message.count"]
    if "size" not in counts and called != {"barrier"}:
        without.append("mpi.message.size")
    if without:
        faults.refuse(
            f"must have the numbers and bytes of messages, got no {' and no '.join(without)}. "
            f"Profile it with {CALIPER}."
        )


def _of_one_partner(function: str, own: Table, calls: Table, largest: Table, p: int) -> Table:
    """Bytes of all calls of a collective as machines count them, (p,) each [B]."""
    there = calls > 0
    if function in AT_ROOT:  # which may vary
        most = largest.max() * calls
        own = np.where(there, np.minimum(own.sum(), most) if largest.any() else own.sum(), 0.0)
    elif function in ("reduce", "gather", "gatherv"):  # told elsewhere
        own = np.where(there, np.maximum(own, own.sum() / max(p - 1, 1)), 0.0)
    if function in ("alltoall", "alltoallv", "scatterv"):
        own = own / p
    return own


def of_cubex(paths: Sequence[AnyPath]) -> list[CountedRun]:
    """Read runs that Score-P profiled."""
    return _of_one_message([_of_cubex(os.fspath(path)) for path in paths])


def _of_cubex(path: str) -> CountedRun:
    """Read one run; the bytes of collectives are still those of all partners."""
    faults = Faults(path)
    found = counts_of(Path(path), faults, ("visits", "bytes_sent", "bytes_received"))
    paths, time = tuple(found.paths), found.metrics[TIME]
    p = time.shape[1]
    needed = ("visits", "bytes_sent", "bytes_received") if p > 1 else ("visits",)
    lacking = [name for name in needed if name not in found.metrics]
    if lacking:
        faults.refuse(
            f"must have the metrics visits, bytes_sent and bytes_received, got no "
            f"{' and no '.join(lacking)}. Take the profile.cubex that Score-P itself writes."
        )
    zero = np.zeros_like(time)
    visits = found.metrics["visits"]
    sent_bytes, received_bytes = (
        found.metrics.get(name, zero).copy() for name in ("bytes_sent", "bytes_received")
    )
    sent, received = zero.copy(), zero.copy()
    for i, of_path in enumerate(paths):
        home, function = function_of(of_path)
        if len(of_path) > len(home) + 1 or function not in KINDS:
            continue
        if function in RECEIVERS:
            received[i] = visits[i]
        if function in SENDERS or KINDS[function] not in ("send", "receive", EXCHANGE):
            sent[i] = visits[i]
        if function in AT_ROOT | SCATTERED:
            sent_bytes[i] = received_bytes[i]
    functions = {function_of(path)[1] for path in paths}
    notes = [*_notes_on(functions, p)]
    if found.threads > 1:
        notes.append(
            f"Of up to {found.threads} threads of a process only the first is read: computing of "
            "all of them is taken to last as long as on that one."
        )
    point = {name: x for name, x in found.point.items() if name != "p"}
    return CountedRun(
        faults=faults,
        tool="Score-P",
        p=p,
        program="",
        host=found.hosts[0] if found.hosts else "",
        parameters=point,
        outside=0.0,
        paths=paths,
        time=np.maximum(time, 0.0),
        visits=visits,
        iterations=zero,
        sent=sent,
        sent_bytes=sent_bytes,
        received=received,
        received_bytes=received_bytes,
        notes=tuple(notes),
    )


def _notes_on(functions: Collection[str], p: int) -> Iterator[str]:
    """Say what Score-P leaves open of some functions."""
    if p > 1 and (among := sorted(OF_ALL & set(functions))):
        yield (
            f"Score-P counts bytes of {listed(among, 4)} for all ranks of a communicator: it is "
            "taken to be that of the whole run."
        )
    if "startall" in functions:
        yield "MPI_Startall counts as one message a call, as Score-P counts its calls only."


def _of_one_message(runs: Sequence[CountedRun]) -> list[CountedRun]:
    """Divide the bytes of collectives by the partners that Score-P counted."""
    seen: dict[CallPath, list[tuple[Mapping[str, float], int, float]]] = defaultdict(list)
    for run in runs:
        for i, path in enumerate(run.paths):
            if run.p > 1 and function_of(path)[1] in OF_ALL and run.sent[i].any():
                each = float(run.sent_bytes[i].max() / run.sent[i].max())
                seen[path].append((run.parameters, run.p, each))
    in_place = {path for path, points in seen.items() if _is_in_place(path, points)}
    divided = []
    for run in runs:
        partners = np.array(
            [run.p - (path in in_place) if path in seen else 1 for path in run.paths], dtype=float
        )
        volume = run.sent_bytes / np.maximum(partners, 1.0)[:, None]
        divided.append(replace(run, sent_bytes=volume))
    return divided


def _is_in_place(path: CallPath, points: Sequence[tuple[Mapping[str, float], int, float]]) -> bool:
    """Tell whether the bytes of a call are those of p - 1 partners: then they are equal at all p.

    Exclusive scans never send to themselves.
    """
    if function_of(path)[1] == "exscan":
        return True
    ratios: dict[bool, float] = {}
    for less in (False, True):
        groups: dict[tuple[tuple[str, float], ...], list[tuple[int, float]]] = defaultdict(list)
        for parameters, p, each in points:
            groups[tuple(sorted(parameters.items()))].append((p, each / (p - less)))
        several = [x for x in groups.values() if len({p for p, _ in x}) > 1]
        spread = [max(x for _, x in y) / max(min(x for _, x in y), 1e-300) for y in several]
        ratios[less] = max(spread, default=1.0)
    return ratios[True] <= 1 + EQUAL < ratios[False]
