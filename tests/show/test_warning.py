"""`parcast.show.warning`: which warnings are shown, of which series, in which order."""

import copy
import pickle

import pytest

from parcast.show.sheet import Sheet
from parcast.show.warning import Rank, RankedWarning, gathered


def wide(size, rank=Rank.SERIOUS):
    return RankedWarning(f"Wide: {size}.", kind="wide", rank=rank, size=size)


def texts(**warnings):
    """Give what is shown of series with one warning each, or none."""
    parts = [Sheet(title=x, warnings=(y,) if y else ()) for x, y in warnings.items()]
    return [*gathered(Sheet(parts=tuple(parts))).shown]


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_its_rank_survives_pickling_and_copying(again):
    same = again(wide(4.2))
    assert (same, same.kind, same.rank, same.size) == ("Wide: 4.2.", "wide", Rank.SERIOUS, 4.2)


@pytest.mark.parametrize(
    ("warnings", "says"),
    [
        ({"A": wide(1)}, "Wide: 1."),
        ({"A": wide(1), "B": None}, "A: Wide: 1."),
        ({"A": wide(1), "B": wide(2), "C": wide(1)}, "B, the worst of 3 series: Wide: 2."),
        ({"A": "w", "B": "w", "C": "w"}, "All 3 series: w"),
        ({"A": "w", "B": "w", "C": None}, "A, B: w"),
        ({"A": "w", "B": "w", "C": "w", "D": None}, "A and 2 more series: w"),
    ],
)
def test_warnings_of_one_kind_are_one_and_the_worst_speaks(warnings, says):
    assert texts(**warnings) == [says]


def test_minor_ones_are_neither_shown_nor_counted():
    found = gathered(Sheet(warnings=(wide(1, Rank.MINOR), *"abcd")))
    assert (found.shown, found.left_out, len(found.every)) == (["a", "b", "c"], 1, 5)


def test_parts_may_have_short_names_and_be_of_another_sort():
    parts = [Sheet(title=f"{x}: a program", name=x, warnings=("w",)) for x in ("lu", "cg")]
    (found,) = gathered(Sheet(parts=tuple(parts), parts_are="programs")).shown
    assert found == "Both programs: w"
    parts.append(Sheet(title="ft: a program", name="ft"))
    assert gathered(Sheet(parts=tuple(parts))).shown == ["lu, cg: w"]
