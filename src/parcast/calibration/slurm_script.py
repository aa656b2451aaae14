"""The batch script of `calibrate --slurm`: the same calibration on the nodes of a cluster."""

import shlex
from collections.abc import Sequence
from typing import Final

from parcast.cli.batch_script import Allocation, wrapped

LEAST: Final = 600.0  # that a job is given [s]
MARGIN: Final = 1.5  # times the time limit of the calibration: queues of a file system, starts
USUAL: Final = 1800.0  # where no time limit is asked for [s]

SCRIPT: Final = """\
#!/bin/sh
# Measures a cluster with parcast: one rank per node, so that messages cross the network.
# Check the lines marked EDIT, then submit the script: sbatch {script}
{directives}
# EDIT: make parcast, mpi4py and the MPI of the cluster available on every node.
# module load python openmpi
# . "$HOME/venv/bin/activate"

# EDIT: if ranks are started with srun instead of mpiexec, uncomment these lines.
# mkdir -p parcast-srun
# printf '#!/bin/sh\\nexec srun --mpi=pmix "$@"\\n' > parcast-srun/mpiexec
# chmod +x parcast-srun/mpiexec
# PATH="$PWD/parcast-srun:$PATH"

# Slurm and the MPI place the ranks; parcast does not pin them.
export PARCAST_PLACEMENT=free

{hint}{command}
"""
STORAGE: Final = """\
# EDIT: submit this from the file system that your programs write to, or add --directory DIR.
"""


def slurm_script(
    arguments: Sequence[str],
    *,
    ranks: int,
    time_limit: float | None,
    script: str,
    writes_files: bool = False,
) -> str:
    """Text of a batch script that runs ``parcast calibrate`` with these arguments on some nodes.

    The job is given more than the `time_limit` of the calibration [s]; `script` is its file's
    name.
    """
    allowed = max(MARGIN * time_limit, LEAST) if time_limit is not None else USUAL
    asked = Allocation(
        name="parcast-calibrate",
        nodes=ranks,
        ranks_per_node=1,
        is_exclusive=True,
        seconds=allowed,
        output="parcast-calibrate.{}.txt",
    )
    return SCRIPT.format(
        script=shlex.quote(script),
        directives=asked.directives(),
        hint=STORAGE if writes_files else "",
        command=wrapped(["parcast", "calibrate", *arguments]),
    )
