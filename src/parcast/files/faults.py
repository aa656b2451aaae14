"""The faults found while a file is read, gathered so that all of them come back together.

Beside them stands how a reader takes one path or several.
"""

import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn, TypeAlias

from parcast.errors import FileProblems, ParameterError, Problem, Text, as_list

MOST_COLLECTED: Final = 100  # faults that are put into words; others are counted
MOST_LISTED: Final = 20  # as many as a person works through before trying again
MOST_ALIKE: Final = 3  # of one kind that are listed one by one; more are one message
MOST_LINES: Final = 3  # whose numbers such a message names besides its own


@dataclass(slots=True)
class _Kind:
    """Faults that are the same but for their lines and what was got there."""

    first: list[Problem] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # the first of them, those of `first` too
    count: int = 0

    def add(self, problem: Problem) -> None:
        """Take in one more."""
        self.count += 1
        if len(self.first) < MOST_ALIKE:
            self.first.append(problem)
        if problem.line is not None and len(self.lines) <= MOST_LINES:
            self.lines.append(problem.line)

    def problems(self) -> Iterator[Problem]:
        """Give them one by one, or as one message where there are many."""
        if self.count <= MOST_ALIKE:
            yield from self.first
            return
        named = ", ".join(map(str, self.lines[1:]))
        more = self.count - len(self.lines)
        also = f"lines {named} and {more} more" if more else f"lines {named}"
        yield replace(self.first[0], message=f"{self.first[0].message} Likewise {also}.")


class Faults:
    """The faults of one file: the first kinds in full, equal ones as one, the others counted."""

    def __init__(self, path: str) -> None:
        self.path = path  # as messages name the file
        self._kinds: dict[Hashable, _Kind] = {}
        self._unlisted = 0
        self._count = 0

    def __len__(self) -> int:
        """Return how many faults were found."""
        return self._count

    def add(
        self,
        message: str,
        *,
        line: int | None = None,
        field: str = "",
        kind: str | None = None,
        hint: Text = "",
    ) -> None:
        """Note one fault, at a line and a column or key, and go on.

        `kind` is what it has in common with others in that column, by default all of `message`:
        many of one kind become one message with the numbers of the first lines.
        """
        self._count += 1
        key = (field, message if kind is None else kind) if line is not None else self._count
        if key not in self._kinds and len(self._kinds) == MOST_LISTED:
            self._unlisted += 1
            return
        problem = Problem(message=message, line=line, field=field, hint=hint)
        self._kinds.setdefault(key, _Kind()).add(problem)

    def count_more(self, count: int) -> None:
        """Count faults that were found and not put into words."""
        self._count += count
        self._unlisted += count

    def refuse(self, message: str, *, line: int | None = None, field: str = "") -> NoReturn:
        """Raise `FileProblems` with this fault after all those noted so far."""
        self.add(message, line=line, field=field)
        self.raise_all()

    def raise_all(self) -> NoReturn:
        """Raise `FileProblems` with the faults noted, in the order of their lines."""
        problems = [problem for kind in self._kinds.values() for problem in kind.problems()]
        in_order = sorted(problems, key=lambda problem: problem.line or 0)
        unlisted = self._unlisted + max(0, len(in_order) - MOST_LISTED)
        raise FileProblems(self.path, in_order[:MOST_LISTED], unlisted=unlisted)


AnyPath: TypeAlias = str | os.PathLike[str]


def as_paths(paths: AnyPath | Sequence[AnyPath], *, hint: str) -> list[AnyPath]:
    """Paths as a list: one alone will do; `hint` says what to do where they are something else."""
    if isinstance(paths, str | os.PathLike):
        return [paths]
    listed: list[AnyPath] = as_list("paths", paths, hint=hint)
    if not listed:
        raise ParameterError("paths", must="name a file", got="none", hint=hint)
    return listed
