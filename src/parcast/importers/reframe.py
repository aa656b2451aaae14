"""Performance of ReFrame's tests: its performance log, JSON report, or database of results.

`p` is the number of tasks times that of CPUs for each task. The time is the performance variable
in a unit of time. Numbers that parametrise a test are axes; its name, its other parameters and
environments tell callpaths apart, and systems machines. Tests that did not pass are left out.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from parcast.files.faults import Faults
from parcast.files.numbers import is_number, number, whole
from parcast.importers.content import beginning, first_line, json_document, text_lines
from parcast.importers.registry import Format
from parcast.importers.runs import LARGEST, Imported, Runs, left_out
from parcast.units import TIME_UNITS, shown
from parcast.words import listed

REPORT = re.compile(rb'\s*\{\s*"(session_info|restored_cases|runs)"\s*:')
DATABASE: Final = b"SQLite format 3\0"
PASSED: Final = frozenset({"pass", "success"})
VALUE: Final = "_value"  # ends the title of a variable's column; _unit that of its unit
PARAMETER = re.compile(r"\s%(\w+(?:\.\w+)?)=(\S+)")
SECONDS: Final = {
    "second": 1.0,
    "seconds": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "msec": 1e-3,
    "usec": 1e-6,
}


@dataclass(kw_only=True, slots=True)
class TestCase:
    """One test that ran, with its performance."""

    name: str
    machine: str
    environ: str
    result: str
    tasks: int | None
    cpus_per_task: int
    values: dict[str, tuple[Any, str]]  # of variables, with their units
    faults: Faults
    line: int | None = None
    place: str = ""  # in a document
    numbers: dict[str, float] = field(default_factory=dict)  # of its parameters
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take the parameters out of the name: `Solver %np=4 %mesh=fine`."""
        for name, value in PARAMETER.findall(self.name):
            read = number(value)
            if read is None:
                self.texts.append(f"{name}={value}")
            else:
                self.numbers[name.rpartition(".")[2]] = read
        self.name = PARAMETER.sub("", self.name).strip()

    @property
    def p(self) -> int | None:
        """Tasks times CPUs for each."""
        return None if self.tasks is None else self.tasks * self.cpus_per_task


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is of ReFrame."""
    if head.startswith(DATABASE):
        return b"CREATE TABLE testcases" in head and b"json_blob" in head
    if REPORT.match(head):
        return b'"session_info"' in head
    titles = head.lstrip().split(b"\n", 1)[0].strip().lower().split(b"|")
    values = [x for x in titles if x.endswith(b"_value")]
    return bool(values and b"result" in titles and len(titles) > 3)


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each test that passed; `metric` is a variable in a unit of time."""
    cases = [case for path, faults in runs.files() for case in _cases(path, faults)]
    good = [case for case in cases if case.result in PASSED]
    others = [case.result or "no result" for case in cases if case.result not in PASSED]
    notes = left_out(len(others), listed(dict.fromkeys(map(shown, others))))
    if not good:
        got = f"{len(others)} that did not" if others else "none"
        runs.faults.refuse(f"must have tests that passed, got {got}. Select other runs.")
    metrics = _metrics(good, metric, runs)
    untimed = [case for case in good if not any(_seconds(case, x) for x in metrics)]
    notes += left_out(len(untimed), f"no value of {shown(', '.join(metrics))}")
    timed = [case for case in good if any(_seconds(case, x) for x in metrics)]
    if any(case.cpus_per_task > 1 for case in timed):
        notes.append("p is the number of tasks times that of CPUs for each task.")
    axes = _axes(timed)
    callpaths, machines = _callpaths(timed), _machines(timed)
    for case, callpath, machine in zip(timed, callpaths, machines, strict=True):
        point = {x: case.numbers[x] for x in axes}
        if case.p is not None:
            point["p"] = case.p
        for name in metrics:
            if (time := _seconds(case, name)) is not None:
                runs.add(
                    point, [time], case.faults, metric=name, callpath=callpath, machine=machine,
                    line=case.line, field=case.place,
                )  # fmt: skip
    return runs.imported(metric=metric, notes=notes)


FORMAT = Format(title="ReFrame log, JSON or database", recognises=recognises, timings=read)


def _cases(path: Path, faults: Faults) -> Iterator[TestCase]:
    """Go through the tests of one file, in whichever form."""
    if beginning(path, len(DATABASE)) == DATABASE:
        yield from _of_database(path, faults)
    elif first_line(path, faults).startswith("{"):
        yield from _of_report(json_document(path, faults), faults)
    else:
        yield from _of_log(path, faults)


def _of_log(path: Path, faults: Faults) -> Iterator[TestCase]:
    """Go through a performance log, whose cells have bars between them."""
    titles: list[str] = []
    for line, text in text_lines(path, faults):
        cells = [cell.strip() for cell in text.split("|")]
        if not titles or {"result", "name"} <= set(cells):
            titles = cells
            if "result" not in titles:
                faults.refuse(
                    f"must have a column result, got {shown(', '.join(titles))}. Name the format "
                    "if it is another.",
                    line=line,
                )
            continue
        if len(cells) != len(titles):
            faults.refuse(
                f"must have {len(titles)} columns as the header has, got {len(cells)}. A bar in a "
                "cell looks like one between columns: leave that column out.",
                line=line,
            )
        row = dict(zip(titles, cells, strict=True))
        names = [x.removesuffix(VALUE) for x in titles if x.endswith(VALUE)]
        tasks = row.get("num_tasks", row.get("job_num_tasks"))
        yield TestCase(
            name=next((row[x] for x in ("name", "check_name", "short_name") if x in row), ""),
            machine=":".join(row[x] for x in ("system", "partition") if row.get(x)),
            environ=row.get("environ", ""),
            result=row["result"],
            tasks=whole(tasks, least=1) if tasks else None,
            cpus_per_task=whole(row.get("num_cpus_per_task"), least=1) or 1,
            values={x: (_value(row[x + VALUE]), row.get(f"{x}_unit", "")) for x in names},
            faults=faults,
            line=line,
        )


def _value(cell: str) -> float | None:
    """Read a value, of which a test that failed has none."""
    return number(cell) if cell not in {"", "None", "null"} else None


def _of_report(document: Any, faults: Faults, place: str = "") -> Iterator[TestCase]:
    runs = document.get("runs") if isinstance(document, dict) else None
    if not isinstance(runs, list):
        faults.refuse(
            "must be a list of runs, as ReFrame writes its reports. "
            "Name the format if it is another.",
            field=f"{place}runs",
        )
    for i, run in enumerate(runs):
        cases = run.get("testcases") if isinstance(run, dict) else None
        if not isinstance(cases, list) or not all(isinstance(x, dict) for x in cases):
            faults.refuse("must be a list of objects. Correct it.", field=f"runs[{i}].testcases")
        for j, case in enumerate(cases):
            yield _reported(case, faults, f"{place}runs[{i}].testcases[{j}]")


def _reported(case: dict[str, Any], faults: Faults, place: str) -> TestCase:
    """Take one test of a report, in whichever version of it."""
    inner = case.get("check_vars")
    told = (inner if isinstance(inner, dict) else {}) | case
    tasks = told.get("num_tasks")
    system = ":".join(str(told[x]) for x in ("system", "partition") if told.get(x))
    return TestCase(
        name=str(told.get("display_name") or told.get("name") or ""),
        machine=system,
        environ=str(told.get("environ") or told.get("environment") or ""),
        result=str(told.get("result") or ""),
        tasks=whole(tasks, least=1) if is_number(tasks) else None,
        cpus_per_task=whole(told.get("num_cpus_per_task"), least=1) or 1,
        values=_performance(told),
        faults=faults,
        place=place,
    )


def _performance(case: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """Give the variables of a test: of newer reports by name, of older ones in a list."""
    newer, older = case.get("perfvalues"), case.get("perfvars")
    values: dict[str, tuple[Any, str]] = {}
    for name, one in newer.items() if isinstance(newer, dict) else ():
        if isinstance(one, list | tuple) and len(one) >= 5:
            values[name.rpartition(":")[2]] = one[0], str(one[4])
    for one in older if isinstance(older, list) else ():
        if isinstance(one, dict) and "value" in one:
            values[str(one.get("name", ""))] = one["value"], str(one.get("unit", ""))
    return values


def _of_database(path: Path, faults: Faults) -> Iterator[TestCase]:
    """Go through the reports of all sessions in a database, which is only read."""
    import sqlite3
    from urllib.parse import quote

    from parcast.importers.content import parsed

    try:
        uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = partial(str, encoding="utf-8", errors="replace")
            rows = database.execute(
                "SELECT json_blob FROM sessions ORDER BY session_start_unix"
            ).fetchall()
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        faults.refuse(
            f"must be a database of ReFrame's results, got: {shown(error)}. Was it copied whole?"
        )
    for i, (text,) in enumerate(rows):
        if not isinstance(text, str):
            faults.refuse("must be JSON, got none. Copy the database again.", field=f"session {i}")
        yield from _of_report(parsed(text, faults), faults, f"session {i}: ")


def _unit(text: str) -> float | None:
    """Seconds in a unit of time; None of anything else."""
    unit = text.strip()
    return TIME_UNITS.get(unit, SECONDS.get(unit.lower()))


def _seconds(case: TestCase, name: str) -> Any:
    """Give a variable of a test in seconds, None where it has none; what is no number as it is."""
    value, unit = case.values.get(name, (None, ""))
    factor = _unit(unit)
    if value is None or factor is None:
        return None
    return value * factor if is_number(value) and abs(value) <= LARGEST else value


def _metrics(cases: Sequence[TestCase], wanted: str | None, runs: Runs) -> list[str]:
    """Give the variables in a unit of time."""
    units: dict[str, set[str]] = {}
    for case in cases:
        for name, (_, unit) in case.values.items():
            units.setdefault(name, set()).add(unit)
    times = [x for x, own in units.items() if all(_unit(unit) is not None for unit in own)]
    if not times or (wanted is not None and wanted not in times and wanted in units):
        some = (f"{name} [{', '.join(sorted(own))}]" for name, own in units.items())
        runs.faults.refuse(
            "must have a performance variable in a unit of time, got "
            f"{shown(listed(some)) or 'none'}. Let the test return seconds: "
            "@performance_function('s')"
        )
    return times


def _axes(cases: Sequence[TestCase]) -> list[str]:
    """Give the numbers that parametrise all tests, but for those that are p."""
    shared = (
        [x for x in cases[0].numbers if all(x in case.numbers for case in cases)] if cases else []
    )
    return [x for x in shared if x != "p" and any(case.numbers[x] != case.p for case in cases)]


def _callpaths(cases: Sequence[TestCase]) -> list[str]:
    """Name the tests where there are several: by name, parameters that are text, environment."""
    names, environs = {case.name for case in cases}, {case.environ for case in cases}
    return [
        " ".join(
            [
                *([case.name] if len(names) > 1 else []),
                *case.texts,
                *([case.environ] if len(environs) > 1 else []),
            ]
        )
        for case in cases
    ]


def _machines(cases: Sequence[TestCase]) -> list[str]:
    """Name the systems where there are several."""
    machines = [case.machine for case in cases]
    return machines if len(set(machines)) > 1 else [""] * len(machines)
