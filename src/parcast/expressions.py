"""Numbers that depend on the axes: "6*sqrt(p)", "1.40628 MB * (p/4)^(-1/6)".

A text is read by Python's own parser into a syntax tree, and the tree is translated, node by node,
into calls of the functions listed here. Whatever has no translation is refused by name and place,
so a text can compute a number and do nothing else: it is never evaluated as Python.

A number directly followed by a unit is a quantity, replaced by its SI value before parsing; if an
axis has the name of a unit (`d`), the axis takes precedence. Each quantity must have the dimension
of the result, and only quantities of the same kind can be added, so "10 MB + 5" is refused. `^` is
a power.
"""

import ast
import difflib
import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import Argument, ParameterError
from parcast.units import EXPECTED, NUMBER, Dimension, quantity, shown

DEFAULT_AXES: Final = frozenset({"p", "d", "n"})  # processors, disks, problem size
_LONGEST = 1000  # characters
_DEEPEST = 100  # levels of the syntax tree

# A number, the name of an axis, or a function of this module or numpy with what it is applied to.
_Node: TypeAlias = "float | str | tuple[Callable[..., Any], tuple[_Node, ...]]"


@dataclass(frozen=True, slots=True)
class Expression:
    """A number as a function of the axes; texts that cannot be computed safely are refused.

    `text` is a number, or at most 1000 characters of numbers, quantities, axes, `pi`, `+ - * / //
    % ^ **`, comparisons, `a if p > 4 else b`, and the functions sqrt, log (natural), log2, log10,
    exp, floor, ceil, abs, min, max. `dimension` fixes the unit of the result, `axes` are the names
    of `known_axes` that it uses. A part that is no finite number whatever the axes are, such as
    "9**9**9" or "1/0", is refused.

    >>> volume = Expression("12 MB / p", dimension="size")
    >>> volume(p=[1, 2, 4])
    array([12000000.,  6000000.,  3000000.])
    """

    text: str
    dimension: Dimension = field(default="count", kw_only=True)
    name: str = field(default="expression", kw_only=True, compare=False)
    known_axes: frozenset[str] = field(default=DEFAULT_AXES, kw_only=True, repr=False)
    axes: frozenset[str] = field(init=False, compare=False)
    _tree: _Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Translate the text, or refuse to exist."""
        object.__setattr__(self, "text", str(self.text).strip())
        object.__setattr__(self, "known_axes", frozenset(self.known_axes))
        tree = _Translation(self.text, self.dimension, self.name, self.known_axes).tree()
        object.__setattr__(self, "_tree", tree)
        object.__setattr__(self, "axes", frozenset(_axes_of(tree)))

    def __call__(self, **at: ArrayLike) -> NDArray[np.float64]:
        """Value at every point of a grid, finite everywhere, in the SI unit of `dimension`.

        Axes broadcast with each other; those the text does not use only shape the result.

        >>> Expression("6*sqrt(p)")(p=[1, 4, 16])
        array([ 6., 12., 24.])
        """
        missing = sorted(self.axes - at.keys())
        if missing:
            raise ParameterError(
                self.name,
                must="have a value for each variable in its formula",
                got=f'none for {", ".join(missing)} in "{shown(self.text)}"',
                hint=(Argument("axis", missing[0], python=f"Call it with {missing[0]}=..."),),
            )
        grid = {axis: np.asarray(values, dtype=np.float64) for axis, values in at.items()}
        shape = np.broadcast_shapes(*(values.shape for values in grid.values()))
        with np.errstate(all="ignore"):
            result = np.array(np.broadcast_to(_evaluate(self._tree, grid), shape), np.float64)
        self._require_finite(result, grid)
        return result

    def _require_finite(self, result: NDArray[np.float64], grid: dict[str, Any]) -> None:
        """Refuse a result that has no value somewhere, naming the first such point."""
        wrong = ~np.isfinite(result)
        if not wrong.any():
            return
        point = tuple(np.argwhere(wrong)[0])
        places = [
            f"{axis} = {np.broadcast_to(grid[axis], result.shape)[point]:g}"
            for axis in sorted(self.axes)
        ]
        raise (Overflow if np.isposinf(result[point]) else ParameterError)(
            self.name,
            must=f"be finite: {shown(self.text)} is {result[point]:g} at {', '.join(places)}",
            hint='Write a separate value for that case, with "... if ... else ...".',
        )


def _axes_of(node: _Node) -> Iterator[str]:
    """Names of the axes in a tree."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, tuple):
        for argument in node[1]:
            yield from _axes_of(argument)


def _evaluate(node: _Node, at: dict[str, Any]) -> Any:
    """Value of a tree, given its axes."""
    if isinstance(node, str):
        return at[node]
    if isinstance(node, tuple):
        function, arguments = node
        return function(*(_evaluate(argument, at) for argument in arguments))
    return node


def _choose(test: Any, chosen: Any, otherwise: Any) -> Any:
    """`chosen if test else otherwise` for arrays; no answer where the test has none."""
    return np.where(np.isnan(test), np.nan, np.where(test, chosen, otherwise))


def _compare(holds: Callable[..., Any], left: Any, right: Any) -> Any:
    """1 where a comparison holds, 0 where not, NaN where a side has no value."""
    return np.where(np.isnan(left) | np.isnan(right), np.nan, holds(left, right))


def _smallest(*values: Any) -> Any:
    return functools.reduce(np.minimum, values)


def _largest(*values: Any) -> Any:
    return functools.reduce(np.maximum, values)


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Lt: functools.partial(_compare, np.less),
    ast.LtE: functools.partial(_compare, np.less_equal),
    ast.Gt: functools.partial(_compare, np.greater),
    ast.GtE: functools.partial(_compare, np.greater_equal),
    ast.Eq: functools.partial(_compare, np.equal),
    ast.NotEq: functools.partial(_compare, np.not_equal),
}
_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "exp": np.exp,
}
_KEEPING_THE_UNIT = {"floor": np.floor, "ceil": np.ceil, "abs": np.abs}
_OF_SEVERAL = {"min": _smallest, "max": _largest}
_FUNCTIONS: dict[str, Callable[..., Any]] = _OF_NUMBERS | _KEEPING_THE_UNIT | _OF_SEVERAL
_OTHER_NAMES = {"ln": "log", "pow": "^", "power": "^"}
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_UNIT = r"[A-Za-z_\u00b5\u03bc][A-Za-z0-9_]*"
_KEYWORDS = r"(?:if|else|and|or|in|is|not)\b"
_GRAMMAR = "Use numbers, axes, functions, + - * / // % ^, comparisons and conditions."

_Part: TypeAlias = tuple[_Node, int]  # a tree, and the power of the expected unit in it


class _Translation:
    """One text on its way to a tree, and where in the text each part of the tree stands."""

    def __init__(self, text: str, dimension: Dimension, name: str, axes: frozenset[str]) -> None:
        self.text = text
        self.dimension = dimension
        self.name = name
        self.axes = axes
        self.spans: list[tuple[int, int]] = []  # of each character parsed, its origin in `text`
        self.quantities: set[int] = set()  # where in `text` numbers with a unit begin

    def tree(self) -> _Node:
        """Read the text and check what it stands for."""
        if len(self.text) > _LONGEST:
            rest = (_LONGEST, len(self.text))
            self.refuse(f"have at most {_LONGEST} characters", rest, "Write a shorter formula.")
        prepared = self.prepared()
        try:
            parsed = ast.parse(prepared, mode="eval").body
        except SyntaxError as error:
            index = error.offset - 1 if error.offset else len(self.spans)
            place = self.spans[index][0] if index < len(self.spans) else len(self.text)
            rest = (place, len(self.text))
            must = 'be a formula such as "6*sqrt(p)"'
            self.refuse(must, rest, "Check it and what comes before it.")
        except (MemoryError, RecursionError):
            self.refuse_depth((0, len(self.text)))
        tree, power = self.translate(parsed, depth=1)
        self.require_dimension(power)
        return tree

    def prepared(self) -> str:
        """Text for Python's parser: numbers and quantities as SI floats, `^` as `**`."""
        not_a_unit = rf"(?:{'|'.join(map(re.escape, sorted(self.axes | {'pi'})))})\b"
        unit = rf"(?!{_KEYWORDS}){_UNIT}(?:/(?!{not_a_unit}){_UNIT}\b(?!\s*\())?"
        if self.dimension == "fraction":
            unit = rf"{unit}|%"
        token = re.compile(
            rf"(?P<number>{NUMBER})(?:\s*(?P<unit>{unit}))?|{_NAME}|(?P<power>\^)|[-+*/%(),.<>=! ]"
        )
        pieces = []
        end = 0
        while end < len(self.text):
            match = token.match(self.text, end)
            if match is None:
                must = "be made of numbers, names and operators"
                self.refuse(must, (end, end + 1), _GRAMMAR)
            start, end = match.span()
            if match["number"]:
                piece = f"{self.si_value(match)!r} "
            else:
                piece = "**" if match["power"] else match[0]
            pieces.append(piece)
            self.spans += [(start, end)] * len(piece)
        return "".join(pieces)

    def si_value(self, found: re.Match[str]) -> float:
        """Read a number, or a number with its unit."""
        unit = found["unit"]
        is_called = unit in _FUNCTIONS and self.text[found.end() :].lstrip().startswith("(")
        if is_called or unit in self.axes | {"pi"}:
            hint = f'Write "{found["number"]}*{unit}".'
            self.refuse("have an operator between a number and a name", found.span(), hint)
        if unit and unit != "%":
            self.quantities.add(found.start())
        name = at_character(self.name, found.start() + 1)
        return quantity(found[0], self.dimension if unit else "count", name=name)

    def translate(self, node: ast.expr, depth: int) -> _Part:
        """Turn a part of Python's tree into ours, or refuse it."""
        if depth > _DEEPEST:
            self.refuse_depth(self.span(node))
        operands: list[ast.expr]
        match node:
            case ast.Constant(value=float(value)):
                return value, int(self.span(node)[0] in self.quantities)
            case ast.Name(id=name):
                return self.named(node, name), 0
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                function, operands = _OPERATORS[type(op)], [operand]
            case (
                ast.BinOp(left=left, op=op, right=right)
                | ast.Compare(left=left, ops=[op], comparators=[right])
            ) if type(op) in _OPERATORS:
                function, operands = _OPERATORS[type(op)], [left, right]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                function, operands = _choose, [test, body, orelse]
            case ast.Call(func=ast.Name(id=name), args=operands, keywords=[]):
                function = self.function(node, name, len(operands))
            case _:
                self.refuse("be plain arithmetic", self.span(node), _GRAMMAR)
        parts = [self.translate(operand, depth + 1) for operand in operands]
        power = self.unit_power(node, function, [power for _, power in parts])
        return self.folded(node, function, tuple(tree for tree, _ in parts)), power

    def folded(
        self, node: ast.expr, function: Callable[..., Any], arguments: tuple[_Node, ...]
    ) -> _Node:
        """Compute at once what does not depend on the axes."""
        if not all(isinstance(argument, float) for argument in arguments):
            return function, arguments
        with np.errstate(all="ignore"):
            value = float(function(*arguments))
        if not math.isfinite(value):
            self.refuse("be finite", self.span(node), f"It is {value}.")
        return value

    def unit_power(self, node: ast.expr, function: Callable[..., Any], powers: list[int]) -> int:
        """Power of the expected unit in a result, given those in the operands."""
        first, last = powers[0], powers[-1]
        if function is np.multiply:
            return first + last
        if function in (np.divide, np.floor_divide):
            return first - last
        if function is np.power or function in _OF_NUMBERS.values():
            if any(powers):
                hint = "Multiply by the unit afterwards."
                self.refuse("have no unit inside a power or function", self.span(node), hint)
            return 0
        if function is _choose:
            powers = powers[1:]
        if len(set(powers)) > 1:
            hint = "Give both sides the same unit."
            self.refuse("combine quantities of the same kind", self.span(node), hint)
        return 0 if isinstance(node, ast.Compare) else last

    def require_dimension(self, power: int) -> None:
        """Refuse a result that is not of the expected dimension."""
        noun, example, unit = EXPECTED[self.dimension]
        if power == (1 if unit else 0):
            return
        is_what = "has no unit" if power == 0 else f"has its unit to the power {power}"
        hint = f'It {is_what}. Let one factor carry the unit, such as "1 {unit}".'
        self.refuse(f"be {noun} such as {example}", (0, len(self.text)), hint)

    def named(self, node: ast.expr, name: str) -> _Node:
        """Turn a name into an axis or a number, if it is one."""
        if name in self.axes:
            return name
        if name == "pi":
            return math.pi
        known = [*sorted(self.axes), "pi"]
        hint = f"Known names: {', '.join(known)}."
        if name in _FUNCTIONS:
            hint = f'Write "{name}(...)".'
        elif nearest := _nearest(name, known):
            hint = f"Did you mean {nearest}?"
        return self.refuse("use known names", self.span(node), hint)

    def function(self, node: ast.expr, name: str, given: int) -> Callable[..., Any]:
        """Find a function by its name and the number of its arguments."""
        span = self.span(node)
        if name not in _FUNCTIONS:
            hint = f"Known functions: {', '.join(_FUNCTIONS)}."
            if name in self.axes | {"pi"}:
                hint = f'Write "{name}*(...)".'
            elif nearest := _nearest(name, _FUNCTIONS):
                hint = f"Did you mean {nearest}?"
            self.refuse("call known functions", span, hint)
        if name in _OF_SEVERAL and given < 2:
            self.refuse(f"give {name} at least 2 arguments", span, f"It has {given}.")
        if name not in _OF_SEVERAL and given != 1:
            self.refuse(f"give {name} 1 argument", span, f"It has {given}.")
        return _FUNCTIONS[name]

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Where in the text a part of Python's tree begins and ends."""
        end = node.end_col_offset or node.col_offset + 1
        return self.spans[node.col_offset][0], self.spans[end - 1][1]

    def refuse(self, must: str, span: tuple[int, int], hint: str) -> NoReturn:
        """Say which part is wrong, where it stands and what to do."""
        part = shown(self.text[slice(*span)])
        raise ParameterError(
            self.name, must=must, got=f'"{part}" at character {span[0] + 1}', hint=hint
        )

    def refuse_depth(self, span: tuple[int, int]) -> NoReturn:
        """Refuse what would exhaust the stack."""
        self.refuse(f"be nested at most {_DEEPEST} deep", span, "Write a simpler formula.")


class Overflow(ParameterError):  # noqa: N818 - says what happened, as a result
    """A formula gives what is larger than any number."""


def at_character(name: str, number: int) -> str:
    """Name a part of a formula by where it begins."""
    return f"{name} at character {number}"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that `name` may be a slip for."""
    plain = {word.casefold(): word for word in known} | _OTHER_NAMES
    near = difflib.get_close_matches(name.casefold(), plain, n=1, cutoff=0.7)
    return plain[near[0]] if near else None
