"""Measures the costs of array I/O on this machine: messages, files, and computing in dry runs."""

import os
import platform
import time
from datetime import date
from typing import Any, Final

from parcast.arrays.law import RequestTime, request_time
from parcast.arrays.measuring.computing import computing_figures
from parcast.arrays.measuring.interpreting import figures_of
from parcast.arrays.measuring.launches import launch
from parcast.arrays.measuring.request import Request
from parcast.arrays.measuring.result import MeasuredCosts
from parcast.errors import as_whole
from parcast.mpi.clock import system_load
from parcast.mpi.find import available_cores, find_mpi
from parcast.testbed.testbed import in_words, short_name, testbed_here

ROUNDS: Final = 7  # of every measurement, after one that is discarded
QUICK: Final = 3
MOST_RANKS: Final = 1024


def measure_costs(
    folder: str | os.PathLike[str] = ".",
    *,
    clients: int = 4,
    servers: int = 1,
    rounds: int = ROUNDS,
    name: str = "",
) -> MeasuredCosts:
    """Measure what array I/O between some clients and servers costs on this machine.

    Parameters
    ----------
    folder : path-like, default "."
        Folder of the file system that servers write to; nothing is left there.
    clients, servers : int
        Ranks of each, started on this machine. [1]
    rounds : int, default 7
        Repetitions of every measurement, after one that is discarded. [1]
    name : str, optional
        Name of the machine, by default its host name.

    Returns
    -------
    MeasuredCosts
        `parameters()` for `plan_io`, `costs_for(request)` for the law of one request, and every
        number with its spread.

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
    load = system_load()
    observed = launch(os.fspath(folder), clients=clients, servers=servers, rounds=rounds)
    figures = (*figures_of(observed), *computing_figures(clients))
    testbed, mpi = testbed_here(), find_mpi()
    cores = len(available_cores())
    return MeasuredCosts(
        name=name or (platform.node() if testbed is None else short_name(testbed)),
        clients=clients,
        servers=servers,
        folder=os.path.abspath(folder),
        figures=figures,
        cores=cores,
        mpi=f"{mpi.vendor} {mpi.version}".strip(),
        place="" if testbed is None else in_words(testbed).rstrip("."),
        date=date.today().isoformat(),
        seconds=time.monotonic() - began,
        load=load,
        warnings=tuple(_warnings(clients + servers, cores, load)),
    )


def predicted(measured: MeasuredCosts, request: Request, **options: Any) -> RequestTime:
    """Time of a request by the law, with costs that were measured.

    `options` are further ones of `parcast.arrays.law.Options`, such as `placement`.
    """
    return request_time(request.tables, measured.costs_for(request), request.options(**options))


def _warnings(ranks: int, cores: int, load: float | None) -> list[str]:
    """Say what a reader of the numbers must know."""
    notes = []
    if ranks > cores and testbed_here() is None:
        notes.append(
            f"{ranks} ranks share {cores} cores: the costs of messages contain that. Measure with "
            "as many clients and servers as the request has."
        )
    if load is not None and load > cores:
        notes.append(
            f"The load was {load:.1f} on {cores} cores before: other programs were running. "
            "Measure again when they have ended."
        )
    return notes
