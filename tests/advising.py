"""Whether a command line of parcast could be run, by what click knows of its commands."""

import shlex
from functools import cache

import click

from parcast.cli import COMMANDS, cli
from parcast.cli.parts import CommandParts


@cache
def command_of(*words):
    """Command that the first words name, and how many of them do."""
    command, used = cli, 0
    while isinstance(command, click.Group) and used < len(words):
        inner = command.get_command(click.Context(command), words[used])
        if inner is None:
            break
        command, used = inner, used + 1
    if isinstance(command, CommandParts) and command.default is not None:
        command = command.default
    return command, used


@cache
def options_of(command):
    every = {x for p in command.params if isinstance(p, click.Option) for x in spellings(p)}
    return every | {"--help", "-h"}


def spellings(option):
    return [*option.opts, *option.secondary_opts]


def faults_of(words):
    """Say what is wrong with the words after `parcast`: the command, or its options."""
    command, used = command_of(*words)
    if not used:
        return [f"{' '.join(words)}: no command"]
    options = [word for word in words[used:] if word.startswith("-") and word != "-"]
    split = [part for option in options for part in (shlex.split(option) or [option])[:1]]
    return [f"{' '.join(words)}: no option {x}" for x in split if x not in options_of(command)]


def commands_in_module(module):
    return [
        command
        for command in every_command()
        if command.callback is not None and _home(command) == module
    ]


@cache
def every_command():
    """Every command that answers, parts of others as well."""
    found, wanted = [], [cli.get_command(click.Context(cli), name) for name in COMMANDS]
    while wanted:
        command = wanted.pop()
        if isinstance(command, CommandParts):
            wanted += [command.get_command(click.Context(command), name) for name in command.parts]
            command = command.default
        elif isinstance(command, click.Group):
            context = click.Context(command)
            wanted += [command.get_command(context, x) for x in command.list_commands(context)]
            command = None
        if command is not None:
            found.append(command)
    return found


def _home(command):
    """Module of the function of a command, below what wraps it."""
    function = command.callback
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__module__
