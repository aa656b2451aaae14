"""Subjects of other packages: `parcast validate NAME`, as those of this package have.

Another package names an `OwnSubject` in the group `parcast.validation` of its entry points.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import cli_command
from parcast.cli.outputs import Outputs
from parcast.cli.plugged import WithPlugins, options_of
from parcast.errors import ParameterError
from parcast.places import PluginFaultError
from parcast.validation.answering import answered, validating

if TYPE_CHECKING:
    from parcast.trials.clock import Progress
    from parcast.validation.result import Validation
    from parcast.validation.subject import Subject

GROUP: Final = "parcast.validation"
HELP_END: Final = """

\b
Exit status: 0    answered: the law holds
             1    answered: it does not
             2    wrong use, or an output that cannot be written
             4    no answer: the runs do not decide, or not enough time
             70   a fault of the package that has this subject
             130  interrupted; completed rows are shown
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnSubject:
    """A subject: what lists say of it, its options, and the function that makes it."""

    summary: str  # a line
    subject: "Callable[..., Subject[Any, Any]]"  # of the texts of the options
    options: Mapping[str, str] = field(default_factory=dict)  # help by name, without "--"


def with_plugins(own: Mapping[str, str], names: Collection[str]) -> WithPlugins:
    """Give the commands of subjects, those of other packages as well; `names` are taken."""
    return WithPlugins(
        own=own, group=GROUP, kind=OwnSubject, function="subject", command=command_of, taken=names
    )


def command_of(name: str, own: OwnSubject) -> click.Command:
    """Make the command of a subject."""

    @cli_command(name=name, help=own.summary + HELP_END, short_help=own.summary)
    @validating
    def command(
        ctx: click.Context,  # noqa: ARG001 - of every command
        /,
        *,
        outputs: Outputs,
        save: str | None,
        seed: int,
        time_limit: float | None,
        **options: str | None,
    ) -> int:
        """Answer the question and return the exit status."""
        given = {option: text for option, text in options.items() if text is not None}

        def validate(progress: "Progress", place: str | None) -> "Validation":
            common = {"seed": seed, "time_limit": time_limit, "save": place}
            return validated(name, own, given, progress=progress, **common)

        return answered(
            outputs,
            validate,
            save=save,
            spellings={option: f"--{option}" for option in own.options},
            inputs={"options": given},
        )

    command.params[:0] = options_of(own)
    return command


def validated(name: str, own: OwnSubject, given: Mapping[str, str], **asked: Any) -> "Validation":
    """Validate a subject of another package; one that breaks its protocol is named."""
    from parcast.mpi.find import available_cores
    from parcast.validation.subject import require_subject
    from parcast.validation.subjects import Asked, validate_subjects

    subject, common = own.subject(**given), Asked(**asked)
    names = f"{name}-validation", "subject"
    try:
        require_subject(subject)
        return validate_subjects([subject], common, names=names, cores=len(available_cores()))
    except ParameterError as refusal:
        if refusal.name in own.options:
            raise
        raise PluginFaultError(
            f"{refusal}".rstrip("."), of=own.subject.__module__, name=name
        ) from refusal
