"""A program that starts others, one after another, and says what each of them needed.

It is run without `site` and without what other modules load: a small process forks quickly, and
what it starts is not counted with the memory of a large one. It reads a task a line
from standard input, a JSON document, and writes an answer a line to standard output. Processes
that a program leaves behind become its own children (of Linux: a *subreaper*), so that launchers
that start groups of their own are watched, and ended, too. When it ends itself, so do they.
"""

import errno
import json
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from math import inf
from typing import Any, Final, NamedTuple

from parcast.trials.control_group import ControlGroup
from parcast.trials.process_memory import held_by
from parcast.trials.tree_memory import LIBC, Descendants, Watch, all_processes

PR_SET_PDEATHSIG: Final = 1  # of sys/prctl.h of Linux, as the next
PR_SET_CHILD_SUBREAPER: Final = 36
HEAD, TAIL = 2**18, 2**21  # of the output of a program, that is kept [B]
PIECE: Final = 2**16  # that is read at a time [B]
GRACE: Final = 2.0  # between asking processes to end and killing them [s]
BLOCK: Final = 512  # of the accounts of file systems [B]
CHANGED: Final = (  # that this process ignores or handles, and a program must not
    *(signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ),
)
WORD: Final = 32  # that a process says of its start [B]


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


class ProgramStart(NamedTuple):
    """A program that was started in a session of its own."""

    process: int
    said: int  # its output
    failed: bytes  # why it could not be started
    begun: float  # when, without what this process did before that in its place [s]


def start(task: dict[str, Any]) -> ProgramStart:
    """Start a program."""
    said, told = os.pipe()
    broken, why = os.pipe()  # closed by a program that has started
    process = os.fork()
    if process == 0:
        try:
            os.setsid()
            _control(PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in CHANGED:
                signal.signal(number, signal.SIG_DFL)
            os.set_inheritable(why, False)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(told, 1)
            os.dup2(told, 2)
            os.chdir(task["folder"])
            os.write(why, f"{time.perf_counter():.9f}".encode().ljust(WORD))
            os.execve(task["program"], task["command"], task["environment"])
        except OSError as failure:
            os.write(why, str(failure.errno).encode())
        finally:
            os._exit(127)
    for end in (told, why):
        os.close(end)
    words = os.read(broken, WORD)
    begun, failed = time.perf_counter(), words
    if len(words) == WORD:
        begun = float(words)
        failed = os.read(broken, WORD)  # waits until it is the program, and not this one any more
    os.close(broken)
    return ProgramStart(process, said, failed, begun)


def end_all(grace: float = GRACE) -> int:
    """End all processes that are left, and say how many there were."""
    if not _has_children():
        return 0
    tree = Descendants()
    left = tree.now()
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.perf_counter() + grace
        asked: set[int] = set()
        while time.perf_counter() < until and (found := tree.now()):
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
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


class ProgramEnd(NamedTuple):
    """A program that has ended, or whose time is over."""

    status: int | None
    seconds: float
    is_late: bool
    most: int  # memory of it and of those it has waited for, of the one that had most [B]


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Run a program to its end, or to its time limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    group = fresh_group() if task["is_grouped"] else None
    others = all_processes() if group is None else []
    started = start(task)
    output, watch = Output(), Watch(group, others)
    ended = _followed(started, task["time_limit"], output, watch)
    left = end_all()
    while select.select([started.said], [], [], 0)[0] and _read(started.said, output):
        pass
    os.close(started.said)
    with suppress(ChildProcessError):
        os.waitpid(started.process, os.WNOHANG)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    largest = max(watch.largest, ended.most)
    total, source = watch.total(largest)
    return {
        "seconds": ended.seconds,
        "status": ended.status,
        "errno": int(started.failed) if started.failed else None,
        "is_late": ended.is_late,
        "user": after.ru_utime - before.ru_utime,
        "system": after.ru_stime - before.ru_stime,
        "memory": largest or None,
        "memory_total": total,
        "memory_from": source,
        "read": (after.ru_inblock - before.ru_inblock) * BLOCK,
        "written": (after.ru_oublock - before.ru_oublock) * BLOCK,
        "left": 0 if ended.is_late else left,
        "output": output.text(),
    }


def _followed(
    started: ProgramStart, limit: float | None, output: Output, watch: Watch
) -> ProgramEnd:
    """Take what a program writes and look at its memory, until it ends or its time is over."""
    own = held_by(os.getpid())
    least = own.most if own else 0  # what a fork has before it becomes the program
    end = started.begun + limit if limit is not None else inf
    reads = [started.said]
    while (now := time.perf_counter()) < end:
        ready, _, _ = select.select([*reads, WAKE], [], [], max(min(watch.next, end) - now, 0.0))
        if WAKE in ready:
            os.read(WAKE, PIECE)
            found, known, used = os.wait4(started.process, os.WNOHANG)
            if found:
                seconds = time.perf_counter() - started.begun
                most = used.ru_maxrss * 1024
                status = os.waitstatus_to_exitcode(known)
                return ProgramEnd(status, seconds, is_late=False, most=most if most > least else 0)
        if started.said in ready and not _read(started.said, output):
            reads = []
        watch.look()
    return ProgramEnd(None, end - started.begun, is_late=True, most=0)


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
    remove_group()
    os._exit(143)


def fresh_group() -> ControlGroup | None:
    """Give the control group of this process and its runs; None where none may be made.

    What was needed by earlier runs is forgotten, or else there is another one.
    """
    if GROUPS and GROUPS[0].is_begun():
        return GROUPS[0]
    remove_group()
    group = ControlGroup.made()
    GROUPS.extend([group] if group else [])
    return group


def remove_group() -> None:
    """Remove the control group, if there is one."""
    while GROUPS:
        GROUPS.pop().remove()


GROUPS: Final[list[ControlGroup]] = []
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
    remove_group()
