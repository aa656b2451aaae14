"""`parcast demo`: a forecast beside times that were held out, from runs that come with parcast."""

from pathlib import Path
from typing import Final

import click

from parcast.cli.answering import cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import output_option
from parcast.cli.outputs import FIGURES, Outputs, with_inputs
from parcast.cli.screen import tell

MACHINE: Final = "mesh"
HELD_OUT: Final = (49, 64, 100, 144)
DATA: Final = "nas_bt.csv"  # beside this file in a wheel; in a clone it is an example
HELP: Final = """Show a forecast beside the actual times.

The runs are those of the NAS benchmark BT, class A, on a simulated cluster. The forecast is made
from those on 1 to 36 processors; the larger ones are shown beside it.

\b
Examples:
  parcast demo
  parcast demo -o demo.html
"""
NEXT: Final = """
With a program of your own:

  parcast measure -p 1,2,4 -- mpiexec -n {p} ./app    run it, and forecast its times
  parcast forecast times.csv -p 512,1024              forecast a table that you have
  parcast report times.csv -o report.html             write a page to hand on"""


@cli_command(name="demo", help=HELP)
@output_option("Write PATH too: a page with .html, a picture with .svg, or other formats.")
def command(
    ctx: click.Context,  # noqa: ARG001 - of every command
    /,
    *,
    outputs: tuple[str, ...],
) -> int:
    """Show it and return the exit status."""
    places = Outputs(outputs, formats=FIGURES)
    places.check()
    from parcast.forecasting.forecast import forecast
    from parcast.timings.tables.files import read_measurements

    data = place_of_data()
    runs = read_measurements(data).select(machine=MACHINE)
    tell("NAS benchmark BT, class A, forecast from its runs on 1 to 36 processors")
    told = forecast(runs, hold_out=[*HELD_OUT])
    places.give(with_inputs(told, file=str(data)))
    if "-" not in outputs:
        click.echo(NEXT)
    return ANSWERED


def place_of_data() -> Path:
    """Path of the runs: in the package that is installed, or in the clone it is used from."""
    beside = Path(__file__).with_name(DATA)
    return beside if beside.exists() else Path(__file__).parents[3] / "examples/nas_bt/times.csv"
