"""What starts the ranks of a program: which MPI it is of, and whether it starts them here."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from os.path import basename
from typing import Final

from parcast.words import listed

LOCAL: Final = {"mpiexec", "mpirun", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"} | {
    *("mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun"),
}
REMOTE: Final = {"srun", "ssh", "aprun", "jsrun", "flux", "qsub", "bsub", "sbatch", "ibrun"}
HOSTS: Final = re.compile(r"-{1,2}(?:hosts?|hostfile|machinefile|f|H|ppn|map-by)(?:=|$)")
OPENMP: Final = re.compile(r"libi?omp5?\.so|libgomp\.so")
INTERPRETER: Final = re.compile(r"(?:python|pypy|perl|ruby|julia|octave|matlab|R|Rscript)[\d.]*$")
PATIENCE: Final = 10.0  # with a program that tells its version [s]
LIBRARIES: Final = (  # of the names of shared libraries, and the MPI that they are of
    (re.compile(r"libmpi\.so\.12\b|libmpich\.so|libmpifort\.so\.12\b"), "MPICH"),
    (re.compile(r"libmpi\.so\.(?:20|40)\b|libopen-pal\.so|libopen-rte\.so"), "Open MPI"),
)


def launcher_of(command: Sequence[str]) -> str:
    """Name of what starts ranks; "" where nothing does."""
    name = basename(command[0])
    return name if name in LOCAL | REMOTE else ""


def has_launcher(command: Sequence[str]) -> bool:
    """Whether something in it starts ranks, also in a text for a shell."""
    return any(launcher_of([word]) for text in command for word in text.split())


def are_ranks_seen(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether ranks are processes that this one has started: not those of srun.

    In a job of Slurm, mpiexec has srun start them.
    """
    if "SLURM_JOB_ID" in environment:
        return not has_launcher(command)
    return launcher_of(command) not in REMOTE


def takes_turns(command: Sequence[str], p: int, cores: int) -> bool:
    """Whether more ranks or threads than this machine has cores take turns on them."""
    is_here = launcher_of(command) not in REMOTE and not any(map(HOSTS.match, command[1:]))
    return is_here and p > cores


def turns_taken(command: Sequence[str], counts: Iterable[int], cores: int) -> str:
    """Say for which counts ranks or threads take turns; "" where they do for none."""
    turns = sorted({p for p in counts if takes_turns(command, p, cores)})
    if not turns:
        return ""
    return (
        f"p = {listed(map(str, turns))}: more than the {cores} cores that this process may use, "
        "so that ranks or threads take turns."
    )


def program_of(command: Sequence[str]) -> str:
    """Program that a launcher starts: the first argument that is a file which can be executed."""
    if not launcher_of(command):
        return ""
    for word in command[1:]:
        found = shutil.which(word)
        if found and not word.startswith("-"):
            return found
    return ""


def mpi_of_launcher(name: str) -> str:
    """MPI that a launcher is of; "" where it does not say."""
    text = _said([name, "--version"])
    if re.search(r"HYDRA|MPICH|Intel\(R\) MPI", text):
        return "MPICH"
    return "Open MPI" if re.search(r"Open ?MPI|OpenRTE|PRRTE", text) else ""


def mpi_of_program(path: str) -> str:
    """MPI that a program is linked with; "" where it is with none, or that is unknown."""
    with suppress(OSError), open(path, "rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return ""
    text = _said(["ldd", path])
    return next((name for pattern, name in LIBRARIES if pattern.search(text)), "")


def may_use_openmp(command: Sequence[str]) -> bool:
    """Whether what a launcher starts is linked with an OpenMP runtime, or cannot be looked at."""
    words = [x for x in command[1:] if not x.startswith("-")]
    programs = [path for x in words if (path := shutil.which(x))]
    linked = [_said(["ldd", path]) for path in programs if not INTERPRETER.match(basename(path))]
    is_known = len(linked) == len(programs) > 0 and all("=>" in text for text in linked)
    return not is_known or any(OPENMP.search(text) for text in linked)


def _said(command: Sequence[str]) -> str:
    """What a program prints; "" where it cannot be run."""
    if shutil.which(command[0]) is None:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        done = finished(command, PATIENCE)
        return done.stdout + done.stderr
    return ""


def finished(command: Sequence[str], patience: float) -> subprocess.CompletedProcess[str]:
    """Run a program that answers a question, without input, for at most `patience` [s]."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=patience,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def mismatch(command: Sequence[str]) -> str:
    """Say that a launcher is of another MPI than the program, and which is right; or ""."""
    launcher, program = launcher_of(command), program_of(command)
    if launcher not in LOCAL or not program:
        return ""
    ours, theirs = mpi_of_launcher(command[0]), mpi_of_program(program)
    if not ours or not theirs or ours == theirs:
        return ""
    endings = ("mpich", "hydra") if theirs == "MPICH" else ("openmpi",)
    others = [f"mpiexec.{x}" for x in endings] + [f"mpirun.{x}" for x in endings]
    right = next((x for x in others if shutil.which(x)), f"the mpiexec of {theirs}")
    return (
        f"{command[0]} is of {ours}, but {basename(program)} is linked with {theirs}: its "
        f"ranks do not find each other, and each does the whole work. Use {right}."
    )
