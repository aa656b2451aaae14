"""`parcast explain`: why a program takes its time and what would help; pipelines and traffic too.

The kinds of the files tell what is explained.
"""

from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, spelled_with
from parcast.cli.kinds import MACHINE, PROGRAM, in_places
from parcast.cli.options import (
    SIZES,
    CountList,
    Read,
    SizeList,
    all_option,
    answer_options,
    disks,
    law_error_option,
    option,
    plain,
    processors,
    seed_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.parts import with_parts
from parcast.cli.reading import read_description

if TYPE_CHECKING:
    from parcast.deciding.explain.descriptions.result import DescriptionsExplained


EXPLAIN: Final = {
    "pipeline": "parcast.pipeline.explaining.command:command",
    "traffic": "parcast.pipeline.traces.traffic.command:command",
}

HELP: Final = """Explain why a program takes its time, and what would shorten it.

Prints what each thing twice as good would save, alone and in pairs; the elasticity of the time by
every amount of PROGRAM and MACHINE; how much of the time each resource takes, and what limits
from which processor count on. Each number has its 90 % interval.

PROGRAM and MACHINE are TOML files, in any order; "-" is standard input, for one of them. LIST is
a list of counts: 64,128 or 1..1024x2 (doubling). Upgrades are of the largest count.

\b
Exit status: 0  answered
             1  answered, and the answer is no
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer is possible: a rate is missing, or a formula has no
                value at one of the counts

\b
Examples:
  parcast explain program.toml machine.toml -p 64
  parcast explain program.toml machine.toml -p 16,64,256 -o upgrades.svg
  parcast explain pipeline run.jsonl -o timeline.png
"""


@cli_command(
    name="explain", help=HELP, short_help="Explain why a program takes its time, and what helps."
)
@click.argument("files", nargs=-1, required=True, metavar="PROGRAM MACHINE", type=A_FILE)
@processors("Processor counts.", required=True)
@option("-d --disks d", Read("COUNT", disks), "Number of disks or I/O servers.")
@option("-n --size n", SIZES, "Problem size, if formulas of PROGRAM use n.", metavar="SIZE")
@law_error_option
@seed_option
@answer_options()
@all_option
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    outputs: Outputs,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    [program], [machine] = in_places(ctx, files, (PROGRAM, MACHINE))
    outputs.check(files)
    outputs.give(_of_descriptions(program, machine, **options), show_all=show_all)
    return ANSWERED


def _of_descriptions(
    program_file: str,
    machine_file: str,
    *,
    p: CountList,
    d: CountList | None,
    n: SizeList | None,
    law_error: bool,
    seed: int,
) -> "DescriptionsExplained":
    """Read the files and compute the answer."""
    from parcast.deciding.explain.descriptions.explain import explain_descriptions
    from parcast.descriptions.toml_files import read_machine, read_program

    program, from_program = read_description(program_file, read_program, argument="PROGRAM")
    machine, from_machine = read_description(machine_file, read_machine, argument="MACHINE")
    with spelled_with(OPTIONS | AXES, NoAnswer):
        result = explain_descriptions(
            program,
            machine,
            p=p.values,
            d=d.values if d else None,
            n=n.values if n else None,
            law_error=law_error,
            seed=seed,
        )
    options = {"p": plain(p), "d": plain(d), "n": plain(n), "law_error": law_error, "seed": seed}
    return with_inputs(result, program=from_program, machine=from_machine, options=options)


explain: Final = with_parts(command, EXPLAIN)
