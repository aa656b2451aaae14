"""How the bytes of a burst reach other processors: within a node or between nodes, at which rate.

With V bytes of each processor, of which a share o leaves its node, m processors of a node, r the
bandwidth of a pair, L that of the link of a node and M that of a pair within a node::

    SR_com = (1 - o) V/M + o V / min(r, L/m)       o = (p - m)/(p - 1)                        [D]

The share o is that of partners anywhere; a program may give another. Without L and M all bytes
pass at the rate of a pair, as published.

Bytes that leave a node pass the network that all share, at the level of contention w. It serves
them at the rate that it has without the links, and what the link of their node adds is a delay of
their own before it, in which nobody else waits [D]::

    x = w o V/r        f = SR_com - x

so that each byte waits once, at whichever of the two is busier.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.machine import Machine, level_of
from parcast.laws.spmd.tables import SpmdTables

ALL = np.ones(())


class NodeRoute(NamedTuple):
    """Bytes that take the same way."""

    share: Array  # of all bytes [1]
    rate: Array  # [B/s]
    limits: Mapping[str, Array]  # 1 where the rate is that of this amount of the machine, else 0


class Transfer(NamedTuple):
    """Routes of the bytes of a phase, and those of them that pass the network that all share."""

    routes: tuple[NodeRoute, ...]
    shared: NodeRoute  # at the rate without the link of a node


def transfer_of(phase: SpmdTables, machine: Machine, at: Point, volume: Amount) -> Transfer:
    """Routes of the bytes of a phase."""
    why = volume.name
    node = machine.node
    pairs = _between_pairs(phase, machine, at, why)
    if node.network_bandwidth is None and node.message_bandwidth is None:
        return Transfer((pairs,), pairs)
    p = np.asarray(at["p"], dtype=np.float64)
    together = np.minimum(p, node.processors or 1)
    leaving = (p - together) / np.maximum(p - 1.0, 1.0)
    if phase.communication.off_node is not None:
        leaving = np.where(p > together, level_of(phase.communication.off_node, at), 0.0)
    inside = away = pairs
    if node.network_bandwidth is not None:
        link = machine.need("node.network_bandwidth", at, why=why) / together
        is_link = np.asarray(link < away.rate, dtype=np.float64)
        limits = {name: here * (1.0 - is_link) for name, here in away.limits.items()}
        away = NodeRoute(
            ALL, np.minimum(away.rate, link), limits | {"node.network_bandwidth": is_link}
        )
    if node.message_bandwidth is not None:
        rate = machine.need("node.message_bandwidth", at, why=why)
        inside = NodeRoute(ALL, rate, {"node.message_bandwidth": ALL})
    routes = (inside._replace(share=1.0 - leaving), away._replace(share=leaving))
    return Transfer(routes, pairs._replace(share=leaving))


def _between_pairs(phase: SpmdTables, machine: Machine, at: Point, why: str) -> NodeRoute:
    """All bytes at the rate of a pair, which is never more than that of all together."""
    pair = machine.need("network.bandwidth", at, why=why)
    if phase.communication.contention is not None:
        return NodeRoute(ALL, pair, {"network.bandwidth": ALL})
    rate = machine.pair_rate(at, why=why)
    of_pair = np.asarray(rate == pair, dtype=np.float64)
    limits = {"network.bandwidth": of_pair}
    if not of_pair.all():
        limits["network.saturation"] = 1.0 - of_pair
    return NodeRoute(ALL, rate, limits)


def byte_time(*routes: NodeRoute) -> Array:
    """Time of a byte [s/B]."""
    return np.asarray(sum(route.share / route.rate for route in routes))
