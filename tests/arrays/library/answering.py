"""A parallel program whose rank 1, client and server, flushes until server 0 has written all.

Arguments: a folder. It does so with each writer.
"""

import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from parcast.arrays.geometry.boxes import block_of
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.session import connect
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.writing import Writer

SHAPE, MESH = (4, 4), (1, 2)
LONGEST = 10.0  # [s]
SLOW = 0.05  # a write of server 0, so that it is the last [s]


def main():
    folder, is_first = Path(sys.argv[1]), MPI.COMM_WORLD.Get_rank() == 0
    plain_write, plain_flush = ChunkWriter.write, Writer.flush

    def write(self, *args, **keys):
        time.sleep(SLOW)
        plain_write(self, *args, **keys)

    def flush(self):
        written = folder / writer
        if is_first:
            written.touch()
        end = time.monotonic() + LONGEST
        while not written.exists() and time.monotonic() < end:
            time.sleep(0.001)
        sys.stdout.write(f"{'answered' if written.exists() else 'blocked'} {writer}\n")
        plain_flush(self)

    Writer.flush = flush
    if is_first:
        ChunkWriter.write = write
    with connect(servers=2) as io:
        own = np.ones(block_of(SHAPE, MESH, io.client).count)
        arrays = {f"u{i}": Block(own, SHAPE, MESH) for i in range(5)}
        for writer in ("sync", "write-behind", "double-buffer"):
            io.write(folder / f"{writer}.zarr", arrays, writer=writer, batch=False)


if __name__ == "__main__":
    main()
