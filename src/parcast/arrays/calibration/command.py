"""`parcast calibrate array-io`: measure what array I/O costs here, for `parcast plan io`."""

import os
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.arrays.geometry.choices import MOST_RANKS
from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWERED, own_options, spelled_with
from parcast.cli.options import answer_options, flag, name_option, option
from parcast.cli.outputs import ANSWERS, Outputs, with_inputs
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.arrays.calibration.result import MeasuredCosts

HELP: Final = """Measure what collective array I/O costs on this machine.

Runs requests in FOLDER, and prints the costs that they determine, each with its 90% interval. -o
costs.toml writes the file for `parcast plan io --costs`. Take as many clients and servers as the
program has, if they share cores.

\b
Exit status: 0    measured
             2    wrong use, or a folder or an output that cannot be written to
             4    no MPI, or a rank failed

\b
Examples:
  parcast calibrate array-io /scratch -np 4 --servers 2 -o costs.toml
  parcast testbed --hosts 4 --disk 10MB/s -- parcast calibrate array-io . -np 3
"""


@cli_command(name="array-io", help=HELP, short_help="Measure what array I/O costs here.")
@click.argument("folder", required=False, type=A_FILE)
@option("-np clients", Whole(1, MOST_RANKS), "Number of clients.", default=4)
@option("--servers", Whole(1, MOST_RANKS), "Number of servers, ranks of their own.", default=1)
@flag("--quick", "Fewer repetitions, wider intervals.")
@name_option
@answer_options(("toml", *ANSWERS))
def command(
    ctx: click.Context,  # noqa: ARG001 - the first argument of every command
    /,
    *,
    outputs: Outputs,
    folder: str | None,
    **options: Any,
) -> int:
    """Measure, write and return the exit status."""
    outputs.check()
    place = folder or "."
    _require_folder(place)
    measured = _measured(place, **options)
    asked = {"folder": place, **options}
    outputs.give(with_inputs(measured, options=asked))
    return ANSWERED


def _measured(folder: str, *, quick: bool, name: str | None, **options: Any) -> "MeasuredCosts":
    """Measure, with a line that says so."""
    from parcast.arrays.calibration.measure import QUICK, ROUNDS, measure_costs
    from parcast.cli.screen import Progress

    with spelled_with(own_options(folder="FOLDER"), click.UsageError), Progress("measuring"):
        return measure_costs(folder, rounds=QUICK if quick else ROUNDS, name=name or "", **options)


def _require_folder(folder: str) -> None:
    """Refuse a folder that nothing can be written to."""
    from parcast.files.document import why_not_writable

    if why := why_not_writable(folder):
        raise click.ClickException(
            f"FOLDER must be a folder that can be written to, got {shown(folder)}: {why}. "
            f"Choose another than {shown(os.path.abspath(folder))}."
        )
