"""Checkpoints: files of completed nodes, and a manifest that says which of them count.

Any set of completed nodes of which none contains another is a state to go on from, as the tree
follows from the items alone; nothing has to stop for it. Every so often the ranks write the values
they hold, then rank 0 writes the manifest, and files that it does not name are removed.

Each file has a checksum in the manifest, and so has the manifest: a run that goes on leaves out
nodes whose bytes have changed, so that their items are worked on again.
"""

import errno
import hashlib
import json
import os
import socket
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from operator import index
from pathlib import Path
from typing import Any, Final

from parcast.errors import (
    Argument,
    FileProblems,
    ParameterError,
    ParcastError,
    Problem,
    RunFailed,
)
from parcast.files.document import DRAFTS, write_document
from parcast.mpi.payload import WrittenValue, is_sound
from parcast.pipeline.engine.coordinator import HeldNode
from parcast.pipeline.engine.job import Skipped
from parcast.pipeline.engine.tree import Node
from parcast.units import shown

SCHEMA: Final = "parcast/pipeline-checkpoint/2"
MANIFEST: Final = "checkpoint.json"
CHECKSUM: Final = "checksum"  # CRC-32 of what else the manifest has
ENDING: Final = ".node"  # of the files of values
EMPTY: Final = WrittenValue(0.0, 0)  # of a node that has no file
AFRESH: Final = "Delete it to work on all items again."
LOCK: Final = "in-use.lock"  # of the run that uses the folder
NO_LOCKS: Final = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
PATIENCE: Final = 2.0  # with a run that is just ending, as one that was killed is [s]
PAUSE: Final = 0.05  # [s]
NUMBER: Final = "number of items"  # in a signature; None: not known
CODE: Final = "job file"  # in a signature; may have been corrected since
DIGEST: Final = "sha256:"  # begins what nobody reads of a signature
HIGHEST: Final = 62  # level of a node that anybody reaches


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """What another run left behind."""

    nodes: tuple[tuple[Node, Path | None, WrittenValue], ...]  # with file, None: no item
    delivered: int  # reductions
    fetched: int  # items that there were at least
    end: int | None  # their number, if they had ended
    skipped: tuple[Skipped, ...]
    damaged: tuple[Node, ...] = ()  # that are not among them

    def files(self) -> list[tuple[Node, Path, WrittenValue]]:
        """Give the nodes that have files."""
        return [(node, path, written) for node, path, written in self.nodes if path is not None]

    def without(self, damaged: Iterable[Node]) -> "Earlier":
        """Leave nodes out, in the order of their items."""
        left = tuple(sorted(damaged))
        nodes = tuple(each for each in self.nodes if each[0] not in left)
        return replace(self, nodes=nodes, damaged=left)


def damaged_of(files: Iterable[tuple[Node, Path, WrittenValue]]) -> list[Node]:
    """Give the nodes whose files have other bytes than were written, or cannot be read."""
    return [node for node, path, written in files if not is_sound(path, written)]


def digest_of(content: bytes) -> str:
    """Give what stands for long content in a signature."""
    return f"{DIGEST}{hashlib.sha256(content).hexdigest()}"


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    said = []
    for name in dict.fromkeys((*now, *before)):
        was, is_now = before.get(name), now.get(name)
        if was == is_now or name == CODE or (name == NUMBER and None in (was, is_now)):
            continue
        texts = [_shown(value) for value in (was, is_now)]
        is_told = texts[0] != texts[1] and not str(is_now or was).startswith(DIGEST)
        how = f"{texts[0]} before, {texts[1]} now" if is_told else "changed"
        said.append(f"{shown(name)}: {how}")
    return said


def _shown(value: Any) -> str:
    """Write a value of a signature for a message."""
    return "not given" if value is None else shown(repr(value))


def has_manifest(folder: Path) -> bool:
    """Tell whether a folder has a checkpoint to go on from."""
    return (folder / MANIFEST).is_file()


@contextmanager
def taken(folder: Path) -> Iterator[None]:
    """Let no other run use a folder during the block; the lock ends with its process."""
    try:
        import fcntl
    except ImportError:  # not a Unix
        yield
        return
    path, end = folder / LOCK, time.monotonic() + PATIENCE
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with _without_locks():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), os.stat(path)):
                break
        except FileNotFoundError:  # its owner removed it meanwhile
            pass
        except BlockingIOError:
            if time.monotonic() > end:
                raise _in_use(folder, file) from None
            time.sleep(PAUSE)
        os.close(file)
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


@contextmanager
def _without_locks() -> Iterator[None]:
    """Go on where a file system has no locks."""
    try:
        yield
    except OSError as failure:
        if failure.errno not in NO_LOCKS:
            raise


def _in_use(folder: Path, file: int) -> ParameterError:
    """Say which process has the lock of a folder, which is closed."""
    owner = os.pread(file, 1000, 0).decode(errors="replace") or "another process"
    os.close(file)
    return ParameterError(
        "checkpoint",
        must="be a folder that no other run uses",
        got=f"{folder}, in use by {owner}",
        hint="Wait until that run has ended, or choose another folder.",
    )


class RunCheckpoint:
    """The checkpoint of a run, as rank 0 keeps it."""

    def __init__(self, folder: Path, every: float, signature: Mapping[str, Any]) -> None:
        """Write to a folder every so often [s]; the signature must be that of a resumed run."""
        self._folder, self._every, self._signature = folder, every, dict(signature)
        self._last = time.monotonic()
        self._expected = 0  # ranks that have not answered
        self._is_due = False
        # What the manifest has: reductions delivered, the number of items, nodes.
        self._written: tuple[int, int | None, AbstractSet[Node]] = (0, None, set())
        self._files: dict[Node, WrittenValue] = {}
        self.is_of_other_code = False  # what was read

    def begun(self, *, resumes: bool) -> Earlier | None:
        """Give what another run left, if this one is to go on from it, in a folder for more."""
        if not resumes:
            self.require_none()
        earlier = self.read() if resumes else None
        if earlier is None:
            self.clear()
        return earlier

    def read(self) -> Earlier | None:
        """Read what another run left, None if there is nothing; refuse that of another job."""
        path = self._folder / MANIFEST
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as failure:
            problem = Problem(message=f"cannot be read: {failure}. {AFRESH}")
            raise FileProblems(str(path), [problem]) from failure
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            message = f'must have the schema "{SCHEMA}". {AFRESH}'
            raise FileProblems(str(path), [Problem(message=message, field="schema")])
        try:
            _require_checksum(document)
            return self._earlier(document)
        except ParcastError:
            raise
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            RecursionError,
        ) as failure:
            why = shown(f"{type(failure).__name__}: {failure}", limit=200)
            message = f"is damaged ({why}). {AFRESH}"
            raise FileProblems(str(path), [Problem(message=message)]) from failure

    def _earlier(self, document: dict[str, Any]) -> Earlier:
        """Take what a manifest tells, where what is missing or of another kind is no error yet."""
        if others := _differences(document["signature"], self._signature):
            raise ParameterError(
                "checkpoint",
                must="be that of the same items and functions",
                got=f"{self._folder}, which is that of another run ({'; '.join(others)})",
                hint=(
                    "Give the same, or start without ",
                    Argument("resume", True),
                    " in another folder.",
                ),
            )
        self.is_of_other_code = document["signature"].get(CODE) != self._signature.get(CODE)
        nodes = []
        for *numbers, size, checksum in document["nodes"]:
            node, written = Node(*map(index, numbers)), WrittenValue(float(size), index(checksum))
            self._files[node] = written
            nodes.append((node, None if written == EMPTY else self._path(node), written))
        skipped = tuple(Skipped(**each) for each in document["skipped"])
        return Earlier(
            nodes=tuple(nodes),
            delivered=index(document["delivered"]),
            fetched=index(document["items"]),
            end=None if document.get("end") is None else index(document["end"]),
            skipped=skipped,
        )

    def forget(self, nodes: Iterable[Node]) -> None:
        """Take note that what was read of nodes is damaged: they are written again."""
        for node in nodes:
            del self._files[node]

    def require_none(self) -> None:
        """Refuse to begin anew where another run left something to go on from."""
        if (self._folder / MANIFEST).exists():
            raise ParameterError(
                "checkpoint",
                must="be a folder without a checkpoint",
                got=f"{self._folder}, which has that of an interrupted run",
                hint=("Go on from it with ", Argument("resume", True), ", or delete the folder."),
            )

    def clear(self) -> None:
        """Remove what another run left, or this one, which has ended well."""
        (self._folder / MANIFEST).unlink(missing_ok=True)
        for pattern in (f"*{ENDING}*", DRAFTS):
            for path in self._folder.glob(pattern):
                path.unlink(missing_ok=True)

    @property
    def is_awaited(self) -> bool:
        """Whether ranks are writing what they hold."""
        return self._expected > 0

    @property
    def is_complete(self) -> bool:
        """Whether the manifest is to be written, as all ranks have written what they hold."""
        return self._is_due and not self._expected

    def due(self, held: Iterable[HeldNode]) -> Iterable[tuple[int, list[tuple[Node, Path]]]]:
        """Give what each rank is to write now of what they hold; nothing before it is time."""
        if self._expected or time.monotonic() - self._last < self._every:
            return
        self._last = time.monotonic()
        wanted: dict[int, list[tuple[Node, Path]]] = {}
        for each in held:
            if each.name in self._files:
                continue
            if each.rank < 0:
                self._files[each.name] = EMPTY
            else:
                wanted.setdefault(each.rank, []).append((each.name, self._path(each.name)))
        self._expected = len(wanted)
        self._is_due = True
        yield from wanted.items()

    def saved(self, files: Iterable[tuple[Node, WrittenValue]]) -> None:
        """Take note of what a rank has written."""
        for node, written in files:
            if not self._path(node).is_file():
                raise RunFailed(
                    f"The checkpoint in {self._folder} is not complete: rank 0 does not see "
                    f"{self._path(node).name}, which another rank has written. Choose a folder "
                    "that all hosts share."
                )
            self._files[node] = written
        self._expected -= 1

    def write(
        self,
        delivered: int,
        fetched: int,
        skipped: Sequence[Skipped],
        *,
        end: int | None = None,
    ) -> None:
        """Write the manifest of the nodes that no other contains, and remove other files.

        `end` is the number of all items, None: they go on.
        """
        self._is_due = False
        if self._written == (delivered, end, self._files.keys()):
            return
        kept = {
            node: file
            for node, file in self._files.items()
            if node.reduction >= delivered and not self._is_contained(node)
        }
        document = {
            "schema": SCHEMA,
            "signature": self._signature,
            "delivered": delivered,
            "items": fetched,
            "end": end,
            "nodes": [[*node, *written] for node, written in sorted(kept.items())],
            "skipped": [asdict(each) for each in skipped],
        }
        document[CHECKSUM] = checksum_of(document)
        try:
            write_document(str(self._folder / MANIFEST), [json.dumps(document)])
        except OSError as failure:
            raise RunFailed(
                f"The checkpoint cannot be written to {self._folder}: {failure.strerror}. "
                "Choose another folder."
            ) from failure
        self._written = (delivered, end, set(kept))
        for node in self._files.keys() - kept.keys():
            if self._files.pop(node) != EMPTY:
                self._path(node).unlink(missing_ok=True)

    def _path(self, node: Node) -> Path:
        return self._folder / f"{'-'.join(map(str, node))}{ENDING}"

    def _is_contained(self, node: Node) -> bool:
        """Tell whether a node above this one is there."""
        fan_in = int(self._signature["fan_in"])
        above = node.parent(fan_in)
        while above.level <= HIGHEST:
            if above in self._files:
                return True
            above = above.parent(fan_in)
        return False


def _require_checksum(document: dict[str, Any]) -> None:
    """Refuse a manifest that has changed since it was written."""
    if document.pop(CHECKSUM, None) != checksum_of(document):
        raise ValueError("its bytes have changed since it was written")


def checksum_of(document: Mapping[str, Any]) -> int:
    """Give the checksum of a manifest, by its text as it is written."""
    return zlib.crc32(json.dumps(document).encode())
