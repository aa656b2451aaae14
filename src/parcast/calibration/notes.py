"""What a reader of a calibration must know: what disturbed it, and what did not settle."""

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Final

from parcast.calibration.jobs import Course, Job
from parcast.calibration.result import Host, Measured, Sample, Table
from parcast.units import percent, shown

RESTLESS: Final = 0.10  # between-launch coefficient of variation from which a value is named [1]
BUSY: Final = 0.5  # of a core each, that other programs use
FREQUENT: Final = 0.05  # share of outliers from which they are told
MOST_NAMED: Final = 6
LONGEST: Final = 300  # characters of why a launch was lost


def notes_of(
    jobs: Sequence[Job],
    measured: Sequence[Measured],
    tables: Sequence[Table],
    host: Host,
    course: Course,
    *,
    least: int,
    target: float,
) -> Iterator[str]:
    """Say what may be wrong with what was measured, most important first."""
    if course.was_interrupted:
        yield "It was interrupted. What was measured until then is here."
    yield from _lost(jobs)
    yield from _stepped(jobs)
    yield from _another_mpi(jobs)
    yield from _crowded(host)
    if host.load_before > BUSY * host.cores:
        yield (
            f"Other programs kept the machine busy: the load average was {host.load_before:.2g} "
            f"on {host.cores} cores before it began. Measure again when it is quiet."
        )
    if course.was_out_of_time:
        yield from _out_of_time(jobs, least, course.cut)
    restless = [f"{x.key} {percent(x.cv)}" for x in measured if x.cv > RESTLESS]
    if restless:
        yield (
            f"Launches differ by more than {percent(RESTLESS)} (standard deviation over mean): "
            f"{_listed(restless)}. Something else runs, or the clock frequency changes."
        )
    wide = [_width(x) for x in measured if not x.settled]
    if wide:
        yield (
            f"Not settled to +-{percent(target)} within 90 % intervals: {_listed(wide)}. "
            "More launches narrow them."
        )
    yield from _unsettled_tables(tables, target)
    yield from _outliers(tables)
    yield from _pair(measured)


def _lost(jobs: Sequence[Job]) -> Iterator[str]:
    """Name launches that failed, and why."""
    for job in jobs:
        if job.lost:
            of = len(job.lost) + len(job.launches)
            reason = shown(job.lost[-1], limit=LONGEST)
            yield f"{job.title}: {len(job.lost)} of {of} launches lost. The last: {reason}"
        reasons = {x.facts["refused"] for x in job.launches if "refused" in x.facts}
        for reason in sorted(reasons):
            yield f"{job.title}: not all sizes were measured: {reason}."


def _another_mpi(jobs: Sequence[Job]) -> Iterator[str]:
    """Say where the compiled ping-pong was linked with another MPI than the rest."""
    facts = [launch.facts for job in jobs for launch in job.launches]
    compiled = {_library(x["compiled_library"]) for x in facts if "compiled_library" in x}
    others = {_library(x["library"]) for x in facts if "library" in x}
    if compiled and others and compiled != others:
        yield (
            f"The ping-pong was measured with {shown(min(compiled))}, everything else with "
            f"{shown(min(others))}. Put the mpicc of the MPI that mpi4py uses beside its mpiexec."
        )


def _out_of_time(jobs: Sequence[Job], least: int, cut: str) -> Iterator[str]:
    """Say what the time did not suffice for."""
    more = "Allow more time, or measure fewer parts."
    missing = [job.title for job in jobs if not job.launches and not job.lost]
    fewest = min((len(job.launches) for job in jobs if job.launches), default=0)
    if missing:
        yield f"Time was over before this was measured: {'; '.join(missing)}. {more}"
    elif fewest < least:
        yield f"Time was over after {fewest} of {least} launches. {more}"
    if any(job.title == cut and job.launches for job in jobs):
        yield f"Time was over in the middle of a launch: {cut}. What it had measured is here."


def _library(text: str) -> str:
    """Give the name and version of a library, without who built it."""
    return text.partition("\n")[0].partition(",")[0].strip()


def _stepped(jobs: Sequence[Job]) -> Iterator[str]:
    """Name repetitions that took no time, or less."""
    for job in jobs:
        refused = sum(sum(launch.refused.values()) for launch in job.launches)
        if refused:
            yield (
                f"{job.title}: {refused} repetitions took no time or less and were left out. The "
                "clock stepped, or is too coarse."
            )


def _crowded(host: Host) -> Iterator[str]:
    """Say where ranks took turns."""
    together = [str(ranks) for ranks, how in host.placement.items() if how == "one" and ranks > 1]
    if together:
        yield (
            f"{' and '.join(together)} ranks were measured on {host.cores} "
            f"core{'s' if host.cores > 1 else ''}: all were pinned to one, where they take turns. "
            "These times are not those of a machine that has a core for each."
        )


def _unsettled_tables(tables: Sequence[Table], target: float) -> Iterator[str]:
    """Name benchmarks most of whose sizes did not settle."""
    names = [
        f"{x.bench} ({x.ranks})"
        for x in tables
        if sum(not sample.settled for sample in x.samples) > len(x.samples) / 2
    ]
    if names:
        yield (
            f"At most sizes not settled to +-{percent(target)}, ranks in brackets: "
            f"{_listed(names)}."
        )


def _outliers(tables: Sequence[Table]) -> Iterator[str]:
    """Say how many repetitions stood out, and how far."""
    samples = [(table, sample) for table in tables for sample in table.samples]
    repetitions = sum(sample.repetitions for _, sample in samples)
    stood_out = sum(sample.outliers for _, sample in samples)
    disturbed = sum(sample.disturbed for _, sample in samples)
    if repetitions and stood_out > FREQUENT * repetitions:
        table, worst = max(samples, key=lambda x: x[1].worst)
        yield (
            f"{percent(stood_out / repetitions)} of all repetitions took much longer than the "
            f"others; the worst {worst.worst:.3g} times their median ({_named(table, worst)})."
        )
    if repetitions and disturbed > FREQUENT * repetitions:
        yield (
            f"In {percent(disturbed / repetitions)} of all repetitions another program had a core "
            "of a rank. They are counted, and kept out of the medians."
        )


def _named(table: Table, sample: Sample) -> str:
    """Name a size of a table: "reduce, 4 ranks, 8 B"."""
    ranks = f"{table.ranks} rank{'s' if table.ranks > 1 else ''}"
    size = f"order {sample.bytes}" if table.bench == "polynomial" else f"{sample.bytes} B"
    return f"{table.bench}, {ranks}, {size}"


def _pair(measured: Sequence[Measured]) -> Iterator[str]:
    """Say where the saturation is that of a single pair."""
    for value in measured:
        if value.key == "network.saturation" and value.ranks == 2:
            yield (
                "network.saturation is that of a single pair, since no more ranks had a core "
                "each. It is that of the network only if a pair keeps it busy."
            )


def _width(value: Measured) -> str:
    """Name a value and its half-width."""
    if isnan(value.lower):
        return f"{value.key} (one launch)"
    return f"{value.key} +-{percent(value.spread)}"


def _listed(names: Sequence[str]) -> str:
    """List some of them, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
