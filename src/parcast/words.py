"""Numbers and names in tables and sentences, rounded to what their interval supports."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil, floor, isfinite, log, log10
from typing import Any, Final

from parcast.units import TIME_UNITS, Dimension, format_quantity, percent

NAMED = 4  # machines named in one sentence


FEWEST, MOST = 2, 5  # significant digits of a number that has an interval


def ranges_in_words(axes: Mapping[str, Iterable[float]]) -> str:
    """Name the values of some axes by their ends.

    >>> ranges_in_words({"p": [1, 4, 2], "d": [1, 1]})
    'p = 1 to 4, d = 1'
    """
    ranges = []
    for axis, values in axes.items():
        ends = sorted({min(known := list(values)), max(known)})
        texts = [f"{x:.0f}" if x == int(x) and x < 1e9 else f"{x:g}" for x in ends]
        ranges.append(f"{axis} = {' to '.join(texts)}")
    return ", ".join(ranges)


def supported_digits(lower: float, upper: float) -> int:
    """Significant digits that are told apart by an interval: half its width gets two.

    >>> supported_digits(35.0, 42.1), supported_digits(38.1, 38.3), supported_digits(0.1, 900)
    (3, 4, 2)
    """
    bounded = 0 < lower < upper and isfinite(upper)
    half = log(upper / lower) / 2 if bounded else (0.0 if lower == upper else 1.0)
    return min(max(1 - floor(log10(half)), FEWEST), MOST) if half else MOST


def rounded_interval(
    value: float, lower: float, upper: float, *, most: int = MOST
) -> tuple[str, str, str]:
    """Texts of a value above 0 and its interval, all rounded as the interval supports.

    They have equal decimals, or two digits each where the interval supports no more.

    >>> rounded_interval(38.2413, 35.0172, 42.0987)
    ('38.2', '35.0', '42.1')
    >>> rounded_interval(4.579, 0.008715, 2405.8)
    ('4.6', '0.0087', '2400')
    """
    digits = min(supported_digits(lower, upper), most)
    exponent = floor(log10(value))
    if digits == FEWEST or not -4 <= exponent < 7:
        return rounded(value, digits), rounded(lower, digits), rounded(upper, digits)
    places = digits - 1 - exponent
    first, second, third = (
        f"{round(x, places):.{max(places, 0)}f}" for x in (value, lower, upper)
    )
    return first, second, third


def rounded(value: float, digits: int, *, up: bool | None = None) -> str:
    """Text of a number to so many significant digits, with an exponent if it is huge or tiny.

    With `up` it is not below the number, or not above it if that is False: what is needed must be
    enough.

    >>> rounded(0.0123, 2), rounded(2064827.0, 2), rounded(2.1e12, 2), rounded(7.0, 3)
    ('0.012', '2100000', '2.1e12', '7.00')
    >>> rounded(1.0901, 3, up=True), rounded(1.09, 3, up=True), rounded(0.09999, 3, up=False)
    ('1.10', '1.09', '0.0999')
    """
    if not value or not isfinite(value):
        return f"{value:g}"
    if up is not None:
        way = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
        value = float(way.create_decimal_from_float(value * (1 - 1e-12 if up else 1 + 1e-12)))
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if not -5 <= power < 7:
        return f"{mantissa}e{power}"
    return f"{float(f'{mantissa}e{power}'):.{max(digits - 1 - power, 0)}f}"


def whole_percent(share: float) -> str:
    """Write a share in whole percent, never as nothing if it is something.

    >>> whole_percent(0.003), whole_percent(0.25), whole_percent(0.0)
    ('<1', '25', '0')
    """
    return "<1" if 0 < share < 0.005 else f"{100 * share:.0f}"


FAR_OFF: Final = 10.0  # from here on a relative error is written as a factor [1]
FACTOR: Final = "Nx: N times the measured one"  # what such a factor says


def signed_percent(relative: float) -> str:
    """Write a difference in percent with its sign, above 10% without decimals, or as a factor.

    >>> signed_percent(-0.0312), signed_percent(0.25), signed_percent(999_999.0)
    ('-3.1', '+25', '1,000,000x')
    """
    percent = 100 * relative
    if relative >= FAR_OFF:
        return f"{float(f'{1 + relative:.2g}'):,.0f}x"
    return f"{percent:+.1f}" if abs(percent) < 9.95 else f"{percent:+.0f}"


def error_in_words(error: float, *, digits: int = 1, sign: bool = False) -> str:
    """Write a relative error in a sentence: in percent, or how many times too long.

    >>> error_in_words(0.071), error_in_words(-0.031, sign=True), error_in_words(999_999.0)
    ('7.1%', '-3.1%', '1,000,000 times too long')
    """
    if error >= FAR_OFF:
        return f"{signed_percent(error)[:-1]} times too long"
    return f"{signed_percent(error) if sign else f'{100 * error:.{digits}f}'}%"


MARK: Final = "~"  # behind the times of runs that others disturbed
OTHERS: Final = "disturbed by other processes"  # what it says
TOLD: Final = (1.1, 0.02)  # least that is told: slower so many times, share of time without a core


def disturbance(slowdown: float, waiting: float) -> str:
    """Say how far runs were disturbed: times as long for the same work, share without a core.

    >>> disturbance(1.7, 0.0)
    'processors took up to 1.7 times as long for the same work'
    >>> disturbance(1.0, 0.31)
    'ranks waited for a core for up to 31% of a run'
    """
    parts = []
    if slowdown >= TOLD[0]:
        parts.append(f"processors took up to {slowdown:.2g} times as long for the same work")
    if waiting >= TOLD[1]:
        parts.append(f"ranks waited for a core for up to {percent(waiting)} of a run")
    return ", and ".join(parts)


def counted(count: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "rank"), counted(20_000, "item"), counted(3, "launch"), counted(2, "query")
    ('1 rank', '20,000 items', '3 launches', '2 queries')
    """
    several = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    several = f"{noun}es" if noun.endswith("ch") else several
    return f"{count:,} {noun if count == 1 else several}"


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Suggest the nearest of the `known` names, as a sentence; nothing where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f" Did you mean {near[0]}?" if near else ""


def whole(value: Any) -> Any:
    """Turn a float that is a whole number into an int, so that it prints as one.

    >>> whole(64.0), whole(0.5), whole("T3E")
    (64, 0.5, 'T3E')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def common_unit(times: Sequence[float]) -> str:
    """Choose the unit of time that suits most of the times [s]; above seconds, all of them."""
    from statistics import median  # late: help is printed without it

    unit = readable_unit(median(times))
    if TIME_UNITS[unit] <= 1:
        return unit
    least = readable_unit(min(times))
    return least if TIME_UNITS[least] > 1 else "s"


def readable_unit(time: float) -> str:
    """Tell the unit in which one time [s] is best read."""
    return format_quantity(time, "time").rpartition(" ")[2]


def axis_value(value: float, dimension: Dimension) -> str:
    """Write a value of an axis, with its unit.

    >>> axis_value(64.0, "count"), axis_value(22.5e6, "rate")
    ('64', '22.5 MB/s')
    """
    if dimension == "count":
        return f"{whole(value)}" if abs(value) < 1e15 else f"{value:g}"
    return format_quantity(value, dimension, digits=4)


def clock(seconds: float) -> str:
    """Write a time as Slurm reads it, in whole minutes.

    >>> clock(61), clock(130 * 3600)
    ('00:02:00', '130:00:00')
    """
    minutes = ceil(seconds / 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def joined(names: Sequence[str]) -> str:
    """Write names as a sentence does: a, b and c.

    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def listed(names: Iterable[str], most: int = NAMED) -> str:
    """Write names one after another, the first of them where there are many.

    >>> listed("abcdef"), listed("ab")
    ('a, b, c, d and 2 more', 'a, b')
    """
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
