"""A verification as a sheet: whether the store is whole, and a row for each fault."""

from typing import Final

from parcast.arrays.store.layout import label_of
from parcast.arrays.store.verification import StoreFault, Verification
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import format_quantity, shown
from parcast.words import counted

MOST_ROWS: Final = 40
RESTORE: Final = (
    "Restore the files from a copy, or write their arrays again. What is not listed can be read."
)
TITLES: Final = {
    "whole": "is whole",
    "interrupted": "is whole, but a write was interrupted",
    "damaged": "is damaged",
}


def sheet_of(result: Verification) -> Sheet:
    """Everything that is said of a check."""
    listed = result.faults[:MOST_ROWS]
    more = len(result.faults) - len(listed)
    size = format_quantity(float(result.size), "size")
    checked = f"{counted(result.arrays, 'array')}, {counted(result.chunks, 'chunk')} in files"
    facts = [
        Fact("checked", f"{checked} with {counted(result.subchunks, 'subchunk')}, {size}"),
        *(Fact("not checked", text) for text in result.unchecked),
    ]
    if result.filled:
        facts.append(
            Fact("fill values", f"{counted(result.filled, 'chunk')} without a file, as allowed")
        )
    if result.writer:
        facts.append(Fact("is written by", result.writer))
    facts += [Fact("lost", text, is_marked=True) for text in _lost(result)]
    conclusion = [
        Fact("fault" if fault.is_damage else "left over", f"{shown(fault.file)} {fault.message}")
        for fault in _without_loss(result)
    ]
    if result.status == "damaged":
        conclusion.append(Fact("what to do", RESTORE))
    return Sheet(
        title=f"{shown(result.path)} {TITLES[result.status]}",
        tables=(_table(listed),) if listed else (),
        facts=tuple(facts),
        conclusion=tuple(conclusion),
        left_out=f"{len(listed)} of {len(result.faults)} faults are shown. All of them"
        if more
        else "",
    )


def _lost(result: Verification) -> list[str]:
    """Say which elements of each array cannot be read."""
    lost = []
    for array, boxes in result.lost.items():
        first = ", ".join(map(str, boxes[:3]))
        more = f" and {len(boxes) - 3:,} more boxes" if len(boxes) > 3 else ""
        lost.append(f"{label_of(array)}: elements {first}{more}")
    return lost


def _without_loss(result: Verification) -> list[StoreFault]:
    """Give the first fault of each kind that is not told by the elements that are lost."""
    first: dict[str, StoreFault] = {}
    for fault in result.faults:
        if fault.lost is None:
            first.setdefault(fault.kind, fault)
    return list(first.values())


def _table(faults: tuple[StoreFault, ...]) -> Table:
    """One row for each fault."""
    columns = [
        Column(title="fault", cells=[fault.kind for fault in faults], align="left"),
        Column(title="array", cells=[fault.array or "" for fault in faults], align="left"),
        Column(title="chunk", cells=[_cell(fault.chunk) for fault in faults], align="left"),
        Column(title="subchunk", cells=[_cell(fault.subchunk) for fault in faults], align="left"),
        Column(
            title="elements lost",
            cells=[str(fault.lost) if fault.lost else "" for fault in faults],
            align="left",
        ),
        Column(title="file", cells=[shown(fault.file) for fault in faults], align="left"),
    ]
    return Table(
        forms=(Form(columns=columns), Form(columns=columns[:5])),
        in_full=tuple(
            Entry(title=fault.kind, facts=(Fact(shown(fault.file), fault.message),))
            for fault in faults
        ),
    )


def _cell(index: tuple[int, ...] | None) -> str:
    """Write an index in a cell."""
    return "" if index is None else ".".join(map(str, index))
