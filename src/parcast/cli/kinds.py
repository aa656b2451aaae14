"""Files in any order: which of them describes a program, which a machine, and which holds timings.

The content decides. A file whose content is unclear, because it is missing, damaged or a pipe,
takes the first place that is free, and whoever reads it says what is wrong with it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click

from parcast.cli.answering import usage
from parcast.cli.running import FILES
from parcast.cli.stdin import beginning_of_stdin, require_one_stdin

NAMED: Final = {  # kinds of files in messages: one, and several
    "program": ("a program", "programs"),
    "machine": ("a machine", "machines"),
    "timings": ("a table of timings", "tables of timings"),
    "costs": (
        "a file of costs of array I/O (for planning it, or for a phase)",
        "files of costs of array I/O",
    ),
    "binary": ("not text", "not text"),
}
COSTS: Final = {"clients", "servers"}  # tables that only costs of array I/O have
_KEY = re.compile(r"\[\[?\s*([A-Za-z_][\w-]*)|([A-Za-z_][\w-]*+)[\w.\s-]*+=")


@dataclass(frozen=True, slots=True)
class ArgumentPlace:
    """A place among the arguments of a command, and what may stand there."""

    argument: str  # as the usage calls it
    wanted: str  # the file that messages ask for
    kinds: tuple[str, ...]
    least: int = 1
    most: int = 1


PROGRAM: Final = ArgumentPlace("PROGRAM", "program file", ("program",))
MACHINE: Final = ArgumentPlace("MACHINE", "machine file", ("machine",))
ANY_MACHINE: Final = ArgumentPlace("MACHINE", "machine file", ("machine",), least=0)
TIMINGS: Final = ArgumentPlace("TIMINGS", "table of timings", ("timings",))


def in_places(
    ctx: click.Context, files: Sequence[str], places: Sequence[ArgumentPlace]
) -> list[list[str]]:
    """Put the files of a command into its places, by their content; each place has a list."""
    require_one_stdin(ctx, files)
    given = [(file, kind_of(file)) for file in files]
    taken = [[file for file, kind in given if kind in place.kinds] for place in places]
    every = {kind for place in places for kind in place.kinds}
    unclear = [file for file, kind in given if not kind]
    for place, here in zip(places, taken, strict=True):
        while unclear and len(here) < place.least:
            here.append(unclear.pop(0))
    for place, here in zip(places, taken, strict=True):
        while unclear and len(here) < place.most:
            here.append(unclear.pop(0))
    missing = [x for x, here in zip(places, taken, strict=True) if len(here) < x.least]
    crowded = [x for x, here in zip(places, taken, strict=True) if len(here) > x.most]
    many = {kind for place in crowded for kind in place.kinds}
    wrong = [(x, y) for x, y in given if y in many or (y and y not in every) or x in unclear]
    if missing and not any(kind for _, kind in given):
        raise click.UsageError(f"{missing[0].argument} must be given. Usage: {usage(ctx)}", ctx)
    if missing or wrong:
        wanted = [*missing, *crowded]
        command = ctx.command_path.removeprefix("parcast ")
        needs = f"needs one {wanted[0].wanted}" if wanted else f"reads {usage(ctx, options=False)}"
        raise click.UsageError(f"{command} {needs}; {_named(wrong or given)}.", ctx)
    pairs = zip(places, taken, strict=True)
    ctx.meta[FILES] = {place.argument: here[0] for place, here in pairs if len(here) == 1}
    return taken


def _named(files: Sequence[tuple[str, str]]) -> str:
    """Say what each of some files is."""
    from parcast.importers.registry import is_of_no_format

    files = [
        (x, "binary" if kind == "timings" and is_of_no_format(x) else kind) for x, kind in files
    ]
    sentences = []
    for kind in dict.fromkeys(kind for _, kind in files):
        *others, last = [file for file, own in files if own == kind]
        one, several = NAMED.get(kind, ("one file too many", "too many files"))
        if others:
            are = "are both" if len(others) == 1 else "are all"
            sentences.append(f"{', '.join(others)} and {last} {are} {several}")
        else:
            sentences.append(f"{last} is {one}")
    return " and ".join(sentences)


def kind_of(file: str) -> str:
    """Tell what a file holds: a kind of those named, or "" where that is not clear."""
    from parcast.importers.content import head_of

    head = beginning_of_stdin("A file", "a file") if file == "-" else head_of(file)
    return kind_of_text((head or b"").decode("utf-8-sig", "replace"), file)


def kind_of_text(text: str, file: str) -> str:
    r"""Tell what a text holds, though it may be damaged.

    >>> kind_of_text("[[phase]]", "-"), kind_of_text("[network]", "-"), kind_of_text("p,n", "-")
    ('program', 'machine', 'timings')
    >>> kind_of_text("[clients]\n[servers]", "-")
    'costs'
    """
    lines = [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]
    if not lines:
        return ""
    is_toml = _KEY.match(lines[0]) is not None
    if not is_toml:
        return "" if file.lower().endswith(".toml") else "timings"
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program

    keys, is_top = set(), True
    for line in lines:
        match = _KEY.match(line)
        if match and (match[1] or is_top):
            keys.add(match[1] or match[2])
        is_top = is_top and not line.startswith("[")
    if keys >= COSTS:
        return "costs"
    if keys & (Program.model_fields.keys() - Machine.model_fields.keys()):
        return "program"
    return "machine" if keys & (Machine.model_fields.keys() - Program.model_fields.keys()) else ""
