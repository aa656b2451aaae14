"""Formulas of p and n for what a program counts: iterations, calls, bytes, time of an iteration.

    value = c * f(n) * g(p) ,   f in { 1, n^a, n - 1, (n - 2)^2, n lg n, ... }            [D]
                                g in { 1, p^b, p - 1, lg P, ceil(n / p), ... }

Counts of a program are exact, so a formula that matches all of them is searched for instead of
fitted: the simplest one is used, then sums of two terms. If no formula matches, as for a time, the
one with the lowest cross-validated error is used, where each pair of p and n is left out in turn;
among those nearly as good the simplest. The source states only that counts at other P come from
count functions [1]_; the forms and their choice are ours [D]. Counts at a single size, or a single
processor count, determine no dependence on it: the formula then does not contain it.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, section on complex loops.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError, require

Shape = Callable[[Array, Array], Array]  # of p and n

EXACT: Final = 1e-9  # relative error of a formula that meets all counts, by rounding
NEARLY: Final = 1.1  # times the least cross-validated error of what is nearly as good [D]
NOISY: Final = 2.0  # the same of a time, whose noise must not become a power of n [D]
SLIGHT: Final = 0.03  # error that the simpler formula of a time may have more [D]
FEWEST_TO_CHOOSE: Final = 3  # points: of two, every one is met by what the other decides
LARGEST_DENOMINATOR: Final = 12  # of a coefficient that is written as a fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class CountFormula:
    """A formula, and how well it matches the counts."""

    text: str  # in p and n, as a description has it
    error: float  # largest relative error at what was counted; 0 where it is exact [1]
    _terms: "tuple[tuple[float, TermForm], ...]"

    @property
    def is_exact(self) -> bool:
        """Whether it meets all that was counted."""
        return self.error <= EXACT

    def __call__(self, p: ArrayLike, n: ArrayLike) -> Array:
        """Value at other p and n."""
        at = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(n, dtype=np.float64))
        return np.asarray(sum(c * form.shape(at[0], at[1]) for c, form in self._terms))

    @property
    def constant(self) -> float | None:
        """Its value where it depends on nothing; otherwise None."""
        (c, form), *others = self._terms
        return c if not (form.over or form.under or others) else None

    def scaled(self, factor: float) -> "CountFormula":
        """Give the same formula, times a factor."""
        terms = tuple((_written(c * factor), form) for c, form in self._terms)
        text = _sum([_term(c, form) for c, form in terms])
        return CountFormula(text=text, error=self.error, _terms=terms)

    def times(self, unit: str) -> str:
        """Text of the formula as so many of a unit: "8 B * n"."""
        texts = [_term(c, form, unit) for c, form in self._terms]
        return _sum(texts)


@dataclass(frozen=True, kw_only=True, slots=True)
class TermForm:
    """What multiplies a coefficient."""

    over: str  # text of the factors above the line; "" for 1
    under: str = ""  # text of what it is divided by; "" for nothing
    shape: Shape
    cost: float  # how complicated it is; the simplest is 0
    is_usual: bool = False  # whether counts that no formula meets exactly may have it


def count_formula(
    value: ArrayLike, p: ArrayLike, n: ArrayLike | None = None, *, smooth: bool = False
) -> CountFormula:
    """Formula of p and n for what was counted at some of them, all (runs,).

    `n` is None where the program has none. Of a time, which was measured and is `smooth`, only
    powers of n with half exponents are tried, and a simpler one is taken where its error is at
    most twice as high and 3% more.
    """
    counted, at_p, at_n = _checked(value, p, n)
    has_p, has_n = (len(np.unique(axis)) > 1 for axis in (at_p, at_n))
    if np.all(np.abs(counted - counted[0]) <= EXACT * np.abs(counted[0])):
        return _formula([(float(counted[0]), ONE)], counted, at_p, at_n)
    forms = list(_forms(has_p=has_p and not smooth, has_n=has_n, smooth=smooth))
    if not smooth:
        exact = _exact(forms, counted, at_p, at_n) or _exact_sum(forms, counted, at_p, at_n)
        if exact is not None:
            return exact
        forms = [x for x in forms if x.is_usual]  # noise would choose among the others
    times, more = (NOISY, SLIGHT) if smooth else (NEARLY, 0.0)
    return _nearest(forms, counted, at_p, at_n, enough=lambda least: least * times + more)


def work_formulas(
    time: ArrayLike, p: ArrayLike, n: ArrayLike | None = None
) -> tuple[CountFormula | None, CountFormula | None]:
    """Formulas of work whose iterations are not known, from its time on a rank, all (runs,) [s].

    The first is the time of all shared work together, the second that of what every rank repeats::

        time = shared(n) / p + repeated(n)                                                 [D]

    Either is None where the times do not ask for it; the `error` of both is that of their sum. The
    simplest is taken as for a `smooth` formula; at one count nothing tells them apart, and all
    work counts as shared.
    """
    measured, at_p, at_n = _checked(time, p, n)
    sizes = [ONE, *(_sizes(smooth=True) if len(np.unique(at_n)) > 1 else ())]
    has_p = len(np.unique(at_p)) > 1
    points, of_run = np.unique(np.stack([at_p, at_n], axis=1), axis=0, return_inverse=True)
    pairs: list[tuple[TermForm | None, TermForm | None]] = [(x, None) for x in sizes]
    if has_p and len(points) >= FEWEST_TO_CHOOSE:
        pairs += [(None, x) for x in sizes]
    if has_p and len(points) > FEWEST_TO_CHOOSE:
        pairs += [(x, y) for x in sizes for y in sizes]
    tried = []
    for pair in sorted(pairs, key=lambda pair: sum(1.0 + x.cost for x in pair if x)):
        columns = [
            form.shape(at_p, at_n) / (at_p if is_shared else 1.0)
            for form, is_shared in zip(pair, (True, False), strict=True)
            if form
        ]
        matrix = np.stack(columns, axis=1) / measured[:, None]
        tried.append((pair, matrix, _left_out_of_sums(matrix, of_run.ravel())))
    least = min(error for *_, error in tried)
    limit = NOISY * least + SLIGHT
    pair, matrix = next((pair, matrix) for pair, matrix, error in tried if error <= limit)
    factors = iter(_solved(matrix).tolist())
    shared, repeated = (next(factors) if form else 0.0 for form in pair)
    first, second = (
        _formula([(c, form)], measured, at_p, at_n) if form and c > 0 else None
        for c, form in ((shared, pair[0]), (repeated, pair[1]))
    )
    parts = ((first, at_p), (second, 1.0))
    total = sum(x(at_p, at_n) / over for x, over in parts if x)
    error = float(np.max(np.abs(total / measured - 1.0)))
    return first and replace(first, error=error), second and replace(second, error=error)


def _solved(matrix: Array) -> Array:
    """Coefficients of at least 0 that make rows 1."""
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

    size = np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    return np.asarray(nnls(matrix / size, np.ones(len(matrix)))[0] / size)


def _left_out_of_sums(matrix: Array, of_run: NDArray[np.intp]) -> float:
    """Root mean square of log errors of the runs at each pair of p and n, from the others [1]."""
    places = np.unique(of_run)
    if len(places) < FEWEST_TO_CHOOSE:
        return float(np.std(np.log(np.maximum(matrix @ _solved(matrix), 1e-3))))
    errors = [
        np.log(np.maximum(matrix[of_run == i] @ _solved(matrix[of_run != i]), 1e-3))
        for i in places
    ]
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def _checked(value: ArrayLike, p: ArrayLike, n: ArrayLike | None) -> tuple[Array, Array, Array]:
    """Arrays of one length, inside their domains."""
    counted, at_p = (np.asarray(x, dtype=np.float64).ravel() for x in (value, p))
    at_n = np.ones_like(at_p) if n is None else np.asarray(n, dtype=np.float64).ravel()
    if not len(counted) == len(at_p) == len(at_n) or not len(counted):
        raise ParameterError(
            "value, p and n",
            must="have the same length, at least 1",
            got=f"{len(counted)}, {len(at_p)} and {len(at_n)}",
            hint="Give each run all three.",
        )
    hint = "Check the profile."
    good = (counted >= 0) & np.isfinite(counted)
    require("value", counted, good, must="be at least 0 and finite", hint=hint)
    require("p", at_p, (at_p >= 1) & np.isfinite(at_p), must="be at least 1", hint=hint)
    require("n", at_n, (at_n > 0) & np.isfinite(at_n), must="be above 0", hint=hint)
    return counted, at_p, at_n


def _power(axis: str, exponent: Fraction) -> str:
    """Text of a power: "n", "n^2", "sqrt(n)", "n^(2/3)"."""
    if exponent == 1:
        return axis
    if exponent == Fraction(1, 2):
        return f"sqrt({axis})"
    return f"{axis}^{exponent}" if exponent.denominator == 1 else f"{axis}^({exponent})"


def _sizes(*, smooth: bool) -> Iterator[TermForm]:
    """Forms of n."""
    halves = [Fraction(k, 2) for k in (1, 2, 3, 4, 5, 6)]
    thirds = [Fraction(k, 3) for k in (1, 2, 4, 5)]
    for a in halves if smooth else halves + thirds:
        cost = (1.0 + 0.1 * float(a)) if a.denominator == 1 else 2.0 + 0.1 * a.denominator
        is_usual = a.denominator == 1 or a in (Fraction(1, 2), Fraction(2, 3), Fraction(3, 2))
        shape = _n_less(0, float(a))
        yield TermForm(over=_power("n", a), shape=shape, cost=cost, is_usual=is_usual)
    if smooth:
        return
    for k in (1, 2, -1, -2):
        less = f"(n - {k})" if k > 0 else f"(n + {-k})"
        for times in (1, 2, 3):
            text = less if times == 1 else f"{less}^{times}"
            yield TermForm(over=text, shape=_n_less(k, times), cost=1.5 + 0.1 * times)
        yield TermForm(over=f"n*{less}", shape=_n_times_less(k), cost=1.8)
    for text, times in (("log2(n)", 0), ("n*log2(n)", 1), ("n^2*log2(n)", 2)):
        yield TermForm(over=text, shape=_n_log_n(times), cost=2.0 + 0.1 * times)


def _n_less(k: int, a: float) -> Shape:
    return lambda _, n: np.maximum(n - k, 0.0) ** a


def _n_times_less(k: int) -> Shape:
    return lambda _, n: n * np.maximum(n - k, 0.0)


def _n_log_n(a: int) -> Shape:
    return lambda _, n: n**a * np.log2(n)


def _p_to(b: float) -> Shape:
    return lambda p, _: p**b


def _largest_share(k: int) -> Shape:
    return lambda p, n: np.ceil(np.maximum(n - k, 0.0) / p - EXACT)


def _product(one: Shape, other: Shape) -> Shape:
    return lambda p, n: one(p, n) * other(p, n)


def _shares(*, has_n: bool) -> Iterator[TermForm]:
    """Forms of p, and of n over p."""
    for b in (Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 3), Fraction(2, 3)):
        cost = 1.0 if b == 1 else 2.0 + 0.1 * b.denominator
        text = _power("p", b)
        is_usual = b == 1 or b == Fraction(2, 3)
        yield TermForm(over=text, shape=_p_to(float(b)), cost=cost, is_usual=b == 1)
        shape = _p_to(-float(b))
        yield TermForm(over="", under=text, shape=shape, cost=cost, is_usual=is_usual)
    yield TermForm(over="(p - 1)", shape=lambda p, _: p - 1, cost=1.5)
    yield TermForm(over="(p - 1)", under="p", shape=lambda p, _: (p - 1) / p, cost=1.8)
    yield TermForm(over="min(2, p - 1)", shape=lambda p, _: np.minimum(2.0, p - 1), cost=1.9)
    yield TermForm(over="log2(p)", shape=lambda p, _: np.log2(p), cost=2.0)
    yield TermForm(over="p*log2(p)", shape=lambda p, _: p * np.log2(p), cost=2.2)
    yield TermForm(over="ceil(log2(p))", shape=lambda p, _: np.ceil(np.log2(p) - EXACT), cost=2.1)
    for k in (0, 1, 2) if has_n else ():
        less = f"(n - {k})" if k else "n"
        yield TermForm(over=f"ceil({less}/p)", shape=_largest_share(k), cost=2.0 + 0.1 * k)


ONE: Final = TermForm(over="", shape=lambda p, _: np.ones_like(p), cost=0.0, is_usual=True)


def _forms(*, has_p: bool, has_n: bool, smooth: bool) -> Iterator[TermForm]:
    """All forms of the axes that vary, the simplest first."""
    sizes = [ONE, *(_sizes(smooth=smooth) if has_n else ())]
    shares = [ONE, *(_shares(has_n=has_n) if has_p else ())]
    made = [
        TermForm(
            over="*".join(filter(None, [size.over, share.over])),
            under=share.under,
            shape=_product(size.shape, share.shape),
            cost=size.cost + share.cost,
            is_usual=size.is_usual and share.is_usual,
        )
        for size in sizes
        for share in shares
    ]
    yield from sorted(made, key=lambda form: form.cost)


def _exact(forms: Sequence[TermForm], counted: Array, p: Array, n: Array) -> CountFormula | None:
    """Simplest form that meets all counts with one coefficient."""
    for form in forms:
        shape = form.shape(p, n)
        there = shape > 0
        if not there.any():
            continue
        c = float(np.median(counted[there] / shape[there]))
        if c > 0 and np.all(np.abs(counted - c * shape) <= EXACT * counted.max()):
            return _formula([(c, form)], counted, p, n)
    return None


def _exact_sum(
    forms: Sequence[TermForm], counted: Array, p: Array, n: Array
) -> CountFormula | None:
    """Simplest sum of two forms that meets all counts, more of them than coefficients."""
    points = np.unique(np.stack([p, n], axis=1), axis=0)
    simple = [form for form in forms if form.cost <= 2.5]
    if len(points) < FEWEST_TO_CHOOSE:
        return None
    pairs = sorted(combinations(simple, 2), key=lambda pair: pair[0].cost + pair[1].cost)
    shapes = {form: form.shape(p, n) for form in simple}
    for pair in pairs:
        matrix = np.stack([shapes[form] for form in pair], axis=1)
        factors, _, rank, _ = np.linalg.lstsq(matrix, counted, rcond=None)
        meets = np.all(np.abs(matrix @ factors - counted) <= EXACT * counted.max())
        coefficients = [float(c) for c in factors]
        if rank == 2 and meets and all(_fraction(c) is not None for c in coefficients):
            return _formula(list(zip(coefficients, pair, strict=True)), counted, p, n)
    return None


def _nearest(
    forms: Sequence[TermForm],
    counted: Array,
    p: Array,
    n: Array,
    *,
    enough: Callable[[float], float],
) -> CountFormula:
    """Simplest form whose cross-validated error is low enough beside the lowest."""
    positive = counted > 0
    tried = []
    for form in forms:
        shape = form.shape(p, n)
        if np.any(shape[positive] <= 0):
            continue
        ratio = np.log(counted[positive] / shape[positive])
        tried.append((form, ratio, _left_out(ratio, p[positive], n[positive])))
    least = min(error for *_, error in tried)
    form, ratio = next((x, r) for x, r, error in tried if error <= enough(least))
    return _formula([(float(np.exp(np.median(ratio))), form)], counted, p, n)


def _left_out(ratio: Array, p: Array, n: Array) -> float:
    """Root mean square of log errors at each pair of p and n, from the others. [1]."""
    points, of_run = np.unique(np.stack([p, n], axis=1), axis=0, return_inverse=True)
    of_run = of_run.ravel()
    if len(points) < FEWEST_TO_CHOOSE:
        return float(np.std(ratio))
    errors = [ratio[of_run == i] - np.median(ratio[of_run != i]) for i in range(len(points))]
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def _formula(
    terms: Sequence[tuple[float, TermForm]], counted: Array, p: Array, n: Array
) -> CountFormula:
    """Round coefficients to what is written, and tell how well the formula meets the counts."""
    rounded = tuple((_written(c), form) for c, form in terms)
    value = np.asarray(sum(c * form.shape(p, n) for c, form in rounded))
    scale = np.where(counted > 0, counted, max(float(counted.max()), 1e-300))
    return CountFormula(
        text=_sum([_term(c, form) for c, form in rounded]),
        error=float(np.max(np.abs(value - counted) / scale)),
        _terms=rounded,
    )


def _fraction(c: float) -> Fraction | None:
    """Fraction with a small denominator that a coefficient is, or None."""
    near = Fraction(c).limit_denominator(LARGEST_DENOMINATOR)
    return near if near and abs(float(near) - c) <= EXACT * abs(c) else None


def _written(c: float) -> float:
    """Coefficient as its text has it."""
    near = _fraction(c)
    return float(near) if near is not None else float(f"{c:.6g}")


def _term(c: float, form: TermForm, unit: str = "") -> str:
    """Text of a coefficient and its form; with a unit "8 B*n"."""
    near = _fraction(c) if not unit else None
    number = str(near) if near is not None else f"{c:.12g}"
    if unit:
        number = f"{number} {unit}"
    head = "" if form.over and number in ("1", "-1") else number
    text = "*".join(filter(None, [head, form.over]))
    sign = "-" if form.over and number == "-1" else ""
    return sign + text + (f"/{form.under}" if form.under else "")


def _sum(texts: Sequence[str]) -> str:
    """Join terms by their signs."""
    return " + ".join(texts).replace("+ -", "- ")
