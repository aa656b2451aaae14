"""Whether a program is still as fast as in a base: the question, its answer, and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.check.gate import (
    Gate,
    GateRule,
    decide,
    first_sessions,
    look,
    sessions_apart,
    visible,
)
from parcast.deciding.check.result import (
    CANNOT_TELL,
    NONE,
    REGRESSION,
    RegressionCheck,
    answer_of,
)
from parcast.deciding.compare.cells import Cells, cells_of, require_common
from parcast.deciding.compare.noise import BETWEEN, PRIOR, noise_of
from parcast.deciding.compare.ratios import Ratios
from parcast.deciding.compare.sides import as_sessions
from parcast.deciding.compare.stopped import StoppedRuns, stopped_of, stopped_warnings
from parcast.errors import ParameterError, as_whole
from parcast.saved.call import Call
from parcast.show.warning import Rank, RankedWarning
from parcast.units import percent
from parcast.words import counted, listed, rounded

if TYPE_CHECKING:
    from parcast.timings.measurements import MeasurementsLike

USUAL: Final = 5  # runs of each cell that `parcast measure` makes [1]
ALIKE: Final = 1.3  # ratio of slowdowns that are said as one
BLIND: Final = 0.5  # smallest slowdown that is seen, above which this is said first [1] [D]


def check(
    new: MeasurementsLike | Sequence[MeasurementsLike] | None = None,
    *,
    against: MeasurementsLike | Sequence[MeasurementsLike],
    level: float = 0.01,
    confirm: int = 3,
    tolerate: float = 0.0,
    repetitions: int | None = None,
) -> RegressionCheck:
    """Tell whether runs of a new version are slower than those of a base.

    All processor counts and call paths are one family: the probability that an unchanged program
    is reported at all is `level`. Holm's procedure over Student's t [1]_, of the difference of
    the means of log time, with a variance that is moderated [2]_.

    Parameters
    ----------
    new : Measurements, table, Forecast or path, or a list of them, optional
        Runs of the new version: the first run, and further runs that confirm it. Without any, the
        answer is the smallest slowdown that can be seen.
    against : Measurements, table, Forecast or path, or a list of them
        Runs of the base; of a result those it was made from. Several tables are several sessions,
        and show how times differ between days; of one, that is taken to be 1%.
    level : float, default 0.01
        Share of unchanged programs of which anything is reported, above 0 and below 0.5. [1]
    confirm : int, default 3
        Repetitions of a second run, without which no slowdown is reported; 0 reports it at
        once. [1]
    tolerate : float, default 0
        Slowdown that does not count, such as 0.05. [1]
    repetitions : int, optional
        Without `new`: runs of each cell that are planned, by default as many as in the base. [1]

    Returns
    -------
    RegressionCheck
        `answer`, `regressed`, the `verdict` in a sentence; `ratios` of the times with their 90%
        intervals [1], and in `visible` the smallest slowdown that is found with a probability of
        95%, (cells,) [1].

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, a column is in some of the tables only, some have
        times and others rates, or two tables of one version are the same.
    FileProblems
        If a file cannot be read.
    FitFailed
        If nothing was run in both versions.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure," Scand. J. Stat.,
       vol. 6, no. 2, pp. 65-70, 1979.
    .. [2] G. K. Smyth, Stat. Appl. Genet. Mol. Biol., vol. 3, no. 1, 2004,
       :doi:`10.2202/1544-6115.1027`.

    Examples
    --------
    >>> import parcast
    >>> base = {"p": [1, 1, 1, 4, 4, 4], "time": [80, 81, 80.5, 22, 22.3, 22.1]}
    >>> slow = {"p": [1, 1, 1, 4, 4, 4], "time": [80.3, 80.9, 80, 26, 26.2, 26.1]}
    >>> parcast.check(slow, against=base).verdict
    'Measure again, at least 3 times: p = 4 is 18% slower (14 to 22%).'
    >>> again = {"p": [1, 1, 1, 4, 4, 4], "time": [80.1, 80.8, 80.2, 26.2, 25.9, 26.0]}
    >>> parcast.check([slow, again], against=base).answer
    'regression'
    """
    rule = _rule(level, confirm, tolerate)
    base = as_sessions("against", against)
    later = [] if new is None else as_sessions("new", new, stopped_too=True)
    cells = cells_of(base, later)
    if repetitions is not None:
        repetitions = as_whole("repetitions", repetitions, least=1, hint=f"{USUAL} are usual.")
    stopped = stopped_of(cells, [*base, *later])
    if later and not stopped.number()[cells.new].any():
        require_common(cells, "the base", "the new version")
    runs = _planned(cells, repetitions, stopped)
    seen = visible(cells, rule, runs)
    gate = decide(cells, rule, stopped) if later else None
    ratios = _ratios(cells, gate)
    noise = noise_of(cells)
    return RegressionCheck(
        ratios=ratios,
        visible=seen,
        rule=rule,
        gate=gate,
        between=noise.between**0.5,
        between_known=noise.is_between_known,
        measure=cells.measure,
        verdict=_verdict(ratios, seen, gate, rule),
        warnings=(
            *_of_sessions(cells, rule, stopped),
            *_warnings(cells, seen, rule, stopped),
            *stopped_warnings(cells, stopped),
        ),
        call=Call(
            verb="check",
            arguments={
                **{"new": later or None, "against": base, "repetitions": repetitions},
                **{"level": level, "confirm": confirm, "tolerate": tolerate},
            },
        ),
    )


def _rule(level: float, confirm: int, tolerate: float) -> GateRule:
    """Check how it is to be decided."""
    for name, value, most in (("level", level, 0.5), ("tolerate", tolerate, 10.0)):
        if not (isinstance(value, int | float) and 0 <= value < most) or (
            name == "level" and value == 0
        ):
            raise ParameterError(
                name,
                must=f"lie {'above' if name == 'level' else 'from'} 0 and below {most:g}",
                got=f"{value!r:.40}",
                hint="Write 1% as 0.01.",
            )
    confirm = as_whole("confirm", confirm, least=0, hint="3 are usual; 0 asks for no second run.")
    return GateRule(level=float(level), confirm=confirm, tolerated=float(tolerate))


def _planned(cells: Cells, repetitions: int | None, stopped: StoppedRuns) -> NDArray[np.intp]:
    """Runs of each cell of its first run, made or planned."""
    base = cells.runs[~cells.new]
    if cells.new.any():
        return np.asarray((cells.runs * first_sessions(cells, stopped)).sum(axis=0))
    planned = base.max(axis=0) if repetitions is None else np.full(base.shape[1], repetitions)
    return np.asarray(planned)


def _ratios(cells: Cells, gate: Gate | None) -> Ratios:
    """Times of both versions and their ratio."""
    noise = noise_of(cells)
    sides = [cells.sessions(cells.new == side) for side in (False, True)]
    with np.errstate(over="ignore"):
        base, new = (np.exp(noise.mean_of(side)[0]) for side in sides)
        seen = look(cells, noise) if gate is None else gate.all
        lower, upper = (np.exp(end) for end in seen.interval())
        return Ratios(
            keys=cells.keys,
            base=base,
            new=new,
            base_runs=sides[0].runs.sum(axis=0),
            new_runs=sides[1].runs.sum(axis=0),
            ratio=np.exp(seen.log_ratio),
            lower=lower,
            upper=upper,
        )


def _verdict(ratios: Ratios, seen: Array, gate: Gate | None, rule: GateRule) -> str:
    """Say the answer in a sentence."""
    if gate is None:
        return f"{_can_see(ratios, seen)} can be found with so many runs."
    answer = answer_of(gate, ratios, seen / (1 + rule.tolerated))
    if answer in (NONE, CANNOT_TELL):
        has = ratios.in_both
        faster = int(gate.is_faster.sum())
        more = f" {faster} faster." if faster else ""
        what = counted(int(has.sum()), noun_of(ratios))
        could = _can_see(ratios, np.where(has, seen, np.inf))
        begins, then = "No regression", ""
        if answer == CANNOT_TELL:
            begins, then = "Cannot tell", " Repeat the runs of both versions more often."
        return f"{begins}: {what} compared.{more} {could} would have been found.{then}"
    flagged = gate.is_slower if answer == REGRESSION else gate.waits
    places = np.flatnonzero(flagged)
    by_stopped = np.isfinite(gate.least_ratio)
    size = np.where(by_stopped, gate.least_ratio, ratios.ratio)
    places = places[np.argsort(-size[places], kind="stable")]
    texts = [
        f"{ratios.labels[i]} has stopped runs, which took over {gate.least_ratio[i]:.2g} times "
        "as long"
        if by_stopped[i]
        else ratios.change(i)
        for i in places.tolist()
    ]
    shown = "; ".join(texts[:3]) + (f"; {len(texts) - 3} more" if len(texts) > 3 else "")
    if answer == REGRESSION:
        return f"Regression: {shown}."
    return f"Measure again, at least {counted(rule.confirm, 'time')}: {shown}."


def noun_of(ratios: Ratios) -> str:
    """What the cells are: counts, or call paths and so on at counts."""
    return "count" if len(ratios.keys[0]) == 1 else "row"


def _can_see(ratios: Ratios, seen: Array) -> str:
    """Say which slowdowns are found, where they are smallest and largest."""
    if not np.isfinite(seen).any():
        return "No slowdown"
    least = int(np.argmin(seen))
    most = int(np.argmax(np.where(np.isfinite(seen), seen, -1)))
    low, high = (slowdown_text(float(seen[i])) for i in (least, most))
    if seen[most] <= ALIKE * seen[least]:
        return f"A slowdown of {high}"
    labels = ratios.labels
    return f"A slowdown of {low} ({labels[least]}) up to one of {high} ({labels[most]})"


def slowdown_text(slowdown: float) -> str:
    """Write a slowdown in a sentence.

    >>> slowdown_text(0.0841), slowdown_text(27.9)
    ('8%', 'a factor of 29')
    """
    return percent(slowdown) if slowdown < 1 else f"a factor of {rounded(1 + slowdown, 2)}"


def _of_sessions(cells: Cells, rule: GateRule, stopped: StoppedRuns) -> Iterator[str]:
    """Say where the sessions of the new version disagree."""
    ratio = sessions_apart(cells, rule, stopped) if cells.new.sum() > 1 else np.empty(0)
    places = np.flatnonzero(np.isfinite(ratio))
    if not places.size:
        return
    places = places[np.argsort(-np.abs(np.log(ratio[places])), kind="stable")]
    texts = [f"{cells.labels[i]} ({ratio[i]:.3g} times as long)" for i in places.tolist()]
    yield RankedWarning(
        "The further runs of the new version differ from the first by more than runs do: "
        f"{listed(texts)}. Find out why, and measure again.",
        rank=Rank.SERIOUS,
    )


def _warnings(cells: Cells, seen: Array, rule: GateRule, stopped: StoppedRuns) -> list[str]:
    """Say what the runs cannot show."""
    found: list[str] = []
    base = cells.sessions(~cells.new)
    lone = base.free.sum(axis=0)[base.runs.any(axis=0)] == 0
    if lone.all():
        found.append(
            RankedWarning(
                f"The base has one run of each: it does not show how far runs differ. "
                f"{percent(PRIOR)} is assumed, poorly known. Measure the base with "
                f"{USUAL} repetitions.",
                rank=Rank.SERIOUS,
            )
        )
    elif lone.any():
        found.append(f"{int(lone.sum())} of {len(lone)} have one run in the base.")
    if not rule.confirm and (cells.runs[cells.new].sum(axis=0) == 1).any():
        found.append(
            RankedWarning(
                "A single run of the new version is reported more often than the level says: of "
                "unchanged programs that were published, 6% were. Use a second run.",
                rank=Rank.SERIOUS,
            )
        )
    if not noise_of(cells).is_between_known:
        found.append(
            f"The base is one session: it does not show how times differ between days. "
            f"{percent(BETWEEN)} is assumed. Give tables of several days."
        )
    if cells.new.any():
        is_here = (cells.runs > 0) | (stopped.number() > 0)
        for text, side in (("only in the base", True), ("only in the new runs", False)):
            missing = np.flatnonzero(~is_here[cells.new == side].any(axis=0)).tolist()
            if missing:
                labels = [cells.labels[i] for i in missing]
                found.append(f"Not compared, as it is {text}: {listed(labels)}.")
    found += [f"{text[0].upper()}{text[1:]}: not compared by it." for text in cells.left_out]
    known = seen[np.isfinite(seen)]
    if known.size and known.min() > BLIND:
        found.append(
            RankedWarning(
                f"Only slowdowns of {slowdown_text(float(known.min()))} and more are found. "
                "Repeat the runs of both versions more often.",
                rank=Rank.SERIOUS,
            )
        )
    return found
