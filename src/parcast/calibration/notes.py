"""What a reader of a calibration must know: what disturbed it, and what did not settle."""

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Final

from parcast.calibration.benchmarks.network_figures import bend_words
from parcast.calibration.cases import BenchmarkJob
from parcast.calibration.host_links import ALL_LINKS, OF_MEDIUM
from parcast.calibration.launches import LaunchCourse
from parcast.calibration.result import BenchmarkTable, Host, Measured, Sample
from parcast.calibration.values import burst_of
from parcast.laws.primitives.message import fit_messages
from parcast.show.warning import Rank, RankedWarning
from parcast.units import format_quantity, percent, shown
from parcast.words import listed

RESTLESS: Final = 0.10  # between-launch coefficient of variation from which a value is named [1]
BUSY: Final = 0.5  # of a core each, that other programs use
FREQUENT: Final = 0.05  # share of outliers from which they are told
MOST_NAMED: Final = 6
SUSTAINED: Final = (
    ("storage.bandwidth", "write", "written"),
    ("storage.read_bandwidth", "read", "read"),
)
LONGEST: Final = 300  # characters of why a launch was lost


def notes_of(
    course: LaunchCourse,
    measured: Sequence[Measured],
    tables: Sequence[BenchmarkTable],
    host: Host,
    *,
    target: float,
) -> Iterator[str]:
    """Say what may be wrong with what was measured, most important first."""
    jobs = course.jobs()
    if course.was_interrupted:
        yield RankedWarning(
            "Interrupted: only what was measured until then is reported.", rank=Rank.SERIOUS
        )
    yield from _lost(jobs)
    yield from _bursts(jobs)
    yield from _stepped(jobs)
    yield from _another_mpi(jobs)
    yield from _crowded(host)
    if host.load_before > BUSY * host.cores:
        yield RankedWarning(
            f"Other programs were running: the load average was {host.load_before:.2g} on "
            f"{host.cores} cores before the start. Measure again on an idle machine.",
            rank=Rank.SERIOUS,
        )
    if course.was_out_of_time:
        yield from _out_of_time(jobs, course.least, course.cut)
    restless = [f"{x.key} {percent(x.cv)}" for x in measured if x.cv > RESTLESS]
    if restless:
        yield (
            f"Launches differ by more than {percent(RESTLESS)} (standard deviation over mean): "
            f"{listed(restless, MOST_NAMED)}. Other programs are running, or the clock frequency "
            "changes. Measure again on an idle machine."
        )
    wide = [_width(x) for x in measured if not x.settled]
    if wide:
        yield (
            f"90% intervals wider than +-{percent(target)}: {listed(wide, MOST_NAMED)}. Allow "
            "more time or more launches."
        )
    yield from _left_out(jobs)
    yield from _unsettled_tables(tables, target)
    yield from _outliers(tables)
    yield from _bent(tables)
    yield from _pair(measured, host)
    yield from _one_of_two(measured)


def _lost(jobs: Sequence[BenchmarkJob]) -> Iterator[str]:
    """Name launches that failed, and why."""
    for job in jobs:
        if job.lost:
            of = len(job.lost) + len(job.launches)
            reason = shown(job.lost[-1], limit=LONGEST)
            yield (
                f"{job.case.title}: {len(job.lost)} of {of} launches failed. The last "
                f"failure: {reason}"
            )
        reasons = {x.facts["refused"] for x in job.launches if "refused" in x.facts}
        for reason in sorted(reasons):
            yield f"{job.case.title}: not all sizes were measured: {reason}."


def _bursts(jobs: Sequence[BenchmarkJob]) -> Iterator[str]:
    """Say which rate of a disk is not known, as only a burst was measured."""
    for job in jobs:
        for key, bench, done in SUSTAINED if job.case.part == "storage" else ():
            bursts = [x for y in job.launches if (x := burst_of(y, bench, job.case.ranks))]
            if not bursts:
                continue
            fastest, of_all = (format_quantity(x, "rate", 2) for x in max(bursts))
            what = f"{key} is unknown" if len(bursts) == len(job.launches) else f"{key} is unsure"
            yield RankedWarning(
                f"{job.case.title}: {what}. One request was {done} at {fastest}, all of its "
                f"size together at {of_all}: a cache or a limit of the disk accepts bursts. "
                "Take the rate that IOR measures over minutes.",
                rank=Rank.SERIOUS,
            )


def _left_out(jobs: Sequence[BenchmarkJob]) -> Iterator[str]:
    """Say how many launches were disturbed and do not count."""
    left_out = sum(job.left_out for job in jobs)
    if left_out:
        made = left_out + sum(len(job.launches) for job in jobs)
        yield RankedWarning(
            f"{left_out} of {made} launches are left out, as other programs used the cores.",
            rank=Rank.MINOR,
        )


def _another_mpi(jobs: Sequence[BenchmarkJob]) -> Iterator[str]:
    """Say where the compiled ping-pong was linked with another MPI than the rest."""
    facts = [launch.facts for job in jobs for launch in job.launches]
    compiled = {_library(x["compiled_library"]) for x in facts if "compiled_library" in x}
    others = {_library(x["library"]) for x in facts if "library" in x}
    if compiled and others and compiled != others:
        yield RankedWarning(
            f"The ping-pong used {shown(min(compiled))}, all other benchmarks "
            f"{shown(min(others))}. Put the mpicc of the MPI that mpi4py uses into the folder of "
            "its mpiexec.",
            rank=Rank.SERIOUS,
        )


def _out_of_time(jobs: Sequence[BenchmarkJob], least: int, cut: str) -> Iterator[str]:
    more = "Allow more time, or measure fewer parts."
    missing = [job.case.title for job in jobs if not job.launches and not job.lost]
    fewest = min((len(job.launches) for job in jobs if job.launches), default=0)
    if missing:
        yield f"The time limit ended before this was measured: {'; '.join(missing)}. {more}"
    elif fewest < least:
        yield f"The time limit ended after {fewest} of {least} launches. {more}"
    if any(job.case.title == cut and job.launches for job in jobs):
        yield f"The time limit ended during a launch: {cut}. What it had measured is used."


def _library(text: str) -> str:
    """Give the name and version of a library, without who built it."""
    return text.partition("\n")[0].partition(",")[0].strip()


def _stepped(jobs: Sequence[BenchmarkJob]) -> Iterator[str]:
    """Name repetitions that took no time, or less."""
    for job in jobs:
        refused = sum(sum(launch.refused.values()) for launch in job.launches)
        if refused:
            yield RankedWarning(
                f"{job.case.title}: {refused} repetitions with a time of 0 or less were left out. "
                "The clock was set, or is too coarse.",
                rank=Rank.SERIOUS,
            )


def _crowded(host: Host) -> Iterator[str]:
    """Say where ranks took turns."""
    together = [str(ranks) for ranks, how in host.placement.items() if how == "one" and ranks > 1]
    if together:
        yield RankedWarning(
            f"{' and '.join(together)} ranks took turns on one core, as there are more ranks "
            f"than cores ({host.cores}). Their times do not apply to a machine with a core for "
            "each rank.",
            rank=Rank.SERIOUS,
        )


def _unsettled_tables(tables: Sequence[BenchmarkTable], target: float) -> Iterator[str]:
    """Name benchmarks most of whose sizes did not settle."""
    names = [
        f"{x.bench} ({x.ranks})"
        for x in tables
        if sum(not sample.settled for sample in x.samples) > len(x.samples) / 2
    ]
    if names:
        yield RankedWarning(
            f"Benchmarks with 90% intervals wider than +-{percent(target)} at most sizes (ranks "
            f"in brackets): {listed(names, MOST_NAMED)}.",
            rank=Rank.MINOR,
        )


def _outliers(tables: Sequence[BenchmarkTable]) -> Iterator[str]:
    """Say how many repetitions stood out, and how far."""
    samples = [(table, sample) for table in tables for sample in table.samples]
    repetitions = sum(sample.repetitions for _, sample in samples)
    stood_out = sum(sample.outliers for _, sample in samples)
    disturbed = sum(sample.disturbed for _, sample in samples)
    if repetitions and stood_out > FREQUENT * repetitions:
        table, worst = max(samples, key=lambda x: x[1].worst)
        yield RankedWarning(
            f"{percent(stood_out / repetitions)} of all repetitions were outliers, the slowest "
            f"{worst.worst:.3g} times the median ({_named(table, worst)}). Medians are reported.",
            rank=Rank.MINOR,
        )
    if repetitions and disturbed > FREQUENT * repetitions:
        yield RankedWarning(
            f"In {percent(disturbed / repetitions)} of all repetitions another program used a "
            "core of a rank. The medians exclude them.",
            rank=Rank.MINOR,
        )


def _named(table: BenchmarkTable, sample: Sample) -> str:
    """Name a size of a table: "reduce, 4 ranks, 8 B"."""
    ranks = f"{table.ranks} rank{'s' if table.ranks > 1 else ''}"
    size = f"order {sample.bytes}" if table.bench == "polynomial" else f"{sample.bytes} B"
    return f"{table.bench}, {ranks}, {size}"


def _bent(tables: Sequence[BenchmarkTable]) -> Iterator[str]:
    """Say where the time of a message bends."""
    for table in tables:
        if table.bench == "pingpong" and len(table.samples) > 1:
            curve = fit_messages(table.bytes, table.time)
            if curve.bend is not None:
                yield f"Ping-pong: {bend_words(curve, curve.bend)}"


def _pair(measured: Sequence[Measured], host: Host) -> Iterator[str]:
    """Say where the saturation is that of a single pair, and why."""
    for value in measured:
        if value.key == "network.saturation" and value.ranks == 2:
            few = (host.hosts or host.cores) < 4 and "free" not in host.placement.values()
            why = "as no more had a core each" if few else "as no more were started (-np)"
            yield (
                f"network.saturation was measured with one pair of ranks, {why}. The network may "
                "reach more."
            )


def _one_of_two(measured: Sequence[Measured]) -> Iterator[str]:
    """Say what is not in the file, as something else explains it."""
    keys = {value.key for value in measured}
    if ALL_LINKS in keys:
        yield (
            "The machine file has no network.saturation: all ranks together are as fast as the "
            "links of their hosts allow (node.network_bandwidth). A network that limits more "
            "hosts shows only when more are measured."
        )
    if OF_MEDIUM in keys:
        yield (
            "The machine file has no node.network_bandwidth: both directions of an exchange "
            "between two hosts share one rate, that of network.saturation."
        )


def _width(value: Measured) -> str:
    if isnan(value.lower):
        return f"{value.key} (one launch)"
    return f"{value.key} +-{percent(value.spread)}"
