"""One machine in the picture of a match, laid out, and the counts beside its points.

Each label in turn takes the place near its point that hides least; the same points give the same
places. Labels do not lie on each other, nor on a marker. One that is needed and finds no room
close by goes further off, with a line back to its point; the others are left out then. All lengths
are in points, 1/72 inch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.matching.result import Candidate
from parcast.show.canvas import any_letters
from parcast.show.colours import MACHINE_COLOURS
from parcast.show.scales import INCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


AROUND: Final = (45, 135, -45, -135, 0, 180, 90, -90, 22, 158, -22, -158, 68, 112, -68, -112)
STEPS: Final = (0.0, 7.0, 14.0, 22.0, 32.0, 44.0, 58.0, 76.0, 98.0)  # further off [pt]
LATER: Final = 0.05  # what a direction costs that comes later: in marks of a line hidden
FURTHER: Final = 0.4  # what a point further off costs
ROOM: Final = 1.0  # between two labels [pt]
SPACING: Final = 3.0  # of the marks along a line [pt]


@dataclass(frozen=True, slots=True)
class Label:
    """A text that is to stand beside a point."""

    at: tuple[float, float]  # the point [pt]
    size: tuple[float, float]  # width and height of the text [pt]
    gap: float  # from the point to the text [pt]
    is_needed: bool  # whether it must be shown, however crowded it is


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """Where a label goes."""

    centre: tuple[float, float]  # [pt]
    has_line: bool  # whether it is so far off that a line must lead back


def places(
    labels: Sequence[Label], *, markers: Array, lines: Array, frame: Array
) -> list[LabelPlace | None]:
    """Place labels one after another; those that find no room and are not needed become None.

    Not to be hidden are `markers`, (markers, 3): x, y and radius, and as little as may be of
    `lines`, (points, 2). Labels stay within `frame`: left, bottom, right, top. All in pt.
    """
    taken = np.zeros((0, 4))
    placed: list[LabelPlace | None] = []
    for label in labels:
        best: tuple[float, LabelPlace, Array, Array] | None = None
        for least, place in _tries(label):
            if best is not None and least >= best[0]:
                continue
            box = _box(place.centre, label.size)
            back = marks([label.at, place.centre]) if place.has_line else np.zeros((0, 2))
            if _is_blocked(box, back, taken, markers, frame):
                continue
            cost = least + float(_inside(lines, box).sum())
            if best is None or cost < best[0]:
                best = cost, place, box, back
        placed.append(None if best is None else best[1])
        if best is not None:
            taken = np.vstack([taken, best[2] + ROOM * np.array([-1, -1, 1, 1])])
            lines = np.vstack([lines, best[3]])
    return placed


def marks(line: Sequence[tuple[float, float]] | Array) -> Array:
    """Points close together along a line of straight parts; shape (marks, 2). [pt]."""
    corners = np.asarray(line, dtype=np.float64)
    parts = [corners[:1]]
    for start, end in pairwise(corners):
        count = min(int(np.hypot(*(end - start)) / SPACING) + 2, 1000)
        parts.append(start + (end - start) * np.linspace(0, 1, count)[1:, None])
    return np.concatenate(parts)


def _tries(label: Label) -> Iterator[tuple[float, LabelPlace]]:
    """Give the places around a point, and what each costs, the close ones first."""
    for step in STEPS if label.is_needed else STEPS[:1]:
        for i, angle in enumerate(AROUND):
            way = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
            edge = np.clip(1.45 * way, -1.0, 1.0) * np.array(label.size) / 2
            x, y = np.asarray(label.at) + (label.gap + step) * way + edge
            yield LATER * i + FURTHER * step, LabelPlace((float(x), float(y)), has_line=step > 0)


def _box(centre: tuple[float, float], size: tuple[float, float]) -> Array:
    """Left, bottom, right and top of a text. [pt]."""
    half = np.asarray(size) / 2
    return np.concatenate([np.asarray(centre) - half, np.asarray(centre) + half])


def _is_blocked(box: Array, back: Array, taken: Array, markers: Array, frame: Array) -> bool:
    """Tell whether a text lies outside the frame, on another or on a marker, or its line does."""
    if np.any(box[:2] < frame[:2]) or np.any(box[2:] > frame[2:]):
        return True
    if np.any(np.all((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2]), axis=1)):
        return True
    nearest = np.clip(markers[:, :2], box[:2], box[2:])
    if np.any(np.hypot(*(nearest - markers[:, :2]).T) < markers[:, 2]):
        return True
    return any(bool(_inside(back, other).any()) for other in taken)


def _inside(marked: Array, box: Array) -> NDArray[np.bool_]:
    """Tell which points lie in a box."""
    return np.asarray(np.all((marked >= box[:2]) & (marked <= box[2:]), axis=1))


WIDEST_BAND: Final = 20.0  # seen of an interval, times what is told
RING: Final = 15.0  # across, of the ring around what was chosen [pt]
MARKER: Final = 3.5  # radius of a marker [pt]
BESIDE_RING, BESIDE_MARKER = 10.0, 5.0  # from a point to its number [pt]
CROWDED: Final = 6.0  # between two points of a curve, of which one then has no number [pt]


@dataclass(frozen=True, slots=True, eq=False)
class TradeCurve:
    """One machine as it is drawn: x and y, in the middle and at the ends of the interval."""

    x: Array
    y: Array
    low: tuple[Array, Array]
    high: tuple[Array, Array]
    useful: NDArray[np.bool_]  # counts to which none is preferred in time and cost both

    def within(self) -> "TradeCurve":
        """Keep the useful counts only."""
        keep = self.useful
        low, high = ((ends[0][keep], ends[1][keep]) for ends in (self.low, self.high))
        return TradeCurve(self.x[keep], self.y[keep], low, high, keep[keep])


def curve_of(candidate: Candidate, *, has_cost: bool) -> TradeCurve:
    """Lay out one machine: cost over time [s], or time [s] over processors.

    Intervals are cut where they reach further than `WIDEST_BAND` times.
    """
    time, cost = candidate.time, candidate.cost
    lower, upper = (np.clip(t, time / WIDEST_BAND, time * WIDEST_BAND) for t in _ends(candidate))
    if not has_cost or cost is None:
        everything = np.ones(len(time), dtype=bool)
        return TradeCurve(
            candidate.p, time, (candidate.p, lower), (candidate.p, upper), everything
        )
    least = cost if candidate.cost_lower is None else candidate.cost_lower
    most = cost if candidate.cost_upper is None else candidate.cost_upper
    least, most = (np.clip(c, cost / WIDEST_BAND, cost * WIDEST_BAND) for c in (least, most))
    no_worse = (time[:, None] >= time) & (cost[:, None] >= cost)
    better = no_worse & ((time[:, None] > time) | (cost[:, None] > cost))
    useful = np.logical_not(np.any(better, axis=1, keepdims=True)).ravel()
    useful[candidate.chosen] = True
    return TradeCurve(time, cost, (lower, least), (upper, most), useful)


def _ends(candidate: Candidate) -> tuple[Array, Array]:
    """Ends of the interval of time. [s]."""
    return candidate.lower, candidate.upper


def name_counts(
    ax: "Axes",
    candidates: Sequence[Candidate],
    curves: Sequence[TradeCurve],
    limits: Sequence["Line2D"],
    *,
    only_chosen: bool,
) -> None:
    """Write counts beside their points: the chosen ones, and others as far as there is room.

    All else must be drawn already, since that decides how large the axes are.
    """
    figure = ax.figure
    with any_letters():
        figure.canvas.figure.draw_without_rendering()  # lays out the axes, also of a sub-figure
    point = INCH / figure.dpi
    seen = [_seen(ax, curve.x, curve.y, point) for curve in curves]
    wanted = sorted(
        (j != candidate.chosen, i, j)
        for i, (candidate, curve) in enumerate(zip(candidates, curves, strict=True))
        for j in _apart(seen[i], curve.useful, candidate.chosen)
        if j == candidate.chosen or not only_chosen
    )
    texts = [f"{candidates[i].p[j]:.0f}" for _, i, j in wanted]
    styles = [_style(i, is_minor=is_minor) for is_minor, i, _ in wanted]
    labels = [
        Label(
            at=(float(seen[i][j, 0]), float(seen[i][j, 1])),
            size=_size(ax, text, style, point),
            gap=BESIDE_MARKER if is_minor else BESIDE_RING,
            is_needed=not is_minor,
        )
        for (is_minor, i, j), text, style in zip(wanted, texts, styles, strict=True)
    ]
    box = ax.get_window_extent()
    frame = np.array([box.x0, box.y0, box.x1, box.y1]) * point
    placed = places(
        labels,
        markers=_markers(ax, candidates, curves, point),
        lines=_lines(ax, curves, limits, point),
        frame=frame,
    )
    for (_, i, j), name, style, label, place in zip(
        wanted, texts, styles, labels, placed, strict=True
    ):
        if place is None:
            continue
        back = {
            "arrowstyle": "-",
            "color": MACHINE_COLOURS[i],
            "lw": 0.8,
            "shrinkA": 1,
            "shrinkB": RING / 2,
        }
        ax.annotate(
            name,
            (float(curves[i].x[j]), float(curves[i].y[j])),
            xytext=(place.centre[0] - label.at[0], place.centre[1] - label.at[1]),
            textcoords="offset points",
            annotation_clip=True,
            arrowprops=back if place.has_line else None,
            **style,
        ).set_in_layout(False)


def _style(i: int, *, is_minor: bool) -> dict[str, Any]:
    """Style of a number of one machine."""
    from matplotlib.patheffects import withStroke

    return {
        "fontsize": "small",
        "fontweight": "normal" if is_minor else "bold",
        "color": MACHINE_COLOURS[i],
        "ha": "center",
        "va": "center",
        "path_effects": [withStroke(linewidth=2.5, foreground="white")],
    }


def _size(ax: "Axes", text: str, style: dict[str, Any], point: float) -> tuple[float, float]:
    """Width and height of a text. [pt]."""
    tried = ax.text(0.5, 0.5, text, transform=ax.transAxes, **style)
    box = tried.get_window_extent()
    tried.remove()
    return box.width * point, box.height * point


def _apart(seen: Array, useful: NDArray[np.bool_], chosen: int) -> list[int]:
    """Pick the counts of one curve that do not lie on one picked before; the chosen one first."""
    picked = [chosen]
    for j in np.flatnonzero(useful).tolist():
        if np.hypot(*(seen[picked] - seen[j]).T).min() >= CROWDED:
            picked.append(j)
    return picked


def _seen(ax: "Axes", x: Array, y: Array, point: float) -> Array:
    """Where points of the axes are in the figure; shape (points, 2). [pt]."""
    return np.asarray(ax.transData.transform(np.column_stack([x, y]))) * point


def _markers(
    ax: "Axes", candidates: Sequence[Candidate], curves: Sequence[TradeCurve], point: float
) -> Array:
    """Circles around all markers, and the rings; shape (markers, 3). [pt]."""
    circles = []
    for candidate, curve in zip(candidates, curves, strict=True):
        at = _seen(ax, curve.x, curve.y, point)
        radius = np.where(curve.useful, MARKER, MARKER / 2)
        radius[candidate.chosen] = RING / 2 + 1
        circles.append(np.column_stack([at, radius]))
    return np.concatenate(circles)


def _lines(
    ax: "Axes", curves: Sequence[TradeCurve], limits: Sequence["Line2D"], point: float
) -> Array:
    """Marks along all curves and limits; shape (marks, 2). [pt]."""
    dots = [marks(_seen(ax, x.within().x, x.within().y, point)) for x in curves]
    for line in limits:
        ends = np.column_stack([line.get_xdata(), line.get_ydata()])
        dots.append(marks(np.asarray(line.get_transform().transform(ends)) * point))
    return np.concatenate(dots)
