"""`parcast.show.warning`: which warnings are shown, of which series, in which order."""

import copy
import json
import pickle

import pytest

from parcast.show.sheet import Sheet
from parcast.show.warning import Rank, RankedWarning, by_rank, gathered


def wide(size, rank=Rank.SERIOUS):
    return RankedWarning(f"Wide: {size}.", kind="wide", rank=rank, size=size)


def texts(**warnings):
    """Give what is shown of series with one warning each, or none."""
    parts = [Sheet(title=x, warnings=(y,) if y else ()) for x, y in warnings.items()]
    return [*gathered(Sheet(parts=tuple(parts))).shown]


def test_a_warning_is_its_text():
    warning = wide(4.2)
    assert warning == "Wide: 4.2."
    assert json.dumps([warning]) == '["Wide: 4.2."]'
    assert {warning: 1}["Wide: 4.2."] == 1


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_its_rank_survives_pickling_and_copying(again):
    same = again(wide(4.2))
    assert (same, same.kind, same.rank, same.size) == ("Wide: 4.2.", "wide", Rank.SERIOUS, 4.2)


def test_a_plain_text_is_a_warning_of_its_own_kind_in_the_middle():
    (warning,) = gathered(Sheet(warnings=("Beware.",))).every
    assert (warning, warning.kind, warning.rank) == ("Beware.", "Beware.", Rank.PLAIN)


def test_the_gravest_come_first_and_else_the_order_stays():
    plain = ("b", wide(1, Rank.MINOR), "a", wide(2, Rank.UNUSABLE), wide(3))
    assert by_rank(plain) == ["Wide: 2.", "Wide: 3.", "b", "a", "Wide: 1."]


@pytest.mark.parametrize(
    ("warnings", "says"),
    [
        ({"A": wide(1)}, "Wide: 1."),
        ({"A": wide(1), "B": None}, "A: Wide: 1."),
        ({"A": wide(1), "B": wide(2), "C": wide(1)}, "B, worst of 3 series: Wide: 2."),
        ({"A": "w", "B": "w", "C": "w"}, "All 3 series: w"),
        ({"A": "w", "B": "w", "C": None}, "A, B: w"),
        ({"A": "w", "B": "w", "C": "w", "D": None}, "A and 2 more series: w"),
    ],
)
def test_warnings_of_one_kind_are_one_and_the_worst_speaks(warnings, says):
    assert texts(**warnings) == [says]


def test_what_has_no_size_is_similar():
    no = {x: RankedWarning(f"No {x}.", kind="no") for x in "AB"}
    assert texts(**no) == ["A, and similarly 1 more series: No A."]


def test_a_graver_one_speaks_though_another_is_larger():
    assert texts(A=wide(9, Rank.MINOR), B=wide(2)) == ["B, worst of 2 series: Wide: 2."]


def test_minor_ones_are_neither_shown_nor_counted():
    found = gathered(Sheet(warnings=(wide(1, Rank.MINOR), *"abcd")))
    assert (found.shown, found.left_out, len(found.every)) == (["a", "b", "c"], 1, 5)


def test_parts_may_have_short_names_and_be_of_another_sort():
    parts = [Sheet(title=f"{x}: a program", name=x, warnings=("w",)) for x in ("lu", "cg")]
    (found,) = gathered(Sheet(parts=tuple(parts), parts_are="programs")).shown
    assert found == "Both programs: w"
    parts.append(Sheet(title="ft: a program", name="ft"))
    assert gathered(Sheet(parts=tuple(parts))).shown == ["lu, cg: w"]
