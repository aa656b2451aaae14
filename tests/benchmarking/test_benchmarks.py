"""Micro-benchmarks: each run for real on one or two ranks with tiny plans, and their refusals."""

import os
import subprocess
import sys

import pytest

from parcast.benchmarking import network, processor, storage
from parcast.benchmarking.compiled import arguments_of, compile_pingpong
from parcast.benchmarking.primitives import PRIMITIVES
from parcast.benchmarking.processor import largest_cache
from parcast.benchmarking.records import (
    BenchmarkPlan,
    BenchmarkRecorder,
    read_launch,
    without_python,
)
from parcast.errors import RunFailed
from parcast.mpi.find import find_mpi
from parcast.mpi.launcher import run_ranks
from parcast.trials.tree_memory import Descendants

PATIENCE = 60.0


@pytest.fixture(scope="session")
def mpi():
    try:
        return find_mpi()
    except RunFailed as missing:  # the extra "mpi" is not installed
        pytest.skip(str(missing))


def launch(module, folder, plan, *extra, ranks=2):
    record = folder / "record.jsonl"
    run_ranks(
        f"parcast.benchmarking.{module}",
        [str(record), plan.to_text(), *extra],
        ranks=ranks,
        time_limit=PATIENCE,
    )
    return read_launch(record)


# Processor


def test_the_processor_is_measured_without_mpi(tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "LEAST", 1e-5)
    monkeypatch.setenv("PARCAST_PLACEMENT", "free")
    plan = BenchmarkPlan(sizes=(1 << 16,), budget=0.0, fewest=2, most=2)
    processor.main([str(tmp_path / "r.jsonl"), plan.to_text()])
    found = read_launch(tmp_path / "r.jsonl")
    assert found.sizes("polynomial", 1) == list(range(1, 11))
    assert found.sizes("triad", 1) == [40 * (1 << 13)]  # 5 words of 8 bytes an element
    assert {len(times) for times in found.times.values()} == {2}
    assert ("timer", 1, 0) in found.times


class FourRanks:
    """Communicator of two ranks on each of two hosts."""

    def __init__(self, rank):
        self.rank = rank

    def allgather(self, _):
        return ["a", "b", "a", "b"]

    def Split(self, color, key=0):  # noqa: N802 - the name that mpi4py gives it
        return None if color < 0 else (color, key)


@pytest.mark.usefixtures("mpi")
@pytest.mark.parametrize(
    ("rank", "near", "far", "linked"),
    [
        (0, (0, 0), (0, 0), (0, 0)),
        (1, None, (0, 1), (0, 1)),
        (2, (0, 1), None, (1, 0)),
        (3, None, None, (1, 1)),
    ],
)
def test_pairs_of_ranks_are_of_one_host_or_of_two(rank, near, far, linked):
    assert network.host_pairs(FourRanks(rank)) == ((2, 2), 2, near, far, linked)


@pytest.mark.usefixtures("mpi")
def test_hosts_of_one_rank_have_no_pairs(monkeypatch):
    monkeypatch.setattr(FourRanks, "allgather", lambda *_: ["a", "b", "c", "c"])
    assert network.host_pairs(FourRanks(0)) is None


def test_memory_is_shared_with_triads_on_other_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "LEAST_SHARED", 1 << 16)
    plan = BenchmarkPlan(sizes=(0,), budget=0.0, fewest=2, most=2)
    record, children = BenchmarkRecorder(tmp_path / "r.jsonl"), Descendants().now()
    processor.measure_shared_memory(record, plan, 0, sorted(os.sched_getaffinity(0))[:1] * 2)
    [(cell, times)] = read_launch(tmp_path / "r.jsonl").times.items()
    assert cell == ("shared_triad", 1, 3 * 40 * (1 << 13))
    assert len(times) == 2
    assert Descendants().now() == children


def test_memory_is_not_shared_with_cores_that_do_nothing(tmp_path):
    plan = BenchmarkPlan(sizes=(0,), budget=0.0, fewest=2, most=2)
    record = BenchmarkRecorder(tmp_path / "r.jsonl")
    own = sorted(os.sched_getaffinity(0))[0]
    processor.measure_shared_memory(record, plan, 1 << 16, [own, 10_000])  # there is no such core
    assert read_launch(tmp_path / "r.jsonl").is_empty


def test_the_largest_cache_is_what_the_system_tells(tmp_path, monkeypatch):
    for index, size in enumerate(["32K", "4M", "strange"]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size + "\n")
    monkeypatch.setattr(processor, "CACHES", tmp_path)
    assert largest_cache() == 4 << 20
    monkeypatch.setattr(processor, "CACHES", tmp_path / "missing")
    assert largest_cache() == 0


# Network and primitives


@pytest.mark.usefixtures("mpi")
def test_the_network_is_measured_on_two_ranks(tmp_path):
    plan = BenchmarkPlan(sizes=(0, 8, 1024), budget=0.0, fewest=2, most=2)
    found = launch("network", tmp_path, plan)
    assert found.sizes("pingpong", 2) == [0, 8, 1024]
    for bench in ("stream", "bidirectional", "saturation"):
        assert found.sizes(bench, 2) == [8, 1024]
    assert found.facts["call"] > 0
    assert found.facts["mpi"].split()[0] in found.facts["library"].replace("-", "")


@pytest.mark.usefixtures("mpi")
def test_every_primitive_is_measured_on_three_ranks_of_which_one_has_no_partner(tmp_path):
    found = launch(
        "primitives", tmp_path, BenchmarkPlan(sizes=(8, 12), budget=0.0, fewest=1), ranks=3
    )
    for name in PRIMITIVES:
        assert found.sizes(name, 3) == ([0] if name == "barrier" else [8, 12])


def test_the_compiled_pingpong_records_what_the_other_one_does(mpi, tmp_path):
    program = compile_pingpong(mpi.mpiexec, tmp_path)
    if isinstance(program, str):  # no C compiler here
        pytest.skip(program)
    plan = BenchmarkPlan(sizes=(0, 1024), budget=0.0, fewest=3, most=3)
    arguments = [str(program), *arguments_of(plan, tmp_path / "r.jsonl")]
    run_ranks("parcast.benchmarking.compiled", arguments, ranks=2, time_limit=PATIENCE)
    found = read_launch(tmp_path / "r.jsonl")
    assert found.sizes("pingpong", 2) == [0, 1024]
    assert found.sizes("stream", 2) == [1024]
    assert {len(times) for times in found.times.values()} == {3}
    assert found.facts["compiled_library"]


def test_why_nothing_was_compiled_is_told(tmp_path, file):
    mpiexec = str(tmp_path / "mpiexec")
    assert compile_pingpong(mpiexec, tmp_path) == "there is no mpicc in the folder of mpiexec"
    compiler = file("#!/bin/sh\necho 'cc: not here' >&2\nexit 3\n", "mpicc")
    compiler.chmod(0o755)
    assert compile_pingpong(mpiexec, tmp_path) == "mpicc failed: cc: not here"
    compiler.write_text("#!/bin/sh\nexit 3\n")
    assert compile_pingpong(mpiexec, tmp_path) == "mpicc failed: status 3"
    compiler.write_text("#!/missing/sh\n")
    assert "mpicc failed: [Errno 2]" in compile_pingpong(mpiexec, tmp_path)


def test_no_more_than_half_of_a_time_is_taken_for_pythons():
    assert without_python([1e-6, 1e-7], 2e-7) == pytest.approx([8e-7, 5e-8])


# Storage


def storage_plan(folder, sizes=(1000, 8192)):
    return BenchmarkPlan(sizes=sizes, budget=0.0, fewest=2, most=2, directory=str(folder))


@pytest.mark.usefixtures("mpi")
def test_two_writers_are_measured_and_leave_nothing(tmp_path):
    (tmp_path / "disk").mkdir()
    found = launch("storage", tmp_path, storage_plan(tmp_path / "disk"))
    for bench in ("write", "read", "cached_read"):
        assert found.sizes(bench, 2) == [1000, 8192]
    assert found.facts["read"] in {"O_DIRECT", "POSIX_FADV_DONTNEED"}
    assert list((tmp_path / "disk").iterdir()) == []


def alone(folder, record, **more):
    storage.measure(
        storage.LoneCommunicator(), BenchmarkRecorder(record), storage_plan(folder, **more)
    )
    return read_launch(record)


def test_one_writer_is_measured_without_mpi(tmp_path):
    (tmp_path / "disk").mkdir()
    plan = storage_plan(tmp_path / "disk")
    command = [sys.executable, "-m", "parcast.benchmarking.storage"]
    subprocess.run(
        [*command, str(tmp_path / "r.jsonl"), plan.to_text(), "alone"],
        check=True,
        timeout=PATIENCE,
        env=os.environ | {"PARCAST_PLACEMENT": "one"},
    )
    found = read_launch(tmp_path / "r.jsonl")
    assert found.sizes("write", 1) == [1000, 8192]
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_file_system_without_direct_reading_is_measured_too(tmp_path, monkeypatch):
    usual = os.open

    def refuse_direct(path, flags, *mode):
        if flags & getattr(os, "O_DIRECT", 0):
            raise OSError(22, "Invalid argument")
        return usual(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse_direct)
    (tmp_path / "disk").mkdir()
    found = alone(tmp_path / "disk", tmp_path / "r.jsonl")
    assert found.facts == {"read": "POSIX_FADV_DONTNEED"}
    assert found.sizes("read", 1) == [1000, 8192]
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_folder_that_is_missing_is_told(tmp_path):
    found = alone(tmp_path / "missing", tmp_path / "r.jsonl")
    assert found.is_empty
    told = f"{tmp_path / 'missing'}: No such file or directory. Choose another folder"
    assert found.facts == {"refused": told}


@pytest.mark.fault(
    "Measuring",
    "The folder whose disk is measured is read-only.",
    promise="It is named; nothing is measured there.",
)
def test_a_read_only_folder_is_told(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    found = alone(tmp_path, tmp_path / "r.jsonl")
    assert found.facts["refused"] == f"{tmp_path}: Read-only file system. Choose another folder"


def test_too_little_space_is_told_before_anything_is_written(tmp_path):
    found = alone(tmp_path, tmp_path / "r.jsonl", sizes=(1 << 55,))
    assert found.is_empty
    assert " MB are free, but " in found.facts["refused"]


@pytest.mark.fault(
    "Measuring",
    "The disk fills while it is measured.",
    promise="Smaller sizes are kept; no file is left.",
)
def test_a_disk_that_runs_full_keeps_the_sizes_before_and_leaves_nothing(tmp_path, monkeypatch):
    usual = os.pwrite

    def full(file, data, at):
        if len(data) > 4096:
            raise OSError(28, "No space left on device")
        return usual(file, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    (tmp_path / "disk").mkdir()
    found = alone(tmp_path / "disk", tmp_path / "r.jsonl")
    assert found.sizes("write", 1) == [1000]
    assert "No space left on device" in found.facts["refused"]
    assert list((tmp_path / "disk").iterdir()) == []
