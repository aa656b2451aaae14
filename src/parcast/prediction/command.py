"""`parcast predict`: descriptions of a program and a machine in, times out."""

from typing import TYPE_CHECKING, Any

import click

from parcast.cli.configurations import Configurations, configurations, read_configurations
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, in_options, spelled_with
from parcast.cli.options import debug_option, json_option, output_option
from parcast.cli.outputs import PICTURES, check_outputs, format_of, give_result

if TYPE_CHECKING:
    from parcast.prediction.result import Prediction


HELP = """Predict time, speedup and efficiency of a program from descriptions.

PROGRAM and MACHINE are TOML files that say what a program does and what it runs on; "-" is
standard input, for one of them. The answer says where the time goes and what limits the program.
Where a description says how well a parameter is known, as "27 MB/s +- 5%", each time comes with a
90 % interval.

LIST names counts: 64,128 or 1..16 or 1..1024x2 (doubling) or 10..100+10 (steps of ten), or a mix.
RANGE is as LIST with a unit at its end, and doubles unless it says how to go on: "10..1000 MB/s".

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  PROGRAM or MACHINE cannot be read, or something in it is wrong
             4  no prediction is possible: a rate is missing, a formula has no
                value at a count that was asked for, there are too many points

\b
Examples:
  parcast predict program.toml sp2.toml -p 1..4096x2 -d 1,2,4,8
  parcast predict program.toml sp2.toml -p 64 --vary network.latency=1..100us
"""


@click.command(name="predict", help=HELP, short_help="Descriptions in, times out.")
@configurations
@click.option(
    "--interval/--no-interval",
    default=None,
    help="Give intervals? By default where a parameter has +-.",
)
@json_option
@output_option()
@click.option(
    "--picture",
    type=click.Choice(["surface", "contours", "map", "lines"]),
    help="What a picture shows. By default what suits the axes.",
)
@click.option("--all", "show_all", is_flag=True, help="Show every row, however many.")
@debug_option
@click.pass_context
@spelled_with(OPTIONS | AXES)
def command(
    ctx: click.Context,
    /,
    *,
    outputs: tuple[str, ...],
    interval: bool | None,  # None: where a parameter is uncertain
    picture: str | None,
    as_json: bool,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = Configurations(**options)
    question.require_one_stdin(ctx)
    if picture and not any(format_of(output) in PICTURES for output in outputs):
        raise click.UsageError(
            f"--picture must have a picture to draw, got none. Add -o {picture}.svg.", ctx
        )
    check_outputs(outputs, sources=[question.program, question.machine], as_json=as_json)
    result = _answer(question, interval=interval)
    give_result(
        result,
        outputs,
        as_json=as_json,
        draw=lambda path: _draw(result, path, picture),
        show_all=show_all,
    )
    if interval and result.interval is None:
        click.echo(
            "parcast: there is no interval, as no parameter has +-. "
            'Write such as bandwidth = "27 MB/s +- 5%".',
            err=True,
        )
    return ANSWERED


def _answer(question: Configurations, *, interval: bool | None) -> "Prediction":
    """Read the files and compute the answer."""
    from dataclasses import replace

    from parcast.errors import ParameterError
    from parcast.prediction.predict import predict

    read = read_configurations(question, interval=interval)
    try:
        result = predict(read.program, read.machine, **read.grid, interval=interval is not False)
    except ParameterError as refusal:
        raise NoAnswer(in_options(refusal, OPTIONS | AXES)) from refusal
    return replace(result, inputs=read.inputs)


def _draw(result: "Prediction", path: str, picture: str | None) -> None:
    """Draw the answer."""
    from parcast.prediction.picture import draw_prediction

    draw_prediction(result, path, picture=picture)
