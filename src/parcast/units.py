"""Text with units to SI floats, and SI floats to text a person reads.

Every number inside parcast is SI: seconds, bytes, bytes per second, flop, flop per second, plain
fractions. Text with units exists at the edges only, and this module alone knows prefixes. `GB` is
10^9 bytes and `GiB` is 2^30, always; a size is not a rate; a bit is an eighth of a byte. A unit
that is nearly right is refused with a suggestion, because the difference between `Mb` and `MB`
is a factor of eight and nobody but the author knows which was meant.
"""

import math
import re
from collections.abc import Iterable
from decimal import Context, Decimal
from numbers import Real
from typing import Final, Literal

from parcast.errors import ParameterError, one_line

Dimension = Literal[
    "time", "size", "rate", "operations", "operation_rate", "count", "fraction"
]  # [s], [B], [B/s], [flop], [flop/s], [1], [1]

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", start=1)}

LEAST, MOST = 1e-30, 1e30  # of a rate, and of any amount, in SI

TIME_UNITS: Final = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
SIZE_UNITS: Final = (
    {f"{prefix}B": factor for prefix, factor in _DECIMAL.items()}
    | {f"{prefix}B": factor for prefix, factor in _BINARY.items()}
    | {f"{prefix}bit": factor / 8 for prefix, factor in _DECIMAL.items()}
)
OPERATION_UNITS: Final = {  # an op is whatever a program counts as its step
    f"{prefix}{unit}": factor for unit in ("flop", "op") for prefix, factor in _DECIMAL.items()
}

_UNITS: dict[Dimension, dict[str, float]] = {
    "time": TIME_UNITS,
    "size": SIZE_UNITS,
    "rate": {f"{unit}/s": factor for unit, factor in SIZE_UNITS.items()},
    "operations": OPERATION_UNITS,
    "operation_rate": {f"{unit}/s": factor for unit, factor in OPERATION_UNITS.items()},
    "count": {"": 1.0},
    "fraction": {"": 1.0, "%": 0.01},
}
# What a message calls each dimension, an example of it, and its SI unit.
EXPECTED: Final[dict[Dimension, tuple[str, str, str]]] = {
    "time": ("a time", '"150 us"', "s"),
    "size": ("a size", '"10 MB"', "B"),
    "rate": ("a rate", '"12.5 GB/s"', "B/s"),
    "operations": ("a number of operations", '"830 Mflop"', "flop"),
    "operation_rate": ("an operation rate", '"120 Mflop/s"', "flop/s"),
    "count": ("a plain number", "64", ""),
    "fraction": ("a fraction", '"5%" or 0.05', ""),
}
# The units numbers are printed in, each with the smallest value [SI] it is used for.
_PREFIXES_FROM = _DECIMAL | {"": 0.0}
_READABLE: dict[Dimension, dict[str, float]] = {
    "time": {"ns": 0, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 1e3, "h": 7200, "d": 172800},
    "size": {f"{prefix}B": least for prefix, least in _PREFIXES_FROM.items()},
    "rate": {f"{prefix}B/s": least for prefix, least in _PREFIXES_FROM.items()},
    "operations": {f"{prefix}flop": least for prefix, least in _PREFIXES_FROM.items()},
    "operation_rate": {f"{prefix}flop/s": least for prefix, least in _PREFIXES_FROM.items()},
    "count": {"": 0},
    "fraction": {"%": 0},
}
# Ways people write a unit, brought to one spelling; what two units share is asked, not guessed.
_LOOSELY = {
    r"\s": "",
    r"percent|pct": "%",
    r"per": "/",
    r"kilo": "k",
    r"mega|milli": "m",
    r"micro|\u03bc": "u",
    r"nano": "n",
    r"giga": "g",
    r"tera": "t",
    r"seconds?|secs?": "s",
    r"minutes?|mins": "min",
    r"hours?|hrs?": "h",
    r"days?": "d",
    r"bytes?|bits?": "b",
    r"bps$": "b/s",
    r"flops?(/s)?$": "flop",
}
# Possessive, so that a long number which nothing can follow is given up at once; not its fraction:
# of "1..4" the number is "1".
NUMBER: Final = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_QUANTITY = re.compile(rf"([+-]?{NUMBER})\s*(.*)", re.DOTALL)
_CLOCK = re.compile(  # with days, or minutes, or both
    r"(?=[0-9]++[-:])(?:([0-9]++)-)?([0-9]++)(?::([0-9]++)(?::([0-9]++(?:\.[0-9]++)?))?)?"
)
_EXACT = Context(prec=40, traps=[])  # decimal, so that 35 us is exactly the float 35e-6


class OtherDimension(ParameterError):  # noqa: N818 - says what happened, as a result
    """A quantity has the unit of another dimension."""


def quantity(value: object, dimension: Dimension, *, name: str, written: str = "") -> float:
    """Read a number with its unit and return it in SI; a bare number is a count or a fraction.

    `name` is what a message calls the value, `written` what it shows where `value` is a part of
    it. Its sign is not judged, but it is finite. A time may be written as Slurm does, but
    not as MM:SS or MM.

    >>> quantity("27 MB/s", "rate", name="network.bandwidth")
    27000000.0
    >>> quantity("1-02:00:30", "time", name="--within")
    93630.0
    >>> quantity("5%", "fraction", name="serial")
    0.05
    """
    got = f'"{shown(written or value)}"' if isinstance(value, str) else shown(repr(value))
    noun, example, _ = EXPECTED[dimension]
    must = f"be {noun} such as {example}"
    if isinstance(value, str):
        if dimension == "time" and (match := _CLOCK.fullmatch(value.strip())):
            seconds = _of_clock(match, name, must, got)
            return quantity(f"{seconds} s", dimension, name=name, written=written or value)
        match = _QUANTITY.fullmatch(value.strip())
        if match is None:
            raise ParameterError(name, must=must, got=f"{got}, which does not begin with a number")
        number, unit = match[1], match[2].replace("\u00b5", "u").replace("\u03bc", "u")
    elif isinstance(value, Real) and not isinstance(value, bool):
        number, unit = str(value), ""
    else:
        raise ParameterError(name, must=must, got=f"{got}, which is neither text nor a number")
    factor = _UNITS[dimension].get(unit)
    if factor is None:
        if other := next((x for x, units in _UNITS.items() if unit and unit in units), None):
            of = f"{got}, which is {EXPECTED[other][0]}"
            raise OtherDimension(name, must=must, got=of)
        why, hint = _what_is_wrong(number, unit, dimension)
        must = must if unit else f"be {noun} with its unit"
        raise ParameterError(name, must=must, got=f"{got}, {why}", hint=hint)
    si = float(_EXACT.multiply(_EXACT.create_decimal(number), Decimal(str(factor))))
    if not math.isfinite(si):
        raise ParameterError(name, must=must, got=f"{got}, which is not a finite number")
    if dimension not in ("count", "fraction"):
        require_amount(name, si, dimension, got=got)
    return si


def _of_clock(match: re.Match[str], name: str, must: str, got: str) -> Decimal:
    """Seconds of D-HH, D-HH:MM, D-HH:MM:SS or HH:MM:SS; 02:00 may be hours or minutes."""
    days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups())
    is_open = match[1] is None and match[4] is None
    if is_open or minutes >= 60 or seconds >= 60:
        hint = "Write hours, minutes and seconds, 02:00:00, or a unit, 2 h."
        raise ParameterError(name, must=must, got=got, hint=hint)
    return 86400 * days + 3600 * hours + 60 * minutes + seconds


def require_amount(name: str, si: float, dimension: Dimension, *, got: str = "") -> None:
    """Refuse what no machine or program has, of which products and quotients are no numbers.

    >>> require_amount("latency", 1e308, "time")
    Traceback (most recent call last):
    parcast.errors.ParameterError: latency must be at most 1e+30 s, got 1e+308. Check its unit.
    """
    unit, hint = EXPECTED[dimension][2], "Check its unit."
    if abs(si) > MOST:
        must = f"be at most {MOST:g} {unit}"
        raise ParameterError(name, must=must, got=got or f"{si:g}", hint=hint)
    if "rate" in dimension and 0.0 < abs(si) < LEAST:
        must = f"be at least {LEAST:g} {unit}"
        raise ParameterError(name, must=must, got=got or f"{si:g}", hint=hint)


def require_computable(name: str, value: float) -> None:
    """Refuse a value of an axis, such as a problem size, whose powers are no numbers.

    >>> require_computable("n", 1e300)
    Traceback (most recent call last):
    parcast.errors.ParameterError: n must lie between 1e-30 and 1e+30, got 1e+300. Count ...
    """
    if value and not LEAST <= abs(value) <= MOST:
        must = f"lie between {LEAST:g} and {MOST:g}"
        raise ParameterError(name, must=must, got=f"{value:g}", hint="Count in other units.")


def time_unit_factor(header: str) -> float:
    """Seconds in one unit of a column whose name ends in its unit of time.

    >>> time_unit_factor("time_ms")
    0.001
    """
    stem, separator, unit = header.rpartition("_")
    factor = TIME_UNITS.get(unit)
    if separator and factor is not None:
        return factor
    likely = _likely_units(unit, "time") if separator else []
    if likely:
        hint = f"Did you mean {_either(f'{stem}_{unit}' for unit in likely)}?"
    else:
        stem = stem or header
        hint = f"Write {_either(f'{stem}_{unit}' for unit in TIME_UNITS)}."
    raise ParameterError(shown(header), must='end in a unit of time such as "_s"', hint=hint)


def format_quantity(value: float, dimension: Dimension, digits: int = 3) -> str:
    """Text for an SI value, in the unit that keeps the number short.

    >>> format_quantity(1406280, "size")
    '1.41 MB'
    """
    unit = _readable_unit(float(f"{value:.{digits}g}"), dimension)
    return _with_unit(_short(value / _UNITS[dimension][unit], digits), unit)


def format_interval(value: float, lower: float, upper: float, dimension: Dimension) -> str:
    """Text for a value and its interval, rounded to what the interval's width supports.

    The width is printed with two significant digits, which fixes the decimals of all three
    numbers; `value` keeps at least one digit however wide the interval is, three if it has no
    width, and twelve at most.

    >>> format_interval(38.2413, 35.0172, 42.0987, "time")
    '38.2 s  (35.0 to 42.1 s)'
    """
    finite = [x for x in (value, lower, upper) if math.isfinite(x)]
    leading = value if value and math.isfinite(value) else max(finite, key=abs, default=0.0)
    unit = _readable_unit(leading, dimension)
    factor = _UNITS[dimension][unit]
    width = (max(finite) - min(finite)) / factor if finite else 0.0
    largest = max((abs(x) / factor for x in finite), default=0.0)
    if 1e-6 <= largest < 1e12:
        decimals = _decimals(leading / factor, width, largest)
        texts = [_fixed(x / factor, decimals) for x in (value, lower, upper)]
    else:
        texts = [_short(x / factor, 3) for x in (value, lower, upper)]
    first, last = (_with_unit(text, unit) for text in (texts[0], texts[2]))
    return f"{first}  ({texts[1]} to {last})"


def _with_unit(number: str, unit: str) -> str:
    """Write a unit behind a number: "2.5 ms", "5%", "8"."""
    return f"{number}{unit if unit == '%' else f' {unit}'}".rstrip()


def percent(fraction: float) -> str:
    """Text for a fraction of at least 0 in a sentence: in whole percent, never nothing.

    >>> percent(0.071749), percent(0.002), percent(12.34)
    ('7%', 'less than 1%', '1200%')
    """
    if fraction < 0.01:
        return "less than 1%"
    return f"{100 * fraction:.0f}%" if fraction < 10 else f"{_short(100 * fraction, 2)}%"


def percent_in_full(fraction: float) -> str:
    """Text for a fraction that was asked for, with all its digits.

    >>> percent_in_full(0.9), percent_in_full(0.999), percent_in_full(0.29)
    ('90%', '99.9%', '29%')
    """
    return f"{100 * fraction:.10g}%"


def in_percent(fraction: float, *, sign: bool = False) -> str:
    """Number of percent to two digits, in whole percent from ten on.

    >>> in_percent(0.00126), in_percent(1.74), in_percent(0.1, sign=True)
    ('0.13', '170', '+10')
    """
    return ("+" if sign and fraction >= 0 else "") + _short(100 * fraction, 2)


def shown(value: object, *, limit: int = 60) -> str:
    """Text of a value that a message names: on one line, and cut after `limit` characters.

    >>> shown("three words here", limit=5)
    'three...'
    """
    return one_line(str(value), limit=limit)


def _what_is_wrong(number: str, unit: str, dimension: Dimension) -> tuple[str, str]:
    """Say why `unit` does not do, and what would."""
    if not unit:
        base = EXPECTED[dimension][2]
        return "which has none", f'Write for example "{number} {base}".'
    likely = _likely_units(unit, dimension)
    if likely:
        hint = f"Did you mean {_either(likely)}?"
    elif dimension == "count":
        hint = "Write the number alone."
    else:
        hint = f"Write {_either(unit for unit in _UNITS[dimension] if unit)}."
    return f'whose unit "{shown(unit)}" is not known', hint


def _likely_units(unit: str, dimension: Dimension) -> list[str]:
    """Units of `dimension` that `unit` may be a careless spelling of."""
    spelling = _loosely(unit)
    likely = [known for known in _UNITS[dimension] if _loosely(known) == spelling]
    lower = unit.casefold()
    if "bit" in lower:
        return [known for known in likely if "bit" in known]
    if "B" in unit or "byte" in lower:
        return [known for known in likely if "bit" not in known]
    return likely


def _loosely(unit: str) -> str:
    """Remove from `unit` the differences that people overlook."""
    plain = unit.casefold()
    for pattern, replacement in _LOOSELY.items():
        plain = re.sub(pattern, replacement, plain)
    return plain


def _either(words: Iterable[str]) -> str:
    """List words as a sentence does: a, b or c."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _readable_unit(value: float, dimension: Dimension) -> str:
    """Largest unit in use for a value of this size; the base unit if it has no size."""
    size = abs(value) if value and math.isfinite(value) else 1.0
    return [unit for unit, least in _READABLE[dimension].items() if size >= least][-1]


def _decimals(value: float, width: float, largest: float) -> int:
    """Decimal places that the width of an interval supports; negative for tens and hundreds."""
    places = max(1 - _exponent(width), -_exponent(value)) if width else 2 - _exponent(largest)
    return min(places, 11 - _exponent(largest))


def _exponent(value: float) -> int:
    """Power of ten of the leading digit."""
    return math.floor(math.log10(abs(value)))


def _fixed(value: float, decimals: int) -> str:
    """`value` with a fixed number of decimal places, without a sign on zero."""
    return f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"


def _short(value: float, digits: int) -> str:
    """`value` to so many significant digits, with an exponent only where it is huge or tiny."""
    rounded = float(f"{value:.{digits}g}") + 0.0
    return f"{rounded:.{max(digits, 6)}g}"
