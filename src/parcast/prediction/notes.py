"""Notes on a prediction: what limits the program, where it is fastest, and warnings."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Point
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program, doubts_of
from parcast.errors import ParameterError
from parcast.laws.allowances import LawError, how_to_measure
from parcast.prediction.best_processors import least_between
from parcast.prediction.limiting import AlongCounts, changes_in_words
from parcast.show.warning import Rank, RankedWarning, ranked
from parcast.units import Dimension, format_quantity, percent
from parcast.words import axis_value, joined, listed

SHARED_IN_NODE = {  # keys of [node] by the rates that they bear on
    ("compute.rate",): ("memory_bandwidth",),
    ("network.bandwidth", "network.saturation"): ("network_bandwidth", "message_bandwidth"),
}
MOST_LINES = 4  # of what limits, for a grid with many values of d


def limits_of(
    program: Program,
    machine: Machine,
    axes: Mapping[str, Array],
    elasticity: Array,
    dimensions: Mapping[str, Dimension] | None = None,
) -> tuple[str, ...]:
    """Say which resource the time follows most along p, from where on, and what it would save.

    One line for each line of the grid along p, or for the first and the last of many. The
    `elasticity` is that of each resource on the grid.
    """
    others = [(name, values) for name, values in axes.items() if name != "p"]
    order = np.argsort(axes["p"], kind="stable")
    p, lines = axes["p"][order], elasticity.reshape(len(elasticity), len(order), -1)
    return tuple(
        place_of(others, line, dimensions or {})
        + _along(AlongCounts(program, machine, _point(others, line), p, lines[:, order, line]))
        for line in described_lines(lines.shape[2])
    )


def _along(along: AlongCounts) -> str:
    """Say what limits in the range of p, and what more of it would save at the end."""
    saved = along.elasticity[:, -1].max()
    largest = f"{saved:.2g}% at p = {along.p[-1]:.0f}"
    return f"{changes_in_words(along.leading())} (1% faster saves {largest})"


def described_lines(lines: int) -> Sequence[int]:
    """Lines of the grid along p that something is said of: all, or the first and the last."""
    return range(lines) if lines <= MOST_LINES else (0, lines - 1)


def place_of(
    others: list[tuple[str, Array]], line: int, dimensions: Mapping[str, Dimension]
) -> str:
    """Say where a line of the grid along p lies: "d = 4: "."""
    if not others:
        return ""
    place = np.unravel_index(line, [len(values) for _, values in others])
    varied = [
        f"{name} = {axis_value(float(values[i]), dimensions.get(name, 'count'))}"
        for (name, values), i in zip(others, place, strict=True)
        if len(values) > 1
    ]
    return f"{', '.join(varied)}: " if varied else ""


def fastest_of(
    program: Program,
    machine: Machine,
    time: Array,
    axes: Mapping[str, Array],
    dimensions: Mapping[str, Dimension],
) -> Iterator[str]:
    """Say with how many processors a program is fastest, where the grid goes beyond that.

    Of many lines of the grid along p only for the first and the last.
    """
    others = [(name, values) for name, values in axes.items() if name != "p"]
    lines = time.reshape(len(axes["p"]), -1)
    order = np.argsort(axes["p"], kind="stable")
    p = axes["p"][order]
    for line in described_lines(lines.shape[1]):
        along = lines[order, line]
        i = int(np.argmin(along))
        if p[i] == p[-1] or along[-1] <= along[i]:
            continue
        at = _point(others, line)
        try:
            best, least = least_between(program, machine, at, p[max(i - 1, 0) : i + 2])
        except ParameterError:  # the law has no answer at some count between
            best, least = int(p[i]), float(along[i])
        yield (
            f"{place_of(others, line, dimensions)}p = {best} "
            f"({format_quantity(least, 'time', 3)}); a larger p is slower"
        )


def _point(others: list[tuple[str, Array]], line: int) -> Point:
    """Point of a line of the grid along p, without p."""
    place = np.unravel_index(line, [len(values) for _, values in others]) if others else ()
    return {name: float(values[i]) for (name, values), i in zip(others, place, strict=True)}


def warnings_of(program: Program, machine: Machine, axes: Mapping[str, Array]) -> Iterator[str]:
    """Everything that a reader of the times must know."""
    yield from doubts_of(program, machine)
    for described in (program, machine):
        if described.fit is not None:
            yield from described.fit.beyond(described.parameters(), axes["p"])
    oversubscribed = tuple(_oversubscribed(program, machine, axes))
    yield from oversubscribed or beyond_machine(machine, axes["p"])
    servers = machine.storage.servers
    if servers is not None and "d" in axes and axes["d"].max() > servers:
        yield RankedWarning(
            f"{machine.name} has {servers} I/O server{'s' if servers > 1 else ''}: results for "
            f"d > {servers} assume that more of the same kind are added.",
            kind="beyond the servers",
            size=float(axes["d"].max()) / servers,
        )
    if "n" in axes and "n" not in machine.axes() | program.axes():
        yield (
            "The times do not depend on n: no formula in the descriptions uses it. Write the "
            'amounts that grow with the problem size as formulas, such as "2 flop * n^3".'
        )
    about: dict[str, list[int]] = {}  # phases of which the same is said
    grid = dict(zip(axes, np.ix_(*axes.values()), strict=True))
    for i, phase in enumerate(program.phase):
        here = program.at_phase(i, grid)
        said = (phase.warnings(machine), phase.warnings_at(machine, here))
        for text in (*chain(*said), *without_nodes(phase, machine, here)):
            about.setdefault(text, []).append(i)
    for text, phases in about.items():
        if len(phases) == len(program.phase):
            yield text
        else:
            yield from (labelled(program, i, text) for i in phases)


def without_nodes(phase: Phase, machine: Machine, at: Point) -> Iterator[str]:
    """Say what of a node a law ignores whose times follow the rates that it bears on."""
    most = np.max(at["p"])
    if phase.knows_nodes or most <= 1:
        return
    ignored = []
    for rates, keys in SHARED_IN_NODE.items():
        given = [f"node.{key}" for key in keys if getattr(machine.node, key) is not None]
        if given and _follows(phase, machine, {**at, "p": most}, rates):
            ignored += given
    if ignored:
        yield (
            f"{joined(ignored)} {'has' if len(ignored) == 1 else 'have'} no effect: the law "
            f"{phase.law} does not know what the processors of a node share. Times with several "
            "processors on a node may be wrong."
        )


def _follows(phase: Phase, machine: Machine, at: Point, rates: Sequence[str]) -> bool:
    """Whether the times of a phase depend on any of some rates of the machine."""
    twice = {f"{rate}*": np.asarray(2.0) for rate in rates if rate in machine.parameters()}
    if not twice:
        return False
    with suppress(ParameterError):  # where a run stands for a rate that is not given
        return bool(
            np.any(phase.times(machine, {**at, **twice}).time != phase.times(machine, at).time)
        )
    return False


def doubts_of_law(
    errors: Sequence[LawError],
    program: Program,
    machine: Machine,
    *,
    uncertain: bool,
    advises: bool = True,
) -> Iterator[str]:
    """Say where the error of a law was not measured, or that the interval does not include it.

    It `advises` how the error is measured, where that is not being done.
    """
    if uncertain and not errors:
        covered = "the uncertainty of the parameters (+-)"
        if program.fit is not None or machine.fit is not None:
            covered = "what the fitted runs leave open and how far they scatter about the law"
        advice = how_to_measure(law for phase in program.phase for law in phase.laws_within)
        said = f"The interval covers {covered}, not the error of the law."
        yield f"{said} {advice}" if advises else said
    unknown: dict[tuple[str, float], list[str]] = {}  # laws, by where and how much is allowed
    for error in errors:
        if not error.is_measured_here:
            where = f"on {error.platform}" if error.measured else "anywhere"
            unknown.setdefault((where, error.most), []).append(error.law)
    for (where, most), names in unknown.items():
        laws = dict.fromkeys(names)
        said = (
            f"The error of the law{'s' if len(laws) > 1 else ''} {listed([*laws])} was not "
            f"measured {where}: the interval allows {percent(most)} for it, as a precaution."
        )
        yield f"{said} {how_to_measure(names)}" if advises else said


def law_error_of(errors: Sequence[LawError]) -> Iterator[str]:
    """Say what is allowed for the error of each law, and what that is based on."""
    for error in errors:
        least, most = percent(error.least), percent(error.most)
        share = most if least == most else f"{least} to {most}"
        if not error.measured:
            based = "never measured: the widest of all laws"
        elif error.is_own:
            based = f"seen in this program's own runs: {error.measured}"
        elif error.is_measured_here:
            based = f"measured: {error.measured}"
        else:
            based = f"not measured on {error.platform}: twice that of {error.measured}"
        named = f"{error.law}: " if len(errors) > 1 else ""
        yield f"{named}+- {share} in the interval ({based})"


def labelled(program: Program, i: int, warning: str) -> str:
    """Write the name of a phase, where it has one, before a warning."""
    label, known = program.label(i), ranked(warning)
    if not label:
        return known
    kind = f"{label}: {known.kind}"
    return RankedWarning(f"{label}: {known}", kind=kind, rank=known.rank, size=known.size)


def beyond_machine(machine: Machine, p: Array) -> Iterator[str]:
    """Say that a machine has fewer processors, where it has."""
    most = machine.processors
    if most is not None and p.max() > most:
        yield (
            f"{machine.name} has {most} processor{'s' if most > 1 else ''}: results for p > "
            f"{most} assume a larger machine of the same kind."
        )


def _oversubscribed(
    program: Program, machine: Machine, axes: Mapping[str, Array]
) -> Iterator[str]:
    """Say that a machine was measured with ranks that shared a core, if times are made of it."""
    least = machine.oversubscribed_from
    if least is None or axes["p"].max() < least:
        return
    # With two cores or more the network was measured with a core each, only primitives were not.
    if least > 2 and not _has_primitives(program, machine, axes):
        return
    yield RankedWarning(
        f"{machine.name} was measured with more ranks than cores from p = {least} on, where ranks "
        "took turns on a core. These times do not apply to a machine with a core for each rank: "
        f"predict up to p = {least - 1}, or calibrate where more cores are.",
        rank=Rank.SERIOUS,
        kind="oversubscribed",
        size=float(axes["p"].max()),
    )


def _has_primitives(program: Program, machine: Machine, axes: Mapping[str, Array]) -> bool:
    """Whether a time is another without the primitives of the machine."""
    plain = machine.model_copy(update={"primitives": Machine().primitives})
    at = dict(zip(axes, np.ix_(*axes.values()), strict=True))
    at.setdefault("d", machine.servers(at))
    try:
        without = program.times(plain, at).time
    except ParameterError:  # they are needed
        return True
    return not np.array_equal(program.times(machine, at).time, without)


def idle_parameters(program: Program, time: Array, axes: Mapping[str, Array]) -> Iterator[str]:
    """Name varied parameters on which no time depends: something else is taken in their place."""
    own = [name for name in program.parameters() if ".capacities." in f".{name}"]
    for dimension, (name, values) in enumerate(axes.items()):
        if name in ("p", "d", "n") or len(values) == 1:
            continue
        first = np.take(time, [0], axis=dimension)
        if np.all(time == first):
            wins = (
                f" The program's own {', '.join(own)} may override it: vary that instead."
                if own
                else ""
            )
            yield RankedWarning(f"No time depends on {name}.{wins}", rank=Rank.SERIOUS)
