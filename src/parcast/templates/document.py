"""A description as a template: each key below a comment that says what it means and holds.

All of it comes from what a description declares. A key whose value is known has it, one that a
description does not do without has a placeholder, and any other is a comment with its default.
"""

import json
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from parcast.calibration.benchmarks.machine_figures import LONGEST, SourcedFigure, quoted
from parcast.descriptions.amount import PLACEHOLDER
from parcast.descriptions.description import Description, Of, amount_of
from parcast.descriptions.fit_record import FitRecord, OwnLawError
from parcast.units import EXPECTED, Dimension, shown

WIDTH: Final = 88  # of a comment
USUAL: Final[dict[Dimension, str]] = {  # placeholders
    "time": "1 s",
    "size": "1 MB",
    "rate": "1 GB/s",
    "operations": "1 Gflop",
    "operation_rate": "1 Gflop/s",
    "count": "1",
    "fraction": "1%",
}
WRITTEN_BY_OTHERS: Final = (FitRecord, OwnLawError)  # commands write them
ANY: Final = "..."  # no value, so that the key is refused if it is not replaced


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateKey:
    """A key of a description that is not a table."""

    place: tuple[str, ...]  # ("network", "latency")
    field: FieldInfo

    @property
    def name(self) -> str:
        """Name of the key with its tables: "network.latency"."""
        return ".".join(self.place)

    @property
    def amount(self) -> Of | None:
        """What marks it as an amount."""
        return amount_of(self.field)

    @property
    def is_needed(self) -> bool:
        """Whether a description does not do without, or hardly."""
        return self.field.is_required() or bool(self.field.examples)

    @property
    def holds(self) -> str:
        """What it holds, with its unit: "A time [s]"."""
        if self.amount:
            units = [(EXPECTED[x][0], EXPECTED[x][2]) for x in self.amount.dimensions]
            return " or ".join(f"{noun} [{unit}]" if unit else noun for noun, unit in units)
        choices = [x for x in _kinds(self.field.annotation) if not isinstance(x, type)]
        kinds = {int: "a whole number", bool: "true or false", float: "a number"}
        words = [f"one of {', '.join(map(json.dumps, choices))}"] if len(choices) > 1 else []
        words += [kinds[x] for x in _kinds(self.field.annotation) if x in kinds]
        return " or ".join(words)

    @property
    def example(self) -> str:
        """A value that it may have, as TOML writes it."""
        examples = self.field.examples or []
        if self.amount:
            text = examples[0] if examples else USUAL[self.amount.dimensions[0]]
            return quoted(f"{text} {PLACEHOLDER}")
        if examples:
            return _as_toml(examples[0])
        first = next(iter(_kinds(self.field.annotation)), NoneType)
        least = next((x.ge for x in self.field.metadata if hasattr(x, "ge")), 1)
        return str(least) if first is int else '""' if first is str else _as_toml(first)

    @property
    def otherwise(self) -> str:
        """What stands in a comment as its value: the default, or a placeholder."""
        default = self.field.get_default()
        if default is not None and not self.field.is_required():
            return _as_toml(default)
        return self.example if self.amount else ANY


@dataclass(kw_only=True, slots=True)
class Template:
    """A description that is written: its known figures, and the lines so far."""

    figures: Mapping[str, SourcedFigure] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)  # behind keys without a value
    lines: list[str] = field(default_factory=list)
    placeholders: list[str] = field(default_factory=list)  # names of keys
    said: set[str] = field(default_factory=set)  # comments, each once

    def add(
        self,
        kind: type[Description],
        *,
        place: tuple[str, ...] = (),
        leave_out: Collection[str] = (),
        is_comment: bool = False,
    ) -> None:
        """Write the keys of a description, then its tables."""
        inner: list[tuple[str, FieldInfo, type[Description], bool]] = []
        for name, one in kind.model_fields.items():
            table = table_of(one)
            if name in leave_out or (table and issubclass(table[0], WRITTEN_BY_OTHERS)):
                continue
            if table:
                inner.append((name, one, *table))
            else:
                self._add_key(TemplateKey(place=(*place, name), field=one), is_comment=is_comment)
        for name, one, table_kind, is_list in inner:
            below, brackets = (*place, name), "[[{}]]" if is_list else "[{}]"
            off = is_comment or (is_list and not one.is_required())
            self.lines.append("")
            if one.description:
                self.comment(one.description)
            header = brackets.format(".".join(below))
            self.lines.append(f"# {header}" if off else header)
            self.add(table_kind, place=below, is_comment=off)

    def comment(self, text: str) -> None:
        """Write a comment; what was said before is not repeated."""
        if text not in self.said:
            self.said.add(text)
            self.lines += textwrap.wrap(
                shown(text, limit=LONGEST),
                WIDTH,
                initial_indent="# ",
                subsequent_indent="# ",
                break_long_words=False,
                break_on_hyphens=False,
            )

    def _add_key(self, key: TemplateKey, *, is_comment: bool) -> None:
        """Write a key with what it means."""
        holds = f"{key.holds[:1].upper()}{key.holds[1:]}." if key.holds else ""
        self.comment(f"{key.field.description or ''} {holds}".strip())
        known = self.figures.get(key.name)
        if known:
            if known.source:
                self.comment(f"-> {known.source}")
            is_plain = known.text.isdigit() and int in _kinds(key.field.annotation)
            self._set(key, known.text if is_plain else quoted(known.text))
        elif key.is_needed and not is_comment:
            self._set(key, key.example)
        else:
            note = f"  # {self.notes[key.name]}" if key.name in self.notes else ""
            self.lines.append(f"# {key.place[-1]} = {key.otherwise}{note}")

    def _set(self, key: TemplateKey, value: str) -> None:
        """Write a key with a value."""
        self.lines.append(f"{key.place[-1]} = {value}")
        if key.amount and value.rstrip('"').endswith(PLACEHOLDER):
            self.placeholders.append(key.name)

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines) + "\n"


def keys_of(kind: type[Description], place: tuple[str, ...] = ()) -> Iterator[TemplateKey]:
    """Give every key of a description and its tables; of lists, the keys of one."""
    for name, one in kind.model_fields.items():
        table = table_of(one)
        if table is None:
            yield TemplateKey(place=(*place, name), field=one)
        elif not issubclass(table[0], WRITTEN_BY_OTHERS):
            yield from keys_of(table[0], (*place, name))


def table_of(one: FieldInfo) -> tuple[type[Description], bool] | None:
    """Description that a field holds, and whether it is a list of them."""
    for kind in _kinds(one.annotation):
        if isinstance(kind, type) and issubclass(kind, Description):
            return kind, "tuple" in repr(one.annotation)
    return None


def _kinds(annotation: Any) -> list[Any]:
    """Types that an annotation allows, and the values of its literals."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    inner = [kind for each in get_args(annotation) for kind in _kinds(each)]
    return inner or [annotation]


def _as_toml(value: Any) -> str:
    """Value as TOML writes it."""
    return json.dumps(value, ensure_ascii=False)
