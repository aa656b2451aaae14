"""`parcast explain pipeline`: the schedule of a pipeline, or the timeline of a traced run."""

from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import ANSWERED, own_options, spelled_with
from parcast.cli.options import answer_options, option
from parcast.cli.outputs import Outputs, with_inputs

if TYPE_CHECKING:
    from parcast.show.result import Result

HELP: Final = """Explain the schedule of a parallel pipeline, or a traced run.

Prints what each rank does in each step, the stages of the pipeline, the merge tree, the sizes of
messages and the ideal speedup. All tasks and merges take one step. With TRACE, a file that
`parcast run` or run_pipeline writes with trace, it prints what the ranks of that run spent their
time on, and what limited the run.

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
  parcast explain pipeline run.jsonl -o timeline.png
"""


@cli_command(
    name="pipeline", help=HELP, short_help="Schedule of a parallel pipeline, or a traced run."
)
@click.argument("traces", nargs=-1, metavar="[TRACE]", type=A_FILE)
@option("-np ranks", Whole(1, 1_000_000), "Ranks of one pipeline.")
@option("--pipelines", Whole(1, 1_000_000), "Number of independent pipelines.  [default: 1]")
@option(
    "--schedule",
    OneOf(["source", "adaptive"]),
    "source (published) or adaptive. By default source for powers of two.",
)
@option(
    "--cycles",
    Whole(1, 100_000),
    "Cycles of the published schedule to show, of unlimited items. By default 2.",
)
@option(
    "--items",
    Whole(1, 1_000_000),
    "Items of one pipeline, to the end. By default unlimited; of adaptive 4 per rank.",
)
@option("--trace", A_FILE, "The same as TRACE.")
@answer_options()
def command(
    ctx: click.Context,
    /,
    *,
    ranks: int | None,
    traces: tuple[str, ...],
    trace: str | None,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    files = [*traces, *([] if trace is None else [trace])]
    if (ranks is None) != (len(files) == 1):
        raise click.UsageError("either -np COUNT or one TRACE must be given.", ctx)
    given = [name for name, value in options.items() if value is not None]
    if files and given:
        raise click.UsageError(
            f"--{given[0]} cannot be combined with TRACE, which contains it. Leave it out.", ctx
        )
    outputs.check(files)
    outputs.give(_timeline(*files) if ranks is None else _schedule(ranks, options))
    return ANSWERED


def _schedule(ranks: int, options: dict[str, Any]) -> "Result":
    from parcast.pipeline.explaining.explain import explain_pipeline

    given = {name: value for name, value in options.items() if value is not None}
    with spelled_with(own_options(), click.UsageError):
        result = explain_pipeline(ranks, **given)
    return with_inputs(result, options={"ranks": ranks} | options)


def _timeline(path: str) -> "Result":
    from parcast.pipeline.explaining.timeline import timeline_of

    return with_inputs(timeline_of(path), trace={"file": path})
