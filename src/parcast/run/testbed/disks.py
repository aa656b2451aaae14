"""Which disk a directory is on."""

import os
from pathlib import Path
from typing import Final

DEVICES: Final = Path("/sys/dev/block")
MOUNTS: Final = Path("/proc/self/mountinfo")


def disk_of(directory: Path, *, devices: Path = DEVICES, mounts: Path = MOUNTS) -> str | None:
    """Number of the disk that a directory is on, as control groups want it.

    Parameters
    ----------
    directory : Path
        A directory that is there.
    devices, mounts : Path, optional
        Where the kernel tells of them.

    Returns
    -------
    str or None
        "MAJOR:MINOR" of the whole disk; None if the directory is on no disk, as on a tmpfs, an
        overlay or a network.
    """
    number = os.stat(directory).st_dev
    place = devices / f"{os.major(number)}:{os.minor(number)}"
    if not place.exists():  # a file system of several disks has a number of its own
        source = _source(f"{os.major(number)}:{os.minor(number)}", mounts)
        if not source.startswith("/dev/") or not os.path.exists(source):
            return None
        number = os.stat(source).st_rdev
        place = devices / f"{os.major(number)}:{os.minor(number)}"
        if not place.exists():
            return None
    place = place.resolve()
    if (place / "partition").exists():  # limits are those of whole disks
        place = place.parent
    return (place / "dev").read_text(encoding="ascii").strip()


def _source(number: str, mounts: Path) -> str:
    """What is mounted under a device number, or nothing."""
    for line in mounts.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if fields[2] == number:
            return fields[fields.index("-") + 2]
    return ""
