"""Pieces of the batch scripts for Slurm that commands write."""

import math
import shlex
from collections.abc import Sequence
from typing import Final

WIDTH: Final = 78


def clock(seconds: float) -> str:
    """Write a time as Slurm reads it, in whole minutes."""
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


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
