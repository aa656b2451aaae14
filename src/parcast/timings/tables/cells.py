"""One cell of a table as people write them: a number, with a unit or a deviation, or a failed run.

A cell is read only where it has one meaning: `12,345` could be either of two numbers, and is read
as what the decimal mark of the whole table makes of it; `1:40` alone could be minutes or hours.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from parcast.timings.tables.titles import time_unit_of
from parcast.units import NUMBER, TIME_UNITS

FAILED: Final = {  # what people write where a run has no time, in small letters
    *("", "-", "--", "---", "\u2013", "\u2014", "n/a", "na", "nan", "none", "null", "nil", "x"),
    *("oom", "out of memory", "oot", "out of time", "timeout", "time out", "timed out", "t/o"),
    *("dnf", "dns", "did not finish", "fail", "failed", "failure", "error", "err", "crash"),
    *("crashed", "killed", "cancelled", "canceled", "abort", "aborted", "segfault", "sigsegv"),
    *("inf", "+inf", "infinity", "missing", "*", "?", "...", "#n/a", "#value!", "#div/0!", "tbd"),
    *("out_of_memory", "node_fail", "preempted", "not run", "skipped", "invalid", "hang", "hung"),
    *("\u221e", "\u2717", "\u2718", "\u274c", "time limit", "wall time exceeded"),
}
LONGEST: Final = 200  # characters of a cell that may be more than a plain number
_SPACES = "[ \u00a0\u2009\u202f]"  # between thousands
# Patterns are compiled where a cell needs them, which those of most tables do not.
_GROUPED = {
    ".": rf"[-+]?[0-9]{{1,3}}(?:(?:,|'|\u2019|{_SPACES})[0-9]{{3}})+(?:\.[0-9]+)?",
    ",": rf"[-+]?[0-9]{{1,3}}(?:(?:\.|'|\u2019|{_SPACES})[0-9]{{3}})+(?:,[0-9]+)?",
}
_MARKED = {
    ".": rf"[-+]?{NUMBER}",
    ",": r"[-+]?(?:[0-9]+(?:,[0-9]*)?|,[0-9]+)(?:[eE][+-]?[0-9]+)?",
}
_UNIT = r"[a-zA-Z\u00b5\u03bc%\u00d7]+\.?"
_WITH_UNIT = rf"(.*[0-9.,)])\s*+({_UNIT})"
_PLUS_MINUS = ("\u00b1", "+/-", "+-", "\\pm")
_CONCISE = r"([-+]?[0-9]+(?:[.,][0-9]+)?)\(([0-9]+)\)"
_CLOCK = r"(?:([0-9]+)-)?([0-9]+):([0-5]?[0-9]):([0-5]?[0-9](?:[.,][0-9]+)?)"
_SHORT_CLOCK = r"([0-9]+):([0-5]?[0-9](?:[.,][0-9]+)?)"
_TIMES = "days?|d|hours?|hrs?|h|minutes?|mins?|ms|m|seconds?|secs?|s"
_PART = rf"(?i)\s*+({NUMBER})\s*+({_TIMES})(?![a-z]),?+"
_MESH = r"\(\s*+[0-9]++(?:\s*+,\s*+[0-9]++)++\s*+,?+\s*+\)|[0-9]++(?:\s*+[x\u00d7*]\s*+[0-9]++)++"
_OF_PROCESSORS = "ranks?|procs?|processes|tasks?|cores?|threads?|nodes?|gpus?|cpus?|workers?"
_PROCESSORS = rf"(?i)([0-9][0-9,.']*+)\s*+(?:mpi\s++)?(?:{_OF_PROCESSORS})"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell says; without a value where it says none that can be understood."""

    value: float = math.nan  # in `unit`
    unit: str = ""  # of time: "ms"; "clock" of 1:40:00 in seconds; "%", "x"; "" without one
    deviation: float = math.nan  # standard deviation, in `unit`
    failed: str = ""  # what stands there in place of the time of a run that failed
    factors: tuple[int, ...] = ()  # of 4x2


@lru_cache(maxsize=65536)
def read_cell(text: str, decimal: str = ".", clock: str = "") -> Cell:
    """Read a cell; `decimal` is the decimal mark, `clock` the unit in the title of `1:40`.

    >>> read_cell("105\u00b13"), read_cell("29.3(8)").deviation, read_cell("12,345.6").value
    (Cell(value=105.0, unit='', deviation=3.0, failed='', factors=()), 0.8, 12345.6)
    >>> read_cell("1m40.5s").value, read_cell("01:00:30").value, read_cell("788.19 ms").unit
    (100.5, 3630.0, 'ms')
    >>> read_cell("OOM").failed, read_cell("1:40").value, read_cell("123,6", ",").value
    ('OOM', nan, 123.6)
    """
    if len(text) > LONGEST:
        return Cell()
    plain = " ".join(text.strip().strip("*`$~").split()).replace("\u2212", "-")
    if plain.lower().strip("()[]<>!.") in FAILED or plain.lower() in FAILED:
        return Cell(failed=plain or "nothing")
    if found := _number_or_clock(plain, decimal, clock):
        return found
    if re.fullmatch(_MESH, plain):
        factors = tuple(int(x) for x in re.findall("[0-9]+", plain))
        return Cell(float(math.prod(factors)), factors=factors)
    mark = next((mark for mark in _PLUS_MINUS if mark in plain[1:]), "")
    if mark:
        return _with_deviation(*plain.strip("()").split(mark, 1), decimal=decimal)
    return _concise(plain, decimal) or _with_unit(plain, decimal)


def _number_or_clock(text: str, decimal: str, clock: str) -> Cell | None:
    """Read a number alone, or a duration such as 1:40:00."""
    if (value := _plain_number(text, decimal)) is not None:
        return Cell(value)
    seconds = _clock(text, clock)
    return None if seconds is None else Cell(seconds, "clock")


def _with_unit(text: str, decimal: str) -> Cell:
    match = re.fullmatch(_WITH_UNIT, text)
    unit = _unit_of_cell(match[2]) if match else ""
    if match is None or not unit:
        return Cell()
    number = read_cell(match[1], decimal)
    return Cell() if number.unit else Cell(number.value, unit, number.deviation)


def _concise(text: str, decimal: str) -> Cell | None:
    """Read a number with its standard deviation in units of the last digit: 29.3(8)."""
    match = re.fullmatch(_CONCISE, text)
    value = _plain_number(match[1], decimal) if match else None
    if match is None or value is None:
        return None
    places = len(match[1].partition(decimal)[2])
    return Cell(value, "", int(match[2]) / 10**places)


def processors_in(text: str, decimal: str = ".") -> Cell:
    """Read a cell of a column of processors: a number, `4x2`, or `16 cores`."""
    match = re.fullmatch(_PROCESSORS, text.strip())
    return read_cell(match[1] if match else text, decimal)


def read_shown(text: str) -> Cell:
    """Read a cell with the decimal mark that it shows, before that of the table is known."""
    return processors_in(text, "," if decimal_marks(text) == "," else ".")


def seconds_in(unit: str) -> float:
    """Give the seconds in a unit of a cell or a title. [s]."""
    return TIME_UNITS.get(unit, 1.0)


def decimal_marks(text: str) -> str:
    """Tell which decimal mark a cell shows: "." or ","; "?" where both could be, "" for none.

    >>> [decimal_marks(x) for x in ("12,345.6", "0,5", "12,345", "1.25", "1.234,5", "64", "a,b")]
    ['.', ',', '?', '.', ',', '', '']
    """
    found = re.match(rf"[-+~$*]*([0-9]+(?:(?:[.,'\u2019]|{_SPACES})[0-9]+)*)", text.strip())
    plain = found[1] if found else ""
    points, commas = plain.count("."), plain.count(",")
    if points and commas:
        return "." if plain.rfind(".") > plain.rfind(",") else ","
    if points + commas > 1:  # between thousands
        is_grouped = re.fullmatch(r"[0-9]{1,3}(?:[.,][0-9]{3})+", plain)
        return ("," if points else ".") if is_grouped else ""
    if re.fullmatch(r"[1-9][0-9]{0,2}[.,][0-9]{3}", plain):
        # Three decimals are usual; where another cell has a comma, they are thousands.
        return "?" if commas else ""
    return "." if points else "," if commas else ""


def _plain_number(text: str, decimal: str) -> float | None:
    """Read a number with its decimal mark, and marks between thousands; None where it is none."""
    if re.fullmatch(_MARKED[decimal], text):
        return float(text.replace(",", "."))
    if re.fullmatch(_GROUPED[decimal], text):
        bare = re.sub(
            rf"['\u2019]|{_SPACES}|{re.escape('.' if decimal == ',' else ',')}", "", text
        )
        return float(bare.replace(",", "."))
    return None


def _clock(text: str, clock: str) -> float | None:
    """Read a duration in hours, minutes and seconds. [s]; None where it is none."""
    if match := re.fullmatch(_CLOCK, text):
        days, hours, minutes, seconds = match.groups()
        whole = (int(days or 0) * 24 + int(hours)) * 60 + int(minutes)
        return whole * 60 + float(seconds.replace(",", "."))
    if match := re.fullmatch(_SHORT_CLOCK, text):
        first, second = int(match[1]), float(match[2].replace(",", "."))
        if clock == "h:min":
            return first * 3600 + second * 60
        is_told = clock in {"min:s", "h:min:s"} or re.search("[.,]", match[2])
        return first * 60 + second if is_told else None
    parts: list[tuple[float, float]] = []  # how many, and the seconds of each
    rest = text
    while part := re.match(_PART, rest):
        parts.append((float(part[1]), seconds_in(_unit_of_cell(part[2].lower()))))
        rest = rest[part.end() :]
    seconds = [each for _, each in parts]
    if len(parts) > 1 and not rest and sorted({*seconds}, reverse=True) == seconds:
        return math.fsum(count * each for count, each in parts)
    return None


def _unit_of_cell(text: str) -> str:
    """Read what stands behind a number: a unit of time, "%" or "x"; "" for all else."""
    if text in {"x", "X", "\u00d7"}:
        return "x"
    if text == "%":
        return text
    return "min" if text == "m" else time_unit_of(text)


def _with_deviation(value: str, deviation: str, *, decimal: str) -> Cell:
    """Read a mean and its standard deviation, of which either may have the unit, or both."""
    mean, sd = read_cell(value, decimal), read_cell(deviation, decimal)
    if sd.unit == "%":
        return Cell(mean.value, mean.unit, mean.value * sd.value / 100)
    unit = mean.unit or sd.unit
    factor = seconds_in(sd.unit) / seconds_in(mean.unit) if mean.unit and sd.unit else 1.0
    return Cell(mean.value, unit, sd.value * factor)
