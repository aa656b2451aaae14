"""Speedups of a validated program: measured and predicted, each over its own first time."""

from dataclasses import dataclass

from parcast.prediction.trials.result import Configuration, ProgramValidation


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSpeedup:
    """A speedup as it was measured and as it was predicted."""

    case: Configuration
    base: float  # processors whose time it is over [1]
    measured: float  # [1]
    predicted: float  # [1]

    @property
    def error(self) -> float:
        """Predicted over measured speedup, less 1 [1]."""
        return self.predicted / self.measured - 1.0


def speedups_of(validation: ProgramValidation) -> list[ComparedSpeedup]:
    """Give the speedups of all configurations with fewer processors at the same other axes."""
    groups: dict[tuple[tuple[str, float], ...], list[int]] = {}
    for i, x in enumerate(validation.cases):
        groups.setdefault(tuple(y for y in x.case.axes if y[0] != "p"), []).append(i)
    found = []
    for places in groups.values():
        first = min(places, key=lambda i: validation.cases[i].case.layout)
        base = validation.cases[first]
        for i in places:
            x = validation.cases[i]
            if i == first or x.measured is None or base.measured is None:
                continue
            found.append(
                ComparedSpeedup(
                    case=x.case,
                    base=base.case.layout,
                    measured=base.measured / x.measured,
                    predicted=base.predicted / x.predicted,
                )
            )
    return found
