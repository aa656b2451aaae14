"""`writer`: its results, what it counts, and its I/O servers."""

import errno
import os

import numpy as np
import pytest

import parcast
from parcast.arrays import open_store
from parcast.errors import ParameterError, RunFailed
from parcast.kernels import io_servers
from parcast.kernels.course import Course
from parcast.kernels.io_servers import IoServers
from parcast.kernels.ledger import Alone, Ledger
from parcast.kernels.worker import KernelTask, runs_of
from parcast.kernels.writer import KERNEL, parts_of, points_of, ring, serial

N = 10_007


class RankOf:
    """A communicator that knows its rank and size."""

    def __init__(self, rank, size):
        self.Get_rank, self.Get_size = (lambda: rank), (lambda: size)


def parts(kind, rank, p, d, group=None):
    """Points that a rank of `p` writes to each of `d` disks."""
    ledger = Ledger(RankOf(rank, p), None, Course(io=kind, group=group), IoServers(None, d))
    return {disk: part.tolist() for disk, part in parts_of(np.arange(12.0), ledger).items()}


def test_points_follow_from_the_seed_alone():
    whole = points_of(N, 3, 0, N)
    assert whole.shape == (N,)
    assert np.array_equal(points_of(N, 3, 4000, 9001), whole[4000:9001])
    assert not np.array_equal(points_of(N, 4, 0, N), whole)
    after = serial(N, 3, 40)
    assert 0 < after[-1].min() < after[-1].max() < 1


def test_rings_stay_within_their_group():
    assert [ring(rank, 3) for rank in range(3, 6)] == [(5, 4), (3, 5), (4, 3)]
    assert ring(2, 1) == (2, 2)


def test_striped_parts_go_to_every_disk():
    assert parts("striped", 3, 4, 3) == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7], 2: [8, 9, 10, 11]}


def test_clustered_parts_go_to_the_disk_of_the_cluster():
    assert [[*parts("clustered", rank, 4, 2)] for rank in range(4)] == [[0], [1], [0], [1]]
    assert [[*parts("clustered", rank, 4, 2, 2)] for rank in range(4)] == [[0], [0], [1], [1]]


@pytest.mark.parametrize(("p", "d"), [(1, 4), (2, 4), (4, 4), (8, 4), (8, 1)])
def test_together_all_disks_get_as_much(p, d):
    written = np.zeros(d)
    for rank in range(p):
        for disk, part in parts("synchronous", rank, p, d).items():
            written[disk] += len(part)
    assert np.all(written == 12 * p / d)


def test_without_servers_it_writes_files(tmp_path):
    task = KernelTask(
        kernel="writer",
        sizes=(N, 0, 1),
        check=True,
        directory=str(tmp_path),
        course=Course(steps=7, checkpoint_every=3),
    )
    runs = list(runs_of(Alone(), task))
    assert [run.is_correct for run in runs] == [True] * 3
    assert runs[0].disk_bytes == 2 * 8 * N
    assert runs[0].steps == (7 * 32 * N,)
    assert (runs[0].messages, runs[0].servers) == ((0,), 0)
    assert not list(tmp_path.iterdir())


def test_a_wrong_file_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("parcast.kernels.writer.write_through", lambda *_: None)
    run = KERNEL.run(Alone(), 100, check=True, directory=tmp_path)
    assert run.is_correct is False


@pytest.mark.parametrize("kind", ["striped", "clustered", "synchronous"])
def test_servers_write(kind, tmp_path):
    ranks = 4 if kind == "clustered" else 2  # in groups of two
    [run] = parcast.run_kernel(
        "writer",
        n=N,
        ranks=ranks,
        servers=2,
        io=kind,
        group=2,
        steps=6,
        checkpoint_every=2,
        check=True,
        directory=tmp_path,
    )
    assert (run.p, run.servers, run.is_correct) == (ranks, 2, True)
    assert len(run.steps) == ranks
    assert run.disk_bytes == 3 * 8 * N
    writes = {"striped": 2, "clustered": 1, "synchronous": 1}[kind]
    assert run.messages == (6 + 3 * writes,) * ranks
    own = np.diff([N * i // ranks for i in range(ranks + 1)])
    assert run.sent == tuple(8 * (6 * (share // 8) + 3 * share) for share in own.tolist())
    assert not list(tmp_path.iterdir())


def test_checkpoints_are_written_through_arrays(tmp_path):
    store = tmp_path / "points.zarr"
    [run] = parcast.run_kernel("writer", n=N, ranks=2, servers=2, steps=4, checkpoint=store)
    assert (run.is_correct, run.servers) == (True, 0)
    with open_store(store) as found:
        assert np.array_equal(found["u"].read(), serial(N, 0, 4)[-1])


def test_a_server_that_cannot_write_ends_all(tmp_path):
    with pytest.raises(RunFailed, match=r"folder|directory"):
        parcast.run_kernel("writer", n=N, ranks=1, servers=1, directory=tmp_path / "none" / "x")


def test_a_full_disk_is_told(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(io_servers.os, "pwrite", full)
    with pytest.raises(RunFailed, match="no space left"):
        KERNEL.run(Alone(), 100, directory=tmp_path)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"io": "parallel"}, 'io must be "synchronous", "striped" or'),
        ({"io": "striped", "checkpoint": "x.zarr"}, "io must be synchronous with checkpoint"),
        ({"group": 3}, "group must divide the 4 ranks, got 3"),
        ({"group": 0}, "group must be"),
        ({"mesh": (2, 2)}, "mesh must be left out for writer, which has no such option"),
        ({"servers": 0}, "servers must be"),
    ],
)
def test_what_does_not_fit_is_refused(asked, message):
    with pytest.raises(ParameterError, match=message):
        parcast.run_kernel("writer", n=100, ranks=4, **asked)


def test_stencil_has_no_kinds():
    with pytest.raises(ParameterError, match="io must be left out for stencil"):
        parcast.run_kernel("stencil", n=10, io="striped")


def test_its_law_is_tested_with_files():
    with pytest.raises(ParameterError, match="parcast validate PROGRAM MACHINE TIMINGS"):
        parcast.validate("writer")
