"""Why a program failed, from what it wrote: a whole phrase of it, however its lines are broken."""

import re
from itertools import takewhile
from typing import Final

FAULT: Final = re.compile(
    r"error|fail|abort|cannot|can't|denied|refus|no such|not (?:found|enough)|unable|killed|"
    r"exception|terminat|run as root",
    re.I,
)
ADVICE: Final = re.compile(r"\W*(?:note|hint|tip|for more|see|please)\b|.*https?://", re.I)
WRAPPED: Final = 40  # characters of a line that may have been broken for its length [D]
MOST_LINES: Final = 6  # of a phrase


def why_in(output: str) -> str:
    r"""Phrase of an output that says why a program failed: the last of a fault, or the last line.

    >>> why_in("step 1\nERROR: no such file\nbye\n------")
    'ERROR: no such file'
    >>> why_in("Fatal error:\nThere is no domain decomposition for 4 ranks of\nthe box\nLook")
    'Fatal error: There is no domain decomposition for 4 ranks of the box'
    """
    lines = [line.rstrip() for line in output.splitlines()]
    spoken = [i for i, line in enumerate(lines) if re.search("[A-Za-z]", line)]
    facts = [i for i in spoken if not ADVICE.match(lines[i])]
    if not spoken:
        return ""
    first = last = ([i for i in facts if FAULT.search(lines[i])] or facts or spoken)[-1]
    while first and last - first < MOST_LINES and _goes_on(lines[first - 1], lines[first]):
        first -= 1
    while last - first < MOST_LINES and _goes_on(lines[last], "".join(lines[last + 1 : last + 2])):
        last += 1
    return " ".join(" ".join(lines[first : last + 1]).split()).rstrip(".: ")


def _goes_on(line: str, following: str) -> bool:
    """Whether a phrase goes on in the next line, which was broken for its length or at a colon."""
    word = (following.split() or [""])[0]
    if not re.search("[A-Za-z]", line) or word.endswith(":"):
        return False
    if line.endswith(":"):
        return FAULT.search(line) is not None and bool(word)
    indents = {len([*takewhile(str.isspace, x)]) for x in (line, following)}
    is_broken = len(line) >= WRAPPED and line[-1] not in ".!?;" and len(indents) == 1
    return is_broken and (word[:1].islower() or word[:1] == "(")
