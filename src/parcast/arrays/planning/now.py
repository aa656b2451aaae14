"""What a job does now, as measured by Darshan, beside what is planned: as facts and in JSON."""

from collections.abc import Iterator, Mapping
from math import ceil, isfinite, prod
from typing import Any, Final

from parcast.arrays.geometry.choices import Operation
from parcast.errors import Argument, FileProblems, Problem
from parcast.importers.darshan_io import BINS, Accesses, JobIo, Module
from parcast.show.sheet import Fact
from parcast.units import format_quantity, percent
from parcast.words import counted, rounded

MOST: Final = 1 << 36  # bytes of one array that is planned: larger ones become several equal [B]
NEARLY_ALL: Final = 0.9  # of the requests, which have one length [1]
NEARLY_EQUAL: Final = 0.99  # of the ranks [1]
MUCH: Final = 1.5  # times more or less, from which a plan changes something [1]
FEW: Final = 3  # ranges of lengths that are listed
OTHER: Final[Mapping[Operation, Operation]] = {"read": "write", "write": "read"}


def accesses_of(job: JobIo, operation: Operation) -> Accesses:
    """Give the reads or writes of a job, or refuse a log without any."""
    own = job.main(operation).accesses(operation)
    if not own.size or not own.requests:
        other = OTHER[operation]
        size = format_quantity(job.main(other).accesses(other).size, "size")
        must = f"must have bytes that the job {'wrote' if operation == 'write' else 'read'}"
        got = f"got none, and {size} the other way"
        hint = f"Plan that: {Argument('operation', other)}"
        raise FileProblems(job.log, [Problem(message=f"{must}, {got}. {hint}.")])
    return own


def measured_rate(job: JobIo, operation: Operation) -> float:
    """Rate at which a job reads or writes now; 0 where only that of both is known [B/s]."""
    module = job.main(operation)
    is_alone = accesses_of(job, operation).size >= NEARLY_ALL * module.size
    return module.rate if is_alone else 0.0


def equal_blocks(size: int, itemsize: int, mesh: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Shape, and number, of equal arrays of so many bytes in nearly cubic blocks over a mesh.

    >>> equal_blocks(8 * 1024, 8, (4,))
    ((1024,), 1)
    >>> equal_blocks(8 * 64**3, 8, (2, 2, 2))
    ((64, 64, 64), 1)
    """
    number = max(ceil(size / MOST), 1)
    block = size / number / itemsize / prod(mesh)  # elements
    edge = max(round(block ** (1 / len(mesh))), 1)
    first = max(ceil(block / edge ** (len(mesh) - 1)), 1)
    extents = (first, *(edge for _ in mesh[1:]))
    return tuple(m * n for m, n in zip(mesh, extents, strict=True)), number


def now_facts(job: JobIo, operation: Operation) -> Iterator[Fact]:
    """Say what the job does now."""
    module = job.main(operation)
    own = accesses_of(job, operation)
    yield Fact("now", f"{_headline(job, module, own, operation)} (measured)")
    yield Fact("requests", _lengths(own))
    orders = f"{_share(own.sequential, own)} sequential, {_share(own.consecutive, own)} contiguous"
    if module.alignment and module.name == "POSIX":
        block = format_quantity(module.alignment, "size")
        unaligned = percent(min(module.unaligned / module.requests, 1.0))
        orders += f"; {unaligned} do not begin on a block of {block} of the file"
    if module.name == "POSIX":
        yield Fact("", orders)
    yield Fact("ranks", _ranks(job, module, own, operation))
    yield Fact("files", _files(own))
    program = job.modules.get("MPI-IO")
    if program is not None and (calls := program.accesses(operation)).requests:
        kinds = (f"{count:,} {kind}" for kind, count in calls.calls.items() if count)
        size = format_quantity(calls.mean, "size")
        yield Fact("MPI-IO", f"{', '.join(kinds)} requests of {size} on average")
    if other := "; ".join(_others(job, module, operation)):
        yield Fact("also", other)
    meta = f"metadata {percent(module.metadata_share)} of the I/O time of all ranks"
    if module.slowest > 0 and job.run_time > 0:
        seconds = format_quantity(module.slowest, "time")
        share = percent(min(module.slowest / job.run_time, 1.0))
        meta = f"I/O of the slowest rank {seconds}, {share} of the run; {meta}"
    yield Fact("time", meta)


def changes(job: JobIo, operation: Operation, servers: int, buffer: int) -> str:
    """Say what a plan of so many servers, and pieces of `buffer` bytes [B], does otherwise."""
    module = job.main(operation)
    own = accesses_of(job, operation)
    known = module.ranks(operation, job.ranks)
    parts = []
    if known is not None and not 1 / MUCH < known / servers < MUCH:
        verb = f"{operation}s" if servers == 1 else operation
        parts.append(f"{counted(servers, 'rank')} {verb} instead of {round(known)}")
    if own.mean < buffer / MUCH:
        piece, mean = format_quantity(buffer, "size"), format_quantity(own.mean, "size")
        parts.append(f"pieces of up to {piece} instead of {mean}")
    if module.name == "POSIX" and 2 * module.unaligned > module.requests and module.alignment:
        block = format_quantity(module.alignment, "size")
        parts.append(f"on blocks of {block} of the file")
    program = job.modules.get("MPI-IO")
    if program is not None:
        calls = program.accesses(operation)
        if 2 * calls.calls.get("independent", 0) > calls.requests:
            parts.append("collective calls instead of independent ones")
    if (count := own.count_files("one")) > MUCH * servers:
        parts.append(f"one shared file, or one for each server, instead of {count:,}")
    return "; ".join(parts) or "nothing: the job does nearly what is planned"


def now_document(job: JobIo, operation: Operation) -> dict[str, Any]:
    """All figures of what the job does now."""
    module = job.main(operation)
    own = accesses_of(job, operation)
    shared = module.largest
    program = job.modules.get("MPI-IO")
    is_posix = module.name == "POSIX"
    return {
        "log": job.log,
        "program": job.program,
        "operation": operation,
        "module": module.name,
        "ranks": job.ranks,
        "run_time_s": job.run_time,
        "size_bytes": own.size,
        "requests": own.requests,
        "request_bytes_mean": own.mean,
        "request_sizes": {name: own.sizes.get(name, 0) for name, _ in BINS},
        "common_sizes": [list(each) for each in module.common.most_common(4)],
        "sequential": own.sequential / own.requests if is_posix else None,
        "consecutive": own.consecutive / own.requests if is_posix else None,
        "unaligned": module.unaligned / module.requests if is_posix else None,
        "alignment_bytes": module.alignment if is_posix else None,
        "files_of_all_ranks": own.count_files("all"),
        "files_of_some_ranks": own.count_files("some"),
        "files_of_one_rank": own.count_files("one"),
        "accessing_ranks": module.ranks(operation, job.ranks),
        "rank_bytes": {str(rank): size for rank, size in sorted(own.by_rank.items())},
        "slowest_rank_bytes": None if shared is None else shared.slowest,
        "fastest_rank_bytes": None if shared is None else shared.fastest,
        "rate_B_per_s": module.rate or None,
        "io_time_s": module.slowest,
        "metadata_share": module.metadata_share,
        "modules": {
            name: {
                "read_bytes": each.read.size,
                "reads": each.read.requests,
                "written_bytes": each.write.size,
                "writes": each.write.requests,
            }
            for name, each in job.modules.items()
        },
        "mpi_io": {} if program is None else dict(program.accesses(operation).calls),
    }


def _others(job: JobIo, main: Module, operation: Operation) -> Iterator[str]:
    """Say what else the job reads and writes."""
    for name, module in job.modules.items():
        own = module.accesses(operation)
        if name not in (main.name, "MPI-IO") and own.size:
            size = format_quantity(own.size, "size")
            yield f"{size} in {counted(own.requests, 'request')} of {name}"
    other = OTHER[operation]
    back = job.main(other).accesses(other).size
    if back:
        size = format_quantity(back, "size")
        yield f"the job {'reads' if other == 'read' else 'writes'} {size}, which is not planned"


def _headline(job: JobIo, module: Module, own: Accesses, operation: Operation) -> str:
    """Say it in one sentence."""
    known = module.ranks(operation, job.ranks)
    who = counted(job.ranks, "rank") if known is None else _about(known, job.ranks)
    verb = operation if who != "1 rank" else f"{operation}s"
    mean, usual = format_quantity(own.mean, "size"), _usual(module, own)
    of = f"of {usual}" if usual else f"of {mean} on average"
    where = f"{'to' if operation == 'write' else 'from'} {_where(own)}"
    text = f"{who} {verb} {counted(own.requests, 'request')} {of} {where}"
    if module.rate:
        rate, time = format_quantity(module.rate, "rate"), format_quantity(module.slowest, "time")
        both = "" if measured_rate(job, operation) else "; reads and writes together"
        text += f"{both} at {rate}, {time} of I/O"
    return text


def _about(known: float, ranks: int) -> str:
    """Count the ranks that accessed files."""
    if known >= NEARLY_EQUAL * ranks:
        return counted(ranks, "rank")
    whole = max(round(known), 1)
    return f"{'' if known == whole else 'about '}{counted(whole, 'rank')}"


def _usual(module: Module, own: Accesses) -> str:
    """Give the length that nearly all requests have."""
    if not module.common:
        return ""
    length, count = module.common.most_common(1)[0]
    if count < NEARLY_ALL * module.requests or abs(own.mean / max(length, 1) - 1) > 1 - NEARLY_ALL:
        return ""
    return format_quantity(length, "size")


def _where(own: Accesses) -> str:
    """Say which files."""
    if 2 * own.shared_size >= own.size:
        count = own.count_files("all")
        return "one shared file" if count == 1 else f"{counted(count, 'shared file')}"
    count = own.count_files("one")
    several = own.count_files("some")
    if several >= count:
        return f"{counted(several, 'file')} of several ranks"
    each = ", one a rank" if count == len(own.by_rank) > 1 else ""
    return f"{counted(count, 'file')}{each}"


def _lengths(own: Accesses) -> str:
    """List the ranges with most of the requests."""
    ends = dict(BINS)
    names = [name for name, _ in BINS]
    parts = []
    for name, count in sorted(own.sizes.items(), key=lambda each: -each[1])[:FEW]:
        if not count:
            continue
        at = names.index(name)
        upper = ends[name]
        above = f"over {format_quantity(ends[names[at - 1]], 'size')}" if at else ""
        range_ = f"up to {format_quantity(upper, 'size')}" if isfinite(upper) else above
        parts.append(f"{_share(count, own)} {range_}")
    mean = format_quantity(own.mean, "size")
    return f"{mean} on average" + (f"; by length: {', '.join(parts)}" if parts else "")


def _share(count: int, own: Accesses) -> str:
    """Write a share of the requests."""
    return percent(min(count / own.requests, 1.0))


def _ranks(job: JobIo, module: Module, own: Accesses, operation: Operation) -> str:
    """Say which ranks accessed files, and how much each."""
    if 2 * own.shared_size < own.size:
        least, most = (format_quantity(f(own.by_rank.values()), "size") for f in (min, max))
        each = f"{least} each" if least == most else f"{least} to {most} each"
        return f"{len(own.by_rank)} of {job.ranks}, {each}"
    known, shared = module.ranks(operation, job.ranks), module.largest
    if known is None or shared is None:
        return f"all {job.ranks} opened the shared file; how much each accessed is not in the log"
    if known >= NEARLY_EQUAL * job.ranks:
        return f"all {job.ranks}, equally much"
    slow, fast = (format_quantity(size, "size") for size in (shared.slowest, shared.fastest))
    return (
        f"about {rounded(known, 2)} of {job.ranks} did the I/O (estimated from the variance of "
        f"their bytes); the slowest {slow}, the fastest {fast}"
    )


def _files(own: Accesses) -> str:
    """Count the files."""
    kinds = {"all": "shared by all ranks", "some": "by some ranks", "one": "of one rank"}
    counts: list[tuple[int, str]] = [
        (own.count_files("all"), kinds["all"]),
        (own.count_files("some"), kinds["some"]),
        (own.count_files("one"), kinds["one"]),
    ]
    return ", ".join(f"{count:,} {kind}" for count, kind in counts if count)
