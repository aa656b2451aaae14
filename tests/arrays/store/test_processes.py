"""Several processes write one store at once, and none holds more than its current subchunk."""

import errno
import json
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

from parcast.arrays.store import durable
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.writing import Writer
from parcast.errors import RunFailed
from tests.arrays.store.made import write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

U = np.arange(40 * 30, dtype="f8").reshape(40, 30)


def serve(part, number, of):
    """Write every chunk of a server's share."""
    with Writer(part) as writer:
        for i, index in enumerate(part.chunks("u")):
            if i % of == number:
                with writer.chunk("u", index) as chunk:
                    for box in chunk.boxes:
                        rows, columns = (
                            slice(a, b) for a, b in zip(box.start, box.stop, strict=True)
                        )
                        chunk.write(U[rows, columns])
        writer.flush()


def test_several_processes_write_their_chunks_into_one_store(tmp_path):
    spec = ArraySpec(name="u", shape=U.shape, dtype="f8", chunk=(8, 8), subchunk=(4, 8))
    with Draft.create(tmp_path / "s.zarr", [spec]) as draft:
        part = pickle.loads(pickle.dumps(draft.part))
        spawn = multiprocessing.get_context("spawn")
        servers = [spawn.Process(target=serve, args=(part, i, 2)) for i in range(2)]
        for server in servers:
            server.start()
        for server in servers:
            server.join(timeout=60)
        assert [server.exitcode for server in servers] == [0, 0]
        draft.commit()
    with open_store(tmp_path / "s.zarr") as store:
        assert (store["u"].read() == U).all()
    assert verify(tmp_path / "s.zarr").status == "whole"


def test_a_writer_that_outlives_its_draft_harms_nothing(tmp_path):
    path = tmp_path / "s.zarr"
    spec = ArraySpec(name="u", shape=(4,), dtype="f8")
    draft = Draft.create(path, [spec])
    writer = Writer(draft.part)
    draft.abandon()  # as its leader died and another run began
    write_store(path, {"u": np.ones(4)})
    with pytest.raises(RunFailed, match="is as it was before"):
        writer.write("u", np.zeros(4))
    writer.close()
    assert verify(path).status == "whole"


@pytest.fixture
def two_of_many(tmp_path):
    """Two sets of more folders than are flushed one by one, of one process and file system."""
    both = [durable.Unflushed(tmp_path) for _ in range(2)]
    for each in both:
        for i in range(durable.MANY + 1):
            each.add_folder(f"{tmp_path}/{i}")
    yield both
    for each in both:
        each.close()


@pytest.mark.skipif(
    not durable.can_flush_all(), reason="this system cannot flush a file system in one call"
)
def test_one_flush_of_the_file_system_does_for_all_that_was_written_before(
    two_of_many, tmp_path, monkeypatch
):
    flushed = []
    monkeypatch.setattr(durable, "flush_all", flushed.append)
    first, second = two_of_many
    second.flush()
    first.flush()
    assert flushed == [first._place]  # the oldest, which has seen all errors
    for i in range(durable.MANY + 1):
        second.add_folder(f"{tmp_path}/{i}")
    second.flush()
    assert len(flushed) == 2


@pytest.mark.skipif(
    not durable.can_flush_all(), reason="this system cannot flush a file system in one call"
)
def test_what_one_flush_could_not_write_is_reported_to_all(two_of_many, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable, "flush_all", full)
    for each in two_of_many:
        with pytest.raises(OSError, match="No space left"):
            each.flush()


MEMORY = """
import json, sys, tracemalloc
import numpy as np
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.writing import Writer
from parcast.arrays.store.layout import ArraySpec

def resident():
    with open("/proc/self/status") as stream:
        return next(int(x.split()[1]) * 1024 for x in stream if x.startswith("VmHWM"))

path, count, order, zstd = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
rows = 1 << 9
shape = (count * rows, 1 << 10)  # subchunks of 4 MiB
spec = ArraySpec(name="u", shape=shape, dtype="f8", subchunk=(rows, 1 << 10),
                 order=order, zstd=zstd)
first = resident()
tracemalloc.start()
with Draft.create(path, [spec]) as draft:
    with Writer(draft.part) as writer:
        with writer.chunk("u", (0, 0)) as chunk:
            for box in chunk.boxes:
                chunk.write(np.full(box.count, box.start[0], "f8"))
        writer.flush()
    draft.commit()
print(json.dumps([tracemalloc.get_traced_memory()[1], resident() - first]))
"""


@pytest.mark.parametrize(
    ("order", "zstd", "held"),
    [("C", None, 1), ("F", None, 2), ("C", 1, 2)],  # subchunks: that given, and one copy of it
)
def test_a_writer_holds_the_current_subchunk_and_no_other(tmp_path, order, zstd, held):
    subchunk, constant = 4 << 20, 3 << 20
    peaks = []
    for count in (4, 24):
        run = subprocess.run(
            [
                *(sys.executable, "-c", MEMORY, tmp_path / f"{count}.zarr", str(count)),
                *(order, json.dumps(zstd)),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        peaks.append(json.loads(run.stdout))
    for traced, resident in peaks:
        assert traced <= held * subchunk + constant
        assert resident <= (held + 1) * subchunk + 2 * constant  # the next is made meanwhile
    assert peaks[1][0] <= peaks[0][0] + subchunk // 4, "it does not grow with the array"
