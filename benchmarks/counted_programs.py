"""Measure times of counted programs on machines where they ran on one processor only.

DIR holds three tables. `workload.csv` has kernel, class, p, rep, sum_cpu_s, max_rank_cpu_s,
n_p2p_sends, p2p_bytes and collective_calls_all_ranks as "bcast:2;reduce:4". `calibration.csv` has
platform, op, p, bytes and time_s, with op comms1 for messages, comms3 for the exchange of all with
all, and collectives. `times.csv` has kernel, class, p, rep, platform and simulated_total_s: the
run at p = 1 is told and the others are held back. Each platform is asked without donors, and with
every other one as the only donor; or, with --beyond, with counts at the smaller p alone.

    .venv/bin/python benchmarks/counted_programs.py [--beyond] DIR
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.laws.counted import tables_of_counts
from parcast.laws.primitives.network import network_keys
from parcast.projection.counted import phase_of, project_counts
from parcast.timings.measurements import Measurements

LARGEST = 64  # processors asked for
ORDERED = (4, 16, 64)  # whose order is asked
NAMES = {"bcast": "broadcast", "alltoallv": "alltoall"}  # of MPI, as parcast calls them
SENT = ("broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "barrier")

# Bytes that all ranks together transpose (FT: points of its grid, complex numbers) or redistribute
# (IS: keys, integers) in each call, as the specification of the NAS Parallel Benchmarks gives them
# for a class: counts alone do not tell the bytes of a collective. IS adds up 1024 counters and 5
# test keys in each allreduce, and gives each rank one integer before its keys.
WHOLE = {
    "ft": {
        "S": 16 * 64**3,
        "W": 16 * 128 * 128 * 32,
        "A": 16 * 256 * 256 * 128,
        "B": 16 * 512 * 256 * 256,
        "C": 16 * 512**3,
    },
    "is": {"S": 4 * 2**16, "W": 4 * 2**20, "A": 4 * 2**23, "B": 4 * 2**25, "C": 4 * 2**27},
}
BUCKETS = 4.0 * (1024 + 5)  # [B]
WAVEFRONTS = {"lu"}  # that sweep a grid of ranks from corner to corner, a message from each side

Case = tuple[str, str, str]  # kernel, class, repetition


@dataclass(frozen=True)
class Told:
    """One time that was asked for, beside what was measured."""

    question: str  # platform, and the donor if there is one
    case: Case
    p: int
    time: float  # [s]
    lower: float  # [s]
    upper: float  # [s]
    measured: float  # [s]

    @property
    def error(self) -> float:
        """How far it is off [1]."""
        return abs(self.time / self.measured - 1)


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a table."""
    with path.open(newline="", encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


@dataclass(frozen=True)
class Platform:
    """The benchmarks of a platform, which make a machine for each program."""

    name: str
    operations: Mapping[str, Mapping[int, Mapping[int, float]]]
    made: dict[tuple, Machine] = field(default_factory=dict)  # by sizes: they take a while

    def machine(self, program: Program) -> Machine:
        """Machine with the rates that messages of the program's sizes get."""
        work = phase_of(program).counted
        sizes = {
            int(p): v / max(m, 1)
            for p, v, m in zip(work.p, work.volume, work.messages, strict=True)
        }
        moved = work.volumes.get("alltoall", np.zeros(len(work.p)))
        exchanged = dict(zip(work.p.astype(int).tolist(), moved.tolist(), strict=True))
        known = (*sizes.items(), *exchanged.items())
        if known not in self.made:
            keys = network_keys(
                self.operations["comms1"][2],
                exchange=self.operations["comms3"],
                collectives={op: x for op, x in self.operations.items() if op in SENT},
                message_sizes=sizes,
                exchange_sizes=exchanged,
            )
            self.made[known] = Machine(name=self.name, **keys)
        return self.made[known]


def platforms_of(folder: Path) -> dict[str, Platform]:
    """Benchmarks of each platform."""
    tables: dict[str, dict] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for row in rows_of(folder / "calibration.csv"):
        op = NAMES.get(row["op"], row["op"])
        tables[row["platform"]][op][int(row["p"])][int(row["bytes"])] = float(row["time_s"])
    return {name: Platform(name, operations) for name, operations in tables.items()}


def programs(folder: Path, *, informed: bool) -> dict[Case, Program]:
    """Programs from the counts of each kernel, class and repetition."""
    counted: dict[Case, list[dict]] = defaultdict(list)
    for row in rows_of(folder / "workload.csv"):
        kernel, size = row["kernel"], row["class"]
        p = int(row["p"])
        calls: dict[str, float] = defaultdict(float)
        for said in filter(None, row["collective_calls_all_ranks"].split(";")):
            op, number = said.split(":")
            calls[NAMES.get(op, op)] += float(number)
        volumes = {}
        if informed and size in WHOLE.get(kernel, {}):
            each = WHOLE[kernel][size] / p**2
            volumes = {"alltoall": each}
            if kernel == "is":  # half of its calls carry one integer
                volumes = {"alltoall": (each + 4) / 2, "allreduce": BUCKETS}
        if "alltoall" in volumes:
            calls.setdefault("alltoall", 0.0)  # none on one processor
        messages = float(row["n_p2p_sends"])
        turns = {}
        if informed and kernel in WAVEFRONTS and p > 1:
            turns = {"in_turn": messages / p * most_over_mean(p)}
        counted[kernel, size, row["rep"]].append(
            turns
            | {
                "p": p,
                "compute": float(row["sum_cpu_s"]),
                "busiest": float(row["max_rank_cpu_s"]),
                "messages": messages,
                "volume": float(row["p2p_bytes"]),
                "calls": dict(calls),
                "volumes": volumes,
            }
        )
    return {
        case: Program(
            name=" ".join(case), phase=[{"law": "counted", "count": tables_of_counts(rows)}]
        )
        for case, rows in counted.items()
        if any(row["p"] == 1 for row in rows)
    }


def most_over_mean(p: int) -> float:
    """Messages that the inner ranks of a grid wait for in a sweep, over the mean of all ranks."""
    rows = max(x for x in range(1, int(p**0.5) + 1) if p % x == 0)
    columns = p // rows
    return ((rows > 1) + (columns > 1)) / (2 - 1 / rows - 1 / columns)


def times(folder: Path) -> dict[tuple[str, Case], dict[int, float]]:
    """Measured times of each platform and case, by processors. [s]."""
    found: dict[tuple[str, Case], dict[int, float]] = defaultdict(dict)
    for row in rows_of(folder / "times.csv"):
        case = (row["kernel"], row["class"], row["rep"])
        found[row["platform"], case][int(row["p"])] = float(row["simulated_total_s"])
    return found


def asked(
    platform: str,
    donor: str | None,
    described: Mapping[str, Platform],
    counted: Mapping[Case, Program],
    *,
    measured: Mapping[tuple[str, Case], Mapping[int, float]],
    of_donor: Mapping[tuple[str, Case], Mapping[int, float]],
) -> list[Told]:
    """Times of every case on a platform, told its run at p = 1 and those of a donor."""
    told = []
    for case, program in counted.items():
        here = measured.get((platform, case), {})
        counts = sorted(p for p in here if 1 < p <= LARGEST)
        if 1 not in here or not counts:
            continue
        options = {}
        if donor is not None:
            there = of_donor.get((donor, case), {})
            if 1 in there and len(there) > 1:
                runs = Measurements(
                    p=list(there), time=list(there.values()), machine=[donor] * len(there)
                )
                options = {"donors": runs, "donor_machines": [described[donor].machine(program)]}
        here_is = described[platform].machine(program)
        known = Measurements(p=[1], time=[here[1]])
        answer = project_counts(program, here_is, counts, known=known, **options)
        for i, p in enumerate(counts):
            time, lower, upper = (float(x[i]) for x in (answer.time, answer.lower, answer.upper))
            told.append(Told(f"{platform} {donor}", case, p, time, lower, upper, here[p]))
    return told


def extrapolated(
    described: Mapping[str, Platform],
    counted: Mapping[Case, Program],
    measured: Mapping[tuple[str, Case], Mapping[int, float]],
) -> dict[int, list[Told]]:
    """Times beyond the counts that are told, two or more, by the octaves beyond them."""
    told: dict[int, list[Told]] = defaultdict(list)
    for (platform, case), here in measured.items():
        if platform not in described or case not in counted or 1 not in here:
            continue
        machine = described[platform].machine(counted[case])
        counts = sorted(phase_of(counted[case]).count, key=lambda count: count.p)
        for k in range(2, len(counts)):
            last = counts[k - 1].p
            later = sorted(p for p in here if last < p <= LARGEST)
            if not later:
                continue
            few = Program(phase=[{"law": "counted", "count": tuple(counts[:k])}])
            known = Measurements(p=[1], time=[here[1]])
            answer = project_counts(few, machine, later, known=known)
            for i, p in enumerate(later):
                time, lower, upper = (
                    float(x[i]) for x in (answer.time, answer.lower, answer.upper)
                )
                octaves = max(round(np.log2(p / last)), 1)
                told[octaves].append(Told(platform, case, p, time, lower, upper, here[p]))
    return told


def orders(told: list[Told]) -> tuple[int, int, int, int]:
    """Cases in the right order, cases, pairs of counts in the right order, pairs."""
    by_case: dict[tuple[str, Case], list[Told]] = defaultdict(list)
    for x in told:
        if x.p in ORDERED:
            by_case[x.question, x.case].append(x)
    right = cases = right_pairs = pairs = 0
    for some in by_case.values():
        if len(some) < 2:
            continue
        guessed, true = (
            np.argsort([getattr(x, y) for x in some]).tolist() for y in ("time", "measured")
        )
        right += guessed == true
        cases += 1
        for i, one in enumerate(some):
            for other in some[i + 1 :]:
                right_pairs += (one.time < other.time) == (one.measured < other.measured)
                pairs += 1
    return right, cases, right_pairs, pairs


def line(title: str, told: list[Told]) -> str:
    """One line of the table."""
    errors = [x.error for x in told]
    covered = np.mean([x.lower <= x.measured <= x.upper for x in told])
    width = np.median([x.upper / x.lower for x in told])
    right, cases, right_pairs, pairs = orders(told)
    return (
        f"{title:32} {len(told):5d} {np.median(errors):8.1%} {np.quantile(errors, 0.9):8.1%} "
        f"{right:4d}/{cases:<4d} {right_pairs:5d}/{pairs:<5d} {covered:8.0%} {width:8.2f}"
    )


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument(
        "--donors", type=Path, metavar="DIR", help="folder of the donors' times, by default DIR"
    )
    parser.add_argument("--beyond", action="store_true", help="extrapolate counts instead")
    options = parser.parse_args()
    described = platforms_of(options.folder)
    measured = times(options.folder)
    of_donor = times(options.donors or options.folder)
    platforms = sorted({name for name, _ in measured} & set(described))
    donors = sorted({name for name, _ in of_donor} & set(described))
    exact, blind = (programs(options.folder, informed=x) for x in (True, False))

    def ask(name: str, donor: str | None, counted: Mapping[Case, Program]) -> list[Told]:
        return asked(name, donor, described, counted, measured=measured, of_donor=of_donor)

    print(
        f"{'':32} {'times':>5} {'median':>8} {'90%':>8} {'order':>9} {'pairs':>11} "
        f"{'covered':>8} {'width':>8}"
    )
    if options.beyond:
        by_octaves = extrapolated(described, exact, measured)
        for octaves, told in sorted(by_octaves.items()):
            print(line(f"counted up to p / {2**octaves}", told))
        return
    alone = {name: ask(name, None, exact) for name in platforms}
    for name, told in alone.items():
        print(line(name, told))
    everything = [x for told in alone.values() for x in told]
    print(line("all platforms", everything), end="\n\n")
    for kernel in sorted({x.case[0] for x in everything}):
        some = [x for x in everything if x.case[0] == kernel]
        print(line(f"all platforms, {kernel}", some))
    pairs = [(name, donor) for name in platforms for donor in donors if donor != name]
    print()
    donated = {pair: ask(*pair, exact) for pair in pairs}
    for (name, donor), told in donated.items():
        print(line(f"{name}, donor {donor}", told))
    if donated:
        print(line("all platforms, one donor", [x for y in donated.values() for x in y]))
    print()
    told = [x for name in platforms for x in ask(name, None, blind)]
    print(line("nothing but counts", told))
    if pairs:
        told = [x for pair in pairs for x in ask(*pair, blind)]
        print(line("nothing but counts, one donor", told))


if __name__ == "__main__":
    main()
