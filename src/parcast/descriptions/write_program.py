"""A description as it was written, with other amounts: comments, order and layout stay.

What a fit found is put where the amounts stand in the user's own file.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from parcast.descriptions.program import Program
from parcast.files.document import write_document


def with_amounts(text: str, texts: Mapping[str, str], program: Program | None = None) -> str:
    r"""Text of a description in TOML with these amounts in place of those it has.

    `texts` are new texts by the names of the amounts, as `Program.parameters()` has them. What
    `text` does not have is added to it. Without `program` the text describes a machine.

    >>> print(with_amounts('[network]  # fast\nlatency = "150 us" # guessed\n',
    ...                    {"network.latency": "151 us +- 2%"}), end="")
    [network]  # fast
    latency = "151 us +- 2%" # guessed
    """
    import tomlkit

    document: Any = tomlkit.parse(text.removeprefix("\ufeff"))
    for name, new in texts.items():
        place, inner = document, name
        if program is not None:
            i = _phase_of(name, program)
            label = program.label(i)
            place, inner = document["phase"][i], name.removeprefix(f"{label}.") if label else name
        *tables, key = inner.split(".")
        for table in tables:
            if table not in place:
                place[table] = tomlkit.inline_table()
            place = place[table]
        old = place.get(key)
        place[key] = new
        if old is not None:
            after, before = place[key].trivia, old.trivia  # what stands after it on its line
            after.comment_ws, after.comment = before.comment_ws, before.comment
    return tomlkit.dumps(document)


def _phase_of(name: str, program: Program) -> int:
    """Number of the phase that a parameter belongs to, counted from 0."""
    for i, phase in enumerate(program.phase):
        label = program.label(i)
        if name in {f"{label}.{inner}" if label else inner for inner, _ in phase.amounts()}:
            return i
    raise KeyError(name)


def write_description(path: str | os.PathLike[str], text: str) -> None:
    """Write a description to a file, replaced only when all of it has been written."""
    write_document(path, [re.sub(r"\r\n?", "\n", text)])
