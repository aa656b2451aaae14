"""Rows over axes as an xarray dataset: each axis a dimension, each other column a variable."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import ParameterError, one_line
from parcast.show.warning import gathered
from parcast.version import __version__
from parcast.words import listed

if TYPE_CHECKING:
    from parcast.show.result import Result

UNITS: Final = {"_B_per_s": "B/s", "_per_s": "1/s", "_bytes": "B", "_B": "B", "_s": "s"}
SPARSEST: Final = 0.01  # share of a grid that rows must fill
SMALL: Final = 10_000  # points of a grid that may be as sparse as it is


class GridNote(UserWarning):
    """Rows do not fill the grid of their axes."""


def dataset_of(result: "Result", axes: Sequence[str] | None = None) -> Any:
    """Give the rows of a result as a dataset, over axes or those of its own."""
    try:
        import xarray
    except ImportError:
        raise ModuleNotFoundError(
            "to_xarray needs xarray. Install with: pip install xarray", name="xarray"
        ) from None
    rows = list(result.rows())
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    known = [name for name, cells in columns.items() if any(x is not None for x in cells)]
    names = _checked(columns, axes) if axes else axes_of(result._axes, known)
    names = names or distinguishing(columns)
    if not names:
        raise ParameterError(
            "axes",
            must="be named, as no columns tell these rows apart",
            got="none",
            hint=f"Name columns, such as to_xarray({[*columns][:1]}).",
        )
    values = {name: _values(name, columns[name]) for name in names}
    place = _places(columns, values)
    shape = tuple(map(len, values.values()))
    shown = {
        name: cells
        for name, cells in columns.items()
        if name not in values and name not in result._never_filled
    }
    called = _without_units(shown)
    variables = {
        called[name]: (names, _spread(cells, place, shape), _attributes(name))
        for name, cells in shown.items()
    }
    coordinates = {name: (name, x, _attributes(name)) for name, x in values.items()}
    said = {
        "title": one_line(repr(result)),
        "source": f"parcast {__version__}",
        "comment": "\n".join(gathered(result.to_sheet()).every),
    }
    return xarray.Dataset(variables, coordinates, {x: y for x, y in said.items() if y})


def axes_of(outline: str, columns: Iterable[str]) -> list[str]:
    """Choose the axes that a kind of results has, of the columns that its rows have.

    >>> axes_of("*time_s", ["machine", "p", "time_s", "lower_s"])
    ['machine', 'p']
    >>> axes_of("machine p disks", ["machine", "p", "nodes", "time_s"])
    ['machine', 'p']
    """
    every = list(columns)
    if outline.startswith("*"):
        return every[: every.index(outline[1:])] if outline[1:] in every else []
    return [name for name in outline.split() if name in every]


def distinguishing(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Choose the first columns that tell rows apart, none that follows from the others.

    >>> distinguishing({"law": ["a", "a"], "p": [1, 2], "double": [2, 4], "time_s": [8.0, 5.0]})
    ['p']
    """
    fewest = 2 if len(next(iter(columns.values()), ())) > 1 else 1  # values of an axis
    chosen: dict[str, Sequence[Any]] = {}
    for name, cells in columns.items():
        if all(isinstance(x, str | int | float) for x in cells) and len({*cells}) >= fewest:
            chosen[name] = cells
            if _are_apart(chosen):
                break
    for name in reversed([*chosen]):
        others = {x: y for x, y in chosen.items() if x != name}
        chosen = others if others and _are_apart(others) else chosen
    return [*chosen] if _are_apart(chosen) else []


def _are_apart(columns: Mapping[str, Sequence[Any]]) -> bool:
    rows = [*zip(*columns.values(), strict=True)]
    return len({*rows}) == len(rows)


def _checked(columns: Mapping[str, Any], axes: Sequence[str]) -> list[str]:
    names = [axes] if isinstance(axes, str) else list(dict.fromkeys(axes))
    for name in names:
        if name not in columns:
            raise ParameterError(
                "axes",
                must="be columns of the rows",
                got=repr(name),
                hint=f"There are {listed(columns, 12)}.",
            )
    return names


def _values(name: str, cells: Sequence[Any]) -> NDArray[Any]:
    """Values of an axis: numbers ascending, anything else as it comes."""
    if None in cells:
        raise ParameterError(
            "axes",
            must="be known in every row",
            got=f"{name}, which is not",
            hint="Name other columns, or use to_pandas().",
        )
    if all(isinstance(x, int | float) for x in cells):
        return np.unique(np.array(cells))
    return np.array([str(x) for x in dict.fromkeys(cells)])


def _places(columns: Mapping[str, Sequence[Any]], values: Mapping[str, NDArray[Any]]) -> Any:
    """Place of each row on the grid, as one index array for each axis.

    Two rows at one place are refused, and so is a grid that is nearly empty.
    """
    numbers = []
    for name, known in values.items():
        cells = columns[name]
        number = {x: i for i, x in enumerate(known.tolist())}
        numbers.append([number[x if x in number else str(x)] for x in cells])
    places = list(zip(*numbers, strict=True))
    if len(set(places)) < len(places):
        twice = Counter(places).most_common(1)[0][0]
        at = (f"{n} = {known[i]}" for (n, known), i in zip(values.items(), twice, strict=True))
        raise ParameterError(
            "axes",
            must="tell all rows apart",
            got=f"two rows at {', '.join(at)}",
            hint="Name further columns that are axes.",
        )
    points = prod(map(len, values.values()))
    if len(places) < points:
        filled = f"{len(places):,} of {points:,} points of the grid of {listed(values, 6)}"
        if points > SMALL and len(places) < SPARSEST * points:
            raise ParameterError(
                "axes",
                must="be those of a grid",
                got=f"rows at {filled}",
                hint="Use to_pandas(), or fewer axes.",
            )
        warnings.warn(f"Rows are at {filled}: the others are NaN.", GridNote, stacklevel=4)
    return tuple(np.array(x, dtype=np.intp) for x in numbers)


def _without_units(columns: Mapping[str, Any]) -> dict[str, str]:
    """Call variables as results do: without the unit, unless another has that name.

    >>> _without_units({"time_s": [], "time_limit_s": [], "time_limit": []})
    {'time_s': 'time', 'time_limit_s': 'time_limit_s', 'time_limit': 'time_limit'}
    """
    short = {name: name.removesuffix(_ending(name)) for name in columns}
    return {name: name if x in columns else x for name, x in short.items()}


def _ending(name: str) -> str:
    """Unit that a name ends in, "" without one."""
    return next((x for x in UNITS if name.endswith(x)), "")


def _attributes(name: str) -> dict[str, str]:
    """Attributes of a variable: its unit, where its name has one."""
    ending = _ending(name)
    return {"units": UNITS[ending]} if ending else {}


def _spread(cells: Sequence[Any], place: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Put the cells of a column on the grid: NaN, or "" in a text, where there is none."""
    known = [x for x in cells if x is not None]
    if any(isinstance(x, str) for x in known):
        texts = np.full(shape, "", dtype=f"U{max(map(len, map(str, known)))}")
        texts[place] = ["" if x is None else str(x) for x in cells]
        return texts
    if any(not isinstance(x, int | float) for x in known):  # lists and the like
        kept = np.full(shape, None, dtype=object)
        for at, x in zip(zip(*place, strict=True), cells, strict=True):
            kept[at] = x
        return kept
    is_whole = len(known) == prod(shape)
    kind = np.array(known).dtype if is_whole and known else np.dtype(float)
    numbers = np.zeros(shape, kind) if is_whole else np.full(shape, np.nan)
    numbers[place] = [np.nan if x is None else x for x in cells]
    return numbers
