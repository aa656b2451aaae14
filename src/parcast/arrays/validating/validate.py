"""The law of array I/O tested on this machine: measure costs, predict, run, compare.

Layout by layout, as what a machine can do changes from minute to minute:

1. Costs are measured by reference requests, and by a dry run of every request. None of the
   requests is run for it.
2. The requests are predicted, and the predictions are saved.
3. They are run in two launches, round by round in random order; the first round of each does not
   count. Some reference requests are run again in each round: a round in which they take over
   10 % longer or shorter than before is of a machine that has changed, and does not count. Two
   more launches make up for such rounds; if too few count even then, the layout is done again.

At last those that others disturbed are run again for a while, and count only where too few others
are there.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final

import numpy as np

from parcast.arrays.measuring.by_law import placement_of
from parcast.arrays.running.launches import (
    Launch,
    Runner,
    random_rounds,
    run_launch,
    shares,
    space_of,
)
from parcast.arrays.running.observation import Control, Observed, RoundId
from parcast.arrays.running.request import ArrayRequest, Layout, read_requests
from parcast.arrays.running.steady import is_centered, is_steady, speeds
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
from parcast.signals import as_interrupts
from parcast.testbed.testbed import Testbed, in_words, testbed_here
from parcast.units import format_quantity

FAST: Final = Path(__file__).with_name("requests.toml")
SLOW: Final = Path(__file__).with_name("requests_slow.toml")  # for disks of some 10 MB/s
SLOW_DISK: Final = 100e6  # of a testbed, below which the list for slow disks is taken [B/s]
SPARE: Final = 1.2  # times the bytes of a launch that must be free [1]
MANY: Final = 0.15  # of the cores, that other programs may use without disturbing a run [1] [D]
ENOUGH: Final = 3  # runs of a request that count, as far as so many are asked for [1]
MORE: Final = 2  # launches for rounds in which the machine had changed, at most [1]
ROUNDS: Final = 2  # of repeating disturbed runs, at most [1]
PATIENCE: Final = 0.3  # for them, of the time that all took until then [1]
ATTEMPTS: Final = 3  # of a layout, of which the last counts [1]
ROUNDS_OF_COSTS: Final = 6  # of each reference request, but at most 2 for each repetition [1]
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

    def controls(self, layout: Layout) -> dict[int, Control]:
        """Reference requests of a layout that was measured, by places after the requests."""
        return dict(enumerate(self.costs.controls(layout), len(self.requests)))


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
        Runs of each request, which count if the machine does not change; 4 or more are shared
        by two launches, each of which makes one more that does not count. [1]
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
    (True, 0.92)
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
        costs=OfLayouts(rounds=min(ROUNDS_OF_COSTS, 2 * repetitions)) if costs is None else costs,
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
    space = max(space_of(requests) for requests in study.layouts.values())
    free = _require_room(study.folder, space)
    before = system_load()
    done = _Validation(study, clock, Saving(path=path), np.random.default_rng(study.seed))
    with as_interrupts():
        try:
            done.predict_and_run()
        except KeyboardInterrupt:
            if not done.predictions:
                raise
            clock.interrupted = True
    if not done.predictions:
        raise FitFailed(
            "The time limit was reached before a request was predicted. Allow more time.",
            outcome="No prediction.",
        )
    after = system_load()
    compared = [done.compared(place) for place in sorted(done.predictions)]
    not_reached = len(study.requests) - len(compared)
    is_cut = not_reached or any(
        len(x.runs) < study.repetitions or x.is_disturbed for x in compared
    )
    return ArrayIoValidation(
        compared=tuple(compared),
        source=study.source,
        saved=done.saving.saved(),
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


@dataclass(slots=True)
class _Validation:
    """A study, and what is known until now."""

    study: Study
    clock: Clock
    saving: Saving
    random: np.random.Generator
    predictions: dict[int, Predicted] = field(default_factory=dict)  # by place
    runs: list[Observed] = field(default_factory=list)
    speeds: dict[tuple[Layout, RoundId], float] = field(default_factory=dict)  # as `speeds`
    outdated: list[Observed] = field(default_factory=list)  # runs that count in no case
    launches: Counter[Layout] = field(default_factory=Counter)

    @property
    def enough(self) -> int:
        """Runs of a request that must count."""
        return min(ENOUGH, self.study.repetitions)

    def predict_and_run(self) -> None:
        """Measure, predict and run layout by layout, and run again what was disturbed."""
        study, clock, layouts = self.study, self.clock, list(self.study.layouts.items())
        order = [layouts[i] for i in self.random.permutation(len(layouts))]
        clock.total = 2 * COSTS * len(layouts)  # how long runs take is not known yet
        parts = shares(study.repetitions)
        for layout, requests in order:
            self.attempt(layout, requests, parts)
        end = clock.seconds * (1.0 + PATIENCE)
        for _ in range(study.rounds):
            few = {i for i in self.predictions if not self.is_enough(i) and self.steady(i)}
            for layout, requests in order:
                own = {i: request for i, request in requests.items() if i in few}
                if clock.ended_by or clock.seconds > end:
                    return
                if own:
                    self.repeat(layout, own)

    def repeat(self, layout: Layout, requests: Mapping[int, ArrayRequest]) -> None:
        """Run requests again, for which the machine must be as it was."""
        before = len(self.runs)
        self.run(layout, requests, self.study.repetitions)
        made, self.runs = self.runs[before:], self.runs[:before]
        for run in made:
            (self.runs if self.is_steady(run) else self.outdated).append(run)

    def attempt(
        self, layout: Layout, requests: Mapping[int, ArrayRequest], parts: Sequence[int]
    ) -> None:
        """Predict and run the requests of a layout, again where the machine has changed."""
        for _ in range(ATTEMPTS):
            if self.clock.ended_by:
                return
            before = {i: self.predictions[i] for i in requests if i in self.predictions}
            earlier = self.taken(requests)
            try:
                self.predict(layout, requests)
                self.clock.advance(COSTS)
                for number, rounds in enumerate((*parts, *[self.enough] * MORE)):
                    *is_good, steady = self.quality(self.runs, requests)
                    is_done = all(is_good) or not steady
                    if self.clock.ended_by or (number >= len(parts) and is_done):
                        break
                    self.run(layout, requests, rounds)
            finally:
                self.settle(requests, before, earlier)
            if self.quality(self.runs, requests) >= (True, True):
                return

    def settle(
        self,
        requests: Mapping[int, ArrayRequest],
        before: Mapping[int, Predicted],
        earlier: list[Observed],
    ) -> None:
        """Have the runs of an attempt count, unless those before it are steadier."""
        now = self.taken(requests)
        was, is_now = (self.quality(runs, requests) for runs in (earlier, now))
        is_cut = bool(requests.keys() - {run.request for run in now})
        if before and (was > is_now or (was == is_now and is_cut)):
            self.predictions |= before
            earlier, now = now, earlier
        self.outdated += earlier
        self.runs += now

    def quality(
        self, runs: Sequence[Observed], requests: Container[int]
    ) -> tuple[bool, bool, int]:
        """Whether rounds in which the machine was as before are enough, and centered; how many."""
        own = [run for run in runs if run.request in requests and self.is_steady(run)]
        found = {run.round_id: self.speed(run) for run in own}
        return len(found) >= self.enough, is_centered([*found.values()]), len(found)

    def taken(self, requests: Container[int]) -> list[Observed]:
        """Take the runs of some requests out of those that count."""
        taken = [run for run in self.runs if run.request in requests]
        self.runs = [run for run in self.runs if run.request not in requests]
        return taken

    def speed(self, run: Observed) -> float:
        """How fast the machine was in the round of a run, if that is known."""
        return self.speeds.get((self.study.requests[run.request].layout, run.round_id), 0.0)

    def is_steady(self, run: Observed) -> bool:
        """Whether the machine was as fast in the round of a run as when costs were measured."""
        return is_steady(self.speed(run))

    def steady(self, place: int) -> int:
        """Count the runs of a request for which that is so."""
        return sum(run.request == place and self.is_steady(run) for run in self.runs)

    def predict(self, layout: Layout, requests: Mapping[int, ArrayRequest]) -> None:
        """Measure the costs of a layout, and predict and save its requests."""
        study = self.study
        study.costs.measure(layout, study.folder)
        measured = study.costs.costs(requests, layout)
        placement = placement_of(layout, study.bed)
        own = {i: predicted(x, measured[i], placement) for i, x in requests.items()}
        self.saving.add([(requests[i], each) for i, each in own.items()])
        self.predictions |= own

    def run(self, layout: Layout, requests: Mapping[int, ArrayRequest], rounds: int) -> None:
        """Run requests of a layout in one launch, in so many rounds that count."""
        each = sum(self.predictions[place].time + BETWEEN for place in requests)
        controls = self.study.controls(layout)
        each += sum(control.time + BETWEEN for control in controls.values())
        among = {place: control.request for place, control in controls.items()}
        self.launches[layout] += 1
        launch = Launch(
            number=self.launches[layout],
            layout=layout,
            requests={**requests, **among},
            rounds=random_rounds([*requests, *among], rounds, self.random),
            expected=START + (1 + rounds) * each,
        )

        made = list[Observed]()
        self.clock.total += launch.expected
        try:
            self.study.runner(launch, folder=self.study.folder, report=made.append)
        finally:
            usual = {place: control.time for place, control in controls.items()}
            if usual:
                known = speeds([x for x in made if x.request in among], usual)
                for run in made:
                    self.speeds[layout, run.round_id] = known.get(run.round_id, inf)
            self.runs += [run for run in made if run.request not in among]
        self.clock.advance(launch.expected)

    def quiet(self, place: int) -> list[Observed]:
        """Undisturbed runs of a request, on the machine as it was before."""
        most = MANY * self.study.cores
        own = (run for run in self.runs if run.request == place and self.is_steady(run))
        return [run for run in own if not (run.others and run.others > most)]

    def is_enough(self, place: int) -> bool:
        """Whether there are enough of them."""
        return len(self.quiet(place)) >= self.enough

    def compared(self, place: int) -> Compared:
        """Add the runs of a request that count.

        If the undisturbed ones are too few, all count in which the machine was as before; if there
        are too few of these as well, all count.
        """
        own = [run for run in self.runs if run.request == place]
        steady = [run for run in own if self.is_steady(run)]
        counting = next((x for x in (self.quiet(place), steady) if len(x) >= self.enough), own)
        others = [run for run in own if run not in counting]
        outdated = [run for run in self.outdated if run.request == place]
        return Compared(
            number=place + 1,
            request=self.study.requests[place],
            predicted=self.predictions[place],
            runs=tuple(counting),
            others=(*outdated, *others),
            is_disturbed=bool(own) and not self.is_enough(place),
        )


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
