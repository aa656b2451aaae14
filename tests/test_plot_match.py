"""The picture of a match: what is in it, and that it is the same each time."""

from pathlib import Path

import pytest

from parcast import Measurements, match, read_machine, read_measurements
from parcast.plot.canvas import svg_text
from parcast.plot.match import draw_match, figure_of_match

EXAMPLE = Path(__file__).parents[1] / "examples" / "matching"


@pytest.fixture(scope="module")
def told():
    machines = [read_machine(EXAMPLE / f"{name}.toml") for name in ("t3e", "sp", "o2000")]
    runs = read_measurements(EXAMPLE / "times.csv")
    return match(runs, machines, goal="cost", within="12 s", budget=5.0)


def texts(figure):
    return {text.get_text() for text in figure.findobj(lambda x: hasattr(x, "get_text"))}


def test_it_shows_every_machine_its_choice_and_the_limits(told):
    seen = texts(figure_of_match(told))
    for text in (
        "T3E, p = 2",
        "SP, p = 16: does not fit",
        "longest time, 12 s",
        "budget, 5 credits",
        "cost [credits]",
        "Machines by least cost, within 12 s and for 5 credits at most",
    ):
        assert text in seen


def test_the_chosen_counts_are_named_whatever_else_is(told):
    seen = texts(figure_of_match(told))
    assert {"2", "16"} <= seen


def test_without_prices_time_is_drawn_over_processors():
    told = match(read_measurements(EXAMPLE / "times.csv"), within=5.0)
    seen = texts(figure_of_match(told))
    assert {"processors p", "time [s]", "longest time, 5 s"} <= seen


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


def test_the_same_match_gives_the_same_bytes(told, tmp_path):
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    draw_match(told, one)
    draw_match(told, other)
    assert one.read_bytes() == other.read_bytes()
    assert svg_text(told.plot()) == svg_text(told.plot())
