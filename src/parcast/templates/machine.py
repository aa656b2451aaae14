"""Machines as templates: of a kind of machine, of this one, or of the nodes of a Slurm.

What only a measurement tells is a placeholder, or a comment: what a standard says of a link is the
most that it carries, and a program gets less.
"""

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from parcast.calibration.benchmarks.machine_figures import SourcedFigure, written
from parcast.calibration.host import page_cache, processor_model
from parcast.calibration.machine_file import machine_keys
from parcast.descriptions.amount import PLACEHOLDER
from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError, RunFailed
from parcast.measurement.slurm import lines_of
from parcast.mpi.find import available_cores
from parcast.templates.document import Template, TemplateKey, keys_of
from parcast.units import format_quantity, shown
from parcast.words import counted, listed

MEASURED: Final = "parcast calibrate measures it"
UNMEASURED: Final = {"network.contention"}  # follows from others
OF_PROGRAM: Final = f"placeholder: it depends on the program; {MEASURED}"
CORE_HOURS: Final = (
    SourcedFigure(key="price.processor_hour", text="1", source="costs are counted in core-hours"),
    SourcedFigure(key="price.currency", text="core-hours", source=""),
)


def _placeholder(key: str, text: str, why: str = "") -> SourcedFigure:
    source = f"placeholder: {why}; {MEASURED}" if why else f"placeholder: {MEASURED}"
    return SourcedFigure(key=key, text=f"{text} ?", source=source)


RATE: Final = SourcedFigure(key="compute.rate", text="1 Gflop/s ?", source=OF_PROGRAM)
PRESETS: Final[Mapping[str, tuple[SourcedFigure, ...]]] = {
    "slurm-node": (
        RATE,
        _placeholder("network.latency", "2 us"),
        _placeholder(
            "network.bandwidth",
            "25 GB/s",
            "200 Gbit/s, what a 4x link of InfiniBand HDR carries (IBTA); a program gets less",
        ),
        _placeholder("storage.bandwidth", "1 GB/s"),
        *CORE_HOURS,
    ),
    "workstation": (
        RATE,
        _placeholder("network.latency", "1 us", "a message through memory"),
        _placeholder("network.bandwidth", "5 GB/s", "a message through memory"),
        SourcedFigure(key="storage.servers", text="1", source="one disk"),
        _placeholder(
            "storage.bandwidth",
            "600 MB/s",
            "6 Gbit/s with 8b/10b coding, what SATA 3 carries (SATA-IO); an SSD has less or, "
            "with NVMe, more",
        ),
    ),
    "cloud": (
        RATE,
        _placeholder("network.latency", "30 us"),
        _placeholder(
            "network.bandwidth",
            "3.125 GB/s",
            "25 Gbit/s of Ethernet (IEEE 802.3by), which virtual machines may share",
        ),
        _placeholder("storage.bandwidth", "250 MB/s"),
        SourcedFigure(
            key="price.processor_hour", text="0.05 ?", source="placeholder: see your contract"
        ),
        SourcedFigure(key="price.currency", text="USD", source=""),
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownMachine:
    """What is known of a machine before it is measured."""

    figures: tuple[SourcedFigure, ...]
    remarks: tuple[str, ...] = ()  # what no key holds
    is_complete: bool = False  # nothing but a measurement tells more

    def named(self, name: str) -> "KnownMachine":
        """The machine under another name."""
        own = SourcedFigure(key="name", text=name, source="")
        return replace(self, figures=(own, *(x for x in self.figures if x.key != "name")))

    def asked(self, ask: Callable[[TemplateKey, str], str]) -> "KnownMachine":
        """The machine with the answers of a person who is asked for each placeholder."""
        keys = {key.name: key for key in keys_of(Machine)}

        def answered(known: SourcedFigure) -> SourcedFigure:
            key = keys[known.key]
            if not (key.amount and known.text.endswith(PLACEHOLDER)):
                return known
            text = ask(key, known.text)
            return known if text == known.text else replace(known, text=text, source="")

        return replace(self, figures=tuple(map(answered, self.figures)))

    def template(self) -> Template:
        """The file of the machine."""
        measured = {key for key in machine_keys() if key not in UNMEASURED}
        notes = dict.fromkeys(measured if self.is_complete else (), MEASURED)
        made = Template(figures={x.key: x for x in self.figures}, notes=notes)
        made.comment("A machine for parcast. A value that ends in ? is a placeholder: replace it.")
        for remark in self.remarks:
            made.comment(f"-> {remark}")
        made.add(Machine)
        return made


def preset_machine(preset: str) -> KnownMachine:
    """A kind of machine: all its figures are placeholders."""
    named = SourcedFigure(key="name", text=preset, source="")
    source = SourcedFigure(key="source", text=f"placeholders of parcast init: {preset}", source="")
    return KnownMachine(figures=(named, source, *PRESETS[preset]))


def this_machine() -> KnownMachine:
    """What the system tells of this machine."""
    cores = len(available_cores())
    model = processor_model() or platform.machine()
    host = platform.node()
    figures = [
        SourcedFigure(key="name", text=host or "this machine", source=""),
        SourcedFigure(key="source", text=f"{model}, from the operating system", source=""),
        SourcedFigure(
            key="processors", text=str(cores), source=f"cores of {host} that a process may use"
        ),
        SourcedFigure(key="node.processors", text=str(cores), source="one node"),
    ]
    if cache := page_cache():
        text = written(cache.value, cache.dimension)
        figures.append(SourcedFigure(key="storage.cache", text=text, source=cache.method))
    remarks = []
    names = getattr(os, "sysconf_names", {})
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        remarks.append(f"memory of {host}: {format_quantity(memory, 'size', 3)}")
    return KnownMachine(figures=tuple(figures), remarks=tuple(remarks), is_complete=True)


NODES: Final = "%N|%P|%T|%X|%Y|%Z|%m|%G|%l"  # what sinfo is asked for
GONE: Final = ("down", "drain", "fail", "unknown", "future", "inval")  # states of nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class SlurmNode:
    """A node of a partition, as sinfo lists it."""

    name: str
    partition: str
    is_default: bool
    state: str
    cores: int
    threads: int  # of a core
    memory: float  # [B]
    generic: str  # resources: gpu:4
    limit: str  # of time, as Slurm writes it

    @property
    def is_there(self) -> bool:
        """Whether jobs may run on it."""
        return not self.state.startswith(GONE)

    @property
    def kind(self) -> tuple[int, float, str]:
        """What tells it from nodes of other kinds."""
        return self.cores, self.memory, self.generic


def slurm_machine(partition: str | None = None) -> KnownMachine:
    """What Slurm tells of a partition, by default the default one."""
    listed_nodes = lines_of(["sinfo", "--noheader", "--Node", "-o", NODES])
    if listed_nodes is None:
        raise RunFailed(
            "sinfo does not answer: there is no Slurm on this machine, or it is down. Run this on "
            "a login node of the cluster."
        )
    nodes = [*_nodes(listed_nodes)]
    of = chosen_partition(nodes, partition)
    here = [x for x in nodes if x.partition == of]
    there = [x for x in here if x.is_there]
    if not there:
        raise RunFailed(
            f"All {len(here)} nodes of the partition {shown(of)} are down or drained, so that "
            "nothing is known of what it has. Name another partition."
        )
    cores = sum(x.cores for x in there)
    kinds = Counter(x.kind for x in there)
    cluster = _cluster()
    figures = [
        SourcedFigure(key="name", text=f"{cluster}, partition {of}" if cluster else of, source=""),
        SourcedFigure(key="source", text=f"sinfo of {platform.node()}", source=""),
        SourcedFigure(
            key="processors",
            text=str(cores),
            source=f"cores of {counted(len(there), 'node')} of the partition {shown(of)}",
        ),
        *CORE_HOURS,
    ]
    per_node = {x.cores for x in there}
    if len(per_node) == 1:
        charged = "cores of each node; whole nodes are charged"
        text = str(per_node.pop())
        figures.append(SourcedFigure(key="node.processors", text=text, source=charged))
    return KnownMachine(
        figures=tuple(figures), remarks=tuple(_remarks(here, there, kinds)), is_complete=True
    )


def _remarks(
    here: Sequence[SlurmNode],
    there: Sequence[SlurmNode],
    kinds: Mapping[tuple[int, float, str], int],
) -> Iterator[str]:
    """Say what Slurm tells and no key holds."""
    for (cores, memory, generic), count in kinds.items():
        also = f", {generic}" if generic not in {"", "(null)"} else ""
        size = format_quantity(memory, "size", 3)
        yield f"{counted(count, 'node')} of {counted(cores, 'core')} and {size} of memory{also}"
    if len(kinds) > 1:
        yield (
            "The nodes differ: a machine is described as if all processors were equal. Describe "
            "one kind at a time, or the slowest."
        )
    if any(x.threads > 1 for x in there):
        yield "Hardware threads are not counted as processors."
    if gone := [x.name for x in here if not x.is_there]:
        yield f"Left out, as they are down or drained: {listed(map(shown, gone))}."
    limits = {x.limit for x in there}
    if len(limits) == 1:
        yield f"Longest job of the partition: {limits.pop()}"


def chosen_partition(nodes: Sequence[SlurmNode], partition: str | None) -> str:
    """Name the partition that is meant, or refuse one that there is not."""
    every = list(dict.fromkeys(x.partition for x in nodes))
    default = next((x.partition for x in nodes if x.is_default), None)
    if partition is None:
        partition = default or (every[0] if len(every) == 1 else None)
    if partition not in every:
        got = "none, and none is the default" if partition is None else shown(partition)
        raise ParameterError(
            "partition",
            must=f"be {' or '.join(map(shown, every))}" if every else "have nodes",
            got=got,
            hint="sinfo lists them.",
        )
    return partition


def _nodes(lines: Sequence[str]) -> Iterator[SlurmNode]:
    """Read what sinfo lists, without lines that are not as it was asked."""
    for line in lines:
        cells = [x.strip() for x in line.split("|")]
        if len(cells) != len(NODES.split("|")) or not all(x.isdigit() for x in cells[3:7]):
            continue
        name, partition, state, sockets, cores, threads, memory, generic, limit = cells
        yield SlurmNode(
            name=name,
            partition=partition.rstrip("*"),
            is_default=partition.endswith("*"),
            state=state.lower(),
            cores=int(sockets) * int(cores),
            threads=int(threads),
            memory=float(memory) * 2**20,
            generic=generic,
            limit=limit,
        )


def _cluster() -> str:
    """Name of the cluster; "" where it is not known."""
    for line in lines_of(["scontrol", "show", "config"]) or []:
        key, _, value = line.partition("=")
        if key.strip() == "ClusterName":
            return value.strip()
    return ""
