"""The cost of a program's regions, and how it depends on p and n.

Runs whose regions were timed go in, at several processor counts and sizes; a program made of
regions comes out, which `predict` and `match` take to other numbers, sizes and machines.
Iterations, calls and bytes become formulas of p and n, loops get the time of an iteration, and
what communicates or accesses files is left to the machine's figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

import numpy as np

from parcast.characterisation.loops import (
    CLOCKS,
    DescribedLoop,
    complex_loop,
    is_counted,
    simple_loop,
    work_of,
)
from parcast.characterisation.notes import notes_of, perturbed_by_count
from parcast.characterisation.result import Characterisation
from parcast.characterisation.rows import Called, Rows, keys_of_called, keys_of_loop, program_text
from parcast.characterisation.runs import RegionRuns, RunsOfProgram, runs_of_program
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, phase_of
from parcast.descriptions.toml_files import MachineLike, as_machine
from parcast.errors import Argument, FitFailed, ParameterError, as_list
from parcast.importers.registry import as_measurements
from parcast.laws.count_formulas import count_formula
from parcast.laws.regions import RegionsPhase
from parcast.timings.disturbed import without_disturbed
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import MeasurementsLike
from parcast.timings.profile import DISK_KINDS, LOOP_KINDS, RunProfile

UNNAMED: Final = Machine.model_fields["name"].default
MOST_LISTED: Final = 12  # counts or sizes in one remark


def characterise(
    runs: Sequence[RunProfile],
    *,
    size: str = "n",
    clock: str | None = None,
    machine: MachineLike | None = None,
    plain: MeasurementsLike | None = None,
    name: str | None = None,
) -> Characterisation:
    """Derive the region model of a program from runs whose regions were timed.

    Parameters
    ----------
    runs : sequence of RunProfile
        Profiles of one program, at least one, as in `parcast.read_profiles(paths).runs`.
    size : str, default "n"
        The parameter of the runs that formulas call n.
    clock : {"processor", "wall"}, optional
        Clock for the loops. Processor time is that of the thread: it contains neither other
        processes on the machine nor other threads of the program. By default it is used where
        the profiles have it; those of Caliper, Score-P and TALP do not.
    machine : Machine or path, optional
        The machine of the runs. With its rate, the times of iterations become operations, so that
        the model holds for machines of other rates. With its network, the predicted communication
        is compared with the runs.
    plain : Measurements, table or path, optional
        Times of the same runs without timed regions, to determine the overhead of timing. [s]
    name : str, optional
        Name of the program. By default that in the runs.

    Returns
    -------
    Characterisation
        The program, `toml` with its description, and the regions with their shares of the time.

    Raises
    ------
    FileProblems
        If the runs are of several programs or regions.
    FitFailed
        If a loop took no time, or the counts of a complex loop do not determine its parts.
    ParameterError
        If there are no runs, or the clock is unknown or not in the profiles.

    Examples
    --------
    >>> import parcast
    >>> runs = parcast.read_profiles("examples/stencil/runs.jsonl").runs
    >>> parcast.characterise(runs)
    Characterisation(stencil: 4 regions, 6 runs)
    """
    given = as_list("runs", runs, hint="parcast.read_profiles(...).runs gives them.")
    if not given:
        raise ParameterError("runs", must="be at least one", got="none", hint="Name a profile.")
    clock = _clock(given, clock)
    kept, disturbed = without_disturbed(given)
    gathered = runs_of_program(kept, size=size)
    machine = None if machine is None else as_machine(machine)
    plain = None if plain is None else as_measurements(plain)
    if plain is not None:
        require_times_of_runs("plain", plain.measure)
    rate = _rate(machine)
    parts, conditions = _parts(gathered, clock)
    keys = [
        keys_of_loop(x, rate) if isinstance(x, DescribedLoop) else keys_of_called(x)
        for x, _ in parts
    ]
    remarks, where = _remarks(clock, machine, rate), _measured_on(gathered, machine, rate)
    text, program = _described(name or gathered.program, gathered, remarks, keys, where)
    described_as = cast(RegionsPhase, program.phase[0]).region
    table = Rows(gathered=gathered, clock=clock, machine=machine, rate=rate)
    rows = tuple(
        table.row(part, region, described)
        for (part, region), described in zip(parts, described_as, strict=True)
    )
    loops = [part for part, _ in parts if isinstance(part, DescribedLoop)]
    explained = {
        described.name: share
        for (_, region), described in zip(parts, described_as, strict=True)
        if (share := table.explained(region, described)) is not None
    }
    perturbed = () if plain is None else perturbed_by_count(gathered, plain)
    perturbation, warnings = notes_of(
        gathered, loops, rows, clock=clock, perturbed=perturbed, explained=explained
    )
    return Characterisation(
        program=program,
        toml=text,
        regions=rows,
        runs=len(kept),
        p=tuple(int(p) for p in np.unique(gathered.p)),
        n=() if gathered.n is None else tuple(np.unique(gathered.n).tolist()),
        largest=gathered.place_of(gathered.largest),
        clock=clock,
        conditions=conditions,
        perturbation=perturbation,
        perturbed=perturbed or None,
        uncovered=gathered.uncovered,
        warnings=(*disturbed, *warnings),
    )


def _clock(runs: Sequence[RunProfile], wanted: str | None) -> str:
    """Choose the clock of loops."""
    has_processor = not any(rank.is_wall_only for run in runs for rank in run.ranks)
    if wanted is None:
        return "processor" if has_processor else "wall"
    if wanted not in CLOCKS:
        raise ParameterError("clock", must="be processor or wall", got=f"{wanted!r:.60}")
    if wanted == "processor" and not has_processor:
        raise ParameterError(
            "clock",
            must="be wall for profiles without processor times",
            got="processor",
            hint="Profiles of parcast itself have processor times.",
        )
    return wanted


def _rate(machine: Machine | None) -> float | None:
    """Operations a second of the machine of the runs, if it says them without a formula."""
    if machine is None or machine.compute.rate is None:
        return None
    if machine.compute.rate.expression.axes:
        raise ParameterError(
            "compute.rate of the machine of the runs",
            must="be a plain rate",
            got="a formula",
            hint="Give the rate of one processor.",
        )
    return float(machine.need("compute.rate", {}, why="the operations of an iteration"))


def _parts(
    gathered: RunsOfProgram, clock: str
) -> tuple[list[tuple[DescribedLoop | Called, RegionRuns]], dict[str, float]]:
    """Give every region as the program file has it; of complex loops each small region."""
    parts: list[tuple[DescribedLoop | Called, RegionRuns]] = []
    conditions: dict[str, float] = {}
    refusals = []
    for region in gathered.regions:
        try:
            if region.kind == "complex":
                loops, conditions[region.name] = complex_loop(region, clock)
                parts += [(loop, region) for loop in loops]
            elif not is_counted(region, clock):
                parts += [(loop, region) for loop in work_of(region, clock)]
            elif region.kind in LOOP_KINDS:
                parts.append((simple_loop(region, clock), region))
            else:
                parts.append((_called(region), region))
        except FitFailed as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise FitFailed(refusals[0], below=refusals[1:])
    return parts, conditions


def _called(region: RegionRuns) -> Called:
    """Region that communicates or accesses files."""
    together = region.kind in DISK_KINDS
    calls, volume = region.most("calls"), region.most("volume")
    p, n = region.p, region.n
    if together:
        volume = region.all_together("volume")
    # With one processor nobody communicates, whatever the program counts there.
    counted = np.ones(len(p), dtype=bool) if together or not np.any(p > 1) else p > 1
    p, calls, volume = p[counted], calls[counted], volume[counted]
    n = None if n is None else n[counted]
    called = calls > 0
    has_bytes = region.kind != "barrier" and bool(np.any(volume[called] > 0))
    each = volume[called] / calls[called]
    return Called(
        name=region.name,
        kind=region.kind,
        calls=count_formula(calls, p, n),
        volume=count_formula(each, p[called], None if n is None else n[called])
        if has_bytes
        else None,
    )


def _source(gathered: RunsOfProgram) -> str:
    many = "s" if len(gathered.runs) > 1 else ""
    return f"{len(gathered.runs)} run{many} at {'; '.join(_axes(gathered))}"


def _axes(gathered: RunsOfProgram) -> Iterator[str]:
    """List the values of p and n."""
    for axis, values in (("p", gathered.p), ("n", gathered.n)):
        if values is not None:
            several = [f"{x:g}" for x in np.unique(values)]
            more = ", ..." if len(several) > MOST_LISTED else ""
            yield f"{axis} = {', '.join(several[:MOST_LISTED])}{more}"


def _described(
    name: str,
    gathered: RunsOfProgram,
    remarks: Sequence[str],
    keys: Sequence[dict[str, str]],
    where: str,
) -> tuple[str, Program]:
    """Text of the program file, and the program."""
    source = _source(gathered)
    text = program_text(name, source, remarks, keys, measured_on=where)
    phase = phase_of({"law": "regions", "measured_on": where, "region": keys})
    return text, Program(name=name, source=source, phase=(phase,))


def _measured_on(gathered: RunsOfProgram, machine: Machine | None, rate: float | None) -> str:
    """Name of the machine of the runs, described or their first host; "" of operations."""
    if rate is not None:
        return ""
    if machine is not None and machine.name != UNNAMED:
        return machine.name
    return min((x.host for run in gathered.runs for x in run.ranks if x.host), default="")


def _remarks(clock: str, machine: Machine | None, rate: float | None) -> list[str]:
    """Say above the program what its figures are."""
    of = f" on {machine.name}" if machine is not None and machine.name != UNNAMED else ""
    what = f"Times of loops are {clock} times{of}, at the optimisation level of the runs."
    if rate is not None:
        return [what, f"Operations are these times multiplied by {rate:g} flop/s."]
    return [
        what,
        "They are valid for the machine of the runs only: give compute.rate with "
        f"{Argument('machine')} for others.",
    ]
