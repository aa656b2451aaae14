"""How much memory a cache of tiles should have: each miss reads a tile again."""

from dataclasses import dataclass

import numpy as np

from parcast.deciding.plans import OwnPlan
from parcast.units import quantity


@dataclass(frozen=True)
class Caches:
    """Caches of 1 to 64 GB, for tiles that are read 1,000 times in 1 s or in 10 ms."""

    tiles: float  # size of all of them [GB]
    title: str = "Cache of tiles"
    asked: str = "GB"
    close: float = 0.1  # of the least time, by which a smaller cache may take longer

    @property
    def cost(self):
        """Memory that one asks for [GB]."""
        return np.array([1, 2, 4, 8, 16, 32, 64])

    @property
    def misses(self):
        """Share of the reads of tiles that are not in memory."""
        return np.maximum(1 - self.cost / self.tiles, 0)

    @property
    def time(self):
        """Time of the reads [s]."""
        return 1000 * (0.01 + self.misses * (1 - 0.01))

    @property
    def columns(self):
        """What tells the caches apart."""
        return {"misses": [f"{100 * share:.0f}%" for share in self.misses]}

    def reasons(self, chosen):
        """Say why one is recommended."""
        return [f"{self.columns['misses'][chosen]} of the reads miss the cache"]


def caches(tiles="16 GB"):
    """Give the alternatives; options are texts."""
    return Caches(quantity(tiles, "size", name="tiles") / 1e9)


PLAN = OwnPlan(
    summary="Memory of a cache of tiles.",
    options={"tiles": "Size of all tiles: 16GB."},
    alternatives=caches,
)
