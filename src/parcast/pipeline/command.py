"""`parcast run pipeline`: a job of one's own, on items that are files, lines or a generator."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWERED, WRONG_USE, spelled_with
from parcast.cli.options import flag, json_option, option, output_option
from parcast.cli.outputs import Outputs, format_of, print_pieces
from parcast.cli.screen import show_sheet, tell
from parcast.errors import FAILURES, ParameterError
from parcast.pipeline.options import Running, run_options, status_of

if TYPE_CHECKING:
    from parcast.pipeline.result import PipelineResult

WRITTEN: Final = ("json", "csv", "npy", "pickle")  # endings of files that take a value
SERVED: Final = ("jsonl", "pickle")  # and of those that take one result after the other

HELP: Final = """Run a task on many items and merge the results, on MPI ranks.

JOB is a Python file that defines task(item). It may define merge(a, b), or merge = "counts" or
another name, and zero, setup(), finish(value), split(value, shards), server(reduction) and
items(*ARGUMENTS), as parcast.run_pipeline has them.

Without items() each ARGUMENT is a file, or a folder or pattern that stands for the files in it and
its subfolders; - stands for the lines of standard input. The result has the same bytes for every
number of ranks. After Ctrl-C it is that of the items taken until then.

\b
Exit status: 0    it ran
             2    wrong use, or an output that cannot be written
             3    JOB cannot be imported, or something in it is wrong
             4    an item failed, no MPI, a rank failed, or not enough time
             130  interrupted; the result is shown and written

\b
Examples:
  parcast run pipeline count_words.py texts -np 4 -o counts.json
  parcast run pipeline job.py data --checkpoint state --resume -np 8
  parcast run pipeline job.py - --every 1000 -o sums.jsonl < events.txt
"""


@cli_command(name="pipeline", help=HELP, short_help="Run a task on many items, merge the results.")
@click.argument("job", type=A_FILE)
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@option(
    "--merge", "NAME", "sum, counts, sorted or top:10. By default the merge of JOB, or else sum."
)
@option("--shards", Whole(1), "Parts of the result, by key.")
@option(
    "--every",
    Whole(1),
    "Reduce each so many items by themselves; -o gets each result during the run.",
)
@flag("--check", "Check that the merge is associative.")
@run_options
@output_option(
    'Write the value to PATH: .json, .csv, .npy or .pickle. "-" prints CSV, or JSON if it is no '
    "table. With --every write each result to PATH during the run: .jsonl or .pickle."
)
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
    every = options["every"]
    places = Outputs(outputs, as_json=as_json, formats=WRITTEN if every is None else SERVED)
    if every is not None and [format_of(path) in SERVED for path in outputs] not in ([], [True]):
        raise click.UsageError(
            f"-o must be one path that ends in .jsonl or .pickle with --every, got {outputs[0]!r}."
        )
    places.check()
    name = Path(job).stem
    if running.script is not None:
        from parcast.pipeline.job_file import check_for_script

        with spelled_with({}, click.UsageError):
            check_for_script(job, arguments)
    if running.is_written(ctx, name):
        return ANSWERED
    chosen = {name: value for name, value in options.items() if value is not None}
    if every is not None and outputs:
        chosen["server"] = outputs[0]
    result = running.ended(lambda more: _result(job, arguments, chosen, more), name)
    status = status_of(result)
    if not result.is_root:
        return status
    return _given(result, places, has_value=every is None) or status


def _result(
    job: str, arguments: tuple[str, ...], chosen: dict[str, Any], more: dict[str, Any]
) -> "PipelineResult":
    """Import the job and run it."""
    from parcast.pipeline.job_file import functions_of, identity_of, in_job, items_of, job_module
    from parcast.pipeline.run import run_pipeline

    module = job_module(job)
    own = {name: x for name, x in functions_of(module).items() if name not in chosen}
    if "server" in chosen and hasattr(module, "server"):
        got, hint = f"{Path(job).name}, which has one", "Leave -o out, or remove it."
        raise ParameterError(
            "JOB", must="define no server() for -o with --every", got=got, hint=hint
        )
    items = items_of(module, arguments)
    signature = {
        **identity_of(job, arguments, items),
        "merge": chosen.get("merge", "that of JOB"),
    }
    try:
        return run_pipeline(
            items, **own, **chosen, **more, name=Path(job).stem, signature=signature
        )
    except ParameterError as refusal:
        raise in_job(job, refusal, own) from refusal


def _given(result: "PipelineResult", outputs: Outputs, *, has_value: bool) -> int:
    from parcast.pipeline.values import saved

    paths = outputs.paths if has_value else ()
    said = [saved(path, result.value) for path in paths if path != "-"]
    if outputs.as_json:
        said.append(_printed_run(result))
    elif "-" in paths:
        said.append(_printed_value(result))
    faults = [fault for fault, _ in said if fault]
    if not outputs.as_json and "-" not in paths:
        is_shown = has_value and (bool(faults) or not paths)
        show_sheet(result.to_sheet(with_value=is_shown))
    for fault, warning in said:
        if text := fault or warning:
            tell(text)
    return WRONG_USE if faults else ANSWERED


def _printed_value(result: "PipelineResult") -> tuple[str, str]:
    """Print the value, as CSV or JSON; give why it cannot be printed, or a warning."""
    from parcast.pipeline.values import kept, printed

    try:
        pieces, warning = printed(result.value)
    except FAILURES as failure:
        return kept(result.program, result.value, failure), ""
    print_pieces(pieces)
    return "", warning


def _printed_run(result: "PipelineResult") -> tuple[str, str]:
    """Print the run with its value as JSON; give why this cannot be printed, or a warning."""
    from parcast.files.document import json_pieces
    from parcast.pipeline.values import Converted, escaped, kept

    document, fault, made = result.to_document(), "", Converted()
    try:
        document["value"] = made.json(result.value)
    except FAILURES as failure:
        fault = kept(result.program, result.value, failure)
    print_pieces(map(escaped, json_pieces(document, exact=True)))
    return fault, made.warning("--json", "null")
