"""Which runs on other machines are donors of which series, and how much each may weigh.

A donor serves a series with the same callpath and the same other axes; a machine is no donor of
itself. It weighs less in a forecast the more its machine differs from the target [D]_::

    likeness = 1 / (1 + (distance / ln 4)^2)

distance being the root of the mean squared logarithm of the ratios of the figures that both
descriptions give, such as the rates of a processor, of the network and of the disks. Machines a
factor of four apart in all weigh half. A machine of which nothing is known weighs as one that far
away.

References
----------
.. [D] parcast's own default: no measured set at hand came with descriptions to test it on.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Argument, ParameterError
from parcast.forecasting.donors.curve import Elsewhere, LeftOut
from parcast.forecasting.scaling import size_of_runs
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, label_of
from parcast.words import listed

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine


MOST_DONORS: Final = 1_000  # of one series
MOST_PAIRS: Final = 5_000_000  # of a series and a donor of it
APART = float(np.log(4.0))  # distance at which a donor weighs half [D]
UNKNOWN = 0.5


def gather(
    donors: Measurements,
    measurements: Measurements,
    series: Series,
    machines: Sequence["Machine"] = (),
) -> Elsewhere:
    """Find the donors of every series; described `machines` like the target weigh more."""
    _check_callpaths(donors, measurements)
    grouped = donors.series()
    matched = _matched(donors, measurements, series, grouped.by)
    apart = list(dict.fromkeys(["machine", *grouped.by, *matched]))
    if set(apart) != set(grouped.by):
        grouped = donors.series(apart)
    useful = grouped.count >= 2
    serving, single = _by_kind(grouped, useful, matched)
    _check_number(max(map(len, serving.values()), default=0), len(series))
    names = [_name(key, matched) for key in grouped.keys]
    number = np.cumsum(useful) - 1

    constant = {name: measurements.columns[name][0] for name in matched}
    own = measurements.labels.get("machine")
    ours = _machines_of(measurements)
    figures = figures_of(machines, [*_machines_of(donors), *ours], is_target_named=bool(ours))
    here_unnamed = figures.pop("", None)
    likenesses: list[list[float]] = []
    of: list[list[int]] = []
    left_out: list[LeftOut] = []
    for key in series.keys:
        kind = tuple(key.get(name, constant[name]) for name in matched)
        machine = key.get("machine", None if own is None else own[0])
        here = [i for i in serving[kind] if grouped.keys[i]["machine"] != machine]
        once = [names[i] for i in single[kind] if grouped.keys[i]["machine"] != machine]
        is_both = len(here) + len(once) < len(serving[kind]) + len(single[kind])
        of.append(number[here].tolist())
        target = here_unnamed if machine is None else figures.get(str(machine))
        others = [figures.get(str(grouped.keys[i]["machine"]), {}) for i in here]
        likenesses.append([1.0 if target is None else likeness(target, x) for x in others])
        left_out.append(
            LeftOut(
                both=machine if is_both else None,
                once=tuple(once),
                kind=label_of(dict(zip(matched, kind, strict=True))),
                is_alone=not here,
            )
        )
    width = max(1, *map(len, of))
    return Elsewhere(
        runs=grouped.take(useful),
        names=tuple(name for name, is_useful in zip(names, useful, strict=True) if is_useful),
        of=np.array([row + [-1] * (width - len(row)) for row in of], dtype=np.intp),
        likeness=np.array([row + [0.0] * (width - len(row)) for row in likenesses]),
        is_described=any(max(row, default=0.0) > min(row, default=0.0) for row in likenesses),
        left_out=tuple(left_out),
        grows=size_of_runs(donors, grouped.by) == "grows",
    )


def likeness(here: Mapping[str, float], there: Mapping[str, float]) -> float:
    """Weight of a donor by the figures of both machines, above 0 and in the same units. [1]."""
    shared = [name for name in here if name in there]
    if not shared:
        return UNKNOWN
    ratios = np.log([here[name] / there[name] for name in shared])
    return float(1.0 / (1.0 + np.mean(ratios**2) / APART**2))


def figures_of(
    machines: Sequence["Machine"], named: Sequence[str], *, is_target_named: bool
) -> dict[str, dict[str, float]]:
    """Figures of described machines that do not depend on anything, by the name of the machine.

    One description of no machine `named` by the runs is that of the target, if it has no name: "".
    """
    described: dict[str, dict[str, float]] = {}
    strangers = []
    for machine in machines:
        figures = {
            name: float(amount({}))
            for name, amount in machine.parameters().items()
            if not amount.expression.axes and float(amount({})) > 0
        }
        name = machine.name
        if name in described:
            raise ParameterError(
                "machines", must="be described once each", got=f"{name!r:.60} twice"
            )
        if name not in named:
            strangers.append(name)
        described[name] = figures
    if len(strangers) > (0 if is_target_named else 1):
        raise ParameterError(
            "machines",
            must="be those of the runs",
            got=listed(strangers),
            hint=f"The runs name {listed(list(dict.fromkeys(named)))}: use these names.",
        )
    if strangers:
        described[""] = described.pop(strangers[0])
    return described


def _machines_of(measurements: Measurements) -> list[str]:
    """Machines that some runs name."""
    return list(dict.fromkeys(measurements.labels.get("machine", np.array([])).tolist()))


def _check_callpaths(donors: Measurements, measurements: Measurements) -> None:
    """Refuse donors of several callpaths where the measurements name none, and the reverse."""
    theirs, ours = donors.labels.get("callpath"), measurements.labels.get("callpath")
    if ours is None and theirs is not None and len(names := dict.fromkeys(theirs.tolist())) > 1:
        first = next(iter(names))
        raise ParameterError(
            "donors",
            must="have one callpath where the measurements name none",
            got=f"{len(names)}",
            hint=(
                "Select the one that was measured: ",
                Argument("donors.select", first, python=f"donors.select(callpath={first!r})"),
                ".",
            ),
        )
    if theirs is None and ours is not None and len(names := dict.fromkeys(ours.tolist())) > 1:
        raise ParameterError(
            "donors",
            must=f"have a column callpath where the measurements have {len(names)}",
            got="none",
            hint="Name the callpath of every run in it, or select one of the measurements.",
        )


def _check_number(most: int, series: int) -> None:
    """Refuse more donors, at `most` so many for each of the series, than memory is there for."""
    for bound, number, what in (
        (MOST_DONORS, most, "other machines for each series"),
        (MOST_PAIRS, most * series, "pairs of a series and another machine"),
    ):
        if number > bound:
            raise ParameterError(
                "donors",
                must=f"be at most {bound:,} {what}",
                got=f"{number:,}",
                hint="Keep those that are most like the machine in question.",
            )


def _matched(
    donors: Measurements, measurements: Measurements, series: Series, apart: Sequence[str]
) -> list[str]:
    """Columns in which a donor must be as the series is: callpath, and axes that stay with p.

    From a single count the donors tell whether an axis does: it does unless it stands in `apart`.
    """
    known = measurements.columns
    single = bool(np.all(series.count == 1))
    shared = ["callpath"] if "callpath" in donors.labels and "callpath" in known else []
    for name, theirs in donors.axes.items():
        if name == "p" or name not in known:
            continue
        goes_along = name not in apart and np.any(theirs != theirs[0])
        stays = np.all(known[name] == known[name][0]) and not (single and goes_along)
        if name in series.by or stays:
            shared.append(name)
    return shared


def _by_kind(
    grouped: Series, useful: NDArray[np.bool_], matched: Sequence[str]
) -> tuple[Mapping[tuple[Any, ...], list[int]], Mapping[tuple[Any, ...], list[int]]]:
    """Sort the donors by the columns matched: those of two counts and more, and the others."""
    serving: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    single: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i, (key, is_useful) in enumerate(zip(grouped.keys, useful.tolist(), strict=True)):
        (serving if is_useful else single)[tuple(key[name] for name in matched)].append(i)
    return serving, single


def _name(key: Mapping[str, str | float], matched: Sequence[str]) -> str:
    """Name a donor: its machine, with what tells it apart from others on that machine."""
    return label_of({name: value for name, value in key.items() if name not in matched})
