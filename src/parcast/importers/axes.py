"""What the axes of imported runs are called: renamed, added where untold, and which one is p.

Which metric of an import is the time of a run, and the seconds in its unit.
"""

import re
from collections.abc import Mapping, Sequence

from parcast.errors import ParameterError, spelled
from parcast.files.faults import Faults
from parcast.timings.columns import LABELS, axis_name_fault, to_names, to_numbers
from parcast.units import TIME_UNITS, shown
from parcast.words import did_you_mean

WORDS_FOR_P = re.compile(
    r"np|n_?procs|procs|num_?procs|processes|processors|n?ranks|mpi_?ranks|cores|n?tasks|n?threads",
    re.IGNORECASE,
)
Constants = Mapping[str, float | str]


def named_axes(
    names: Sequence[str],
    faults: Faults,
    *,
    labels: Sequence[str] = (),
    rename: Mapping[str, str],
    constants: Constants,
) -> tuple[list[str], list[str]]:
    """Names that the axes of imported runs get, one of them `p`.

    Parameters
    ----------
    names : sequence of str
        What the file calls them.
    faults : Faults
        Where to note what is wrong with the file.
    labels : sequence of str, optional
        Of `callpath` and `machine`, those that the file tells.
    rename : mapping of str to str
        New names of some of them.
    constants : mapping
        Axes, and labels, that the file does not tell, and their values.

    Returns
    -------
    names : list of str
        One for each of `names`; `p` among these or the constants.
    notes : list of str
        What was taken for `p`.

    Raises
    ------
    ParameterError
        If what is to be renamed is not there, or a constant is told by the file.
    FileProblems
        If no axis can be taken for `p`, or one has a name that no axis may have.
    """
    for name in rename:
        if name not in names:
            raise ParameterError(
                "rename",
                must="name a parameter of the files",
                got=shown(repr(name)),
                hint=f"{did_you_mean(name, names)} There are {_listed(names)}.".lstrip(),
            )
    renamed = [rename.get(name, name) for name in names]
    notes: list[str] = []
    if "p" not in renamed and "p" not in constants:
        likely = [name for name in renamed if WORDS_FOR_P.fullmatch(name)]
        if len(likely) != 1:
            _refuse_without_p(renamed, likely, faults)
        renamed[renamed.index(likely[0])] = "p"
        notes.append(f"{shown(likely[0])} is taken for p, the processors.")
    for name in constants:
        if name in renamed or name in labels:
            raise ParameterError(
                "constants",
                must="be axes that the files do not tell",
                got=shown(name),
                hint="Leave it out, or rename the parameter of the files.",
            )
    for old, name in zip(names, renamed, strict=True):
        if renamed.count(name) > 1:
            raise ParameterError(
                "rename",
                must="give each parameter a name of its own",
                got=f"{shown(name)} twice",
                hint="Rename the other as well.",
            )
        if name != "p" and (fault := axis_name_fault(name)):
            remedy = f"Rename it: --rename {shown(old)}=NAME"
            faults.refuse(f"the parameter {shown(repr(name))} {fault.fault} {remedy}")
    return renamed, notes


def checked_constants(constants: Constants) -> dict[str, float | str]:
    """Values of the axes and labels that are given for all runs: text for labels alone.

    Raises
    ------
    ParameterError
        If an axis is no number of its domain, or a label is not one line of text.
    """
    checked: dict[str, float | str] = {}
    if not isinstance(constants, Mapping):
        raise ParameterError(
            "constants",
            must="be a mapping",
            got=f"{constants!r:.60}",
            hint='Give such as {"p": 64}.',
        )
    for name, value in constants.items():
        if name in LABELS:
            checked[name] = str(to_names(name, str(value)))
            continue
        try:
            number = float(value)
        except ValueError:
            raise ParameterError(
                "constants",
                must="be numbers",
                got=f"{shown(name)}={shown(repr(value))}",
                hint="Only machine and callpath are text.",
            ) from None
        checked[name] = float(to_numbers(name, number))
        if name != "p" and (fault := axis_name_fault(name)):
            must = f"name axes: {shown(name)} must {spelled(fault.must)}"
            raise ParameterError("constants", must=must, got=fault.got, hint=fault.hint)
    return checked


def _refuse_without_p(names: Sequence[str], likely: Sequence[str], faults: Faults) -> None:
    """Refuse runs of which nothing tells the processors."""
    if likely:
        faults.refuse(
            f"must tell the processors once, got {_listed(likely)}. "
            f"Say which it is: --rename {shown(likely[0])}=p"
        )
    got = f"only {_listed(names)}" if names else "no parameter"
    rename = f", or rename a parameter: --rename {shown(names[0])}=p" if names else ""
    faults.refuse(f"must tell the processors, got {got}. Give them: --set p=64{rename}")


def _listed(names: Sequence[str], most: int = 8) -> str:
    """Write names one after another, the first of them where there are many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(shown(name) for name in names[:most]) or "none") + more


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
