"""`parcast explain pipeline`: the schedule of a pipeline, or the timeline of a traced run."""

from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import ANSWERED, in_options
from parcast.cli.options import Counts, answer_options, counts, ranks_option
from parcast.cli.outputs import Outputs, with_inputs
from parcast.errors import ParameterError

if TYPE_CHECKING:
    from parcast.show.result import Result

HELP: Final = """Explain the schedule of a parallel pipeline, or a traced run.

Prints what each rank does in each step, the stages of the pipeline, the merge tree, the sizes of
messages and the ideal speedup. All tasks and merges take one step. With --trace it prints what the
ranks of a recorded run spent their time on, and what limited the run.

COUNT ranks are a pipeline. The published schedule ("source") requires a power of two, and is
explained by default where it can be. parcast runs with "adaptive" by default, on any number.

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  the trace cannot be read, or something in it is wrong

\b
Examples:
  parcast explain pipeline -np 8
  parcast explain pipeline -np 6 --items 20 -o schedule.svg
  parcast explain pipeline --trace run.jsonl -o timeline.png
"""

OPTIONS: Final = {  # what Python calls an argument, and what the command line does
    "ranks": "-np",
    "pipelines": "--pipelines",
    "cycles": "--cycles",
    "items": "--items",
    "schedule": "--schedule",
}


def one_count(text: str, option: str) -> Counts | None:
    """Read one number of ranks."""
    read = counts(text, option)
    if read is not None and len(read.values) > 1:
        raise click.UsageError(f"{option} must be one number, got {text!r:.60}.")
    return read


@cli_command(
    name="pipeline", help=HELP, short_help="Schedule of a parallel pipeline, or a traced run."
)
@ranks_option("Ranks of one pipeline.", read=one_count, metavar="COUNT")
@click.option(
    "--pipelines",
    type=Whole(1, 1_000_000),
    metavar="COUNT",
    help="Number of independent pipelines.  [default: 1]",
)
@click.option(
    "--schedule",
    type=OneOf(["source", "adaptive"]),
    metavar="NAME",
    help="source (published) or adaptive. By default source for powers of two.",
)
@click.option(
    "--cycles",
    type=Whole(1, 100_000),
    metavar="COUNT",
    help="Cycles of the published schedule to show, of unlimited items. By default 2.",
)
@click.option(
    "--items",
    type=Whole(1, 1_000_000),
    metavar="COUNT",
    help="Items of one pipeline, to the end. By default unlimited; of adaptive 4 per rank.",
)
@click.option("--trace", type=A_FILE, metavar="PATH", help="Explain this traced run instead.")
@answer_options()
def command(
    ctx: click.Context,
    /,
    *,
    ranks: Counts | None,
    trace: str | None,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    if (ranks is None) == (trace is None):
        raise click.UsageError(
            "-np COUNT or --trace PATH must be given, and not both.",
            ctx,
        )
    given = [name for name, value in options.items() if value is not None]
    if trace is not None and given:
        raise click.UsageError(
            f"--{given[0]} cannot be combined with --trace, which tells it. Leave it out.", ctx
        )
    outputs.check([] if trace is None else [trace])
    outputs.give(_schedule(ctx, ranks, options) if ranks is not None else _timeline(str(trace)))
    return ANSWERED


def _schedule(ctx: click.Context, ranks: Counts, options: dict[str, Any]) -> "Result":
    """Expand the schedule."""
    from parcast.pipeline.explaining.explain import explain_pipeline

    [size] = ranks.values
    given = {name: value for name, value in options.items() if value is not None}
    try:
        result = explain_pipeline(size, **given)
    except ParameterError as refusal:
        raise click.UsageError(in_options(refusal, OPTIONS), ctx) from refusal
    return with_inputs(result, options={"ranks": size} | options)


def _timeline(path: str) -> "Result":
    """Read the trace and divide its time."""
    from parcast.pipeline.explaining.timeline import timeline_of
    from parcast.pipeline.trace import read_trace

    return with_inputs(timeline_of(read_trace(path)), trace={"file": path})
