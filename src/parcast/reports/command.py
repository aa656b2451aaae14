"""`parcast report`: everything that some files tell of a program, as one page."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import Choice, ours
from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.described import read_subjects, refuse_set, set_option
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, spelled_with
from parcast.cli.kinds import kind_of
from parcast.cli.options import (
    DISKS,
    SIZES,
    CountList,
    SizeList,
    option,
    output_option,
    plain,
    processors,
    scaling_option,
    select_option,
)
from parcast.cli.outputs import Outputs, command_line, tell_written, with_inputs
from parcast.cli.reading import read_file, without_copies
from parcast.cli.screen import tell
from parcast.errors import FileProblems, Problem
from parcast.show.result import DOCUMENTS

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program
    from parcast.show.page.page import Answer
    from parcast.show.result import Result

COUNTS: Final = tuple(2**k for k in range(7))  # of processors of a program, where none are given
VERSION: Final = "parcast/forecast/1"  # schema of saved results that are compared
PAGE: Final = "report.html"  # where nothing else is named
HELP: Final = """Write one page about a program from everything that is known of it.

FILE may be a table of timings, PROGRAM and MACHINE, profiles, and results that were saved with -o
x.json. Two tables or saved forecasts, and nothing else, are compared as well, the first as the
base. The page needs no network: it can be sent, printed and put on a server. Without -o it is
report.html in this folder, which takes the place of another page of parcast only.

\b
Exit status: 0  written
             2  wrong use
             3  bad input file
             4  no answer is possible from a file

\b
Examples:
  parcast report times.csv
  parcast report program.toml machine.toml times.csv -p 1,8,64 -o report.html
  parcast report before.csv after.csv --title "Release 2" -o report.html
"""


@cli_command(name="report", help=HELP)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=A_FILE)
@processors("Processor counts. By default the next two doublings of TIMINGS, 1..64x2 of PROGRAM.")
@option("-d --disks d", DISKS, "Counts of disks or I/O servers.")
@option("-n --size n", SIZES, "Problem sizes, if formulas of PROGRAM use n.")
@option("--title", click.STRING, "Title of the page.", metavar="TEXT", default="")
@set_option
@select_option
@scaling_option
@output_option(f"Write the page to PATH, which ends in .html, .md or .tex. By default {PAGE}.")
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    p: CountList | None,
    d: CountList | None,
    n: SizeList | None,
    title: str,
    select: list[tuple[str, str]],
    scaling: Any,
    outputs: tuple[str, ...],
) -> int:
    """Write the page and return the exit status."""
    if "-" in outputs:
        raise click.UsageError(f"-o must name a file. Write for example -o {PAGE}.", ctx)
    if "-" in files:
        raise click.UsageError("FILE must be a file, got -. Save standard input first.", ctx)
    outputs = outputs or _own_page()
    Outputs(outputs, formats=DOCUMENTS).check(files)
    from parcast.show.documents import save_sheets, titled
    from parcast.show.page.page import answer_for, save_page

    results = [*_results(ctx, files, {"p": p, "d": d, "n": n}, select, scaling)]
    answers: list[Answer] = [answer_for(x, i) for i, x in enumerate(results, start=1)]
    for path in outputs:
        if path.lower().endswith(".html"):
            save_page(path, answers, title=title, command=command_line())
        else:
            sheets = [sheet for x in answers for sheet in titled(x.sheets, x.origin)]
            save_sheets(path, sheets)
    many = "one answer" if len(answers) == 1 else f"{len(answers)} answers"
    tell_written(*outputs, more=f"{many}: {'; '.join(x.title for x in answers)}")
    return ANSWERED


def _own_page() -> tuple[str]:
    """Name the page that is written where no other is named; refuse a file that is none."""
    from parcast.show.page.page import is_page

    if os.path.lexists(PAGE) and not (os.path.isfile(PAGE) and is_page(PAGE)):
        raise click.UsageError(
            f"{PAGE} is no page of parcast, and is left as it is. Name another file: -o x.html."
        )
    return (PAGE,)


def _results(
    ctx: click.Context,
    files: Sequence[str],
    at: Mapping[str, Any],
    select: Sequence[tuple[str, str]],
    scaling: Any,
) -> "Iterator[Result]":
    """Give the answers about all files, what is asked of several of them first."""
    from parcast.characterisation.profiles.reading import kind_of_profile
    from parcast.deciding.compare.sides import is_saved
    from parcast.saved.load import load

    files, p = without_copies(files), at["p"]
    profiles = [x for x in files if kind_of_profile(x)]
    saved = {x: load(x) for x in files if x not in profiles and is_saved(x)}
    others = [x for x in files if x not in saved and x not in profiles]
    kinds = {x: kind_of(x) or _unclear(x) for x in others}
    tables = {x: read_file(x, select) for x in others if kinds[x] == "timings"}
    versions = {x: y for x, y in saved.items() if y._origin()["schema"] == VERSION}
    sides = [
        versions[x] if x in versions else tables[x][0]
        for x in files
        if x in versions or x in tables
    ]
    if len(sides) == 2 and len(files) == 2:
        yield from _compared(sides, files, p)
    elif len(sides) > 1:
        two = ours("compare", Choice("BASE"), Choice("NEW"))
        tell(f"{len(sides)} tables and results are not compared with each other: {two}")
    yield from saved.values()
    for runs, source in tables.values():
        yield from _of_table(runs, source, p, scaling)
    programs, machines = ([x for x in others if kinds[x] == y] for y in ("program", "machine"))
    if bool(programs) != bool(machines):
        wanted = "MACHINE" if programs else "PROGRAM"
        alone = (programs or machines)[0]
        raise click.UsageError(f"{alone} needs a {wanted}. Name its file too.", ctx)
    if not programs:
        refuse_set(ctx, files[0])
        if wrong := [f"-{name}" for name in ("d", "n") if at[name]]:
            raise click.UsageError(f"{wrong[0]} requires PROGRAM. Leave it out.", ctx)
    for read in read_subjects(programs, machines) if programs else ():
        for machine, source in zip(read.machines, read.from_machines, strict=True):
            sources = {"program": read.from_program, "machine": source}
            yield from _of_descriptions(read.program, machine, at, sources)
    if profiles:
        from parcast.deciding.explain.profiles.explain import explain_profiles

        explained = explain_profiles(profiles, p=p.values if p else None, scaling=scaling)
        yield with_inputs(explained, profiles=[{"file": x} for x in profiles])


def _unclear(file: str) -> str:
    """Take a file whose content is unclear for timings, but refuse a description of nothing."""
    if not (file.lower().endswith(".toml") and os.path.isfile(file)):
        return "timings"
    template = ours("init", "program", "-o", "program.toml")
    fault = (
        "must describe a program, by [[phase]], or a machine, by its processors, network or "
        f"disks, got neither. A template shows how: {template}"
    )
    raise FileProblems(file, [Problem(message=fault)])


def _compared(
    sides: Sequence[Any], files: Sequence[str], p: CountList | None
) -> "Iterator[Result]":
    """Compare two versions, where they can be compared."""
    from parcast.deciding.compare.compare import compare
    from parcast.errors import ParcastError

    try:
        result = compare(*sides, p=p.values if p else None)
    except ParcastError as refusal:
        tell(f"no comparison of {files[0]} and {files[1]}: {refusal}")
        return
    base, new = ({"file": x} for x in files)
    yield with_inputs(result, base=base, new=new)


def _of_table(
    runs: Any, source: dict[str, Any], p: CountList | None, scaling: Any
) -> "Iterator[Result]":
    """Forecast a table, and explain its times where there are enough of them."""
    from parcast.deciding.explain.timings.explain import explain_timings
    from parcast.errors import ParcastError
    from parcast.forecasting.forecast import forecast

    counts: Sequence[int] | None = p.values if p else None
    yield with_inputs(forecast(runs, counts, scaling=scaling), **source)
    try:
        explained = explain_timings(runs, p=counts, scaling=scaling)
    except ParcastError as refusal:
        tell(f"no explanation of {source.get('file')}: {refusal}")
        return
    yield with_inputs(explained, runs=source)


def _of_descriptions(
    program: "Program", machine: "Machine", at: Mapping[str, Any], sources: Mapping[str, Any]
) -> "Iterator[Result]":
    """Predict a program on a machine, and explain the largest count."""
    from parcast.deciding.explain.descriptions.explain import explain_descriptions
    from parcast.prediction.predict import predict

    given = {"p": [*COUNTS]} | {name: x.values for name, x in at.items() if x}
    inputs = {**sources, "options": {name: plain(x) for name, x in at.items()}}
    with spelled_with(OPTIONS | AXES, NoAnswer):
        predicted = predict(program, machine, **given)
        last = {name: values[-1:] for name, values in given.items() if name != "p"}
        explained = explain_descriptions(program, machine, **{"p": given["p"], **last})
    yield with_inputs(predicted, **inputs)
    yield with_inputs(explained, **inputs)
