"""Two versions of one program compared: the question and its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.deciding.compare.cells import Cells, cells_of, require_common
from parcast.deciding.compare.changes import PartChange, changes_between, series_of
from parcast.deciding.compare.noise import (
    PRIOR,
    PRIOR_FREE,
    exceeded,
    noise_of,
    quantile,
    together,
)
from parcast.deciding.compare.ratios import Ratios
from parcast.deciding.compare.result import VersionComparison
from parcast.deciding.compare.sides import Version, VersionTimes, matched, version_of
from parcast.deciding.compare.stopped import (
    StoppedAbove,
    stopped_above,
    stopped_of,
    stopped_warnings,
)
from parcast.errors import Argument, FitFailed, ParameterError
from parcast.forecasting.forecast import forecast
from parcast.saved.call import Call, array_of
from parcast.timings.series import label_of
from parcast.units import percent
from parcast.words import counted, listed, whole

if TYPE_CHECKING:
    from parcast.show.result import Result
    from parcast.timings.measurements import MeasurementsLike

LEVEL: Final = 0.1  # at which a difference is said to be one, for all rows together [1] [D]
INTERVAL: Final = 0.9


def compare(
    base: MeasurementsLike | Result,
    new: MeasurementsLike | Result,
    *,
    p: ArrayLike | None = None,
) -> VersionComparison:
    """Compare the times of two versions of a program.

    Parameters
    ----------
    base, new : Measurements, table, Forecast, Prediction or path
        The two versions: their runs, or results that have times by count; a path may be that of a
        table or of a result that was saved as JSON.
    p : int or array_like, optional
        Processor counts to compare at; a version that has no time there is forecast from its
        runs. By default the counts that both have. [1]

    Returns
    -------
    VersionComparison
        `ratios` of the times of new and base, with 90% intervals (cells,) [1]; `changes` of
        shared, constant and growing work at the largest count that both have runs of, over the
        time of the base there [1]; the `verdict` in a sentence.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, a column is in one version only, or one has times
        and the other rates; if a version has no time at `p`, and no runs.
    FileProblems
        If a file cannot be read, or is the document of another version of parcast.
    FitFailed
        If both have no count in common.

    Notes
    -----
    The error of a ratio of measured times is that of `parcast.check`. Beside a computed time that
    of the runs is added to its own, with the degrees of freedom of Satterthwaite [1]_. Forecasts
    of two versions have similar errors, as their curves are of one form: beyond the runs of both
    they are taken to correlate by one half [D]. Of 2066 pairs of measured series of one program
    (other machines, sizes or versions), the largest counts held out, 90% of the ratios lay in
    these intervals, and 93% in those of independent errors, whose ends are 1.6 times as far
    apart; benchmarks/compare_forecasts.py.

    References
    ----------
    .. [1] F. E. Satterthwaite, "An approximate distribution of estimates of variance components,"
       Biometrics Bull., vol. 2, no. 6, pp. 110-114, 1946, :doi:`10.2307/3002019`.

    Examples
    --------
    >>> import parcast
    >>> base = {"p": [1, 1, 2, 2, 4, 4], "time": [80, 81, 41, 41.5, 21.5, 21.7]}
    >>> new = {"p": [1, 1, 2, 2, 4, 4], "time": [60, 60.5, 31, 31.2, 16.8, 17]}
    >>> told = parcast.compare(base, new)
    >>> told.ratios.ratio.round(2)
    array([0.75, 0.75, 0.78])
    """
    one, other = version_of(base, "base"), version_of(new, "new")
    if not one.measure.is_like(other.measure):
        raise ParameterError(
            "the versions",
            must="have times, or rates of the same work",
            got=f"{one.measure.of_time} in one, {other.measure.of_time} in the other",
            hint="Give times for both, or rates in one unit.",
        )
    call = _call(one, other, p)
    if p is not None:
        one, other = _at(one, p), _at(other, p)
    warnings: list[str] = []
    stopped: dict[str, StoppedAbove] = {}
    if one.is_measured and other.is_measured:
        assert one.runs is not None
        assert other.runs is not None
        cells = cells_of([one.runs], [other.runs])
        require_common(cells, "the base", "the new version")
        if one.counts is not None:
            cells = cells.take(np.array([key["p"] in one.counts for key in cells.keys]))
        ratios, error, free = _of_runs(cells)
        said = list(cells.left_out)
        warnings += _of_one_version(cells)
        ended = stopped_of(cells, [one.runs, other.runs])
        warnings += stopped_warnings(cells, ended)
        for name in ("the new version", "the base"):
            is_new = name != "the base"
            stopped[name] = stopped_above(cells, ended, LEVEL, new=is_new)
    else:
        ratios, error, free, said = _of_times(one.timed, other.timed)
        warnings += [text for side in (one, other) for text in _without_forecast(side)]
        warnings += [text for side in (one, other) for text in _assumed_noise(side)]
    warnings += [f"{text[0].upper()}{text[1:]}: not compared by it." for text in said]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.abs(np.log(ratios.ratio)) / error
    probability = together(2 * exceeded(np.nan_to_num(value), free), ratios.in_both)
    differs = ratios.in_both & (probability <= LEVEL)
    for above in stopped.values():  # the runs that were done do not tell the time there
        differs &= ~above.any
    differing = {series_of(ratios.keys[i]) for i in np.flatnonzero(differs).tolist()}
    changes: tuple[PartChange, ...] = ()
    if one.runs is not None and other.runs is not None:
        changes = changes_between(one.runs, other.runs, differing)
    changed = [x for x in changes if x.series in differing]
    return VersionComparison(
        ratios=ratios,
        probability=np.where(ratios.in_both, probability, np.nan),
        changes=changes,
        names={"base": _kind(one), "new": _kind(other)},
        measure=one.measure,
        verdict=" ".join([*_of_stopped(ratios, stopped), _verdict(ratios, differs, changed)]),
        warnings=tuple(warnings),
        call=call,
    )


def _call(one: Version, other: Version, p: ArrayLike | None) -> Call | None:
    """What a comparison of runs is made from, as `parcast.load` calls it again."""
    if one.result is not None or other.result is not None:
        return None
    return Call(verb="compare", arguments={"base": one.runs, "new": other.runs, "p": array_of(p)})


def _at(version: Version, p: ArrayLike) -> Version:
    """A version at some counts, forecast from its runs where a series has no time."""
    counts = np.unique(np.asarray(p))
    have: dict[str, list[str | float]] = {}
    for key in version.timed.keys:
        have.setdefault(series_of(key), []).append(key.get("p", np.nan))
    missing = np.array([x for x in counts if any(x not in own for own in have.values())])
    if not missing.size:
        return replace(version, counts=counts)
    if version.runs is None:
        raise ParameterError(
            "p",
            must="be counts of a version that has no runs to forecast from",
            got=f"{listed([str(whole(float(x))) for x in missing])}, which {version.name} has not",
            hint="Give tables of runs, or saved forecasts.",
        )
    return replace(version, counts=counts, beyond=forecast(version.runs, missing))


def _without_forecast(version: Version) -> Iterator[str]:
    """Say which rows that are asked for a version has no time of, nor a forecast."""
    told = version.timed.keys
    if version.counts is None or version.beyond is None or not told:
        return
    every = replace(version, counts=None).timed.keys
    series = [{x: key[x] for x in told[0] if x != "p"} for key in every]
    wanted = [{**key, "p": float(x)} for key in series for x in version.counts]
    missing = dict.fromkeys(label_of(key) for key in wanted if key not in told)
    if missing:
        what = listed([*missing])
        yield f"Not compared, as the {version.name} runs give no forecast of it: {what}."


def _kind(version: Version) -> str:
    """What the times of a version are."""
    return "measured" if version.is_measured else "computed"


def _of_runs(cells: Cells) -> tuple[Ratios, Array, Array]:
    """Ratios of measured times, with the errors of their logarithms and degrees of freedom."""
    noise = noise_of(cells)
    sides = [cells.sessions(cells.new == side) for side in (False, True)]
    (old, doubt), (new, more) = (noise.mean_of(side) for side in sides)
    runs = [side.runs.sum(axis=0).astype(float) for side in sides]
    error = np.sqrt(doubt + more)
    return _ratios(cells.keys, (old, new), error, noise.free, runs), error, noise.free


def _of_times(base: VersionTimes, new: VersionTimes) -> tuple[Ratios, Array, Array, list[str]]:
    """The same of times with errors of their own, and columns that do not count."""
    old, other, said = matched(base, new)
    if not old.keys:
        have = [
            f"{name} has {listed([label_of(key) for key in side.keys])}"
            for name, side in (("the base", base), ("the new version", new))
        ]
        raise FitFailed(
            f"No count is in both: {'; '.join(have)}. Give the same counts, or runs "
            f"and {Argument('p')}.",
            outcome="Nothing to compare.",
        )
    alike = np.where(old.is_forecast & other.is_forecast, LIKENESS, 0.0)
    error = np.sqrt(old.error**2 + other.error**2 - 2.0 * alike * old.error * other.error)
    free = _free_together(old, other)
    times, runs = (old.log_time, other.log_time), [old.runs, other.runs]
    return _ratios(old.keys, times, error, free, runs), error, free, said


def _free_together(one: VersionTimes, other: VersionTimes) -> Array:
    """Degrees of freedom of two errors together, by Satterthwaite's formula [S]."""
    doubt = one.error**4 / one.free + other.error**4 / other.free
    with np.errstate(invalid="ignore", divide="ignore"):
        free = (one.error**2 + other.error**2) ** 2 / doubt
    return np.asarray(np.clip(np.nan_to_num(free, nan=LARGE), None, LARGE))


def _assumed_noise(version: Version) -> Iterator[str]:
    """Say how far single runs, beside computed times, are taken to differ."""
    if version.is_measured and np.all(version.timed.free <= PRIOR_FREE):
        name = "base" if version.name == "base" else "new version"
        yield (
            f"The {name} has one run of each, which does not show how far runs differ: "
            f"{percent(PRIOR)} is assumed, poorly known. Repeat the runs."
        )


LIKENESS: Final = 0.5  # correlation of the errors of two forecasts of one program [1] [D]
LARGE: Final = 1e9  # degrees of freedom of a normal distribution


def _ratios(
    keys: list[dict[str, str | float]],
    log_times: tuple[Array, Array],
    error: Array,
    free: Array,
    runs: list[Array],
) -> Ratios:
    """Ratios of times from their logarithms."""
    middle = log_times[1] - log_times[0]
    half = quantile((1 - INTERVAL) / 2, free) * error
    with np.errstate(over="ignore", invalid="ignore"):
        return Ratios(
            keys=keys,
            base=np.exp(log_times[0]),
            new=np.exp(log_times[1]),
            base_runs=runs[0],
            new_runs=runs[1],
            ratio=np.exp(middle),
            lower=np.exp(middle - half),
            upper=np.exp(middle + half),
        )


def _of_one_version(cells: Cells) -> list[str]:
    """Say what is in one version only."""
    found = []
    for text, missing in (
        ("the base", ~cells.in_version(new=True)),
        ("the new version", ~cells.in_version(new=False)),
    ):
        if missing.any():
            labels = [x for x, out in zip(cells.labels, missing, strict=True) if out]
            found.append(f"Not compared, as it is only in {text}: {listed(labels)}.")
    return found


def _of_stopped(ratios: Ratios, stopped: Mapping[str, StoppedAbove]) -> Iterator[str]:
    """Say what stopped runs tell, by version, in sentences."""
    for name, above in stopped.items():
        texts = [
            f"{ratios.labels[i]} (over {above.least_ratio[i]:.2g} times as long)"
            for i in np.flatnonzero(above.any).tolist()
        ]
        if texts:
            yield f"Runs of {name} were stopped above the times of the other: {listed(texts)}."


def _verdict(ratios: Ratios, differs: NDArray[np.bool_], changes: Sequence[PartChange]) -> str:
    """Say the answer in a sentence: `changes` are those of series that differ."""
    has = ratios.in_both
    rows = counted(int(has.sum()), "count" if len(ratios.keys[0]) == 1 else "row")
    log = np.where(has, np.abs(np.log(np.where(has, ratios.ratio, 1.0))), -1.0)
    if not differs.any():
        largest = f"the largest: {ratios.change(int(log.argmax()))}."
        alone = int((has & ((ratios.lower > 1) | (ratios.upper < 1))).sum())
        if alone < 2:
            return f"No difference is seen in {rows}; {largest}"
        return (
            f"No difference is certain in {rows}, though {alone} differ by their own 90% "
            f"intervals, where one in ten may by chance; {largest} Make more runs of each."
        )
    most = int(np.where(differs, log, -1.0).argmax())
    slower, faster = (int((differs & side).sum()) for side in (ratios.ratio > 1, ratios.ratio < 1))
    words = [f"{word} at {n}" for n, word in ((slower, "slower"), (faster, "faster")) if n]
    largest = "" if slower + faster == 1 else "most: "
    text = f"{' and '.join(words).capitalize()} of {rows}; {largest}{ratios.change(most)}."
    seen = [x for x in changes if x.is_seen]
    if not seen:
        return text
    return f"{text} {change_in_words(max(seen, key=lambda x: abs(x.change)))}"


def change_in_words(change: PartChange) -> str:
    """Say how a kind of work changed."""
    of = f" of {change.series}" if change.series else ""
    ends = sorted(abs(100 * x) for x in (change.lower, change.upper))
    word = "more" if change.change > 0 else "less"
    share = f"{abs(100 * change.change):.0f}% of the time at p = {whole(change.p)}"
    work = f"{change.part.capitalize()} work{of}"
    return f"{work} takes {word}: {share} ({ends[0]:.0f} to {ends[1]:.0f}%)."
