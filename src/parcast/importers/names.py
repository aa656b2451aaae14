"""Axes and callpaths of benchmarks that have names and numbers given to them.

A name such as `test_solve[4-100]` has the numbers in it as well, which are no part of what was
timed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parcast.importers.axes import tells_p, words_for_p
from parcast.importers.counts import KINDS, count_in
from parcast.units import shown
from parcast.words import listed

MOST_NAMED = 3
LOOKED_AT = 1_000  # characters of a name that are looked at
_AT_END = re.compile(
    rf"(?<![\s_/.:=-])(?:[\s_/.:=-]++(?:{'|'.join(KINDS.values())}))?[\s_/.:=-]*+#$",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class NamedBenchmarks:
    """Benchmarks with names, and the numbers that were given to each."""

    names: Sequence[str]
    numbers: Sequence[dict[str, float]]

    def series(
        self, *, has_p: bool = False
    ) -> tuple[list[tuple[str, dict[str, float]] | None], list[str]]:
        """Callpath and axes of each, None of those to leave out, and notes.

        Where some tell a count of processors, the others are left out. Where none does, names may:
        `solve[np=4]`. Other numbers that not all have are ignored.

        >>> NamedBenchmarks(["a_1", "a_2"], [{"np": 1}, {"np": 2}]).series()
        ([('', {'np': 1}), ('', {'np': 2})], [])
        """
        numbers, notes = list(self.numbers), list[str]()
        short = [name[:LOOKED_AT] for name in self.names]
        counts = [count_in(name) for name in short]
        if not has_p and not any(tells_p([*own], {}, {}) for own in numbers) and any(counts):
            pairs = zip(numbers, counts, strict=True)
            numbers = [own | ({"p": float(p)} if p else {}) for own, p in pairs]
            some = next(i for i, p in enumerate(counts) if p)
            notes.append(f"p is taken from the names: {counts[some]} from {shown(short[some])}.")
        is_used = [has_p or tells_p([*own], {}, {}) for own in numbers]
        if not any(is_used):
            is_used = [True] * len(numbers)
        numbers = _one_word(numbers, is_used)
        if lacking := [name for name, used in zip(short, is_used, strict=True) if not used]:
            are = "benchmark is" if len(lacking) == 1 else "benchmarks are"
            some_names = listed(map(shown, dict.fromkeys(lacking)), MOST_NAMED)
            notes.append(f"{len(lacking)} {are} left out, as they contain no count: {some_names}.")
        used = [own for own, is_one in zip(numbers, is_used, strict=True) if is_one]
        shared = [x for x in (used[0] if used else {}) if all(x in own for own in used)]
        if odd := sorted({x for own in used for x in own} - set(shared)):
            notes.append(f"Not all benchmarks have {shown(', '.join(odd))}, which is ignored.")
        points = [{x: own[x] for x in shared if x in own} for own in numbers]
        stems = [_stem(name, point) for name, point in zip(short, points, strict=True)]
        has_names = len({x for x, is_one in zip(stems, is_used, strict=True) if is_one}) > 1
        return [
            (stem if has_names else "", point) if is_one else None
            for stem, point, is_one in zip(stems, points, is_used, strict=True)
        ], notes


def _one_word(
    numbers: Sequence[dict[str, float]], is_used: Sequence[bool]
) -> list[dict[str, float]]:
    """Call the count p where some benchmarks call it otherwise than the others."""
    words = [words_for_p([*own]) for own, used in zip(numbers, is_used, strict=True) if used]
    if any(len(some) != 1 for some in words) or len({some[0] for some in words}) < 2:
        return list(numbers)
    called = {some[0] for some in words}
    return [{("p" if x in called else x): y for x, y in own.items()} for own in numbers]


def _stem(name: str, point: dict[str, float]) -> str:
    """Give a name without the numbers of its point.

    >>> _stem("test_solve[4-100]", {"p": 4, "n": 100}), _stem("solve[np=4, gcc]", {"p": 4})
    ('test_solve', 'solve[gcc]')
    >>> _stem("solve_4", {"p": 4}), _stem("solve_np4", {"p": 4}), _stem("sha256", {"p": 4})
    ('solve', 'solve', 'sha256')
    """
    values = list(point.values())

    def without(number: re.Match[str]) -> str:
        value = float(number[0])
        if value not in values:
            return number[0]
        values.remove(value)
        return "#"

    stem, bracket, inner = _DIGITS.sub(without, name).partition("[")
    others = [x for x in re.split(r"[-, ]+", inner.rstrip("]")) if x and "#" not in x]
    stem = _AT_END.sub("", stem)
    return f"{stem}[{', '.join(others)}]" if bracket and others else stem
