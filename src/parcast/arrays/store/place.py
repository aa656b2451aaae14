"""The place of a store: who may write there, drafts beside it, and how a draft takes its name.

Everything that a writer leaves lies beside the target under names that begin with
".NAME.parcast-". A lock says that its writer lives; what lies there without one is the rest of an
interrupted write, and the next writer finishes or removes it.
"""

import errno
import hashlib
import json
import os
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, NamedTuple, Self

from parcast.arrays.store import durable
from parcast.arrays.store.codecs import UnsupportedError
from parcast.arrays.store.durable import files_below, remove
from parcast.arrays.store.interrupted import Leftover, Owner, arrays_below, progress_of
from parcast.arrays.store.layout import METADATA, layout_of, parsed
from parcast.arrays.store.messages import (
    is_busy,
    is_busy_here,
    is_no_lock,
    no_folder,
    no_path,
    not_written,
    within_store,
)
from parcast.errors import ParameterError, ParcastError
from parcast.needs import require_unix

NO_FILE: Final = {errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EINVAL}  # a link, a pipe
NOTE: Final = b'{"host": '  # how a lock begins
MOST_NOTE: Final = 4096  # of a writer, in its lock [B]
NO_LOCKS: Final = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
DRAFT: Final = "draft"  # of a whole store or file
APPEND: Final = "append"  # of rows
KINDS: Final = (DRAFT, APPEND)
SWEPT: Final = "The next write to this place removes it."
LOOK: Final = 0.01  # at a lock, at most [s]
JOURNAL_SCHEMA: Final = "parcast/array-append/1"


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Names at and beside the target of a write."""

    target: Path  # absolute, links followed

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "StorePlace":
        """Give the place of a path."""
        require_unix("An array file needs")
        try:
            text = os.fsdecode(path)
            if text:
                return cls(Path(os.path.realpath(text)))
        except (TypeError, ValueError, RecursionError):  # no path, with "\0", thousands of links
            pass
        raise no_path(path)

    def beside(self, what: str) -> Path:
        """Name what lies beside the target."""
        return self.target.with_name(f".{self.target.name}.parcast-{what}")

    @property
    def lock(self) -> Path:
        """File that a writer holds locked."""
        return self.beside("lock")

    @property
    def aside(self) -> Path:
        """Where the old store lies for a moment if names cannot be exchanged."""
        return self.beside("old")

    @property
    def journal(self) -> Path:
        """File of the metadata of an append that is complete, while they are put in place."""
        return self.beside("journal")

    def new_draft(self, kind: str = DRAFT) -> Path:
        """Name a draft as no other writer does."""
        return self.beside(f"{kind}-{os.urandom(6).hex()}")

    def drafts(self, kind: str = "") -> list[Path]:
        """List the drafts of a kind that lie there, by default of both."""
        starts = tuple(self.beside(f"{x}-").name for x in ((kind,) if kind else KINDS))
        try:
            names = os.listdir(self.target.parent)
        except OSError:
            return []
        return [self.target.with_name(name) for name in sorted(names) if name.startswith(starts)]

    def is_there(self) -> bool:
        """Tell whether something has the name of the target."""
        return os.path.lexists(self.target)


class Lock:
    """The right to write to a place: held until it is released or the process ends.

    `previous` is the process that had it before and has not given it up.
    """

    _held: ClassVar[set[Path]] = set()  # targets of this process

    def __init__(self, place: StorePlace, file: int, previous: Owner | None) -> None:
        self._place, self._file, self.previous = place, file, previous
        self.cleared: list[Leftover] = []
        self._held.add(place.target)

    def clear(self) -> None:
        """Finish or remove what an interrupted write has left, and note what it was."""
        self.cleared = leftovers_of(self._place, self.previous)
        settle(self._place)

    @classmethod
    def take(cls, place: StorePlace) -> "Lock":
        """Take it, or say who has it."""
        if place.target in cls._held:
            raise is_busy_here(str(place.target))
        while True:
            file = _open_lock(place)
            try:
                if cls._is_ours(place, file):
                    previous = _written_owner(file)
                    os.ftruncate(file, 0)
                    durable.write_all(file, [_this_process().note()], 0)
                    return cls(place, file, previous)
            except BaseException:
                os.close(file)
                raise
            os.close(file)  # its owner removed it meanwhile

    @staticmethod
    def _is_ours(place: StorePlace, file: int) -> bool:
        """Lock an open file; False where the name is another file's by now."""
        import fcntl  # which not every system has

        for is_last in (False, True):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if is_last or _may_live(file):
                    raise is_busy(str(place.target), _owner_of(file)) from None
                time.sleep(LOOK)  # while another process looks at what one that ended has left
            except OSError as failure:
                if failure.errno not in NO_LOCKS:
                    raise
                if _may_live(file):  # a file system without locks: the process that it names
                    raise is_busy(str(place.target), _owner_of(file), str(place.lock)) from None
                break
        try:
            return os.path.samestat(os.fstat(file), os.stat(place.lock))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give it up, and leave no file behind."""
        self._held.discard(self._place.target)
        try:
            self._place.lock.unlink(missing_ok=True)
        finally:
            os.close(self._file)


def _open_lock(place: StorePlace) -> int:
    """Open the lock to be written, or make it; refuse what has its name and is no lock."""
    try:
        file = durable.open_regular(place.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    except OSError as failure:
        if failure.errno in NO_FILE:
            raise is_no_lock(str(place.target), str(place.lock)) from None
        raise
    if _is_note(os.pread(file, MOST_NOTE, 0)) and os.fstat(file).st_nlink <= 1:
        return file
    os.close(file)
    raise is_no_lock(str(place.target), str(place.lock))


def _is_note(content: bytes) -> bool:
    """Tell whether a file is a lock: what a writer notes of itself, or the beginning of it."""
    return content.startswith(NOTE) or NOTE.startswith(content)


def _this_process() -> Owner:
    """Describe this process as a writer."""
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    return Owner(host=socket.gethostname(), pid=os.getpid(), program=program, begun=time.time())


def _written_owner(file: int) -> Owner | None:
    """Read who wrote a lock."""
    return Owner.read(os.pread(file, MOST_NOTE, 0))


def _owner_of(file: int) -> str:
    """Name the process that wrote an open lock."""
    return str(_written_owner(file) or "another process")


def _may_live(file: int) -> bool:
    """Tell whether the process that wrote a lock may still be there."""
    owner = _written_owner(file)
    if owner is None or (owner.host == socket.gethostname() and owner.pid == os.getpid()):
        return False
    if owner.host != socket.gethostname():
        return True
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def writer_at(place: StorePlace) -> str:
    """Name the process that writes to a place now; empty where none does."""
    with _opened_lock(place) as file:
        return _owner_of(file) if file is not None and _is_locked(file) else ""


def last_owner(place: StorePlace) -> Owner | None:
    """Give the process that writes to a place, or that did when it ended; None where none did."""
    with _opened_lock(place) as file:
        return None if file is None else _written_owner(file)


@contextmanager
def _opened_lock(place: StorePlace) -> Iterator[int | None]:
    """Open the lock of a place to look at it; None where there is none."""
    try:
        file = durable.open_regular(place.lock, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        yield file
    finally:
        os.close(file)


def _is_locked(file: int) -> bool:
    """Tell whether the process that wrote an open lock holds it."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return _may_live(file)
    return False


class Stamp(NamedTuple):
    """What tells a store from another one that takes its place, on every host."""

    changed: int  # time at which its metadata were written [ns]; an append may write them again
    inode: int = 0  # of the folder, 0 of a file; some network file systems number it on each host

    def is_of_other(self, stamp: "Stamp") -> bool:
        """Tell whether the other one is of another store: all that is known of it differs."""
        is_same = self.inode == stamp.inode != 0
        return self.changed != stamp.changed and not is_same


def leftovers_of(place: StorePlace, owner: Owner | None) -> list[Leftover]:
    """Describe what an interrupted write has left beside a store, in the order of its steps.

    `owner` is the process that had the lock.
    """
    found = []
    if os.path.lexists(place.journal):
        is_complete = bool(pending_metadata(place))
        found.append(
            Leftover(
                kind="interrupted append",
                path=place.journal,
                is_put="is that of an append that is complete"
                if is_complete
                else "is that of another store",
                then="parcast reads all rows, other tools may find arrays of different lengths. "
                "The next write completes it."
                if is_complete
                else SWEPT,
                done="It was completed." if is_complete else "Its journal was removed.",
                owner=owner,
            )
        )
    if os.path.lexists(place.aside):
        is_there = place.is_there() or os.path.islink(place.aside)
        found.append(
            Leftover(
                kind="interrupted commit",
                path=place.aside,
                is_put="is the store that was replaced"
                if is_there
                else "is the store from before a write that was interrupted",
                then=SWEPT
                if is_there
                else "Opening it with parcast, or the next write, puts it back.",
                done="The old store was removed." if is_there else "The old store was put back.",
                owner=owner,
            )
        )
    return found + [_draft_of(place, draft, owner) for draft in place.drafts()]


def _draft_of(place: StorePlace, draft: Path, owner: Owner | None) -> Leftover:
    """Describe a draft."""
    is_append = draft in place.drafts(APPEND)
    return Leftover(
        kind="stale draft",
        path=draft,
        is_put=f"is the draft of {'an append' if is_append else 'a write'} that was interrupted",
        then=SWEPT,
        done=f"Its draft {draft.name} was removed.",
        owner=owner,
        **progress_of(draft, place.target if is_append else None),
    )


def check_surroundings(place: StorePlace) -> None:
    """Refuse a place in a folder that there is not, or inside a store."""
    if not os.path.isdir(place.target.parent):
        raise no_folder(str(place.target.parent))
    for folder in place.target.parents:
        if os.path.isfile(folder / METADATA):
            raise within_store(str(place.target), str(folder))


def settle(place: StorePlace) -> list[str]:
    """Finish or remove what an interrupted write left, under the lock; say what was done."""
    done = []
    if os.path.lexists(place.journal):
        appended = pending_metadata(place)
        for path, content in appended.items():
            replace_file(place, path, content)
            durable.flush_folder(path.parent)
        if appended:
            done.append("an interrupted append was completed")
        remove(place.journal)
    if os.path.lexists(place.aside):
        if place.is_there() or os.path.islink(place.aside):  # which no store is that was moved
            remove(place.aside)
            done.append("an old store was removed")
        else:
            os.rename(place.aside, place.target)
            durable.flush_folder(place.target.parent)
            done.append("the old store was put back")
    for draft in place.drafts(APPEND):
        _remove_unreached(place, draft)
    for draft in place.drafts():
        remove(draft)
        done.append(f"the draft {draft.name} of an interrupted write was removed")
    return done


def _remove_unreached(place: StorePlace, draft: Path) -> None:
    """Remove the chunks of an append that were put beside those of a store, but not made valid."""
    for name in arrays_below(draft):
        folder = place.target / name
        try:
            now, later = (
                layout_of(parsed(durable.read_regular(each / METADATA)))
                for each in (folder, draft / name)
            )
        except (OSError, ValueError, UnsupportedError):
            continue  # nothing was put there: metadata are written before chunks are moved
        rows = range(now.grid.cells[0], later.grid.cells[0]) if now.shape and later.shape else ()
        is_within = durable.is_within(folder, place.target)
        for file in list(files_below(folder)) if is_within else ():
            index = now.index_of(file)
            if index and index[0] in rows:
                (folder / file).unlink(missing_ok=True)


def replace_file(place: StorePlace, path: Path, content: bytes) -> None:
    """Put a small file in place of another in one step."""
    draft = place.new_draft()
    durable.write_file(draft, content)
    os.rename(draft, path)


def publish(place: StorePlace, draft: Path) -> None:
    """Give a complete and flushed draft the name of the target; what was there is removed."""
    folder = place.target.parent
    if not place.is_there():
        os.rename(draft, place.target)
        durable.flush_folder(folder)
        return
    if not os.path.isdir(draft):
        os.replace(draft, place.target)
        durable.flush_folder(folder)
        return
    if durable.exchange(draft, place.target):
        old = draft
    else:
        old = place.new_draft()
        os.rename(place.target, place.aside)
        os.rename(draft, place.target)
        os.rename(place.aside, old)
    durable.flush_folder(folder)
    with suppress(OSError):  # what cannot be removed now, the next writer removes
        remove(old)


class Failing:
    """A block that says what cannot be written, and what is at the target now."""

    def __init__(
        self,
        what: str | Callable[[], str],
        target: Path,
        is_new: Callable[[], bool] = lambda: False,
    ) -> None:
        """Name what is written; `is_new` tells whether the new is in place of the old."""
        self._what, self._target, self._is_new = what, target, is_new

    def __enter__(self) -> None:
        """Begin; a block may be entered again."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Say what has failed, in place of it."""
        said = None if failure is None else self.said_of(failure)
        if said is not None:
            raise said from failure

    def said_of(self, failure: BaseException) -> ParcastError | None:
        """Say what the system refused; None where something else has failed."""
        if isinstance(failure, MemoryError):
            failure = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        if not isinstance(failure, OSError):
            return None
        target = self._target
        if self._is_new():
            state = f"{target} is complete and new, but may be lost if the machine fails now."
        elif os.path.exists(target):
            state = f"{target} is as it was before."
        else:
            state = "Nothing was put there."
        what = self._what if isinstance(self._what, str) else self._what()
        return not_written(what, str(target), failure, state)


def journal_of(changed: dict[str, tuple[bytes, bytes]]) -> bytes:
    """Write down the metadata of arrays that change together: what they were, and will be."""
    nodes = {
        name: {"was": hashlib.sha256(old).hexdigest(), "becomes": new.decode()}
        for name, (old, new) in changed.items()
    }
    return json.dumps({"schema": JOURNAL_SCHEMA, "nodes": nodes}).encode()


def is_name_within(name: object) -> bool:
    """Tell whether a name in a file is that of an array within a store."""
    parts = name.split("/") if isinstance(name, str) and name else []
    return isinstance(name, str) and "\0" not in name and not {"", ".", ".."} & {*parts}


def pending_metadata(place: StorePlace) -> dict[Path, bytes]:
    """Metadata of a complete append that are not all in place yet, by their files.

    A journal of another store than the one that is there is worth nothing: no metadata.
    """
    try:
        journal = parsed(durable.read_regular(place.journal))
        nodes = journal["nodes"] if journal["schema"] == JOURNAL_SCHEMA else {}
        pending = {}
        for name, node in nodes.items():
            path = place.target / name / METADATA
            if not is_name_within(name) or not durable.is_within(path.parent, place.target):
                return {}
            now, new = durable.read_regular(path), node["becomes"].encode()
            if now != new and hashlib.sha256(now).hexdigest() != node["was"]:
                return {}
            pending[path] = new
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return pending


def let_go(place: StorePlace, lock: Lock) -> None:
    """Remove what was begun, and let others write; what stays, the next writer removes."""
    with suppress(OSError):
        settle(place)
    with suppress(OSError):
        lock.release()


@contextmanager
def begun(place: StorePlace, what: str, check: Callable[[], None]) -> Iterator[Lock]:
    """Take the right to write, clear up after others, and give it back if the beginning fails.

    What `check` refuses at once clears nothing up. Messages call what is written `what`.
    """
    check_surroundings(place)
    with Failing(what, place.target):
        check()
        lock = Lock.take(place)
        try:
            lock.clear()
            check()
            yield lock
        except BaseException:
            let_go(place, lock)
            raise


class HeldPlace(ABC):
    """What is made at a place that is held, until it is committed or abandoned."""

    _what: ClassVar[str]  # as messages call it
    _place: StorePlace
    _lock: Lock
    _is_open: bool

    @property
    def cleared(self) -> tuple[Leftover, ...]:
        """What an interrupted write had left there, which is finished or removed now."""
        return tuple(self._lock.cleared)

    def __enter__(self) -> Self:
        """Write within a block: what is not committed when it ends is abandoned."""
        return self

    def __exit__(self, *_: object) -> None:
        """Abandon what was not committed."""
        self.abandon()

    def commit(self) -> None:
        """Put the draft in place; every writer must have flushed what it wrote."""
        if not self._is_open:
            raise ParameterError("draft", must="not be committed twice", hint="Make a new one.")
        with Failing(self._what, self._place.target, self._is_in_place):
            try:
                self._put()
            finally:
                self.abandon()  # after a commit nothing is left but the lock

    @abstractmethod
    def _put(self) -> None:
        """Put the draft in place."""

    @abstractmethod
    def _is_in_place(self) -> bool:
        """Tell whether the new one is what a reader gets."""

    @abstractmethod
    def abandon(self) -> None:
        """Remove the draft: the place stays what it was. After a commit nothing is to be done."""
