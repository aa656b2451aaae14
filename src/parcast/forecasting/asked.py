"""What `parcast forecast` is asked for on the command line, and what is refused of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.options import CountList, SizeList, plain
from parcast.cli.screen import tell
from parcast.errors import ParameterError

if TYPE_CHECKING:
    from parcast.timings.measurements import Measurements
    from parcast.timings.tables.options import TableOptions

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
        return self.table if self.along is None else replace(self.table, p=1, along=self.along)

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


def along_axis(question: ForecastAsked, runs: "Measurements") -> ForecastAsked:
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
