"""Explain profiled runs: efficiencies at the measured counts, and forecast to larger ones.

What is forecast are the inverses of the factors, 1/LB, 1/CommE, the inverse efficiency of threads
and 1/CompE: each is a time over a better one, which grows with the processors as a time does. Laws
for times in p forecast them, and the products follow; their intervals are those of independent
factors [D].
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.deciding.explain.profiles.efficiencies import (
    EFFICIENCIES,
    Efficiencies,
    RegionUse,
    efficiencies_of,
)
from parcast.deciding.explain.profiles.reading import ProfiledRuns, profiled
from parcast.deciding.explain.profiles.result import (
    LOWERED,
    ProblemExplained,
    ProfilesExplained,
    RegionLoss,
)
from parcast.files.faults import AnyPath
from parcast.forecasting.forecast import forecast
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.forecasting.series.question import check_scaling, counts_of
from parcast.units import percent
from parcast.words import listed, whole

AT_MOST_ONE: Final = ("load_balance", "communication_efficiency", "thread_efficiency")
PRODUCTS: Final = {
    "parallel_efficiency": AT_MOST_ONE,
    "global_efficiency": (*AT_MOST_ONE, "computation_scalability"),
}
FACTORS: Final = PRODUCTS["global_efficiency"]
TOLD: Final = 0.05  # share of the time in no region, from which it is said [D]
EXACT: Final = 1e-9  # distance of an efficiency from 1 that is none


def explain_profiles(
    paths: AnyPath | Sequence[AnyPath],
    *,
    p: ArrayLike | None = None,
    scaling: Scaling = "auto",
) -> ProfilesExplained:
    """Explain profiles of `parcast.region` or TALP; see `parcast.explain`."""
    check_scaling(scaling)
    runs, notes = profiled(paths)
    counts = None if p is None else counts_of("p", p)
    problems = [_explained(x, counts, scaling) for x in runs]
    problems.sort(key=lambda x: -float(np.nanmax(x.elapsed)))
    return ProfilesExplained(problems=tuple(problems), notes=tuple(notes))


def _explained(runs: ProfiledRuns, asked: Array | None, scaling: Scaling) -> ProblemExplained:
    """Explain the runs of one problem."""
    is_weak = runs.is_weak if scaling == "auto" else scaling == "weak"
    of_runs = [x for x in runs.uses if not x.region]
    measured = efficiencies_of(of_runs, is_weak=is_weak)
    largest = float(measured.p[-1])
    further = np.array([2 * largest]) if asked is None else asked[asked > largest]
    if len(measured.p) < 2:
        further = further[:0]
    told = forecast_efficiencies(measured, further)
    values, lower, upper = {}, {}, {}
    for name in EFFICIENCIES:
        own, half = measured.values[name], measured.spread[name]
        ends = told[name] if len(further) else (further, further, further)
        values[name] = np.concatenate([own, ends[0]])
        lower[name] = np.concatenate([own * np.exp(-half), ends[1]])
        upper[name] = np.concatenate([own * np.exp(half), ends[2]])
    return ProblemExplained(
        key=runs.key,
        p=np.concatenate([measured.p, further]),
        elapsed=np.concatenate([measured.elapsed, np.full(len(further), np.nan)]),
        is_forecast=np.arange(len(measured.p) + len(further)) >= len(measured.p),
        values=values,
        lower=lower,
        upper=upper,
        losses=tuple(sorted(_losses(runs.uses, is_weak=is_weak), key=lambda x: -x.share)),
        scaling="weak" if is_weak else "strong",
        unmeasured=(*_unmeasured(runs, measured), *_not_forecast(measured, asked)),
    )


def _not_forecast(measured: Efficiencies, asked: Array | None) -> Iterator[str]:
    """Say which counts that were asked for have no answer."""
    largest = measured.p[-1]
    left_out = [] if asked is None else np.setdiff1d(asked[asked <= largest], measured.p).tolist()
    if left_out:
        yield (
            f"Not forecast: p = {listed(str(whole(x)) for x in left_out)}. Only counts above the "
            f"largest measured one, {whole(float(largest))}, are."
        )


def forecast_efficiencies(
    measured: Efficiencies, p: Array
) -> dict[str, tuple[Array, Array, Array]]:
    """Efficiencies at larger counts, with their intervals; NaN of what was not measured."""
    if not len(p):
        return {}
    told = {name: _forecast_of(measured, name, p) for name in FACTORS}
    for name, factors in PRODUCTS.items():
        middle = np.prod([told[factor][0] for factor in factors], axis=0)
        below, above = (
            np.sqrt(sum(np.log(told[factor][i] / told[factor][0]) ** 2 for factor in factors))
            for i in (1, 2)
        )
        most = np.inf if name == "global_efficiency" else 1.0
        told[name] = (
            middle,
            middle * np.exp(-below),
            np.minimum(middle * np.exp(above), most),
        )
    return told


def _forecast_of(measured: Efficiencies, name: str, p: Array) -> tuple[Array, Array, Array]:
    """One factor at larger counts, by the laws that forecast times."""
    values = measured.values[name]
    if not np.all(np.isfinite(values) & (values > 0)):
        return (np.full(len(p), np.nan),) * 3
    if np.all(np.abs(values - 1.0) <= EXACT):
        return (np.ones(len(p)),) * 3
    inverse = forecast({"p": measured.p, "time": 1.0 / values}, p, scaling="strong")
    middle, lower, upper = 1.0 / inverse.time, 1.0 / inverse.upper, 1.0 / inverse.lower
    if name in AT_MOST_ONE:
        middle, lower, upper = (np.minimum(x, 1.0) for x in (middle, lower, upper))
    return middle, lower, upper


def _losses(uses: Sequence[RegionUse], *, is_weak: bool) -> Iterator[RegionLoss]:
    """What each region loses at the largest count, of the processor time of the run there."""
    counts = sorted({x.p for x in uses})
    last, first = counts[-1], counts[0]
    whole = [x for x in uses if not x.region and x.p == last]
    budget = float(np.mean([x.elapsed * x.p for x in whole]))
    by_region: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    computing: dict[tuple[str, int], list[float]] = defaultdict(list)
    for x in uses:
        if x.region and x.p == last and np.isfinite(x.lost):
            lowers = LOWERED[1 if x.is_waited else 0]
            by_region[x.region, x.why, lowers].append(x.lost / budget)
        if x.region and x.useful > 0:
            computing[x.region, x.p].append(x.useful if is_weak else x.useful * x.p)
    for (region, p), those in computing.items():
        before = computing.get((region, first))
        if p == last and p != first and before:
            scale = last if is_weak else 1
            more = [scale * (x - float(np.mean(before))) / budget for x in those]
            if np.mean(more) > 0:
                by_region[region, "more computation", LOWERED[2]] = more
    for (region, why, lowers), shares in by_region.items():
        several = len(shares) > 1
        yield RegionLoss(
            region=region,
            share=float(np.mean(shares)),
            lower=min(shares) if several else float("nan"),
            upper=max(shares) if several else float("nan"),
            why=why,
            lowers=lowers,
        )


NAMES: Final = {name: name.replace("_", " ") for name in EFFICIENCIES}


def _unmeasured(runs: ProfiledRuns, measured: Efficiencies) -> Iterator[str]:
    """Say what the profiles do not give."""
    missing = [NAMES[x] for x in FACTORS if np.any(~np.isfinite(measured.values[x]))]
    if missing:
        yield f"Not measured: {', '.join(missing)}. The profiles do not contain it at each p."
    if len(measured.p) < 2:
        yield (
            "All runs have one count: computation scalability is relative to itself, and nothing "
            "can be forecast. Profile a second count."
        )
    if np.all(measured.runs == 1):
        yield "Each count was run once: efficiencies of measured runs have no interval."
    last = measured.p[-1]
    of_last = [x for x in runs.uses if x.p == last]
    regions: dict[str, int] = defaultdict(int)
    counts = {x.p for x in runs.uses}
    for name, _ in {(x.region, x.p) for x in runs.uses if x.region}:
        regions[name] += 1
    partial = sorted(name for name, seen in regions.items() if seen < len(counts))
    if partial:
        yield f"Not in the profiles of all counts: region {', '.join(partial[:4])}."
    outside = max(x.outside for x in runs.uses)
    if outside > TOLD:
        yield (
            f"Up to {percent(outside)} of the time is in no region and counts as computing. Put "
            "all messages in regions."
        )
    if last == 1:
        yield "All runs have one rank: nothing is lost to communication or imbalance."
    if not any(x.region for x in of_last):
        yield "No regions were measured: what is lost where is not known."
