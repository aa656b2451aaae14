"""Writes that are killed, or fail, at every system call; run in a process of its own.

    python interruptions.py FOLDER ACTION kill|ENOSPC|EDQUOT|EIO|log STRIDE [fallback]

For k = 1, 1 + STRIDE, ... a fresh child does the action, and its k-th system call that changes
something fails: it dies by SIGKILL before the call, or after half of its bytes are written, or the
call gives an error. The parent then looks at what is there; after some steps it has the next
writer go on. With "fallback", names cannot be exchanged. It prints one line of JSON: how many
steps there were, every state found, and what was said; with "log", the calls of an undisturbed
action and the paths that they change.
"""

import errno
import json
import os
import shutil
import signal
import sys
from collections import Counter
from itertools import count
from pathlib import Path

import numpy as np

from parcast.arrays.store import durable
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.npy import NpyDraft, NpyWriter, open_npy
from parcast.arrays.store.place import StorePlace
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.arrays.store.versions import sweep
from parcast.arrays.store.writing import Writer
from parcast.errors import RunFailed

CHANGING = (
    *("open", "mkdir", "write", "pwrite", "pwritev", "fsync", "rename", "replace"),
    *("unlink", "rmdir", "ftruncate", "symlink"),
)
FOLLOWED = 3  # each of so many steps is followed by the next write
ROWS, LATER = 6, 4  # at first, and appended; 6 is in the middle of a chunk
OLD = np.arange(ROWS * 5 * 3, dtype="f8").reshape(ROWS, 5, 3)
NEW = np.arange(ROWS * 5 * 3, dtype="f4").reshape(ROWS, 5, 3) * -1
MORE = np.arange(LATER * 5 * 3, dtype="f8").reshape(LATER, 5, 3) + 1000


class Steps:
    """Counts the calls that change something, and does something else at one of them."""

    def __init__(self, at, action):
        self.at, self.action, self.count, self.log = at, action, 0, []

    def install(self):
        for name in CHANGING:
            setattr(os, name, self.wrapped(name, getattr(os, name)))
        for name in ("exchange", "flush_all"):
            setattr(durable, name, self.wrapped(name, getattr(durable, name)))

    def wrapped(self, name, call):
        def step(*args, **kwargs):
            if name == "open" and not args[1] & (os.O_CREAT | os.O_TRUNC):
                return call(*args, **kwargs)
            self.count += 1
            self.log.append((name, [path_of(x) for x in args[:2]]))
            if self.count == self.at:
                self.action(name, args)
            return call(*args, **kwargs)

        return step


def path_of(argument):
    """Name what a call changes: the path of an open file, or a path as it is."""
    if isinstance(argument, int):
        return os.path.realpath(f"/proc/self/fd/{argument}")
    return os.fspath(argument) if isinstance(argument, str | os.PathLike) else ""


def killed(name, args):
    """Die; half of the bytes of a write are written before."""
    if name == "pwritev":
        file, parts, offset = args
        content = b"".join(map(bytes, parts))
        killed.write(file, content[: len(content) // 2], offset)
    os.kill(os.getpid(), signal.SIGKILL)


def failing(code):
    """Fail with an error; once."""

    def fail(*_):
        raise OSError(code, os.strerror(code))

    return fail


def specs(dtype):
    """Two arrays of a group; chunks of four rows."""
    cut = {"chunk": (4, 5, 3), "subchunk": (2, 5, 1), "dimensions": ("t", "y", "x")}
    return [
        ArraySpec(name="u", shape=OLD.shape, dtype=dtype, **cut),
        ArraySpec(name="v", shape=OLD.shape, dtype=dtype, zstd=1, **cut),
    ]


def write(path, array, **options):
    """Write a store with two arrays and a coordinate."""
    with Draft.create(
        path, specs(array.dtype), coordinates={"t": np.arange(float(len(array)))}, **options
    ) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", array)
            writer.write("v", array * 2)
            writer.flush()
        draft.commit()


def append(path):
    """Append rows to both arrays and the coordinate."""
    times = np.arange(ROWS, ROWS + LATER) * 1.0
    with Draft.append(path, LATER, coordinates={"t": times}) as draft:
        with Writer(draft.part) as writer:
            writer.write("u", MORE)
            writer.write("v", MORE * 2)
            writer.flush()
        draft.commit()


def write_npy(path, array, *, overwrite=False):
    """Write a .npy file by two slabs."""
    with NpyDraft.create(path, array.shape, array.dtype, overwrite=overwrite) as draft:
        with NpyWriter(draft.part) as writer:
            writer.write(0, array[:2])
            writer.write(2, array[2:])
            writer.flush()
        draft.commit()


def status_of(path):
    """What `verify` says of an undamaged store: a .npy file has no checksums."""
    return "unchecked" if str(path).endswith(".npy") else "whole"


def state_of(path):
    """What a reader finds: which of the known contents, or "half" where it is none of them."""
    return known_as(path, {"old": OLD, "new": NEW, "appended": np.concatenate([OLD, MORE])})


def known_as(path, known):
    """Name the contents of a store or .npy file, "half" where they are none of the known ones."""
    if not path.exists() and not StorePlace.of(path).aside.exists():
        return "absent"
    if path.suffix == ".npy":
        with open_npy(path) as stored:
            u = stored.read()
    else:
        with open_store(path) as store:
            u, v, t = (store[name].read() for name in "uvt")
        if not same(v, u * 2) or len(t) != len(u):
            return "half"
    return next((name for name, array in known.items() if same(u, array)), "half")


def same(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other)


ACTIONS = {
    "create": (None, lambda path: write(path, NEW), ("absent", "new")),
    "replace": (
        lambda path: write(path, OLD),
        lambda path: write(path, NEW, overwrite=True),
        ("old", "new"),
    ),
    "version": (
        lambda path: write(path, OLD, versions=1),
        lambda path: write(path, NEW, overwrite=True, versions=1),
        ("old", "new"),
    ),
    "first version": (
        lambda path: write(path, OLD),
        lambda path: write(path, NEW, overwrite=True, versions=1),
        ("old", "new"),
    ),
    "append": (lambda path: write(path, OLD), append, ("old", "appended")),
    "npy": (
        lambda path: write_npy(path, OLD),
        lambda path: write_npy(path, NEW, overwrite=True),
        ("old", "new"),
    ),
}


def prepared(folder, action):
    """Make the state before an action in a fresh folder, once; later it is copied."""
    name, before = ("store.npy" if action == "npy" else "store.zarr"), folder.with_name("before")
    if not before.exists():
        before.mkdir(parents=True)
        if ACTIONS[action][0] is not None:
            ACTIONS[action][0](before / name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(before, folder, symlinks=True)
    return folder / name


def in_child(path, action, at, fault):
    """Do an action in a child that fails at a step; give how it ended, and what it said."""
    said = path.parent.parent / "said"
    child = os.fork()
    if not child:
        killed.write = os.pwrite
        steps = Steps(at, killed if fault == "kill" else failing(getattr(errno, fault)))
        with said.open("w") as stream:
            steps.install()
            try:
                ACTIONS[action][1](path)
            except RunFailed as error:
                stream.write(str(error))
            except BaseException as error:
                stream.write(f"unexpected {type(error).__name__}: {error}")
        os._exit(0 if steps.count < at else 1)
    _, status = os.waitpid(child, 0)
    return status, said.read_text()


def is_version(file, path):
    """Tell whether a file is a version of a store, which the next write may keep or remove."""
    return file.name.startswith(f"{path.name}.parcast-0")


def check_message(said, state, action, path, at):
    """What is said of an error names the place, and agrees with what is there."""
    if not said:
        return
    assert not said.startswith("unexpected"), (at, said)
    assert path in said, (at, said)
    if "as it was before" in said or "Nothing" in said:
        assert state == ACTIONS[action][2][0], (at, said)
    else:
        assert state == ACTIONS[action][2][1], (at, said)


def go_on(path, action, state, at):
    """Clear up and write as the next writer does, and check what is there each time."""
    sweep(path)  # what it does first
    assert state_of(path) == state, at
    left = {x.name for x in path.parent.iterdir() if not is_version(x, path)} - {path.name}
    assert not left, (at, left)
    if path.exists():
        clean = verify(path)
        assert clean.status == status_of(path), (at, clean.faults)
    if state in ("absent", "old"):
        ACTIONS[action][1](path)
    assert state_of(path) == ACTIONS[action][2][1], at
    assert verify(path).status == status_of(path), (at, verify(path).to_document())


def main():
    folder, action, fault, stride, *fallback = Path(sys.argv[1]), *sys.argv[2:]
    if fallback:
        durable.exchange = lambda *_: False
    if fault == "log":
        path = prepared(folder / "here", action)
        steps = Steps(0, killed)
        steps.install()
        ACTIONS[action][1](path)
        sys.stdout.write(json.dumps([str(path), steps.log]))
        return
    states, verdicts, messages = Counter(), Counter(), Counter()
    for at in count(1, int(stride)):
        path = prepared(folder / "here", action)
        status, said = in_child(path, action, at, fault)
        if status == 0:
            break
        killed_it = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed_it == (fault == "kill"), (at, status)
        state = state_of(path)
        check_message(said, state, action, str(path), at)
        messages[said.replace(str(path), "STORE")] += 1
        assert state in ACTIONS[action][2], (at, state)
        states[state] += 1
        if path.exists():
            verdict = verify(path)
            verdicts[verdict.status] += 1
            assert verdict.status != "damaged", (at, verdict.to_document())
        if at % FOLLOWED == 1:
            go_on(path, action, state, at)
    found = {
        "steps": at - int(stride),
        "states": states,
        "verdicts": verdicts,
        "messages": messages,
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
