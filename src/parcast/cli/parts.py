"""A command with parts: `parcast explain pipeline`; each part is a command named by its place.

A command may have parts beside what it does itself: `parcast run sort` runs a program, and another
first argument names a part. Then it is the default of its parts: it reads everything that
does not begin with the name of one, as it does without them.
"""

import difflib
import os
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from parcast.cli.answering import NEAR, Answering
from parcast.places import load

ENDING: Final = re.compile(r"\.[A-Za-z]\w{0,7}\Z")  # of the name of a file
HEADING: Final = "Commands"  # of the list in the help


class CommandParts(click.Group):
    """Commands by name, loaded when asked for, below a command of their own.

    `parts` are places, or commands, by name. `default` is the command that takes over where the
    first argument is no part, `names` are words that it knows. The part `of_files` takes over
    where an argument is a file instead.
    """

    def __init__(
        self,
        name: str,
        parts: Mapping[str, str | click.Command],
        *,
        default: Answering | None = None,
        names: Collection[str] = (),
        of_files: str = "",
        **settings: Any,
    ) -> None:
        super().__init__(name, **settings)
        self.parts, self.default, self.names = parts, default, names
        self.of_files = of_files
        if default is not None:
            self.params, self.help, self.short_help = (
                default.params,
                default.help,
                default.short_help,
            )
            default.parts = self

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name all parts."""
        return list(self.parts)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Load a part, or return None if there is no such part."""
        return self._part(cmd_name) if cmd_name in self.parts else None

    def _part(self, name: str) -> click.Command:
        """Load a part."""
        part = self.parts[name]
        command: click.Command = load(part) if isinstance(part, str) else part
        return command

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Give the option for help; arguments and other options are those of the default."""
        option = self.get_help_option(ctx)
        return [option] if option is not None else []

    def summaries(self) -> list[tuple[str, str]]:
        """Names of the parts, and what each does in a line."""
        named = [(name, self._part(name)) for name in self.parts]
        return [(name, command.get_short_help_str(limit=80)) for name, command in named]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the parts, all summaries in one column."""
        if self.parts:
            with formatter.section(HEADING):
                formatter.write_dl(self.summaries())

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Make the context of the part that is named, or of the default."""
        own = click.Context(self, info_name=info_name, parent=parent, **extra)
        if args and args[0] in self.parts:
            return self._part(args[0]).make_context(args[0], args[1:], parent=own, **extra)
        if self.of_files and self._names_a_file(args):
            return self._part(self.of_files).make_context(self.of_files, args, own, **extra)
        if args and not args[0].startswith("-") and not own.resilient_parsing:
            self._suggest(args[0], own)
        if not args and (self.default is None or own.resilient_parsing):
            return own
        if self.default is not None:
            return self.default.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def _names_a_file(self, args: list[str]) -> bool:
        """Whether an argument is a file, or looks like one: values of options do not count."""
        options = [x for x in self.params if isinstance(x, click.Option) and not x.is_flag]
        valued = {name for option in options for name in option.opts}
        words = [
            word
            for word, before in zip(args, ["", *args], strict=False)
            if not word.startswith("-") and before not in valued
        ]
        known = {*self.names, *self.parts}
        return any(x not in known and (ENDING.search(x) or os.path.isfile(x)) for x in words)

    def _suggest(self, word: str, ctx: click.Context) -> None:
        """Refuse a word that is no part, unless it may be for the default."""
        if word in self.names:
            return
        every = [*self.parts, *self.names]
        near = difflib.get_close_matches(word, every, n=1, cutoff=NEAR)
        if self.default is not None and not (near and near[0] in self.parts):
            return
        hint = f"Did you mean {near[0]}?" if near else f"There is {', '.join(self.parts)}."
        raise click.UsageError(f"{word!r:.60} is not a command of {ctx.command_path}. {hint}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Print the help where no part is named."""
        click.echo(ctx.get_help())

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of parts, and what the default takes: files where no name fits."""
        found = super().shell_complete(ctx, incomplete)
        if self.default is None:
            return found
        found += [CompletionItem(name) for name in self.names if name.startswith(incomplete)]
        seen = {item.value for item in found}
        more = self.default.shell_complete(ctx, incomplete)
        found += [item for item in more if item.value not in seen]
        arguments = [x for x in self.default.get_params(ctx) if isinstance(x, click.Argument)]
        return found or [y for x in arguments[:1] for y in x.shell_complete(ctx, incomplete)]


def with_parts(
    default: Answering,
    parts: Mapping[str, str | click.Command],
    *,
    names: Collection[str] = (),
    of_files: str = "",
) -> CommandParts:
    """Give a command parts; it is the default, `names` and `of_files` as of `CommandParts`."""
    assert default.name is not None
    return CommandParts(default.name, parts, default=default, names=names, of_files=of_files)
