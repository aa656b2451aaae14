"""`parcast plan`: its commands, and one for each plan of other packages.

Another package names an `OwnPlan` in the group `parcast.deciding` of its entry points.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, spelled_with
from parcast.cli.options import all_option, answer_options
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.plugged import WithPlugins, options_of
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.deciding.decision import OwnDecision
    from parcast.show.result import Result


GROUP: Final = "parcast.deciding"
NONE: Final = "nothing meets the limits"
HELP_END: Final = """

\b
Exit status: 0  answered
             1  answered, and the answer is no: nothing meets the limits
             2  wrong use, or an output that cannot be written
             70 a fault of the package that has this plan
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnPlan:
    """A plan: what lists say of it, its options, and the function that gives its alternatives."""

    summary: str  # a line
    alternatives: Callable[..., Any]  # of the texts of the options: `alternatives.Alternatives`
    options: Mapping[str, str] = field(default_factory=dict)  # help by name, without "--"


def command_of(name: str, plan: OwnPlan) -> click.Command:
    """Make the command of a plan."""

    @cli_command(name=name, help=plan.summary + HELP_END, short_help=plan.summary)
    @all_option
    @answer_options()
    def command(
        ctx: click.Context,  # noqa: ARG001 - of every command
        /,
        *,
        outputs: Outputs,
        show_all: bool,
        **options: str | None,
    ) -> int:
        """Answer the question and return the exit status."""
        given = {option: text for option, text in options.items() if text is not None}
        outputs.check([])
        with spelled_with({option: f"--{option}" for option in plan.options}, click.UsageError):
            result = decided(name, plan, given)
        result = with_inputs(result, options=given)
        return decide(outputs, result, is_found=result.chosen is not None, show_all=show_all)

    command.params[:0] = options_of(plan)
    return command


def with_plugins(own: Mapping[str, str]) -> WithPlugins:
    """Give the commands of plans, those of other packages as well."""
    return WithPlugins(
        own=own, group=GROUP, kind=OwnPlan, function="alternatives", command=command_of
    )


def decide(
    outputs: Outputs, result: "Result", *, is_found: bool, none: str = NONE, **shown: Any
) -> int:
    """Print an answer, and give the exit status: whether anything is recommended."""
    outputs.give(result, **shown)
    if not is_found:
        tell(f"no: {none}.")
        return ANSWER_IS_NO
    return ANSWERED


def decided(name: str, plan: OwnPlan, given: Mapping[str, str]) -> "OwnDecision":
    """Ask a plan for its alternatives, and rank them; one that breaks its protocol is named."""
    from parcast.deciding.alternatives import checked, reasons_of
    from parcast.deciding.decision import OwnDecision

    function = plan.alternatives
    author = function.__module__
    alternatives = function(**given)
    ways = checked(alternatives, plan=name, author=author)
    found = OwnDecision(name=name, alternatives=ways)
    if found.chosen is None:
        return found
    return replace(found, reasons=reasons_of(alternatives, found.chosen, plan=name, author=author))


PLAN: Final = {
    "io": "parcast.arrays.planning.command:command",
    "pipeline": "parcast.pipeline.planning.command:command",
    "proposal": "parcast.deciding.proposal.command:command",
    "search": "parcast.applications.text.search.planning:command",
}
