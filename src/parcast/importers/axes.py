"""What the axes of imported runs are called, which one is p, and which metric is their time."""

import re
from collections.abc import Mapping, Sequence

from parcast.advice import Choice
from parcast.errors import Argument, ParameterError, spelled
from parcast.files.faults import Faults
from parcast.timings.columns import LABELS, axis_name_fault, to_names, to_numbers
from parcast.units import TIME_UNITS, shown
from parcast.words import did_you_mean, listed

WORDS_FOR_P = re.compile(
    r"(?:n_?|num_?|number_of_)?(?:procs?|processes|processors?|ranks?|tasks?|cores?|cpus?|threads?)"
    r"|np|mpi_?(?:ranks?|tasks?|procs?)|omp_?(?:num_?)?threads",
    re.IGNORECASE,
)
OTHER_WORDS_FOR_P = re.compile(  # where none of these is there
    r"(?:n_?|num_?|number_of_)?(?:nodes?|gpus?|workers?|executors?|jobs)", re.IGNORECASE
)
BRACKETED = re.compile(r"[\[(]([^\[\]()]*+)[\])]\s*+$")
ABBREVIATED = re.compile(
    r"[_ ](msecs?|millis|usecs?|micros|nsecs?|nanos|mins|minutes?|hrs?|hours?)$", re.I
)
_UNITS = r"s|secs?|seconds?|ms|us|ns|min|h"
UNIT_AT_END = re.compile(
    rf"[_ ]?[\[(]\s*({_UNITS})\s*[\])]$|[_ ]({_UNITS})$|(?<=time)\s*/\s*({_UNITS})$", re.IGNORECASE
)
MINIMUM = re.compile(r"[_ ]min$", re.IGNORECASE)
STATISTIC = re.compile(r"[_ ](max|avg|average|mean|median|std|stddev|sum|total)$", re.IGNORECASE)
WORD_FOR_TIME = re.compile(
    r"((wall|run|elapsed|execution|exec|total|real|loop)[ _-]*)?(time|clock)|elapsed|duration"
    r"|wall|real|tts|seconds?",
    re.IGNORECASE,
)
WORD_FOR_RATE = re.compile(
    r"/\s*(s|secs?|seconds?|min|h|hours?|days?)\b|per[ _-]?(sec|second|min|hour|day)"
    r"|(^|[ _])(sypd|throughput|bandwidth|rate|[kmgtp]?flops?|speed)([ _]|$)",
    re.IGNORECASE,
)
UNNAMED = ("", "<default>")  # what Extra-P calls a metric without a name
MOST_NAMED, MOST_METRICS = 8, 12  # in a message
LAST_NUMBER = r"([0-9]+)[^0-9]*$"  # in the name of a file
Constants = Mapping[str, float | str]


def named_axes(
    names: Sequence[str],
    faults: Faults,
    *,
    labels: Sequence[str] = (),
    rename: Mapping[str, str],
    constants: Constants,
    is_several: bool = False,
) -> tuple[list[str], list[str]]:
    """Names that the axes of imported runs get, one for each of `names`, and notes on them.

    One of them or of `constants` is `p`. `labels` are those of `callpath` and `machine` that the
    file tells; what it tells cannot be a constant as well.
    """
    for name in rename:
        if name not in names:
            raise ParameterError(
                "rename",
                must="name a parameter of the files",
                got=shown(repr(name)),
                hint=f"{did_you_mean(name, names)} Choose from {names_of(names)}.".lstrip(),
            )
    renamed = [rename.get(name, name) for name in names]
    notes: list[str] = []
    if "p" not in renamed and "p" not in constants:
        likely = words_for_p(renamed)
        if len(likely) != 1:
            called = dict(zip(renamed, names, strict=True))
            _refuse_without_p(called, likely, faults, is_several=is_several)
        renamed[renamed.index(likely[0])] = "p"
        notes.append(f"{shown(likely[0])} is used as p, the processor count.")
    for name in constants:
        if name in renamed or name in labels:
            raise ParameterError(
                "constants",
                must="be axes that the files do not have",
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
            remedy = f"Rename it: {_renaming(old, Choice('NAME'), faults)}"
            faults.refuse(f"the parameter {shown(repr(name))} {fault.fault} {remedy}")
    return renamed, notes


def checked_constants(constants: Constants) -> dict[str, float | str]:
    """Values of the axes and labels that are given for all runs: text for labels alone."""
    checked: dict[str, float | str] = {}
    if not isinstance(constants, Mapping):
        raise ParameterError(
            "constants",
            must="be a mapping",
            got=f"{constants!r:.60}",
            hint='Give a dictionary such as {"p": 64}.',
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
                hint="Only machine and callpath may be text.",
            ) from None
        checked[name] = float(to_numbers(name, number))
        if name != "p" and (fault := axis_name_fault(name)):
            must = f"name axes: {shown(name)} must {spelled(fault.must)}"
            raise ParameterError("constants", must=must, got=fault.got, hint=fault.hint)
    return checked


def names_of(parameters: Sequence[str]) -> str:
    """Write names of parameters one after another, as a message may show them."""
    return listed(map(shown, parameters), MOST_NAMED) or "none"


def tells_p(names: Sequence[str], rename: Mapping[str, str], constants: Constants) -> bool:
    """Tell whether parameters or constants tell the processors."""
    renamed = [rename.get(name, name) for name in names]
    return "p" in renamed or "p" in constants or bool(words_for_p(renamed))


def words_for_p(names: Sequence[str]) -> list[str]:
    """Give the parameters that could be the processors by their names."""
    if "p" in names:
        return ["p"]
    for words in (WORDS_FOR_P, OTHER_WORDS_FOR_P):
        if likely := [name for name in names if words.fullmatch(name)]:
            return likely
    return []


def _refuse_without_p(
    names: Mapping[str, str], likely: Sequence[str], faults: Faults, *, is_several: bool
) -> None:
    """Refuse runs of which nothing tells the processors; `names` are by what they are called."""
    if likely:
        faults.refuse(
            f"must have one processor count, got {names_of(likely)}. Choose one: "
            f"{_renaming(names[likely[0]], 'p', faults)}"
        )
    count = Argument("constants", {"p": Choice("COUNT")}, file=faults.path)
    got, hint = "no parameter", f"Set it: {count}"
    if names:
        got, first = f"only {names_of([*names])}", next(iter(names))
        hint += f", or rename a parameter: {_renaming(names[first], 'p', faults)}"
    elif is_several:
        pattern = Argument("count_pattern", LAST_NUMBER, file=faults.path)
        hint = f"If the last number in their names is the count: {pattern}"
    faults.refuse(f"must have the processor count, got {got}. {hint}")


def _renaming(old: str, new: str, faults: Faults) -> Argument:
    """Name the argument that gives a parameter another name."""
    return Argument("rename", {old: new}, file=faults.path)


def metric_argument(faults: Faults, name: str = Choice("NAME")) -> Argument:
    """Name the argument that says which metric of a file is the time."""
    return Argument("metric", name, file=faults.path)


def chosen_metric(
    metrics: Sequence[str], wanted: str | None, faults: Faults
) -> tuple[str, float, list[str]]:
    """Find the metric that is the time of a run: its name, the seconds in its unit, and notes."""
    there = listed([shown(metric) or "one without a name" for metric in metrics], MOST_METRICS)
    if wanted is not None:
        if wanted not in metrics:
            near = did_you_mean(wanted, metrics)
            faults.refuse(
                f"must have the metric {shown(repr(wanted))}, got {there}.{near} Choose one of "
                f"them: {metric_argument(faults)}"
            )
        if _is_minimum(wanted, metrics):
            return wanted, 1.0, [f"The metric {shown(wanted)} is read as wall time in seconds."]
        _refuse_other_units(wanted, faults)
        return wanted, seconds_in(wanted), _doubt(wanted)
    if len(metrics) == 1:
        _refuse_other_units(metrics[0], faults)
        return metrics[0], seconds_in(metrics[0]), _doubt(metrics[0])
    others = [name for name in metrics if not _is_minimum(name, metrics)]
    times = [name for name in others if is_time(name)]
    if len(times) != 1:
        likely = next(iter([*times, *others]), metrics[0])
        faults.refuse(
            f"must have one metric that is the time, got {there}. Choose it: "
            f"{metric_argument(faults, likely)}"
        )
    _refuse_other_units(times[0], faults)
    rest = ", ".join(shown(name) for name in metrics if name != times[0])
    note = f"Metrics other than {times[0]} are ignored: {shown(rest, limit=200)}."
    return times[0], seconds_in(times[0]), [note]


def _refuse_other_units(metric: str, faults: Faults) -> None:
    """Refuse a metric that is a rate, or whose name ends with another unit than ours."""
    is_ours = UNIT_AT_END.search(metric)
    match = None if is_ours else BRACKETED.search(metric) or ABBREVIATED.search(metric)
    if match and (unit := match[1].strip()):
        faults.refuse(
            f"must have times in one of {', '.join(TIME_UNITS)}, got {shown(repr(unit))} in "
            f"the name of the metric {shown(repr(metric))}. Write one of these in its place."
        )
    if WORD_FOR_RATE.search(metric) and not is_time(metric):
        faults.refuse(
            f"must have a metric that is a time, got the rate {shown(repr(metric))}. Import the "
            "time of the runs."
        )


def _is_minimum(metric: str, metrics: Sequence[str]) -> bool:
    """Tell whether a name ends with min for the minimum, as another has the maximum, and so on."""
    stem = MINIMUM.sub("", metric).casefold()
    return bool(MINIMUM.search(metric)) and any(
        STATISTIC.search(other) and STATISTIC.sub("", other).casefold() == stem
        for other in metrics
    )


def is_time(metric: str) -> bool:
    """Tell whether a name is plainly that of a wall time."""
    return bool(WORD_FOR_TIME.fullmatch(UNIT_AT_END.sub("", metric)))


def seconds_in(metric: str) -> float:
    """Give the seconds in the unit that ends a name; 1 where there is none. [s]."""
    return TIME_UNITS[unit_of(metric)]


def unit_of(metric: str) -> str:
    """Give the unit that ends a name; "s" where there is none.

    >>> unit_of("wall [ms]"), unit_of("time_sec"), unit_of("time/h"), unit_of("elapsed")
    ('ms', 's', 'h', 's')
    """
    match = UNIT_AT_END.search(metric)
    unit = (match[1] or match[2] or match[3]).lower() if match else "s"
    return "s" if unit.startswith("s") else unit


def _doubt(metric: str) -> list[str]:
    """Say what a metric is taken for whose name is not clear."""
    if is_time(metric):
        return []
    named = "without a name" if metric in UNNAMED else shown(metric)
    unit = "its unit" if UNIT_AT_END.search(metric) else "seconds"
    return [f"The metric {named} is read as wall time in {unit}."]
