"""`parcast validate array-io`: measure costs, predict requests, run them and compare."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, INTERRUPTED, NO_FORECAST, spelled_with
from parcast.cli.law_error_output import CONTENT, FORMATS, check_programs, writer
from parcast.cli.options import (
    all_option,
    answer_options,
    seed_option,
    text_option,
    time_limit,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.screen import VERBOSE, tell

if TYPE_CHECKING:
    from parcast.arrays.validating.result import ArrayIoValidation

HELP: Final = """Test whether the law of array I/O predicts requests on this machine.

Requests of a fixed list (1 to 512 MB; 1 to 1,024 arrays; 2 to 16 clients; 1 to 4 servers; writes
and reads) are predicted from costs that other requests determine, the predictions are
saved (--save, -o), and then they are run, usually in several passes. Prints how far predictions
are from the measured times. The law agrees if at least 90 % of the requests were predicted
within 20 %.

REQUESTS.toml is a list of your own. On a testbed with slow disks a list of smaller requests is
used. Takes 15 minutes to an hour, the longer the more the times of equal runs scatter; with
--quick about 10 minutes.

\b
Exit status: 0    answered: the law agrees
             1    answered: it does not
             2    wrong use, or an output that cannot be written
             3    the file of requests cannot be used
             4    no answer: too few requests were measured, other programs disturbed the
                  runs of most of them, no MPI, a rank failed, too little room or time
             130  interrupted; completed requests are shown

\b
Examples:
  parcast validate array-io --quick
  parcast validate array-io -v -o array-io.json -o array-io.svg
  parcast testbed --hosts 16 --link 1Gbit --cpu none --disk 10MB/s -- parcast validate array-io
"""
ARGUMENTS: Final = {  # what Python calls an argument, and what the command line calls it
    "folder": "--folder",
    "repetitions": "--repetitions",
    "quick": "--quick",
    "requests": "REQUESTS.toml",
}


@cli_command(
    name="array-io",
    help=HELP,
    short_help="Test whether the law of array I/O predicts requests here.",
)
@click.argument("requests", required=False, type=A_FILE, metavar="[REQUESTS.toml]")
@click.option(
    "--folder",
    type=A_FILE,
    metavar="FOLDER",
    help="Where files are written, and removed again.  [default: the current folder]",
)
@click.option(
    "--save",
    type=A_FILE,
    metavar="PATH.json",
    help="File for the predictions, each written before its runs. By default beside the first -o.",
)
@click.option("--quick", is_flag=True, help="Only some of the requests.")
@click.option(
    "--repetitions",
    type=Whole(1, 1000),
    default=5,
    show_default=True,
    metavar="COUNT",
    help="Runs of each request, at least; up to four times as many where times scatter.",
)
@text_option(
    "--time-limit", "TIME", time_limit, "Time after which no launch is begun. By default none."
)
@seed_option("Seed of the order of runs.", show_default=True)
@all_option("request")
@answer_options(FORMATS, csv="measurements", toml=CONTENT)
def command(
    ctx: click.Context,
    /,
    *,
    outputs: Outputs,
    save: str | None,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    outputs.check([options["requests"]] if options["requests"] else [])
    check_programs(outputs, ["array_io"], may_be_new=False)
    place = save or _beside(outputs)
    if place is not None:
        Outputs([place], formats=("json",)).check()
    validation = _validated(save=place, **options)
    if validation.ended_by == "interrupted":
        outputs = outputs.of_part()
    from parcast.laws.allowances import platform_here

    outputs.give(
        validation,
        rows=validation.measurement_rows,
        write=writer(validation, validation.law_errors(platform_here())),
        show_all=show_all or bool(ctx.meta.get(VERBOSE)),
    )
    return _status(validation)


def _beside(outputs: Outputs) -> str | None:
    """Path for the predictions beside the first file of the answer."""
    files = [path for path in outputs.paths if path != "-"]
    return str(Path(files[0]).with_suffix(".predictions.json")) if files else None


def _validated(*, save: str | None, **options: Any) -> "ArrayIoValidation":
    """Validate, with a line that says how far it is."""
    from parcast.arrays.validating.validate import validate_array_io
    from parcast.cli.screen import Progress

    try:
        with Progress("validating") as progress, spelled_with(ARGUMENTS, click.UsageError):
            validation = validate_array_io(save_predictions=save, progress=progress, **options)
    except KeyboardInterrupt:
        tell("nothing was predicted yet, so that there is nothing to show.")
        raise
    return with_inputs(validation, options={**options, "save": save})


def _status(validation: "ArrayIoValidation") -> int:
    """Tell the exit status, and on stderr why it is not 0."""
    if validation.ended_by == "interrupted":
        tell("interrupted.")
        return INTERRUPTED
    if validation.holds is None:
        tell("no answer: the verdict says why.")
        return NO_FORECAST
    if not validation.holds:
        tell("no: the law does not agree with the runs.")
        return ANSWER_IS_NO
    return ANSWERED
