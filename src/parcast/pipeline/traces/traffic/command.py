"""`parcast explain traffic`: which delay formula the messages of a traced run support."""

import os
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, NO_FORECAST, own_options, spelled_with
from parcast.cli.options import Read, amount, answer_options, option, seed_option
from parcast.cli.outputs import FIGURES, Outputs, format_of, tell_written, with_inputs
from parcast.errors import ParameterError
from parcast.units import quantity

if TYPE_CHECKING:
    from parcast.pipeline.traces.traffic.result import TrafficCheck


HELP = """Check which delay formula the messages of a traced run support.

Prints gaps between messages, their lengths, service times and delays, tests the conditions that
the formulas M/M/1, M/D/1 and M/G/1 need, and compares their mean delays with the measured one and
with that of a queue with the recorded gaps and lengths. A picture shows histograms of gaps and
lengths, successive gaps, and the delays.

TRACE is a file that `parcast run` or run_pipeline writes with trace, possibly packed (.gz). "-" is
standard input.

\b
Exit status: 0  answered: a formula is supported
             1  answered, and the answer is no: none is supported
             2  wrong use, or an output that cannot be written
             3  TRACE cannot be read, or something in it is wrong
             4  nothing can be decided: fewer than 30 messages

\b
Examples:
  parcast explain traffic trace.jsonl -o traffic.svg
  parcast explain traffic trace.jsonl.gz --capacity "1.28 Gbit/s"
"""
STATUS: Final = {"none": ANSWER_IS_NO, "undecided": NO_FORECAST}


def time(text: str, option: str) -> float:
    """Read a latency of at least 0. [s]."""
    value = quantity(text, "time", name=option)
    if value < 0:
        raise click.UsageError(
            f"{option} must be at least 0, got {text!r:.60}. Write 0s for none."
        )
    return value


@cli_command(
    name="traffic",
    help=HELP,
    short_help="Check which delay formula the messages of a run support.",
)
@click.argument("trace", type=A_FILE)
@option(
    "--capacity",
    amount("RATE", "rate", '"1.28 Gbit/s"'),
    "Capacity of the channel. By default estimated from the fastest messages.",
)
@option(
    "--latency",
    Read("TIME", time),
    "Time of a message without length. By default that of the fastest messages.",
)
@seed_option
@option(
    "--messages",
    A_FILE,
    "Write gap, length, service time and delay of each message to a CSV file.",
)
@answer_options(FIGURES)
def command(
    ctx: click.Context,  # noqa: ARG001 - the first argument of every command
    /,
    *,
    trace: str,
    messages: str | None,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    outputs.check([trace])
    if messages is not None:
        _check_place(messages, trace)
    check = _checked(trace, options)
    if messages is not None:
        from parcast.files.document import csv_pieces, write_document

        write_document(messages, csv_pieces(check.message_rows()))
        tell_written(messages)
    outputs.give(check)
    return STATUS.get(check.formula, ANSWERED)


def _check_place(path: str, source: str) -> None:
    from parcast.files.document import check_place

    if format_of(path) != "csv":
        raise click.ClickException(f"--messages must be a path that ends in .csv, got {path!r}.")
    try:
        check_place(path)
    except ParameterError as error:
        raise click.ClickException(f"--messages {error}") from error
    if os.path.exists(source) and os.path.exists(path) and os.path.samefile(source, path):
        raise click.ClickException(
            f"--messages must be another file than the one that is read, got {path}."
        )


def _checked(path: str, options: dict[str, Any]) -> "TrafficCheck":
    from parcast.pipeline.traces.traffic.check import check_traffic

    with spelled_with(own_options()):
        check = check_traffic(path, **options)
    return with_inputs(check, trace={"file": path}, options=dict(options))
