"""Options of `parcast forecast` that ask over several axes, and for the next runs to make."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.outputs import PICTURES, format_of
from parcast.errors import ParameterError

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.forecasting.next_runs.result import PlannedRun
    from parcast.timings.measurements import Measurements


EXAMPLE = "Write such as n=1000,2000,theta=0.5."
Axes = dict[str, list[float]]


def axis_values(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> Axes:
    """Read axes and their values: `n=1000,2000,theta=0.5`, and ranges such as `n=100..800x2`."""
    axes: Axes = {}
    for text in texts:
        axis = ""
        for part in map(str.strip, text.split(",")):
            name, equals, value = map(str.strip, part.rpartition("="))
            if equals and name in axes:
                raise click.UsageError(
                    f"--at must name an axis once, got {name!r:.60} twice. "
                    "Put its values behind each other: n=1000,2000."
                )
            axis = name if equals else axis
            if not axis or not value:
                raise click.UsageError(
                    f"--at must be axes and values, got {text!r:.60}. {EXAMPLE}"
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


def check_several(ctx: click.Context, question: Any, outputs: Sequence[str]) -> None:
    """Refuse what does not go together with --at or --plan-runs."""
    if question.plan_runs is not None and question.p is None:
        raise click.UsageError("--plan-runs needs -p: the counts to plan for. Add -p 512.", ctx)
    if question.upto is not None and question.plan_runs is None:
        raise click.UsageError("--upto is for --plan-runs. Add --plan-runs 3.", ctx)
    elsewhere = {"--donors": question.donors, "--target": question.target}
    alone = {"--by": question.by, "--knee": question.knee, "--top": question.top}
    for other, value in (elsewhere | alone).items():
        if question.at and value:
            raise click.UsageError(
                f"--at must not be asked for with {other}. Leave one of them out.", ctx
            )
    drawn = [output for output in outputs if format_of(output) in PICTURES]
    if question.at and drawn:
        raise click.UsageError(
            f"--at cannot be drawn yet, got -o {drawn[0]}. Write it as .csv or .json.", ctx
        )


def check_axes_of_file(runs: "Measurements", question: Any) -> None:
    """Refuse values of what is no axis of the file, and of an axis that cannot be asked for."""
    if not question.at:
        return
    from parcast.forecasting.forecast import forecast
    from parcast.forecasting.next_runs.plan_runs import plan_runs
    from parcast.forecasting.question import parameters_of
    from parcast.forecasting.surface.runs import check_axes

    if "p" in question.at:
        raise click.UsageError("--at must be axes besides p, got p. Give processors with -p.")
    try:
        check_axes(runs, question.at)
    except ParameterError as error:
        raise click.UsageError(f"--at {error}") from None
    for verb in (forecast, plan_runs) if question.plan_runs is not None else (forecast,):
        if taken := sorted(question.at.keys() & {*parameters_of(verb)}):
            raise click.UsageError(
                f"--at {taken[0]} must have another name, got a word of parcast's own. "
                "Rename the column."
            )


def plan_of_question(
    runs: "Measurements",
    question: Any,
    donors: "Measurements | None",
    machines: "Sequence[Machine]",
) -> list["PlannedRun"] | None:
    """Plan the next runs for what was asked, from what is not held out; None if not asked."""
    if question.plan_runs is None:
        return None
    from parcast.forecasting.next_runs.plan_runs import plan_runs

    if question.hold_out is not None:
        kept = sorted({*runs.p.tolist()} - set(question.hold_out.values))
        runs = runs.select(p=kept)
    options = {"runs": question.plan_runs, "upto": question.upto, "by": question.by}
    options |= {"donors": donors, "machines": machines}
    return plan_runs(runs, question.p.values, **options, **question.at)


def show_plan(planned: "Sequence[PlannedRun] | None") -> None:
    """Print planned runs below the answer, where they were asked for."""
    if planned is None:
        return
    from parcast.cli.screen import show, show_sheet
    from parcast.forecasting.next_runs.sheet import sheet_of

    show([""])
    show_sheet(sheet_of(planned))


def rows_with_plan(
    rows: Iterable[Mapping[str, Any]], planned: "Sequence[PlannedRun] | None"
) -> Iterator[Mapping[str, Any]]:
    """Give the rows of an answer and below them those of the planned runs, with one header.

    Rows as they are where no runs were asked for. Otherwise all rows have the columns of both,
    None where one knows nothing; `planned_run` numbers the runs of each program.
    """
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
