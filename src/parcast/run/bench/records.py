"""What a micro-benchmark writes while it runs, and how that is read again.

One JSON line for each benchmark and size with the times of all its repetitions, flushed at once,
so that a launch that is interrupted keeps what it has. A torn last line is passed over.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from parcast.errors import ParameterError

Cell = tuple[str, int, int]  # benchmark, ranks, bytes
FEWEST_LEFT: Final = 3  # repetitions, of which a median is taken without the disturbed ones [D]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes times and facts to a file; where there is no path, as on ranks but one, nothing."""

    path: Path | None
    ranks: int = 1

    def times(
        self, bench: str, size: int, times: Iterable[float], disturbed: Iterable[int] = ()
    ) -> None:
        """Write the times of the repetitions of a benchmark at one size.

        Parameters
        ----------
        bench : str
        size : int
            [B]
        times : iterable of float
            [s]
        disturbed : iterable of int, optional
            How often the system took the core from a rank in each repetition. [1]
        """
        line = {"bench": bench, "ranks": self.ranks, "bytes": size, "times": list(times)}
        self._write(line | {"disturbed": list(disturbed)})

    def fact(self, name: str, value: Any) -> None:
        """Write something else that was found out."""
        self._write({"fact": name, "value": value})

    def _write(self, line: dict[str, Any]) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """What one launch measured."""

    times: dict[Cell, list[float]]  # of repetitions, above 0 [s]
    facts: dict[str, Any] = field(default_factory=dict)
    disturbed: dict[Cell, list[float]] = field(default_factory=dict)  # not among the times [s]
    refused: dict[Cell, int] = field(default_factory=dict)  # repetitions of no or negative time

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return not self.times

    def sizes(self, bench: str, ranks: int) -> list[int]:
        """Sizes of a benchmark, ascending. [B]."""
        return sorted(size for name, among, size in self.times if (name, among) == (bench, ranks))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How much a benchmark measures."""

    sizes: tuple[int, ...]  # of messages or requests, ascending [B]
    budget: float  # time for the repetitions of one size [s]
    fewest: int = 5  # repetitions
    most: int = 200
    directory: str = ""  # where the storage is measured

    def __post_init__(self) -> None:
        """Refuse to exist if nothing could be measured."""
        if not self.sizes or min(self.sizes) < 0 or not 1 <= self.fewest <= self.most:
            raise ParameterError(
                f"A plan must have sizes of at least 0 and 1 <= fewest <= most, got {self}."
            )

    def to_text(self) -> str:
        """As an argument of a program."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_text(cls, text: str) -> "Plan":
        """Read what `to_text` wrote."""
        told = json.loads(text)
        return cls(**{**told, "sizes": tuple(told["sizes"])})

    def repetitions(self, cost: float) -> int:
        """Give how often something that takes `cost` [s] is measured.

        Examples
        --------
        >>> [Plan(sizes=(8,), budget=0.1).repetitions(x) for x in (1e-6, 1e-3, 10.0)]
        [200, 100, 5]
        """
        wanted = self.most if cost <= 0 else round(min(self.budget / cost, self.most))
        return max(self.fewest, wanted)


def read_launch(path: Path, *, is_pinned: bool = True) -> Launch:
    """Read what a benchmark wrote; nothing where there is no file.

    Parameters
    ----------
    path : path
    is_pinned : bool, default True
        Whether each rank had a core of its own. Then repetitions in which the system took it for
        another program are kept apart as `disturbed`, if at least 3 others are left; where ranks
        take turns on a core, this is what is measured.

    Returns
    -------
    Launch
        Repetitions that took no or negative time, since the clock stepped or is too coarse, are
        counted in `refused` and not among the times.
    """
    found = Launch(times={})
    if not path.exists():
        return found
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(json.JSONDecodeError):  # the last line of a run that was killed
            _take(found, json.loads(text), is_pinned=is_pinned)
    return found


def _take(found: Launch, line: dict[str, Any], *, is_pinned: bool) -> None:
    """Add one line."""
    if "fact" in line:
        found.facts[line["fact"]] = line["value"]
        return
    cell = (line["bench"], line["ranks"], line["bytes"])
    flags = line.get("disturbed") or [0] * len(line["times"])
    pairs = [(time, flag) for time, flag in zip(line["times"], flags, strict=True) if time > 0]
    times = [time for time, flag in pairs if not flag]
    if is_pinned and len(times) >= FEWEST_LEFT:
        if len(times) < len(pairs):
            found.disturbed[cell] = [time for time, flag in pairs if flag]
    else:
        times = [time for time, _ in pairs]
    if times:
        found.times.setdefault(cell, []).extend(times)
    if len(pairs) < len(line["times"]):
        found.refused[cell] = found.refused.get(cell, 0) + len(line["times"]) - len(pairs)
