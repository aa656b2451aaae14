"""Words of a machine file: amounts with their spread, counts, and how ranks were placed."""

import math
from collections.abc import Sequence
from typing import Final

from parcast.amounts import WIDEST

PLACEMENTS: Final = {
    "own": "each on a core of its own",
    "one": "all on one core",
    "spread": "dealt out to the cores",
    "free": "not pinned",
}
UNKNOWN: Final = "of one launch, so that its +- is taken to be 100%"
ROUNDING: Final = 1e-9  # of a share, which is no reason to write more


def with_spread(text: str, spread: float | None) -> str:
    """Text of an amount and how far its 90 % interval reaches, rounded up to two digits.

    >>> with_spread("27 MB/s", 0.0312), with_spread("1 us", None), with_spread("2 us", 0.00004)
    ('27 MB/s +- 3.2%', '1 us', '2 us +- 0.01%')
    """
    if not spread:
        return text
    share = 100.0 * min(spread, WIDEST)
    step = 10.0 ** max(math.floor(math.log10(share)) - 1, -2)
    return f"{text} +- {max(math.ceil(share / step - ROUNDING), 1) * step:.6g}%"


def listed(counts: Sequence[int]) -> str:
    """Write counts one after another: "2, 4 and 8"."""
    *others, last = map(str, counts)
    return f"{', '.join(others)} and {last}" if others else last


def counted(number: int, one: str, many: str) -> str:
    """Write a number of things."""
    return f"{number} {one if number == 1 else many}"
