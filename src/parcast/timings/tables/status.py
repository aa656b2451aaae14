"""Columns that say how a run ended: an exit code, a state of Slurm, success or not."""

from collections.abc import Sequence
from typing import Final

from parcast.timings.tables.cells import FAILED
from parcast.timings.tables.header import Column, Header
from parcast.timings.tables.titles import Title

_CODES: Final = {
    *(("exit", "code"), ("exitcode",), ("exit",), ("exit", "status"), ("rc",), ("return", "code")),
    *(("returncode",), ("retval",)),
}
_STATES: Final = {
    (word,) for word in ("status", "state", "success", "succeeded", "ok", "passed", "result")
}
_ENDED: Final = {
    *("ok", "completed", "complete", "success", "successful", "succeeded", "done", "finished"),
    *("true", "yes", "pass", "passed", "t", "y"),
}
_NOT_ENDED: Final = FAILED | {
    "false",
    "no",
    "f",
    "n",
    "failure",
    "node_fail",
    "running",
    "pending",
}


def take_status(header: Header, i: int, title: Title) -> bool:
    """Take a column that says how runs ended, if all its cells say it."""
    cells = header.cells(i)
    if title.words in _CODES:
        is_status = all(cell.lstrip("-").replace(":", "", 1).isdigit() for cell in cells)
    elif title.words in _STATES:
        is_status = {cell.lower() for cell in cells} <= _ENDED | _NOT_ENDED
    else:
        return False
    if not cells or not is_status or header.has("status"):
        return False
    header.take(i, Column("status", header.titles[i]))
    return True


def have_ended(cells: Sequence[str]) -> list[bool]:
    """Tell which runs ended well."""
    return [cell.strip().lower() in _ENDED or cell.strip() in {"0", "0:0"} for cell in cells]
