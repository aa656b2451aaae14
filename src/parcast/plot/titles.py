"""Names of series as titles of panels: broken or shortened between the parts of a name."""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

ENDS: Final = (r",\s+", r"->|::|/|\s+", r"->|::|[\s/,;:._-]+")  # of parts of a name, best first


def two_lines(text: str, most: int) -> list[str]:
    """Break a name between its parts; leave out the middle of one too long for two lines.

    >>> two_lines("main->solve, T3E", 12), two_lines("main->solve->MPI_Send", 12)
    (['main->solve,', 'T3E'], ['main->…', '…MPI_Send'])
    """
    if len(text) <= most:
        return [text]
    for ends in ENDS:
        first = _beginning(_parts(text, ends), most)
        rest = text[len(first) :]
        if first and len(rest) <= most:
            return [first.rstrip(), rest]
    path, comma, place = text.partition(", ")
    if comma:
        return [f"{_one_line(path, most - 1)},", _one_line(place, most)]
    first = _some(text, most - 1, _beginning) or text[: most - 1]
    last = _some(text, most - 1, _ending) or text[1 - most :]
    return [f"{first}…", f"…{last}"]


def _one_line(text: str, most: int) -> str:
    """Leave out the middle of a name that is too long for a line; its end matters most.

    >>> _one_line("main->timestep->LagrangeNodal->CommSBN", 20)
    'main->…CommSBN'
    """
    if len(text) <= most:
        return text
    last = _some(text, 2 * most // 3, _ending) or text[1 - most :]
    return f"{_some(text, most - 1 - len(last), _beginning)}…{last}"


def _some(text: str, most: int, choose: Callable[[Sequence[str], int], str]) -> str:
    """Keep the parts of a name that are chosen, split as well as may be; "" if none fits."""
    chosen = (choose(_parts(text, ends), most) for ends in ENDS)
    return next(filter(None, chosen), "").strip()


def _parts(text: str, ends: str) -> list[str]:
    """Take a name apart, each part with what ends it."""
    return re.findall(f".+?(?:{ends}|$)", text)


def _beginning(parts: Sequence[str], most: int) -> str:
    """Put together the first parts, as many as fit."""
    beginnings = (text for text in accumulate(parts) if len(text.rstrip()) <= most)
    return max(beginnings, key=len, default="")


def _ending(parts: Sequence[str], most: int) -> str:
    """Put together the last parts, as many as fit."""
    return _beginning([part[::-1] for part in reversed(parts)], most)[::-1]
