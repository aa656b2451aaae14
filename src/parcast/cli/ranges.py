"""Lists and ranges as text: counts `512,1024`, `1..1024x2`, and values `10..1000x1.5 MB/s`.

Processor and disk counts are whole numbers; problem sizes are similar lists, of numbers that
need not be whole. A parameter is varied over the whole of a range, so that both its ends belong
to it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from math import inf
from typing import Final

from parcast.errors import ParameterError
from parcast.files.numbers import LARGEST_COUNT
from parcast.units import EXPECTED, NUMBER, Dimension, quantity, shown

MOST_VALUES: Final = 100_000
LARGEST_SIZE: Final = 10**18

_PART = re.compile(
    rf"(?P<first>{NUMBER})\s*+(?P<first_unit>[^\s.x+:0-9-](?>[^.+]*[^\s.+])?)?\s*+"
    rf"(?:\.\.\s*+(?P<last>{NUMBER})\s*+(?:(?P<sign>[x+])\s*+(?P<step>{NUMBER}))?"
    r"\s*+(?P<unit>[^\s.x+:0-9-](?:.*\S)?)?)?\s*",
    re.DOTALL,
)
_EXACT = Context(prec=30)  # decimal, so that 0..1+0.1 holds the float 0.3
_SAME: Final = Decimal("1e-9")  # relative distance within which a step has reached the end


@dataclass(frozen=True, slots=True)
class _Part:
    """A number, or a range, as it is written."""

    text: str
    first: Decimal
    last: Decimal | None  # None: a number
    sign: str  # "x" or "+"; "" where none is given
    step: Decimal
    unit: str
    first_unit: str  # "" where it is that of the end


def parse_range(text: str, dimension: Dimension, *, name: str) -> list[float]:
    """Values [SI] of a parameter that a text names, in its order, each once, at most 100,000.

    `10..1000` doubles, `10..1000x1.5` goes by that factor, `10..100+10` by that step; both ends
    belong to it. A unit at the end holds for those without one. A ValueError says what is wrong
    with what messages call `name`.

    >>> parse_range("10..50 MB/s", "rate", name="--vary network.bandwidth")
    [10000000.0, 20000000.0, 40000000.0, 50000000.0]
    >>> parse_range("0..30+10%", "fraction", name="--vary network.contention")
    [0.0, 0.1, 0.2, 0.3]
    """
    example = _example(dimension)
    parts = _parts(text, name, f"numbers and ranges such as {example}")
    chosen: dict[float, None] = {}
    units = [""]
    for part in reversed(parts):  # the unit at the end is that of the parts before it
        units.append(part.unit or units[-1])
    for part, unit in zip(parts, reversed(units), strict=False):
        values = _scaled(part, unit, dimension, name)
        _require_few(len(chosen) + len(values), part.text, name)
        chosen |= dict.fromkeys(values)
    return list(chosen)


def parse_sizes(text: str, *, name: str = "-n") -> list[float]:
    """Problem sizes that a text names, as `parse_counts`, of numbers that need not be whole.

    >>> parse_sizes("0.5,64..512x2")
    [0.5, 64.0, 128.0, 256.0, 512.0]
    """
    chosen: dict[float, None] = {}
    for part in _parts(text, name, "numbers and ranges such as 64,128 or 64..1024x2"):
        if part.unit:
            raise ValueError(
                f"{name} must be plain numbers, got {shown(repr(part.text))}. "
                "Write for example 64,128 or 64..1024x2."
            )
        values = list(map(float, _steps(part, part.sign or "+", name, ends_there=False)))
        if not all(0 < value <= LARGEST_SIZE for value in values):
            raise ValueError(
                f"{name} must be numbers above 0 and up to {LARGEST_SIZE:g}, got "
                f"{shown(part.text)}. Write for example 64,128 or 64..1024x2."
            )
        _require_few(len(chosen) + len(values), part.text, name)
        chosen |= dict.fromkeys(values)
    return list(chosen)


def _parts(text: str, name: str, expected: str) -> list[_Part]:
    """Split a text at its commas and read each part."""
    parts = []
    for written in map(str.strip, text.split(",")):
        match = _PART.fullmatch(written)
        if match is None:
            got = repr(written) if written else "nothing" + (" between commas" if text else "")
            raise ValueError(f"{name} must be {expected}, got {shown(got)}.{_meant(written)}")
        if any(float(match[number] or 0) == inf for number in ("first", "last", "step")):
            raise ValueError(f"{name} must be finite, got {shown(written)}. Check its range.")
        is_range = match["last"] is not None
        parts.append(
            _Part(
                text=written,
                first=_EXACT.create_decimal(match["first"]),
                last=_EXACT.create_decimal(match["last"]) if is_range else None,
                sign=match["sign"] or "",
                step=_EXACT.create_decimal(match["step"] or 0),
                unit=(match["unit"] if is_range else match["first_unit"]) or "",
                first_unit=(match["first_unit"] or "") if is_range else "",
            )
        )
    return parts


def _meant(written: str) -> str:
    """Suggest what a part that cannot be read may have been meant to be."""
    if match := re.fullmatch(rf"({NUMBER})\s*(?:-|:|\.{{3,}})\s*({NUMBER})(.*)", written):
        return f" Write a range as {match[1]}..{match[2]}{shown(match[3])}."
    if written.startswith("-"):
        return " It must not be negative."
    return ""


def _scaled(part: _Part, unit: str, dimension: Dimension, name: str) -> list[float]:
    """Values of a part, in SI."""
    got = f"{part.first}{f' {unit}' if unit else ''}" if part.last is None else part.text
    one = _unit_in_si(unit, dimension, name, f"{got} {unit}" if unit not in got else got)
    if part.first_unit:
        other = _unit_in_si(part.first_unit, dimension, name, got)
        # Both ends in the unit of the last.
        first = _EXACT.divide(_EXACT.multiply(part.first, other), one)
        part = _Part(part.text, first, part.last, part.sign, part.step, part.unit, "")
    steps = _steps(part, part.sign or "x", name, ends_there=True)
    values = [float(_EXACT.multiply(step, one)) for step in steps]
    if not all(value < inf for value in values):
        raise ValueError(f"{name} must be finite, got {shown(part.text)}. Check its range.")
    return values


def _unit_in_si(unit: str, dimension: Dimension, name: str, got: str) -> Decimal:
    """Give what one of a unit is in SI, or refuse the unit, showing what was written."""
    try:
        return Decimal(repr(quantity(f"1 {unit}", dimension, name=name, written=got)))
    except ParameterError as refusal:
        raise ValueError(str(refusal)) from None


def _steps(part: _Part, sign: str, name: str, *, ends_there: bool) -> list[Decimal]:
    """Numbers of a part: its first, and on by its steps up to its last."""
    if part.last is None:
        return [part.first]
    if part.last < part.first:
        raise ValueError(
            f"{name} must be ranges from the smaller number to the larger, got "
            f"{shown(part.text)}. Exchange them."
        )
    step = part.step if part.sign else Decimal(2 if sign == "x" else 1)
    if sign == "x" and (step <= 1 or part.first <= 0):
        what = "begin above 0" if step > 1 else "have a factor above 1"
        raise ValueError(
            f"{name} must be ranges that {what}, got {shown(part.text)}. "
            "Write for example 1..16x2, or 0..1+0.1 for steps."
        )
    if step <= 0:
        raise ValueError(
            f"{name} must be ranges with a step above 0, got {shown(part.text)}. "
            "Write for example 0..1+0.1."
        )
    numbers = []
    for number in _up_to(part.last, part.first, step, sign):
        numbers.append(number)
        _require_few(len(numbers), part.text, name)
    if len(numbers) > 1 and abs(numbers[-1] - part.last) <= part.last * _SAME:
        numbers[-1] = part.last
    elif ends_there:
        numbers.append(part.last)
    return numbers


def _up_to(last: Decimal, first: Decimal, step: Decimal, sign: str) -> Iterator[Decimal]:
    """Count from the first number by steps, or by a factor, as far as the last."""
    number = first
    while number <= last * (1 + _SAME):
        yield number
        number = _EXACT.multiply(number, step) if sign == "x" else _EXACT.add(number, step)


def _require_few(count: int, text: str, name: str) -> None:
    """Refuse more values than anyone looks at, before there are many more."""
    if count > MOST_VALUES:
        raise ValueError(
            f"{name} must be {MOST_VALUES:,} values at most, got {shown(text)}. Use larger steps."
        )


def _example(dimension: Dimension) -> str:
    """Give an example of a range in a usual unit of the dimension."""
    if dimension == "fraction":
        return '"0..1+0.1"'
    written = EXPECTED[dimension][1].split(" or ")[0].strip('"').partition(" ")[2]
    return f'"10..1000{f" {written}" if written else ""}"'


MOST_COUNTS: Final = 100_000
DIGITS: Final = 20  # of a count, more than any needs
EXAMPLE: Final = "for example 64,128 or 1..1024x2"

_WHOLE = r"[0-9]+(?:[eE][0-9]{1,2})?"  # 1e6 is a count too
_RANGE = re.compile(rf"({_WHOLE})\s*\.\.\s*({_WHOLE})\s*(?:([x+])\s*([0-9]+))?")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?(?:[eE][0-9]{1,2})?")
_LIKE_A_RANGE = re.compile(r"([0-9]+)\s*(?:-|:|\.{3,})\s*([0-9]+)")


def parse_counts(text: str, *, name: str = "-p", of: str = "processors") -> list[int]:
    """Counts from 1 to 10^9 that a text names, in its order, each once, at most 100,000.

    `1..16` counts by one, `10..100+10` by ten, and `1..1024x2` doubles; a range ends at or before
    its second number. A ValueError says what is wrong with the counts `of` something.

    >>> parse_counts("1..8x2,12,10..30+10")
    [1, 2, 4, 8, 12, 10, 20, 30]
    """
    chosen: dict[int, None] = {}
    for part in map(str.strip, text.split(",")):
        if not part:
            got = "nothing" if not text.strip() else f"nothing between two commas of {text!r:.60}"
            raise ValueError(f"{name} must be counts of {of}, got {got}. Write {EXAMPLE}.")
        counts = _part(part, name, of)
        if len(counts) + len(chosen) > MOST_COUNTS:
            raise ValueError(
                f"{name} must be {MOST_COUNTS} counts at most, got {part:.60}. "
                "Use larger steps, such as 1..1000000x2."
            )
        chosen.update(dict.fromkeys(counts))
    return list(chosen)


def _part(part: str, name: str, of: str) -> range | list[int]:
    """Read one number or one range."""
    match = _RANGE.fullmatch(part)
    if match is None:
        return [_count(part, name, of)]
    first, last = _count(match[1], name, of), _count(match[2], name, of)
    if last < first:
        raise ValueError(
            f"{name} must be ranges from the smaller count to the larger, got {part}. "
            f"Write {last}..{first}{match[3] or ''}{match[4] or ''}."
        )
    step = int(match[4] or 1) if len(match[4] or "") <= DIGITS else LARGEST_COUNT
    if match[3] != "x":
        if step < 1:
            raise ValueError(
                f"{name} must be ranges with steps of at least 1, got {part}. "
                f"Write {first}..{last}+1."
            )
        return range(first, last + 1, step)
    if step < 2:
        raise ValueError(
            f"{name} must be ranges with a factor of at least 2, got {part}. "
            f"Write {first}..{last}x2, or {first}..{last} for each count."
        )
    counts = [first]
    while counts[-1] * step <= last:
        counts.append(counts[-1] * step)
    return counts


def _count(text: str, name: str, of: str) -> int:
    """Read one count."""
    if _NUMBER.fullmatch(text) is None:
        meant = _LIKE_A_RANGE.fullmatch(text)
        hint = f"Write a range as {meant[1]}..{meant[2]}." if meant else f"Write {EXAMPLE}."
        raise ValueError(f"{name} must be counts of {of}, got {text!r:.60}. {hint}")
    if len(text) > DIGITS or not 1 <= float(text) <= LARGEST_COUNT or float(text) % 1:
        raise ValueError(
            f"{name} must be whole numbers from 1 to {LARGEST_COUNT}, got {text:.60}. "
            f"Write {EXAMPLE}."
        )
    return int(float(text))
