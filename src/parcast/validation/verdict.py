"""Whether a law holds, by its rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from parcast.units import percent
from parcast.validation.comparison import Accuracy, Comparison, accuracy_of, quiet
from parcast.validation.rule import Rule
from parcast.words import counted

Compared: TypeAlias = Comparison[Any, Any]

IDLE: Final = "Repeat on an idle machine"
NEVER_IDLE: Final = "the machine was never idle"
BUSY: Final = f"{NEVER_IDLE}, so that limits are wider"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Whether a law holds; None where the runs cannot show it."""

    holds: bool | None
    rules: tuple[str, ...]  # by which it was decided
    reason: str = ""  # why the runs cannot show it

    @property
    def text(self) -> str:
        """All of it in a sentence."""
        return "; ".join(self.rules)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quietness:
    """How much of what counts was disturbed."""

    calibration: bool = False  # most trials that count
    comparison: bool = False  # most cases

    @property
    def is_busy(self) -> bool:
        """Whether the machine was never idle: both were disturbed."""
        return self.calibration and self.comparison

    @property
    def reason(self) -> str:
        """Why the times decide nothing; "" if they do."""
        if self.is_busy:
            return ""
        if self.calibration:
            return "most of the runs it was calibrated with were disturbed by other processes"
        if self.comparison:
            return "runs at half or more of the cases were disturbed by other processes"
        return ""


def verdict_of(
    rule: Rule,
    cases: Sequence[Compared],
    quietness: Quietness,
    objections: Sequence[str] = (),
    *,
    missing: int = 0,
) -> Verdict:
    """Tell whether a law holds, None where nothing can tell, and the rules that decided.

    `missing` cases were asked for but not predicted; objections refuse it whatever the times are.
    """
    compared = [x for x in cases if x.runs]
    if not compared:
        return Verdict(
            holds=False if objections else None,
            rules=tuple(objections),
            reason="" if objections else "nothing was measured",
        )
    found = _by_limits(rule, compared, quietness, asked=len(cases) + missing)
    rules = found.rules
    if found.holds is None and found.reason:
        rules = (*rules[:-1], f"{rules[-1]}, but {found.reason}")
    if found.holds is not None and quietness.is_busy:
        rules = (*rules, BUSY)
    holds = False if objections else found.holds
    return Verdict(holds=holds, rules=(*objections, *rules), reason=found.reason)


def _by_limits(
    rule: Rule, measured: Sequence[Compared], quietness: Quietness, *, asked: int
) -> Verdict:
    """By the sizes of errors."""
    wide = rule.busy if quietness.is_busy else 1.0
    used = measured if rule.share is not None else quiet(measured)
    accuracy = accuracy_of(used)
    assert accuracy is not None
    text, holds = _limits(rule, accuracy, wide)
    reason = quietness.reason
    if len(measured) < rule.measured * asked:
        few = f"only {len(measured)} of {counted(asked, rule.cases)} were measured"
        return Verdict(holds=None, rules=(text,), reason=f"{few}. Allow more time")
    if reason and not (holds and rule.share is not None):  # these are the strictest limits
        return Verdict(holds=None, rules=(text,), reason=f"{reason}. {IDLE}")
    if quietness.is_busy and not holds:  # the runs may have been disturbed more than those before
        return Verdict(holds=None, rules=(text,), reason=f"{NEVER_IDLE}. {IDLE}")
    return Verdict(holds=holds, rules=(text,))


def _limits(rule: Rule, accuracy: Accuracy, wide: float) -> tuple[str, bool]:
    """Say errors beside their limits, and whether they are within them."""
    each, holds = [], True
    errors = f"median error {100 * accuracy.median:.1f} %, worst {100 * accuracy.worst:.1f} %"
    if rule.share is not None and rule.tolerance is not None:
        within = accuracy.within(wide * rule.tolerance)
        share = within / accuracy.points
        holds = share >= rule.share
        each.append(
            f"{within} of {counted(accuracy.points, rule.cases)} "
            f"({percent(share) if within else '0%'}) within {percent(wide * rule.tolerance)} "
            f"(required: {percent(rule.share)})"
        )
    if rule.median is None or rule.worst is None:
        each.append(errors)
    else:
        limits = wide * rule.median, wide * rule.worst
        holds &= accuracy.median <= limits[0] and accuracy.worst <= limits[1]
        each.append(
            f"{errors} of {counted(accuracy.points, rule.cases)} (required: "
            f"{100 * limits[0]:.0f} %, {100 * limits[1]:.0f} %)"
        )
    return "; ".join(each), holds
