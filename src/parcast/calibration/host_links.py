"""Whether the links of the hosts limit messages among all ranks, or a network that all share.

A law that knows both rates has to wait at both, so that a machine file has one of them only where
one explains the other. With h hosts of m ranks each, L the rate of the link of a host, that of the
exchange of two hosts, and s that of all messages of all ranks that leave their hosts [D]:

- links, each on its own, allow s = h L;
- one medium that all share gives s = 2 L, as both directions of the exchange take of it.

Two hosts tell nothing by that. A medium then gives L = r/2 at most where one pair reaches r.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from parcast.calibration.result import Measured

LINK, TOGETHER, PAIR = "node.network_bandwidth", "network.saturation", "network.bandwidth"
ALL_LINKS: Final = "network.all_links"  # keys that no machine file has
OF_MEDIUM: Final = "network.two_hosts"
AS_GOOD: Final = 0.85  # of a rate that is as high as another [1]
ONE_WAY: Final = 0.75  # of the rate of a pair: above it both directions have that rate [1]


def leaving(ranks: Sequence[int]) -> int:
    """Messages from every rank to every other that leave their host, with so many ranks each.

    >>> leaving([2, 2]), leaving([1, 1, 1])
    (8, 6)
    """
    return int(sum(ranks) ** 2 - sum(n * n for n in ranks))


def told_apart(found: Mapping[str, Measured], ranks: Sequence[int]) -> list[Measured]:
    """The values, of which one that another explains has no key of a machine file any more."""
    values = dict(found)
    if {LINK, TOGETHER, PAIR} <= set(values) and len(ranks) > 1:
        link, together = found[LINK].value, found[TOGETHER].value
        busiest = max(n * (sum(ranks) - n) for n in ranks)
        is_two_way = link >= ONE_WAY * found[PAIR].value
        if together >= AS_GOOD * link * leaving(ranks) / busiest and (
            len(ranks) > 2 or is_two_way
        ):
            values[TOGETHER] = replace(found[TOGETHER], key=ALL_LINKS)
        elif together * AS_GOOD <= 2.0 * link and not is_two_way:
            values[LINK] = replace(found[LINK], key=OF_MEDIUM)
    return list(values.values())
