"""Profiles of timed regions from files: each line a rank of a run, every fault with its line.

Which lines are one run follows from their ranks and dates: ranks of a run overlap in time, and
runs that one file holds come one after the other. Files are read up to a limit, so that whatever
is named by mistake does not fill the memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, Final, NoReturn, cast

from parcast.errors import FileProblems, Problem
from parcast.files.decoding import opened
from parcast.files.faults import AnyPath, Faults, as_paths
from parcast.files.numbers import is_number, whole, whole_of_json
from parcast.timings.profile import KINDS, SCHEMA, RankRecord, RegionTotal, RunProfile
from parcast.units import shown
from parcast.words import did_you_mean

MOST_REGIONS: Final = 10_000  # of one rank: more are a name made anew in every pass
LARGEST_NUMBER: Final = (
    1e30  # of a number, as of a time of `Measurements`, so that what follows is finite
)
LARGEST_WHOLE: Final = 10**15  # of ranks, passes and threads, which a float holds exactly
_FAMILY: Final = SCHEMA.rpartition("/")[0]
LARGEST: Final = 64_000_000  # bytes of one file: some 100,000 ranks
LONGEST_LINE: Final = 2**24  # bytes of the record of one rank
AT_ONCE: Final = 0.5  # share of the shorter of two runs; less is a clock that was set
HOPELESS: Final = 10_000  # faults after which no more lines are looked at
MOST_MISSING: Final = 5  # ranks that one message names
MOST_TOTALS: Final = 10_000_000  # of a run, of which those that no line has are held too
PIECE: Final = 2**20  # read at a time [B]
NOT_TEXT: Final = {
    b"PK\x03\x04": "a zip archive. Unpack it",
    b"\x1f\x8b": "a gzip archive. Unpack it",
    b"\xff\xfe": "UTF-16. Save it as UTF-8",
    b"\xfe\xff": "UTF-16. Save it as UTF-8",
}


class _Keys:
    """The keys of a JSON object, taken one by one; what is wrong with one is noted."""

    def __init__(self, document: Mapping[str, Any], place: str, line: int, faults: Faults) -> None:
        self._document, self._place = document, place
        self._line, self._faults = line, faults

    def fault(self, key: str, message: str) -> None:
        """Note what is wrong with a key."""
        field = f"{self._place}.{key}" if self._place and key else self._place or key
        self._faults.add(message, line=self._line, field=field)

    def _given(self, key: str) -> Any:
        if key not in self._document:
            self.fault(key, "must be given. Name a file that PARCAST_PROFILE wrote.")
        return self._document.get(key)

    def text(self, key: str) -> str:
        """Take text that can be printed."""
        given = self._given(key)
        if isinstance(given, str) and given.strip() and given.isprintable():
            return given
        if key in self._document:
            self.fault(key, f"must be printable text, got {shown(repr(given))}.")
        return ""

    def number(self, key: str) -> float:
        """Take a finite number of at least 0."""
        given = self._given(key)
        if is_number(given) and 0 <= given <= LARGEST_NUMBER:
            return _measured(given)
        if key in self._document:
            self.fault(
                key,
                f"must be a number from 0 to {LARGEST_NUMBER:g}, got {shown(repr(given))}. "
                "Make the run again.",
            )
        return 0.0

    def whole(self, key: str, least: int) -> int:
        """Take a whole number."""
        given = self._given(key)
        if isinstance(given, int) and whole(given, least=least, most=LARGEST_WHOLE) is not None:
            return given
        if key in self._document:
            domain = f"from {least} to {LARGEST_WHOLE:g}"
            self.fault(key, f"must be a whole number {domain}, got {shown(repr(given))}.")
        return least

    def numbers(self, key: str, *, may_be_negative: bool) -> dict[str, float]:
        """Take an object of finite numbers."""
        given = self._given(key)
        if not isinstance(given, dict):
            if key in self._document:
                self.fault(key, f"must be an object of numbers, got {shown(repr(given))}.")
            return {}
        numbers = {}
        least = -LARGEST_NUMBER if may_be_negative else 0.0
        for name, value in given.items():
            if is_number(value) and least <= value <= LARGEST_NUMBER:
                numbers[name] = _measured(value)
            else:
                wrong = f"must be a number from {least:g} to {LARGEST_NUMBER:g}"
                self.fault(f"{key}.{shown(name)}", f"{wrong}, got {shown(repr(value))}.")
        return numbers


def _measured(number: float) -> float:
    """Take a number; one too small to divide by is 0."""
    return float(number) if abs(number) * LARGEST_NUMBER >= 1 else 0.0


def record_of(document: Any, line: int, faults: Faults) -> RankRecord | None:
    """Rank's record in what a line holds as JSON; None where something is wrong and noted."""
    before = len(faults)
    if not isinstance(document, dict) or not str(document.get("schema", "")).startswith(_FAMILY):
        faults.add(
            f'must be a rank\'s record, with "schema": "{SCHEMA}", got '
            f"{shown(repr(document))}. Name a file that PARCAST_PROFILE wrote.",
            line=line,
        )
        return None
    if document["schema"] != SCHEMA:
        faults.add(
            f'must be "{SCHEMA}", got "{shown(document["schema"])}". This version of parcast '
            "cannot read it: use the version that wrote it, or make the run again.",
            line=line,
            field="schema",
        )
        return None
    keys = _Keys(document, "", line, faults)
    p = keys.whole("p", 1)
    rank = keys.whole("rank", 0)
    if rank >= p:
        keys.fault("rank", f"must be below p = {p}, got {rank}. Ranks are counted from 0.")
    record = RankRecord(
        program=keys.text("program"),
        rank=rank,
        p=p,
        begun=keys.number("begun"),
        span=keys.number("span_s"),
        entry=keys.number("entry_s"),
        other_threads=keys.whole("other_threads", 0),
        parameters=keys.numbers("parameters", may_be_negative=True),
        regions=_regions(document, keys, line, faults),
        overlapping=keys.whole("overlapping", 0) if "overlapping" in document else 0,
        version=str(document.get("parcast", "")),
        host=str(document.get("host", "")),
        quanta=tuple(x for x in _quanta(document, keys).values() if x > 0),
        waited=keys.number("waited_s") if "waited_s" in document else None,
        line=line,
    )
    return record if len(faults) == before else None


def _quanta(document: Mapping[str, Any], keys: _Keys) -> dict[str, float]:
    """Times of a fixed piece of work, which older profiles do not have. [s]."""
    return keys.numbers("quanta_s", may_be_negative=False) if "quanta_s" in document else {}


def _regions(
    document: Mapping[str, Any], keys: _Keys, line: int, faults: Faults
) -> tuple[RegionTotal, ...]:
    given = document.get("regions")
    if not isinstance(given, list) or not given or not all(isinstance(x, dict) for x in given):
        keys.fault(
            "regions", f"must be a list of regions, at least one, got {shown(repr(given))}."
        )
        return ()
    if len(given) > MOST_REGIONS:
        keys.fault(
            "regions",
            f"must be at most {MOST_REGIONS:,}, got {len(given):,}. Give all passes of a region "
            "one name.",
        )
        return ()
    totals: dict[str, RegionTotal] = {}
    for number, region in enumerate(given, start=1):
        label = region.get("name")
        place = f'region "{label}"' if isinstance(label, str) else f"region {number}"
        total = _region(_Keys(region, shown(place), line, faults))
        if total.name in totals:
            keys.fault("regions", f'must have names that differ, got "{total.name}" twice.')
        totals[total.name] = total
    return tuple(totals.values())


def _region(keys: _Keys) -> RegionTotal:
    kind = keys.text("kind")
    if kind and kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f" Known are {', '.join(KINDS)}."
        keys.fault("kind", f'must be a known kind, got "{shown(kind)}".{hint}')
    return RegionTotal(
        name=keys.text("name"),
        kind=kind,
        entries=keys.whole("entries", 0),
        wall=keys.number("wall_s"),
        processor=keys.number("processor_s"),
        squares=keys.number("squares_s2"),
        iterations=keys.number("iterations"),
        calls=keys.number("calls"),
        volume=keys.number("volume_B"),
        counts=keys.numbers("counts", may_be_negative=False),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfilesRead:
    """What files hold: runs, and what is to be said of those left out."""

    runs: tuple[RunProfile, ...]
    notes: tuple[str, ...] = ()
    files: tuple[tuple[str, str, int], ...] = ()  # name, SHA-256 and runs of each

    def __repr__(self) -> str:
        """Count the runs; each is its own object in `runs`."""
        return f"ProfilesRead({len(self.runs)} run{'' if len(self.runs) == 1 else 's'})"


def read_profiles(paths: AnyPath | Sequence[AnyPath]) -> ProfilesRead:
    """Read the profiles that `parcast.region` or `parcast record` wrote; "-" is standard input."""
    runs: list[RunProfile] = []
    notes: list[str] = []
    files: list[tuple[str, str, int]] = []
    refusals: list[FileProblems] = []
    listed = as_paths(paths, hint="Name profiles.")
    for path in listed:
        try:
            lines = _read(path)
        except FileProblems as refusal:
            refusals.append(refusal)
        else:
            runs += lines.runs
            notes += lines.notes
            files += lines.files
            same = next((x for x, digest, _ in files[:-1] if digest == files[-1][1]), None)
            if same is not None:
                wrong = f"must contain other runs than {same}, got the same. Give each file once."
                refusals.append(FileProblems(os.fspath(path), [Problem(message=wrong)]))
    if refusals:
        _refuse(refusals)
    if not runs:
        raise FileProblems(
            os.fspath(listed[0]) if len(listed) == 1 else f"{len(listed)} profiles",
            [Problem(message=f"must contain a complete run. {' '.join(notes)}")],
        )
    return ProfilesRead(runs=tuple(runs), notes=tuple(notes), files=tuple(files))


def _refuse(refusals: Sequence[FileProblems]) -> NoReturn:
    """Raise all that is wrong with several files at once."""
    if len(refusals) == 1:
        raise refusals[0]
    problems = [
        replace(problem, field=f"{x.path}{'  ' if problem.field else ''}{problem.field}")
        for x in refusals
        for problem in x.problems
    ]
    unlisted = sum(x.unlisted for x in refusals)
    raise FileProblems(f"{len(refusals)} profiles", problems, unlisted=unlisted)


def _read(path: str | os.PathLike[str]) -> ProfilesRead:
    with opened(path) as (name, stream):
        faults = Faults(name)
        content = _content(stream, faults)
    records = list(_records(content, faults))
    if len(faults):
        faults.raise_all()
    if not records:
        faults.refuse(
            "must contain a profile, but is empty. Run the program with PARCAST_PROFILE."
        )
    runs, notes = _runs(records, name, faults)
    if len(faults):
        faults.raise_all()
    digest = hashlib.sha256(content).hexdigest()
    files = ((name, digest, len(runs)),)
    return ProfilesRead(runs=tuple(runs), notes=tuple(notes), files=files)


def _content(stream: Any, faults: Faults) -> bytes:
    """Read a file, if it is not too long and looks like text."""
    content = bytearray()
    while True:
        try:
            piece = cast("bytes | str", stream.read(PIECE))
        except OSError as error:
            faults.refuse(f"must be readable, got: {error.strerror or error}.")
        if not piece:
            return bytes(content)
        read = piece.encode() if isinstance(piece, str) else piece
        content += read
        for mark, what in NOT_TEXT.items():
            if content.startswith(mark):
                faults.refuse(f"must be a profile, got {what}.")
        if b"\0" in read:
            faults.refuse("must be a profile, got a NUL byte. Is it the file that was written?")
        if len(content) > LARGEST:
            faults.refuse(
                f"must have at most {LARGEST // 10**6} MB, got more. Profiles are small: is it "
                "the right file? Put runs into several files."
            )


def _records(content: bytes, faults: Faults) -> Iterator[RankRecord]:
    """Give the record of each line, and note what is wrong with the others."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    first = next((line.strip() for line in lines if line.strip()), b"{")
    if not first.startswith(b"{"):
        faults.refuse(
            f"must be a profile, got {shown(first[:60].decode(errors='replace'))}. Name a file "
            "that PARCAST_PROFILE wrote."
        )
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            faults.refuse(
                f"must be records of up to {LONGEST_LINE // 2**20} MiB, got a longer one. Is it "
                "the file that was written?",
                line=number,
            )
        if len(faults) > HOPELESS:
            return
        document = _document(line, number, faults, is_last=number == len(lines))
        if document is not None:
            record = record_of(document, number, faults)
            if record is not None:
                yield record


def _document(line: bytes, number: int, faults: Faults, *, is_last: bool) -> Any:
    """Parse a line as JSON; None if it is none, which is noted."""

    def refuse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number")

    try:
        text = line.decode("utf-8")
        return json.loads(text, parse_constant=refuse_constant, parse_int=whole_of_json)
    except UnicodeDecodeError:
        message = "must be text in UTF-8. Is it the file that was written?"
    except RecursionError:
        message = "must be nested less deeply. Is it the file that was written?"
    except json.JSONDecodeError as error:
        is_cut = is_last and line.startswith(b'{"schema": "parcast/profile/')
        message = (
            f"must be a rank's record as JSON: {error.msg.lower().removesuffix(' at')} at "
            f"character {error.colno}"
        )
        message += (
            ". The line was cut: delete it, and its run is left out, or make that run again."
            if is_cut
            else ". Name a file that PARCAST_PROFILE wrote."
        )
    except ValueError as error:
        message = f"must have finite numbers, got one where {error}. Make the run again."
    faults.add(message, line=number)
    return None


def _runs(
    records: Sequence[RankRecord], name: str, faults: Faults
) -> tuple[list[RunProfile], list[str]]:
    """Join the ranks of each run."""
    runs: list[RunProfile] = []
    notes: list[str] = []
    _check_one_at_a_time(records, faults)
    if len(faults):
        return runs, notes
    for ranks in _together(records):
        first = ranks[0]
        place = f"{name}, line {min(cast(int, rank.line) for rank in ranks)}"
        there = {rank.rank for rank in ranks}
        if len(there) < first.p:  # which may be any number: not counted through
            missing = list(islice((i for i in count() if i not in there), MOST_MISSING))
            more = first.p - len(there) > MOST_MISSING
            listed = ", ".join(map(str, missing[: first.p - len(there)]))
            listed += ", ..." if more else ""
            notes.append(
                f"The run of {place} is left out: ranks {listed} of {first.p} are missing, "
                "as they did not end normally or ran at another time."
            )
            continue
        _check_ranks(ranks, faults)
        runs.append(RunProfile(ranks=tuple(sorted(ranks, key=lambda x: x.rank)), place=place))
    return runs, notes


def _check_one_at_a_time(records: Sequence[RankRecord], faults: Faults) -> None:
    """Note where one rank was in two runs at once: their lines cannot be told apart."""
    last: dict[int, RankRecord] = {}
    for record in sorted(records, key=lambda record: record.begun):
        before = last.get(record.rank)
        both = before.begun + before.span - record.begun if before is not None else 0.0
        if before is not None and both > AT_ONCE * min(before.span, record.span):
            faults.add(
                f"must be of a later run than line {before.line}, as both are of rank "
                f"{record.rank}, got overlapping runs. Write runs that overlap to separate files.",
                line=record.line,
            )
        last[record.rank] = record


def _together(records: Sequence[RankRecord]) -> Iterator[list[RankRecord]]:
    """Part the records of a file into runs."""
    open_run: list[RankRecord] = []
    there, end = set[int](), 0.0  # ranks of it, and the end of its last [s]
    for record in sorted(records, key=lambda record: record.begun):
        begins = bool(open_run) and (
            record.program != open_run[0].program
            or record.p != open_run[0].p
            or len(open_run) == record.p
            or record.rank in there
            or record.begun > end
        )
        if begins:
            yield open_run
            open_run, there = [], set()
        end = max(record.begun + record.span, end if open_run else 0.0)
        open_run.append(record)
        there.add(record.rank)
    yield open_run


def _check_ranks(ranks: Sequence[RankRecord], faults: Faults) -> None:
    """Note where the ranks of a run contradict each other."""
    first, kinds = ranks[0], {region.name: region.kind for region in ranks[0].regions}
    names = {region.name for rank in ranks for region in rank.regions}
    if len(names) * len(ranks) > MOST_TOTALS:
        faults.add(
            f"must have at most {MOST_TOTALS:,} totals, of each region on each rank, got "
            f"{len(names):,} regions on {len(ranks):,} ranks. Give all passes of a region one "
            "name.",
            line=first.line,
            field="regions",
        )
    for rank in ranks[1:]:
        if dict(rank.parameters) != dict(first.parameters):
            faults.add(
                f"must be the same as in line {first.line}, another rank of the same run, got "
                f"{_listed(rank.parameters)} and {_listed(first.parameters)}. Give "
                "profile_parameters the same values on all ranks.",
                line=rank.line,
                field="parameters",
            )
        for region in rank.regions:
            kind = kinds.setdefault(region.name, region.kind)
            if region.kind != kind:
                faults.add(
                    f'must be of one kind on all ranks, got "{region.kind}" and "{kind}". Give '
                    "one of them another name.",
                    line=rank.line,
                    field=f'region "{region.name}"',
                )


def _listed(parameters: Any) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in parameters.items()) or "none"
