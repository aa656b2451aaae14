"""The measured costs, and which of them hold for a request."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from parcast.arrays.geometry.choices import MANY
from parcast.arrays.law.costs import OF_SMALL_FILES, ClientCosts, Costs, ServerCosts
from parcast.arrays.law.message import Protocol
from parcast.arrays.measuring.dry_run import DryRun
from parcast.arrays.store.writing import WRITE_OUT
from parcast.arrays.trials.carried import Request

EAGER: Final = 8192.0  # MPICH sends a message by rendezvous from there, within a node [B]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """A cost that reference requests determine."""

    key: str
    typical: float  # from which the fit starts [SI]; of disks, over the rate of a first trial [1]
    dimension: Any  # "time", "rate" or "count"
    what: str  # the requests that determine it
    spread: float = 1.0  # standard deviation over machines, in logarithms [1] [D]

    @property
    def is_of_disk(self) -> bool:
        """Whether it is a rate of the disk."""
        return self.key.endswith(("write_rate", "read_rate"))


COSTS: Final = (
    Cost(key="messages.startup", typical=3e-5, dimension="time", what="subchunks of 16 KiB"),
    Cost(key="messages.rest", typical=1e-4, dimension="time", what="subchunks of 16 KiB"),
    Cost(
        key="messages.longest_rest",
        typical=1e-3,
        dimension="time",
        what="one small array",
        spread=0.7,
    ),
    Cost(
        key="messages.bandwidth", typical=5e9, dimension="rate", what="a large array", spread=2.0
    ),
    Cost(
        key="computing.time",
        typical=1.5,
        dimension="count",
        what="subchunks of 16 KiB",
        spread=0.5,
    ),
    Cost(
        key="computing.bytes", typical=1.5, dimension="count", what="arrays in columns", spread=0.5
    ),
    Cost(key="servers.begin", typical=1e-3, dimension="time", what="one small array"),
    Cost(key="servers.synchronise", typical=2e-3, dimension="time", what="one small array"),
    Cost(key="files.many_synchronise", typical=1e-2, dimension="time", what="many small arrays"),
    Cost(key="servers.memory_rate", typical=4e9, dimension="rate", what="arrays of 1 to 7 MiB"),
    Cost(key="servers.metadata", typical=1e-4, dimension="time", what="many small arrays"),
    Cost(key="servers.end", typical=1e-3, dimension="time", what="one small array"),
    Cost(key="servers.commit", typical=2e-4, dimension="time", what="32 small arrays"),
    Cost(key="files.many_open_file", typical=2e-4, dimension="time", what="many small arrays"),
    Cost(key="servers.open_file", typical=3e-4, dimension="time", what="32 small arrays"),
    Cost(key="servers.cache_rate", typical=4e9, dimension="rate", what="a large array"),
    Cost(key="servers.write_rate", typical=1.5, dimension="rate", what="a large array"),
    Cost(
        key="servers.interference",
        typical=1.0,
        dimension="count",
        what="double-buffer",
        spread=0.5,
    ),
    Cost(
        key="files.single_write_rate", typical=1.0, dimension="rate", what="arrays of 4 and 7 MiB"
    ),
    Cost(key="files.few_write_rate", typical=1.0, dimension="rate", what="32 arrays"),
    Cost(key="files.many_write_rate", typical=1.0, dimension="rate", what="many long arrays"),
    Cost(key="files.sync_write_rate", typical=1.0, dimension="rate", what="writer sync"),
    Cost(
        key="files.sync_open_file",
        typical=5e-4,
        dimension="time",
        what="writer sync, many arrays",
    ),
    Cost(key="servers.flush", typical=2e-4, dimension="time", what="writer sync, 16 KiB"),
    Cost(key="files.read_begin", typical=1e-3, dimension="time", what="a read of a small array"),
    Cost(key="servers.read_rate", typical=1.5, dimension="rate", what="a read of a large array"),
    Cost(key="files.read_metadata", typical=1e-4, dimension="time", what="a read of many arrays"),
    Cost(key="files.read_open_file", typical=1e-4, dimension="time", what="a read of many arrays"),
)


def keys_of(request: Request, dry: DryRun) -> tuple[str, ...]:
    """Keys of the costs that matter to a request: those that `costs_of` looks up."""
    looked_up: defaultdict[str, float] = defaultdict(lambda: 1.0)
    costs_of(request, dry, looked_up)
    return tuple(looked_up)


def costs_of(request: Request, dry: DryRun, value: Mapping[str, float]) -> Costs:
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


def _files(request: Request, value: Mapping[str, float]) -> dict[str, Any]:
    """Costs of the files of a request."""
    files, others = request.files, request.files.others(WRITE_OUT)
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
