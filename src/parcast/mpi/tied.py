"""A program that ends when the one that started it does, however that ended.

Python's own `finally` clauses do not run when it is killed, and a killed parcast would leave ranks
that nobody waits for. On Linux the kernel tells a process of the end of its parent; this file, run
as a program, asks for it and becomes the other program. It is run without the package and without
`site`, as that costs least.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Final

PR_SET_PDEATHSIG: Final = 1  # of sys/prctl.h of Linux
ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
TICK: Final = 0.5  # between looks at whether the parent is there, on other systems [s]


def tied(command: Sequence[str]) -> list[str]:
    """Command that is told to end by SIGTERM when the thread that started it is gone, on Linux."""
    if not sys.platform.startswith("linux"):
        return list(command)
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def end_with(parent: int, number: int) -> None:
    """Let the end of the parent send this process a signal; end at once if it is gone already.

    On other systems than Linux a thread looks, but not on Windows.
    """
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
    elif os.name == "posix":
        import threading

        threading.Thread(target=_watch, args=(parent, number), daemon=True).start()
    else:
        return
    if os.getppid() != parent:
        os._exit(0)


def _watch(parent: int, number: int) -> None:
    while os.getppid() == parent:
        time.sleep(TICK)
    os.kill(os.getpid(), number)


def begin_worker(parent: int) -> None:
    """Let this process, one of a pool, end with its parent, and without a word on Ctrl-C.

    Signals that end it may have been blocked until now; those that are ignored stay so.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.name == "posix":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    end_with(parent, int(getattr(signal, "SIGKILL", signal.SIGTERM)))


def main(arguments: Sequence[str]) -> None:
    """Become a program, tied to a process that is the parent; end where that is gone already."""
    end_with(int(arguments[0]), int(signal.SIGTERM))
    os.execv(arguments[1], list(arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
