"""A parallel program of which a rank is killed at a step, as in `dying`, under mpiexec.

Arguments: an action, a path, the victim and the step. Each rank notes the segments of shared
memory that MPI has made for it, two folders above the path.
"""

import os
import sys
from pathlib import Path

from parcast.arrays.library.session import connect
from parcast.mpi.launched import world
from tests.arrays.library.dying import SERVERS, VICTIMS, Request, counted
from tests.arrays.store.interruptions import Steps, killed


def main():
    action, path, victim, at = sys.argv[1:]
    with connect(servers=SERVERS, dedicated=True) as io:
        mapped = {x for x in Path("/proc/self/maps").read_text().split() if "/dev/shm/" in x}
        place = Path(path).parents[1] / f"segments-{world().Get_rank()}"
        place.write_text("\n".join(mapped))
        if world().Get_rank() == VICTIMS[victim]:
            killed.write = os.pwrite
            steps = Steps(int(at), killed)
            steps.install()
            counted(io.loop.channel, steps)
        if io.is_client:
            Request(Path(path), action).submit(io)


if __name__ == "__main__":
    main()
