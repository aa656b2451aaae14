"""Namespaces and mounts of Linux by its own calls, which Python offers late or not at all."""

import ctypes
import os
from pathlib import Path
from typing import Final

# Of sched.h and sys/mount.h of Linux, the same on every processor.
NEW_MOUNTS: Final = 0x00020000
NEW_NAME: Final = 0x04000000
NEW_USER: Final = 0x10000000
NEW_PROCESSES: Final = 0x20000000
NEW_NETWORK: Final = 0x40000000
PRIVATE: Final = 0x00040000
RECURSIVE: Final = 0x00004000
BIND: Final = 0x00001000


def unshare(kinds: int) -> None:
    """Put this process into new namespaces of these kinds.

    Raises
    ------
    OSError
        If the system does not allow it.
    """
    _call("unshare", ctypes.c_int(kinds))


def enter(path: Path) -> None:
    """Put this process into the namespace that stands at `path`.

    Raises
    ------
    OSError
        If there is none, or the system does not allow it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", ctypes.c_int(descriptor), ctypes.c_int(0))
    finally:
        os.close(descriptor)


def mount(source: str, target: str, kind: str = "", flags: int = 0) -> None:
    """Mount `source` on `target`.

    Raises
    ------
    OSError
        If the system does not allow it.
    """
    texts = (source.encode(), target.encode(), kind.encode() or None)
    _call("mount", *texts, ctypes.c_ulong(flags), None)


def become_root_of_a_namespace() -> None:
    """Give this process, of a person who is not root, a namespace where it is.

    Raises
    ------
    OSError
        If the system does not allow it.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library, and raise what it says."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code).lower()}")
