"""Benchmarks that pyperf wrote: a JSON document of values in seconds, with metadata.

Numbers of the metadata that are none of pyperf's own are axes, such as `nprocs` in
`runner.bench_func(name, f, metadata={"nprocs": 4})`. Without any that
tells p, names may: `solve[np=4]`. Calibration runs and warmups are no measurements.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parcast.files.faults import Faults
from parcast.files.numbers import is_number
from parcast.importers.content import benchmarks_in, json_document
from parcast.importers.names import NamedBenchmarks
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.units import shown

START = re.compile(rb'\s*\{\s*"benchmarks"\s*:\s*\[\s*\{\s*"(metadata|runs)"\s*:')
OWN = re.compile(  # what pyperf itself notes as a number
    r"(inner_|calibrate_|recalibrate_)?(loops|warmups)|duration|uptime|mem_.*|command_max_rss"
    r"|runnable_threads|load_avg_.*|cpu_(?!s$).*|python_.*|perf_.*|pyperf_.*"
)


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a suite of pyperf."""
    return bool(START.match(head) and re.search(rb'"(values|warmups)"\s*:\s*\[', head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each value. The only `metric` is "values"."""
    runs.refuse_metric(metric, but="values")
    found = [
        (faults, i, metadata, values)
        for path, faults in runs.files()
        for i, (metadata, values) in enumerate(_benchmarks(path, faults))
    ]
    numbers = [_numbers(metadata) for _, _, metadata, _ in found]
    names = [str(metadata.get("name") or "") for _, _, metadata, _ in found]
    series, notes = NamedBenchmarks(names, numbers).series(has_p=runs.constant_p is not None)
    for (faults, i, _, values), place in zip(found, series, strict=True):
        if place is None:
            continue
        callpath, point = place
        field = f"benchmarks[{i}].runs"
        runs.add(point, values, faults, metric="time_s", callpath=callpath, field=field)
    return runs.imported(notes=notes)


FORMAT = Format(title="pyperf JSON", recognises=recognises, timings=read)


def _benchmarks(path: Path, faults: Faults) -> list[tuple[dict[str, Any], list[Any]]]:
    """Read the benchmarks of one file: metadata of all levels, and the values of all runs."""
    document = json_document(path, faults)
    listed = benchmarks_in(document, "pyperf -o", faults)
    common = _metadata(document, "metadata", faults)
    read = []
    for i, one in enumerate(listed):
        field = f"benchmarks[{i}]"
        own = _metadata(one, field, faults)
        runs = one.get("runs") if isinstance(one, dict) else None
        if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
            faults.refuse("must be a list of runs. Correct it.", field=f"{field}.runs")
        values: list[Any] = []
        for run in runs:
            some = run.get("values") or []
            values += some if isinstance(some, list) else [some]
        if (common | own).get("unit", "second") != "second":
            got = shown(repr((common | own)["unit"]))
            faults.refuse(
                f"must have times, got values in {got}. Measure seconds.",
                field=f"{field}.metadata",
            )
        shared = [_metadata(run, field, faults) for run in runs]
        read.append((common | _same(shared) | own, values))
    return read


def _metadata(part: Any, field: str, faults: Faults) -> dict[str, Any]:
    own = part.get("metadata", {}) if isinstance(part, dict) else None
    if not isinstance(own, dict):
        faults.refuse("must be an object. Correct it.", field=field)
    return own


def _same(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = parts[0] if parts else {}
    return {x: y for x, y in first.items() if all(part.get(x) == y for part in parts)}


def _numbers(metadata: dict[str, Any]) -> dict[str, float]:
    """Give the numbers of the metadata that a user gave."""
    return {x: y for x, y in metadata.items() if is_number(y) and not OWN.fullmatch(x)}
