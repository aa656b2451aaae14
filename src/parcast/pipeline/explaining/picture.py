"""Picture of a schedule: what each rank does in each step, and the merge tree with its ranks."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from parcast.pipeline.explaining.result import Activity, MergeTree, PipelineSchedule, tree_of
from parcast.pipeline.explaining.sheet import groups_of, items_text, stages_of, title_of
from parcast.pipeline.published.schedule import ItemRange
from parcast.show.pictures import canvas, colours

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LANE: Final = 0.26  # height of a rank [inch]
TALLEST: Final = 7.0  # all ranks [inch]
ROW: Final = 0.27  # height of a group of items and its stages [inch]
MOST_GROUPS: Final = 8  # of items with their stages
LEVEL: Final = 0.5  # height of a level of the tree [inch]
HEADROOM: Final = 1.3  # titles, labels of axes and legend [inch]
BAR: Final = 0.72  # height of a bar as a share of its lane [1]
WIDE: Final = 0.84  # of a bar, in steps
MOST_TEXTS: Final = 30  # steps, and ranks, up to which bars have texts
MOST_NAMED: Final = 36  # items of a tree whose nodes name their ranks
MOST_ARROWS: Final = 32  # ranks, up to which messages are drawn
MOST_BARS: Final = 64  # ranks, up to which each has bars of its own
MOST_STEPS: Final = 200  # that are drawn
COLOURS: Final = {
    "task": colours.COMPUTING,
    "merge": colours.MERGING,
    "receive": colours.RECEIVING,
}
STAGES: Final = {  # colour of each stage, and what the legend calls it if nothing else does
    "T": ("", colours.COMPUTING),
    "S": ("", colours.COMMUNICATION),
    "M": ("", colours.MERGING),
    "D": ("", colours.COMMUNICATION),
}
WORDS: Final = {  # each with what is written in its bars
    "task": ("task", ", with its item"),
    "merge": ("merge", ", with the items of its result"),
    "receive": ("receive only (the rank was empty)", ""),
}


def figure_of(result: PipelineSchedule, ax: "Axes | None" = None) -> "Figure":
    """Figure of a schedule: ranks over steps, stages over time, and the merge tree with its ranks.

    Only the published schedule has stages. Only ranks over steps, where that is all, can be drawn
    in `ax`.
    """
    tree = tree_of(result)
    has_tree, has_stages = len(tree.levels) > 1, result.is_source and result.ranks > 1
    panels = 1 + has_tree + has_stages
    if ax is not None:
        canvas.require_one_panel(panels, "Leave ax out.")
        _draw_ranks(ax, result)
        figure: Figure = ax.figure  # type: ignore[assignment]  # no axes of a subfigure
        return figure
    with canvas.writer().style():
        lanes = min(max(LANE * result.ranks, 1.0), TALLEST)
        heights = [lanes]
        if has_stages:
            heights.append(ROW * len(_groups(result)))
        if has_tree:
            heights.append(LEVEL * (len(tree.levels) + 0.6))
        figure = canvas.writer().new_figure(sum(heights) + HEADROOM + 0.3 * (panels - 1))
        grid = figure.subplots(panels, 1, height_ratios=heights, squeeze=False)
        entries = _draw_ranks(grid[0, 0], result)
        if has_stages:
            entries |= _draw_stages(grid[1, 0], result)
        if has_tree:
            _draw_tree(grid[-1, 0], tree)
        figure.suptitle(title_of(result), fontsize="large", parse_math=False)
        notes = []
        if result.steps >= MOST_STEPS:
            notes.append(f"The first {MOST_STEPS} of {result.steps + 1} steps.")
        canvas.writer().add_legend(figure, entries, notes=notes)
        canvas.writer().settle(figure)
    return figure


def _draw_ranks(ax: "Axes", result: PipelineSchedule) -> "dict[str, Artist]":
    steps = min(result.steps + 1, MOST_STEPS)
    shown = [x for x in result.activities if x.step < steps]
    has_texts = steps <= MOST_TEXTS and result.ranks <= MOST_TEXTS
    entries: dict[str, Artist] = {}
    for kind, colour in COLOURS.items():
        those = [x for x in shown if x.kind == kind]
        boxes = [_box(x.step, x.rank - BAR / 2, x.rank + BAR / 2) for x in those]
        if result.ranks > MOST_BARS:  # too many to be told apart
            boxes = [*_blocks(those)]
        if boxes:
            word, text = WORDS[kind]
            entries[word + text * has_texts] = canvas.writer().draw_boxes(ax, boxes, colour)
    if has_texts:
        longest = max((len(items_text(x.items)) for x in shown), default=1)
        size = min(8.0, 8.0 * 6 * 15 / (longest * max(steps, 7) * 1.15))
        for x in shown:
            style: dict[str, Any] = {"ha": "center", "va": "center"}
            ax.text(x.step + 0.5, x.rank, items_text(x.items), fontsize=size, **style)
    entries |= _draw_messages(ax, result, steps)
    done = [x for x in result.deliveries if x.step < steps]
    if done:
        places = [x.step + 1 for x in done], [x.rank for x in done]
        style = {
            "marker": ">",
            "color": colours.COMMUNICATION,
            "ls": "none",
            "ms": 7,
            "clip_on": False,
        }
        (entries["delivery to the server"],) = ax.plot(*places, zorder=4, **style)
    canvas.plain_axes(ax)
    ax.grid(visible=False)
    ax.set_xlim(0, steps)
    ax.set_ylim(result.ranks - 0.5, -0.5)
    every = max(1, steps // 20)
    ticks = range(0, steps, every)
    ax.set_xticks([i + 0.5 for i in ticks], labels=["start" if not i else str(i) for i in ticks])
    some = max(1, result.ranks // 16)
    ax.set_yticks(range(0, result.ranks, some))
    ax.tick_params(length=0)
    ax.set_xlabel("step")
    ax.set_ylabel("rank")
    return entries


def _box(step: int, top: float, bottom: float) -> list[tuple[float, float]]:
    left, right = step + (1 - WIDE) / 2, step + (1 + WIDE) / 2
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _blocks(activities: Sequence[Activity]) -> Iterator[list[tuple[float, float]]]:
    """Corners of the bars of neighbouring ranks, which are joined."""
    first = previous = None
    for x in [*sorted(activities, key=lambda x: (x.step, x.rank)), None]:
        if first and previous and (x is None or (x.step, x.rank - 1) != previous[:2]):
            yield _box(first.step, first.rank - 0.5, previous.rank + 0.5)
            first = None
        first, previous = first or x, x


def _draw_messages(ax: "Axes", result: PipelineSchedule, steps: int) -> "dict[str, Artist]":
    if result.ranks > MOST_ARROWS:
        return {}
    sent = [x for x in result.messages if x.step < steps]
    head = 7.0 if result.ranks <= MOST_TEXTS else 4.0
    arrow: dict[str, Any] = {
        "arrowstyle": "->",
        "color": colours.COMMUNICATION,
        "lw": 1.0,
        "shrinkA": 0,
    }
    arrow |= {"shrinkB": 0, "mutation_scale": head}
    for x in sent:
        down = 1 if x.target > x.source else -1
        start = (x.step - (1 - WIDE) / 2, x.source + down * BAR / 2 * 0.8)
        end = (x.step + (1 - WIDE) / 2 + 0.02, x.target - down * BAR / 2 * 0.8)
        ax.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=3)
    if not sent:
        return {}
    (line,) = ax.plot([], [], color=colours.COMMUNICATION, lw=1.0, marker=">", ms=3.5)
    return {"message": line}


def _groups(result: PipelineSchedule) -> list[ItemRange]:
    return groups_of(result, min(len(stages_of(result)), MOST_GROUPS))


def _draw_stages(ax: "Axes", result: PipelineSchedule) -> "dict[str, Artist]":
    stages, names = stages_of(result), [items_text(x) for x in _groups(result)]
    groups = len(names)
    entries: dict[str, Artist] = {}
    for letter, (kind, colour) in STAGES.items():
        cells = [
            (group + i, group)
            for group in range(groups)
            for i, stage in enumerate(stages)
            if stage == letter
        ]
        if not cells:
            continue
        boxes = [_box(time, group - BAR / 2, group + BAR / 2) for time, group in cells]
        drawn = canvas.writer().draw_boxes(ax, boxes, colour)
        if kind:
            entries[kind] = drawn
        for time, group in cells:
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
            ax.text(time + 0.5, group, letter, **style)
    last = len(stages) + groups - 1
    canvas.plain_axes(ax)
    ax.grid(visible=False)
    ax.set_xlim(0, last)
    ax.set_ylim(groups - 0.5, -0.5)
    ax.set_xticks([i + 0.5 for i in range(last)], labels=[str(i + 1) for i in range(last)])
    ax.set_yticks(range(groups), labels=names)
    ax.tick_params(length=0)
    ax.set_xlabel("time, all stages equally long (T task, S send, M merge, D delivery)")
    ax.set_ylabel("items")
    return entries


def _draw_tree(ax: "Axes", tree: MergeTree) -> None:
    leaves = tree.levels[0]
    places = {
        node.items: ((node.items.first + node.items.stop - 1) / 2, level)
        for level, nodes in enumerate(tree.levels)
        for node in nodes
    }
    lines = [[places[node.items], places[merge.items]] for node, merge in tree.branches()]
    canvas.writer().draw_lines(ax, lines, colours.REFERENCE, width=0.8, zorder=1)
    ranks = max((node.rank for level in tree.levels for node in level), default=0)
    is_named = len(leaves) <= MOST_NAMED
    size = 8.0 if len(leaves) <= 20 else 6.0
    radius = (
        (size * 0.62 * max(len(str(ranks)), 1.6) + 3.5) ** 2
        if is_named
        else max(12.0 * 64 / len(leaves), 1.0)
    )
    for level, nodes in enumerate(tree.levels):
        colour = COLOURS["merge"] if level else COLOURS["task"]
        where = [places[node.items] for node in nodes]
        ax.scatter([x for x, _ in where], [y for _, y in where], s=radius, color=colour, zorder=2)
        if not is_named:
            continue
        for node, (x, y) in zip(nodes, where, strict=True):
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
            ax.text(x, y, str(node.rank), **style)
    first, stop = tree.items
    every = max(1, (stop - first) // 16)
    ax.set_xticks(range(first, stop, every))
    ax.set_xlim(first - 0.6, stop - 0.4)
    ax.set_ylim(-0.5, len(tree.levels) - 0.4)
    names = ["task", *(f"merge {i}" for i in range(1, len(tree.levels)))]
    ax.set_yticks(range(len(names)), labels=names)
    canvas.plain_axes(ax)
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ranks_named = ", with the rank of each task and merge" if is_named else ""
    ax.set_xlabel(f"item; the merge tree of the items {items_text(tree.items)}{ranks_named}")
