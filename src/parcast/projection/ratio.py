"""Kappa, the time of a target machine over that of a base, and the times it is found from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount, Point
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program
from parcast.errors import FitFailed, ParameterError, require
from parcast.forecasting.forecast import forecast
from parcast.importers.registry import as_measurements
from parcast.prediction.predict import predict
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import shown

UNREPEATED: Final = NORMAL_90 * 0.02 * 2**0.5  # half-width of a ratio of two runs [D]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Time of the target over that of the base, and what it is based on."""

    value: float  # [1]
    half_width: float  # of its logarithm
    at: float  # count at which it is known [1]
    words: str
    source: Literal["run", "given", "rates"] = "run"


def ratio_of(
    computing: Measurements,
    *,
    base: Machine,
    target: Machine,
    known: MeasurementsLike | None,
    ratio: object,
    priced: Mapping[str, Phase],
) -> Ratio:
    """Find kappa, from a run, as it is given, or from the rates of the processors."""
    if known is not None and ratio is not None:
        raise ParameterError(
            "ratio", must="be left out if known runs are given", hint="Give one of the two."
        )
    if ratio is not None:
        amount = Amount.of(ratio, ["count"], name="ratio")
        value = float(amount({"p": np.ones(())}))
        require("ratio", value, value > 0, must="be above 0", hint="Give target time / base time.")
        return Ratio(value, float(np.log1p(amount.spread)), 1.0, "as given", "given")
    if known is None:
        return ratio_of_rates(base, target)
    known = as_measurements(known)
    series = known.series(())
    at, there = float(series.p[0, 0]), float(series.time[0, 0])
    here, width = on_base(computing, np.array([at]))
    sent, _ = on_target(priced, target, np.array([at]))
    left = time_computing(there, float(sent[0]), target, f"p = {at:g}")
    words = f"one run at p = {at:g} on {target.name}"
    return Ratio(left / float(here[0]), float(np.hypot(width[0], UNREPEATED)), at, words)


def ratio_of_rates(base: Machine, target: Machine, at: Point | None = None) -> Ratio:
    """Find kappa from the rates of the processors."""
    why = "the ratio of the machines' times"
    one = {"p": np.ones(())} if at is None else at
    rates = [float(machine.need("compute.rate", one, why=why)) for machine in (base, target)]
    spreads = [
        float(np.log1p(rate.spread)) if rate is not None else 0.0
        for rate in (base.compute.rate, target.compute.rate)
    ]
    words = "compute.rate of both machines"
    half_width = float(np.hypot(spreads[0], spreads[1]))
    return Ratio(rates[0] / rates[1], half_width, 1.0, words, "rates")


def require_one_of_each(runs: Measurements, *, what: str) -> None:
    """Refuse runs that differ in more than p."""
    others = {name: values for name, values in runs.axes.items() if name != "p"}
    for name, values in {**runs.labels, **others}.items():
        several = list(dict.fromkeys(values.tolist()))
        if len(several) > 1:
            raise ParameterError(
                what,
                must=f"be of one {name}",
                got=shown(", ".join(map(str, several))),
                hint="Keep the runs of the program.",
            )


def time_computing(time: float, sent: float, target: Machine, place: str) -> float:
    """Give what a run on the target computes, without what it sends; refuse a shorter run. [s]."""
    if time <= sent:
        raise ParameterError(
            "known",
            must="take longer than its communication",
            got=f"{time:g} s at {place} where the primitives of {target.name} take {sent:g} s",
            hint="Check the run and the primitives.",
        )
    return time - sent


def on_base(runs: Measurements, counts: Array) -> tuple[Array, Array]:
    """Time on the base machine, all call paths together, and its half-width of log time."""
    predicted = forecast(runs, counts, by=("callpath",) if "callpath" in runs.labels else ())
    if predicted.refused:
        name, why = next(iter(predicted.refused.items()))
        raise FitFailed(f"{name or 'The base machine'}: {why}")
    time, upper = (
        np.reshape(x, (-1, len(counts))).sum(axis=0) for x in (predicted.time, predicted.upper)
    )
    return time, np.log(upper / time)  # of several call paths, as if all erred together


def on_target(priced: Mapping[str, Phase], target: Machine, counts: Array) -> tuple[Array, Array]:
    """Time of what is priced on the target [s], and its half-width of log time."""
    time, width = np.zeros(len(counts)), np.zeros(len(counts))
    several = counts > 1  # one processor sends nothing, and nothing has no logarithm
    if priced and several.any():
        predicted = predict(
            Program(phase=tuple(priced.values())),
            target,
            p=counts[several],
            bounds=False,
            law_error=False,
        )
        time[several] = predicted.time
        if predicted.upper is not None and predicted.lower is not None:
            width[several] = np.log(predicted.upper / predicted.lower) / 2.0
    return time, width
