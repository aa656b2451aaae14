"""`parcast predict`: run times from descriptions of a program and a machine.

The files and the configurations that are asked for are read here for `parcast simulate` as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, cli_command
from parcast.cli.described import DescribedSubject, read_subject, require_known, set_option
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, spelled_with
from parcast.cli.kinds import MACHINE, PROGRAM, in_places
from parcast.cli.options import (
    DISKS,
    SIZES,
    CountList,
    SizeList,
    all_option,
    answer_options,
    as_written,
    flag,
    law_error_option,
    option,
    processors,
    repeated_option,
    together,
    variations,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program
    from parcast.prediction.result import Prediction


HELP = """Predict run times from descriptions of a program and a machine.

Prints time, speedup and efficiency at each processor count of -p, where the time is spent, and
what limits the program. Each time has a 90% interval: it allows for how wrong the law has been,
and for the uncertainty of parameters that a description gives ("27 MB/s +- 5%").

PROGRAM and MACHINE are TOML files that describe the program and the machine, in any order. "-" is
standard input, for one of them.

LIST is a list of counts: 64,128 or 1..16 or 1..1024x2 (doubling) or 10..100+10 (steps of ten).
SIZES is a list of problem sizes: 1e6 or 1000..8000x2. RANGE is a list with a unit at its end, by
default in doublings: "10..1000 MB/s". VALUE is an amount as the files have them: "20 us +- 5%".

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  PROGRAM or MACHINE cannot be read, or something in it is wrong
             4  no prediction is possible: a rate is missing, a formula has no
                value at one of the counts, or there are too many points

\b
Examples:
  parcast predict program.toml sp2.toml -p 1..4096x2 -d 1,2,4,8
  parcast predict program.toml sp2.toml -p 64 --vary network.latency=1..100us
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Configurations:
    """What was asked for on the command line, of `predict` and `simulate`."""

    program: str  # files
    machine: str
    p: CountList
    d: CountList | None
    n: SizeList | None
    vary: dict[str, str]

    @classmethod
    def of(cls, ctx: click.Context, files: Sequence[str], **options: Any) -> "Configurations":
        """Take the files in any order."""
        [program], [machine] = in_places(ctx, files, (PROGRAM, MACHINE))
        return cls(program=program, machine=machine, **options)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadDescriptions:
    """What was read, and what it comes from."""

    program: "Program"
    machine: "Machine"
    grid: dict[str, Any]  # arguments p, d, n and vary of a verb
    inputs: dict[str, Any]  # `program`, `machine` and `options`


configurations: Final = together(  # arguments and options of `Configurations`
    click.argument("files", nargs=-1, required=True, metavar="PROGRAM MACHINE", type=A_FILE),
    processors("Processor counts.", required=True),
    option("-d --disks d", DISKS, "Counts of disks or I/O servers. By default those of MACHINE."),
    option("-n --size n", SIZES, "Problem sizes, if formulas of PROGRAM use n."),
    repeated_option(
        "--vary", "NAME=RANGE", "Other values of a parameter of either file.", variations
    ),
    set_option,
)


@cli_command(
    name="predict",
    help=HELP,
)
@configurations
@flag("--interval/--no-interval", "Give 90% intervals, as by default, or none.", default=True)
@law_error_option
@answer_options()
@option(
    "--picture",
    OneOf(["surface", "contours", "map", "lines"]),
    "Kind of figure that -o draws. By default the one that suits the axes.",
)
@option(
    "--quantity",
    OneOf(["time", "speedup", "efficiency", "power", "cost"]),
    "What contours, a map or a surface show: power is efficiency over time.",
)
@all_option
@spelled_with(OPTIONS | AXES)
def command(
    ctx: click.Context,
    /,
    *,
    outputs: Outputs,
    interval: bool,
    law_error: bool,
    picture: str | None,
    quantity: str | None,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = Configurations.of(ctx, **options)
    if (picture or quantity) and not outputs.is_drawn:
        asked, figure = "picture" if picture else "quantity", picture or "contours"
        raise click.UsageError(f"--{asked} requires a figure to draw. Add -o {figure}.svg.", ctx)
    outputs.check([question.program, question.machine])
    prediction = _predicted(question, interval=interval, law_error=law_error)
    if picture or quantity:
        from parcast.prediction.picture import choose_picture

        choose_picture(prediction, picture, quantity)  # refused before anything is printed
    outputs.give(
        prediction,
        picture={"picture": picture, "quantity": quantity},
        show_all=show_all,
    )
    if interval and prediction.interval is None:
        tell(
            "there is no interval, as no parameter has +- and --no-law-error leaves out "
            'the error of the law. Write for example bandwidth = "27 MB/s +- 5%".'
        )
    return ANSWERED


def _predicted(question: Configurations, *, interval: bool, law_error: bool) -> "Prediction":
    """Read the files and compute the answer."""
    from parcast.prediction.predict import predict

    read = read_configurations(question, interval=interval, law_error=law_error)
    with spelled_with(OPTIONS | AXES, NoAnswer):
        prediction = predict(
            read.program, read.machine, **read.grid, interval=interval, law_error=law_error
        )
    return with_inputs(prediction, **read.inputs)


def read_configurations(question: Configurations, **options: Any) -> ReadDescriptions:
    """Read both files, and the values of what is varied, whose units they know."""
    read = read_subject(question.program, [question.machine])
    return ReadDescriptions(
        program=read.program,
        machine=read.machine,
        grid={
            "p": question.p.values,
            "d": question.d.values if question.d else None,
            "n": question.n.values if question.n else None,
            "vary": _varied(question.vary, read),
        },
        inputs={
            **read.inputs,
            "options": as_written(question, "program", "machine") | options,
        },
    )


def _varied(requested: dict[str, str], read: DescribedSubject) -> dict[str, list[float]]:
    """Give the values of each parameter that is varied, in SI."""
    from parcast.cli.ranges import parse_range

    known = read.machine.parameters() | read.program.parameters()
    varied = {}
    for name, text in requested.items():
        require_known(name, [read.program], read.machines, "--vary")
        try:
            varied[name] = parse_range(text, known[name].dimension, name=f"--vary {name}")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    return varied
