"""How much narrower an interval becomes with one more run, told before it is made.

Beyond the measured counts the half-width falls with the reach that is left,

    half-width' = half-width * (reach' / reach)^0.7

and by 0.65 more where a third count lets the forecast be tested for the first time; between two
counts with the square root of the distance to the nearer one, as `parcast.forecasting.measured`
has it. The other axes go by the same power. The deviation of the kriging follows exactly, as it
depends on where runs are made and not on what they take; the noise of the runs stays. The
power and the factor are what runs of real programs did [D]: see
``docs/explanation/several-parameters.md``, also for how often a run does not narrow anything,
because it contradicts the others.
"""

from dataclasses import dataclass, replace

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.surface.kriging import Surface
from parcast.forecasting.surface.method import Doubts, SurfaceForecast

SHORTENED = 0.7  # power of the reach with which the half-width falls [D]
CLOSER = 0.5  # the same between two measured counts
FIRST_TEST = 0.65  # of a third count, beyond what it shortens the reach [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is known of the targets, before and after runs that are planned."""

    targets: Array  # (targets, axes): coordinates, logarithms
    doubts: Doubts  # of the targets, each part of shape (targets,)
    surface: Surface
    middle: Array  # (axes,): of the coordinates of the surface
    half: Array  # (axes,)
    least: Array  # (axes,): the range that runs cover
    most: Array  # (axes,)
    levels: Array  # (levels,): logarithms of the counts with runs
    has_other_axes: bool

    def after(self, runs: Array) -> Doubts:
        """Parts of the uncertainty of every target after each of some runs: (runs, targets)."""
        targets, made = self.targets[None, :, :], runs[:, None, :]
        along = shortened(self.targets[:, 0], runs[:, 0], self.levels)

        least, most = np.minimum(self.least, made), np.maximum(self.most, made)
        out = np.maximum(np.maximum(targets - most, least - targets), 0.0)[..., 1:].sum(axis=-1)
        was = np.maximum(np.maximum(self.targets - self.most, self.least - self.targets), 0.0)
        other = _share(out, was[:, 1:].sum(axis=1)) ** SHORTENED

        deviation = np.broadcast_to(self.doubts.deviation, along.shape)
        if self.has_other_axes:
            known = np.clip(
                np.broadcast_to(targets, least.shape[:1] + targets.shape[1:]), least, most
            )
            level = self.levels[np.abs(self.targets[:, :1] - self.levels).argmin(axis=1)]
            nearest = np.abs(self.targets[:, :1] - self.levels).min(axis=1)
            is_closer = np.abs(targets[..., 0] - made[..., 0]) < nearest
            known[..., 0] = np.where(is_closer, made[..., 0], level)
            points = (known - self.middle) / self.half
            each = np.broadcast_to((made - self.middle) / self.half, points.shape)
            axes = points.shape[-1]
            left = self.surface.left_after(points.reshape(-1, axes), each.reshape(-1, axes))
            deviation = left.reshape(along.shape)
        return Doubts(
            along=self.doubts.along * along,
            beyond=self.doubts.beyond * other,
            deviation=deviation,
            disagreement=self.doubts.disagreement * np.minimum(along, other),
            noise=np.broadcast_to(self.doubts.noise, along.shape),
        )

    def with_run(self, run: Array, log_time: float) -> "Plan":
        """Plan on after a run, shape (axes,), that takes what was forecast."""
        after = self.after(run[None])
        surface = self.surface
        if self.has_other_axes:
            surface = surface.with_run((run - self.middle) / self.half, log_time)
        return replace(
            self,
            doubts=Doubts(
                along=after.along[0],
                beyond=after.beyond[0],
                deviation=after.deviation[0],
                disagreement=after.disagreement[0],
                noise=after.noise[0],
            ),
            surface=surface,
            least=np.minimum(self.least, run),
            most=np.maximum(self.most, run),
            levels=np.unique(np.append(self.levels, run[0])),
        )


def plan_of(estimate: SurfaceForecast, axes: Array, targets: Array) -> Plan:
    """Begin a plan for `targets`, (targets, axes), from runs at `axes`, (runs, axes).

    The `estimate` is at the targets first; there may be further points.
    """
    coordinates = estimate.coordinates
    logs, count = coordinates.logs(axes), len(targets)
    parts = estimate.doubts
    return Plan(
        targets=coordinates.logs(targets),
        doubts=Doubts(
            along=parts.along[:count],
            beyond=parts.beyond[:count],
            deviation=parts.deviation[:count],
            disagreement=parts.disagreement[:count],
            noise=parts.noise[:count],
        ),
        surface=estimate.surface,
        middle=coordinates.middle,
        half=coordinates.half,
        least=logs.min(axis=0),
        most=logs.max(axis=0),
        levels=np.unique(logs[:, 0]),
        has_other_axes=axes.shape[1] > 1,
    )


def shortened(targets: Array, made: Array, levels: Array) -> Array:
    """Part of the half-width along p, (runs, targets), left after each of some runs alone.

    All arguments are logarithms of counts: of targets, runs, and those with runs, ascending.
    """
    nearest = np.abs(targets[:, None] - levels).min(axis=1)
    beyond = (targets > levels[-1]) | (targets < levels[0])
    closer = np.minimum(nearest, np.abs(targets - made[:, None]))
    left = _share(closer, nearest) ** np.where(beyond, SHORTENED, CLOSER)
    if len(levels) == 2:
        is_third = np.abs(made[:, None] - levels).min(axis=1) > 0
        left = left * np.where(is_third[:, None] & beyond, FIRST_TEST, 1.0)
    return np.asarray(left)


def _share(left: Array, before: Array) -> Array:
    """What is left of a distance; all of it where there was none."""
    before = np.broadcast_to(before, left.shape)
    return np.divide(left, before, out=np.ones(left.shape), where=before > 0)
