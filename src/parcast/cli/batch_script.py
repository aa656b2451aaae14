"""Batch scripts that commands write: what a job asks Slurm, PBS or LSF for, and its command.

What only a user knows stands in lines marked EDIT. Slurm does not export what it gives a job to
the steps in it since version 22.05 (cpus per task): who writes `srun` gives them once more.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from parcast.advice import Command, File
from parcast.words import clock, joined

WIDTH: Final = 78
BatchSystem: TypeAlias = Literal["slurm", "pbs", "lsf"]
SYSTEMS: Final[tuple[BatchSystem, ...]] = get_args(BatchSystem)
MARKS: Final = {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB"}
NUMBERS: Final = {"slurm": "%j", "pbs": "", "lsf": "%J"}  # of a job, in the names of its files
CHOSEN: Final = {  # what a system calls a partition and an account, and its options for them
    "slurm": {"partition": "--partition=", "account": "--account="},
    "pbs": {"queue": "-q ", "account": "-A "},
    "lsf": {"queue": "-q ", "project": "-P "},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Allocation:
    """What a job asks for; what is None is left to the batch system."""

    name: str
    seconds: float  # after which it is ended [s]
    output: str  # file, in whose name {} becomes the number of the job: 1.{}.txt
    nodes: int | None = None
    ranks: int | None = None
    ranks_per_node: int | None = None
    cpus_per_rank: int | None = None
    is_exclusive: bool = False
    partition: str = ""
    account: str = ""

    def directives(self, system: BatchSystem = "slurm") -> str:
        """Lines of a script that ask for it, those that a user has to fill in last."""
        asked = {"slurm": self._of_slurm, "pbs": self._of_pbs, "lsf": self._of_lsf}[system]
        mark, given = MARKS[system], (self.partition, self.account)
        options = CHOSEN[system].values()
        chosen = (f"{x}{value}" for x, value in zip(options, given, strict=True) if value)
        lines = [*asked(), *chosen]
        text = "".join(f"{mark} {line}\n" for line in lines)
        names = [x for x, value in zip(CHOSEN[system], given, strict=True) if not value]
        if names:
            text += f"\n# EDIT: {joined(names)}. Remove one of the two leading # of each line "
            text += "that you need.\n"
        for option, value in zip(options, given, strict=True):
            text += "" if value else f"#{mark} {option}NAME\n"
        return text

    def _of_slurm(self) -> Iterator[str]:
        yield f"--job-name={self.name}"
        for option, value in (
            ("nodes", self.nodes),
            ("ntasks", self.ranks),
            ("ntasks-per-node", self.ranks_per_node),
            ("cpus-per-task", self.cpus_per_rank),
        ):
            if value is not None:
                yield f"--{option}={value}"
        if self.is_exclusive:
            yield "--exclusive"
        yield f"--time={clock(self.seconds)}"
        yield f"--output={self._output('slurm')}"

    def _of_pbs(self) -> Iterator[str]:
        ranks, cpus = self.ranks_per_node or 1, self.cpus_per_rank or 1
        yield f"-N {self.name}"
        yield f"-l select={self.nodes or 1}:ncpus={ranks * cpus}:mpiprocs={ranks}"
        yield f"-l place=scatter{':excl' if self.is_exclusive else ''}"
        yield f"-l walltime={clock(self.seconds)}"
        yield "-j oe"
        yield f"-o {self._output('pbs')}"

    def _of_lsf(self) -> Iterator[str]:
        ranks = self.ranks_per_node or 1
        yield f"-J {self.name}"
        yield f"-n {(self.nodes or 1) * ranks}"
        yield f'-R "span[ptile={ranks}]"'
        if (self.cpus_per_rank or 1) > 1:
            yield f'-R "affinity[core({self.cpus_per_rank})]"'
        if self.is_exclusive:
            yield "-x"
        yield f"-W {clock(self.seconds)[:-3]}"
        yield f"-o {self._output('lsf')}"

    def _output(self, system: BatchSystem) -> str:
        return self.output.replace("{}.", f"{NUMBERS[system]}." if NUMBERS[system] else "")


def submission(script: str, system: BatchSystem = "slurm") -> Command:
    """Command that submits a script."""
    if system == "lsf":
        return Command(("bsub",), reads=script)
    return Command(({"slurm": "sbatch", "pbs": "qsub"}[system], File(script)))


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
