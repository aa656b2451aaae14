"""`parcast plan pipeline`: ranks, pipelines, fan-in and batch of the least balanced time."""

from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import own_options, spelled_with
from parcast.cli.kinds import MACHINE, PROGRAM, ArgumentPlace, in_places
from parcast.cli.options import (
    EFFICIENCY,
    SIZES,
    Read,
    all_option,
    answer_options,
    option,
    seed_option,
    within_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import read_description
from parcast.deciding.plans import decide
from parcast.errors import Argument

if TYPE_CHECKING:
    from parcast.pipeline.planning.result import PipelinePlan

HELP: Final = """Choose ranks, pipelines, fan-in and batch of a parallel pipeline.

Prints how many ranks to ask for, the options of `parcast run`, why, and the best plan for other
numbers of ranks. In a plan no stage (merges, messages, fetching) takes longer than the task. Of
these plans the one of the least time is chosen, with the fewest ranks within 5% of it.

The costs are given by options, by a PROGRAM file with law = "pipeline", or by --trace of a small
run; options replace what a file says. TIME is such as 5ms or "5ms +- 10%". Of a MACHINE file the
network's bandwidth and latency are used.

\b
Exit status: 0  answered
             1  answered, and the answer is no: no plan is balanced within the limits
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer is possible: the trace has no task

\b
Examples:
  parcast plan pipeline --items 100000 --task 5ms --merge 0.2ms --ranks 16
  parcast plan pipeline --trace run.jsonl --items 1000000 --within 1h
  parcast plan pipeline program.toml machine.toml -n 4096 -o plan.svg
"""

FILES: Final = (
    ArgumentPlace(PROGRAM.argument, PROGRAM.wanted, PROGRAM.kinds, least=0),
    ArgumentPlace(MACHINE.argument, MACHINE.wanted, MACHINE.kinds, least=0),
)
COSTS: Final = (  # options whose text the planner reads
    ("--task", "TIME", "Time of the task of an item."),
    ("--merge", "TIME", "Time of a merge of the results of two items.  [default: 0s]"),
    ("--message", "SIZE", "Size of the result of an item: 20kB."),
    ("--fetch", "TIME", "Time in which rank 0 takes an item from the input."),
    ("--overhead", "TIME", "Processor time of a message."),
    ("--startup", "TIME", "Time before the first item."),
    ("--bandwidth", "RATE", "Of the channel of messages: 1GB/s.  [default: unlimited]"),
    ("--latency", "TIME", "Of a message."),
)


def exponent(text: str, option: str) -> float:
    """Read a growth."""
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(
            f"{option} must be a number, got {text!r:.60}. Write 0 for sums, 1 for concatenated "
            "results."
        ) from None


def cost_options(function: Any) -> Any:
    """Options of costs."""
    for name, metavar, text in reversed(COSTS):
        function = click.option(name, metavar=metavar, help=text)(function)
    return function


@cli_command(name="pipeline", help=HELP, short_help="Ranks, pipelines and batch of a pipeline.")
@click.argument("files", nargs=-1, metavar="[PROGRAM] [MACHINE]", type=A_FILE)
@option("--trace", A_FILE, "Costs from this traced run.")
@option(
    "--clock",
    OneOf(["wall", "processor"]),
    "Times of the trace. By default by its ranks and cores.",
)
@option("--items", Whole(1), "Items to reduce.")
@cost_options
@option(
    "--growth",
    Read("EXPONENT", exponent),
    "Growth of messages and merges with the items in a result: 0 sums, 1 concatenation.",
)
@option("-n --size n", SIZES, "Problem size, where formulas of PROGRAM use n.", metavar="SIZE")
@option(
    "--cores",
    Whole(1),
    "Cores that all ranks share; by default one each, and with --trace those of its run.",
)
@option(
    "--channel",
    OneOf(["own", "shared"]),
    "Of messages: shared by all pipelines (the default), or own of each, as on a node.",
)
@option(
    "--schedule",
    OneOf(["adaptive", "source"]),
    "Who merges when: adaptive, or source, the published one.  [default: adaptive]",
)
@option(
    "--ranks",
    Whole(1, 100_000),
    "Most ranks.  [default: 1024, and with --trace the cores of its run]",
)
@option("--per-node", Whole(1), "Ranks of a node: plan whole nodes.")
@within_option
@option("--efficiency", EFFICIENCY, "Least efficiency allowed: 50%.")
@seed_option
@all_option
@answer_options()
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    trace: str | None,
    outputs: Outputs,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    for file in files:
        if file.lower().endswith((".jsonl", ".jsonl.gz")):
            trace_of = Argument("trace", file)
            raise click.UsageError(f"{file} must be given as a trace: {trace_of}", ctx)
    programs, machines = in_places(ctx, files, FILES) if files else ([], [])
    if programs and trace is not None:
        raise click.UsageError(
            f"--trace cannot be combined with {programs[0]}, a program. Leave one out.", ctx
        )
    size = options.pop("n")
    if size is not None and len(size.values) > 1:
        raise click.UsageError(f"-n must be one value here, got {size.text}.", ctx)
    outputs.check([*files, *([trace] if trace is not None else [])])
    n = None if size is None else size.values[0]
    result = _planned(programs, machines, trace, n, options)
    none, is_found = "no plan is balanced within the limits", result.best is not None
    return decide(outputs, result, is_found=is_found, none=none, show_all=show_all)


def _planned(
    programs: list[str],
    machines: list[str],
    trace: str | None,
    n: float | None,
    options: dict[str, Any],
) -> "PipelinePlan":
    from parcast.descriptions.toml_files import read_machine, read_program
    from parcast.pipeline.planning.plan import plan_pipeline
    from parcast.pipeline.traces.trace import read_trace

    inputs: dict[str, Any] = {}
    source: Any = None
    machine = None
    if programs:
        source, inputs["program"] = read_description(programs[0], read_program, argument="PROGRAM")
    if trace is not None:
        source, inputs["trace"] = read_trace(trace), {"file": trace}
    if machines:
        machine, inputs["machine"] = read_description(
            machines[0], read_machine, argument="MACHINE"
        )
    with spelled_with(own_options(source="PROGRAM", machine="MACHINE"), click.UsageError):
        result = plan_pipeline(source, machine, n=n, **options)
    return with_inputs(result, **inputs, options={"n": n} | options)
