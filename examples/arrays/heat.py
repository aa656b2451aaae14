"""Heat in a plate, with checkpoints. Run it with: mpiexec -n 4 python heat.py STEPS."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from parcast import arrays

N, EVERY, PATH = 240, 50, Path("heat.zarr")
comm, steps = MPI.COMM_WORLD, int(sys.argv[1])
above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
mesh = (comm.size, 1)  # each rank has some rows, and one more above and below

with arrays.connect(servers=1) as io:
    if PATH.exists():
        u = io.read(PATH, ["u"], mesh=mesh, halo=(1, 0))["u"]
        first = arrays.open_store(PATH).attributes["step"]
    else:
        rows = (comm.rank + 1) * N // comm.size - comm.rank * N // comm.size
        u, first = np.zeros((rows + 2, N)), 0
        u[1:-1, 0] = 1.0  # the left edge is hot
    for step in range(first + 1, steps + 1):
        comm.Sendrecv(u[1], above, recvbuf=u[-1], source=below)
        comm.Sendrecv(u[-2], below, recvbuf=u[0], source=above)
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.2 * (around - 4 * u[1:-1, 1:-1])
        if step % EVERY == 0 or step == steps:
            held = {"u": arrays.Block(u, (N, N), mesh, halo=(1, 0))}
            names, kept = {"u": ("y", "x")}, {"step": step}
            io.write(PATH, held, dimensions=names, attributes=kept, overwrite=True)
            if io.client == 0:
                print(f"step {step} is in {PATH}", flush=True)  # noqa: T201 - its answer
