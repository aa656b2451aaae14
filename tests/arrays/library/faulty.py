"""A parallel program whose disk fails: by itself, or by a call that fails on one rank.

    python faulty.py ACTION PATH ROWS KIND [CALL CODE RANK FROM]

ACTION is write, overwrite or append; KIND shared or dedicated.
"""

import errno
import os
import sys

import numpy as np

from parcast.arrays.library.distribution import Block, block_of
from parcast.arrays.library.session import connect
from parcast.mpi.launched import world

COLUMNS = 1024


def failing(call, code, rank, begin):
    """Let calls of a function fail on a rank, from one on."""
    ranks = world()
    if ranks is None or ranks.Get_rank() != rank:
        return
    plain, count = getattr(os, call), [0]

    def fails(*args):
        count[0] += 1
        if count[0] >= begin:
            raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))
        return plain(*args)

    setattr(os, call, fails)


def old(folder):
    """Write what the disk holds before."""
    values = np.zeros((16, COLUMNS))
    with connect() as io:
        for name in ("u.zarr", "u.npy"):
            held = {"array": Block(values, values.shape, (1, 1))}
            io.write(os.path.join(folder, name), held, subchunk=1 << 16)


def written(io, action, path, rows):
    shape, mesh = (rows, COLUMNS), (1, len(io.clients))
    own = block_of(shape, mesh, io.client)[1]
    arrays = {"array": Block(np.ones(own), shape, mesh)}
    if action == "append":
        io.append(path, arrays)
    else:
        io.write(path, arrays, overwrite=action == "overwrite", subchunk=1 << 16)


def main():
    action, path, rows, kind, *fault = sys.argv[1:]
    if fault:
        failing(fault[0], fault[1], int(fault[2]), int(fault[3]))
    with connect(servers=2, dedicated=kind == "dedicated") as io:
        if io.is_client:
            written(io, action, path, int(rows))
    sys.stdout.write("ended\n")


if __name__ == "__main__":
    main()
