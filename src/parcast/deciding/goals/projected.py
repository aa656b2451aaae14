"""Times on a machine without runs, projected from that with runs whose rate is nearest."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.errors import FitFailed
from parcast.forecasting.donors.gather import without
from parcast.forecasting.own_runs.scaling import ScalingReading, speedup_and_efficiency
from parcast.projection.project import project
from parcast.timings.measurements import Measurements
from parcast.units import shown

DIGITS: Final = 9  # by which rates are told apart, fewer than rounding reaches


class ProjectedTimes(NamedTuple):
    """Times on a machine without runs, (points,) each."""

    time: Array  # [s]
    lower: Array  # of the 90% interval [s]
    upper: Array  # of the 90% interval [s]
    efficiency: Array  # over the smallest measured count of the other machine [1]
    base: str  # machine whose runs they are projected from
    warnings: Sequence[str]


def projected_times(
    runs: Measurements,
    machine: Machine,
    known: Sequence[Machine],
    p: Array,
    *,
    reading: ScalingReading,
) -> ProjectedTimes:
    """Times on a machine without runs, scaled from that with runs whose rate is nearest."""
    base = _base_of(runs, machine, known)
    here, others = runs.select(machine=base.name), without(runs, [base.name])
    first = float(here.p.min())
    told = project(here, np.append(first, p), base=base, target=machine, others=others)
    _, efficiency = speedup_and_efficiency(
        p=p,
        time=told.time[None, 1:],
        p0=np.array([first]),
        time0=told.time[:1],
        strong=np.array([reading.is_strong]),
    )
    time, lower, upper = (x[1:] for x in (told.time, told.lower, told.upper))
    return ProjectedTimes(time, lower, upper, efficiency[0], base.name, told.warnings)


def _base_of(runs: Measurements, machine: Machine, known: Sequence[Machine]) -> Machine:
    """Machine whose runs another one is projected from: that of the nearest rate.

    Of equally near ones the one with runs at the most counts, then the one of the shorter times:
    not the first one.
    """
    rate = _rate(machine)

    def distance(base: Machine) -> tuple[Any, ...]:
        series = runs.select(machine=base.name).series(())
        apart = abs(np.log((_rate(base) or np.nan) / (rate or np.nan)))
        p, time = series.p[0], series.time[0]
        return round(apart, DIGITS), -len(p), p.tolist(), time.tolist()

    several = [x for x in known if len(np.unique(runs.select(machine=x.name).p)) > 1]
    bases = [x for x in several if rate and _rate(x)]
    if not bases:
        named = ", ".join(dict.fromkeys(runs.labels["machine"].tolist()))
        raise FitFailed(
            f"It has no runs (there are runs on {shown(named)}) and cannot be projected from "
            "another machine. Give compute.rate in its file and in that of a machine with runs at "
            "two or more processor counts."
        )
    return min(bases, key=distance)


def _rate(machine: Machine) -> float | None:
    """Compute rate of a machine, where it gives one that does not depend on p."""
    amount = machine.compute.rate
    return None if amount is None else float(amount({"p": np.ones(())}))
