"""Measurements as a fit takes them: one median for each run, and which runs can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import FitFailed, ParameterError
from parcast.machine import Machine
from parcast.measurements import Measurements
from parcast.program import Program
from parcast.units import shown
from parcast.verbs.fit_noise import noise_of_repetitions

Array = NDArray[np.float64]

AXES: Final = ("p", "d", "n")
SAME: Final = 1e-9  # by how much equal times may differ


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Runs:
    """Configurations that were measured, each once."""

    axes: Mapping[str, Array]  # each of shape (runs,)
    measured: Array  # median of the repetitions [s]
    repetitions: float | None  # noise of a median; None without repetitions [1]

    def select(self, kept: NDArray[np.bool_]) -> "Runs":
        """Keep some of the runs."""
        axes = {axis: column[kept] for axis, column in self.axes.items()}
        return Runs(axes=axes, measured=self.measured[kept], repetitions=self.repetitions)


def runs_of(measurements: Measurements, program: Program, machine: Machine) -> Runs:
    """Group measurements into runs.

    Raises
    ------
    ParameterError
        If they are of several programs or machines, or have an axis the program does not know.
    FitFailed
        If all times are the same.
    """
    for label, values in measurements.labels.items():
        names = sorted({str(x) for x in values})
        if len(names) > 1:
            raise ParameterError(
                f"measurements must be of one {label}, got {shown(', '.join(names))}. "
                f"Select one value: select({label}={names[0]!r})."
            )
    axes = {}
    amounts = program.parameters() | machine.parameters()
    used = {axis for amount in amounts.values() for axis in amount.expression.axes}
    for name, column in measurements.axes.items():
        is_known = name in amounts or name in ("p", "d") or name in used
        if is_known:
            axes[name] = column
        elif np.ptp(column) > 0:
            known = ", ".join(x for x in AXES if x in ("p", "d") or x in used)
            raise ParameterError(
                f"measurements must vary in axes that the program knows ({known}), got "
                f"{shown(repr(name))}. Write a formula in n, or select one value of it."
            )
    table, group = np.unique(np.stack(list(axes.values())), axis=1, return_inverse=True)
    group = np.ravel(group)
    log_times = np.log(measurements.time)
    measured = np.array([np.median(measurements.time[group == i]) for i in range(table.shape[1])])
    if len(measured) > 1 and np.ptp(np.log(measured)) < SAME:
        raise FitFailed(
            f"No fit. All {len(measured)} runs took {measured[0]:g} s, so nothing tells one "
            "parameter from another. Measure runs whose times differ."
        )
    return Runs(
        axes=dict(zip(axes, table, strict=True)),
        measured=measured,
        repetitions=noise_of_repetitions(log_times, group),
    )
