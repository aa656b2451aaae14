"""What the commands that validate have in common: their options, their files, their status."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, Whole
from parcast.cli.failures import (
    ANSWER_IS_NO,
    ANSWERED,
    INTERRUPTED,
    NO_FORECAST,
    Spelling,
    spelled_with,
)
from parcast.cli.law_error_output import CONTENT, FORMATS, writer
from parcast.cli.options import answer_options, option, seed_option, start_limit_option, together
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.screen import Progress, tell

if TYPE_CHECKING:
    from parcast.trials.clock import Progress as Told
    from parcast.validation.result import Validation


validating: Final = together(  # options that every validation has
    start_limit_option,
    option(
        "--save",
        A_FILE,
        "File for the predictions, each written before its runs. By default beside the first -o.",
        metavar="PATH.json",
    ),
    seed_option,
    answer_options(FORMATS, csv="measurements", toml=CONTENT),
)


def repetitions_option(default: int, text: str) -> Callable[..., Any]:
    """Give the option for runs of each case."""
    return option("--repetitions", Whole(1, 1000), text, default=default)


def answered(
    outputs: Outputs,
    validate: "Callable[[Told, str | None], Validation]",
    *,
    save: str | None,
    spellings: Mapping[str, Spelling],
    inputs: Mapping[str, Any],
    described: "Callable[[Validation], Mapping[str, Any] | None]" = lambda _: None,
    show_all: bool | None = None,
) -> int:
    """Validate, with a line that says how far it is, answer, and return the exit status.

    `described` are the keys of a program that -o may write, with the error of its law.
    """
    outputs.check()
    place = save or _beside(outputs)
    if place is not None:
        Outputs([place], formats=("json",)).check()
    try:
        with Progress("validating") as progress, spelled_with(spellings, click.UsageError):
            validation = validate(progress, place)
    except KeyboardInterrupt:
        tell("nothing was predicted yet, so that there is nothing to show.")
        raise
    validation = with_inputs(validation, **inputs)
    if validation.ended_by == "interrupted":
        outputs = outputs.of_part()
    from parcast.laws.allowances import platform_here

    write: Callable[[str], None] = validation.save
    if len({part.law for part in validation.parts}) == 1:
        errors = validation.law_errors(platform_here())
        write = writer(errors, described(validation))
    options: dict[str, Any] = {} if show_all is None else {"show_all": show_all}
    outputs.give(validation, rows=validation.measurement_rows, write=write, **options)
    return _status(validation)


def _beside(outputs: Outputs) -> str | None:
    """Path for the predictions beside the first file of the answer."""
    files = [path for path in outputs.paths if path != "-"]
    return str(Path(files[0]).with_suffix(".predictions.json")) if files else None


def _status(validation: "Validation") -> int:
    """Tell the exit status, and on stderr why it is not 0."""
    if validation.ended_by == "interrupted":
        tell("interrupted.")
        return INTERRUPTED
    wrong = [part.name for part in validation.parts if part.holds is False]
    if wrong:
        laws = "The law does" if len(wrong) == 1 else "The laws do"
        tell(f"no: {laws} not hold for {', '.join(wrong)}.")
        return ANSWER_IS_NO
    open_ = [part.name for part in validation.parts if part.holds is None]
    open_ += list(validation.failures)
    if open_:
        tell(f"no answer for {', '.join(open_)}: the verdict and warnings say why.")
    return NO_FORECAST if open_ else ANSWERED
