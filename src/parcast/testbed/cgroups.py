"""Control groups of a testbed: a cap on the processor time and on the disk of each virtual host.

A testbed has a group of its own in each hierarchy it needs, called "parcast_testbed_" and a unique
name, with a group below it for each host and one, "keeper", for the process that keeps
the testbed. A group whose keeper is gone is one that a killed testbed left behind.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path("/sys/fs/cgroup")
PREFIX: Final = "parcast_testbed_"
KEEPER: Final = "keeper"
MOST_TO_BE_MADE: Final = 10.0  # a group without a keeper may be one just made for so long [s]
SHORTEST_QUOTA: Final = 1000  # that the kernel accepts [us]
SHORTEST_PERIOD: Final = (
    10000  # below it the cap is no smoother, as the kernel looks per tick [us]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hierarchy:
    """A place where groups are made, and what it limits."""

    root: Path
    controllers: tuple[str, ...]  # "cpu", "blkio" of version 1, "cpu", "io" of version 2
    version: int

    def limits(self, *, cap: float | None, disk: float | None, device: str) -> dict[str, str]:
        """Files of a host's group and what is written to them.

        `cap` is processor time for each second [1], `disk` the rate each way [B/s] of the device
        "MAJOR:MINOR".
        """
        files: dict[str, str] = {}
        if cap is not None and "cpu" in self.controllers:
            period = max(SHORTEST_PERIOD, round(SHORTEST_QUOTA / cap))
            quota = round(period * cap)
            if self.version == 1:
                files |= {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": str(quota)}
            else:
                files["cpu.max"] = f"{quota} {period}"
        if disk is not None and "blkio" in self.controllers:
            for way in ("read", "write"):
                files[f"blkio.throttle.{way}_bps_device"] = f"{device} {disk:.0f}"
        if disk is not None and "io" in self.controllers:
            files["io.max"] = f"{device} rbps={disk:.0f} wbps={disk:.0f}"
        return files

    def weight(self, hosts: int) -> dict[str, str]:
        """File of the testbed's own group that makes every host count as a process does elsewhere.

        Without it all hosts together would count as one process, beside other work.
        """
        if "cpu" not in self.controllers:
            return {}
        if self.version == 1:
            return {"cpu.shares": str(1024 * (hosts + 1))}
        return {"cpu.weight": str(100 * (hosts + 1))}


def hierarchies(*, cap: bool, disk: bool, root: Path = ROOT) -> tuple[Hierarchy, ...]:
    """Where groups must be made to limit processor time or disks.

    An OSError says that the system has no such control, or does not let this process use it.
    """
    if not (cap or disk):
        return ()
    if (root / "cgroup.controllers").exists():
        wanted = [name for name, is_wanted in (("cpu", cap), ("io", disk)) if is_wanted]
        passed_on = (root / "cgroup.subtree_control").read_text(encoding="ascii").split()
        for name in wanted:
            if name not in passed_on:
                raise OSError(
                    f"the controller {name} is not enabled in {root}. As root: echo +{name} > "
                    f"{root}/cgroup.subtree_control"
                )
        places = [Hierarchy(root=root, controllers=tuple(wanted), version=2)]
    else:
        wanted = [name for name, is_wanted in (("cpu", cap), ("blkio", disk)) if is_wanted]
        places = [Hierarchy(root=root / name, controllers=(name,), version=1) for name in wanted]
    for each in places:
        if not each.root.is_dir():
            raise OSError(
                f"there is no control group {each.root}. Mount it, or leave out the limit."
            )
        _try(each.root)
    return tuple(places)


def make(
    places: Sequence[Hierarchy],
    name: str,
    hosts: Sequence[str],
    *,
    cap: float | None,
    disk: float | None,
    device: str,
) -> None:
    """Make the groups of a testbed with limits; after an OSError `remove` removes those made."""
    for place in places:
        top = place.root / f"{PREFIX}{name}"
        top.mkdir()
        if place.version == 2:
            controllers = " ".join(f"+{controller}" for controller in place.controllers)
            (top / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
        for file, text in place.weight(len(hosts)).items():
            (top / file).write_text(text, encoding="ascii")
        (top / KEEPER).mkdir()
        for host in hosts:
            (top / host).mkdir()
            for file, text in place.limits(cap=cap, disk=disk, device=device).items():
                (top / host / file).write_text(text, encoding="ascii")


def join(tops: Sequence[Path], group: str) -> None:
    """Put this process into a group of each hierarchy."""
    for top in tops:
        (top / group / "cgroup.procs").write_text("0", encoding="ascii")


def remove(tops: Sequence[Path], *, patience: float = 1.0) -> None:
    """Remove the groups of a testbed, waiting so long [s] for the last process to leave."""
    until = time.monotonic() + patience
    while any(not _is_removed(top) for top in tops) and time.monotonic() < until:
        time.sleep(0.01)


def remove_leftovers(root: Path = ROOT) -> None:
    """Remove the groups of testbeds that were killed."""
    with suppress(OSError):  # another testbed may be doing the same
        for top in _tops(root):
            age = time.time() - top.stat().st_ctime
            if age > MOST_TO_BE_MADE and not _processes(top / KEEPER):
                _is_removed(top)


def _tops(root: Path) -> Iterator[Path]:
    """Groups of all testbeds, in every hierarchy."""
    for place in (root, root / "cpu", root / "blkio"):
        yield from place.glob(f"{PREFIX}*")


def _processes(group: Path) -> str:
    """Processes in a group, as text; nothing where there is no group."""
    try:
        return (group / "cgroup.procs").read_text(encoding="ascii")
    except FileNotFoundError:
        return ""


def _is_removed(top: Path) -> bool:
    """Remove a group and those below it; return whether it is gone."""
    for group in (*top.glob("*/"), top):
        with suppress(OSError):  # it is busy: the caller tries again
            group.rmdir()
    return not top.exists()


def _try(root: Path) -> None:
    trial = root / f"{PREFIX}trial_{time.monotonic_ns()}"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        raise OSError(f"no control group can be created in {root}: {error.strerror}.") from error
