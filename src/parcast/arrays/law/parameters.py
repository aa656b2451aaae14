"""Costs of array I/O as a TOML file: the numbers of `parcast.arrays.law.costs`, with units."""

from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from parcast.arrays.law.costs import PARTITION, ClientCosts, Costs, ServerCosts
from parcast.arrays.law.message import Protocol
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.description import Description, Of, parameter
from parcast.descriptions.toml_files import read_description
from parcast.errors import ParameterError
from parcast.files.faults import AnyPath

ILLUSTRATIVE: Final = Path(__file__).with_name("sp2_like.toml")  # as in examples/arrays

OneTime = Annotated[Amount, Of("time")]
OneRate = Annotated[Amount, Of("rate", above=0.0)]
OneSize = Annotated[Amount, Of("size")]


class OfNodes(Of):
    """Marks an amount of every client or server, or a list with one for each.

    Amounts of lists are not uncertain, and no fit or option changes them.
    """

    def validated(self, name: str, value: object) -> Any:
        """Read an amount, or each of a list."""
        if not isinstance(value, list | tuple):
            return self.read(name, value)
        if not value:
            raise ParameterError(
                name,
                must="have at least one number",
                got="none",
                hint="Give one for each, or one number for all.",
            )
        numbered = ((f"{name} number {i}", x) for i, x in enumerate(value, 1))
        each = tuple(self.read(called, x) for called, x in numbered)
        if uncertain := next((x for x in each if x.spread), None):
            raise ParameterError(
                uncertain.name,
                must='have no "+-"',
                got=f'"{uncertain.text}"',
                hint="Only a number that all nodes have may be uncertain.",
            )
        return each

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe both."""
        one = super().__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


Each: TypeAlias = Amount | tuple[Amount, ...]
Time = Annotated[Each, OfNodes("time")]
Rate = Annotated[Each, OfNodes("rate", above=0.0)]
Size = Annotated[Each, OfNodes("size")]


def given_at(costs: Description, at: Point) -> dict[str, Any]:
    """Value of every amount that is given, at one point [SI]."""
    given = {key: getattr(costs, key) for key in type(costs).model_fields}
    return {
        key: np.asarray([each(at) for each in x] if isinstance(x, tuple) else x(at))
        for key, x in given.items()
        if isinstance(x, Amount | tuple)
    }


class _Node(Description):
    """What clients and servers have in common."""

    send_startup: Time = parameter("0 s", "Startup of a send call, lambda_s.")
    receive_startup: Time = parameter("0 s", "Startup of a receive call, lambda_r.")
    packet_time: Time = parameter("0 s", "Software cost of a packet, tau.")
    bandwidth: Rate | None = parameter(None, "Rate of its link, r; by default unlimited.")
    run: Time = parameter("0 s", "Packing or unpacking one contiguous run, t_run.")
    copy_rate: Rate | None = parameter(None, "Rate of packing, R_copy; by default unlimited.")
    place_rate: Rate | None = parameter(
        None, "Rate of putting what has arrived into its place, R_place; by default unlimited."
    )


class ClientParameters(_Node):
    """One client."""

    construct_schema: Time = parameter("0 s", "Constructing the schema message, t_con.")
    decode: Time = parameter("0 s", "Decoding a request, t_proc.")


class ServerParameters(_Node):
    """One I/O server and its disk."""

    parse_schema: Time = parameter("0 s", "Parsing the schema message, t_par.")
    find: Time = parameter("0 s", "Finding the clients that overlap a subchunk, t_find.")
    boundary: Time = parameter("0 s", "Computing the overlap with one client, t_bnd.")
    write_rate: Rate = parameter(..., "Rate at which its file system writes, R.")
    read_rate: Rate | None = parameter(
        None, "Rate of reading, R_read; by default that of writing."
    )
    cache: Size | None = parameter(None, "Size of the file cache, C; by default unlimited.")
    cache_rate: Rate | None = parameter(
        None, "Rate of copying into the file cache, R_mem; by default unlimited."
    )
    partition: Annotated[Amount, Of("size", least=1.0)] = parameter(
        f"{PARTITION} B", "Bytes that the file system writes behind as a whole, part."
    )
    open_file: Time = parameter("0 s", "Creating or opening a file and closing it, t_file.")
    synchronise: Time = parameter("0 s", "Flushing once for each request, t_sync.")
    commit: Time = parameter(
        "0 s", "Flushing the metadata of each of fewer than 64 arrays, by server 0, t_commit."
    )
    begin: Time = parameter(
        "0 s",
        "Beginning a request before its files, t_begin: by server 0; of a read by each server.",
    )
    end: Time = parameter("0 s", "Putting what was written in its place, by server 0, t_end.")
    flush: Time = parameter("0 s", "Flushing each subchunk, t_flush: with sync and through_cache.")
    metadata: Time = parameter(
        "0 s", "Metadata of each array on disk, t_meta: by server 0; of a read by each server."
    )
    memory_rate: Rate | None = parameter(
        None, "Rate of filling new memory where arrays are written, R_new; by default unlimited."
    )
    interference: Annotated[Each, OfNodes("count")] = parameter(
        "0", "Part of the shorter of exchanging and writing that is added: with through_cache."
    )
    through_cache: bool = Field(
        default=False, description="Whether every writer copies into the file cache first."
    )
    asks_ahead: bool = Field(
        default=False, description="Whether double-buffer asks for the next subchunks early."
    )
    compression: Annotated[Each, OfNodes("count", above=0.0)] = parameter(
        "1", "Bytes on disk over those of the array."
    )
    compression_rate: Rate | None = parameter(
        None, "Bytes of the array that are compressed a second; by default unlimited."
    )
    decompression_rate: Rate | None = parameter(
        None, "Bytes of the array that are decompressed a second; by default unlimited."
    )


class FileParameters(Description):
    """Costs of other files than few large ones, in place of those of the servers."""

    single_write_rate: OneRate | None = parameter(
        None, "R for a single small file of a server; the copy into the cache is in it."
    )
    few_write_rate: OneRate | None = parameter(None, "R for few small files of a server.")
    many_write_rate: OneRate | None = parameter(
        None, "R for many small files: more than 64, or in more than 64 folders."
    )
    many_open_file: OneTime | None = parameter(None, "t_file for many files of a server.")
    many_synchronise: OneTime | None = parameter(None, "t_sync for many files of a server.")
    sync_write_rate: OneRate | None = parameter(
        None, "R with the writer sync; the copy into the cache is in it."
    )
    sync_open_file: OneTime | None = parameter(None, "t_file with the writer sync.")
    read_open_file: OneTime | None = parameter(None, "t_file of a read.")
    read_metadata: OneTime | None = parameter(None, "t_meta of a read.")
    read_begin: OneTime | None = parameter(None, "t_begin of a read.")


class MessageParameters(Description):
    """How messages are sent, and the lengths of those that hold no data."""

    packet: Annotated[Amount, Of("size", above=0.0)] = parameter(
        "256 B", "Payload of a packet, pi."
    )
    eager_limit: OneSize = parameter(
        "4096 B", "Size from which a message is sent by rendezvous, n_sw."
    )
    schema_length: OneSize = parameter("512 B", "Length of the schema message, b_sch.")
    request_length: OneSize = parameter("128 B", "Length of a request, b_req.")
    quit_length: OneSize = parameter("32 B", "Length of the message that ends a request, b_quit.")
    rest: OneTime = parameter("0 s", "Between two looks of a rank that has begun to wait.")
    longest_rest: OneTime = parameter("0 s", "Between two looks of one that has waited for long.")
    nonblocking: bool = Field(
        default=False,
        description="Whether only the receiver spends the time of large messages.",
    )
    always: bool = Field(
        default=False,
        description="Whether calls last until a message has arrived, whatever its size.",
    )


class ArrayParameters(Description):
    """Costs of array I/O on a machine."""

    name: str = Field(default="a machine", description="Name of the machine.")
    source: str = Field(default="", description="Source of the figures.")
    clients: ClientParameters = ClientParameters()
    servers: ServerParameters
    files: FileParameters = FileParameters()
    messages: MessageParameters = MessageParameters()

    def costs(self, at: Point | None = None) -> Costs:
        """Costs as numbers; amounts that are formulas have the values of the axes `at`."""
        at = {} if at is None else at
        servers = given_at(self.servers, at)
        partition = int(servers.pop("partition"))
        messages: dict[str, Any] = {
            key: float(value(at)) if isinstance(value, Amount) else value
            for key, value in (
                (x, getattr(self.messages, x)) for x in MessageParameters.model_fields
            )
        }
        has = {key: getattr(self.servers, key) for key in ("through_cache", "asks_ahead")}
        return Costs(
            clients=ClientCosts(**given_at(self.clients, at)),
            servers=ServerCosts(**servers, partition=partition, **has),
            protocol=Protocol(**messages),
            files={key: float(value) for key, value in given_at(self.files, at).items()},
        )


def read_parameters(path: AnyPath) -> ArrayParameters:
    """Read a file such as `examples/arrays/sp2_like.toml`."""
    return read_description(path, ArrayParameters, "[clients], [servers], [files] and [messages]")


def read_costs(path: AnyPath) -> Costs:
    """Read costs from a TOML file such as `examples/arrays/sp2_like.toml`.

    >>> float(read_costs("examples/arrays/sp2_like.toml").servers.write_rate)
    2230000.0
    """
    return read_parameters(path).costs()


def illustrative_parameters() -> ArrayParameters:
    """Give the costs of a machine of 1996, which were chosen, not measured."""
    return read_parameters(ILLUSTRATIVE)
