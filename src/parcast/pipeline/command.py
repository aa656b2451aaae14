"""`parcast run pipeline`: a job of one's own, on items that are files, lines or a generator."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import json_option, output_option
from parcast.cli.outputs import Outputs, print_pieces
from parcast.cli.screen import show_sheet
from parcast.pipeline.options import Running, run_options, status_of

if TYPE_CHECKING:
    from parcast.pipeline.result import PipelineResult

ENDINGS: Final = ("json", "csv", "npy", "pickle")  # of files that a value can be written to

HELP: Final = """Run a task on many items and merge the results, on MPI ranks.

JOB is a Python file that defines task(item). It may define merge(a, b), or merge = "counts" or
another name, and zero, setup(), finish(value), split(value, shards), server(reduction) and
items(*ARGUMENTS), as parcast.run_pipeline has them.

Without items() each ARGUMENT is an item; a folder stands for the files in it, and - for the
lines of standard input. The result has the same bytes for every number of ranks. Ctrl-C ends the
items; the result is then that of those taken until then.

\b
Exit status: 0    it ran
             2    wrong use, or an output that cannot be written
             3    JOB cannot be imported
             4    an item failed, no MPI, a rank failed, or not enough time
             130  interrupted; the result is shown and written

\b
Examples:
  parcast run pipeline count_words.py texts -np 4 -o counts.json
  parcast run pipeline job.py data --checkpoint state --resume -np 8
"""


@cli_command(name="pipeline", help=HELP, short_help="Run a task on many items, merge the results.")
@click.argument("job", type=A_FILE)
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@click.option("--merge", metavar="NAME", help="sum, counts, sorted or top:10, in place of merge.")
@click.option("--shards", type=Whole(1), metavar="COUNT", help="Parts of the result, by key.")
@click.option("--every", type=Whole(1), metavar="COUNT", help="Items of a reduction.")
@click.option("--server", metavar="PATH", type=A_FILE, help="Add reductions to .jsonl or .pickle.")
@click.option("--check", is_flag=True, help="Check that the merge is associative.")
@run_options
@output_option("Write the value to PATH: .json, .csv, .npy or .pickle. Repeatable.")
@json_option
def command(
    ctx: click.Context,
    /,
    *,
    job: str,
    arguments: tuple[str, ...],
    outputs: tuple[str, ...],
    as_json: bool,
    running: Running,
    **options: Any,
) -> int:
    """Run the job and return the exit status."""
    places = Outputs(outputs, as_json=as_json, formats=ENDINGS)
    places.check()
    name = Path(job).stem
    if running.is_written(ctx, name):
        return ANSWERED
    result = running.ended(lambda more: _result(job, arguments, options, more), name)
    if result.is_root:
        _give(result, places)
    return status_of(result)


def _result(
    job: str, arguments: tuple[str, ...], options: dict[str, Any], more: dict[str, Any]
) -> "PipelineResult":
    """Import the job and run it."""
    from parcast.pipeline.job_file import functions_of, items_of, job_module
    from parcast.pipeline.run import run_pipeline

    module = job_module(job)
    chosen = {name: value for name, value in options.items() if value is not None}
    return run_pipeline(
        items_of(module, arguments),
        **{**functions_of(module), **chosen, **more, "name": Path(job).stem},
    )


def _give(result: "PipelineResult", outputs: Outputs) -> None:
    """Write the value, and show it and the run."""
    from parcast.files.document import json_pieces
    from parcast.pipeline.values import json_value, write_value

    for path in outputs.paths:
        write_value(path, result.value)
    if outputs.as_json:
        document = result.to_document()
        with suppress(TypeError, ValueError):
            document["value"] = json_value(result.value)
        print_pieces(json_pieces(document))
    else:
        show_sheet(result.to_sheet(with_value=not outputs.paths))
