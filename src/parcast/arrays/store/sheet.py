"""A verification as a sheet: whether the store is whole, and a row for each fault."""

from dataclasses import replace
from typing import Final

from parcast.advice import File, ours
from parcast.arrays.store.layout import label_of
from parcast.arrays.store.verification import (
    Span,
    StoreFault,
    Verification,
    Verifications,
)
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import format_quantity, shown
from parcast.words import counted

MOST_ROWS: Final = 40
RESTORE: Final = "Restore the files from a copy, or write their arrays again."
REST: Final = (
    "Everything that is not listed: other arrays, boxes without these elements, or a whole array "
    "with io.read(PATH, lost=VALUE), which puts VALUE where elements are lost."
)
SWEEP: Final = "Write the store again, or clear up without writing: {}"
PUT_BACK: Final = "Put the old store back: {}"
COMPARE: Final = (
    "Compare it with a copy, or read it with the program that wrote it. Stores that parcast "
    "writes have checksums, as have those of zarr-python with the codec crc32c."
)
TITLES: Final = {
    "whole": "is whole",
    "interrupted": "is whole, but a write was interrupted",
    "damaged": "is damaged",
}


def sheet_of_all(result: Verifications, *, show_all: bool = False) -> Sheet:
    """Each store, below the other."""
    if len(result.stores) == 1:
        return sheet_of(result.stores[0], show_all=show_all)
    parts = (sheet_of(store, show_all=show_all) for store in result.stores)
    sound = sum(store.is_sound for store in result.stores)
    return Sheet(
        title=f"{sound} of {counted(len(result.stores), 'store')} "
        f"{'is' if sound == 1 else 'are'} whole",
        # Facts of a part stand below it, not after those of all parts.
        parts=tuple(
            replace(part, facts=part.facts + part.conclusion, conclusion=()) for part in parts
        ),
        parts_are="stores",
    )


def sheet_of(result: Verification, *, show_all: bool = False) -> Sheet:
    """Everything that is said of a check."""
    listed = result.faults if show_all else result.faults[:MOST_ROWS]
    more = len(result.faults) - len(listed)
    size = format_quantity(float(result.size), "size")
    checked = f"{counted(result.arrays, 'array')}, {counted(result.chunks, 'chunk')} in files"
    facts = [
        Fact("checked", f"{checked} with {counted(result.subchunks, 'subchunk')}, {size}"),
        *(Fact("not checked", text) for text in result.unchecked),
    ]
    if not result.is_there:
        facts = []
    if result.filled:
        filled = f"{counted(result.filled, 'chunk')} without a file: never written, or lost"
        facts.append(Fact("fill values", filled))
    if result.writer:
        facts.append(Fact("writing now", result.writer))
    facts += [Fact("lost", text, is_marked=True) for text in _lost(result)]
    tabled = [fault for fault in listed if fault.is_damage]
    return Sheet(
        title=f"{shown(result.path)} {_title(result)}",
        tables=(_table(tabled),) if tabled else (),
        facts=tuple(facts),
        conclusion=tuple(_conclusion(result)),
        left_out=f"{len(listed)} of {len(result.faults)} faults are shown. All of them"
        if more
        else "",
    )


def _title(result: Verification) -> str:
    """Say in a few words how a store is."""
    if result.status == "unchecked":
        return _title_unchecked(result)
    if result.is_there:
        return TITLES[result.status]
    return "is being written" if result.writer else "is not there: a write was interrupted"


def _title_unchecked(result: Verification) -> str:
    """Say how much of a store could not be checked."""
    if result.unchecked_chunks == result.chunks:
        return "could not be checked: not known to be whole or damaged"
    if not result.unchecked_chunks and not result.filled:
        return "was checked in part: what could not be checked is named, the rest is right"
    if not result.unchecked_chunks:
        missing = counted(result.filled, "chunk")
        return f"was checked in part: {missing} without a file may be lost, the others are right"
    which = f"{result.unchecked_chunks:,} of {counted(result.chunks, 'chunk')}"
    return f"was checked in part: {which} could not be checked, the others are right"


def _conclusion(result: Verification) -> list[Fact]:
    """Say what else was found, what can be read, and what to do."""
    facts = [
        Fact("fault" if fault.is_damage else "left over", f"{shown(fault.file)} {fault.message}")
        for fault in _without_loss(result)
    ]
    if result.status == "damaged":
        rest = [Fact("readable", REST)] if result.chunks or result.arrays > 1 else []
        earlier = f" The version before is {shown(result.earlier)}." if result.earlier else ""
        facts += [*rest, Fact("what to do", RESTORE + earlier)]
    elif result.left:
        is_aside = not result.is_there and any(x.kind == "interrupted commit" for x in result.left)
        advice = PUT_BACK if is_aside else SWEEP
        clear = ours("arrays", "verify", "--sweep", File(result.path))
        facts.append(Fact("what to do", advice.format(clear)))
    elif result.status == "unchecked":
        facts.append(Fact("what to do", COMPARE))
    return facts


def _lost(result: Verification) -> list[str]:
    """Say which elements of each array cannot be read."""
    lost = []
    for array, boxes in result.lost.items():
        first = ", ".join(map(str, boxes[:3]))
        more = f" and {len(boxes) - 3:,} more boxes" if len(boxes) > 3 else ""
        lost.append(f"{label_of(array)}: elements {first}{more}")
    return lost


def _without_loss(result: Verification) -> list[StoreFault]:
    """Give what was left, and the first fault of each other kind that no lost elements show."""
    first: dict[str, StoreFault] = {}
    for fault in result.faults:
        if fault.lost is None:
            first.setdefault(fault.kind if fault.is_damage else fault.file, fault)
    return list(first.values())[:MOST_ROWS]


def _table(faults: list[StoreFault]) -> Table:
    """One row for each fault."""
    columns = {
        "fault": [fault.kind for fault in faults],
        "array": [fault.array or "" for fault in faults],
        "chunk": [_cell(fault.chunk) for fault in faults],
        "subchunk": [_cell(fault.subchunk) for fault in faults],
        "byte": [_byte(fault.span) for fault in faults],
        "elements lost": [str(fault.lost) if fault.lost else "" for fault in faults],
        "file": [shown(fault.file) for fault in faults],
    }
    made = [
        Column(title=title, cells=cells, align="left")
        for title, cells in columns.items()
        if any(cells)
    ]
    forms = (made, [x for x in made if x.title != "file"])
    return Table(
        forms=tuple(Form(columns=each) for each in forms),
        in_full=tuple(
            Entry(title=fault.kind, facts=(Fact(shown(fault.file), fault.message),))
            for fault in faults
        ),
    )


def _byte(span: Span | None) -> str:
    """Write from where to where the bytes of a file differ."""
    return "" if span is None else f"{span.offset} to {span.offset + span.length - 1}"


def _cell(index: tuple[int, ...] | None) -> str:
    """Write an index in a cell."""
    return "" if index is None else ".".join(map(str, index))
