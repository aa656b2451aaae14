"""`parcast simulate`: simulated times of a described program, as a check of its law."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import click

from parcast.cli.answering import Whole, cli_command
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, spelled_with
from parcast.cli.options import (
    TIME,
    all_option,
    amount,
    answer_options,
    once_each,
    option,
    pairs,
    repeated_option,
    seed_option,
)
from parcast.cli.outputs import ANSWERS, Outputs, with_inputs
from parcast.files.bounds import LARGEST_LIST
from parcast.files.decoding import numbered_lines, opened
from parcast.files.faults import Faults
from parcast.prediction.command import Configurations, configurations, read_configurations
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.queueing.simulation.cycle import Law
    from parcast.simulation.result import Simulation

WORDS = ("none", "exponential")
HELP = """Simulate a described program event by event, as a check of its prediction.

Prints the simulated mean time at each processor count with its 90% interval, next to the time
that `parcast predict` gives. Each burst, message and I/O request is drawn at random as described,
and queues form at the network and the disks. For a pipeline, the schedule of
`parcast.run_pipeline` is executed. This takes seconds to minutes.

PROGRAM and MACHINE are TOML files that describe the program and the machine, in any order. "-" is
standard input, for one of them. LIST, SIZES and RANGE are as in `parcast predict`.

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  PROGRAM or MACHINE cannot be read, or something in it is wrong
             4  it cannot be simulated: a rate is missing, a law is neither
                "spmd" nor "pipeline", or there are too many points

\b
Examples:
  parcast simulate program.toml sp2.toml -p 1..256x4 -d 3
  parcast simulate program.toml sp2.toml -p 64 --precision 0.2% --jobs 4
  parcast simulate reduction.toml sp2.toml -p 2..64x2 --times task=0.5
"""


def distributions(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read parts of a program and how their times vary."""
    example = "task=exponential, task=0.5 or task=times.txt"
    given = pairs(texts, option, "a part and its distribution", such_as=example)
    return once_each(given, option, "name a part once")


def law_of(text: str) -> "Law":
    """Give a law by its word, a coefficient of variation, or a file of measured times."""
    if text in WORDS:
        return text
    with suppress(ValueError):
        return float(text)
    import numpy as np

    with opened(text, largest=LARGEST_LIST) as (name, stream):
        faults = Faults(name)
        times = np.fromiter(_times(stream, faults), dtype=np.float64)
        if faults:
            faults.raise_all()
        if not times.any():
            faults.refuse("must have times above 0. Write one on each line.")
        return times


def _times(stream: TextIO | BinaryIO, faults: Faults) -> Iterator[float]:
    """Give the number of each line that is neither empty nor a comment."""
    for block in numbered_lines(stream, faults, largest=LARGEST_LIST):
        for line, text in enumerate(block.lines, block.first_line):
            if not text.strip() or text.startswith("#"):
                continue
            time = -1.0
            with suppress(ValueError):
                time = float(text)
            if 0 <= time < float("inf"):
                yield time
            else:
                got = shown(repr(text))
                faults.add(
                    f"must be a time of at least 0, got {got}. Write one number on each line.",
                    line=line,
                    kind="time",
                )


@cli_command(
    name="simulate",
    help=HELP,
)
@configurations
@option(
    "--precision",
    amount("SHARE", "fraction", "1%"),
    "Half width of the interval, relative to the mean time, at which simulation stops.",
    default="1%",
)
@repeated_option(
    "--times",
    "PART=LAW",
    "Distribution of the times of a part, such as compute or task: none, exponential, a "
    "coefficient of variation, or a FILE of measured times, one on each line.",
    distributions,
)
@option("--time-limit", TIME, "Computing time after which simulation stops. By default none.")
@seed_option
@option(
    "--jobs",
    Whole(1, 1024),
    "Number of processes. The results do not depend on it.",
    default=1,
    metavar="N",
)
@answer_options(ANSWERS)
@all_option
def command(
    ctx: click.Context,
    /,
    *,
    precision: float,
    times: dict[str, str],
    time_limit: float | None,
    seed: int,
    jobs: int,
    outputs: Outputs,
    show_all: bool,
    **configured: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = Configurations.of(ctx, **configured)
    outputs.check([question.program, question.machine, *times.values()])
    options = {"precision": precision, "time_limit": time_limit, "seed": seed, "jobs": jobs}
    outputs.give(_simulated(question, times, **options), show_all=show_all)
    return ANSWERED


def _simulated(question: Configurations, times: Mapping[str, str], **options: Any) -> "Simulation":
    """Read the files and simulate."""
    from parcast.cli.screen import Progress
    from parcast.simulation.simulate import simulate
    from parcast.simulation.workers import workers

    given = {"times": dict(times)} if times else {}
    read = read_configurations(question, **options, **given)
    laws = {part: law_of(text) for part, text in times.items()}
    spelt = {f"laws[{part!r}]": f"--times {part}" for part in times}
    with (
        spelled_with(OPTIONS | AXES | {"laws": "--times"} | spelt, NoAnswer),
        workers(options["jobs"]) as executor,
        Progress("simulating") as progress,
    ):
        simulation = simulate(
            read.program,
            read.machine,
            **read.grid,
            precision=options["precision"],
            most_seconds=options["time_limit"],
            seed=options["seed"],
            executor=executor,
            laws=laws,
            progress=progress,
        )
    return with_inputs(simulation, **read.inputs)
