"""Costs from the times of reference requests, by least squares.

The law gives the time and the parts of each reference request as a function of the costs. Those
are taken with which it comes closest to the medians of the runs: relative errors of the times
within `OF_TIME` and errors of the parts within `OF_PART` of the time count as much as a cost that
is its `spread` off what is typical. Large errors count less (soft L1).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from scipy import optimize  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.arrays.calibration.dry_run import DryRun
from parcast.arrays.calibration.regimes import COSTS, costs_of, keys_of
from parcast.arrays.calibration.result import Figure
from parcast.arrays.law.contention import Placement
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.request import Options, RequestTime, request_time
from parcast.arrays.library.checking import server_ranks
from parcast.arrays.planning.pricing import options_of
from parcast.arrays.trials.launcher import Components
from parcast.arrays.trials.request import ArrayRequest, Layout
from parcast.testbed.testbed import Testbed


@dataclass(frozen=True)
class ByLaw:
    """A request, to be priced with any costs."""

    asked: ArrayRequest
    placement: Placement | None = None  # bounds the time by what ranks share; None: nothing is

    @cached_property
    def _options(self) -> Options:
        is_shared, options = self.placement is not None, options_of(self.asked.carried.schema)
        return replace(options, contention=is_shared, placement=self.placement)

    def time(self, costs: Costs) -> RequestTime:
        """Price it."""
        return request_time(self.asked.carried.tables, costs, self._options)


def components_of(time: RequestTime) -> Components:
    """Parts of the time of the server that finishes last.

    What makes it longer than its slowest server takes alone is part of the assembly.
    """
    last = int(np.argmax(time.startup + time.intermediate))
    startup, files = float(time.startup[last]), float(time.file_system[last])
    return Components(
        startup=startup,
        assembly=time.finished - startup - files,
        file_system=files,
        closing=float(time.closing.max()),
    )


def placement_of(layout: Layout, bed: Testbed | None) -> Placement:
    """Nodes of the ranks of a layout, and their links.

    That ranks share cores is not part of it: their costs were measured on all of them at a time.
    """
    ranks = range(layout.ranks)
    serving = server_ranks(layout.servers, layout.ranks, layout.dedicated)
    clients = [rank for rank in ranks if not (layout.dedicated and rank in serving)]
    hosts = 1 if bed is None else bed.hosts
    return Placement(
        clients=[rank % hosts for rank in clients],
        servers=[rank % hosts for rank in serving],
        link=np.inf if bed is None or bed.link is None else bed.link,
        serving=() if layout.dedicated else serving,
    )


OF_TIME: Final = 0.05  # [1]
OF_PART: Final = 0.15  # [1]
STEPS: Final = 15  # evaluations of all derivatives, at most
TOLERANCE: Final = 1e-3  # of the sum of squares
SMALL: Final = 2.0  # error up to which squares count [1]
FARTHEST: Final = 4.0  # from what is typical, in spreads [1]
KEPT: Final = 2 * len(COSTS)  # errors of a request: more than all derivatives need
WIDTH: Final = 1.645  # standard deviations of a 90% interval


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A reference request and what was observed of it."""

    law: ByLaw
    dry: DryRun
    time: float  # median of the runs [s]
    parts: Components  # medians [s]


def fitted(references: Sequence[Reference], disk: float) -> list[Figure]:
    """Give every cost of `COSTS` with its interval, for a disk of about this rate [B/s]."""
    typical = np.log([cost.typical * (disk if cost.is_of_disk else 1.0) for cost in COSTS])
    loose = np.array([cost.spread for cost in COSTS])
    errors_of = [_remembered(each) for each in references]

    def errors(logs: Array) -> Array:
        value = _values(logs)
        found = [error for each in errors_of for error in each(value)]
        return np.array([*found, *((logs - typical) / loose)])

    best = optimize.least_squares(
        errors,
        typical,
        bounds=(typical - FARTHEST * loose, typical + FARTHEST * loose),
        loss="soft_l1",
        f_scale=SMALL,
        max_nfev=STEPS,
        ftol=TOLERANCE,
        xtol=TOLERANCE,
    )
    own = len(best.fun) - len(COSTS)
    scale = max(float(np.mean(best.fun[:own] ** 2)), 1.0)
    spread = WIDTH * np.sqrt(scale * np.diag(np.linalg.inv(best.jac.T @ best.jac)))
    return [
        Figure(
            key=cost.key,
            value=float(np.exp(log)),
            lower=float(np.exp(log - wide)),
            upper=float(np.exp(log + wide)),
            dimension=cost.dimension,
            method=cost.what,
        )
        for cost, log, wide in zip(COSTS, best.x, spread, strict=True)
    ]


def _values(logs: Array) -> dict[str, float]:
    """Costs by their keys."""
    return {cost.key: float(x) for cost, x in zip(COSTS, np.exp(logs), strict=True)}


def _remembered(reference: Reference) -> Callable[[Mapping[str, float]], list[float]]:
    """Give errors of the law for a request, which is priced again only if its own costs change."""
    keys = keys_of(reference.law.asked, reference.dry)

    @lru_cache(KEPT)
    def errors(own: tuple[float, ...]) -> list[float]:
        return _errors(reference, dict(zip(keys, own, strict=True)))

    return lambda value: errors(tuple(value[key] for key in keys))


def _errors(reference: Reference, value: Mapping[str, float]) -> list[float]:
    """Errors of the law for a request, in units of what is expected."""
    law = reference.law
    time = law.time(costs_of(law.asked, reference.dry, value))
    parts = zip(components_of(time), reference.parts, strict=True)
    return [
        float(np.log(time.time / reference.time)) / OF_TIME,
        *((part - seen) / reference.time / OF_PART for part, seen in parts),
    ]
