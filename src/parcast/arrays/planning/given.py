"""Settings that a run has today, as a number of I/O servers: hints of ROMIO, namelists of PIO, ...

Names of other libraries are found in any text: "cb_nodes=4", a file of hints, a namelist, the
`model_configure` of UFS, the XML of ADIOS2. What begins with # or ! is a comment. What CESM makes
of its I/O tasks and their stride is as `shr_pio_mod.F90` of CMEPS has it [S].
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

from parcast.arrays.planning.result import Plan
from parcast.errors import FileProblems, ParameterError, Problem
from parcast.files.numbers import whole
from parcast.units import quantity, shown
from parcast.words import listed

SERVERS: Final = (  # names of a number of servers
    *("cb_nodes", "num_iotasks", "pio_numiotasks", "PIO_NUMTASKS", "NumAggregators"),
    *("write_tasks_per_group", "servers"),
)
STRIDES: Final = ("stride", "pio_stride")  # clients for each I/O task of PIO
BUFFERS: Final = ("cb_buffer_size", "subchunk")  # largest piece that is written at a time [B]
OTHERS: Final = ("pio_root", "write_groups", "mesh")
NAMES: Final = (*SERVERS, *STRIDES, *BUFFERS, *OTHERS)
SETTING: Final = re.compile(
    rf"(?<!\w)({'|'.join(NAMES)})[\"']?(?:[\s:=,]|value)+[\"']?"
    r"(-?[0-9]\w*(?:\.[0-9]\w*)*(?:\s?[kmgt]i?b\b)?)",
    re.IGNORECASE,
)
MESH: Final = re.compile(r"[0-9]{1,18}(?:x[0-9]{1,18})*", re.IGNORECASE)
CESM: Final = ("pio_numiotasks", "pio_numtasks")
PIO: Final = ("num_iotasks", *CESM)
AMONG_CLIENTS: Final = ("cb_nodes", "numaggregators")  # which these libraries limit them to
CESM_TASKS: Final = {100: 4, 1000: 8, inf: 16}  # by default, with fewer clients than that [S]
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
        if not any(plan.mesh for plan in plans):
            raise ParameterError(
                "compare",
                must="have no mesh where servers have whole storage chunks",
                got="x".join(map(str, self.mesh)),
                hint="Leave it out, or the storage chunks.",
            )
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
    is_file = os.path.isfile(name)
    found = _found(_content(name) if is_file else name)
    mesh = found["mesh"].text if "mesh" in found else None
    values = {key: _number(x) for key, x in found.items() if key != "mesh"}
    names = map(str.casefold, SERVERS)
    counts = {key: values[key] for key in names if values.get(key, 0) > 0 and key not in PIO}
    for key in AMONG_CLIENTS:
        if key in counts:
            counts[key] = min(counts[key], clients)
    if values.keys() & {*PIO} or (not counts and values.keys() & {*STRIDES}):
        counts |= _io_tasks(values, clients)
    if len(set(counts.values())) != 1:
        got = ", ".join(f"{found[key].name} {count}" for key, count in counts.items())
        which = "in which there is none" + ("" if is_file else ", and no file has this name")
        raise ParameterError(
            "compare",
            must=f"name one number of servers, as {listed(SERVERS, 10)}",
            got=got or f"{shown(repr(name))}, {which}",
            hint=EXAMPLE,
        )
    return Given(
        text=", ".join(f"{x.name} {x.text}" for x in found.values()),
        servers=next(iter(counts.values())),
        mesh=None if mesh is None else tuple(map(int, mesh.casefold().split("x"))),
        buffer=next((values[key] for key in BUFFERS if key in values), None),
    )


class _Setting(NamedTuple):
    """A name and its value, as they are written."""

    name: str
    text: str


def _found(content: str) -> dict[str, _Setting]:
    """Settings of a text by their names in lower case."""
    first, *others = content.split("<!--")
    bare = first + "".join(each.partition("-->")[2] for each in others)
    kept = (re.split(r"[#!]", line)[0] for line in bare.splitlines())
    found: dict[str, _Setting] = {}
    for name, value in SETTING.findall("\n".join(kept)):
        key = name.casefold()
        if key == "mesh" and not MESH.fullmatch(value):
            continue
        if found.setdefault(key, _Setting(name, value)).text != value:
            raise ParameterError(
                "compare",
                must=f"have one value of {name}",
                got=f"{found[key].text} and {shown(value)}",
                hint="Compare one at a time.",
            )
    return found


def _io_tasks(values: Mapping[str, int], clients: int) -> dict[str, int]:
    """Give the I/O tasks of PIO, by the name that says so; their stride may decide as well.

    CESM takes its defaults where the last task would lie beyond the last client.
    """
    key = next(x for x in (*PIO, *STRIDES) if x in values)
    is_cesm = any(x in values for x in (*CESM, "pio_stride"))
    tasks = values.get(key, -1) if key in PIO else -1
    stride = next((values[x] for x in STRIDES if x in values), -1)
    if tasks < 0:
        stride = max(clients // 4, 1) if stride < 0 else stride
        tasks = max(clients // max(stride, 1), 1)
    elif stride < 0:
        stride = max(clients // max(tasks, 1), 1)
    root = 0 if stride == 1 else min(max(values.get("pio_root", 1), 0), clients - 1)
    if is_cesm and (min(tasks, stride) <= 0 or root + stride * (tasks - 1) >= clients):
        usual = next(n for most, n in CESM_TASKS.items() if clients < most)
        stride = max(clients // usual, 1)
        tasks = clients // stride
    return {key: min(tasks, clients)} if tasks > 0 else {}


def _content(path: str) -> str:
    """Read a file with settings."""
    with Path(path).open("rb") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST or b"\0" in content:
        must = "must be a text of up to 1 MiB with settings, got another file"
        raise FileProblems(path, [Problem(message=f"{must}. {EXAMPLE}")])
    return content.decode("utf-8", errors="replace")


def _number(setting: _Setting) -> int:
    """Value of a setting: a whole number, or bytes with a unit."""
    name, text = setting
    is_size = name.casefold() in BUFFERS
    read: float | None = whole(text, least=-LARGEST_NUMBER, most=LARGEST_NUMBER)
    if read is None and is_size:
        read = quantity(text, "size", name=f"compare: {name}")
    if read is None or abs(read) > LARGEST_NUMBER or (is_size and read < 1):
        must = f"have a {'size' if is_size else 'whole number'} up to {LARGEST_NUMBER:g} as {name}"
        raise ParameterError("compare", must=must, got=shown(text), hint=EXAMPLE)
    return int(read)
