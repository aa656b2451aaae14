"""Machines: processors, network and storage, and the price of using them.

Any key may be missing as long as the program does not need it; otherwise the message names it.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, create_model, model_validator

from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.description import Description, Of, parameter
from parcast.descriptions.fit_record import FitRecord
from parcast.errors import ParameterError, require
from parcast.files.numbers import LARGEST_COUNT
from parcast.units import Dimension

HOUR: Final = 3600.0  # [s]
LARGEST_PRICE: Final = 1e30  # in any currency, so that costs are finite
LEVEL: Final = "level of contention"  # of a point: replaces what the descriptions say of it


class Compute(Description):
    """One processor."""

    rate: Annotated[Amount, Of("operation_rate", name="compute.rate")] | None = parameter(
        None, "Operations per second of one processor, for this kind of program."
    )
    memory_bandwidth: Annotated[Amount, Of("rate", name="compute.memory_bandwidth")] | None = (
        parameter(
            None,
            "Memory bandwidth of one processor while the others of its node are idle.",
        )
    )
    background: Annotated[Amount, Of("fraction", name="compute.background")] | None = parameter(
        None, "Share of the time in which other jobs compete for each processor."
    )
    background_jobs: Annotated[Amount, Of("count", name="compute.background_jobs")] | None = (
        parameter(None, "Jobs that compete then, by default 1; all get equal shares.")
    )
    background_time: Annotated[Amount, Of("time", name="compute.background_time")] | None = (
        parameter(None, "Mean time that they compete in a row; by default short against a burst.")
    )

    @model_validator(mode="after")
    def _background_first(self) -> "Compute":
        others = (self.background_jobs, self.background_time)
        given = [x.name.partition(".")[2] for x in others if x is not None]
        if self.background is None and given:
            raise ParameterError(
                "compute",
                must=f"give background with {given[0]}",
                hint="Add the share of the time in which other jobs compete.",
            )
        return self


class ComputeNode(Description):
    """What the processors of a node share."""

    processors: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="Processors of a node; if it is given, whole nodes are charged.",
    )
    memory_bandwidth: Annotated[Amount, Of("rate", name="node.memory_bandwidth")] | None = (
        parameter(None, "Memory bandwidth of all processors of a node together.")
    )
    network_bandwidth: Annotated[Amount, Of("rate", name="node.network_bandwidth")] | None = (
        parameter(None, "Bandwidth of the link of a node, which its processors share.")
    )
    message_bandwidth: Annotated[Amount, Of("rate", name="node.message_bandwidth")] | None = (
        parameter(
            None, "Bandwidth of one pair of processors of a node; by default network.bandwidth."
        )
    )
    servers: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="Disks or I/O servers of each node, instead of storage.servers: d grows with "
        "the nodes.",
    )

    @model_validator(mode="after")
    def _among_some(self) -> "ComputeNode":
        given = [x for x in type(self).model_fields if getattr(self, x) is not None]
        if self.processors is None and given:
            raise ParameterError(
                "node",
                must=f"give processors with {given[0]}",
                hint="Add the processors of a node.",
            )
        return self


class Network(Description):
    """The network between the processors."""

    latency: Annotated[Amount, Of("time", name="network.latency")] | None = parameter(
        None, "Startup time of one message; by default 0."
    )
    bandwidth: Annotated[Amount, Of("rate", name="network.bandwidth")] | None = parameter(
        None, "Bandwidth of one pair of processors without contention."
    )
    saturation: Annotated[Amount, Of("rate", name="network.saturation")] | None = parameter(
        None, "Bandwidth of all pairs together; determines the level of contention."
    )
    bidirectional: Annotated[Amount, Of("rate", name="network.bidirectional")] | None = parameter(
        None,
        "Bandwidth of one pair without contention that sends in both directions at once, both "
        "together; not used by any law yet.",
    )
    contention: Annotated[Amount, Of("fraction", name="network.contention")] | None = parameter(
        None,
        "Level of contention if no saturation rate is known: 0 is a link for each pair, 1 a "
        "single bus.",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> "Network":
        if self.saturation is not None and self.contention is not None:
            raise ParameterError(
                "contention",
                must="be left out if saturation is given: one follows from the other",
                hint="Keep saturation.",
            )
        return self


class Storage(Description):
    """The disks, or the I/O servers."""

    servers: int | None = Field(
        default=None,
        ge=1,
        le=LARGEST_COUNT,
        description="Number of disks or I/O servers; the default of d.",
    )
    bandwidth: Annotated[Amount, Of("rate", name="storage.bandwidth")] | None = parameter(
        None, "Write bandwidth of one server."
    )
    read_bandwidth: Annotated[Amount, Of("rate", name="storage.read_bandwidth")] | None = (
        parameter(
            None,
            "Read bandwidth of one server without caching, used by regions of kind `read`; by "
            "default that of writing.",
        )
    )
    latency: Annotated[Amount, Of("time", name="storage.latency")] | None = parameter(
        None, "Time of a request in addition to that of its bytes; by default 0."
    )
    cache: Annotated[Amount, Of("size", name="storage.cache")] | None = parameter(
        None,
        "Bytes that are written to a cache before writes wait for the disks; not used by any law "
        "yet.",
    )
    cache_bandwidth: Annotated[Amount, Of("rate", name="storage.cache_bandwidth")] | None = (
        parameter(None, "Bandwidth of cached writes and reads; not used by any law yet.")
    )


class Price(Description):
    """Price of using the machine, in any currency; a price of 1 counts processor-hours."""

    processor_hour: Annotated[Amount, Of("count", name="price.processor_hour")] | None = parameter(
        None, "Price of one processor per hour."
    )
    node_hour: Annotated[Amount, Of("count", name="price.node_hour")] | None = parameter(
        None, "Price of one node per hour, instead of processor_hour."
    )
    currency: str = Field(
        default="", description='Currency or unit of the price: "EUR", "node hours", ...'
    )

    @model_validator(mode="after")
    def _one_price(self) -> "Price":
        if self.processor_hour is not None and self.node_hour is not None:
            raise ParameterError(
                "price",
                must="give processor_hour or node_hour, not both",
                hint="Keep the one charged.",
            )
        amount = self.amount
        if amount is None and self.currency:
            raise ParameterError(
                "price",
                must="give processor_hour or node_hour",
                hint="Add one, as a plain number.",
            )
        if amount is not None and not amount.expression.axes:
            above = amount({}) > 0
            hint = "Leave out [price] if the machine is free; 1 counts processor-hours."
            require("price", amount({}), above, must="be above 0", hint=hint)
            most = amount({}) <= LARGEST_PRICE
            hint = "Use a larger unit of the currency."
            require("price", amount({}), most, must=f"be at most {LARGEST_PRICE:g}", hint=hint)
        return self

    @property
    def amount(self) -> Amount | None:
        """The price that is given, or None."""
        return self.node_hour if self.processor_hour is None else self.processor_hour


class Primitive(Description):
    """Time of one communication primitive: startup + volume / bandwidth, on p processors."""

    startup: Annotated[Amount, Of("time")] | None = parameter(
        None, "Time of a call in addition to that of its bytes; may depend on p."
    )
    bandwidth: Annotated[Amount, Of("rate")] | None = parameter(
        None, "Bytes of the volume per second; may depend on p."
    )


class Barrier(Description):
    """Time of a barrier among p processors; it sends no bytes."""

    startup: Annotated[Amount, Of("time", name="primitives.barrier.startup")] | None = parameter(
        None, "Time of one barrier; may depend on p."
    )

    @property
    def bandwidth(self) -> None:
        """Nothing: there are no bytes."""
        return


def _primitive(name: str) -> type[Primitive]:
    """Class of a primitive whose amounts are called by their place: primitives.reduce.startup."""
    dimensions: dict[str, Dimension] = {"startup": "time", "bandwidth": "rate"}
    keys: dict[str, Any] = {
        key: (
            Annotated[Amount, Of(dimension, name=f"primitives.{name}.{key}")] | None,
            parameter(None, str(Primitive.model_fields[key].description)),
        )
        for key, dimension in dimensions.items()
    }
    made: type[Primitive] = create_model(name.capitalize(), __base__=Primitive, **keys)
    globals()[made.__name__] = made  # where pickle looks for it
    return made


VOLUMES: Final = {  # what the volume of a call is: the buffer of one partner, as MPI counts it
    "send": "the message",
    "receive": "the message",
    "broadcast": "the message, which all get",
    "reduce": "the vector that each rank gives, as long as the result",
    "allreduce": "the vector that each rank gives, as long as the result",
    "gather": "what each rank gives to the root",
    "scatter": "what each rank gets from the root",
    "allgather": "what each rank gives to all others",
    "alltoall": "what each rank gives to each other one",
}
PRIMITIVES: Final = (*VOLUMES, "barrier")
_KINDS: Final[dict[str, Any]] = {
    **{name: (kind := _primitive(name), kind()) for name in VOLUMES},
    "barrier": (Barrier, Barrier()),
}
globals().update({kind.__name__: kind for kind, _ in _KINDS.values()})  # pickle looks there
if TYPE_CHECKING:  # made from PRIMITIVES, so that its keys are not known before
    Primitives: TypeAlias = Description
else:
    Primitives = create_model("Primitives", __base__=Description, **_KINDS)


class MissingFigure(ParameterError):  # noqa: N818 - says what is missing
    """A figure that a law needs is not in the description of a machine; `name` says which."""


class Machine(Description):
    """A parallel machine.

    Examples
    --------
    >>> sp2 = Machine(
    ...     name="IBM SP-2",
    ...     compute={"rate": "120 Mflop/s"},
    ...     network={"latency": "150 us", "bandwidth": "27 MB/s", "saturation": "120 MB/s"},
    ... )
    >>> float(sp2.contention({}))
    0.225
    """

    name: str = Field(default="a machine", description="Name of the machine.")
    source: str = Field(default="", description="Source of the figures.")
    processors: int | None = Field(
        default=None, ge=1, le=LARGEST_COUNT, description="Number of processors."
    )
    oversubscribed_from: int | None = Field(
        default=None,
        ge=2,
        le=LARGEST_COUNT,
        description="Least p that was measured with more ranks than cores; `parcast calibrate` "
        "writes it.",
    )
    compute: Compute = Compute()
    node: ComputeNode = ComputeNode()
    network: Network = Network()
    storage: Storage = Storage()
    primitives: Primitives = Primitives()
    price: Price = Price()
    fit: FitRecord | None = Field(
        default=None, description="The fit that wrote the constants; `parcast fit` writes it."
    )

    @model_validator(mode="after")
    def _servers_once(self) -> "Machine":
        if self.storage.servers is not None and self.node.servers is not None:
            raise ParameterError(
                "servers",
                must="give servers in [storage] or in [node], not both",
                hint="Those in [storage] do not depend on p, those in [node] are of each node.",
            )
        return self

    @model_validator(mode="after")
    def _nodes_of_known_size(self) -> "Machine":
        if self.price.node_hour is not None and self.node.processors is None:
            raise ParameterError(
                "node",
                must="give processors, as the price has a node_hour",
                hint="Add [node] with the processors of a node.",
            )
        return self

    def cost(self, time: NDArray[np.float64], at: Point) -> NDArray[np.float64]:
        """Cost of `time` [s] on `at["p"]` processors, in the currency of the price."""
        amount = self.price.amount
        if amount is None:
            raise ParameterError("price", must="be given", hint="Add [price] with processor_hour.")
        p = np.asarray(at["p"], dtype=np.float64)
        of_node = self.node.processors or 1
        charged = np.ceil(p / of_node)
        if self.price.node_hour is None:
            charged = charged * of_node
        return np.asarray(amount(at) * charged * time / HOUR)

    def servers(self, at: Point) -> NDArray[np.float64]:
        """Number of disks or I/O servers at `at["p"]` processors: the default of d [1]."""
        if self.node.servers is None:
            return np.asarray(self.storage.servers or 1, dtype=np.float64)
        p = np.asarray(at["p"], dtype=np.float64)
        return np.asarray(self.node.servers * np.ceil(p / (self.node.processors or 1)))

    def parameters(self) -> dict[str, Amount]:
        """Every amount that is given and may bear on a time, by its name: all but the price."""
        prices = dict(self.price.amounts())
        return {name: amount for name, amount in self.amounts() if name not in prices}

    def need(self, key: str, at: Point, *, why: str) -> NDArray[np.float64]:
        """Value of a rate ("compute.rate") above 0, or a refusal that says `why` it is needed."""
        table, field = key.split(".")
        amount: Amount | None = getattr(getattr(self, table), field)
        if amount is None and key not in at:
            raise MissingFigure(
                key,
                must=f"be given in the description of {self.name}: {why} needs it",
                hint=f"Add it to [{table}].",
            )
        value = amount(at) if amount is not None else np.asarray(at[key], dtype=np.float64)
        ok = (value > 0) & np.isfinite(value)
        require(key, value, ok, must="be above 0", hint="Give the rate that was measured.")
        return value

    def memory_rate(self, at: Point, *, why: str) -> NDArray[np.float64]:
        """Memory bandwidth of each of p processors, which fill one node after another. [B/s].

        It is that of a processor alone, or its share of its node's where that is less: the
        saturating line of the roofline model [S] in S. Williams, A. Waterman and D. Patterson,
        Commun. ACM, vol. 52, no. 4, pp. 65-76, 2009, doi:10.1145/1498765.1498785; equal shares of
        it are [D].
        """
        if self.node.memory_bandwidth is None:
            return self.need("compute.memory_bandwidth", at, why=why)
        sharing = np.minimum(np.asarray(at["p"], dtype=np.float64), self.node.processors or 1)
        share = self.need("node.memory_bandwidth", at, why=why) / sharing
        if self.compute.memory_bandwidth is None:
            return np.asarray(share)
        return np.minimum(self.need("compute.memory_bandwidth", at, why=why), share)

    def contention(self, at: Point) -> NDArray[np.float64]:
        """Level of contention w of the network, in [0, 1]; 0 if the machine does not say.

        The rate of one pair over that of all pairs together is an upper bound of w and is used
        for it: w <= r_inf / r_sat [S] in P. Cremonesi and C. Gennaro, IEEE Trans. Parallel
        Distrib. Syst., vol. 13, no. 12, 2002, section on parameter estimation.
        """
        network = self.network
        if LEVEL in at:
            return np.asarray(at[LEVEL], dtype=np.float64)
        if network.contention is not None:
            return level_of(network.contention, at)
        if network.saturation is None and "network.saturation" not in at:
            return np.zeros(())
        pair = self.need("network.bandwidth", at, why="network.saturation")
        together = self.need("network.saturation", at, why="the level of contention")
        return np.minimum(pair / together, 1.0)

    def saturates(self, at: Point) -> bool:
        """Whether the level of contention follows from a rate of all pairs together."""
        network = self.network
        known = network.saturation is not None or "network.saturation" in at
        return known and network.contention is None

    def all_pairs_rate(self, at: Point, *, why: str) -> NDArray[np.float64]:
        """Rate of all pairs together; infinite where they do not meet. [B/s]."""
        if LEVEL not in at and self.saturates(at):
            return self.need("network.saturation", at, why=why)
        level = self.contention(at)
        if not np.any(level > 0):
            return np.full((), np.inf)
        pair = self.need("network.bandwidth", at, why=why)
        with np.errstate(divide="ignore"):
            return np.asarray(pair / level)

    def pair_rate(self, at: Point, *, why: str) -> NDArray[np.float64]:
        """Rate of one pair, which is never more than that of all together. [B/s]."""
        pair = self.need("network.bandwidth", at, why=why)
        if not self.saturates(at):
            return pair
        together = self.need("network.saturation", at, why=why)
        # Without contention, as a bound has it, every pair has a link of its own.
        free = np.asarray(at.get(LEVEL, 1.0)) == 0
        return np.where(free, pair, np.minimum(pair, together))


def level_of(contention: Amount, at: Point) -> NDArray[np.float64]:
    """Level of contention that is given as such, in [0, 1]; one that is scaled stops at 1."""
    scale = f"{contention.name}*"
    level = contention({name: values for name, values in at.items() if name != scale})
    ok = (level >= 0) & (level <= 1)
    hint = "0 is a link for each pair, 1 a single bus."
    require(contention.name, level, ok, must="lie in [0, 1]", hint=hint)
    return np.asarray(np.minimum(level * np.asarray(at.get(scale, 1.0)), 1.0))
