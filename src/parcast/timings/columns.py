"""What a column of measurements may be called and may hold, and how it is brought to arrays.

Rules stand here once; the table of measurements and the readers of files both use them.
"""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import ParameterError, require
from parcast.units import SIZE_UNITS, TIME_UNITS, shown, time_unit_factor

LABELS = ("callpath", "machine")  # the columns that hold text
MEMORY: Final = ("memory_B", "memory_total_B")  # of the largest process, and of all at a time
PARTS: Final = ("compute_s", "communication_s", "disk_s")  # what of a time went where
MAY_BE_UNKNOWN: Final = ("deviation", *MEMORY, *PARTS)  # columns that may hold NaN
MOST_ROWS: Final = 20_000_000  # of measurements from files, in 1 GB of memory
MOST_CELLS: Final = 50_000_000  # their columns together
MOST_COLUMNS: Final = 1_000  # of a file
MOST_NAMES: Final = 1_000_000  # different callpaths and machines of a file
MOST_TEXT: Final = 200_000_000  # characters of all these names together
MOST_POINTS: Final = 1_000_000  # different places of runs that another tool wrote
COMPUTED = ("speedup", "efficiency", "lower_s", "upper_s")
BESIDE = (  # columns that `parcast measure` writes beside time_s, which are no parameters
    *("user_s", "system_s", *MEMORY, "memory_from", "read_B", "written_B", "others"),
    *("status", "exit", "host", "note"),
)
REPETITIONS = ("rep", "reps", "repeat", "repetitions", "run", "trial")  # of their numbers
TAKEN = {  # names in small letters that no axis may have: what they are, and what to do
    "time": ("a name for times", "Rename it."),
    "metric": ("half of the pair metric,value", "Give both, or rename it."),
    "value": ("half of the pair metric,value", "Give both, or rename it."),
    "callpath": ("that of another column", "Rename it to callpath."),
    "machine": ("that of another column", "Rename it to machine."),
    "repetition": ("that of another column", "Rename it to repetition."),
    **dict.fromkeys(REPETITIONS, ("a name of the repetition column", "Rename it to repetition.")),
    **dict.fromkeys(COMPUTED, ("what parcast computes", "Leave it out.")),
    **dict.fromkeys(("deviation", "deviation_s"), ("that of another column", "Rename it.")),
}

WORDS_FOR_LABELS = {  # what other tables call a column of text
    **dict.fromkeys(("cluster", "computer", "host", "hostname", "platform", "system"), "machine"),
    **dict.fromkeys(("function", "kernel", "phase", "region", "routine", "section"), "callpath"),
}


@dataclass(frozen=True, slots=True)
class Domain:
    """What the numbers of a column may be, and what to do about one that is not."""

    ok: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
    must: str
    hint: str


DOMAINS = {
    "p": Domain(
        lambda x: (x >= 1) & (x == np.floor(x)) & np.isfinite(x),
        "be a whole number of at least 1",
        "Count processors from 1.",
    ),
    "time": Domain(
        lambda x: (x > 0) & np.isfinite(x), "be a time above 0", "Leave out runs that failed."
    ),
    "repetition": Domain(
        lambda x: (x >= 0) & (x == np.floor(x)) & (x < 2**53),
        "be a whole number of at least 0",
        "Number repetitions 1, 2, 3.",
    ),
    "deviation": Domain(
        lambda x: ~(x < 0) & ~np.isinf(x),
        "be a standard deviation of at least 0",
        "Leave it out where it is unknown.",
    ),
    **dict.fromkeys(
        MEMORY,
        Domain(
            lambda x: ~(x <= 0) & ~np.isinf(x),
            "be memory above 0",
            "Leave it empty where it is unknown.",
        ),
    ),
    **dict.fromkeys(
        PARTS,
        Domain(
            lambda x: ~(x < 0) & ~np.isinf(x),
            "be a time of at least 0",
            "Leave it empty where it is unknown.",
        ),
    ),
}
LIMITS = {  # within its domain, what can be computed with
    "p": Domain(lambda x: x <= 1e9, "be at most 1e9", "No machine has more."),
    **dict.fromkeys(
        ("deviation", *PARTS),
        Domain(lambda x: ~(x > 1e30), "be at most 1e30 s", "Check its unit."),
    ),
    **dict.fromkeys(MEMORY, Domain(lambda x: ~(x > 1e18), "be at most 1 EB", "Check its unit.")),
    "time": Domain(  # the squares of others overflow
        lambda x: (x >= 1e-30) & (x <= 1e30), "lie between 1e-30 and 1e30 s", "Check its unit."
    ),
}
SPEEDUP = replace(DOMAINS["time"], must="be a speedup above 0")
AXIS = Domain(
    np.isfinite,
    "be a finite number",
    "Only callpath and machine may be text; leave the column out otherwise.",
)


def time_unit(name: str) -> float | None:
    """Seconds in the unit in the name of a column of times; None where it is none.

    >>> time_unit("time_ms"), time_unit("time [ms]"), time_unit("Time (h)"), time_unit("time")
    (0.001, 0.001, 3600.0, None)
    """
    if name.startswith("time_"):
        return TIME_UNITS.get(name.removeprefix("time_"))
    return TIME_UNITS.get(_unit_in_brackets(name) or "")


def memory_unit(name: str) -> tuple[str, str] | None:
    """Column of memory that a name stands for, and its unit; None where it is none.

    >>> memory_unit("memory_B"), memory_unit("memory_total_GiB"), memory_unit("memory")
    (('memory_B', 'B'), ('memory_total_B', 'GiB'), None)
    >>> memory_unit("Memory [GB]")
    ('memory_B', 'GB')
    """
    base, unit = _name_and_unit(name)
    return (f"{base}_B", unit) if f"{base}_B" in MEMORY and unit in SIZE_UNITS else None


def part_unit(name: str) -> tuple[str, str] | None:
    """Column of a part of the time that a name stands for, and its unit; None where it is none.

    >>> part_unit("disk_s"), part_unit("compute_ms"), part_unit("disk"), part_unit("disk_hours")
    (('disk_s', 's'), ('compute_s', 'ms'), None, None)
    """
    base, unit = _name_and_unit(name)
    return (f"{base}_s", unit) if f"{base}_s" in PARTS and unit in TIME_UNITS else None


def beside_unit(name: str) -> tuple[str, float] | None:
    """Column of memory or of a part of the time that a name stands for, and its unit in SI.

    >>> beside_unit("memory_GB"), beside_unit("disk_ms"), beside_unit("n")
    (('memory_B', 1000000000.0), ('disk_s', 0.001), None)
    """
    found = memory_unit(name) or part_unit(name)
    if found is None:
        return None
    return found[0], (SIZE_UNITS if found[0] in MEMORY else TIME_UNITS)[found[1]]


def _name_and_unit(title: str) -> tuple[str, str]:
    """Take a unit off a title: `disk_ms`, `Disk [ms]` or `disk (ms)`."""
    match = re.fullmatch(r"(\w+)\s*(?:\[(.*)\]|\((.*)\))", title)
    if match is None:
        base, _, unit = title.rpartition("_")
    else:
        base, unit = match[1], (match[2] or match[3] or "").strip()
    return base.lower(), unit


def is_name_of_time(name: str) -> bool:
    """Tell whether a name is kept for times: `time`, `time_...`, `time [...]`, in any case."""
    lowered = name.lower()
    return lowered == "time" or lowered.startswith("time_") or _unit_in_brackets(name) is not None


def _unit_in_brackets(name: str) -> str | None:
    """Take the unit out of a name such as `time [s]` or `Time (ms)`."""
    match = re.fullmatch(r"time\s*(?:\[(.*)\]|\((.*)\))", name, re.IGNORECASE)
    return None if match is None else (match[1] or match[2] or "").strip()


def is_label(text: str) -> bool:
    """Tell whether `text` names something: one line, not empty, that a UTF-8 file can hold."""
    return bool(text.strip()) and not any(x in "\0\r\n" or "\ud800" <= x <= "\udfff" for x in text)


def axis_name_fault(name: str) -> ParameterError | None:
    """Say why no axis may have this name, and what to do; None where one may."""
    lowered, called = name.lower(), shown(repr(name))
    if not is_label(name) or name != name.strip():
        must, hint = "be one line without blanks at its ends", "Name it as n or problem_size."
        return ParameterError(called, must=must, hint=hint)
    unit = _unit_in_brackets(name)
    if unit is not None:
        if unit not in TIME_UNITS:
            return ParameterError(
                called,
                must="have a unit of time in its brackets",
                got=shown(unit) or "nothing",
                hint=f"Write one of {', '.join(TIME_UNITS)}.",
            )
        lowered = "time"
    elif lowered.startswith("time_"):
        try:
            time_unit_factor(lowered)
        except ParameterError as error:
            return error.named(called)
        lowered = "time"
    if lowered not in TAKEN:
        return None
    got, hint = TAKEN[lowered]
    if lowered == "time" and name != name.lower():
        hint = f"Rename it to {name.lower()}."
    return ParameterError(called, must="be the name of an axis", got=got, hint=hint)


def axis_hint(name: str) -> str:
    """Say what to do about a value of an axis that is no number; it may be a label misspelt.

    >>> axis_hint("call_path")
    'Did you mean callpath? Only callpath and machine may be text; leave the column out otherwise.'
    """
    label = label_meant(name)
    return f"Did you mean {label}? {AXIS.hint}" if label else AXIS.hint


@lru_cache  # it is asked for every wrong cell
def label_meant(name: str) -> str | None:
    """Give the column of text that another name stands for, or that it misspells.

    >>> label_meant("host"), label_meant("call_path"), label_meant("date")
    ('machine', 'callpath', None)
    """
    near = difflib.get_close_matches(name.lower(), LABELS, n=1)
    return WORDS_FOR_LABELS.get(name.lower()) or next(iter(near), None)


def to_numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Turn one column into numbers of its domain, or refuse it."""
    domain = DOMAINS.get(name, AXIS)
    if np.ma.is_masked(values):
        raise ParameterError(name, must=domain.must, got="a masked value", hint=domain.hint)
    given = _array(name, values)
    if given.dtype.kind not in "iuf":
        given = _array(name, values, object)
        real = [isinstance(x, Real | Decimal) and not isinstance(x, bool) for x in given.flat]
        ok = np.reshape(real, given.shape)
        hint = axis_hint(name) if domain is AXIS else domain.hint
        require(name, given, ok, must=domain.must, hint=hint)
    is_ours = not given.flags.writeable and given.base is None  # frozen already: no need to copy
    try:
        with np.errstate(over="ignore"):
            column = given.astype(np.float64, copy=not is_ours)
    except OverflowError:  # an integer too large for a float
        column = np.array(np.inf)
    require(name, column, domain.ok(column), must=domain.must, hint=domain.hint)
    limit = LIMITS.get(name, domain)
    require(name, column, limit.ok(column), must=limit.must, hint=limit.hint)
    return column


def to_names(name: str, values: ArrayLike) -> NDArray[np.object_]:
    """Turn one column into text without blanks at its ends, equal names sharing one string."""
    given = _array(name, values, object)
    names = given.ravel()
    is_text = np.fromiter((isinstance(x, str) for x in names), dtype=bool, count=names.size)
    must, hint = "be a name: one line of text, not empty", "Leave it out if it is unknown."
    require(name, names, is_text, must=must, hint=hint)
    stripped = {x: x.strip() for x in dict.fromkeys(names)}
    ok = [is_label(x) for x in stripped]
    require(name, np.array(list(stripped), dtype=object), ok, must=must, hint=hint)
    shared = np.empty(names.shape, dtype=object)  # filled in place: a list would double the memory
    for i, x in enumerate(names):
        shared[i] = stripped[x]
    return shared.reshape(given.shape)


def _array(name: str, values: ArrayLike, dtype: type | None = None) -> NDArray[Any]:
    """Take one value, or one for each row, from whatever holds them."""
    shape: object
    try:
        given = np.asarray(values, dtype=dtype)
        shape = given.shape
    except ValueError:  # numpy refuses rows of different lengths
        given, shape = None, "rows of different lengths"
    if given is None or given.ndim > 1:
        raise ParameterError(
            name,
            must="be one value, or one for each row",
            got=f"{shape}",
            hint="Give it as a flat list.",
        )
    return given
