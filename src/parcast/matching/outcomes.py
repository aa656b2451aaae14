"""What may come out on each machine: times, costs, efficiencies, as samples that go together.

Sample s of one machine and sample s of another are one possible world. What is uncertain of the
program is the same in both; what is uncertain of a machine is its own. Forecasts from runs err
in common to some extent: their errors have the correlation SHARED, measured on public runs, see
``docs/explanation/projection.md``; so do laws (0.12 to 0.37 between three networks, for counted
programs, see docs/explanation/law-errors.md). Along p the error of one machine is one:
10 % too low at 64 processors is too low at 128 [D].

What a machine is called and where it stands in a list says nothing: the fastest machine has the
first random numbers of its own, the next one the second.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.descriptions.fit_record import departing
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import FitFailed
from parcast.forecasting.donors.gather import donors_of, without
from parcast.forecasting.forecast import forecast
from parcast.forecasting.own_runs.measured import FURTHEST
from parcast.forecasting.own_runs.scaling import ScalingReading, speedup_and_efficiency
from parcast.forecasting.result import Forecast
from parcast.forecasting.series.verdict import WIDEST_USEFUL
from parcast.laws.allowances import LawError, law_errors, law_half_width
from parcast.numerics import stratified_normal
from parcast.prediction.predict import predict
from parcast.projection.project import project
from parcast.timings.measurements import Measurements
from parcast.units import shown

SAMPLES: Final = 4000  # of which the probabilities are made: good to 1 % [D]
SHARED: Final = 0.3  # correlation of the errors for two machines, of forecasts and laws [D]
TAILS: Final = (0.05, 0.95)
NONE: Final = np.empty(0)
DIGITS: Final = 9  # by which machines are told apart, fewer than rounding reaches


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Outcomes:
    """What may come out on one machine at each count of processors."""

    machine: str
    p: Array  # (points,), ascending [1]
    time: Array  # (points,): the middle [s]
    efficiency: Array  # (points,) [1]
    times: Array  # (samples, points) [s]
    efficiencies: Array  # (samples, points) [1]
    cost: Array | None  # (points,) [currency]
    costs: Array | None  # (samples, points)
    doubts: Callable[[int], Sequence[str]]  # what to doubt of the times at one count
    known: NDArray[np.bool_]  # (points,): whether the program was run there
    no_forecast: Array  # (points,): counts at which other things than the interval say so [1]
    donors: tuple[str, ...] = ()  # other machines that have a say in the times
    base: str = ""  # machine that it is projected from
    law_errors: tuple[LawError, ...] = ()  # allowed for in the times of a program

    @property
    def interval(self) -> tuple[Array, Array]:
        """Ends of the 90 % interval of the times, (points,) each. [s]."""
        lower, upper = np.quantile(self.times, TAILS, axis=0)
        return np.minimum(lower, self.time), np.maximum(upper, self.time)

    @property
    def useful(self) -> NDArray[np.bool_]:
        """Whether there is a forecast, (points,)."""
        lower, upper = self.interval
        is_told = ~np.isin(self.p, self.no_forecast)
        return np.asarray(self.known | (is_told & (upper / lower <= WIDEST_USEFUL)))

    def at(self, points: NDArray[np.bool_]) -> "Outcomes":
        """Keep some of the counts."""
        return replace(
            self,
            p=self.p[points],
            time=self.time[points],
            efficiency=self.efficiency[points],
            times=self.times[:, points],
            efficiencies=self.efficiencies[:, points],
            cost=None if self.cost is None else self.cost[points],
            costs=None if self.costs is None else self.costs[:, points],
            known=self.known[points],
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Outlook:
    """What is known of one machine before samples of what is uncertain are drawn."""

    machine: Machine
    p: Array  # (points,), ascending [1]
    time: Array  # (points,): the middle [s]
    efficiency: Array  # (points,) [1]
    draw: Callable[[str], tuple[Array, Array]]  # times and efficiencies from numbers of a name
    doubts: Callable[[int], Sequence[str]]
    known: NDArray[np.bool_]
    no_forecast: Array  # counts at which other things than the interval say so [1]
    donors: tuple[str, ...] = ()
    base: str = ""
    law_errors: tuple[LawError, ...] = ()

    @property
    def cost(self) -> Array | None:
        """Cost in the middle, (points,) [currency]; None without a price."""
        return _cost(self.machine, self.p, self.time, {})

    @property
    def place(self) -> tuple[list[float], ...]:
        """What machines are ordered by: time, then cost, then what is uncertain."""
        middle = (() if x is None else x.tolist() for x in (self.time, self.cost))
        amounts = self.machine.parameters() | dict(self.machine.price.amounts())
        known = ([float(f"{x:.{DIGITS}g}") for x in values] for values in middle)
        return *known, [x.spread for x in amounts.values()]

    def outcomes(self, own: str, seed: int) -> Outcomes:
        """Draw samples, what is uncertain of the machine from the numbers of a name."""
        times, efficiencies = self.draw(own)
        prices = _factors(dict(self.machine.price.amounts()), f"{own} price", seed)
        return Outcomes(
            machine=self.machine.name,
            p=self.p,
            time=self.time,
            efficiency=self.efficiency,
            times=times,
            efficiencies=efficiencies,
            cost=self.cost,
            costs=_cost(self.machine, self.p, times, prices),
            doubts=self.doubts,
            known=self.known,
            no_forecast=self.no_forecast,
            donors=self.donors,
            base=self.base,
            law_errors=self.law_errors,
        )


def drawn_together(outlooks: Sequence[Outlook], seed: int) -> list[Outcomes]:
    """Draw samples for some machines, each with random numbers of its own."""
    places = [x.place for x in outlooks]
    order = sorted(range(len(outlooks)), key=lambda i: places[i])
    number = {i: rank for rank, i in enumerate(order)}
    return [x.outcomes(f"machine {number[i]}", seed) for i, x in enumerate(outlooks)]


def described(
    program: Program,
    machine: Machine,
    at: Mapping[str, float | None],
    p: Array,
    seed: int,
    *,
    law_error: bool = True,
) -> Outlook:
    """Outlook of a program that is described, from all +- and from how wrong its law has been."""
    d, n = at["d"], at["n"]
    prediction = predict(program, machine, p=p, d=d, n=n, interval=False, bounds=False)
    time, efficiency = (np.reshape(x, len(p)) for x in (prediction.time, prediction.efficiency))
    point: dict[str, Any] = {name: value for name, value in at.items() if value is not None}
    point.setdefault("d", machine.servers({"p": p}))
    alone = predict(program, machine, p=1, d=d, n=n, interval=False, bounds=False).time.ravel()
    allowed, errors = np.zeros(()), tuple[LawError, ...]()
    if law_error:
        errors = law_errors(program, machine, {**point, "p": p})
        allowed = law_half_width(program, machine, {**point, "p": p})

    def draw(own: str) -> tuple[Array, Array]:
        sampled = _sampled(program, machine, point, p, own=own, seed=seed)
        ratio = (sampled[:, :1] / alone) / (sampled[:, 1:] / time)
        wrong = np.exp(_errors("laws", own, seed) * allowed / NORMAL_90) if law_error else 1.0
        return sampled[:, 1:] * wrong, efficiency * ratio / wrong

    return Outlook(
        machine=machine,
        p=p,
        time=time,
        efficiency=efficiency,
        draw=draw,
        doubts=lambda count: (
            predict(
                program, machine, p=count, d=d, n=n, bounds=False, law_error=law_error
            ).warnings
        ),
        known=np.zeros(len(p), dtype=bool),
        no_forecast=NONE,
        law_errors=errors,
    )


def _sampled(
    program: Program,
    machine: Machine,
    point: Mapping[str, Any],
    p: Array,
    *,
    own: str,
    seed: int,
) -> Array:
    """Times of a described program on one processor and at `p`, (samples, 1 + points) [s].

    The one sample of descriptions in which nothing is uncertain stands for all.
    """
    factors = _factors(program.parameters(), "program", seed)
    factors |= _factors(machine.parameters(), own, seed)
    fits = [x for x in (program.fit, machine.fit) if x is not None]
    for fit in fits:
        drawn = fit.factors(machine.parameters() | program.parameters(), SAMPLES, seed)
        factors |= {f"{name}*": x[:, None] for name, x in drawn.items()}
    grid = np.append(1.0, p)  # the first of them is what efficiency is over
    sampled = program.times(machine, {**point, "p": grid, **factors})
    normal = [_normal(f"{own} {what}", seed)[:, None] for what in ("scatter", "growth") if fits]
    times = departing(sampled, fits, grid, normal) if fits else sampled.time
    return np.broadcast_to(times, (SAMPLES if factors or fits else 1, len(grid)))


def measured(
    runs: Measurements,
    machine: Machine,
    p: Array,
    seed: int,
    donors: Measurements | None = None,
    *,
    reading: ScalingReading,
) -> Outlook:
    """Outlook on a machine that was run on, forecast from its runs and those on the others."""
    here = runs.select(machine=machine.name)
    elsewhere = donors_of(machine.name, runs, donors)

    def forecast_at(counts: Any) -> Any:
        return forecast(here, counts, donors=elsewhere, by=(), scaling=reading.scaling)

    predicted, known = forecast_at(p), np.isin(p, here.p)
    return Outlook(
        machine=machine,
        p=p,
        time=predicted.time,
        efficiency=predicted.efficiency,
        draw=partial(_disturbed, predicted, slice(None), predicted.efficiency, seed),
        doubts=lambda count: forecast_at([count]).warnings,
        known=known,
        no_forecast=np.array(predicted.notes[0].no_forecast),
        donors=() if known.all() else _used_donors(predicted, p),
    )


def _used_donors(answer: Forecast, p: Array) -> tuple[str, ...]:
    """Names of the other machines that have a say in the forecast of one series."""
    return () if answer.curve is None else tuple(answer.curve.as_elsewhere(0, p))


def projected(
    runs: Measurements,
    machine: Machine,
    known: Sequence[Machine],
    p: Array,
    seed: int,
    *,
    reading: ScalingReading,
) -> Outlook:
    """Outlook on a machine without runs, scaled from that with runs whose rate is nearest."""
    told = projected_times(runs, machine, known, p, reading=reading)
    return Outlook(
        machine=machine,
        p=p,
        time=told.time,
        efficiency=told.efficiency,
        draw=partial(_disturbed, told, slice(None), told.efficiency, seed),
        doubts=lambda count: (
            f"Projected from {told.base}.",
            *projected_times(runs, machine, known, np.array([count]), reading=reading).warnings,
        ),
        known=np.zeros(len(p), dtype=bool),
        no_forecast=NONE,
        base=told.base,
    )


class ProjectedTimes(NamedTuple):
    """Times on a machine without runs, (points,) each."""

    time: Array  # [s]
    lower: Array  # of the 90 % interval [s]
    upper: Array  # of the 90 % interval [s]
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


def _disturbed(
    predicted: Any, points: slice, efficiency: Array, seed: int, own: str
) -> tuple[Array, Array]:
    """Samples of times and efficiencies whose errors are partly those of the other machines.

    They are log-normal, with the widths of the interval below and above.
    """
    time, lower, upper = (x[points] for x in (predicted.time, predicted.lower, predicted.upper))
    error = _errors("forecasts", own, seed)
    width = np.where(error > 0, np.log(upper / time), np.log(time / lower))
    factor = np.exp(np.clip(error * width / NORMAL_90, -FURTHEST, FURTHEST))
    return time * factor, efficiency / factor


def _cost(machine: Machine, p: Array, time: Array, factors: Mapping[str, Array]) -> Array | None:
    """Cost of times on a machine, None where it has no price."""
    return None if machine.price.amount is None else machine.cost(time, {"p": p, **factors})


def _factors(amounts: Mapping[str, Amount], of: str, seed: int) -> dict[str, Array]:
    """Factors of the uncertain amounts, a column each, by their places among all.

    Phases and regions may be called otherwise.
    """
    return {
        f"{name}*": np.exp(np.log1p(x.spread) / NORMAL_90 * _normal(f"{of} {i}", seed))[:, None]
        for i, (name, x) in enumerate(amounts.items())
        if x.spread > 0
    }


def _normal(name: str, seed: int) -> Array:
    """Normal numbers, evenly spread, in an order that only the name and the seed decide."""
    random = np.random.default_rng([seed, crc32(name.encode())])
    return stratified_normal(random.permutation(SAMPLES))


def _errors(of: str, own: str, seed: int) -> Array:
    """Normal errors of a machine, a column, which are partly those of the others.

    They are spread evenly, whatever the numbers: intervals are those of the forecasts.
    """
    mixed = SHARED**0.5 * _normal(of, seed) + (1 - SHARED) ** 0.5 * _normal(own, seed)
    return stratified_normal(np.argsort(np.argsort(mixed)))[:, None]


def _rate(machine: Machine) -> float | None:
    """Compute rate of a machine, where it gives one that does not depend on p."""
    amount = machine.compute.rate
    return None if amount is None else float(amount({"p": np.ones(())}))
