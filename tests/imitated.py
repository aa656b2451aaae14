"""Another system, as far as it can be imitated in a process of Linux.

    python tests/imitated.py darwin|win32 < calls

What macOS or Windows does not have is taken away before parcast is loaded: calls and signals by
their names, modules, all that is under /proc and /sys, and MPI with its programs. The standard
library and the packages that parcast needs are loaded before, as they are on Linux; paths too
stay those of Linux. Each line of standard input, a list in JSON, is a command line of parcast. A
line of standard output has its status, what it printed and what it said.
"""

import builtins
import contextlib
import importlib
import io
import json
import os
import platform
import signal
import socket
import sys
import sysconfig

LOADED = (  # before the system changes, by what would else load parts for another one
    *("asyncio", "click", "concurrent.futures.process", "ctypes.util", "getpass", "locale"),
    *("multiprocessing.shared_memory", "multiprocessing.connection", "numpy", "pydantic"),
    *("scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.optimize", "scipy.signal"),
    *("scipy.sparse", "scipy.special", "scipy.stats", "shutil", "subprocess", "tempfile"),
    *("tomlkit", "urllib.request", "uuid", "webbrowser"),
)
OF_LINUX = {
    os: (
        *("O_DIRECT", "O_PATH", "O_TMPFILE", "copy_file_range", "eventfd", "fdatasync"),
        *("getxattr", "memfd_create", "pidfd_open", "pipe2", "posix_fadvise", "posix_fallocate"),
        *("sched_getaffinity", "sched_setaffinity", "setxattr", "splice"),
    ),
    signal: (*("SIGPOLL", "SIGPWR", "SIGRTMAX", "SIGRTMIN", "SIGSTKFLT", "sigtimedwait"),),
}
OF_UNIX = {
    os: (
        *("O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "fchmod"),
        *("fork", "forkpty", "getgid", "getloadavg", "getpgid", "getuid", "geteuid", "killpg"),
        *("lockf", "mkfifo", "nice", "openpty", "posix_spawn", "pread", "preadv", "pwrite"),
        *("pwritev", "sendfile", "setpgid", "setsid", "sync", "sysconf", "sysconf_names"),
        *("uname", "wait3", "wait4", "waitid", "WIFEXITED", "WNOHANG"),
    ),
    signal: (
        *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGIO", "SIGKILL", "SIGPIPE", "SIGQUIT"),
        *("SIGSTOP", "SIGTSTP", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGXFSZ", "alarm"),
        *("pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait"),
    ),
    socket: ("AF_UNIX",),
}
NO_MPI = {"cloudpickle", "mpi4py", "mpich"}
MODULES = {
    "darwin": NO_MPI,
    "win32": NO_MPI | {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"},
}
NAMES = {"darwin": "Darwin", "win32": "Windows"}


class Without:
    """A finder of modules that does not find some."""

    def __init__(self, finder, names):
        self.finder, self.names = finder, names

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        is_gone = name.partition(".")[0] in self.names
        return None if is_gone else self.finder.find_spec(name, path, target)


def without_kernel(call):
    """Find nothing that the kernel of Linux shows as files."""

    def asked(path=".", *args, **kwargs):
        text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        if text.startswith(("/proc", "/sys/")):
            raise FileNotFoundError(2, "No such file or directory", text)
        return call(path, *args, **kwargs)

    return asked


def imitate(system):
    """Take away what the system does not have."""
    for name in LOADED:
        importlib.import_module(name)
    sysconfig.get_config_vars()
    sys.platform = system
    for name in [x for x in sys.modules if x.partition(".")[0] in MODULES[system]]:
        del sys.modules[name]
    sys.meta_path[:] = [Without(x, MODULES[system]) for x in sys.meta_path]
    os.sysconf_names.pop("SC_AVPHYS_PAGES")
    for module, names in (*OF_LINUX.items(), *(OF_UNIX.items() if system == "win32" else ())):
        for name in names:
            with contextlib.suppress(AttributeError):  # not every Python has each
                delattr(module, name)
    calls = {"open": (builtins, io, os), **dict.fromkeys(("listdir", "readlink", "stat"), (os,))}
    for name, modules in calls.items():
        for module in modules:
            setattr(module, name, without_kernel(getattr(module, name)))
    named = platform.uname()._replace(system=NAMES[system])
    platform.uname = lambda: named


def called(words):
    """Run a command line of parcast."""
    from parcast.cli import cli
    from parcast.cli.failures import run

    sys.argv = ["parcast", *words]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(cli)
    return [status, *(x.buffer.getvalue().decode() for x in (out, err))]


if __name__ == "__main__":
    imitate(sys.argv[1])
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(called(json.loads(line)))}\n")
