"""Benchmarks that pytest-benchmark wrote: `--benchmark-json`, or saved in `.benchmarks`.

Numbers among `params` and `extra_info` are axes; other parameters and the functions tell
callpaths apart. The rounds are repetitions where they are saved (`--benchmark-save-data`,
`--benchmark-json`), else their median is taken. Times are in seconds.
"""

import re
from pathlib import Path
from typing import Any, Final

from parcast.advice import Command
from parcast.files.faults import Faults
from parcast.files.numbers import is_number
from parcast.importers.content import benchmarks_in, json_document, json_object
from parcast.importers.names import NamedBenchmarks
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs

SAVE: Final = Command(("pytest", "--benchmark-save-data"))
START = re.compile(rb'\s*\{\s*"(machine_info|commit_info|benchmarks)"\s*:')


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is of pytest-benchmark."""
    if not START.match(head) or b'"real_time"' in head:
        return False
    has_machine = b'"machine_info"' in head and b'"commit_info"' in head
    has_one = all(key in head for key in (b'"fullname"', b'"extra_info"', b'"stats"'))
    return has_one or (has_machine and b'"benchmarks"' in head)


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each round. The only `metric` is "data"."""
    runs.refuse_metric(metric, but="data")
    found = [
        (faults, i, one)
        for path, faults in runs.files()
        for i, one in enumerate(_benchmarks(path, faults))
    ]
    numbers = [_numbers(one) for _, _, one in found]
    names = [_name(one) for _, _, one in found]
    series, notes = NamedBenchmarks(names, numbers).series(has_p=runs.constant_p is not None)
    medians = 0
    for (faults, i, one), place in zip(found, series, strict=True):
        if place is None:
            continue
        callpath, point = place
        field = f"benchmarks[{i}].stats"
        stats = json_object(one.get("stats"), field, faults)
        times = stats.get("data")
        if not isinstance(times, list) or not times:
            times = [stats[x] for x in ("median", "mean") if x in stats][:1]
            medians += 1
        if not times:
            faults.refuse("must have data or the median, got neither. Correct it.", field=field)
        runs.add(point, times, faults, metric="time_s", callpath=callpath, field=field)
    if medians:
        has = "benchmark has" if medians == 1 else "benchmarks have"
        notes.append(
            f"{medians} {has} no times of rounds, whose median is used. Save them: {SAVE}"
        )
    return runs.imported(notes=notes)


FORMAT = Format(title="pytest-benchmark JSON", recognises=recognises, timings=read)


def _benchmarks(path: Path, faults: Faults) -> list[dict[str, Any]]:
    document = json_document(path, faults)
    listed = benchmarks_in(document, "pytest --benchmark-json", faults)
    return [json_object(one, f"benchmarks[{i}]", faults) for i, one in enumerate(listed)]


def _given(one: dict[str, Any]) -> dict[str, Any]:
    """Give the parameters of a benchmark, and what else it noted."""
    parts = [one.get("params"), one.get("extra_info")]
    return {x: y for part in parts if isinstance(part, dict) for x, y in part.items()}


def _numbers(one: dict[str, Any]) -> dict[str, float]:
    return {x: y for x, y in _given(one).items() if is_number(y)}


def _name(one: dict[str, Any]) -> str:
    """Name what was timed: the function, and parameters that are text."""
    own = str(one.get("fullname") or one.get("name") or "")
    params = one.get("params")
    if not isinstance(params, dict):
        return own
    texts = (f"{x}={y}" for x, y in params.items() if not is_number(y))
    return " ".join([own.partition("[")[0], *texts])
