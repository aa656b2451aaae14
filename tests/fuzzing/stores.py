"""Stores that are hostile: what lies in and beside one is changed, and every command is tried.

A case is a document of JSON: steps that change a store, what lies beside it, and what links lead
to. No step changes anything but the folder of the case.
"""

import json
import os
import shutil
import socket
import subprocess
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import BytesIO, TextIOWrapper
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import strategies as st

from parcast.arrays.library.storing import catalogue
from parcast.arrays.store.command import command
from parcast.arrays.store.interrupted import Owner
from parcast.arrays.store.npy import NpyDraft, NpyWriter
from parcast.arrays.store.place import JOURNAL_SCHEMA, journal_of
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.versions import sweep
from parcast.cli.failures import run
from parcast.errors import ParcastError
from tests.arrays.store.made import append_rows, write_store
from tests.fuzzing.attempts import fault_in, judged

VALUES = np.arange(8.0).reshape(4, 2)
ARRAYS = {"u": VALUES, "v": VALUES}
FORM = {"chunk": (3, 2), "subchunk": (1, 2), "dimensions": ("t", "x")}
STORE = "d/u.zarr"
BESIDE = "d/.u.zarr.parcast-"
FILE = Path("d/a.npy")
MOST = 1000  # elements that are read of an array in each dimension
LONGEST = 4000  # of a chain of folders
CASES = count()
MEMORY = Path("/dev/shm")  # a file system in memory: a flush takes no time
STATUSES = {0, 1, 3, 4, 5}  # 2 is wrong use, and 70 a fault


class FaultError(Exception):
    """A store was handled as it must not be."""


@cache
def template():
    """Files of a folder with a store, one of zarr-python's form, and what links lead to."""
    with TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "outside").mkdir()
        (top / "outside/zarr.json").write_bytes(b"kept")
        (top / "d").mkdir()
        write_store(top / STORE, ARRAYS, **FORM)
        shutil.copytree(top / STORE / "u", top / STORE / "g/w")  # of another's group
        group = {"zarr_format": 3, "node_type": "group"}
        (top / STORE / "g/zarr.json").write_text(json.dumps(group))
        shutil.copytree(top / STORE / "u", top / "outside/u")
        shutil.copytree(top / STORE / "u", top / f"{BESIDE}draft-1/u")
        shutil.copytree(top / STORE / "u", top / f"{BESIDE}append-1/u")
        np.save(top / FILE, VALUES)
        files = (path for path in top.rglob("*") if path.is_file())
        return {str(path.relative_to(top)): path.read_bytes() for path in files}


def lock():
    """What a process that has ended has noted of itself."""
    return Owner(host=socket.gethostname(), pid=2**22 - 1, program="run.py", begun=1.7e9).note()


def journal():
    """What an append that is complete becomes."""
    old = {name: template()[f"{STORE}/{name}/zarr.json"] for name in ARRAYS}
    return journal_of({name: (content, content) for name, content in old.items()})


def _within(top, name):
    """Give the path of a name below a folder of the case; None where it is none."""
    parts = name.split("/") if isinstance(name, str) else [""]
    if {"", ".", ".."} & {*parts} or parts[0] not in ("d", "outside"):
        return None
    return top.joinpath(*parts)


def _put(top, step):
    """Carry out a step; what makes no sense is left out."""
    kind, name, what = step
    path = _within(top, name)
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "remove" or (kind not in {"folder", "size"} and os.path.lexists(path)):
        _remove(path)
    if kind == "write":
        text = what if isinstance(what, str | bytes) else json.dumps(what)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    elif kind == "link":
        there = os.path.normpath(path.parent / str(what))
        path.symlink_to(what if there.startswith(f"{top}/") else "/dev/zero")
    elif kind == "hard" and _within(top, what):
        os.link(_within(top, what), path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    elif kind == "size":
        os.truncate(path, int(what))
    elif kind == "deep":
        make_deep(path, int(what))


def _remove(path):
    """Remove what has a name, however deep it is."""
    subprocess.run(["/bin/rm", "-rf", "--", path], check=False)


def make_deep(path, levels=3000):
    """Make folders in folders, deeper than a path can name."""
    path.mkdir()
    place = os.open(path, os.O_RDONLY)
    for _ in range(min(levels, LONGEST)):
        os.mkdir("f", dir_fd=place)
        below = os.open("f", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)


def prepared(top, steps):
    for name, content in template().items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if not (isinstance(steps, list) and all(isinstance(x, list) and len(x) == 3 for x in steps)):
        steps = []
    for step in steps:
        # OSError: a name that is too long, or a file above; the others: values of other kinds.
        with suppress(OSError, ValueError, TypeError, OverflowError):
            _put(top, step)


def _outside(top):
    """All that lies outside of the store and is not of its writers, to the byte."""
    found = {}
    for path in sorted((top / "outside").rglob("*")):
        what = path.lstat()
        content = path.read_bytes() if path.is_file() and what.st_size < 1e6 else b""
        found[path] = what.st_mode, what.st_size, content
    return found


def _read(path):
    with open_store(path) as store:
        store.attributes  # noqa: B018 - it is computed
        for name in store:
            with suppress(ParcastError):
                array = store[name]
                array.read((0,) * len(array.shape), tuple(min(n, MOST) for n in array.shape))
                array.read(lost=0)
    catalogue(str(path), None)


def _verified(path):
    """Check it, and print what was found in every way."""
    result = verify(path)
    repr(result)
    str(result)
    json.dumps(result.to_document(), allow_nan=False)


def _version(path):
    write_store(path, ARRAYS, overwrite=True, versions=2, **FORM)
    _verified(path)


def _array(path):
    """Check the array beside the store, clear up beside it, and write it anew."""
    file = path.with_name(FILE.name)
    for do in (verify, sweep):
        with suppress(ParcastError):
            do(file)
    with NpyDraft.create(file, VALUES.shape, VALUES.dtype, overwrite=True) as draft:
        with NpyWriter(draft.part) as writer:
            writer.write(0, VALUES)
        draft.commit()
    if not np.array_equal(np.load(file), VALUES):
        raise FaultError("another array than was written")


def _overwritten(path):
    """Write the store anew: after that it is whole."""
    write_store(path, ARRAYS, overwrite=True, **FORM)
    with open_store(path) as store:
        if any(not np.array_equal(store[name].read(), VALUES) for name in ARRAYS):
            raise FaultError("another store than was written")


def _asked(path, *options):
    said = BytesIO()
    with (
        TextIOWrapper(said, encoding="utf-8") as stream,
        redirect_stdout(stream),
        redirect_stderr(stream),
    ):
        status = run(command, [*options, str(path)])
        stream.flush()
        wrong = fault_in(said.getvalue().decode())
    if status not in STATUSES or wrong:
        raise FaultError(f"status {status} {wrong}")


COMMANDS = {
    "verify": _verified,
    "read": _read,
    "append": lambda path: append_rows(path, ARRAYS),
    "parcast arrays verify --json": lambda path: _asked(path, "--json"),
    "parcast arrays verify --sweep": lambda path: _asked(path, "--sweep"),
    "overwrite": _overwritten,
    "write a version": _version,
    "write an array": _array,
}
FOR_ONE_FILE = ("verify", "read", "append", "parcast arrays verify --sweep")


def attacked(path, steps, names=tuple(COMMANDS)):
    """Do what can be done with a store, which may be refused in words."""
    folder = MEMORY if MEMORY.is_dir() else path.parent
    top = folder / f"parcast-case-{os.getpid()}-{next(CASES)}"
    try:
        prepared(top, steps)
        before = _outside(top)
        for name in names:
            try:
                COMMANDS[name](top / STORE)
            except ParcastError as refusal:
                kind, detail = judged(refusal)
                if kind != "refused":
                    raise FaultError(f"{name}: {detail}") from refusal
            except OSError as failure:
                raise FaultError(f"{name}: an error of the system, {failure}") from failure
            if _outside(top) != before:
                raise FaultError(f"{name} has changed what lies outside")
    finally:
        _remove(top)


def attack(path):
    """Read the steps of a case, and try all."""
    try:
        steps = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        steps = []
    attacked(path, steps)


def with_file(*places):
    """Put the document in places of the folder, and try what reads them."""

    def read(path):
        content = path.read_bytes()
        attacked(path, [["write", place, content] for place in places], FOR_ONE_FILE)

    return read


_numbers = st.sampled_from((0, 1, -1, 2**63, 10**12, 1e300, float("nan"), 4096, 10**18))
_values = st.recursive(
    _numbers | st.sampled_from((None, True, "", "..", "/etc", "u/../..", "a\0b", "x" * 300, [])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("u"), inner),
    max_leaves=4,
)
_places = st.sampled_from(
    (
        *(f"{STORE}{x}" for x in ("", "/zarr.json", "/u", "/u/zarr.json", "/u/c.0.0", "/v")),
        *(f"{STORE}{x}" for x in ("/v/zarr.json", "/v/c.1.0", "/g", "/g/zarr.json", "/g/w/c.0.0")),
        *(f"{STORE}/{x}" for x in ("new", "g/new", "u/new", "u/c.5.0", "u/c.9", "n" * 250)),
        *(f"{STORE}/{x}" for x in ("\x1b[31m", "u/\x07", "\udcff", "v/\udcff", "a\nb")),
        *(f"{BESIDE}{x}" for x in ("lock", "journal", "old", "old/zarr.json", "draft-1")),
        *(f"{BESIDE}{x}" for x in ("draft-1/u/zarr.json", "draft-2", "append-1/u/c.1.0")),
        *(f"{STORE}.parcast-{x}" for x in ("000001", "000007", "000001/zarr.json", "9" * 18)),
        *(f"d/{x}" for x in (FILE.name, ".a.npy.parcast-lock", ".a.npy.parcast-draft-1")),
        *(f"{BESIDE}{x}" for x in ("append-1/zarr.json", "append-1/u/zarr.json", "append-1/x")),
    )
)
_targets = st.sampled_from(
    (
        ".",
        "..",
        "u.zarr",
        "u.zarr.parcast-000001",
        "../outside/u",
        "../../outside/u",
        "../outside",
        "../../outside/zarr.json",
        "/dev/zero",
    )
)
_hard = st.sampled_from(("outside/zarr.json", "outside/u/c.0.0", f"{STORE}/v/c.0.0"))


@st.composite
def _changed(draw):
    """Metadata, a journal or a manifest with some value that it should not have."""
    place = f"{STORE}{draw(st.sampled_from(('', '/u', '/v', '/g', '/g/w')))}/zarr.json"
    document = json.loads(template()[place])
    key = draw(st.sampled_from((*document, "attributes", "consolidated_metadata")))
    document[key] = draw(_values)
    if key == "attributes" and draw(st.booleans()):
        names = draw(st.lists(_values, max_size=3))
        document[key] = {"parcast": {"schema": "parcast/array-store/1", "arrays": names}}
    if key == "chunk_grid" and draw(st.booleans()):
        document[key] = {"name": "regular", "configuration": {"chunk_shape": [draw(_numbers), 2]}}
    if key == "shape" and draw(st.booleans()):
        document[key] = [draw(_numbers), 2]
    draft = draw(st.sampled_from((f"{BESIDE}draft-1", f"{BESIDE}append-1", STORE, STORE)))
    return ["write", place.replace(STORE, draft), document]


@st.composite
def _journals(draw):
    node = {"was": draw(_values), "becomes": draw(_values)}
    nodes = draw(_values | st.just({draw(st.sampled_from(("u", "../outside", "", "v/c"))): node}))
    return ["write", f"{BESIDE}journal", {"schema": JOURNAL_SCHEMA, "nodes": nodes}]


@st.composite
def _locks(draw):
    note = json.loads(lock())
    note[draw(st.sampled_from(tuple(note)))] = draw(_values)
    return ["write", f"{BESIDE}lock", note]


_steps = st.one_of(
    _changed(),
    _changed(),
    _journals(),
    _locks(),
    st.tuples(st.just("link"), _places, _targets).map(list),
    st.tuples(st.just("hard"), _places, _hard).map(list),
    st.tuples(st.sampled_from(("pipe", "socket", "folder", "remove")), _places, st.none()).map(
        list
    ),
    st.tuples(st.just("deep"), _places, st.sampled_from((3, 900, 3000))).map(list),
    st.tuples(st.just("size"), _places, st.sampled_from((0, 5, 100, 2**31, 2**40))).map(list),
    st.tuples(st.just("write"), _places, st.sampled_from(("", "{", "[" * 10**5, "\0"))).map(list),
)
cases = st.lists(_steps, min_size=1, max_size=4).map(lambda steps: json.dumps(steps).encode())
FILES = {  # places that a document takes, with what is valid there
    "zarr-lock": ((f"{BESIDE}lock",), lock),
    "zarr-journal": ((f"{BESIDE}journal",), journal),
    "zarr-draft": (
        (f"{BESIDE}draft-1/u/zarr.json", f"{BESIDE}append-1/u/zarr.json"),
        lambda: template()[f"{STORE}/u/zarr.json"],
    ),
    "zarr-draft-chunk": ((f"{BESIDE}append-1/u/c.0.0",), lambda: template()[f"{STORE}/u/c.0.0"]),
}
