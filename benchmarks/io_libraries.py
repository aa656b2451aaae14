"""How far the laws of ROMIO, PIO and one file a rank are from real writes.

Arrays are written by `MPI.File.Write_all` of mpi4py, and by a plain write of each rank, on hosts
of a testbed with links of 100 Mbit/s and disks of 10 MB/s. Costs are fitted to the runs of 14
requests; then 30 others are predicted, whose shapes, meshes, ranks, hosts, `cb_nodes` and
`cb_buffer_size` are drawn. Where each rank has a host, the two rearrangers of PIO are imitated as
well, by `MPI_Alltoallw` before `Write_all` of the I/O tasks: no run of them is fitted, and PIO
itself does not run.

    .venv/bin/python benchmarks/io_libraries.py DIRECTORY [--rounds 3]

DIRECTORY gets the runs; what is there already is not run again. All of it takes 20 minutes. Hosts
of a testbed have one page cache in common, and whoever flushes a file pays for all of it. So each
writer begins to write out its own part before `MPI_File_sync`, as its host does in a parallel file
system.
"""

import argparse
import json
import os
import random
import sys
import time
from collections import defaultdict
from functools import partial
from math import prod
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import block_of
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.law.costs import ClientCosts, Costs, LibraryCosts, ServerCosts
from parcast.arrays.law.libraries.library import LibraryRequest, LibrarySetting, filled
from parcast.arrays.law.libraries.pio import Pio
from parcast.arrays.planning.libraries import LIBRARIES
from parcast.arrays.store.durable import start_writing
from parcast.errors import ParcastError
from parcast.testbed.testbed import Testbed

LINK, DISK = 12.5e6, 10e6  # [B/s]
ITEM = 8  # of an element [B]
KIB, MIB = 1 << 10, 1 << 20
PIO_BUFFER = 16 * MIB  # of I/O tasks [B]
REST = 0.5  # of the disks before a run: some slices in which Linux limits them [s]
LIMIT = 600.0  # of a launch [s]
TESTED = 30
SEED = 20261130
WITHIN = 0.25
NAMES = ("romio", "file-per-rank", "pio-box", "pio-subset")
LAYOUTS = ((2, 2), (3, 3), (4, 4), (4, 2), (6, 6), (6, 3), (8, 8), (8, 4))  # ranks and hosts
# Costs that are fitted, what they are by default, and how far they may be from it, in logarithms.
FITTED = {
    "bandwidth": (0.95 * LINK, 0.3),
    "write_rate": (0.95 * DISK, 0.3),
    "startup": (5e-5, 1.5),
    "collective": (3e-4, 1.5),
    "pair": (1e-6, 2.0),
    "run": (5e-7, 2.0),
    "place_rate": (2e9, 1.0),
    "cache_rate": (1e9, 1.0),
    "open_shared": (5e-3, 1.5),
    "create": (1e-3, 1.5),
    "synchronise": (5e-3, 1.5),
}
SCATTER = 0.05  # of a median of runs, in logarithms [1]


class Case(NamedTuple):
    """A request, and the setting of ROMIO."""

    shape: tuple[int, ...]
    mesh: tuple[int, ...]
    hosts: int
    number: int
    cb_nodes: int
    buffer: int  # [B]

    @property
    def ranks(self) -> int:
        """How many there are."""
        return prod(self.mesh)

    @property
    def size(self) -> int:
        """Length of an array. [B]."""
        return ITEM * prod(self.shape)

    def libraries(self, kind: str) -> tuple[str, ...]:
        """Names of those that write it."""
        is_imitated = kind == "tested" and self.hosts == self.ranks
        return NAMES if is_imitated else NAMES[:2]


CALIBRATION = (
    Case((64, 96, 160), (4, 1, 1), 4, 1, 4, 16 * MIB),
    Case((64, 96, 160), (1, 2, 2), 4, 1, 1, 16 * MIB),
    Case((64, 96, 160), (1, 2, 2), 4, 1, 4, 64 * KIB),
    Case((400, 150, 40), (1, 1, 4), 4, 1, 2, MIB),
    Case((800, 200, 20), (1, 1, 4), 4, 1, 4, 16 * MIB),
    Case((8, 16, 20), (2, 2, 1), 4, 1, 1, MIB),
    Case((48, 80, 90), (2, 2, 1), 4, 4, 2, 512 * KIB),
    Case((128, 120, 160), (2, 2, 2), 8, 1, 8, 2 * MIB),
    Case((128, 120, 160), (1, 2, 4), 8, 1, 2, 128 * KIB),
    Case((8, 16, 20), (2, 2, 2), 8, 2, 4, MIB),
    Case((96, 100, 90), (2, 1, 4), 4, 1, 4, MIB),
    Case((96, 100, 90), (8, 1, 1), 4, 2, 2, 8 * MIB),
    Case((70, 90, 110), (1, 2, 1), 2, 1, 1, MIB),
    Case((70, 90, 110), (1, 1, 2), 2, 2, 2, 256 * KIB),
)


def tested() -> list[Case]:
    """Draw the requests that are predicted: 4 to 64 MB, at least 2 MB of each disk."""
    draw, found = random.Random(SEED), []
    while len(found) < TESTED:
        ranks, hosts = LAYOUTS[len(found) % len(LAYOUTS)]
        number = draw.choice((1, 1, 1, 2, 4))
        row = draw.choice((16, 32, 64, 128, 256))
        size = 4e6 * 16 ** draw.random() / number / ITEM
        first = draw.choice((16, 32, 64, 128))
        shape = (first, max(round(size / first / row), 8), row)
        meshes = [
            (i, j, ranks // i // j)
            for i in range(1, ranks + 1)
            for j in range(1, ranks + 1)
            if ranks % (i * j) == 0
        ]
        case = Case(
            shape,
            draw.choice(meshes),
            hosts,
            number,
            draw.randint(1, hosts),
            draw.choice((64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB)),
        )
        if number * case.size >= 2e6 * hosts:
            found.append(case)
    return found


def request_of(case: Case) -> LibraryRequest:
    """Give it to the laws."""
    return LibraryRequest(
        chunks=mesh_chunks(case.shape, case.mesh),
        itemsize=ITEM,
        number=case.number,
        disks=case.hosts,
        hosts=case.hosts,
    )


def predicted(name: str, case: Case, costs: Costs) -> float:
    """Time by the law of a library. [s]."""
    setting = LibrarySetting(case.cb_nodes, PIO_BUFFER if "pio" in name else case.buffer)
    return float(LIBRARIES[name].time(request_of(case), filled(costs), setting).time)


# What the ranks do


def run_ranks(path: str) -> None:
    """Make the runs of a launch, on each of its ranks."""
    from mpi4py import MPI

    comm, task = MPI.COMM_WORLD, json.loads(Path(path).read_text(encoding="utf-8"))
    for place in task["order"]:
        case = Case(*(tuple(x) if isinstance(x, list) else x for x in task["cases"][place]))
        count = block_of(case.shape, case.mesh, comm.rank).count
        values = np.random.default_rng(comm.rank).random((case.number, *count))
        for name in task["libraries"][place]:
            path = Path(task["folder"], name)
            if comm.rank == 0:
                os.sync()
            time.sleep(REST)
            comm.Barrier()
            begin = time.perf_counter()
            WRITERS[name](comm, case, values, path)
            begins, ends = zip(*comm.allgather((begin, time.perf_counter())), strict=True)
            if comm.rank == 0:
                check(case, path)
                row = {"place": place, "library": name, "seconds": max(ends) - max(begins)}
                print(json.dumps(row), flush=True)
                for file in path.parent.glob(f"{name}*"):
                    file.unlink()
            comm.Barrier()


def check(case, path):
    """Refuse files that are not what the first rank and the last one have."""
    if not path.exists():
        return
    found = np.fromfile(path).reshape(case.number, *case.shape)
    for rank in (0, case.ranks - 1):
        box = block_of(case.shape, case.mesh, rank)
        own = tuple(slice(a, b) for a, b in zip(box.start, box.stop, strict=True))
        values = np.random.default_rng(rank).random((case.number, *box.count))
        assert (found[:, *own] == values).all(), path


def write_shared(comm, case, values, path):
    """Write one file with ROMIO, and flush it."""
    from mpi4py import MPI

    box = block_of(case.shape, case.mesh, comm.rank)
    kind = MPI.DOUBLE.Create_subarray(case.shape, box.count, box.start).Commit()
    hints = {"cb_nodes": str(case.cb_nodes), "cb_buffer_size": str(case.buffer)}
    hints |= {"romio_cb_write": "enable"}
    write_views(comm, case, values, path, kind=kind, hints=hints)


def write_views(comm, case, values, path, *, kind, hints, own=None):
    """Write arrays into one file and flush it; `own` is where a rank alone writes [B]."""
    from mpi4py import MPI

    mode = MPI.MODE_CREATE | MPI.MODE_WRONLY
    file = MPI.File.Open(comm, str(path), mode, MPI.Info.Create(hints))
    for i, each in enumerate(values):
        file.Set_view(i * case.size, MPI.BYTE, kind)
        file.Write_all(each)
    aggregators = [int(x) for x in file.Get_info().Get("romio_aggregator_list").split()]
    if own is None and comm.rank in aggregators:
        domain = -(-case.size // len(aggregators))
        own = aggregators.index(comm.rank) * domain, domain
    if own is not None:
        begin_writing(path, case, *own)
    comm.Barrier()
    file.Sync()
    file.Close()
    kind.Free()


def begin_writing(path, case, place, length):
    """Have the system of this host begin to write a part of each array out."""
    file = os.open(path, os.O_WRONLY)
    for i in range(case.number):
        length = min(length, case.size - place)
        start_writing(file, i * case.size + place, length)
    os.close(file)


def write_own(comm, case, values, path):  # noqa: ARG001 - of all writers
    """Write a file of this rank, and flush it."""
    file = os.open(f"{path}.{comm.rank}", os.O_CREAT | os.O_WRONLY, 0o666)
    os.pwrite(file, values, 0)
    os.fsync(file)
    os.close(file)


def write_rearranged(comm, case, values, path, *, rearranger):
    """Send arrays to I/O tasks as PIO does, which write and flush one file."""
    from mpi4py import MPI

    parts = Pio(rearranger).parts(request_of(case), case.cb_nodes)
    tasks = np.arange(parts.client.max() + 1) * (comm.size // case.cb_nodes)
    mine = block_of(case.shape, case.mesh, comm.rank)
    empty = [MPI.BYTE] * comm.size
    sending, receiving = [*empty], [*empty]
    for box, task in zip(parts.boxes.each(), parts.client.tolist(), strict=True):
        both = box & mine
        if both.size:
            start = (0, *(a - b for a, b in zip(both.start, mine.start, strict=True)))
            shape, count = (case.number, *mine.count), (case.number, *both.count)
            sending[tasks[task]] = MPI.DOUBLE.Create_subarray(shape, count, start).Commit()
    place = np.flatnonzero(tasks == comm.rank)
    gathered, runs = np.empty((case.number, 0)), ()
    if len(place):
        boxes = [x for x, t in zip(parts.boxes.each(), parts.client, strict=True) if t == place]
        runs, sender = runs_of(case, boxes)
        gathered = np.empty((case.number, runs[1].sum() // ITEM))
        at = np.cumsum(runs[1]) - runs[1]
        for rank in np.unique(sender):
            those = sender == rank
            starts = [i * gathered[0].nbytes + at[those] for i in range(case.number)]
            lengths = np.tile(runs[1][those], case.number)
            kind = MPI.BYTE.Create_hindexed(lengths, np.concatenate(starts))
            receiving[rank] = kind.Commit()
    used = [int(x is not MPI.BYTE) for x in sending], [int(x is not MPI.BYTE) for x in receiving]
    zeros = [0] * comm.size
    comm.Alltoallw([values, used[0], zeros, sending], [gathered, used[1], zeros, receiving])
    writers = comm.Split(0 if len(place) else MPI.UNDEFINED, comm.rank)
    if len(place):
        begins = np.append(True, np.diff(runs[0]) != runs[1][:-1])  # others go on with a run
        starts = runs[0][begins]
        lengths = np.add.reduceat(runs[1], np.flatnonzero(begins))
        kind = MPI.BYTE.Create_hindexed(lengths, starts).Commit()
        kind = kind.Create_resized(0, case.size).Commit()
        own = (int(starts[0]), int(lengths[0])) if len(starts) == 1 else None
        alone = all(writers.allgather(own is not None))
        hints = {"cb_nodes": str(case.cb_nodes), "cb_buffer_size": str(PIO_BUFFER)}
        own = own if alone else None
        write_views(writers, case, gathered, path, kind=kind, hints=hints, own=own)


def runs_of(case, boxes):
    """Places and lengths of the rows of some boxes in the file [B], in order, and their ranks."""
    found = []
    for rank in range(case.ranks):
        for both in (box & block_of(case.shape, case.mesh, rank) for box in boxes):
            if both.size:
                rows = np.indices(both.count[:-1]).reshape(len(both.count) - 1, -1).T
                first = [*(rows + both.start[:-1]).T, np.full(len(rows), both.start[-1])]
                place = np.ravel_multi_index(first, case.shape) * ITEM
                found.append((place, np.full_like(place, both.count[-1] * ITEM), rank + 0 * place))
    place, length, rank = (np.concatenate(x) for x in zip(*found, strict=True))
    order = np.argsort(place)
    return (place[order], length[order]), rank[order]


WRITERS = {
    "romio": write_shared,
    "file-per-rank": write_own,
    "pio-box": partial(write_rearranged, rearranger="box"),
    "pio-subset": partial(write_rearranged, rearranger="subset"),
}


# Runs and their costs


def run_all(folder: Path, kind: str, cases, rounds: int) -> dict[int, dict[str, list[float]]]:
    """Make what runs are not there yet, and give the seconds of each case and library."""
    store = folder / f"{kind}.jsonl"
    found = defaultdict(lambda: defaultdict(list))
    if store.exists():
        for line in store.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["place"]][row["library"]].append(row["seconds"])
    groups, wanted = defaultdict(list), []
    for place, case in enumerate(cases):
        missing = [x for x in case.libraries(kind) if len(found[place][x]) < rounds]
        if missing:
            groups[case.ranks, case.hosts].append(place)
        wanted.append(missing)
    for (ranks, hosts), places in groups.items():
        order = [*places]  # each first run is discarded: connections are made then
        for _ in range(rounds):
            order += random.sample(places, len(places))
        task = {"cases": [*cases], "order": order, "libraries": wanted}
        rows = launched(folder, ranks, hosts, task)
        discarded = sum(len(wanted[place]) for place in places)
        with store.open("a", encoding="utf-8") as stream:
            for row in rows[discarded:]:
                print(json.dumps(row), file=stream)
                found[row["place"]][row["library"]].append(row["seconds"])
        print(f"{kind}: {len(places)} requests on {ranks} ranks of {hosts} hosts", flush=True)
    return found


def launched(folder: Path, ranks: int, hosts: int, task) -> list[dict]:
    """Run ranks on a testbed."""
    path = folder / "task.json"
    path.write_text(json.dumps(task | {"folder": str(folder)}), encoding="utf-8")
    bed = Testbed(hosts=hosts, link=LINK, cpu=None, disk=DISK)
    mpiexec = str(Path(sys.executable).with_name("mpiexec.hydra"))
    program = [sys.executable, "-m", "mpi4py", str(Path(__file__).absolute())]
    command = [mpiexec, "-n", str(ranks), *program, "--ranks", str(path)]
    ended = bed.run(command, time_limit=LIMIT)
    if ended.status != 0:
        raise SystemExit(ended.stderr)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def costs_of(values) -> Costs:
    """Costs from those that are fitted."""
    known = dict(zip(FITTED, np.exp(values).tolist(), strict=True))
    startup = {f"{x}_startup": known["startup"] for x in ("send", "receive")}
    names = ("collective", "pair", "cache_rate", "open_shared", "create")
    return Costs(
        clients=ClientCosts(
            bandwidth=known["bandwidth"],
            run=known["run"],
            copy_rate=known["place_rate"],
            **startup,
        ),
        servers=ServerCosts(
            write_rate=known["write_rate"],
            run=known["run"],
            place_rate=known["place_rate"],
            synchronise=known["synchronise"],
        ),
        libraries=LibraryCosts(writes_behind=False, **{name: known[name] for name in names}),
    )


def fitted(found) -> Costs:
    """Fit the costs to the runs of the calibration, each near what it is by default."""
    from scipy.optimize import least_squares

    typical, spread = (np.array(x) for x in zip(*FITTED.values(), strict=True))
    rows = [
        (name, CALIBRATION[place], np.log(median(seconds)))
        for place, libraries in found.items()
        for name, seconds in libraries.items()
        if seconds
    ]

    def wrong(values):
        costs = costs_of(values)
        law = [np.log(predicted(name, case, costs)) - seen for name, case, seen in rows]
        return [*(np.array(law) / SCATTER), *((values - np.log(typical)) / spread)]

    best = least_squares(wrong, np.log(typical), loss="soft_l1").x
    for name, value in zip(FITTED, np.exp(best), strict=True):
        print(f"{name:12} {value:.4g}")
    return costs_of(best)


def show(cases, found, costs: Costs) -> None:
    """Print each error, and what share lies within 25%."""
    for name in NAMES:
        errors = []
        for place, case in enumerate(cases):
            if not found[place][name]:
                continue
            seconds = found[place][name]
            law = predicted(name, case, costs)
            error = law / median(seconds) - 1
            errors.append(error)
            spread = max(seconds) / min(seconds) - 1
            mesh = "x".join(map(str, case.mesh))
            print(
                f"{name:13} {'x'.join(map(str, case.shape)):12} {mesh:6} {case.number} arrays, "
                f"{case.hosts} hosts, cb_nodes {case.cb_nodes}, {case.buffer >> 10:5} KiB: "
                f"{median(seconds):6.3f} s (+{spread:.0%}), law {law:6.3f} s, {error:+.1%}"
            )
        if not errors:
            continue
        size = np.abs(errors)
        print(
            f"{name}: {(size <= WITHIN).sum()} of {len(size)} within {WITHIN:.0%}, median error "
            f"{np.median(size):.1%}, worst {size.max():.1%}",
            flush=True,
        )


def main() -> None:
    """Run, fit and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each that count")
    parser.add_argument("--calibration", action="store_true", help="do not run the tested ones")
    given = parser.parse_args()
    folder = given.directory.absolute()
    folder.mkdir(exist_ok=True)
    os.chdir(folder)  # whose disk is limited
    calibration = run_all(folder, "calibration", CALIBRATION, given.rounds)
    costs = fitted(calibration)
    show(CALIBRATION, calibration, costs)
    if not given.calibration:
        cases = tested()
        show(cases, run_all(folder, "tested", cases, given.rounds), costs)


if __name__ == "__main__":
    if "--ranks" in sys.argv:
        run_ranks(sys.argv[-1])
    else:
        try:
            main()
        except ParcastError as error:
            raise SystemExit(str(error)) from None
