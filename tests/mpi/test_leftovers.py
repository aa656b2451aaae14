"""Shared memory of ranks that were killed: removed as soon as no process has it."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from parcast.mpi import launched, leftovers
from parcast.mpi.find import find_mpi
from tests.arrays.store.made import write_store
from tests.conftest import until

SUBJECT = "Ranks and processes"


@pytest.fixture
def no_leases(monkeypatch):
    """A system that does not tell whether a file is in use."""
    monkeypatch.setattr(leftovers, "_leased", contextmanager(lambda _: iter([None])))


@pytest.mark.usefixtures("no_leases")
def test_without_leases_shared_memory_that_is_old_or_in_use_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", tmp_path)
    for name in ("mpich_old", "mpich_used", "mpich_left", "sm_segment.left", "other"):
        (tmp_path / name).touch()
    os.utime(tmp_path / "mpich_old", (1.0, 1.0))
    monkeypatch.setattr(leftovers, "_used", lambda: "7f00 rw-s /dev/shm/mpich_used")
    leftovers.remove_shared_memory(since=1000.0)
    assert {path.name for path in tmp_path.iterdir()} == {"mpich_old", "mpich_used", "other"}


def test_segments_of_mpi_that_nobody_has_are_removed_however_old(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", tmp_path)
    for name in ("mpich_shm_67c_0", "mpich_shm_used", "psm_of_another_library", "other"):
        (tmp_path / name).write_bytes(bytes(4096))
        os.utime(tmp_path / name, (1.0, 1.0))
    (tmp_path / "mpich_link").symlink_to("other")
    (tmp_path / "mpich_folder").mkdir()
    with open(tmp_path / "mpich_shm_used", "rb"):
        assert leftovers.remove_shared_memory() == 4096
    kept = {"mpich_shm_used", "psm_of_another_library", "other", "mpich_link", "mpich_folder"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_segments_of_other_users_are_left(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", tmp_path)
    (tmp_path / "mpich_shm_1_0").touch()
    monkeypatch.setattr(leftovers.os, "getuid", lambda: 12345)
    assert leftovers.remove_shared_memory() == 0
    assert (tmp_path / "mpich_shm_1_0").exists()


RANK = """
from pathlib import Path
import sys, time
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    lines = [line.split()[5:] for line in Path("/proc/self/maps").read_text().splitlines()]
    print(*{line[0] for line in lines if len(line) == 1 and "/dev/shm/" in line[0]})
    sys.stdout.flush()
MPI.COMM_WORLD.Barrier()
time.sleep(60)
"""


@pytest.mark.fault(
    SUBJECT,
    "Ranks under a user's own mpiexec are killed, and leave shared memory.",
    promise="The next start of parcast on that host, and `parcast arrays verify --sweep`, remove "
    "what no process has open or mapped.",
)
def test_shared_memory_of_ranks_of_a_users_own_mpiexec_is_removed_when_they_are_gone():
    mpi = find_mpi()
    with subprocess.Popen(
        [mpi.mpiexec, "-n", "2", sys.executable, "-c", RANK],
        env={**os.environ, **mpi.environment(crowded=True), leftovers.TOKEN: "own"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            segments = {Path(x) for x in started.stdout.readline().split()}
            assert any(x.name.startswith("mpich_shm_") for x in segments)
            leftovers.remove_shared_memory()
            assert all(x.exists() for x in segments)  # they are in use
        finally:
            os.killpg(started.pid, 9)
            leftovers.kill_processes_of("own")

    def are_gone():
        leftovers.remove_shared_memory()
        return not any(x.exists() for x in segments)

    until(are_gone, 5.0)


@pytest.mark.parametrize(
    ("variables", "rank", "is_removed"),
    [
        ({}, 0, True),
        ({}, 1, False),
        ({"MPI_LOCALRANKID": "0"}, 4, True),  # the first on its host
        ({"MPI_LOCALRANKID": "1"}, 5, False),
        ({"SLURM_LOCALID": "none"}, 0, True),
    ],
)
def test_one_rank_on_each_host_removes_it_before_a_program_begins(
    monkeypatch, variables, rank, is_removed
):
    removed = []
    world = SimpleNamespace(Get_size=lambda: 1, Get_rank=lambda: rank)
    fake = SimpleNamespace(COMM_WORLD=world, get_vendor=lambda: ("MPICH", (4, 2)))
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=fake))
    monkeypatch.setattr(launched, "remove_shared_memory", lambda: removed.append(rank))
    for name in launched.HERE:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched.one_world() is world
    assert bool(removed) == is_removed


def test_sweeping_a_store_removes_it_and_says_so(tmp_path, monkeypatch, parcast):
    pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")
    write_store(tmp_path / "u.zarr", {"u": np.zeros((4, 2))})
    segments = tmp_path / "shm"
    segments.mkdir()
    (segments / "mpich_shm_67c_0").write_bytes(bytes(2_000_000))
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", segments)
    assert parcast("arrays", "verify", tmp_path / "u.zarr").err == ""
    said = parcast("arrays", "verify", "--sweep", tmp_path / "u.zarr")
    assert said.err == "parcast: Shared memory of ranks that were killed was removed: 2 MB.\n"
    assert list(segments.iterdir()) == []


USING = """
import ctypes, sys
with open(sys.argv[1], "r+b") as file:
    if sys.argv[2] == "mapped":
        size, nothing = ctypes.c_size_t(4096), ctypes.c_long(0)
        ctypes.CDLL(None).mmap(None, size, 1, 1, file.fileno(), nothing)
        file.close()
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("tells", [True, False], ids=["leases", "no leases"])
@pytest.mark.parametrize("how", ["open", "mapped"])
def test_a_segment_that_another_run_has_made_is_left(tmp_path, monkeypatch, request, how, tells):
    """It is open a moment before it is mapped."""
    if not tells:
        request.getfixturevalue("no_leases")
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", tmp_path)
    for name in ("mpich_shm_new", "mpich_shm_left"):
        (tmp_path / name).write_bytes(bytes(4096))
    with subprocess.Popen(
        [sys.executable, "-c", USING, str(tmp_path / "mpich_shm_new"), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout.readline() == b"begun\n"
        leftovers.remove_shared_memory(since=0.0)
        assert [path.name for path in tmp_path.iterdir()] == ["mpich_shm_new"]
        other.stdin.close()
    leftovers.remove_shared_memory(since=0.0)
    assert not list(tmp_path.iterdir())


def test_a_run_in_a_user_namespace_leaves_the_segments_of_others():
    """It cannot look at their processes, though they are of the same user."""
    if subprocess.run(
        ["sh", "-c", "unshare -rm true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("there is no unshare -rm here, or it is not permitted: no user namespace")
    name = f"mpich_test_{os.getpid()}"
    removing = "from parcast.mpi.leftovers import remove_shared_memory as r; r(0.0)"
    with open(f"/dev/shm/{name}", "xb"):  # by this process, outside the namespace
        try:
            subprocess.run(["unshare", "-rm", sys.executable, "-c", removing], check=True)
            assert name in os.listdir("/dev/shm")
        finally:
            os.unlink(f"/dev/shm/{name}")


@pytest.mark.parametrize(
    ("users", "owner", "is_left"),
    [
        ((1000, "0 0 4294967295"), 1000, True),  # a rank of this user with more rights
        ((1000, "0 0 4294967295"), 0, False),  # an agent of this user, which hides
        ((0, "0 0 4294967295"), 0, False),  # of the system
        ((0, "0 1000 1"), 0, True),  # outside of this user namespace
    ],
)
@pytest.mark.usefixtures("no_leases")
def test_segments_are_left_where_a_rank_may_not_be_looked_at(
    tmp_path, monkeypatch, users, owner, is_left
):
    user, namespace = users
    segments, processes = tmp_path / "shm", tmp_path / "proc"
    for folder in (segments, processes / "7" / "fd", processes / "self", processes / "1" / "fd"):
        folder.mkdir(parents=True)
    (processes / "self" / "uid_map").write_text(namespace)
    (processes / "1" / "maps").touch()
    (segments / "mpich_shm_new").touch()

    def refuse(folder):
        if folder == processes / "7" / "fd":
            raise PermissionError
        return iterate(folder)

    def known(path, **keys):
        found = look(path, **keys)
        of = owner if path.name == "fd" else user
        return os.stat_result((*found[:4], of, *found[5:10])) if path != processes else found

    iterate, look = Path.iterdir, Path.stat
    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(Path, "stat", known)
    monkeypatch.setattr(leftovers.os, "getuid", lambda: user)
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", segments)
    monkeypatch.setattr(leftovers, "PROCESSES", processes)
    leftovers.remove_shared_memory(since=0.0)
    monkeypatch.undo()
    assert (segments / "mpich_shm_new").exists() == is_left
