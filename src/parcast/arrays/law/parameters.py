"""Costs of array I/O as a TOML file: the numbers of `parcast.arrays.law.costs`, with units."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import numpy as np
from pydantic import Field, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from parcast.arrays.law.costs import SINGLE, ClientCosts, Costs, LibraryCosts, ServerCosts
from parcast.arrays.law.declared import DeclaredCost, declared_of
from parcast.arrays.law.files import OTHERS
from parcast.arrays.law.message import Protocol
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.description import Description, Of, parameter
from parcast.descriptions.toml_files import read_description
from parcast.errors import ParameterError
from parcast.files.faults import AnyPath

TABLES: Final = "[clients], [servers], [files], [messages] and [libraries]"
ILLUSTRATIVE: Final = Path(__file__).with_name("sp2_like.toml")  # as in examples/arrays


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
_Table = TypeVar("_Table", bound=Description)


def given_at(costs: Description, at: Point) -> dict[str, Any]:
    """Value of every amount that is given, at one point [SI]."""
    given = {key: getattr(costs, key) for key in type(costs).model_fields}
    return {
        key: np.asarray([each(at) for each in x] if isinstance(x, tuple) else x(at))
        for key, x in given.items()
        if isinstance(x, Amount | tuple)
    }


def declaring(
    costs: Iterable[tuple[str, DeclaredCost]], one: Collection[str] | None = None
) -> Callable[[type[_Table]], type[_Table]]:
    """Give a table the costs that the law declares as keys; `one` has no lists, None: none has."""

    def made(table: type[_Table]) -> type[_Table]:
        keys: dict[str, Any] = {
            name: (_kind_of(cost, has_one=one is None or name in one), _key_of(cost))
            for name, cost in costs
        }
        return create_model(
            table.__name__,
            __base__=table,
            __module__=table.__module__,
            __doc__=table.__doc__,
            **keys,
        )

    return made


def _kind_of(cost: DeclaredCost, *, has_one: bool) -> Any:
    """Give what a key may hold."""
    if not cost.dimension:
        return bool
    mark = (Of if has_one else OfNodes)(cost.dimension, above=cost.above, least=cost.least)
    kind: Any = Annotated[Amount if has_one else Each, mark]
    return kind if cost.in_file is not None else kind | None


def _key_of(cost: DeclaredCost) -> Any:
    """Give its default and what it means."""
    if not cost.dimension:
        return Field(default=cost.in_file, description=cost.what)
    return parameter(cost.in_file, cost.what)


@declaring(declared_of(ClientCosts), one=())
class ClientParameters(Description):
    """One client."""


@declaring(declared_of(ServerCosts), one=SINGLE)
class ServerParameters(Description):
    """One I/O server and its disk."""


@declaring(OTHERS.items())
class FileParameters(Description):
    """Costs of other files than few large ones, in place of those of the servers."""


@declaring(declared_of(Protocol))
class MessageParameters(Description):
    """How messages are sent, and the lengths of those that hold no data."""


@declaring(declared_of(LibraryCosts))
class LibraryParameters(Description):
    """Costs of other I/O libraries beside messages and disks; without them they are estimated."""


class ArrayParameters(Description):
    """Costs of array I/O on a machine."""

    name: str = Field(default="a machine", description="Name of the machine.")
    source: str = Field(default="", description="Source of the figures.")
    clients: ClientParameters = ClientParameters()
    servers: ServerParameters
    files: FileParameters = FileParameters()
    messages: MessageParameters = MessageParameters()
    libraries: LibraryParameters = LibraryParameters()

    def costs(self, at: Point | None = None) -> Costs:
        """Costs as numbers; amounts that are formulas have the values of the axes `at`."""
        at = {} if at is None else at
        servers = given_at(self.servers, at)
        partition = int(servers.pop("partition"))
        messages, libraries = (_values_at(x, at) for x in (self.messages, self.libraries))
        has = {key: getattr(self.servers, key) for key in ("through_cache", "asks_ahead")}
        return Costs(
            clients=ClientCosts(**given_at(self.clients, at)),
            servers=ServerCosts(**servers, partition=partition, **has),
            protocol=Protocol(**messages),
            files={key: float(value) for key, value in given_at(self.files, at).items()},
            libraries=LibraryCosts(**libraries),
        )


def _values_at(table: Description, at: Point) -> dict[str, Any]:
    """Values of a table of which none is a list: numbers, and whether something is so."""
    given = {key: getattr(table, key) for key in type(table).model_fields}
    return {
        key: float(value(at)) if isinstance(value, Amount) else value
        for key, value in given.items()
        if value is not None
    }


def read_parameters(path: AnyPath) -> ArrayParameters:
    """Read a file such as `examples/arrays/sp2_like.toml`."""
    return read_description(path, ArrayParameters, TABLES)


def read_costs(path: AnyPath) -> Costs:
    """Read costs from a TOML file such as `examples/arrays/sp2_like.toml`.

    >>> float(read_costs("examples/arrays/sp2_like.toml").servers.write_rate)
    2230000.0
    """
    return read_parameters(path).costs()


def illustrative_parameters() -> ArrayParameters:
    """Give the costs of a machine of 1996, which were chosen, not measured."""
    return read_parameters(ILLUSTRATIVE)
