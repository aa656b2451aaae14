"""Whether a law holds, by printed rules, and what else is to be said, for `validate`."""

from collections.abc import Iterator, Sequence
from math import comb, inf, log
from statistics import median
from typing import Final

import numpy as np

from parcast.descriptions.program import Program
from parcast.kernels.validating.calibration import Calibration
from parcast.kernels.validating.cells import Cells
from parcast.kernels.validating.interval import LARGE
from parcast.kernels.validating.result import INTERVAL, Capacity, Comparison, CountCheck, TimedRun
from parcast.kernels.validating.subject import Subject
from parcast.laws.compactness import superlinear_warnings
from parcast.show.warning import Rank, RankedWarning
from parcast.units import format_quantity, percent

CHANCE: Final = 0.05  # with which a law that holds may be refused for points outside [1]
FAR: Final = 2.0  # half widths of its interval from which one point alone refuses a law [1]
ALIKE: Final = 1.1  # ratio of counts that still grow alike [1]
UNSTEADY: Final = 0.1  # spread of launches of one size that is warned about [1]
SUPERLINEAR: Final = 1.05  # speedup over p that is more than noise [1]
BLOCKS: Final = 20  # of a rank, from which shares are even enough to compare counts [1]
# Upper over lower end of an interval, and longest over shortest run, above which a point cannot
# show that a law holds. A law whose power of n is off by a third is off by 4^(1/3) = 1.6 at four
# times the size, and 1.6 is sqrt(2.5): wider intervals would let it pass. [1] [D]
WIDEST: Final = 2.5
MOSTLY: Final = 0.8  # share of communication in calibrated runs that is warned about [1]
LARGER: Final = 1.5  # size over the largest calibrated one from which it is another [1]
REMEDY: Final = "Repeat on an idle machine, with larger sizes (longest), or without quick"


def verdict_of(
    compared: Sequence[Comparison],
    counts: Sequence[CountCheck],
    calibration: Sequence[TimedRun] = (),
) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether a law holds, None where nothing can tell, and the rules that decided.

    It holds only where the points could have refused it; they decide nothing if more than half of
    the `calibration` runs that count were disturbed.
    """
    differing = [check for check in counts if not check.agrees and check.what != "messages"]
    rules = [_counted(check) for check in differing]
    if not compared:
        return (False if differing else None), tuple(rules)
    used = [run.is_disturbed for run in calibration if run.counts]
    if 2 * sum(used) > len(used):
        why = "most of the runs it was calibrated with were disturbed by other processes"
        return (False if differing else None), (*rules, f"{why}. {REMEDY}")
    sure = [x for x in compared if is_sure(x)]
    outside = [x for x in compared if not x.is_inside]
    refusing = [x for x in outside if is_sure(x)]
    allowed = points_allowed(len(sure))
    far = [x for x in refusing if is_far(x)]
    unknown = _why_unknown(compared, sure)
    inside = (
        f"{len(compared) - len(outside)} of {len(compared)} medians are inside their intervals"
    )
    refused = bool(rules) or bool(far) or len(refusing) > allowed
    if len(refusing) > allowed:
        rules.append(
            f"{inside}. With a correct law, more than {allowed} are outside in less than "
            f"{percent(CHANCE)} of cases"
        )
    elif not refused:
        end = f", but {unknown}. {REMEDY}" if unknown else ", as expected of a correct law"
        rules.append(f"{inside}{end}")
    rules += [
        f"n = {x.n}, p = {x.p}: predicted {format_quantity(x.predicted, 'time')}, took "
        f"{format_quantity(x.measured, 'time')}, more than twice as far off as the end of the "
        "interval"
        for x in far
    ]
    return (False if refused else None if unknown else True), tuple(rules)


def _why_unknown(compared: Sequence[Comparison], sure: Sequence[Comparison]) -> str:
    """Say why points that do not refuse a law do not show that it holds either; "" if they do."""
    width = median(x.upper / x.lower for x in compared)
    if width > WIDEST:
        return (
            f"the intervals are so wide (median {_in_words(compared, width)}) that a wrong law "
            "would pass"
        )
    if 2 * sum(x.is_disturbed for x in compared) >= len(compared):
        return "runs at half or more of the sizes and counts were disturbed by other processes"
    if 2 * len(sure) <= len(compared):
        apart = median(_apart(x) for x in compared)
        return f"repeated runs differ by a factor of {apart:.1f}"
    if 2 * sum(not x.is_inside for x in compared) >= len(compared):
        return "these are too few"
    if not any(x.factor >= LARGER or not x.is_calibrated_p for x in compared):
        return "no size or count is far from the calibrated ones, so little was predicted"
    return ""


def _in_words(compared: Sequence[Comparison], width: float) -> str:
    """Name the interval whose width is in the middle."""
    x = min(compared, key=lambda x: abs(log(x.upper / x.lower / width)))
    low, high = (format_quantity(end, "time") for end in (x.lower, x.upper))
    return f"{low} to {high}"


def is_sure(x: Comparison) -> bool:
    """Whether undisturbed runs agree, or all lie beyond one end of the interval."""
    if x.is_disturbed:
        return False
    times = [run.time for run in x.runs]
    return _apart(x) <= WIDEST or min(times) > x.upper or max(times) < x.lower


def _apart(x: Comparison) -> float:
    """Longest over shortest run [1]."""
    times = [run.time for run in x.runs]
    return max(times) / min(times)


def points_allowed(points: int) -> int:
    """Points that may lie outside their 90 % intervals by chance."""
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

    Runs on several ranks count from size `least` on, if a rank has `BLOCKS` rows or blocks.
    """
    runs = [
        s.runs[0]
        for (n, p), samples in cells.items()
        if p == 1 or n >= max(least, BLOCKS * subject.block * p)
        for s in samples
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
        "program counted, a ratio that varies between runs"
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
    yield from _waiting(calibration, cells)
    yield from (
        RankedWarning(
            f"Startup times may be wrong: {_counted(check)}.",
            kind="messages",
            rank=Rank.SERIOUS,
            size=check.most / check.least if check.least > 0 else inf,
        )
        for check in counts
        if check.what == "messages" and not check.agrees
    )
    shared = sorted({x.p for x in comparisons if x.is_shared})
    if shared:
        cores = calibration.form.cores
        yield RankedWarning(
            f"p = {', '.join(map(str, shared))}: more ranks than cores ({cores}). Computing time "
            "is that of the core with the most ranks.",
            kind="shared cores",
            size=max(shared),
        )
    yield from _unsteady(cells)
    yield from _superlinear(subject, comparisons)


def _network(calibration: Calibration, cells: Cells) -> Iterator[str]:
    """Explain rates of the network that the runs do not determine."""
    unknown = [x for x in calibration.capacities() if x.symbol == "u" and x.value is None]
    if not unknown:
        return
    counts = ", ".join(str(x.p) for x in unknown if x.p is not None)
    text = f"The network bandwidth u is not determined{f' at p = {counts}' if counts else ''}"
    if any(_is_negative(calibration, cells, x) for x in unknown):
        text += (
            ": the parallel runs took less time than their computing at the serial rate, so W of "
            "the serial run is underestimated"
        )
    else:
        text += ": communication is negligible beside computing at these sizes"
    bounds = [f"{format_quantity(x.lower, 'rate')}" for x in unknown if x.lower]
    text += (
        f". It is at least {', '.join(bounds)}."
        if bounds
        else ". Communication is predicted to take no time per byte."
    )
    yield RankedWarning(text, kind="network bandwidth")


def _waiting(calibration: Calibration, cells: Cells) -> Iterator[str]:
    """Warn where calibrated runs show the network and hardly anything else."""
    n = max(size for size, _ in cells)
    p = [float(x) for x in calibration.form.counts if x > 1]
    if not p:
        return
    computing, communication, disk = calibration.parts(calibration.form.terms([n] * len(p), p))
    share = float((communication / (computing + communication + disk)).max())
    if share > MOSTLY:
        yield RankedWarning(
            f"The largest calibration runs spend {percent(share)} of their time on communication "
            "on some ranks, so errors come from startup times rather than from the law. Use "
            "larger sizes (longest).",
            kind="communication",
            rank=Rank.SERIOUS,
            size=share,
        )


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
        yield RankedWarning(
            f"Launches with n = {worst[1]}, p = {worst[2]} differ by {percent(worst[0])} "
            "(standard deviation), which widens the intervals. Repeat on an idle machine.",
            kind="unsteady",
            rank=Rank.SERIOUS,
            size=worst[0],
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
