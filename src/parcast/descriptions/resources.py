"""How a time follows the speed of processors, network and disks: what limits a program.

    e_r = d ln T / d ln s_r        s_r: all service times of resource r

e_r is the elasticity of the time: a resource that is 1 % faster saves e_r %. Times are sums of
service times, largest ones and waits for them, so that they are twice as long where every service
is, and the elasticities add up to 1 (Euler). What is waited for has the waiting: in a long queue
at the network it is the network that limits, however short each transfer is.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import RESOURCES, Breakdown

TABLES: Final = {  # of a machine: the resource whose speed they give
    "compute": "compute",
    "network": "communication",
    "primitives": "communication",
    "storage": "io",
}
LONGER: Final = {"time": 1.0, "rate": -1.0, "operation_rate": -1.0}  # where a resource is slower
STEP: Final = 1e-4  # of a logarithm, for differences


def slopes_by_differences(
    times: Callable[[Point], Breakdown],
    at: Point,
    amounts: Iterable[Amount],
    own: Mapping[str, str],
) -> Breakdown:
    """Derivatives of a time by the logarithms of the service times of each resource [s].

    `amounts` are those that give speeds, and `own` names the resource of those that no table of a
    machine does. What follows none of them is of the parts of the time that they leave over, and
    waiting is computing there.
    """
    scales: dict[str, dict[str, float]] = {name: {} for name in RESOURCES}
    for amount in amounts:
        resource = own.get(amount.name) or TABLES.get(amount.name.partition(".")[0])
        if resource and amount.dimension in LONGER:
            scales[resource][f"{amount.name}*"] = np.exp(-STEP * LONGER[amount.dimension])
    parts = times(at)
    slopes = {
        name: _slope(times, parts.time, at, scale) if scale else np.zeros(())
        for name, scale in scales.items()
    }
    rest = np.maximum(parts.time - sum(slopes.values()), 0.0)
    gaps = {name: np.maximum(part - slopes[name], 0.0) for name, part in parts.causes()}
    total = sum(gaps.values(), start=np.zeros(()))
    left = np.where(total > 0, rest / np.where(total > 0, total, 1.0), 0.0)
    return Breakdown(**{name: slopes[name] + left * gaps[name] for name in RESOURCES})


def _slope(
    times: Callable[[Point], Breakdown], time: Array, at: Point, scale: Mapping[str, float]
) -> Array:
    """Derivative by one resource, from its being a little faster."""
    faster = {name: np.asarray(at.get(name, 1.0)) * factor for name, factor in scale.items()}
    return np.asarray((time - times({**at, **faster}).time) / -np.expm1(-STEP))
