"""The test for CI: is any cell slower, at one level of error for all of them together.

The first run of the new version is looked at with `FIRST`, 5%: one good run in twenty is asked
to be repeated. A slowdown is reported where the runs of all sessions together show it at the
level asked for, 1% by default, and those of the later sessions alone at 5%. The first two are
levels of the whole family of cells: Holm's procedure with Sidak's inequality, over Student's
t of each ratio (`parcast.deciding.compare.noise`). The first session of a cell is the first that
has runs of it. A permutation of repetitions could not: five
against five have 252 ways, so that their least probability is 0.4% for one cell and 8% for
twenty.

Stopped runs are in no mean. Where one had a limit so far above the base that a run of it takes
longer at the level of a first run, and above what is tolerated, its cell is suspected; it is
slower where these are more than half of its runs, of all sessions and of the later ones [D].
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.compare.cells import Cells
from parcast.deciding.compare.noise import (
    BETWEEN,
    RunNoise,
    exceeded,
    noise_of,
    quantile,
    together,
)
from parcast.deciding.compare.stopped import StoppedRuns, stopped_above

FIRST: Final = 0.05  # level at which a first run is asked to be repeated [1] [D]
KNOWN: Final = 1e9  # degrees of freedom of noise that is taken as known [1]
SEEN: Final = 0.95  # probability with which a slowdown that it says it can see is found [1] [D]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GateLook:
    """Ratios of times in some sessions, of every cell; NaN where a version has no run."""

    log_ratio: Array  # (cells,)
    error: Array  # standard error of it
    free: Array  # degrees of freedom [1]

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Which cells both versions have here."""
        return np.isfinite(self.log_ratio)

    def family(self, tolerated: float, sign: float = 1.0) -> Array:
        """Probability, for the family, of a ratio so far above what is tolerated; 1 untested."""
        value = np.where(self.tested, (sign * self.log_ratio - tolerated) / self.error, -np.inf)
        return together(exceeded(value, self.free), self.tested)

    def alone(self, tolerated: float) -> Array:
        """The same of each cell by itself."""
        value = np.where(self.tested, (self.log_ratio - tolerated) / self.error, -np.inf)
        return exceeded(value, self.free)

    def interval(self, share: float = 0.9) -> tuple[Array, Array]:
        """Ends of the interval of the logarithm of the ratio, each cell by itself."""
        half = quantile((1 - share) / 2, self.free) * self.error
        return self.log_ratio - half, self.log_ratio + half


def look(cells: Cells, noise: RunNoise | None = None) -> GateLook:
    """Compare the two versions by the sessions there are."""
    noise = noise or noise_of(cells)
    (old, doubt), (new, more) = (
        noise.mean_of(cells.sessions(cells.new == side)) for side in (False, True)
    )
    return GateLook(log_ratio=new - old, error=np.sqrt(doubt + more), free=noise.free)


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRule:
    """When a slowdown is reported."""

    level: float  # share of good runs in which any may be [1]
    confirm: int  # repetitions of a second run that it needs; 0: none is needed [1]
    tolerated: float  # slowdown that does not count [1]

    @property
    def log_tolerated(self) -> float:
        """Logarithm of the ratio that does not count."""
        return float(np.log1p(self.tolerated))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Gate:
    """What is decided of each cell."""

    all: GateLook  # by all sessions
    probability: Array  # of such a slowdown if nothing changed, for the family [1]
    is_slower: NDArray[np.bool_]  # reported
    is_faster: NDArray[np.bool_]
    waits: NDArray[np.bool_]  # suspected, and a second run is needed to decide
    is_tolerated: NDArray[np.bool_]  # slower, by no more than what is tolerated
    least_ratio: Array  # to the base of the smallest limit of stopped runs; infinite without [1]


def first_sessions(cells: Cells, stopped: StoppedRuns) -> NDArray[np.bool_]:
    """Which session of the new version is the first of each cell, (sessions, cells)."""
    has = ((cells.runs > 0) | (stopped.number() > 0)) & cells.new[:, None]
    return np.asarray(has & (np.cumsum(has, axis=0) == 1))


def decide(cells: Cells, rule: GateRule, stopped: StoppedRuns) -> Gate:
    """Decide of each cell; the first of its new sessions is the first run."""
    is_base = np.broadcast_to(~cells.new[:, None], cells.runs.shape)
    is_first = first_sessions(cells, stopped)
    every = look(cells)
    is_above = (every.family(0.0) <= rule.level) & (rule.tolerated > 0)
    level = FIRST if rule.confirm else rule.level
    above = stopped_above(cells, stopped, level, log_tolerated=rule.log_tolerated)
    is_over = above.any

    def mostly_over(which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        done = np.where(which, cells.runs, 0).sum(axis=0)
        return np.asarray(np.where(which, above.number, 0).sum(axis=0) > done)

    probability = every.family(rule.log_tolerated)
    is_faster = every.family(rule.log_tolerated, -1.0) <= rule.level
    if not rule.confirm:
        slower = (probability <= rule.level) | mostly_over(~is_base)
        return Gate(
            all=every,
            probability=probability,
            is_slower=slower,
            is_faster=is_faster,
            waits=is_over & ~slower,
            is_tolerated=is_above & ~slower,
            least_ratio=above.least_ratio,
        )
    first = look(cells.only(is_base | is_first))
    suspected = (first.family(rule.log_tolerated) <= FIRST) | is_over
    is_later = ~is_base & ~is_first
    later = cells.only(~is_first)
    over_later = np.where(is_later, above.number, 0).sum(axis=0)
    done = later.runs[later.new].sum(axis=0)
    enough = done + over_later >= rule.confirm
    again = look(later).alone(rule.log_tolerated) <= FIRST
    is_slower = suspected & enough & again & (probability <= rule.level)
    is_slower |= enough & mostly_over(~is_base) & mostly_over(is_later)
    return Gate(
        all=every,
        probability=probability,
        is_slower=is_slower,
        is_faster=is_faster & ~is_over,
        waits=suspected & ~is_slower & (~enough | (over_later > 0)),
        is_tolerated=is_above & ~is_slower,
        least_ratio=above.least_ratio,
    )


def sessions_apart(cells: Cells, rule: GateRule, stopped: StoppedRuns) -> Array:
    """Ratio of the later sessions of the new version to the first, of cells where they differ.

    They differ by more than runs and days do, at the level asked for; NaN elsewhere. [1].
    """
    noise = noise_of(cells)  # days that differ must not hide that they do
    own = replace(noise, between=BETWEEN**2)
    new, is_first = cells.sessions(cells.new), first_sessions(cells, stopped)[cells.new]
    (first, doubt), (later, more) = (own.mean_of(new.only(x)) for x in (is_first, ~is_first))
    with np.errstate(invalid="ignore"):
        value = np.abs(later - first) / np.sqrt(doubt + more)
    tested = np.isfinite(value)
    probability = together(2 * exceeded(np.where(tested, value, 0.0), KNOWN), tested)
    return np.where(tested & (probability <= rule.level), np.exp(later - first), np.nan)


def visible(cells: Cells, rule: GateRule, runs: NDArray[np.intp]) -> Array:
    """Smallest slowdown of each cell that is found with a probability of 95%. [1].

    By the base alone, for a first run with so many `runs` of each cell, and with the repetitions
    of the second run that the rule asks for. Noise is planned with its upper quartile.
    """
    base = cells.sessions(~cells.new)
    noise = noise_of(base)
    within = noise.planned()
    known = base.runs[:, :]
    with np.errstate(divide="ignore"):
        base_doubt = 1 / np.sum(
            np.where(known > 0, 1 / (within / known + noise.between), 0.0), axis=0
        )
        tested = np.isfinite(base_doubt) & (runs > 0)
        family = max(int(tested.sum()), 1)

        def least(level: float, size: int, *sessions: NDArray[np.intp]) -> Array:
            weight = np.sum([1 / (within / x + noise.between) for x in sessions], axis=0)
            error = np.sqrt(base_doubt + 1 / weight)
            free = noise.free + np.sum(sessions, axis=0) - len(sessions)
            limit = -np.expm1(np.log1p(-level) / size)
            return np.asarray(error * (quantile(limit, free) + quantile(1 - SEEN, free)))

        if not rule.confirm:
            needed = least(rule.level, family, runs)
        else:
            more = np.full_like(runs, rule.confirm)
            needed = np.maximum.reduce(
                [
                    least(FIRST, family, runs),
                    least(rule.level, family, runs, more),
                    least(FIRST, 1, more),
                ]
            )
    return np.where(tested, np.expm1(needed + rule.log_tolerated), np.inf)
