"""The table of two versions: their times by count, and the ratio with its interval."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.deciding.compare.ratios import Ratios
from parcast.show.sheet import Column, Entry, Fact, Form, Table, interval_column
from parcast.timings.columns import LABELS
from parcast.timings.measure import Measure, seconds_in
from parcast.words import rounded, signed_percent, whole

MOST_ROWS: Final = 20
DIGITS: Final = 4
MEANS: Final = "geometric mean of the runs"  # what a measured time is


def ratio_table(
    ratios: Ratios,
    places: Sequence[int],
    measure: Measure,
    more: Iterable[Column] = (),
    *,
    names: tuple[str, str] = ("base", "new"),
    legend: str = "",
) -> Table:
    """Table of some cells; without new times those of the base alone."""
    keys = [ratios.keys[i] for i in places]
    columns = [
        Column(
            title=name,
            cells=[str(key[name]) if name in LABELS else str(whole(key[name])) for key in keys],
            align="left" if name in LABELS else "right",
        )
        for name in (keys[0] if keys else ())
    ]
    labels = len(columns)
    known = [x[list(places)] for x in (ratios.base, ratios.new)]
    unit = measure.time_unit(np.concatenate([x[np.isfinite(x)] for x in known]))
    for title, times in zip(names, known, strict=True):
        if np.isfinite(times).any():
            cells = [
                rounded(x / seconds_in(unit), DIGITS) if np.isfinite(x) else ""
                for x in times.tolist()
            ]
            columns.append(Column(title=title, unit=f"[{unit}]", cells=cells))
    if ratios.in_both[list(places)].any():
        ends = [_change(ratios, i) for i in places]
        columns.append(Column(title="change", unit="[%]", cells=[x[0] for x in ends]))
        columns.append(interval_column("90% interval", "[%]", [x[1:] for x in ends]))
    columns += more
    entries = tuple(
        Entry(
            title=", ".join(f"{c.title} {c.cells[row]}" for c in columns[:labels]),
            facts=tuple(Fact(c.full_title, c.cells[row]) for c in columns[labels:]),
        )
        for row in range(len(places))
    )
    return Table(forms=(Form(columns=columns),), in_full=entries, legend=legend)


def _change(ratios: Ratios, i: int) -> tuple[str, str, str]:
    """Change in percent, and the ends of its interval; empty where there is none."""
    if not ratios.in_both[i]:
        return "", "", ""
    middle, lower, upper = (
        signed_percent(float(x[i]) - 1) for x in (ratios.ratio, ratios.lower, ratios.upper)
    )
    return middle, lower, upper


def first_rows(
    ratios: Ratios, flagged: NDArray[np.bool_], *, show_all: bool
) -> tuple[list[int], str]:
    """Rows to show, in their order: those flagged and then the longest; and what is left out."""
    every = len(ratios)
    if show_all or every <= MOST_ROWS:
        return list(range(every)), ""
    times = np.fmax(ratios.base, ratios.new)
    order = np.lexsort((-times, ~ratios.in_both, ~flagged))
    kept = max(MOST_ROWS, min(int(flagged.sum()), 2 * MOST_ROWS))
    return sorted(order[:kept].tolist()), f"{kept} of {every} rows are shown. All of them"
