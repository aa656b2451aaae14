"""How wrong laws have been: the allowance for their error in the intervals of predicted times.

An allowance h is the half-width of a 90% interval, from T/(1 + h) to T*(1 + h), around a time
that a law predicts from constants that are right: those of a data sheet, of benchmarks or of small
runs. It comes on top of the +- of these constants.

    h = h_measured(law, kind of platform)               where the law was compared with runs
    h = 2 * the widest h_measured(law, other kinds)     where it was on other kinds only       [D]
    h = the widest h_measured of all laws               where it never was                     [D]

The kinds are one node (no network is described), a network where most pairs have a link of their
own (level of contention w < 1/2), and a bus. Of a few runs the 90th percentile of errors is
little known, so h is the lesser of the worst error and 2.44 medians, which is the 90th percentile
of normal errors, and at least `LEAST`, 2.44 times the median that all laws had in a noisier
half-hour of one machine (4.5%). The figures behind it are in `tests/laws/data/law_errors.csv`.

Counted programs know more: their error follows what takes the time, see `counted_half_width`.

What a program's description says of its own law errors, as `parcast fit` and `parcast validate`
write it, takes the place of all this on that kind of platform::

    ln(1 + h) = ln(1 + h_own) + 0.2 k ,   k doublings from p to that of the runs             [D]

`docs/explanation/law-errors.md` says on what the 0.2 rests.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from parcast.advice import Choice, ours
from parcast.aliases import Array
from parcast.descriptions.amount import Point
from parcast.descriptions.fit_record import BUS, KINDS, NODE, SWITCH, OwnLawError
from parcast.descriptions.machine import LEVEL, Machine
from parcast.descriptions.program import Phase, Program

IS_BUS: Final = 0.5  # level of contention from which a network is a bus [D]
LEAST: Final = 0.11
BEYOND_RUNS: Final = 0.2  # of log time, for each doubling of p from an own law error [D]
ELSEWHERE: Final = 2.0  # times as wide on a kind of platform where a law was not measured [D]
_CORES: Final = "two cores, sizes 4 to 10 times those calibrated"
_BOX: Final = "a cluster in a box, sizes 2.5 to 5 times those calibrated"
_WRITER: Final = "a writer on a cluster in a box, 1 to 16 ranks and 1 to 8 disks"
_BTIO: Final = "16 runs of NAS BT with I/O on a simulated SP-2"
MEASURED: Final[dict[str, dict[str, tuple[float, str]]]] = {  # by law and kind of platform
    "spmd": {SWITCH: (0.15, _BTIO)},
    "spmd striped": {SWITCH: (LEAST, _WRITER)},
    "spmd clustered": {SWITCH: (LEAST, _WRITER)},
    "array_io": {NODE: (0.21, "144 requests on two cores")},
    "regions": {NODE: (LEAST, "a stencil on two cores, sizes 2 to 5 times those timed")},
    "pipeline": {
        NODE: (LEAST, "2 to 16 ranks on two cores"),
        SWITCH: (LEAST, "2 to 8 ranks on a cluster in a box"),
    },
    "fractal": {NODE: (LEAST, _CORES), SWITCH: (0.16, _BOX), BUS: (LEAST, _BOX)},
    "gauss": {NODE: (0.12, _CORES), SWITCH: (0.21, _BOX), BUS: (0.35, _BOX)},
    "matmul": {NODE: (LEAST, _CORES), SWITCH: (0.12, _BOX), BUS: (LEAST, _BOX)},
    "monte_carlo": {NODE: (LEAST, _CORES), SWITCH: (0.14, _BOX), BUS: (0.16, _BOX)},
    "sort": {NODE: (LEAST, _CORES), SWITCH: (0.21, _BOX), BUS: (LEAST, _BOX)},
    "square_sort": {NODE: (LEAST, _CORES), SWITCH: (0.41, _BOX), BUS: (0.41, _BOX)},
    "stencil": {NODE: (0.13, _CORES), SWITCH: (0.23, _BOX), BUS: (0.16, _BOX)},
}
VALIDATED: Final = {  # laws that `parcast validate` can test on any machine, and by which program
    **{x: x for x in ("fractal", "gauss", "matmul", "monte_carlo", "sample_sort", "sort")},
    **{x: x for x in ("square_sort", "stencil")},
    **{"pipeline": "pipeline", "array_io": "array-io"},
}
WIDEST: Final = max(h for kinds in MEASURED.values() for h, _ in kinds.values())

COMPUTE: Final = 0.03  # of counted programs: half-width of log time of computing alone
OWN: Final = 0.35  # of what a rank waits for by itself
SHARED: Final = 0.3  # of what the shared network adds: 0.24 on the one that was measured [D]
BEYOND: Final = 0.1  # of each octave that counts are extrapolated by
BEYOND_SENT: Final = 0.4  # of each octave, of what is sent
_COUNTED: Final = "270 runs of NAS kernels on three simulated networks"


@dataclass(frozen=True, slots=True)
class LawError:
    """The allowance for one law on one kind of platform."""

    law: str
    platform: str  # one of `KINDS`; "" where the law knows more than that
    least: float  # h, over the points asked for [1]
    most: float
    measured: str  # on what; "" where this law never was
    is_own: bool = False  # whether the description of the program says it

    @property
    def is_measured_here(self) -> bool:
        """Whether the law was measured on this kind of platform."""
        is_known = self.platform in MEASURED.get(self.law, {})
        return self.is_own or not self.platform or is_known


def allowance(
    law: str, platform: str, own: Iterable[OwnLawError] = (), known_as: str = ""
) -> tuple[float, str]:
    """Half-width h of the error of a law on a kind of platform [1], and what it is based on.

    `known_as` is its name in `MEASURED`, if it is another one: that of a variant. `own` are those
    of the program, which say little of other kinds of platform: there they only widen it.
    """
    general = MEASURED.get(known_as or law, {})
    seen = {x.platform: (x.error, x.runs) for x in own if x.law == law}
    if platform in seen:
        return seen[platform]
    if platform in general:
        return max([general[platform], *seen.values()], key=lambda x: x[0])
    widest, where = max([*general.values(), *seen.values()], default=(0.0, ""))
    if general:
        return ELSEWHERE * widest, where
    return max(ELSEWHERE * widest, WIDEST), ""


def _known_as(law: str, phase: Phase) -> str:
    """Name under which the errors of a law of a phase are known."""
    own = f"{law} {phase.variant}"
    return own if own in MEASURED and law == phase.law else law


def how_to_measure(laws: Iterable[str]) -> str:
    """Say how the error of some laws is measured: by `validate`, or with runs of the program.

    >>> how_to_measure(["sort"])
    'Measure it: parcast validate sort'
    >>> how_to_measure(["spmd"])
    'Compare it with runs at a few p: parcast validate PROGRAM MACHINE TIMINGS'
    """
    names = list(dict.fromkeys(laws))
    tests = [str(ours("validate", VALIDATED[law])) for law in names if law in VALIDATED]
    measure = [f"Measure it: {' and '.join(tests)}"] if tests else []
    others = [law for law in names if law not in VALIDATED]
    which = f"{' and '.join(others)} " if tests else ""
    runs = ours("validate", Choice("PROGRAM"), Choice("MACHINE"), Choice("TIMINGS"))
    compare = [f"Compare {which or 'it '}with runs at a few p: {runs}"] if others else []
    return ". ".join([*measure, *compare])


def platform_of(machine: Machine, at: Point) -> Array:
    """Index of the kind of platform among `KINDS`, at every point of a grid."""
    network = machine.network
    tables = {name.partition(".")[0] for name in machine.parameters()}
    if not tables & {"network", "primitives"}:
        return np.asarray(KINDS.index(NODE))
    if network.contention is None and network.bandwidth is None:
        is_bus = np.asarray(network.saturation is not None)  # one rate for all
    else:
        said = {key: value for key, value in at.items() if key != LEVEL}
        said["p"] = np.maximum(said["p"], 2)  # formulas of a network need not hold for a lone one
        is_bus = machine.contention(said) >= IS_BUS
    return np.where(is_bus, KINDS.index(BUS), KINDS.index(SWITCH))


def platform_here() -> str:
    """Kind of platform of runs on this machine, or on the testbed that this runs on."""
    from parcast.testbed.testbed import testbed_here

    testbed = testbed_here()
    if testbed is None:
        return NODE
    return BUS if testbed.bus else SWITCH


def law_half_width(program: Program, machine: Machine, at: Point) -> Array:
    """Half-width of the 90% interval of log time from the errors of the laws of all phases.

    Phases err together, each by its share of the time: their laws or their platform are the same.
    """
    own = program.law_error
    if len(program.phase) == 1:
        return _of_phase(program.phase[0], machine, at, own)
    total, weighted = np.zeros(()), np.zeros(())
    for i, phase in enumerate(program.phase):
        here = program.at_phase(i, at)
        time = phase.times(machine, here).time
        total = total + time
        weighted = weighted + time * _of_phase(phase, machine, here, own)
    return np.asarray(weighted / total)


def _of_phase(phase: Phase, machine: Machine, at: Point, own: Sequence[OwnLawError]) -> Array:
    """Half-width of log time of one phase."""
    kinds = platform_of(machine, at)
    known = phase.half_width(machine, at)
    if known is not None:
        return _own_or(known, phase.law, kinds, at, own)
    widest = np.zeros(())
    for law in phase.laws_within:
        known_as = _known_as(law, phase)
        general = np.log1p([allowance(law, kind, own, known_as)[0] for kind in KINDS])[kinds]
        widest = np.maximum(widest, _own_or(general, law, kinds, at, own))
    return np.asarray(widest)


def _own_or(
    general: Array, law: str, kinds: Array, at: Point, own: Sequence[OwnLawError]
) -> Array:
    """Half-width of log time that the program's own runs of a law say, where they do."""
    width = general
    for x in own:
        if x.law == law:
            said = np.log1p(x.error) + BEYOND_RUNS * x.doublings(at["p"])
            width = np.where(kinds == KINDS.index(x.platform), said, width)
    return np.asarray(width)


def law_errors(program: Program, machine: Machine, at: Point) -> tuple[LawError, ...]:
    """Allowances that hold somewhere on a grid, each once."""
    errors: list[LawError] = []
    for i, phase in enumerate(program.phase):
        here = program.at_phase(i, at)
        kinds = platform_of(machine, here)
        general = phase.half_width(machine, here)
        own = {(x.law, KINDS.index(x.platform)): x for x in program.law_error}
        for kind in np.unique(kinds).tolist():
            for law in phase.laws_within if general is None else (phase.law,):
                if seen := own.get((law, kind)):
                    errors.append(_seen(seen, kinds, here))
                elif general is not None:
                    ends = float(np.expm1(general.min())), float(np.expm1(general.max()))
                    errors.append(LawError(law, "", *ends, _COUNTED))
                else:
                    known_as = _known_as(law, phase)
                    h, where = allowance(law, KINDS[kind], program.law_error, known_as)
                    errors.append(LawError(known_as, KINDS[kind], h, h, where))
    return together(errors)


def _seen(own: OwnLawError, kinds: Array, at: Point) -> LawError:
    """What is allowed for an error that the program's description says."""
    doublings, here = np.broadcast_arrays(own.doublings(at["p"]), kinds)
    beyond = doublings[here == KINDS.index(own.platform)]
    least, most = np.expm1(np.log1p(own.error) + BEYOND_RUNS * np.sort(beyond)[[0, -1]])
    return LawError(own.law, own.platform, float(least), float(most), own.runs, is_own=True)


def together(errors: Iterable[LawError]) -> tuple[LawError, ...]:
    """Give each law and kind of platform once, with the least and the most that is allowed."""
    by_place: dict[tuple[str, str], list[LawError]] = {}
    for error in errors:
        by_place.setdefault((error.law, error.platform), []).append(error)
    return tuple(
        replace(some[0], least=min(x.least for x in some), most=max(x.most for x in some))
        for some in by_place.values()
    )


def counted_half_width(*, own: Array, shared: Array, beyond: Array) -> Array:
    """Half-width of log time of a counted program, from the shares of what takes its time [1].

    `own` is what each rank waits for by itself (startups, bytes at the rate of a pair,
    collectives), `shared` what the network shared by all adds, and `beyond` how many octaves p is
    from the nearest count.
    """
    counts = beyond * (BEYOND + BEYOND_SENT * (own + shared))
    return np.asarray(np.sqrt(COMPUTE**2 + (OWN * own) ** 2 + (SHARED * shared) ** 2 + counts**2))
