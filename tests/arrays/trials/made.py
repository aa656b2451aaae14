"""Costs and runs that are known, so that a validation can be told its truth."""

from dataclasses import dataclass, field

import numpy as np

from parcast.arrays.calibration.fitting import placement_of
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.message import Protocol
from parcast.arrays.library.client import Spent
from parcast.arrays.subject import MeasuredRequest as Measured
from parcast.arrays.subject import predicted
from parcast.arrays.trials.launcher import Components
from parcast.arrays.trials.request import ArrayRequest, RequestCase
from parcast.trials.trial import Launch


def costs_of(slower=1.0):
    """Costs of a machine that is so many times slower."""
    side = {
        "send_startup": 1e-4 * slower,
        "receive_startup": 1e-4 * slower,
        "bandwidth": 1e9 / slower,
    }
    return Costs(
        clients=ClientCosts(**side, construct_schema=2e-3 * slower, decode=1e-4 * slower),
        servers=ServerCosts(**side, parse_schema=1e-3 * slower, write_rate=5e8 / slower),
        protocol=Protocol(packet=1e9, eager_limit=1.0),
    )


COSTS = costs_of()


def request(**keys):
    """Make a small request."""
    few = {"shape": [16, 8], "client_mesh": [2, 1], "servers": 1}
    return ArrayRequest(**(few | keys))


class KnownCosts:
    """Gives the same costs for all requests, of a machine that is slower in some passes."""

    def __init__(self, slower=lambda _number: 1.0):
        self.slower = slower
        self.rounds = []  # of each pass

    def costs(self, cases, layout, *, folder, rounds, clock):
        assert clock.begun
        assert folder.is_dir()
        assert all(each.layout == layout for each in cases)
        self.rounds.append(rounds)
        costs = costs_of(self.slower(len(self.rounds)))
        return dict.fromkeys(cases, Measured(costs, {"write_rate": "made up"}))


def run_of(case, launch=None, repetition=1, *, factor=1.0, others=0.0, messages=0):
    """Make a run that takes what the law says, times a factor."""
    law = predicted(case.request, Measured(COSTS, {}), placement_of(case.layout, None))
    parts = Components(**law.parts)
    is_read = case.request.operation == "read"
    server = Spent(
        server=0,
        begun=factor * parts.startup,
        seconds=factor * (parts.assembly + parts.file_system),
        gathering=0.0 if is_read else factor * parts.assembly,
        accessing=factor * parts.file_system,
        messages=law.facts["counted"]["messages"] + messages,
        subchunks=law.facts["counted"]["subchunks"],
        size=law.facts["counted"]["bytes"],
    )
    launch = launch or Launch(number=1, cases=(case,), expected=None)
    facts = {"repetition": repetition, "others": others}
    return launch.trial(case, factor * law.time, (server,), **facts)


@dataclass
class Machine:
    """Runs requests in the time of the law, some of them disturbed, or in another one."""

    factor: object = lambda _place, _number: 1.0  # of a request and how often it was run
    others: object = lambda _place, _number: 0.0  # cores that other programs use
    messages: int = 0  # more than the law counts
    fails_after: int | None = None  # launches
    launches: list = field(default_factory=list)
    made: dict = field(default_factory=dict)  # how often each request was run

    def __call__(self, launch, *, report):
        if self.fails_after is not None and len(self.launches) >= self.fails_after:
            raise KeyboardInterrupt
        self.launches.append(launch)
        for turn, cases in enumerate(rounds_of(launch)[1:], 1):
            for case in cases:
                number = self.made[case] = self.made.get(case, 0) + 1
                at = (case.number - 1, number)
                factor, others = self.factor(*at), self.others(*at)
                made = {"factor": factor, "others": others, "messages": self.messages}
                report(run_of(case, launch, turn, **made))


def rounds_of(launch):
    width = len(launch.distinct)
    return [launch.cases[i : i + width] for i in range(0, len(launch.cases), width)]


def case_of(request):
    return RequestCase(1, request)


def several():
    """Requests of two layouts, of every kind."""
    return [
        request(),
        request(writer="sync"),
        request(writer="write-behind", arrays=8, quick=True),
        request(operation="read", client_mesh=[2, 2], servers=2),
        request(client_mesh=[2, 2], servers=2, quick=True),
    ]


def noisy(seed=0, width=0.02):
    """Factors near 1."""
    random = np.random.default_rng(seed)
    return lambda _place, _number: 1.0 + width * random.uniform(-1, 1)
