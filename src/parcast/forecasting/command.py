"""`parcast forecast`: run times at other processor counts, from a table of timings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import ANSWERED, OPTIONS, spelled_with
from parcast.cli.options import (
    COLUMNS,
    COUNTS,
    SIZES,
    Read,
    all_option,
    amount,
    answer_options,
    beyond_option,
    donors_option,
    efficiency,
    flag,
    option,
    processors,
    repeated_option,
    scaling_option,
    select_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import table_options
from parcast.cli.screen import tell
from parcast.forecasting.asked import (
    ForecastAsked,
    along_axis,
    axis_values,
    check_axes_of_file,
    check_together,
)
from parcast.forecasting.memory.command import answer_memory, check_memory

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.forecasting.knee import Knee
    from parcast.forecasting.next_runs.result import PlannedRun
    from parcast.forecasting.result import Forecast
    from parcast.show.sheet import Sheet
    from parcast.timings.measurements import Measurements


MOST_KNEES = 12  # counts that a forecast is made for where only the knee is asked for

HELP = """Forecast run times, speedup and efficiency from measured timings.

Prints the time at each processor count of -p with its 90% interval, what limits the program, and
how well the forecast did on a test. Without -p, --hold-out and --knee, it forecasts the next two
doublings of the largest measured count.

FILE is a table with the columns p (processor count) and time_s (or time_ms, ...), and optionally
machine, callpath, n (problem size) or other parameters; other titles, separators, rates and files
of other tools are recognised. Of several files, one a count, the counts may stand in the names.
"-" is standard input.

LIST is a list of processor counts: 512,1024 or 1..16 or 1..1024x2 (doubling) or 10..100+10 (steps
of ten). SIZES is a list of problem sizes: 1e6 or 1000,2000 or 1000..8000x2.

\b
Exit status: 0  answered
             1  answered: no count of -p fits into --node-memory
             2  wrong use, or an output that cannot be written
             3  FILE cannot be read, or something in it is wrong
             4  no forecast is possible from these timings

\b
Examples:
  parcast forecast timings.csv -p 512,1024 -o forecast.svg
  parcast forecast runs/*.json --donors elsewhere.csv -p 512
  parcast forecast times.csv --memory --node-memory 256GB --ranks-per-node 128
"""


@cli_command(name="forecast", help=HELP)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=A_FILE)
@processors("Processor counts to forecast; node counts if p counts nodes in FILE.")
@option(
    "-n --size n", SIZES, "Problem sizes to forecast, based on all runs: the same as --at n=SIZES."
)
@option("--hold-out", COUNTS, "Measured counts to leave out, and to compare the forecast with.")
@option("--by", COLUMNS, "Columns that separate series: callpath,machine.")
@select_option
@table_options
@donors_option
@repeated_option(
    "--machine",
    "PATH",
    "Description of a machine of the runs: similar donors get a higher weight.",
)
@option("--target", "MACHINE", "Forecast this machine of FILE, with its other machines as donors.")
@scaling_option
@option(
    "--knee",
    Read("[EFFICIENCY]", efficiency),
    "Find the largest count at which efficiency is at least this (default 50%) and time "
    "still falls.",
    is_flag=False,
    flag_value="50%",
)
@option(
    "--top",
    Whole(1),
    "Show only the N call paths with the most exclusive time at the largest count.",
    metavar="N",
)
@repeated_option(
    "--at",
    "AXIS=VALUES",
    "Values of other parameters to forecast, based on all runs: n=1000,2000,theta=0.5.",
    axis_values,
)
@option(
    "--along",
    "AXIS",
    "Forecast along this column of a table without p, by default its next two doublings.",
)
@option(
    "--plan-runs",
    Whole(1, 100),
    "Suggest N further runs that narrow the interval most for their cost.",
    metavar="N",
)
@option(
    "--upto",
    Whole(1),
    "Largest processor count of a suggested run. By default below the largest count of -p and, "
    "without donors, at most 4 times the largest measured one.",
    metavar="P",
)
@beyond_option("a knee, or a suggested run,")
@flag(
    "--memory",
    "Forecast memory of a rank and of all ranks, and not times: columns memory_B and "
    "memory_total_B.",
)
@option(
    "--node-memory",
    amount("SIZE", "size", "256GB"),
    "With --memory: what programs can use of a node, 256GB. Finds the fewest nodes that fit.",
)
@option("--ranks-per-node", Whole(1), "With --node-memory: ranks on each node.", metavar="COUNT")
@answer_options()
@option(
    "--quantity",
    OneOf(["time", "rate", "speedup", "efficiency"]),
    "What a picture shows. By default the time, or the rate where rates were measured.",
)
@flag(
    "--overlay/--panels",
    "Draw the series in one panel, or one each? By default up to 4 share one.",
    default=None,
)
@all_option
def command(
    ctx: click.Context,
    /,
    *,
    outputs: Outputs,
    quantity: str | None,
    overlay: bool | None,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = ForecastAsked(**options)
    check_together(ctx, question)
    style = {} if quantity is None else {"quantity": quantity}
    of_times = {"--quantity": quantity, "--overlay": overlay is not None}
    check_memory(
        ctx, is_asked=question.memory, others=question.of_times | of_times, node=question.node
    )
    if (quantity or overlay is not None) and not outputs.is_drawn:
        raise click.UsageError(
            "--quantity, --overlay and --panels require a picture. Add -o forecast.svg.", ctx
        )
    sources = [*question.files, *question.donors, *question.machine]
    outputs.check(sources)
    if question.memory:
        return _memory(question, outputs)
    forecast, knees, planned = _forecast(question)
    document = forecast.to_document()
    if planned is not None:
        document["plan_runs"] = [run.to_document() for run in planned]
    if question.knee is not None:
        document["knee"] = [knee.to_document() for knee in knees]

    outputs.give(
        forecast,
        rows=lambda: rows_with_plan(forecast.rows(), planned),
        document=lambda: document,
        sheets=lambda show_all: [
            forecast.to_sheet(knees=knees, show_all=show_all),
            *sheets_of_plan(planned, question, forecast),
        ],
        picture={"knees": knees, "planned": planned or (), "overlay": overlay, **style},
        show_all=show_all,
    )
    return ANSWERED


def _memory(question: ForecastAsked, outputs: Outputs) -> int:
    """Answer about memory."""
    from parcast.cli.reading import read_files

    runs, inputs = read_files(question.files, question.select, question.table)
    check_axes_of_file(runs, question)
    p = question.p.values if question.p else []
    hold_out = question.hold_out.values if question.hold_out else None
    return answer_memory(
        runs,
        [*(count for count in hold_out or () if count not in p), *p],
        outputs,
        {**inputs, "options": question.options()},
        hold_out=hold_out,
        by=question.by,
        node_memory=question.node_memory,
        ranks_per_node=question.ranks_per_node,
        **question.axes,
    )


def _forecast(
    question: ForecastAsked,
) -> tuple["Forecast", list["Knee"], list["PlannedRun"] | None]:
    """Read the file and compute the answer."""
    from parcast.cli.screen import Progress
    from parcast.forecasting.donors.gather import read_with_donors
    from parcast.forecasting.forecast import forecast
    from parcast.forecasting.series.question import next_counts

    targets = [] if question.target is None else [question.target]
    runs, donors, inputs, sources = read_with_donors(
        question.files,
        select=question.select,
        table=question.read_as,
        donors=question.donors,
        targets=targets,
    )
    if question.along is not None:
        question = along_axis(question, runs)
    check_axes_of_file(runs, question)
    if question.donors or targets:
        inputs["donors"] = sources
    machines = _machines(question, inputs)
    knees: list[Knee] = []
    if question.knee is not None:
        knees = _knees(question, runs, donors, machines)
    p = question.p.values if question.p else []
    hold_out = question.hold_out.values if question.hold_out else None
    p = [*(count for count in hold_out or () if count not in p), *p]
    is_given = bool(p or knees)
    if not p:
        p = _spread_out(sorted({knee.p for knee in knees})) or next_counts(runs)
    with Progress("forecasting") as progress:
        result = forecast(
            runs,
            p,
            hold_out=hold_out,
            donors=donors,
            machines=machines,
            by=question.by,
            scaling=question.scaling,
            progress=progress,
            **question.axes,
        )
    if not is_given and question.along is None:
        tell(
            f"no -p given: p = {' and '.join(map(str, p))}, the next two doublings of "
            "the largest measured count."
        )
    if question.top is not None:
        from parcast.forecasting.forecast import largest_regions

        result = largest_regions(result, question.top)
    planned = plan_of_question(runs, question, p, donors, machines)
    noted = with_inputs(result, **inputs, options=question.options())
    return noted, knees, planned


def _machines(question: ForecastAsked, inputs: dict[str, Any]) -> list["Machine"]:
    """Read the descriptions of machines, and note their files in the inputs."""
    if not question.machine:
        return []
    from parcast.cli.reading import read_description
    from parcast.descriptions.toml_files import read_machine

    described = [
        read_description(file, read_machine, argument="--machine") for file in question.machine
    ]
    inputs["machines"] = [source for _, source in described]
    return [machine for machine, _ in described]


@spelled_with(OPTIONS | {"upto": "-p"})
def _knees(
    question: ForecastAsked,
    runs: "Measurements",
    donors: "Measurements | None",
    machines: Sequence["Machine"],
) -> list["Knee"]:
    """Find up to where more processors are worth it, from the counts that are not held out."""
    from parcast.forecasting.knee import REACH_OF_KNEE, knee

    if question.hold_out is not None:
        kept = sorted({*runs.p.tolist()} - set(question.hold_out.values))
        runs = runs.select(p=kept) if kept else runs
    first, last = int(runs.p.min()), int(runs.p.max())
    held_out = question.hold_out.values if question.hold_out else []
    upto = max(question.p.values if question.p else [REACH_OF_KNEE * last, *held_out])
    if upto <= first:
        raise click.UsageError(
            f"--knee must have a count of -p above the smallest measured ({first}) to look up to, "
            f"got {upto}. Ask for a larger count as well."
        )
    return knee(
        runs,
        upto=upto,
        min_efficiency=question.knee or 0.5,
        donors=donors,
        machines=machines,
        by=question.by,
        scaling=question.scaling,
        beyond=question.beyond,
    )


def _spread_out(counts: Sequence[int]) -> list[int]:
    """Keep a dozen counts of many, the first and the last among them."""
    if len(counts) <= MOST_KNEES:
        return list(counts)
    step = (len(counts) - 1) / (MOST_KNEES - 1)
    return [counts[round(i * step)] for i in range(MOST_KNEES)]


def plan_of_question(
    runs: "Measurements",
    question: ForecastAsked,
    p: Sequence[int],
    donors: "Measurements | None",
    machines: "Sequence[Machine]",
) -> list["PlannedRun"] | None:
    """Plan the next runs for -p, by default the counts `p` forecast, from what is not held out."""
    if question.plan_runs is None:
        return None
    from parcast.forecasting.next_runs.plan_runs import plan_runs

    counts = question.p.values if question.p else p
    if question.hold_out is not None:
        kept = sorted({*runs.p.tolist()} - set(question.hold_out.values))
        runs = runs.select(p=kept)
    options: dict[str, Any] = {
        "runs": question.plan_runs,
        "upto": question.upto,
        "beyond": question.beyond,
    }
    options |= {"by": question.by, "donors": donors, "machines": machines, **question.axes}
    return plan_runs(runs, counts, **options)


def sheets_of_plan(
    planned: "Sequence[PlannedRun] | None", question: ForecastAsked, forecast: "Forecast"
) -> Iterator["Sheet"]:
    """Give the sheet of planned runs below the answer, where they were asked for."""
    if planned is None:
        return
    from parcast.forecasting.next_runs.sheet import sheet_of_plan
    from parcast.forecasting.series.verdict import FURTHEST_RUN

    largest = max(question.p.values) if question.p else int(max(forecast.p))
    where = f"up to p = {question.upto}"
    if question.upto is None:
        where = f"below p = {largest} (--upto {largest} includes it)"
        known = {int(FURTHEST_RUN * note.measured[1]) for note in forecast.notes}
        if min(known) < largest and not (question.donors or question.target):
            most = f"p = {max(known)}" if len(known) == 1 else "4 times the largest measured p"
            where = f"up to {most} (--upto {largest} allows larger ones)"
    if not question.beyond:
        where += " whose own time can be forecast (--beyond allows others)"
    yield sheet_of_plan(planned, question.plan_runs, where=where)


def rows_with_plan(
    rows: Iterable[Mapping[str, Any]], planned: "Sequence[PlannedRun] | None"
) -> Iterator[Mapping[str, Any]]:
    """Rows of an answer, and below them planned runs, which `planned_run` numbers by program."""
    if planned is None:
        yield from rows
        return
    from parcast.forecasting.next_runs.sheet import numbers_of

    runs = [
        {"planned_run": number, **_flat(run.to_document())}
        for number, run in zip(numbers_of(planned), planned, strict=True)
    ]
    header: dict[str, Any] = {}
    for row in rows:
        header = header or dict.fromkeys((*row, "planned_run", *(x for run in runs for x in run)))
        yield header | dict(row)
    yield from (header | run for run in runs)


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """Write what is asked for, a mapping in a document, as columns: `target_p`, `target_n`."""
    flat: dict[str, Any] = {}
    for name, value in document.items():
        is_target = isinstance(value, Mapping)
        flat |= {f"{name}_{axis}": x for axis, x in value.items()} if is_target else {name: value}
    return flat
