"""`parcast record`: a profile of an MPI program in any language, without changing it."""

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Final

import click

from parcast.cli.answering import A_FILE, Answering
from parcast.cli.failures import ANSWERED, NoAnswer
from parcast.cli.options import option, repeated_option
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.timings.profile import RunProfile

OTHER_MPI: Final = 70  # exit status of a rank whose MPI is not the one of the recorder
HELP: Final = """Run an MPI program and record what it computes and calls.

COMMAND runs as it is, in C, C++, Fortran or Python. Each rank adds a line to the profile, from
which `parcast characterise` makes a description: calls, bytes and time of each kind of MPI call
and of computing between them.

MPI_Pcontrol(1, "name") and MPI_Pcontrol(-1, "name") in a C program mark a region of computing.

\b
Exit status: that of COMMAND, or
             2    wrong use
             4    the recorder cannot be built, or no rank wrote a profile
             130  interrupted

\b
Examples:
  parcast record --set n=400 -o app.jsonl -- mpiexec -n 4 ./app 400
  parcast characterise app.jsonl -o app.toml
"""


def parameters(texts: Sequence[str], option: str) -> dict[str, float]:
    """Read `n=400`."""
    from parcast.cli.options import once_each, pairs

    each = [part for text in texts for part in text.split(",")]
    must = "parameters of the problem and their numbers"
    known = once_each(pairs(each, option, must, such_as="n=400"), option, "name each once")
    numbers: dict[str, float] = {}
    with suppress(ValueError):
        numbers = {name: float(value) for name, value in known.items()}
    if len(numbers) < len(known) or not all(map(isfinite, numbers.values())):
        raise click.UsageError(f"{option} must be {must}. Write for example n=400.")
    return numbers


@click.command(
    name="record",
    cls=Answering,
    help=HELP,
    context_settings={"allow_interspersed_args": False},
)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
@option(
    "-o --output profile",
    A_FILE,
    "Profile, to which each rank adds a line.",
    metavar="PATH.jsonl",
    default="profile.jsonl",
)
@repeated_option("--set", "NAME=NUMBER", "Parameter of this run, such as n=400.", parameters)
@option("--mpicc", "PATH", "Compiler of the MPI that COMMAND uses.  [default: mpicc]")
def command(
    *, words: tuple[str, ...], profile: str, set: dict[str, float], mpicc: str | None
) -> int:
    """Run COMMAND with the recorder and return its status."""
    from parcast.characterisation.recording.build import (
        compiler_of_mpi,
        how_to_continue,
        recorder_for,
    )
    from parcast.errors import Argument, ParameterError
    from parcast.files.document import check_place
    from parcast.timings.read_profiles import read_profiles

    if not words:
        raise click.UsageError("COMMAND is missing. Write it last, after --.")
    try:
        check_place(profile)
    except ParameterError as error:
        raise click.ClickException(f"-o {error}") from error
    compiler = compiler_of_mpi(mpicc)
    recorder = recorder_for(compiler)
    before = _lines(profile)
    if before:
        read_profiles([profile])  # a profile that cannot be read must not grow
    status = _ran(words, profile, set, str(recorder))
    runs = _added(profile, before)
    if not runs and status == OTHER_MPI:
        raise NoAnswer(
            f"No rank of {words[0]} wrote a profile, as its MPI is not that of {compiler}. Name "
            f"the mpicc of its MPI with {Argument('mpicc')}."
        )
    if not runs:
        why = (
            f"it ended with the status {status}. Mend that first."
            if status
            else "it never called MPI_Finalize, is linked statically, or its launcher keeps "
            "LD_PRELOAD from the ranks (Open MPI on several hosts: mpirun -x LD_PRELOAD "
            "-x PARCAST_RECORD)."
        )
        raise NoAnswer(f"No rank of {words[0]} wrote a profile: {why}")
    for run in runs:
        tell(f"{profile}: {_in_words(run)} added. Next: {how_to_continue(profile)}")
    return status or ANSWERED


def _lines(path: str) -> int:
    """Lines of a file; none where it is not there yet."""
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def _ran(words: Sequence[str], profile: str, parameters: dict[str, float], recorder: str) -> int:
    """Run a command where the recorder is loaded first; its exit status."""
    loaded = " ".join(filter(None, [recorder, os.environ.get("LD_PRELOAD", "")]))
    environment = os.environ | {
        "LD_PRELOAD": loaded,
        "PARCAST_RECORD": os.path.abspath(profile),
        "PARCAST_PARAMETERS": ",".join(f"{name}={value!r}" for name, value in parameters.items()),
    }
    try:
        done = subprocess.run(list(words), env=environment, check=False)
    except OSError as error:
        raise click.ClickException(f"{words[0]} cannot be run: {error.strerror}.") from error
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _added(profile: str, before: int) -> "Sequence[RunProfile]":
    """Runs whose lines were added to a profile."""
    from parcast.timings.read_profiles import read_profiles

    if _lines(profile) <= before:
        return ()
    runs = read_profiles([profile]).runs
    return [run for run in runs if min(rank.line or 0 for rank in run.ranks) > before]


def _in_words(run: "RunProfile") -> str:
    total = sum(region.wall for rank in run.ranks for region in rank.regions)
    called = sum(
        region.wall for rank in run.ranks for region in rank.regions if region.kind != "compute"
    )
    share = called / total if total else 0.0
    ranks = f"{run.p} rank{'s' if run.p > 1 else ''}"
    return f"a run of {run.program} on {ranks}, {100 * share:.0f}% of its time in MPI,"
