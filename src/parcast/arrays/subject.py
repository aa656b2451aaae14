"""The law of array I/O as what is validated: the requests of one layout of ranks.

What a machine can do changes from minute to minute. So each layout is done in several passes:
costs are measured by reference requests and by a dry run of every request, none of which is run
for it; the requests are predicted; then they are run in one launch, in rounds of random order.
Further passes follow for requests whose predicted or measured times are not known to 10%, at most
four times as many as at first. With slow disks costs are measured in the first pass only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.arrays.calibration.fitting import ByLaw, components_of, placement_of
from parcast.arrays.calibration.measure import (
    MeasuredRequest,
    OfLayouts,
    costs_document,
)
from parcast.arrays.calibration.references import largest_size, references
from parcast.arrays.law.contention import Placement
from parcast.arrays.library.client import Spent
from parcast.arrays.planning.pricing import subchunks_of
from parcast.arrays.trials.launcher import (
    RHYTHM,
    RequestLauncher,
    RequestTrial,
    observed_components,
    observed_counts,
    require_room,
    shares,
    space_of,
)
from parcast.arrays.trials.request import (
    FAST,
    SLOW,
    ArrayRequest,
    Layout,
    RequestCase,
    read_requests,
)
from parcast.errors import Argument, ParameterError, as_list, as_whole, require_kind
from parcast.files.faults import AnyPath
from parcast.mpi.find import available_cores
from parcast.show.warning import Rank, RankedWarning
from parcast.testbed.testbed import Testbed, testbed_here
from parcast.trials.campaign import Campaign, Rhythm
from parcast.trials.clock import Progress
from parcast.trials.disturbance import by_case
from parcast.trials.launcher import Launcher
from parcast.units import format_quantity
from parcast.validation.result import Validation, accuracy_document
from parcast.validation.subject import Findings, Passes, Predicted, Rule
from parcast.validation.subjects import Asked, validate_subjects
from parcast.words import counted

ENOUGH: Final = 3  # undisturbed runs of a request, as far as so many are asked for [1]
MOST: Final = 4  # times the runs that are asked for, where times are not known
MOST_NAMED: Final = 3  # requests that are named one by one
SLOW_DISK: Final = 100e6  # of a testbed, below which the list for slow disks is taken [B/s]
# The source states an error of 20% of its own law. [S]
RULE: Final = Rule(tolerance=0.20, share=0.90, cases="request")


@dataclass(kw_only=True, slots=True)
class ArraySubject:
    """Requests of one layout."""

    layout: Layout
    requests: tuple[RequestCase, ...]
    repetitions: int  # of each request, at least
    cores: int
    folder: Path
    costs: OfLayouts
    placement: Placement
    measured: Mapping[RequestCase, MeasuredRequest] = field(init=False, default_factory=dict)
    known: dict[RequestCase, Predicted] = field(init=False, default_factory=dict)

    name = "array-io"
    title = "requests of the library, predicted and then run"
    law = "array_io"
    rule = RULE

    @property
    def rhythm(self) -> Rhythm:
        """How launches are made."""
        enough = min(ENOUGH, self.repetitions)
        return replace(RHYTHM, cores=self.cores, enough={"calibration": 1, "comparison": enough})

    @property
    def passes(self) -> Passes:
        """Repetitions are shared by two passes, and more follow until times are known."""
        first = tuple((own,) for own in shares(self.repetitions))
        return Passes(first=first, further=(MOST - 1) * first, until_known=True)

    @property
    def launcher(self) -> RequestLauncher:
        """Ranks here."""
        return RequestLauncher(self.folder)

    def seconds(self, case: RequestCase) -> float | None:
        """Time that was predicted last [s]."""
        return self.known[case].time

    def calibrate(
        self,
        runs: Campaign[RequestCase, tuple[Spent, ...]],
        wanted: Sequence[RequestCase] | None,
    ) -> None:
        """Measure the costs of the layout."""
        passes = (*self.passes.first, *self.passes.further)
        [rounds] = passes[runs.turn - 1]
        cases = wanted or self.requests
        self.measured = self.costs.costs(
            cases, self.layout, folder=self.folder, rounds=rounds, clock=runs.clock
        )

    def cases(self) -> Sequence[RequestCase]:
        """All requests."""
        return self.requests

    def predict(self, case: RequestCase) -> Predicted:
        """Predict a request by the law, with the costs of its layout."""
        self.known[case] = predicted(case.request, self.measured[case], self.placement)
        return self.known[case]

    def labels(
        self,
        case: RequestCase,
        predicted: Predicted,  # noqa: ARG002 - it adds none
    ) -> Mapping[tuple[str, str], str]:
        """Number, size and ranks of a request."""
        request = case.request
        return {
            ("", ""): str(case.number),
            ("kind", ""): self.kind(case),
            ("size", ""): format_quantity(request.size, "size"),
            ("arrays", ""): f"{request.arrays:,}",
            ("mesh", ""): "x".join(map(str, request.client_mesh)),
            ("servers", ""): f"{'+' if request.dedicated else ''}{request.servers}",
        }

    def kind(self, case: RequestCase) -> str:
        """A read, or how it is written."""
        return "read" if case.request.operation == "read" else case.request.writer

    def callpath(self, case: RequestCase) -> str:
        """Its kind."""
        return f"array-io/{self.kind(case)}"

    def parts(self, trial: RequestTrial) -> Mapping[str, float]:
        """Parts of the time of the server that finishes last."""
        return observed_components(trial)._asdict()

    def findings(self, runs: Campaign[RequestCase, tuple[Spent, ...]]) -> Findings:
        """Object where the law counts something else than the servers."""
        differing = {
            case: observed_counts(own[0].observed)
            for case, own in by_case(runs.of("comparison")).items()
            if observed_counts(own[0].observed) != self.known[case].facts["counted"]
        }
        return Findings(
            warnings=[
                RankedWarning(
                    f"Request {case.number} ({case.request}): the law counts "
                    f"{_counts(self.known[case].facts['counted'])}, the servers {_counts(made)}. "
                    "Report this.",
                    kind="counts",
                    rank=Rank.SERIOUS,
                )
                for case, made in list(differing.items())[:MOST_NAMED]
            ],
            objections=["its counts are not those of the library"] if differing else [],
        )


def _counts(known: Mapping[str, int]) -> str:
    """Say counts."""
    return f"{known['messages']} messages, {known['subchunks']} subchunks, {known['bytes']} bytes"


def predicted(
    request: ArrayRequest, measured: MeasuredRequest, placement: Placement | None = None
) -> Predicted:
    """Predict a request."""
    law = ByLaw(request, placement)
    time = law.time(measured.costs)
    counts = {
        "messages": int(time.messages.sum()),
        "subchunks": subchunks_of(request.carried.schema, request.servers),
        "bytes": int(time.size.sum()),
    }
    bound = time.bound.resource if time.is_bound else None
    return Predicted(
        time=time.time,
        parts=components_of(time)._asdict(),
        facts={**_described(request), "bound": bound, "counted": counts},
        sources={
            "bound": bound,
            **counts,
            "costs": costs_document(measured.costs),
            "sources": dict(measured.sources),
            "asked": request.model_dump(mode="json"),
        },
    )


def _described(request: ArrayRequest) -> dict[str, Any]:
    """What a row says of a request."""
    return {
        "operation": request.operation,
        "writer": None if request.operation == "read" else request.writer,
        "bytes": request.size,
        "arrays": request.arrays,
        "shape": "x".join(map(str, request.shape)),
        "dtype": request.dtype,
        "client_mesh": "x".join(map(str, request.client_mesh)),
        "clients": request.clients,
        "servers": request.servers,
        "dedicated": request.dedicated,
        "aligned": request.is_aligned,
    }


def validate_array_io(
    requests: AnyPath | Sequence[ArrayRequest] | None = None,
    *,
    quick: bool = False,
    folder: str | os.PathLike[str] | None = None,
    save_predictions: str | os.PathLike[str] | None = None,
    repetitions: int = 5,
    seed: int = 0,
    time_limit: float | None = None,
    costs: OfLayouts | None = None,
    launcher: Launcher[RequestCase, tuple[Spent, ...]] | None = None,
    progress: Progress | None = None,
) -> Validation:
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
        or measured time is not known to 10%, as on a machine that others share. 4 or more are
        shared by two passes, each with predictions of its own; each pass makes one more that does
        not count. [1]
    seed : int
        Of the order of the runs.
    time_limit : float, optional
        Time after which no launch is begun. [s]
    costs, launcher : optional
        What measures costs, and what makes runs, in place of those of parcast: a
        `parcast.arrays.calibration.measure.OfLayouts` and a `parcast.trials.launcher.Launcher`.
    progress : callable, optional
        Called with how far it is.

    Returns
    -------
    Validation
        ``compared`` (each request with its prediction, runs and errors), ``accuracy()`` and
        ``holds``: whether at least 90% of the requests were predicted within 20%.

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
    >>> result.holds, round(result.accuracy().median, 2)  # doctest: +SKIP
    (True, 0.06)
    """
    bed = testbed_here()
    listed, source = _requests(requests, bed)
    chosen = tuple(x for x in listed if x.quick) if quick else listed
    if not chosen:
        raise ParameterError(
            "quick",
            must="be used with a list in which some requests have quick = true",
            got="none",
            hint=("Mark some, or leave out ", Argument("quick", True), "."),
        )
    asked = Asked(seed, time_limit, save_predictions, launcher, progress)
    place = Path.cwd() if folder is None else Path(folder).absolute()
    cores = len(available_cores())
    subjects = [
        ArraySubject(
            layout=layout,
            requests=tuple(cases),
            repetitions=as_whole("repetitions", repetitions, least=1, hint="Give 1 or more."),
            cores=cores,
            folder=place,
            costs=OfLayouts() if costs is None else costs,
            placement=placement_of(layout, bed),
        )
        for layout, cases in _layouts(chosen).items()
    ]
    rate = inf if bed is None or bed.disk is None else bed.disk
    space = max(_space(x.layout, x.requests, rate) for x in subjects)
    free = require_room(place, space)
    order = np.random.default_rng(seed).permutation(len(subjects)).tolist()
    validation = validate_subjects(
        [subjects[i] for i in order],
        asked,
        names=("array-io-validation", "subject"),
        cores=cores,
        axes=("p",),
        repetitions=repetitions,
    )
    told = _facts(validation, source, len(listed) - len(chosen), place, space)
    return replace(
        validation, parts=tuple(_in_order(validation)), facts=told, about=_about(told, free)
    )


def _about(told: Mapping[str, Any], free: int) -> dict[str, str]:
    """What the sheet says of the list and of the files."""
    return {
        "requests": told["requests"] + _left_out(told["left_out"]),
        "files": f"up to {format_quantity(told['space_bytes'], 'size')} in {told['folder']} "
        f"({format_quantity(free, 'size')} free), removed",
    }


def _in_order(validation: Validation) -> Iterator[Any]:
    """Have the requests in the order of their list."""
    for part in validation.parts:
        rows = sorted(part.comparisons, key=lambda x: x.case.number)
        yield replace(part, comparisons=tuple(rows))


def _facts(
    validation: Validation, source: str, left_out: int, place: Path, space: int
) -> dict[str, Any]:
    """What the document says of all requests."""
    [part] = validation.parts
    kinds = dict.fromkeys(x.kind for x in part.comparisons)
    return {
        "answer": part.answer,
        "accuracy": {
            kind or "all": accuracy_document(part.accuracy(kind=kind), part.rule)
            for kind in ("", *kinds)
        },
        "requests": source,
        "left_out": left_out,
        "not_reached": part.missing,
        "folder": str(place),
        "space_bytes": space,
    }


def _left_out(number: int) -> str:
    """Say how many requests were not asked for."""
    if not number:
        return ""
    return f" ({counted(number, 'other request')} left out by {Argument('quick', True)})"


def _layouts(requests: Sequence[ArrayRequest]) -> dict[Layout, list[RequestCase]]:
    """Requests of each layout, numbered as they are listed."""
    found: dict[Layout, list[RequestCase]] = {}
    for number, request in enumerate(requests, 1):
        found.setdefault(request.layout, []).append(RequestCase(number, request))
    return found


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
