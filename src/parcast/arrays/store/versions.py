"""Stores that other programs read while they are replaced: versions, and a link to the newest.

    out.zarr -> out.zarr.parcast-000007
    out.zarr.parcast-000006             from before, for those who read it

A reader that follows names, as zarr-python does, may find old and new files in a store that takes
the place of another. A version never changes its name: whoever opens what the link leads to reads
that one. The link is exchanged in one step.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from parcast.advice import Command, File
from parcast.arrays.store import durable
from parcast.arrays.store.durable import remove
from parcast.arrays.store.messages import no_version
from parcast.arrays.store.place import Failing, Lock, StorePlace, settle, writer_at

MARK: Final = ".parcast-"  # so that no folder of a user, such as a copy by date, is taken for one
DIGITS: Final = 6  # of the number of a version, at least
_NUMBER = re.compile(r"[0-9]{6,18}")  # `DIGITS` or more


def linked_place(path: str | os.PathLike[str]) -> StorePlace:
    """Give the place of a link to versions: its own, not that of what it leads to."""
    StorePlace.of(path)  # or say what is wrong with it
    given = Path(os.path.abspath(os.fsdecode(path)))
    return StorePlace(Path(os.path.realpath(given.parent), given.name))


def places_of(path: str | os.PathLike[str]) -> tuple[StorePlace, ...]:
    """Give the places of a path: that of the store, and first that of a link to its versions."""
    store, link = StorePlace.of(path), linked_place(path)
    return (link, store) if _version_at(link) else (store,)


def check_link(place: StorePlace) -> None:
    """Refuse a link that leads to something else than a version: it is not ours to change."""
    if os.path.islink(place.target) and not _version_at(place):
        raise no_version(str(place.target))


def _version_at(place: StorePlace) -> str:
    """Name the version that the link at a place leads to; "" where there is none."""
    try:
        name = os.readlink(place.target)
    except OSError:
        return ""
    return name if _number_of(place, name) else ""


def _number_of(place: StorePlace, name: str) -> int:
    """Number of a version by its name; 0 where it is none."""
    mine = place.target.name + MARK
    found = _NUMBER.fullmatch(name, len(mine)) if name.startswith(mine) else None
    return int(found[0]) if found else 0


def versions_at(place: StorePlace) -> dict[int, Path]:
    """Give the versions at a place by their numbers, the oldest first."""
    folder = place.target.parent
    found = {_number_of(place, name): folder / name for name in os.listdir(folder)}
    return {number: found[number] for number in sorted(found) if number}


def earlier_version(path: str | os.PathLike[str]) -> str:
    """Path of the version before the one that a link leads to; "" where there is none."""
    place = linked_place(path)
    current = _number_of(place, _version_at(place))
    before = [version for number, version in versions_at(place).items() if number < current]
    return str(Path(os.fsdecode(path)).with_name(before[-1].name)) if before else ""


def not_there(path: str | os.PathLike[str]) -> str:
    """Say that there is no store, and how a lost link to its versions is made again."""
    place = linked_place(path)
    versions = list(versions_at(place).values()) if place.target.parent.is_dir() else []
    if not versions or os.path.lexists(place.target):
        return "must exist. Check the path."
    link = Command(("ln", "-s", File(versions[-1].name), File(os.fsdecode(path))))
    return f"must be a link to one of its versions, which are there. Make it: {link}"


def publish_version(place: StorePlace, draft: Path, keep: int) -> None:
    """Make a complete and flushed draft the newest version, and keep some of those there are."""
    was = place.target.with_name(_version_at(place) or place.target.name)
    number = max(versions_at(place), default=0) + 1
    version = place.target.with_name(f"{place.target.name}{MARK}{number:0{DIGITS}}")
    os.rename(draft, version)
    try:
        durable.flush_folder(version.parent)
        _link(place, version)
    except BaseException:
        os.rename(version, draft)  # which is abandoned
        raise
    durable.flush_folder(version.parent)
    # The one before is read by most, whatever an interrupted write has left that is newer.
    by_use = sorted(versions_at(place).values(), key=lambda x: 2 * (x == version) + (x == was))
    for old in by_use[:-keep]:
        _remove_version(old, place.new_draft())


def _link(place: StorePlace, version: Path) -> None:
    """Let the path lead to a version, in one step; a store of that name is put away."""
    link = place.new_draft()
    os.symlink(version.name, link)
    is_store = place.is_there() and not os.path.islink(place.target)
    if is_store and not durable.exchange(link, place.target):
        os.rename(place.target, place.aside)
        os.rename(link, place.target)
    elif not is_store:
        os.replace(link, place.target)


def sweep(path: str | os.PathLike[str]) -> list[str]:
    """Finish or remove what an interrupted write left beside a store; say what was done.

    A draft whose writer is alive is not touched: RunFailed names that process.
    """
    done = []
    for place in places_of(path):
        with Failing("The store", place.target):
            lock = Lock.take(place)
            try:
                done += settle(place)
            finally:
                lock.release()
    return done


def _remove_version(version: Path, draft: Path) -> None:
    """Remove a version: first its name, so that whoever has read it can tell.

    Where another writer is at it, or the system refuses, the next write tries again.
    """
    place = StorePlace(version)
    if writer_at(place):
        return
    with suppress(OSError):
        beside = place.beside("").name  # what an interrupted append has left
        for name in os.listdir(version.parent):
            if name.startswith(beside):
                remove(version.with_name(name))
        os.rename(version, draft)
        remove(draft)
