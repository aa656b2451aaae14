"""A command that is called within this process: its answers as values, where it would print."""

from collections.abc import Sequence
from dataclasses import dataclass

from parcast.advice import spelled_by
from parcast.cli import cli
from parcast.cli.failures import invoked, meaning, spell
from parcast.cli.outputs import TAKEN, GivenAnswer
from parcast.cli.running import one_runs
from parcast.cli.screen import SAID


@dataclass(frozen=True, kw_only=True, slots=True)
class CalledCommand:
    """What a command answered, and what it said beside that, or why there is no answer."""

    answers: Sequence[GivenAnswer]
    said: Sequence[str]
    refusal: Sequence[str]
    status: int


def called(args: Sequence[str]) -> CalledCommand:
    """Call a command by its words; several may run at a time, each in a thread of its own."""
    answers: list[GivenAnswer] = []
    said: list[str] = []
    refusal: list[str] = []
    tokens = TAKEN.set(answers), SAID.set(said)
    try:
        with spelled_by(spell), one_runs():
            try:
                status = invoked(cli, list(args))
            except Exception as failure:
                refusal, status = meaning(failure)
    finally:
        TAKEN.reset(tokens[0])
        SAID.reset(tokens[1])
    return CalledCommand(answers=answers, said=said, refusal=refusal, status=status)
