"""Times of two versions beside each other, and their ratio with its interval."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.show.outline import columns_of, table_rows
from parcast.timings.series import Key, label_of


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Ratios:
    """Ratios of new to base times of some cells; NaN where one version has none."""

    _row = "base_s new_s base_runs new_runs ratio ratio_lower=lower ratio_upper=upper"

    keys: list[dict[str, str | float]]  # what tells the cells apart
    base: Array  # time of the base: the geometric mean of its runs, or a forecast [s]
    new: Array  # time of the new version [s]
    base_runs: Array  # runs behind the time of the base; NaN of a forecast [1]
    new_runs: Array  # runs behind the time of the new version; NaN of a forecast [1]
    ratio: Array  # of the new time to that of the base [1]
    lower: Array  # lower end of the 90% interval of the ratio [1]
    upper: Array  # upper end of the 90% interval of the ratio [1]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.keys)

    @property
    def in_both(self) -> NDArray[np.bool_]:
        """Which cells have a ratio."""
        return np.isfinite(self.ratio)

    @property
    def labels(self) -> list[str]:
        """Name each cell."""
        return [label_of(key) for key in self.keys]

    def change(self, i: int) -> str:
        """Say how much slower or faster a cell is."""
        return change_text(
            self.keys[i], *(float(x[i]) for x in (self.ratio, self.lower, self.upper))
        )

    def rows(self, **more: Any) -> Iterator[dict[str, Any]]:
        """Give a row for each cell, with `more` columns."""
        names = list(self.keys[0])
        keys = {name: np.array([key[name] for key in self.keys], dtype=object) for name in names}
        columns = {**keys, **columns_of(self, self._row), **more}
        counts = [x for x in (*names, "base_runs", "new_runs") if x not in {"callpath", "machine"}]
        return table_rows(columns, (len(self),), counts=counts)


def change_text(key: Key, ratio: float, lower: float, upper: float) -> str:
    """Say how much slower or faster something is: "p = 64 is 23% slower (14 to 33%)".

    >>> change_text({"callpath": "solve", "p": 64.0}, 1.23, 1.142, 1.33)
    'solve, p = 64 is 23% slower (14 to 33%)'
    >>> change_text({"p": 2.0}, 0.5, 0.4, 1.02)
    'p = 2 is 50% faster (60% faster to 2% slower)'
    >>> change_text({"p": 2.0}, 1.0, 0.9, 1.1)
    'p = 2 takes as long (10% faster to 10% slower)'
    """
    word = "slower" if ratio >= 1 else "faster"
    shares = [abs(100 * (x - 1)) for x in (ratio, lower, upper)]
    digits = 1 if shares[0] < 9.95 and upper - lower < 0.1 else 0
    middle, low, high = (f"{x:.{digits}f}" for x in shares)
    if (lower - 1) * (upper - 1) < 0:
        ends = f"{low}% faster to {high}% slower"
    else:
        ends = f"{low} to {high}%" if ratio >= 1 else f"{high} to {low}%"
    is_equal = not float(middle)
    return f"{label_of(key)} {'takes as long' if is_equal else f'is {middle}% {word}'} ({ends})"
