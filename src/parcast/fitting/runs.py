"""Measurements as a fit takes them: a median for each run, and their scatter about the law.

The scatter is that of the residuals: s^2 = S/f with S their sum of squares and f the degrees of
freedom, runs less the parameters that the runs determine; a parameter with +- counts as the part
of it that the runs determine, as in evidence maximisation [1]_. So few runs leave few degrees or
none. Up to `EXPECTED_FREEDOM` of them are therefore filled up with what is expected beforehand:
the scatter of repetitions, or 3% without any, which is what timings of a program and its law
commonly miss each other by. It is never taken for less than 1%, or than that of repetitions: no
law is better [D].

References
----------
.. [1] D. J. C. MacKay, "Bayesian interpolation," Neural Computation, vol. 4, no. 3,
   pp. 415-447, 1992, :doi:`10.1162/neco.1992.4.3.415`, equation (4.13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import FitFailed, ParameterError, selection
from parcast.timings.columns import PARTS
from parcast.timings.measurements import Measurements
from parcast.units import shown
from parcast.words import listed

EXPECTED: Final = 0.03  # without repetitions [1]
EXPECTED_FREEDOM: Final = 4.0
FLOOR: Final = 0.01
EXACT: Final = 1e-6  # of runs that were made by the law
AXES: Final = ("p", "d", "n")
SAME: Final = 1e-9  # by how much equal times may differ


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeasuredConfigurations:
    """Configurations that were measured, each once."""

    axes: Mapping[str, Array]  # each of shape (runs,)
    measured: Array  # median of the repetitions [s]
    repetitions: float | None  # noise of a median; None without repetitions [1]
    parts: Mapping[str, Array] = field(default_factory=dict)  # the same of parts; NaN: unknown [s]
    scatter: Mapping[str, float | None] = field(default_factory=dict)  # `repetitions` of these
    rest: Array | None = None  # the same of what no known part holds; None: all of it [s]
    of_rest: float | None = None  # noise of it, over the time [1]

    def select(self, kept: NDArray[np.bool_]) -> "MeasuredConfigurations":
        """Keep some of the runs."""
        return replace(
            self,
            axes={axis: column[kept] for axis, column in self.axes.items()},
            measured=self.measured[kept],
            parts={name: column[kept] for name, column in self.parts.items()},
            rest=None if self.rest is None else self.rest[kept],
        )

    def place(self, i: int) -> str:
        """Name a run by its axes."""
        return ", ".join(f"{axis} = {x[i]:g}" for axis, x in self.axes.items())


def require_one_of_each(measurements: Measurements, name: str) -> None:
    """Refuse runs on several machines, or of several call paths."""
    for label, values in measurements.labels.items():
        names = sorted({str(x) for x in values})
        if len(names) > 1:
            raise ParameterError(
                name,
                must=f"be of one {label}",
                got=shown(", ".join(names)),
                hint=("Select one value: ", selection(label, names[0]), "."),
            )


def configurations_of(
    measurements: Measurements, program: Program, machine: Machine
) -> tuple[dict[str, Array], NDArray[np.intp]]:
    """Axes of the configurations of one program on one machine, and that of each measurement."""
    require_one_of_each(measurements, "measurements")
    axes = {}
    amounts = program.parameters() | machine.parameters()
    used = program.axes() | machine.axes()
    for name, column in measurements.axes.items():
        is_known = name in amounts or name in ("p", "d") or name in used
        if is_known:
            axes[name] = column
        elif np.ptp(column) > 0:
            known = ", ".join(x for x in AXES if x in ("p", "d") or x in used)
            hint = f"Use {shown(name)} in a formula of the program, or select one value of it."
            if near := [x for x in PARTS if name.startswith(x.removesuffix("s"))]:
                hint = f"If it is a part of the time, end its name in a unit: {near[0]}."
            raise ParameterError(
                "measurements",
                must=f"vary only along axes that the program uses ({known})",
                got=shown(repr(name)),
                hint=hint,
            )
    if missing := sorted(used - axes.keys() - {"d"}):
        raise ParameterError(
            "measurements",
            must=f"have a column {missing[0]}, which the program uses",
            got=listed(list(measurements.axes)),
            hint=f"Add the {missing[0]} of each run.",
        )
    axes = {name: axes[name] for name in sorted(axes, key=lambda x: (x != "p", x))}
    table, group = np.unique(np.stack(list(axes.values())), axis=1, return_inverse=True)
    return dict(zip(axes, table, strict=True)), np.ravel(group)


def runs_of(
    measurements: Measurements, program: Program, machine: Machine
) -> MeasuredConfigurations:
    """Group measurements into runs, of one program on one machine."""
    axes, group = configurations_of(measurements, program, machine)
    measured = medians(measurements.time, group)
    if len(measured) > 1 and np.ptp(np.log(measured)) < SAME:
        raise FitFailed(
            f"All {len(measured)} runs took {measured[0]:g} s, so they determine no parameters. "
            "Measure runs with different times.",
            outcome="No fit.",
        )
    # What a part took counts where it is known of every repetition.
    unknown = {x: np.isin(group, group[np.isnan(y)]) for x, y in measurements.parts.items()}
    parts = {x: np.where(unknown[x], np.nan, y) for x, y in measurements.parts.items()}
    rest = measurements.time - sum(np.nan_to_num(x) for x in parts.values())
    return MeasuredConfigurations(
        axes=axes,
        measured=measured,
        repetitions=noise_of_repetitions(measurements.time, group),
        parts={name: medians(x, group) for name, x in parts.items()},
        scatter={name: noise_of_repetitions(x, group) for name, x in parts.items()},
        rest=medians(rest, group) if parts else None,
        of_rest=noise_of_repetitions(np.exp(rest / measured[group]), group),
    )


def medians(seconds: Array, group: NDArray[np.intp]) -> Array:
    """Median of the known ones of each group, NaN where none is known. [s]."""
    groups = (seconds[group == i] for i in range(group.max() + 1))
    known = (x[~np.isnan(x)] for x in groups)
    return np.array([np.median(x) if len(x) else np.nan for x in known])


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """Scatter of the logarithm of a run about the law."""

    level: float  # standard deviation [1]
    seen: float  # the same without the least that is assumed [1]
    freedom: float  # degrees of freedom it rests on [1]
    from_runs: float  # of these, those of the residuals [1]
    of_columns: tuple["Noise", ...] = ()  # that a fit is of; none: it is of times

    @property
    def levels(self) -> tuple[float, ...]:
        """Standard deviation in each column. [1]."""
        return tuple(x.level for x in self.of_columns) or (self.level,)

    @property
    def share(self) -> float:
        """Half-width of the 90% interval of a run about the law, as +- says it. [1]."""
        return float(np.expm1(self.level * special.stdtrit(self.freedom, 0.95)))


def expected_noise(repetitions: float | None) -> Noise:
    """Scatter before anything is fitted."""
    level = EXPECTED if repetitions is None else max(repetitions, FLOOR)
    return Noise(level=level, seen=level, freedom=EXPECTED_FREEDOM, from_runs=0.0)


def noise_of(squares: float, runs: int, determined: float, repetitions: float | None) -> Noise:
    """Scatter of runs about the fitted law, from the sum of their squared logarithms."""
    freedom = max(runs - determined, 0.0)
    filled = max(EXPECTED_FREEDOM - freedom, 0.0)
    expected = expected_noise(repetitions).level
    seen = np.sqrt((squares + filled * expected**2) / (freedom + filled))
    least = max(FLOOR, repetitions or 0.0)
    return Noise(
        level=max(float(seen), least),
        seen=max(float(seen), EXACT),
        freedom=freedom + filled,
        from_runs=freedom,
    )


def determined_by_runs(columns: Sequence[Array], deviations: Array) -> list[float]:
    """Parameters that each column determines, counted as the part that +- does not say. [1].

    Columns are Jacobians, (rows, parameters).
    """
    known = np.diag(np.where(np.isfinite(deviations), 1.0 / deviations**2, 0.0))
    of_columns = [rows.T @ rows for rows in columns]
    of_runs = np.sum(of_columns, axis=0)
    scale = np.sqrt(np.diag(of_runs) + np.diag(known))
    scale = np.where(scale > 0, scale, 1.0)
    both = np.linalg.pinv((of_runs + known) / np.outer(scale, scale), rcond=1e-9, hermitian=True)
    return [float(np.trace(both @ (own / np.outer(scale, scale)))) for own in of_columns]


def noise_of_repetitions(seconds: Array, group: NDArray[np.intp]) -> float | None:
    """Standard deviation of the logarithm of a median; None without repetitions. [1]."""
    known = seconds > 0
    log_times, group = np.log(seconds[known]), np.unique(group[known], return_inverse=True)[1]
    count = np.bincount(group)
    freedom = int(np.sum(count - 1))
    if not freedom:
        return None
    mean = np.bincount(group, log_times) / count
    squares = float(np.sum((log_times - mean[group]) ** 2))
    of_median = np.where(count <= 2, 1.0, np.pi / 2)  # variance, over that of a mean
    return float(np.sqrt(squares / freedom * np.mean(of_median / count)))
