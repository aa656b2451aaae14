"""A program that starts others, one after another, and says what each of them needed.

It is run as a file of its own, without the package and without `site`: a small process forks
quickly, and what it starts is not counted with the memory of a large one. It reads a task a line
from standard input, a JSON document, and writes an answer a line to standard output. Processes
that a program leaves behind become its own children (of Linux: a *subreaper*), so that launchers
that start groups of their own are watched, and ended, too. When it ends itself, so do they.
"""

import ctypes
import errno
import json
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any, Final

PR_SET_PDEATHSIG: Final = 1  # of sys/prctl.h of Linux, as the next
PR_SET_CHILD_SUBREAPER: Final = 36
HEAD, TAIL = 2**18, 2**21  # of the output of a program, that is kept [B]
PIECE: Final = 2**16  # that is read at a time [B]
FIRST: Final = 0.005  # until the memory is looked at for the first time [s]
MOST: Final = 0.2  # between two looks, if they are quick [s]
SHARE: Final = 200.0  # times as long as a look takes, until the next one: 0.5 % of a core [1]
GROWTH: Final = 1.5  # of the time between looks [1]
GRACE: Final = 2.0  # between asking processes to end and killing them [s]
BLOCK: Final = 512  # of the accounts of file systems [B]
PAGE: Final = resource.getpagesize()  # [B]
LIBC: Final = ctypes.CDLL(None) if sys.platform.startswith("linux") else None


class Output:
    """The first and the last of what a program writes."""

    def __init__(self) -> None:
        self.head = bytearray()
        self.tail = bytearray()
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Keep it, or the end of it."""
        self.size += len(piece)
        room = HEAD - len(self.head)
        self.head += piece[:room]
        self.tail += piece[room:] if room < len(piece) else b""
        if len(self.tail) > 2 * TAIL:
            del self.tail[:-TAIL]

    def text(self) -> str:
        """What is left of it."""
        tail = self.tail[-TAIL:]
        gap = b"\n...\n" if self.size > len(self.head) + len(tail) else b""
        return bytes(self.head + gap + tail).decode(errors="replace")


def _control(option: int, value: int) -> None:
    if LIBC is not None:
        LIBC.prctl(option, value, 0, 0, 0)


def descendants() -> list[int]:
    """Processes that this one started, and those that they started."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if LIBC is not None else ():
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as stream:
                    parent = int(stream.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = list(children.get(os.getpid(), ()))
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting += children.get(process, ())
    return found


def most_of(process: int) -> int:
    """Most memory that a process had at a time. [B]."""
    try:
        with open(f"/proc/{process}/status", "rb") as stream:
            return int(stream.read().partition(b"VmHWM:")[2].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return 0


def total_of(processes: list[int]) -> int:
    """Memory that some processes have now: what each has alone, and once what they share. [B]."""
    alone = shared = 0
    for process in processes:
        with suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{process}/statm", "rb") as stream:
                resident, own = map(int, stream.read().split()[1:3])
            alone += resident - own
            shared = max(shared, own)
    return (alone + shared) * PAGE


class Cadence:
    """When something that costs time is done again, so that it takes a share of a core only."""

    def __init__(self) -> None:
        self.wait = FIRST
        self.next = time.perf_counter() + FIRST

    def spent(self, begun: float) -> None:
        """Note what it took."""
        now = time.perf_counter()
        self.wait = max(min(GROWTH * self.wait, MOST), SHARE * (now - begun))
        self.next = now + self.wait


class Watch:
    """What a program and all that it starts need, as far as looks from time to time show."""

    def __init__(self) -> None:
        self.largest = 0  # process [B]
        self.total = 0  # of all at a time [B]
        self.processes: list[int] = []
        self.listing, self.adding = Cadence(), Cadence()

    @property
    def next(self) -> float:
        """When to look again."""
        return min(self.listing.next, self.adding.next)

    def look(self) -> None:
        """Look for processes, and at their memory, if it is time for it."""
        begun = time.perf_counter()
        if begun >= self.listing.next:
            self.processes = descendants()
            self.largest = max([self.largest, *map(most_of, self.processes)])
            self.listing.spent(begun)
        begun = time.perf_counter()
        if begun >= self.adding.next:
            self.total = max(self.total, total_of(self.processes))
            self.adding.spent(begun)


def start(task: dict[str, Any]) -> tuple[int, int, int]:
    """Start a program in a session of its own: its process, its output, and why it failed."""
    said, told = os.pipe()
    broken, why = os.pipe()  # closed by a program that has started
    process = os.fork()
    if process == 0:
        try:
            os.setsid()
            _control(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.set_inheritable(why, False)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(told, 1)
            os.dup2(told, 2)
            os.chdir(task["folder"])
            os.execvpe(task["command"][0], task["command"], task["environment"])
        except OSError as failure:
            os.write(why, str(failure.errno).encode())
        finally:
            os._exit(127)
    for end in (told, why):
        os.close(end)
    return process, said, broken


def end_all(grace: float = GRACE) -> int:
    """End all processes that are left, and say how many there were."""
    if not _has_children():  # nor are there others, whose parents have ended
        return 0
    left = descendants()
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.perf_counter() + grace
        asked: set[int] = set()
        while time.perf_counter() < until and (found := descendants()):
            for process in {*found} - asked:  # also those that were started meanwhile
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, number)
            asked.update(found)
            _has_children()
            time.sleep(0.01)
    _has_children()
    return len(left)


def _has_children() -> bool:
    """Take leave of children that have ended; whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Run a program to its end, or to its time limit."""
    own = most_of(os.getpid())  # what a fork has before it becomes the program
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = Output()
    begun = time.perf_counter()
    process, said, broken = start(task)
    failed = os.read(broken, 16)  # waits until it is the program, and not this one any more
    watch = Watch()
    limit = task["time_limit"]
    end = begun + limit if limit is not None else float("inf")
    reads, status, ended, is_late = [said], None, begun, False
    while status is None:
        now = time.perf_counter()
        if now >= end:
            is_late = True
            break
        ready, _, _ = select.select([*reads, WAKE], [], [], max(min(watch.next, end) - now, 0.0))
        if WAKE in ready:
            os.read(WAKE, PIECE)
            found, known, used = os.wait4(process, os.WNOHANG)
            if found:
                ended, status = time.perf_counter(), os.waitstatus_to_exitcode(known)
        if said in ready and not _read(said, output):
            reads = []
        watch.look()
    left = end_all()
    while reads and select.select(reads, [], [], 0)[0] and _read(said, output):
        pass
    for stream in (said, broken):
        os.close(stream)
    if is_late:
        ended = end
    with suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    most = used.ru_maxrss * 1024 if status is not None else 0
    largest = max(watch.largest, most if most > own else 0)
    return {
        "seconds": ended - begun,
        "status": status,
        "errno": int(failed) if failed else None,
        "is_late": is_late,
        "user": after.ru_utime - before.ru_utime,
        "system": after.ru_stime - before.ru_stime,
        "memory": largest or None,
        "memory_total": max(watch.total, largest) or None,
        "read": (after.ru_inblock - before.ru_inblock) * BLOCK,
        "written": (after.ru_oublock - before.ru_oublock) * BLOCK,
        "left": 0 if is_late else left,
        "output": output.text(),
    }


def _read(stream: int, output: Output) -> bool:
    """Take what there is; False at the end."""
    try:
        piece = os.read(stream, PIECE)
    except OSError as failure:
        if failure.errno == errno.EINTR:
            return True
        raise
    output.add(piece)
    return bool(piece)


def _leave(*_: object) -> None:
    """End with all that was started."""
    end_all(grace=0.5)
    os._exit(143)


WAKE, _ALARM = os.pipe()  # a byte for every child that has ended


def main(parent: int) -> None:
    """Do the tasks of the process that started this one."""
    os.set_blocking(_ALARM, False)
    os.set_blocking(WAKE, False)
    signal.set_wakeup_fd(_ALARM)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    _control(PR_SET_PDEATHSIG, signal.SIGTERM)
    _control(PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != parent:
        return
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
        sys.stdout.flush()
    end_all(grace=0.5)


if __name__ == "__main__":
    main(int(sys.argv[1]))
