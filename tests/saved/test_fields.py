"""Fields of results in documents: written, read by their types, refused where they are others."""

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import parcast
from parcast.aliases import Array
from parcast.descriptions.program import Program
from parcast.places import load as loaded
from parcast.saved.fields import EACH, UNREADABLE, object_of, read, written
from parcast.saved.load import CLASSES, VALIDATION, load
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.notes import ImportNote
from tests.deciding.test_plans import given
from tests.show.test_result import RESULTS

WORDS = [None, "x", "inf", "nan", -1, 0, 1e300, [], {}, [1], {EACH: 1}, True, 10**12, [[1]]]
CHANGES = 12  # of each kind of document


class Place(NamedTuple):
    x: int
    name: str = ""


class Wide(NamedTuple):
    x: int
    name: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Held:
    values: Array
    time: float
    least: float | None
    kind: Literal["a", "b"]
    places: tuple[Place, ...]
    ends: tuple[int, float]
    by_name: Mapping[str, float]
    sizes: Counter[int] = field(default_factory=Counter)
    program: Program | None = None
    notes: tuple[str, ...] = ()
    other: Any = None


HELD = Held(
    values=np.array([1.0, np.inf, np.nan]),
    time=np.float64(2.0),
    least=None,
    kind="b",
    places=(Place(1, "u"), Place(2, "u")),
    ends=(1, -np.inf),
    by_name={"a": 1},
    sizes=Counter({4096: 3}),
    program=Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s"}}]),
    notes=("plain", RankedWarning("grave", kind="g", rank=Rank.UNUSABLE, size=2.0)),
)


def test_fields_are_read_as_they_were_written():
    text = json.dumps(written(HELD), allow_nan=False)
    again = object_of(Held, json.loads(text))
    np.testing.assert_equal(again.values, HELD.values)
    for name in (
        "time",
        "least",
        "kind",
        "places",
        "ends",
        "by_name",
        "sizes",
        "program",
        "notes",
    ):
        assert getattr(again, name) == getattr(HELD, name)
    assert type(again.sizes) is Counter
    assert (again.notes[1].rank, again.notes[1].size) == (Rank.UNUSABLE, 2.0)


def test_objects_of_a_class_are_columns_of_which_one_says_how_many_there_are():
    document = written(HELD)["places"]
    assert document == {"x": [1, 2], "name": {EACH: "u"}}
    assert written((Place(1), Place(1))) == {"x": [1, 1], "name": {EACH: ""}}
    assert read(tuple[Place, ...], {"x": [1, 1], "name": {EACH: ""}}) == (Place(1), Place(1))


def test_what_is_the_same_everywhere_is_read_once():
    many = {"x": [1] * 5_000, "name": {EACH: list(range(5_000))}}
    found = read(tuple[Wide, ...], many)
    assert len(found) == 5_000
    assert found[0].name is found[-1].name


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, True),
        (int, 1.0),
        (int, "1"),
        (float, "soon"),
        (float, None),
        (str, 1),
        (bool, 1),
        (float | None, "x"),
        (Literal["a", "b"], "c"),
        (Array, 1.0),
        (Array, ["x"]),
        (Array, ["1"]),
        (Array, [None]),
        (NDArray[np.int64], [1.5]),
        (NDArray[np.bool_], [2]),
        (tuple[int, int], [1]),
        (tuple[int, ...], 3),
        (tuple[Place, ...], {"x": [1], "name": ["a", "b"]}),
        (tuple[Place, ...], {"x": {EACH: 1}}),
        (Mapping[str, float], [1]),
        (Program, 3),
        (Place, {"x": 1, "unknown": 2}),
        (str, {"warning": "text"}),
    ],
)
def test_what_is_not_of_its_type_is_refused(kind, value):
    with pytest.raises(UNREADABLE):
        read(kind, value)


def leaves(held, at=()):
    """Give the places of everything in a document."""
    yield at
    items = held.items() if isinstance(held, dict) else enumerate(held)
    for name, x in items if isinstance(held, dict | list) else ():
        yield from leaves(x, (*at, name)) if isinstance(x, dict | list) else [(*at, name)]


@pytest.fixture(scope="module", params=[*CLASSES, "validation"])
def document(request):
    """Give the document of a result that holds its fields."""
    kind = loaded(CLASSES.get(request.param, VALIDATION)).__name__
    return json.dumps((given if kind == "OwnDecision" else RESULTS[kind])().to_document())


def test_fields_of_another_version_leave_the_rows(document, tmp_path):
    changed = json.loads(document)
    changed["call"]["arguments"]["unknown"] = 1
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    with pytest.warns(ImportNote, match="cannot be made again: it has not the fields that this"):
        result = load(path)
    assert type(result) is parcast.SavedResult
    assert list(result.rows())


@pytest.mark.fault(
    "Files that are read",
    "A saved result holds fields that were changed.",
    promise="Its rows are shown as they were written, or it is shown as it was changed.",
)
@pytest.mark.filterwarnings("ignore")
def test_whatever_its_fields_hold_it_is_shown(document, tmp_path):
    path = tmp_path / "changed.json"
    chosen = random.Random(7)
    for _ in range(CHANGES):
        changed = json.loads(document)
        fields = changed["call"]["arguments"]
        *within, last = chosen.choice([x for x in leaves(fields) if x])
        for name in within:
            fields = fields[name]
        fields[last] = chosen.choice(WORDS)
        path.write_text(json.dumps(changed), encoding="utf-8")
        result = load(path)
        parcast.report([result], tmp_path / "report.html")
        assert str(result)
        assert result._repr_html_()
