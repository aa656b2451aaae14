"""Files that describe a program and a machine, and the configurations that are asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from parcast.cli.options import Counts, Sizes, disks, processors, sizes, variations
from parcast.cli.reading import read_description
from parcast.units import shown
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program


AXES: Final = {"p": "-p", "d": "-d", "n": "-n", "storage.servers": "-d"}  # not to be varied
MOST_NAMED: Final = 12  # parameters in one message
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class Configurations:
    """What was asked for on the command line."""

    program: str  # files
    machine: str
    p: Counts
    d: Counts | None
    n: Sizes | None
    vary: dict[str, str]

    def options(self) -> dict[str, Any]:
        """Give what was asked as it stands in a document."""
        return {
            "p": self.p.text,
            "d": self.d.text if self.d else None,
            "n": self.n.text if self.n else None,
            "vary": [f"{name}={text}" for name, text in self.vary.items()],
        }

    def require_one_stdin(self, ctx: click.Context) -> None:
        """Refuse to read both files from standard input."""
        if self.program == self.machine == "-":
            raise click.UsageError("PROGRAM and MACHINE must not both be -. Name one file.", ctx)


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """What was read, and what it comes from."""

    program: "Program"
    machine: "Machine"
    grid: dict[str, Any]  # arguments p, d, n and vary of a verb
    inputs: dict[str, Any]  # `program`, `machine`, `options` and `parcast`


def configurations(command: Command) -> Command:
    """Give a command the arguments and options of `Configurations`."""
    decorators: list[Callable[[Command], Command]] = [
        click.argument("program"),
        click.argument("machine"),
        processors("Counts of processors.", required=True),
        click.option(
            "-d",
            "--disks",
            "d",
            metavar="LIST",
            callback=disks,
            help="Counts of disks or I/O servers; by default those of MACHINE.",
        ),
        click.option(
            "-n",
            "--size",
            "n",
            metavar="LIST",
            callback=sizes,
            help="Problem sizes, if PROGRAM uses n.",
        ),
        click.option(
            "--vary",
            metavar="NAME=RANGE",
            multiple=True,
            callback=variations,
            help="Values that a parameter of either file takes. Repeatable.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def read_configurations(asked: Configurations, **options: Any) -> Described:
    """Read both files, and the values of what is varied, whose units they know.

    Raises
    ------
    click.UsageError
        If standard input is closed, or what is varied is no parameter or has no such values.
    FileProblems
        If a file cannot be read, or something in it is wrong.
    """
    from parcast.descriptions.read_toml import read_machine, read_program

    program, from_program = read_description(asked.program, read_program, argument="PROGRAM")
    machine, from_machine = read_description(asked.machine, read_machine, argument="MACHINE")
    return Described(
        program=program,
        machine=machine,
        grid={
            "p": asked.p.values,
            "d": asked.d.values if asked.d else None,
            "n": asked.n.values if asked.n else None,
            "vary": _varied(asked.vary, program, machine),
        },
        inputs={
            "program": from_program,
            "machine": from_machine,
            "options": asked.options() | options,
            "parcast": __version__,
        },
    )


def _varied(
    asked: dict[str, str], program: "Program", machine: "Machine"
) -> dict[str, list[float]]:
    """Give the values of each parameter that is varied, in SI."""
    from parcast.cli.ranges import parse_range

    known = machine.parameters() | program.parameters()
    varied = {}
    for name, text in asked.items():
        if name not in known:
            absent = _not_given(name, program, machine)
            hint = absent or _nearest(name, sorted(known))
            raise click.UsageError(
                f"--vary must name a parameter that the files give, got {shown(repr(name))}. "
                f"{hint}"
            )
        try:
            varied[name] = parse_range(text, known[name].dimension, name=f"--vary {name}")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    return varied


def _not_given(name: str, program: "Program", machine: "Machine") -> str:
    """Say which file may give a parameter, where it is a key of one; "" where it is of none."""
    places: list[tuple[str, Any, str]] = [("MACHINE", machine, name)]
    for i, phase in enumerate(program.phase):
        label = program.label(i)
        places.append(("PROGRAM", phase, name.removeprefix(f"{label}." if label else "")))
    for file, described, rest in places:
        found = described
        for part in rest.split("."):
            if part not in getattr(type(found), "model_fields", {}):
                break
            found = getattr(found, part)
        else:
            if found is None:
                return f"{file} could give it, but does not. Add it there."
    return ""


def _nearest(name: str, known: list[str]) -> str:
    """Suggest the name that may have been meant, or say which there are."""
    if name in AXES:
        return f"Give it with {AXES[name]}."
    near = [one for one in known if one.rpartition(".")[2] == name]
    near = near or get_close_matches(name, known, n=1)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return f"They give {', '.join(known[:MOST_NAMED])}{more}."
