"""Which metric of an import is the time of a run, and the seconds in its unit."""

import re
from collections.abc import Sequence

from parcast.columns import did_you_mean
from parcast.io.faults import Faults
from parcast.units import TIME_UNITS, shown

BRACKETED = re.compile(r"[\[(]\s*([^\])]*?)\s*[\])]\s*$")
ABBREVIATED = re.compile(
    r"[_ ](msecs?|millis|usecs?|micros|nsecs?|nanos|mins|minutes?|hrs?|hours?)$", re.I
)
_UNITS = r"s|secs?|seconds?|ms|us|ns|min|h"
UNIT_AT_END = re.compile(rf"[_ ]?[\[(]\s*({_UNITS})\s*[\])]$|[_ ]({_UNITS})$", re.IGNORECASE)
WORD_FOR_TIME = re.compile(
    r"((wall|run|elapsed|execution|exec|total|real)[ _-]*)?(time|clock)|elapsed|duration|seconds?",
    re.IGNORECASE,
)
UNNAMED = ("", "<default>")  # what Extra-P calls a metric without a name


def chosen_metric(
    metrics: Sequence[str], wanted: str | None, faults: Faults
) -> tuple[str, float, list[str]]:
    """Find the metric that is the time of a run.

    Parameters
    ----------
    metrics : sequence of str
        Those of the files, at least one.
    wanted : str or None
        The one asked for, if any.
    faults : Faults
        Where to note what is wrong.

    Returns
    -------
    metric : str
    scale : float
        Seconds in its unit. [s]
    notes : list of str
        Which it is, where that is not plain.

    Raises
    ------
    FileProblems
        If the one asked for is not there, or which of several is the time is not plain.

    Examples
    --------
    >>> chosen_metric(["time_ms"], None, Faults("profile.txt"))
    ('time_ms', 0.001, [])
    """
    listed = ", ".join(shown(metric) or "one without a name" for metric in metrics[:12])
    listed += f" and {len(metrics) - 12} more" if len(metrics) > 12 else ""
    if wanted is not None:
        if wanted not in metrics:
            near = did_you_mean(wanted, metrics)
            faults.refuse(
                f"must have the metric {shown(repr(wanted))}, got {listed}.{near} "
                "Name one of them: --metric NAME"
            )
        _refuse_other_units(wanted, faults)
        return wanted, seconds_in(wanted), _doubt(wanted)
    if len(metrics) == 1:
        _refuse_other_units(metrics[0], faults)
        return metrics[0], seconds_in(metrics[0]), _doubt(metrics[0])
    times = [name for name in metrics if is_time(name)]
    if len(times) != 1:
        faults.refuse(
            f"must say which metric is the time, got {listed}. "
            f"Name it: --metric {shown(times[0] if times else metrics[0])}"
        )
    _refuse_other_units(times[0], faults)
    others = ", ".join(shown(name) for name in metrics if name != times[0])
    note = f"Metrics other than {times[0]} are passed over: {shown(others, limit=200)}."
    return times[0], seconds_in(times[0]), [note]


def _refuse_other_units(metric: str, faults: Faults) -> None:
    """Refuse a metric whose name ends with a unit that is not one of ours."""
    if UNIT_AT_END.search(metric):
        return
    found = BRACKETED.search(metric) or ABBREVIATED.search(metric)
    if found and found[1]:
        faults.refuse(
            f"must have times in one of {', '.join(TIME_UNITS)}, got {shown(repr(found[1]))} in "
            f"the name of the metric {shown(repr(metric))}. Write one of these in its place."
        )


def is_time(metric: str) -> bool:
    """Tell whether a name is plainly that of a wall time."""
    return bool(WORD_FOR_TIME.fullmatch(UNIT_AT_END.sub("", metric)))


def seconds_in(metric: str) -> float:
    """Give the seconds in the unit that ends a name; 1 where there is none. [s]."""
    found = UNIT_AT_END.search(metric)
    unit = (found[1] or found[2]).lower() if found else "s"
    return TIME_UNITS["s" if unit.startswith("s") else unit]


def _doubt(metric: str) -> list[str]:
    """Say what a metric is taken for whose name does not tell."""
    if is_time(metric):
        return []
    named = "without a name" if metric in UNNAMED else shown(metric)
    unit = "its unit" if UNIT_AT_END.search(metric) else "seconds"
    return [f"The metric {named} is taken for a wall time in {unit}."]
