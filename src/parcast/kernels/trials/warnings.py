"""What a person should know of a calibration and its predictions."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import median
from typing import Final

import numpy as np

from parcast.descriptions.program import Program
from parcast.kernels.trials.calibration import Capacity, KernelCalibration
from parcast.kernels.trials.case import Cells
from parcast.kernels.trials.counting import CountCheck, CountedProgram
from parcast.kernels.trials.predicting import LARGE
from parcast.laws.compactness import superlinear_warnings
from parcast.show.warning import Rank, RankedWarning
from parcast.units import format_quantity, percent

UNSTEADY: Final = 0.1  # spread of launches of one size that is warned about [1]
SUPERLINEAR: Final = 1.05  # speedup over p that is more than noise [1]
MOSTLY: Final = 0.8  # share of communication in calibrated runs that is warned about [1]

Times = Mapping[tuple[int, int], float]  # of sizes on counts of ranks [s]


def warnings_of(
    calibration: KernelCalibration,
    cells: Cells,
    counts: Sequence[CountCheck],
    *,
    predicted: Times,
    measured: Times,
) -> Iterator[str]:
    """Say all of it; `cells` are the calibrated ones."""
    yield from _network(calibration, cells)
    yield from _waiting(calibration, cells)
    yield from (
        RankedWarning(
            f"Startup times may be wrong: {check}.",
            kind="messages",
            rank=Rank.SERIOUS,
            size=check.most / check.least if check.least > 0 else inf,
        )
        for check in counts
        if check.what == "messages" and not check.agrees
    )
    cores = calibration.form.cores
    shared = sorted({p for _, p in predicted if p > cores})
    if shared:
        yield RankedWarning(
            f"p = {', '.join(map(str, shared))}: more ranks than cores ({cores}). Computing time "
            "is that of the core with the most ranks.",
            kind="shared cores",
            size=max(shared),
        )
    yield from _unsteady(cells)
    for how, times in (("Predicted", predicted), ("Measured", measured)):
        yield from _superlinear(calibration.form.program, how, times)


def _network(calibration: KernelCalibration, cells: Cells) -> Iterator[str]:
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


def _waiting(calibration: KernelCalibration, cells: Cells) -> Iterator[str]:
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
            "larger sizes.",
            kind="communication",
            rank=Rank.SERIOUS,
            size=share,
        )


def _is_negative(calibration: KernelCalibration, cells: Cells, capacity: Capacity) -> bool:
    """Whether time, less computing at the serial rate, less disk, is below 0 in most cells."""
    form = calibration.form
    left = []
    for (n, p), cell in cells.items():
        if p == 1 or p > form.cores or capacity.p not in (p, None):
            continue
        alone = form.terms([n], [1.0])
        computing = calibration.parts(alone)[0][0]
        counted = form.program.counted([n, n], [1.0, float(p)])
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


def _superlinear(program: CountedProgram, how: str, times: Times) -> Iterator[str]:
    """Warn where speedup is above p."""
    pairs = [
        (p, times[n, 1] / time) for (n, p), time in times.items() if p > 1 and (n, 1) in times
    ]
    claimed = [(p, speedup) for p, speedup in pairs if speedup > SUPERLINEAR * p]
    if claimed:
        ranks, speedups = np.array(claimed, dtype=np.float64).T
        described = Program(name=program.kernel.name, phase=(program.phase,))
        yield from (f"{how}: {text}" for text in superlinear_warnings(described, ranks, speedups))
