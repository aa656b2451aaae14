"""How much narrower an interval becomes with one more run, where other machines help to tell.

What the donors tell rests on where the last own run is, and little on what it takes: a run is
pretended to take what is forecast, and the forecast is made again with it. What the own runs tell
would become far too sure in this way, as a run that is pretended never contradicts them; their
half-width falls by the rule of `parcast.models.planned_runs` instead. The two are mixed by the
share that the donors have in the forecast at the target before the run,

    half-width' = share * half-width of the forecast made again + (1 - share) * half-width * rule

Told and found half-widths are compared in ``docs/explanation/donors.md`` [D].
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.models.donated import Curves, DonatedCurve, donated_curve
from parcast.models.doubt import NORMAL_90
from parcast.models.planned_runs import shortened
from parcast.models.terms import Array

POINTS_AT_ONCE = 200_000  # of all runs, counts and donors together: bounds the memory


@dataclass(frozen=True, kw_only=True, slots=True)
class DonatedPlan:
    """What is known of the targets of each series, before and after runs that are planned."""

    here: Curves  # the series, and the runs planned for them so far
    elsewhere: Curves  # all donors
    of: NDArray[np.intp]  # (series, donors): which of them each series has; -1 as padding
    likeness: Array  # (series, donors)
    targets: Array  # (targets,): counts [1]
    half_width: Array  # (series, targets): of log time, now
    share: Array  # (series, targets): of the donors in the forecast, now

    def after(self, series: NDArray[np.intp], counts: Array, times: Array) -> tuple[Array, Array]:
        """Half-widths and shares of the donors at every target after each of some runs alone.

        Parameters
        ----------
        series : ndarray of int, shape (runs,)
            Which series each run is for, ascending.
        counts : ndarray, shape (runs,)
            At which the series has no run yet. [1]
        times : ndarray, shape (runs,)
            That they are pretended to take. [s]

        Returns
        -------
        half_width, share : ndarray, shape (runs, targets)
        """
        curves = 1 + self.of.shape[1]
        points = curves * (2 * len(self.targets) + self.here.p.shape[1] + 1)
        at_once = max(1, POINTS_AT_ONCE // points)
        parts = [slice(start, start + at_once) for start in range(0, len(counts), at_once)]
        told = [self._again(series[x], counts[x], times[x]) for x in parts]
        again = np.concatenate([x.said.half_width for x in told])
        mine = self.share[series]
        mixed = mine * again + (1 - mine) * self.half_width[series] * self._rule(series, counts)
        least = NORMAL_90 * self.here.noise[series, None]
        return np.maximum(mixed, least), np.concatenate([x.share for x in told])

    def with_runs(
        self,
        series: NDArray[np.intp],
        counts: Array,
        times: Array,
        *,
        half_width: Array,
        share: Array,
    ) -> "DonatedPlan":
        """Plan on after a run for each of some series, as `after` has told of it."""
        width = ((0, 0), (0, 1))
        p, time = (np.pad(x, width, constant_values=np.nan) for x in (self.here.p, self.here.time))
        p[series, -1], time[series, -1] = counts, times
        count = self.here.count.copy()
        count[series] += 1
        now, of_donors = self.half_width.copy(), self.share.copy()
        now[series], of_donors[series] = half_width, share
        here = _ordered(p, time, count, self.here.noise)
        return replace(self, here=here, half_width=now, share=of_donors)

    def _rule(self, series: NDArray[np.intp], counts: Array) -> Array:
        """Part of the half-width that own runs leave, by the rule for them: (runs, targets)."""
        asked, made = np.log(self.targets), np.log(counts)
        rows, start = np.unique(series, return_index=True)
        left = [
            shortened(asked, some, np.log(self.here.p[i, : self.here.count[i]]))
            for i, some in zip(rows.tolist(), np.split(made, start[1:]), strict=True)
        ]
        return np.concatenate(left)

    def _again(self, series: NDArray[np.intp], counts: Array, times: Array) -> DonatedCurve:
        """Make the forecast again with each of some runs alone: a series for each."""
        p, time = (
            np.concatenate([column[series], new[:, None]], axis=1)
            for column, new in ((self.here.p, counts), (self.here.time, times))
        )
        here = _ordered(p, time, self.here.count[series] + 1, self.here.noise[series])
        likeness = self.likeness[series]
        return donated_curve(here, self.elsewhere, self.of[series], self.targets, likeness)


def _ordered(p: Array, time: Array, count: NDArray[np.int64], noise: Array) -> Curves:
    """Bring the counts of every series into their order; NaN, the padding, comes last."""
    order = np.argsort(p, axis=1)
    p, time = (np.take_along_axis(x, order, axis=1) for x in (p, time))
    return Curves(p=p, time=time, count=count, noise=noise)
