"""The call that made a result, as a document has it, and its arguments made again from that.

A document of runs is `{"runs": {"columns": {"p": [...], "time": [...]}}}`, that of a description
`{"machine": {...}}` with the texts that it was given as. Numbers, texts and lists are themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.timings.columns import LABELS
from parcast.timings.measure import TIME, Measure
from parcast.timings.measurements import Measurements, measurements_of

RUNS: Final = "runs"
DESCRIPTIONS: Final = {  # what a document calls a description, by the name of its class
    "Machine": ("machine", "parcast.descriptions.machine:Machine"),
    "Program": ("program", "parcast.descriptions.program:Program"),
}
CLASSES: Final = dict(DESCRIPTIONS.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """The function of parcast that made a result, and what it was called with."""

    verb: str  # "forecast"
    arguments: Mapping[str, Any]

    def to_document(self) -> dict[str, Any]:
        """Write it, without arguments that are None."""
        given = {name: x for name, x in self.arguments.items() if x is not None}
        return {"verb": self.verb, "arguments": {x: encoded(y) for x, y in given.items()}}


def array_of(values: ArrayLike | None) -> Array | None:
    """Take numbers in any form, such as a range, for an argument; None stays."""
    return None if values is None else np.asarray(values)


def encoded(value: Any) -> Any:
    """Write an argument as JSON has it."""
    if isinstance(value, Measurements):
        return {RUNS: runs_to_document(value)}
    if is_description(type(value)):
        return {DESCRIPTIONS[type(value).__name__][0]: given(value)}
    if hasattr(value, "tolist"):  # of NumPy or pandas
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(name): encoded(x) for name, x in value.items()}
    return [encoded(x) for x in value] if isinstance(value, list | tuple | range) else value


def is_description(kind: type) -> bool:
    """Whether a class is that of a machine or a program."""
    return getattr(kind, "__name__", "") in DESCRIPTIONS


def decoded(value: Any) -> Any:
    """Make an argument of what a document has.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such document.
    """
    if isinstance(value, dict):
        [name, *others] = value or [""]
        if name == RUNS and not others:
            return runs_of_document(value[name])
        if name in CLASSES and not others and isinstance(value[name], dict):
            from parcast.places import load

            return load(CLASSES[name])(**value[name])
        return {x: decoded(y) for x, y in value.items()}
    return [decoded(x) for x in value] if isinstance(value, list) else value


def given(value: Any) -> Any:
    """Give what a description was made from: its keys that were given, amounts as their texts."""
    from parcast.descriptions.amount import Amount
    from parcast.descriptions.description import Description

    if isinstance(value, Amount):
        return value.text
    if isinstance(value, Description):
        own = [x for x in type(value).model_fields.items() if x[0] in value.model_fields_set]
        keys = {field.alias or name: given(getattr(value, name)) for name, field in own}
        return {name: x for name, x in keys.items() if x not in (None, [])}  # as if not given
    if isinstance(value, Mapping):
        return {name: given(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [given(x) for x in value]
    return value


def runs_to_document(runs: Measurements) -> dict[str, Any]:
    """Write runs by their columns, with what their times are, and runs that were ended."""
    document: dict[str, Any] = {"columns": {x: y.tolist() for x, y in runs.columns.items()}}
    if not runs.measure.is_time:
        document["measured"] = runs.measure.to_document()
    if runs.measure.counts_nodes:
        document["counts_nodes"] = True
    if runs.cut_off is not None:
        document["cut_off"] = runs_to_document(runs.cut_off)
    return document


def runs_of_document(document: Mapping[str, Any]) -> Measurements:
    """Make runs of what `runs_to_document` gave; every value is checked.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such document.
    """
    columns = {str(x): y if x in LABELS else _numbers(y) for x, y in document["columns"].items()}
    measure = Measure.from_document(document["measured"]) if "measured" in document else TIME
    measure = replace(measure, counts_nodes=document.get("counts_nodes") is True)
    ended = runs_of_document(document["cut_off"]) if "cut_off" in document else None
    return measurements_of(Measurements(**columns).columns, measure, ended)


def _numbers(column: Any) -> Array:
    """Take a column of numbers; what is not known stands as null."""
    if not isinstance(column, list):
        raise TypeError("a column is no list")
    return np.array([np.nan if x is None else x for x in column], dtype=np.float64)
