"""What a machine and a program have in common: frozen descriptions, checked key by key.

A description refuses unknown keys, suggesting the nearest known one, and reports all its faults
together. Its JSON Schema (`model_json_schema()`) is what the documentation is made from.
"""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from inspect import Parameter, Signature
from typing import Any, ClassVar, Final, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from parcast.descriptions.amount import Amount, Point
from parcast.errors import ParameterError, Problem, require
from parcast.files.faults import MOST_COLLECTED
from parcast.units import EXPECTED, Dimension, shown

_KINDS: Final = {  # of pydantic's refusals, in our words
    "missing": "must be given. Add it.",
    "dict_type": "must be a table of keys, got {input}. Write [{field}] with keys below it.",
    "model_type": "must be a table of keys, got {input}. Write [{field}] with keys below it.",
    "list_type": "must be a list of tables, got {input}. Write [[{field}]] before each.",
    "string_type": "must be text, got {input}. Put it in quotes.",
    "int_type": "must be a whole number, got {input}. Write it without quotes or fraction.",
    "int_from_float": "must be a whole number, got {input}. Write it without a fraction.",
    "greater_than_equal": "must be at least {ge}, got {input}. Count from {ge}.",
    "less_than_equal": "must be at most {le}, got {input}.",
    "literal_error": "must be {expected}, got {input}.",
    "bool_type": "must be true or false, got {input}. Write it without quotes.",
}


class DescriptionError(ParameterError):
    """A description that cannot be used, with what is wrong with it."""

    def __init__(self, name: str, problems: Sequence[Problem], *, unlisted: int = 0) -> None:
        self.problems = tuple(problems)
        self.unlisted = unlisted  # further faults that were counted and not kept
        count = len(self.problems) + unlisted
        below = [f"  {x.field or 'the whole'}  {x.message}" for x in problems]
        below += [f"  and {unlisted} more."] if unlisted else []
        super().__init__(f"{name}: {count} problem{'s' if count > 1 else ''}", below=below)


class Description(BaseModel):
    """Base of all descriptions: frozen, without unknown keys."""

    __signature__: ClassVar[Signature]
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True
    )

    def __init__(self, **keys: Any) -> None:
        try:
            super().__init__(**keys)
        except ValidationError as refusal:
            problems, unlisted = _problems(refusal, self)
            raise DescriptionError(type(self).__name__, problems, unlisted=unlisted) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Show the keys and their defaults in a signature, and not how each is checked."""
        super().__pydantic_init_subclass__(**options)
        keys = []
        for name, field in cls.model_fields.items():
            default = Parameter.empty if field.is_required() else field.get_default()
            keys.append(
                Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=_kind(field))
            )
        cls.__signature__ = Signature(keys)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """Show the keys that were given, amounts as the texts that they were given as."""
        for key in type(self).model_fields:
            if key in self.model_fields_set:
                value = getattr(self, key)
                yield key, as_given(value)

    def __getstate__(self) -> dict[Any, Any]:
        """Keep what was given; what is worked out from it and cached may hold functions."""
        state = super().__getstate__()
        given = {name: state["__dict__"][name] for name in type(self).model_fields}
        return {**state, "__dict__": given}

    def amounts(self) -> Iterator[tuple[str, Amount]]:
        """Give every amount in it that is given, with its name, except those in lists."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, Amount):
                yield value.name, value
            elif isinstance(value, Description):
                yield from value.amounts()

    def axes(self) -> frozenset[str]:
        """Axes that formulas in it use, also those in lists."""
        used: frozenset[str] = frozenset()
        for _, each in self._members():
            if isinstance(each, Amount):
                used |= each.expression.axes
            elif isinstance(each, Description):
                used |= each.axes()
        return used

    def placeholders(self) -> Iterator[str]:
        """Name every amount in it that is a placeholder, also in lists: "phase 1.t1"."""
        for name, each in self._members():
            if isinstance(each, Amount) and each.is_placeholder:
                yield name
            elif isinstance(each, Description):
                yield from (f"{name}.{below}" for below in each.placeholders())

    def _members(self) -> Iterator[tuple[str, Any]]:
        """Give the value of each key, and those in lists, with their names: "phase 1"."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, tuple):
                yield from ((f"{key} {i}", each) for i, each in enumerate(value, start=1))
            else:
                yield key, value


def as_given(value: Any) -> Any:
    """Give an amount, or each of a list, as the text that it was given as."""
    if isinstance(value, tuple):
        return tuple(as_given(each) for each in value)
    return value.text if isinstance(value, Amount) else value


class Of:
    """Marks a field as an `Amount` of certain dimensions, and says where its values may lie.

    Messages, and points that replace its value, call it by `name`: by default as its field. The
    bounds are for values at a point, see `within`; an amount is nowhere below 0 in any case.
    """

    def __init__(
        self,
        *dimensions: Dimension,
        name: str = "",
        above: float | None = None,
        least: float = 0.0,
        most: float | str | None = None,
        hint: str = "Check it in the description.",
    ) -> None:
        self.dimensions = dimensions
        self.name = name
        self.above, self.least, self.most = above, least, most  # "n" is the problem size
        self.hint = hint

    def __get_pydantic_core_schema__(
        self,
        source: Any,
        handler: GetCoreSchemaHandler,
    ) -> core_schema.CoreSchema:
        """Read text or a number as an amount."""
        return core_schema.no_info_plain_validator_function(
            partial(self.validated, self.name or str(handler.field_name)),
            serialization=core_schema.plain_serializer_function_ser_schema(as_given),
        )

    def __get_pydantic_json_schema__(
        self,
        schema: core_schema.CoreSchema,
        handler: GetJsonSchemaHandler,
    ) -> JsonSchemaValue:
        """Describe the text that is expected."""
        nouns = " or ".join(EXPECTED[each][0] for each in self.dimensions)
        examples = [EXPECTED[each][1].split(" or ")[0].strip('"') for each in self.dimensions]
        return {
            "type": ["string", "number"],
            "description": f"{nouns}; may be a formula in p, d and n, and end in +- 5%",
            "examples": examples,
        }

    def validated(self, name: str, value: object) -> Any:
        """Read the value of a field."""
        return self.read(name, value)

    def read(self, name: str, value: object) -> Amount:
        """Read an amount, called by its name here whatever it was called before."""
        if isinstance(value, Amount):
            value = value.text
        return Amount.of(value, self.dimensions, name=name)

    def within(self, name: str, value: NDArray[np.float64], limits: Point) -> NDArray[np.float64]:
        """Give values that lie within the bounds and are finite, or refuse the first that is not.

        >>> Of("fraction", most=1.0, hint="Write 5% as 0.05.").within("serial", np.array(2.0), {})
        Traceback (most recent call last):
        parcast.errors.ParameterError: serial must lie in [0, 1], got 2. Write 5% as 0.05.
        """
        most = np.asarray(np.inf if self.most is None else limits.get(str(self.most), self.most))
        ok = (value >= self.least) & (value <= most.astype(np.float64)) & np.isfinite(value)
        must = f"be at least {self.least:g}"
        if self.above is not None:
            ok, must = ok & (value > self.above), f"be above {self.above:g}"
        elif isinstance(self.most, str):
            must = f"lie between {self.least:g} and {self.most}"
        elif self.most is not None:
            must = f"lie in [{self.least:g}, {self.most:g}]"
        require(name, np.broadcast_to(value, ok.shape), ok, must=must, hint=self.hint)
        return value


def amount_of(field: FieldInfo) -> Of | None:
    """What marks a field as an amount, also one that may be left out."""
    inner = (mark for kind in get_args(field.annotation) for mark in get_args(kind)[1:])
    return next((mark for mark in (*field.metadata, *inner) if isinstance(mark, Of)), None)


def _kind(field: FieldInfo) -> Any:
    """Kind of value that a key takes, as a signature shows it."""
    if amount_of(field):
        return "str | float" if field.default is not None else "str | float | None"
    kind = field.annotation
    if isinstance(kind, type):
        return kind.__name__
    return Parameter.empty if "Annotated" in repr(kind) else kind


def parameter(default: object, description: str, *, example: str | None = None) -> Any:
    """Declare a field with its default, as a file would give it, and what it means.

    `example` is what `parcast init` writes: of a field that a description hardly does without.
    """
    examples = None if example is None else [example]
    return Field(
        default=default, validate_default=True, description=description, examples=examples
    )


def tables(name: str, header: str) -> BeforeValidator:
    """Mark a field as tables in a list, at least one; a refusal names the `header` of each."""

    def listed(given: Any) -> tuple[Any, ...]:
        if not isinstance(given, list | tuple) or not given:
            raise ParameterError(
                name,
                must="be a list of tables, at least one",
                got=shown(repr(given)),
                hint=f"Write {header} before each.",
            )
        return tuple(given)

    return BeforeValidator(listed)


def require_other_labels(labels: Sequence[str], name: str) -> None:
    """Refuse tables of one list that have the same name."""
    twice = sorted(label for label, count in Counter(labels).items() if count > 1)
    if twice:
        raise ParameterError(
            name,
            must="have different names",
            got=f'"{shown(twice[0])}" twice',
            hint="Rename one of them.",
        )


def _problems(refusal: ValidationError, of: BaseModel) -> tuple[list[Problem], int]:
    """Say in our words what pydantic found wrong, and count what is beyond the first faults."""
    problems: list[Problem] = []
    unlisted = 0
    for error in refusal.errors(include_url=False):
        place = error["loc"]
        inner = error.get("ctx", {}).get("error")
        if isinstance(inner, DescriptionError):
            kept = inner.problems[: MOST_COLLECTED - len(problems)]
            problems += [
                Problem(message=x.message, field=key_named(*place, x.field)) for x in kept
            ]
            unlisted += len(inner.problems) - len(kept) + inner.unlisted
            continue
        if len(problems) == MOST_COLLECTED:
            unlisted += 1
            continue
        field = key_named(*place)
        if error["type"] == "extra_forbidden":
            message = _unknown(str(place[-1]), sorted(type(of).model_fields))
        elif inner is not None:
            message = _fault(inner)
        elif error["type"] in _KINDS:
            given = {"input": shown(repr(error["input"])), "field": place[-1]}
            message = _KINDS[error["type"]].format(**given, **error.get("ctx", {}))
        else:
            message = f"must be valid, got {shown(repr(error['input']))}. {error['msg']}."
        problems.append(Problem(message=message, field=field))
    return problems, unlisted


def _fault(inner: Exception) -> str:
    """What a key must be; after its name may stand which part of it is meant: "after +-"."""
    if not isinstance(inner, ParameterError):
        return str(inner)
    _, *part = inner.name.split(" ", 1)
    return " ".join([*part, inner.fault])


def key_named(*place: str | int) -> str:
    """Name a key by the way to it: "phase 2, io.volume" for ("phase", 1, "io", "volume")."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f" {part + 1}"
        elif part:
            joint = "" if not text else ", " if text[-1].isdigit() and " " in text else "."
            text += f"{joint}{part}"
    return text


def _unknown(key: str, known: Sequence[str]) -> str:
    """Say that a key is not known, and which may have been meant."""
    near = difflib.get_close_matches(key.casefold(), known, n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(known)}."
    return f"is not a known key. {hint}"
