"""The law of array I/O tested on this machine: measure costs, predict, run, compare.

1. Costs are measured for every layout and request: dry runs, messages between its ranks, the disk.
   No request is run for it, and none of its parameters is fitted.
2. All requests are predicted, and the predictions are saved.
3. They are run in one launch for each layout, round by round in random order; the first round does
   not count. Those that others disturbed are run again for a while, and count only where too few
   others are there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from parcast.arrays.contention import Placement
from parcast.arrays.library.checking import server_ranks
from parcast.arrays.validating.launches import Launch, Runner, run_launch
from parcast.arrays.validating.measured import Measuring
from parcast.arrays.validating.observation import Observed
from parcast.arrays.validating.predicting import CostSource, Predicted, predicted, save
from parcast.arrays.validating.request import FAST, SLOW, ArrayRequest, Layout, read_requests
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

SLOW_DISK: Final = 100e6  # of a testbed, below which the list for slow disks is taken [B/s]
SPARE: Final = 1.2  # times the bytes of a launch that must be free [1]
MANY: Final = 0.15  # of the cores, that other programs may use without disturbing a run [1] [D]
ENOUGH: Final = 3  # undisturbed runs of a request, as far as so many are asked for [1]
ROUNDS: Final = 2  # of repeating disturbed runs, at most [1]
PATIENCE: Final = 0.3  # for them, of the time that all took until then [1]
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
        JSON file for the predictions, which is written before the first run.
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
    (False, 0.48)
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
        costs=Measuring() if costs is None else costs,
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
    runs: list[Observed] = []
    with as_interrupts():
        predictions = _predictions(study, clock)
        saved = save(study.requests, predictions, path)
        _run_all(study, predictions, clock, runs)
    after = system_load()
    compared = [_compared(study, place, each, runs) for place, each in enumerate(predictions)]
    is_cut = any(len(x.runs) + len(x.others) < study.repetitions for x in compared)
    return ArrayIoValidation(
        compared=tuple(compared),
        source=study.source,
        saved=saved,
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
        ended_by=clock.ended_by if is_cut else "",
        seconds=clock.seconds,
        seed=study.seed,
    )


def _predictions(study: Study, clock: Clock) -> list[Predicted]:
    """Measure costs layout by layout, and predict every request."""
    found: dict[int, Predicted] = {}
    clock.total = 3 * COSTS * len(study.layouts)  # runs take longer, how long is not known yet
    for layout in study.layouts:
        if clock.ended_by:
            raise FitFailed(
                "The time limit was reached before all costs were measured. Allow more time.",
                outcome="No prediction.",
            )
        study.costs.measure(layout, study.folder)
        clock.advance(COSTS)
    for layout, requests in study.layouts.items():
        measured = study.costs.costs(requests, layout)
        placement = placement_of(layout, study.bed, study.cores)
        for place, request in requests.items():
            found[place] = predicted(request, measured[place], placement)
    return [found[place] for place in range(len(study.requests))]


def placement_of(layout: Layout, bed: Testbed | None, cores: int) -> Placement:
    """Nodes of the ranks of a layout, and what the ranks of a node share.

    What servers cost is measured on all of them at a time: where they are more than the cores, it
    contains that they share these, which must not count twice.
    """
    ranks = range(layout.ranks)
    serving = server_ranks(layout.servers, layout.ranks, layout.dedicated)
    clients = [rank for rank in ranks if not (layout.dedicated and rank in serving)]
    hosts = 1 if bed is None else bed.hosts
    return Placement(
        clients=[rank % hosts for rank in clients],
        servers=[rank % hosts for rank in serving],
        cores=max(cores, layout.servers) if bed is None or bed.cap is None else bed.cap,
        link=np.inf if bed is None or bed.link is None else bed.link,
        serving=() if layout.dedicated else serving,
    )


def _run_all(
    study: Study, predictions: Sequence[Predicted], clock: Clock, runs: list[Observed]
) -> None:
    """Make all runs, and again those that were disturbed; Ctrl-C ends them."""
    random = np.random.default_rng(study.seed)
    layouts = list(study.layouts)
    order = [layouts[i] for i in random.permutation(len(layouts))]
    launches = [_launch(study, x, 1, random, predictions=predictions) for x in order]
    clock.done = len(layouts) * COSTS
    clock.total = clock.done + sum(x.expected for x in launches)
    try:
        _make(study, launches, clock, runs)
        end = clock.seconds * (1.0 + PATIENCE)
        for number in range(study.rounds):
            wanted = min(ENOUGH, study.repetitions)
            few = {
                place: request
                for place, request in enumerate(study.requests)
                if _count(runs, place) > 0 and len(_quiet(study, runs, place)) < wanted
            }
            if not few or clock.ended_by or clock.seconds > end:
                return
            for layout in order:
                if clock.ended_by or clock.seconds > end:
                    return
                own = {i: x for i, x in few.items() if x.layout == layout}
                if own:
                    again = _launch(
                        study,
                        layout,
                        2 + number,
                        random,
                        predictions=predictions,
                        requests=own,
                    )
                    _make(study, [again], clock, runs)
    except KeyboardInterrupt:
        clock.interrupted = True


def _make(study: Study, launches: Sequence[Launch], clock: Clock, runs: list[Observed]) -> None:
    """Make launches, until time is over."""
    for launch in launches:
        if clock.ended_by:
            return
        study.runner(launch, folder=study.folder, report=runs.append)
        clock.advance(launch.expected)


def _launch(
    study: Study,
    layout: Layout,
    number: int,
    random: np.random.Generator,
    *,
    predictions: Sequence[Predicted] = (),
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


def _compared(
    study: Study, place: int, prediction: Predicted, runs: Sequence[Observed]
) -> Compared:
    """Add the runs of a request: the undisturbed ones count, or all if they are too few."""
    own = [run for run in runs if run.request == place]
    quiet = _quiet(study, runs, place)
    is_enough = len(quiet) >= min(ENOUGH, study.repetitions)
    return Compared(
        request=study.requests[place],
        predicted=prediction,
        runs=tuple(quiet if is_enough else own),
        others=tuple(run for run in own if is_enough and run not in quiet),
        is_disturbed=bool(own) and not is_enough,
    )


def _count(runs: Sequence[Observed], place: int) -> int:
    return sum(run.request == place for run in runs)


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
    hint = "Give the path of a file, or parcast.arrays.validating.request.ArrayRequest(...)."
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
