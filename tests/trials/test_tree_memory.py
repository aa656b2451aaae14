"""Memory of a program and of all that it starts: by a control group, and by looks at /proc."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcast.trials import control_group, tree_memory
from parcast.trials.command import runner
from parcast.trials.control_group import ControlGroup, Place, place_of, places, remove_left
from parcast.trials.process_memory import (
    Resident,
    Shares,
)
from parcast.trials.tree_memory import CGROUP, PROC, Descendants, Watch

PLACE = [sys.executable, "-S", "-c"]
THREE = """
import os, time
for _ in range(2):
    if os.fork() == 0:
        break
x = bytearray(40_000_000)
time.sleep(0.5)
"""
SHORT = "import time; x = bytearray(80_000_000); del x; time.sleep({})"
OWN = (Path("/proc/self/mountinfo"), Path("/proc/self/cgroup"))


@pytest.fixture
def place():
    """Folder in which groups are made."""
    made = ControlGroup.made()
    if made is None:
        pytest.skip("no control group may be made here")
    made.remove()
    return os.path.dirname(made.folder)


def left(folder):
    """Groups that nobody owns; other programs may have some meanwhile."""
    paths = [f"{folder}/{x}" for x in os.listdir(folder) if x.startswith(control_group.MARK)]
    found = []
    for path in paths:
        lock = control_group._locked(path)
        if lock is not None:
            found.append(path)
            os.close(lock)
    return found


@pytest.mark.parametrize(
    ("mounts", "groups", "place"),
    [
        (
            "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate",
            "0::/user.slice/app.scope",
            Place("/sys/fs/cgroup/user.slice/app.scope", 2),
        ),
        (
            "30 1 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
            "31 1 0:27 /docker/x /cg/memory rw - cgroup cgroup rw,memory",
            "5:cpu:/docker/x\n4:memory:/docker/x",
            Place("/cg/memory", 1),
        ),
        (
            "30 1 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
            "31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
            "4:memory:/a\n0::/b",
            Place("/sys/fs/cgroup/memory/a", 1),
        ),
        (
            "31 1 0:27 /docker/x /cg/memory rw - cgroup cgroup rw,memory",
            "4:memory:/docker/xy",
            Place("/cg/memory/docker/xy", 1),
        ),
        ("30 1 0:26 / / rw - ext4 /dev/sda rw", "0::/", None),
        ("", "", None),
    ],
)
def test_the_own_group_is_found_where_it_is_mounted(mounts, groups, place):
    assert place_of(mounts, groups) == place


def test_below_processes_version_2_has_no_groups_so_that_they_are_made_beside_them(tmp_path):
    own = tmp_path / "slice" / "scope"
    own.mkdir(parents=True)
    (own / "cgroup.subtree_control").write_text("\n")
    (own.parent / "cgroup.subtree_control").write_text("cpu memory\n")
    (own / "memory.max").write_text("max\n")
    assert places(Place(str(own), 2)) == [Place(str(own.parent), 2)]
    (own / "memory.max").write_text("1000000\n")
    assert places(Place(str(own), 2)) == []  # it would evade the limit


def test_a_group_of_version_2_tells_its_peak_without_files(tmp_path, monkeypatch):
    own = Place(str(tmp_path), 2)
    mkdir = os.mkdir

    def make(folder):
        mkdir(folder)
        Path(folder, "memory.current").write_text("700\n")
        Path(folder, "memory.peak").write_text("1000\n")
        Path(folder, "memory.stat").write_text("file 300\nshmem 100\nslab_reclaimable 50\n")

    monkeypatch.setattr(control_group.os, "mkdir", make)
    group = ControlGroup.made_at(own, home=str(tmp_path))
    assert group.least == 700 - 300 + 100 - 50
    assert group.peak() == 1000 - 700


@pytest.mark.parametrize("seconds", [0.0, 0.3])
@pytest.mark.usefixtures("place")
def test_a_group_knows_memory_that_nobody_has_looked_at(seconds):
    with runner() as run:
        ran = run([*PLACE, SHORT.format(seconds)])
    assert ran.memory_from == CGROUP
    assert 80e6 < ran.memory_total < 110e6


@pytest.mark.parametrize("is_grouped", [True, False])
def test_memory_of_all_is_that_of_each_and_once_what_is_shared(is_grouped):
    with runner() as run:
        ran = run([*PLACE, THREE], is_grouped=is_grouped)
    assert ran.memory_from == PROC or is_grouped
    assert 40e6 < ran.memory < 65e6
    assert 120e6 < ran.memory_total < 150e6


def test_cache_of_files_is_no_memory_of_a_program(tmp_path):
    text = f"x = open('{tmp_path / 'large'}', 'wb'); x.write(bytes(10_000_000))\n"
    text += "for _ in range(20): x.write(bytes(10_000_000))"
    with runner() as run:
        ran = run([*PLACE, text])
    assert ran.memory_total < 60e6


def test_a_total_of_which_only_the_launcher_was_seen_is_empty():
    watch = Watch(None)
    watch.largest, watch.most = 3_000_000, 3_500_000
    assert watch.total(60_000_000) == (None, "")
    watch.largest, watch.most = 58_000_000, 110_000_000
    assert watch.total(60_000_000) == (110_000_000, PROC)


def test_a_look_during_which_a_process_ended_does_not_count(monkeypatch):
    there = iter([[1, 2, 3], [1, 2], [1, 2], [1, 2]])
    monkeypatch.setattr(tree_memory, "held_by", lambda _: Resident(60, 60, 0, 0))
    monkeypatch.setattr(tree_memory, "shares_of", lambda *_: Shares(0.5, 0.5))
    watch = Watch(None)
    monkeypatch.setattr(watch.tree, "now", lambda: next(there))
    watch._look()  # 3 processes, of which 2 are left to share
    assert watch.most == 0
    watch._look()
    assert watch.most == 60


def test_memory_shared_with_forks_is_divided_among_them():
    text = "import os, time\nx = bytearray(50_000_000)\n"
    text += "for _ in range(3):\n    if os.fork() == 0: break\ntime.sleep(0.5)"
    with runner() as run:
        ran = run([*PLACE, text], is_grouped=False)
    assert 50e6 < ran.memory_total < 75e6


def test_descendants_are_found_through_those_between():
    tree = Descendants()
    before = set(tree.now())  # of other tests
    text = "import subprocess; subprocess.run(['sleep', '20'])"
    with subprocess.Popen([*PLACE, text]) as process:
        for _ in range(100):
            found = set(tree.now()) - before
            if len(found) > 1:
                break
            time.sleep(0.05)
        assert process.pid in found
        assert len(found) == 2
        for x in found:
            os.kill(x, 9)
    assert not found & set(Descendants().now())


def test_no_group_is_left_behind(place):
    before = OWN[1].read_text()
    with runner() as run:
        run(["true"])
        run(["false"])
        run(["sleep", "30"], time_limit=0.05)
    assert not left(place)
    made = ControlGroup.made()
    assert OWN[1].read_text() != before
    made.remove()
    assert OWN[1].read_text() == before


@pytest.mark.usefixtures("place")
def test_memory_of_earlier_runs_is_forgotten():
    with runner() as run:
        large = run([*PLACE, SHORT.format(0.1)])
        small = [run([*PLACE, "import time; time.sleep(0.1)"]) for _ in range(3)]
    assert large.memory_total > 80e6
    assert all(x.memory_total < 30e6 for x in small)


def test_files_of_earlier_runs_are_no_memory_of_the_next(place, tmp_path):
    text = f"open('{tmp_path / 'large'}', 'wb').write(bytes(200_000_000))"
    with runner() as run:
        run([*PLACE, text])
        os.remove(tmp_path / "large")
        ran = run([*PLACE, SHORT.format(0)])
    assert 80e6 < ran.memory_total < 110e6
    assert not left(place)


@pytest.mark.fault(
    "Signals",
    "SIGKILL of what watches a run of `parcast measure`.",
    promise="The next run ends what is in the group and removes it.",
)
def test_a_group_of_a_watcher_that_was_killed_is_removed_by_the_next(place):
    text = "import time; from parcast.trials.control_group import ControlGroup\n"
    text += "group = ControlGroup.made(); print(group.folder, flush=True); time.sleep(60)"
    with (
        subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as owner,
        subprocess.Popen(["sleep", "60"]) as other,
    ):
        path = Path(owner.stdout.readline().strip())
        (path / "cgroup.procs").write_text(str(other.pid))
        remove_left(place)
        assert path.exists()  # it is in use
        owner.kill()
        owner.wait()
        remove_left(place)
        assert other.wait(timeout=5) == -9
    assert not path.exists()
    assert not left(place)


ONCE_MORE = """
import os
from parcast.trials.process_memory import held_by, peak_memory, reset_peak
assert reset_peak()
before = peak_memory()
block = b"1" * 80_000_000
most = peak_memory()
assert most >= before + 70e6, (before, most)
del block
assert reset_peak()
assert held_by(os.getpid()).most <= peak_memory() <= most - 60e6
"""


def test_the_most_memory_of_a_process_is_that_since_it_was_reset():
    subprocess.run(
        [sys.executable, "-c", ONCE_MORE], check=True
    )  # here others free memory as well
