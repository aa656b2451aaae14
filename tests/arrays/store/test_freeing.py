"""What is replaced is gone at once, and its blocks are freed while the program goes on."""

import errno
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from parcast.arrays.store import freeing
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.npy import NpyDraft
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.writing import Writer

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

ROWS = 1 << 18  # of float64, more than a file that is freed at once


def write(path, value):
    spec = ArraySpec(name="u", shape=(ROWS,), dtype="f8", subchunk=(ROWS // 8,))
    with Draft.create(path, [spec], overwrite=True) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", np.full(ROWS, value))
            writer.flush()
        draft.commit()


@pytest.fixture
def held(monkeypatch):
    """Hold back what frees files, until the event is set."""
    go, free = threading.Event(), freeing._free

    def wait(*given):
        go.wait(30)
        free(*given)

    monkeypatch.setattr(freeing, "_free", wait)
    yield go
    go.set()
    freeing.wait_until_freed()


def open_files(folder):
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return [link for link in links if os.path.realpath(link).startswith(str(folder))]


def test_a_replaced_store_is_gone_before_its_blocks_are_free(tmp_path, held):
    path = tmp_path / "s.zarr"
    for value in (1.0, 2.0, 3.0):
        write(path, value)
        assert [*tmp_path.iterdir()] == [path]
        assert not verify(path).faults
    assert len(open_files(tmp_path)) == 2
    held.set()
    assert freeing.wait_until_freed()
    assert not freeing.wait_until_freed()
    assert open_files(tmp_path) == []
    with open_store(path) as store:
        assert np.array_equal(store["u"].read(), np.full(ROWS, 3.0))


def test_a_replaced_npy_file_too(tmp_path, held):
    for _ in range(2):
        NpyDraft.create(tmp_path / "u.npy", (ROWS,), "f8", overwrite=True).commit()
    assert [*tmp_path.iterdir()] == [tmp_path / "u.npy"]
    assert len(open_files(tmp_path)) == 1
    held.set()


def test_a_program_that_ends_at_once_leaves_nothing(tmp_path):
    code = (
        "import sys; from tests.arrays.store.test_freeing import write\n"
        "for value in (1.0, 2.0): write(sys.argv[1], value)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "s.zarr"], check=True)
    assert [*tmp_path.iterdir()] == [tmp_path / "s.zarr"]


def test_a_full_disk_waits_for_what_is_being_freed(tmp_path, monkeypatch):
    path, freed, pwritev = tmp_path / "s.zarr", threading.Event(), os.pwritev

    def full(*given):
        if not freed.is_set():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwritev(*given)

    write(path, 1.0)
    monkeypatch.setattr(freeing, "_FREEING", [threading.Timer(0.05, freed.set)])
    freeing._FREEING[0].start()
    monkeypatch.setattr(os, "pwritev", full)
    write(path, 2.0)
    with open_store(path) as store:
        assert store["u"].read(0, 1) == 2.0
