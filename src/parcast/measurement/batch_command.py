"""`parcast measure --batch`, `measure status` and `measure collect`: runs that jobs make."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.batch_script import SYSTEMS, submission
from parcast.cli.failures import ANSWERED, INTERRUPTED, NO_FORECAST, spelled_with
from parcast.cli.options import (
    CountList,
    answer_options,
    flag,
    gathered,
    option,
    plain,
    processors,
)
from parcast.cli.outputs import ANSWERS, FIGURES, Outputs, with_inputs
from parcast.cli.running import FILES
from parcast.cli.screen import Progress, tell
from parcast.words import joined

if TYPE_CHECKING:
    from parcast.measurement.batch import BatchRequest
    from parcast.measurement.collect import JobStandings
    from parcast.measurement.jobs import BatchJob
    from parcast.measurement.measure import MeasuredCommand
    from parcast.measurement.point import MeasuredPoint

TABLE: Final = "times.csv"
STATUS_HELP: Final = """Say what became of the jobs of TABLE.csv, by default of times.csv.

Of each job: pending, running, done, stopped (its time was over), failed, or not submitted, as
squeue and sacct report it.

\b
Exit status: 0  answered
             2  wrong use, or no jobs

\b
Examples:
  parcast measure status
  parcast measure status app.csv --json
"""
COLLECT_HELP: Final = """Gather the runs of jobs in TABLE.csv, by default times.csv, and forecast.

Jobs may still wait or run: collect again later. Prints what parcast measure does.

\b
Exit status: 0    answered
             2    wrong use, no jobs, or an output that cannot be written
             4    no answer: no run ended well, or too few for a forecast

\b
Examples:
  parcast measure collect
  parcast measure collect app.csv --at 256,512 -o app.svg
"""
JOB_HELP: Final = """Make the runs of a job; scripts that parcast measure --batch writes call it.

FILE says what is measured, COMMAND how it is started there.

\b
Exit status: 0    answered: all runs were made, or the time of the job was over
             2    wrong use
             4    no run could be made
             130  interrupted; completed runs are in the table of the job
"""
ASKED: Final = ("ranks_per_node", "cpus_per_rank", "partition", "account")
SPELLINGS: Final = {
    **{"resume": "--resume", "submit": "--submit", "output": "-o", "p": "-p"},
    **{"command": "COMMAND", "TABLE": "TABLE", "FILE": "FILE"},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchOptions:
    """What is asked of a batch system."""

    asked: "BatchRequest"
    submit: bool


def _jobs(*, batch: Any, slurm: bool, submit: bool, **asked: Any) -> BatchOptions | None:
    """Give what is asked of a batch system; None where runs are made here."""
    if slurm and batch not in (None, "slurm"):
        raise click.UsageError(f"--slurm is --batch slurm, got --batch {batch} too.")
    system: Any = "slurm" if slurm else batch
    given = {name: value for name, value in asked.items() if value}
    if system is None:
        for name in ("submit", *given) if submit else given:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is of jobs. Add --slurm, or leave it out.")
        return None
    if submit and system != "slurm":
        raise click.UsageError("--submit is of Slurm. Submit the scripts yourself.")
    from parcast.measurement.batch import BatchRequest

    return BatchOptions(asked=BatchRequest(system=system, **given), submit=submit)


COUNT: Final = Whole(1, 100_000)
batch_options: Final = gathered(
    "jobs",
    _jobs,
    ("batch", "slurm", "submit", *ASKED),
    option(
        "--batch",
        OneOf(SYSTEMS),
        "Write job scripts beside the table instead of running: slurm, pbs or lsf. --time-limit "
        "is then that of each job.",
        metavar="SYSTEM",
    ),
    flag("--slurm", "The same as --batch slurm."),
    flag("--submit", "Submit the scripts with sbatch."),
    option("--ranks-per-node", COUNT, "Ranks on a node of a job. By default all are on one node."),
    option("--cpus-per-rank", COUNT, "Processors of each rank of a job. By default 1."),
    option("--partition", "NAME", "Partition of jobs.", default=""),
    option("--account", "NAME", "Account of jobs.", default=""),
)


def write(
    command: "MeasuredCommand",
    points: "Sequence[MeasuredPoint]",
    jobs: BatchOptions,
    outputs: Outputs,
    *,
    seconds: float | None,
    output: str,
    **options: Any,
) -> int:
    """Write jobs in place of measuring, submit them if asked to, and say what they are."""
    from dataclasses import replace

    from parcast.measurement.batch import write_jobs
    from parcast.measurement.slurm import require_sbatch

    if jobs.submit:
        require_sbatch()
    asked = replace(jobs.asked, seconds=seconds)
    written = write_jobs(command, points, asked, output=output, **options)
    if not written:
        tell(f"no run is missing: all are in {output}.")
        return ANSWERED
    if jobs.submit:
        written = _submitted(written)
    outputs.give(_standings(output, written, {"command": [*command.command]}))
    for reason in dict.fromkeys(x.seconds_from for x in written):
        of_those = [str(x.number) for x in written if x.seconds_from == reason]
        one = "time limit of job" if len(of_those) == 1 else "time limits of jobs"
        tell(f"{one} {joined(of_those)}: {reason}")
    if not jobs.submit:
        tell("check the lines marked EDIT in each script, then submit it:")
        for job in written:
            tell(f"  {submission(str(job.file('sh')), job.system)}")
    return ANSWERED


def _submitted(jobs: "Sequence[BatchJob]") -> "list[BatchJob]":
    """Submit jobs, and note the number of each as soon as it is known."""
    from dataclasses import replace

    from parcast.measurement.slurm import submitted

    found = []
    for job in jobs:
        found.append(replace(job, id=submitted(job.file("sh"))))
        found[-1].save()
    return found


def _standings(table: str, jobs: "Sequence[BatchJob]", inputs: dict[str, Any]) -> "JobStandings":
    from parcast.measurement.collect import JobStandings, standing_of, warnings_of

    found = JobStandings(
        table=table, jobs=tuple(standing_of(jobs)), warnings=tuple(warnings_of(jobs))
    )
    return with_inputs(found, **inputs)


@cli_command(name="status", help=STATUS_HELP, short_help="Say what became of jobs.")
@click.argument("table", default=TABLE, metavar="[TABLE]", type=A_FILE)
@answer_options(ANSWERS, csv="a row for each job")
def status(ctx: click.Context, /, *, table: str, outputs: Outputs) -> int:  # noqa: ARG001 - the first argument of every command
    """Answer the question and return the exit status."""
    from parcast.measurement.jobs import jobs_of

    outputs.check([table])
    with spelled_with(SPELLINGS, click.UsageError):
        jobs = jobs_of(table)
    outputs.give(_standings(table, jobs, {"table": table}))
    return ANSWERED


@cli_command(name="collect", help=COLLECT_HELP, short_help="Gather the runs of jobs.")
@click.argument("table", default=TABLE, metavar="[TABLE]", type=A_FILE)
@processors("Processor counts to forecast. By default two and four times the largest.", "--at")
@answer_options(FIGURES, csv="the runs")
def collect(
    ctx: click.Context,
    /,
    *,
    table: str,
    at: CountList | None,
    outputs: Outputs,
) -> int:
    """Answer the question and return the exit status."""
    from parcast.measurement.answering import answer, from_table
    from parcast.measurement.collect import collect

    outputs.check([table])
    ctx.meta[FILES] = {"TIMINGS": table}
    with spelled_with(SPELLINGS, click.UsageError):
        found = collect(table)
    found = with_inputs(found, **from_table(table), options={"at": plain(at)})
    return answer(found, at, outputs)


@cli_command(
    name="job",
    help=JOB_HELP,
    short_help="Make the runs of a job, inside it.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("file", metavar="FILE", type=A_FILE)
@click.argument("command", nargs=-1, required=True, metavar="COMMAND...")
def job(ctx: click.Context, /, *, file: str, command: tuple[str, ...]) -> int:  # noqa: ARG001 - the first argument of every command
    """Make the runs and return the exit status."""
    from pathlib import Path

    from parcast.measurement.answering import Telling
    from parcast.measurement.job_run import run_job
    from parcast.measurement.jobs import BatchJob

    with spelled_with(SPELLINGS, click.UsageError), Progress("measuring") as progress:
        asked = BatchJob.read(Path(os.fspath(file)))
        found = run_job(asked, command, each=Telling(progress))
    if found.ended_by:
        tell(f"{len(found.table)} of {found.runs * len(found.points)} runs are made.")
    if not found.table:
        return NO_FORECAST
    return INTERRUPTED if found.ended_by == "interrupted" else ANSWERED
