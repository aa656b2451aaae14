"""`parcast simulate`: descriptions in, simulated times out, beside those of the law."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.failures import ANSWERED, NoAnswer, in_options
from parcast.cli.options import (
    TABLES,
    _above_0,
    debug_option,
    json_option,
    output_option,
    time_limit,
)
from parcast.cli.outputs import check_outputs, give
from parcast.cli.screen import show_sheet
from parcast.errors import ParameterError
from parcast.prediction.command import Configurations, configurations, read_configurations

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from parcast.simulation.result import Simulation


FORMATS: Final = ("csv", "json")

HELP = """Simulate a program event by event, to check what its law says.

PROGRAM and MACHINE are TOML files that say what a program does and what it runs on; "-" is
standard input, for one of them. Every burst, message and I/O of every group of processors is
drawn at random, as the files describe them, and queues form as they will. The mean time of many
such runs stands beside the time that `parcast predict` gives. It takes seconds to minutes where a
law takes none.

LIST and RANGE are as in `parcast predict`.

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  PROGRAM or MACHINE cannot be read, or something in it is wrong
             4  it cannot be simulated: a rate is missing, a law is not "spmd",
                there are too many points

\b
Examples:
  parcast simulate program.toml sp2.toml -p 1..256x4 -d 3
  parcast simulate program.toml sp2.toml -p 64 --precision 0.2% --time-limit 60s
"""


def precision(_: click.Context, option: click.Parameter, text: str) -> float | None:
    """Read the half width of an interval over its mean."""
    return _above_0(option, text, "fraction", "1%")


@click.command(name="simulate", help=HELP, short_help="Check a law by simulation.")
@configurations
@click.option(
    "--precision",
    default="1%",
    show_default=True,
    callback=precision,
    metavar="SHARE",
    help="Go on until the mean time is known this well.",
)
@click.option(
    "--time-limit",
    callback=time_limit,
    metavar="TIME",
    help="Computing time after which no more is simulated. By default none.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random numbers."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Processes that share the work; the times stay the same.",
)
@json_option
@output_option(TABLES)
@click.option("--all", "show_all", is_flag=True, help="Show every row, however many.")
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    precision: float,
    time_limit: float | None,
    seed: int,
    jobs: int,
    outputs: tuple[str, ...],
    as_json: bool,
    show_all: bool,
    **asked: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = Configurations(**asked)
    question.require_one_stdin(ctx)
    check_outputs(
        outputs,
        sources=[question.program, question.machine],
        as_json=as_json,
        formats=FORMATS,
    )
    told = _ask(question, precision=precision, time_limit=time_limit, seed=seed, jobs=jobs)
    give(
        outputs,
        as_json=as_json,
        rows=told.rows,
        document=told.to_document,
        show=lambda: show_sheet(told.to_sheet(show_all=show_all)),
    )
    return ANSWERED


def _ask(
    asked: Configurations, *, precision: float, time_limit: float | None, seed: int, jobs: int
) -> "Simulation":
    """Read the files and simulate."""
    from dataclasses import replace

    from parcast.cli.screen import Progress
    from parcast.simulation.simulate import simulate

    options = {"precision": precision, "time_limit": time_limit, "seed": seed, "jobs": jobs}
    read = read_configurations(asked, **options)
    try:
        with workers(jobs) as executor, Progress("simulating") as progress:
            told = simulate(
                read.program,
                read.machine,
                **read.grid,
                precision=precision,
                most_seconds=time_limit,
                seed=seed,
                executor=executor,
                progress=progress,
            )
    except ParameterError as refusal:
        raise NoAnswer(in_options(str(refusal))) from refusal
    return replace(told, inputs=read.inputs)


@contextmanager
def workers(jobs: int) -> Iterator["Executor | None"]:
    """Give so many processes, or None for this one; when interrupted, end them at once.

    Ctrl-C in a terminal reaches them too: they end without a word.
    """
    if jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context

    others = set(active_children())
    executor = ProcessPoolExecutor(
        jobs,
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield executor
    except BrokenProcessPool:
        raise click.ClickException(
            "a process that shared the work ended early. Take fewer with --jobs."
        ) from None
    except BaseException:
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
