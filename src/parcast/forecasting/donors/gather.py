"""Runs on other machines beside a forecast: which serve which series, and what they say.

How alike two machines are, by the figures that both descriptions give.

A donor weighs less in a forecast the more its machine differs from the target [D]_::

    likeness = 1 / (1 + (distance / ln 4)^2)

distance being the root of the mean squared logarithm of the ratios of the figures both give, such
as the rates of a processor, of the network and of the disks. Machines a factor of four apart in
all weigh half. A machine of which nothing is known weighs as one that far away.

What descriptions of machines say of the machines that some runs name.

References
----------
.. [D] parcast's own default: no measured set at hand came with descriptions to test it on.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Argument, ParameterError
from parcast.forecasting import measured as doubt
from parcast.forecasting.donors.curve import Curves, DonatedCurve, donated_curve
from parcast.forecasting.measured import MeasuredCurve, curve_from
from parcast.forecasting.result import Elsewhere
from parcast.forecasting.scaling import (
    Scaling,
    Size,
    as_for,
    is_strong,
    longest_parts,
    scaling_of_runs,
    size_of_runs,
)
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, label_of
from parcast.words import listed

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine


APART = float(np.log(4.0))  # distance at which a donor weighs half [D]
UNKNOWN = 0.5


def likeness(here: Mapping[str, float], there: Mapping[str, float]) -> float:
    """Weight of a donor by its machine's figures, from 0 to 1. [1].

    Parameters
    ----------
    here, there : mapping of str to float
        Figures of both machines by name, above 0, in the same units.

    Examples
    --------
    >>> t3e = {"compute.rate": 1.2e9, "network.bandwidth": 300e6}
    >>> likeness(t3e, t3e), round(likeness(t3e, {"compute.rate": 0.3e9}), 2), likeness(t3e, {})
    (1.0, 0.5, 0.5)
    """
    shared = [name for name in here if name in there]
    if not shared:
        return UNKNOWN
    ratios = np.log([here[name] / there[name] for name in shared])
    return float(1.0 / (1.0 + np.mean(ratios**2) / APART**2))


def figures_of(
    machines: Sequence["Machine"], named: Sequence[str], *, is_target_named: bool
) -> dict[str, dict[str, float]]:
    """Figures of described machines that do not depend on anything, by the name of the machine.

    Parameters
    ----------
    machines : sequence of Machine
    named : sequence of str
        Machines that the runs name. One description that is of none of them is that of the
        target, if its runs name no machine: it is called "".

    is_target_named : bool
        Whether the runs of the target name their machine.

    Raises
    ------
    ParameterError
        If a machine is described twice, or descriptions are of no machine of the runs.
    """
    found: dict[str, dict[str, float]] = {}
    strangers = []
    for machine in machines:
        figures = {
            name: float(amount({}))
            for name, amount in machine.parameters().items()
            if not amount.expression.axes and float(amount({})) > 0
        }
        name = machine.name
        if name in found:
            raise ParameterError(
                "machines", must="be described once each", got=f"{name!r:.60} twice"
            )
        if name not in named:
            strangers.append(name)
        found[name] = figures
    if len(strangers) > (0 if is_target_named else 1):
        raise ParameterError(
            "machines",
            must="be those of the runs",
            got=listed(strangers),
            hint=f"The runs name {listed(list(dict.fromkeys(named)))}: call them so.",
        )
    if strangers:
        found[""] = found.pop(strangers[0])
    return found


LAW_OF_DONORS = (
    "; beside it, how time goes on on other machines: the least relative error, regressed on "
    "their speed"
)
REPEATED = " Put all runs on it into one table, or rename it."


def gather(
    donors: Measurements,
    measurements: Measurements,
    series: Series,
    machines: Sequence["Machine"] = (),
) -> Elsewhere:
    """Find the donors of every series: other machines with the same callpath and other axes.

    Parameters
    ----------
    donors : Measurements
        With a column `machine`; made by `parcast.forecasting.donors.tables.table_of_donors`.
    measurements : Measurements
        What is forecast.
    series : Series
        The series it was grouped into.
    machines : sequence of Machine
        Descriptions, by the names that the runs have; machines like the target weigh more.

    Returns
    -------
    Elsewhere

    Raises
    ------
    ParameterError
        If it cannot be told which of the runs on them belong to which series.
    """
    _check_callpaths(donors, measurements)
    grouped = donors.series()
    matched = _matched(donors, measurements, series, grouped.by)
    apart = list(dict.fromkeys(["machine", *grouped.by, *matched]))
    if set(apart) != set(grouped.by):
        grouped = donors.series(apart)
    useful = grouped.count >= 2
    serving, single = _by_kind(grouped, useful, matched)
    names = [_name(key, matched) for key in grouped.keys]
    number = np.cumsum(useful) - 1

    constant = {name: measurements.columns[name][0] for name in matched}
    own = measurements.labels.get("machine")
    ours = _machines_of(measurements)
    figures = figures_of(machines, [*_machines_of(donors), *ours], is_target_named=bool(ours))
    here_unnamed = figures.pop("", None)
    likenesses: list[list[float]] = []
    of: list[list[int]] = []
    told: list[tuple[str, ...]] = []
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
        kind_label = label_of(dict(zip(matched, kind, strict=True)))
        told.append(tuple(_told(machine if is_both else None, once, kind_label, here=bool(here))))
    width = max(1, *map(len, of))
    return Elsewhere(
        runs=grouped.take(useful),
        names=tuple(name for name, is_useful in zip(names, useful, strict=True) if is_useful),
        of=np.array([row + [-1] * (width - len(row)) for row in of], dtype=np.intp),
        likeness=np.array([row + [0.0] * (width - len(row)) for row in likenesses]),
        described=any(max(row, default=0.0) > min(row, default=0.0) for row in likenesses),
        told=tuple(told),
        grows=size_of_runs(donors, grouped.by) == "grows",
    )


def curve_with_donors(
    series: Series, elsewhere: Elsewhere, targets: NDArray[np.float64]
) -> DonatedCurve:
    """Times of every series at `targets` from its own runs and its donors."""
    runs = curves_of(elsewhere.runs)
    return donated_curve(curves_of(series), runs, elsewhere.of, targets, elsewhere.likeness)


def said_of(
    series: Series, elsewhere: Elsewhere | None, targets: NDArray[np.float64]
) -> tuple[MeasuredCurve, DonatedCurve | None]:
    """Times of every series at `targets`, with donors or without; what donors say, if any."""
    if elsewhere is None:
        ours = curves_of(series)
        return curve_from(ours.p, ours.time, ours.count, ours.noise, targets), None
    donated = curve_with_donors(series, elsewhere, targets)
    return donated.said, donated


def scaling_with_donors(
    series: Series, elsewhere: Elsewhere, scaling: Scaling, *, size: Size
) -> tuple[NDArray[np.bool_], list[str]]:
    """Tell strong from weak scaling; of a single count, as most of its donors scale.

    All call paths of a run alike: those of a single count as one of several counts, where the run
    has one, else as the longest of them.
    """
    single = series.count == 1
    strong, reasons = np.zeros(len(series), dtype=bool), [""] * len(series)
    if not single.all():
        strong[~single], several = scaling_of_runs(series.take(~single), scaling, size=size)
        for i, reason in zip(np.flatnonzero(~single).tolist(), several, strict=True):
            reasons[i] = reason
    if not single.any():
        return strong, reasons
    if scaling != "auto" or size == "grows" or elsewhere.grows:
        said = "as you said" if scaling != "auto" else "n grows with p"
        strong[single] = scaling == "strong"
        return strong, [reason or said for reason in reasons]
    said = "as on most of the other machines; a single count cannot tell"
    runs = elsewhere.runs
    alone = is_strong(runs.p, runs.time, runs.count)
    theirs = np.where(elsewhere.of >= 0, alone[elsewhere.of], False).sum(axis=1)
    strong[single] = (2 * theirs >= (elsewhere.of >= 0).sum(axis=1))[single]
    teller = longest_parts(series, np.where(single, series.time[:, 0], np.inf))
    for i in np.flatnonzero(single).tolist():
        reasons[i] = said if teller[i] == i else as_for(series, int(teller[i]))
    return strong[teller], reasons


def _machines_of(measurements: Measurements) -> list[str]:
    """Machines that some runs name."""
    return list(dict.fromkeys(measurements.labels.get("machine", np.array([])).tolist()))


def curves_of(series: Series) -> Curves:
    """Give the arrays of some series as the models take them."""
    noise = doubt.noise(series.spread, series.repetitions > 1)
    return Curves(p=series.p, time=series.time, count=series.count, noise=noise)


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


def _matched(
    donors: Measurements, measurements: Measurements, series: Series, apart: Sequence[str]
) -> list[str]:
    """Columns in which a donor must be as the series is: callpath, and axes that stay with p.

    An axis may go along with `p`, as the size of a weak-scaling study does. From a single count
    nothing tells that, so the donors tell it for both: it does unless it stands in `apart`.
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


def _told(
    both: str | float | None, once: Sequence[str], kind: str, *, here: bool
) -> Iterator[str]:
    """Say of one series what became of donors before anything was computed."""
    if both is not None:
        yield f"{both} is among the donors too: its runs there were not used.{REPEATED}"
    if once:
        they = "it was" if len(once) == 1 else "they were"
        yield f"{no_help(once, 'other machines')}: {they} run at one count only."
    if not here:
        with_it = f" with {kind}" if kind else ""
        yield (
            "No other machine helps to forecast this one: none was run at two counts or more"
            f"{with_it}."
        )


def no_help(names: Sequence[str], whom: str) -> str:
    """Say that some machines do not help to forecast others."""
    return f"{listed(names)} {'does' if len(names) == 1 else 'do'} not help to forecast {whom}"
