"""`parcast validate`: calibrate a law with small runs, predict larger ones, run and compare."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import Whole, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, INTERRUPTED, NO_FORECAST, in_options
from parcast.cli.law_error_output import CONTENT, FORMATS, check_programs, writer
from parcast.cli.options import (
    CountList,
    SizeList,
    answer_options,
    counts,
    plain,
    ranks_option,
    seed_option,
    size_option,
    sizes,
    text_option,
    time_limit,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.parts import with_parts
from parcast.cli.screen import tell
from parcast.errors import ParameterError
from parcast.kernels.registry import KERNELS, kernel_named

if TYPE_CHECKING:
    from parcast.kernels.validating.result import Validation


HELP: Final = """Test whether the law of a program predicts its runs on this machine.

Prints predicted and measured times, and whether the law holds. Small sizes are timed and the
capacities of the law are fitted to them; larger sizes and other rank counts are predicted
with 90 % intervals, then run and compared. A program takes about a minute.

NAME is a program of `parcast run`, or all; without it, the programs are listed. LIST is a list of
rank counts: 1,2 or 1..8 or 1..8x2 (doubling). SIZES is a list of problem sizes: 1e5,2e5.

\b
Exit status: 0    answered: the law holds
             1    answered: a law does not hold
             2    wrong use, or an output that cannot be written
             4    no answer: the runs do not decide, no MPI, a rank failed, or
                  not enough time
             130  interrupted; completed comparisons are shown

\b
Examples:
  parcast validate sort
  parcast validate all --quick -o laws.svg
  parcast testbed --hosts 8 --link 100Mbit -- parcast validate matmul -np 2..8
"""


ARGUMENTS: Final = {  # what Python calls an argument, and what the command line calls it
    "p": "-np",
    "name": "NAME",
    "sizes": "-n",
    "calibrate_with": "--calibrate-with",
    "longest": "--longest",
}
PARTS: Final = {  # commands of their own below `validate`, by place
    "array-io": "parcast.arrays.validate_command:command",
    "pipeline": "parcast.pipeline.trials.command:command",
}


@cli_command(
    name="validate",
    help=HELP,
    short_help="Test whether the law of a program predicts its runs here.",
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@ranks_option("Numbers of MPI ranks.  [default: 1,2]", read=counts)
@size_option("Problem sizes to predict. By default found by trial runs.")
@text_option(
    "--calibrate-with",
    "SIZES",
    sizes,
    "Problem sizes to calibrate with. By default at most a quarter of those to predict, unless "
    "these would be too short to be timed.",
)
@click.option(
    "--repetitions",
    type=Whole(1, 1000),
    default=4,
    show_default=True,
    metavar="COUNT",
    help="Runs of each predicted size at each number of ranks.",
)
@text_option(
    "--longest",
    "TIME",
    time_limit,
    "Time that a predicted run may take on one processor.",
    default="5s",
    show_default=True,
)
@click.option("--quick", is_flag=True, help="Smaller sizes, fewer launches, wider intervals.")
@text_option(
    "--time-limit", "TIME", time_limit, "Time after which no run is started. By default none."
)
@seed_option("Seed of inputs and orders.", show_default=True)
@answer_options(FORMATS, csv="measurements", toml=CONTENT)
def validate_programs(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...],
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    if not names:
        _list_programs()
        return ANSWERED
    if "all" in names and len(names) > 1:
        raise click.UsageError("Name programs, or all, not both.", ctx)
    outputs.check()
    asked = [*KERNELS] if names == ("all",) else [*names]
    phases = [_phase(x) for x in asked if x in KERNELS]
    run = phases[0] if len(phases) == 1 else None
    check_programs(outputs, [x["law"] for x in phases], may_be_new=True, run=run)
    validation = _validated(names, **options)
    if _is_cut(validation):
        outputs = outputs.of_part()
    outputs.give(validation, rows=validation.measurement_rows, write=_writer(validation))
    return _status(validation)


def _phase(name: str) -> Mapping[str, Any]:
    """Keys of the phase that a program is."""
    return kernel_named(name).phase


def _writer(validation: "Validation") -> Callable[[str], None]:
    """What writes a picture, or the description of the only program with the error of its law."""
    from parcast.laws.allowances import platform_here

    if len(validation.programs) != 1:
        return validation.save
    [program] = validation.programs
    described = {"name": program.program, "phase": [dict(_phase(program.program))]}
    return writer(validation, program.law_errors(platform_here()), described)


def _validated(
    names: Sequence[str],
    *,
    ranks: CountList | None,
    n: SizeList | None,
    calibrate_with: SizeList | None,
    **options: Any,
) -> "Validation":
    """Validate, with a line that says how far it is."""
    from parcast.cli.screen import Progress
    from parcast.kernels.validating.validate import validate

    try:
        with Progress("validating") as progress:
            validation = validate(
                "all" if names == ("all",) else names,
                p=ranks.values if ranks else (1, 2),
                sizes=n.values if n else None,
                calibrate_with=calibrate_with.values if calibrate_with else None,
                progress=progress,
                **options,
            )
    except ParameterError as refusal:
        raise click.UsageError(in_options(refusal, ARGUMENTS)) from refusal
    except KeyboardInterrupt:
        tell("nothing was predicted yet, so that there is nothing to show.")
        raise
    written = {"p": ranks, "sizes": n, "calibrate_with": calibrate_with}
    return with_inputs(
        validation,
        programs=list(names),
        options={name: plain(value) for name, value in written.items()} | options,
    )


def _is_cut(validation: "Validation") -> bool:
    """Whether it was interrupted, so that the answer is a part."""
    return bool(validation.left_out) or any(
        x.ended_by == "interrupted" for x in validation.programs
    )


def _status(validation: "Validation") -> int:
    """Tell the exit status, and on stderr why it is not 0."""
    if _is_cut(validation):
        tell("interrupted.")
        return INTERRUPTED
    wrong = [program.program for program in validation.programs if program.holds is False]
    if wrong:
        laws = "The law does" if len(wrong) == 1 else "The laws do"
        tell(f"no: {laws} not hold for {', '.join(wrong)}.")
        return ANSWER_IS_NO
    open_ = [program.program for program in validation.programs if program.holds is None]
    open_ += list(validation.failures)
    if open_:
        names = ", ".join(open_)
        tell(f"no answer for {names}: the verdict and warnings say why.")
    return NO_FORECAST if open_ else ANSWERED


def _list_programs() -> None:
    """Print the programs, the parts, and what they do."""
    titles = [(name, kernel_named(name).title) for name in KERNELS]
    for name, title in [*titles, *command.summaries()]:
        click.echo(f"{name:13}{title}")


command = with_parts(validate_programs, PARTS, names=[*KERNELS, "all"])
