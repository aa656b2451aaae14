"""Times as programs and people write them, and the patterns that find them in a text.

The unit of a number follows it, or stands in brackets before it; otherwise it is in seconds.
"""

import re
from typing import Final

from parcast.errors import ParameterError
from parcast.files.numbers import number
from parcast.timings.tables.titles import TIME_SPELLINGS
from parcast.units import TIME_UNITS, shown

LONGEST: Final = 10_000  # characters of a line that are searched
LONGEST_PATTERN: Final = 1_000  # characters
TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]?|.", re.DOTALL)  # of an expression
VERBOSE: Final = re.compile(r"\(\?[a-zA-Z]{0,9}x")
AGAIN: Final = re.compile(r"[*+]|\{[0-9]*+,[0-9]*+\}")  # what may be matched in several ways
ENDED: Final = re.compile(  # something again and again, then what is plain
    r"(?:\?:)?(?P<again>\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|[^\\])(?:[*+]|\{[0-9]*+,[0-9]*+\})(?P<end>\\\W|[^\\.^$*+?{}\[\]|()])"
    r"(?:\\\W|[^\\.^$*+?{}\[\]|()])*+",
    re.DOTALL,
)
UNITS = {  # how each is spelled
    unit: "|".join(
        "[u\u00b5\u03bc]s" if word == "us" else word
        for word, spelled in TIME_SPELLINGS.items()
        if spelled == unit
    )
    for unit in TIME_UNITS
}


def _following(words: str) -> re.Pattern[str]:
    """Find a unit behind a number."""
    return re.compile(rf"\s{{0,9}}[\[(]?(?:{words})\b(?!/)", re.IGNORECASE)


def _bracketed(words: str) -> re.Pattern[str]:
    """Find a unit in brackets before a number."""
    return re.compile(rf"[\[(]\s*(?:{words})\s*[\])][^\[\]()]*$", re.IGNORECASE)


FOLLOWING = {unit: _following(words) for unit, words in UNITS.items()}
BRACKETED = {unit: _bracketed(words) for unit, words in UNITS.items()}
CLOCK = re.compile(r"(?:([0-9]+):)?([0-9]{1,9}):([0-9]{1,2}(?:\.[0-9]+)?)")  # h:m:s, m:s
LETTERED = re.compile(  # 1h2m3.5s
    r"(?=[0-9])(?:([0-9]++)\s*+h)?+\s*+(?:([0-9]++)\s*+m(?:in)?)?+\s*+"
    r"(?:([0-9]++(?:\.[0-9]*+)?)\s*+s?)?",
    re.I,
)


def compiled(text: str | None, name: str) -> re.Pattern[str] | None:
    """Take a pattern, or refuse what has no group or a repetition that may take forever."""
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > LONGEST_PATTERN:
        raise _refusal(name, f"{text!r:.60}")
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise _refusal(name, f"{shown(repr(text))}, in which: {error}") from None
    if not pattern.groups:
        raise _refusal(name, shown(repr(text)), must="have a group in parentheses")
    if _may_take_forever(text):
        raise _refusal(name, shown(repr(text)), must="have no repetition or | within a repetition")
    return pattern


def _may_take_forever(text: str) -> bool:
    r"""Whether an expression repeats what has a repetition or a choice.

    It may then divide a text in many ways, unless each repetition has an end of its own.

    >>> _may_take_forever(r"(a+)+"), _may_take_forever(r"((?:a+))+"), _may_take_forever(r"(\w+ )*")
    (True, True, False)
    """
    is_verbose = bool(VERBOSE.search(text))  # blanks are nothing
    groups: list[tuple[int, bool]] = []  # where each that is open begins; whether it repeats
    for token in TOKEN.finditer(text):
        is_repeated = token[0] == "|" or bool(AGAIN.match(text, token.start()))
        if token[0] == "(":
            groups.append((token.end(), False))
        elif token[0] == ")" and groups:
            start, repeats = groups.pop()
            again = text[token.end() : token.end() + 1] in ("*", "+", "{")
            if repeats and again and (is_verbose or not _is_divided(text[start : token.start()])):
                return True
            is_repeated = repeats or again
        if is_repeated and groups:
            groups[-1] = (groups[-1][0], True)
    return False


def _is_divided(body: str) -> bool:
    """Whether each repetition of a group ends with what cannot be repeated in it."""
    match = ENDED.fullmatch(body)
    if match is None:
        return False
    widest = re.IGNORECASE | re.DOTALL  # whatever the flags of the expression are
    return not re.fullmatch(match["again"], match["end"].lstrip("\\"), widest)


def _refusal(name: str, got: str, must: str = "be a regular expression") -> ParameterError:
    example = r"time: ([\d.]+)" if name == "time_pattern" else r"ranks: (\d+)"
    return ParameterError(name, must=must, got=got, hint=f"Such as {example!r}.")


def group_of(match: re.Match[str]) -> str:
    """Give what the group of a pattern found, or the first of several that found something."""
    return next((text for text in match.groups() if text), "")


def found_in(match: re.Match[str], text: str) -> tuple[float, str] | None:
    """Time that a pattern found in a line [s], and the unit that stands at it; None of no time."""
    own = group_of(match)
    value = number(own)
    if value is None:
        seconds = duration(own)
        return None if seconds is None else (seconds, "s")
    end = next((match.end(i + 1) for i, x in enumerate(match.groups()) if x), match.end())
    start = end - len(own)
    unit = next((x for x, y in FOLLOWING.items() if y.match(text, end)), "") or next(
        (x for x, y in BRACKETED.items() if y.search(text, 0, start)), "s"
    )
    return value * TIME_UNITS[unit], unit


def duration(text: str) -> float | None:
    """Seconds of a time as people write it; None of anything else.

    >>> duration("1:02:03"), duration("2m3.5s"), duration("80 ms"), duration("soon")
    (3723.0, 123.5, 0.08, None)
    """
    text = text.strip()
    match = CLOCK.fullmatch(text) or LETTERED.fullmatch(text)
    if match and text:
        hours, minutes, seconds = (float(x or 0) for x in match.groups())
        return hours * 3600 + minutes * 60 + seconds
    for unit, following in FOLLOWING.items():
        value, rest = re.match(r"([-+0-9.eE]*)(.*)", text, re.S).groups()  # type: ignore[union-attr]  # matches any text
        if following.fullmatch(rest) and (read := number(value)) is not None:
            return read * TIME_UNITS[unit]
    return None
