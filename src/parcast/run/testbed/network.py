"""What `ip` and `tc` are told, to make the network of a testbed: a switch with links, or one bus.

On a switch each host has a link of its own, full duplex: a limit at the host for what it sends and
one at the switch for what it receives. Transfers of different pairs do not hinder each other: the
contention level is near 0. On a bus all hosts are addresses of one limited device: every byte
between any two takes its time from all, and the contention level is 1.

Both are made of token buckets: what a link carries in `BURST_TIME` travels at once after a pause.
Shorter bursts follow the linear law of a link to shorter messages; longer ones lose less of a fast
link where the processor is busy and a packet is sent on late.
"""

from collections.abc import Sequence
from typing import Final

SHORTEST_BURST: Final = 3100  # what may go at once after a pause, at least: two packets [B]
BURST_TIME: Final = 0.25e-3  # and at least what the link carries in so long [s]
LONGEST_QUEUE: Final = 2.0  # at the rate of the link [s]
FRONT: Final = "10.9.0.254"  # where COMMAND runs, on the switch


def addresses(hosts: int) -> tuple[str, ...]:
    """Addresses of the hosts, which are their names too.

    >>> addresses(2)
    ('10.9.0.1', '10.9.0.2')
    """
    return tuple(f"10.9.0.{number}" for number in range(1, hosts + 1))


def limits(device: str, *, link: float | None, latency: float) -> list[str]:
    """Lines for `tc` that hold a device to a rate and delay what it sends.

    Parameters
    ----------
    device : str
        Its name.
    link : float or None
        Rate; None: not limited. [B/s]
    latency : float
        What every packet waits, 0 for none. [s]

    Examples
    --------
    >>> limits("eth0", link=12.5e6, latency=0)
    ['qdisc add dev eth0 root handle 1: tbf rate 100000000bit burst 3125 latency 2s']
    """
    place, lines = "root handle 1:", []
    if latency:
        lines.append(
            f"qdisc add dev {device} {place} netem delay {latency * 1e6:.0f}us limit 100000"
        )
        place = "parent 1:1 handle 2:"
    if link is not None:
        burst = max(SHORTEST_BURST, round(link * BURST_TIME))
        rate = f"rate {8 * link:.0f}bit burst {burst} latency {LONGEST_QUEUE:g}s"
        lines.append(f"qdisc add dev {device} {place} tbf {rate}")
    return lines


def bus_lines(hosts: Sequence[str]) -> list[str]:
    """Lines for `ip` that make one medium of the loopback device, with all hosts on it."""
    own = [f"addr add {host}/32 dev lo" for host in (*hosts, FRONT)]
    return ["link set lo mtu 1500", "link set lo up", *own]


def switch_lines(hosts: Sequence[str], places: Sequence[str]) -> list[str]:
    """Lines for `ip` that make a switch with a port for each host, which has the other end."""
    lines = ["link set lo up", "link add br0 type bridge", f"addr add {FRONT}/24 dev br0"]
    for number, place in zip(range(1, len(hosts) + 1), places, strict=True):
        ends = f"port{number} type veth peer name eth0 netns {place}"
        lines += [f"link add {ends}", f"link set port{number} master br0 addrgenmode none up"]
    return [*lines, "link set br0 addrgenmode none up"]


def host_lines(host: str) -> list[str]:
    """Lines for `ip` inside a host on the switch."""
    return [
        "link set lo up",
        f"addr add {host}/24 dev eth0",
        "link set eth0 addrgenmode none up",
    ]
