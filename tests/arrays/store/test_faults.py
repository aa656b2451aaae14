"""Places that cannot be written to, made with real file systems where that is permitted."""

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

SCRIPT = """
    import os, subprocess, sys
    import numpy as np
    from parcast.arrays.store.draft import Draft
    from parcast.arrays.store.writing import Writer
    from parcast.arrays.store.layout import ArraySpec
    from parcast.arrays.store.npy import NpyDraft, NpyWriter
    from parcast.arrays.store.reading import open_store
    from parcast.arrays.store.verify import verify
    from parcast.errors import RunFailed
    def write(path, size, **settings):
        array = np.random.default_rng(0).random(size)
        spec = ArraySpec(name="u", shape=(size,), dtype="f8", chunk=(65536,), subchunk=(8192,))
        with Draft.create(path, [spec], **settings) as draft:
            with Writer(draft.part) as writer:
                writer.write("u", array)
                writer.flush()
            draft.commit()
    def write_npy(path, size):
        with NpyDraft.create(path, (size,), "f8", overwrite=True) as draft:
            with NpyWriter(draft.part) as writer:
                writer.write(0, np.zeros(size))
                writer.flush()
            draft.commit()
    def mount(*options):
        subprocess.run(["mount", *options, sys.argv[1]], check=True)
    mount("-t", "tmpfs", "-o", "size=4m", "tmpfs")
    os.chdir(sys.argv[1])
"""


@pytest.fixture
def on_small_disk(tmp_path):
    """Run Python where a folder is a file system of 4 MB of its own; give what it prints."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not permit unshare -rm")
    place = tmp_path / "disk"
    place.mkdir()

    def run(code):
        whole = textwrap.dedent(SCRIPT) + textwrap.dedent(code)
        done = subprocess.run(
            ["unshare", "-rm", sys.executable, "-c", whole, place],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(str(place), "DISK").splitlines()

    return run


@pytest.mark.fault(
    "Stores of arrays",
    "The disk is full during a write or an append.",
    promise="Array and chunk are named; the old store, or its rows, stay.",
)
def test_a_full_disk_is_told_with_array_and_chunk_and_the_old_store_stays(on_small_disk):
    said = on_small_disk("""
        write("s.zarr", 1000)
        for call in (
            lambda: write("s.zarr", 10**6, overwrite=True),
            lambda: write("t.zarr", 10**6),
            lambda: write_npy("a.npy", 10**6),
        ):
            try:
                call()
            except RunFailed as error:
                print(error)
        print(os.listdir(), verify("s.zarr").status)
        with open_store("s.zarr") as store:
            print(store["u"].shape)
        write("t.zarr", 1000)
    """)
    place = "DISK/s.zarr: no space left on device. DISK/s.zarr is as it was before. Free space"
    assert said[0].startswith("Array u, chunk ")
    assert said[0].endswith(f", cannot be written to {place} there, or choose another place.")
    assert "DISK/t.zarr: no space left on device. Nothing was put there." in said[1]
    assert said[2] == (
        "The array cannot be written to DISK/a.npy: no space left on device. "
        "Nothing was put there. Free space there, or choose another place."
    )
    assert said[3:] == ["['s.zarr'] whole", "(1000,)"]


@pytest.mark.fault(
    "Stores of arrays",
    "The disk is full during a write or an append.",
    promise="Array and chunk are named; the old store, or its rows, stay.",
)
def test_a_full_disk_at_an_append_leaves_the_rows_that_were_there(on_small_disk):
    said = on_small_disk("""
        write("s.zarr", 100_000)
        try:
            with Draft.append("s.zarr", 10**6) as draft, Writer(draft.part) as writer:
                writer.write("u", np.random.default_rng(1).random(10**6))
                writer.flush()
                draft.commit()
        except RunFailed as error:
            print(error)
        print(os.listdir(), verify("s.zarr").status)
        with open_store("s.zarr") as store:
            print((store["u"].read() == np.random.default_rng(0).random(100_000)).all())
    """)
    assert "cannot be written to DISK/s.zarr: no space left on device." in said[0]
    assert said[1:] == ["['s.zarr'] whole", "True"]


@pytest.mark.fault(
    "Stores of arrays", "The disk is read-only.", promise="Writing is refused; reading works."
)
def test_a_read_only_disk_is_told_and_can_be_read(on_small_disk):
    said = on_small_disk("""
        write("s.zarr", 1000)
        os.rename("s.zarr", ".s.zarr.parcast-old")
        write("t.zarr", 1000)
        os.chdir("/")
        mount("-o", "remount,ro")
        os.chdir(sys.argv[1])
        for call in (
            lambda: write("t.zarr", 10, overwrite=True),
            lambda: write_npy("a.npy", 10),
            lambda: Draft.append("t.zarr", 1),
        ):
            try:
                call()
            except RunFailed as error:
                print(error)
        with open_store("t.zarr") as store, open_store("s.zarr") as aside:
            print(store["u"].shape, aside["u"].shape)
        print(verify("t.zarr").status, verify("s.zarr").status)
    """)
    assert said == [
        "The store cannot be written to DISK/t.zarr: read-only file system. "
        "DISK/t.zarr is as it was before. Choose a place that can be written to.",
        "The array cannot be written to DISK/a.npy: read-only file system. "
        "Nothing was put there. Choose a place that can be written to.",
        "The store cannot be written to DISK/t.zarr: read-only file system. "
        "DISK/t.zarr is as it was before. Choose a place that can be written to.",
        "(1000,) (1000,)",
        "whole interrupted",
    ]
