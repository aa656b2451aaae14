"""The cluster in a box: its refusals everywhere, the real thing where the system allows it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from parcast.errors import ParameterError, RunFailed, spelled
from parcast.testbed import cgroups, network
from parcast.testbed import testbed as requirements
from parcast.testbed.cgroups import Hierarchy, hierarchies
from parcast.testbed.keeper import KeeperTask
from parcast.testbed.network import disk_of
from parcast.testbed.testbed import StartedKeeper, Testbed, _is_in_foreground, obstacle

OBSTACLE = Testbed(hosts=2).obstacle()
real = pytest.mark.skipif(OBSTACLE is not None, reason=f"no testbed can be made: {OBSTACLE}")
DISK_OBSTACLE = OBSTACLE or obstacle(disk=True)
LIMIT = 60.0
TWO = Testbed(hosts=2)


def groups_left():
    """Control groups of testbeds of this process."""
    name = f"{cgroups.PREFIX}{os.getpid()}_*"
    return [*cgroups.ROOT.glob(name), *cgroups.ROOT.glob(f"*/{name}")]


# what is refused


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"hosts": 0}, "hosts must be a whole number from 1 to 16, got 0."),
        ({"hosts": 2.0}, "hosts must be a whole number from 1 to 16, got 2."),
        ({"link": 0.0}, "link must be a rate of at least 1 kB/s, got 0. Give it in B/s."),
        ({"link": float("nan")}, "link must be a rate of at least 1 kB/s, got nan."),
        ({"disk": -1.0}, "disk must be a rate of at least 1 kB/s, got -1."),
        ({"latency": 2.0}, "latency must lie from 0 to 1 s, got 2."),
        ({"cpu": 0.9}, "cpu must lie from 0.1% to 50%, so that 4 hosts fit on 2 cores, got 90%."),
        ({"cpu": 0.0}, "cpu must lie from 0.1% to 50%"),
    ],
)
def test_a_testbed_outside_its_domain_is_refused(monkeypatch, bad, says):
    monkeypatch.setattr("parcast.testbed.testbed.available_cores", lambda: (0, 1))
    with pytest.raises(ParameterError) as caught:
        Testbed(**({"hosts": 4} | bad))
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(("hosts", "cores", "cap"), [(4, 2, 0.1), (16, 1, 0.05), (2, 64, 0.1)])
def test_the_caps_that_are_chosen_fit_on_the_cores(monkeypatch, hosts, cores, cap):
    monkeypatch.setattr("parcast.testbed.testbed.available_cores", lambda: range(cores))
    testbed = Testbed(hosts=hosts)
    assert testbed.cap == pytest.approx(cap)
    assert testbed.cap * hosts <= 0.8 * cores
    assert Testbed(hosts=hosts, cpu=0.02).cap == 0.02
    assert Testbed(hosts=hosts, cpu=None).cap is None


def test_programs_are_told_where_they_run():
    told = json.loads(Testbed(hosts=2, bus=True, cpu=0.1).environment()["PARCAST_TESTBED"])
    assert told == {
        "hosts": 2,
        "link_B_per_s": 12.5e6,
        "network": "bus",
        "latency_s": 0.0,
        "cpu": 0.1,
        "disk_B_per_s": None,
    }


@pytest.mark.parametrize("command", [[], ["no-such-program-anywhere"]])
def test_a_command_that_is_not_there_is_refused(command):
    with pytest.raises(ParameterError, match="COMMAND must be an installed program, got no"):
        TWO.run(command, time_limit=LIMIT)


def test_where_nothing_can_be_made_the_reason_is_told(monkeypatch):
    monkeypatch.setattr(
        "parcast.testbed.testbed.obstacle", lambda **_: "it needs tc. Install iproute2."
    )
    with pytest.raises(RunFailed) as caught:
        TWO.run(["true"], time_limit=LIMIT)
    assert str(caught.value) == (
        "A testbed cannot be created here: it needs tc. Install iproute2."
    )
    assert not groups_left()


# what a testbed needs


def refusing(monkeypatch, *words):
    """Let every trial fail whose command has one of these words."""
    monkeypatch.setattr(requirements.sys, "platform", "linux")
    monkeypatch.setattr(requirements.shutil, "which", lambda tool: f"/usr/sbin/{tool}")

    def refusal(command):
        return "not permitted" if any(word in " ".join(command) for word in words) else None

    monkeypatch.setattr(requirements, "_refusal", refusal)


@pytest.mark.parametrize(("tool", "owner"), requirements.TOOLS.items())
def test_a_missing_tool_is_named_with_its_package(monkeypatch, tool, owner):
    monkeypatch.setattr(requirements.sys, "platform", "linux")
    monkeypatch.setattr(
        requirements.shutil, "which", lambda name: None if name == tool else f"/bin/{name}"
    )
    said = obstacle()
    assert said == f"it needs {tool}. Install {owner}, or add /usr/sbin to PATH."


@pytest.mark.parametrize(("user", "says"), [(0, "CAP_SYS_ADMIN"), (1000, "Run it as root")])
def test_a_system_without_private_networks_is_refused(monkeypatch, user, says):
    refusing(monkeypatch, "true")
    monkeypatch.setattr(requirements.os, "geteuid", lambda: user)
    said = obstacle()
    assert said.startswith("this system does not allow private networks (not permitted).")
    assert says in said


def test_a_kernel_without_links_or_delays_is_refused(monkeypatch):
    refusing(monkeypatch, "tbf")
    assert "modprobe -a bridge veth sch_tbf" in obstacle()
    refusing(monkeypatch, "netem")
    assert "modprobe sch_netem" in spelled(obstacle(latency=True))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"cap": True}, "without this limit: cpu=None."),
        ({"cap": False, "disk": True}, "without this limit: disk=None."),
        ({"cap": True, "disk": True}, "without this limit: cpu=None and disk=None."),
    ],
)
def test_a_system_without_control_groups_is_refused(monkeypatch, tmp_path, asked, says):
    refusing(monkeypatch)
    monkeypatch.setattr(
        requirements, "hierarchies", lambda **limits: hierarchies(**limits, root=tmp_path)
    )
    said = spelled(obstacle(**asked))
    assert said.startswith("there is no control group")
    assert says in said


def test_a_directory_on_no_disk_is_refused(monkeypatch):
    refusing(monkeypatch)
    monkeypatch.setattr(requirements, "hierarchies", lambda **_: ())
    monkeypatch.setattr(requirements, "disk_of", lambda _: None)
    assert "is not on a disk that can be limited. Change to a directory on a disk." in obstacle(
        disk=True
    )
    monkeypatch.setattr(requirements, "disk_of", lambda _: "8:0")
    assert obstacle(disk=True) is None


# control groups


def test_limits_of_version_1_are_those_of_each_hierarchy(tmp_path):
    for name in ("cpu", "blkio"):
        (tmp_path / name).mkdir()
    cpu, blkio = hierarchies(cap=True, disk=True, root=tmp_path)
    both = {"cap": 0.05, "disk": 1e6, "device": "254:0"}
    assert cpu.limits(**both) == {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "1000"}
    assert blkio.limits(**both) == {
        "blkio.throttle.read_bps_device": "254:0 1000000",
        "blkio.throttle.write_bps_device": "254:0 1000000",
    }
    assert blkio.weight(2) == {}
    assert hierarchies(cap=False, disk=False, root=tmp_path) == ()


def test_a_hierarchy_that_cannot_be_written_is_refused(monkeypatch, tmp_path):
    (tmp_path / "cpu").mkdir()

    def refused(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(
        OSError, match=r"no control group can be created in .*cpu: Permission denied\."
    ):
        hierarchies(cap=True, disk=False, root=tmp_path)


@pytest.mark.fault(
    "Ranks and processes",
    "A testbed was killed and left control groups.",
    promise="The next testbed removes them, and no others.",
)
def test_groups_of_a_killed_testbed_are_removed_and_no_others(monkeypatch, tmp_path):
    (tmp_path / "cpu").mkdir()
    for name in ("dead", "alive"):
        top = tmp_path / "cpu" / f"{cgroups.PREFIX}{name}"
        (top / "keeper").mkdir(parents=True)
        (top / "10.9.0.1").mkdir()
    (top / "keeper" / "cgroup.procs").write_text("4711\n")
    cgroups.remove_leftovers(tmp_path)  # too young: it may be about to start
    assert len(list((tmp_path / "cpu").iterdir())) == 2
    monkeypatch.setattr(cgroups, "MOST_TO_BE_MADE", -1.0)
    cgroups.remove_leftovers(tmp_path)
    assert [path.name for path in (tmp_path / "cpu").iterdir()] == ["parcast_testbed_alive"]


# the disk


def test_the_disk_of_a_partition_is_the_whole_disk(tmp_path):
    number = os.stat(tmp_path).st_dev
    disk = tmp_path / "disk"
    (disk / "part").mkdir(parents=True)
    (disk / "dev").write_text("8:0\n")
    (disk / "part" / "dev").write_text("8:1\n")
    devices = tmp_path / "devices"
    devices.mkdir()
    (devices / f"{os.major(number)}:{os.minor(number)}").symlink_to(disk / "part")
    assert disk_of(tmp_path, devices=devices) == "8:1"
    (disk / "part" / "partition").write_text("1\n")
    assert disk_of(tmp_path, devices=devices) == "8:0"


def test_a_file_system_of_several_disks_is_found_by_its_source(tmp_path):
    number, source = os.stat(tmp_path).st_dev, os.stat("/dev/null").st_rdev
    (tmp_path / "mounts").write_text(
        f"22 27 {os.major(number)}:{os.minor(number)} / /x rw - btrfs /dev/null rw\n"
    )
    place = tmp_path / "devices" / f"{os.major(source)}:{os.minor(source)}"
    place.mkdir(parents=True)
    (place / "dev").write_text("1:3\n")
    assert disk_of(tmp_path, devices=place.parent, mounts=tmp_path / "mounts") == "1:3"


# what the network is made of


# the real thing


@real
@pytest.mark.parametrize("bus", [False, True])
def test_a_command_runs_with_two_hosts_beside_it(bus):
    ssh = "$HYDRA_LAUNCHER_EXEC"
    script = (
        f"for host in 10.9.0.1 10.9.0.2; do {ssh} -x -o Any=no $host hostname; done; "
        f"{ssh} 10.9.0.3 hostname; echo status $?; hostname; ls /proc | grep -c ^[0-9]; exit 7"
    )
    ended = Testbed(hosts=2, bus=bus).run(["sh", "-c", script], time_limit=LIMIT)
    assert ended.status == 7
    lines = ended.stdout.splitlines()
    assert lines[:4] == ["10.9.0.1", "10.9.0.2", "status 255", network.FRONT]
    assert int(lines[4]) < 10  # processes: nothing of this machine is seen
    assert "there is no host 10.9.0.3" in ended.stderr
    assert not groups_left()


SEND = """
import os, socket, sys, time
host, size = sys.argv[1], 2_000_000
if host == "receive":
    with socket.create_server(("10.9.0.2", 5000)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        got = 0
        while got < size:
            got += len(connection.recv(65536))
        connection.sendall(b"x")
else:
    with socket.create_connection(("10.9.0.2", 5000)) as connection:
        start = time.monotonic()
        connection.sendall(bytes(size))
        connection.recv(1)
        print("rate", size / (time.monotonic() - start))
"""


@real
@pytest.mark.parametrize("bus", [False, True])
def test_a_transfer_is_no_faster_than_the_link(tmp_path, file, bus):
    program = file(SEND, "send.py")
    run = f"$HYDRA_LAUNCHER_EXEC 10.9.0.{{}} {sys.executable} {program}"
    script = (
        f"{run.format(2)} receive > {tmp_path}/out & "
        f"until grep -q listening {tmp_path}/out; do sleep 0.02; done; {run.format(1)} send; wait"
    )
    ended = Testbed(hosts=2, bus=bus, cpu=None).run(["sh", "-c", script], time_limit=LIMIT)
    assert ended.status == 0, ended.stderr
    assert float(ended.stdout.split()[1]) < 12.5e6


SPIN = """
import time
start, used = time.monotonic(), time.process_time()
while time.monotonic() < start + 0.5:
    pass
print((time.process_time() - used) / (time.monotonic() - start))
"""


@real
@pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root")
def test_a_host_gets_no_more_of_a_core_than_its_cap(tmp_path):
    (tmp_path / "spin.py").write_text(SPIN)
    script = f"$HYDRA_LAUNCHER_EXEC 10.9.0.2 {sys.executable} {tmp_path}/spin.py"
    ended = Testbed(hosts=2, cpu=0.2).run(["sh", "-c", script], time_limit=LIMIT)
    assert 0 < float(ended.stdout) < 0.3  # the kernel keeps to it on average over ticks


# 0.8 s of writing: the kernel lets what fits into the first 0.1 s through at once.
WRITE = """
import os, sys, time
with open(sys.argv[1], "wb", buffering=0) as file:
    start = time.monotonic()
    file.write(bytes(8_000_000))
    os.fsync(file.fileno())
    print(8_000_000 / (time.monotonic() - start))
"""


@pytest.mark.skipif(DISK_OBSTACLE is not None, reason=f"no disk can be limited: {DISK_OBSTACLE}")
def test_a_file_is_written_no_faster_than_the_disk():
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:  # on the disk that is limited
        (Path(place) / "write.py").write_text(WRITE)
        script = f"$HYDRA_LAUNCHER_EXEC 10.9.0.1 {sys.executable} {place}/write.py {place}/file"
        testbed = Testbed(hosts=2, cpu=None, disk=1e7)
        ended = testbed.run(["sh", "-c", script], time_limit=LIMIT)
    assert float(ended.stdout) < 1.3e7, ended.stderr


RANKS = """
from mpi4py import MPI
names = MPI.COMM_WORLD.gather(MPI.Get_processor_name())
if names:
    print(names)
"""


@real
def test_every_mpiexec_puts_one_rank_on_each_host(tmp_path):
    mpiexec = Path(sys.executable).with_name("mpiexec.hydra")
    if not mpiexec.exists():
        pytest.skip("the MPICH of the package registry is not installed")
    (tmp_path / "ranks.py").write_text(RANKS)
    command = [str(mpiexec), "-n", "2", sys.executable, "-m", "mpi4py", f"{tmp_path}/ranks.py"]
    ended = TWO.run(command, time_limit=LIMIT)
    assert ended.stdout == "['10.9.0.1', '10.9.0.2']\n", ended.stderr


@pytest.mark.fault(
    "Ranks and processes",
    "A command on the testbed does not end.",
    promise="It is killed at its time limit with everything that it started.",
)
@real
def test_a_command_without_end_is_killed_with_all_it_started():
    mark = f"60.{os.getpid()}"
    script = f"(setsid sleep {mark} &); trap '' TERM; sleep 60; sleep 60"
    with pytest.raises(RunFailed, match=r"sh on the testbed did not end within 0\.6 s and was"):
        TWO.run(["sh", "-c", script], time_limit=0.6)
    assert not groups_left()
    assert mark.encode() not in b"".join(map(arguments_of, Path("/proc").glob("[0-9]*")))


def arguments_of(process):
    """Arguments of a process, nothing if it has ended."""
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.fault(
    "Ranks and processes",
    "parcast is killed, or gets SIGTERM, while the testbed runs.",
    promise="No process and no control group is left.",
)
@real
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_parcast_is_killed(tmp_path, way):
    ask = (
        "from parcast.testbed.testbed import Testbed; import sys; "
        "Testbed(hosts=2).attend(['sh', '-c', 'echo up; sleep 3; touch ' + sys.argv[1]])"
    )
    own = [sys.executable, "-c", ask, str(tmp_path / "late")]
    with subprocess.Popen(own, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(way)
        assert process.stdout.read() == ""  # until nobody of the testbed holds it
    assert not (tmp_path / "late").exists()
    name = f"*/{cgroups.PREFIX}{process.pid}_*"
    until = time.monotonic() + 10
    while list(cgroups.ROOT.glob(name)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not list(cgroups.ROOT.glob(name))


@pytest.mark.fault(
    "Signals",
    "Ctrl-C during a command on the testbed.",
    promise="The command gets it first, and ends by itself.",
)
@real
def test_an_interrupt_lets_the_command_end_by_itself():
    ask = (
        "from parcast.testbed.testbed import Testbed\n"
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background\n"
        # a pause, so that `attend` waits already: Python sees no signal that comes just before
        "script = 'trap \"echo saved; exit 3\" INT; sleep 0.2; echo up; sleep 60 & wait'\n"
        "try: Testbed(hosts=2, cpu=None).attend(['sh', '-c', script])\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", ask], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "saved\ninterrupted\n"


@real
def test_what_the_kernel_refuses_is_told_and_nothing_is_left():
    with pytest.raises(RunFailed) as caught:
        Testbed(hosts=2, link=1e30).run(["true"], time_limit=LIMIT)
    assert str(caught.value).startswith("The testbed could not be created: tc: ")
    assert str(caught.value).endswith("Everything was removed.")
    assert not groups_left()


@real
def test_a_limit_that_is_not_accepted_is_told(monkeypatch):
    def refused(*_, **__):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(cgroups, "make", refused)
    with pytest.raises(RunFailed, match=r"a limit is not accepted: .* Invalid argument"):
        TWO.run(["true"], time_limit=LIMIT)


def test_a_keeper_that_is_killed_early_is_told(monkeypatch):
    monkeypatch.setattr("parcast.testbed.testbed.sys.executable", "/bin/true")
    plan = KeeperTask(
        hosts=("a",), link=None, latency=0, bus=True, groups=(), command=("true",), environment={}
    )
    kept = StartedKeeper.started(plan, {})
    with pytest.raises(RunFailed, match="could not be created: its keeper was killed"):
        kept.wait_until_made()
    kept.end()


@pytest.mark.parametrize(
    ("foreground", "is_told"), [(os.getpgrp(), True), (os.getpgrp() + 1, False), (None, False)]
)
def test_a_terminal_tells_those_in_its_foreground(monkeypatch, foreground, is_told):
    def group(_):
        if foreground is None:
            raise OSError(25, "Inappropriate ioctl for device")
        return foreground

    monkeypatch.setattr("parcast.testbed.testbed.os.open", lambda *_: os.dup(1))
    monkeypatch.setattr("parcast.testbed.testbed.os.tcgetpgrp", group)
    assert _is_in_foreground() is is_told


@real
def test_who_is_not_root_becomes_it_in_a_namespace():
    ask = (
        "import os; from parcast.testbed.network import become_root_of_a_namespace\n"
        "become_root_of_a_namespace(); print(os.geteuid())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=False
    )
    if "Operation not permitted" in ended.stderr or "unshare" in ended.stderr:
        pytest.skip("this system allows no namespaces of users")
    assert ended.stdout == "0\n"


def test_another_system_is_refused(monkeypatch):
    monkeypatch.setattr(requirements.sys, "platform", "darwin")
    assert obstacle() == "it needs Linux, but this is darwin. Run it in a virtual machine."


def test_version_2_is_used_where_it_passes_the_controllers_on(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    (only,) = hierarchies(cap=True, disk=False, root=tmp_path)
    assert only == Hierarchy(root=tmp_path, controllers=("cpu",), version=2)
    with pytest.raises(OSError, match=r"controller io is not enabled .* echo \+io > "):
        hierarchies(cap=True, disk=True, root=tmp_path)


def test_a_delay_stands_before_the_limit():
    delay, limit = network.limits("lo", link=1.25e6, latency=50e-6)
    assert delay == "qdisc add dev lo root handle 1: netem delay 50us limit 100000"
    assert (
        limit == "qdisc add dev lo parent 1:1 handle 2: tbf rate 10000000bit burst 3100 latency 2s"
    )
    assert network.limits("lo", link=None, latency=0) == []
