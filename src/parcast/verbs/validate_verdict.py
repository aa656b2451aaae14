"""Whether a law holds, by rules that are told, and what else is to be said, for `validate`."""

from collections.abc import Iterator, Sequence
from math import comb, log
from statistics import median
from typing import Final

import numpy as np

from parcast.models.compactness import superlinear_warnings
from parcast.program import Program
from parcast.units import format_quantity, percent
from parcast.validation_result import INTERVAL, Capacity, Comparison, CountCheck
from parcast.verbs.validate_calibration import Calibration
from parcast.verbs.validate_interval import LARGE
from parcast.verbs.validate_runs import Cells
from parcast.verbs.validate_subject import Subject

CHANCE: Final = 0.05  # with which a law that holds may be refused for points outside [1]
FAR: Final = 2.0  # half widths of its interval from which one point alone refuses a law [1]
ALIKE: Final = 1.1  # ratio of counts that still grow alike [1]
UNSTEADY: Final = 0.1  # spread of launches of one size that is warned about [1]
SUPERLINEAR: Final = 1.05  # speedup over p that is more than noise [1]
SLIGHT: Final = 0.02  # share of the time below which a cost is not told [1]


def verdict_of(
    compared: Sequence[Comparison], counts: Sequence[CountCheck]
) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether a law holds, and by which rules.

    Parameters
    ----------
    compared : sequence of Comparison
        Those that have runs.
    counts : sequence of CountCheck
        What the law counts beside what the program counted.

    Returns
    -------
    holds : bool or None
        None where nothing was compared.
    rules : tuple of str
        What decided.
    """
    differing = [check for check in counts if not check.agrees and check.what != "messages"]
    told = [_counted(check) for check in differing]
    if not compared:
        return (False if differing else None), tuple(told)
    outside = [x for x in compared if not x.is_inside]
    allowed = points_allowed(len(compared))
    far = [x for x in outside if is_far(x)]
    said = f"{len(compared) - len(outside)} of {len(compared)} medians lie in their intervals"
    if len(outside) > allowed:
        told.append(
            f"{said}. Of a law that holds, more than {allowed} lie outside in less than "
            f"{percent(CHANCE)} of cases"
        )
    elif not far and not told:
        told.append(f"{said}, as of a law that holds")
    told += [
        f"n = {x.n}, p = {x.p}: predicted {format_quantity(x.predicted, 'time')}, took "
        f"{format_quantity(x.measured, 'time')}, more than twice as far off as its interval allows"
        for x in far
    ]
    return not differing and not far and len(outside) <= allowed, tuple(told)


def points_allowed(points: int) -> int:
    """Points that may lie outside their 90 % intervals by chance.

    Examples
    --------
    >>> [points_allowed(m) for m in (1, 6, 20)]
    [1, 2, 4]
    """
    share, tail = 1.0 - INTERVAL, 1.0
    for outside in range(points + 1):
        tail -= comb(points, outside) * share**outside * (1 - share) ** (points - outside)
        if tail < CHANCE:
            break
    return outside


def is_far(x: Comparison) -> bool:
    """Whether the median lies more than twice as far from the prediction as the interval's end."""
    off = log(x.measured / x.predicted)
    end = log(x.upper / x.predicted) if off > 0 else log(x.lower / x.predicted)
    return off / end > FAR if end else off != 0.0


def count_checks(subject: Subject, cells: Cells, *, least: int) -> tuple[CountCheck, ...]:
    """Compare what the law counts with what the program counted.

    Parameters
    ----------
    subject : Subject
        The program and its law.
    cells : mapping from n and p to samples
        Calibrated and compared runs.
    least : int
        Size from which runs on several ranks count: in smaller ones, rows or blocks cannot be
        dealt out evenly. [1]
    """
    runs = [
        s.runs[0] for (n, p), samples in cells.items() if n >= least or p == 1 for s in samples
    ]
    n, p = (np.array([getattr(run, x) for run in runs], dtype=np.float64) for x in "np")
    law = subject.counted(n, p)
    pairs = {
        "steps": (law.steps, [max(run.steps) for run in runs]),
        "network bytes": (law.network_bytes, [sum(run.sent) for run in runs]),
        "messages": (law.messages, [sum(run.messages) for run in runs]),
        "disk bytes": (law.disk_bytes, [run.disk_bytes for run in runs]),
    }
    return tuple(
        check
        for what, (by_law, by_program) in pairs.items()
        if (check := _check(what, np.asarray(by_law), np.asarray(by_program, float), p))
    )


def _check(
    what: str, by_law: np.ndarray, by_program: np.ndarray, p: np.ndarray
) -> CountCheck | None:
    """Compare one count; None where neither has any."""
    some = (by_law > 0) | (by_program > 0)
    if not some.any():
        return None
    with np.errstate(divide="ignore"):
        ratio = by_law[some] / by_program[some]
    groups = [ratio] if what == "steps" else [ratio[p[some] == x] for x in np.unique(p[some])]
    agrees = all(x.min() > 0 and x.max() <= ALIKE * x.min() < np.inf for x in groups)
    return CountCheck(what=what, least=float(ratio.min()), most=float(ratio.max()), agrees=agrees)


def _counted(check: CountCheck) -> str:
    """Say that a law counts what the program does not do."""
    return (
        f"the law counts {check.least:.3g} to {check.most:.3g} times the {check.what} that the "
        "program counted, and not the same share in all runs"
    )


def warnings_of(
    subject: Subject,
    calibration: Calibration,
    cells: Cells,
    comparisons: Sequence[Comparison],
    counts: Sequence[CountCheck],
) -> Iterator[str]:
    """Say what a person should know of a calibration and its predictions."""
    yield from _network(calibration, cells)
    yield from (
        f"{_counted(check)}. Startups may be priced wrongly."[:1].upper()
        + f"{_counted(check)}. Startups may be priced wrongly."[1:]
        for check in counts
        if check.what == "messages" and not check.agrees
    )
    shared = sorted({x.p for x in comparisons if x.is_shared})
    if shared:
        cores = calibration.form.cores
        yield (
            f"p = {', '.join(map(str, shared))}: more ranks than the {cores} "
            f"core{'s' if cores > 1 else ''}. What all ranks compute is priced with ranks/cores."
        )
    yield from _unsteady(cells)
    yield from _superlinear(subject, comparisons)


def _network(calibration: Calibration, cells: Cells) -> Iterator[str]:
    """Explain rates of the network that the runs do not determine."""
    unknown = [x for x in calibration.capacities() if x.symbol == "u" and x.value is None]
    if not unknown:
        return
    counts = ", ".join(str(x.p) for x in unknown if x.p is not None)
    text = f"The network's rate u is not determined{f' at p = {counts}' if counts else ''}"
    if any(_is_negative(calibration, cells, x) for x in unknown):
        text += (
            ". By the source's formula it is negative: the parallel runs took less time than "
            "their computing at the serial rate, so that W of the serial run is under-estimated"
        )
    else:
        text += ": what the network costs does not show beside computing at these sizes"
    bounds = [f"{format_quantity(x.lower, 'rate')}" for x in unknown if x.lower]
    yield text + (f". It is at least {', '.join(bounds)}." if bounds else ". It is taken as free.")


def _is_negative(calibration: Calibration, cells: Cells, capacity: Capacity) -> bool:
    """Whether time, less computing at the serial rate, less disk, is below 0 in most cells."""
    form = calibration.form
    left = []
    for (n, p), cell in cells.items():
        if p == 1 or p > form.cores or capacity.p not in (p, None):
            continue
        alone = form.terms([n], [1.0])
        computing = calibration.parts(alone)[0][0]
        counted = form.subject.counted([n, n], [1.0, float(p)])
        share = float(counted.steps[1] / counted.steps[0])
        left.append(
            median(x.time for x in cell) - float(computing) * share - median(x.disk for x in cell)
        )
    return bool(left) and median(left) < 0


def _unsteady(cells: Cells) -> Iterator[str]:
    """Warn where launches of one size differ."""
    worst = max(
        (
            (float(np.std(times, ddof=1) / np.mean(times)), n, p)
            for (n, p), cell in cells.items()
            if n >= LARGE * max(n for n, _ in cells) and len(times := [x.time for x in cell]) > 1
        ),
        default=(0.0, 0, 0),
    )
    if worst[0] > UNSTEADY:
        yield (
            f"The machine is not quiet: launches with n = {worst[1]}, p = {worst[2]} differ by "
            f"{percent(worst[0])} (standard deviation). Intervals are wide for it."
        )


def _superlinear(subject: Subject, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Warn where speedup is above p, predicted or measured."""
    program = Program(name=subject.name, phase=(subject.phase,))
    alone = {x.n: x for x in comparisons if x.p == 1}
    pairs = [(alone[x.n], x) for x in comparisons if x.p > 1 and x.n in alone]
    for how, ratios in (
        ("Predicted", [(x.p, one.predicted / x.predicted) for one, x in pairs]),
        (
            "Measured",
            [(x.p, one.measured / x.measured) for one, x in pairs if one.runs and x.runs],
        ),
    ):
        claimed = [(p, s) for p, s in ratios if s > SUPERLINEAR * p]
        if claimed:
            p, speedup = np.array(claimed, dtype=np.float64).T
            yield from (f"{how}: {text}" for text in superlinear_warnings(program, p, speedup))
