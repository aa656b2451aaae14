"""Measures the costs of array I/O on this machine: reference requests, and dry runs."""

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from math import inf
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from parcast.arrays.calibration.by_law import ByLaw, placement_of
from parcast.arrays.calibration.computing import computing_figures
from parcast.arrays.calibration.dry_run import DryRun, dry_run
from parcast.arrays.calibration.figure import Figure
from parcast.arrays.calibration.fitting import Reference, fitted
from parcast.arrays.calibration.references import MEDIUM, largest_size, references, trials
from parcast.arrays.calibration.result import MeasuredCosts
from parcast.arrays.trials.carried import Request
from parcast.arrays.trials.launcher import RHYTHM, RequestLauncher, shares
from parcast.arrays.trials.observation import (
    RequestTrial,
    ServerRun,
    median_components,
    observed_components,
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
    launcher: Launcher[RequestCase, tuple[ServerRun, ...]] | None = None  # None: ranks here
    bed: Testbed | None = field(default_factory=testbed_here)
    clock: Clock = field(default_factory=Clock)  # of what asks, whose limit holds for launches
    rates: dict[int, float] = field(init=False, default_factory=dict)  # by servers [B/s]
    dry: Callable[[Request], DryRun] = field(init=False, default_factory=lambda: cache(dry_run))
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
                    dry=self.dry(law.known),
                    time=median(run.seconds for run in made[case]),
                    parts=median_components(map(observed_components, made[case])),
                )
            )
        return found


def cases_of(asked: Mapping[str, ArrayRequest]) -> list[RequestCase]:
    """Cases of some requests, in their order."""
    return [RequestCase(i, request) for i, request in enumerate(asked.values(), 1)]


def _are_known(runs: Sequence[RequestTrial]) -> bool:
    """Whether half of the requests have a median that is known to 10 %."""
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
        of half of the requests to 10 %, but not with disks below 100 MB/s. 4 or more are shared
        by two launches; each launch makes one more that does not count. [1]
    name : str, optional
        Name of the machine, by default its host name.

    Returns
    -------
    MeasuredCosts
        `parameters()` for `plan_io`, `costs_for(request)` for the law of one request, and every
        number with its interval.

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
