"""A request by the law, with the parts of its time as they are observed of a run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parcast.arrays.law.contention import Placement
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.request import Options, RequestTime, request_time
from parcast.arrays.library.checking import server_ranks
from parcast.arrays.trials.carried import Request
from parcast.arrays.trials.observation import Components
from parcast.arrays.trials.request import ArrayRequest, Layout
from parcast.testbed.testbed import Testbed


@dataclass(frozen=True)
class ByLaw:
    """A request, to be priced with any costs."""

    asked: ArrayRequest
    placement: Placement | None = None  # bounds the time by what ranks share; None: nothing is

    @cached_property
    def known(self) -> Request:
        """The request as the law and a dry run have it."""
        return self.asked.for_costs()

    @cached_property
    def _options(self) -> Options:
        is_shared = self.placement is not None
        return self.known.options(contention=is_shared, placement=self.placement)

    def time(self, costs: Costs) -> RequestTime:
        """Price it."""
        return request_time(self.known.tables, costs, self._options)


def components_of(time: RequestTime) -> Components:
    """Parts of the time of the server that finishes last.

    What makes it longer than its slowest server takes alone is part of the assembly.
    """
    last = int(np.argmax(time.startup + time.intermediate))
    startup, files = float(time.startup[last]), float(time.file_system[last])
    return Components(
        startup=startup,
        assembly=time.finished - startup - files,
        file_system=files,
        closing=float(time.closing.max()),
    )


def placement_of(layout: Layout, bed: Testbed | None) -> Placement:
    """Nodes of the ranks of a layout, and their links.

    That ranks share cores is not part of it: their costs were measured on all of them at a time.
    """
    ranks = range(layout.ranks)
    serving = server_ranks(layout.servers, layout.ranks, layout.dedicated)
    clients = [rank for rank in ranks if not (layout.dedicated and rank in serving)]
    hosts = 1 if bed is None else bed.hosts
    return Placement(
        clients=[rank % hosts for rank in clients],
        servers=[rank % hosts for rank in serving],
        link=np.inf if bed is None or bed.link is None else bed.link,
        serving=() if layout.dedicated else serving,
    )
