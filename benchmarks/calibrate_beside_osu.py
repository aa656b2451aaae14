"""Latency and bandwidth of `parcast calibrate` beside others on the same MPI, and beside itself.

    .venv/bin/python benchmarks/calibrate_beside_osu.py messages [--rounds 9]
    .venv/bin/python benchmarks/calibrate_beside_osu.py twice [--time-limit 120]

messages: the ping-pong and the stream of messages that parcast compiles, those it has in Python
where there is no compiler, C loops that do what `osu_latency` and `osu_bw` of the OSU
micro-benchmarks do (their loops, warm-up and counts of messages, compiled here with the mpicc of
the same MPI; timed in up to 200 parts, of which the median counts, without those in which another
program had a core, as parcast does), and the means of `python -m mpi4py.bench pingpong`. Each
round runs all of them in turn, each pinned to the same two cores, and their order turns round
from one round to the next; a ratio is the median over the rounds of the ratios inside a round,
with the least and the most.

twice: two calibrations, one after the other. Values agree if they differ by at most 5% or their
intervals overlap.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from parcast.benchmarking.compiled import arguments_of, compile_pingpong
from parcast.benchmarking.records import BenchmarkPlan, read_launch
from parcast.calibration.calibrate import calibrate
from parcast.errors import ParcastError
from parcast.mpi.find import find_mpi
from parcast.mpi.launcher import run_ranks
from parcast.units import format_quantity

LIMIT = 120.0  # of one launch [s]
SIZES = (1, 8, 64, 512, 1024, 4096, 8192, 16384, 65536, 1 << 18, 1 << 20, 1 << 22)
PLAN = BenchmarkPlan(sizes=(0, *SIZES), budget=0.05)
AGREE = 0.05
SOURCE = r"""
/* The loops of osu_latency and osu_bw, with their counts: 10000 messages of up to 8 KiB after
 * 100, 1000 larger ones after 10; windows of 64, 100 of up to 8 KiB after 10, 20 larger ones
 * after 2. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#define LARGE 8192
#define WINDOW 64
#define PARTS 200 /* of the messages */
#define WINDOWS 20 /* parts of the windows */
static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static int taken(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int)usage.ru_nivcsw;
}
/* Median of the parts in which no other program had a core; of all where these are too few. */
static double middle(double *times, int *mine, int parts) {
    int disturbed[PARTS], left = 0;
    double clean[PARTS];
    MPI_Allreduce(mine, disturbed, parts, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < parts; i++)
        if (!disturbed[i]) clean[left++] = times[i];
    double *of = left >= 3 ? clean : times;
    int count = left >= 3 ? left : parts;
    qsort(of, count, sizeof(double), ascending);
    return of[count / 2];
}
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *s = aligned_alloc(4096, 1 << 22), *r = aligned_alloc(4096, 1 << 22);
    memset(s, 'a', 1 << 22);
    memset(r, 'b', 1 << 22);
    MPI_Request requests[WINDOW];
    for (int a = 1; a < argc; a++) {
        int n = atoi(argv[a]), large = n > LARGE;
        int skip = large ? 10 : 100, count = large ? 1000 : 10000;
        double began = 0, latency[PARTS], rate[WINDOWS];
        int mine[PARTS];
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = -skip, part = 0; i < count; i++) {
            if (i >= 0 && i % (count / PARTS) == 0) mine[part] = -taken(), began = MPI_Wtime();
            if (rank == 0) {
                MPI_Send(s, n, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(r, n, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(r, n, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(s, n, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            }
            if (i >= 0 && (i + 1) % (count / PARTS) == 0) {
                latency[part] = (MPI_Wtime() - began) / (count / PARTS) / 2;
                mine[part++] += taken();
            }
        }
        double half = middle(latency, mine, PARTS);
        skip = large ? 2 : 10, count = large ? 20 : 100;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = -skip, part = 0; i < count; i++) {
            if (i >= 0 && i % (count / WINDOWS) == 0) mine[part] = -taken(), began = MPI_Wtime();
            for (int j = 0; j < WINDOW; j++)
                if (rank == 0) MPI_Isend(s, n, MPI_CHAR, 1, 100, MPI_COMM_WORLD, requests + j);
                else MPI_Irecv(r, n, MPI_CHAR, 0, 100, MPI_COMM_WORLD, requests + j);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            if (rank == 0) MPI_Recv(r, 4, MPI_CHAR, 1, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else MPI_Send(s, 4, MPI_CHAR, 0, 101, MPI_COMM_WORLD);
            if (i >= 0 && (i + 1) % (count / WINDOWS) == 0) {
                rate[part] = (MPI_Wtime() - began) / (count / WINDOWS) / WINDOW;
                mine[part++] += taken();
            }
        }
        double of_window = middle(rate, mine, WINDOWS);
        if (rank == 0) printf("%d %.6e %.6e\n", n, half, of_window);
    }
    MPI_Finalize();
    return 0;
}
"""
Times = dict[int, float]  # of a message of each size [s]


def compiled_parcast(folder: Path) -> tuple[Times, Times]:
    """The ping-pong and the stream that calibrate compiles."""
    record = folder / "compiled.jsonl"
    arguments = [str(folder / "pingpong"), *arguments_of(PLAN, record)]
    run_ranks("parcast.benchmarking.compiled", arguments, ranks=2, time_limit=LIMIT)
    return medians(record)


def python_parcast(folder: Path) -> tuple[Times, Times]:
    """The ping-pong and the stream that calibrate has in Python."""
    record = folder / "python.jsonl"
    run_ranks(
        "parcast.benchmarking.network", [str(record), PLAN.to_text()], ranks=2, time_limit=LIMIT
    )
    return medians(record)


def as_osu(folder: Path) -> tuple[Times, Times]:
    """What osu_latency and osu_bw do: means of messages."""
    arguments = [str(folder / "as_osu"), *map(str, SIZES)]
    told = run_ranks("parcast.benchmarking.compiled", arguments, ranks=2, time_limit=LIMIT).stdout
    rows = [line.split() for line in told.splitlines()]
    return {int(n): float(t) for n, t, _ in rows}, {int(n): float(t) for n, _, t in rows}


def mpi4py_bench() -> Times:
    """What mpi4py's own benchmark prints: the mean of half a round trip."""
    arguments = ["pingpong", "--min-size", "1", "--max-size", str(SIZES[-1])]
    told = run_ranks("mpi4py.bench", arguments, ranks=2, time_limit=LIMIT).stdout
    found = {}
    for line in told.splitlines():
        size, _, time = line.partition("|")
        if time and size.split()[0].isdigit():
            found[int(size.split()[0])] = float(time.split()[0])
    return found


def medians(record: Path) -> tuple[Times, Times]:
    """Medians of ping-pong and stream; the record is removed, so that the next starts anew."""
    told = read_launch(record)
    record.unlink()
    ping, stream = (
        {n: median(told.times[bench, 2, n]) for n in told.sizes(bench, 2)}
        for bench in ("pingpong", "stream")
    )
    return ping, stream


def ratios(title: str, rounds: list[tuple[Times, Times]]) -> None:
    """Print the ratios of two columns of times, size by size."""
    print(f"\n{title}\n{'bytes':>10}{'ours':>12}{'theirs':>12}{'ratio':>9}{'least':>9}{'most':>9}")
    over = []
    for size in (n for n in SIZES if n in rounds[0][0] and n in rounds[0][1]):
        of = sorted(ours[size] / theirs[size] for ours, theirs in rounds)
        over.append(median(of))
        times = [format_quantity(median(x[i][size] for x in rounds), "time") for i in (0, 1)]
        print(f"{size:>10}{times[0]:>12}{times[1]:>12}{over[-1]:9.3f}{of[0]:9.3f}{of[-1]:9.3f}")
    within = sum(abs(x - 1) <= AGREE for x in over)
    print(f"within 5%: {within} of {len(over)} sizes")


def messages(rounds: int) -> None:
    """Compare messages with those of the others."""
    mpi = find_mpi()
    print(f"{mpi.vendor} {mpi.version}, {rounds} rounds")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = compile_pingpong(mpi.mpiexec, folder)
        if isinstance(ours, str):
            sys.exit(f"{ours}: there is nothing to compare with.")
        (folder / "as_osu.c").write_text(SOURCE)
        compiler = Path(mpi.mpiexec).with_name("mpicc")
        command = [str(compiler), "-O2", "-o", str(folder / "as_osu"), str(folder / "as_osu.c")]
        subprocess.run(command, check=True, timeout=LIMIT)
        told = []
        routes = {
            "compiled": lambda: compiled_parcast(folder),
            "python": lambda: python_parcast(folder),
            "osu": lambda: as_osu(folder),
            "mpi4py": mpi4py_bench,
        }
        order = list(routes)
        for _ in range(rounds):
            told.append({route: routes[route]() for route in order})
            order = [*order[1:], order[0]]
    ratios(
        "Latency: compiled by parcast over the loop of osu_latency",
        [(x["compiled"][0], x["osu"][0]) for x in told],
    )
    ratios(
        "Latency: by parcast in Python over the loop of osu_latency",
        [(x["python"][0], x["osu"][0]) for x in told],
    )
    ratios(
        "Latency: compiled by parcast over mpi4py.bench pingpong",
        [(x["compiled"][0], x["mpi4py"]) for x in told],
    )
    ratios(
        "Time of a message of a stream: compiled by parcast over the loop of osu_bw",
        [(x["compiled"][1], x["osu"][1]) for x in told],
    )
    ratios(
        "Time of a message of a stream: by parcast in Python over the loop of osu_bw",
        [(x["python"][1], x["osu"][1]) for x in told],
    )


def twice(time_limit: float, quick: bool) -> None:
    """Compare two calibrations."""
    first, second = (calibrate(time_limit=time_limit, quick=quick) for _ in range(2))
    print(f"{'':26}{'first':>16}{'second':>16}{'ratio':>8}{'+-':>8}{'+-':>8}")
    agree, all_ = 0, 0
    for one in first.measured:
        if one.launches == 0 or one.key not in second:
            continue
        other = second[one.key]
        overlap = one.lower <= other.upper and other.lower <= one.upper
        ratio = other.value / one.value
        does = abs(ratio - 1) <= AGREE or overlap
        agree, all_ = agree + does, all_ + 1
        texts = [format_quantity(x.value, x.dimension) for x in (one, other)]
        print(
            f"{one.key:26}{texts[0]:>16}{texts[1]:>16}{ratio:8.3f}{one.spread:8.1%}"
            f"{other.spread:8.1%}  {'' if does else 'they do not agree'}"
        )
    print(f"{agree} of {all_} values agree within 5% or by their intervals")
    print(f"{first.seconds:.0f} s and {second.seconds:.0f} s")
    for warning in dict.fromkeys((*first.warnings, *second.warnings)):
        print(f"- {warning}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["messages", "twice"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    try:
        if asked.what == "messages":
            messages(asked.rounds)
        else:
            twice(asked.time_limit, asked.quick)
    except ParcastError as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
