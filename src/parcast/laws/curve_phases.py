"""Laws in p only as phases of a program: their times do not depend on the machine.

A forecast fits these laws to timings as curves (`parcast.laws.curves`, with formulas, assumptions
and sources); a description uses them if a phase is known by its serial fraction, or by the times
of its terms. Phases have the parameters of the sources, curves the coefficients of terms.
Amdahl's two terms count as computing, the growing term as communication [D].
"""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import Of, parameter
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import LAW_KEY, Phase
from parcast.errors import require
from parcast.laws.curves import (
    AMDAHL,
    GUSTAFSON,
    LINEAR,
    LOGARITHMIC,
    POWER,
    QUADRATIC,
    USL,
    SumOfTerms,
)

PERCENT = 'Write for example "5%".'
Seconds: TypeAlias = Annotated[Amount, Of("time", above=0.0, hint='Write for example "80 s".')]
Term: TypeAlias = Annotated[Amount, Of("time", hint='Write for example "2 s".')]
Share: TypeAlias = Annotated[Amount, Of("fraction", most=1.0, hint=PERCENT)]


class CurvePhase(Phase):
    """A phase whose time depends only on p and the parameters of its law."""

    @abstractmethod
    def compute(self, p: Array, values: dict[str, Any]) -> Array:
        """Time of Amdahl's two terms [s]."""

    def communication(self, p: Array, values: dict[str, Any]) -> Array:  # noqa: ARG002 - for derived laws
        """Time of what grows with the processors [s]."""
        return np.zeros(())

    def cycle(self, machine: Machine, at: Point) -> Breakdown:  # noqa: ARG002 - the same on all
        """Time of one cycle at every point of a grid [s]."""
        p, values = _processors(at), self.values(at)
        return Breakdown(
            compute=self.compute(p, values), communication=self.communication(p, values)
        )


class AmdahlPhase(CurvePhase):
    """Fixed work with a serial fraction.

    >>> phase = AmdahlPhase(law="amdahl", t1="80 s", serial="25%")
    >>> phase.times(Machine(), {"p": [1, 2, 8]}).time
    array([80. , 50. , 27.5])
    """

    source = AMDAHL.source
    fitted = ("t1", "serial")
    law: Literal["amdahl"] = LAW_KEY
    t1: Seconds = parameter(..., "Time on one processor.")
    serial: Share = parameter(..., "Serial fraction of that time.")

    def compute(self, p: Array, values: dict[str, Any]) -> Array:
        """Time [s]."""
        return _fixed_work(p, values["t1"], values["serial"])


class UslPhase(CurvePhase):
    """Contention for shared resources, and the cost of keeping them coherent.

    >>> phase = UslPhase(law="usl", t1="100 s", contention="10%", coherency="1%")
    >>> phase.times(Machine(), {"p": [1, 2, 10]}).time
    array([100.,  56.,  28.])
    """

    source = USL.source
    fitted = ("t1", "contention", "coherency")
    law: Literal["usl"] = LAW_KEY
    t1: Seconds = parameter(..., "Time on one processor.")
    contention: Share = parameter(..., "Fraction of the work that waits for shared resources.")
    coherency: Annotated[Amount, Of("fraction", hint=PERCENT)] = parameter(
        ..., "Coherency cost of one pair of processors, as a fraction of t1."
    )

    def compute(self, p: Array, values: dict[str, Any]) -> Array:
        """Time without the cost of coherency [s]."""
        return _fixed_work(p, values["t1"], values["contention"])

    def communication(self, p: Array, values: dict[str, Any]) -> Array:
        """Cost of coherency [s]."""
        return np.asarray(values["t1"] * values["coherency"] * (p - 1.0))


class GustafsonPhase(CurvePhase):
    """Work that grows with p, so that the time stays the same.

    >>> phase = GustafsonPhase(law="gustafson", time="100 s", serial="60%")
    >>> phase.work(Machine(), {"p": [1, 10]}) / phase.times(Machine(), {"p": [1, 10]}).time
    array([1. , 4.6])
    """

    source = GUSTAFSON.source
    fitted = ("time",)
    law: Literal["gustafson"] = LAW_KEY
    time: Seconds = parameter(..., "Time, the same for every p.")
    serial: Share = parameter("0", "Serial fraction of that time on p processors.")

    def compute(self, p: Array, values: dict[str, Any]) -> Array:
        """Time [s]."""
        return np.asarray(values["time"] * np.ones_like(p))

    def work(self, machine: Machine, at: Point) -> Array:  # noqa: ARG002 - the same on all
        """Work of all cycles on one processor, the time and the scaled speedup [s]."""
        p, values = _processors(at), self.values(at)
        speedup = p - values["serial"] * (p - 1)
        return np.asarray(self.cycles(at) * values["time"] * speedup)


class PowerPhase(CurvePhase):
    """Each doubling of p divides the time by the same factor.

    >>> phase = PowerPhase(law="power", t1="100 s", exponent=0.5)
    >>> phase.times(Machine(), {"p": [1, 4, 100]}).time
    array([100.,  50.,  10.])
    """

    source = POWER.source
    fitted = ("t1", "exponent")
    law: Literal["power"] = LAW_KEY
    t1: Seconds = parameter(..., "Time on one processor.")
    exponent: Annotated[Amount, Of("count", hint="Write for example 0.8.")] = parameter(
        ..., "Exponent of the decrease with p: 1 is perfect scaling."
    )

    def compute(self, p: Array, values: dict[str, Any]) -> Array:
        """Time [s]."""
        return np.asarray(values["t1"] * p ** -values["exponent"])


class _GrowingPhase(CurvePhase):
    """Amdahl's two terms, and one that grows with the processors."""

    curve: ClassVar[SumOfTerms]
    fitted = ("fixed", "shared", "growing")
    fixed: Term = parameter("0 s", "Time that does not depend on p, a.", example="1 s")
    shared: Term = parameter(
        "0 s", "Time of the shared work on one processor, b.", example="100 s"
    )
    growing: Term = parameter("0 s", "Factor of the term that grows with p, c.", example="10 ms")

    def compute(self, p: Array, values: dict[str, Any]) -> Array:
        """Time of the first two terms [s]."""
        return np.asarray(values["fixed"] + values["shared"] / p)

    def communication(self, p: Array, values: dict[str, Any]) -> Array:
        """Time of the last term [s]."""
        return np.asarray(values["growing"] * self.curve.terms[-1](p))


class LogarithmicPhase(_GrowingPhase):
    """A cost that grows as a tree over the processors."""

    curve, source = LOGARITHMIC, LOGARITHMIC.source
    law: Literal["logarithmic"] = LAW_KEY


class LinearPhase(_GrowingPhase):
    """A cost that grows with every processor.

    >>> phase = LinearPhase(law="linear", fixed="2 s", shared="80 s", growing="1 s")
    >>> phase.times(Machine(), {"p": [1, 8]}).time
    array([83., 20.])
    """

    curve, source = LINEAR, LINEAR.source
    law: Literal["linear"] = LAW_KEY


class QuadraticPhase(_GrowingPhase):
    """A cost of every pair of processors."""

    curve, source = QUADRATIC, QUADRATIC.source
    law: Literal["quadratic"] = LAW_KEY


def _processors(at: Point) -> Array:
    """Give the processors of a grid, at least 1."""
    p = np.asarray(at["p"], dtype=np.float64)
    require("p", p, p >= 1, must="be at least 1", hint="Count processors from 1.")
    return p


def _fixed_work(p: Array, t1: Array, serial: Array) -> Array:
    """Time of work of which a fraction cannot be shared, Amdahl's law [s]."""
    return np.asarray(t1 * (serial + (1 - serial) / p))
