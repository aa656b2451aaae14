"""The law of a pipeline with its constants from measured runs: the third way to its times.

    published schedule   T = T_0 + k*(T_comp + T_comm) [+ log_f P*d] ,   k = (N/G - P)/(P/2)    [S]
    default schedule     T = T_0 + N/c*x [+ log_f B*d]                                          [D]

Where ranks share cores, a step of the published schedule takes as many times longer as the P*G/2
items that are taken in it exceed the cores, and the first, of P*G items, likewise [D].

T_0 is the start of a run with the first task, the factor of k or N/c the time of a step or the
processor time of an item, and d, which is optional, that of a level of the tree: a merge and a
message. c and B are those of `pipeline.law.adaptive`. All are at least 0 and have the least
squares of the relative residuals, T/T_measured - 1, so that short runs count as much as long ones.

Runs that are far from the others are left out and named [D]: by more than 4 times the scatter of
the others about the law of the least distances, which an outlier hardly moves. Intervals are those
of linear regression, with the scatter of the runs about the law.

Use it where a few runs exist: it contains what the formulas leave out, such as a start-up time.
The measured times of the source follow it within 1.7% [1]_; its formulas are up to 27% too low.

References
----------
.. [1] J. Kuntraruk, W. M. Pottenger and A. M. Ross, "Application resource requirement estimation
   in a parallel-pipeline model of execution," IEEE Trans. Parallel Distrib. Syst., vol. 16,
   no. 12, pp. 1154-1165, 2005, :doi:`10.1109/TPDS.2005.143`, the twelve measured times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array, TableLike
from parcast.errors import FitFailed, ParameterError, require_one_of
from parcast.numerics import NonNegativeFit, fit_non_negative
from parcast.pipeline.law.adaptive import batches
from parcast.pipeline.law.formulas import steps, tree_levels
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements
from parcast.units import format_quantity, in_percent

Schedule: TypeAlias = Literal["source", "adaptive"]
LEVEL: Final = 0.9  # of intervals
FAR: Final = 4.0  # times the scatter of the other runs: an outlier [D]
FLOOR: Final = 0.01  # scatter that no run is an outlier within; no law is better [D]
NORMAL: Final = 1.4826  # standard deviation of a normal law over its median distance


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Constant:
    """A constant of the calibrated law with its 90% interval."""

    _outline = "value_s lower_s upper_s"

    value: float  # [s]
    lower: float
    upper: float

    def __str__(self) -> str:
        texts = [format_quantity(x, "time", 4) for x in (self.value, self.lower, self.upper)]
        return f"{texts[0]} ({texts[1]} to {texts[2]})"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CalibratedLaw:
    """The law with its constants, which `time` and `interval` apply to other runs."""

    startup: Constant  # T_0 [s]
    step: Constant  # T_comp + T_comm, or the processor time of an item [s]
    level: Constant | None  # of the tree, d; None if it was left out [s]
    residuals: Array  # (runs,), T/T_measured - 1 [1]
    outliers: tuple[int, ...]  # runs that were left out, by their rows
    noise: float  # standard deviation of a run about the law [1]
    schedule: Schedule
    options: dict[str, Any]  # fan_in, batch, cores
    warnings: tuple[str, ...]
    _covariance: Array  # of the constants [s^2]
    _freedom: int

    @property
    def largest_error(self) -> float:
        """Largest difference from a measured time, of the runs that were used [1]."""
        return float(np.abs(np.delete(self.residuals, self.outliers)).max())

    def time(self, items: ArrayLike, p: ArrayLike, *, pipelines: ArrayLike = 1) -> Array:
        """Time of other runs; `p` are all processors, shared by the `pipelines`. [s]."""
        return np.asarray(self._terms(items, p, pipelines) @ self._constants)

    def interval(
        self, items: ArrayLike, p: ArrayLike, *, pipelines: ArrayLike = 1
    ) -> tuple[Array, Array]:
        """Where a measured time of other runs is expected in 90% of cases [s]."""
        terms = self._terms(items, p, pipelines)
        time = terms @ self._constants
        variance = np.einsum("...i,ij,...j", terms, self._covariance, terms)
        width = _quantile(self._freedom) * np.sqrt(variance + (self.noise * time) ** 2)
        return np.asarray(np.maximum(time - width, 0.0)), np.asarray(time + width)

    def keys(self, task: float | None = None) -> dict[str, Any]:
        """Give the keys of a phase of `law = "pipeline"` with these constants.

        `task` is the time of a task, if it was measured [s]; else it is that of a step. The keys
        `items` and `pipelines` remain to be given.
        """
        step, start = self.step.value, self.startup.value
        level = 0.0 if self.level is None else self.level.value
        common = {"law": "pipeline", "drain": self.level is not None}
        common |= {key: x for key, x in self.options.items() if x is not None}
        if self.schedule == "adaptive":
            times = {"task": step, "communication": level, "startup": start}
            return {**common, "form": "adaptive", **_in_seconds(times)}
        work = step if task is None else min(task, step)
        sent = step - work
        times = {"task": work, "communication": sent, "merge": max(level - sent, 0.0)}
        times["startup"] = max(start - work, 0.0)  # a phase has the first task in k + 1
        return {**common, "form": "serial", **_in_seconds(times)}

    def __str__(self) -> str:
        """The law with its constants, and how near to the runs it is."""
        count = "k" if self.schedule == "source" else "N/c"
        lines = [f"T_0          {self.startup}", f"{f'x {count}':12} {self.step}"]
        if self.level is not None:
            lines.append(f"x levels     {self.level}")
        error = in_percent(self.largest_error)
        used = len(self.residuals) - len(self.outliers)
        lines.append(f"{used} runs, largest error {error}%")
        return "\n".join([*lines, *self.warnings])

    @property
    def _constants(self) -> Array:
        known = (self.startup, self.step, self.level)
        return np.array([x.value for x in known if x is not None])

    def _terms(self, items: ArrayLike, p: ArrayLike, pipelines: ArrayLike) -> Array:
        has_levels = self.level is not None
        return run_terms(
            items, p, pipelines, schedule=self.schedule, drain=has_levels, **self.options
        )


def calibrate(
    points: Measurements | TableLike,
    *,
    pipelines: ArrayLike | None = None,
    schedule: Schedule = "source",
    drain: bool = False,
    fan_in: int = 2,
    batch: int = 1,
    cores: float | None = None,
) -> CalibratedLaw:
    """Fit the constants of the law to measured runs.

    Parameters
    ----------
    points : Measurements or table
        Columns `p` (all processors), `n` (all items) and the time, `time_s`; optionally
        `pipelines`. At least one run more than there are constants.
    pipelines : array_like, optional
        Pipelines of each run; by default the column, or 1. [1]
    schedule : {"source", "adaptive"}
        Schedule of the runs.
    drain : bool
        Whether to fit a term with the depth of the tree; requires runs that differ in it.
    fan_in, batch : int
        Results that a merge joins; items that a processor takes at a time, of "adaptive". [1]
    cores : float, optional
        Cores that all processors shared; by default one each. [1]

    Returns
    -------
    Calibration
        Constants with intervals, residuals, outliers and warnings.

    Raises
    ------
    ParameterError
        If a column is missing, or a run is not possible.
    FitFailed
        If the runs do not determine the constants.

    Examples
    --------
    >>> runs = {"p": [16, 16, 32, 64], "n": [4096, 8192, 4096, 4096], "time_s": [83, 165, 43, 23]}
    >>> found = calibrate(runs, pipelines=[1, 1, 2, 4])
    >>> round(found.startup.value, 2), round(found.step.value, 4)
    (3.11, 0.1575)
    """
    runs = points if isinstance(points, Measurements) else Measurements(points)
    require_times_of_runs("points", runs.measure)
    if "n" not in runs.axes:
        raise ParameterError("points", must="have a column n", hint="It holds the items.")
    given = runs.axes.get("pipelines", 1.0) if pipelines is None else pipelines
    options: dict[str, Any] = {"fan_in": fan_in, "cores": cores}
    if schedule == "adaptive":
        options["batch"] = batch
    terms = run_terms(
        runs.axes["n"], runs.axes["p"], given, schedule=schedule, drain=drain, **options
    )
    _require_determined(terms, drain=drain)
    far = _far(terms, runs.time)
    kept = ~far
    fitted = fit_non_negative(terms[kept], runs.time[kept])
    covariance, noise = _scatter(terms[kept] / runs.time[kept, None], fitted.residuals)
    freedom = int(kept.sum()) - terms.shape[1]
    constants = list(_constants(fitted.coefficients, covariance, freedom))
    return CalibratedLaw(
        startup=constants[0],
        step=constants[1],
        level=constants[2] if drain else None,
        residuals=fitted(terms) / runs.time - 1.0,
        outliers=tuple(int(i) for i in np.flatnonzero(far)),
        noise=noise,
        schedule=schedule,
        options=options,
        warnings=tuple(_warnings(runs, kept, fitted)),
        _covariance=covariance,
        _freedom=freedom,
    )


def run_terms(
    items: ArrayLike,
    p: ArrayLike,
    pipelines: ArrayLike = 1,
    *,
    schedule: Schedule = "source",
    drain: bool = False,
    fan_in: ArrayLike = 2,
    batch: ArrayLike = 1,
    cores: ArrayLike | None = None,
) -> Array:
    """What the constants multiply in runs, on a last axis: 1, steps, and levels with `drain`. [1].

    `p` are all processors. Steps are k in the published schedule, N/c in the default one; with
    fewer `cores` than items that are taken in a step, k times what each core has of them.

    >>> run_terms(4096, [16, 128], [1, 8])
    array([[  1., 510.],
           [  1.,  62.]])
    >>> run_terms(4096, 16, cores=4)
    array([1.000e+00, 1.023e+03])
    """
    g = np.asarray(pipelines, dtype=np.float64)
    each = np.asarray(p, dtype=np.float64) / g
    require_one_of("schedule", schedule, ("source", "adaptive"))
    if schedule == "source":
        counts = steps(items, each, pipelines=g, fan_in=fan_in)
        levels = tree_levels(each, fan_in=fan_in)
        if cores is not None:
            f = np.asarray(fan_in, dtype=np.float64)
            taken = each * g * np.where(levels > 0, (f - 1) / f, 1.0)
            first = np.maximum(each * g / np.asarray(cores), 1.0)
            counts = counts * np.maximum(taken / np.asarray(cores), 1.0) + first - 1.0
    else:
        split = batches(items, p, batch=batch, cores=cores, fan_in=fan_in)
        counts = split.items / split.busy
        levels = np.where(split.working > 1, split.levels + 1, 0.0)  # and the way to rank 0
    columns = np.broadcast_arrays(1.0, counts, *([levels] if drain else []))
    return np.stack(columns, axis=-1).astype(np.float64)


def _far(terms: Array, time: Array) -> NDArray[np.bool_]:
    """Runs that are far from the law of the others; none where too few would be left.

    The law of the others is that of the least distances, which an outlier hardly moves.
    """
    relative = terms / time[:, None]
    distances = np.abs(relative @ _least_distances(relative) - 1.0)
    # Of so few runs, as many as there are constants have no distance from their own law.
    others = np.sort(distances)[terms.shape[1] :]
    far = distances > FAR * max(NORMAL * float(np.median(others)), FLOOR)
    kept = terms[~far]
    is_enough = len(kept) > terms.shape[1] and _rank(kept) == terms.shape[1]
    return far if is_enough else np.zeros_like(far)


def _least_distances(relative: Array) -> Array:
    """Constants of at least 0 with the least sum of the distances of relative times from 1."""
    size = np.sqrt((relative**2).sum(axis=0))
    scaled = relative / size
    found = optimize.least_squares(
        lambda x: scaled @ x - 1.0,
        np.maximum(fit_non_negative(relative, np.ones(len(relative))).coefficients * size, 1e-6),
        jac=lambda _: scaled,
        bounds=(0.0, np.inf),
        loss="soft_l1",
        f_scale=FLOOR / 10,
    )
    return np.asarray(found.x / size)


def _scatter(relative: Array, residuals: Array) -> tuple[Array, float]:
    """Covariance of the constants [s^2], and the scatter of a run about the law [1]."""
    freedom = len(relative) - relative.shape[1]
    noise = float(np.sqrt(np.sum(residuals**2) / freedom))
    size = np.sqrt((relative**2).sum(axis=0))
    scaled = relative / size
    inverse = np.linalg.inv(scaled.T @ scaled)
    return np.asarray(noise**2 * inverse / np.outer(size, size)), noise


def _in_seconds(times: dict[str, float]) -> dict[str, str]:
    return {key: f"{time!r} s" for key, time in times.items()}


def _constants(values: Array, covariance: Array, freedom: int) -> Iterator[Constant]:
    """Give each constant with its interval, which does not go below 0."""
    widths = _quantile(freedom) * np.sqrt(np.diag(covariance))
    for value, width in zip(values.tolist(), widths.tolist(), strict=True):
        yield Constant(value=value, lower=max(value - width, 0.0), upper=value + width)


def _quantile(freedom: int) -> float:
    """Half-width of a 90% interval, in standard deviations estimated from so few runs."""
    return float(stats.t.ppf((1.0 + LEVEL) / 2.0, freedom))


def _require_determined(terms: Array, *, drain: bool) -> None:
    runs, constants = terms.shape
    if runs <= constants:
        raise FitFailed(
            f"{constants} constants require at least {constants + 1} runs, got {runs}. Measure "
            "more runs.",
            outcome="No calibration.",
        )
    if _rank(terms) == constants:
        return
    differs = np.ptp(terms, axis=0) > 0
    if not differs[1]:
        reason = "All runs have the same number of steps. Measure runs with other n or p."
    elif drain:
        reason = (
            "The runs do not distinguish the levels of the tree from the start or the steps. "
            "Measure runs with another number of processors in a pipeline, or leave drain out."
        )
    else:
        reason = "The runs do not distinguish the start from the steps. Measure other n or p."
    raise FitFailed(reason, outcome="No calibration.")


def _rank(terms: Array) -> int:
    """How many constants runs determine [1]."""
    size = np.maximum(np.abs(terms).max(axis=0), np.finfo(float).tiny)
    return int(np.linalg.matrix_rank(terms / size, tol=1e-6))


def _warnings(
    runs: Measurements, kept: NDArray[np.bool_], fitted: NonNegativeFit
) -> Iterator[str]:
    where = [f"p = {p:g}, n = {n:g}" for p, n in zip(runs.axes["p"], runs.axes["n"], strict=True)]
    for i in np.flatnonzero(~kept):
        yield f"The run at {where[i]} is far from the others and was left out. Repeat it."
    names = ("T_0", "the time of a step", "the time of a level")
    for name, run in zip(names, fitted.hangs_on, strict=False):
        if run is not None:
            yield f"{name} depends strongly on the run at {where[np.flatnonzero(kept)[run]]}."
