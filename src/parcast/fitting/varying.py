"""Which constants of a fit differ with p, and their value at each count.

Each rate and startup is asked, in the column that says most of it, whether a power of p or a value
for each p explains what one value leaves (`fitting.trend`). The one with the least chance comes
first; the others are asked again beside it. All of them together are wrong in 5% of the tables in
which none differs (Holm [1]_). Those that differ are fitted again with a factor for each count.

References
----------
.. [1] S. Holm, "A simple sequentially rejective multiple test procedure," Scandinavian Journal of
   Statistics, vol. 6, no. 2, pp. 65-70, 1979.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import WIDEST
from parcast.fitting.by_p import ConstantByP, constant_by_p
from parcast.fitting.guesses import with_terms_of_n
from parcast.fitting.model import RATES, Parameter, parameters_of
from parcast.fitting.observed import names_of
from parcast.fitting.runs import Noise
from parcast.fitting.solver import FitTask, intervals
from parcast.fitting.trend import CHANCE, LEAST, chance_of_term, chance_of_trend
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measurements import Measurements
from parcast.units import format_quantity, percent

MOST: Final = 50.0  # logarithm of a factor that is computed
LITTLE: Final = 0.01  # of a guess, to take derivatives at
SEEN: Final = 0.01  # of the largest part of a constant in a time: what shows it at a run
STARTUP: Final = "latency"
ROUNDS: Final = 5


def constants_by_p(task: FitTask, noise: Noise, coordinates: Array) -> tuple[ConstantByP, ...]:
    """Constants that differ with p, the one that does so most surely first."""
    found = _varying(task, noise, coordinates)
    if not found:
        return ()
    values = _values(task, noise, coordinates, found)
    return tuple(x for x in values if x.size >= LEAST and x.spread <= WIDEST)


def _varying(task: FitTask, noise: Noise, coordinates: Array) -> list[int]:
    """Parameters that differ with p."""
    columns = _Columns(task, noise, coordinates)
    open_ones = [i for i, x in enumerate(task.model.parameters) if columns.may_differ(i, x)]
    # The times themselves are asked too, where they are all there is.
    others = 1 if len(task.columns) == 1 else 0
    found: list[int] = []
    while open_ones:
        chances = [columns.chance(i, found) for i in open_ones]
        least = int(np.argmin(chances))
        if chances[least] * (len(open_ones) + others) >= CHANCE:
            break
        found.append(open_ones.pop(least))
    return found


def terms_of_n(
    task: FitTask, noise: Noise, coordinates: Array, measurements: Measurements
) -> Iterator[str]:
    """Name the terms of the laws that are left out, and that the runs show at small sizes."""
    model = task.model
    program, guesses = with_terms_of_n(model.program, measurements)
    if not guesses:
        return
    known = parameters_of(program, model.machine, model.points, free=list(guesses), fixed=None)
    more = replace(task, model=replace(model, program=program, parameters=known))
    little = np.full((1, len(known)), LITTLE)
    terms = replace(more, model=replace(more.model, parameters=(*model.parameters, *known)))
    _, rows = terms.residuals(noise.levels, np.append(coordinates[None], little, axis=1))
    columns = _Columns(task, noise, coordinates)
    for parameter, term in zip(known, rows[0, : len(task.measured), -len(known) :].T, strict=True):
        amount, chance, size, column = columns.term(term)
        value = amount * (parameter.value or 0.0)
        if chance * len(known) < CHANCE and value > 0 and size > LEAST:
            key = parameter.name.rpartition(".")[2]
            text = format_quantity(value, parameter.amount.dimension, 2)
            yield RankedWarning(
                f"{column} grows with n otherwise than the law, by up to {percent(size)}, as with "
                f'{parameter.name} = {text}. Write {key} = "{text}" among the capacities of the '
                "phase, as a first guess, and fit again; or measure near the n that you predict.",
                kind=f"{parameter.name} with n",
                rank=Rank.SERIOUS,
                size=size,
            )


class _Columns:
    """What the columns of a fit leave over, and how each constant would change it."""

    def __init__(self, task: FitTask, noise: Noise, coordinates: Array) -> None:
        self._task, self._noise = task, noise
        residuals, rows = task.residuals(noise.levels, coordinates[None])
        self._residuals, self._jacobian = residuals[0], rows[0] * coordinates
        self._inside = (coordinates > task.lower) & (coordinates < task.upper)
        self._p = task.model.points["p"][task.rows]
        self._ends = np.cumsum([0, *(len(x.rows) for x in task.columns)])
        squares = self._jacobian[: len(self._p)] ** 2
        pairs = zip(self._ends[:-1], self._ends[1:], strict=True)
        of_columns = np.stack([squares[a:b].sum(axis=0) for a, b in pairs])
        self.main = np.argmax(of_columns, axis=0)  # column that says most of each constant

    def may_differ(self, i: int, parameter: Parameter) -> bool:
        """Whether a constant is a rate or a startup, and is seen at several p."""
        is_kind = parameter.amount.dimension in RATES or parameter.name.endswith(STARTUP)
        return is_kind and bool(self._inside[i]) and len(self.counts(i)) > 1

    def counts(self, i: int) -> Array:
        """Counts at which a constant is seen."""
        rows = self._rows(i)
        part = np.abs(self._jacobian[rows, i])
        return np.unique(self._p[rows][part > SEEN * part.max(initial=1e-300)])

    def chance(self, i: int, found: Sequence[int]) -> float:
        """Chance of what is left over if a constant does not differ, and others do. [1]."""
        rows = self._rows(i)
        k = int(self.main[i])
        known = np.arange(len(self._p), len(self._residuals))  # what +- says
        used = np.concatenate([np.arange(rows.start, rows.stop), known])
        return chance_of_trend(
            self._p[rows],
            self._residuals[used],
            self._jacobian[used][:, self._inside],
            of=self._jacobian[rows, i],
            beside=[self._jacobian[rows, j] for j in found if self.main[j] == k],
            level=self._noise.levels[k],
            repetitions=self._task.columns[k].repetitions,
        )

    def term(self, term: Array) -> tuple[float, float, float, str]:
        """How much of a term is missing, its chance, the largest share of it, and the column.

        `term`, (rows,), are derivatives of the residuals.
        """
        pairs = [slice(a, b) for a, b in zip(self._ends[:-1], self._ends[1:], strict=True)]
        k = int(np.argmax([float((term[x] ** 2).sum()) for x in pairs]))
        known = np.arange(len(self._p), len(self._residuals))
        used = np.concatenate([np.arange(pairs[k].start, pairs[k].stop), known])
        own, level = self._task.columns[k], self._noise.levels[k]
        amount, chance = chance_of_term(
            term[pairs[k]],
            self._residuals[used],
            self._jacobian[used][:, self._inside],
            level=level,
            repetitions=own.repetitions,
        )
        size = float(np.expm1(min(np.abs(amount * term[pairs[k]]).max(initial=0.0) * level, MOST)))
        return amount, chance, size, next(iter(names_of([own])))

    def _rows(self, i: int) -> slice:
        """Rows of the column that says most of a constant."""
        k = int(self.main[i])
        return slice(int(self._ends[k]), int(self._ends[k + 1]))


def _values(
    task: FitTask, noise: Noise, coordinates: Array, found: Sequence[int]
) -> list[ConstantByP]:
    """Fit each of some constants with a factor for every count, and put them into formulas."""
    columns = _Columns(task, noise, coordinates)
    parameters, start = list[Parameter](), list[float]()
    places: list[tuple[int, Array]] = []  # of the first factor of each constant, and its counts
    for i, parameter in enumerate(task.model.parameters):
        if i not in found:
            parameters.append(parameter)
            start.append(coordinates[i])
    for i in found:
        counts = columns.counts(i)
        places.append((len(parameters), counts))
        for count in counts:
            powers = (task.model.points["p"] == count).astype(np.float64)
            parameters.append(replace(task.model.parameters[i], powers=powers, sigma=np.inf))
            start.append(coordinates[i])
    by_p = replace(task, model=replace(task.model, parameters=tuple(parameters)))
    best = np.array(start)
    for _ in range(ROUNDS):
        solved = by_p.solve(noise.levels, best[None])
        best = solved.coordinates[0]
        noise = by_p.noise(best, noise.levels)
    squares = float(np.sum(by_p.residuals(noise.levels, best[None])[0] ** 2))
    low, high = intervals(by_p, noise, best, squares)
    values = []
    for i, (first, counts) in zip(found, places, strict=True):
        own = slice(first, first + len(counts))
        freedom = noise.of_columns[columns.main[i]].freedom
        ends = best[own], np.maximum(low[own], 0.0), high[own]
        values.append(_constant(task.model.parameters[i], counts, ends, freedom))
    return values


def _constant(
    parameter: Parameter, p: Array, ends: tuple[Array, Array, Array], freedom: float
) -> ConstantByP:
    """A constant from its coordinate at each count, and the ends of its intervals."""
    best, low, high = ends
    if parameter.is_rate:
        with np.errstate(divide="ignore"):
            best, low, high = 1.0 / best, 1.0 / high, 1.0 / low
    scale = 1.0 if parameter.value is None else parameter.value
    return constant_by_p(
        parameter.name,
        parameter.amount.dimension,
        p,
        (best * scale, low * scale, high * scale),
        freedom=freedom,
        of="" if parameter.value is not None else parameter.amount.expression.text,
    )
