"""Times on a machine without runs, or with one, from runs on a base machine.

    T_target(P) = kappa * sum T_comp,base(P) + sum T_comm,target(P)         [S in words] [1]_
    kappa       = T_target(P0) / T_base(P0)

Call paths that communicate are computed for the target, from its primitives; all others are scaled
by kappa, best determined at P0 = 1. If the runs have no call paths, the whole time is scaled, with
a warning.

The ratio of two machines is not constant: the one with the faster processors waits more for its
network. How much it changes was measured [D]: on seven public sets of runs every machine in turn
was the target, with one known run, and every other machine the base. A suitable half-width of the
90% interval of log time grows with the distance from the known count and with the difference of
the machines,

    half-width = sqrt( (0.5 + 0.4 * min(|ln kappa|, 1.5))^2 * ln(P / P0) + (1.645 * 0.05)^2 )

Other machines with runs at the same counts improve it. Each contributes the change of the base's
ratio to it; the formula then counts as three machines. The study is in
``docs/explanation/projection.md``.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, sections on projection.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program
from parcast.errors import FitFailed, ParameterError, require, require_one_of
from parcast.forecasting.forecast import forecast
from parcast.importers.registry import as_measurements
from parcast.prediction.predict import predict
from parcast.projection.result import Projection
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import percent, shown

UNREPEATED_RATIO: Final = NORMAL_90 * 0.02 * 2**0.5  # half-width of a ratio of two runs [D]
ALIKE: Final = 0.5  # half-width one e-folding of p away, of machines as fast as each other [D]
UNLIKE: Final = 0.4  # more of it for each e-folding of kappa ... [D]
MOST_UNLIKE: Final = 1.5  # ... up to so many [D]
UNREPEATED: Final = 0.05  # sd of log time that one machine differs from itself [D]
WORTH: Final = 3.0  # machines that the formula counts as, beside those that were run [D]
DOUBTFUL: Final = 5.0  # upper over lower from which an interval says little [D]


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
    return Ratio(left / float(here[0]), float(np.hypot(width[0], UNREPEATED_RATIO)), at, words)


def ratio_of_rates(base: Machine, target: Machine) -> Ratio:
    """Find kappa from the rates of the processors."""
    why = "the ratio of the machines' times"
    one = {"p": np.ones(())}
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


def project(
    runs: MeasurementsLike,
    p: ArrayLike,
    *,
    base: Machine,
    target: Machine,
    known: MeasurementsLike | None = None,
    ratio: object = None,
    communication: Mapping[str, Phase] | None = None,
    others: MeasurementsLike | None = None,
) -> Projection:
    """Times at `p` processors of a target machine, scaled from runs on a base machine.

    With a column `callpath` the times of `runs` must add up; the times of what `communication`
    describes are computed for the target. The ratio comes from the `known` run on the target at
    the smallest count; otherwise it is given, as "0.15 +- 10%", or is the base's `compute.rate`
    divided by the target's. The interval combines, on the log scale, the uncertainty of the base's
    forecast, that of the ratio, the change of ratios with p among `others`, and the +- of the
    target.
    """
    runs = as_measurements(runs)
    counts = np.atleast_1d(np.asarray(p, dtype=np.float64))
    priced = dict(communication or {})
    computing = _computing(runs, priced)
    kappa = ratio_of(computing, base=base, target=target, known=known, ratio=ratio, priced=priced)

    scaled, own = on_base(computing, counts)
    scaled = kappa.value * scaled
    sent, sent_width = on_target(priced, target, counts)
    time = scaled + sent
    share = scaled / time
    moved = None if others is None else _moved(others, runs, counts, kappa.at)
    widths = {
        "forecast on the base": share * own,
        "ratio": share * kappa.half_width,
        "ratio moves with p": share
        * moved_half_width(np.log(counts / kappa.at), kappa.value, moved),
        "+- of the target": (1.0 - share) * sent_width,
    }
    return projected(
        counts,
        time,
        kappa,
        widths,
        scaled=scaled,
        communication=sent if priced else None,
        base=base.name,
        target=target.name,
        warnings=(
            *_of_priced(kappa, base, target, priced),
            *of_ratio(kappa, target, has_others=others is not None),
        ),
    )


def projected(
    p: Array,
    time: Array,
    kappa: Ratio,
    widths: Mapping[str, Array],
    *,
    warnings: Sequence[str],
    **known: Any,
) -> Projection:
    """Make the answer, with its interval from half-widths that are independent."""
    factor = np.asarray(np.exp(np.sqrt(np.sum([x**2 for x in widths.values()], axis=0))))
    return Projection(
        p=p,
        time=time,
        lower=time / factor,
        upper=time * factor,
        ratio=kappa.value,
        ratio_from=kappa.words,
        widths=widths,
        warnings=(*doubtful(p, factor), *warnings),
        **known,
    )


def _computing(runs: Measurements, priced: Mapping[str, Phase]) -> Measurements:
    """Leave out the call paths that are priced on the target."""
    names = runs.labels.get("callpath")
    there = [] if names is None else list(dict.fromkeys(names.tolist()))
    for path in priced:
        known = ", ".join(map(str, there[:8])) or "none; add a column callpath"
        hint = f"Available: {known}."
        require_one_of("communication", path, there, hint, must="name call paths of the runs")
    left = [path for path in there if path not in priced]
    if priced and not left:
        raise ParameterError(
            "communication",
            must="leave at least one call path that computes",
            got="all call paths",
            hint="Name fewer.",
        )
    return runs.select(callpath=left) if priced else runs


def moved_half_width(reach: ArrayLike, ratio: ArrayLike, moved: ArrayLike | None = None) -> Array:
    """Half-width of the 90% interval of log time that the base ratio leaves, (points,).

    `reach` is the distance in log p from where the ratio is known, `moved`, (machines, points),
    the change of each other machine's log ratio over it; NaN where it is not known.
    """
    distance = np.abs(np.asarray(reach, dtype=np.float64))
    unlike = np.minimum(np.abs(np.log(np.asarray(ratio, dtype=np.float64))), MOST_UNLIKE)
    variance = (ALIKE + UNLIKE * unlike) ** 2 * distance
    if moved is not None:
        seen = NORMAL_90 * np.asarray(moved, dtype=np.float64)
        known = np.isfinite(seen)
        squares = np.where(known, seen, 0.0) ** 2
        variance = (squares.sum(axis=0) + WORTH * variance) / (known.sum(axis=0) + WORTH)
    return np.asarray(np.sqrt(variance + (NORMAL_90 * UNREPEATED) ** 2))


def doubtful(counts: Array, factor: Array) -> list[str]:
    """Say where the interval is so wide that it tells little."""
    i = int(np.argmax(counts))
    wide = float(factor[i] ** 2)
    if wide <= DOUBTFUL:
        return []
    text = f"The 90% interval at p = {counts[i]:g} spans a factor of {wide:.2g}: measure there."
    return [RankedWarning(text, kind="wide interval", rank=Rank.SERIOUS, size=wide)]


def _moved(others: MeasurementsLike, runs: Measurements, counts: Array, at: float) -> Array:
    """Tell how far the log ratio of each other machine to the base moves from `at` to `counts`."""
    others = as_measurements(others)
    series = others.series(("machine",))
    here = runs.series(("callpath",) if "callpath" in runs.labels else ())
    wanted = np.append(counts, at)
    base = np.log(
        sum(_inside(x, y, wanted, np.exp) for x, y in zip(here.p, here.time, strict=True))
    )
    rows = []
    for x, y in zip(series.p, series.time, strict=True):
        change = _inside(x, y, wanted) - base
        rows.append(change[:-1] - change[-1])
    return np.array(rows)


def _inside(x: Array, y: Array, wanted: Array, turn: Any = np.asarray) -> Array:
    """Log time between measured counts, NaN beyond them; or `turn` of it."""
    there = np.isfinite(x)
    return np.asarray(
        turn(np.interp(np.log(wanted), np.log(x[there]), np.log(y[there]), np.nan, np.nan))
    )


def _of_priced(
    kappa: Ratio, base: Machine, target: Machine, priced: Mapping[str, Phase]
) -> Iterator[str]:
    """Say what a reader must know of call paths that communicate."""
    if not priced:
        yield (
            f"The whole time on {base.name} is multiplied by {kappa.value:.3g}: no call path is "
            f"known to communicate, so the network of {target.name} has no effect. Describe the "
            "call paths that communicate."
        )
    for path, phase in priced.items():
        for text in phase.warnings(target):
            yield f"{path}: {text}"


def of_ratio(kappa: Ratio, target: Machine, *, has_others: bool = False) -> Iterator[str]:
    """Say what a reader must know of a ratio."""
    if kappa.source != "run":
        exact = kappa.half_width == 0.0
        yield RankedWarning(
            f"No run on {target.name}: the ratio {kappa.value:.3g} is "
            f"{'that of compute.rate of both machines' if kappa.source == 'rates' else 'as given'}"
            + (
                " and taken as exact. Write its uncertainty, such as +- 20%, so that the interval "
                "includes it."
                if exact
                else f", with an uncertainty of {percent(np.expm1(kappa.half_width))}."
            ),
            rank=Rank.SERIOUS if exact else Rank.PLAIN,
        )
    elif kappa.at > 1:
        yield (
            f"The ratio is known at p = {kappa.at:g}, while the method expects p = 1. Run the "
            f"program on one processor of {target.name}."
        )
    if not has_others:
        yield RankedWarning(
            "How the ratio changes with p is estimated from other programs and machines.",
            rank=Rank.MINOR,
        )
    yield RankedWarning(
        "The same compiler optimisation on both machines is assumed.", rank=Rank.MINOR
    )
