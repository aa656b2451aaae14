"""The reference of Python: what docstrings do not repeat of the code.

A result lists its fields, with the comments beside them, and leads to the methods of all results.
It is made by a function, so how it is called is left out.
"""

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from parcast import Result

EMPTY = "\\ "  # a definition that says nothing is one still
OF_ALL = "`plot`, `save`, `to_pandas` and what else every result has."


def attributes_of(kind: type) -> Iterator[str]:
    """Write the fields of a class as a list of definitions."""
    from make import facts_of  # docs/reference/make.py

    facts = facts_of(kind)
    for field in fields(kind):
        if field.name.startswith("_"):
            continue
        unit, phrase, annotation = facts.get(field.name, ("", "", ""))
        escaped = annotation.replace("_", r"\_")  # `np.str_` is no link
        said = f"{phrase[:1].upper()}{phrase[1:]}.".replace("`null`", "None") if phrase else ""
        yield f"`{field.name}` : {escaped}"
        yield f"    {said} [{unit}]" if unit else f"    {said or EMPTY}"


def with_facts(_app: Any, what: str, _name: str, kind: Any, _options: Any, lines: list) -> None:
    """Add the fields to the docstring of a class, and what a result has as others."""
    if what != "class":
        return
    if is_dataclass(kind) and not has_parameters(kind):
        lines += ["", ".. rubric:: Attributes", "", *attributes_of(kind)]
    if issubclass(kind, Result) and kind is not Result:
        lines += ["", "See Also", "--------", f"Result : {OF_ALL}"]


def without_signature(
    _app: Any, what: str, _name: str, kind: Any, _options: Any, _call: str, _returned: str
) -> tuple[str, None] | None:
    """Leave out how an object is made that no user makes."""
    return ("", None) if what == "class" and not has_parameters(kind) else None


def has_parameters(kind: type) -> bool:
    """Whether a class says how it is made."""
    return "\nParameters\n---" in (inspect.getdoc(kind) or "")


def setup(app: Any) -> dict[str, bool]:
    """Connect it to Sphinx, before numpydoc reads the docstrings."""
    app.connect("autodoc-process-docstring", with_facts, priority=400)
    app.connect("autodoc-process-signature", without_signature, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
