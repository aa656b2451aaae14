"""Plans of other packages: a command for each, as those of this package have.

Another package names an `OwnPlan` in the group `parcast.deciding` of its entry points.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, spelled_with
from parcast.cli.options import all_option, answer_options
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.screen import tell
from parcast.places import plugins

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
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnPlan:
    """A plan: what lists say of it, its options, and the function that gives its alternatives."""

    summary: str  # a line
    alternatives: Callable[..., Any]  # of the texts of the options: `alternatives.Alternatives`
    options: Mapping[str, str] = field(default_factory=dict)  # help by name, without "--"


class PlacesOfPlans(Mapping[str, str]):
    """Where their commands are; other packages are asked where a name is not of this package."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self.own = own

    def __getitem__(self, name: str) -> str:
        """Place of the command of a plan, which `__getattr__` of this module makes."""
        return self.own.get(name, f"{__name__}:{name}")

    def __contains__(self, name: object) -> bool:
        """Whether there is such a plan."""
        return name in self.own or name in of_plugins(self.own)

    def __iter__(self) -> Iterator[str]:
        """Names of the plans, those of other packages last."""
        return iter([*self.own, *of_plugins(self.own)])

    def __len__(self) -> int:
        """Number of plans."""
        return sum(1 for _ in self)


def of_plugins(taken: Collection[str] = ()) -> dict[str, OwnPlan]:
    """Plans of other packages; what is broken is ignored with a warning."""
    return plugins(
        GROUP,
        taken=taken,
        is_one=lambda _, x: isinstance(x, OwnPlan) and _takes_options(x),
        what=f"a plan, {__name__}.OwnPlan: a summary, options, a function that takes these",
    )


def _takes_options(plan: OwnPlan) -> bool:
    """Whether the function of a plan can be called with its options."""
    try:
        signature(plan.alternatives).bind(**plan.options)
    except TypeError:
        return False
    return True


def __getattr__(name: str) -> click.Command:
    """Give the command of a plan of another package."""
    if name.startswith("_") or name not in (found := of_plugins()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return command_of(name, found[name])


def command_of(name: str, plan: OwnPlan) -> click.Command:
    """Make the command of a plan."""

    @cli_command(name=name, help=plan.summary + HELP_END, short_help=plan.summary)
    @all_option("alternative")
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

    own = [
        click.Option([f"--{option}"], metavar="VALUE", help=text)
        for option, text in plan.options.items()
    ]
    command.params[:0] = own
    return command


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
    author = f"{function.__module__}.{getattr(function, '__qualname__', name)}"
    alternatives = function(**given)
    ways = checked(alternatives, plan=name, author=author)
    found = OwnDecision(name=name, alternatives=ways)
    if found.chosen is None:
        return found
    return replace(found, reasons=reasons_of(alternatives, found.chosen, plan=name, author=author))
