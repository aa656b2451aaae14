"""Settings that a run has today, as a number of I/O servers: hints of ROMIO, namelists of PIO, ...

Names of other libraries are found in any text: "cb_nodes=4", a file of hints, a namelist, the
`model_configure` of UFS, the XML of ADIOS2. What begins with # or ! is a comment. A number of I/O
tasks below 0 follows from the stride, as `shr_pio_mod.F90` of CMEPS has it [S].
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parcast.arrays.planning.result import Plan
from parcast.errors import FileProblems, ParameterError, Problem
from parcast.files.numbers import whole
from parcast.units import shown
from parcast.words import listed

SERVERS: Final = (  # names of a number of servers
    *("cb_nodes", "num_iotasks", "pio_numiotasks", "PIO_NUMTASKS", "NumAggregators"),
    *("write_tasks_per_group", "servers"),
)
STRIDES: Final = ("stride", "pio_stride")  # clients for each I/O task of PIO
BUFFERS: Final = ("cb_buffer_size", "subchunk")  # largest piece that is written at a time [B]
OTHERS: Final = ("write_groups", "mesh")
NAMES: Final = (*SERVERS, *STRIDES, *BUFFERS, *OTHERS)
SETTING: Final = re.compile(
    rf"(?<!\w)({'|'.join(NAMES)})[\"']?(?:[\s:=,]|value)+[\"']?(-?[0-9]+(?:x[0-9]+)*)",
    re.IGNORECASE,
)
PIO: Final = ("num_iotasks", "pio_numiotasks", "pio_numtasks")
AMONG_CLIENTS: Final = (*PIO, "cb_nodes", "numaggregators")  # which these libraries limit them to
DEFAULT_TASKS: Final = 4  # where CESM finds both the number of tasks and the stride below 0 [S]
LARGEST: Final = 1 << 20  # of a file with settings [B]
LARGEST_NUMBER: Final = 10**15  # of bytes or servers
EXAMPLE: Final = "Write for example cb_nodes=4, or name a file of hints or a namelist."


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """A setting that was found."""

    text: str  # names and numbers
    servers: int
    mesh: tuple[int, ...] | None = None  # of the servers, where it was named
    buffer: int | None = None  # [B]

    def chosen(self, plans: Sequence[Plan]) -> Plan:
        """Give the plan of the setting among all of as many servers.

        By default that of the longest contiguous parts of the file: row slabs, if there are as
        many rows as servers.
        """
        if self.mesh is None:
            return max(plans, key=lambda plan: plan.mesh)
        found = [plan for plan in plans if plan.mesh == self.mesh]
        if not found:
            meshes = ("x".join(map(str, plan.mesh)) for plan in plans)
            raise ParameterError(
                "compare",
                must=f"name a mesh of {self.servers} servers: {listed(sorted(meshes), 20)}",
                got="x".join(map(str, self.mesh)),
                hint="Its product is the number of servers.",
            )
        return found[0]


def given_setting(text: str | os.PathLike[str], clients: int) -> Given:
    """Read a setting of a program with so many clients: a text, or the path of a file."""
    name = os.fspath(text)
    content = _content(name) if os.path.isfile(name) else name
    kept = (re.split(r"[#!]", line)[0] for line in content.splitlines())
    found: dict[str, str] = {}  # values by names in lower case
    written: dict[str, str] = {}
    for key, value in SETTING.findall("\n".join(kept)):
        found.setdefault(key.casefold(), value)
        written.setdefault(key.casefold(), key)

    def numbers(names: Sequence[str]) -> dict[str, int]:
        """Give those above 0: a number below is the default of PIO."""
        there = [name.casefold() for name in names if name.casefold() in found]
        values = {written[name]: _whole(found[name]) for name in there}
        return {name: value for name, value in values.items() if value > 0}

    counts, strides = numbers(SERVERS), list(numbers(STRIDES).values())
    if not counts and any(name in found for name in (*PIO, *STRIDES)):
        stride = strides[0] if strides else max(clients // DEFAULT_TASKS, 1)
        counts = {"stride": max(clients // stride, 1)}
    if len(set(counts.values())) != 1:
        got = ", ".join(f"{key} {count}" for key, count in counts.items())
        raise ParameterError(
            "compare",
            must=f"name one number of servers, as {listed(SERVERS, 10)}",
            got=got or f"{shown(repr(name))}, in which there is none",
            hint=EXAMPLE,
        )
    [(key, servers), *_] = counts.items()
    if key.casefold() in AMONG_CLIENTS:
        servers = min(servers, clients)
    return Given(
        text=", ".join(f"{written[name]} {value}" for name, value in found.items()),
        servers=servers,
        mesh=tuple(map(_whole, found["mesh"].split("x"))) if "mesh" in found else None,
        buffer=next(iter(numbers(BUFFERS).values()), None),
    )


def _content(path: str) -> str:
    """Read a file with settings."""
    with Path(path).open("rb") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST or b"\0" in content:
        must = "must be a text of up to 1 MiB with settings, got another file"
        raise FileProblems(path, [Problem(message=f"{must}. {EXAMPLE}")])
    return content.decode("utf-8", errors="replace")


def _whole(text: str) -> int:
    """Read a number; a mesh where none can be is none."""
    if "x" in text:
        return -1
    value = whole(text, least=-LARGEST_NUMBER, most=LARGEST_NUMBER)
    if value is None:
        must = f"have numbers up to {LARGEST_NUMBER:g}"
        raise ParameterError("compare", must=must, got=shown(text), hint=EXAMPLE)
    return value
