"""The batch script that `--slurm` writes: the same command on the nodes of a cluster."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from parcast.cli.batch_script import Allocation, wrapped

USUAL: Final = 3600.0  # that a job is given where no time limit is asked for [s]
MARGIN: Final = 60.0  # for the start of the ranks [s]
LEFT_OUT: Final = re.compile(r"(-np|--slurm)(=.*)?|-np[0-9]+")  # of the command

SCRIPT: Final = """\
#!/bin/sh
# Runs a pipeline of parcast on {ranks} MPI ranks.
# Check the lines marked EDIT, then submit the script: sbatch {script}
{directives}
# EDIT: make parcast, mpi4py and the MPI of the cluster available on every node.
# module load python openmpi
# . "$HOME/venv/bin/activate"

# A rank is one processor; Slurm and the MPI place the ranks.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# EDIT: srun --mpi=list shows what your Slurm knows. Without srun write: mpiexec parcast ...
srun --mpi=pmix {command}
"""


def slurm_script(
    command: Sequence[str],
    *,
    name: str,
    ranks: int,
    time_limit: float | None,
    script: str,
) -> str:
    """Text of a batch script that runs a command of parcast on ranks that srun starts.

    The job is given the time limit [s] and a minute more; `script` is its file's name.
    """
    called = f"parcast-{shlex.quote(name)}"
    asked = Allocation(
        name=called,
        ranks=ranks,
        cpus_per_rank=1,
        seconds=USUAL if time_limit is None else time_limit + MARGIN,
        output=f"{called}.{{}}.txt",
    )
    return SCRIPT.format(
        script=shlex.quote(script),
        ranks=ranks,
        directives=asked.directives(),
        command=wrapped(command),
    )


def command_of(path: str, written: Sequence[str]) -> list[str]:
    """Words of a command for the script: as written, without the script and the count of ranks.

    >>> command_of("parcast run features", ["docs", "-np", "4", "--slurm=job.sh", "-o", "a.csv"])
    ['parcast', 'run', 'features', 'docs', '-o', 'a.csv']
    """
    words, rest = path.split(), iter(written)
    for word in rest:
        found = LEFT_OUT.fullmatch(word)
        if found is None:
            words.append(word)
        elif word == found[1]:
            next(rest, None)  # its value
    return words
