"""The process that keeps a testbed: makes its network, runs COMMAND in it, and takes it all away.

`parcast.testbed.testbed` starts it as ``python -m parcast.testbed.keeper PLAN``. It goes into
namespaces of its own, where it is process 1: when it ends, for whatever reason, the kernel kills
every process of the testbed and forgets its network and its mounts. It ends when COMMAND does, or
when the pipe from parcast is closed, as it is when parcast is killed. Nothing is written to a
disk: files of the testbed lie in a private /dev/shm.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NoReturn

from parcast.testbed import network as namespaces
from parcast.testbed.cgroups import KEEPER, join, remove
from parcast.testbed.network import FRONT, bus_lines, host_lines, limits, switch_lines

SHARED_MEMORY: Final = "/dev/shm"
HOME: Final = Path(SHARED_MEMORY) / "parcast"
READY: Final = b"ready"
INTERRUPT: Final = b"i"
GRACE: Final = 1.0  # for COMMAND to end by itself when the testbed is taken away [s]
IGNORED: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


@dataclass(frozen=True, kw_only=True, slots=True)
class KeeperTask:
    """What the keeper is to make and to run."""

    hosts: tuple[str, ...]
    link: float | None  # [B/s]
    latency: float  # [s]
    bus: bool
    groups: tuple[str, ...]  # the testbed's own control groups, which are made already
    command: tuple[str, ...]
    environment: dict[str, str]

    def to_text(self) -> str:
        """Text for the command line of the keeper."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "KeeperTask":
        """Read what `to_text` wrote."""
        document = json.loads(text)
        for name in ("hosts", "groups", "command"):
            document[name] = tuple(document[name])
        return cls(**document)


def main(arguments: Sequence[str]) -> NoReturn:
    """Keep a testbed: PLAN, the descriptor to watch and the one to report on."""
    plan, watched, report = (
        KeeperTask.from_text(arguments[0]),
        int(arguments[1]),
        int(arguments[2]),
    )
    for name in IGNORED:
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    for descriptor in (watched, report):
        os.set_inheritable(descriptor, False)
    try:
        if os.geteuid() != 0:
            namespaces.become_root_of_a_namespace()
        namespaces.unshare(
            namespaces.NEW_NETWORK
            | namespaces.NEW_MOUNTS
            | namespaces.NEW_NAME
            | namespaces.NEW_PROCESSES
        )
    except OSError as error:
        _give_up(report, error)
    child = os.fork()
    if child == 0:
        _keep(plan, watched, report)
    os.close(report)
    _, status = os.waitpid(child, 0)
    sys.exit(exit_status(os.waitstatus_to_exitcode(status)))


def _keep(plan: KeeperTask, watched: int, report: int) -> NoReturn:
    """Be process 1 of the testbed."""
    try:
        join([Path(group) for group in plan.groups], KEEPER)
        _mount()
        _connect(plan)
        command = _start(plan)
    except (OSError, subprocess.CalledProcessError) as error:
        _take_away(plan)
        _give_up(report, error)
    os.write(report, READY)
    os.close(report)
    status = _wait(command, watched)
    _take_away(plan)
    sys.exit(status)


def _mount() -> None:
    """Hide the mounts of the testbed from everybody else, and other processes from the testbed."""
    namespaces.mount("none", "/", flags=namespaces.PRIVATE | namespaces.RECURSIVE)
    namespaces.mount("proc", "/proc", "proc")
    namespaces.mount("parcast", SHARED_MEMORY, "tmpfs")
    for place in (HOME, HOME / "networks", HOME / "names"):
        place.mkdir()


def _connect(plan: KeeperTask) -> None:
    switch = HOME / "switch"
    _pin("net", switch)
    _pin("uts", HOME / "names" / FRONT, FRONT)
    for host in plan.hosts:
        namespaces.unshare(namespaces.NEW_NAME)
        _pin("uts", HOME / "names" / host, host)
        if not plan.bus:
            namespaces.unshare(namespaces.NEW_NETWORK)
        _pin("net", HOME / "networks" / host)
    namespaces.enter(switch)
    namespaces.enter(HOME / "names" / FRONT)
    if plan.bus:
        _configure("ip", bus_lines(plan.hosts))
        _configure("tc", limits("lo", link=plan.link, latency=plan.latency))
    else:
        places = [str(HOME / "networks" / host) for host in plan.hosts]
        _configure("ip", switch_lines(plan.hosts, places))
        ports = [f"port{number}" for number in range(1, len(places) + 1)]
        _configure(
            "tc", [line for port in ports for line in limits(port, link=plan.link, latency=0)]
        )
        for host, place in zip(plan.hosts, places, strict=True):
            namespaces.enter(Path(place))
            _configure("ip", host_lines(host))
            _configure("tc", limits("eth0", link=plan.link, latency=plan.latency))
        namespaces.enter(switch)
    (HOME / "hosts").write_text("".join(f"{host}:1\n" for host in plan.hosts), encoding="ascii")
    groups = "".join(f"{group}\n" for group in plan.groups)
    (HOME / "groups").write_text(groups, encoding="utf-8")
    stand_in = HOME / "ssh"
    stand_in.write_bytes(Path(__file__).with_name("stand_in.sh").read_bytes())
    stand_in.chmod(0o755)


def _pin(kind: str, place: Path, name: str = "") -> None:
    """Keep the namespace that this process is in, and call it so."""
    if name:
        socket.sethostname(name)
    place.touch()
    namespaces.mount(f"/proc/self/ns/{kind}", str(place), flags=namespaces.BIND)


def _configure(tool: str, lines: Sequence[str]) -> None:
    """Run `ip` or `tc` on lines of its own language."""
    if lines:
        text = "".join(f"{line}\n" for line in lines)
        subprocess.run(
            [tool, "-batch", "-"], input=text, text=True, check=True, capture_output=True
        )


def _start(plan: KeeperTask) -> int:
    process = os.fork()
    if process == 0:
        for name in (*IGNORED, "SIGPIPE"):
            signal.signal(signal.Signals[name], signal.SIG_DFL)
        with suppress(OSError):
            os.execvpe(plan.command[0], plan.command, os.environ | plan.environment)
        os._exit(127)
    return process


def _wait(command: int, watched: int) -> int:
    """Wait until COMMAND ends or the testbed is to be taken away; return the status."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    until = None
    while True:
        status = _reaped(command)
        if status is not None:
            return status
        left = None if until is None else max(until - time.monotonic(), 0)
        awaited = [reading] if until else [reading, watched]
        ready, _, _ = select.select(awaited, [], [], left)
        if until and not ready:
            return 128 + signal.SIGKILL
        if reading in ready:
            os.read(reading, 4096)
        if watched in ready:
            if os.read(watched, 1) == INTERRUPT:
                os.kill(command, signal.SIGINT)
            else:
                os.kill(command, signal.SIGTERM)
                until = time.monotonic() + GRACE


def _reaped(command: int) -> int | None:
    """Collect every process that has ended; return the status of COMMAND if it is among them."""
    with suppress(ChildProcessError):
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == command:
                return exit_status(os.waitstatus_to_exitcode(status))
            if process == 0:
                break
    return None


def _take_away(plan: KeeperTask) -> None:
    """End every process of the testbed but this one, and remove its groups."""
    with suppress(ProcessLookupError):  # there is none
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    tops = [Path(group) for group in plan.groups]
    with suppress(OSError):  # parcast, or the next testbed, removes what is left
        join([top.parent for top in tops], ".")
        remove(tops)


def _give_up(report: int, error: Exception) -> NoReturn:
    """Report why the testbed cannot be made."""
    if isinstance(error, subprocess.CalledProcessError):
        reason = f"{error.cmd[0]}: {error.stderr.strip()}"
    else:
        reason = str(error)
    os.write(report, reason.encode()[:4096])
    sys.exit(1)


def exit_status(code: int) -> int:
    """Status as a shell gives it, of what `subprocess` calls the return code."""
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    main(sys.argv[1:])
