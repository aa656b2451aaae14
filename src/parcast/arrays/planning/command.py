"""`parcast plan io`: how many I/O servers for the arrays of a program, and which schema."""

from functools import partial
from typing import Any, Final

import click

from parcast.arrays.geometry.choices import OBJECTIVES, OPERATIONS, POLICIES, WRITERS
from parcast.arrays.planning.settings import NAMES as TOOLS
from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import ANSWERED, Spelling, own_options, spelled_with
from parcast.cli.options import CountList, Read, all_option, answer_options, flag, option, share
from parcast.cli.outputs import Outputs, do_each, with_inputs, write_all, write_answer
from parcast.cli.ranges import parse_counts
from parcast.cli.reading import read_description
from parcast.cli.screen import tell
from parcast.deciding.plans import decide

HELP: Final = """Choose I/O servers, and how arrays are distributed over them.

Prints the best schema of each number of servers, what limits it (the file system, communication
or computation), why the best is the best, and what to set in other libraries. Every server gathers
its parts of the arrays from the clients, and writes them in long sequential accesses.

SHAPE and MESH are whole numbers with x between them, the slowest dimension first: 512x512x512 on
3x4x2 clients. Without --costs the times are those of an illustrative machine.

\b
Exit status: 0  answered
             1  answered, and the answer is no: the job of the log is faster
                than every plan
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong

\b
Examples:
  parcast plan io --shape 512x512x512 --dtype float64 --clients 3x4x2 --servers 1..8
  parcast plan io --shape 64x64x32 --clients 4x4x1 --arrays 200 --costs costs.toml -o plan.png
  parcast plan io --shape 512x512x512 --clients 3x4x2 --settings romio > hints
  parcast plan io --shape 512x512x512 --clients 3x4x2 --compare cb_nodes=4
  parcast plan io --shape 512x512x512 --clients 3x4x2 --compare libraries
  parcast plan io --darshan solver.darshan --costs costs.toml
"""

FASTER_NOW: Final = "the job of the log is faster than every plan by these costs"
OTHERS: Final[dict[str, Spelling]] = {  # what Python calls by another name than the options
    "mesh": "--clients",
    "storage chunk": "--storage",
    "inner chunk": "--inner",
}


def server_counts(text: str, option: str) -> CountList:
    """Read a list of numbers of servers."""
    return CountList(text, parse_counts(text, name=option, of="servers"))


@cli_command(name="io", help=HELP, short_help="I/O servers and distribution of arrays.")
@option("--shape", "SHAPE", "Extents of an array: 512x512x512.")
@option("--clients", "MESH", "Mesh of the clients that hold it: 3x4x2.")
@option(
    "--darshan",
    A_FILE,
    "Darshan log of the job, or its text: compare it with the plan of its bytes.",
    metavar="LOG",
)
@option(
    "--compare",
    A_FILE,
    "Also evaluate a setting: cb_nodes=4, or a file with one; or libraries.",
    metavar="SETTING",
)
@option("--dtype", "TYPE", "Of the elements.", default="float64")
@option("--arrays", Whole(1), "Such arrays.", default=1)
@option(
    "--servers",
    Read("LIST", server_counts),
    "Numbers of I/O servers: 1..8 or 2,4,8.",
    default="1..8",
)
@option("--costs", A_FILE, "Costs of the machine, in TOML.")
@option(
    "--objective",
    OneOf(OBJECTIVES),
    "Least time, highest utilisation of the file systems, or fewest servers.",
    default="time",
)
@option(
    "--within",
    Read("SHARE", share),
    "Of fewest: how much longer than the least time: 5%.  [default: 10%]",
)
@option("--hosts", Whole(1), "That the clients are on, in turn.  [default: one each]")
@option("--storage", "SHAPE", "Storage chunks (Zarr shards) instead of schemas.")
@option("--inner", "SHAPE", "Inner chunks of a storage chunk.")
@option(
    "--subchunk",
    "SIZE",
    "Largest piece that a server writes at a time.",
    default="1 MiB",
)
@option(
    "--policy",
    OneOf(POLICIES),
    "Blocks where a mesh does not divide.",
    default="balanced",
)
@option("--operation", OneOf(OPERATIONS), "What is done with the arrays.", default="write")
@option(
    "--writer",
    OneOf(WRITERS),
    "How a server writes.",
    default="write-behind",
)
@flag("--batch", "Many small arrays share a message.")
@flag("--contention", "Count what clients do for several servers.")
@flag("--overlap-rendezvous", "Count the transfer of a large message once.")
@option(
    "--settings",
    OneOf(list(TOOLS)),
    "Print only the lines to paste for this library.",
)
@all_option
@answer_options()
def command(
    ctx: click.Context,
    /,
    *,
    outputs: Outputs,
    show_all: bool,
    costs: str | None,
    darshan: str | None,
    compare: str | None,
    settings: str | None,
    servers: CountList,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    if settings is not None and (outputs.as_json or "-" in outputs.paths):
        other = "--json" if outputs.as_json else "-o -"
        raise click.UsageError(
            f"--settings cannot be combined with {other}: both print. Leave one out.", ctx
        )
    outputs.check([path for path in (costs, darshan) if path is not None])
    from parcast.arrays.law.parameters import read_parameters
    from parcast.arrays.planning.plan_io import plan_io

    inputs: dict[str, Any] = {}
    known = None
    if costs is not None:
        known, inputs["costs"] = read_description(costs, read_parameters, argument="--costs")
    given = {"darshan": darshan, "compare": compare}
    more: dict[str, Any] = {name: each for name, each in given.items() if each is not None}
    with spelled_with(own_options(**OTHERS), click.UsageError):
        planned = plan_io(servers=servers.values, costs=known, **options, **more)
    asked = {"servers": servers.text} | options | more
    result = with_inputs(planned, **inputs, options=asked)
    is_found = result.chosen is not None
    if settings is None or not is_found:
        return decide(outputs, result, is_found=is_found, none=FASTER_NOW, show_all=show_all)
    written = partial(
        write_answer, rows=result.rows, document=result.to_document, write=result.save
    )
    lines = "".join(f"{line}\n" for line in result.settings[settings].lines)
    do_each([*(partial(written, path) for path in outputs.paths), partial(write_all, lines)])
    for text in result.warnings:
        tell(text)
    return ANSWERED
