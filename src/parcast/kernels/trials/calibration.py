"""A law calibrated by launches of small sizes, for `validate`: its terms, its fit, its constants.

    T = s/W * (1 + n_half/n + m_half*P/n + m_2^2*P/n^2) + bytes/u + messages*t0 + disk bytes/B + S0

as `parcast.laws.counting` has it, so that a description and `parcast fit` have the same. s are the
steps of the law on the critical path; those that all ranks share take as many times as long as the
core with most ranks has ranks [D]. m_2 is there only for laws that grow faster than n^2.5 [D].
None is below 0.

W, u and t0 may be one for all rank counts, or differ: a sorter merges on two ranks and does
not on one, a network is slower with all ranks on it, and ranks that wait for each other wait
longer where they are many. Forms of a law say which; the simplest that predicts calibrated runs
it was not fitted to as well as any is taken. Between two counts t0 and the inverses of W and u are
interpolated over the logarithm of P, beyond them the nearest is taken [D].

The medians of the launches of every calibrated size and count give three kinds of equations, each
relative to what was measured: wall time; processor time of the rank that computes most, which
tells what is computing from what is waiting for the network; and time of access to files. Where
processors are throttled, a processor second is taken for as many wall seconds as on one rank. The
constants are those of at least 0 with the least sum of squares (`parcast.numerics` says why); wall
times count ten times as much as the two others, since they are what is predicted. How far a
prediction may be off because of the calibration is found by drawing launches again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.kernels.trials.case import Cells
from parcast.kernels.trials.counting import CountedProgram
from parcast.laws.counting import SMALL_SIZES
from parcast.units import Dimension, format_quantity
from parcast.validation.comparison import INTERVAL
from parcast.words import rounded

LOWER: Final = {x.symbol: x.power for x in SMALL_SIZES.values()}  # powers of n
HIGHEST: Final = 3.0  # half size over the largest calibrated one [1]
CUBIC: Final = 2.5  # power of n above which steps have a second lower term [1]
HINT: Final = 0.1  # weight of a processor or file time beside a wall time [1]
RESAMPLES: Final = 200
NOISE: Final = 1e-9  # share of every time below which a constant is rounding [1]
ENDS: Final = [round(x * (RESAMPLES - 1) / 2) for x in (1 - INTERVAL, 1 + INTERVAL)]  # in order
AS_WELL: Final = (1.15, 0.005)  # errors of a form that is as good as the best: times, and more


MEANING: Final[dict[str, tuple[str, Dimension, str]]] = {  # of each: words, dimension, unit
    "W": ("steps per second of one processor", "operation_rate", "1/s"),
    "n_half": ("size that reaches half of W", "count", "1"),
    "m_half": ("size per rank that reaches half of W", "count", "1"),
    "m_2": ("the same for work done once per row", "count", "1"),
    "u": ("network bandwidth", "rate", "B/s"),
    "t0": ("startup time of a message", "time", "s"),
    "B": ("file bandwidth", "rate", "B/s"),
    "S0": ("startup time of file access", "time", "s"),
}
RATES: Final = ("W", "u", "B")


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """One constant of a calibrated law, with its 90% interval; its value may not be determined.

    Then the finite end is a bound: a rate is at least `lower`, a startup at most `upper`.
    """

    symbol: str  # of MEANING
    p: int | None  # ranks that it holds for; None: any [1]
    value: float | None  # [SI]
    lower: float | None
    upper: float | None

    def row(self) -> dict[str, Any]:
        """As the JSON document has it."""
        known = {name: getattr(self, name) for name in self.__slots__}
        return {**known, "unit": MEANING[self.symbol][2]}

    def __str__(self) -> str:
        """Say what it is; "" where the runs say nothing of it."""
        of = f"{self.symbol}{f' at p = {self.p}' if self.p else ''} ({MEANING[self.symbol][0]})"
        if self.value is not None:
            low = "unknown" if self.lower is None else self._quantity(self.lower)
            high = "unlimited" if self.upper is None else self._quantity(self.upper)
            return f"{of}: {self._quantity(self.value)} ({low} to {high})"
        is_rate = self.symbol in RATES
        bound = self.lower if is_rate else self.upper
        if not bound:
            return ""
        return f"{of}: {'at least' if is_rate else 'at most'} {self._quantity(bound)}"

    def _quantity(self, value: float) -> str:
        dimension = MEANING[self.symbol][1]
        if dimension == "operation_rate":
            return f"{rounded(value, 3)}/s" if value < 1e5 else f"{value:.3g}/s"
        return rounded(value, 3) if dimension == "count" else format_quantity(value, dimension)


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedColumn:
    """One constant of the fit."""

    symbol: str  # "W", "n_half", "m_half", "m_2", "u", "t0", "B", "S0"
    p: int | None = None  # count that it belongs to; None: any [1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Terms:
    """Values of all columns at some points: what a constant is multiplied by."""

    time: Array  # (points, columns): of the wall time
    compute: Array  # of the processor time of the rank that computes most; 0 for one rank
    disk: Array  # of the time of access to files


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityForm:
    """A law with its columns, before it is calibrated."""

    program: CountedProgram
    counts: tuple[int, ...]  # calibrated counts of ranks, ascending [1]
    cores: int  # that ranks may use [1]
    rates: tuple[int, ...]  # counts at which W has a value of its own [1]
    networks: tuple[int, ...]  # the same of u; none where nothing is sent [1]
    startups: tuple[int, ...]  # the same of t0 [1]
    columns: tuple[FittedColumn, ...]

    def terms(self, n: ArrayLike, p: ArrayLike, counted_more: ArrayLike = 1.0) -> Terms:
        """Terms at points; `counted_more` are steps of the program over those of the law."""
        n, p = np.asarray(n, dtype=np.float64), np.asarray(p, dtype=np.float64)
        counted, more = self.program.counted(n, p), np.asarray(counted_more, dtype=np.float64)
        sharing = np.ceil(p / self.cores)  # ranks on the core with most
        shared = (counted.steps + counted.shared * (sharing - 1.0)) * more
        steps = {"W": n**0} | {x.symbol: x.weight(n, p) for x in SMALL_SIZES.values()}
        time, compute, disk = (np.zeros((n.size, len(self.columns))) for _ in range(3))
        for j, column in enumerate(self.columns):
            if column.symbol in steps:
                weight = _weight(p, self.rates, column.p) * steps[column.symbol]
                time[:, j] = shared * weight
                compute[:, j] = np.where(p > 1, counted.steps * more * weight, 0.0)
            elif column.symbol == "u":
                time[:, j] = counted.network_bytes * _weight(p, self.networks, column.p)
            elif column.symbol == "t0":
                time[:, j] = counted.messages * _weight(p, self.startups, column.p)
            else:
                amount = counted.disk_bytes
                time[:, j] = disk[:, j] = amount if column.symbol == "B" else amount > 0
        return Terms(time=time, compute=compute, disk=disk)

    def mixture(self, largest: float) -> Array:
        """Matrix that makes constants of what is fitted; shape (columns, columns).

        What weighs on small sizes is fitted together with a rate: steps are never free.
        """
        mixed = np.eye(len(self.columns))
        rates = [j for j, column in enumerate(self.columns) if column.symbol == "W"]
        for j, column in enumerate(self.columns):
            if column.symbol in LOWER:
                mixed[j, j] = (HIGHEST * largest) ** LOWER[column.symbol]
                mixed[rates, j] = 1.0
        return mixed


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KernelCalibration:
    """A calibrated law."""

    form: CapacityForm
    costs: Array  # (columns,): constants, as inverse rates and times
    resampled: Array  # (resamples, columns): the same from launches drawn again
    residuals: Array  # (cells,): of the wall times, fitted over measured less 1 [1]

    def time(self, terms: Terms) -> Array:
        """Predicted wall time [s]."""
        return np.asarray(terms.time @ self.costs)

    def parts(self, terms: Terms) -> tuple[Array, Array, Array]:
        """Computing, communication and file access of the predicted time [s]."""
        symbols = [column.symbol for column in self.form.columns]
        kinds = (["W", "n_half", "m_half", "m_2"], ["u", "t0"], ["B", "S0"])
        computing, communication, disk = (
            np.asarray(terms.time @ np.where(np.isin(symbols, kind), self.costs, 0.0))
            for kind in kinds
        )
        return computing, communication, disk

    def of_small_sizes(self, terms: Terms) -> Array:
        """Share of the predicted time that half sizes account for. [1]."""
        is_lower = [column.symbol in LOWER for column in self.form.columns]
        costs = np.where(is_lower, self.costs, 0.0)
        return np.asarray((terms.time @ costs) / (terms.time @ self.costs))

    def doubt(self, terms: Terms) -> Array:
        """Standard deviation of the logarithm of the predicted time, by resampling [1]."""
        times = np.maximum(terms.time @ self.resampled.T, np.finfo(float).tiny)
        return np.asarray(np.std(np.log(times), axis=1))

    def capacities(self) -> tuple[Capacity, ...]:
        """Constants with their intervals, as the source names them."""
        return tuple(self._capacity(j, column) for j, column in enumerate(self.form.columns))

    def _capacity(self, j: int, column: FittedColumn) -> Capacity:
        """One constant: rates are the inverse of what was fitted."""
        cost, drawn = self.costs[j], self.resampled[:, j]
        if column.symbol in LOWER:
            w = 0  # the first is W on fewest ranks
            cost, drawn = _over(cost, self.costs[w]), _over(drawn, self.resampled[:, w])
            power = 1 / LOWER[column.symbol]
            cost, drawn = cost**power, drawn**power
        low, high = (float(np.sort(drawn)[i]) for i in ENDS)
        is_rate = column.symbol in RATES
        if is_rate:
            low, high = (1 / x if x > 0 else np.inf for x in (high, low))
            cost = 1 / cost if cost > 0 else np.inf
        is_known = bool(0 < cost < np.inf)
        return Capacity(
            symbol=column.symbol,
            p=column.p,
            value=float(cost) if is_known else None,
            lower=float(low) if np.isfinite(low) and (is_known or is_rate) else None,
            upper=float(high) if np.isfinite(high) else None,
        )


def calibrated(forms: Sequence[CapacityForm], cells: Cells, *, seed: int) -> KernelCalibration:
    """Fit the capacities of the first form, the simplest, that predicts as well as any."""
    places = np.array(list(cells), dtype=np.float64)
    measured = [
        np.array([[x.time, x.compute, x.disk] for x in samples]) for samples in cells.values()
    ]
    wall = _wall_of_a_processor_second(list(cells), measured)
    measured = [x * [1.0, wall, 1.0] for x in measured]
    middle = np.array([np.median(x, axis=0) for x in measured])
    more = _counted_more(forms[0], cells)
    of_forms = [form.terms(places[:, 0], places[:, 1], more) for form in forms]
    mixtures = [form.mixture(places[:, 0].max()) for form in forms]
    errors = np.array(
        [
            _error_of_others(terms, mixture, places, middle)
            for terms, mixture in zip(of_forms, mixtures, strict=True)
        ]
    )
    limit = AS_WELL[0] * errors.min() + AS_WELL[1]
    chosen = int(np.argmax(errors <= limit))
    terms, mixture = of_forms[chosen], mixtures[chosen]
    costs = _solved(terms, mixture, middle)
    drawn = _medians_of_drawn(measured, middle, np.random.default_rng([seed, len(cells)]))
    return KernelCalibration(
        form=forms[chosen],
        costs=costs,
        resampled=np.array([_solved(terms, mixture, x) for x in drawn]),
        residuals=terms.time @ costs / middle[:, 0] - 1.0,
    )


def _counted_more(form: CapacityForm, cells: Cells) -> Array:
    """Steps that the program counted over those of the law, relative to its largest size.

    What cannot be dealt out evenly, such as blocks, weighs on small sizes, and is no part of W.
    """
    largest = max(n for n, _ in cells)
    ratio = {
        (n, p): max(samples[0].runs[0].steps) / float(form.program.counted(n, p).steps)
        for (n, p), samples in cells.items()
    }
    return np.array([r / ratio[largest, p] if r > 0 else 1.0 for (_, p), r in ratio.items()])


def _error_of_others(terms: Terms, mixture: Array, places: Array, middle: Array) -> float:
    """Root mean square of the errors of cells by a fit to others.

    Each cell by all others; and the largest size by the smaller ones, which is what is asked.
    """
    larger = places[:, 0] == places[:, 0].max()
    parts = [np.arange(len(places)) == i for i in range(len(places))]
    parts += [larger] if not larger.all() else []
    squares = []
    for left_out in parts if len(places) > 2 else []:
        costs = _solved(_kept(terms, ~left_out), mixture, middle[~left_out])
        off = terms.time[left_out] @ costs / middle[left_out, 0]
        squares += (np.log(np.clip(off, 0.05, 20.0)) ** 2).tolist()
    return float(np.sqrt(np.mean(squares))) if squares else 0.0


def _kept(terms: Terms, keep: NDArray[np.bool_]) -> Terms:
    """Keep the terms of some points."""
    return Terms(time=terms.time[keep], compute=terms.compute[keep], disk=terms.disk[keep])


def _wall_of_a_processor_second(cells: list[tuple[int, int]], measured: list[Array]) -> float:
    """Wall seconds of a processor second on one rank: more than 1 where it is throttled."""
    middle = [np.median(x, axis=0) for (_, p), x in zip(cells, measured, strict=True) if p == 1]
    ratios = [(time - disk) / compute for time, compute, disk in middle if compute > 0]
    return max(float(np.median(ratios)), 1.0) if ratios else 1.0


def _medians_of_drawn(measured: list[Array], middle: Array, random: np.random.Generator) -> Array:
    """Medians of launches drawn with replacement, spread as new ones; (resamples, cells, kinds).

    Few launches drawn again spread less than new ones, by sqrt((k - 1)/k). `middle`
    are the medians of all.
    """
    launches = np.array([len(times) for times in measured])
    most = np.repeat(launches, launches)
    drawn = np.split(
        random.integers(0, most, (RESAMPLES, len(most))), np.cumsum(launches)[:-1], axis=1
    )
    medians = np.stack(
        [np.median(times[x], axis=1) for times, x in zip(measured, drawn, strict=True)], axis=1
    )
    power = np.sqrt(launches / np.maximum(launches - 1, 1))[:, None]
    wide = middle * (medians / np.where(middle > 0, middle, 1.0)) ** power
    return np.where(middle > 0, wide, medians)


def _solved(terms: Terms, mixture: Array, measured: Array) -> Array:
    """Constants of at least 0 that fit wall, processor and file times (rows by kinds)."""
    rows, ones = [], []
    for matrix, times, weight in (
        (terms.time, measured[:, 0], 1.0),
        (terms.compute, measured[:, 1], HINT),
        (terms.disk, measured[:, 2], HINT),
    ):
        usable = (times > 0) & (matrix > 0).any(axis=1)
        rows.append(np.sqrt(weight) * (matrix[usable] @ mixture) / times[usable, None])
        ones.append(np.full(int(usable.sum()), np.sqrt(weight)))
    relative, ones_of_all = np.concatenate(rows), np.concatenate(ones)
    size = np.sqrt((relative**2).sum(axis=0))
    size = np.where(size > 0, size, 1.0)
    solution = nnls(relative / size, ones_of_all)[0] / size
    return np.asarray(mixture @ np.where((relative * solution).max(axis=0) > NOISE, solution, 0.0))


def _over(amount: ArrayLike, cost: ArrayLike) -> Array:
    """Divide by a cost, infinite where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(cost) > 0, np.divide(amount, cost), np.inf)


def forms_of(
    program: CountedProgram, counts: Sequence[int], sizes: Sequence[int], cores: int
) -> tuple[CapacityForm, ...]:
    """Forms that the calibrated sizes and counts can show, those with fewest constants first."""
    counts = tuple(sorted(counts))
    parallel = tuple(p for p in counts if p > 1)
    largest = program.counted(max(sizes), counts)
    sends, talks = np.any(largest.network_bytes > 0), np.any(largest.messages > 0)
    one = parallel[:1]
    choices = dict.fromkeys(
        (rates, networks if sends else (), startups if talks else ())
        for rates, startups, networks in product(
            (counts[:1], counts[:2], counts), (one, parallel), (one, parallel)
        )
    )
    forms = [
        CapacityForm(
            program=program,
            counts=counts,
            cores=cores,
            rates=rates,
            networks=networks,
            startups=startups,
            columns=_columns(program, counts, sizes, (rates, networks, startups)),
        )
        for rates, networks, startups in choices
    ]
    return tuple(sorted(forms, key=lambda form: len(form.columns)))


def _columns(
    program: CountedProgram,
    counts: tuple[int, ...],
    sizes: Sequence[int],
    own: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
) -> tuple[FittedColumn, ...]:
    """Name the columns of a form in which W, u and t0 have values of their own at these counts."""
    rates, networks, startups = own
    ends, most = [float(min(sizes)), float(max(sizes))], float(counts[-1])
    alone = program.counted(ends, 1.0)
    lower = []
    if ends[1] > ends[0]:
        growth = float(np.log(alone.steps[1] / alone.steps[0]) / np.log(ends[1] / ends[0]))
        lower = ["n_half", "m_half"] if most > 1 else ["n_half"]
        lower += ["m_2"] if growth > CUBIC and len(set(sizes)) > 2 else []
    columns = [FittedColumn(symbol="W", p=p if len(rates) > 1 else None) for p in rates]
    columns += [FittedColumn(symbol=symbol) for symbol in lower]
    columns += [FittedColumn(symbol="u", p=p if len(networks) > 1 else None) for p in networks]
    columns += [FittedColumn(symbol="t0", p=p if len(startups) > 1 else None) for p in startups]
    if np.any(alone.disk_bytes > 0):
        columns += [FittedColumn(symbol="B"), FittedColumn(symbol="S0")]
    return tuple(columns)


def _weight(p: Array, counts: Sequence[int], of: int | None) -> Array:
    """Share of the value of one count in that of others: a hat over the logarithm."""
    if of is None:
        return np.ones(p.shape)
    knots = np.log(np.asarray(counts, dtype=np.float64))
    values = np.isclose(knots, np.log(of)).astype(np.float64)
    return np.asarray(np.interp(np.log(p), knots, values))
