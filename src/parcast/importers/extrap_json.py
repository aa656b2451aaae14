"""The JSON of Extra-P: the older dialect with numbered parts, the newer one by name, and lines.

Older::

    {"parameters": [{"id": 1, "name": "p"}], "callpaths": [...], "metrics": [...],
     "coordinates": [{"id": 1, "parameter_value_pairs": [{"parameter_id": 1,
                      "parameter_value": 4}]}],
     "measurements": [{"coordinate_id": 1, "callpath_id": 1, "metric_id": 1, "value": 8.1}]}

Newer; saved by Extra-P 4, a measurement has `coordinate` and aggregates as well::

    {"parameters": ["p"],
     "measurements": {"main": {"time": [{"point": [4], "values": [8.1, 8.0]}]}}}

JSON Lines, one measurement a line::

    {"params": {"p": 4}, "callpath": "main", "metric": "time", "value": 8.1}

Talpas, the same with `parameters` and semicolons::

    {"parameters": {"p": 4};"callpath": "main";"metric": "time";"value": 8.1}
"""

import json
import re
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from parcast.files.faults import Faults
from parcast.files.numbers import number
from parcast.importers.content import json_object
from parcast.importers.runs import Runs
from parcast.units import shown

BEGUN_TALPAS = re.compile(r'\s*\{\s*"(?:parameters|metric|callpath|value)"\s*:')
STRING_OR_SEMICOLON = re.compile(r'"(?:[^"\\]|\\.)*"|;')
PLAIN = {int, float, str, type(None)}  # what the place of a measurement may hold
IDS = ("coordinate_id", "callpath_id", "metric_id")


class PackedNumber(int):
    """Number of a measurement that a `Packing` holds, in place of its object."""

    __slots__ = ()


class Packing:
    """The measurements of a document as they are read, in a fifth of the memory of objects.

    `times` gives those of a measurement in an experiment that Extra-P 4 saved.
    """

    def __init__(self, times: Callable[[dict[str, Any]], Any]) -> None:
        self._times_of = times
        self._numbers: dict[tuple[Any, ...], int] = {}  # of the places met
        self._places: list[tuple[Any, ...]] = []
        self._place = array("q")  # of each measurement
        self._ends = array("q", [0])
        self._values = array("d")
        self._odd: dict[int, tuple[tuple[Any, ...], list[Any]]] = {}  # to be refused

    def __call__(self, one: dict[str, Any]) -> Any:
        """Take the place of each object as it is read: measurements are packed."""
        if "values" in one and "point" in one:
            return self._packed(one["point"], one["values"])
        if "coordinate" in one and not one.keys().isdisjoint(("values", "median", "mean")):
            return self._packed(one["coordinate"], self._times_of(one))
        if "value" in one and "coordinate_id" in one:
            return self._packed([one.get(key) for key in IDS], [_as_number(one["value"])])
        return one

    def unpacked(self, one: PackedNumber) -> tuple[tuple[Any, ...], Sequence[Any]]:
        """Give the place of a measurement, its point or its numbers, and its values."""
        if one in self._odd:
            return self._odd[one]
        start, end = self._ends[one], self._ends[one + 1]
        return self._places[self._place[one]], self._values[start:end]

    def _packed(self, place: Any, values: Any) -> PackedNumber:
        """Keep one measurement; what is no plain number is kept as it is."""
        key = tuple(place) if isinstance(place, list) else (place,)
        values = values if isinstance(values, list) else [values]
        place_in_file = len(self._place)
        is_plain = all(type(x) in PLAIN for x in key)
        if is_plain and all(type(x) is float or type(x) is int for x in values):
            self._values.extend(values)
        else:
            self._odd[place_in_file] = key, values
            key = ()
        if key not in self._numbers:
            self._numbers[key] = len(self._places)
            self._places.append(key)
        self._place.append(self._numbers[key])
        self._ends.append(len(self._values))
        return PackedNumber(place_in_file)


def is_object_line(line: str | bytes) -> bool:
    """Tell whether a line is one measurement of JSON Lines or Talpas."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    try:
        parsed = json.loads(with_commas(text))
    except (ValueError, RecursionError):
        return False
    if not isinstance(parsed, dict) or "value" not in parsed:
        return False
    return isinstance(_params(parsed), dict)


def with_commas(line: str) -> str:
    """Give a line of Talpas, which may have semicolons for commas, as JSON.

    >>> with_commas('{"parameters": {"p": 4;"n": 2};"callpath": "a;b"}')
    '{"parameters": {"p": 4,"n": 2},"callpath": "a;b"}'
    """
    if not BEGUN_TALPAS.match(line):
        return line
    return STRING_OR_SEMICOLON.sub(lambda x: "," if x[0] == ";" else x[0], line)


def _params(measured: dict[str, Any]) -> Any:
    """Give the parameters of a line, in either spelling."""
    return measured.get("params", measured.get("parameters"))


def add_document(document: Any, packing: Packing, runs: Runs, faults: Faults) -> None:
    """Add what a document of either dialect holds, read with the hook `packing`."""
    if not isinstance(document, dict) or not {"parameters", "measurements"} <= set(document):
        got = ", ".join(document) if isinstance(document, dict) else "another kind of JSON"
        faults.refuse(
            f'must have "parameters" and "measurements" as Extra-P writes them, got '
            f"{shown(got) or 'nothing'}. Name the format if it is another."
        )
    if "callpaths" in document or "coordinates" in document:
        _add_older(document, packing, runs, faults)
    else:
        _add_newer(document, packing, runs, faults)


def add_object(measured: Any, line: int, runs: Runs, faults: Faults) -> None:
    """Add one line of JSON Lines."""
    if not isinstance(measured, dict) or not isinstance(_params(measured), dict):
        faults.refuse('must be {"params": {...}, "value": ...}. Correct the line.', line=line)
    if "value" not in measured:
        faults.refuse('must have a "value", got none. Add it, or remove the line.', line=line)
    metric, callpath = measured.get("metric", ""), measured.get("callpath", "")
    for key, text in (("metric", metric), ("callpath", callpath)):
        if not isinstance(text, str):
            faults.refuse(
                f'"{key}" must be text, got {shown(repr(text))}. Put it in quotes.', line=line
            )
    value = measured["value"]
    values = value if isinstance(value, list) else [value]
    runs.add(
        _params(measured),
        values,
        faults,
        metric=metric,
        callpath=callpath,
        line=line,
        field="value",
    )


def _add_newer(document: dict[str, Any], packing: Packing, runs: Runs, faults: Faults) -> None:
    """Add measurements by callpath and metric."""
    names = _texts(document["parameters"], "parameters", faults)
    for callpath, of_callpath in json_object(
        document["measurements"], "measurements", faults
    ).items():
        path = f"measurements.{shown(callpath)}"
        for metric, measured in json_object(of_callpath, path, faults).items():
            for i, one in enumerate(_list(measured, f"{path}.{shown(metric)}", faults)):
                field = f"{path}.{shown(metric)}[{i}]"
                if not isinstance(one, PackedNumber):
                    faults.refuse(
                        'must be {"point": [...], "values": [...]}. Correct it.', field=field
                    )
                point, values = packing.unpacked(one)
                if len(point) != len(names):
                    faults.refuse(
                        f"must have {len(names)} values, {', '.join(names)}, got {len(point)}. "
                        "Correct it.",
                        field=f"{field}.point",
                    )
                at = dict(zip(names, point, strict=True))
                runs.add(at, values, faults, metric=metric, callpath=callpath, field=field)


def _add_older(document: dict[str, Any], packing: Packing, runs: Runs, faults: Faults) -> None:
    """Add measurements that refer to numbered parts."""
    parameters = _named(document, "parameters", faults)
    callpaths = _named(document, "callpaths", faults) if "callpaths" in document else {}
    metrics = _named(document, "metrics", faults) if "metrics" in document else {}
    points: dict[Any, dict[str, Any]] = {}
    for i, one in enumerate(_list(document.get("coordinates"), "coordinates", faults)):
        field = f"coordinates[{i}]"
        pairs = json_object(one, field, faults).get("parameter_value_pairs")
        point: dict[str, Any] = {}
        for pair in _list(pairs, f"{field}.parameter_value_pairs", faults):
            parameter = json_object(pair, field, faults)
            name = parameters.get(_number_of(parameter, -1, field, faults, key="parameter_id"))
            if name is None:
                faults.refuse("must refer to a parameter that is listed. Correct it.", field=field)
            point[name] = _as_number(parameter.get("parameter_value"))
        points[_number_of(one, i, field, faults)] = point
    for i, one in enumerate(_list(document["measurements"], "measurements", faults)):
        field = f"measurements[{i}]"
        place, values = packing.unpacked(one) if isinstance(one, PackedNumber) else ((), ())
        if len(place) != len(IDS):
            faults.refuse('must have "coordinate_id" and "value". Correct it.', field=field)
        coordinate, callpath, metric = place
        try:
            at = points[coordinate]
            of_path = callpaths[callpath] if callpaths else ""
            of_metric = metrics[metric] if metrics else ""
        except (KeyError, TypeError):
            faults.refuse(
                "must refer to a coordinate, callpath and metric that are listed. "
                "Was the file cut short?",
                field=field,
            )
        runs.add(at, values, faults, metric=of_metric, callpath=of_path, field=field)


def _named(document: dict[str, Any], part: str, faults: Faults) -> dict[Any, str]:
    """Give the names of a numbered part by their numbers."""
    names = {}
    for i, one in enumerate(_list(document[part], part, faults)):
        name = json_object(one, f"{part}[{i}]", faults).get("name")
        if not isinstance(name, str):
            faults.refuse('must have a "name", got none. Add it.', field=f"{part}[{i}]")
        names[_number_of(one, i, f"{part}[{i}]", faults)] = name
    return names


def _number_of(
    part: dict[str, Any], i: int, field: str, faults: Faults, *, key: str = "id"
) -> int | str:
    """Give what a part is referred to by: its place in the list where it has no number."""
    own = part.get(key, i + 1)
    if not isinstance(own, int | str):
        faults.refuse(f'must have a number as "{key}", got {shown(repr(own))}.', field=field)
    return own


def _as_number(value: Any) -> Any:
    """Take a number in quotes as one, as Extra-P does; anything else stays to be refused."""
    read = number(value) if isinstance(value, str) else None
    return value if read is None else read


def _texts(value: Any, field: str, faults: Faults) -> list[str]:
    names = _list(value, field, faults)
    if not names or not all(isinstance(name, str) for name in names):
        faults.refuse('must be names such as ["p", "n"]. Correct it.', field=field)
    return names


def _list(value: Any, field: str, faults: Faults) -> list[Any]:
    """Take a list, or refuse what is none."""
    if not isinstance(value, list):
        faults.refuse(
            f"must be a list, got {shown(repr(value), limit=30)}. Correct it.", field=field
        )
    return value
