"""PROGRAM and MACHINE of a command, with the amounts that --set puts in place of theirs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from parcast.cli.options import once_each, option, pairs
from parcast.cli.reading import NamedContent, and_text, read_description
from parcast.units import shown
from parcast.words import listed

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program

SET: Final = "parcast.set"  # in the context of a command: texts of amounts by their names
OTHERWISE: Final = {"p": "-p", "d": "-d", "n": "-n", "storage.servers": "-d"}  # options of axes
MOST_NAMED: Final = 12  # parameters in one message


def _noted(ctx: click.Context, given: click.Parameter, texts: Sequence[str]) -> None:
    """Keep what is set until the files are read."""
    must, such_as = "a parameter and its value", '"network.latency=20 us"'
    each = pairs(texts, given.opts[0], must, such_as=such_as)
    ctx.meta[SET] = once_each(each, given.opts[0], "name a parameter once")


set_option: Final = option(
    "--set",
    click.STRING,
    "Use VALUE in place of what the files give: network.latency=20us. Repeatable.",
    metavar="NAME=VALUE",
    multiple=True,
    expose_value=False,
    callback=_noted,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedSubject:
    """A program and the machines it is to run on, and what each comes from."""

    program: "Program"
    machines: Sequence["Machine"]
    from_program: dict[str, Any]
    from_machines: Sequence[dict[str, Any]]

    @property
    def machine(self) -> "Machine":
        """The first machine."""
        return self.machines[0]

    @property
    def inputs(self) -> dict[str, Any]:
        """What a program and one machine come from, by what results call them."""
        return {"program": self.from_program, "machine": self.from_machines[0]}


def given_amounts(ctx: click.Context | None) -> Mapping[str, str]:
    """Texts of the amounts that a command was told to set, by their names."""
    given: Mapping[str, str] = ctx.meta.get(SET, {}) if ctx else {}
    return given


def refuse_set(ctx: click.Context, file: str) -> None:
    """Refuse --set beside a file that is no program."""
    if given_amounts(ctx):
        raise click.UsageError(f"--set requires PROGRAM, but {file} is none. Leave it out.", ctx)


def read_subject(program_file: str, machine_files: Sequence[str]) -> DescribedSubject:
    """Read a program and its machines, with the amounts that the command was told to set."""
    return read_subjects([program_file], machine_files)[0]


def read_subjects(
    program_files: Sequence[str], machine_files: Sequence[str]
) -> list[DescribedSubject]:
    """Read programs and their machines; what is set goes to each file that gives it."""
    from parcast.descriptions.toml_files import read_machine, read_program

    read = [_read(x, read_program, "PROGRAM") for x in program_files]
    there = [_read(x, read_machine, "MACHINE") for x in machine_files]
    given = given_amounts(click.get_current_context(silent=True))
    programs, machines = ([x.described for x in files] for files in (read, there))
    for name in given:
        require_known(name, programs, machines, "--set")
    subjects = []
    for own in read:
        theirs = {x: given[x] for x in given if x not in own.described.parameters()}
        program, from_program = own.setting(given)
        each = [x.setting(theirs) for x in there]
        subjects.append(
            DescribedSubject(
                program=program,
                machines=[x for x, _ in each],
                from_program=from_program,
                from_machines=[x for _, x in each],
            )
        )
    return subjects


class _Read(NamedTuple):
    """A description as its file has it."""

    file: str
    described: Any
    text: str
    source: dict[str, Any]

    def setting(self, given: Mapping[str, str]) -> tuple[Any, dict[str, Any]]:
        """Set the amounts that it has; also say where it comes from."""
        own = {x: given[x] for x in given if x in self.described.parameters()}
        if not own:
            return self.described, self.source
        return _set(self.text, own, self.described, self.file), self.source | {"set": own}


def _read(file: str, reader: Any, argument: str) -> _Read:
    """Read a description and its text."""
    (described, text), source = read_description(file, and_text(reader), argument=argument)
    return _Read(file, described, text, source)


def changed(text: str, given: Mapping[str, str], described: "Program | Machine") -> str:
    """Put amounts into the text of a description; what fits found of it is kept."""
    from parcast.descriptions.program import Program
    from parcast.descriptions.toml_files import with_amounts

    if isinstance(described, Program):
        own = described.law_error
        return with_amounts(text, given, described, record=described.fit, law_errors=own)
    return with_amounts(text, given, record=described.fit)


def _set(text: str, given: Mapping[str, str], described: Any, file: str) -> Any:
    """Read a description with amounts put into it; a value that is refused is one of --set."""
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.toml_files import read_machine, read_program
    from parcast.errors import FileProblems, ParameterError

    read: Any = read_machine if isinstance(described, Machine) else read_program
    try:
        return read(NamedContent(file, changed(text, given, described).encode()))
    except ParameterError as refusal:
        raise click.UsageError(f"--set {refusal}") from refusal
    except FileProblems as refusal:
        first = refusal.problems[0]
        raise click.UsageError(f"--set {first.field} {first.message}") from refusal


def require_known(
    name: str, programs: Sequence["Program"], machines: Sequence["Machine"], option: str
) -> None:
    """Refuse the name of a parameter that no file gives, and say which may have been meant."""
    known = {x for each in programs for x in each.parameters()}
    known |= {x for each in machines for x in each.parameters()}
    if name in known and name not in OTHERWISE:
        return
    hint = _not_given(name, programs, machines) or _nearest(name, sorted(known))
    raise click.UsageError(
        f"{option} must name a parameter that the files give, got {shown(repr(name))}. {hint}"
    )


def _not_given(name: str, programs: Sequence["Program"], machines: Sequence["Machine"]) -> str:
    """Say which file may give a parameter, where it is a key of one; "" where it is of none."""
    for file, described, rest in _places(name, programs, machines):
        value: Any = described
        for part in rest.split("."):
            if part not in getattr(type(value), "model_fields", {}):
                break
            value = getattr(value, part)
        else:
            if value is None:
                return f"{file} could give it, but does not. Add it there."
    return ""


def _places(
    name: str, programs: Sequence["Program"], machines: Sequence["Machine"]
) -> Iterator[tuple[str, Any, str]]:
    """Descriptions that a parameter may be of, and its name within them."""
    yield from (("MACHINE", machine, name) for machine in machines)
    for program in programs:
        for i, phase in enumerate(program.phase):
            label = program.label(i)
            yield "PROGRAM", phase, name.removeprefix(f"{label}." if label else "")


def _nearest(name: str, known: Sequence[str]) -> str:
    """Suggest the name that may have been meant, or say which there are."""
    if name in OTHERWISE:
        return f"Give it with {OTHERWISE[name]}."
    near = [one for one in known if one.rpartition(".")[2] == name]
    near = near or get_close_matches(name, known, n=1)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"They give {listed(known, MOST_NAMED)}."
