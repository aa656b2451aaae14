"""The picture of explained descriptions: what upgrades save, and what limits along p."""

from typing import TYPE_CHECKING, Final

import numpy as np

from parcast.deciding.explain.descriptions.result import DescriptionsExplained
from parcast.deciding.explain.descriptions.sheet import TELLING, place_of
from parcast.descriptions.breakdown import RESOURCES
from parcast.prediction.limiting import SATURATED, SPENT_ON
from parcast.show.pictures import canvas, colours
from parcast.show.pictures.scales import scale_p

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 6.0  # [inch]
MOST_BARS: Final = 8
COLOURS: Final = {
    "compute": (colours.COMPUTING, "-"),
    "communication": (colours.COMMUNICATION, "--"),
    "io": (colours.INPUT_OUTPUT, "-."),
}


def figure_of(result: DescriptionsExplained, ax: "Axes | None" = None) -> "Figure":
    """One figure of two panels; it cannot be drawn in `ax`."""
    if ax is not None:
        canvas.require_one_panel(2, "Leave it out: the picture has two panels.")
    with canvas.writer().figure(HEIGHT) as figure:
        above, below = figure.subplots(2, 1)
        _savings(above, result)
        _along(below, result)
        title = f"{result.program} on {result.machine}, {place_of(result)}"
        figure.suptitle(title, fontsize="large", parse_math=False)
        notes = canvas.sources_of(result.inputs)
        canvas.writer().add_legend(figure, canvas.entries_of([above, below]), notes=notes)
    return figure


def _savings(ax: "Axes", result: DescriptionsExplained) -> None:
    """Draw what upgrades alone save, and the best pair."""
    alone = [x for x in result.upgrades if not x.pair and abs(x.saved.value) >= TELLING]
    shown = [*alone[: MOST_BARS - 1], *[x for x in result.upgrades if x.pair][:1]]
    shown = sorted(shown, key=lambda x: x.saved.value)
    place = np.arange(len(shown))
    value, low, high = (
        100 * np.array([getattr(x.saved, name) for x in shown])
        for name in ("value", "lower", "upper")
    )
    ax.barh(place, value, color=colours.COMPUTED, alpha=0.75)
    if np.any(high > low):
        error = np.abs(np.stack([value - low, high - value]))
        style = {"fmt": "none", "ecolor": colours.BLACK, "capsize": 2.5, "lw": 1.1}
        ax.errorbar(value, place, xerr=error, label="90% interval", **style)  # type: ignore[arg-type]  # of one kind each
    for text in ax.set_yticks(place, labels=[",\n".join(x.what) for x in shown]):
        text.label1.set_parse_math(False)
    ax.set_xlabel("saved time [%]")
    canvas.plain_axes(ax)
    ax.grid(visible=False, axis="y")


def _along(ax: "Axes", result: DescriptionsExplained) -> None:
    """Draw the elasticity of each resource over the counts."""
    counts, elasticity = result.along
    used = [x.resource for x in result.resources]
    for name, values in zip(RESOURCES, elasticity, strict=True):
        if name in used:
            colour, dashes = COLOURS[name]
            marker = "o" if len(counts) == 1 else ""
            ax.plot(
                counts, values, color=colour, ls=dashes, lw=2, marker=marker, label=SPENT_ON[name]
            )
    for i, change in enumerate(result.limiting[1:]):
        label = "another resource limits" if not i else None
        ax.axvline(change.p, color=colours.REFERENCE, lw=0.9, label=label)
    ax.axhline(SATURATED, color=colours.REFERENCE, lw=0.9, ls=":", label="saturated")
    if len(counts) > 1:
        scale_p(ax, counts, wanted=[float(x.p) for x in result.limiting[1:]])
    else:
        ax.set_xticks(counts, labels=[f"{x:.0f}" for x in counts])
        ax.set_xlabel("processors p")
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("1% faster saves [%]")
    canvas.plain_axes(ax)
