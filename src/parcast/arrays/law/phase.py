"""The I/O of a program's phase as collective requests: the law of array I/O inside that of SPMD.

Each cycle of a phase ends with one request of its p processors, which are the clients. With T, the
time of a request, equation (1) of `arrays.law.request`, the service of synchronous I/O becomes [D]

    S0_io  = max over l of [T_start(l) + T_int(l)] + max over i of T_close(i) - max T_int
    SR_io/d = max over l of T_int(l)

so that y = S0_io + SR_io/d = T. The meshes at each p and each number of servers follow a rule:

    clients    the most cubic mesh over the dimensions that the schema distributes: of all products
               of factors that leave no client without elements the one with the least sum, the
               largest factor in the slowest dimension
    servers    the same over the dimensions of their schema, by default the slowest alone

or are formulas in p and d. One client has one position in each dimension, as one server has.

Requests are evaluated once for each different point: p, d, and what else varies of their amounts.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from math import prod
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from parcast.arrays.geometry.boxes import (
    BLOCK,
    MOST_DIMENSIONS,
    WHOLE,
    as_schema,
    type_name,
)
from parcast.arrays.geometry.choices import Operation, Policy, Writer
from parcast.arrays.geometry.layouts import RequestLayout, arrays_of
from parcast.arrays.geometry.meshes import cubic_mesh
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.limits import Allowance
from parcast.arrays.law.parameters import TABLES, ArrayParameters
from parcast.arrays.law.request import Options, request_time
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.description import Description, DescriptionError, Of, parameter
from parcast.descriptions.toml_files import path_beside, read_description
from parcast.errors import FileProblems, ParameterError, Problem
from parcast.laws.spmd.tables import IoLaw, IoService
from parcast.show.warning import Rank, RankedWarning
from parcast.units import shown

CUBIC: Final = "cubic"
KNOWN: Final = 1 << 16  # points whose requests are kept
KEPT: Final = 16  # points whose costs are kept
SCHEMA_KEYS: Final = ("server_schema", "server_mesh", "subchunk")

Counts: TypeAlias = tuple[Amount, ...]
Entries: TypeAlias = tuple[tuple[str, float], ...]  # of a point


def _counts(name: str, given: object) -> Counts:
    """Read a list of numbers or formulas, one for each dimension."""
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_DIMENSIONS:
        raise ParameterError(
            name,
            must=f"be a list of 1 to {MOST_DIMENSIONS} numbers or formulas, the slowest first",
            got=shown(repr(given)),
            hint='Write for example [512, 512, "n"].',
        )
    return tuple(
        _certain(Of("count").read(f"io.{name} in dimension {i + 1}", value))
        for i, value in enumerate(given)
    )


def _certain(amount: Amount) -> Amount:
    """Refuse a count with +-."""
    if amount.spread > 0:
        raise ParameterError(
            amount.name, must="have no +-, as it is a count", hint="Leave out its +-."
        )
    return amount


def _mesh(name: str, given: object) -> object:
    """Read the rule of a mesh, or a list of its positions."""
    if isinstance(given, str):
        if given == CUBIC:
            return given
        raise ParameterError(
            name,
            must='be "cubic" or a list of positions',
            got=shown(repr(given)),
            hint='Write for example ["p/4", 2, 2].',
        )
    return _counts(name, given)


_LIST: Final = {
    "type": "array",
    "items": {"type": ["integer", "string"], "examples": [512, "n"]},
    "minItems": 1,
    "maxItems": MOST_DIMENSIONS,
}


def _texts(given: str | Counts | None) -> str | list[str] | None:
    """Write a list as it is read."""
    return [amount.text for amount in given] if isinstance(given, tuple) else given


_WRITTEN: Final = PlainSerializer(_texts)
_Marks: TypeAlias = tuple[PlainValidator, PlainSerializer, WithJsonSchema]


def _listed(name: str) -> _Marks:
    return PlainValidator(partial(_counts, name)), _WRITTEN, WithJsonSchema(_LIST)


def _rule(name: str) -> _Marks:
    either = {"anyOf": [{"const": CUBIC, "type": "string"}, _LIST]}
    return PlainValidator(partial(_mesh, name)), _WRITTEN, WithJsonSchema(either)


def _letters(given: object) -> object:
    """Read a schema: "BB*"; how long it must be follows from the shape."""
    if isinstance(given, str) and given and not set(given) - {BLOCK, WHOLE}:
        return given
    raise ParameterError(
        "schema", must='be text of B and *, such as "BB*"', got=shown(repr(given))
    )


Letters: TypeAlias = Annotated[str, BeforeValidator(_letters)]


def _of_fixed_size(given: object) -> object:
    """Read the name of a type that NumPy can write as it is."""
    return type_name(
        given,
        lambda kind: bool(not kind.hasobject and kind.itemsize),
        must="be the name of a NumPy type of fixed size",
        hint='Write for example "float64", or give itemsize.',
    )


def _costs(given: object) -> object:
    """Read costs: the path of their file, from the folder of the program's, or their tables."""
    if isinstance(given, ArrayParameters):
        costs = given
    elif isinstance(given, Mapping):
        costs = ArrayParameters(**given)
    elif isinstance(given, str | os.PathLike) and os.fspath(given):
        try:
            costs = read_description(path_beside(given), ArrayParameters, TABLES)
        except FileProblems as refusal:
            raise DescriptionError(
                "costs", list(_elsewhere(refusal)), unlisted=refusal.unlisted
            ) from None
    else:
        raise ParameterError(
            "costs",
            must="be the path of a file of costs, or its tables",
            got="none" if given == "" else shown(repr(given)),
            hint='Write for example costs = "sp2_like.toml", or [phase.io.costs.servers] with '
            "write_rate below it.",
        )
    return _renamed(costs, "io.costs")


def _elsewhere(refusal: FileProblems) -> Iterator[Problem]:
    """Faults of the file of costs, as those of the key that names it."""
    for problem in refusal.problems:
        line = f", line {problem.line}" if problem.line else ""
        place = f", {problem.field}" if problem.field else ""
        yield Problem(message=f"cannot be used: {refusal.path}{line}{place}: {problem.message}")


def _renamed(description: Description, place: str) -> Any:
    """Give the same with amounts that are called by their places in the phase."""
    changed: dict[str, Any] = {}
    for key in type(description).model_fields:
        value = getattr(description, key)
        if isinstance(value, Amount):
            changed[key] = Amount.of(value.text, (value.dimension,), name=f"{place}.{key}")
        elif isinstance(value, Description):
            changed[key] = _renamed(value, f"{place}.{key}")
    return description.model_copy(update=changed)


class _Request(NamedTuple):
    """One request at a point."""

    startup: float  # S0_io [s]
    transfer: float  # SR_io/d [s]
    busy: str  # what is busy for longer than the servers, "" if nothing is


class ArrayIO(IoLaw):
    """I/O by collective requests, each of equal arrays of all processors.

    >>> io = ArrayIO(law="array_io", shape=[32, 16, 16], dtype="float64",
    ...              costs="examples/arrays/sp2_like.toml", client_mesh=[2, 4, 4])
    >>> service = io.service({"p": 32.0, "d": 8.0})
    >>> print(f"{service.startup + service.transfer:.9f}")
    0.024699276
    """

    source: ClassVar[str] = "Chen et al. 1996, doi:10.1109/SUPERC.1996.183547"

    law: Literal["array_io"] = Field(description="Law of the I/O service.")
    shape: Annotated[Counts, *_listed("shape")] = Field(
        description="Extents of an array, the slowest dimension first."
    )
    dtype: Annotated[str, BeforeValidator(_of_fixed_size)] | None = Field(
        default=None, description="NumPy type of an element."
    )
    itemsize: Annotated[Amount, Of("size", name="io.itemsize")] | None = parameter(
        None, "Bytes of an element, instead of dtype."
    )
    arrays: Annotated[Amount, Of("count", name="io.arrays")] = parameter(
        "1", "Equal arrays in a request."
    )
    operation: Operation = Field(default="write", description="Whether a request writes or reads.")
    client_schema: Letters | None = Field(
        default=None,
        description="Distribution over the processors: B (block) or * (whole) for each dimension; "
        "by default B in all.",
    )
    client_mesh: Annotated[Literal["cubic"] | Counts, *_rule("client_mesh")] = Field(
        default=CUBIC,
        description="Positions of the processors in each dimension: the most cubic mesh of each "
        "p, or numbers and formulas whose product is p.",
    )
    servers: Annotated[Amount, Of("count", name="io.servers")] = parameter("d", "I/O servers.")
    server_schema: Letters | None = Field(
        default=None,
        description="Distribution over the servers; by default B in the slowest dimension.",
    )
    server_mesh: Annotated[Literal["cubic"] | Counts, *_rule("server_mesh")] = Field(
        default=CUBIC, description="Positions of the servers, as client_mesh."
    )
    storage_chunk: Annotated[Counts | None, *_listed("storage_chunk")] = Field(
        default=None,
        description="Extents of a storage chunk, such as a shard of a Zarr array: servers have "
        "whole ones instead of chunks by a schema.",
    )
    inner_chunk: Annotated[Counts | None, *_listed("inner_chunk")] = Field(
        default=None, description="Extents of its inner chunks; by default the same."
    )
    policy: Policy = Field(
        default="balanced",
        description="How extents are divided that a mesh does not divide: blocks of "
        "floor(i n/m) to floor((i+1) n/m), or of ceil(n/m).",
    )
    subchunk: Annotated[Amount, Of("size", name="io.subchunk")] = parameter(
        "1 MiB", "Largest piece that a server gathers at a time."
    )
    writer: Writer = Field(default="write-behind", description="How servers write.")
    batch: bool = Field(
        default=False,
        description="Whether small arrays share messages, up to `subchunk` of a server.",
    )
    overlap_rendezvous: bool = Field(
        default=False,
        description="Whether rendezvous transfers are left out of the handling of clients.",
    )
    contention: bool = Field(
        default=False,
        description="Whether clients that serve several servers bound the time from below.",
    )
    costs: Annotated[ArrayParameters, BeforeValidator(_costs)] = Field(
        description="Costs of clients, servers and messages: the path of a file, from the folder "
        "of this one, or its tables [phase.io.costs.clients], .servers, .files and .messages."
    )

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Give the JSON Schema of the table: costs are tables, or the path of their file."""
        schema = super().model_json_schema(*args, **kwargs)
        costs = schema["properties"]["costs"]
        costs["anyOf"] = [{"type": "string"}, {"$ref": costs.pop("$ref")}]
        return schema

    @model_validator(mode="before")
    @classmethod
    def _has_costs(cls, keys: object) -> object:
        return {"costs": "", **keys} if isinstance(keys, Mapping) else keys

    @model_validator(mode="after")
    def _fits(self) -> "ArrayIO":
        problems = list(self._contradictions())
        if problems:
            raise DescriptionError("ArrayIO", problems)
        return self

    def _contradictions(self) -> Iterator[Problem]:
        """Faults of keys that do not fit together."""
        dimensions = len(self.shape)
        for key in ("client_schema", "client_mesh", "server_schema", "server_mesh"):
            yield from self._of_length(key, dimensions)
        for key in ("storage_chunk", "inner_chunk"):
            yield from self._of_length(key, dimensions)
        for key in ("itemsize", "arrays", "servers", "subchunk"):
            amount = getattr(self, key)
            if amount is not None and amount.spread > 0:
                fault = "must have no +-, as it is a count. Leave out its +-."
                yield Problem(field=key, message=fault)
        if (self.dtype is None) == (self.itemsize is None):
            fault = 'must be given, or itemsize. Write for example dtype = "float64".'
            if self.dtype is not None:
                fault = "cannot be combined with itemsize. Leave out one of them."
            yield Problem(field="dtype", message=fault)
        if self.storage_chunk is None:
            if self.inner_chunk is not None:
                fault = "requires storage_chunk. Add it, or use subchunk."
                yield Problem(field="inner_chunk", message=fault)
            return
        for key in SCHEMA_KEYS:
            if str(getattr(self, key)) != str(type(self).model_fields[key].default):
                fault = "cannot be combined with storage_chunk. Leave out one of them."
                yield Problem(field=key, message=fault)

    def _of_length(self, key: str, dimensions: int) -> Iterator[Problem]:
        value = getattr(self, key)
        if value is not None and value != CUBIC and len(value) != dimensions:
            yield Problem(
                field=key,
                message=f"must have one entry for each of the {dimensions} dimensions of shape, "
                f"got {len(value)}. Add or remove some.",
            )

    def service(self, at: Point) -> IoService:
        """Service of one request at every point of a grid, of the shape of what it depends on."""
        requests, place, shape = self._requests(at)
        startup, transfer = np.array([(x.startup, x.transfer) for x in requests])[place].T
        return IoService(startup.reshape(shape), transfer.reshape(shape))

    def warnings_at(self, at: Point) -> Iterator[str]:
        """Say where contention would take longer than the servers."""
        if self.contention:
            return
        requests, _, _ = self._requests(at)
        busy = [request.busy for request in requests if request.busy]
        if busy:
            many = f" in {len(busy)} of {len(requests)} cases" if len(requests) > 1 else ""
            yield RankedWarning(
                f"The time of array I/O is too low{many}: {busy[0]} would be busy for longer than "
                "the I/O servers. contention = true in the io table counts it.",
                kind="busier than the servers",
                rank=Rank.SERIOUS,
            )

    def _requests(self, at: Point) -> tuple[list[_Request], Any, tuple[int, ...]]:
        """Requests at the different points of a grid, the place of each point's, and its shape."""
        uses = (key for key in self._uses if key in at)
        given = {
            key: np.asarray(at[key], dtype=np.float64)
            for key in uses
            if key not in self._nothing or key[:-1] in at
        }
        shape = np.broadcast_shapes(*(values.shape for values in given.values()))
        columns = [np.broadcast_to(values, shape).ravel() for values in given.values()]
        points, place = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        allowance = Allowance("Give fewer points, larger subchunks, or amounts without +-.")
        requests = []
        for row in points.tolist():
            # A factor of 1 is none, and the request is one that is known without it.
            pairs = zip(given, row, strict=True)
            entries = tuple((key, x) for key, x in pairs if x != 1.0 or key[-1] != "*")
            if entries not in self._known:
                self._known[entries] = self._request(entries, allowance)
            requests.append(self._known[entries])
        while len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]
        return requests, place.ravel(), shape

    @cached_property
    def _uses(self) -> tuple[str, ...]:
        """Entries of a point that requests depend on, p and d first."""
        axes = sorted(self.axes() | {"p"}, key=lambda axis: (axis != "p", axis))
        names = sorted(name for name, _ in self.amounts())
        return (*axes, *names, *(f"{name}*" for name in names))

    @cached_property
    def _nothing(self) -> frozenset[str]:
        """Factors of amounts that are 0, whatever they are."""
        numbers = ((name, x) for name, x in self.amounts() if not x.expression.axes)
        return frozenset(f"{name}*" for name, amount in numbers if not amount({}))

    @cached_property
    def _known(self) -> dict[Entries, _Request]:
        return {}

    @cached_property
    def _known_costs(self) -> dict[Entries, Costs]:
        return {}

    @cached_property
    def _uses_of_costs(self) -> frozenset[str]:
        """Entries of a point that costs depend on."""
        amounts = dict(self.costs.amounts())
        names = {f"{name}{mark}" for name in amounts for mark in ("", "*")}
        return frozenset(names | self.costs.axes())

    def _costs_at(self, entries: Entries) -> Costs:
        """Costs at a point; the last are kept, as most are the same at all points."""
        own = tuple(entry for entry in entries if entry[0] in self._uses_of_costs)
        if own not in self._known_costs:
            if len(self._known_costs) > KEPT:
                self._known_costs.clear()
            self._known_costs[own] = self.costs.costs(dict(own))
        return self._known_costs[own]

    def _request(self, entries: Entries, allowance: Allowance) -> _Request:
        """Price one request."""
        at = dict(entries)
        clients, shape = int(at["p"]), self._numbers(self.shape, at)
        servers = _whole(self.servers, at)
        itemsize = _whole(self.itemsize, at) if self.itemsize else np.dtype(self.dtype).itemsize
        options = Options(
            operation=self.operation,
            writer=self.writer,
            batch=self.batch,
            buffer=_whole(self.subchunk, at),
            overlap_rendezvous=self.overlap_rendezvous,
            contention=self.contention,
        )
        layout = RequestLayout(
            shape=shape,
            client_mesh=self._mesh("client", clients, shape, at),
            servers=servers,
            server_mesh=self._mesh("server", servers, shape, at),
            storage=self._numbers(self.storage_chunk, at),
            inner=self._numbers(self.inner_chunk, at),
            itemsize=itemsize,
            policy=self.policy,
            most=options.buffer,
        )
        arrays = _whole(self.arrays, at)
        try:
            costs = self._costs_at(entries).with_servers(servers)
            take = partial(allowance.take, servers=costs.servers, arrays=arrays)
            result = request_time(arrays_of(layout, arrays, take), costs, options)
        except ParameterError as refusal:
            where = ", ".join(f"{axis} = {at[axis]:g}" for axis in ("p", "d") if axis in at)
            raise refusal.named(f"io at {where}: {refusal.name}") from None
        transfer = float(result.intermediate.max())
        alone = float((result.startup + result.intermediate).max())
        busy = result.bound.resource if result.bounded > alone else ""
        return _Request(result.time - transfer, transfer, busy)

    def _numbers(self, counts: Counts | None, at: Point) -> tuple[int, ...]:
        return tuple(_whole(amount, at) for amount in counts or ())

    def _mesh(self, nodes: str, count: int, shape: tuple[int, ...], at: Point) -> tuple[int, ...]:
        """Mesh of so many clients or servers; () where these have whole storage chunks."""
        if nodes == "server" and self.storage_chunk is not None:
            return ()
        usual = BLOCK * len(shape) if nodes == "client" else BLOCK + WHOLE * (len(shape) - 1)
        given, schema = getattr(self, f"{nodes}_mesh"), getattr(self, f"{nodes}_schema")
        if isinstance(given, str) or count == 1:
            try:
                return cubic_mesh(count, schema or usual, shape, self.policy)
            except ParameterError as refusal:
                raise refusal.named(f"io.{nodes}_schema") from None
        mesh = self._numbers(given, at)
        if prod(mesh) != count:
            axis = "p" if nodes == "client" else "number of servers"
            raise ParameterError(
                f"io.{nodes}_mesh",
                must=f"have as many positions as there are {nodes}s, {count}",
                got=f"{'x'.join(map(str, mesh))} = {prod(mesh)}",
                hint=f'Leave that {axis} out, write formulas in p and d, or use "cubic".',
            )
        try:
            as_schema(schema, mesh)  # which a list determines where it was left out
        except ParameterError as refusal:
            raise refusal.named(f"io.{nodes}_mesh") from None
        return mesh


def _whole(amount: Amount, at: Point) -> int:
    """Value of a count at a point."""
    value = float(amount(at))
    if value < 1 or not value.is_integer():
        axes = sorted(amount.expression.axes & at.keys())
        where = f" at {', '.join(f'{axis} = {at[axis]:g}' for axis in axes)}" if axes else ""
        raise ParameterError(
            amount.name,
            must="be a whole number of at least 1",
            got=f"{value:g}{where}",
            hint="Leave that point out, or use floor or ceil in the formula.",
        )
    return int(value)
