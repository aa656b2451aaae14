"""The picture of a match: what is in it, and that it is the same each time."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from parcast.deciding.machines.match import match
from parcast.deciding.machines.picture import figure_of_match
from parcast.descriptions.toml_files import read_machine
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements
from tests.written import svg_text

EXAMPLE = Path(__file__).parents[3] / "examples" / "matching"


@pytest.fixture(scope="module")
def told():
    machines = [read_machine(EXAMPLE / f"{name}.toml") for name in ("t3e", "sp", "o2000")]
    runs = read_measurements(EXAMPLE / "times.csv")
    return match(runs, machines, goal="cost", within="12 s", budget=5.0)


def texts(figure):
    return {text.get_text() for text in figure.findobj(lambda x: hasattr(x, "get_text"))}


def test_the_chosen_counts_are_named_and_ringed_over_processors_and_over_cost(told):
    figure = figure_of_match(told)
    assert {"T3E, p = 2", "O2000, p = 16", "SP, p = 16: does not fit"} <= texts(figure)
    assert [ax.get_xlabel() for ax in figure.axes] == ["processors p", "cost [credits]"]
    for ax, of in zip(figure.axes, ("p", "cost"), strict=True):
        rings = [x.get_xdata()[0] for x in ax.lines if x.get_markersize() == 15]
        assert rings == [getattr(x, of)[x.chosen] for x in told.candidates]


def test_in_axes_of_ones_own_time_is_drawn_over_cost(told):
    ax = Figure().subplots()
    told.plot(ax)
    assert ax.get_xlabel() == "cost [credits]"


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
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_match_gives_the_same_bytes(told, tmp_path, ending):
    one, other = tmp_path / f"one.{ending}", tmp_path / f"other.{ending}"
    told.save(one)
    told.save(other)
    assert one.read_bytes() == other.read_bytes()


def test_without_prices_time_is_drawn_over_processors():
    told = match(read_measurements(EXAMPLE / "times.csv"), within=5.0)
    seen = texts(figure_of_match(told))
    assert {"processors p", "time [s]", "longest time, 5 s"} <= seen
