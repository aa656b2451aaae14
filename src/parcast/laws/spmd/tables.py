"""What an SPMD phase is described by: the keys of its tables, and how they are read."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field, SerializeAsAny, WithJsonSchema, model_validator

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.description import Description, DescriptionError, Of, parameter
from parcast.descriptions.program import IO_LAWS, LAW_KEY, Phase
from parcast.errors import ParameterError, Problem
from parcast.places import load
from parcast.queueing.time_laws import (
    ServiceLaw,
    TimeLaw,
    deterministic_times,
    exponential_service,
    exponential_times,
    gamma_service,
    gamma_times,
    uniform_times,
)
from parcast.units import quantity, shown

NAMED_LAWS = {
    "none": deterministic_times,
    "exponential": exponential_times,
    "uniform": uniform_times,
}
WIDEST_CV = 20.0
MANY_BURSTS = 20


def _variability(value: object) -> object:
    """Check a variability: a name, or a coefficient of variation."""
    if isinstance(value, str) and value in NAMED_LAWS:
        return value
    number = quantity(value, "fraction", name="variability") if _is_number(value) else -1.0
    if not 0 <= number <= WIDEST_CV:
        raise ParameterError(
            "variability",
            must='be "none", "exponential", "uniform" or a coefficient of variation '
            f"between 0 and {WIDEST_CV:g}",
            got=shown(repr(value)),
            hint="Write for example 0.05.",
        )
    return number


def _is_number(value: object) -> bool:
    text = str(value).strip()
    return not isinstance(value, bool) and bool(text) and (text[0].isdigit() or text[0] == ".")


Variability = Annotated[
    Literal["none", "exponential", "uniform"] | float,
    BeforeValidator(_variability),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["none", "exponential", "uniform"], "type": "string"},
                {"type": "number", "minimum": 0, "maximum": WIDEST_CV},
                {"type": "string", "pattern": "^[0-9.]", "examples": ["5%"]},
            ]
        }
    ),
]


def _law_of(variability: str | float) -> TimeLaw:
    """Law of times that vary so; a coefficient of variation is that of a gamma law."""
    if isinstance(variability, str):
        return NAMED_LAWS[variability]()
    return gamma_times(variability)


class Computing(Description):
    """Computing of one burst."""

    parallel: Annotated[Amount, Of("time", "operations", name="compute.parallel")] | None = (
        parameter(
            None,
            "Work shared by the processors: its time on one, or its operations.",
            example="1 Gflop",
        )
    )
    serial: Annotated[Amount, Of("time", "operations", name="compute.serial")] | None = parameter(
        None, "Work that every processor repeats."
    )
    traffic: Annotated[Amount, Of("size", name="compute.traffic")] | None = parameter(
        None,
        "Bytes that the shared work moves between memory and the processors; computing takes the "
        "longer of the two.",
    )
    imbalance: Annotated[Amount, Of("count", name="compute.imbalance")] | None = parameter(
        None,
        "Load imbalance: shared work of the processors with the most, over the mean of all.",
    )
    heavy: Annotated[Amount, Of("count", name="compute.heavy")] | None = parameter(
        None,
        "Processors with the most, less than p, by default 1; the others have the rest in equal "
        "shares.",
    )
    variability: Variability = Field(
        default="none",
        description="Distribution of the time of a burst: none (constant), exponential, uniform "
        "(on [0, 2 means]) or the coefficient of variation of a gamma distribution.",
    )

    @model_validator(mode="after")
    def _heavy_has_imbalance(self) -> "Computing":
        if self.imbalance is None and self.heavy is not None:
            raise ParameterError(
                "compute",
                must="have imbalance where it has heavy",
                hint="Add imbalance = 1.3, or delete heavy.",
            )
        if self.heavy is not None and self.heavy.spread > 0:
            raise ParameterError(
                "compute",
                must="have no +- in heavy, which counts processors",
                hint="Leave it out.",
            )
        return self

    @cached_property
    def law(self) -> TimeLaw:
        """Law of the times."""
        return _law_of(self.variability)


class _Served(Description):
    """What is served by a queue."""

    variability: Variability = Field(
        default="exponential",
        description="Distribution of the time of a service; values as for computing.",
    )

    @property
    def cv(self) -> float:
        """Coefficient of variation of the services [1]."""
        return float(_law_of(self.variability).cv)

    @cached_property
    def service_law(self) -> ServiceLaw:
        """Law of the services."""
        return exponential_service() if self.cv == 1.0 else gamma_service(self.cv)


class Communication(_Served):
    """Communication of one burst and processor."""

    messages: Annotated[Amount, Of("count", name="communication.messages")] | None = parameter(
        None, "Messages sent; each takes the network's latency.", example="4"
    )
    volume: Annotated[Amount, Of("size", name="communication.volume")] | None = parameter(
        None, "Bytes sent, with the network's bandwidth.", example="1 MB"
    )
    startup: Annotated[Amount, Of("time", name="communication.startup")] | None = parameter(
        None, "Time that does not depend on the network, in addition to that of messages."
    )
    transfer: Annotated[Amount, Of("time", name="communication.transfer")] | None = parameter(
        None, "Time of the transfer, instead of the volume."
    )
    contention: Annotated[Amount, Of("fraction", name="communication.contention")] | None = (
        parameter(None, "Level of contention, instead of the machine's.")
    )
    off_node: Annotated[Amount, Of("fraction", name="communication.off_node")] | None = parameter(
        None, "Share of the bytes that leaves a node; by default that of partners anywhere."
    )
    group: Annotated[Amount, Of("count", name="communication.group")] = parameter(
        "1", "Processors that communicate synchronously, c; 1 is fully asynchronous."
    )
    traffic: Literal["group", "processor"] = Field(
        default="group",
        description="Whether a synchronous exchange loads the shared network once per group, as "
        "published, or once per processor.",
    )

    @property
    def is_there(self) -> bool:
        """Whether anything is sent."""
        given = (self.messages, self.volume, self.startup, self.transfer)
        return any(x is not None for x in given)

    @model_validator(mode="after")
    def _certain_group(self) -> "Communication":
        if self.group.spread > 0:
            raise ParameterError(
                "group", must="have no +-, as it counts processors", hint="Leave out its +-."
            )
        return self


class InputOutput(_Served):
    """I/O of one cycle, all processors together."""

    kind: Literal["synchronous", "striped", "clustered"] = Field(
        default="synchronous",
        description="synchronous: all processors synchronise, then write (SIO); striped: each "
        "writes to all disks when it is ready (BUS-AIO); clustered: each writes to one of the "
        "disks (CLU-AIO).",
    )
    volume: Annotated[Amount, Of("size", name="io.volume")] | None = parameter(
        None, "Bytes, with the bandwidth of the servers."
    )
    startup: Annotated[Amount, Of("time", name="io.startup")] | None = parameter(
        None, "Time that does not depend on the number of disks."
    )
    transfer: Annotated[Amount, Of("time", name="io.transfer")] | None = parameter(
        None, "Time of the transfer with one disk, instead of the volume."
    )

    @property
    def is_there(self) -> bool:
        """Whether anything is read or written."""
        return any(x is not None for x in (self.volume, self.startup, self.transfer))


class IoService(NamedTuple):
    """Service of one I/O request at every point of a grid, whatever its number of servers."""

    startup: Array  # S0_io [s]
    transfer: Array  # SR_io/d [s]


class IoLaw(_Served):
    """I/O of one cycle whose service time another law gives; all processors join before it."""

    kind: ClassVar[str] = "synchronous"
    source: ClassVar[str] = ""  # where the law comes from

    law: str = Field(description="Law of the I/O service.")
    variability: Variability = Field(
        default="none",
        description="Distribution of the time of a request; values as for computing.",
    )

    @abstractmethod
    def service(self, at: Point) -> IoService:
        """Service of one request at every point of a grid, of the shape of what it depends on."""

    def warnings_at(self, at: Point) -> Iterator[str]:  # noqa: ARG002 - for derived laws
        """Give what a reader of the times at some points must know."""
        yield from ()


def io_of(given: object) -> object:
    """Build the I/O of a phase: of its own keys, or of the law that the key "law" names."""
    if isinstance(given, InputOutput | IoLaw):
        return given
    if not isinstance(given, Mapping):
        raise ParameterError(
            "io",
            must="be a table of keys",
            got=shown(repr(given)),
            hint="Write [phase.io] with keys below it.",
        )
    if "law" not in given and "costs" not in given:
        return InputOutput(**given)
    law = given.get("law")
    if not isinstance(law, str) or law not in IO_LAWS:
        known = " or ".join(f'"{name}"' for name in IO_LAWS)
        got = "none" if law is None else shown(repr(law))
        fault = f"must be {known}, got {got}. Leave it out, with its keys, to give the volume."
        raise DescriptionError("io", [Problem(message=fault, field="law")])
    return load(IO_LAWS[law])(**given)


class SpmdTables(Phase):
    """The keys of an SPMD phase; what follows from them is `parcast.laws.spmd.law.SpmdPhase`."""

    source: ClassVar[str] = "Cremonesi and Gennaro 2002, doi:10.1109/TPDS.2002.1158268"
    knows_nodes: ClassVar[bool] = True
    law: Literal["spmd"] = LAW_KEY
    bursts_per_io: Annotated[Amount, Of("count")] = parameter(
        "1", "Bursts in a cycle, before its I/O."
    )
    bursts: Literal["fixed", "geometric"] = Field(
        default="fixed",
        description="Whether every cycle has exactly that many bursts, or a geometrically "
        "distributed number with that mean.",
    )
    reading: Literal["corrected", "published"] = Field(
        default="corrected",
        description="published: the equations as printed, including their contradictions.",
    )
    compute: Computing = Computing()
    communication: Communication = Communication()
    io: Annotated[SerializeAsAny[InputOutput | IoLaw], BeforeValidator(io_of)] = Field(
        default=InputOutput(), description="I/O of a cycle: its own keys, or those of a law of it."
    )

    @model_validator(mode="before")
    @classmethod
    def _published_is_geometric(cls, keys: object) -> object:
        if isinstance(keys, Mapping) and keys.get("reading") == "published":
            return {"bursts": "geometric", **keys}
        return keys

    @model_validator(mode="after")
    def _published_is_balanced(self) -> "SpmdTables":
        if self.reading == "published" and self.compute.imbalance is not None:
            raise ParameterError(
                "phase",
                must='not have reading = "published" with compute.imbalance: those equations '
                "have none",
                hint="Leave one of them out.",
            )
        return self

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Give the JSON Schema of a phase: its I/O has keys of its own, or is one of the laws."""
        schema = super().model_json_schema(*args, **kwargs)
        definitions = schema["$defs"]
        definitions.pop(IoLaw.__name__)
        kinds = [InputOutput, *map(load, IO_LAWS.values())]
        for kind in kinds[1:]:
            of_law = kind.model_json_schema(*args, **kwargs)
            definitions |= of_law.pop("$defs", {})
            definitions[of_law["title"]] = of_law
        items = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds]
        schema["properties"]["io"] |= {"anyOf": items}
        return schema

    @property
    def source_of_law(self) -> str:
        """The law, that of its I/O, and where they come from."""
        own = super().source_of_law
        return f"{own}; {self.io.law}: {self.io.source}" if isinstance(self.io, IoLaw) else own

    @property
    def variant(self) -> str:
        """The kind of its I/O: without communication its error is known by itself."""
        has_own = isinstance(self.io, InputOutput) and self.io.is_there
        return self.io.kind if has_own and not self.communication.is_there else ""

    @property
    def laws_within(self) -> tuple[str, ...]:
        """The law, and that of its I/O."""
        return (self.law, self.io.law) if isinstance(self.io, IoLaw) else (self.law,)

    @property
    def priced(self) -> frozenset[str]:
        """Names of the amounts that a law of its I/O has, and of the imbalance."""
        has_law = isinstance(self.io, IoLaw)
        names = [name for name, _ in self.io.amounts()] if has_law else []
        if self.compute.imbalance is not None:
            names.append(self.compute.imbalance.name)
        return frozenset(names)

    @property
    def is_exponential(self) -> bool:
        """Whether computing and communication have exponential times, as equation (16) assumes."""
        return (float(self.compute.law.cv), self.communication.cv) == (1.0, 1.0)

    @property
    def has_many_bursts(self) -> bool:
        """Whether a cycle is known to have so many bursts that equation (16) is right to 1%."""
        bursts = self.bursts_per_io
        return not bursts.expression.axes and float(bursts({})) >= MANY_BURSTS
