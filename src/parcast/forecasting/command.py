"""`parcast forecast`: timings in, times at other numbers of processors out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, OPTIONS, spelled_with
from parcast.cli.options import (
    Counts,
    columns,
    counts,
    debug_option,
    efficiency,
    ignore_option,
    json_option,
    output_option,
    processors,
    select_option,
)
from parcast.cli.outputs import check_outputs, give
from parcast.cli.screen import show_sheet
from parcast.forecasting.command_axes import (
    axis_values,
    check_axes_of_file,
    check_several,
    plan_of_question,
    rows_with_plan,
    show_plan,
)
from parcast.units import shown
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.forecasting.knee import Knee
    from parcast.forecasting.next_runs.result import PlannedRun
    from parcast.forecasting.result import Forecast
    from parcast.timings.measurements import Measurements


REACH_OF_KNEE = 16  # times the largest measured count: how far a knee is looked for
MOST_NAMED = 5  # series in one message
MOST_KNEES = 12  # counts that a forecast is made for where only the knee is asked for

HELP = """Forecast time, speedup and efficiency at numbers of processors not tried.

FILE is a CSV table of timings with columns p and time_s (or time_ms, ...), and perhaps machine,
callpath, n or other axes; "-" is standard input. Each time comes with its 90 % interval and with
what it rests on.

LIST names counts of processors: 512,1024 or 1..16 or 1..1024x2 (doubling) or 10..100+10 (steps
of ten), or a mix of them.

\b
Exit status: 0  answered
             1  answered, and the answer is no: --knee was asked for, and a
                count of -p lies beyond the knee of a series
             2  wrong use, or an output that cannot be written
             3  FILE cannot be read, or something in it is wrong
             4  no forecast is possible from these timings

\b
Examples:
  parcast forecast timings.csv -p 512 --hold-out 64 -o check.csv -o check.svg
  parcast forecast here.csv --donors elsewhere.csv -p 512
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What was asked on the command line."""

    file: str
    p: Counts | None
    hold_out: Counts | None
    by: list[str] | None
    select: list[tuple[str, str]]
    ignore: list[str] | None
    donors: tuple[str, ...]  # files of runs on other machines
    machine: tuple[str, ...]  # files that describe machines of the runs
    target: str | None  # the machine of the file that is forecast from the others
    scaling: Any  # "auto", "strong" or "weak"
    top: int | None  # call paths to show
    knee: float | None  # efficiency that must hold [1]
    at: dict[str, list[float]]  # values of axes besides p
    plan_runs: int | None  # runs to plan
    upto: int | None  # largest count of a planned run [1]

    def options(self) -> dict[str, Any]:
        """Give what was asked as it stands in a document."""
        return {
            "p": self.p.text if self.p else None,
            "hold_out": self.hold_out.text if self.hold_out else None,
            "by": self.by,
            "select": [f"{name}={value}" for name, value in self.select],
            "ignore": self.ignore,
            "donors": list(self.donors),
            **({"machine": list(self.machine)} if self.machine else {}),
            "target": self.target,
            "scaling": self.scaling,
            "knee": self.knee,
            **({} if self.top is None else {"top": self.top}),
            **({"at": self.at} if self.at else {}),
            **({} if self.plan_runs is None else {"plan_runs": self.plan_runs}),
            **({} if self.upto is None else {"upto": self.upto}),
        }


@click.command(name="forecast", help=HELP, short_help="Timings in, times at other counts out.")
@click.argument("file")
@processors("Counts to forecast.")
@click.option(
    "--hold-out",
    metavar="LIST",
    callback=counts,
    help="Counts of FILE to keep back and compare with.",
)
@click.option(
    "--by",
    metavar="COLUMNS",
    callback=columns,
    help="Columns that tell series apart: callpath,machine.",
)
@select_option("Rows to take: machine=T3E. Repeatable.")
@ignore_option("Columns of FILE to pass over: date,jobid.")
@click.option(
    "--donors",
    metavar="PATH",
    multiple=True,
    help="Table of runs of the same program on other machines. Repeatable.",
)
@click.option(
    "--machine",
    metavar="PATH",
    multiple=True,
    help="Description of a machine of the runs: donors like the target weigh more. Repeatable.",
)
@click.option(
    "--target",
    metavar="MACHINE",
    help="Forecast this machine of FILE from all machines in it.",
)
@click.option(
    "--scaling",
    type=click.Choice(["auto", "strong", "weak"]),
    default="auto",
    help="Was the work fixed, or did it grow? By default told from n and the times.",
)
@click.option(
    "--knee",
    callback=efficiency,
    metavar="[EFFICIENCY]",
    is_flag=False,
    flag_value="50%",
    help="Find the largest count worth it: efficiency holds (default 50%) and time falls.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the N call paths that take most time themselves at the largest count.",
)
@click.option(
    "--at",
    metavar="AXIS=VALUES",
    multiple=True,
    callback=axis_values,
    help="Values of other axes, from all runs together: n=1000,2000,theta=0.5. Repeatable.",
)
@click.option(
    "--plan-runs",
    type=click.IntRange(min=1, max=100),
    help="Find the next runs that narrow the interval most for their cost.",
)
@click.option(
    "--upto",
    type=click.IntRange(min=1),
    help="Largest count of a planned run. By default below those of -p.",
)
@json_option
@output_option()
@click.option("--all", "show_all", is_flag=True, help="Show every series, however many.")
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    outputs: tuple[str, ...],
    as_json: bool,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = Question(**options)
    if question.p is None and question.hold_out is None and question.knee is None:
        raise click.UsageError(
            "Say which counts to forecast: -p 64,128 (or --hold-out, or --knee).", ctx
        )
    if question.machine and not (question.donors or question.target):
        raise click.UsageError(
            "--machine must be given with --donors or --target: it weighs other machines. "
            "Leave it out.",
            ctx,
        )
    check_several(ctx, question, outputs)
    sources = [question.file, *question.donors, *question.machine]
    check_outputs(outputs, sources=sources, as_json=as_json)
    answer, knees, planned = _ask(question)
    document = answer.to_document()
    if planned is not None:
        document["plan_runs"] = [run.to_document() for run in planned]
    if question.knee is not None:
        document["knee"] = [knee.to_document() for knee in knees]

    def show() -> None:
        show_sheet(answer.to_sheet(knees=knees, show_all=show_all))
        show_plan(planned)

    give(
        outputs,
        as_json=as_json,
        rows=lambda: rows_with_plan(answer.rows(), planned),
        document=lambda: document,
        show=show,
        draw=lambda path: _draw(answer, knees, planned, path),
    )
    return _status(question, knees)


def _draw(
    answer: "Forecast", knees: "Sequence[Knee]", planned: "Sequence[PlannedRun] | None", path: str
) -> None:
    """Draw the answer."""
    from parcast.forecasting.picture import figure_of
    from parcast.show.canvas import save_figure

    save_figure(figure_of(answer, knees=knees, planned=planned or ()), path)


def _ask(
    question: Question,
) -> tuple["Forecast", list["Knee"], list["PlannedRun"] | None]:
    """Read the file and compute the answer."""
    from dataclasses import replace

    from parcast.cli.screen import Progress
    from parcast.forecasting.donors.options import read_with_donors
    from parcast.forecasting.forecast import forecast

    targets = [] if question.target is None else [question.target]
    runs, donors, inputs, sources = read_with_donors(
        question.file,
        select=question.select,
        ignore=question.ignore or (),
        donors=question.donors,
        targets=targets,
    )
    check_axes_of_file(runs, question)
    if question.donors or targets:
        inputs["donors"] = sources
    machines = _machines(question, inputs)
    inputs |= {"options": question.options(), "parcast": __version__}
    knees: list[Knee] = []
    if question.knee is not None:
        knees = _knees(question, runs, donors, machines)
    p = question.p.values if question.p else []
    hold_out = question.hold_out.values if question.hold_out else None
    p = [*(count for count in hold_out or () if count not in p), *p]
    if not p:
        p = _spread_out(sorted({knee.p for knee in knees}))
    with Progress("forecasting") as progress:
        answer = forecast(
            runs,
            p,
            hold_out=hold_out,
            donors=donors,
            machines=machines,
            by=question.by,
            scaling=question.scaling,
            progress=progress,
            **question.at,
        )
    if question.top is not None:
        from parcast.forecasting.regions import largest_regions

        answer = largest_regions(answer, question.top)
    planned = plan_of_question(runs, question, donors, machines)
    return replace(answer, inputs=inputs), knees, planned


def _machines(question: Question, inputs: dict[str, Any]) -> list["Machine"]:
    """Read the descriptions of machines, and note their files in the inputs."""
    if not question.machine:
        return []
    from parcast.cli.reading import read_description
    from parcast.descriptions.read_toml import read_machine

    documents = [
        read_description(file, read_machine, argument="--machine") for file in question.machine
    ]
    inputs["machines"] = [source for _, source in documents]
    return [machine for machine, _ in documents]


@spelled_with(OPTIONS | {"upto": "-p"})
def _knees(
    question: Question,
    runs: "Measurements",
    donors: "Measurements | None",
    machines: Sequence["Machine"],
) -> list["Knee"]:
    """Find up to where more processors are worth it, from the counts that are not held out."""
    from parcast.forecasting.knee import knee

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
    )


def _spread_out(counts: Sequence[int]) -> list[int]:
    """Keep a dozen counts of many, the first and the last among them."""
    if len(counts) <= MOST_KNEES:
        return list(counts)
    step = (len(counts) - 1) / (MOST_KNEES - 1)
    return [counts[round(i * step)] for i in range(MOST_KNEES)]


def _status(question: Question, knees: Sequence["Knee"]) -> int:
    """Say whether every count asked for is worth it, where the knee was asked for as well."""
    furthest = max(question.p.values) if question.p else 0
    beyond = [
        f"{knee.label} ({knee.p})" if knee.label else f"this program ({knee.p})"
        for knee in knees
        if furthest > knee.p
    ]
    if not beyond:
        return ANSWERED
    named = ", ".join(shown(name) for name in beyond[:MOST_NAMED])
    more = f" and {len(beyond) - MOST_NAMED} more" if len(beyond) > MOST_NAMED else ""
    click.echo(f"parcast: no: p = {furthest} lies beyond the knee of {named}{more}.", err=True)
    return ANSWER_IS_NO
