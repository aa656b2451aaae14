"""Writing an array of a parallel program, beside what it would use instead.

    python benchmarks/arrays_library.py [--size 1GiB] [--clients 4] [--mesh 4x1x1] [--rounds 5]
        [--folder .] [--h5py PYTHON] [--ways "plain; MPI-IO"] [--small]

Every way writes the same array of float64, in blocks over a mesh of clients, to a new path, and
ends with its bytes on the device. The ways alternate within a round, after a sync and with an
empty page cache (as root). Each is compared with the plain write of its own round, and shown are
the median of these ratios and the median time. Times are those of the slowest rank, from a
barrier on; the start of processes is not in them. The first round is discarded.

- plain: one process, `os.write` of one buffer in pieces of 4 MiB, `os.fsync`, `os.close`
- parcast, dedicated: `write` with one server on a rank of its own
- parcast, shared: `write` with one server on a rank that is a client too
- MPI-IO: `MPI.File.Write_all` of all clients, `Sync`, `Close`
- h5py: blocks are sent to rank 0, which puts them together and writes one data set, flush, fsync
- zarr-python: the same with a Zarr store, uncompressed, in chunks of 64 MiB, each flushed

`--small` writes 2,048 arrays of 64 KiB, batched, not batched, and with one call each (128 of them,
scaled); as a store of 2,048 arrays and as one that is stacked. These stores are removed at the end
only (3.4 GB with 5 rounds): where thousands of files were deleted just before, the begin of a
store took 0.9 to 3.2 s on the ext4 of a disk, otherwise 0.16 s.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from math import prod
from pathlib import Path
from time import perf_counter

import numpy as np

PIECE = 4 << 20  # of the plain write [B]
CHUNK = 64 << 20  # of zarr-python [B]
SMALL = (2048, (16, 512))  # arrays of 64 KiB
SOME = 16  # one of so many is written with a call of its own
CACHES = Path("/proc/sys/vm/drop_caches")
LARGE = ("plain", "parcast, dedicated", "parcast, shared", "MPI-IO", "h5py", "zarr-python")
LAYOUTS = ("arrays", "stacked")
CALLS = ("batched", "unbatched", "one by one")


def shape_of(size):
    """Shape of an array of float64 of about a size, in planes of 2 MiB where it is large."""
    side = 512 if size >= 64 << 20 else 64
    return (max(size // (8 * side * side), 1), side, side)


def box_of(shape, mesh, client):
    """Start and counts of the block of a client."""
    place = np.unravel_index(client, mesh)
    start = [int(i) * n // m for i, n, m in zip(place, shape, mesh, strict=True)]
    stop = [(int(i) + 1) * n // m for i, n, m in zip(place, shape, mesh, strict=True)]
    return start, [b - a for a, b in zip(start, stop, strict=True)]


def filled(count, seed):
    """Elements that are in memory."""
    some = np.random.default_rng(seed).random(1 << 17)
    return np.resize(some, prod(count)).reshape(count)


def plain(path, shape):
    """Write the bytes of one buffer; give the wall time."""
    left = memoryview(filled(shape, 1)).cast("B")
    begun = perf_counter()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    while left:
        left = left[os.write(file, left[:PIECE]) :]
    os.fsync(file)
    os.close(file)
    return perf_counter() - begun


def mpi_io(comm, path, shape, mesh):
    """Write a block with all others into one file."""
    from mpi4py import MPI

    start, count = box_of(shape, mesh, comm.Get_rank())
    values = filled(count, comm.Get_rank())
    kind = MPI.DOUBLE.Create_subarray(shape, count, start).Commit()
    comm.Barrier()
    begun = perf_counter()
    file = MPI.File.Open(comm, path, MPI.MODE_WRONLY | MPI.MODE_CREATE | MPI.MODE_EXCL)
    file.Set_view(0, MPI.DOUBLE, kind)
    file.Write_all(values)
    file.Sync()
    file.Close()
    return perf_counter() - begun


def gathered(comm, shape, mesh, values):
    """Put the blocks of all clients together on rank 0."""
    from mpi4py import MPI

    rank, size = comm.Get_rank(), comm.Get_size()
    if rank:
        comm.Send(values, 0)
        return None
    whole = np.empty(shape)
    for client in range(size):
        start, count = box_of(shape, mesh, client)
        place = tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))
        if not client:
            whole[place] = values
        elif whole[place].flags.c_contiguous:
            comm.Recv(whole[place], client)
        else:
            kind = MPI.DOUBLE.Create_subarray(shape, count, start).Commit()
            comm.Recv([whole, 1, kind], client)
            kind.Free()
    return whole


def on_device(path):
    """Flush all files and folders of a path."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in [*names, "."]:
            file = os.open(os.path.join(folder, name), os.O_RDONLY)
            os.fsync(file)
            os.close(file)


def on_first(comm, path, shape, mesh, write):
    """Gather on rank 0 and write there."""
    values = filled(box_of(shape, mesh, comm.Get_rank())[1], comm.Get_rank())
    comm.Barrier()
    begun = perf_counter()
    whole = gathered(comm, shape, mesh, values)
    if whole is not None:
        write(path, whole)
    comm.Barrier()
    return perf_counter() - begun


def h5py_write(path, whole):
    """Write one data set."""
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("u", data=whole)
        file.flush()
        os.fsync(file.id.get_vfd_handle())


def zarr_write(path, whole):
    """Write an uncompressed store."""
    import zarr

    rows = max(CHUNK // whole[0].nbytes, 1)
    chunks = (min(rows, len(whole)), *whole.shape[1:])
    made = zarr.create_array(
        path, shape=whole.shape, dtype="f8", chunks=chunks, compressors=None, filters=None
    )
    made[:] = whole
    on_device(path)


def parcast_write(comm, path, shape, mesh, *, dedicated):
    """Write with one server."""
    from parcast.arrays.library.distribution import Block
    from parcast.arrays.library.session import connect

    with connect(comm, dedicated=dedicated) as io:
        if not io.is_client:
            io.serve()
            return 0.0
        values = filled(box_of(shape, mesh, io.client)[1], io.client)
        small = {"u": Block(values[:1, :1, :1].copy(), mesh, mesh)}
        io.write(f"{path}-small", small)  # for what is imported, and as a barrier
        begun = perf_counter()
        written = io.write(path, {"u": Block(values, shape, mesh)})
        seconds = perf_counter() - begun
    if os.environ.get("SPENT") and io.client == 0:
        print(seconds, written.servers, file=sys.stderr)
    return seconds


def small_write(comm, path, layout, call):
    """Write 2,048 arrays of 64 KiB with one server of its own."""
    from parcast.arrays.library.distribution import Block
    from parcast.arrays.library.session import connect

    count, shape = SMALL
    with connect(comm, dedicated=True) as io:
        if not io.is_client:
            io.serve()
            return 0.0
        mesh = (len(io.clients), 1)
        values = filled(box_of(shape, mesh, io.client)[1], io.client)
        held = {f"u{i:04}": Block(values.copy(), shape, mesh) for i in range(count)}
        io.write(f"{path}-small", {"u": held["u0000"]})  # for what is imported, and as a barrier
        keys = {"batch": call == "batched", "stack": "u" if layout == "stacked" else ""}
        begun = perf_counter()
        if call == "one by one":
            some = list(held.items())[::SOME]
            for name, each in some:
                io.write(f"{path}-{name}", {"u": each})
            return (perf_counter() - begun) * len(held) / len(some)
        io.write(path, held, **keys)
        return perf_counter() - begun


def one(way, path, shape, mesh):
    """Do one way on the ranks of this run; the first prints its time."""
    if way == "plain":
        print(json.dumps(plain(path, shape)))
        return
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    layout, _, call = way.partition(": ")
    if layout in LAYOUTS:
        seconds = small_write(comm, path, layout, call)
    elif way.startswith("parcast"):
        seconds = parcast_write(comm, path, shape, mesh, dedicated=way.endswith("dedicated"))
    elif way == "MPI-IO":
        seconds = mpi_io(comm, path, shape, mesh)
    else:
        write = h5py_write if way == "h5py" else zarr_write
        seconds = on_first(comm, path, shape, mesh, write)
    longest = comm.reduce(seconds, MPI.MAX, 0)
    if comm.Get_rank() == 0:
        print(json.dumps(longest))


def timed(way, path, given):
    """Run one way in processes of its own and give its wall time, None if it is not there."""
    from parcast.mpi.find import available_cores, find_mpi

    clients = prod(given.mesh)
    dedicated = way.endswith("dedicated") or way.partition(": ")[0] in LAYOUTS
    ranks = 1 if way == "plain" else clients + dedicated
    python = given.h5py if way == "h5py" else sys.executable
    mesh, shape = ("x".join(map(str, x)) for x in (given.mesh, given.shape))
    mpi = find_mpi()
    mpiexec = [] if way == "plain" else [mpi.mpiexec, "-n", str(ranks)]
    environment = os.environ | mpi.environment(crowded=ranks > len(available_cores()))
    ready()
    said = subprocess.run(
        [*mpiexec, python, __file__, "--one", way, str(path), shape, mesh],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if not given.small:
        removed(path.parent)
    if said.returncode:
        print(f"{way}: {said.stderr.strip()[-400:]}", file=sys.stderr)
        return None
    sys.stderr.write(said.stderr)
    return json.loads(said.stdout.splitlines()[-1])


def removed(folder):
    """Remove what a run has written."""
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)


def ready():
    """Have what others wrote on the device, and an empty page cache where that is allowed."""
    os.sync()
    with suppress(OSError):
        CACHES.write_text("1")
    time.sleep(0.2)


def measured(ways, folder, given):
    """Times of each way, one of each round after the first."""
    times = {way: [] for way in ways}
    for turn in range(given.rounds + 1):
        for way in random.Random(turn).sample(ways, len(ways)):
            path = Path(folder) / f"written-{turn}-{way.replace(': ', '-')}"
            seconds = timed(way, path, given)
            if turn:
                times[way].append(seconds)
    return times


def table(times, first):
    """Print the time of each way, and its speed as a share of that of the first one."""
    heads = (f"median of {max(map(len, times.values()))} [s]", f"of {first}", "range")
    print(f"{'':24}" + "".join(f"{head:>24}" for head in heads))
    for way, own in times.items():
        pairs = [(a, b) for a, b in zip(times[first], own, strict=True) if a and b]
        if not pairs:
            print(f"{way:24}{'-':>24}")
            continue
        ratios = [a / b for a, b in pairs]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        time, ratio = statistics.median(b for _, b in pairs), statistics.median(ratios)
        print(f"{way:24}{time:24.3f}{ratio:24.2f}{spread:>24}", flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", default="1GiB")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--mesh", default="", help="blocks in each dimension, by default rows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--h5py", default=sys.executable, help="a Python with h5py and mpi4py")
    parser.add_argument("--ways", default="", help="some of the ways, divided by semicolons")
    parser.add_argument("--small", action="store_true", help="2,048 arrays of 64 KiB instead")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        way, path, *extents = given.one
        shape, mesh = (tuple(map(int, text.split("x"))) for text in extents)
        one(way, path, shape, mesh)
        return
    from parcast.units import quantity

    given.mesh = tuple(map(int, (given.mesh or f"{given.clients}x1x1").split("x")))
    given.shape = shape_of(int(quantity(given.size, "size", name="--size")))
    chosen = [way.strip() for way in given.ways.split(";") if way]
    clients = prod(given.mesh)
    if given.small:
        print(f"{SMALL[0]:,} arrays of 64 KiB, {clients} clients, one server")
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            for layout in LAYOUTS:
                calls = CALLS[: 3 if layout == "arrays" else 2]
                ways = [f"{layout}: {call}" for call in calls if not chosen or call in chosen]
                table(measured(ways, folder, given), ways[0])
        return
    shape, mesh = ("x".join(map(str, each)) for each in (given.shape, given.mesh))
    print(f"{shape} float64 ({given.size}), {clients} clients in {mesh} blocks, one server")
    ways = [way for way in LARGE if not chosen or way in chosen or way == "plain"]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        table(measured(ways, folder, given), "plain")


if __name__ == "__main__":
    main()
