"""The other end of a keeper: starts it, ends it, and checks what it needs of the system."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from parcast.errors import Argument, RunFailed, Text
from parcast.testbed.cgroups import hierarchies
from parcast.testbed.keeper import INTERRUPT, READY, Plan
from parcast.testbed.network import disk_of

PATIENCE: Final = 5.0  # for COMMAND to end by itself after an interrupt [s]
LONGEST_END: Final = 10.0  # for the kernel to take a testbed away [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A keeper that was started, and the pipe that it watches."""

    process: subprocess.Popen[bytes]
    lifeline: IO[bytes]  # the keeper takes the testbed away when this is closed
    report: IO[bytes]  # where it says that COMMAND runs, or why not

    @classmethod
    def started(cls, plan: Plan, streams: Mapping[str, Any]) -> "Kept":
        """Start a keeper, with the streams of COMMAND as `subprocess.Popen` takes them."""
        watched, writing = os.pipe()
        reading, report = os.pipe()
        keeper = [sys.executable, "-m", "parcast.testbed.keeper"]
        try:
            process = subprocess.Popen(
                [*keeper, plan.to_text(), str(watched), str(report)],
                pass_fds=(watched, report),
                **streams,
            )
        except OSError:
            os.close(writing)
            os.close(reading)
            raise
        finally:
            os.close(watched)
            os.close(report)
        lifeline, answer = open(writing, "wb", buffering=0), open(reading, "rb")  # noqa: SIM115 - closed by `end`
        return cls(process=process, lifeline=lifeline, report=answer)

    def wait_until_made(self) -> None:
        """Wait until COMMAND runs; RunFailed says why the testbed could not be made."""
        answer = self.report.read()
        if answer != READY:
            why = answer.decode(errors="replace").strip().rstrip(".") or "its keeper was killed"
            raise RunFailed(f"The testbed could not be created: {why}. Everything was removed.")

    def interrupt(self) -> None:
        """Let COMMAND end by itself after an interrupt, for as long as `PATIENCE`."""
        with suppress(subprocess.TimeoutExpired, OSError):
            if not _is_in_foreground():  # else the terminal has told COMMAND already
                self.lifeline.write(INTERRUPT)
            self.process.wait(timeout=PATIENCE)

    def end(self) -> None:
        """Have everything taken away, and wait for it."""
        self.lifeline.close()
        self.report.close()
        try:
            self.process.wait(timeout=LONGEST_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _is_in_foreground() -> bool:
    """Whether an interrupt from a terminal goes to this process and those it started."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


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
) -> Text | None:
    """Reason why no testbed with such limits can be made here, and what to do; None if one can."""
    if not sys.platform.startswith("linux"):
        return f"it needs Linux, but this is {sys.platform}. Run it in a virtual machine."
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            return f"it needs {tool}. Install {package}, or add /usr/sbin to PATH."
    return (
        _missing_in_kernel(latency=latency, bus=bus)
        or _missing_groups(cap=cap, disk=disk)
        or (_missing_disk() if disk else None)
    )


def _missing_in_kernel(*, latency: bool, bus: bool) -> Text | None:
    """Reason why no namespace, or nothing in it, can be made."""
    own = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork"]
    if os.geteuid() != 0:
        own.append("--map-root-user")
    answer = _refusal([*own, "true"])
    if answer is not None:
        who = "Run it as root" if os.geteuid() != 0 else "Allow it: containers need CAP_SYS_ADMIN"
        return (
            f"this system does not allow private networks ({answer}). {who}, or use a virtual "
            "machine."
        )
    answer = _refusal([*own, "sh", "-c", ("" if bus else _SWITCH) + _LIMIT])
    if answer is not None:
        return (
            f"this kernel does not support limited networks ({answer}). Load its modules as "
            "root: modprobe -a bridge veth sch_tbf"
        )
    answer = _refusal([*own, "sh", "-c", _DELAY]) if latency else None
    if answer is not None:
        return (
            f"this kernel does not support delays ({answer}). Leave out ",
            Argument("latency", python="the latency"),
            ", or load its module as root: modprobe sch_netem",
        )
    return None


def _missing_groups(*, cap: bool, disk: bool) -> Text | None:
    """Reason why no control group can be made."""
    try:
        hierarchies(cap=cap, disk=disk)
    except OSError as error:
        cpu, storage = (Argument(x, "none", python=f"{x}=None") for x in ("cpu", "disk"))
        both = (cpu, " and ", storage)
        without = {(True, False): (cpu,), (False, True): (storage,)}.get((cap, disk), both)
        return (f"{error} Or run it as root, or without this limit: ", *without, ".")
    return None


def _missing_disk() -> str | None:
    """Reason why the disk of the working directory cannot be limited."""
    here = Path.cwd()
    if disk_of(here) is None:
        return f"{here} is not on a disk that can be limited. Change to a directory on a disk."
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
