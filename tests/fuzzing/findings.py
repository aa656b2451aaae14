"""What fuzzing finds: one small file each, which `make test` reads again ever after.

The first line of the file is JSON: what became of the case, where, and the seed that made it. The
document follows as it is.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

CORPUS = Path(__file__).with_name("corpus")
PATIENCE = 10.0  # that making one finding small may take [s]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A document that a reader neither reads nor refuses as it should."""

    reader: str
    kind: str
    detail: str
    seed: str  # from which it was made
    content: bytes

    @property
    def path(self) -> Path:
        """Where it is kept, by what became of it: equal faults have one place."""
        words = re.sub(r"\W+", "-", f"{self.kind} {self.detail}").strip("-").lower()
        digest = hashlib.sha256(f"{self.kind} {self.detail}".encode()).hexdigest()[:6]
        return CORPUS / self.reader / f"{words[:60]}-{digest}.case"

    def save(self) -> None:
        """Write it among the cases that failed once."""
        told = {"kind": self.kind, "detail": self.detail, "seed": self.seed}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(json.dumps(told).encode() + b"\n" + self.content)

    @classmethod
    def load(cls, path: Path) -> "Finding":
        """Read a file that `save` wrote."""
        first, _, content = path.read_bytes().partition(b"\n")
        return cls(reader=path.parent.name, content=content, **json.loads(first))


def saved() -> list[Finding]:
    """Every case that failed once."""
    return [Finding.load(path) for path in sorted(CORPUS.glob("*/*.case"))]


def minimised(
    content: bytes, fails: Callable[[bytes], bool], *, patience: float = PATIENCE
) -> bytes:
    """Leave out chunks, from half of the document down to single bytes, while it still fails."""
    end = perf_counter() + patience
    chunk = max(1, len(content) // 2)
    while True:
        at, before = 0, len(content)
        while at < len(content) and perf_counter() < end:
            shorter = content[:at] + content[at + chunk :]
            if fails(shorter):
                content = shorter
            else:
                at += chunk
        if perf_counter() >= end or (chunk == 1 and len(content) == before):
            return content
        if chunk > 1:
            chunk = max(1, chunk // 2)
