"""The picture of explained profiles: efficiencies by count, and what is lost where."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.deciding.explain.profiles.efficiencies import EFFICIENCIES
from parcast.deciding.explain.profiles.result import (
    LOWERED,
    ProblemExplained,
    ProfilesExplained,
    RegionLoss,
)
from parcast.deciding.explain.profiles.sheet import ROWS, sum_of_losses
from parcast.show.pictures import canvas, colours
from parcast.show.pictures.scales import scale_p
from parcast.words import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 6.5  # [inch]
MOST_BARS: Final = 8


def figure_of(result: ProfilesExplained, ax: "Axes | None" = None) -> "Figure":
    """One figure of the first problem; one of two panels cannot be drawn in `ax`."""
    problem = result.problems[0]
    losses = [x for x in problem.losses if x.share >= 0.001][:MOST_BARS]
    losses.sort(key=lambda x: LOWERED.index(x.lowers))
    panels = 2 if losses else 1
    if ax is not None:
        canvas.require_one_panel(panels, "Leave it out: the picture has two panels.")
        _efficiencies(ax, problem)
        canvas.add_legend_inside(ax, canvas.entries_of([ax]))
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    with canvas.writer().figure(HEIGHT if losses else HEIGHT / 2) as figure:
        axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
        _efficiencies(axes[0], problem)
        if losses:
            _losses(axes[1], problem, losses)
        title = problem.label or "POP efficiencies"
        figure.suptitle(title, fontsize="large", parse_math=False)
        more = len(result.problems) - 1
        notes = [f"{more} more problems are not drawn"] if more else []
        notes += canvas.sources_of(result.inputs)
        canvas.writer().add_legend(figure, *(canvas.entries_of([ax]) for ax in axes), notes=notes)
    return figure


def _losses(ax: "Axes", x: ProblemExplained, losses: Sequence[RegionLoss]) -> None:
    """Draw what is lost where, in the colour of the efficiency that it lowers."""
    place = np.arange(len(losses))[::-1]
    for lowers, hatch in zip(LOWERED, ("", "//", ".."), strict=True):
        those = [i for i, y in enumerate(losses) if y.lowers == lowers]
        if not those:
            continue
        colour = colours.MACHINE_COLOURS[EFFICIENCIES.index(lowers.replace(" ", "_"))]
        ax.barh(
            place[those],
            [100 * losses[i].share for i in those],
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=f"lowers {lowers}",
        )
    for text in ax.set_yticks(place, labels=[f"{y.region}: {y.why}" for y in losses]):
        text.label1.set_parse_math(False)
    last = x.p[~x.is_forecast][-1]
    ax.set_xlabel(f"lost processor time at p = {whole(float(last))} [%]")
    ax.set_title(sum_of_losses(x), fontsize="small", parse_math=False)
    canvas.plain_axes(ax)
    ax.grid(visible=False, axis="y")


def _efficiencies(ax: "Axes", x: ProblemExplained) -> None:
    """Draw each efficiency over the counts, forecast ones with a dashed line."""
    measured = ~x.is_forecast
    for i, name in enumerate(EFFICIENCIES):
        values = x.values[name]
        if not np.any(np.isfinite(values)) or (
            name == "thread_efficiency" and np.all(np.abs(values - 1) < 1e-6)
        ):
            continue
        colour, marker = colours.MACHINE_COLOURS[i], colours.MARKERS[i]
        style: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5}
        ax.plot(x.p[measured], 100 * values[measured], label=ROWS[name].strip(), **style)
        if x.is_forecast.any():
            beyond = np.arange(int(measured.sum()) - 1, len(values))
            style |= {"ls": "--", "mfc": "white", "markevery": slice(1, None)}
            ax.plot(x.p[beyond], 100 * values[beyond], **style)
            some = x.is_forecast
            low, high = x.lower[name][some], x.upper[name][some]
            if np.all(np.isfinite(low)):
                error = 100 * np.maximum(np.stack([values[some] - low, high - values[some]]), 0.0)
                shift = 1 + 0.012 * (i - 2)
                ax.errorbar(
                    x.p[some] * shift,
                    100 * values[some],
                    yerr=error,
                    fmt="none",
                    ecolor=colour,
                    capsize=2.5,
                    lw=1,
                )
    if len(x.p) > 1:
        scale_p(ax, x.p)
    else:
        ax.set_xticks(x.p, labels=[f"{whole(float(x.p[0]))}"])
        ax.set_xlabel("processors p")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("efficiency [%]")
    canvas.plain_axes(ax)
