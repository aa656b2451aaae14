"""What a testbed needs of the system, each thing checked before anything is made."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from parcast.run.testbed.cgroups import hierarchies
from parcast.run.testbed.disks import disk_of

TOOLS: Final = {  # what is called, and the package it is in
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
LONGEST_TRIAL: Final = 20.0  # [s]
# A switch with one link, made in a namespace that is gone at once.
_SWITCH: Final = "ip link add br0 type bridge && ip link add v type veth peer name w && "
_LIMIT: Final = "tc qdisc add dev lo root handle 1: tbf rate 1mbit burst 32kb latency 1s"
_DELAY: Final = "tc qdisc add dev lo root handle 1: netem delay 50us"


def obstacle(
    *, cap: bool = True, disk: bool = False, latency: bool = False, bus: bool = False
) -> str | None:
    """Reason why no testbed can be made here.

    Parameters
    ----------
    cap, disk, latency : bool
        Whether the processor, the disk and the delay of packets are to be limited.
    bus : bool
        Whether the hosts share one medium.

    Returns
    -------
    str or None
        What is missing and what to do; None if nothing is.
    """
    if not sys.platform.startswith("linux"):
        return f"it needs Linux, and this is {sys.platform}. Run it in a virtual machine."
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            return f"it needs {tool}. Install {package}, or add /usr/sbin to PATH."
    return (
        _missing_in_kernel(latency=latency, bus=bus)
        or _missing_groups(cap=cap, disk=disk)
        or (_missing_disk() if disk else None)
    )


def _missing_in_kernel(*, latency: bool, bus: bool) -> str | None:
    """Reason why no namespace, or nothing in it, can be made."""
    own = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork"]
    if os.geteuid() != 0:
        own.append("--map-root-user")
    said = _refusal([*own, "true"])
    if said is not None:
        who = "Run it as root" if os.geteuid() != 0 else "Allow it: containers need CAP_SYS_ADMIN"
        return f"this system allows no private network ({said}). {who}, or use a virtual machine."
    said = _refusal([*own, "sh", "-c", ("" if bus else _SWITCH) + _LIMIT])
    if said is not None:
        return (
            f"this kernel makes no limited network ({said}). "
            "Load its modules as root: modprobe -a bridge veth sch_tbf"
        )
    said = _refusal([*own, "sh", "-c", _DELAY]) if latency else None
    if said is not None:
        return (
            f"this kernel delays no packets ({said}). "
            "Leave out the latency, or load its module as root: modprobe sch_netem"
        )
    return None


def _missing_groups(*, cap: bool, disk: bool) -> str | None:
    """Reason why no control group can be made."""
    try:
        hierarchies(cap=cap, disk=disk)
    except OSError as error:
        what = {(True, False): "cpu=None", (False, True): "disk=None"}
        without = what.get((cap, disk), "cpu=None and disk=None")
        return f"{error} Or run it as root, or with {without}, which limits nothing."
    return None


def _missing_disk() -> str | None:
    """Reason why the disk of the working directory cannot be limited."""
    here = Path.cwd()
    if disk_of(here) is None:
        return f"{here} is on no disk that can be limited. Change to a directory on a disk."
    return None


def _refusal(command: list[str]) -> str | None:
    """What a command says when it fails; None where it does not."""
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LONGEST_TRIAL
        )
    except subprocess.TimeoutExpired:
        return "it does not answer"
    if ended.returncode == 0:
        return None
    return (ended.stderr.strip().splitlines() or ["it fails"])[-1].rstrip(".")
