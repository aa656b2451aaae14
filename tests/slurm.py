"""A Slurm of two nodes on this machine, from the packages of Debian: started for tests, and ended.

It needs root, as its daemons do where no user is made for them. Where slurmdbd and MariaDB are
there, it accounts for jobs, so that sacct answers.
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
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db", "sacct", "sacctmgr")
PACKAGES_OF_ACCOUNTING = "slurmdbd mariadb-server"
NODES = ("node1", "node2")
DAEMONS = (*(f"slurmd.{x}" for x in NODES), "slurmctld", "slurmdbd", "munged", "mariadbd")
MEMORY = 2000  # of a node [MiB]
PATIENCE = 30.0  # with its start and its end [s]
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldPort={ports[0]}
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
NodeName=DEFAULT CPUs={cores} RealMemory={memory}
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]}
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]}
PartitionName=test Nodes=node1,node2 Default=YES MaxTime=60 State=UP
"""
WITHOUT_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
WITH_ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports[3]}
AccountingStoragePass={folder}/munge.socket
"""
ACCOUNT = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={ports[3]}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports[4]}
StorageUser=slurm
StoragePass=test
StorageLoc=slurm
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
"""
TABLES = """\
CREATE DATABASE slurm;
CREATE USER 'slurm'@'localhost' IDENTIFIED BY 'test';
GRANT ALL ON slurm.* TO 'slurm'@'localhost';
"""


def what_is_missing():
    """Say why no Slurm can be started here; "" if one can."""
    if os.name != "posix" or os.getuid():
        return "a Slurm for tests needs root"
    missing = [x for x in PROGRAMS if shutil.which(x) is None]
    return f"no {missing[0]}: apt-get install {PACKAGES}" if missing else ""


def why_no_accounting():
    """Say why a Slurm that is started here keeps no account; "" if it does."""
    missing = [x for x in ACCOUNTING if shutil.which(x) is None]
    return f"no {missing[0]}: apt-get install {PACKAGES_OF_ACCOUNTING}" if missing else ""


class Slurm:
    """Its folder, and the environment by which its programs find it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm."))  # short, for the name of a socket
        self.database = None
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
        _wait(lambda: not any((self.folder / f"{x}.pid").exists() for x in DAEMONS))
        if self.database is not None:
            self.database.wait(PATIENCE)
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self.folder in (place := (process / "cwd").resolve(), *place.parents):
                    os.kill(int(process.name), signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self):
        (self.folder / "state").mkdir()
        ports = _free_ports(5)
        has_account = not why_no_accounting()
        account = WITH_ACCOUNTING if has_account else WITHOUT_ACCOUNTING
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        (self.folder / "slurm.conf").write_text(
            (CONFIGURATION + account).format(
                host=socket.gethostname().partition(".")[0],
                folder=self.folder,
                ports=ports,
                cores=os.cpu_count(),
                memory=MEMORY,
            )
        )
        places = {"key-file": key.name, "socket": "munge.socket", "pid-file": "munged.pid"}
        places |= {"log-file": "munged.log", "seed-file": "munge.seed"}
        self._run("munged", "--force", *(f"--{x}={self.folder / y}" for x, y in places.items()))
        if has_account:
            self._keep_account(ports)
        self._run("slurmctld")
        for name in NODES:
            self._run("slurmd", "-N", name)
        is_there = _wait(lambda: self._run("sinfo", "-h", "-o", "%t %D") == "idle 2\n")
        assert is_there, (self.folder / "slurmctld.log").read_text()[-2000:]

    def _keep_account(self, ports):
        """Start a database and what writes the account of jobs to it."""
        folder = self.folder
        data = ("--no-defaults", f"--datadir={folder / 'db'}", "--user=root")
        self._run("mariadb-install-db", *data, "--skip-test-db")
        (folder / "tables.sql").write_text(TABLES)
        self.database = subprocess.Popen(
            [
                *("mariadbd", *data, f"--socket={folder / 'db.socket'}"),
                *("--bind-address=127.0.0.1", f"--port={ports[4]}"),
                *(f"--pid-file={folder / 'mariadbd.pid'}", f"--log-error={folder / 'db.log'}"),
                *(f"--init-file={folder / 'tables.sql'}", "--innodb-buffer-pool-size=32M"),
            ],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert _wait(lambda: _answers(ports[4])), (folder / "db.log").read_text()[-2000:]
        file = folder / "slurmdbd.conf"
        file.touch(mode=0o600)
        file.write_text(ACCOUNT.format(folder=folder, ports=ports))
        self._run("slurmdbd")
        assert _wait(lambda: _answers(ports[3])), (folder / "slurmdbd.log").read_text()[-2000:]
        self._run("sacctmgr", "--immediate", "add", "cluster", "test")

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


def _answers(port):
    """Whether something listens on a port."""
    with socket.socket() as each:
        return each.connect_ex(("127.0.0.1", port)) == 0


def _free_ports(count):
    """Find ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
