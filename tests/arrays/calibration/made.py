"""A machine of known costs, which runs reference requests in the times of the law."""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from parcast.arrays.calibration.dry_run import DryRun
from parcast.arrays.calibration.fitting import ByLaw, components_of, placement_of
from parcast.arrays.calibration.measure import computing_figures
from parcast.arrays.calibration.regimes import COSTS, costs_of
from parcast.arrays.calibration.result import Figure, MeasuredCosts
from parcast.arrays.library.client import Spent

CLIENTS = 4
DISK = 2e9  # [B/s]
SLOWER = {"servers.write_rate": 0.5, "servers.synchronise": 3.0, "messages.startup": 2.0}
KNOWN = {
    cost.key: cost.typical * (DISK if cost.is_of_disk else 1.0) * SLOWER.get(cost.key, 1.0)
    for cost in COSTS
}


def dry_of(request):
    return DryRun(
        request=request,
        construct_schema=2e-4 + 1e-6 * request.arrays,
        parse_schema=5e-5,
        find=1e-4,
        boundary=3e-6,
        decode=2e-5,
        copy_rate=4e9,
        place_rate=8e9,
        encode_rate=2e10,
        touch_rate=inf,
        schema_length=900.0,
        request_length=60.0,
        quit_length=150.0,
        passes=5,
    )


def time_of(request, value):
    """Time of a request by the law."""
    law = ByLaw(request, placement_of(request.layout, None))
    return law.time(costs_of(request, dry_of(request), value))


def run_of(launch, case, time, repetition=1, *, factor=1.0):
    """Make a run that takes what the law says, times a factor."""
    parts = components_of(time)
    is_read = case.request.operation == "read"
    server = Spent(
        server=0,
        begun=factor * parts.startup,
        seconds=factor * (parts.assembly + parts.file_system),
        gathering=0.0 if is_read else factor * parts.assembly,
        accessing=factor * parts.file_system,
        messages=1,
        subchunks=1,
        size=1,
    )
    return launch.trial(case, factor * time.time, (server,), repetition=repetition, others=0.0)


@dataclass
class Machine:
    """Runs launches in no time, and notes them; runs scatter by so much."""

    value: dict = field(default_factory=lambda: dict(KNOWN))
    scatter: float = 0.0
    launches: list = field(default_factory=list)

    def __call__(self, launch, *, report):
        """Make the runs of a launch, the first round of which does not count."""
        self.launches.append(launch)
        random = np.random.default_rng(len(self.launches))
        width = len(launch.distinct)
        times = {case: time_of(case.request, self.value) for case in launch.distinct}
        for i, case in enumerate(launch.cases[width:]):
            factor = 1.0 + self.scatter * random.uniform(-1, 1)
            report(run_of(launch, case, times[case], 1 + i // width, factor=factor))


class Ticks:
    """A clock that goes on by a microsecond whenever it is read."""

    now = 0.0

    def __call__(self):
        self.now += 1e-6
        return self.now


def measured_costs():
    figures = [
        Figure(
            key=cost.key,
            value=KNOWN[cost.key],
            lower=0.8 * KNOWN[cost.key],
            upper=1.3 * KNOWN[cost.key],
            dimension=cost.dimension,
            method=cost.what,
        )
        for cost in COSTS
    ]
    return MeasuredCosts(
        name='a "new" machine',
        clients=CLIENTS,
        servers=1,
        folder="/scratch",
        figures=(*figures, *computing_figures(CLIENTS, figures, clock=Ticks())),
        cores=2,
        mpi="MPICH 5",
        date="2026-01-31",
    )
