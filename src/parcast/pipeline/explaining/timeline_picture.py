"""Picture of a traced run: one lane a rank, with tasks, merges, messages and deliveries."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.pipeline.explaining.timeline import POINTS, SeenMessages, SeenSpans, Timeline
from parcast.pipeline.explaining.timeline_sheet import title_of
from parcast.show.pictures import canvas, colours
from parcast.units import TIME_UNITS
from parcast.words import readable_unit

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LANE: Final = 0.34  # height of a rank [inch]
TALLEST: Final = 8.0  # all ranks [inch]
HEADROOM: Final = 1.25  # title, labels and legend [inch]
BAR: Final = (-0.32, 0.36)  # a bar of its lane, from the top to the bottom [1]
STRIP: Final = (-0.46, -0.36)  # fetches, which go on beside the work [1]
COLOURS: Final = {
    "task": colours.COMPUTING,
    "merge": colours.MERGING,
    "fetch": colours.INPUT_OUTPUT,
}


def figure_of(result: Timeline, ax: "Axes | None" = None) -> "Figure":
    """Figure of a traced run: time to the right, rank 0 at the top."""
    if ax is not None:
        entries, _ = _draw(ax, result)
        canvas.add_legend_inside(ax, entries, is_framed=True)
        figure: Figure = ax.figure  # type: ignore[assignment]  # no axes of a subfigure
        return figure
    with canvas.writer().style():
        lanes = min(max(LANE * len(result.ranks), 1.0), TALLEST)
        figure = canvas.writer().new_figure(lanes + HEADROOM)
        entries, notes = _draw(figure.subplots(), result)
        figure.suptitle(title_of(result), fontsize="large", parse_math=False)
        canvas.writer().add_legend(
            figure, entries, notes=[*notes, *canvas.sources_of(result.inputs)]
        )
    return figure


def _draw(ax: "Axes", result: Timeline) -> "tuple[dict[str, Artist], list[str]]":
    seen, unit = result.events, readable_unit(result.seconds)
    scale, ranks = TIME_UNITS[unit], len(result.ranks)
    entries: dict[str, Artist] = {}
    for name, events in (("task", seen.tasks), ("merge", seen.merges), ("fetch", seen.fetches)):
        boxes = _boxes(events, result.seconds / POINTS, scale, STRIP if name == "fetch" else BAR)
        if len(boxes):
            entries[name] = canvas.writer().draw_boxes(ax, boxes, COLOURS[name])
    entries |= _draw_messages(ax, seen.messages, scale)
    is_part = len(seen.messages) < seen.message_count
    notes = [f"Messages: the {len(seen.messages)} largest of {seen.message_count}."] * is_part
    if len(seen.deliveries):
        where = seen.deliveries.end / scale, seen.deliveries.rank
        style: dict[str, Any] = {
            "marker": ">",
            "color": colours.COMMUNICATION,
            "ls": "none",
            "ms": 6,
            "clip_on": False,
        }
        (entries["delivery to the server"],) = ax.plot(*where, zorder=4, **style)
    canvas.plain_axes(ax)
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, max(result.seconds, 1e-9) / scale)
    ax.set_ylim(ranks - 0.5, -0.5)
    ax.set_yticks(range(0, ranks, max(1, ranks // 16)))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"time [{unit}]")
    ax.set_ylabel("rank")
    return entries, notes


def _boxes(spans: SeenSpans, gap: float, scale: float, lane: tuple[float, float]) -> list[Array]:
    """Corners of the bars of events, none narrower than half of a gap that can be seen."""
    left = spans.start / scale
    right = np.maximum(spans.end, spans.start + gap / 2) / scale
    top, bottom = (spans.rank + edge for edge in lane)
    corners = ((left, top), (right, top), (right, bottom), (left, bottom))
    return [*np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)]


def _draw_messages(ax: "Axes", messages: SeenMessages, scale: float) -> "dict[str, Artist]":
    if not len(messages):
        return {}
    start = np.stack([messages.sent / scale, messages.source], axis=-1)
    end = np.stack([messages.received / scale, messages.target], axis=-1)
    pairs = [*np.stack([start, end], axis=1)]
    width = 0.9 if len(pairs) <= 100 else 0.6
    drawn = canvas.writer().draw_lines(ax, pairs, colours.COMMUNICATION, width=width, zorder=3)
    return {"message": drawn}
