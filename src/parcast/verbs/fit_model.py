"""Times of a program as a function of its free parameters, with their Jacobian.

Laws that know their derivatives give them; those of other laws, plugins among them, are taken by
differences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.amounts import Point
from parcast.machine import Machine
from parcast.models.spmd_slopes import spmd_slopes
from parcast.program import Phase, Program
from parcast.verbs.fit_parameters import Parameter, scaled

Array = NDArray[np.float64]
Slopes = dict[str, Array]

HOLD: Final = 0.05  # of the noise: how far a time alone that is held may be from its value
STEP: Final = 1e-4  # of a logarithm, for differences

KNOWN: Final[Mapping[str, Callable[[Any, Machine, Point], tuple[Array, Slopes]]]] = {
    "spmd": spmd_slopes
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Model:
    """What the fit compares with the runs: logarithms of times or of inverse speedups."""

    program: Program
    machine: Machine
    parameters: tuple[Parameter, ...]
    points: Point  # axes of the runs, each of shape (runs,)
    is_speedup: bool

    def at(self, points: Point) -> "Model":
        """The same at other points."""
        return Model(
            program=self.program,
            machine=self.machine,
            parameters=self.parameters,
            points=points,
            is_speedup=self.is_speedup,
        )

    def logs(self, coordinates: Array) -> tuple[Array, Array]:
        """Logarithms of what was measured, and their Jacobian.

        Parameters
        ----------
        coordinates : ndarray, shape (sets, parameters)

        Returns
        -------
        logs : ndarray, shape (sets, runs)
        jacobian : ndarray, shape (sets, runs, parameters)
        """
        logs, jacobian = self._log_times(coordinates, self.points)
        if self.is_speedup:
            alone, slopes = self.logs_alone(coordinates)
            logs, jacobian = logs - alone, jacobian - slopes
        return logs, jacobian

    def logs_alone(self, coordinates: Array) -> tuple[Array, Array]:
        """The same for one processor and one disk, at the other axes of every run."""
        one = np.ones_like(self.points["p"])
        return self._log_times(coordinates, {**self.points, "p": one, "d": one})

    def _log_times(self, coordinates: Array, points: Point) -> tuple[Array, Array]:
        """Logarithms of times and their Jacobian."""
        at = {**points, **scaled(self.parameters, coordinates)}
        time, slopes = program_slopes(self.program, self.machine, at, self.parameters)
        shape = (len(coordinates), len(points["p"]))
        time = np.broadcast_to(time, shape)
        jacobian = np.zeros((*shape, len(self.parameters)))
        for i, parameter in enumerate(self.parameters):
            slope = slopes.get(parameter.name, np.zeros(()))
            jacobian[..., i] = parameter.by_coordinate(slope, coordinates[:, i, None]) / time
        return np.log(time), jacobian


def program_slopes(
    program: Program, machine: Machine, at: Point, parameters: Sequence[Parameter]
) -> tuple[Array, Slopes]:
    """Time of all phases, and its derivative by the logarithm of each parameter. [s]."""
    time: Array = np.zeros(())
    total: Slopes = {}
    for i, phase in enumerate(program.phase):
        label = program.label(i)
        here = program.at_phase(i, at)
        own = {f"{label}.{name}" if label else name for name, _ in phase.amounts()}
        names = {
            x.name: x.name if x.is_of_machine else x.name.removeprefix(f"{label}.")
            for x in parameters
            if x.is_of_machine or x.name in own
        }
        phase_time, slopes = _phase_slopes(phase, machine, here, list(names.values()))
        time = time + phase_time
        for name, inner in names.items():
            total[name] = total.get(name, np.zeros(())) + slopes.get(inner, np.zeros(()))
    return time, total


def _phase_slopes(
    phase: Phase, machine: Machine, at: Point, names: Sequence[str]
) -> tuple[Array, Slopes]:
    """Time of a phase and its derivatives, by what its law knows or by differences. [s]."""
    if phase.law in KNOWN:
        return KNOWN[phase.law](phase, machine, at)
    time = phase.times(machine, at).time
    found = {}
    for name in names:
        factor = np.asarray(at[f"{name}*"])
        # Backwards only: a level of contention may be 1 already.
        once, twice = (
            phase.times(machine, {**at, f"{name}*": factor * np.exp(-step)}).time
            for step in (STEP, 2.0 * STEP)
        )
        found[name] = (3.0 * time - 4.0 * once + twice) / (2.0 * STEP)
    return time, found
