"""`parcast validate array-io`: measure costs, predict requests, run them and compare."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import own_options
from parcast.cli.law_error_output import check_programs
from parcast.cli.options import all_option, flag, option
from parcast.cli.outputs import Outputs
from parcast.cli.screen import VERBOSE
from parcast.validation.answering import answered, repetitions_option, validating

if TYPE_CHECKING:
    from parcast.trials.clock import Progress
    from parcast.validation.result import Validation

HELP: Final = """Test whether the law of array I/O predicts requests on this machine.

Requests of a fixed list (1 to 512 MB; 1 to 1,024 arrays; 2 to 16 clients; 1 to 4 servers; writes
and reads) are predicted from the costs of other requests, and then run and compared. The law
agrees if at least 90% of the requests were predicted within 20%.

REQUESTS.toml is a list of your own. With slow disks the list has smaller requests. Takes 15
minutes to an hour; with --quick about 10 minutes.

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


@cli_command(
    name="array-io",
    help=HELP,
    short_help="Test whether the law of array I/O predicts requests here.",
)
@click.argument("requests", required=False, type=A_FILE, metavar="[REQUESTS.toml]")
@option(
    "--folder",
    A_FILE,
    "Where files are written, and removed again.  [default: the current folder]",
    metavar="FOLDER",
)
@flag("--quick", "Only some of the requests.")
@repetitions_option(
    5, "Runs of each request, at least; up to four times as many where times scatter."
)
@all_option
@validating
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
    return answered(
        outputs,
        partial(_validated, **options),
        save=save,
        spellings=own_options(requests="REQUESTS.toml"),
        inputs={"options": {**options, "save": save}},
        show_all=show_all or bool(ctx.meta.get(VERBOSE)),
    )


def _validated(progress: "Progress", save: str | None, **options: Any) -> "Validation":
    """Validate, with what the options are in Python."""
    from parcast.arrays.subject import validate_array_io

    return validate_array_io(save_predictions=save, progress=progress, **options)
