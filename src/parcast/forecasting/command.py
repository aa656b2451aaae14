"""`parcast forecast`: run times at other processor counts, from a table of timings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import ANSWERED, OPTIONS, spelled_with
from parcast.cli.options import (
    COLUMNS,
    COUNTS,
    SIZES,
    CountList,
    Read,
    SizeList,
    all_option,
    amount,
    answer_options,
    beyond_option,
    donors_option,
    efficiency,
    flag,
    option,
    plain,
    processors,
    repeated_option,
    scaling_option,
    select_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import table_options
from parcast.cli.screen import show, show_sheet, tell
from parcast.errors import ParameterError
from parcast.forecasting.memory.command import answer_memory, check_memory

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.forecasting.knee import Knee
    from parcast.forecasting.next_runs.result import PlannedRun
    from parcast.forecasting.result import Forecast
    from parcast.timings.measurements import Measurements
    from parcast.timings.tables.options import TableOptions


MOST_KNEES = 12  # counts that a forecast is made for where only the knee is asked for

HELP = """Forecast run times, speedup and efficiency from measured timings.

Prints the time at each processor count of -p with its 90 % interval, what limits the program, and
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

EXAMPLE = "Write for example n=1000,2000,theta=0.5."
Axes = dict[str, list[float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastAsked:
    """What was asked on the command line."""

    files: tuple[str, ...]
    p: CountList | None
    hold_out: CountList | None
    by: list[str] | None
    select: list[tuple[str, str]]
    table: "TableOptions"  # how FILE is read
    donors: tuple[str, ...]  # files of runs on other machines
    machine: tuple[str, ...]  # files that describe machines of the runs
    target: str | None  # the machine of the file that is forecast from the others
    scaling: Any  # "auto", "strong" or "weak"
    top: int | None  # call paths to show
    knee: float | None  # efficiency that must hold [1]
    along: str | None  # the axis that is forecast of a table without p
    at: dict[str, list[float]]  # values of axes besides p
    n: SizeList | None  # the same of n
    plan_runs: int | None  # runs to plan
    upto: int | None  # largest count of a planned run [1]
    beyond: bool  # whether a knee or a planned run may be where there is no forecast
    memory: bool  # whether memory is forecast, and not times
    node_memory: float | None  # what a node has [B]
    ranks_per_node: int | None  # [1]

    @property
    def file(self) -> str:
        """What messages call the files."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0]}{more}"

    @property
    def axes(self) -> dict[str, list[float]]:
        """Values of all axes besides p."""
        return self.at if self.n is None else {**self.at, "n": self.n.values}

    @property
    def read_as(self) -> "TableOptions":
        """How FILE is read; of a table without p all rows are of one processor."""
        return self.table if self.along is None else replace(self.table, p=1)

    @property
    def axes_given_by(self) -> str:
        """The option that gives values of axes."""
        return "--at" if self.at else "-n"

    @property
    def node(self) -> tuple[float | None, int | None]:
        """What a node has, and its ranks."""
        return self.node_memory, self.ranks_per_node

    @property
    def of_times(self) -> dict[str, Any]:
        """Options that only a forecast of times has."""
        names = ("donors", "machine", "target", "knee", "top", "plan_runs", "upto", "beyond")
        given = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        return given | {"--scaling": self.scaling != "auto"}

    def options(self) -> dict[str, Any]:
        """Give what was asked as it stands in a document."""
        return {
            "p": plain(self.p),
            "hold_out": plain(self.hold_out),
            "by": self.by,
            "select": plain(self.select),
            **self.table.to_document(),
            "donors": list(self.donors),
            **({"machine": list(self.machine)} if self.machine else {}),
            "target": self.target,
            "scaling": self.scaling,
            "knee": self.knee,
            **({} if self.top is None else {"top": self.top}),
            **({} if self.along is None else {"along": self.along}),
            **({"at": self.axes} if self.axes else {}),
            **({} if self.plan_runs is None else {"plan_runs": self.plan_runs}),
            **({} if self.upto is None else {"upto": self.upto}),
            **({"beyond": True} if self.beyond else {}),
            **({"memory": True} if self.memory else {}),
            **({} if self.node_memory is None else {"node_memory": self.node_memory}),
            **({} if self.ranks_per_node is None else {"ranks_per_node": self.ranks_per_node}),
        }


def axis_values(texts: Sequence[str], option: str) -> Axes:
    """Read axes and their values: `n=1000,2000,theta=0.5`, and ranges such as `n=100..800x2`."""
    axes: Axes = {}
    for text in texts:
        axis = ""
        for part in map(str.strip, text.split(",")):
            name, equals, value = map(str.strip, part.rpartition("="))
            if equals and name in axes:
                raise click.UsageError(
                    f"{option} must name an axis once, got {name!r:.60} twice. "
                    "Write all its values in one list: n=1000,2000."
                )
            axis = name if equals else axis
            if not axis or not value:
                raise click.UsageError(
                    f"{option} must be axes and values, got {text!r:.60}. {EXAMPLE}"
                )
            axes.setdefault(axis, []).extend(_numbers(axis, value))
    return axes


def _numbers(axis: str, text: str) -> list[float]:
    """Read one number, which may be negative, or a range."""
    from parcast.cli.ranges import parse_sizes

    try:
        return parse_sizes(text, name=f"--at {axis}") if ".." in text else [float(text)]
    except ValueError as error:
        numbers = f"--at {axis} must be numbers, got {text!r:.60}. {EXAMPLE}"
        raise click.UsageError(str(error) if ".." in text else numbers) from None


@cli_command(name="forecast", help=HELP, short_help="Forecast run times from measured timings.")
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
    "Largest processor count of a suggested run. By default below the largest count of -p.",
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
    if (quantity or overlay is not None) and not outputs.pictures:
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

    def show_both() -> None:
        show_sheet(forecast.to_sheet(knees=knees, show_all=show_all))
        show_plan(planned, question, forecast)

    outputs.give(
        forecast,
        rows=lambda: rows_with_plan(forecast.rows(), planned),
        document=lambda: document,
        show=show_both,
        write=lambda path: _draw(
            forecast, path, knees=knees, planned=planned or (), overlay=overlay, **style
        ),
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


def _draw(forecast: "Forecast", path: str, **options: Any) -> None:
    """Draw the answer."""
    from parcast.forecasting.picture import figure_of
    from parcast.show.canvas import save_figure

    save_figure(figure_of(forecast, **options), path)


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
        question = _along(question, runs)
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


def _along(question: ForecastAsked, runs: "Measurements") -> ForecastAsked:
    """Ask for the one processor of a table without p, and where nothing is, for larger values."""
    along = question.along
    assert along is not None
    others = [name for name in runs.axes if name != "p"]
    if along not in others:
        there = f"Its columns: {', '.join(others)}." if others else "It has no other."
        raise click.UsageError(
            f"--along must be a column of numbers besides the time in {question.file}, got "
            f"{along!r:.60}. {there}"
        )
    asked = replace(question, p=CountList("1", [1]))
    if along in asked.axes:
        return asked
    largest = float(runs.axes[along].max())
    if largest <= 0:
        raise click.UsageError(
            f"--along {along} needs values, as none above 0 was measured. Add --at {along}=VALUES."
        )
    values = [2 * largest, 4 * largest]
    tell(
        f"no {along} given: {along} = {' and '.join(f'{x:.15g}' for x in values)}, the next two "
        "doublings of the largest measured."
    )
    return replace(asked, at={**asked.at, along: values})


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


def check_together(ctx: click.Context, question: ForecastAsked) -> None:
    """Refuse options that require others, or cannot be combined with them."""
    if question.machine and not (question.donors or question.target):
        raise click.UsageError(
            "--machine requires --donors or --target: it changes the weights of other machines. "
            "Leave it out.",
            ctx,
        )
    if question.along is not None:
        names = ("p", "hold_out", "plan_runs", "memory", "donors", "target", "knee", "top", "by")
        if other := next((name for name in names if getattr(question, name)), None):
            other = "-p" if other == "p" else f"--{other.replace('_', '-')}"
            raise click.UsageError(
                f"--along cannot be combined with {other}: it is for tables without p. Leave one "
                "out.",
                ctx,
            )
    if question.upto is not None and question.plan_runs is None:
        raise click.UsageError("--upto requires --plan-runs. Add --plan-runs 3.", ctx)
    if question.beyond and question.knee is None and question.plan_runs is None:
        raise click.UsageError(
            "--beyond requires --knee or --plan-runs: a forecast is shown for every p. Leave it "
            "out.",
            ctx,
        )
    if question.n is not None and "n" in question.at:
        raise click.UsageError("-n cannot be combined with --at n=... Leave one out.", ctx)
    elsewhere = {"--donors": question.donors, "--target": question.target}
    alone = {"--by": question.by, "--knee": question.knee, "--top": question.top}
    for other, value in (elsewhere | alone).items():
        if question.axes and value:
            raise click.UsageError(
                f"{question.axes_given_by} cannot be combined with {other}. Leave one out.", ctx
            )


def check_axes_of_file(runs: "Measurements", question: ForecastAsked) -> None:
    """Refuse values of what is no axis of the file, and of an axis that cannot be asked for."""
    if not question.axes:
        return
    from parcast.forecasting.forecast import forecast
    from parcast.forecasting.next_runs.plan_runs import plan_runs
    from parcast.forecasting.series.question import parameters_of
    from parcast.forecasting.surface.runs import check_axes

    if "p" in question.at:
        raise click.UsageError("--at must be axes besides p, got p. Give processors with -p.")
    if question.n is not None and "n" not in runs.axes:
        others = ", ".join(name for name in runs.columns if name != "time")
        raise click.UsageError(
            f"-n requires a column n (problem size) in {question.file}, got {others} and the "
            "time. "
            "Name it with --column n=NAME. Processor counts are given with -p."
        )
    try:
        check_axes(runs, question.at)
    except ParameterError as error:
        raise click.UsageError(f"--at {error.name} {error.fault}") from None
    for verb in (forecast, plan_runs) if question.plan_runs is not None else (forecast,):
        if taken := sorted(question.axes.keys() & {*parameters_of(verb)}):
            raise click.UsageError(
                f"--at {taken[0]} must have another name, got a word of parcast's own. "
                "Rename the column."
            )


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


def show_plan(
    planned: "Sequence[PlannedRun] | None", question: ForecastAsked, forecast: "Forecast"
) -> None:
    """Print planned runs below the answer, where they were asked for."""
    if planned is None:
        return
    from parcast.forecasting.next_runs.sheet import sheet_of_plan

    show([""])
    largest = max(question.p.values) if question.p else int(max(forecast.p))
    where = f"up to p = {question.upto}"
    if question.upto is None:
        where = f"below p = {largest} (--upto {largest} includes it)"
    if not question.beyond:
        where += " whose own time can be forecast (--beyond allows others)"
    show_sheet(sheet_of_plan(planned, question.plan_runs, where=where))


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
