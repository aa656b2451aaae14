"""Laws fitted to the counts of many series, and to those before each of the last few.

A *cut* is what is known without the last counts of a series: without none, one, two and so on. A
law fitted to a cut forecasts the count that follows (forward chaining), and the error there says
what its forecasts of this series are worth.

Where nothing is left out, the residual of the last count is taken relative to the geometric mean
of its time and of one that does not depend on it: relative to its time alone it would count the
less the longer that is, and a longer last time could shorten what is forecast beyond it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.laws.curves import AMDAHL, GUSTAFSON, LINEAR, LOGARITHMIC, POWER, QUADRATIC

STEEPEST = 2.0  # no member falls below 1/e of the least time over this power of the ratio [D]
JOINED = float(np.log(2.0) / 2)  # reach within which a member bends to the last time [D]


class FittableCurve(Protocol):
    """What a law must offer to take part: it can be fitted to times, and then gives times."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def formula(self) -> str:
        """The law as a user would write it."""
        ...

    @property
    def source(self) -> str:
        """Where the law comes from."""
        ...

    def fit(self, p: Array, time: Array, weight: Array) -> Array:
        """Parameters, shape (series, parameters)."""
        ...

    def time(self, p: Array, coefficients: Array) -> Array:
        """Time [s], shape (series, points)."""
        ...


@dataclass(frozen=True, slots=True)
class LawSet:
    """Laws that forecast together, what they are of."""

    laws: tuple[FittableCurve, ...]
    far: tuple[str, ...]  # names of those that are asked far beyond the runs
    fewest: str  # the constant, which is not recognised: another law has it
    near_error: float = 0.35  # log error at which a weight is 1/e of a faultless one's [D]
    too_few: int = 4  # counts to recognise a law from
    widening: float = 1.0  # of the half-width beyond the runs, over that of times [D]
    least_hiding: float = 0.02  # noise that hides an overhead, at least [D]
    growth: float = 1.4  # power of the count by which a hidden overhead grows [D]

    @property
    def far_places(self) -> list[int]:
        """Places of the laws that are asked far beyond the runs."""
        return [i for i, law in enumerate(self.laws) if law.name in self.far]

    @property
    def nameable(self) -> list[int]:
        """Places of the laws that can be recognised."""
        return [i for i, law in enumerate(self.laws) if law.name != self.fewest]


OF_TIME: Final = LawSet(
    (GUSTAFSON, AMDAHL, LOGARITHMIC, LINEAR, QUADRATIC, POWER),
    far=(AMDAHL.name, LOGARITHMIC.name, POWER.name),
    fewest=GUSTAFSON.name,  # Amdahl's without 1/p
)
LAWS: dict[str, FittableCurve] = {law.name: law for law in OF_TIME.laws}


@dataclass(frozen=True, slots=True)
class Cut:
    """What is known of many series without their last counts, and all laws fitted to it."""

    weight: Array  # (series, counts): of those that are known, 0 for the others [1]
    is_cut: NDArray[np.bool_]  # (series,): whether two counts were left; all are known if not
    last: Array  # count of them, (series, 1) [1]
    last_time: Array  # (series, 1) [s]
    least: Array  # time of any of them, (series, 1) [s]
    of_all: tuple[Array, ...]  # coefficients of each law, fitted to all counts that are known
    of_last_two: tuple[Array, ...]  # fitted to the last two of them; empty where nobody asks
    laws: LawSet

    @property
    def counts(self) -> Array:
        """How many counts are known, (series, 1), those of a smaller weight in part."""
        return np.asarray((self.weight**2).sum(axis=1, keepdims=True))

    def mean_square(self, residuals: Array) -> Array:
        """Mean square of residuals at all counts over those that are known, (series, laws)."""
        squares = (self.weight**2)[..., None] * residuals**2
        return np.asarray(squares.sum(axis=1) / self.counts)

    def log_times(self, targets: Array, *, last_two: bool = False) -> Array:
        """Logarithm of the time that each law forecasts, (series, points, laws)."""
        lowest = self.least * np.exp(-1.0 - STEEPEST * np.abs(np.log(targets / self.last)))
        fitted = self.of_last_two if last_two else self.of_all
        times = [law.time(targets, x) for law, x in zip(self.laws.laws, fitted, strict=True)]
        return np.log(np.maximum(np.stack(times, axis=-1), lowest[..., None]))

    def joined(self, targets: Array, *, last_two: bool = False) -> Array:
        """As `log_times`, each bent to the last time that is known as far as it is near."""
        asked = np.concatenate([targets, self.last], axis=1)
        said = self.log_times(asked, last_two=last_two)
        reach = np.abs(np.log(targets / self.last))
        missed = np.log(self.last_time)[..., None] - said[:, -1:]
        return said[:, :-1] + missed * np.clip(1 - reach / JOINED, 0.0, 1.0)[..., None]


def cuts_of(
    p: Array, time: Array, weight: Array, laws: LawSet, *, all_counts: int, last_two: int
) -> list[Cut]:
    """The first `all_counts` cuts, each law fitted at once; `last_two` of them also to two counts.

    `p` [1], `time` [s] and `weight`, (series, counts), are ordered towards what is forecast.
    """
    known = [without_last(weight, many) for many in range(all_counts)]
    weights = [x for x, _ in known] + [_of_last_two(x) for x, _ in known[:last_two]]
    copies = (len(weights), 1)
    many_p, many_time = np.tile(p, copies), np.tile(time, copies)
    plain = np.concatenate(weights)
    steady = np.concatenate([_steady(p, time, weight), *weights[1:]])
    by_law = [
        np.split(law.fit(many_p, many_time, plain if law is POWER else steady), copies[0])
        for law in laws.laws
    ]
    return [
        Cut(
            weight=own,
            is_cut=is_cut,
            last=_last(p, own),
            last_time=_last(time, own),
            least=np.where(own > 0, time, np.inf).min(axis=1, keepdims=True),
            of_all=tuple(law[i] for law in by_law),
            of_last_two=tuple(law[all_counts + i] for law in by_law if i < last_two),
            laws=laws,
        )
        for i, (own, is_cut) in enumerate(known)
    ]


def without_last(weight: Array, many: int) -> tuple[Array, NDArray[np.bool_]]:
    """Weights with the last counts of each row left out, and which rows then still have two.

    Rows that have not keep all their counts: what is computed from them is not used.
    """
    from_the_end = np.cumsum((weight > 0)[:, ::-1], axis=1)[:, ::-1]
    is_cut = from_the_end[:, 0] - many >= 2
    return np.where(is_cut[:, None] & (from_the_end <= many), 0.0, weight), is_cut


def errors_of(cuts: Sequence[Cut], *, last_two: bool = False) -> list[Array]:
    """Log error of each law at the last count of each cut from those before, 0 if untested.

    One fewer than the cuts, (series, laws) each. At a count of a smaller weight it is smaller.
    """
    errors = []
    for known, before in pairwise(cuts):
        said = before.log_times(known.last, last_two=last_two)[:, 0]
        worth = np.where(before.is_cut[:, None], _last(known.weight, known.weight), 0.0)
        errors.append(worth * (said - np.log(known.last_time)))
    return errors


def _of_last_two(weight: Array) -> Array:
    """Weights of the last two counts alone."""
    return weight * (np.cumsum((weight > 0)[:, ::-1], axis=1)[:, ::-1] <= 2)


def _steady(p: Array, time: Array, weight: Array) -> Array:
    """Weights of relative residuals, the last of them as the time before it scales by p^-0.5."""
    rows, at = np.arange(len(p)), _place_of_last(weight)
    rest = weight.copy()
    rest[rows, at] = 0.0
    before = _place_of_last(rest)
    expected = time[rows, before] * np.sqrt(p[rows, before] / p[rows, at])
    steady = weight.copy()
    steady[rows, at] *= np.sqrt(time[rows, at] / expected)
    return steady


def _place_of_last(weight: Array) -> NDArray[np.intp]:
    """Column of the last entry of each row that has a weight, (series,)."""
    return np.asarray(weight.shape[1] - 1 - np.argmax(weight[:, ::-1] > 0, axis=1))


def _last(values: Array, weight: Array) -> Array:
    """Pick the last entry of each row that has a weight, shape (series, 1)."""
    return np.take_along_axis(values, _place_of_last(weight)[:, None], axis=1)
