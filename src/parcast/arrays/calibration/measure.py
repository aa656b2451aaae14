"""Measures the costs of array I/O on this machine, or of one request: references and dry runs.

Costs of computing for any request are from dry runs of large and of small arrays; of a known
request the dry run of that request is the better source. With t the time of moving o bytes in m
runs, from two requests: of long runs R = o/t, of short ones t_run = (t - o/R)/m. All are then made
as slow as the reference requests were, on ranks that share cores and memory.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from functools import cache
from math import inf, isfinite
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np

from parcast.arrays.calibration.dry_run import DryRun, dry_run
from parcast.arrays.calibration.fitting import ByLaw, Reference, fitted, placement_of
from parcast.arrays.calibration.references import MEDIUM, largest_size, references, trials
from parcast.arrays.calibration.regimes import costs_of, dimension_of
from parcast.arrays.calibration.result import Draw, Figure, MeasuredCosts, figure_of
from parcast.arrays.law.costs import Costs
from parcast.arrays.library.client import Spent
from parcast.arrays.trials.launcher import (
    RHYTHM,
    RequestLauncher,
    RequestTrial,
    median_components,
    observed_components,
    shares,
)
from parcast.arrays.trials.request import ArrayRequest, Layout, RequestCase
from parcast.errors import RunFailed, as_whole
from parcast.mpi.find import available_cores, find_mpi
from parcast.testbed.testbed import Testbed, in_words, short_name, testbed_here
from parcast.trials.campaign import Campaign
from parcast.trials.clock import Clock, TimeIsOver, system_load
from parcast.trials.disturbance import by_case
from parcast.trials.launcher import Launcher
from parcast.trials.precision import PRECISION, precision_of

ROUNDS: Final = 6  # of every reference request, after one of each launch that is discarded
QUICK: Final = 3
MORE: Final = 4  # rounds of a further launch, where times scatter
FURTHER: Final = 2  # of such launches, at most
TRIALS: Final = 3  # rounds that tell how fast the disk is
SLOW: Final = 1e8  # rate of a disk, below which QUICK rounds are made [B/s]
FASTEST: Final = 5e9  # rate of a disk that is taken for likely [B/s]
EXPECTED: Final = 30.0  # of a launch [s]


@dataclass(kw_only=True, slots=True)
class Measuring:
    """Measures the costs of layouts, one after another."""

    folder: Path
    launcher: Launcher[RequestCase, tuple[Spent, ...]] | None = None  # None: ranks here
    bed: Testbed | None = field(default_factory=testbed_here)
    clock: Clock = field(default_factory=Clock)  # of what asks, whose limit holds for launches
    rates: dict[int, float] = field(init=False, default_factory=dict)  # by servers [B/s]
    dry: Callable[[ArrayRequest], DryRun] = field(
        init=False, default_factory=lambda: cache(dry_run)
    )
    random: np.random.Generator = field(
        init=False, default_factory=lambda: np.random.default_rng(0)
    )

    def figures(
        self, layout: Layout, *, rounds: int = ROUNDS, further: int = FURTHER
    ) -> list[Figure]:
        """Run reference requests on the ranks of a layout, and give the costs.

        Each is run so many rounds; where times scatter, up to so many further launches follow.
        """
        if layout.servers not in self.rates:
            tried = self.run(trials(layout), [TRIALS])
            tiny, medium = (median(x.seconds for x in own) for own in by_case(tried).values())
            self.rates[layout.servers] = MEDIUM / max(medium - tiny, MEDIUM / FASTEST)
        rate = self.rates[layout.servers]
        asked = references(layout, largest_size(layout, rate))
        rounds = min(rounds, QUICK) if self.is_slow(layout) else rounds
        runs = self.run(asked, shares(rounds))
        for _ in range(further):
            if self.is_slow(layout) or _are_known(runs):
                break
            runs += self.run(asked, [min(MORE, rounds)])
        return fitted(self.references(asked, runs), rate)

    def is_slow(self, layout: Layout) -> bool:
        """Whether a layout was measured, and its disks take the time, whatever else changes."""
        return self.rates.get(layout.servers, inf) <= SLOW

    def run(self, asked: Mapping[str, ArrayRequest], parts: Sequence[int]) -> list[RequestTrial]:
        """Run requests of one layout, so many rounds in each launch; in the order of the list."""
        cases = cases_of(asked)
        campaign = Campaign(
            launcher=self.launcher or RequestLauncher(self.folder),
            rhythm=replace(RHYTHM, start=EXPECTED, between=0.0, is_cut=True),
            clock=Clock(
                limit=self.clock.limit, begun=self.clock.begun
            ),  # its progress is not ours
            random=self.random,
        )
        try:
            for own in parts:
                campaign.make(campaign.dealt(dict.fromkeys(cases, own)), "calibration")
        except RunFailed:  # as it is when a launch is cut
            if not campaign.clock.ended_by:
                raise
        if campaign.clock.interrupted:
            raise KeyboardInterrupt
        if campaign.clock.ended_by and by_case(campaign.trials).keys() < set(cases):
            raise TimeIsOver("The time limit was reached before all costs were measured.")
        return sorted(campaign.trials, key=lambda trial: trial.case.number)

    def references(
        self, asked: Mapping[str, ArrayRequest], runs: Sequence[RequestTrial]
    ) -> list[Reference]:
        """Join requests with their dry runs, and with the runs that `run` made of them."""
        found, made = [], by_case(runs)
        for case in cases_of(asked):
            law = ByLaw(case.request, placement_of(case.layout, self.bed))
            found.append(
                Reference(
                    law=law,
                    dry=self.dry(case.request),
                    time=median(run.seconds for run in made[case]),
                    parts=median_components(map(observed_components, made[case])),
                )
            )
        return found


def cases_of(asked: Mapping[str, ArrayRequest]) -> list[RequestCase]:
    """Cases of some requests, in their order."""
    return [RequestCase(i, request) for i, request in enumerate(asked.values(), 1)]


def _are_known(runs: Sequence[RequestTrial]) -> bool:
    """Whether half of the requests have a median that is known to 10%."""
    times = ([run.seconds for run in own] for own in by_case(runs).values())
    return median(map(precision_of, times)) <= PRECISION


def measure_costs(
    folder: str | os.PathLike[str] = ".",
    *,
    clients: int = 4,
    servers: int = 1,
    dedicated: bool = True,
    rounds: int = ROUNDS,
    name: str = "",
) -> MeasuredCosts:
    """Measure what array I/O between some clients and servers costs on this machine.

    Reference requests, of every kind of array and writer, are run by the library, and the costs
    are those with which the law comes closest to their times.

    Parameters
    ----------
    folder : path-like, default "."
        Folder of the file system that servers write to; nothing is left there.
    clients, servers : int
        Ranks of each, started on this machine. [1]
    dedicated : bool, default True
        Whether servers are ranks of their own; otherwise some clients serve too.
    rounds : int, default 6
        Repetitions of every request, and up to eight more if these do not determine the medians
        of half of the requests to 10%, but not with disks below 100 MB/s. 4 or more are shared
        by two launches; each launch makes one more that does not count. [1]
    name : str, optional
        Name of the machine, by default its host name.

    Returns
    -------
    MeasuredCosts
        `parameters()` for `plan_io`, and every number with its interval.

    Raises
    ------
    ParameterError
        If there are too few or too many ranks.
    RunFailed
        If there is no MPI, or the folder cannot be written to.
    """
    for what, count in (("clients", clients), ("servers", servers), ("rounds", rounds)):
        as_whole(what, count, least=1, hint="Count from 1.")
    began = time.monotonic()
    load, testbed, mpi = system_load(), testbed_here(), find_mpi()
    layout = Layout(clients, servers, dedicated)
    found = Measuring(folder=Path(folder).absolute()).figures(layout, rounds=rounds)
    cores = len(available_cores())
    return MeasuredCosts(
        name=name or (platform.node() if testbed is None else short_name(testbed)),
        clients=clients,
        servers=servers,
        folder=os.path.abspath(folder),
        figures=(*found, *computing_figures(clients, found)),
        cores=cores,
        mpi=f"{mpi.vendor} {mpi.version}".strip(),
        place="" if testbed is None else in_words(testbed).rstrip("."),
        date=date.today().isoformat(),
        seconds=time.monotonic() - began,
        load=load,
        warnings=tuple(_warnings(layout.ranks, cores, load)),
    )


def _warnings(ranks: int, cores: int, load: float | None) -> list[str]:
    """Say what a reader of the numbers must know."""
    notes = []
    if ranks > cores and testbed_here() is None:
        notes.append(
            f"{ranks} ranks share {cores} cores, so the costs of messages include waiting for a "
            "core. Measure with as many clients and servers as the request has."
        )
    if load is not None and load > cores:
        notes.append(
            f"The load was {load:.1f} on {cores} cores before: other programs were running. "
            "Measure again when they have ended."
        )
    return notes


TIMES: Final = 3  # that each is run
LARGE: Final = (64, 64, 512)  # of which a subchunk has whole rows
SMALL: Final = (64, 4, 32)  # 64 kB of doubles
MANY: Final = 64  # small arrays, which go in one message
WHOLE: Final = "of an array of 17 MB"


def computing_figures(
    clients: int, measured: Sequence[Figure], *, clock: Callable[[], float] | None = None
) -> Iterator[Figure]:
    """Costs of computing with so many clients, as slow as was measured."""
    value = {figure.key: figure.value for figure in measured}
    slower = value["computing.time"]
    for figure in _dry_figures(clients, clock):
        match figure.dimension:
            case "rate":
                yield _changed(figure, 1 / value["computing.bytes"])
            case "time" if figure.key != "servers.run":
                yield _changed(figure, slower)
            case "time":
                yield _changed(figure, value["computing.bytes"])
            case _:
                yield figure


def _changed(figure: Figure, factor: float) -> Figure:
    """Change a number and its interval."""
    ends = {name: getattr(figure, name) * factor for name in ("value", "lower", "upper")}
    return replace(figure, **ends)


def _dry_figures(clients: int, clock: Callable[[], float] | None) -> Iterator[Figure]:
    """Costs of dry runs with so many clients."""
    rows, columns = (clients, 1, 1), (1, 1, clients)
    kinds: dict[str, dict[str, Any]] = {
        "long": {"shape": LARGE, "client_mesh": rows},
        "short": {"shape": LARGE, "client_mesh": columns},
        "arrays": {"shape": SMALL, "client_mesh": rows, "arrays": MANY},
        "read": {"shape": LARGE, "client_mesh": columns, "operation": "read"},
    }
    requests = {name: ArrayRequest(**keys, servers=1) for name, keys in kinds.items()}
    options = {} if clock is None else {"clock": clock}
    runs = {
        name: [dry_run(request, **options) for _ in range(TIMES)]
        for name, request in requests.items()
    }

    def value(name: str, of: Callable[[DryRun], float]) -> Callable[[Draw], float]:
        return lambda draw: draw([of(each) for each in runs[name]])

    runs_of = requests["short"].carried.tables[0].overlaps.requests.runs_in_subchunk.sum()

    def run(draw: Draw) -> float:
        rate = value("long", lambda x: x.place_rate)(draw)
        other = value("short", lambda x: x.place_rate)(draw)
        return max(requests["long"].size * (1 / other - 1 / rate) / float(runs_of), 0.0)

    numbers: Sequence[tuple[str, Callable[[Draw], float], str]] = (
        ("clients.construct_schema", value("long", lambda x: x.construct_schema), WHOLE),
        ("clients.decode", value("long", lambda x: x.decode), WHOLE),
        ("servers.parse_schema", value("long", lambda x: x.parse_schema), WHOLE),
        ("servers.find", value("long", lambda x: x.find), WHOLE),
        ("servers.boundary", value("long", lambda x: x.boundary), WHOLE),
        ("clients.copy_rate", value("arrays", lambda x: x.copy_rate), "of 64 arrays of 66 kB"),
        ("clients.place_rate", value("read", lambda x: x.place_rate), "of a read"),
        ("servers.place_rate", value("long", lambda x: x.place_rate), "in long runs"),
        ("servers.copy_rate", value("read", lambda x: x.copy_rate), "of a read"),
        ("servers.compression_rate", value("long", lambda x: x.encode_rate), "of checksums"),
        ("servers.run", run, "in short runs"),
        ("messages.schema_length", value("long", lambda x: x.schema_length), WHOLE),
        ("messages.request_length", value("long", lambda x: x.request_length), WHOLE),
        ("messages.quit_length", value("long", lambda x: x.quit_length), WHOLE),
    )
    for key, of, what in numbers:
        dimension = dimension_of(key)
        if dimension != "rate" or (isfinite(found := of(_first)) and found > 0):
            yield figure_of(key, dimension, f"dry run {what}", of)


def _first(values: Sequence[float]) -> float:
    return values[0] if values else inf


DRY: Final = "dry run of this request"


class MeasuredRequest(NamedTuple):
    """Costs of one request, and how each was measured."""

    costs: Costs
    sources: Mapping[str, str]  # of costs by name


@dataclass(kw_only=True, slots=True)
class OfLayouts:
    """Measures costs in each pass, with slow disks only in the first; runs no request for it."""

    measuring: Measuring | None = None
    figures: dict[Layout, list[Figure]] = field(default_factory=dict)  # measured last

    def costs(
        self,
        cases: Sequence[RequestCase],
        layout: Layout,
        *,
        folder: Path,
        rounds: int,
        clock: Clock,
    ) -> dict[RequestCase, MeasuredRequest]:
        """Measure on the ranks of a layout and in a folder; give the costs of its requests.

        `rounds` are the runs of each request that is run to measure costs [1]. A TimeIsOver says
        that the limit of the `clock` was reached before they were known.
        """
        if self.measuring is None:
            self.measuring = Measuring(folder=folder, clock=clock)
        if layout not in self.figures or not self.measuring.is_slow(layout):
            own = min(rounds, ROUNDS)
            self.figures[layout] = self.measuring.figures(layout, rounds=own, further=0)
        found = self.figures[layout]
        value = {figure.key: figure.value for figure in found}
        sources = {figure.key: f"reference requests: {figure.method}" for figure in found}
        dry = {case: self.measuring.dry(case.request) for case in cases}
        return {
            case: MeasuredRequest(
                costs_of(case.request, dry[case], value), sources | {"computing": DRY}
            )
            for case in cases
        }


def costs_document(costs: Costs) -> dict[str, Any]:
    """Costs as numbers in SI units; those that are unlimited are left out."""
    document: dict[str, Any] = {"messages": asdict(costs.protocol), "files": dict(costs.files)}
    for name in ("clients", "servers"):
        part = getattr(costs, name)
        values = {field.name: np.asarray(getattr(part, field.name)) for field in fields(part)}
        document[name] = {key: x.tolist() for key, x in values.items() if np.isfinite(x).all()}
    return document
