"""What a reduction costs, and how merges and messages grow with the items in a result.

    merge(k)   = T_merge * (k/2)^a        merge of two results into one of k items              [D]
    message(k) = L * k^b                  result of k items                                     [D]

Sums stay as small as they are, a = b = 0; concatenated results grow in proportion, 1; lexicons,
the distinct words of k documents, lie between (Heaps' law). A merge tree over batches then has
cheap merges below and expensive ones at its root. Of those the law of `pipeline.law.adaptive`
needs two means: one over all merges, which are work, and one over the levels, since the path from
the last batch to the root crosses each level once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import ceil
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.errors import ParameterError, as_number, as_whole, require
from parcast.numerics import stratified_normal
from parcast.units import LEAST, Dimension, require_amount

SLACK: Final = 1e-9  # by which a logarithm may exceed a whole number of levels
DIMENSIONS: Final[dict[str, Dimension]] = {  # of the costs that are written with a unit
    "task": "time",
    "merge": "time",
    "message": "size",
    "fetch": "time",
    "overhead": "time",
    "startup": "time",
    "communication": "time",
    "bandwidth": "rate",
    "latency": "time",
}
GROWTHS: Final = ("merge_growth", "message_growth")
MOST_GROWTH: Final = 3.0
MOST_ITEMS: Final = 10**15  # which a float holds exactly


@dataclass(frozen=True, kw_only=True, slots=True)
class ReductionCosts:
    """Costs of a reduction; those that are uncertain may be arrays of samples."""

    items: int  # N [1]
    task: Any  # of an item, T_comp [s]
    merge: Any = 0.0  # of the results of two items, T_merge [s]
    message: Any = 0.0  # the result of one item, L [B]
    merge_growth: Any = 0.0  # a [1]
    message_growth: Any = 0.0  # b [1]
    fetch: Any = 0.0  # of an item [s]
    overhead: Any = 0.0  # processor time of a message [s]
    startup: Any = 0.0  # T_0 [s]
    communication: Any = None  # of a message, where it was measured [s]
    bandwidth: Any = None  # of a channel; None: unlimited [B/s]
    latency: Any = 0.0  # [s]
    cores: int | None = None  # that all ranks share; None: one each
    prefetch: bool = True  # by rank 0, as `run_pipeline` does; otherwise part of each task
    shares_channel: bool = False  # all pipelines one, otherwise each has its own
    spreads: Mapping[str, float] = field(default_factory=dict)  # of a cost: see `samples`

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Check costs and read those with units; a text may have an uncertainty, "5 ms +- 10%"."""
        values, spreads = dict(given), dict(given.pop("spreads", {}))
        for name, dimension in DIMENSIONS.items():
            if given.get(name) is not None:
                values[name], spread = _amount(name, given[name], dimension)
                if isinstance(given[name], str):
                    spreads[name] = spread
        for name in GROWTHS:
            if name in given:
                values[name] = checked_growth(name, given[name])
        values["items"] = as_whole("items", given["items"], least=1, hint="Count items from 1.")
        few = values["items"] <= MOST_ITEMS
        must = f"be at most {MOST_ITEMS:,}"
        require("items", values["items"], few, must=must, hint="Plan larger ones.")
        if given.get("cores") is not None:
            values["cores"] = as_whole("cores", given["cores"], least=1, hint="Or leave it out.")
        for name in ("task", "bandwidth"):
            if values.get(name) is not None:
                hint = "Measure it on a small run."
                require(name, values[name], values[name] > 0, must="be above 0", hint=hint)
        return cls(**values | {"spreads": {x: y for x, y in spreads.items() if y > 0}})

    def merge_of(self, items: ArrayLike) -> Array:
        """Time of a merge of two results into one of so many items [s].

        >>> costs = ReductionCosts(items=8, task=1.0, merge=0.1, merge_growth=1.0)
        >>> costs.merge_of([2, 4]).round(3)
        array([0.1, 0.2])
        """
        k = np.asarray(items, dtype=np.float64)
        return np.asarray(self.merge * (k / 2.0) ** self.merge_growth)

    def message_of(self, items: ArrayLike) -> Array:
        """Size of the result of so many items [B]."""
        return np.asarray(
            self.message * np.asarray(items, dtype=np.float64) ** self.message_growth
        )

    @property
    def sequential(self) -> Array:
        """Time on one rank, which fetches, works on and merges all items. [s]."""
        tree = tree_of(self, np.array(2.0), np.array(1.0))
        n = self.items
        return np.asarray(n * (self.task + self.fetch) + (n - 1) * tree.merge)

    @property
    def on_one(self) -> Array:
        """Time of a run on one rank, of which speedups are. [s]."""
        return np.asarray(self.sequential + self.startup)

    def samples(self, count: int, seed: int) -> Self:
        """Give samples of the uncertain costs, columns that broadcast against plans.

        Costs have lognormal laws whose 90% interval is the value over and times 1 + spread,
        growths normal ones of that half-width; drawn as a Latin hypercube.
        """
        random = np.random.default_rng(seed)
        drawn: dict[str, Any] = {}
        for name, spread in self.spreads.items():
            normal = stratified_normal(random.permutation(count))[:, None] / NORMAL_90
            value = getattr(self, name)
            if name in GROWTHS:
                drawn[name] = np.clip(value + spread * normal, 0.0, MOST_GROWTH)
            else:
                drawn[name] = value * np.exp(np.log1p(spread) * normal)
        return replace(self, **drawn)

    def to_document(self) -> dict[str, Any]:
        """All of them, with the units in the keys."""
        units: dict[str, str] = {"time": "s", "size": "bytes", "rate": "bytes_per_s"}
        return {
            f"{x.name}_{units[DIMENSIONS[x.name]]}" if x.name in DIMENSIONS else x.name: (
                dict(self.spreads) if x.name == "spreads" else getattr(self, x.name)
            )
            for x in fields(self)
        }


def checked_growth(name: str, given: Any) -> float:
    """Check an exponent."""
    hint = "0 is for sums, 1 for concatenated results."
    value = as_number(name, given, hint=hint)
    ok = 0 <= value <= MOST_GROWTH
    require(name, value, ok, must=f"lie between 0 and {MOST_GROWTH:g}", hint=hint)
    return value


def _amount(name: str, given: Any, dimension: Dimension) -> tuple[float, float]:
    """Read a cost [SI] and its spread [1]; a number is in SI."""
    if not isinstance(given, str | Amount):
        value = as_number(name, given, hint="Give it in SI units, or as text with its unit.")
        require(name, value, value >= 0, must="be at least 0", hint="Check its sign.")
        require_amount(name, value, dimension)
        return _above_nothing(value), 0.0
    amount = Amount.of(given, [dimension], name=name)
    if axes := amount.expression.axes:
        raise ParameterError(
            name,
            must="be one value for all plans",
            got=f"a formula of {', '.join(sorted(axes))}",
            hint="Write its value.",
        )
    return _above_nothing(float(amount({}))), amount.spread


def _above_nothing(value: float) -> float:
    """Take for nothing what is less than any time or size, and whose square is no number."""
    return value if value >= LEAST else 0.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Tree:
    """Merge trees over batches, by their fan-ins and batches; arrays that broadcast together."""

    batches: Array  # B, as a real number [1]
    levels: Array  # over the batches, log_f B; a real number [1]
    local: Array  # merges within a batch, before the tree [s]
    merge: Array  # mean of two results, all merges of the tree [s]
    path: Array  # mean of two results on a path to the root [s]
    message: Array  # mean size, all messages [B]
    path_message: Array  # on a path to the root [B]
    cv2: Array  # squared coefficient of variation of the sizes of all messages [1]


def tree_of(costs: ReductionCosts, fan_in: Array, batch: Array) -> Tree:
    """Sum a merge tree over its levels; batches are powers of the fan-in."""
    n = float(costs.items)
    size = np.minimum(batch, n)
    real = n / size
    batches = np.ceil(real - SLACK)
    levels = np.log(batches) / np.log(fan_in)
    grown = _mean_of_node(costs, fan_in)
    local: Array = np.zeros(())
    for level in range(_most(np.log(size) / np.log(fan_in))):
        below = fan_in**level
        merges = np.maximum(size / below, 1.0) - np.maximum(size / (below * fan_in), 1.0)
        local = local + merges * _node(costs, grown, below, fan_in, size)
    merge = path = message = squared = path_message = np.zeros(())
    for level in range(_most(levels)):
        below = size * fan_in**level
        count = fan_in**level
        moved = np.maximum(batches / count, 1.0) - np.maximum(batches / (count * fan_in), 1.0)
        weight = np.clip(levels - level, 0.0, 1.0)
        each = _node(costs, grown, below, fan_in, n)
        sent = costs.message_of(np.minimum(below, n))
        merge, path = merge + moved * each, path + weight * each
        message, squared = message + moved * sent, squared + moved * sent**2
        path_message = path_message + weight * sent
    total = np.maximum(batches - 1.0, 1.0)
    depth = np.where(levels > 0, levels, 1.0)
    mean = message / total
    known = np.where(mean > 0, mean, 1.0)
    return Tree(
        batches=real,
        levels=levels,
        local=local,
        merge=merge / total,
        path=path / depth,
        message=mean,
        path_message=path_message / depth,
        cv2=np.where(batches > 2, np.maximum(squared / total / known**2 - 1.0, 0.0), 0.0)
        * (mean > 0),
    )


def _mean_of_node(costs: ReductionCosts, fan_in: Array) -> Array:
    """Mean of i^a over the merges of a node, which join its results one after another [1]."""
    growth = np.asarray(costs.merge_growth, dtype=np.float64)
    total: Array = np.zeros(())
    for i in range(2, round(float(np.max(fan_in))) + 1):
        total = total + np.where(i <= fan_in, float(i) ** growth, 0.0)
    return np.asarray(total / (fan_in - 1.0))


def _node(
    costs: ReductionCosts, grown: Array, below: Array, fan_in: Array, most: Array | float
) -> Array:
    """Mean time of a merge of two in a node over results of `below` items [s].

    Of the last node, which has less than `fan_in` results, no merge is larger than all items.
    """
    mean = costs.merge * grown * (below / 2.0) ** costs.merge_growth
    is_whole = below * fan_in <= most * (1 + SLACK)
    return np.asarray(np.where(is_whole, mean, np.minimum(mean, costs.merge_of(most))))


def _most(levels: Array) -> int:
    """Levels of the deepest tree [1]."""
    return max(ceil(float(np.max(levels)) - SLACK), 0)
