"""Which columns of the runs the equations of a law are fitted to: parts of the time, and the rest.

A part of the time that has a column is fitted to it, all others to what is left of the time::

    ln T_k(theta) - ln t_k                          part k of a run, t_k measured
    ln(sum of t_k + sum of other T_j(theta)) - ln T the time of a run

So the rate of the disk comes from timed blocks, W from computing, and u from what neither
explains, as in the source [S in words]. Without such columns the second line is the usual fit.
Runs in which a part is 0, by the law or as measured, say nothing of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.breakdown import COMPONENTS, Breakdown
from parcast.errors import ParameterError
from parcast.fitting.runs import MeasuredConfigurations
from parcast.show.warning import Rank, RankedWarning
from parcast.units import percent
from parcast.words import joined

PARTS_OF: Final = {  # of a breakdown
    "compute_s": ("compute",),
    "communication_s": ("communication", "synchronisation"),
    "disk_s": ("io",),
}
TIME: Final = "time"
MUCH: Final = 0.1  # of a time that no part explains [1] [D]
LONGER: Final = 1.05  # part of a run over its time that clocks explain [1] [D]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Observed:
    """One column, the runs that it says something of, and what of the law it is."""

    column: str  # "time", "disk_s"
    rows: NDArray[np.intp]  # runs
    measured: Array  # logarithms, (rows,)
    weights: Array  # 1 where it holds a component, (components, rows)
    beside: Array  # what is measured of others, and not of the law, (rows,) [s]
    repetitions: float | None  # noise of a median; None without repetitions [1]

    @property
    def is_whole(self) -> bool:
        """Whether it holds the time of the law as it is."""
        return bool(self.weights.all())

    def logs(self, times: Array, slopes: Array) -> tuple[Array, Array]:
        """Logarithms that the law gives, (sets, rows), and their Jacobian.

        `times`, (components, sets, runs), are those of the law, and `slopes` their derivatives.
        """
        own = np.einsum("ksr,kr->sr", times[..., self.rows], self.weights) + self.beside
        by = np.einsum("ksri,kr->sri", slopes[:, :, self.rows], self.weights)
        return np.log(np.maximum(own, np.finfo(float).tiny)), by / own[..., None]

    def select(self, kept: NDArray[np.bool_]) -> "Observed":
        """The same of some of the runs, numbered anew."""
        own = kept[self.rows]
        return replace(
            self,
            rows=(np.cumsum(kept) - 1)[self.rows[own]],
            measured=self.measured[own],
            weights=self.weights[:, own],
            beside=self.beside[own],
        )


def observed_columns(runs: MeasuredConfigurations, described: Breakdown) -> tuple[Observed, ...]:
    """Columns of some runs, parts of the time first; `described` is what the law gives there."""
    shape = runs.measured.shape
    law = np.stack([np.broadcast_to(x, shape) for _, x in described.components()])
    rest, beside = np.ones_like(law), np.zeros(shape)
    found = []
    for column, seconds in runs.parts.items():
        _require_within(column, seconds, runs)
        own = _weights(PARTS_OF[column], law)
        is_known = np.isfinite(seconds)
        rest = np.where(own * is_known > 0, 0.0, rest)
        beside = beside + np.where(is_known, seconds, 0.0)
        says = is_known & (seconds > 0) & ((own * law).sum(axis=0) > 0)
        if says.any():
            found.append(
                Observed(
                    column=column,
                    rows=np.flatnonzero(says),
                    measured=np.log(seconds[says]),
                    weights=own[:, says],
                    beside=np.zeros(int(says.sum())),
                    repetitions=runs.scatter[column],
                )
            )
    if (is_open := (rest * law).sum(axis=0) > 0).any():
        # Repetitions of a part and of the time go together: their medians need not.
        time = runs.measured if runs.rest is None else beside + runs.rest
        found.append(
            Observed(
                column=TIME,
                rows=np.flatnonzero(is_open),
                measured=np.log(time[is_open]),
                weights=rest[:, is_open],
                beside=beside[is_open],
                repetitions=runs.repetitions if runs.rest is None else runs.of_rest,
            )
        )
    return tuple(found)


def _weights(parts: Sequence[str], law: Array) -> Array:
    """1 for some components at every run, 0 for the others."""
    of_parts = np.array([name in parts for name in COMPONENTS], dtype=np.float64)
    return np.asarray(of_parts[:, None] * np.ones_like(law))


def _require_within(column: str, seconds: Array, runs: MeasuredConfigurations) -> None:
    """Refuse a part that took longer than its run."""
    longer = seconds > LONGER * runs.measured
    if longer.any():
        at = int(np.flatnonzero(longer)[0])
        raise ParameterError(
            column,
            must=f"be at most the time of the run, {runs.measured[at]:g} s at {runs.place(at)}",
            got=f"{seconds[at]:g} s",
            hint="Give the seconds of the processor with most of them, in the unit of the name.",
        )


def unexplained(runs: MeasuredConfigurations, columns: Sequence[Observed]) -> Iterator[str]:
    """Say where the parts of the law, all of them timed, leave much of the time."""
    if runs.rest is None:
        return
    names = [x.column for x in columns if x.column != TIME]
    closed = np.ones(len(runs.measured), dtype=bool)
    for x in columns:
        closed[x.rows] &= x.column != TIME
    p, left = runs.axes["p"], runs.rest / runs.measured
    shares = {float(x): float(np.median(left[closed & (p == x)])) for x in np.unique(p[closed])}
    if names and shares and max(shares.values()) > MUCH:
        worst = max(shares, key=lambda x: shares[x])
        yield RankedWarning(
            f"At p = {worst:g}, {joined(names)} {'hold' if len(names) > 1 else 'holds'} "
            f"{percent(1.0 - shares[worst])} of the time, and the law has no other part there. "
            "Check their units, and time the runs on idle processors.",
            kind="parts of the time",
            rank=Rank.SERIOUS,
            size=shares[worst],
        )


def names_of(columns: Sequence[Observed]) -> Iterator[str]:
    """Name columns as a file has them."""
    return (f"{x.column}_s" if x.column == TIME else x.column for x in columns)
