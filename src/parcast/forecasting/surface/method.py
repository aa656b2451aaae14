"""Time over processors and other axes, forecast from runs that vary several of them.

    T = sum_k c_k * g_k(p) * product_j x_j^(e_kj),   c_k >= 0

`g` is one of 1/p, p^(-2/3), p^(-1/3), 1, p^(1/2), p and log2 p; the exponents of every other axis
are 0 and five around the one that fits best alone. The coefficients minimise squared *relative*
residuals, as in `parcast.laws.curves`, with a little shrinkage so that there is one answer. No
time is ever 0 or negative, and sums keep what a product cannot: work that the processors share
beside a cost that they cause. Use it where runs vary several axes at once; along single axes
alone it does not know which products to take.

Coordinates are logarithms of the axes, as time goes with powers of most, brought to [-1, 1] over
the measured range; an axis with a value of 0 or below has none and is taken as it is. Forward
chaining forecasts what lies furthest in a direction from the rest, a direction being an axis and
whether it is left upwards; None stands for a question that leaves none.

Four members forecast, each sane where another is not:

along p        the surface tells the time at every measured count for the values asked for, and
               `own_runs.measured` goes on along p from there, as from a single series;
surface        kriging in logarithms, `parcast.forecasting.surface.kriging`;
sum of terms   the sum of products of powers above; left out where runs
               do not vary every two axes at once;
own counts     the forecast from the runs at the values asked for, as from a single series, where
               there are three counts or more and a larger one is asked for.

Each but the last is asked for what lies furthest in the direction of the question, told the rest
(forward chaining): the largest count for a question beyond it, the largest n for one beyond that,
every fifth run for one in between. A member that missed by ``e`` in the logarithm of time gets
its vote times ``1 / (e + 0.1)`` as its weight, and the forecast is the weighted mean of the
logarithms. The member along p is itself made from many forecasts and has eight votes. Own counts
have a share of 85% where there are any: they were better than the others together. All runs have
the same weight: known deviations of means, which weigh the counts of a series, are not used.

The half-width of the 90% interval adds in quadrature how far the curve along p can be trusted
(`parcast.forecasting.own_runs.measured`), the same rule for what lies beyond the other axes, twice
the half-width of the kriging's own 90% interval at the values asked for, brought into the
measured range, twice the disagreement of the members, and the noise of the runs. The method and
its constants are parcast's own [D]; the study behind them, with the coverage reached, is in
``docs/explanation/several-parameters.md``.

References
----------
.. [1] C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, SIAM, 1995, ch. 23 [S].
   The dictionary of terms is parcast's own [D], after the normal form of A. Calotoiu et al.,
   "Using automated performance modeling to find scalability bugs in complex codes," SC 2013,
   :doi:`10.1145/2503210.2503277` [S].
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs import measured
from parcast.forecasting.own_runs.measured import WIDEST, curve_from
from parcast.forecasting.surface.kriging import Surface, krige, vary_together

OF_P = (-1.0, -2 / 3, -1 / 3, 0.0, 0.5, 1.0)  # powers of p, beside its logarithm
AROUND = (-1.0, -0.5, 0.0, 0.5, 1.0)  # of the exponent that fits best alone
SHRINKAGE = 1e-3  # of coefficients, relative to the largest that one term alone could have
MOST_TERMS = 400
LARGEST_TERM = 500.0  # logarithm of a term
MEMBERS = ("along p", "surface", "sum of terms", "own counts")
OWN_SHARE = 0.85  # of the runs at the very values asked for, in what lies beyond them [D]
FEWEST_OWN = 3  # counts at these values
VOTES = np.array([8.0, 1.0, 1.0])
TRUST = 0.1  # log error at which a member's weight is half of a faultless one's [D]
MOST_LEVELS = 12  # counts of processors that a forecast goes along
STEEPEST = 6.0  # power of an axis beyond which no program goes [D]
LARGEST = 150.0  # logarithm of a time in seconds, so that a time and its interval are numbers
DEVIATIONS = 2.0  # how often the kriging's deviation counts: its form is a guess [D]
DISAGREEMENTS = 2.0  # how often the disagreement of the members counts [D]


def sum_of_products(
    x: Array, log_time: Array, targets: Array, log_p: Array, target_log_p: Array
) -> Array:
    """Log time at `targets`, (points, axes), from a sum of products fitted to `log_time`, (runs,).

    `x`, (runs, axes), and `targets` are logarithms of the axes besides p.
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

    middle = (x.min(axis=0) + x.max(axis=0)) / 2 if len(x) else 0.0
    x, targets = x - middle, targets - middle
    centre = float(log_time.mean())
    straight = np.column_stack([np.ones(len(x)), log_p, x])
    slopes = np.asarray(np.linalg.lstsq(straight, log_time - centre, rcond=None)[0][2:], float)
    exponents = _exponents(slopes)
    measured = _terms(log_p, x, exponents) / np.exp(log_time - centre)[:, None]
    scale = measured.max(axis=0)
    used = scale > 0
    measured, scale = measured[:, used] / scale[used], scale[used]
    shrunk = np.sqrt(SHRINKAGE) * np.eye(len(scale))
    wanted = np.concatenate([np.ones(len(x)), np.zeros(len(scale))])
    coefficients = nnls(np.concatenate([measured, shrunk]), wanted, maxiter=20 * len(scale))[0]
    time = _terms(target_log_p, targets, exponents)[:, used] @ (coefficients / scale)
    return np.asarray(np.log(np.maximum(time, np.finfo(float).tiny)) + centre)


def _exponents(slopes: Array) -> list[list[float]]:
    """Exponents of each axis besides p; fewer where there are many axes."""
    around = AROUND if len(OF_P) * (1 + len(AROUND)) ** len(slopes) <= MOST_TERMS else (0.0,)
    return [[0.0, *(float(slope) + step for step in around)] for slope in slopes]


def _terms(log_p: Array, x: Array, exponents: list[list[float]]) -> Array:
    """Value of every term, shape (points, terms); at most e^500, however far the point lies."""
    logs = np.concatenate([np.outer(log_p, OF_P), np.zeros((len(x), 1))], axis=1)
    factor = np.concatenate([np.ones((len(x), len(OF_P))), log_p[:, None] / np.log(2.0)], axis=1)
    for j, powers in enumerate(exponents):
        more = np.outer(x[:, j], powers)
        logs = (logs[:, :, None] + more[:, None, :]).reshape(len(x), -1)
        factor = np.repeat(factor, len(powers), axis=1)
    return np.asarray(factor * np.exp(np.clip(logs, -LARGEST_TERM, LARGEST_TERM)))


SAME = 1e-9  # distance in [-1, 1] within which two places are one


@dataclass(frozen=True, kw_only=True, slots=True)
class Coordinates:
    """How values of axes become coordinates; made by `coordinates_of`."""

    is_log: NDArray[np.bool_]  # (axes,): which axes are taken by their logarithm
    middle: Array  # (axes,): of the measured range, of the logarithms where they are taken
    half: Array  # (axes,): half the length of the range; 1 for an axis that does not vary

    def logs(self, values: Array) -> Array:
        """Logarithms of values, shape (points, axes); values as they are where there are none."""
        return np.where(self.is_log, np.log(np.where(self.is_log, values, 1.0)), values)

    def unit(self, logs: Array) -> Array:
        """Bring what `logs` gives to [-1, 1], and to more or less beyond the measured range."""
        return np.asarray((logs - self.middle) / self.half)

    def beyond(self, logs: Array) -> Array:
        """How far points lie beyond the measured range, shape (points, axes); 0 inside.

        A difference of logarithms; for an axis without, a share of the length of its range.
        """
        out = np.abs(self.unit(logs)) - 1.0
        out = np.where(out > SAME, out, 0.0)
        return np.asarray(np.where(self.is_log, out * self.half, out / 2))


def coordinates_of(values: Array) -> Coordinates:
    """Coordinates for the measured values of axes, shape (runs, axes)."""
    is_log = np.all(values > 0, axis=0)
    logs = np.where(is_log, np.log(np.where(is_log, values, 1.0)), values)
    least, most = logs.min(axis=0), logs.max(axis=0)
    half = np.where(most > least, (most - least) / 2, 1.0)
    return Coordinates(is_log=is_log, middle=(least + most) / 2, half=half)


FEWEST_VALUES = 3  # of an axis, so that two are left when its last is held back
FOLD = 5  # of the runs, each so many are held back for a question between them
Direction = tuple[int, bool] | None


def questions(
    is_beyond: NDArray[np.bool_], is_above: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.intp], list[Direction]]]:
    """Group points, (points, axes), by the directions in which they leave the measured range.

    Each group is given by the places of its points, and [None] where they do not leave it.
    """
    side = np.where(is_beyond, np.where(is_above, 1, -1), 0)
    kinds, which = np.unique(side, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds.tolist()):
        left: list[Direction] = [(axis, sign > 0) for axis, sign in enumerate(kind) if sign]
        yield np.flatnonzero(which.ravel() == number), left or [None]


def chained_errors(
    logs: Array,
    log_time: Array,
    direction: Direction,
    forecasts: Callable[[Array, Array, Array], Array],
) -> Array | None:
    """Errors of forecasts of what lies furthest in a direction from the rest, (held, members).

    Without a direction every fifth run is held back; None where too little would be left.
    `forecasts` gives (points, members) at other coordinates from `logs` and log times of some
    runs.
    """
    if direction is None:
        held = np.arange(len(log_time)) % FOLD == FOLD // 2
    else:
        axis, upwards = direction
        values = np.unique(logs[:, axis])
        if len(values) < FEWEST_VALUES:
            return None
        held = logs[:, axis] == (values[-1] if upwards else values[0])
    kept = logs[~held]
    varied = np.column_stack([np.ones(len(kept)), kept[:, np.ptp(logs, axis=0) > 0]])
    if not held.any() or np.linalg.matrix_rank(varied) < varied.shape[1]:
        return None
    return np.asarray(forecasts(kept, log_time[~held], logs[held]) - log_time[held, None])


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubts:
    """Parts of the half-width of log time, each of shape (points,); see `half_width`."""

    along: Array  # of the curve along p, from how far it reaches
    beyond: Array  # of the other axes, from how far the point lies beyond them
    deviation: Array  # standard deviation of the kriging
    disagreement: Array  # weighted mean distance of the members from the forecast
    noise: Array  # half-width that the noise of the runs alone gives

    def each(self, change: Callable[[Array], Array]) -> "Doubts":
        """Change every part in the same way."""
        return Doubts(**{x.name: change(getattr(self, x.name)) for x in fields(self)})

    def half_width(self) -> Array:
        """Half-width of the 90% interval of log time, shape (points,)."""
        squares = self.along**2 + self.beyond**2 + self.noise**2
        squares = squares + (DEVIATIONS * measured.NORMAL_90 * self.deviation) ** 2
        squares = squares + (DISAGREEMENTS * self.disagreement) ** 2
        return np.asarray(np.minimum(np.sqrt(squares), WIDEST))


@dataclass(frozen=True, kw_only=True, slots=True)
class SurfaceForecast:
    """What runs over several axes say about other values; see `forecast_surface`."""

    log_time: Array  # (points,): log of time in seconds
    doubts: Doubts
    beyond: Array  # (points, axes): logarithm of how far beyond the measured range; 0 inside
    weights: Array  # (points, members): of `MEMBERS`, summing to 1
    backtest: Array  # (points,): log error of the largest from the rest; NaN if untested
    together: NDArray[np.bool_]  # (axes, axes): whether runs vary two axes at once
    coordinates: Coordinates
    surface: Surface
    levels: Array  # (levels,): logarithms of the counts that the forecast went along


def forecast_surface(
    axes: Array, time: Array, targets: Array, noise: float = 0.0
) -> SurfaceForecast:
    """Forecast times at `targets`, (points, axes), from `time`, (runs,) [s], measured at `axes`.

    These, (runs, axes), have p first, ascending, and no point twice. Targets are above 0 where all
    measured values are. `noise` is the standard deviation of log time among repetitions.
    """
    coordinates = coordinates_of(axes)
    logs, requested = coordinates.logs(axes), coordinates.logs(targets)
    log_time = np.log(time)
    members = _members(logs, log_time, requested, noise)
    beyond = coordinates.beyond(requested)
    is_above = coordinates.unit(requested) > 0

    weights = np.zeros((len(requested), len(MEMBERS)))
    backtest = np.empty(len(requested))
    together = vary_together(coordinates.unit(logs))
    votes = VOTES * [1.0, 1.0, float(together.all())]
    if axes.shape[1] == 1:  # p alone: nothing is to be added to the forecast along it
        votes = np.array([1.0, 0.0, 0.0])
    tested: dict[tuple[int, bool] | None, Array | None] = {}
    for points, directions in questions(beyond > 0, is_above):
        for direction in directions:
            if direction not in tested:
                tested[direction] = chained_errors(logs, log_time, direction, _forecasts)
        errors = [e for x in directions if (e := tested[x]) is not None]
        missed = [np.median(np.abs(e), axis=0) for e in errors]
        trust = votes / (np.mean(missed, axis=0) + TRUST) if errors else votes
        trust = trust / trust.sum()
        weights[points, :-1] = trust
        squares = [np.mean((e @ trust) ** 2) for e in errors]
        backtest[points] = np.sqrt(np.mean(squares)) if errors else np.nan

    own, own_half, has_own = _own_counts(logs, log_time, requested, noise)
    weights[has_own] *= 1 - OWN_SHARE
    weights[has_own, -1] = OWN_SHARE
    said = np.column_stack([members.log_time, own])
    mean = (weights * said).sum(axis=1)
    disagreement = (weights * np.abs(said - mean[:, None])).sum(axis=1)
    deviation = members.deviation * (1 - weights[:, -1])
    doubts = Doubts(
        along=np.where(has_own, own_half, members.along),
        beyond=measured.beyond(
            reach=beyond[:, 1:].sum(axis=1),
            disagreement=disagreement,
            backtest=backtest,
        ),
        deviation=deviation if axes.shape[1] > 1 else np.zeros(len(requested)),
        disagreement=disagreement,
        noise=np.full(len(requested), measured.NORMAL_90 * noise),
    )
    return SurfaceForecast(
        log_time=mean,
        doubts=doubts,
        beyond=beyond,
        weights=weights,
        backtest=backtest,
        together=together,
        coordinates=coordinates,
        surface=members.surface,
        levels=members.levels,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Members:
    """What the members say."""

    log_time: Array  # (points, members)
    along: Array  # (points,): half-width of the curve along p, without noise
    deviation: Array  # (points,): of the kriging
    surface: Surface
    levels: Array  # (levels,)


def _forecasts(logs: Array, log_time: Array, requested: Array) -> Array:
    """Log time that each member forecasts, shape (points, members)."""
    return _members(logs, log_time, requested, 0.0).log_time


def _members(logs: Array, log_time: Array, requested: Array, noise: float) -> _Members:
    """Ask every member; all arrays are logarithms."""
    least, most = logs.min(axis=0), logs.max(axis=0)
    half = np.where(most > least, (most - least) / 2, 1.0)
    middle = (least + most) / 2
    u, v = (logs - middle) / half, (requested - middle) / half
    surface = krige(u, log_time, doubling=float(half[0]) if most[0] > least[0] else 0.0)
    levels = _levels(logs[:, 0])
    others, which = np.unique(v[:, 1:], axis=0, return_inverse=True)
    which = which.ravel()

    on_surface = _sane(surface.log_time(v), log_time, u, v, half)
    if len(levels) > 1:
        place, counts = _by_row(which, requested[:, 0])
        grid = np.column_stack(
            [
                np.repeat((levels - middle[0]) / half[0], len(others)),
                np.tile(others, (len(levels), 1)),
            ]
        )
        filled = _sane(surface.log_time(grid), log_time, u, grid, half)
        filled = filled.reshape(len(levels), len(others)).T
        if logs.shape[1] == 1:  # p alone: what was measured needs no surface
            filled = log_time[None, np.searchsorted(logs[:, 0], levels)]
        curve = curve_from(
            np.tile(np.exp(levels), (len(others), 1)),
            np.exp(filled),
            np.full(len(others), len(levels)),
            np.full(len(others), noise),
            np.exp(counts),
        )
        along_p = curve.log_time[which, place]
        squares = curve.half_width[which, place] ** 2 - (measured.NORMAL_90 * noise) ** 2
        along = np.sqrt(np.maximum(squares, 0.0))
        nearest = levels[np.argmin(np.abs(requested[:, :1] - levels), axis=1)]
    else:
        along_p, along, nearest = on_surface, np.zeros(len(v)), requested[:, 0]

    known = np.clip(v, -1.0, 1.0)
    known[:, 0] = (nearest - middle[0]) / half[0]
    if vary_together(u).all():
        terms = sum_of_products(
            logs[:, 1:], log_time, requested[:, 1:], logs[:, 0], requested[:, 0]
        )
        terms = _sane(terms, log_time, u, v, half)
    else:
        terms = along_p
    return _Members(
        log_time=np.stack([along_p, on_surface, terms], axis=1),
        along=along,
        deviation=_deviation(surface, known),
        surface=surface,
        levels=levels,
    )


def _sane(forecast: Array, log_time: Array, u: Array, v: Array, half: Array) -> Array:
    """Keep log times forecast at `v` from running away where runs at `u` contradict each other.

    No axis may do more within its range than all of them did, nor beyond it pass a sixth power.
    """
    beyond = np.maximum(np.abs(v) - 1.0, 0.0) @ half
    room = u.shape[1] * np.ptp(log_time) + 1.0 + STEEPEST * beyond
    forecast = np.clip(forecast, log_time.min() - room, log_time.max() + room)
    return np.asarray(np.clip(forecast, -LARGEST, LARGEST))


def _own_counts(
    logs: Array, log_time: Array, requested: Array, noise: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Forecast of each point from the runs at its values of the other axes, and its half-width.

    Third, where there is one: beyond three counts or more at these values. (points,) each; all
    arrays are logarithms.
    """
    own, half = np.zeros(len(requested)), np.zeros(len(requested))
    has_own = np.zeros(len(requested), dtype=bool)
    if logs.shape[1] == 1:  # p alone: this is what the member along p does
        return own, half, has_own
    combinations, row = np.unique(logs[:, 1:], axis=0, return_inverse=True)
    row, size = row.ravel(), np.bincount(row.ravel())
    place, p = _by_row(row, logs[:, 0])
    time = np.zeros_like(p)
    time[row, place] = log_time
    asked = {tuple(x): i for i, x in enumerate(combinations.tolist())}
    of = np.array([asked.get(tuple(x), -1) for x in requested[:, 1:].tolist()], dtype=np.intp)
    last = p[np.arange(len(p)), size - 1]
    has_own = (of >= 0) & (size[of] >= FEWEST_OWN) & (requested[:, 0] > last[of])
    if has_own.any():
        chosen, which = np.unique(of[has_own], return_inverse=True)
        place, counts = _by_row(which, requested[has_own, 0])
        curve = curve_from(
            np.exp(p[chosen]),
            np.exp(time[chosen]),
            size[chosen],
            np.full(len(chosen), noise),
            np.exp(counts),
        )
        squares = curve.half_width[which, place] ** 2 - (measured.NORMAL_90 * noise) ** 2
        own[has_own] = curve.log_time[which, place]
        half[has_own] = np.sqrt(np.maximum(squares, 0.0))
    return own, half, has_own


def _by_row(which: NDArray[np.intp], log_p: Array) -> tuple[NDArray[np.intp], Array]:
    """Place of each point in its row, and the counts of each row, padded with one of them."""
    order = np.argsort(which, kind="stable")
    size = np.bincount(which)
    first = np.cumsum(size) - size
    place = np.empty(len(which), dtype=np.intp)
    place[order] = np.arange(len(which)) - first[which[order]]
    counts = np.repeat(log_p[order[first], None], size.max(), axis=1)
    counts[which, place] = log_p
    return place, counts


def _levels(log_p: Array) -> Array:
    """Measured counts as logarithms; the ends and some between them where there are many."""
    levels = np.unique(log_p)
    if len(levels) <= MOST_LEVELS:
        return levels
    even = np.linspace(levels[0], levels[-1], MOST_LEVELS)
    nearest = np.abs(levels - even[:, None]).argmin(axis=1)
    return np.asarray(levels[np.unique(nearest)])


def _deviation(surface: Surface, known: Array) -> Array:
    """Standard deviation of the kriging at points, each distinct point computed once."""
    distinct, place = np.unique(known, axis=0, return_inverse=True)
    return np.asarray(surface.with_spread(distinct)[1][place.ravel()])
