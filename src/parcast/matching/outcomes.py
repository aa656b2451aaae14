"""What may come out on each machine: times, costs, efficiencies, as samples that go together.

Sample s of one machine and sample s of another are one possible world. What is uncertain of the
program is the same in both; what is uncertain of a machine is its own. Forecasts from runs err
in common to some extent: their errors have the correlation SHARED, measured on public runs, see
``docs/explanation/projection.md``; so do laws (0.12 to 0.37 between three networks, for counted
programs, see docs/explanation/law-errors.md). Along p the error of one machine is one:
10 % too low at 64 processors is too low at 128 [D].
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.descriptions.fit_record import scatter_of
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import FitFailed
from parcast.forecasting.donors.tables import donors_of, without
from parcast.forecasting.forecast import forecast
from parcast.forecasting.result import Forecast
from parcast.laws.allowances import LawError, law_errors, law_half_width
from parcast.prediction.predict import predict
from parcast.projection.project import project
from parcast.timings.measurements import Measurements
from parcast.units import shown

SAMPLES: Final = 4000  # of which the probabilities are made: good to 1 % [D]
SHARED: Final = 0.3  # correlation of the errors for two machines, of forecasts and laws [D]


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
    donors: tuple[str, ...] = ()  # other machines that have a say in the times
    base: str = ""  # machine that it is projected from
    law_errors: tuple[LawError, ...] = ()  # allowed for in the times of a program


def described(
    program: Program,
    machine: Machine,
    at: Mapping[str, float | None],
    p: Array,
    seed: int,
    *,
    law_error: bool = True,
) -> Outcomes:
    """Outcomes of a program that is described, from all +- and from how wrong its law has been."""
    d, n = at["d"], at["n"]
    prediction = predict(program, machine, p=p, d=d, n=n, interval=False, bounds=False)
    time, efficiency = (np.reshape(x, len(p)) for x in (prediction.time, prediction.efficiency))
    factors = _factors(program.parameters(), "program", seed)
    factors |= _factors(machine.parameters(), machine.name, seed)
    fits = [x for x in (program.fit, machine.fit) if x is not None]
    for fit in fits:
        drawn = fit.factors(machine.parameters() | program.parameters(), SAMPLES, seed)
        factors |= {f"{name}*": x[:, None] for name, x in drawn.items()}
    point: dict[str, Any] = {name: value for name, value in at.items() if value is not None}
    point.setdefault("d", machine.storage.servers or 1)
    grid = np.append(1.0, p)  # the first of them is what efficiency is over
    sampled = program.times(machine, {**point, "p": grid, **factors}).time
    sampled = np.broadcast_to(sampled, (SAMPLES if factors or fits else 1, len(grid)))
    if fits:
        scatter = np.append(0.0, scatter_of(fits, p))
        sampled = sampled * np.exp(_normal(f"{machine.name} scatter", seed)[:, None] * scatter)
    alone = predict(program, machine, p=1, d=d, n=n, interval=False, bounds=False).time.ravel()
    ratio = (sampled[:, :1] / alone) / (sampled[:, 1:] / time)
    prices = _factors(dict(machine.price.amounts()), machine.name, seed)
    times, wrong, errors = sampled[:, 1:], np.ones(()), tuple[LawError, ...]()
    if law_error:
        errors = law_errors(program, machine, {**point, "p": p})
        allowed = law_half_width(program, machine, {**point, "p": p})
        wrong = np.exp(_errors("laws", machine, seed) * allowed / NORMAL_90)
    return Outcomes(
        machine=machine.name,
        p=p,
        time=time,
        efficiency=efficiency,
        times=times * wrong,
        efficiencies=efficiency * ratio / wrong,
        cost=_cost(machine, p, time, {}),
        costs=_cost(machine, p, times * wrong, prices),
        doubts=lambda count: (
            predict(
                program, machine, p=count, d=d, n=n, bounds=False, law_error=law_error
            ).warnings
        ),
        known=np.zeros(len(p), dtype=bool),
        law_errors=errors,
    )


def measured(
    runs: Measurements, machine: Machine, p: Array, seed: int, donors: Measurements | None = None
) -> Outcomes:
    """Outcomes on a machine that was run on, forecast from its runs and those on the others."""
    here = runs.select(machine=machine.name)
    elsewhere = donors_of(machine.name, runs, donors)

    def forecast_at(counts: Any) -> Any:
        return forecast(here, counts, donors=elsewhere, by=())

    predicted = forecast_at(p)
    outcomes = _from_widths(
        machine,
        p,
        seed=seed,
        time=predicted.time,
        efficiency=predicted.efficiency,
        widths=(
            np.log(predicted.time / predicted.lower),
            np.log(predicted.upper / predicted.time),
        ),
        doubts=lambda count: forecast_at([count]).warnings,
    )
    return replace(outcomes, known=np.isin(p, here.p), donors=_used_donors(predicted, p))


def _used_donors(answer: Forecast, p: Array) -> tuple[str, ...]:
    """Names of the other machines that have a say in the forecast of one series."""
    return () if answer.curve is None else tuple(answer.curve.as_elsewhere(0, p))


def projected(
    runs: Measurements, machine: Machine, known: Sequence[Machine], p: Array, seed: int
) -> Outcomes:
    """Outcomes on a machine without runs, scaled from that with runs whose rate is nearest."""
    rate = _rate(machine)
    rates = {x.name: _rate(x) for x in known if len(set(_counts(runs, x.name))) > 1}
    bases = {name: abs(np.log(its / rate)) for name, its in rates.items() if its and rate}
    if not bases:
        named = ", ".join(dict.fromkeys(runs.labels["machine"].tolist()))
        raise FitFailed(
            f"It has no runs (there are runs on {shown(named)}) and cannot be projected from "
            "another machine. Give compute.rate in its file and in that of a machine with runs at "
            "two or more processor counts."
        )
    name = min(bases, key=lambda x: bases[x])
    base = next(x for x in known if x.name == name)
    here, others = runs.select(machine=name), without(runs, [name])

    def projection_at(counts: Any) -> Any:
        return project(here, counts, base=base, target=machine, others=others)

    first = float(here.p.min())
    predicted = projection_at(np.append(first, p))
    outcomes = _from_widths(
        machine,
        p,
        seed=seed,
        time=predicted.time[1:],
        efficiency=predicted.time[0] * first / (predicted.time[1:] * p),
        widths=(
            np.log(predicted.time / predicted.lower)[1:],
            np.log(predicted.upper / predicted.time)[1:],
        ),
        doubts=lambda count: (f"Projected from {name}.", *projection_at([count]).warnings),
    )
    return replace(outcomes, base=name)


def _from_widths(
    machine: Machine,
    p: Array,
    *,
    seed: int,
    time: Array,
    efficiency: Array,
    widths: tuple[Array, Array],
    doubts: Callable[[int], Sequence[str]],
) -> Outcomes:
    """Make samples of times whose errors are partly those of the other machines.

    They are log-normal, with the `widths` of the interval below and above.
    """
    error = _errors("forecasts", machine, seed)
    below, above = widths
    factor = np.exp(error * np.where(error > 0, above, below) / NORMAL_90)
    prices = dict(machine.price.amounts())
    return Outcomes(
        machine=machine.name,
        p=p,
        time=time,
        efficiency=efficiency,
        times=time * factor,
        efficiencies=efficiency / factor,
        cost=_cost(machine, p, time, {}),
        costs=_cost(machine, p, time * factor, _factors(prices, machine.name, seed)),
        doubts=doubts,
        known=np.zeros(len(p), dtype=bool),
    )


def _cost(machine: Machine, p: Array, time: Array, factors: Mapping[str, Array]) -> Array | None:
    """Cost of times on a machine, None where it has no price."""
    return None if machine.price.amount is None else machine.price.cost(time, {"p": p, **factors})


def _factors(amounts: Mapping[str, Amount], of: str, seed: int) -> dict[str, Array]:
    """Factors of the uncertain amounts, a column each: the same for whoever has the same name."""
    return {
        f"{name}*": np.exp(np.log1p(x.spread) / NORMAL_90 * _normal(f"{of} {name}", seed))[:, None]
        for name, x in amounts.items()
        if x.spread > 0
    }


def _normal(name: str, seed: int) -> Array:
    """Normal numbers, evenly spread, in an order that only the name and the seed decide."""
    order = np.random.default_rng([seed, crc32(name.encode())]).permutation(SAMPLES)
    return np.asarray(special.ndtri((order + 0.5) / SAMPLES))


def _errors(of: str, machine: Machine, seed: int) -> Array:
    """Normal errors for a machine, a column, which are partly those for the others."""
    common, own = _normal(of, seed), _normal(machine.name, seed)
    return np.asarray(SHARED**0.5 * common + (1 - SHARED) ** 0.5 * own)[:, None]


def _rate(machine: Machine) -> float | None:
    """Compute rate of a machine, where it gives one that does not depend on p."""
    amount = machine.compute.rate
    return None if amount is None else float(amount({"p": np.ones(())}))


def _counts(runs: Measurements, machine: str) -> list[float]:
    """Processor counts of the runs on a machine. [1]."""
    counts: list[float] = runs.select(machine=machine).p.tolist()
    return counts
