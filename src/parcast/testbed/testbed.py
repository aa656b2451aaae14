"""A testbed: virtual hosts with slow links, processors and disks, and what runs on them.

Every host has its own network, name, processor cap and disk limit; all share the files of this
machine. What runs on them are real processes that exchange real TCP, so that a speedup curve
measured there means something, without a cluster.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal, TypeVar

from parcast.errors import Argument, ParameterError, RunFailed, Text, parts, require
from parcast.mpi.find import available_cores
from parcast.mpi.launcher import Ended
from parcast.testbed import cgroups
from parcast.testbed.cgroups import hierarchies
from parcast.testbed.keeper import HOME, INTERRUPT, READY, KeeperTask, exit_status
from parcast.testbed.network import addresses, disk_of
from parcast.units import shown

PATIENCE: Final = 5.0  # for COMMAND to end by itself after an interrupt [s]
LONGEST_END: Final = 10.0  # for the kernel to take a testbed away [s]
MOST_HOSTS: Final = 16
LARGEST_CAP: Final = 0.1  # that is chosen: at a tenth of a core a host is as slow as links are [1]
SHARE_OF_CORES: Final = 0.8  # that the caps chosen add up to at most; the rest carries the network
SLOWEST: Final = 1000.0  # of a link [B/s]
VARIABLE: Final = "PARCAST_TESTBED"  # what every process of a testbed has

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedKeeper:
    """A keeper that was started, and the pipe that it watches."""

    process: subprocess.Popen[bytes]
    lifeline: IO[bytes]  # the keeper takes the testbed away when this is closed
    report: IO[bytes]  # where it says that COMMAND runs, or why not

    @classmethod
    def started(cls, plan: KeeperTask, streams: Mapping[str, Any]) -> "StartedKeeper":
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
        terminal = os.open("/dev/tty", os.O_RDONLY)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Testbed:
    """Virtual hosts on this machine."""

    __test__ = False  # pytest takes classes of this name for tests

    hosts: int  # 1 to 16
    link: float | None = 12.5e6  # of every host, each way; of the whole bus; None: unlimited [B/s]
    bus: bool = False  # one medium that all share, instead of a switch
    latency: float = 0.0  # added to every packet, one way [s]
    cpu: float | Literal["auto"] | None = "auto"  # of a core for each host; None: unlimited [1]
    disk: float | None = None  # reading and writing of each host; None: unlimited [B/s]

    def __post_init__(self) -> None:
        """Refuse what cannot be made anywhere."""
        is_count = isinstance(self.hosts, int) and not isinstance(self.hosts, bool)
        must, hint = f"be a whole number from 1 to {MOST_HOSTS}", "Choose a number in this range."
        require(
            "hosts", self.hosts, is_count and 1 <= self.hosts <= MOST_HOSTS, must=must, hint=hint
        )
        for name in ("link", "disk"):
            rate = getattr(self, name)
            ok = rate is None or (math.isfinite(rate) and rate >= SLOWEST)
            require(name, rate, ok, must="be a rate of at least 1 kB/s", hint="Give it in B/s.")
        ok = math.isfinite(self.latency) and 0 <= self.latency <= 1
        require("latency", self.latency, ok, must="lie from 0 to 1 s", hint="Give it in seconds.")
        if self.cpu is not None and self.cpu != "auto":
            cores = len(available_cores())
            most = min(cores / self.hosts, 1.0)
            if not 0.001 <= self.cpu <= most:
                hosts = f"{self.hosts} host{'s fit' if self.hosts > 1 else ' fits'}"
                raise ParameterError(
                    "cpu",
                    must=f"lie from 0.1% to {100 * most:.3g}%, so that {hosts} on {cores} cores",
                    got=f"{100 * self.cpu:.6g}%",
                    hint="Give a share of one core, or fewer hosts.",
                )

    @property
    def cap(self) -> float | None:
        """Processor time that a host gets, of one core; None if it is not limited. [1]."""
        if self.cpu == "auto":
            return min(LARGEST_CAP, SHARE_OF_CORES * len(available_cores()) / self.hosts)
        return self.cpu

    @property
    def contention(self) -> int:
        """Contention level that the network is made for: 0 for a switch, 1 for a bus. [1]."""
        return int(self.bus)

    def obstacle(self) -> Text | None:
        """Reason why this testbed cannot be made here, None if it can."""
        return obstacle(
            cap=self.cap is not None,
            disk=self.disk is not None,
            latency=self.latency > 0,
            bus=self.bus,
        )

    def description(self) -> dict[str, object]:
        """What PARCAST_TESTBED tells programs on the testbed, as a JSON document."""
        return {
            "hosts": self.hosts,
            "link_B_per_s": self.link,
            "network": "bus" if self.bus else "switch",
            "latency_s": self.latency,
            "cpu": self.cap,
            "disk_B_per_s": self.disk,
        }

    def environment(self) -> dict[str, str]:
        """Variables that make every mpiexec of MPICH put one rank on each host in turn.

        `parcast` and `python` are those that this is part of, even if no environment is activated.
        """
        return {
            "PATH": search_path(),
            "HYDRA_HOST_FILE": str(HOME / "hosts"),
            "HYDRA_LAUNCHER": "ssh",
            "HYDRA_LAUNCHER_EXEC": str(HOME / "ssh"),
            "HYDRA_LAUNCHER_AUTOFORK": "0",
            "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
            "MPIR_CVAR_NOLOCAL": "1",
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "PARCAST_PLACEMENT": "free",
            "PARCAST_TESTBED": json.dumps(self.description()),
        }

    def run(
        self,
        command: Sequence[str],
        *,
        time_limit: float,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a command on the testbed, keep what it prints, and wait for its end.

        It runs beside the hosts; what it starts with mpiexec runs on them. It may end with any
        status; RunFailed says that the testbed cannot be made here, or that it was killed after
        `time_limit` [s].
        """
        require("time_limit", time_limit, time_limit > 0, must="be above 0", hint="In seconds.")
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        start = time.monotonic()

        def collected(process: subprocess.Popen[bytes]) -> Ended:
            """Wait for the end, and keep what was printed."""
            try:
                out, err = process.communicate(timeout=time_limit)
            except subprocess.TimeoutExpired:
                raise RunFailed(
                    f"{shown(command[0])} on the testbed did not end within {time_limit:g} s and "
                    "was killed. Give it more time."
                ) from None
            return Ended(
                status=exit_status(process.returncode),
                stdout=out.decode(errors="replace"),
                stderr=err.decode(errors="replace"),
                seconds=time.monotonic() - start,
            )

        return self._keep(command, environment or {}, pipes, collected)

    def attend(self, command: Sequence[str]) -> int:
        """Run a command, such as a shell, with the streams of this process; give its status."""
        return self._keep(command, {}, {}, lambda process: exit_status(process.wait()))

    def require_means(self, command: Sequence[str]) -> None:
        """Refuse a command that is not there, and a testbed that cannot be made here."""
        if not command or shutil.which(command[0], path=search_path()) is None:
            name = shown(command[0]) if command else "nothing"
            hint = "Check its name and PATH."
            raise ParameterError("COMMAND", must="be an installed program", got=name, hint=hint)
        reason = self.obstacle()
        if reason is not None:
            raise RunFailed(("A testbed cannot be created here: ", *parts(reason)))

    def _keep(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        streams: Mapping[str, int],
        wait: Callable[[subprocess.Popen[bytes]], Result],
    ) -> Result:
        """Start the keeper of this testbed, wait for COMMAND, and take everything away at the end.

        Not a context manager: an interrupt between its `__enter__` and the body would take the
        testbed away without letting COMMAND end by itself.
        """
        self.require_means(command)
        cgroups.remove_leftovers()
        places = cgroups.hierarchies(cap=self.cap is not None, disk=self.disk is not None)
        name = f"{os.getpid()}_{time.monotonic_ns()}"
        tops = tuple(place.root / f"{cgroups.PREFIX}{name}" for place in places)
        plan = KeeperTask(
            hosts=addresses(self.hosts),
            link=self.link,
            latency=self.latency,
            bus=self.bus,
            groups=tuple(map(str, tops)),
            command=tuple(command),
            environment=self.environment() | dict(environment),
        )
        kept = None
        try:
            device = (disk_of(Path.cwd()) or "") if self.disk is not None else ""
            try:
                cgroups.make(places, name, plan.hosts, cap=self.cap, disk=self.disk, device=device)
            except OSError as error:
                raise RunFailed(
                    f"A testbed cannot be created here: a limit is not accepted: {error}."
                ) from error
            kept = StartedKeeper.started(plan, streams)
            kept.wait_until_made()
            return wait(kept.process)
        except KeyboardInterrupt:
            if kept is not None:
                kept.interrupt()
            raise
        finally:
            if kept is not None:
                kept.end()
            cgroups.remove(tops)


def search_path() -> str:
    """Folders that commands are looked up in: that of this Python first."""
    folder = os.path.dirname(os.path.abspath(sys.executable))
    return os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])


def testbed_here() -> Testbed | None:
    """Testbed that this process runs on; None where it runs on none that can be read."""
    with suppress(ValueError, TypeError, KeyError, ParameterError):
        facts = json.loads(os.environ[VARIABLE])
        return Testbed(
            hosts=facts["hosts"],
            link=facts["link_B_per_s"],
            bus=facts["network"] == "bus",
            latency=facts["latency_s"],
            cpu=facts["cpu"],
            disk=facts["disk_B_per_s"],
        )
    return None


def short_name(testbed: Testbed) -> str:
    """Name of a testbed, its hosts and its network: "testbed of 4 hosts on a bus, 100 Mbit/s"."""
    words = f"testbed of {testbed.hosts} host{'s' if testbed.hosts > 1 else ''} on a "
    words += "bus" if testbed.bus else "switch"
    return words if testbed.link is None else f"{words}, {in_bits(testbed.link)}"


def in_words(testbed: Testbed) -> str:
    """Say what a testbed is: its network, and the limits of its hosts."""
    words = short_name(testbed)
    if testbed.link is not None:
        words += " together" if testbed.bus else " each"
    if testbed.latency:
        words += f", {testbed.latency * 1e6:g} us more for each packet"
    if testbed.cap is not None:
        words += f", {100 * testbed.cap:.3g}% of a core each"
    if testbed.disk is not None:
        words += f", {testbed.disk / 1e6:g} MB/s of disk each"
    return f"{words}."


def in_bits(rate: float) -> str:
    """Text for a rate of a link, in bits as its name has them."""
    bits = 8 * rate
    prefix, factor = next(pair for pair in (("G", 1e9), ("M", 1e6), ("k", 1e3)) if bits >= pair[1])
    return f"{bits / factor:g} {prefix}bit/s"
