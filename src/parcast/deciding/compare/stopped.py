"""Runs that were stopped before they were done: they have no time, and took longer than one.

No mean contains them. A version whose runs are stopped is not as fast as one whose runs are not,
so that they are said, and tell a slowdown where their limit lies above the times of the base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.compare.cells import Cells
from parcast.deciding.compare.noise import noise_of, quantile
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.series import label_of
from parcast.words import counted, listed

if TYPE_CHECKING:
    from parcast.timings.measurements import Measurements

HANGS: Final = (
    "No run ended: find out whether the program hangs, or raise the time limit, before you "
    "measure again."
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StoppedRuns:
    """Stopped runs of some sessions at the cells that these have, one element a run."""

    session: NDArray[np.intp]  # number of the session [1]
    cell: NDArray[np.intp]  # number of the cell [1]
    log_limit: Array  # logarithm of the time that it had [log s]
    shape: tuple[int, int]  # sessions and cells [1]
    elsewhere: tuple[str, ...]  # cells of other stopped runs, where no run was done

    def number(self, above: Array | float = -np.inf) -> NDArray[np.intp]:
        """Runs of each session and cell with a limit above a log time, (sessions, cells) [1]."""
        kept = self.log_limit > np.broadcast_to(above, self.shape[1:])[self.cell]
        place = (self.session * self.shape[1] + self.cell)[kept]
        return np.bincount(place, minlength=self.shape[0] * self.shape[1]).reshape(self.shape)

    def least(self, sessions: NDArray[np.bool_]) -> Array:
        """Smallest log limit of each cell in some sessions; infinite without any, (cells,)."""
        found = np.full(self.shape[1], np.inf)
        kept = sessions[self.session]
        np.minimum.at(found, self.cell[kept], self.log_limit[kept])
        return found


def stopped_of(cells: Cells, tables: Sequence[Measurements]) -> StoppedRuns:
    """Find the stopped runs of the tables that the sessions of `cells` are, in their order."""
    names = list(cells.keys[0])
    place = {tuple(key.values()): i for i, key in enumerate(cells.keys)}
    found: list[tuple[int, int, float]] = []
    elsewhere: dict[str, None] = {}
    for i, table in enumerate(tables):
        cut = table.cut_off
        if cut is None or not set(names) <= set(cut.columns):
            continue
        keys = zip(*(cut.columns[name].tolist() for name in names), strict=True)
        for key, time in zip(keys, cut.time.tolist(), strict=True):
            if key in place:
                found.append((i, place[key], float(np.log(time))))
            else:
                elsewhere[label_of(dict(zip(names, key, strict=True)))] = None
    return StoppedRuns(
        session=np.array([x for x, _, _ in found], dtype=np.intp),
        cell=np.array([x for _, x, _ in found], dtype=np.intp),
        log_limit=np.array([x for _, _, x in found], dtype=np.float64),
        shape=cells.runs.shape,
        elsewhere=tuple(elsewhere),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StoppedAbove:
    """Stopped runs of one version whose limit lies above the times of the other."""

    number: NDArray[np.intp]  # of each session and cell [1]
    least_ratio: Array  # of the smallest limit to the mean of the other; infinite without any [1]

    @property
    def any(self) -> NDArray[np.bool_]:
        """Which cells have some, (cells,)."""
        return np.isfinite(self.least_ratio)


def stopped_above(
    cells: Cells,
    stopped: StoppedRuns,
    level: float,
    *,
    new: bool = True,
    log_tolerated: float = 0.0,
) -> StoppedAbove:
    """Stopped runs of one version that took longer than a run of the other may, at a level."""
    noise = noise_of(cells)
    mean, doubt = noise.mean_of(cells.sessions(cells.new != new))
    half = quantile(level, noise.free) * np.sqrt(doubt + noise.within + noise.between)
    limit = np.nan_to_num(mean + half, nan=np.inf) + log_tolerated
    which = cells.new == new
    number = np.where(which[:, None], stopped.number(limit), 0)
    with np.errstate(over="ignore"):
        least = np.where(number.any(axis=0), np.exp(stopped.least(which) - mean), np.inf)
    return StoppedAbove(number=number, least_ratio=least)


def stopped_warnings(cells: Cells, stopped: StoppedRuns) -> Iterator[str]:
    """Say which runs of each version were stopped."""
    number = stopped.number()
    for side, name in ((True, "new version"), (False, "base")):
        which = cells.new == side
        ended, done = number[which].sum(axis=0), cells.runs[which].sum(axis=0)
        limits = np.exp(stopped.least(which))
        texts = [
            f"{cells.labels[i]} ({ended[i]} of {counted(int(ended[i] + done[i]), 'run')}, after "
            f"{cells.measure.time_text(float(limits[i]))})"
            for i in np.flatnonzero(ended).tolist()
        ]
        if texts:
            none = "" if done.any() else f" {HANGS}"
            yield RankedWarning(
                f"Runs of the {name} were stopped: {listed(texts)}. They took longer, and no "
                f"time contains them.{none}",
                rank=Rank.SERIOUS,
            )
    if stopped.elsewhere:
        yield f"Stopped, and done in no run of either: {listed(stopped.elsewhere)}."
