"""Colours of all pictures, each with one meaning, and the bars that explain scales of them.

What a point or a line is has a colour (`MEASURED` and those below it), and what time is spent on
has others. Where several of a kind share axes, such as machines, call paths or methods, each has
one of `MACHINE_COLOURS`, in their order, and a marker of its own, and the legend names it: there
they mean nothing else. Speedups, efficiencies and times have one scale, even in lightness. All
serve colour-blind readers, and no colour is alone in telling two things apart.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.show.pictures.scales import round_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize


# Of M. Okabe and K. Ito, "Color Universal Design", 2008, each with a marker of its own.
MACHINE_COLOURS: Final = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#757575"),
)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "h")
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = MACHINE_COLOURS[:6]
BLACK, GREY, PALE = "#000000", "#757575", "#E4E4E4"
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
SHADES: Final = (  # of it, from dark to bright in even steps
    *("#440154", "#472D7B", "#3B528B", "#2C728E", "#21918C"),
    *("#28AE80", "#5EC962", "#ADDC30", "#FDE725"),
)
COLOURS_OF_TIMES: Final = "viridis_r"  # short times are bright, as large speedups are
BAR_LABEL: Final = "<colorbar>"  # of axes that only explain colours, as matplotlib has it
BESIDE: Final[dict[str, Any]] = {"aspect": 28, "pad": 0.02}
MOST_TICKS: Final = 11
WIDE: Final = 8.0  # ratio of efficiencies from which their scale is logarithmic
LEAST_EFFICIENCY: Final = 0.005  # with a colour of its own [1]


def graded(shares: Array) -> Array:
    """Colours of `COLOURS` at shares of it from 0 to 1, as red, green and blue.

    >>> graded(np.array([0.0, 0.5])).round(2)
    array([[0.27, 0.  , 0.33],
           [0.13, 0.57, 0.55]])
    """
    parts = np.array([[int(x[i : i + 2], 16) / 255 for i in (1, 3, 5)] for x in SHADES])
    steps = np.linspace(0.0, 1.0, len(SHADES))
    return np.stack([np.interp(shares, steps, part) for part in parts.T], axis=-1)


def efficiency_norm(efficiency: Array) -> "Normalize":
    """Scale of colours for efficiencies [1]: from 0, or logarithmic where they differ much."""
    from matplotlib.colors import LogNorm, Normalize

    low, high = float(efficiency.min()), float(efficiency.max())
    if high < WIDE * low or high <= LEAST_EFFICIENCY:
        return Normalize(0.0, high)
    return LogNorm(max(low, LEAST_EFFICIENCY), high)


def time_norm(times: Array) -> "Normalize":
    """Scale of colours for times [s]: logarithmic, and not empty where all are equal."""
    from matplotlib.colors import LogNorm

    return LogNorm(float(times.min()), max(float(times.max()), float(times.min()) * 1.01))


def add_efficiency_bar(
    drawn: "ScalarMappable", *, ax: "Axes | None" = None, cax: "Axes | None" = None
) -> None:
    """Explain the colours of efficiencies, beside `ax` or in `cax`."""
    low, high = _ends(drawn)
    extend = "min" if low == LEAST_EFFICIENCY else "neither"
    ticks = nice_values(low, high, is_wide=low > 0)
    add_bar(drawn, ticks, label="efficiency [%]", factor=0.01, extend=extend, ax=ax, cax=cax)


def add_bar(
    drawn: "ScalarMappable",
    ticks: Sequence[float],
    *,
    label: str,
    factor: float = 1.0,
    extend: str | None = None,
    ax: "Axes | None" = None,
    cax: "Axes | None" = None,
) -> None:
    """Explain colours beside `ax` or in `cax`, with ticks in units of `factor`."""
    place = cax or ax
    assert place is not None
    style = ({} if cax else BESIDE) | ({"extend": extend} if extend else {})
    bar = place.figure.colorbar(drawn, ax=ax, cax=cax, **style)
    bar.set_ticks(ticks, labels=[f"{tick / factor:.4g}" for tick in ticks])
    bar.minorticks_off()
    bar.ax.set_label(BAR_LABEL)
    bar.set_label(label, parse_math=False)


def _ends(drawn: "ScalarMappable") -> tuple[float, float]:
    """Limits of the scale of colours."""
    low, high = drawn.get_clim()
    assert low is not None
    assert high is not None
    return low, high


def nice_values(low: float, high: float, *, is_wide: bool) -> list[float]:
    """Round values from `low` to `high`: as on a logarithmic scale if `is_wide`, or even steps.

    >>> nice_values(3.0, 2000.0, is_wide=True)
    [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0]
    """
    from matplotlib.ticker import MaxNLocator

    slack = 1e-9 * high
    if high - low <= slack:
        return [low]
    if is_wide:
        values = round_ticks(low * (1 - 1e-9), high + slack, MOST_TICKS)
        if len(values) > 3:
            return values
    ticks = MaxNLocator(MOST_TICKS, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [float(f"{x:.10g}") for x in ticks if low - slack <= x <= high + slack]
