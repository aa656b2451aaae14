"""The law of array I/O tested on this machine: measure costs, predict, run, compare.

Layout by layout, as what a machine can do changes from minute to minute:

1. Costs are measured by reference requests, and by a dry run of every request. None of the
   requests is run for it.
2. The requests are predicted, and the predictions are saved.
3. They are run in one launch, round by round in random order; the first round does not count.

At last those that others disturbed are run again for a while, and count only where too few others
are there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from parcast.arrays.measuring.by_law import placement_of
from parcast.arrays.running.launches import Launch, Runner, run_launch
from parcast.arrays.running.observation import Observed
from parcast.arrays.running.request import ArrayRequest, Layout, read_requests
from parcast.arrays.validating.measured import OfLayouts
from parcast.arrays.validating.predicting import CostSource, Predicted, Saving, predicted
from parcast.arrays.validating.result import ArrayIoValidation, Compared, Place
from parcast.errors import (
    FitFailed,
    ParameterError,
    RunFailed,
    as_list,
    as_number,
    as_whole,
    require,
    require_kind,
)
from parcast.files.faults import AnyPath
from parcast.mpi.clock import Clock, Progress, system_load
from parcast.mpi.find import available_cores
from parcast.mpi.leftovers import as_interrupts
from parcast.testbed.testbed import Testbed, in_words, testbed_here
from parcast.units import format_quantity

FAST: Final = Path(__file__).with_name("requests.toml")
SLOW: Final = Path(__file__).with_name("requests_slow.toml")  # for disks of some 10 MB/s
SLOW_DISK: Final = 100e6  # of a testbed, below which the list for slow disks is taken [B/s]
SPARE: Final = 1.2  # times the bytes of a launch that must be free [1]
MANY: Final = 0.15  # of the cores, that other programs may use without disturbing a run [1] [D]
ENOUGH: Final = 3  # undisturbed runs of a request, as far as so many are asked for [1]
ROUNDS: Final = 2  # of repeating disturbed runs, at most [1]
PATIENCE: Final = 0.3  # for them, of the time that all took until then [1]
ROUNDS_OF_COSTS: Final = 5  # of each reference request, unless requests are run less often [1]
START: Final = 3.0  # of ranks, expected [s]
BETWEEN: Final = 0.3  # runs, to remove files and empty caches, expected [s]
COSTS: Final = 20.0  # of measuring the costs of a layout, expected [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """What is to be done."""

    requests: tuple[ArrayRequest, ...]
    source: str
    left_out: int
    folder: Path
    repetitions: int
    seed: int
    bed: Testbed | None
    cores: int
    costs: CostSource
    runner: Runner
    rounds: int

    @property
    def layouts(self) -> dict[Layout, dict[int, ArrayRequest]]:
        """Requests by their places, for each layout."""
        found: dict[Layout, dict[int, ArrayRequest]] = {}
        for place, request in enumerate(self.requests):
            found.setdefault(request.layout, {})[place] = request
        return found


def validate_array_io(
    requests: AnyPath | Sequence[ArrayRequest] | None = None,
    *,
    quick: bool = False,
    folder: str | os.PathLike[str] | None = None,
    save_predictions: str | os.PathLike[str] | None = None,
    repetitions: int = 5,
    seed: int = 0,
    time_limit: float | None = None,
    costs: CostSource | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> ArrayIoValidation:
    """Test the law of array I/O on this machine: predict requests, run them, and compare.

    Parameters
    ----------
    requests : path or sequence of ArrayRequest, optional
        A TOML file with tables ``[[request]]``, or its requests. By default a list of parcast's:
        one for disks of some 10 MB/s on a testbed with such disks, else that for faster ones.
    quick : bool
        Whether to take only the requests that are marked ``quick = true``.
    folder : path, optional
        Where files are written, and removed again; by default the current folder.
    save_predictions : path, optional
        JSON file for the predictions, each written before the first run of its request.
    repetitions : int, default 5
        Runs of each request that count, after one that does not. [1]
    seed : int
        Of the order of the runs.
    time_limit : float, optional
        Time after which no launch is begun. [s]
    costs, runner : optional
        What measures costs, and what makes runs, in place of those of parcast: a `CostSource`
        and a `Runner`.
    progress : callable, optional
        Called with how far it is.

    Returns
    -------
    ArrayIoValidation
        ``compared`` (each request with its prediction, runs and errors), ``accuracy()`` and
        ``holds``: whether at least 90 % of the requests were predicted within 20 %.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.
    FileProblems
        If the file of requests cannot be used.
    RunFailed
        If there is not enough room, or a run fails.

    Examples
    --------
    >>> import parcast
    >>> result = parcast.validate_array_io()  # doctest: +SKIP
    >>> result.holds, round(result.accuracy().share, 2)  # doctest: +SKIP
    (False, 0.83)
    """
    bed = testbed_here()
    listed, source = _requests(requests, bed)
    chosen = tuple(x for x in listed if x.quick) if quick else listed
    if not chosen:
        raise ParameterError(
            "quick",
            must="be used with a list in which some requests have quick = true",
            got="none",
            hint="Mark some, or leave quick out.",
        )
    study = Study(
        requests=chosen,
        source=source,
        left_out=len(listed) - len(chosen),
        folder=Path.cwd() if folder is None else Path(folder).absolute(),
        repetitions=as_whole("repetitions", repetitions, least=1, hint="Give 1 or more."),
        seed=as_whole("seed", seed, least=0, hint="Use any whole number."),
        bed=bed,
        cores=len(available_cores()),
        costs=OfLayouts(rounds=min(ROUNDS_OF_COSTS, repetitions)) if costs is None else costs,
        runner=run_launch if runner is None else runner,
        rounds=1 if quick else ROUNDS,
    )
    if time_limit is not None:
        ok = as_number("time_limit", time_limit, hint="Give it in seconds.") > 0
        require("time_limit", time_limit, ok, must="be above 0", hint="Give it in seconds.")
    clock = Clock(limit=time_limit, progress=progress)
    return _validated(study, clock, None if save_predictions is None else str(save_predictions))


def _validated(study: Study, clock: Clock, path: str | None) -> ArrayIoValidation:
    """Measure costs, predict, run and compare."""
    space = max(
        _launch(study, layout, 0, np.random.default_rng(0)).space for layout in study.layouts
    )
    free = _require_room(study.folder, space)
    before = system_load()
    found = _Found(saving=Saving(path=path))
    with as_interrupts():
        try:
            _predict_and_run(study, clock, found)
        except KeyboardInterrupt:
            if not found.predictions:
                raise
            clock.interrupted = True
    if not found.predictions:
        raise FitFailed(
            "The time limit was reached before a request was predicted. Allow more time.",
            outcome="No prediction.",
        )
    after = system_load()
    compared = [_compared(study, place, found) for place in sorted(found.predictions)]
    not_reached = len(study.requests) - len(compared)
    is_cut = not_reached or any(len(x.runs) + len(x.others) < study.repetitions for x in compared)
    return ArrayIoValidation(
        compared=tuple(compared),
        source=study.source,
        saved=found.saving.saved(),
        place=Place(
            testbed="" if study.bed is None else in_words(study.bed),
            cores=study.cores,
            folder=str(study.folder),
            space=space,
            free=free,
            load=None if before is None or after is None else (before, after),
        ),
        repetitions=study.repetitions,
        left_out=study.left_out,
        not_reached=not_reached,
        ended_by=clock.ended_by if is_cut else "",
        seconds=clock.seconds,
        seed=study.seed,
    )


@dataclass(kw_only=True, slots=True)
class _Found:
    """What is known until now."""

    saving: Saving
    predictions: dict[int, Predicted] = field(default_factory=dict)  # by place
    runs: list[Observed] = field(default_factory=list)


def _predict_and_run(study: Study, clock: Clock, found: _Found) -> None:
    """Measure, predict and run layout by layout, and run again what was disturbed."""
    random = np.random.default_rng(study.seed)
    layouts = list(study.layouts)
    order = [layouts[i] for i in random.permutation(len(layouts))]
    clock.total = 2 * COSTS * len(layouts)  # how long runs take is not known yet
    for layout in order:
        if clock.ended_by:
            return
        _predict(study, layout, found)
        clock.advance(COSTS)
        _make(study, _launch(study, layout, 1, random, found.predictions), clock, found)
    end = clock.seconds * (1.0 + PATIENCE)
    wanted = min(ENOUGH, study.repetitions)
    for number in range(study.rounds):
        few = {
            place: request
            for place, request in enumerate(study.requests)
            if len(_quiet(study, found.runs, place)) < wanted
        }
        for layout in order:
            own = {i: x for i, x in few.items() if x.layout == layout}
            if clock.ended_by or clock.seconds > end:
                return
            if own:
                again = _launch(study, layout, 2 + number, random, found.predictions, requests=own)
                _make(study, again, clock, found)


def _predict(study: Study, layout: Layout, found: _Found) -> None:
    """Measure the costs of a layout, and predict and save its requests."""
    requests = study.layouts[layout]
    study.costs.measure(layout, study.folder)
    measured = study.costs.costs(requests, layout)
    placement = placement_of(layout, study.bed)
    own = {i: predicted(x, measured[i], placement) for i, x in requests.items()}
    found.saving.add([(requests[i], each) for i, each in own.items()])
    found.predictions |= own


def _make(study: Study, launch: Launch, clock: Clock, found: _Found) -> None:
    """Make the runs of a launch."""
    clock.total += launch.expected
    study.runner(launch, folder=study.folder, report=found.runs.append)
    clock.advance(launch.expected)


def _launch(
    study: Study,
    layout: Layout,
    number: int,
    random: np.random.Generator,
    predictions: Mapping[int, Predicted] | None = None,
    *,
    requests: Mapping[int, ArrayRequest] | None = None,
) -> Launch:
    """Runs of some requests of a layout, by default all, each round in an order of its own."""
    own = study.layouts[layout] if requests is None else requests
    places = list(own)
    each = sum(predictions[place].time + BETWEEN for place in places) if predictions else 0.0
    return Launch(
        number=number,
        layout=layout,
        requests=own,
        rounds=[
            [places[i] for i in random.permutation(len(places))]
            for _ in range(1 + study.repetitions)
        ],
        expected=START + (1 + study.repetitions) * each,
    )


def _compared(study: Study, place: int, found: _Found) -> Compared:
    """Add the runs of a request: the undisturbed ones count, or all if they are too few."""
    own = [run for run in found.runs if run.request == place]
    quiet = _quiet(study, found.runs, place)
    is_enough = len(quiet) >= min(ENOUGH, study.repetitions)
    return Compared(
        number=place + 1,
        request=study.requests[place],
        predicted=found.predictions[place],
        runs=tuple(quiet if is_enough else own),
        others=tuple(run for run in own if is_enough and run not in quiet),
        is_disturbed=bool(own) and not is_enough,
    )


def _quiet(study: Study, runs: Sequence[Observed], place: int) -> list[Observed]:
    """Undisturbed runs of a request."""
    most = MANY * study.cores
    return [run for run in runs if run.request == place and not (run.others and run.others > most)]


def _requests(
    given: AnyPath | Sequence[ArrayRequest] | None, bed: Testbed | None
) -> tuple[tuple[ArrayRequest, ...], str]:
    """Requests to run, and where they are from."""
    if given is None:
        is_slow = bed is not None and bed.disk is not None and bed.disk < SLOW_DISK
        listed = read_requests(SLOW if is_slow else FAST)
        return listed, "list of parcast for slow disks" if is_slow else "list of parcast"
    if isinstance(given, str | os.PathLike):
        return read_requests(given), os.fspath(given)
    hint = "Give the path of a file, or parcast.arrays.running.request.ArrayRequest(...)."
    each = as_list("requests", given, hint=hint)
    as_whole("requests", len(each), least=1, hint="Give at least one.")
    for i, request in enumerate(each):
        require_kind(f"requests[{i}]", request, ArrayRequest, hint=hint)
    return tuple(each), "as given"


def _require_room(folder: Path, space: int) -> int:
    """Bytes that are free in a folder, which must be enough for the files. [B]."""
    if not folder.is_dir():
        raise ParameterError(
            "folder", must="be a folder that exists", got=str(folder), hint="Make it first."
        )
    free = shutil.disk_usage(folder).free
    if free < SPARE * space:
        raise RunFailed(
            f"{folder} has {format_quantity(free, 'size')} free, but the files take up to "
            f"{format_quantity(SPARE * space, 'size')}. Choose another folder, or fewer requests."
        )
    return free
