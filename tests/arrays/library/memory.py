"""A parallel program whose dedicated server writes down its peak memory in each request.

Arguments: a folder. Requests come in pairs: one subchunk or unit, then many. The server prints for
each request its number, and how much more memory than before was resident at most, in bytes.
"""

import sys
from pathlib import Path

import numpy as np

from parcast.arrays.geometry.boxes import block_of
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.server import Server
from parcast.arrays.library.session import connect

SUBCHUNK = 1 << 22
PLANE = (512, 512)  # of float64, half of a subchunk
COUNT = 7  # subchunks of a large request


def peak_of(request):
    """Work a request off, and print what it alone has in memory."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is resident now
    before = peak()
    yield from original(request[0], request[1])
    sys.stdout.write(f"peak {request[1].number} {peak() - before}\n")
    sys.stdout.flush()


def peak():
    """Most memory that was resident until now [B]."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


original = Server._worked_off


def requests(io, folder):
    """Submit requests, small ones before large ones; give what each was."""
    done = []
    for mesh, kind in (((1, 1, 2), "columns"), ((2, 1, 1), "rows")):
        for writer in ("sync", "write-behind", "double-buffer"):
            for count in (1, COUNT):
                shape = (2 * count, *PLANE)
                own = np.zeros([n // m for n, m in zip(shape, mesh, strict=True)])
                path = folder / f"{kind}-{writer}-{count}"
                io.write(path, {"u": Block(own, shape, mesh)}, writer=writer, subchunk=SUBCHUNK)
                done.append(f"write, {kind}, {writer}")
        for count in (1, COUNT):
            io.read(folder / f"{kind}-sync-{count}", mesh=mesh)
            done.append(f"read, {kind}")
    random = np.random.default_rng(io.client).random((2 * COUNT, *PLANE))  # zstd: as long
    for mesh, kind in (((1, 1, 2), "columns"), ((2, 1, 1), "rows")):
        for count in (1, COUNT):
            shape = (2 * count, *PLANE)
            own = [n // m for n, m in zip(shape, mesh, strict=True)]
            held = {"u": Block(random[: own[0], : own[1], : own[2]], shape, mesh)}
            io.write(folder / f"zstd-{kind}-{count}", held, zstd=1)
            done.append(f"write, {kind}, zstd")
    for zstd in (None, 1):  # arrays of a subchunk and half of one
        for mesh, kind in (((1, 1, 2), "columns"), ((2, 1, 1), "rows")):
            shape = (3, *PLANE)
            own = block_of(shape, mesh, io.client).count
            held = Block(random[: own[0], : own[1], : own[2]], shape, mesh)
            for count in (1, COUNT):
                arrays = {f"u{i}": held for i in range(count)}
                io.write(folder / f"ends-{zstd}-{kind}-{count}", arrays, zstd=zstd)
                done.append(f"write, {kind}, ends, {zstd}")
    for stack in ("", "all"):
        for rows in (2, 32):  # 4 MiB in one batch, or in 16
            small = Block(np.zeros((rows, 128)), (rows, 256), (1, 2))
            held = {f"u{i}": small for i in range(1024)}
            io.write(folder / f"small-{stack}-{rows}", held, stack=stack)
            done.append(f"write, many {stack}")
    return done


def main():
    Server._worked_off = lambda self, request: peak_of((self, request))
    with connect(dedicated=True) as io:
        if io.is_client:
            done = requests(io, Path(sys.argv[1]))
            if io.client == 0:
                sys.stdout.write("".join(f"done {i} {what}\n" for i, what in enumerate(done)))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
