"""The law of array I/O tested on this machine: measure costs, predict, run, compare.

What a machine can do changes from minute to minute. So each layout is done in several passes:

1. Costs are measured by reference requests, and by a dry run of every request. None of the
   requests is run for it.
2. The requests are predicted, and the predictions are saved.
3. They are run in one launch, round by round in random order; the first round does not count.

Further passes follow for requests whose predicted or measured times are not known to 10 %, at most
four times as many as at first. The medians of both are compared: they are of the same minutes.
With slow disks costs are measured in the first pass only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final

import numpy as np

from parcast.arrays.measuring.by_law import placement_of
from parcast.arrays.measuring.references import largest_size, references
from parcast.arrays.trials.launcher import (
    RHYTHM,
    RequestLauncher,
    require_room,
    shares,
    space_of,
)
from parcast.arrays.trials.observation import ServerRun
from parcast.arrays.trials.request import ArrayRequest, Layout, RequestCase, read_requests
from parcast.arrays.validating.measured import OfLayouts
from parcast.arrays.validating.passes import MOST, Passes
from parcast.arrays.validating.predicting import CostSource, Saving, predicted
from parcast.arrays.validating.result import ArrayIoValidation, Place
from parcast.errors import (
    FitFailed,
    ParameterError,
    as_list,
    as_number,
    as_whole,
    require,
    require_kind,
)
from parcast.files.faults import AnyPath
from parcast.mpi.find import available_cores
from parcast.signals import as_interrupts
from parcast.testbed.testbed import Testbed, in_words, testbed_here
from parcast.trials.campaign import Campaign
from parcast.trials.clock import Clock, Progress, system_load
from parcast.trials.disturbance import Judge
from parcast.trials.launcher import Launcher

FAST: Final = Path(__file__).with_name("requests.toml")
SLOW: Final = Path(__file__).with_name("requests_slow.toml")  # for disks of some 10 MB/s
SLOW_DISK: Final = 100e6  # of a testbed, below which the list for slow disks is taken [B/s]


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
    launcher: Launcher[RequestCase, tuple[ServerRun, ...]]

    @property
    def layouts(self) -> dict[Layout, list[RequestCase]]:
        """Requests of each layout."""
        found: dict[Layout, list[RequestCase]] = {}
        for number, request in enumerate(self.requests, 1):
            found.setdefault(request.layout, []).append(RequestCase(number, request))
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
    launcher: Launcher[RequestCase, tuple[ServerRun, ...]] | None = None,
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
        JSON file for the predictions, each written before the runs of its pass.
    repetitions : int, default 5
        Runs of each request, at least; up to four times as many are made of those whose predicted
        or measured time is not known to 10 %, as on a machine that others share. 4 or more are
        shared by two passes, each with predictions of its own; each pass makes one more that does
        not count. [1]
    seed : int
        Of the order of the runs.
    time_limit : float, optional
        Time after which no launch is begun. [s]
    costs, launcher : optional
        What measures costs, and what makes runs, in place of those of parcast: a `CostSource`
        and a `parcast.trials.launcher.Launcher`.
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
    if time_limit is not None:
        ok = as_number("time_limit", time_limit, hint="Give it in seconds.") > 0
        require("time_limit", time_limit, ok, must="be above 0", hint="Give it in seconds.")
    clock = Clock(limit=time_limit, progress=progress)
    place = Path.cwd() if folder is None else Path(folder).absolute()
    study = Study(
        requests=chosen,
        source=source,
        left_out=len(listed) - len(chosen),
        folder=place,
        repetitions=as_whole("repetitions", repetitions, least=1, hint="Give 1 or more."),
        seed=as_whole("seed", seed, least=0, hint="Use any whole number."),
        bed=bed,
        cores=len(available_cores()),
        costs=OfLayouts() if costs is None else costs,
        launcher=RequestLauncher(place) if launcher is None else launcher,
    )
    return _validated(study, clock, None if save_predictions is None else str(save_predictions))


def _validated(study: Study, clock: Clock, path: str | None) -> ArrayIoValidation:
    """Measure costs, predict, run and compare."""
    rate = inf if study.bed is None or study.bed.disk is None else study.bed.disk
    space = max(_space(layout, asked, rate) for layout, asked in study.layouts.items())
    free = require_room(study.folder, space)
    before = system_load()
    own = _Validation(study, clock, Saving(path=path), np.random.default_rng(study.seed))
    with as_interrupts():
        try:
            own.predict_and_run()
        except KeyboardInterrupt:
            if not own.done:
                raise
            clock.interrupted = True
    if not own.done:
        raise FitFailed(
            "The time limit was reached before a request was predicted. Allow more time.",
            outcome="No prediction.",
        )
    after = system_load()
    found = (row for passes in own.done for row in passes.compared())
    compared = sorted(found, key=lambda row: row.number)
    not_reached = len(study.requests) - len(compared)
    return ArrayIoValidation(
        compared=tuple(compared),
        source=study.source,
        saved=own.saving.saved(),
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
        ended_by=clock.ended_by if own.is_cut or clock.interrupted else "",
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
    done: list[Passes] = field(default_factory=list)  # of the layouts that were predicted
    is_cut: bool = False  # whether something was left to do

    def predict_and_run(self) -> None:
        """Make passes through each layout until the times of its requests are known."""
        study, layouts = self.study, list(self.study.layouts.items())
        rounds = shares(study.repetitions)
        self.clock.total = len(rounds) * len(layouts)
        for i in self.random.permutation(len(layouts)):
            layout, cases = layouts[i]
            passes = Passes(
                layout=layout,
                cases=tuple(cases),
                repetitions=study.repetitions,
                campaign=Campaign(
                    launcher=study.launcher,
                    rhythm=RHYTHM,
                    clock=self.clock,
                    random=self.random,
                    judge=Judge(cores=study.cores),
                    done=0.5,
                ),
            )
            for number, own in enumerate(MOST * rounds):
                is_further = number >= len(rounds)
                wanted = passes.unknown() if is_further else cases
                if not wanted:
                    break
                if is_further:
                    self.clock.total += 1.0
                if not self.is_over():
                    self.predict(passes, wanted, own)
                if not self.is_over():
                    passes.run(own)
                if self.is_cut:
                    return

    def is_over(self) -> bool:
        """Whether the time is over, which is noted, as something was left to do."""
        self.is_cut = bool(self.clock.ended_by)
        return self.is_cut

    def predict(self, passes: Passes, cases: Sequence[RequestCase], rounds: int) -> None:
        """Measure the costs of a layout, and predict and save some of its requests."""
        study, layout = self.study, passes.layout
        measured = study.costs.costs(cases, layout, folder=study.folder, rounds=rounds)
        placement = placement_of(layout, study.bed)
        own = {case: predicted(case.request, measured[case], placement) for case in cases}
        named = [(case.request, each) for case, each in own.items()]
        self.saving.add(len(passes.predictions) + 1, named)
        passes.predictions.append(own)
        if len(passes.predictions) == 1:
            self.done.append(passes)
        self.clock.advance(0.5)


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
    hint = "Give the path of a file, or parcast.arrays.trials.request.ArrayRequest(...)."
    each = as_list("requests", given, hint=hint)
    as_whole("requests", len(each), least=1, hint="Give at least one.")
    for i, request in enumerate(each):
        require_kind(f"requests[{i}]", request, ArrayRequest, hint=hint)
    return tuple(each), "as given"


def _space(layout: Layout, cases: Iterable[RequestCase], rate: float) -> int:
    """Bytes that files of a layout take at a time, at most, reference requests included. [B].

    `rate` is that of the disk, which tells how large these are [B/s].
    """
    known = references(layout, largest_size(layout, rate)).values()
    return max(space_of(case.request for case in cases), space_of(known))
