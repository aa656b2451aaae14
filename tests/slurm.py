"""A Slurm of one node on this machine, from the packages of Debian: started for tests, and ended.

It needs root, as its daemons do where no user is made for them.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "srun")
PACKAGES = "slurmctld slurmd slurm-client munge"
DAEMONS = ("slurmd", "slurmctld", "munged")
MEMORY = 2000  # of the node [MiB]
PATIENCE = 30.0  # with its start and its end [s]
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,batch_sched_delay=0,defer_batch
ReturnToService=2
KillWait=2
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=60 State=UP
"""


def what_is_missing():
    """Say why no Slurm can be started here; "" if one can."""
    if os.name != "posix" or os.getuid():
        return "a Slurm for tests needs root"
    missing = [x for x in PROGRAMS if shutil.which(x) is None]
    return f"no {missing[0]}: apt-get install {PACKAGES}" if missing else ""


class Slurm:
    """Its folder, and the environment by which its programs find it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm."))  # short, for the name of a socket
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """End its jobs, then its daemons, and what a job has left."""
        with suppress(OSError, subprocess.TimeoutExpired):  # where it did not start
            self._run("scancel", "--user", "root")
            _wait(lambda: not self._run("squeue", "--noheader"))
        for name in DAEMONS:
            with suppress(OSError, ValueError):
                os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGTERM)
        _wait(lambda: not any((self.folder / f"{x}.pid").exists() for x in DAEMONS[:2]))
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self.folder in (place := (process / "cwd").resolve(), *place.parents):
                    os.kill(int(process.name), signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                folder=self.folder,
                ports=_free_ports(2),
                cores=os.cpu_count(),
                memory=MEMORY,
            )
        )
        places = {"key-file": key.name, "socket": "munge.socket", "pid-file": "munged.pid"}
        places |= {"log-file": "munged.log", "seed-file": "munge.seed"}
        self._run("munged", "--force", *(f"--{x}={self.folder / y}" for x, y in places.items()))
        self._run("slurmctld")
        self._run("slurmd")
        is_there = _wait(lambda: "idle" in self._run("sinfo", "-h", "-o", "%t"))
        assert is_there, (self.folder / "slurmctld.log").read_text()[-2000:]

    def _run(self, *command):
        environment = {**os.environ, **self.environment}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=60, check=False
        )
        return done.stdout


def _wait(holds):
    """Wait until something holds, and say whether it does."""
    until = time.monotonic() + PATIENCE
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(0.05)
    return bool(found)


def _free_ports(count):
    """Find ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
