"""Runs that hyperfine timed: `hyperfine --export-json`, with its parameters as axes.

Times are in seconds. Parameters that are text (`--parameter-list compiler gcc,clang`), and
several commands at the same parameters, tell callpaths apart. Without parameters, the numbers in
which commands differ are: `mpirun -n 4`, `OMP_NUM_THREADS=4` and `-j 4` tell p. Memory is that of
the largest process.
"""

import re
from collections.abc import Sequence
from itertools import compress
from math import prod
from pathlib import Path
from typing import Any

from parcast.files.faults import Faults
from parcast.files.numbers import is_number, number
from parcast.importers.content import json_document
from parcast.importers.counts import numbers_in_command
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs, left_out
from parcast.units import shown

LONGEST_COMMAND = 10_000  # characters of a command that are looked at
LONGEST_VALUE = 200  # characters of the value of a parameter that is found in it
START = re.compile(rb'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:')


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is an export of hyperfine."""
    return bool(START.match(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each run that ended well. The only `metric` is "times"."""
    failed = 0
    results = [
        (faults, i, result)
        for path, faults in runs.files()
        for i, result in enumerate(_results(path, faults))
    ]
    notes = _take_from_commands([result for _, _, result in results], runs)
    callpaths = _callpaths([result for _, _, result in results])
    for (faults, i, result), callpath in zip(results, callpaths, strict=True):
        times, memory, failures = _times(result, i, faults)
        failed += failures
        numbers, texts = _parameters(result)
        machine = str(texts.get("machine", ""))
        field = f"results[{i}].times"
        runs.add(
            numbers, times, faults, metric="time_s", callpath=callpath, machine=machine,
            field=field, memory=memory,
        )  # fmt: skip
    notes += left_out(failed, "exit status not 0")
    runs.refuse_metric(metric, but="times")
    return runs.imported(notes=notes)


FORMAT = Format(title="hyperfine JSON", recognises=recognises, timings=read)


def _results(path: Path, faults: Faults) -> list[dict[str, Any]]:
    document = json_document(path, faults)
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list) or not all(isinstance(x, dict) for x in results):
        faults.refuse(
            "must be a list of objects, as hyperfine --export-json writes it. "
            "Name the format if it is another.",
            field="results",
        )
    return results


def _times(
    result: dict[str, Any], i: int, faults: Faults
) -> tuple[list[Any], dict[str, list[Any]], int]:
    """Give the times and memory of the runs that ended well, and the number of the others."""
    times = result.get("times")
    if not isinstance(times, list) or not times:
        faults.refuse(
            "must be the times of the runs, got none. Export them with a newer hyperfine.",
            field=f"results[{i}].times",
        )
    memory = result.get("memory_usage_byte")
    known: list[Any] = []
    if isinstance(memory, list) and len(memory) == len(times):
        known = [x if is_number(x) and x > 0 else None for x in memory]
    codes = result.get("exit_codes")
    if not isinstance(codes, list) or len(codes) != len(times):
        codes = [0] * len(times)
    ended = [code == 0 for code in codes]  # null: a signal
    good = list(compress(times, ended))
    beside = {"memory_B": list(compress(known, ended))} if any(known) else {}
    return good, beside, len(times) - len(good)


def _take_from_commands(results: Sequence[dict[str, Any]], runs: Runs) -> list[str]:
    """Give results without parameters those numbers in which their commands differ."""
    if any(result.get("parameters") for result in results):
        return []
    commands = [str(result.get("command", ""))[:LONGEST_COMMAND] for result in results]
    read = [numbers_in_command(command) for command in commands]
    varying = {
        name
        for template in {template for template, *_ in read}
        for name, values in _by_name([x for x in read if x[0] == template]).items()
        if len(values) > 1
    }
    counts = [prod(own) if own else None for _, _, own in read]
    is_told = None not in counts and (len(set(counts)) > 1 or runs.constant_p is None)
    for result, (template, numbers, _), p in zip(results, read, counts, strict=True):
        given = {name: numbers[name] for name in numbers if name in varying}
        result["parameters"] = given | ({"p": p} if is_told else {})
        result["template"] = template
    if not is_told or not results:
        return []
    return [f"p is taken from the commands: {counts[-1]} from {shown(commands[-1])}."]


def _by_name(read: Sequence[tuple[str, dict[str, float], list[int]]]) -> dict[str, set[float]]:
    """Give all values of each number in some commands."""
    values: dict[str, set[float]] = {}
    for _, numbers, _ in read:
        for name, value in numbers.items():
            values.setdefault(name, set()).add(value)
    return values


def _parameters(result: dict[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """Give the parameters of a result: those that are numbers, and those that are text."""
    given = result.get("parameters")
    numbers: dict[str, float] = {}
    texts: dict[str, str] = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        read = number(value)
        if isinstance(value, str) and read is None:
            texts[name] = value
        else:
            numbers[name] = value if read is None else read  # what is no number is refused later
    return numbers, texts


def _callpaths(results: Sequence[dict[str, Any]]) -> list[str]:
    """Name what each result timed: nothing where all timed one program."""
    texts = [
        " ".join(f"{x}={y}" for x, y in _parameters(result)[1].items() if x != "machine")
        for result in results
    ]
    points = [
        (*sorted((x, str(y)) for x, y in (result.get("parameters") or {}).items()),)
        if isinstance(result.get("parameters"), dict)
        else ()
        for result in results
    ]
    programs = [""] * len(results)
    if len(own := {result.get("template") for result in results}) > 1 and None not in own:
        programs = [_template(result) for result in results]
    elif len(set(points)) < len(points):  # several commands at one point
        programs = _programs(results, points)
    named = [" ".join(filter(None, pair)) for pair in zip(programs, texts, strict=True)]
    return named if len(set(named)) > 1 else [text.strip() for text in texts]


def _programs(results: Sequence[dict[str, Any]], points: Sequence[Any]) -> list[str]:
    """Tell several commands at the same parameters apart, by their place among these.

    The text of a command alone does not do: it changes with the values put into it.
    """
    at_point: dict[Any, dict[str, int]] = {}  # commands in their order
    templates = [_template(result) for result in results]
    order = []
    for template, point in zip(templates, points, strict=True):
        known = at_point.setdefault(point, {})
        order.append(known.setdefault(template, len(known)))
    names = [list(known) for known in at_point.values()]
    if len({len(known) for known in names}) == 1:
        return [names[0][i] for i in order]
    return templates


def _template(result: dict[str, Any]) -> str:
    """Give a command with the names of its parameters in place of their values."""
    if isinstance(own := result.get("template"), str):
        return shown(own, limit=200)
    command = str(result.get("command", ""))[:LONGEST_COMMAND]
    given = result.get("parameters")
    for name, value in given.items() if isinstance(given, dict) else ():
        if text := re.escape(str(value)[:LONGEST_VALUE]):
            put = f"{{{name}}}".replace("\\", "")
            command = re.sub(rf"(?<![\w.]){text}(?![\w.])", put, command)[:LONGEST_COMMAND]
    return shown(command.strip(), limit=200)
