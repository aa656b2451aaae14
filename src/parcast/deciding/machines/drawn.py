"""Samples of what may come out on each machine at one count, which go together.

Sample s of one machine and sample s of another are one possible world. What is uncertain of the
program is the same in both; what is uncertain of a machine is its own. Forecasts from runs err
in common to some extent: their errors have the correlation SHARED, measured on public runs, see
``docs/explanation/projection.md``; so do laws (0.12 to 0.37 between three networks, for counted
programs, see docs/explanation/law-errors.md).

What a machine is called and where it stands in a list says nothing: the fastest machine has the
first random numbers of its own, the next one the second.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from zlib import crc32

import numpy as np

from parcast.aliases import Array
from parcast.deciding.goals.configurations import ConfigurationTable
from parcast.deciding.goals.from_descriptions import point_of
from parcast.deciding.goals.posed import PosedQuestion
from parcast.deciding.goals.subjects import DescribedProgram
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.descriptions.fit_record import departing
from parcast.descriptions.machine import HOUR, Machine
from parcast.forecasting.own_runs.measured import FURTHEST
from parcast.laws.allowances import law_half_width
from parcast.numerics import stratified_normal

SAMPLES: Final = 4000  # of which the probabilities are made: good to 1% [D]
SHARED: Final = 0.3  # correlation of the errors for two machines, of forecasts and laws [D]
DIGITS: Final = 9  # by which machines are told apart, fewer than rounding reaches


def numbers_of(tables: Sequence[ConfigurationTable], machines: Sequence[Machine]) -> list[str]:
    """Name the random numbers of each machine, by its times, costs and what is uncertain."""
    places = []
    for table, machine in zip(tables, machines, strict=True):
        amounts = machine.parameters() | dict(machine.price.amounts())
        cost = () if np.isnan(table.cost).any() else table.cost.tolist()
        known = ([float(f"{x:.{DIGITS}g}") for x in y] for y in (table.time.tolist(), cost))
        places.append((*known, [x.spread for x in amounts.values()]))
    order = sorted(range(len(places)), key=lambda i: places[i])
    return [f"machine {order.index(i)}" for i in range(len(places))]


def drawn(
    question: PosedQuestion, machine: Machine, table: ConfigurationTable, i: int, *, own: str
) -> dict[str, Array]:
    """Times, costs and efficiencies of one configuration, (samples,) each, by goal."""
    subject, seed = question.subject, question.seed
    if isinstance(subject, DescribedProgram):
        time, efficiency = _described(subject, machine, table, i, own=own, seed=seed)
    else:
        time, efficiency = _disturbed(table, i, own=own, seed=seed)
    if table.is_base[i]:
        efficiency = np.full_like(time, table.efficiency[i])
    prices = [*_factors(dict(machine.price.amounts()), f"{own} price", seed).values()]
    cost = table.rate[i] / HOUR * time * np.ravel(prices or 1.0)
    return {"time": time, "cost": cost, "efficiency": efficiency}


def _described(
    subject: DescribedProgram,
    machine: Machine,
    table: ConfigurationTable,
    i: int,
    *,
    own: str,
    seed: int,
) -> tuple[Array, Array]:
    """Times and efficiencies of a program that is described, from all +- and the law's error.

    The one sample of descriptions in which nothing is uncertain stands for all.
    """
    program = subject.program
    p = table.p[[i]]
    own_disks = machine.servers({"p": p}) if np.isnan(table.disks[i]) else table.disks[i]
    grid = np.append(1.0, p)  # the first of them is what efficiency is over
    point = point_of({"n": subject.n}) | {"d": np.ravel(own_disks)[0], "p": grid}
    factors = _factors(program.parameters(), "program", seed)
    factors |= _factors(machine.parameters(), own, seed)
    fits = [x for x in (program.fit, machine.fit) if x is not None]
    for fit in fits:
        fitted = fit.factors(machine.parameters() | program.parameters(), SAMPLES, seed)
        factors |= {f"{name}*": x[:, None] for name, x in fitted.items()}
    times = program.times(machine, {**point, **factors})
    normal = [_normal(f"{own} {what}", seed)[:, None] for what in ("scatter", "growth") if fits]
    sampled = departing(times, fits, grid, normal) if fits else times.time
    alone, time = np.broadcast_to(sampled, (SAMPLES, 2)).T
    middle = np.broadcast_to(program.times(machine, point).time, 2)
    wrong: Any = 1.0
    if subject.law_error:
        allowed = np.ravel(law_half_width(program, machine, {**point, "p": p}))[0]
        wrong = np.exp(_errors("laws", own, seed) * allowed / NORMAL_90)
    ratio = (alone / middle[0]) / (time / middle[1])
    return time * wrong, table.efficiency[i] * ratio / wrong


def _disturbed(table: ConfigurationTable, i: int, *, own: str, seed: int) -> tuple[Array, Array]:
    """Times and efficiencies from runs, whose errors are partly those of the other machines.

    They are log-normal, with the widths of the interval below and above.
    """
    time, lower, upper = (float(x[i]) for x in (table.time, table.lower, table.upper))
    error = _errors("forecasts", own, seed)
    width = np.where(error > 0, np.log(upper / time), np.log(time / lower))
    factor = np.exp(np.clip(error * width / NORMAL_90, -FURTHEST, FURTHEST))
    return time * factor, table.efficiency[i] / factor


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
    """Normal errors of a machine, which are partly those of the others.

    They are spread evenly, whatever the numbers: intervals are those of the forecasts.
    """
    mixed = SHARED**0.5 * _normal(of, seed) + (1 - SHARED) ** 0.5 * _normal(own, seed)
    return stratified_normal(np.argsort(np.argsort(mixed)))
