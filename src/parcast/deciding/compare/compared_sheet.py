"""The sheet of a comparison: the verdict, the ratios, and what changed."""

from typing import Final

import numpy as np

from parcast.deciding.compare.changes import PartChange
from parcast.deciding.compare.result import VersionComparison
from parcast.deciding.compare.sheet import MEANS, first_rows, ratio_table
from parcast.show.sheet import Column, Form, Sheet, Table, interval_column
from parcast.timings.measure import Measure, seconds_in
from parcast.words import rounded, signed_percent, whole

MOST_CHANGES: Final = 12


def sheet_of(told: VersionComparison, *, show_all: bool = False) -> Sheet:
    """Everything that is said; with `show_all` of all rows."""
    flagged = np.nan_to_num(told.probability, nan=1.0) <= 0.1
    places, left_out = first_rows(told.ratios, flagged, show_all=show_all)
    return Sheet(
        title=told.verdict,
        tables=(
            ratio_table(told.ratios, places, told.measure, legend=_means(told)),
            *_changes(told, show_all=show_all),
        ),
        warnings=told.warnings,
        left_out=left_out,
    )


def _means(told: VersionComparison) -> str:
    """Say what the times are that were measured."""
    measured = [name for name, kind in told.names.items() if kind == "measured"]
    return f"{', '.join(measured)}: {MEANS}" if measured else ""


def _changes(told: VersionComparison, *, show_all: bool) -> tuple[Table, ...]:
    """What changed, by kinds of work."""
    rows = told.changes if show_all else told.changes[:MOST_CHANGES]
    if not rows:
        return ()
    columns = [
        *(
            [Column(title="series", cells=[x.series for x in rows], align="left")]
            if any(x.series for x in rows)
            else []
        ),
        Column(title="work", cells=[x.part for x in rows], align="left"),
        Column(title="p", cells=[str(whole(x.p)) for x in rows]),
        *_times(rows, told.measure),
        Column(title="change", unit="[%]", cells=[signed_percent(x.change) for x in rows]),
        interval_column(
            "90% interval",
            "[%]",
            [(signed_percent(x.lower), signed_percent(x.upper)) for x in rows],
        ),
    ]
    legend = (
        "shared: b/p; constant: a; growing: with log p, sqrt p, p or p^2; base, change: median of "
        "the fits, the change over the whole time of the base there; new: base and change"
    )
    return (Table(title="what changed", forms=(Form(columns=columns),), legend=legend),)


def _times(rows: tuple[PartChange, ...], measure: Measure) -> list[Column]:
    """Times of the parts in both versions."""
    unit = measure.time_unit([max(max(x.base, x.new) for x in rows)])
    return [
        Column(
            title=name,
            unit=f"[{unit}]",
            cells=[rounded(getattr(x, name) / seconds_in(unit), 3) for x in rows],
        )
        for name in ("base", "new")
    ]
