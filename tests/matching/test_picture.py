"""The picture of a match: what is in it, and that it is the same each time."""

from pathlib import Path

import pytest
from matplotlib.text import Annotation

from parcast.descriptions.toml_files import read_machine
from parcast.matching.match import match
from parcast.matching.picture import figure_of_match
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements
from tests.written import svg_text

EXAMPLE = Path(__file__).parents[2] / "examples" / "matching"


@pytest.fixture(scope="module")
def told():
    machines = [read_machine(EXAMPLE / f"{name}.toml") for name in ("t3e", "sp", "o2000")]
    runs = read_measurements(EXAMPLE / "times.csv")
    return match(runs, machines, goal="cost", within="12 s", budget=5.0)


def close_curves(machines, *, p, priced):
    """A match of machines that are nearly alike, each run on 1 to 32 processors."""
    rows = [(f"m{i}", x) for i in range(machines) for x in (1, 2, 4, 8, 16, 32)]
    runs = Measurements(
        p=[x for _, x in rows],
        time=[(1 + int(name[1:]) / 40) * (3 + 100 / x + 0.05 * x) for name, x in rows],
        machine=[name for name, _ in rows],
    )
    prices = {f"m{i}": 1 + i / 50 for i in range(machines)} if priced else None
    return match(runs, p=p, prices=prices, within="12 s")


def texts(figure):
    return {text.get_text() for text in figure.findobj(lambda x: hasattr(x, "get_text"))}


def test_the_chosen_counts_are_named_whatever_else_is(told):
    seen = texts(figure_of_match(told))
    assert {"2", "16"} <= seen


@pytest.mark.usefixtures("uncovered")
def test_many_machines_a_single_count_and_odd_names_can_be_drawn():
    names = [f"m${i}" for i in range(10)]
    runs = Measurements(
        p=[1, 2] * 10,
        time=[5 + i / 7 for i in range(20)],
        machine=[x for x in names for _ in (1, 2)],
    )
    figure = figure_of_match(match(runs, p=[2], prices=dict.fromkeys(names, 1)))
    assert "2 more without a curve" in svg_text(figure)
    svg_text(figure_of_match(match(runs, p=[2])))


@pytest.mark.usefixtures("uncovered")
def test_the_same_match_gives_the_same_bytes(told, tmp_path):
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    told.save(one)
    told.save(other)
    assert one.read_bytes() == other.read_bytes()
    assert svg_text(told.plot().figure) == svg_text(told.plot().figure)


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("priced", [True, False])
@pytest.mark.parametrize("machines", [3, 8])
def test_numbers_do_not_overlap_and_every_choice_has_one(machines, priced):
    figure = figure_of_match(close_curves(machines, p=[1, 2, 4, 8, 16, 24, 32, 64], priced=priced))
    figure.draw_without_rendering()
    (ax,) = figure.axes
    numbers = [x for x in ax.texts if isinstance(x, Annotation)]
    assert [x.get_fontweight() for x in numbers].count("bold") == machines
    boxes = [super(Annotation, x).get_window_extent() for x in numbers]
    assert not any(x.overlaps(y) for i, x in enumerate(boxes) for y in boxes[:i])
    frame = ax.get_window_extent().padded(0.5)
    assert all(frame.contains(*x.min) and frame.contains(*x.max) for x in boxes)


def test_without_prices_time_is_drawn_over_processors():
    told = match(read_measurements(EXAMPLE / "times.csv"), within=5.0)
    seen = texts(figure_of_match(told))
    assert {"processors p", "time [s]", "longest time, 5 s"} <= seen
