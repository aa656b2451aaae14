"""Requests of which a rank is killed at one step, on ranks that are forked; run as a process.

    python dying.py FOLDER ACTION,... VICTIM STRIDE dedicated|shared

For each action and k = 1, 1 + STRIDE, ... four fresh ranks do the action, and the victim dies by
SIGKILL before its k-th step: a message that it sends or has received, or a call that changes
files. Messages go over sockets instead of MPI, as starting mpiexec for every step would take
minutes; the rest is what a program on ranks does. As mpiexec does, the parent kills the other
ranks then: of every second step at once, of the others when they have had time to go on. It checks
what is there, and what verify and the next write say, and prints one line of JSON: what was found
of each action.
"""

import json
import mmap
import os
import pickle
import shutil
import signal
import socket
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from parcast.arrays.library import session as sessions
from parcast.arrays.library.distribution import Block, block_of
from parcast.arrays.library.session import Session, connect
from parcast.arrays.store.interrupted import InterruptedWriteWarning
from parcast.arrays.store.place import StorePlace
from parcast.arrays.store.verify import verify
from parcast.mpi.messages import EMPTY, Message
from tests.arrays.store.interruptions import Steps, killed, known_as, status_of

CLIENTS = {"dedicated": (0, 1), "shared": (0, 1, 2, 3)}
SERVERS = (2, 3)
VICTIMS = {"client-master": 0, "client": 1, "server-master": 2, "server": 3}
RANKS = len(VICTIMS)
GRACE = 0.02  # in which the others go on after a rank has died [s]
LONGEST = 20.0  # of a request [s]
OLD = np.arange(8 * 4, dtype="f8").reshape(8, 4)
NEW = OLD.astype("f4") * -1
MORE = OLD + 1000
STATES = {
    "write": ("absent", "new"),
    "overwrite": ("old", "new"),
    "append": ("old", "appended"),
    "npy": ("old", "new"),
}


class Sockets:
    """A communicator and channel of one rank: small messages over sockets, which never block."""

    size, leaving, may_use_threads = RANKS, 0, True

    def __init__(self, rank, ends, memory):
        self.rank, self.memory, self._own, self._ended = rank, memory, [], set()
        self._ends = {peer: ends[rank, peer] for peer in range(RANKS) if peer != rank}
        for (mine, _), end in ends.items():
            if mine != rank:
                end.close()
        self.step = lambda _: None

    def send(self, target, content, value=EMPTY):
        self.step("send")
        if target == self.rank:
            self._own.append(Message(target, content, value))
            return
        try:
            self._ends[target].send(pickle.dumps((content, None if value is EMPTY else value)))
        except OSError:
            self._ended.add(target)  # MPI ends this rank as well, sooner or later

    def poll(self):
        arrived, self._own = self._own, []
        for peer, end in self._ends.items():
            while peer not in self._ended:
                try:
                    read = end.recv(1 << 18)
                except BlockingIOError:
                    break
                except OSError:
                    read = b""
                if not read:
                    self._ended.add(peer)
                    break
                content, value = pickle.loads(read)
                arrived.append(Message(peer, content, EMPTY if value is None else value))
        for _ in arrived:
            self.step("receive")
        return arrived

    def drain(self):
        return True

    def Ibarrier(self):  # noqa: N802 - as MPI calls it
        self.step("barrier")
        self.memory[self.rank] = 1
        return self

    def Test(self):  # noqa: N802 - as MPI calls it
        return all(self.memory[:RANKS])

    def Free(self):  # noqa: N802 - as MPI calls it
        pass

    def Abort(self, code):  # noqa: N802 - as MPI calls it
        os._exit(code)


def path_in(folder, action):
    return folder / ("u.npy" if action == "npy" else "u.zarr")


class Request(NamedTuple):
    """What is done through the library."""

    path: Path
    action: str
    clients: tuple = CLIENTS["dedicated"]

    def submit(self, io):
        write(io, self.path, MORE if self.action == "append" else NEW, self.action)


def write(io, path, array, action):
    """Write one or two arrays, or append to them."""
    mesh = (1, len(io.clients))
    start, count = block_of(array.shape, mesh, io.client)
    own = array[:, start[1] : start[1] + count[1]]
    held = {"u": Block(own, array.shape, mesh), "v": Block(own * 2, array.shape, mesh)}
    if action == "npy":
        io.write(path, {"u": held["u"]}, overwrite=True, subchunk=64)
    elif action == "append":
        io.append(path, held, coordinates={"t": np.arange(8.0, 16.0)})
    else:
        names = {"u": ("t", "x"), "v": ("t", "x")}
        times = {"t": np.arange(8.0)}
        keys = {"dimensions": names, "coordinates": times, "subchunk": 64}
        io.write(path, held, overwrite=action == "overwrite", **keys)


def on_ranks(request, victim, at):
    """Do a request on forked ranks, of which one dies at a step; tell how many steps it did."""
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    ends = {}
    for i in range(RANKS):
        for j in range(i):
            ends[i, j], ends[j, i] = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends.values():
        end.setblocking(False)
    pids = []
    for rank in range(RANKS):
        pids.append(os.fork())
        if not pids[-1]:
            comm = Sockets(rank, ends, memory)
            rank_of(comm, request, at if rank == victim else None)
    for end in ends.values():
        end.close()
    try:
        status = waited(pids, victim, at)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL) if pid else None
    steps = int.from_bytes(memory[8:16], "little")
    return status, steps


def rank_of(comm, request, at):
    """Be a rank; `at`: the step at which it dies, None if it does not."""
    code = 70
    try:
        sessions.MpiChannel = lambda comm: comm
        if at is not None:
            killed.write = os.pwrite
            steps = Steps(at, killed)
            steps.install()

            def step(name):
                steps.count += 1
                if steps.count == at:
                    steps.action(name, ())

            comm.step = step
        with Session(comm, clients=request.clients, servers=SERVERS) as io:
            if io.is_client:
                request.submit(io)
        if at is not None:
            comm.memory[8:16] = steps.count.to_bytes(8, "little")
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def waited(pids, victim, at):
    """Wait for the ranks; when one has died, kill the others as mpiexec does."""
    end = time.monotonic() + LONGEST
    left, statuses = dict(enumerate(pids)), {}
    while left:
        assert time.monotonic() < end, ("ranks hang", sorted(left), at)
        for rank, pid in list(left.items()):
            done, status = os.waitpid(pid, os.WNOHANG) if rank in left else (0, 0)
            if not done:
                continue
            del left[rank]
            pids[rank] = 0
            statuses[rank] = status
            if status and rank == victim:
                time.sleep(GRACE if at % 2 else 0)
                for other in left.values():
                    os.kill(other, signal.SIGKILL)
                for other in list(left):
                    os.waitpid(left.pop(other), 0)
                    pids[other] = 0
        time.sleep(0.0005)
    if statuses[victim] == 0:
        assert set(statuses.values()) == {0}, (statuses, at)
    return statuses[victim]


def state_of(path):
    """Name what a reader finds."""
    return known_as(path, {"old": OLD, "new": NEW, "appended": np.concatenate([OLD, MORE])})


def prepared(folder, action):
    """Make the state before an action in a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = path_in(folder, action)
    if action != "write":
        with connect() as io:
            write(io, path, OLD, "npy" if action == "npy" else "write")
    return path


def check(path, action, at):
    """Look at what a dead rank has left, and have the next write clear it up."""
    state = state_of(path)
    assert state in STATES[action], (at, state)
    drafts = StorePlace.of(path).drafts()
    said = ""
    if path.exists() or drafts:
        verdict = verify(path)
        assert verdict.status != "damaged", (at, verdict.to_document())
        assert verdict.is_there == path.exists()
        left = [x for x in verdict.left if x.kind == "stale draft"]
        assert [x.path for x in left] == drafts, at
        said = "".join(x.history for x in left)
        if drafts:
            assert "by process" in said, (at, said)
            assert "begun 20" in said, (at, said)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        again = "overwrite" if action != "npy" else "npy"
        with connect() as io:
            write(io, path, NEW, again)
    told = [str(x.message) for x in noted if x.category is InterruptedWriteWarning]
    assert len(told) >= len(drafts), (at, told)
    assert state_of(path) == "new", at
    assert verify(path).status == status_of(path), at
    left = {x.name for x in path.parent.iterdir()} - {path.name}
    assert not left, (at, left)
    return state, bool(drafts), bool(told)


def counted(channel, steps):
    send, poll = channel.send, channel.poll

    def step(name):
        steps.count += 1
        if steps.count == steps.at:
            steps.action(name, ())

    def sent(*arguments):
        step("send")
        return send(*arguments)

    def polled():
        messages = poll()
        for _ in messages:
            step("receive")
        return messages

    channel.send, channel.poll = sent, polled


def main():
    folder, actions, victim = Path(sys.argv[1]), sys.argv[2].split(","), VICTIMS[sys.argv[3]]
    stride, clients = int(sys.argv[4]), CLIENTS[sys.argv[5]]
    found = {action: found_of(folder, action, victim, stride, clients) for action in actions}
    sys.stdout.write(json.dumps(found))


def found_of(folder, action, victim, stride, clients):
    """Kill a rank at the steps of an action, and give what was found."""
    path = prepared(folder / "here", action)
    request = Request(path, action, clients)
    status, steps = on_ranks(request, victim, 0)
    assert (status, state_of(path)) == (0, STATES[action][1])
    states, drafts, told, cases = Counter(), 0, 0, 0
    for at in range(1, steps + 1, stride):
        prepared(folder / "here", action)
        status, _ = on_ranks(request, victim, at)
        if status == 0:  # it did fewer steps this time: polling is not always the same
            assert state_of(path) == STATES[action][1]
            continue
        assert os.WIFSIGNALED(status), (at, status)
        state, has_draft, was_told = check(path, action, at)
        states[state] += 1
        drafts += has_draft
        told += was_told
        cases += 1
    return {"steps": steps, "cases": cases, "states": states, "drafts": drafts, "told": told}


if __name__ == "__main__":
    main()
