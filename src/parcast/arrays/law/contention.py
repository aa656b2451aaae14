"""Lower bounds of the time that servers spend, from what clients, cores and links have to do.

The law lets every server proceed as if its clients, cores and link were its own. Each of these is
busy for at least the time that its work takes, and the longest of these times bounds the
intermediate phase from below [D]: a client handles the requests of all servers one after the
other; ranks of a node share its cores and its link; a rank that is server and client does both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.boxes import Ints
from parcast.errors import ParameterError, require


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """On which node each client and each server runs, and what the ranks of a node share."""

    clients: Sequence[int]  # node of each client, counted from 0
    servers: Sequence[int]  # node of each server
    cores: float = np.inf  # of a node, for all of its ranks [1]
    link: float = np.inf  # rate of a node's link, in each direction [B/s]
    serving: Sequence[int] = ()  # client that each server also is, -1 for none; (): none is

    def __post_init__(self) -> None:
        """Refuse a node without cores or link."""
        for name in ("cores", "link"):
            value = getattr(self, name)
            require(name, value, value > 0, must="be above 0", hint="Leave it out if unlimited.")

    def require_counts(self, clients: int, servers: int) -> None:
        """Refuse a placement of other numbers of ranks."""
        given = {"clients": (self.clients, clients), "servers": (self.servers, servers)}
        if len(self.serving):
            given["serving"] = (self.serving, servers)
        for name, (nodes, count) in given.items():
            if len(nodes) != count:
                raise ParameterError(
                    f"{name} of the placement",
                    must=f"be {count}",
                    got=str(len(nodes)),
                    hint="Give one number for each.",
                )
        limits = {"clients": (0, None), "servers": (0, None), "serving": (-1, clients)}
        for name, (least, end) in limits.items():
            numbers = np.asarray(getattr(self, name))
            ok, must = numbers >= least, f"be at least {least}"
            if end is not None:
                ok, must = ok & (numbers < end), f"be a client from 0 to {end - 1}, or -1"
            require(f"{name} of the placement", numbers, ok, must=must, hint="Count from 0.")


class Traffic(NamedTuple):
    """Messages between clients and servers."""

    client: Ints
    server: Ints
    size: Ints  # [B]


class NodeLoad(NamedTuple):
    """What the exchange of a request asks of every rank."""

    client: Ints  # clients that exchange something
    client_time: Array  # handling of all requests, by each of them [s]
    client_work: Array  # of it, that of a core [s]
    server_time: Array  # of the whole intermediate phase, by server [s]
    server_work: Array  # that of a core [s]
    traffic: Sequence[Traffic]


class Bound(NamedTuple):
    """The resource that is busy for longest."""

    time: float  # [s]
    resource: str  # "client 3", "cores of node 0", ...


def lower_bound(load: NodeLoad, placement: Placement | None = None) -> Bound:
    """Longest time for which a client, a node's cores or a node's link is busy."""
    bounds = [_longest(load.client_time, "client {}", load.client)]
    if placement is not None:
        bounds += _of_nodes(load, placement)
        if len(placement.serving):
            serving = np.asarray(placement.serving)
            times = np.bincount(load.client, load.client_time, len(placement.clients))
            own = np.where(serving >= 0, times[np.maximum(serving, 0)], 0.0)
            bounds.append(_longest(load.server_time + own, "rank of server {}"))
    return max(bounds, key=lambda bound: bound.time)


def _of_nodes(load: NodeLoad, placement: Placement) -> list[Bound]:
    """Bounds by the cores and by the link of every node."""
    clients, servers = np.asarray(placement.clients), np.asarray(placement.servers)
    count = int(max(clients.max(), servers.max())) + 1
    work = np.bincount(clients[load.client], load.client_work, count)
    work += np.bincount(servers, load.server_work, count)
    of_clients, of_servers = np.zeros((2, count))
    for each in load.traffic:
        of, to = clients[each.client], servers[each.server]
        # What a client and a server on one node exchange does not pass the link.
        passing = np.where(of == to, 0, each.size)
        of_clients += np.bincount(of, passing, count)
        of_servers += np.bincount(to, passing, count)
    return [
        _longest(work / placement.cores, "cores of node {}"),
        _longest(np.maximum(of_clients, of_servers) / placement.link, "link of node {}"),
    ]


def _longest(times: Array, resource: str, named: Ints | None = None) -> Bound:
    if not len(times):
        return Bound(0.0, resource.format(0))
    most = int(np.argmax(times))
    return Bound(float(times[most]), resource.format(most if named is None else named[most]))
