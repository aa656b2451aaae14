"""Costs and runs that are known, so that a validation can be told its truth."""

from dataclasses import dataclass, field

import numpy as np

from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.message import Protocol
from parcast.arrays.measuring.by_law import placement_of
from parcast.arrays.running.observation import Observed, ServerRun
from parcast.arrays.running.request import ArrayRequest
from parcast.arrays.validating.predicting import Measured, predicted


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

    def costs(self, requests, layout, *, folder, rounds):
        """Give the costs of requests of one layout."""
        assert folder.is_dir()
        assert all(each.layout == layout for each in requests.values())
        self.rounds.append(rounds)
        costs = costs_of(self.slower(len(self.rounds)))
        return dict.fromkeys(requests, Measured(costs, {"write_rate": "made up"}))


def run_of(place, asked, launch=1, turn=1, *, factor=1.0, others=0.0, messages=0):
    """Make a run that takes what the law says, times a factor."""
    law = predicted(asked, Measured(COSTS, {}), placement_of(asked.layout, None))
    parts = law.components
    busy = factor * (parts.assembly + parts.file_system)
    is_read = asked.operation == "read"
    server = ServerRun(
        startup=factor * parts.startup,
        seconds=busy,
        gathering=0.0 if is_read else factor * parts.assembly,
        accessing=factor * parts.file_system,
        messages=law.counted.messages + messages,
        subchunks=law.counted.subchunks,
        size=law.counted.size,
    )
    return Observed(
        request=place,
        launch=launch,
        round=turn,
        time=factor * law.time,
        others=others,
        servers=(server,),
        is_read=is_read,
    )


@dataclass
class Machine:
    """Runs requests in the time of the law, some of them disturbed, or in another one."""

    factor: object = lambda _place, _number: 1.0  # of a request and how often it was run
    others: object = lambda _place, _number: 0.0  # cores that other programs use
    messages: int = 0  # more than the law counts
    fails_after: int | None = None  # launches
    launches: list = field(default_factory=list)
    made: dict = field(default_factory=dict)  # how often each request was run

    def __call__(self, launch, *, folder, report):
        """Make the runs of a launch."""
        assert folder.is_dir()
        if self.fails_after is not None and len(self.launches) >= self.fails_after:
            raise KeyboardInterrupt
        self.launches.append(launch)
        for turn, places in enumerate(launch.rounds[1:], 1):
            for place in places:
                number = self.made[place] = self.made.get(place, 0) + 1
                report(
                    run_of(
                        place,
                        launch.requests[place],
                        launch.number,
                        turn,
                        factor=self.factor(place, number),
                        others=self.others(place, number),
                        messages=self.messages,
                    )
                )


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
