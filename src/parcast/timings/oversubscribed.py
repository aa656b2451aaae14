"""Runs with more ranks than cores: how tables name their times, and what their readers say.

Ranks that take turns on a core show no speedup, whatever the program does, so their times say
nothing of a machine with a core for each rank. Who writes a table of runs that it started knows
the cores: it calls such a time `oversubscribed_time` in the column `metric`, as no other reader
takes that for a time. Ours leave these runs out, and say so. Hardware threads count as cores, as
the system counts them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from parcast.words import listed

TIME: Final = "oversubscribed_time"  # in place of time_s


def name_of_time(p: int, cores: int, *, counts: bool = True) -> str:
    """Name the time of a run on p ranks in the column `metric`; `counts`: it was not disturbed.

    >>> name_of_time(2, 2), name_of_time(2, 2, counts=False), name_of_time(4, 2)
    ('time_s', 'disturbed_time', 'oversubscribed_time')
    """
    if p > cores:
        return TIME
    return "time_s" if counts else "disturbed_time"


class Oversubscribed:
    """Runs of a table that are left out, as there were more ranks than cores."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()  # by p, as it is written

    def look_at(self, metrics: Sequence[str], p: Sequence[str]) -> None:
        """Take in the metric and the p of some rows."""
        self._counts.update(
            x.strip() for metric, x in zip(metrics, p, strict=True) if metric.strip() == TIME
        )

    @property
    def notes(self) -> list[str]:
        """What a reader of the table must know."""
        runs = self._counts.total()
        if not runs:
            return []
        were = f"{runs} runs were" if runs > 1 else "1 run was"
        return [
            f"{were} left out: more ranks than cores (p = {listed(self._counts)}), so that ranks "
            "took turns on a core"
        ]
