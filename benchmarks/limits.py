"""CPU time and memory at each limit of `docs/reference/limits.md`.

For each limit an input of just that size is made and given to parcast through a pipe, in a process
of its own. The memory is the largest that this process has in use, above that of one that has
loaded parcast and read a few rows; a copy of the pipe on the disk is no part of it.

    .venv/bin/python benchmarks/limits.py [NAME ...]
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import IO, NamedTuple

from parcast.calibration.benchmarks.message_tables import LARGEST_TEXT
from parcast.descriptions.toml_files import LARGEST as LARGEST_TOML
from parcast.files.bounds import LARGEST, LARGEST_LIST
from parcast.importers.call_profile import DEEPEST
from parcast.importers.content import LARGEST_DOCUMENT, MOST_JOBS
from parcast.timings.columns import MOST_COLUMNS, MOST_NAMES, MOST_POINTS, MOST_ROWS
from parcast.timings.read_profiles import LARGEST as LARGEST_PROFILE

AT_ONCE = 10_000  # lines
READ = "import parcast; parcast.read_measurements('/dev/stdin')"
FORECAST = "import parcast; parcast.forecast(parcast.read_measurements('/dev/stdin'), p=[4096])"
# Of the process alone: `ru_maxrss` begins with what the one that started it had.
PEAK = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
IMPORT = "import parcast; parcast.import_timings('/dev/stdin', {!r})"
REFUSED = (
    "import parcast\n"
    "try:\n"
    "    {}\n"
    "except parcast.FileProblems:\n"
    "    pass\n"
    "else:\n"
    "    raise AssertionError('not refused')"
)


class Case(NamedTuple):
    """What is made, and what reads it."""

    pieces: Callable[[], Iterable[bytes]]
    code: str


def rows(count: int, width: int = 2) -> Iterator[str]:
    """Rows of `p`, other axes and the time."""
    yield ",".join(["p", *(f"n{i}" for i in range(width - 2)), "time_s"]) + "\n"
    others = "7," * (width - 2)
    for i in range(count):
        yield f"{2 ** (i % 11)},{others}{1 + i % 97 / 100:.4f}\n"


def named_rows(count: int) -> Iterator[str]:
    """Rows of as many callpaths."""
    yield "callpath,p,time_s\n"
    for i in range(count):
        yield f"main->function{i},4,1.5\n"


def padded(start: str, size: int) -> Iterator[bytes]:
    """Some text, and so many bytes of comments after it."""
    yield start.encode()
    comments = 100 * (b"#" + 98 * b"x" + b"\n")
    for _ in range((size - len(start)) // len(comments)):
        yield comments


def points(count: int) -> Iterator[str]:
    """Text of Extra-P with as many points."""
    yield "PARAMETER p n\nREGION main\nMETRIC time\n"
    for start in range(1, count, 1000):
        yield "POINTS " + " ".join(f"(4 {i})" for i in range(start, start + 1000)) + "\n"
    for _ in range(count):
        yield "DATA 1.5\n"


def repetitions(count: int) -> Iterator[str]:
    """Text of Extra-P with as many times at one point."""
    yield "PARAMETER p\nPOINTS 4\nREGION main\nMETRIC time\nDATA"
    for _ in range(count // 1000):
        yield " 1.25" * 1000
        yield "\nREGION main\nDATA"
    yield " 1.25\n"


def document(size: int) -> Iterator[str]:
    """JSON of Extra-P of so many bytes, most of which are text."""
    yield '{"parameters": ["p"], "note": "'
    for _ in range((size - 200) // 1000):
        yield "x" * 1000
    yield '", "measurements": {"main": {"time": [{"point": [4], "values": [8.1]}]}}}'


def objects(each: str, count: int) -> Iterator[str]:
    """JSON of Extra-P with so many of something."""
    yield '{"parameters": ["p"], "measurements": {"main": {"time": ['
    for _ in range(count - 1):
        yield f"{each},"
    yield f"{each}]}}}}}}"


def jobs(count: int) -> Iterator[str]:
    """Jobs of Slurm."""
    yield "JobID|State|Elapsed|NTasks\n"
    for i in range(count):
        yield f"{i}|COMPLETED|00:01:40|{1 + i % 64}\n"


def tree(depth: int) -> Iterator[str]:
    """Graph of Hatchet of which every region calls the next."""
    nodes = {
        str(i): {"data": {"name": f"f{i}"}, "children": [i + 1] if i < depth - 1 else []}
        for i in range(depth)
    }
    table = [{"node": i, "time": 1.0} for i in range(depth)]
    yield json.dumps(
        {
            "graph": [nodes],
            "dataframe": table,
            "inclusive_metrics": [],
            "exclusive_metrics": ["time"],
        }
    )


REGION = {
    "name": "main",
    "kind": "compute",
    "entries": 1,
    "wall_s": 1.0,
    "processor_s": 1.0,
    "squares_s2": 1.0,
    "iterations": 1.0,
    "calls": 0.0,
    "volume_B": 0.0,
    "counts": {},
}


def table(count: int) -> Iterator[str]:
    """JSON of Hatchet with so many rows."""
    yield '{"graph": [{"0": {"data": {"name": "main"}, "children": []}}], '
    yield '"inclusive_metrics": [], "exclusive_metrics": ["time"], "dataframe": ['
    for i in range(count - 1):
        yield f'{{"node": 0, "rank": {i % 1000}, "time": 1.5}},'
    yield '{"node": 0, "rank": 0, "time": 1.5}]}'


def profiles(size: int) -> Iterator[str]:
    """Records of ranks, each a run."""
    for i in range(size // 400):
        record = {
            "schema": "parcast/profile/1",
            "parcast": "0",
            "program": "x",
            "host": "h",
            "rank": 0,
            "p": 1,
            "begun": 10.0 * i,
            "span_s": 1.0,
            "entry_s": 1e-7,
            "other_threads": 0,
            "parameters": {},
            "regions": [REGION],
        }
        yield json.dumps(record).ljust(399) + "\n"


CASES = {
    "rows": Case(lambda: in_pieces(rows(MOST_ROWS)), FORECAST),
    "columns": Case(lambda: in_pieces(rows(1000, MOST_COLUMNS)), READ),
    "names": Case(lambda: in_pieces(named_rows(MOST_NAMES)), READ),
    "file": Case(lambda: padded("p,time_s\n1,8\n2,4\n", LARGEST), READ),
    "list": Case(
        lambda: in_pieces(f"{i % 97 + 1}\n" for i in range(LARGEST_LIST // 3)),
        "from parcast.simulation.command import law_of; law_of('/dev/stdin')",
    ),
    "times": Case(lambda: in_pieces(repetitions(MOST_ROWS - 2)), IMPORT.format("extrap")),
    "points": Case(lambda: in_pieces(points(MOST_POINTS)), IMPORT.format("extrap")),
    "document": Case(lambda: in_pieces(document(LARGEST_DOCUMENT)), IMPORT.format("extrap")),
    "measurements": Case(
        lambda: in_pieces(objects('{"point": [4], "values": [8.125, 8.25]}', 1_600_000)),
        IMPORT.format("extrap"),
    ),
    "lists": Case(
        lambda: in_pieces(objects("[]", 9_200_000)),
        REFUSED.format(IMPORT.format("extrap").split("; ")[1]),
    ),
    "table": Case(lambda: in_pieces(table(1_800_000)), IMPORT.format("hatchet")),
    "jobs": Case(lambda: in_pieces(jobs(MOST_JOBS)), IMPORT.format("slurm")),
    "depth": Case(
        lambda: in_pieces(tree(DEEPEST)),
        IMPORT.format("hatchet").replace(")", ", constants={'p': 4})"),
    ),
    "profile": Case(
        lambda: in_pieces(profiles(LARGEST_PROFILE)),
        "import parcast; parcast.read_profiles('/dev/stdin')",
    ),
    "description": Case(
        lambda: padded("name = 'a'\nprocessors = 4\n", LARGEST_TOML),
        "import parcast; parcast.read_machine('/dev/stdin')",
    ),
    "benchmark": Case(
        lambda: padded(
            "# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n8  1.5\n", LARGEST_TEXT
        ),
        "from parcast.importers.registry import import_machine; "
        "import_machine(['/dev/stdin'], 'osu')",
    ),
}


def in_pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Many lines at once."""
    every = iter(lines)
    while some := "".join(islice(every, AT_ONCE)):
        yield some.encode()


def spent(case: Case) -> tuple[float, float, float]:
    """Bytes given [B], CPU time [s] and largest memory [B] of a process."""
    pieces = list(case.pieces())
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", f"{case.code}\n{PEAK}"], **pipes)
    feeder = Thread(target=feed, args=(process.stdin, pieces))
    feeder.start()
    with process.stdout:
        peak = 1024 * int(process.stdout.read() or 0)
    _, status, used = os.wait4(process.pid, 0)
    feeder.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"it failed: {case.code}")
    return sum(map(len, pieces)), used.ru_utime + used.ru_stime, peak


def feed(stream: IO[bytes], pieces: Iterable[bytes]) -> None:
    """Write to a pipe until it is closed."""
    with suppress(BrokenPipeError), stream:
        stream.writelines(pieces)


def main() -> None:
    """Measure and print a line for each limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CASES))
    names = parser.parse_args().names or list(CASES)
    base = spent(Case(lambda: in_pieces(rows(10)), FORECAST))[2]
    print(f"{'limit':14}{'input [MB]':>12}{'CPU [s]':>10}{'memory [MB]':>13}")
    for name in names:
        size, seconds, memory = spent(CASES[name])
        print(f"{name:14}{size / 1e6:12.1f}{seconds:10.1f}{(memory - base) / 1e6:13.0f}")


if __name__ == "__main__":
    main()
