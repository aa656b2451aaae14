"""Colours of all pictures, each with one meaning, and the bars that explain scales of them.

What a point or a line is has a colour (`MEASURED` and those below it), and what time is spent on
has others. Where several of a kind share axes, such as machines, call paths or methods, each has
one of `MACHINE_COLOURS`, in their order, and a marker of its own, and the legend names it: there
they mean nothing else. Speedups, efficiencies and times have one scale, even in lightness. All
serve colour-blind readers, and no colour is alone in telling two things apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.show.pictures.scales import even_ticks, round_ticks

# Of M. Okabe and K. Ito, "Color Universal Design", 2008, each with a marker of its own.
MACHINE_COLOURS: Final = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#757575"),
)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "h")
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = MACHINE_COLOURS[:6]
BLACK, GREY, PALE = "#000000", "#757575", "#E4E4E4"
ON_BRIGHT, ON_DARK = "#111111", "#FAFAFA"  # of texts and lines on colours: also on a dark page
OLIVE: Final = "#999933"  # of the scheme "muted" of P. Tol, which goes with the others

# What a point, a line or a band is.
MEASURED: Final = BLACK
COMPUTED: Final = BLUE  # forecast, predicted or simulated, and its interval
RECOMMENDED: Final = VERMILLION  # what to choose or to run
ELSEWHERE: Final = PURPLE  # other machines, which the answer is based on
REFERENCE: Final = GREY  # ideal, limits, equality, structure
NOT_ALLOWED: Final = "#F1EDE6"  # beyond limits

# What time is spent on, or limited by.
COMPUTING: Final = SKY
MERGING: Final = OLIVE  # of results in a pipeline
COMMUNICATION: Final = ORANGE
RECEIVING: Final = "#F5D9A0"  # communication of which one waits for another
INPUT_OUTPUT: Final = GREEN
WAITING: Final = "#C9C9C9"

COLOURS: Final = "viridis"
COLOURS_OF_TIMES: Final = "viridis_r"  # short times are bright, as large speedups are
COLOURS_OF_ERRORS: Final = "RdBu_r"
SHADES: Final = {  # of them in even steps, as matplotlib has them
    COLOURS: (
        *("#440154", "#472D7B", "#3B528B", "#2C728E", "#21918C"),
        *("#28AE80", "#5EC962", "#ADDC30", "#FDE725"),
    ),
    COLOURS_OF_ERRORS: (
        *("#053061", "#2166AC", "#4393C3", "#92C5DE", "#D1E5F0", "#F7F7F7"),
        *("#FDDBC7", "#F4A582", "#D6604D", "#B2182B", "#67001F"),
    ),
}
BAR_LABEL: Final = "<colorbar>"  # of axes that only explain colours, as matplotlib has it
MOST_TICKS: Final = 11
WIDE: Final = 8.0  # ratio of efficiencies from which their scale is logarithmic
LEAST_EFFICIENCY: Final = 0.005  # with a colour of its own [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class ColourScale:
    """Colours of values from `low` to `high`, and what explains them."""

    low: float
    high: float
    title: str
    factor: float = 1.0  # values in one of the unit of the title
    is_logarithmic: bool = False
    colours: str = COLOURS
    levels: Sequence[float] = ()  # between which there is one colour; graded where there are none
    is_open: tuple[bool, bool] = (False, False)  # whether there are values below and above

    def shares(self, values: Array) -> Array:
        """Places of values along the scale, from 0 to 1."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            values, low, high = np.log(np.maximum(values, low)), np.log(low), np.log(high)
        return np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)

    @property
    def bands(self) -> Array:
        """Shares whose colours lie between the levels."""
        at = self.shares(np.asarray(self.levels))
        return np.asarray((at[1:] + at[:-1]) / 2)

    @property
    def ticks(self) -> list[float]:
        """Values that are named beside it."""
        if self.levels:
            return [*self.levels]
        low, high = self.low / self.factor, self.high / self.factor
        return [x * self.factor for x in nice_values(low, high, is_wide=low > 0)]

    @property
    def labels(self) -> list[str]:
        """What is written beside the ticks."""
        return [f"{x / self.factor:.6g}" for x in self.ticks]


def graded(shares: Array, colours: str = COLOURS) -> Array:
    """Colours at shares of a scale from 0 to 1, as red, green and blue.

    >>> graded(np.array([0.0, 0.5])).round(2)
    array([[0.27, 0.  , 0.33],
           [0.13, 0.57, 0.55]])
    """
    name = colours if colours in SHADES else colours.removesuffix("_r")
    shades = SHADES[name] if colours == name else SHADES[name][::-1]
    parts = np.array([[int(x[i : i + 2], 16) / 255 for i in (1, 3, 5)] for x in shades])
    steps = np.linspace(0.0, 1.0, len(shades))
    return np.stack([np.interp(shares, steps, part) for part in parts.T], axis=-1)


def efficiency_scale(efficiency: Array) -> ColourScale:
    """Scale for efficiencies [1]: from 0, or logarithmic where they differ much."""
    low, high = float(efficiency.min()), float(efficiency.max())
    title = "efficiency [%]"
    if high < WIDE * low or high <= LEAST_EFFICIENCY:
        return ColourScale(low=0.0, high=high, title=title, factor=0.01)
    return ColourScale(
        low=max(low, LEAST_EFFICIENCY),
        high=high,
        title=title,
        factor=0.01,
        is_logarithmic=True,
        is_open=(low < LEAST_EFFICIENCY, False),
    )


def nice_values(low: float, high: float, *, is_wide: bool) -> list[float]:
    """Round values from `low` to `high`: as on a logarithmic scale if `is_wide`, or even steps.

    >>> nice_values(3.0, 2000.0, is_wide=True)
    [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0]
    """
    slack = 1e-9 * high
    if high - low <= slack:
        return [low]
    if is_wide:
        values = round_ticks(low * (1 - 1e-9), high + slack, MOST_TICKS)
        if len(values) > 3:
            return values
    return even_ticks(low, high, MOST_TICKS)
