"""Clients and servers in one program: what is written is read, and whoever dies, a store stays."""

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from parcast.arrays.library.distribution import Block
from parcast.arrays.library.session import connect
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.npy import NpyWriter
from parcast.mpi.leftovers import processes_of

HERE = Path(__file__).parent
ANSWERING, EXCHANGING = HERE / "answering.py", HERE / "exchanging.py"
REPLACING = HERE / "replacing.py"


@pytest.mark.parametrize(
    ("ranks", "servers", "kind"),
    [(None, 1, "shared"), (3, 2, "shared"), (3, 1, "dedicated")],
)
def test_arrays_are_read_as_they_were_written(ran, tmp_path, ranks, servers, kind):
    status, out, err = ran(EXCHANGING, servers, kind, tmp_path, ranks=ranks)
    assert (status, err) == (0, "")
    is_dedicated = kind == "dedicated"
    clients = (ranks or 1) - is_dedicated * servers
    assert sorted(out.split()) == sorted(
        ["ended"] * (ranks or 1) + ["True"] * clients + ["False"] * is_dedicated * servers
    )


def test_a_rank_that_flushes_its_files_answers_other_servers(ran, tmp_path):
    status, out, err = ran(ANSWERING, tmp_path, ranks=2)
    assert (status, err) == (0, "")
    writers = ("sync", "write-behind", "double-buffer")
    assert sorted(out.splitlines()) == sorted(2 * [f"answered {writer}" for writer in writers])


@pytest.mark.fault(
    "Stores of arrays",
    "A rank is killed at a random moment.",
    promise="The store is whole; no process is left.",
)
def test_whichever_rank_is_killed_the_store_is_whole_and_no_process_is_left(
    started, left, tmp_path
):
    chance = random.Random(2)
    path = tmp_path / "u.zarr"
    process = started(REPLACING, 2, "shared", path, ranks=3)
    assert process.stdout.readline() == "x\n"
    time.sleep(chance.random() * 0.3)
    ranks = [pid for pid in processes_of(process.token) if _is_rank(pid)]
    os.kill(chance.choice(sorted(ranks)), signal.SIGKILL)  # test_dying kills each of them
    left(process, path)


def _is_rank(pid):
    return b"replacing.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1]


@pytest.mark.parametrize("writer", ["sync", "write-behind", "double-buffer"])
def test_a_synchronous_writer_has_each_subchunk_on_the_device_before_the_next(
    tmp_path, monkeypatch, writer
):
    flushed = []
    monkeypatch.setattr(ChunkWriter, "flush", lambda _: flushed.append("zarr"))
    monkeypatch.setattr(NpyWriter, "flush", lambda _: flushed.append("npy"))
    held = {"u": Block(np.arange(64.0).reshape(16, 4), (16, 4), (1, 1))}
    keys = {"writer": writer, "subchunk": 64, "batch": False}
    with connect() as io:
        for name in ("u.zarr", "u.npy"):
            assert io.write(tmp_path / name, held, **keys).servers[0].subchunks == 8
    assert flushed.count("zarr") == (8 if writer == "sync" else 0)
    # At the end the server flushes, and who puts the file in its place.
    assert flushed.count("npy") == (8 if writer == "sync" else 0) + 2
