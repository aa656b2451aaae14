"""How wrong a fitted law is at processor counts that it has not seen: each is left out in turn.

Constants are fitted to all other runs, from where the fit of all ended, and the runs that were
left out are predicted. A count without which the others determine less is not asked. The worst of
these errors is what the description keeps, see `parcast.descriptions.law_error`.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.law_error import KINDS, OwnLawError, own_law_error
from parcast.fitting.identifiability import WEAK
from parcast.fitting.runs import Noise
from parcast.fitting.solver import Task
from parcast.laws.allowances import platform_of

MOST_COUNTS: Final = 16  # that are left out, spread over all


def seen_law_errors(task: Task, noise: Noise, best: Array, runs: str) -> tuple[OwnLawError, ...]:
    """Errors of the program's laws at counts that were left out; nothing where too few can be.

    `runs` says in words what was fitted.
    """
    model = task.model
    kinds = np.unique(platform_of(model.machine, model.points))
    if len(kinds) != 1:  # the error on each of them is not known
        return ()
    laws = [law for phase in model.program.phase for law in phase.laws_within]
    errors = _errors(task, noise, best)
    return own_law_error(laws, KINDS[int(kinds[0])], errors, model.points["p"], runs)


def _errors(task: Task, noise: Noise, best: Array) -> list[float]:
    """Logarithms of predicted over measured times of counts left out, the median at each."""
    p = task.model.points["p"]
    counts = np.unique(p)
    if len(counts) > MOST_COUNTS:
        counts = counts[np.linspace(0, len(counts) - 1, MOST_COUNTS).round().astype(int)]
    open_ones = _open(task, noise, best, np.ones(len(p), dtype=bool))
    errors = []
    for count in counts:
        kept = p != count
        if not kept.any() or _open(task, noise, best, kept) > open_ones:
            continue
        coordinates = _without(task, kept).solve(noise.level, best[None]).coordinates
        apart = task.model.logs(coordinates)[0][0] - task.measured
        errors.append(float(np.median(np.abs(apart[~kept]))))
    return errors


def _without(task: Task, kept: NDArray[np.bool_]) -> Task:
    """The task of some of the runs."""
    points = {axis: column[kept] for axis, column in task.model.points.items()}
    return replace(
        task,
        model=replace(task.model, points=points),
        measured=task.measured[kept],
        runs=task.runs.select(kept),
    )


def _open(task: Task, noise: Noise, best: Array, kept: NDArray[np.bool_]) -> int:
    """How many combinations of parameters some of the runs do not determine."""
    inside = (best > task.lower) & (best < task.upper)
    residuals, rows = task.residuals(noise.level, best[None])
    used = np.concatenate([kept, np.ones(residuals.shape[1] - len(kept), dtype=bool)])
    by_log = rows[0][used][:, inside] * best[inside]
    sizes = np.linalg.svd(by_log, compute_uv=False)
    return int(inside.sum() - np.sum(sizes > WEAK))
