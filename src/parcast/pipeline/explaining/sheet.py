"""A schedule for a person: steps by ranks, stages over time, the tree, and what follows."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parcast.pipeline.explaining.result import Activity, PipelineSchedule, tree_of
from parcast.pipeline.published.schedule import (
    ItemRange,
    cycle_length,
    items_per_step,
    message_counts,
)
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.units import percent
from parcast.words import counted, listed

NOTHING: Final = "."
MOST_COLUMNS: Final = 12  # ranks with a column of their own
MOST_SPACED: Final = 32  # ranks with a letter in each row, and a space between them
MOST_LETTERS: Final = 128  # ranks with a letter in each row
NAMED_NODES: Final = (8, 6, 4, 2)  # of a level of the tree, where there is less and less room
STAGED: Final = 4  # groups of items whose stages are shown
MOST_ROWS: Final = 40  # steps that are shown
IN_FULL: Final = {  # what the marks in cells mean, for those that occur
    "": "5: task on item 5",
    ">": "5>1: sends to rank 1 before it",
    "<": "<0: receives from rank 0, merges",
    "+": "+: merges two results of its own",
    NOTHING: f"{NOTHING}: idle",
}
IN_LETTERS: Final = {
    "T": "T: task",
    "M": "M: receive and merge",
    NOTHING: IN_FULL[NOTHING],
}
STAGES: Final = {"T": "task", "S": "send", "M": "merge", "D": "deliver to the server"}


def sheet_of(result: PipelineSchedule) -> Sheet:
    """Everything that is said of a schedule."""
    tables = [_steps_table(result)]
    if result.is_source and result.ranks > 1:
        tables.append(_stages_table(result))
    tree = _tree_table(result)
    return Sheet(
        title=title_of(result),
        tables=(*tables, *([tree] if tree else [])),
        facts=tuple(_facts(result)),
        left_out=_left_out(result),
    )


def title_of(result: PipelineSchedule) -> str:
    """Name the schedule."""
    pipelines = f"{result.pipelines} pipelines of " if result.pipelines > 1 else ""
    ranks = counted(result.ranks, "rank")
    items = "" if result.items is None else f", {counted(result.items, 'item')}"
    if result.items is not None and result.pipelines > 1:
        items += " each"
    kind = "published schedule" if result.is_source else "schedule adaptive"
    return f"Parallel pipeline, {kind}: {pipelines}{ranks}{items}"


def _left_out(result: PipelineSchedule) -> str:
    if result.steps < MOST_ROWS:
        return ""
    return f"the first {MOST_ROWS} of {result.steps + 1} steps are shown. All of them"


def _steps_table(result: PipelineSchedule) -> Table:
    by_step: dict[int, list[Activity]] = defaultdict(list)
    for activity in result.activities:
        by_step[activity.step].append(activity)
    shown = range(min(result.steps + 1, MOST_ROWS))
    to = {(x.step, x.source): x.target for x in result.messages} if result.is_source else {}
    full = [_cells(by_step[i], i, result.ranks, to) for i in shown]
    letters = [_letters(by_step[i], result.ranks) for i in shown]
    server = _server(result, shown)
    step = Column(title="step", cells=["start" if not i else str(i) for i in shown], align="left")
    numbers = [str(rank) for rank in range(result.ranks)]
    in_full, in_letters = _legend(IN_FULL, full), _legend(IN_LETTERS, letters)
    forms = []
    if result.ranks <= MOST_COLUMNS:
        each = [
            Column(title=number, cells=[row[rank] for row in full])
            for rank, number in enumerate(numbers)
        ]
        caption = "What each rank does in each step"
        forms.append(Form(columns=[step, *each, *server], caption=caption, legend=in_full))
    if result.ranks <= MOST_LETTERS:
        title = f"ranks 0 to {result.ranks - 1}"
        lines = [["".join(row) for row in letters]]
        if result.ranks <= MOST_SPACED:
            lines.insert(0, [" ".join(row) for row in letters])
        for cells in lines:
            column = Column(title=title, cells=cells, align="left")
            forms.append(Form(columns=[step, column, *server], legend=in_letters))
            forms.append(Form(columns=[step, column], legend=in_letters))
    counted = [Counter(row) for row in letters]
    sent = Counter(message.step for message in result.messages)
    columns = [
        Column(title="tasks", cells=[str(row["T"]) for row in counted]),
        Column(title="merges", cells=[str(row["M"]) for row in counted]),
        Column(title="messages", cells=[str(sent[i]) for i in shown]),
    ]
    forms.append(Form(columns=[step, *columns, *server], caption="Ranks with each kind of work"))
    return Table(forms=tuple(forms))


def _legend(marks: Mapping[str, str], rows: Sequence[Sequence[str]]) -> str:
    """Explain the marks that occur in some cells."""
    return "; ".join(
        text for mark, text in marks.items() if any(mark in cell for row in rows for cell in row)
    )


def _cells(
    activities: Sequence[Activity], step: int, ranks: int, to: dict[tuple[int, int], int]
) -> list[str]:
    cells = [f">{to[step, rank]}" if (step, rank) in to else NOTHING for rank in range(ranks)]
    for activity in activities:
        rank = activity.rank
        if activity.kind != "task":
            cells[rank] = "+" if activity.partner is None else f"<{activity.partner}"
        else:
            sends = cells[rank] if cells[rank] != NOTHING else ""
            cells[rank] = f"{activity.items.first}{sends}"
    return cells


def _letters(activities: Sequence[Activity], ranks: int) -> list[str]:
    letters = [NOTHING] * ranks
    for activity in activities:
        letters[activity.rank] = "T" if activity.kind == "task" else "M"
    return letters


def _server(result: PipelineSchedule, shown: Sequence[int]) -> list[Column]:
    """Give the column of what is delivered, if anything is within the steps."""
    by_step = {x.step: x.items for x in result.deliveries}
    if not by_step.keys() & set(shown):
        return []
    cells = [items_text(by_step[i]) if i in by_step else "" for i in shown]
    return [Column(title="delivered", unit="items", cells=cells, align="left")]


def items_text(items: ItemRange) -> str:
    """Write an interval of items, by its first and last.

    >>> items_text(ItemRange(8, 20)), items_text(ItemRange(8, 9))
    ('8-19', '8')
    """
    return str(items.first) if items.length == 1 else f"{items.first}-{items.stop - 1}"


def stages_of(result: PipelineSchedule) -> list[str]:
    """Letters of the stages that an item of the published schedule goes through, 2 lg P + 1."""
    return ["T", *["S", "M"] * (cycle_length(result.ranks) - 1), "S", "D"]


def groups_of(result: PipelineSchedule, most: int) -> list[ItemRange]:
    """Groups of items that are taken together, in the published schedule, the first ones."""
    taken, stop = items_per_step(result.ranks), result.items
    groups = (ItemRange(i * taken, (i + 1) * taken) for i in range(most))
    if stop is None:
        return list(groups)
    return [ItemRange(x.first, min(x.stop, stop)) for x in groups if x.first < stop]


def _stages_table(result: PipelineSchedule) -> Table:
    stages = stages_of(result)
    taken = items_per_step(result.ranks)
    groups = groups_of(result, STAGED)
    rows = [[""] * i + stages for i in range(len(groups))]
    time = [str(i + 1) for i in range(len(rows[-1]))]
    each = [
        Column(title=t, cells=[row[i] if i < len(row) else "" for row in rows])
        for i, t in enumerate(time)
    ]
    column = Column(title="items", cells=[items_text(x) for x in groups], align="left")
    lines = [
        Column(title="", cells=["".join(x or " " for x in row) for row in rows], align="left")
    ]
    legend = "; ".join(f"{letter}: {stage}" for letter, stage in STAGES.items())
    caption = f"Stages of {counted(taken, 'item')} each over time, all stages equally long"
    forms = (
        Form(columns=[column, *each], caption=caption, legend=legend),
        Form(columns=[column, *lines], caption=caption, legend=legend),
    )
    return Table(forms=forms)


def _tree_table(result: PipelineSchedule) -> Table | None:
    tree = tree_of(result)
    if len(tree.levels) < 2:
        return None
    caption = f"Merge tree of the items {items_text(tree.items)}: which rank works on which"
    levels = ["task", *(f"merge {i}" for i in range(1, len(tree.levels)))]
    first = Column(title="level", cells=levels, align="left")
    forms = []
    for most in NAMED_NODES:
        nodes = [
            listed([f"{x.rank}: {items_text(x.items)}" for x in level], most)
            for level in tree.levels
        ]
        named = Column(title="rank: items", cells=nodes, align="left")
        forms.append(Form(columns=[first, named], caption=caption))
    return Table(forms=tuple(forms))


def _facts(result: PipelineSchedule) -> Iterator[Fact]:
    if result.is_source:
        yield from _facts_of_source(result)
    else:
        yield from _facts_of_adaptive(result)
    yield Fact("ranks", "are counted from 0, items as well; the published text counts from 1")


def _facts_of_source(result: PipelineSchedule) -> Iterator[Fact]:
    size, depth = result.ranks, result.depth
    if size == 1:
        yield Fact("work", "one rank works on all items and delivers each result")
        return
    length, half = cycle_length(size), size // 2
    yield Fact(
        "depth",
        f"{depth} stages (2 lg P + 1): task, {length} x send, {length - 1} x merge, delivery",
    )
    yield Fact(
        "usable",
        f"{depth - 1} stages: the first two cannot release their processors in time",
    )
    yield Fact(
        "work",
        f"in each step {half} of {size} ranks (50%) work on items and {half} merge",
    )
    yield Fact(
        "cycle", f"{counted(length, 'step')}, in which {counted(half * length, 'item')} are taken"
    )
    counts = message_counts(size)
    yield Fact(
        "messages",
        f"{half} a step; in the steady state with the results of {_sizes(size)}",
    )
    yield Fact(
        "items each",
        f"mean {counts.mean:g}, largest {counts.largest}, squared coefficient of variation "
        f"{counts.cv2:.2g}",
    )
    if result.items is not None:
        yield Fact("run", _run(result))
        yield Fact("busy", f"{percent(result.busy)} of the ranks' time")
    several = f" ({result.pipelines} pipelines)" if result.pipelines > 1 else ""
    formula = "G P" if result.pipelines > 1 else "P"
    yield Fact(
        "speedup",
        f"with equal stages {result.speedup:.4g}, {formula} 2 lg P/(2 lg P + 1){several}",
    )
    yield Fact("", f"without pipelining {result.speedup_plain:.4g}, {formula}/(2 lg P + 1)")
    yield Fact("adaptive", "the default: a rank takes an item whenever no merge waits for it")
    yield Fact("", f"If merges take no time, all {size} ranks work on items instead of {half}.")
    yield Fact("", "If they take as long as tasks, both schedules keep all ranks busy.")


def _run(result: PipelineSchedule) -> str:
    last = max((x.step for x in result.activities if x.kind == "task"), default=0)
    taken = f"in step {last}" if last else "at the start"
    more = result.steps - last
    return (
        f"{counted(result.steps, 'step')} after the start; the last item is taken {taken}, "
        f"{counted(more, 'step')} before the end"
    )


def _facts_of_adaptive(result: PipelineSchedule) -> Iterator[Fact]:
    kinds = Counter(activity.kind for activity in result.activities)
    yield Fact(
        "work",
        f"{counted(kinds['task'], 'task')} and {counted(kinds['merge'], 'merge')} in "
        f"{counted(result.steps + 1, 'step')}",
    )
    yield Fact("busy", f"{percent(result.busy)} of the ranks' time")
    yield Fact("rule", "a rank merges two siblings of the tree that are there, or takes an item")
    yield Fact("tree", "depends on item numbers only: the same bytes for any number of ranks")
    yield Fact("messages", f"{counted(len(result.messages), 'result')} moved to another rank")
    several = f" on {result.pipelines} pipelines" if result.pipelines > 1 else ""
    yield Fact(
        "speedup",
        f"{result.speedup:.4g}{several} for these items if a merge takes as long as a task "
        "and messages take no time",
    )
    power = not result.ranks & (result.ranks - 1)
    yield Fact(
        "source",
        "the published schedule fixes the work of each rank and step, half of them tasks",
    )
    if not power:
        yield Fact("", f"It requires a power of two, which {result.ranks} is not.")


def _sizes(size: int) -> str:
    """Write the item counts of the messages of a step.

    >>> _sizes(8), _sizes(16), _sizes(2)
    ('1 (2 messages), 2 and 4 items', '1 (4 messages), 2 (2), 4 and 8 items', '1 item')
    """
    counts = [(1 << i, max(size >> (i + 2), 1)) for i in range(cycle_length(size))]
    texts = [f"{x} ({n})" if n > 1 else f"{x}" for x, n in counts]
    texts[0] = texts[0].replace(")", " messages)")
    *others, last = texts
    return f"{', '.join(others)} and {last} items" if others else f"{last} item"
