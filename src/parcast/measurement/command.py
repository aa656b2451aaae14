"""`parcast measure`: from a program to the table of its times, and their forecast."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import Whole, cli_command
from parcast.cli.failures import Spelling, own_options, spelled_with
from parcast.cli.options import (
    TIME,
    CountList,
    Read,
    above_0,
    answer_options,
    called,
    flag,
    option,
    plain,
    processors,
    repeated_option,
    seed_option,
    share,
    sizes,
    start_limit_option,
)
from parcast.cli.outputs import FIGURES, Outputs, format_of, with_inputs
from parcast.cli.parts import with_parts
from parcast.cli.running import FILES
from parcast.cli.screen import Progress, tell
from parcast.measurement.answering import Telling, answer, from_table
from parcast.measurement.batch_command import BatchOptions, batch_options, write

if TYPE_CHECKING:
    from parcast.measurement.adaptive import Goal
    from parcast.measurement.measure import MeasuredCommand
    from parcast.measurement.point import MeasuredPoint

HELP: Final = """Measure a program at several processor counts, and forecast its times.

COMMAND is run for every count p of -p and every value of --param, in rounds of random order; {p}
and other names in braces are replaced in it. Each run is written to the table at once (-o
TABLE.csv, by default times.csv). Prints times, memory, disturbances and the forecast.

LIST is a list of processor counts: 1,2,4 or 1..8 or 1..8x2 (doubling).

\b
Exit status: 0    answered
             1    the interval is wider than --until asks for
             2    wrong use, or an output that cannot be written
             4    no answer: no run ended well, or too few for a forecast
             130  interrupted; completed runs are in the table

\b
Examples:
  parcast measure -p 1,2,4,8 -- mpiexec -n {p} ./app input.txt
  parcast measure -p 1..8x2 --param n=1e5,1e6 -o app.csv -- mpiexec -n {p} ./app {n}
  parcast measure -p 1..64x2 --until 20% --at 512 --budget 2h -- mpiexec -n {p} ./app
  parcast measure -p 1..4 --env OMP_NUM_THREADS={p} --at 16 -o app.svg -- ./threads
  parcast measure -p 4..64x2 --slurm --ranks-per-node 16 --submit -- srun ./app input.txt
  parcast measure -p 1,2,4 --set n={p}*1000 --time-pattern lammps -- mpiexec -n {p} lmp -var n {n}
"""
OTHERS: Final[dict[str, Spelling]] = {  # what Python calls by another name than the options
    "command": "COMMAND",
    "environment": "--env",
    "output": "-o",
    "name": "--param",
    "TABLE": "-o",
}
AROUND: Final = ("setup", "prepare", "cleanup", "time_pattern", "timeout", "ignore_failure")
PARTS: Final = {
    name: f"parcast.measurement.batch_command:{name}" for name in ("status", "collect", "job")
}


def values(texts: Sequence[str], option: str) -> dict[str, list[float]]:
    """Read NAME=VALUES, each once."""
    return {
        name: sizes(text, f"{option} {name}").values
        for name, text in called(texts, option).items()
    }


def budget(text: str, option: str) -> dict[str, float]:
    """Read a wall time, or core-hours."""
    number, _, unit = text.strip().partition(" ")
    if unit in {"core-hours", "core-hour", "core-h"}:
        return {"core_seconds": 3600.0 * above_0(number, option, "count", example="40")}
    return {"seconds": above_0(text, option, "time", example="60s")}


@cli_command(
    name="measure",
    help=HELP,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, required=True, metavar="COMMAND...")
@processors("Processor counts to measure.", required=True)
@repeated_option("--param", "NAME=VALUES", "Values of another name in braces: n=1e5,1e6.", values)
@repeated_option("--set", "NAME=FORMULA", "Value that follows from others: n={p}*1000.", called)
@repeated_option("--env", "NAME=TEXT", "Environment variable: OMP_NUM_THREADS={p}.", called)
@option("--runs", Whole(1, 10_000), "Runs of each combination.", default=5)
@option(
    "--warmup",
    Whole(0, 1000),
    "Runs before the first of each combination, which do not count.",
    default=0,
)
@option("--setup", "TEXT", "Command before the first run of each.", default="")
@option("--prepare", "TEXT", "Command before each run; not timed.", default="")
@option("--cleanup", "TEXT", "Command after the last run of each.", default="")
@option("--timeout", TIME, "Time after which a run is ended; recorded as that.")
@flag("--ignore-failure", "Runs with another status than 0 count too.")
@flag("--shell", "Have /bin/sh run COMMAND, which is one text.")
@option(
    "--time-pattern",
    "REGEX",
    "Time in the output of COMMAND: an expression with one group, or lammps, gromacs, time or "
    "profile (its regions). By default the wall time of COMMAND.",
    default="",
)
@start_limit_option
@option(
    "--until",
    Read("SHARE", share),
    "Make runs until the interval at --at ends within this share of the time: 20%.",
)
@option(
    "--budget",
    Read("TIME", budget),
    "What runs may cost for --until: 2h in all, or 40 core-hours.",
)
@flag("--resume", "Go on with the table that is there.")
@processors("Processor counts to forecast. By default two and four times the largest.", "--at")
@seed_option
@batch_options
@answer_options(FIGURES, csv="the table")
def measure_program(
    ctx: click.Context,
    /,
    *,
    command: tuple[str, ...],
    p: CountList,
    at: CountList | None,
    shell: bool,
    jobs: BatchOptions | None,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    from parcast.measurement.launchers import mismatch, turns_taken
    from parcast.measurement.measure import measured
    from parcast.mpi.find import available_cores

    words = ["/bin/sh", "-c", " ".join(command)] if shell else list(command)
    others, place = _parted(outputs)
    others.check()
    ctx.meta[FILES] = {"TIMINGS": place}
    inputs = {"command": words, "options": {name: plain(x) for name, x in options.items()}}
    until, budget, limit = (options.pop(x) for x in ("until", "budget", "time_limit"))
    with spelled_with(own_options(**OTHERS), click.UsageError):
        asked, points = _posed(words, p, options)
        if jobs is not None:
            if until is not None or budget is not None:
                raise click.UsageError(
                    "--until chooses each run by the last ones: it makes no jobs."
                )
            if at is not None or others.is_drawn:
                raise click.UsageError(
                    "--at and pictures are of the forecast: give them to collect."
                )
            return write(asked, points, jobs, others, seconds=limit, output=place, **options)
        goal = _goal(until, at, budget)
        if text := mismatch(words):
            tell(text)
        counts = [x.columns["p"] for x in points]
        if text := turns_taken(words, counts, len(available_cores())):
            how = "Each is run once, and does not count." if goal is None else "None is run."
            tell(f"{text} {how}")
        with Progress("measuring") as progress:
            found = measured(
                asked,
                points,
                time_limit=limit,
                output=place,
                goal=goal,
                each=Telling(progress),
                **options,
            )
    return answer(with_inputs(found, **from_table(place), **inputs), at, others)


def _parted(outputs: Outputs) -> tuple[Outputs, str]:
    """Part the table, which is written meanwhile, from the other outputs."""
    from dataclasses import replace

    tables = [x for x in outputs.paths if x != "-" and format_of(x) == "csv"]
    if len(tables) > 1:
        raise click.UsageError(f"-o must name one table, got {' and '.join(tables)}.")
    others = [x for x in outputs.paths if x not in tables]
    return replace(outputs, paths=others), tables[0] if tables else "times.csv"


def _posed(
    words: list[str], p: CountList, options: dict[str, Any]
) -> "tuple[MeasuredCommand, list[MeasuredPoint]]":
    """Take out of the options what is run, and its points."""
    from parcast.measurement.measure import MeasuredCommand
    from parcast.measurement.point import points_of

    param, formulas, environment = (options.pop(x) for x in ("param", "set", "env"))
    around = {name: options.pop(name) for name in AROUND}
    asked = MeasuredCommand(command=words, environment=environment, **around)
    return asked, points_of({"p": p.values, **param}, formulas)


def _goal(
    until: float | None, at: CountList | None, budget: dict[str, float] | None
) -> "Goal | None":
    """Give what runs are made for, if they are chosen by those before."""
    from parcast.measurement.adaptive import Goal

    if until is not None:
        return Goal(until=until, at=tuple(at.values if at else ()), **(budget or {}))
    if budget is not None:
        raise click.UsageError("--budget goes with --until. Give --until 20%, or --time-limit.")
    return None


command = with_parts(measure_program, PARTS)
