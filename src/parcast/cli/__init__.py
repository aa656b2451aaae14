"""The command line: `GROUPS` has the place and summary of each, and it parses, calls and prints.

A command is loaded when it is named, and numpy when it computes, so that help answers at once.
What commands share is in `answering`, `options`, `ranges`, `reading`, `outputs`, `screen` and
`failures`.
"""

import difflib
import sys
from typing import Final, NoReturn

import click

from parcast.cli.answering import DEBUG
from parcast.places import load
from parcast.version import __version__

GROUPS: Final = {  # what the help calls a group of commands; each name, its place and summary
    "From timings": {
        "forecast": (
            "parcast.forecasting.command:command",
            "Forecast run times from measured timings.",
        ),
        "match": (
            "parcast.deciding.machines.command:command",
            "Rank machines for a program by time, cost or efficiency.",
        ),
        "compare": (
            "parcast.deciding.compare.command:command",
            "Compare two versions of a program.",
        ),
        "check": (
            "parcast.deciding.check.command:command",
            "Check whether a program has become slower.",
        ),
    },
    "From descriptions": {
        "init": (
            "parcast.templates.command:command",
            "Write a template of a machine or program file.",
        ),
        "predict": (
            "parcast.prediction.command:command",
            "Predict run times from descriptions of program and machine.",
        ),
        "fit": (
            "parcast.fitting.command:command",
            "Fit the constants of a program's description to timings.",
        ),
        "simulate": (
            "parcast.simulation.command:command",
            "Simulate a described program, as a check of its prediction.",
        ),
        "project": (
            "parcast.projection.command:command",
            "Predict run times from counts or regions, and one run.",
        ),
    },
    "Explain, plan and report": {
        "explain": (
            "parcast.deciding.explain.command:explain",
            "Explain why a program takes its time, and what helps.",
        ),
        "plan": (
            "parcast.deciding.goals.command:command",
            "Choose nodes, wall-time limit and cost of a run.",
        ),
        "report": (
            "parcast.reports.command:command",
            "Write one page about a program.",
        ),
        "web": (
            "parcast.web.command:command",
            "Answer what-if questions in the browser.",
        ),
    },
    "Measure and run": {
        "measure": (
            "parcast.measurement.command:command",
            "Measure a program of your own, and forecast its times.",
        ),
        "calibrate": (
            "parcast.calibration.command:command",
            "Measure this machine and write its description.",
        ),
        "run": (
            "parcast.kernels.command:command",
            "Run a reference program with MPI, and time it.",
        ),
        "validate": (
            "parcast.kernels.trials.command:command",
            "Test whether the law of a program predicts its runs here.",
        ),
        "record": (
            "parcast.characterisation.recording.command:command",
            "Run an MPI program and record what it calls.",
        ),
        "characterise": (
            "parcast.characterisation.command:command",
            "Describe a program by profiles of its timed regions.",
        ),
    },
    "Tools": {
        "import": (
            "parcast.cli.commands.import_files:command",
            "Convert files of other tools to tables of timings.",
        ),
        "testbed": (
            "parcast.cli.commands.testbed:command",
            "Run a command on virtual hosts with slow links and disks.",
        ),
        "demo": (
            "parcast.reports.demo:command",
            "Show a forecast beside the actual times.",
        ),
        "arrays": (
            "parcast.arrays.store.command:arrays",
            "Check stores of arrays.",
        ),
    },
}
COMMANDS: Final = {name: place for group in GROUPS.values() for name, (place, _) in group.items()}

HELP: Final = """Forecast how a parallel program will scale.

`parcast COMMAND --help` explains a command.

\b
Exit status: 0  answered
             1  answered, and the answer is no
             2  wrong use
             3  bad input file
             4  no forecast is possible

\b
Examples:
  parcast forecast timings.csv -p 512,1024
  parcast forecast timings.csv --hold-out 64
"""

FIRST: Final = f"""parcast {__version__}: how will a parallel program scale?

  parcast demo                                      see a forecast
  parcast forecast times.csv -p 512,1024            from a table of p and time_s
  parcast measure -p 1,2,4 -- mpiexec -n {{p}} ./app  from a program of yours

parcast --help lists all commands."""
EPILOG: Final = """To complete commands and options with the Tab key, add to ~/.bashrc:

\b
  eval "$(_PARCAST_COMPLETE=bash_source parcast)"

or the same with zsh_source to ~/.zshrc.
"""


class Commands(click.Group):
    """The commands by name, loaded when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name all commands."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Load a command, or return None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = load(COMMANDS[cmd_name])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands in their groups, all summaries in one column."""
        widest = max(map(len, COMMANDS))
        for heading, group in GROUPS.items():
            rows = [(f"{name:{widest}}", summary) for name, (_, summary) in group.items()]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or suggest the one that is nearest."""
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There is {', '.join(COMMANDS)}."
        raise click.UsageError(f"{name!r:.60} is not a command. {hint}", ctx)


@click.group(
    cls=Commands,
    help=HELP,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="parcast", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help=DEBUG)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Print what to try first on a terminal where no command is named, or else the help."""
    if ctx.invoked_subcommand is None:
        click.echo(first() if sys.stdout and sys.stdout.isatty() else ctx.get_help())


def first() -> str:
    """Say what to try first, and what each extra that is not installed is for."""
    from parcast.needs import EXTRAS, install, missing_extras

    missing = [f"  {install(x):33} {EXTRAS[x].purpose}" for x in missing_extras()]
    return "\n".join([FIRST, *(["", "Not installed:"] if missing else []), *missing])


def main() -> NoReturn:
    """Run the command line of this process, and end the process with its status."""
    from contextlib import nullcontext

    from parcast.cli.failures import run
    from parcast.mpi.launched import is_rank
    from parcast.signals import as_terminations

    # A rank that waits for others in MPI ends only where the system itself ends it.
    with nullcontext() if is_rank() else as_terminations():
        status = run(cli)
    sys.exit(status)
