"""The error of a law that a validation saw, as `-o PROGRAM.toml` writes it into a description."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from parcast.cli.outputs import FIGURES, Outputs, format_of
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.descriptions.fit_record import OwnLawError

Described = TypeVar("Described")

FORMATS: Final = (*FIGURES, "toml")
CONTENT: Final = "PROGRAM, with the error of its law; a file that exists is kept otherwise"


def check_programs(
    outputs: Outputs,
    laws: Sequence[str],
    *,
    may_be_new: bool,
    run: Mapping[str, Any] | None = None,
) -> None:
    """Refuse a .toml output that is no description with the law, before anything runs.

    `run` are the keys of the phase that will be run: a description must not have others.
    """
    for path in outputs.paths:
        if format_of(path) != "toml":
            continue
        if len(laws) != 1:
            raise click.UsageError("-o PROGRAM.toml is of one program, got several. Name one.")
        if os.path.exists(path):
            _require_law(path, laws[0], run or {})
        elif not may_be_new:
            raise click.ClickException(
                f'-o {path} must be the description of a program with the law "{laws[0]}": there '
                "is no such file. Write it first."
            )


def _require_law(path: str, law: str, run: Mapping[str, Any]) -> None:
    """Refuse the description of another program."""
    from parcast.descriptions.toml_files import read_program

    program = described_at(path, read_program, "a program")
    laws = [name for phase in program.phase for name in phase.laws_within]
    if law not in laws:
        raise click.ClickException(
            f'-o {path} must be the description of a program with the law "{law}", got one with '
            f"{', '.join(dict.fromkeys(laws))}. Name another file."
        )
    for phase in program.phase:
        other = type(phase).model_validate(run) if run and phase.law == law else phase
        for key in sorted(phase.model_fields_set & set(run)):
            has, runs = str(getattr(phase, key)), str(getattr(other, key))
            if has != runs:
                raise click.ClickException(
                    f"-o {path} must describe the program that runs, with {key} = {runs}, got "
                    f"{has}. Name another file."
                )


def described_at(path: str, read: Callable[[str], Described], what: str) -> Described:
    """Read the description at the path of an output, or refuse to replace what is another file."""
    from parcast.errors import ParcastError

    try:
        return read(path)
    except ParcastError as refusal:
        raise click.ClickException(
            f"{path} exists and is no description of {what}, so it is not replaced. Name another "
            "file, or remove it."
        ) from refusal


def writer(
    errors: Sequence["OwnLawError"], described: Mapping[str, Any] | str | None = None
) -> Callable[[str], None]:
    """Give what writes the errors into a program.

    `described` is what a program says that has no file yet: its keys, or its text.
    """
    return partial(_write, errors=errors, described=described)


def _write(
    path: str,
    *,
    errors: Sequence["OwnLawError"],
    described: Mapping[str, Any] | str | None,
) -> None:
    if not errors:
        from parcast.descriptions.fit_record import FEWEST

        tell(f"{path} was not written: an error needs {FEWEST} comparisons. Compare more runs.")
        return
    import tomlkit

    from parcast.descriptions.fit_record import OwnLawError, replaced
    from parcast.descriptions.toml_files import read_program, with_law_errors, write_description

    text = described if isinstance(described, str) else tomlkit.dumps(dict(described or {}))
    known = list[OwnLawError]()
    if os.path.exists(path):
        known += read_program(path).law_error
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    write_description(path, with_law_errors(text, replaced(known, errors)))
