"""What measuring the costs of array I/O answers: every number, with its spread, and their file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from parcast.aliases import Array
from parcast.arrays.costs import Costs
from parcast.arrays.measuring.dry_run import DryRun, dry_run
from parcast.arrays.measuring.figure import Figure
from parcast.arrays.measuring.request import Request
from parcast.arrays.parameters import ArrayParameters
from parcast.arrays.store.durable import MANY
from parcast.arrays.store.writing import WRITE_OUT
from parcast.show.result import Result
from parcast.units import format_quantity
from parcast.words import counted

SCHEMA: Final = "parcast/array-io-costs/1"
DIGITS: Final = 6  # of numbers in the file
TABLES: Final = ("clients", "servers", "messages")
MEASURED: Final = 3  # dimensions of the arrays whose files were measured
NEVER: Final = 1 << 62  # bytes that no file has, so that none is written out before the flush [B]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeasuredCosts(Result):
    """Costs of array I/O between so many clients and servers, on one machine and file system."""

    _sheet: ClassVar[str] = "parcast.arrays.measuring.sheet:sheet_of"

    name: str  # of the machine
    clients: int
    servers: int
    folder: str
    figures: tuple[Figure, ...]
    cores: int  # that the ranks had
    mpi: str = ""  # "MPICH 5.0.2"
    place: str = ""  # of a testbed
    date: str = ""  # 2026-01-31
    seconds: float = 0.0  # that it took [s]
    load: float | None = None  # of the machine before
    warnings: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what was measured."""
        return (
            f"MeasuredCosts({self.name!r}, {self.clients} clients, {self.servers} servers, "
            f"{len(self.figures)} figures)"
        )

    def value(self, key: str) -> float:
        """Give a number by its key, such as "servers.write_rate". [SI]."""
        return next(figure.value for figure in self.figures if figure.key == key)

    def parameters(self) -> ArrayParameters:
        """Costs of any request, as they are saved."""
        return ArrayParameters(**self._tables())

    def costs_for(self, request: Request, dry: DryRun | None = None) -> Costs:
        """Costs of one request: those of messages and files, and of computing its dry run.

        `dry` is made if it is not given.
        """
        machine = self.parameters().costs()
        servers = self._reading() if request.operation == "read" else self._writing(request)
        servers["open_file"] /= request.arrays_a_file
        servers["metadata"] *= request.arrays_on_disk / request.number
        known = replace(machine, servers=replace(machine.servers, **servers))
        dry = dry or dry_run(request)
        costs = dry.applied(known)
        # The master also takes what the other clients describe, who share cores while they do.
        sharing = 1.0 if self.place else max(request.clients / self.cores, 1.0)
        described = (request.clients - 1) * self.value("clients.receive_startup")
        opened = self.value("read.synchronise") if request.operation == "read" else 0.0
        construct = costs.clients.construct_schema + described + opened
        construct = construct + dry.describe * (sharing - 1.0)
        return replace(costs, clients=replace(costs.clients, construct_schema=construct))

    def _writing(self, request: Request) -> dict[str, Any]:
        """Costs of the files of a write, by how a server writes them."""
        is_few = int(request.files.max()) <= MANY
        unit = next(request.schema.units(int(request.files.argmax()), request.servers))
        is_in_turn = request.writer != "double-buffer"
        file = "few.open_file" if is_few else "servers.open_file"
        if is_in_turn and len(unit.arrays) == 1:
            file = "turn.open_file"
        folders = len(request.shape) + request.stack - MEASURED
        costs: dict[str, Any] = {
            "cache_rate": self._rate("turn.cache_rate" if is_in_turn else "servers.cache_rate"),
            "open_file": max(self.value(file) + folders * self.value("files.folder"), 0.0),
            "metadata": self.value("servers.metadata"),
            "partition": WRITE_OUT,
        }
        unlimited = np.asarray(np.inf)
        if request.writer == "sync":  # these rates contain that of the file cache
            costs |= {"write_rate": self._rate("sync.write_rate"), "cache_rate": unlimited}
        elif request.file_size() < WRITE_OUT and int(request.files.max()) > 1:
            name = "few.write_rate" if is_few else "many.write_rate"
            costs |= {"write_rate": self._rate(name), "cache_rate": unlimited, "partition": NEVER}
        elif request.file_size() < WRITE_OUT:
            rates = {name: self._rate(f"small.{name}") for name in ("write_rate", "cache_rate")}
            costs |= {**rates, "partition": NEVER}
        return costs

    def _rate(self, key: str) -> Array:
        """Give a rate. [B/s]."""
        return np.asarray(self.value(key))

    def _reading(self) -> dict[str, Any]:
        """Costs of the files of a read: client 0 looks at all arrays, and then each server."""
        return {
            "read_rate": min(self.value("servers.read_rate"), self.value("turn.read_rate")),
            "open_file": self.value("read.open_file"),
            "metadata": 2 * self.value("read.metadata"),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each number."""
        return (figure.row() for figure in self.figures)

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/array-io-costs/1``."""
        return {
            "schema": SCHEMA,
            "rows": list(self.rows()),
            "name": self.name,
            "clients": self.clients,
            "servers": self.servers,
            "folder": self.folder,
            "cores": self.cores,
            "mpi": self.mpi,
            "testbed": self.place or None,
            "date": self.date,
            "seconds": self.seconds,
            "load": self.load,
            "costs": self._tables(),
            "warnings": list(self.warnings),
            "inputs": dict(self.inputs),
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file: .toml (for `parcast plan io --costs`), .json or .csv."""
        from parcast.files.document import write_document

        if Path(path).suffix.lower() == ".toml":
            write_document(str(path), [self.to_toml()])
        else:
            Result.save(self, path)

    def to_toml(self) -> str:
        """The file that `parcast plan io --costs` reads."""
        tables = self._tables()
        kept = {figure.key: figure for figure in self.figures}
        lines = ["# Costs of array I/O, measured by parcast calibrate array-io.", "#"]
        lines += [f"# {line}" for line in self._where()]
        lines += [f"{key} = {_quoted(tables[key])}" for key in ("name", "source")]
        for table in TABLES:
            lines += ["", f"[{table}]"]
            for key, value in tables[table].items():
                text = str(value).lower() if isinstance(value, bool) else _quoted(value)
                figure = kept.get(f"{table}.{key}")
                note = "" if figure is None else f"  # {_spread(figure)}{figure.method}"
                lines.append(f"{key} = {text}{note}")
        return "\n".join([*lines, ""])

    def _where(self) -> Iterator[str]:
        """Say where and how it was measured."""
        ranks = f"{counted(self.clients, 'client')} and {counted(self.servers, 'server')}"
        yield f"{ranks} on {self.place or counted(self.cores, 'core')}"
        yield f"folder: {self.folder}"
        yield "The interval after a number contains 90 % of the medians of resampled repetitions."

    def _tables(self) -> dict[str, Any]:
        """Costs as the tables of a TOML file."""
        tables: dict[str, Any] = {
            "name": self.name,
            "source": f"measured on {self.date} by parcast calibrate array-io",
            **{table: {} for table in TABLES},
        }
        for figure in self.figures:
            table, _, key = figure.key.partition(".")
            if table in TABLES:
                tables[table][key] = format_quantity(figure.value, figure.dimension, DIGITS)
        tables["servers"] |= {"partition": f"{WRITE_OUT} B", "through_cache": True}
        tables["servers"]["asks_ahead"] = True
        tables["messages"]["nonblocking"] = True
        return tables


def _quoted(text: object) -> str:
    """Write a text as TOML does."""
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _spread(figure: Figure) -> str:
    """Write the interval of a figure."""
    lower, upper = (format_quantity(x, figure.dimension, 3) for x in (figure.lower, figure.upper))
    return "" if lower == upper else f"{lower} to {upper}; "
