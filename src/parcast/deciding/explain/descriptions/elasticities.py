"""Elasticities of a predicted time by every amount of program and machine, with intervals.

    e_a = d ln T / d ln a                 a: an amount, scaled as a whole where it is a formula

An amount that grows by 1% changes the time by e_a percent. Laws that know their derivatives give
them; others are taken by differences of the second order.

The interval has two parts. The amounts that are given with +-, or were fitted, are drawn in sets,
and 90% of the sets lie inside. The law itself may be wrong by a factor of 1 + h in one part of
the time while the rest is right. Where the parts grow as neighbouring powers k and k + 1 of the
amount, |e| - k is the share of the larger one, whose odds change by that factor [D]::

    logit(|e'| - k) = logit(|e| - k) +- ln(1 + h)           k = floor |e|

so that an elasticity of 1, that of the cycles of a program, stays what it is. Both are taken as
independent.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.fitting.model import program_slopes
from parcast.laws.spmd.demands import with_servers
from parcast.prediction.predict import TAIL, SampledSets

SMALLEST: Final = 1e-9  # distance of a share from 0 and from 1 that is told from none
TAILS: Final = (TAIL, 1.0 - TAIL)


def elasticities(
    program: Program, machine: Machine, at: Mapping[str, Array], names: Mapping[str, bool]
) -> dict[str, Array]:
    """Elasticity of the time by each amount; `names` say whether it is of the machine.

    `at` may have factors of some; each has the shape of what it depends on.
    """
    factors = {f"{name}*": np.ones(()) for name in names}
    at = with_servers(machine, at)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        time, slopes = program_slopes(program, machine, {**factors, **at}, names)
        return {name: np.nan_to_num(np.asarray(x / time)) for name, x in slopes.items()}


def ends_of(value: Array, sampled: Array | None, half_width: Array) -> tuple[Array, Array]:
    """Ends of the 90% interval of shares of a time, (counts,), of either sign.

    `sampled`, (samples, counts), are those of sets of amounts, and `half_width` that of log time
    from the error of the law.
    """
    low = high = value
    if sampled is not None:
        low, high = np.quantile(np.broadcast_to(sampled, (len(sampled), *value.shape)), TAILS, 0)
        low, high = np.minimum(low, value), np.maximum(high, value)
    sign = np.where(value < 0, -1.0, 1.0)
    size = sign * value
    least, most = np.where(sign > 0, low, -high), np.where(sign > 0, high, -low)
    power = np.floor(size + SMALLEST)
    is_share = (least > power + SMALLEST) & (most < power + 1.0 - SMALLEST)
    shares = [np.where(is_share, x - power, 0.5) for x in (size, least, most)]
    middle, *others = map(_log_odds, shares)
    below, above = (np.hypot(middle - x, half_width) for x in others)
    rest = np.clip(size - power, 0.0, 1.0)
    other = rest * (1.0 - rest) * half_width
    first = np.where(
        is_share, power + _share(middle - below), size - np.hypot(size - least, other)
    )
    last = np.where(is_share, power + _share(middle + above), size + np.hypot(most - size, other))
    return np.where(sign > 0, first, -last), np.where(sign > 0, last, -first)


def _log_odds(share: Array) -> Array:
    """Logarithm of the odds of a share in (0, 1)."""
    return np.asarray(np.log(share / (1.0 - share)))


def _share(log_odds: Array) -> Array:
    """Share of some odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-log_odds)))


def sampled_elasticities(
    program: Program,
    machine: Machine,
    at: Mapping[str, Array],
    names: Mapping[str, bool],
    sets: SampledSets | None,
) -> dict[str, Array]:
    """Elasticities of the sets of amounts, (samples, counts) each; none where nothing varies."""
    if sets is None:
        return {}
    own = sets.columns(slice(None), 1)
    return elasticities(program, machine, {**at, **own}, names)
