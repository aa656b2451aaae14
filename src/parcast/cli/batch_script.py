"""Pieces of the batch scripts for Slurm that commands write."""

import shlex
from collections.abc import Sequence
from typing import Final

WIDTH: Final = 78


def wrapped(words: Sequence[str]) -> str:
    """Write a command, broken into lines before its options."""
    lines: list[str] = []
    for word in map(shlex.quote, words):
        is_option = word.startswith("-")
        if not lines or (is_option and len(lines[-1]) + len(word) > WIDTH // 2):
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n    ".join(lines)
