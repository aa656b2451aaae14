"""`parcast run sort-file`: an array larger than memory, sorted on MPI ranks."""

from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import Read, columns, json_option, option
from parcast.cli.outputs import print_pieces
from parcast.cli.screen import show_sheet
from parcast.pipeline.options import MEMORY, Running, some_run_options

if TYPE_CHECKING:
    from parcast.applications.sorting.result import SortedFile

LIMIT: Final = "300MB"

HELP: Final = """Sort the array of a .npy file that is larger than memory into another .npy file.

INPUT holds one dimension: numbers, strings of fixed width, dates, or records. The result has the
bytes of numpy.sort(array, kind="stable") for every number of ranks. OUTPUT is replaced when all of
it has been written; it cannot be INPUT itself.

No rank holds more than SIZE of resident memory, Python and MPI included. What does not fit goes to
files beside OUTPUT, or in --directory: together with OUTPUT they need twice the size of the array.
All ranks must see INPUT and OUTPUT.

\b
Exit status: 0    it is sorted
             2    wrong use, or an output that cannot be written
             3    INPUT is no array that can be sorted
             4    no MPI, a full disk, a rank failed, or not enough time
             130  interrupted; OUTPUT is as it was before

\b
Examples:
  parcast run sort-file samples.npy -o sorted.npy -np 4
  parcast run sort-file events.npy -o by-time.npy --by time,detector --memory 1GB
"""


@cli_command(name="sort-file", help=HELP, short_help="Sort an array that is larger than memory.")
@click.argument("source", metavar="INPUT", type=A_FILE)
@option("-o --output", A_FILE, "The sorted array: .npy.", required=True, metavar="OUTPUT")
@option("--by", Read("FIELDS", columns), "Fields of records to compare: time or time,detector.")
@option("--memory", MEMORY, "Limit of the resident memory of a rank.", default=LIMIT)
@some_run_options("ranks", "directory", "trace", "time_limit", "slurm")
@json_option
def command(
    ctx: click.Context,
    /,
    *,
    source: str,
    output: str,
    by: list[str] | None,
    memory: float,
    as_json: bool,
    running: Running,
) -> int:
    """Sort the file and return the exit status."""
    if running.is_written(ctx, "sort-file"):
        return ANSWERED

    def sort(arguments: dict[str, Any]) -> "SortedFile":
        from parcast.applications.sorting.sort_file import sort_file

        arguments.pop("on_error", None)
        return sort_file(source, output, by=by, memory=memory, **arguments)

    result: SortedFile = running.ended(sort, "sorting")
    if result.is_root:
        _give(result, as_json=as_json)
    return ANSWERED


def _give(result: "SortedFile", *, as_json: bool) -> None:
    from parcast.files.document import json_pieces

    if as_json:
        print_pieces(json_pieces(result.to_document()))
    else:
        show_sheet(result.to_sheet())
