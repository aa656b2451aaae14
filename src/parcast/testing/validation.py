"""Checks of launchers and subjects: what breaks their protocols is named."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

import numpy as np

from parcast.errors import ParameterError
from parcast.trials.clock import Clock
from parcast.trials.launcher import Launcher, require_every_case, require_trial
from parcast.trials.trial import C, Launch, O, Trial
from parcast.validation.frame import Examined, compared
from parcast.validation.subject import Findings, Saving, Subject

EXPECTED: Final = 10.0  # time that a launch of a check is said to take [s]


def check_launcher(launcher: Launcher[C, O], cases: Sequence[C]) -> list[Trial[C, O]]:
    """Check a launcher with cases of one layout, each run twice: the first run does not count.

    Raises
    ------
    ParameterError
        If it reports something else than a trial of each case.

    Examples
    --------
    >>> from parcast.testing.validation import check_launcher
    >>> from parcast.trials.command import CommandLauncher
    >>> from parcast.trials.trial import SizedCase
    >>> [made] = check_launcher(CommandLauncher(command=["echo", "{n}"]), [SizedCase(n=3, p=1)])
    >>> made.case, made.repetition
    (SizedCase(n=3, p=1), 1)
    """
    launch = Launch(
        number=1, cases=(*cases, *cases), expected=EXPECTED, discarded=1, purpose="calibration"
    )
    made: list[Trial[C, O]] = []

    def report(trial: Trial[C, O]) -> None:
        require_trial(launch, trial)
        made.append(trial)

    launcher(launch, report=report)
    require_every_case(launch, made)
    return made


@dataclass(slots=True)
class PredictedFirst(Generic[C, O]):
    """A launcher that refuses to compare what was not predicted before."""

    launcher: Launcher[C, O]
    saving: Saving
    compared: set[C] = field(default_factory=set)

    def __call__(self, launch: Launch[C], *, report: Callable[[Trial[C, O]], object]) -> None:
        """Make the trials of a launch."""
        if launch.purpose == "comparison":
            known = [made for made in self.saving.made if made["pass"] == launch.turn]
            for case in launch.distinct:
                if not any(case.columns.items() <= made.items() for made in known):
                    raise ParameterError(
                        "cases",
                        must="have columns that tell them apart",
                        got=f"{dict(case.columns)!r:.60}",
                        hint="Name what a case is in its columns.",
                    )
            self.compared.update(launch.distinct)
        self.launcher(launch, report=report)


def check_subject(
    subject: Subject[C, O], launcher: Launcher[C, O] | None = None, *, seed: int = 0
) -> Examined[C, O]:
    """Check a subject: take it through its passes, as `parcast.validation` does.

    A `launcher` whose times are known may take the place of that of the subject.

    Raises
    ------
    ParameterError
        If it lacks something, or gives something else than the protocol says.
    """
    saving = Saving(path=None)
    watched = PredictedFirst(launcher or subject.launcher, saving)
    found = compared(
        subject,
        clock=Clock(),
        random=np.random.default_rng(seed),
        saving=saving,
        launcher=watched,
    )
    rows = list(found.comparisons())
    _require(subject, "cases", rows, "predict a case at least")
    alike = len({tuple(x.labels) for x in rows}) == 1
    _require(subject, "labels", alike, "give every case cells of the same columns")
    has_p = all("p" in x.case.columns for x in rows)
    _require(subject, "columns", has_p, "give every case the ranks p in its columns")
    parts = len({tuple(x.first.parts) for x in rows}) == 1
    _require(subject, "predict", parts, "give every prediction the same parts")
    ways = len({tuple(x.first.ways) for x in rows}) == 1
    _require(subject, "predict", ways, "give every prediction the same ways")
    is_said = isinstance(found.findings(), Findings)
    _require(subject, "findings", is_said, "give parcast.validation.subject.Findings")
    return found


def _require(subject: Subject[C, O], what: str, ok: object, must: str) -> None:
    """Refuse what breaks the protocol, by its name."""
    if not ok:
        raise ParameterError(
            f"{what} of {subject.name}",
            must=must,
            got="something else",
            hint="parcast.validation.subject.Subject says what each is.",
        )
