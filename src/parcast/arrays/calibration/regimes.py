"""The measured costs, and which of them hold for a request."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from parcast.arrays.calibration.dry_run import DryRun
from parcast.arrays.geometry.choices import MANY
from parcast.arrays.law.costs import OF_SMALL_FILES, ClientCosts, Costs, ServerCosts
from parcast.arrays.law.declared import declared_of
from parcast.arrays.law.files import OTHERS
from parcast.arrays.law.message import Protocol
from parcast.arrays.store.writing import WRITE_OUT
from parcast.arrays.trials.request import ArrayRequest

EAGER: Final = 8192.0  # MPICH sends a message by rendezvous from there, within a node [B]
SIDES: Final = ("clients", "servers")
BOTH: Final = {  # numbers that clients and servers have in common
    "messages.startup": tuple(f"{x}.{y}_startup" for x in SIDES for y in ("send", "receive")),
    "messages.bandwidth": tuple(f"{side}.bandwidth" for side in SIDES),
}
DECLARED: Final = {
    f"{table}.{name}": declared
    for table, own in (
        ("clients", declared_of(ClientCosts)),
        ("servers", declared_of(ServerCosts)),
        ("files", OTHERS.items()),
        ("messages", declared_of(Protocol)),
    )
    for name, declared in own
}


def dimension_of(key: str) -> Any:
    """Dimension of a number, as the law declares it; `computing` is how much slower that is."""
    if key.startswith("computing."):
        return "count"
    return DECLARED[BOTH.get(key, (key,))[0]].dimension


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost that reference requests determine."""

    key: str
    typical: float  # from which the fit starts [SI]; of disks, over the rate of a first trial [1]
    what: str  # the requests that determine it
    spread: float = 1.0  # standard deviation over machines, in logarithms [1] [D]

    @property
    def dimension(self) -> Any:
        """Dimension that it is declared with."""
        return dimension_of(self.key)

    @property
    def is_of_disk(self) -> bool:
        """Whether it is a rate of the disk."""
        return self.key.endswith(("write_rate", "read_rate"))


COSTS: Final = (
    Cost("messages.startup", 3e-5, "subchunks of 16 KiB"),
    Cost("messages.rest", 1e-4, "subchunks of 16 KiB"),
    Cost("messages.longest_rest", 1e-3, "one small array", 0.7),
    Cost("messages.bandwidth", 5e9, "a large array", 2.0),
    Cost("computing.time", 1.5, "subchunks of 16 KiB", 0.5),
    Cost("computing.bytes", 1.5, "arrays in columns", 0.5),
    Cost("servers.begin", 1e-3, "one small array"),
    Cost("servers.synchronise", 2e-3, "one small array"),
    Cost("files.many_synchronise", 1e-2, "many small arrays"),
    Cost("servers.memory_rate", 4e9, "arrays of 1 to 7 MiB"),
    Cost("servers.metadata", 1e-4, "many small arrays"),
    Cost("servers.end", 1e-3, "one small array"),
    Cost("servers.commit", 2e-4, "32 small arrays"),
    Cost("files.many_open_file", 2e-4, "many small arrays"),
    Cost("servers.open_file", 3e-4, "32 small arrays"),
    Cost("servers.cache_rate", 4e9, "a large array"),
    Cost("servers.write_rate", 1.5, "a large array"),
    Cost("servers.interference", 1.0, "double-buffer", 0.5),
    Cost("files.single_write_rate", 1.0, "arrays of 4 and 7 MiB"),
    Cost("files.few_write_rate", 1.0, "32 arrays"),
    Cost("files.many_write_rate", 1.0, "many long arrays"),
    Cost("files.sync_write_rate", 1.0, "writer sync"),
    Cost("files.sync_open_file", 5e-4, "writer sync, many arrays"),
    Cost("servers.flush", 2e-4, "writer sync, 16 KiB"),
    Cost("files.read_begin", 1e-3, "a read of a small array"),
    Cost("servers.read_rate", 1.5, "a read of a large array"),
    Cost("files.read_metadata", 1e-4, "a read of many arrays"),
    Cost("files.read_open_file", 1e-4, "a read of many arrays"),
)


def keys_of(request: ArrayRequest, dry: DryRun) -> tuple[str, ...]:
    """Keys of the costs that matter to a request: those that `costs_of` looks up."""
    looked_up: defaultdict[str, float] = defaultdict(lambda: 1.0)
    costs_of(request, dry, looked_up)
    return tuple(looked_up)


def costs_of(request: ArrayRequest, dry: DryRun, value: Mapping[str, float]) -> Costs:
    """Costs of a request: `value` has those of `COSTS`, by key, `dry` what computing takes.

    It looks up no more than matters to the request, whatever the values are.
    """
    is_write = request.operation == "write"
    startup, slower = value["messages.startup"], value["computing.time"]
    touching = value["computing.bytes"] / dry.touch_rate  # where a read fills new memory [s/B]
    side: dict[str, Any] = {
        "send_startup": startup,
        "receive_startup": startup,
        "bandwidth": 1 / (1 / value["messages.bandwidth"] + touching),
    }
    copying = dry.copy_rate / value["computing.bytes"]
    placing = dry.place_rate / value["computing.bytes"]
    describing = (request.clients - 1) * startup  # what the others hold
    clients: dict[str, Any] = {
        "construct_schema": slower * dry.construct_schema + describing,
        "decode": slower * dry.decode,
        "copy_rate": copying if is_write else inf,
        "place_rate": inf if is_write else placing,
    }
    servers: dict[str, Any] = {
        "parse_schema": slower * dry.parse_schema,
        "find": slower * dry.find,
        "boundary": slower * dry.boundary,
        "copy_rate": inf if is_write else copying,
        "place_rate": placing if is_write else inf,
        "compression_rate": dry.encode_rate / value["computing.bytes"],
        "through_cache": True,
        "asks_ahead": True,
    }
    protocol = Protocol(
        eager_limit=EAGER,
        schema_length=dry.schema_length,
        request_length=dry.request_length,
        quit_length=dry.quit_length,
        nonblocking=True,
        rest=value["messages.rest"],
        longest_rest=value["messages.longest_rest"],
    )
    return Costs(
        clients=ClientCosts(**side, **clients),
        servers=ServerCosts(**side, **servers, **_files(request, value)),
        protocol=protocol,
    )


def _files(request: ArrayRequest, value: Mapping[str, float]) -> dict[str, Any]:
    """Costs of the files of a request."""
    files = request.carried.files
    others = files.others(WRITE_OUT)
    is_small = files.are_small(WRITE_OUT)
    names = ["begin", "write_rate", "open_file", "metadata"]
    if request.operation == "read":
        names += ["read_rate"]
    else:
        of_writer = {"sync": ["flush"], "double-buffer": ["interference"]}
        names += ["synchronise", "end", "memory_rate", *of_writer.get(request.writer, ())]
        names += ["commit"] if files.arrays < MANY else []
        names += [] if is_small or request.writer == "sync" else ["cache_rate"]
    keys = [f"files.{others[name]}" if name in others else f"servers.{name}" for name in names]
    kept = OF_SMALL_FILES if is_small else {"partition": WRITE_OUT}
    return {name: value[key] for name, key in zip(names, keys, strict=True)} | kept
