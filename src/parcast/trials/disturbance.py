"""Which trials others disturbed, which of them count, and when there are enough.

Three signs tell of others, each with one tolerance: work quanta around and in a trial that took
longer than on quiet processors, the share of it that others had the core of a rank
(`parcast.timings.disturbed`), and the cores that other programs used. None looks at how long the
trial took: no trial is judged by its own time. A disturbed one counts only where there are too
few others of its case.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic

from parcast.timings.disturbed import WAITING, is_disturbed, least_quantum
from parcast.trials.trial import C, O, Trial

OTHERS: Final = 0.15  # of the cores, that other programs may use without disturbing [1] [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted(Generic[C, O]):
    """Trials of a case: those that count, and those that do not, as they were disturbed."""

    counting: tuple[Trial[C, O], ...]
    others: tuple[Trial[C, O], ...]
    disturbed: int  # of both

    @property
    def is_disturbed(self) -> bool:
        """Whether disturbed trials count, as there are too few others."""
        return self.disturbed > len(self.others)


@dataclass(kw_only=True, slots=True)
class Judge:
    """Tells disturbed trials, as far as the trials until now show what is quiet."""

    cores: int = 1  # that are shared with other programs [1]
    waiting: float = WAITING  # share of a trial that others may have a core of a rank [1]
    quanta: dict[Hashable, float] = field(default_factory=dict)  # least of each layout [s]

    def learn(self, trials: Iterable[Trial[C, O]]) -> None:
        """Take over work quanta that are less than those known."""
        for trial in trials:
            quantum = least_quantum([trial.quanta])
            if quantum is not None:
                layout = trial.case.layout
                self.quanta[layout] = min(quantum, self.quanta.get(layout, quantum))

    def is_disturbed(self, trial: Trial[Any, Any]) -> bool:
        """Whether others disturbed a trial; what is not known disturbs nothing."""
        least = self.quanta.get(trial.case.layout)
        return (
            (trial.waiting or 0.0) > self.waiting
            or (trial.others or 0.0) > OTHERS * self.cores
            or (least is not None and is_disturbed(trial.quanta, least))
        )

    def are_enough(self, trials: Sequence[Trial[C, O]], fewest: int, *, launches: int = 1) -> bool:
        """Whether so many are undisturbed, from so many launches if as many were made."""
        quiet = [x for x in trials if not self.is_disturbed(x)]
        made = min(launches, len({x.launch for x in trials}))
        return len(quiet) >= fewest and len({x.launch for x in quiet}) >= made

    def counted(
        self, trials: Sequence[Trial[C, O]], fewest: int, *, launches: int = 1
    ) -> Counted[C, O]:
        """Have undisturbed trials of a case count where there are enough, else all of them."""
        quiet = tuple(x for x in trials if not self.is_disturbed(x))
        is_enough = self.are_enough(trials, fewest, launches=launches)
        counting = quiet if is_enough else tuple(trials)
        return Counted(
            counting=counting,
            others=tuple(x for x in trials if x not in quiet) if is_enough else (),
            disturbed=len(trials) - len(quiet),
        )


def by_case(trials: Iterable[Trial[C, O]]) -> Mapping[C, list[Trial[C, O]]]:
    """Trials of each case, in their order."""
    found: dict[C, list[Trial[C, O]]] = {}
    for trial in trials:
        found.setdefault(trial.case, []).append(trial)
    return found
