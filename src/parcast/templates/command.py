"""`parcast init`: write a template of a machine or a program, to be filled in."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import ours
from parcast.cli.answering import A_FILE, OneOf, cli_command
from parcast.cli.failures import ANSWERED, own_options, spelled_with
from parcast.cli.options import Option, flag, name_option, option, repeated_option, together
from parcast.cli.outputs import write_all
from parcast.cli.parts import CommandParts
from parcast.cli.screen import is_a_terminal, tell
from parcast.words import listed

if TYPE_CHECKING:
    from parcast.templates.document import Template, TemplateKey

PRESETS: Final = {  # those of `machine`, which is not loaded
    "slurm-node": "A node of a cluster: a fast network, shared storage, costs in core-hours.",
    "workstation": "One computer with its own disk, and messages through memory.",
    "cloud": "Virtual machines on Ethernet, which cost USD by the hour.",
}
USUALLY_NEEDED: Final = ("compute.rate", "network.bandwidth", "storage.bandwidth")
HERE, SLURM = "from-here", "from-slurm"

MACHINE_HELP: Final = """Write a template of a machine file.

Every key has a comment with its unit and meaning. A value that ends in ? is a placeholder: it is
used, and every answer says so until it is replaced. Without options, it asks on a terminal.

\b
Exit status: 0  written
             2  wrong use, or the file is there already
             4  there is no Slurm to ask

\b
Examples:
  parcast init machine --from-here -o here.toml
  parcast init machine --preset slurm-node -o cluster.toml
"""

PROGRAM_HELP: Final = """Write a template of a program file, with a phase for each law.

Every key that the law declares has a comment with its unit and meaning. A value that ends in ? is
a placeholder: it is used, and every answer says so until it is replaced. Without --law, it asks on
a terminal.

\b
Exit status: 0  written
             2  wrong use, or the file is there already

\b
Examples:
  parcast init program --law spmd
  parcast init program --law amdahl --law pipeline -o app.toml
"""

HELP: Final = """Write a template of a machine or program file.

`parcast init COMMAND --help` explains a command.

\b
Examples:
  parcast init machine --from-here -o here.toml
  parcast init program --law spmd
"""


def writing(default: str) -> Option[Any]:
    """Options on the file that is written."""
    what = 'File to write; "-" is standard output.'
    return together(
        option("-o --output output", A_FILE, what, default=default, metavar="PATH"),
        flag("--force", "Replace the file if there is one."),
    )


@cli_command(name="machine", help=MACHINE_HELP, short_help="Write a template of a machine file.")
@option("--preset", OneOf(tuple(PRESETS)), "Kind of machine, whose figures are placeholders.")
@flag("--from-here", "This machine: its cores, memory and name.")
@flag("--from-slurm", "Nodes of a partition, as sinfo lists them.")
@option("--partition", "NAME", "Partition of --from-slurm. By default the default one.")
@name_option
@writing("machine.toml")
def machine_command(
    ctx: click.Context, /, *, output: str, force: bool, name: str | None, **given: Any
) -> int:
    """Write the file and return the exit status."""
    from parcast.templates.machine import preset_machine, slurm_machine, this_machine

    ways: dict[str, Callable[[], Any]] = {
        HERE: this_machine,
        SLURM: lambda: slurm_machine(given["partition"]),
    }
    ways |= {preset: lambda preset=preset: preset_machine(preset) for preset in PRESETS}  # type: ignore[misc]  # a default binds it
    asked = [given["preset"]] if given["preset"] else []
    asked += [HERE] * given["from_here"] + [SLURM] * given["from_slurm"]
    if len(asked) > 1:
        raise click.UsageError(f"Give one of --preset, --{HERE} and --{SLURM}.", ctx)
    if given["partition"] and asked != [SLURM]:
        raise click.UsageError(f"--partition goes with --{SLURM}.", ctx)
    is_asking = not asked
    if is_asking:
        told = {f"--preset {preset}": summary for preset, summary in PRESETS.items()}
        told[f"--{HERE}"] = "This machine: its cores, memory and name, without placeholders."
        told[f"--{SLURM}"] = "Nodes of a partition, as sinfo lists them."
        hint = "A kind of machine must be given, one of:"
        asked = [_choice("Describe which machine", ways, HERE, hint, told)]
    _require_free(ctx, output, force=force)
    with spelled_with(own_options(), click.UsageError):
        known = ways[asked[0]]()
    known = known.named(name) if name else known
    _write(output, (known.asked(_amount) if is_asking else known).template())
    if known.is_complete:
        measure = ours("calibrate", "-o", "measured.toml")
        tell(
            f"Still to be given, where a program needs them: {listed(USUALLY_NEEDED)}. "
            f"To measure them: {measure}"
        )
    return ANSWERED


@cli_command(name="program", help=PROGRAM_HELP, short_help="Write a template of a program file.")
@repeated_option("--law laws", "LAW", "Law of a phase: spmd, regions, amdahl, ...")
@option("--name", "NAME", "Name of the program.", default="")
@writing("program.toml")
def program_command(
    ctx: click.Context, /, *, laws: tuple[str, ...], name: str, output: str, force: bool
) -> int:
    """Write the file and return the exit status."""
    from parcast.descriptions.program import law_named
    from parcast.descriptions.program import laws as every_law
    from parcast.templates.program import needed_keys, program_template, summary_of

    values: list[dict[str, str]] = []
    known = [*every_law()]
    if wrong := [law for law in laws if law not in known]:
        raise click.UsageError(
            f"--law must be the name of a law, got {wrong[0]!r:.60}. Laws: {', '.join(known)}.",
            ctx,
        )
    is_asking = not laws
    if is_asking:
        told = {law: summary_of(kind) for law, kind in every_law().items()}
        laws = (_choice("Law", known, "spmd", "--law must be given, one of:", told),)
    _require_free(ctx, output, force=force)
    if is_asking:
        values = [dict(_asked(needed_keys(law_named(law)))) for law in laws]
    made = program_template(laws, values, name)
    _write(output, made)
    return ANSWERED


def _choice(
    what: str, choices: Iterable[str], usual: str, hint: str, told: Mapping[str, str]
) -> str:
    """Ask for one of some words; without a terminal, refuse with what to type, told in lines."""
    from parcast.errors import ParameterError

    if not (is_a_terminal(sys.stdin) and is_a_terminal(sys.stderr)):
        width = max(map(len, told))
        raise ParameterError(hint, below=[f"  {x:{width}}  {told[x]}" for x in told])
    kind = click.Choice([*choices])
    return str(click.prompt(what, type=kind, default=usual, err=True))


def _asked(keys: Iterable["TemplateKey"]) -> Iterable[tuple[str, str]]:
    """Ask for the values of keys; those that are not known stay placeholders."""
    for key in keys:
        usual = key.example.strip('"')
        text = _amount(key, usual)
        if text != usual:
            yield key.name, text


def _amount(key: "TemplateKey", usual: str) -> str:
    """Ask for an amount until it is one."""
    from parcast.errors import ParameterError

    mark = key.amount
    assert mark is not None
    click.echo(f"\n{key.field.description} {key.holds[:1].upper()}{key.holds[1:]}.", err=True)
    while True:
        text = str(click.prompt(key.name, default=usual, err=True))
        try:
            mark.read(key.name, text)
        except ParameterError as refusal:
            click.echo(str(refusal), err=True)
        else:
            return text


def _require_free(ctx: click.Context, output: str, *, force: bool) -> None:
    """Refuse to replace a file, unless that is asked for, or agreed to on a terminal."""
    from parcast.errors import ParameterError
    from parcast.files.document import check_place

    if output == "-":
        return
    try:
        check_place(output)
    except ParameterError as error:
        raise click.ClickException(f"-o {error}") from error
    if force or not os.path.lexists(output):
        return
    can_ask = is_a_terminal(sys.stdin) and is_a_terminal(sys.stderr)
    if not (can_ask and click.confirm(f"{output} exists. Replace it?", err=True)):
        raise click.UsageError(
            f"{output} exists. Choose another name with -o, or replace it with --force.", ctx
        )


def _write(output: str, made: "Template") -> None:
    """Write a template, and say what is to be replaced in it."""
    from parcast.files.document import write_document

    if output == "-":
        write_all(made.text)
    else:
        write_document(output, [made.text])
    said = f"wrote {output}. " if output != "-" else ""
    names = listed(made.placeholders, 8)
    tell(
        said
        + (f"Replace the values that end in ?: {names}." if names else "It has no placeholders.")
    )


command = CommandParts(
    "init",
    {"machine": machine_command, "program": program_command},
    help=HELP,
)
