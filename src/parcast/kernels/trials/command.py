"""`parcast validate`: calibrate a law with small runs, predict larger ones, run and compare."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import cli_command
from parcast.cli.failures import ANSWERED, own_options
from parcast.cli.law_error_output import check_programs
from parcast.cli.options import (
    COUNTS,
    SIZES,
    TIME,
    CountList,
    SizeList,
    flag,
    option,
    plain,
)
from parcast.cli.outputs import Outputs
from parcast.cli.parts import with_parts
from parcast.kernels.registry import COUNTED, kernel_named
from parcast.validation.answering import answered, repetitions_option, validating
from parcast.validation.plugins import with_plugins

if TYPE_CHECKING:
    from parcast.trials.clock import Progress
    from parcast.validation.result import Validation

HELP: Final = """Test whether the law of a program predicts its runs on this machine.

Prints predicted and measured times, and whether the law holds. Small sizes are timed and the
capacities of the law are fitted to them; larger sizes and other rank counts are predicted
with 90% intervals, then run and compared. A program takes about a minute.

NAME is a program of `parcast run`, or all; without it, the programs are listed. LIST is a list of
rank counts: 1,2 or 1..8 or 1..8x2 (doubling). SIZES is a list of problem sizes: 1e5,2e5.

With files, PROGRAM [MACHINE] TIMINGS, the prediction of a description is compared with runs that
you have: see `parcast validate runs --help`.

\b
Exit status: 0    answered: the law holds
             1    answered: a law does not hold
             2    wrong use, or an output that cannot be written
             4    no answer: the runs do not decide, no MPI, a rank failed, or
                  not enough time
             130  interrupted; completed rows are shown

\b
Examples:
  parcast validate sort
  parcast validate program.toml machine.toml runs.csv
  parcast validate all --quick -o laws.svg
  parcast testbed --hosts 8 --link 100Mbit -- parcast validate matmul -np 2..8
"""


PARTS: Final = {  # commands of their own below `validate`, by place
    "array-io": "parcast.arrays.validate_command:command",
    "pipeline": "parcast.pipeline.trials.command:command",
    "runs": "parcast.prediction.trials.command:command",
}


@cli_command(
    name="validate",
    help=HELP,
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option("-np ranks", COUNTS, "Numbers of MPI ranks.  [default: 1,2]")
@option("-n --size n", SIZES, "Problem sizes to predict. By default found by trial runs.")
@option(
    "--calibrate-with",
    SIZES,
    "Problem sizes to calibrate with. By default at most a quarter of those to predict, unless "
    "these would be too short to be timed.",
)
@repetitions_option(4, "Runs of each predicted size at each number of ranks.")
@option("--longest", TIME, "Time that a predicted run may take on one processor.", default="5s")
@flag("--quick", "Smaller sizes, fewer launches, wider intervals.")
@validating
def validate_programs(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...],
    outputs: Outputs,
    save: str | None,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    if not names:
        _list_programs()
        return ANSWERED
    if "all" in names and len(names) > 1:
        raise click.UsageError("Name programs, or all, not both.", ctx)
    asked = [*COUNTED] if names == ("all",) else [*names]
    phases = [kernel_named(x).phase for x in asked if x in COUNTED]
    run = phases[0] if len(phases) == 1 else None
    outputs.check()
    check_programs(outputs, [x["law"] for x in phases], may_be_new=True, run=run)
    return answered(
        outputs,
        partial(_validated, names, **options),
        save=save,
        spellings=own_options(p="-np", name="NAME", sizes="-n"),
        inputs={"programs": [*names], "options": _written(**options)},
        described=_described,
    )


def _written(
    *, ranks: CountList | None, n: SizeList | None, calibrate_with: SizeList | None, **options: Any
) -> dict[str, Any]:
    """Options as they were given."""
    written = {"p": ranks, "sizes": n, "calibrate_with": calibrate_with}
    return {name: plain(value) for name, value in written.items()} | options


def _described(validation: "Validation") -> Mapping[str, Any] | None:
    """Keys of the only program."""
    if len(validation.parts) != 1:
        return None
    [part] = validation.parts
    return {"name": part.name, "phase": [dict(kernel_named(part.name).phase)]}


def _validated(
    names: Sequence[str],
    progress: "Progress",
    save: str | None,
    *,
    ranks: CountList | None,
    n: SizeList | None,
    calibrate_with: SizeList | None,
    **options: Any,
) -> "Validation":
    """Validate, with what the options are in Python."""
    from parcast.kernels.trials.subject import validate

    return validate(
        "all" if tuple(names) == ("all",) else names,
        p=ranks.values if ranks else (1, 2),
        sizes=n.values if n else None,
        calibrate_with=calibrate_with.values if calibrate_with else None,
        progress=progress,
        save_predictions=save,
        **options,
    )


def _list_programs() -> None:
    """Print the programs, the parts, and what they do."""
    titles = [(name, kernel_named(name).title) for name in COUNTED]
    for name, title in [*titles, *command.summaries()]:
        click.echo(f"{name:13}{title}")


NAMES: Final = (*COUNTED, "all")
command = with_parts(validate_programs, with_plugins(PARTS, NAMES), names=NAMES, of_files="runs")
