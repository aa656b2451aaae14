"""Memories that a benchmark moved data between: that of the host, of a device, or managed.

A link between the memories of two devices is not the link between those of their hosts. Results of
one machine file are those of one memory; of several, one is to be chosen.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from parcast.advice import File, ours
from parcast.errors import ParameterError
from parcast.files.decoding import base_name, name_of
from parcast.files.faults import AnyPath, Faults
from parcast.units import shown
from parcast.words import listed

HOST: Final = "host"
DEVICE: Final = "device"
SHARED: Final = "shared"  # managed by the driver, which moves it between host and device
LETTERS: Final = {  # as the arguments of the OSU Micro-Benchmarks
    "H": HOST,
    "D": DEVICE,
    "M": "managed",
    "MD": "managed-device",
    "MH": "managed-host",
}


class MemoryResults(Protocol):
    """Some results of one file."""

    @property
    def memory(self) -> str:
        """Memory of the data; "" where none is moved."""

    @property
    def file(self) -> str:
        """File that they are from."""


Some = TypeVar("Some", bound=MemoryResults)


def between(sender: str, receiver: str) -> str:
    """Name the memory of a pair of ranks.

    >>> between("device", "device"), between("host", "device")
    ('device', 'host-device')
    """
    return sender if sender == receiver else f"{sender}-{receiver}"


def in_words(memory: str) -> str:
    """Name a memory after a tool, where it is not that of the host.

    >>> in_words("device"), in_words("host")
    (', device memory', '')
    """
    return f", {memory} memory" if memory not in ("", HOST) else ""


def of_one_memory(
    results: Sequence[Some], memory: str | None, *, format: str, paths: Sequence[AnyPath]
) -> list[Some]:
    """Keep the results of one memory, and those of none; refuse several where none is chosen."""
    files: dict[str, dict[str, None]] = {}
    for result in results:
        if result.memory:
            files.setdefault(result.memory, {})[base_name(result.file)] = None
    if memory is None and len(files) > 1:
        of = (f"{name} memory in {listed(map(shown, named))}" for name, named in files.items())
        given = [File(name_of(path)) for path in paths]
        choose = ours("import", format, *given, "--memory", next(iter(files)))
        Faults(name_of(paths[0])).refuse(
            f"must be of one memory, got {' and '.join(of)}: they are different links. Choose "
            f"{' or '.join(files)}: {choose}"
        )
    if memory is not None and memory not in files:
        raise ParameterError(
            "memory",
            must="be one that was measured",
            got=shown(repr(memory)),
            hint=f"Choose from {', '.join(files) or 'none'}.",
        )
    return [x for x in results if memory is None or x.memory in ("", memory)]
