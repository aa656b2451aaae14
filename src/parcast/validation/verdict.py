"""Whether a law holds, by its rule."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, log
from statistics import median
from typing import Any, Final, TypeAlias

from parcast.units import format_quantity, percent
from parcast.validation.comparison import INTERVAL, Accuracy, Comparison, accuracy_of, quiet
from parcast.validation.subject import Findings, Rule
from parcast.words import counted, error_in_words

Compared: TypeAlias = Comparison[Any, Any]

NOTHING: Final = Findings()
FEWEST: Final = 3  # cases by which a law may hold [1] [D]
MOST_NAMED: Final = 3  # cases that are far off
NEVER_IDLE: Final = "the machine was never idle"
FITTED: Final = "all of these were used to fit the description, so that nothing was predicted"
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
    findings: Findings = NOTHING,
    *,
    missing: int = 0,
) -> Verdict:
    """Tell whether a law holds, None where nothing can tell, and the rules that decided.

    `missing` cases were asked for but not predicted. Objections of the `findings` refuse it
    whatever the times are, and with doubts it does not hold.
    """
    objections = tuple(findings.objections)
    compared = [x for x in cases if x.runs and not x.was_fitted]
    if not compared:
        is_fitted = any(x.runs for x in cases)
        why = f"{FITTED}. {rule.remedy}" if is_fitted else "nothing was measured"
        return Verdict(
            holds=False if objections else None,
            rules=objections,
            reason="" if objections else why,
        )
    if rule.chance is None:
        found = _by_limits(rule, compared, quietness, asked=len(cases) + missing)
    else:
        found = _by_intervals(rule, compared, quietness)
    if found.holds and findings.doubts:
        found = replace(found, holds=None, reason="; ".join(findings.doubts))
    rules = found.rules
    if found.holds is None and found.reason:
        rules = (*rules[:-1], f"{rules[-1]}, but {found.reason}") if rules else (found.reason,)
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
        return Verdict(holds=None, rules=(text,), reason=f"{reason}. {rule.remedy}")
    if quietness.is_busy and not holds:  # the runs may have been disturbed more than those before
        return Verdict(holds=None, rules=(text,), reason=f"{NEVER_IDLE}. {rule.remedy}")
    return Verdict(holds=holds, rules=(text,))


def _limits(rule: Rule, accuracy: Accuracy, wide: float) -> tuple[str, bool]:
    """Say errors beside their limits, and whether they are within them."""
    each, holds = [], True
    median, worst = map(error_in_words, (accuracy.median, accuracy.worst))
    errors = f"median error {median}, worst {worst}"
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
            f"{100 * limits[0]:.0f}%, {100 * limits[1]:.0f}%)"
        )
    return "; ".join(each), holds


def _by_intervals(rule: Rule, compared: Sequence[Compared], quietness: Quietness) -> Verdict:
    """By the medians that lie in their intervals: it holds only if it could have been refused."""
    if quietness.calibration and not quietness.comparison:
        return Verdict(holds=None, rules=(), reason=f"{quietness.reason}. {rule.remedy}")
    if any(x.lower is None for x in compared):
        return Verdict(
            holds=None,
            rules=(),
            reason="there are no intervals: nothing has +-, and the error of the law is left out",
        )
    is_busy = quietness.is_busy
    sure = [x for x in compared if is_sure(rule, x, is_busy=is_busy)]
    outside = [x for x in compared if not x.is_inside]
    refusing = [x for x in outside if x in sure]
    allowed = points_allowed(len(sure), rule)
    far = [x for x in refusing if is_far(rule, x)]
    inside = (
        f"{len(compared) - len(outside)} of {len(compared)} medians are inside their intervals"
    )
    rules = []
    if len(refusing) > allowed:
        rules.append(
            f"{inside}. With a correct law, more than {allowed} are outside in less than "
            f"{percent(rule.chance or 0.0)} of cases"
        )
    rules += [
        f"{_named(x)}: predicted {format_quantity(x.predicted, 'time')}, took "
        f"{format_quantity(x.measured or 0.0, 'time')}, more than twice as far off as the end of "
        "the interval"
        for x in far[:MOST_NAMED]
    ]
    more = len(far) - MOST_NAMED
    rules += [f"{more} more {'is' if more == 1 else 'are'} as far off"] if more > 0 else []
    if rules and is_busy:
        return Verdict(holds=None, rules=tuple(rules), reason=f"{NEVER_IDLE}. {rule.remedy}")
    if rules:
        return Verdict(holds=False, rules=tuple(rules))
    unknown = _why_unknown(rule, compared, sure, quietness)
    if unknown:
        return Verdict(holds=None, rules=(inside,), reason=f"{unknown}. {rule.remedy}")
    return Verdict(holds=True, rules=(f"{inside}, as expected of a correct law",))


def _named(x: Compared) -> str:
    """A case by its columns."""
    return ", ".join(f"{name} = {value}" for name, value in x.case.columns.items())


def _why_unknown(
    rule: Rule, compared: Sequence[Compared], sure: Sequence[Compared], quietness: Quietness
) -> str:
    """Say why points that do not refuse a law do not show that it holds either; "" if they do."""
    width = median(_width(x) for x in compared)
    if width > rule.widest:
        middle = min(compared, key=lambda x: abs(log(_width(x) / width)))
        ends = " to ".join(
            format_quantity(end or 0.0, "time") for end in (middle.lower, middle.upper)
        )
        return f"the intervals are so wide (median {ends}) that a wrong law would pass"
    if quietness.reason:
        return quietness.reason
    if 2 * len(sure) <= len(compared):
        apart = median(_apart(x) for x in compared)
        return f"repeated runs differ by a factor of {apart:.1f}"
    if len(compared) < FEWEST or 2 * sum(not x.is_inside for x in compared) >= len(compared):
        return "these are too few"
    if not any(x.first.facts.get("extrapolated", True) for x in compared):
        return "no size or count is far from the calibrated ones, so little was predicted"
    return ""


def is_sure(rule: Rule, x: Compared, *, is_busy: bool = False) -> bool:
    """Whether undisturbed runs agree, or all lie beyond one end of the interval."""
    if x.is_disturbed and not is_busy:
        return False
    times = [run.seconds for run in x.runs]
    beyond = min(times) > (x.upper or 0.0) or max(times) < (x.lower or 0.0)
    return _apart(x) <= rule.widest or beyond


def _apart(x: Compared) -> float:
    """Longest over shortest run [1]."""
    times = [run.seconds for run in x.runs]
    return max(times) / min(times)


def _width(x: Compared) -> float:
    """Upper over lower end of the interval [1]."""
    return (x.upper or x.predicted) / (x.lower or x.predicted)


def points_allowed(points: int, rule: Rule) -> int:
    """Points that may lie outside their 90% intervals by chance."""
    share, tail = 1.0 - INTERVAL, 1.0
    for outside in range(points + 1):
        tail -= comb(points, outside) * share**outside * (1 - share) ** (points - outside)
        if tail < (rule.chance or 0.0):
            break
    return outside


def is_far(rule: Rule, x: Compared) -> bool:
    """Whether the median lies more than `far` times as far off as the interval's end."""
    off = log((x.measured or x.predicted) / x.predicted)
    end = log(((x.upper if off > 0 else x.lower) or x.predicted) / x.predicted)
    return off / end > rule.far if end else off != 0.0
