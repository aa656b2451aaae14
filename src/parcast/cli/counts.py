"""Counts of processors or disks as text: `512,1024`, `1..16`, `1..1024x2`, and mixes."""

import re
from typing import Final

MOST_COUNTS: Final = 100_000
LARGEST_COUNT: Final = 10**9
EXAMPLE: Final = "such as 64,128 or 1..1024x2"

_RANGE = re.compile(r"([0-9]+)\s*\.\.\s*([0-9]+)\s*(?:([x+])\s*([0-9]+))?")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?")
_LIKE_A_RANGE = re.compile(r"([0-9]+)\s*(?:-|:|\.{3,})\s*([0-9]+)")


def parse_counts(text: str, *, name: str = "-p", of: str = "processors") -> list[int]:
    """Counts that a text names, in its order, each once.

    Parameters
    ----------
    text : str
        Numbers and ranges with commas between them. `1..16` counts by one, `10..100+10` by ten,
        and `1..1024x2` doubles; a range ends at or before its second number.
    name : str, default "-p"
        What a message calls the text.
    of : str, default "processors"
        What is counted, for a message.

    Returns
    -------
    list of int
        From 1 to 10^9, at most 100,000 of them. [1]

    Raises
    ------
    ValueError
        If the text is no such list, with what is wrong and an example.

    Examples
    --------
    >>> parse_counts("1..8x2,12,10..30+10")
    [1, 2, 4, 8, 12, 10, 20, 30]
    """
    found: dict[int, None] = {}
    for part in map(str.strip, text.split(",")):
        if not part:
            got = "nothing" if not text.strip() else f"nothing between two commas of {text!r:.60}"
            raise ValueError(f"{name} must be counts of {of}, got {got}. Write {EXAMPLE}.")
        counts = _part(part, name, of)
        if len(counts) + len(found) > MOST_COUNTS:
            raise ValueError(
                f"{name} must be {MOST_COUNTS} counts at most, got {part:.60}. "
                "Take wider steps, such as 1..1000000x2."
            )
        found.update(dict.fromkeys(counts))
    return list(found)


def _part(part: str, name: str, of: str) -> range | list[int]:
    """Read one number or one range."""
    found = _RANGE.fullmatch(part)
    if found is None:
        return [_count(part, name, of)]
    first, last = _count(found[1], name, of), _count(found[2], name, of)
    if last < first:
        raise ValueError(
            f"{name} must be ranges from the smaller count to the larger, got {part}. "
            f"Write {last}..{first}{found[3] or ''}{found[4] or ''}."
        )
    step = int(found[4] or 1)
    if found[3] != "x":
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
    if len(text) > 20 or not 1 <= float(text) <= LARGEST_COUNT or float(text) % 1:
        raise ValueError(
            f"{name} must be whole numbers from 1 to {LARGEST_COUNT}, got {text:.60}. "
            f"Write {EXAMPLE}."
        )
    return int(float(text))
