"""A parallel program that replaces a store again and again, each time with another number.

Arguments: servers, "dedicated" or "shared", a store.
"""

import sys
from itertools import count

import numpy as np

from parcast.arrays.geometry.boxes import block_of
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.session import connect

SHAPE = (64, 4096)


def main():
    servers, kind, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    with connect(servers=servers, dedicated=kind == "dedicated") as io:
        if io.is_client:
            mesh = (len(io.clients), 1)
            own = block_of(SHAPE, mesh, io.client)[1]
            for number in count():
                held = Block(np.full(own, float(number)), SHAPE, mesh)
                io.write(path, {"u": held}, overwrite=True, subchunk=1 << 15)
                if io.client == 0:
                    sys.stdout.write("x\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
