"""Processor counts that only text tells: names of files, commands, names of benchmarks.

A number is a count where a word says so: `np8`, `solver.p64.r1`, `16ranks`, `OMP_NUM_THREADS=4`,
`mpirun -n 4`. Ranks and threads of one text are multiplied. Numbers without such a word are a
count only in names of several files that differ in nothing else, and look like counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import PurePath
from typing import Final

from parcast.errors import Argument
from parcast.files.faults import Faults
from parcast.timings.tables.durations import group_of
from parcast.units import shown
from parcast.words import listed

RANKS: Final = (
    r"(?:num|n)?_?(?:procs?|processes|processors?|ranks?|tasks?)|mpi(?:_?ranks?|_?procs?)?|np|p"
)
CORES: Final = r"n?_?(?:cores?|cpus?)"
THREADS: Final = r"n?_?threads?|omp(?:_?threads?)?|nt"
OTHERS: Final = r"n?_?(?:gpus?|workers?|executors?)"  # counts where no other is there
KINDS: Final = {
    "ranks": RANKS,
    "cores": CORES,
    "threads": THREADS,
    "nodes": r"n?_?nodes?|nn",
    "per_node": r"[cpt]pn",
    "others": OTHERS,
}
_EACH = re.compile(r"[_ -]?per[_ -]?(?:node|task|rank|proc)", re.I)
BEYOND: Final = 10**8  # [D] a number of more digits is a date or an identity
TIME_PATTERN, COUNT_PATTERN = Argument("time_pattern"), Argument("count_pattern")
MOST_NAMED = 3  # files in a message


@cache  # most questions ask for none of them
def _before(words: str) -> re.Pattern[str]:
    """Find a word before its number: `np8`."""
    return re.compile(
        rf"(?<![^\W_])(?:{words})[ _.=:-]?0*([0-9]{{1,8}})(?![^\W_]|\.[0-9])", re.IGNORECASE
    )


@cache
def _after(words: str) -> re.Pattern[str]:
    """Find a word behind its number: `16ranks`."""
    return re.compile(
        rf"(?<![0-9.])(?<![^\W_])0*([0-9]{{1,8}})[ _-]?(?!p(?![a-z]))(?:{words})(?![^\W_])",
        re.IGNORECASE,
    )


_NUMBER = re.compile(r"[0-9]+")
_IDENTITY = re.compile(r"(?:slurm|job|jobid|pid|run|rep|repetition|iter|trial|v|version)[-_.]?$")
LEAST_RATIO: Final = 1.5  # [D] between two counts that were chosen to see how a program scales


def count_in(text: str) -> int | None:
    """Processors that a text tells by its words; None where none or several different do.

    >>> count_in("solver.p64.n1000.r1"), count_in("8ranks_4threads"), count_in("strong_008_cpu")
    (64, 32, 8)
    >>> count_in("run_3"), count_in("np4_np8"), count_in("2nodes_48ppn"), count_in("2nodes_8tasks")
    (None, None, 96, 8)
    """
    found = {kind: set(_counts(text, kind)) - {0} for kind in KINDS}
    if any(len(counts) > 1 for counts in found.values()) or _EACH.search(text):
        return None
    if found["ranks"] or found["threads"]:
        return prod(count for kind in ("ranks", "threads") for count in found[kind])
    if found["per_node"]:
        return prod([*found["nodes"], *found["per_node"]]) if found["nodes"] else None
    return next((count for kind in ("cores", "nodes", "others") for count in found[kind]), None)


def _counts(text: str, kind: str) -> Iterator[int]:
    """Go through the counts of one kind, each read once: `4ranks_2threads` has no `ranks_2`."""
    after = list(_after(KINDS[kind]).finditer(text))
    yield from (int(match[1]) for match in after)
    for match in _before(KINDS[kind]).finditer(text):
        if not any(x.start() <= match.start() < x.end() for x in after):
            yield int(match[1])


def counts_of_files(paths: Sequence[str]) -> list[int] | None:
    """Processors of some files by their names, or by those of their folders; None: they tell none.

    >>> counts_of_files(["runs/p4/out.json", "runs/p8/out.json"])
    [4, 8]
    >>> counts_of_files(["talp_16.json", "talp_64.json"]), counts_of_files(["run_1", "run_2"])
    ([16, 64], None)
    """
    for names in ([PurePath(x).stem for x in paths], [PurePath(x).parent.name for x in paths]):
        counts = [count_in(name) for name in names]
        known = [count for count in counts if count is not None]
        if known:
            return known if len(known) == len(counts) else None
        if len(set(names)) > 1:
            return _by_difference(names)
    return None


def short_names(paths: Sequence[str]) -> list[str]:
    """Name files without their folders, but for the last where names are not enough.

    >>> short_names(["runs/p4/out", "runs/p8/out"]), short_names(["runs/4.json", "runs/8.json"])
    (['p4/out', 'p8/out'], ['4.json', '8.json'])
    """
    names = [PurePath(path).name for path in paths]
    if len(set(names)) == len(names):
        return names
    return ["/".join(PurePath(path).parts[-2:]) for path in paths]


def _by_difference(names: Sequence[str]) -> list[int] | None:
    """Give the one number in which several names differ, if it can be a count."""
    if len({_NUMBER.sub("0", name) for name in names}) > 1:
        return None
    numbers = [[int(text) for text in _NUMBER.findall(name)] for name in names]
    differing = [i for i, column in enumerate(zip(*numbers, strict=True)) if len(set(column)) > 1]
    if len(differing) != 1:
        return None
    place = differing[0]
    before = names[0][: [m.start() for m in _NUMBER.finditer(names[0])][place]]
    counts = [own[place] for own in numbers]
    in_order = sorted(set(counts))
    is_spread = all(later >= LEAST_RATIO * earlier for earlier, later in pairwise(in_order))
    is_bounded = in_order[0] > 0 and in_order[-1] < BEYOND
    is_count = is_bounded and not _IDENTITY.search(before.lower())
    is_numbered = len(in_order) == in_order[-1]  # 1, 2: the files may be counted, not the ranks
    return counts if is_spread and is_count and not is_numbered else None


LAUNCHER: Final = re.compile(
    r"(?:.*/)?(?:mpi(?:run|exec)(?:\.\w+)?|srun|aprun|jsrun|ibrun|lrun|orterun|prterun|flux)"
)
OF_RANKS: Final = frozenset({"np", "ntasks", "nprocs", "procs", "processes", "ranks", "nranks"})
OF_THREADS: Final = frozenset(
    {"j", "jobs", "T", "threads", "nthreads", "num-threads", "num_threads", "nt", "mmt", "ntomp"}
    | {"ntmpi", "workers", "num-workers", "cores", "cpus", "ncpus", "cpus-per-task", "parallel"}
)
_COMMAND_WORD = re.compile(r"[^\s;'\"|&()]+")
_OPTION = re.compile(r"--?([A-Za-z][\w-]*)")
_NUMBERED = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)=|--?(?P<option>[A-Za-z][\w-]*?)=?)?(?P<number>[0-9]{1,15})"
)


def numbers_in_command(command: str) -> tuple[str, dict[str, float], list[int]]:
    """Take the numbers out of a command: what is left, numbers by name, and counts among them.

    >>> numbers_in_command("OMP_NUM_THREADS=2 mpirun -n 4 ./solve -n 100 7")
    ('OMP_NUM_THREADS=# mpirun -n # ./solve -n # #', {'n': 100.0, 'arg1': 7.0}, [2, 4])
    """
    others: dict[str, float] = {}
    counts: list[int] = []
    words: list[str] = []
    is_launched = False

    def without_number(word: re.Match[str]) -> str:
        nonlocal is_launched
        before = words[-1] if words else ""
        words.append(word[0])
        match = _NUMBERED.fullmatch(word[0])
        if match is None:
            is_launched = is_launched or bool(LAUNCHER.fullmatch(word[0]))
            return word[0]
        alone = _OPTION.fullmatch(before)
        name = match["option"] or match["name"] or (alone[1] if alone else "")
        is_rank = name in OF_RANKS or (name == "n" and is_launched)
        if is_rank or name in OF_THREADS or name.upper().endswith("NUM_THREADS"):
            counts.append(int(match["number"]))
            is_launched = is_launched and not is_rank
        else:
            unnamed = f"arg{1 + sum(x.startswith('arg') for x in others)}"
            others[name.replace("-", "_") or unnamed] = float(match["number"])
        return word[0][: match.start("number")] + "#"

    return _COMMAND_WORD.sub(without_number, command), others, counts


@dataclass(frozen=True, slots=True)
class Patterns:
    """How to find times and counts: one group of each is what was searched for."""

    time: re.Pattern[str] | None = None
    count: re.Pattern[str] | None = None

    def counts_of_files(
        self, names: Sequence[str], faults: Faults, axis: str = "p"
    ) -> tuple[list[int] | None, list[str]]:
        """Give p, or another axis, of files by their names, and a note; None without any."""
        if self.count is None:
            counts = counts_of_files(names)
        else:
            found = [self.count.search(name) for name in names]
            for name, match in zip(names, found, strict=True):
                if match is None:
                    faults.refuse(
                        f"must have a count that {COUNT_PATTERN} finds in the names of files, got "
                        f"none in {shown(name)}. Correct the pattern."
                    )
            counts = [count_of(match, faults) for match in found if match]
        if not counts:
            return None, []
        pairs = zip(counts, short_names(names), strict=True)
        told = [f"{p} of {shown(name)}" for p, name in pairs]
        said = f"{axis} is taken from the names of the files: {listed(told, MOST_NAMED)}."
        return counts, [said]


def count_of(match: re.Match[str], faults: Faults, line: int | None = None) -> int:
    """Give the processors that a pattern found."""
    text = group_of(match)
    if not re.fullmatch(r"\s*\+?[0-9]{1,15}\s*", text):
        faults.refuse(
            f"must be a processor count where {COUNT_PATTERN} finds one, got {shown(repr(text))}. "
            "Put the digits into its group: (\\d+)",
            line=line,
        )
    return int(text)
