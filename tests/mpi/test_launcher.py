import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcast.errors import ParameterError, RunFailed
from parcast.mpi import find as mpi
from parcast.mpi import launcher, leftovers, rank
from parcast.mpi.launcher import run_ranks
from parcast.mpi.tied import tied
from tests.conftest import ROOT, until

HERE = Path(__file__).parent


@pytest.fixture
def ranks_that(tmp_path):
    """Start two ranks of the test program."""

    def started(what, *, ranks=2, time_limit=60.0, **keys):
        return run_ranks(
            "ranks_that",
            [what, str(tmp_path)],
            ranks=ranks,
            time_limit=time_limit,
            environment={"PYTHONPATH": f"{HERE}{os.pathsep}{ROOT / 'src'}"},
            **keys,
        )

    return started


def told_by(folder):
    """Number and cores of every rank that started."""
    told = [path.read_text(encoding="utf-8").split() for path in sorted(folder.iterdir())]
    return [int(number) for number, _ in told], [cores for _, cores in told]


def is_alive(number):
    """Tell whether a process runs; one that waits to be reaped does not."""
    status = Path(f"/proc/{number}/status")
    try:
        return "State:\tZ" not in status.read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # it ended, perhaps as it was read
        return False


def any_alive(numbers):
    """Tell whether a process still runs, once those that are on their way out have gone.

    One that exits has given up its memory, and with it the mark of its run, a moment before it is
    told as ended.
    """
    end = time.monotonic() + 5
    while any(map(is_alive, numbers)) and time.monotonic() < end:
        time.sleep(0.02)
    return any(map(is_alive, numbers))


def test_ranks_run_a_module_together_each_on_a_core_of_its_own(ranks_that, tmp_path):
    assert ranks_that("sum").stdout.split() == ["1", "1"]
    cores = mpi.available_cores()
    expected = [str(cores[0]), str(cores[1])] if len(cores) > 1 else [str(cores[0])] * 2
    assert told_by(tmp_path)[1] == expected


def test_ranks_that_outnumber_the_cores_share_the_last_one(ranks_that, tmp_path):
    ranks_that("sum", placement="one")
    assert set(told_by(tmp_path)[1]) == {str(mpi.available_cores()[-1])}


def test_an_exception_on_one_rank_ends_all_and_is_told(ranks_that, tmp_path):
    with pytest.raises(RunFailed, match=r"ended with status .*: ValueError: the second rank"):
        ranks_that("raise")
    assert not any_alive(told_by(tmp_path)[0])


@pytest.mark.fault(
    "Ranks and processes",
    "A rank fails before it initialises MPI.",
    promise="All ranks end; its error is the message.",
)
@pytest.mark.parametrize("what", ["raise early", "exit early"])
def test_a_rank_that_fails_before_it_begins_with_mpi_ends_all(ranks_that, what):
    said = r"ended with status .*: ValueError: the second rank has not begun with MPI"
    with pytest.raises(RunFailed, match=said):
        ranks_that(what)


def test_a_refusal_on_a_rank_is_raised_as_what_it_is(ranks_that):
    with pytest.raises(ParameterError, match=r"^n must be at least 1, got 0\. Count from 1\.$"):
        ranks_that("refuse")


@pytest.mark.fault(
    "Ranks and processes",
    "A rank is killed.",
    promise="The run ends with an error; no process of it is left.",
)
def test_a_rank_that_is_killed_ends_the_run(ranks_that, tmp_path):
    with pytest.raises(RunFailed, match="ended with status"):
        ranks_that("die")
    assert not any_alive(told_by(tmp_path)[0])


@pytest.mark.fault(
    "Ranks and processes",
    "A run on ranks hangs.",
    promise="It is killed at its time limit; no process and no shared memory is left.",
)
def test_a_run_over_its_time_is_killed_with_all_its_ranks_and_shared_memory(ranks_that, tmp_path):
    before = set(os.listdir("/dev/shm"))
    with pytest.raises(RunFailed, match=r"did not end within 1.5 s and was killed\. Allow"):
        ranks_that("hang", time_limit=1.5)
    assert not any_alive(told_by(tmp_path)[0])

    def left():
        """Segments that are new and of no run beside this one, which may be about to end."""
        now = [name for name in os.listdir("/dev/shm") if name.startswith("mpich")]
        others = leftovers._used() or ""
        return [name for name in now if name not in before and name not in others]

    until(lambda: not left(), 5.0)


@pytest.mark.fault(
    "Ranks and processes",
    "parcast gets SIGTERM, SIGINT, SIGHUP or SIGKILL while ranks run.",
    promise="All ranks end with it.",
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_launcher_that_is_told_to_end_takes_its_ranks_along(tmp_path, number):
    source = (
        "import signal; from parcast.mpi.launcher import run_ranks;"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL);"  # as it is without nohup
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # and in the foreground
        f"run_ranks('ranks_that', ['hang', {str(tmp_path)!r}], ranks=2, time_limit=60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", source],
        env=os.environ | {"PYTHONPATH": str(HERE)},
        stderr=subprocess.DEVNULL,
    ) as started:
        until(lambda: len(list(tmp_path.iterdir())) == 2)
        started.send_signal(number)
        assert started.wait(30) != 0
    numbers = told_by(tmp_path)[0]
    assert len(numbers) == 2
    assert not any_alive(numbers)


def test_a_program_is_tied_to_its_parent_where_the_system_can(monkeypatch):
    done = subprocess.run(tied(["/bin/echo", "a b"]), capture_output=True, text=True, check=True)
    assert done.stdout == "a b\n"
    orphan = tied(["/bin/echo", "never"])
    orphan[orphan.index(str(os.getpid()))] = "1"  # whose parent is gone already
    assert subprocess.run(orphan, capture_output=True, check=True).stdout == b""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert tied(["/bin/echo"]) == ["/bin/echo"]


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_worker_ends_with_its_parent_where_the_kernel_does_not_tell_it_as_well(platform):
    worker = (
        "import sys, time; from parcast.mpi import tied\n"
        f"sys.platform, tied.TICK = {platform!r}, 0.02\n"
        "tied.begin_worker(int(sys.argv[1])); print('begun', flush=True); time.sleep(600)"
    )
    parent = (
        "import os, subprocess, sys, time\n"
        f"made = subprocess.Popen([sys.executable, '-c', {worker!r}, str(os.getpid())])\n"
        "print(made.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True
    ) as process:
        number = int(process.stdout.readline())
        assert process.stdout.readline() == "begun\n"
        process.kill()
    until(lambda: not is_alive(number), 10.0)


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (-9, "", "status -9: mpiexec was ended by a signal: Killed, as happens when memory"),
        (9, "EXIT STRING: Killed (signal 9)", "status 9: a rank was ended by a signal: Killed,"),
        (7, "Bus error (signal 7)", "a rank was ended by a signal: Bus error, as happens when /"),
        (139, "-----\nexited on signal 11 (Segm)\n-----", "signal: Segmentation fault. All"),
        (3, "-----\nout of slots\n-----\n", "status 3: out of slots. All its processes were"),
        (3, "signal 4000", "status 3: signal 4000. All its processes were stopped."),
        (3, "", "status 3. All its processes were stopped."),
        (9, "E: x\nMemoryError: no room\nsignal 9", "status 9: MemoryError: no room. All"),
    ],
)
def test_how_ranks_ended_is_told(status, said, expected):
    assert expected in str(launcher._failure("parcast.mpi.x", 2, status, "", said))


def test_one_rank_that_failed_is_not_told_to_use_fewer():
    assert str(launcher._failure("x", 1, 3, "", "")) == (
        "x on 1 rank ended with status 3. All its processes were stopped. Read its message."
    )


@pytest.mark.fault(
    "Ranks and processes", "A session of Open MPI is killed.", promise="Its folder is removed."
)
def test_the_folder_of_a_session_that_was_killed_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path))
    for name in ("ompi.17", "ompi.18"):
        (tmp_path / name / "0").mkdir(parents=True)
    leftovers.remove_session(17)
    assert [path.name for path in tmp_path.iterdir()] == ["ompi.18"]


@pytest.mark.parametrize("ranks", [0, -1, 5000])
def test_counts_of_ranks_that_make_no_sense_are_refused(ranks):
    with pytest.raises(ParameterError, match="ranks must lie in 1 to 4096, got"):
        run_ranks("ranks_that", ranks=ranks, time_limit=1.0)


def test_without_mpi4py_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(mpi, "find_spec", lambda _: None)
    with pytest.raises(RunFailed, match=r'needs mpi4py.*pip install "parcast\[mpi\]"'):
        mpi.find_mpi()


def test_without_mpiexec_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(mpi.shutil, "which", lambda *_, **__: None)
    with pytest.raises(RunFailed, match=r'no mpiexec.*pip install "parcast\[mpi\]"'):
        mpi.find_mpi()


def told(tmp_path, text, status=0):
    """An mpiexec that tells this of itself."""
    path = tmp_path / "mpiexec"
    path.write_text(f"#!/bin/sh\necho '{text}'\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "vendor", "version"),
    [
        ("mpiexec (Open MPI) 5.0.11", "Open MPI", "5.0.11"),
        ("HYDRA build details:\n    Version:    4.3.1", "MPICH", "4.3.1"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.11 (Hydra)", "Intel MPI", "2021.11"),
        ("something", "unknown", ""),
    ],
)
def test_the_vendor_is_told_by_mpiexec(tmp_path, monkeypatch, text, vendor, version):
    path = told(tmp_path, text)
    monkeypatch.setattr(mpi.shutil, "which", lambda *_, **__: path)
    found = mpi.find_mpi()
    assert (found.vendor, found.version, found.mpiexec) == (vendor, version, path)


def test_an_mpiexec_that_fails_is_told(tmp_path, monkeypatch):
    path = told(tmp_path, "", status=1)
    monkeypatch.setattr(mpi.shutil, "which", lambda *_, **__: path)
    with pytest.raises(RunFailed, match="does not report its version"):
        mpi.find_mpi()


def test_open_mpi_may_start_as_root_and_crowd_the_cores():
    of = mpi.Mpi(vendor="Open MPI", version="5", mpiexec="")
    assert of.environment(crowded=True)["OMPI_ALLOW_RUN_AS_ROOT"] == "1"
    assert of.environment(crowded=True)["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert of.environment(crowded=False)["OMPI_MCA_mpi_yield_when_idle"] == "0"
    assert of.environment(crowded=False)["OMPI_MCA_btl"] == "self,sm,tcp"
    on_several = of.environment(crowded=False, one_host=False)
    assert not {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_osc"} & on_several.keys()


def test_mpich_gives_up_its_core_only_where_it_must_share_it():
    of = mpi.Mpi(vendor="MPICH", version="5", mpiexec="")
    assert "MPIR_CVAR_ENABLE_HEAVY_YIELD" in of.environment(crowded=True)
    assert "MPIR_CVAR_ENABLE_HEAVY_YIELD" not in of.environment(crowded=False)


@pytest.mark.parametrize(
    ("placement", "expected"),
    [("own", [0, 1, 2, 0]), ("spread", [0, 1, 2, 0]), ("one", [2] * 4), ("auto", [2] * 4)],
)
def test_placements_pin_ranks_to_cores(monkeypatch, placement, expected):
    pinned = []
    monkeypatch.setattr(rank.os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(rank.os, "sched_setaffinity", lambda _, cores: pinned.extend(cores))
    monkeypatch.setenv("PARCAST_PLACEMENT", placement)
    monkeypatch.setenv("MPI_LOCALNRANKS", "4")
    for number in range(4):
        monkeypatch.setenv("MPI_LOCALRANKID", str(number))
        rank.pin()
    assert pinned == expected


def test_a_free_rank_is_not_pinned(monkeypatch):
    monkeypatch.setattr(rank.os, "sched_setaffinity", lambda *_: pytest.fail("pinned"))
    monkeypatch.setenv("PARCAST_PLACEMENT", "free")
    rank.pin()
