"""The network of a testbed by `ip` and `tc`, its namespaces and mounts, and the disk it stands on.

On a switch each host has a link of its own, full duplex: a limit at the host for what it sends and
one at the switch for what it receives. Transfers of different pairs do not hinder each other: the
contention level is near 0. On a bus all hosts are addresses of one limited device: every byte
between any two takes its time from all, and the contention level is 1.

Both are made of token buckets: what a link carries in `BURST_TIME` travels at once after a pause.
Shorter bursts follow the linear law of a link to shorter messages; longer ones lose less of a fast
link where the processor is busy and a packet is sent on late.
"""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SHORTEST_BURST: Final = 3100  # what may go at once after a pause, at least: two packets [B]
BURST_TIME: Final = 0.25e-3  # and at least what the link carries in so long [s]
LONGEST_QUEUE: Final = 2.0  # at the rate of the link [s]
FRONT: Final = "10.9.0.254"  # where COMMAND runs, on the switch


def addresses(hosts: int) -> tuple[str, ...]:
    """Addresses of the hosts, which are their names too."""
    return tuple(f"10.9.0.{number}" for number in range(1, hosts + 1))


def limits(device: str, *, link: float | None, latency: float) -> list[str]:
    """Lines for `tc` that hold a device to a rate [B/s] and delay every packet that it sends [s].

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


DEVICES: Final = Path("/sys/dev/block")
MOUNTS: Final = Path("/proc/self/mountinfo")


def disk_of(directory: Path, *, devices: Path = DEVICES, mounts: Path = MOUNTS) -> str | None:
    """Number "MAJOR:MINOR" of the whole disk that a directory is on, as control groups want it.

    None if it is on no disk, as on a tmpfs, an overlay or a network.
    """
    number = os.stat(directory).st_dev
    place = devices / f"{os.major(number)}:{os.minor(number)}"
    if not place.exists():  # a file system of several disks has a number of its own
        source = _source(f"{os.major(number)}:{os.minor(number)}", mounts)
        if not source.startswith("/dev/") or not os.path.exists(source):
            return None
        number = os.stat(source).st_rdev
        place = devices / f"{os.major(number)}:{os.minor(number)}"
        if not place.exists():
            return None
    place = place.resolve()
    if (place / "partition").exists():  # limits are those of whole disks
        place = place.parent
    return (place / "dev").read_text(encoding="ascii").strip()


def _source(number: str, mounts: Path) -> str:
    """What is mounted under a device number, or nothing."""
    for line in mounts.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if fields[2] == number:
            return fields[fields.index("-") + 2]
    return ""


# Of sched.h and sys/mount.h of Linux, the same on every processor.
NEW_MOUNTS: Final = 0x00020000
NEW_NAME: Final = 0x04000000
NEW_USER: Final = 0x10000000
NEW_PROCESSES: Final = 0x20000000
NEW_NETWORK: Final = 0x40000000
PRIVATE: Final = 0x00040000
RECURSIVE: Final = 0x00004000
BIND: Final = 0x00001000


def unshare(kinds: int) -> None:
    """Put this process into new namespaces of these kinds, where the system allows it."""
    _call("unshare", ctypes.c_int(kinds))


def enter(path: Path) -> None:
    """Put this process into the namespace that stands at `path`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _call("setns", ctypes.c_int(descriptor), ctypes.c_int(0))
    finally:
        os.close(descriptor)


def mount(source: str, target: str, kind: str = "", flags: int = 0) -> None:
    """Mount `source` on `target`."""
    texts = (source.encode(), target.encode(), kind.encode() or None)
    _call("mount", *texts, ctypes.c_ulong(flags), None)


def become_root_of_a_namespace() -> None:
    """Give this process, of a person who is not root, a namespace where it is."""
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library, and raise what it says."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code).lower()}")
