"""The terms of a law with capacities that may depend on the count of ranks, as columns of a fit.

    T = s/W * (1 + n_half/n + m_half*P/n + m_2^2*P/n^2) + bytes/u + messages*t0 + disk bytes/B + S0

s are the steps of the law on the critical path; those that all ranks share take as many times as
long as the core with most ranks has ranks [D]. n_half is Hockney's: a program reaches half its
rate at this size, because what it does for each row, call or input weighs on small sizes. m_half
is the same for what each rank does however small its part is: it counts the part, n/P. The last
term is there only for laws that grow faster than n^2.5 [D]. None is below 0. t0, and S0, the
startup of the files, are of this project [D]; the source has none.

W, u and t0 may be one for all counts of ranks, or differ: a sorter merges on two ranks and does
not on one, a network is slower with all ranks on it, and ranks that wait for each other wait
longer where they are many. Forms of a law say which; the simplest that predicts calibrated runs
it was not fitted to as well as any is taken. Between two counts t0 and the inverses of W and u are
interpolated over the logarithm of P, beyond them the nearest is taken [D].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.breakdown import Array
from parcast.verbs.validate_subject import Subject

LOWER: Final = {"n_half": 1, "m_half": 1, "m_2": 2}  # powers of n that weigh on small sizes
HIGHEST: Final = 3.0  # half size over the largest calibrated one [1]
CUBIC: Final = 2.5  # power of n above which steps have a second lower term [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
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
class Form:
    """A law with its columns, before it is calibrated."""

    subject: Subject
    counts: tuple[int, ...]  # calibrated counts of ranks, ascending [1]
    cores: int  # that ranks may use [1]
    rates: tuple[int, ...]  # counts at which W has a value of its own [1]
    networks: tuple[int, ...]  # the same of u; none where nothing is sent [1]
    startups: tuple[int, ...]  # the same of t0 [1]
    columns: tuple[Column, ...]

    def terms(self, n: ArrayLike, p: ArrayLike, counted_more: ArrayLike = 1.0) -> Terms:
        """Terms at points.

        Parameters
        ----------
        n, p : array_like, shape (points,)
            Sizes and counts of ranks. [1]
        counted_more : array_like, shape (points,)
            Steps that the program counted there, over those of the law. [1]
        """
        n, p = np.asarray(n, dtype=np.float64), np.asarray(p, dtype=np.float64)
        counted, more = self.subject.counted(n, p), np.asarray(counted_more, dtype=np.float64)
        sharing = np.ceil(p / self.cores)  # ranks on the core with most
        shared = (counted.steps + counted.shared * (sharing - 1.0)) * more
        steps = {"W": n**0, "n_half": 1.0 / n, "m_half": p / n, "m_2": p / n**2}
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

        What weighs on small sizes is fitted together with a rate, in a proportion that keeps its
        half size at `HIGHEST` times the largest calibrated one at most: steps are never free.

        Parameters
        ----------
        largest : float
            Calibrated size. [1]
        """
        mixed = np.eye(len(self.columns))
        rates = [j for j, column in enumerate(self.columns) if column.symbol == "W"]
        for j, column in enumerate(self.columns):
            if column.symbol in LOWER:
                mixed[j, j] = (HIGHEST * largest) ** LOWER[column.symbol]
                mixed[rates, j] = 1.0
        return mixed


def forms_of(
    subject: Subject, counts: Sequence[int], sizes: Sequence[int], cores: int
) -> tuple[Form, ...]:
    """Forms that the calibrated sizes and counts can show, those with fewest constants first.

    Parameters
    ----------
    subject : Subject
        The program.
    counts, sizes : sequence of int
        Calibrated counts of ranks and sizes. [1]
    cores : int
        That the ranks may use. [1]
    """
    counts = tuple(sorted(counts))
    parallel = tuple(p for p in counts if p > 1)
    largest = subject.counted(max(sizes), counts)
    sends, talks = np.any(largest.network_bytes > 0), np.any(largest.messages > 0)
    one = parallel[:1]
    choices = dict.fromkeys(
        (rates, networks if sends else (), startups if talks else ())
        for rates, startups, networks in product(
            (counts[:1], counts[:2], counts), (one, parallel), (one, parallel)
        )
    )
    forms = [
        Form(
            subject=subject,
            counts=counts,
            cores=cores,
            rates=rates,
            networks=networks,
            startups=startups,
            columns=_columns(subject, counts, sizes, (rates, networks, startups)),
        )
        for rates, networks, startups in choices
    ]
    return tuple(sorted(forms, key=lambda form: len(form.columns)))


def _columns(
    subject: Subject,
    counts: tuple[int, ...],
    sizes: Sequence[int],
    own: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
) -> tuple[Column, ...]:
    """Name the columns of a form in which W, u and t0 have values of their own at these counts."""
    rates, networks, startups = own
    ends, most = [float(min(sizes)), float(max(sizes))], float(counts[-1])
    alone = subject.counted(ends, 1.0)
    lower = []
    if ends[1] > ends[0]:
        growth = float(np.log(alone.steps[1] / alone.steps[0]) / np.log(ends[1] / ends[0]))
        lower = ["n_half", "m_half"] if most > 1 else ["n_half"]
        lower += ["m_2"] if growth > CUBIC and len(set(sizes)) > 2 else []
    columns = [Column(symbol="W", p=p if len(rates) > 1 else None) for p in rates]
    columns += [Column(symbol=symbol) for symbol in lower]
    columns += [Column(symbol="u", p=p if len(networks) > 1 else None) for p in networks]
    columns += [Column(symbol="t0", p=p if len(startups) > 1 else None) for p in startups]
    if np.any(alone.disk_bytes > 0):
        columns += [Column(symbol="B"), Column(symbol="S0")]
    return tuple(columns)


def _weight(p: Array, counts: Sequence[int], of: int | None) -> Array:
    """Share of the value of one count in that of others: a hat over the logarithm."""
    if of is None:
        return np.ones(p.shape)
    knots = np.log(np.asarray(counts, dtype=np.float64))
    values = np.isclose(knots, np.log(of)).astype(np.float64)
    return np.asarray(np.interp(np.log(p), knots, values))
