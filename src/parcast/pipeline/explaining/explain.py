"""A schedule expanded step by step, all tasks and merges taking one step.

The published schedule is expanded from `pipeline.published.schedule`. For `adaptive` the ranks are
followed: a merge is done as soon as a rank that holds one of its two results is free, the oldest
first, and all other ranks take the next items. Merges follow a tree of the item numbers alone:
node (l, j) joins the items from j 2^l up to (j + 1) 2^l.
"""

from collections.abc import Iterator
from typing import Final

from parcast.errors import Argument, ParameterError, as_whole
from parcast.pipeline.explaining.result import (
    Activity,
    Delivered,
    Kind,
    PipelineSchedule,
    Schedule,
    Transfer,
)
from parcast.pipeline.published.schedule import (
    FIRST_TAKE,
    Items,
    Step,
    check_size,
    cycle_length,
    deliveries,
    label,
    last_step,
    messages,
    steps,
)
from parcast.units import shown

CYCLES: Final = 2  # that are given of unlimited items
ITEMS_A_RANK: Final = 4  # that are given of `adaptive`
MOST: Final = 1_000_000  # of what ranks do in all steps


def explain_pipeline(
    ranks: int,
    *,
    pipelines: int = 1,
    cycles: int | None = None,
    items: int | None = None,
    schedule: Schedule | None = None,
) -> PipelineSchedule:
    """Say what each rank of a pipeline does in each step, all tasks and merges of one step.

    Parameters
    ----------
    ranks : int
        Ranks of one pipeline, P. [1]
    pipelines : int, default 1
        Identical pipelines, G. [1]
    cycles : int, optional
        Cycles of the published schedule to give, of unlimited items; by default 2. [1]
    items : int, optional
        Items that one pipeline takes in all. By default unlimited; of "adaptive" 4 a rank. [1]
    schedule : {"source", "adaptive"}, optional
        The published schedule, for a power of two of ranks, or the default one of `run_pipeline`.
        By default "source" where it can be.

    Returns
    -------
    PipelineSchedule
        ``activities``, ``messages`` and ``deliveries`` by step, ``depth``, ``speedup`` (ideal) and
        ``busy``, the share of the ranks that work.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or the schedule would have over a million tasks
        and merges.

    Examples
    --------
    >>> import parcast
    >>> schedule = parcast.explain_pipeline(8)
    >>> schedule.depth, round(schedule.speedup, 2)
    (7, 6.86)
    """
    hint = "Count from 1."
    ranks = as_whole("ranks", ranks, least=1, hint=hint)
    pipelines = as_whole("pipelines", pipelines, least=1, hint=hint)
    cycles = None if cycles is None else as_whole("cycles", cycles, least=1, hint=hint)
    items = None if items is None else as_whole("items", items, least=1, hint=hint)
    if items is not None and cycles is not None:
        raise ParameterError(
            "cycles",
            must="be left out for a number of items",
            got=str(cycles),
            hint="The cycles follow from the items.",
        )
    if schedule not in (None, "source", "adaptive"):
        must = 'be "source" or "adaptive"'
        raise ParameterError("schedule", must=must, got=shown(repr(schedule)), hint="Choose one.")
    if schedule is None:
        schedule = "adaptive" if ranks & (ranks - 1) else "source"
    if schedule == "source":
        return _source(ranks, pipelines, cycles, items)
    if cycles is not None:
        raise ParameterError(
            "cycles",
            must='be left out with schedule="adaptive", which has none',
            got=str(cycles),
            hint=("Give a number of ", Argument("items"), "."),
        )
    return _adaptive(ranks, pipelines, ITEMS_A_RANK * ranks if items is None else items)


def _limited(size: int, steps: int) -> None:
    """Refuse what would be too long to be read, drawn or computed."""
    if size * steps > MOST:
        raise ParameterError(
            "items",
            must=f"give at most {MOST:,} tasks and merges",
            got=f"{size} ranks over {steps} steps",
            hint="Ask for fewer ranks, cycles or items.",
        )


def _source(size: int, pipelines: int, cycles: int | None, items: int | None) -> PipelineSchedule:
    """Expand the published schedule."""
    length = cycle_length(check_size(size))
    number = (CYCLES if cycles is None else cycles) * length
    if items is not None:
        number = last_step(items, size) + 1
    _limited(size, number)
    sent = [m for m in messages(size, number, items) if m.items.length]
    every = [steps(rank, size) for rank in range(size)]
    done = [*_done(every, number, items, {(m.step, m.target): m.items for m in sent})]
    if items is not None:  # without steps in which ranks only find out that items have ended
        number = max((activity.step for activity in done), default=0)
    return PipelineSchedule(
        schedule="source",
        ranks=size,
        pipelines=pipelines,
        items=items,
        steps=number,
        activities=tuple(done),
        messages=tuple(Transfer(m.step + 1, m.source, m.target, m.items) for m in sent),
        deliveries=tuple(_delivered(size, number, items)),
    )


def _done(
    every: list[tuple[Step, ...]],
    number: int,
    items: int | None,
    received: dict[tuple[int, int], Items],
) -> Iterator[Activity]:
    """Follow what the ranks hold, step by step."""
    size = len(every)
    held: list[Items | None] = [None] * size

    def take(rank: int, step: int) -> Iterator[Activity]:
        number = label(rank, step, size)
        held[rank] = None
        if items is None or number < items:
            held[rank] = Items(number, number + 1)
            yield Activity(step + 1, rank, "task", Items(number, number + 1))

    for rank in range(size):
        yield from take(rank, FIRST_TAKE)
    for step in range(number):
        for rank, cycle in enumerate(every):
            mine = cycle[step % len(cycle)]
            if mine.kind == "send":
                yield from take(rank, step)
                continue
            more, own = received.get((step, rank)), held[rank]
            if more is not None:
                kind: Kind = "receive" if own is None else "merge"
                more = more if own is None else Items(own.first, more.stop)
                yield Activity(step + 1, rank, kind, more, mine.partner)
            held[rank] = more or own
            if mine.delivers:
                held[rank] = None


def _delivered(size: int, number: int, items: int | None) -> Iterator[Delivered]:
    """Give what the last rank delivers within the steps, at the end of each cycle."""
    length = cycle_length(size)
    for index, part in enumerate(deliveries(size, items)):
        step = (index + 1) * length if size > 1 else index
        if step > number and items is None:
            return
        yield Delivered(min(step, number), size - 1, part)


def _adaptive(size: int, pipelines: int, items: int) -> PipelineSchedule:
    """Follow ranks that merge where they can and take items where not."""
    _limited(size, 2 * items // size + items.bit_length())
    done: list[Activity] = []
    sent: list[Transfer] = []
    waiting: dict[Items, int] = {}  # results that are not merged yet, and the rank of each
    taken, step = 0, -1
    while taken < items or len(waiting) > 1:
        step += 1
        new: list[Activity] = []
        free = set(range(size))
        for left, right in _joinable(waiting, items):
            holders = [rank for rank in (waiting[left], waiting[right]) if rank in free]
            if not holders:
                continue
            rank = holders[0]
            other = waiting[right] if rank == waiting[left] else waiting[left]
            joined, part = Items(left.first, right.stop), right if rank == waiting[left] else left
            new.append(Activity(step, rank, "merge", joined, None if other == rank else other))
            if other != rank:
                sent.append(Transfer(step, other, rank, part))
            free.discard(rank)
            del waiting[left], waiting[right]
        for rank in sorted(free)[: items - taken]:
            new.append(Activity(step, rank, "task", Items(taken, taken + 1)))
            taken += 1
        waiting |= {activity.items: activity.rank for activity in new}
        done += sorted(new)
    whole = [Delivered(step, rank, part) for part, rank in waiting.items()]
    return PipelineSchedule(
        schedule="adaptive",
        ranks=size,
        pipelines=pipelines,
        items=items,
        steps=max(step, 0),
        activities=tuple(done),
        messages=tuple(sent),
        deliveries=tuple(whole),
    )


def _joinable(waiting: dict[Items, int], items: int) -> list[tuple[Items, Items]]:
    """Give pairs of results that are the two parts of one node of the tree, the oldest first."""
    starts = {part.first: part for part in waiting}
    pairs = []
    for part in sorted(waiting):
        width = 1 << (part.length - 1).bit_length()  # of the node, also where items end within it
        right = starts.get(part.first + width)
        whole = min(part.first + 2 * width, items)
        if part.first % (2 * width) == 0 and right is not None and right.stop == whole:
            pairs.append((part, right))
    return pairs
