"""Benchmarks that wrote the JSON of Google Benchmark: `--benchmark_format=json`.

A name such as `BM_Solve/n:1000/8/real_time/threads:4` is the function, its arguments (named, or
else `arg1`, `arg2` ... in their order), and how it was timed, which tells benchmarks apart. A time
is that of one iteration. Until version 1.8 the library divided the real time of threads by their
number; it is multiplied by them, so that versions compare.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parcast.files.faults import Faults
from parcast.files.numbers import is_number, number
from parcast.importers.axes import metric_argument
from parcast.importers.content import benchmarks_in, json_document, keeping
from parcast.importers.registry import Format
from parcast.importers.runs import LARGEST, Imported, Runs, left_out
from parcast.units import TIME_UNITS, shown
from parcast.words import listed

LIST = re.compile(rb'"benchmarks"\s*:\s*\[')
KEPT = {  # keys
    *("benchmarks", "name", "run_name", "run_type", "aggregate_name", "threads"),
    *("real_time", "cpu_time", "time_unit", "error_occurred", "error_message", "skipped"),
    *("skip_message", "context", "library_version"),
}
OWN = {"repeats", "iterations", "min_time", "min_warmup_time", "threads"}  # words of the tool
UNDIVIDED = (1, 9)  # the first version that does not divide the real time by the threads
VERSION = re.compile(r"v?([0-9]{1,6})\.([0-9]{1,6})")
Entry = tuple[Faults, int, dict[str, Any]]
AGGREGATE = re.compile(r"_(mean|median|stddev|cv|min|max|BigO|RMS)$")
METRICS = ("real_time", "cpu_time")
KEPT_KINDS = ("", "median", "mean")  # single runs, and aggregates in place of them


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is of Google Benchmark."""
    is_object = head.lstrip().startswith(b"{")
    return is_object and bool(LIST.search(head)) and b'"real_time"' in head


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each repetition; `metric` is "real_time" (the default) or "cpu_time".

    Several functions become `callpath`; `threads` is an axis where it varies.
    """
    notes: list[str] = []
    entries: list[Entry] = []
    versions: dict[int, tuple[int, int] | None] = {}  # of the library, by the faults of a file
    for path, faults in runs.files():
        versions[id(faults)], benchmarks = _benchmarks(path, faults)
        entries += [(faults, i, one) for i, one in enumerate(benchmarks)]
    ended = [x for x in entries if not (x[2].get("error_occurred") or x[2].get("skipped"))]
    notes += left_out(len(entries) - len(ended), _reasons(entries))
    singles = _singles(ended, notes)
    wanted = metric or METRICS[0]
    if wanted not in METRICS:
        runs.faults.refuse(
            f"must have the metric {shown(repr(wanted))}, got {', '.join(METRICS)}. Choose one "
            f"of them: {metric_argument(runs.faults)}"
        )
    if wanted == METRICS[0]:
        _multiply_by_threads(singles, versions, notes)
    parts = [_parts(one) for _, _, one in singles]
    threads = [one.get("threads", 1) for _, _, one in singles]
    vary = len({repr(x) for x in threads}) > 1
    has_names = len({function for function, _ in parts}) > 1
    for (faults, i, one), (function, arguments), count in zip(
        singles, parts, threads, strict=True
    ):
        field = f"benchmarks[{i}].{wanted}"
        runs.add(
            arguments | ({"threads": count} if vary else {}),
            [_time(one, wanted, field, faults)],
            faults,
            metric=f"{wanted}_s",
            callpath=function if has_names else "",
            field=field,
        )
    return runs.imported(notes=notes)


FORMAT = Format(title="Google Benchmark JSON", recognises=recognises, timings=read)


def _reasons(entries: Iterable[Entry]) -> str:
    """Give the messages of benchmarks that ended in an error."""
    texts = (x[2].get("error_message") or x[2].get("skip_message") for x in entries)
    return listed(dict.fromkeys(shown(x) for x in texts if x)) or "error_occurred"


def _multiply_by_threads(
    singles: list[Entry], versions: dict[int, tuple[int, int] | None], notes: list[str]
) -> None:
    """Give real times of threads their meaning from version 1.9 on, or refuse a mixture."""
    threaded = [x for x in singles if is_number(x[2].get("threads")) and x[2]["threads"] > 1]
    kinds = {
        None if version is None else version >= UNDIVIDED
        for version in (versions[id(faults)] for faults, *_ in threaded)
    }
    if None in kinds and len(kinds) > 1:
        untold = next(faults for faults, *_ in threaded if versions[id(faults)] is None)
        untold.refuse(
            "must give its library_version to be compared with files that do, got none: until 1.8 "
            "the real time of threads was divided by their number. Import it separately."
        )
    if None in kinds:
        notes.append(
            "The library_version is not given: until 1.8, real_time of threads is divided by "
            "their number. It is used unchanged."
        )
    if False in kinds:
        notes.append(
            "real_time of threads is multiplied by their number, by which library_version 1.8 and "
            "older divides it."
        )
    for faults, _, one in threaded:
        version, time = versions[id(faults)], one.get(METRICS[0])
        if version and version < UNDIVIDED and is_number(time) and abs(time) <= LARGEST:
            one[METRICS[0]] = time * one["threads"]


def _version(document: dict[str, Any]) -> tuple[int, int] | None:
    """Give the version of the library that wrote a document, where it is given."""
    context = document.get("context")
    told = context.get("library_version") if isinstance(context, dict) else None
    match = VERSION.match(told) if isinstance(told, str) else None
    return (int(match[1]), int(match[2])) if match else None


def _benchmarks(path: Path, faults: Faults) -> tuple[tuple[int, int] | None, list[dict[str, Any]]]:
    """Read the benchmarks of one file, and the version of the library."""
    document = json_document(path, faults, hook=keeping(KEPT))
    benchmarks = benchmarks_in(document, "--benchmark_format=json", faults)
    for i, one in enumerate(benchmarks):
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            faults.refuse("must be an object with a name. Correct it.", field=f"benchmarks[{i}]")
    return _version(document), benchmarks


def _singles(entries: list[Entry], notes: list[str]) -> list[Entry]:
    """Keep single runs; of benchmarks that have none, the medians, or else the means."""
    kinds: dict[tuple[int, str], set[str]] = {}  # of each benchmark of each file
    for faults, _, one in entries:
        kinds.setdefault((id(faults), _run_name(one)), set()).add(_aggregate(one))
    best = {x: next((y for y in KEPT_KINDS if y in own), None) for x, own in kinds.items()}
    for kind in KEPT_KINDS[1:]:
        if count := sum(x == kind for x in best.values()):
            has = "benchmark has" if count == 1 else "benchmarks have"
            notes.append(f"{count} {has} only aggregates: the {kind} of the repetitions is used.")
    return [x for x in entries if _aggregate(x[2]) == best[id(x[0]), _run_name(x[2])]]


def _aggregate(one: dict[str, Any]) -> str:
    """Tell which aggregate of repetitions an entry is; "" for a single run."""
    if "run_type" in one:
        return str(one.get("aggregate_name", "other")) if one["run_type"] == "aggregate" else ""
    ending = AGGREGATE.search(one["name"])
    return str(one.get("aggregate_name") or (ending[1] if ending else ""))


def _run_name(one: dict[str, Any]) -> str:
    """Give the name of the benchmark of an entry, which may be an aggregate."""
    name = one.get("run_name")
    return name if isinstance(name, str) else AGGREGATE.sub("", one["name"])


def _parts(one: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """Split the name of a benchmark into its function and its arguments."""
    name = _run_name(one)
    function: list[str] = []
    arguments: dict[str, float] = {}
    for i, part in enumerate(name.split("/")):
        key, colon, value = part.rpartition(":")
        is_named = colon and not key.endswith(":")  # std::sort is a name
        alone, named = number(part), number(value)
        if i and alone is not None:
            arguments[f"arg{len(arguments) + 1}"] = alone
        elif i and is_named and named is not None:
            if key not in OWN:
                arguments[key] = named
        elif not (is_named and key in OWN):
            function.append(part)
    return "/".join(function), arguments


def _time(one: dict[str, Any], metric: str, field: str, faults: Faults) -> Any:
    """Give the time of one iteration, in seconds where it is a number."""
    if metric not in one:
        faults.refuse("must be the time of an iteration, got none. Correct it.", field=field)
    unit = one.get("time_unit", "ns")
    if not isinstance(unit, str) or unit not in TIME_UNITS:
        got = shown(repr(unit))
        faults.refuse(
            f"must have a time_unit of {', '.join(TIME_UNITS)}, got {got}. Correct it.",
            field=field,
        )
    value = one[metric]
    is_finite = is_number(value) and abs(value) <= LARGEST
    return value * TIME_UNITS[unit] if is_finite else value
