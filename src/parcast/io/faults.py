"""The faults found while a file is read, gathered so that all of them come back together."""

from typing import NoReturn

from parcast.errors import FileProblems, Problem

MOST_LISTED = 20  # as many as a person works through before trying again


class Faults:
    """The faults of one file, the first of them in full and the others counted."""

    def __init__(self, path: str) -> None:
        self.path = path  # as messages name the file
        self._listed: list[Problem] = []
        self._unlisted = 0

    def __len__(self) -> int:
        """Return how many faults were found."""
        return len(self._listed) + self._unlisted

    def add(self, message: str, *, line: int | None = None, field: str = "") -> None:
        """Note one fault and go on."""
        if len(self._listed) < MOST_LISTED:
            self._listed.append(Problem(message=message, line=line, field=field))
        else:
            self._unlisted += 1

    def refuse(self, message: str, *, line: int | None = None) -> NoReturn:
        """Raise `FileProblems` with this fault after all those noted so far."""
        self.add(message, line=line)
        self.raise_all()

    def raise_all(self) -> NoReturn:
        """Raise `FileProblems` with the faults noted, in the order of their lines."""
        in_order = sorted(self._listed, key=lambda problem: problem.line or 0)
        raise FileProblems(self.path, in_order, unlisted=self._unlisted)
