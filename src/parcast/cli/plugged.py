"""Commands of other packages beside those of this package, made of what their entry points name.

An entry point names an object with a line on what it does, options that are texts, and a function
of these. It becomes a command, whose name is that of the entry point.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Final, Protocol

import click

from parcast.places import plugins

TAKES: Final = "a summary, options, a function that takes these"


class OwnCommand(Protocol):
    """What an entry point names; its class names the function that it has beside these."""

    @property
    def summary(self) -> str:
        """What lists say of it, in a line."""

    @property
    def options(self) -> Mapping[str, str]:
        """Help of its options by their names, without "--"."""


def takes_options(function: Callable[..., Any], options: Mapping[str, str]) -> bool:
    """Whether a function can be called with these options."""
    try:
        signature(function).bind(**options)
    except TypeError:
        return False
    return True


def options_of(own: OwnCommand) -> list[click.Parameter]:
    """Make its options."""
    return [
        click.Option([f"--{option}"], metavar="VALUE", help=text)
        for option, text in own.options.items()
    ]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WithPlugins(Mapping[str, str | click.Command]):
    """Places of own commands, and commands of other packages where a name is not one of these.

    Other packages are asked only then. What is broken in them is ignored with a warning.
    """

    own: Mapping[str, str]
    group: str  # of entry points
    kind: type  # of what they name
    function: str  # name of the function that it has
    command: Callable[[str, Any], click.Command]  # what makes a command of it
    taken: Collection[str] = ()  # further names that nobody else may have

    def plugins(self) -> dict[str, Any]:
        """What other packages have."""
        return plugins(
            self.group,
            taken=[*self.own, *self.taken],
            is_one=lambda _, x: isinstance(x, self.kind) and self._is_callable(x),
            what=f"a {self.kind.__module__}.{self.kind.__name__}: {TAKES}",
        )

    def _is_callable(self, own: Any) -> bool:
        """Whether its function takes its options."""
        return takes_options(getattr(own, self.function), own.options)

    def __getitem__(self, name: str) -> str | click.Command:
        """Place of a command of this package, or the command of another."""
        return self.own[name] if name in self.own else self.command(name, self.plugins()[name])

    def __contains__(self, name: object) -> bool:
        """Whether there is such a command."""
        return name in self.own or (name not in self.taken and name in self.plugins())

    def __iter__(self) -> Iterator[str]:
        """Names of the commands, those of other packages last."""
        return iter([*self.own, *self.plugins()])

    def __len__(self) -> int:
        """Number of commands."""
        return sum(1 for _ in self)
