"""Settings that a run has today, as a number of I/O servers: hints of ROMIO, namelists of PIO, ...

Names of other libraries are found in any text: "cb_nodes=4", a file of hints, a namelist, the
`model_configure` of UFS, the XML of ADIOS2. What begins with # or ! is a comment. Where the number
of I/O tasks is negative or above that of the clients, it follows from the stride, as
`shr_pio_component_init` of CMEPS has it [S].
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final, NamedTuple

from parcast.arrays.planning.result import ServerPlan
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
OTHERS: Final = ("write_groups", "mesh", "pio_rearranger", "rearr")
NAMES: Final = (*SERVERS, *STRIDES, *BUFFERS, *OTHERS)
SETTING: Final = re.compile(
    rf"(?<!\w)({'|'.join(NAMES)})[\"']?(?:[\s:=,]|-?val(?:ue)?)+[\"']?"
    r"(-?[0-9]\w*(?:\.[0-9]\w*)*(?:[ \t]*[kmgt]i?(?:b|bit|bytes?)?\b)?)",
    re.IGNORECASE,
)
MESH: Final = re.compile(r"[0-9]{1,18}(?:x[0-9]{1,18})*", re.IGNORECASE)
PIO: Final = ("num_iotasks", "pio_numiotasks", "pio_numtasks")
REARRANGERS: Final = {"1": "pio-box", "2": "pio-subset"}
OF_LIBRARIES: Final = {"cb_nodes": "romio", "cb_buffer_size": "romio"} | dict.fromkeys(
    (*PIO, *STRIDES), "pio-box"
)
AMONG_CLIENTS: Final = ("num_iotasks", "cb_nodes", "numaggregators")  # these limit them to those
LARGEST: Final = 1 << 20  # of a file with settings [B]
LARGEST_NUMBER: Final = 10**15  # of bytes or servers
EXAMPLE: Final = (
    "Write for example cb_nodes=4, name a file of hints or a namelist, or write libraries to "
    "compare with other libraries."
)
NO_STRIDE: Final = (
    "Without a number and a stride, CESM has one I/O task on each node: write servers= and their "
    "number."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenSetting:
    """A setting that was found."""

    text: str  # names and numbers
    servers: int
    mesh: tuple[int, ...] | None = None  # of the servers, where it was named
    buffer: int | None = None  # [B]
    library: str = ""  # whose names they are, if it has a law of its own

    def chosen(self, plans: Sequence[ServerPlan]) -> ServerPlan:
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


def given_setting(text: str | os.PathLike[str], clients: int) -> GivenSetting:
    """Read a setting of a program with so many clients: a text, or the path of a file."""
    name = os.fspath(text)
    found = _found(_content(name) if os.path.isfile(name) else name)
    counts = _counts(found, clients)
    if len(set(counts.values())) != 1:
        got = ", ".join(f"{key} {count}" for key, count in counts.items())
        which = "in which there is none above 0"
        if not os.path.exists(name) and not found:
            which = "in which there is none, and no file has this name"
        raise ParameterError(
            "compare",
            must=f"name one number of servers, as {listed(SERVERS, 10)}",
            got=got or f"{shown(repr(name))}, {which}",
            hint=NO_STRIDE if found.keys() & {*PIO, *STRIDES} and not counts else EXAMPLE,
        )
    return GivenSetting(
        text=", ".join(f"{each[0].name} {each[0].text}" for each in found.values()),
        servers=next(iter(counts.values())),
        mesh=_mesh(found) if "mesh" in found else None,
        buffer=next((_number(found[key]) for key in BUFFERS if key in found), None),
        library=_library(found),
    )


class _Setting(NamedTuple):
    """A name and its value, as they are written."""

    name: str
    text: str


def _found(content: str) -> dict[str, list[_Setting]]:
    """Settings of a text by their names in lower case."""
    first, *others = content.split("<!--")
    bare = first + "".join(each.partition("-->")[2] for each in others)
    kept = (re.split(r"[#!]", line)[0] for line in bare.splitlines())
    found: dict[str, list[_Setting]] = {}
    for name, value in SETTING.findall("\n".join(kept)):
        if name.casefold() != "mesh" or MESH.fullmatch(value):
            found.setdefault(name.casefold(), []).append(_Setting(name, value))
    return found


def _counts(found: Mapping[str, Sequence[_Setting]], clients: int) -> dict[str, int]:
    """Numbers of servers, by what says so."""
    counts: dict[str, int] = {}
    for key in map(str.casefold, SERVERS):
        if key in found:
            count = _number(found[key])
            is_beyond = count > clients and key not in AMONG_CLIENTS
            if key in PIO and (count < 0 or is_beyond):
                count = _by_stride(found, clients)
            counts[found[key][0].name] = min(count, clients) if key in AMONG_CLIENTS else count
    if not counts:
        counts["stride"] = _by_stride(found, clients)
    if not any(counts.values()) and "mesh" in found:
        counts["mesh"] = prod(_mesh(found))
    return {name: count for name, count in counts.items() if count > 0}


def _library(found: Mapping[str, Sequence[_Setting]]) -> str:
    """Name the library that the settings are of; of PIO, its rearranger."""
    name = next((OF_LIBRARIES[key] for key in found if key in OF_LIBRARIES), "")
    for key in ("pio_rearranger", "rearr"):
        if name.startswith("pio") and key in found:
            value = _only(found[key]).text
            if value not in REARRANGERS:
                raise ParameterError(
                    "compare",
                    must=f"have 1 (box) or 2 (subset) as {key}",
                    got=shown(value),
                    hint="Leave it out for box.",
                )
            name = REARRANGERS[value]
    return name


def _by_stride(found: Mapping[str, Sequence[_Setting]], clients: int) -> int:
    """I/O tasks of PIO, one for so many clients; 0 where the stride does not say it."""
    strides = (_number(found[key]) for key in STRIDES if key in found)
    return next((clients // stride for stride in strides if 1 <= stride <= clients), 0)


def _mesh(found: Mapping[str, Sequence[_Setting]]) -> tuple[int, ...]:
    """Mesh of the servers."""
    return tuple(map(int, _only(found["mesh"]).text.casefold().split("x")))


def _only(settings: Sequence[_Setting]) -> _Setting:
    """Give the one value of a setting."""
    first, *others = settings
    for other in others:
        if other.text != first.text:
            raise ParameterError(
                "compare",
                must=f"have one value of {first.name}",
                got=f"{first.text} and {shown(other.text)}",
                hint="Compare one at a time.",
            )
    return first


def _content(path: str) -> str:
    """Read a file with settings."""
    with Path(path).open("rb") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST or b"\0" in content:
        must = "must be a text of up to 1 MiB with settings, got another file"
        raise FileProblems(path, [Problem(message=f"{must}. {EXAMPLE}")])
    return content.decode("utf-8", errors="replace")


def _number(settings: Sequence[_Setting]) -> int:
    """Value of a setting: a whole number, or bytes with a unit."""
    name, text = _only(settings)
    is_size = name.casefold() in BUFFERS
    read: float | None = whole(text, least=-LARGEST_NUMBER, most=LARGEST_NUMBER)
    if read is None and is_size:
        read = quantity(text, "size", name=f"compare: {name}")
    least = 1 if is_size else -LARGEST_NUMBER
    if read is None or not least <= read <= LARGEST_NUMBER:
        what = "size from 1 B" if is_size else "whole number"
        must = f"have a {what} up to {LARGEST_NUMBER:g} as {name}"
        raise ParameterError("compare", must=must, got=shown(text), hint=EXAMPLE)
    return int(read)
