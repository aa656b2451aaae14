"""Processors and the nodes that they stand on: what is charged, and what is asked for."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from parcast.aliases import Array
from parcast.deciding.goals.goals import NODE_HOURS
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import Argument, ParameterError, require_one_of
from parcast.timings.measurements import Measurements

PKind = Literal["cores", "nodes"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeSize:
    """What p counts, and how many cores a node has."""

    _outline: ClassVar[str] = "p_is cores_per_node#"

    p_is: PKind  # what p counts: `cores` or `nodes`
    cores_per_node: int | None  # None: not known [1]

    @property
    def knows_nodes(self) -> bool:
        """Whether it is known how many nodes a run takes."""
        return self.p_is == "nodes" or self.cores_per_node is not None

    def nodes(self, p: Array) -> Array:
        """Nodes of runs, of which the last may not be filled; NaN where none is known. [1]."""
        per_node = np.nan if self.cores_per_node is None else self.cores_per_node
        return p if self.p_is == "nodes" else np.ceil(p / per_node)

    def cores(self, p: Array) -> Array:
        """Cores that runs use, NaN where only nodes are known. [1]."""
        return p * (self.cores_per_node or np.nan) if self.p_is == "nodes" else p

    def most(self, machine: Machine) -> float:
        """Largest p on a machine: its processors, or its nodes if p counts these. [1]."""
        most = float(machine.processors or np.inf)
        per_node = (self.cores_per_node or 1) if self.p_is == "nodes" else 1
        return float(np.floor(most / per_node))

    def charged(self, p: Array, unit: str) -> Array:
        """Cost of an hour: cores of all nodes, or nodes."""
        if unit == NODE_HOURS:
            if not self.knows_nodes:
                raise _missing("node-hours are counted")
            return self.nodes(p)
        if self.p_is == "nodes" and self.cores_per_node is None:
            raise _missing(f"p counts nodes and costs are in {unit}")
        return self.nodes(p) * (self.cores_per_node or 1) if self.knows_nodes else p

    def efficiency_of_charged(self, p: Array, efficiency: Array) -> Array:
        """Efficiency of all cores of the nodes, over the best use of the fewest nodes. [1].

        Of runs on one machine, one that takes less time and costs no more has a higher one.
        """
        if self.p_is == "nodes" or self.cores_per_node is None:
            return efficiency
        nodes = self.nodes(p)
        used = efficiency * p / nodes
        return np.asarray(used / used[nodes == nodes.min()].max())


def what_p_counts(p_is: PKind | None, what: Program | Measurements) -> PKind:
    """Check what p counts; by default nodes in tables with a column of them, else cores."""
    if p_is is not None:
        require_one_of("p_is", p_is, ("cores", "nodes"), "By default it is as the table says.")
        return p_is
    return "nodes" if isinstance(what, Measurements) and what.measure.counts_nodes else "cores"


def _missing(because: str) -> ParameterError:
    """Say that the size of a node is needed."""
    return ParameterError(
        "cores_per_node",
        must=f"be given, because {because}",
        hint=("Give for example ", Argument("cores_per_node", 48), "."),
    )


def node_size(p_is: PKind, cores_per_node: int | None, machine: Machine) -> NodeSize:
    """Take the size of a node from the option, or from the machine."""
    own = machine.node.processors
    if cores_per_node is not None and own is not None and own != cores_per_node:
        raise ParameterError(
            "cores_per_node",
            must=f"agree with node.processors of {machine.name}, {own}",
            got=f"{cores_per_node}",
            hint="Leave one of them out.",
        )
    return NodeSize(p_is=p_is, cores_per_node=cores_per_node or own)
