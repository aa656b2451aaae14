"""Measures the costs of array I/O on this machine: reference requests, and dry runs."""

import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from math import inf
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from parcast.arrays.measuring.by_law import ByLaw, placement_of
from parcast.arrays.measuring.computing import computing_figures
from parcast.arrays.measuring.dry_run import DryRun, dry_run
from parcast.arrays.measuring.figure import Figure
from parcast.arrays.measuring.fitting import Reference, fitted
from parcast.arrays.measuring.references import MEDIUM, largest_size, references, trials
from parcast.arrays.measuring.request import Request
from parcast.arrays.measuring.result import MeasuredCosts
from parcast.arrays.running.launches import Launch, Runner, random_rounds, run_launch, shares
from parcast.arrays.running.observation import Observed, median_components
from parcast.arrays.running.precision import PRECISION, precision_of
from parcast.arrays.running.request import ArrayRequest, Layout
from parcast.errors import as_whole
from parcast.mpi.clock import system_load
from parcast.mpi.find import available_cores, find_mpi
from parcast.testbed.testbed import Testbed, in_words, short_name, testbed_here

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
    runner: Runner = run_launch
    bed: Testbed | None = field(default_factory=testbed_here)
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
            tiny, medium = (median(x.time for x in tried if x.request == i) for i in range(2))
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

    def run(self, asked: Mapping[str, ArrayRequest], parts: Sequence[int]) -> list[Observed]:
        """Run requests of one layout, so many rounds in each launch."""
        runs = list[Observed]()
        requests = dict(enumerate(asked.values()))
        for i, own in enumerate(parts, 1):
            launch = Launch(
                number=i,
                layout=requests[0].layout,
                requests=requests,
                rounds=random_rounds([*requests], 1 + own, self.random),
                expected=EXPECTED,
            )
            self.runner(launch, folder=self.folder, report=runs.append)
        return runs

    def references(
        self, asked: Mapping[str, ArrayRequest], runs: Sequence[Observed]
    ) -> list[Reference]:
        """Join requests with their dry runs, and with the runs that `run` made of them."""
        found = []
        for i, request in enumerate(asked.values()):
            law = ByLaw(request, placement_of(request.layout, self.bed))
            own = [run for run in runs if run.request == i]
            found.append(
                Reference(
                    law=law,
                    dry=self.dry(law.known),
                    time=median(run.time for run in own),
                    parts=median_components(run.components for run in own),
                )
            )
        return found


def _are_known(runs: Sequence[Observed]) -> bool:
    """Whether half of the requests have a median that is known to 10 %."""
    times = defaultdict[int, list[float]](list)
    for run in runs:
        times[run.request].append(run.time)
    return median(map(precision_of, times.values())) <= PRECISION


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
