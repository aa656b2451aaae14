"""`parcast run`: a reference program that really runs, on ranks that are started for it."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import ours
from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, in_options, own_options, spelled_with
from parcast.cli.options import (
    COUNTS,
    TIME,
    CountList,
    Read,
    amount,
    answer_options,
    flag,
    option,
    seed_option,
)
from parcast.cli.outputs import (
    ANSWERS,
    Outputs,
    do_each,
    print_pieces,
    write_answer,
    write_sheets,
)
from parcast.cli.parts import with_parts
from parcast.cli.screen import Progress, page_of_stdout, show, show_sheet, tell
from parcast.errors import ParameterError, RunFailed
from parcast.kernels.course import KINDS, NAMES, how_to_go_on, mesh_of, read_checkpoint
from parcast.kernels.registry import KERNELS, kernel_named
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.kernels.kernel import KernelRun


PARTS: Final = {  # commands of their own below `run`, by place
    "pipeline": "parcast.pipeline.command:command",
    "features": "parcast.applications.text.features.command:command",
    "sort-file": "parcast.applications.sorting.command:command",
    "search": "parcast.applications.text.search.command:command",
}

*_NAMES, _LAST = KERNELS
HELP = f"""Run a reference program with MPI, and time and count what it does.

Prints the time of each run and what it computed and sent. -o runs.csv writes a table of
measurements for `parcast forecast` and `parcast fit`.

NAME is {", ".join(_NAMES)} or {_LAST};
without it, the programs are listed. parcast starts the ranks; with your own mpiexec, use
`mpiexec -n 4 python -m parcast.kernels NAME -n SIZES`.

SIZES is a list of problem sizes: 1e6 or 1e5,1e6 or 1000..8000x2; by default one that takes about a
second on one rank. LIST is a list of rank counts: 4 or 1,2,4 or 1..4x2.

\b
Exit status: 0  it ran, and all results are correct
             1  it ran, and a result is wrong
             2  wrong use, or an output that cannot be written
             3  a checkpoint cannot be read
             4  it did not run: no MPI, not enough memory or time, or a rank
                failed
             130  interrupted
             With 4 and 130 the completed runs are shown and written.

\b
Examples:
  parcast run sort -np 4
  parcast run gauss -n 500..2000x2 -np 1,2 --repetitions 3 -o runs.csv
  parcast run stencil -np 4 --steps 200 --checkpoint heat.zarr
  parcast run stencil -np 3 --steps 200 --restart heat.zarr
  parcast run writer -np 4 --servers 2 --io striped
"""


def sizes(text: str, option: str) -> list[int]:
    """Read a list of problem sizes, which are whole here and may be 0."""
    from parcast.cli.ranges import parse_sizes

    values: dict[float, None] = {}
    for part in map(str.strip, text.split(",")):
        values |= dict.fromkeys([0.0] if part == "0" else parse_sizes(part))
    for value in values:
        if value != int(value):
            raise click.UsageError(
                f"{option} must be whole numbers, got {value:g}. Write for example 1000 or 1e6."
            )
    return [int(value) for value in values]


def patience(text: str, option: str) -> float:
    """Read the time to wait for quiet processors."""
    from parcast.kernels.worker import waiting_time

    return waiting_time(text, name=option)


@cli_command(name="run", help=HELP)
@click.argument("name", required=False)
@option("-n --size n", Read("SIZES", sizes), "Problem sizes. By default one of about a second.")
@option("-np ranks", COUNTS, "Numbers of MPI ranks.", default="1")
@option(
    "--repetitions", Whole(1, 100_000), "Runs of each size at each number of ranks.", default=1
)
@seed_option
@flag(
    "--check/--no-check",
    "Compare results with those of one processor, or not. By default for small n.",
    default=None,
)
@option("--directory", A_FILE, "Folder for temporary files.")
@option(
    "--time-limit",
    TIME,
    "Time after which the ranks are stopped, for each number of ranks.",
    default="1h",
)
@option(
    "--patience",
    Read("TIME", patience),
    "Time to wait for idle processors and to repeat disturbed runs, for each number of ranks.",
    default="0s",
)
@option("--steps", Whole(1), "Time steps of stencil or writer, in all.")
@option("--mesh", Read("MESH", mesh_of), "Ranks of stencil in each dimension: 2x2.")
@option("--checkpoint", A_FILE, "Zarr store for checkpoints of stencil or writer.")
@option(
    "--checkpoint-every",
    Whole(1),
    "Time steps between two checkpoints, or writes of writer.  [default: 10]",
)
@option(
    "--servers",
    Whole(1),
    "Ranks that access the files of checkpoints  [default: 1]; of writer, ranks more that write.",
)
@option("--restart", A_FILE, "Checkpoint to go on from.")
@option(
    "--io",
    click.Choice(KINDS),
    "How writer writes: synchronous, striped or clustered.  [default: synchronous]",
    metavar="KIND",
)
@option("--group", Whole(1), "Ranks of writer that pass points on to each other.  [default: 1]")
@option(
    "--imbalance",
    amount("NUMBER", "count", "1.5"),
    "Rows of the first rank of stencil over the mean; it writes nothing then.",
)
@answer_options(ANSWERS)
def run_program(
    ctx: click.Context,
    /,
    *,
    name: str | None,
    n: list[int] | None,
    ranks: CountList,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Run the program and return the exit status."""
    if name is None:
        _list_programs()
        return ANSWERED
    try:
        kernel = kernel_named(name)
    except ParameterError as refusal:
        raise click.UsageError(in_options(refusal, own_options(name="NAME")), ctx) from refusal
    options = {key: x for key, x in options.items() if x is not None or key not in NAMES}
    if not n and "restart" in options and kernel.time_steps:
        n = [read_checkpoint(options["restart"]).n]
    n = n or [kernel.example]
    outputs.check()
    ended: list[KernelRun] = []
    try:
        _run(name, n, ranks, options, ended)
    except (RunFailed, KeyboardInterrupt) as stop:
        text = how_to_go_on(options.get("checkpoint"))
        if text and isinstance(stop, KeyboardInterrupt):  # a failure has said so
            tell(text)
        if ended:
            _give(_document(ended, name, n, ranks, options), ended, outputs.of_part())
        raise
    _give(_document(ended, name, n, ranks, options), ended, outputs)
    return ANSWER_IS_NO if any(run.is_correct is False for run in ended) else ANSWERED


def _run(
    name: str, n: list[int], ranks: CountList, options: dict[str, Any], ended: "list[KernelRun]"
) -> None:
    """Run the program, and add its runs."""
    from parcast.kernels.run import run_kernel

    with spelled_with(own_options(name="NAME")), Progress(f"running {name:.20}") as progress:
        run_kernel(name, n=n, ranks=ranks.values, progress=progress, each=ended.append, **options)


def _give(document: dict[str, Any], runs: "Sequence[KernelRun]", outputs: Outputs) -> None:
    """Show and write the runs, each whatever becomes of the others."""
    from parcast.files.document import json_pieces
    from parcast.kernels.sheet import measurement_rows, sheet_of

    sheet = sheet_of(runs)

    def show_runs() -> None:
        if outputs.as_json:
            print_pieces(json_pieces(document))
        elif "-" not in outputs.paths:
            show_sheet(sheet)

    written = partial(
        write_answer,
        rows=lambda: measurement_rows(runs),
        document=lambda: document,
        write=lambda path: write_sheets(path, [sheet], document),
    )
    do_each([show_runs, *(partial(written, path) for path in outputs.paths)])


def _document(
    runs: "Sequence[KernelRun]", name: str, n: list[int], ranks: CountList, chosen: dict[str, Any]
) -> dict[str, Any]:
    """Everything as one JSON document, with what was asked."""
    from parcast.kernels.sheet import document_of

    times = {"time_limit": "time_limit_s", "patience": "patience_s"}
    options = {"n": n, "ranks": ranks.text} | {
        times.get(key, key): value for key, value in chosen.items()
    }
    inputs = {"program": name, "options": options, "parcast": __version__}
    return {**document_of(runs), "inputs": inputs}


def _list_programs() -> None:
    """Print the programs there are."""
    from parcast.kernels.sheet import program_words
    from parcast.show.terminal import listing

    kernels = [kernel_named(name) for name in KERNELS]
    named = [program_words(x.name, x.title, x.size, x.example) for x in kernels]
    named += [
        (name, f"{words[0].lower()}{words[1:].rstrip('.')}; see {ours('run', name, '--help')}")
        for name, words in command.summaries()
    ]
    show(listing(named, page_of_stdout()))


command = with_parts(run_program, PARTS, names=KERNELS)
