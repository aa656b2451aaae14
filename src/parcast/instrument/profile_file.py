"""A line in a file that several processes write, all of it or nothing."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parcast.timings.profile import RankRecord


def append(place: str, record: "RankRecord") -> None:
    """Add a line to a file that other ranks write too, all of it or nothing."""
    import json
    from contextlib import suppress

    line = json.dumps(record.to_document(), allow_nan=False).encode() + b"\n"
    file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        with suppress(ImportError, OSError):  # where locks are not known a line is one write
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        before = os.fstat(file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(file, line[written:])
        except OSError:
            with suppress(OSError):  # half a line would spoil those of the other ranks
                os.ftruncate(file, before)
            raise
    finally:
        os.close(file)
