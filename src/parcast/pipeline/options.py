"""Options of all commands that run a pipeline, and how such a command runs and ends."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import Choice, Command, File
from parcast.cli.answering import A_FILE, OneOf, Whole
from parcast.cli.failures import (
    ANSWERED,
    INTERRUPTED,
    NO_FORECAST,
    WRONG_USE,
    Spelling,
    in_options,
    lines_in_options,
)
from parcast.cli.options import above_0, time_limit, understood
from parcast.cli.running import WRITTEN
from parcast.cli.screen import Progress
from parcast.errors import Argument, ParameterError, ParcastError, one_line
from parcast.mpi.launched import is_first
from parcast.words import counted

if TYPE_CHECKING:
    from parcast.pipeline.result import PipelineResult

ARGUMENTS: Final[
    dict[str, Spelling]
] = {  # what Python calls an argument, and what the command line calls it
    "ranks": "-np",
    "fan_in": "--fan-in",
    "batch": "--batch",
    "pipelines": "--pipelines",
    "schedule": "--schedule",
    "on_error": lambda _: "--skip-errors",
    "retries": "--retries",
    "timeout": "--item-timeout",
    "memory": "--memory",
    "directory": "--directory",
    "checkpoint": "--checkpoint",
    "checkpoint_every": "--checkpoint-every",
    "resume": lambda _: "--resume",
    "check": "--check",
    "trace": "--trace",
    "time_limit": "--time-limit",
    "shards": "--shards",
    "every": "--every",
    "merge": "--merge",
    "server": "-o",
    "output": "-o",
    "by": "--by",
    "queries": "-q",
    "k1": "--k1",
    "b": "--b",
    "fields": "--field",
    "identifier": "--identifier",
    "encoding": "--encoding",
    "document": "--document",
    "largest": lambda _: "",  # no option gives it
}
MOST_RANKS: Final = 4096


def memory_size(text: str, option: str) -> float:
    """Read an amount of memory. [B]."""
    return above_0(text, option, "size", hint="Write for example 200MB.")


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
        from parcast.pipeline.slurm_script import command_of, slurm_script

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
                raise click.UsageError(in_options(refusal, ARGUMENTS)) from refusal
            raise click.exceptions.Exit(WRONG_USE) from None
        except ParcastError as failure:
            if is_first():
                failure.text, *below = lines_in_options(failure, ARGUMENTS)
                failure.below = tuple(below)
                raise
            raise click.exceptions.Exit(NO_FORECAST) from None


def _telling(progress: Progress, name: str) -> Callable[[int, int | None, float | None], None]:
    """Make what tells how far a run is, and how long the rest will take."""

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


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of a pipeline, given to the command as `running`."""
    return some_run_options(*NAMES)(function)


def some_run_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Some of the options of a pipeline, given to the command as `running`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def answering(*args: Any, **given: Any) -> Any:
            own = {name: given.pop(name) for name in names}
            for name in ("resume", "checkpoint_every"):
                if own.get(name) and not own["checkpoint"]:
                    option = name.replace("_", "-")
                    need = Argument("checkpoint", Choice("PATH"))
                    raise click.UsageError(f"--{option} requires {need}.")
            if own.get("directory") and "memory" in own and own["memory"] is None:
                need = Argument("memory", Choice("SIZE"))
                raise click.UsageError(f"{Argument('directory')} requires {need}.")
            script = own.pop("slurm")
            own["on_error"] = "skip" if own.pop("skip_errors", False) else "raise"
            own = {name: value for name, value in own.items() if value is not None}
            return function(*args, running=Running(own, script), **given)

        decorated: Callable[..., Any] = answering
        for option in reversed(
            [option for name, option in zip(NAMES, OPTIONS, strict=True) if name in names]
        ):
            decorated = option(decorated)
        return decorated

    return decorate


def _count(spelling: str, name: str, help: str, *, least: int = 1) -> Callable[..., Any]:
    """Option for a whole number."""
    return click.option(spelling, name, type=Whole(least), metavar="COUNT", help=help)


def _text(spelling: str, name: str, metavar: str, read: Any, help: str) -> Callable[..., Any]:
    """Option whose text `read` understands."""
    return click.option(spelling, name, metavar=metavar, callback=understood(read), help=help)


def _path(spelling: str, name: str, help: str) -> Callable[..., Any]:
    """Option for a file or a folder."""
    return click.option(spelling, name, metavar="PATH", type=A_FILE, help=help)


def _flag(spelling: str, name: str, help: str) -> Callable[..., Any]:
    """Option that is given or not."""
    return click.option(spelling, name, is_flag=True, help=help)


OPTIONS: Final = (
    click.option(
        "-np",
        "ranks",
        type=Whole(1, MOST_RANKS),
        metavar="COUNT",
        help="MPI ranks to start. Under mpiexec and srun those that there are.  [default: 1]",
    ),
    _count("--batch", "batch", "Items per message. By default chosen by their time."),
    _count("--fan-in", "fan_in", "Results merged at a node.  [default: 2]", least=2),
    _count("--pipelines", "pipelines", "Groups of ranks.  [default: 1]"),
    click.option(
        "--schedule",
        "schedule",
        type=OneOf(["adaptive", "source"]),
        metavar="NAME",
        help="Who merges when: adaptive, or source, the published one.  [default: adaptive]",
    ),
    _flag("--skip-errors", "skip_errors", "Skip items that fail, and list them."),
    _count("--retries", "retries", "Further attempts at an item that fails.", least=0),
    _text("--item-timeout", "timeout", "TIME", time_limit, "Limit for one item."),
    _text(
        "--memory",
        "memory",
        "SIZE",
        memory_size,
        "Results that a rank keeps in memory; others go to files.",
    ),
    _path("--directory", "directory", "Folder for those files."),
    _path("--checkpoint", "checkpoint", "Folder for checkpoints."),
    _text(
        "--checkpoint-every",
        "checkpoint_every",
        "TIME",
        time_limit,
        "Time between checkpoints.  [default: 60s]",
    ),
    _flag("--resume", "resume", "Go on from the checkpoint, if there is one."),
    _path("--trace", "trace", "Write the events of the run: run.jsonl or run.jsonl.gz."),
    _text("--time-limit", "time_limit", "TIME", time_limit, "Limit for the run. By default none."),
    _path("--slurm", "slurm", "Write a batch script that runs this command; do not run it."),
)
NAMES: Final = (
    *("ranks", "batch", "fan_in", "pipelines", "schedule", "skip_errors", "retries", "timeout"),
    *("memory", "directory", "checkpoint", "checkpoint_every", "resume", "trace", "time_limit"),
    "slurm",
)
