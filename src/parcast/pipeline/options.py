"""Options of all commands that run a pipeline, and how such a command runs and ends.

With `--slurm` it writes a batch script: the same command on the nodes of a cluster.
"""

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import Choice, Command, File
from parcast.cli.answering import A_FILE, OneOf, Whole
from parcast.cli.batch_script import Allocation, wrapped
from parcast.cli.failures import (
    ANSWERED,
    INTERRUPTED,
    NO_FORECAST,
    WRONG_USE,
    Spelling,
    in_options,
    lines_in_options,
    own_options,
)
from parcast.cli.options import TIME, Option, amount, flag, gathered, option
from parcast.cli.running import WRITTEN
from parcast.cli.screen import Progress
from parcast.errors import Argument, ParameterError, ParcastError, one_line
from parcast.mpi.launched import is_first
from parcast.words import counted

if TYPE_CHECKING:
    from parcast.pipeline.result import PipelineResult


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


OTHERS: Final[dict[str, Spelling]] = {  # what Python calls by another name than the options
    "on_error": lambda _: "--skip-errors",
    "resume": lambda _: "--resume",
    "server": "-o",
    "output": "-o",
    "queries": "-q",
    "largest": lambda _: "",  # no option gives it
}
MOST_RANKS: Final = 4096
MEMORY: Final = amount("SIZE", "size", "200MB")


@dataclass(frozen=True, slots=True)
class Running:
    """How a pipeline is to be run: arguments of `run_pipeline`, and a batch script to write."""

    arguments: dict[str, Any]
    script: str | None  # path of a batch script that is written in place of running

    @property
    def ranks(self) -> int | None:
        """Ranks that are asked for. [1]."""
        return self.arguments.get("ranks")

    def is_written(self, ctx: click.Context, name: str) -> bool:
        """Write the batch script if one is asked for, in place of running."""
        if self.script is None:
            return False
        from parcast.files.document import write_document

        text = slurm_script(
            command_of(ctx.command_path, ctx.meta[WRITTEN]),
            name=name,
            ranks=self.arguments.get("ranks", 1),
            time_limit=self.arguments.get("time_limit"),
            script=os.path.basename(self.script),
        )
        replaced = f"{self.script} was replaced. " if os.path.exists(self.script) else ""
        write_document(self.script, [text])
        submit = Command(("sbatch", File(self.script)))
        click.echo(one_line(f"{replaced}Check the lines marked EDIT, then submit it: {submit}"))
        return True

    def ended(self, run: Callable[[dict[str, Any]], Any], name: str) -> Any:
        """Run with these arguments and a line that says how far it is; give the result.

        On ranks other than the first a failure is not told again, and the result is empty.
        """
        arguments = dict(self.arguments)
        try:
            with Progress(name) as progress:
                if is_first():
                    arguments["progress"] = _telling(progress, name)
                return run(arguments)
        except ParameterError as refusal:
            if is_first():
                raise click.UsageError(in_options(refusal, own_options(**OTHERS))) from refusal
            raise click.exceptions.Exit(WRONG_USE) from None
        except ParcastError as failure:
            if is_first():
                failure.text, *below = lines_in_options(failure, own_options(**OTHERS))
                failure.below = tuple(below)
                raise
            raise click.exceptions.Exit(NO_FORECAST) from None


def _telling(progress: Progress, name: str) -> Callable[[int, int | None, float | None], None]:
    def told(done: int, total: int | None, remaining: float | None) -> None:
        words = counted(done, "item") if total is None else f"{done:,} of {total:,} items"
        if remaining is not None:
            words += f", about {_clock(remaining)} left"
        progress(done, total, task=name, words=words)

    return told


def _clock(seconds: float) -> str:
    """Write a remaining time: 8 s, 3:20 min or 2:05 h."""
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    unit, small = ("min", whole) if whole < 3600 else ("h", whole // 60)
    return f"{small // 60}:{small % 60:02d} {unit}"


def status_of(result: "PipelineResult") -> int:
    """Tell the exit status of a run; that it was interrupted was said when it was."""
    return INTERRUPTED if result.was_stopped else ANSWERED


def _running(*, slurm: str | None, **own: Any) -> Running:
    """Take how a pipeline is to be run, and refuse options that require others."""
    for name in ("resume", "checkpoint_every"):
        if own.get(name) and not own["checkpoint"]:
            need = Argument("checkpoint", Choice("PATH"))
            raise click.UsageError(f"--{name.replace('_', '-')} requires {need}.")
    if own.get("directory") and "memory" in own and own["memory"] is None:
        need = Argument("memory", Choice("SIZE"))
        raise click.UsageError(f"{Argument('directory')} requires {need}.")
    own["on_error"] = "skip" if own.pop("skip_errors", False) else "raise"
    return Running({name: value for name, value in own.items() if value is not None}, slurm)


OPTIONS: Final = {  # by what `run_pipeline` calls them
    "ranks": option(
        "-np ranks",
        Whole(1, MOST_RANKS),
        "MPI ranks to start. Under mpiexec and srun those that there are.  [default: 1]",
    ),
    "batch": option("--batch", Whole(1), "Items per message. By default chosen by their time."),
    "fan_in": option("--fan-in", Whole(2), "Results merged at a node.  [default: 2]"),
    "pipelines": option("--pipelines", Whole(1), "Groups of ranks.  [default: 1]"),
    "schedule": option(
        "--schedule",
        OneOf(["adaptive", "source"]),
        "Who merges when: adaptive, or source, the published one.  [default: adaptive]",
    ),
    "skip_errors": flag("--skip-errors", "Skip items that fail, and list them."),
    "retries": option("--retries", Whole(0), "Further attempts at an item that fails."),
    "timeout": option("--item-timeout timeout", TIME, "Limit for one item."),
    "memory": option(
        "--memory", MEMORY, "Results that a rank keeps in memory; others go to files."
    ),
    "directory": option("--directory", A_FILE, "Folder for those files."),
    "checkpoint": option("--checkpoint", A_FILE, "Folder for checkpoints."),
    "checkpoint_every": option(
        "--checkpoint-every", TIME, "Time between checkpoints.  [default: 60s]"
    ),
    "resume": flag("--resume", "Go on from the checkpoint, if there is one."),
    "trace": option("--trace", A_FILE, "Write the events of the run: run.jsonl or run.jsonl.gz."),
    "time_limit": option("--time-limit", TIME, "Limit for the run. By default none."),
    "slurm": option(
        "--slurm", A_FILE, "Write a batch script that runs this command; do not run it."
    ),
}


def some_run_options(*names: str) -> Option[Any]:
    """Some of the options of a pipeline, given to the command as `running`."""
    return gathered("running", _running, names, *(OPTIONS[name] for name in names))


run_options: Final = some_run_options(*OPTIONS)
