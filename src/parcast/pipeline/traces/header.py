"""The header of a trace: what it says of its run as a whole, checked value by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeGuard

import numpy as np

from parcast.advice import Choice, ours
from parcast.files.faults import Faults
from parcast.files.numbers import is_number, whole
from parcast.units import shown
from parcast.words import did_you_mean

SCHEMA: Final = "parcast/pipeline-trace/"
VERSION: Final = 1
SCHEDULES: Final = ("adaptive", "source")
LARGEST_TIME: Final = 1e30  # so that what follows is finite [s]
LARGEST_WHOLE: Final = 10**15  # of items and ranks, which a float holds exactly


class TracedReduction(NamedTuple):
    """One of several reductions of a trace."""

    program: str
    start: float  # [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceHeader:
    """What a trace says of its run as a whole."""

    program: str
    schedule: str  # one of SCHEDULES
    ranks: int
    pipelines: int = 1
    fan_in: int = 2
    items: int | None = None  # None: unknown, as the input did not end
    hosts: tuple[str, ...]  # of each rank
    cores: int  # that the ranks could use
    offset: tuple[float, ...]  # of the clock of each rank to that of rank 0, removed [s]
    residual: tuple[float, ...]  # how far the times of each rank may still be off [s]
    seconds: float  # wall time of the run [s]
    started: str = ""  # date and time, ISO 8601
    parcast: str = ""  # version that wrote it
    reductions: tuple[TracedReduction, ...] = ()  # where there were several

    def to_document(self) -> dict[str, Any]:
        """Everything as the first line of a trace."""
        return {
            "schema": f"{SCHEMA}{VERSION}",
            "program": self.program,
            "schedule": self.schedule,
            "ranks": self.ranks,
            "pipelines": self.pipelines,
            "fan_in": self.fan_in,
            "items": self.items,
            "hosts": list(self.hosts),
            "cores": self.cores,
            "clock": {"offset_s": list(self.offset), "residual_s": list(self.residual)},
            "seconds": self.seconds,
            "started": self.started,
            "parcast": self.parcast,
        } | ({"reductions": [x._asdict() for x in self.reductions]} if self.reductions else {})


def read_header(document: Mapping[str, Any], faults: Faults) -> TraceHeader:
    """Read the first line of a trace, or refuse the file."""
    schema = document.get("schema")
    _check_schema(schema, faults)
    header = _Fields(document, faults)
    ranks = header.whole("ranks", 1)
    clock = document.get("clock")
    clocks = _Fields(clock if isinstance(clock, dict) else {}, faults, within="clock.")
    facts = TraceHeader(
        program=header.text("program"),
        schedule=header.text("schedule", SCHEDULES),
        ranks=ranks,
        pipelines=header.whole("pipelines", 1),
        fan_in=header.whole("fan_in", 2),
        items=None if document.get("items", 0) is None else header.whole("items", 0),
        hosts=tuple(header.each("hosts", ranks, str, "a name")),
        cores=header.whole("cores", 1),
        offset=tuple(clocks.each("offset_s", ranks, float, "a time")),
        residual=tuple(clocks.each("residual_s", ranks, float, "a time of at least 0", least=0)),
        seconds=header.time("seconds"),
        started=header.text("started"),
        parcast=header.text("parcast"),
        reductions=_reductions(document.get("reductions", []), faults),
    )
    if len(faults):
        faults.raise_all()
    return facts


def _reductions(listed: Any, faults: Faults) -> tuple[TracedReduction, ...]:
    """Read which reductions the header of a trace names; none where there was but one run."""
    with suppress(TypeError, ValueError, LookupError):
        found = tuple(
            TracedReduction(str(each["program"]), float(each["start"])) for each in listed
        )
        rises = all(one.start <= other.start for one, other in pairwise(found))
        if not found or (found[0].start == 0 and rises and found[-1].start <= LARGEST_TIME):
            return found
    must = "must be programs with rising times from 0 on as start"
    faults.add(f"{must}, got {shown(repr(listed), limit=60)}.", line=1, field="reductions")
    return ()


def _check_schema(schema: Any, faults: Faults) -> None:
    expected = f"{SCHEMA}{VERSION}"
    if schema == expected:
        return
    name, _, version = str(schema).rpartition("/")
    if f"{name}/" == SCHEMA and (whole(version) or 0) > VERSION:
        faults.refuse(
            f'must be "{expected}", got "{schema}", which a later parcast wrote. Update parcast.',
            line=1,
            field="schema",
        )
    got = "none" if schema is None else f'"{shown(schema)}"'
    faults.refuse(
        f'must be "{expected}", got {got}. {name_one()}',
        line=1,
        field="schema",
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    """Values of the header, checked one by one; a wrong one is noted, and replaced."""

    document: Mapping[str, Any]
    faults: Faults
    within: str = ""

    def wrong(self, name: str, must: str) -> None:
        """Note that a value is missing or wrong."""
        got = shown(repr(self.document[name])) if name in self.document else "none"
        self.faults.add(f"must be {must}, got {got}.", line=1, field=f"{self.within}{name}")

    def text(self, name: str, choices: Sequence[str] = ()) -> str:
        """Read a text, one of the choices if there are some."""
        value = self.document.get(name)
        if not isinstance(value, str):
            self.wrong(name, "text")
        elif choices and value not in choices:
            near = did_you_mean(value, choices)
            must = " or ".join(f'"{x}"' for x in choices)
            self.faults.add(
                f'must be {must}, got "{shown(value)}".{near}', line=1, field=self.within + name
            )
        return str(value)

    def whole(self, name: str, least: int) -> int:
        """Read a whole number."""
        value = self.document.get(name)
        if isinstance(value, int) and whole(value, least=least, most=LARGEST_WHOLE) is not None:
            return value
        self.wrong(name, f"a whole number of at least {least}")
        return least

    def time(self, name: str) -> float:
        """Read a time of at least 0 [s]."""
        value = self.document.get(name)
        if _is_number(value) and value >= 0:
            return float(value)
        self.wrong(name, "a time of at least 0 in seconds")
        return 0.0

    def each(
        self, name: str, ranks: int, kind: type, what: str, least: float = -np.inf
    ) -> list[Any]:
        """Read a list with a value for each rank."""
        values = self.document.get(name)
        if isinstance(values, list) and len(values) == ranks:
            if kind is str and all(isinstance(x, str) for x in values):
                return values
            if kind is float and all(_is_number(x) and x >= least for x in values):
                return [float(x) for x in values]
        self.wrong(name, f"a list with {what} for each of the {ranks} ranks")
        return []


def _is_number(value: Any) -> TypeGuard[float]:
    """Tell a number that can be computed with from everything else."""
    return is_number(value) and abs(value) <= LARGEST_TIME


def name_one() -> str:
    """Say what a trace is written by."""
    write = ours("run", "pipeline", Choice("JOB"), "--trace", "trace.jsonl")
    return f"Name a trace, which this writes: {write}"
