"""Disks that are full, read-only or beyond a quota: all ranks are told, the old store stays."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from parcast.arrays.library.session import connect
from parcast.arrays.store.npy import open_npy
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.mpi.find import find_mpi
from tests.arrays.library.faulty import old, written
from tests.arrays.store.interruptions import status_of

FAULTY = Path(__file__).parent / "faulty.py"
RANKS = 4
SMALL, LARGE = 16, 2048  # rows of 8 KiB; the large one takes 16 MiB
MOUNTED = """
mount -t tmpfs -o size=4m none small || exit 99
cp -r old/. small || exit 98
{prepare}
{mpiexec} -n {ranks} {python} {program} {action} small/{path} {rows} {kind}
echo "status $?"
cp -r small after
"""
ADVICE = {
    "no space left on device": "Free space there, or choose another place.",
    "read-only file system": "Choose a place that can be written to.",
    "disk quota exceeded": "Delete files or ask for a larger quota, or choose another place.",
}


def why_not():
    """Say why no file system can be mounted here; nothing if one can."""
    command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=4m none /mnt"]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as missing:
        return str(missing)
    return tried.stderr.strip() if tried.returncode else ""


WHY_NOT = why_not()


def check(folder, err, path, *, why, kind, action):
    """Every rank has the error, and the old store is there alone."""
    said = [line for line in err.splitlines() if why in line]
    assert err.count(why) == RANKS  # two ranks may share a line
    first = next(line for line in said if "RunFailed: " in line).partition("RunFailed: ")[2]
    assert err.count("has ended with RunFailed: ") == (2 if kind == "dedicated" else 0)
    assert ADVICE[why] in first
    state = "Nothing was put there." if action == "write" else f"{path} is as it was before."
    assert state in first
    assert {x.name for x in folder.iterdir()} == {"u.zarr", "u.npy"}  # no draft, no lock
    for file in folder.iterdir():
        assert verify(file).status == status_of(file)
        if file.suffix == ".npy":
            with open_npy(file) as stored:
                values = stored.read()
        else:
            with open_store(file) as store:
                values = store["array"].read()
        assert values.shape == (SMALL, 1024)
        assert not values.any()


@pytest.mark.fault(
    "Stores of arrays",
    "The disk is full or read-only during a collective write.",
    promise="Every rank gets the error; the store is as it was; no draft and no lock is left.",
)
@pytest.mark.skipif(WHY_NOT != "", reason=f"unshare -rm mount: {WHY_NOT}")
@pytest.mark.parametrize(
    ("action", "path", "kind", "why"),
    [
        ("overwrite", "u.npy", "shared", "no space left on device"),
        ("append", "u.zarr", "dedicated", "read-only file system"),
    ],
)
def test_a_disk_that_is_full_or_read_only_is_told_to_every_rank(  # noqa: PLR0917 - a row
    started, gone, tmp_path, action, path, kind, why
):
    (tmp_path / "small").mkdir()
    (tmp_path / "old").mkdir()
    old(tmp_path / "old")
    is_full = why.startswith("no space")
    script = MOUNTED.format(
        python=sys.executable,
        program=FAULTY,
        prepare="" if is_full else "mount -o remount,ro small",
        mpiexec=find_mpi().mpiexec,
        ranks=RANKS,
        action=action,
        path=path,
        rows=LARGE if is_full else SMALL,
        kind=kind,
    )
    (tmp_path / "inner.sh").write_text(script)
    outer = tmp_path / "outer.py"
    outer.write_text("import os\nos.execvp('unshare', ['unshare', '-rm', 'sh', 'inner.sh'])\n")
    process = started(outer)
    out, err = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "status 1", err
    assert "ended" not in out
    check(tmp_path / "after", err, f"{tmp_path}/small/{path}", why=why, kind=kind, action=action)
    assert gone(process)


@pytest.mark.fault(
    "Stores of arrays",
    "A system call fails on one server.",
    promise="Every rank gets the error; the store is as it was; the next write works.",
)
@pytest.mark.parametrize(
    ("action", "path", "call"),
    [
        ("write", "new.zarr", "fsync ENOSPC 1 2"),  # of rank 1, the server master
        ("overwrite", "u.npy", "fsync ENOSPC 3 1"),  # of rank 3, the other one
        ("append", "u.zarr", "pwritev EDQUOT 1 2"),
    ],
)
def test_a_call_that_fails_on_one_server_is_told_to_every_rank(ran, tmp_path, action, path, call):
    folder = tmp_path / "disk"
    folder.mkdir()
    old(folder)
    rows = 64 if path == "u.npy" else 32
    arguments = [action, folder / path, rows, "shared", *call.split()]
    status, out, err = ran(FAULTY, *arguments, ranks=RANKS)
    why = "no space left on device" if "ENOSPC" in call else "disk quota exceeded"
    assert (status, out) == (1, ""), err
    check(folder, err, str(folder / path), why=why, kind="shared", action=action)
    with connect() as io:  # with the fault mended
        written(io, action, folder / path, rows)
    assert verify(folder / path).status == status_of(path)


LOST = """
import sys
import numpy as np
from parcast.arrays import connect
from parcast.errors import FileProblems
with connect(servers=2) as io:
    n, me = len(io.clients), io.client
    for call in (
        lambda: io.read("u.zarr", ["u"]),
        lambda: io.read("u.zarr", ["u"], box=((12, 0), (3, 8))),
        lambda: io.read("u.zarr", ["w"]),
    ):
        try:
            call()
        except FileProblems as damage:
            sys.stdout.write(str(damage).splitlines()[1].partition(" (array")[0] + "\\n")
    whole = io.read("u.zarr", ["v"], mesh=(n, 1))["v"]
    assert (whole == np.arange(128.0).reshape(16, 8)[16 * me // n : 16 * (me + 1) // n]).all()
    upper = io.read("u.zarr", ["u"], box=((0, 0), (12, 8)))["u"]
    assert (upper == np.arange(96.0).reshape(12, 8)[12 * me // n : 12 * (me + 1) // n]).all()
    small = io.read("u.zarr", ["s"], box=((0,), (4,)), mesh=(n,))["s"]
    assert (small == np.arange(4)[4 * me // n : 4 * (me + 1) // n]).all()
    rest = io.read("u.zarr", ["u", "v"], lost=np.nan)
    expected = np.arange(128.0).reshape(16, 8)
    expected[12:14] = np.nan
    own = expected[16 * me // n : 16 * (me + 1) // n]
    assert np.array_equal(rest["u"], own, equal_nan=True)
    assert not np.isnan(rest["v"]).any()
    gone = io.read("u.zarr", ["w"], lost=-7)["w"]
    assert (gone == -7).all()
"""


@pytest.mark.fault(
    "Stores of arrays",
    "Parts of a store are damaged or missing.",
    promise="Damage is named; everything else can be read.",
)
def test_what_is_not_damaged_is_read_through_the_library(ran, tmp_path):
    from tests.arrays.store.made import write_store

    path = tmp_path / "u.zarr"
    values = np.arange(128.0).reshape(16, 8)
    write_store(path, {"u": values, "v": values, "w": values}, chunk=(8, 8), subchunk=(2, 8))
    small = write_store(tmp_path / "s.zarr", {"s": np.arange(8.0)}, chunk=(8,), subchunk=(2,))
    (small / "s").rename(path / "s")
    for file, at in (("u/c.1.0", 2 * 132 + 9), ("s/c.0", 3 * 20 + 5)):
        content = bytearray((path / file).read_bytes())
        content[at] ^= 1
        (path / file).write_bytes(content)
    for file in ("w/c.0.0", "w/c.1.0"):
        (path / file).unlink()
    status, out, err = ran(LOST, ranks=3)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert sorted({*lines}) == [
        "  file  has other bytes than were written: its checksum differs",
        "  file  is missing",
    ]
    assert len(lines) == 9
