"""`parcast validate pipeline`: calibrate on small runs, predict larger ones, run and compare."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import own_options
from parcast.cli.law_error_output import check_programs
from parcast.cli.options import SIZES, Read, SizeList, above_0, flag, option, plain
from parcast.cli.outputs import Outputs
from parcast.units import quantity
from parcast.validation.answering import answered, repetitions_option, validating

if TYPE_CHECKING:
    from parcast.trials.clock import Progress
    from parcast.validation.result import Validation

HELP: Final = """Test whether the law of the pipeline predicts its runs on this machine.

Small runs of a synthetic job are made; larger runs are predicted by the stated formulas, with the
measured time of a message, and calibrated, and then made and compared. The law agrees if the
calibrated one has a median error of at most 10% and a worst of at most 25%.

JOB is a Python file in place of the synthetic job, and ARGUMENTs are its items, as parcast run
pipeline takes them.

LIST are layouts PxG: ranks of a pipeline, times pipelines. SIZES are numbers of items. Takes two
to three minutes.

\b
Exit status: 0    answered: the law agrees
             1    answered: it does not
             2    wrong use, or an output that cannot be written
             4    no answer: most runs were disturbed, no MPI, a rank failed, or
                  not enough time
             130  interrupted; completed rows are shown

\b
Examples:
  parcast validate pipeline
  parcast validate pipeline --schedule source --layouts 2x1,4x2 -o law.svg
  parcast validate pipeline count_words.py texts --schedule adaptive
  parcast testbed --hosts 8 -- parcast validate pipeline --schedule adaptive
"""


def layouts(text: str, option: str) -> tuple[tuple[int, int], ...]:
    """Read layouts such as 2x1,4x2."""
    found = []
    for part in text.split(","):
        ranks, _, pipelines = part.strip().lower().partition("x")
        if not (ranks.isdecimal() and (pipelines or "1").isdecimal()):
            raise click.UsageError(
                f"{option} must be layouts PxG, got {text!r:.60}. Write for example 2x1,4x2."
            )
        found.append((int(ranks), int(pipelines or "1")))
    return tuple(found)


def duration(text: str, option: str) -> float:
    """Read a processor time, which may be 0. [s]."""
    return quantity(text, "time", name=option)


LOAD: Final = Read("TIME", duration)


def message_size(text: str, option: str) -> int:
    """Read the length of a message [B]."""
    return round(above_0(text, option, "size", example="24kB"))


@cli_command(
    name="pipeline",
    help=HELP,
    short_help="Test whether the law of the pipeline predicts its runs here.",
)
@click.argument("job", required=False, type=A_FILE)
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@option("--layouts", Read("LIST", layouts), "PxG.  [default: 2x1,4x1,4x2,8x2, as many as fit]")
@option(
    "-n --size n",
    SIZES,
    "Items to predict. By default 4, 8 and 16 for each rank of the largest layout.",
)
@option(
    "--calibrate-with",
    SIZES,
    "Items of the small runs. By default a quarter and half of the fewest to predict.",
)
@option(
    "--schedule",
    OneOf(["adaptive", "source", "both"]),
    "adaptive, source (the published one) or both.",
    default="both",
)
@option("--task", LOAD, "Processor time of a task.  [default: 20ms; 50ms on a testbed]")
@option("--merge", LOAD, "Processor time of a merge.", default="1ms")
@option(
    "--message", Read("SIZE", message_size), "Length of the result of an item.", default="24kB"
)
@flag("--growing", "Results grow with their items, as a lexicon does.")
@option("--batch", Whole(1), "Items taken at a time, in the default schedule.", default=1)
@repetitions_option(3, "Runs of each size and layout.")
@option("--cores", Whole(1), "Cores that ranks share.")
@flag("--quick", "Half as many items, one run of each.")
@validating
def command(
    ctx: click.Context,  # noqa: ARG001 - the first argument of every command
    /,
    *,
    outputs: Outputs,
    save: str | None,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    check_programs(outputs, ["pipeline"], may_be_new=False)
    return answered(
        outputs,
        partial(_validated, **options),
        save=save,
        spellings=own_options(arguments="ARGUMENT", sizes="-n", schedules="--schedule"),
        inputs={"options": {name: plain(value) for name, value in options.items()}},
    )


def _validated(
    progress: "Progress",
    save: str | None,
    *,
    schedule: str,
    n: SizeList | None,
    calibrate_with: SizeList | None,
    growing: bool,
    **options: Any,
) -> "Validation":
    """Validate, with what the options are in Python."""
    from parcast.pipeline.trials.subject import SCHEDULES, validate_pipeline

    return validate_pipeline(
        schedules=SCHEDULES if schedule == "both" else (schedule,),  # type: ignore[arg-type]  # of OneOf
        sizes=[int(x) for x in n.values] if n else None,
        calibrate_with=[int(x) for x in calibrate_with.values] if calibrate_with else None,
        grows=growing,
        progress=progress,
        save_predictions=save,
        **options,
    )
