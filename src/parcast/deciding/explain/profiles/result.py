"""What explains profiles: POP efficiencies by count, forecast ones, and what is lost where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.explain.profiles.efficiencies import EFFICIENCIES
from parcast.show.result import Result
from parcast.timings.series import Key, label_of
from parcast.words import whole

LOWERED: Final = ("parallel efficiency", "load balance", "computation scalability")


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionLoss:
    """Processor time of a region that is not useful, at the largest count."""

    region: str  # its name
    share: float  # of the processor time of the run [1]
    lower: float  # of the 90% interval over repetitions; NaN of one run [1]
    upper: float
    why: str  # `messages`, `files`, `imbalance` or `more computation`
    lowers: str  # the efficiency; those of `parallel efficiency` add up to what that lacks


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ProblemExplained:
    """Efficiencies of the runs of one problem."""

    key: Key  # parameters of the problem, where several were profiled
    p: Array  # (counts,): measured and forecast, ascending [1]
    elapsed: Array  # (counts,); NaN where it is forecast [s]
    is_forecast: NDArray[np.bool_]  # (counts,)
    values: Mapping[str, Array]  # efficiencies by name, (counts,) each; NaN where not measured [1]
    lower: Mapping[str, Array]  # of the 90% intervals; NaN of one run [1]
    upper: Mapping[str, Array]
    losses: tuple[RegionLoss, ...]  # at the largest measured count, the largest first
    scaling: str  # `strong` or `weak`
    unmeasured: tuple[str, ...] = ()  # what the profiles do not give, in sentences

    @property
    def label(self) -> str:
        """The problem in a few words, or "" where there is only one."""
        return label_of(self.key)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ProfilesExplained(Result):
    """POP efficiencies of profiled runs, at the measured counts and forecast to larger ones."""

    _schema = "parcast/explain-profiles/1"
    _axes = "*is_forecast"
    _outline = (
        "rows interval losses=_loss_rows not_measured=_unmeasured_rows warnings sources inputs "
        "call=_of_fields"
    )
    _picture = "parcast.deciding.explain.profiles.picture:figure_of"

    problems: tuple[ProblemExplained, ...]  # the longest first
    notes: tuple[str, ...] = ()  # on files
    sources: tuple[str, ...] = (
        "POP standard metrics, https://pop-coe.eu/node/69",
        "TALP, https://pm.bsc.es/ftp/dlb/doc/user-guide/",
    )
    interval: float = 0.9  # probability of the intervals [1]
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options

    def __repr__(self) -> str:
        """Say how much was explained, in one line."""
        counts = sum(int((~x.is_forecast).sum()) for x in self.problems)
        return f"ProfilesExplained({len(self.problems)} problems, {counts} counts)"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is not measured, and notes on files."""
        named = [
            f"{x.label}: {text}" if x.label else text
            for x in self.problems
            for text in x.unmeasured
        ]
        return (*self.notes, *named)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each problem and count; `null` where not measured, or of one run."""
        for x in self.problems:
            for i, p in enumerate(x.p.tolist()):
                row: dict[str, Any] = {
                    **x.key,
                    "p": whole(p),
                    "is_forecast": bool(x.is_forecast[i]),
                    "time_s": _or_none(x.elapsed[i]),
                }
                for name in EFFICIENCIES:
                    row[name] = _or_none(x.values[name][i])
                    row[f"{name}_lower"] = _or_none(x.lower[name][i])
                    row[f"{name}_upper"] = _or_none(x.upper[name][i])
                yield row

    @property
    def _loss_rows(self) -> list[dict[str, Any]]:
        """Share of the processor time that each region loses, and the efficiency it `lowers`."""
        return [
            {
                **x.key,
                "region": y.region,
                "why": y.why,
                "lowers": y.lowers,
                "share": y.share,
                "lower": _or_none(y.lower),
                "upper": _or_none(y.upper),
            }
            for x in self.problems
            for y in x.losses
        ]

    @property
    def _unmeasured_rows(self) -> list[str]:
        """What the profiles do not give, in sentences."""
        return list(dict.fromkeys(text for x in self.problems for text in x.unmeasured))


def _or_none(value: float) -> float | None:
    """Give a number, None for one that is not known."""
    return float(value) if np.isfinite(value) else None
