"""Numbers in files of other tools: the one way in which text and values of JSON become numbers.

A number is what JSON has, or text in ASCII digits such as `-1.5e3`. What else Python takes for one
is none here: `1_000`, digits of other scripts, `true`, "nan". No number of a file raises an error
that is not ours: a whole number of more than `MOST_DIGITS` digits is read as a float, and what is
larger than any float is infinite, so that who bounds a value bounds its digits too.
"""

import math
from typing import Final, TypeGuard

MOST_DIGITS: Final = 308  # of a whole number that a float holds whatever its digits are
LARGEST_COUNT: Final = 10**9  # of what is counted: processors, ranks, tasks, servers


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell a number from text and from true and false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: object, *, named: bool = False) -> float | None:
    """Value of a number, or of text that is one; None for all else.

    What is larger than any float is infinite, and the NaN of JSON stays one; `named` takes the
    words "nan" and "inf" as well, which programs print where they measured nothing.

    >>> number("1e3"), number("9" * 400), number("1_000"), number("nan"), number(True)
    (1000.0, inf, None, None, None)
    """
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("latin-1")
        try:
            read = float(text)
        except ValueError:
            return None
        is_plain = text.isascii() and "_" not in text
        is_spelt = named or math.isfinite(read) or any(x.isdigit() for x in text)
        return read if is_plain and is_spelt else None
    if not is_number(value):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite(value: object) -> float | None:
    """Value of a number, or of text that is one, where it is finite; None for all else.

    >>> finite("1e3"), finite("1e400"), finite(10**400), finite(float("nan")), finite([1])
    (1000.0, None, None, None, None)
    """
    read = number(value)
    return read if read is not None and math.isfinite(read) else None


def is_no_float(text: str, value: float) -> bool:
    """Tell whether text of a number was read as infinite or 0, as no float is that large or small.

    >>> [is_no_float(x, float(x)) for x in ("-1e400", "1e-400", "0e5", "inf", "1")]
    [True, True, False, False, False]
    """
    digits = text.strip().lower().partition("e")[0].strip("+-0._")
    return digits[:1].isdigit() and (math.isinf(value) or value == 0)


def whole(value: object, *, least: int = 0, most: int = LARGEST_COUNT) -> int | None:
    """Value of a whole number, or of text that is one, from `least` to `most`; None for all else.

    >>> whole("64"), whole(64.0), whole("6.4"), whole("-1"), whole("9" * 5000)
    (64, 64, None, None, None)
    """
    read = finite(value)
    if read is None or not read.is_integer() or not least <= read <= most:
        return None
    return int(read)


def whole_of_json(text: str) -> int | float:
    """Value of a whole number in JSON, as `parse_int` of `json.loads`: a float if it is too long.

    Python itself refuses more than 4300 digits, and makes of fewer what no float can hold.

    >>> whole_of_json("64"), whole_of_json("-" + "9" * 5000)
    (64, -inf)
    """
    return int(text) if len(text) <= MOST_DIGITS else float(text)
