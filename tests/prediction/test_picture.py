"""Pictures of a prediction: what is drawn, where, in which units, and what is refused."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.machine import Machine, Price
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.prediction.picture import figure_of_prediction
from parcast.prediction.predict import predict
from parcast.prediction.quantities import QUANTITIES, quantity_of
from parcast.prediction.result import Prediction
from parcast.prediction.shown import shown_of, thinned
from parcast.prediction.surface import levels_of
from parcast.show.pictures.canvas import svg_of
from tests.written import svg_text

MACHINE = Machine(
    name="a cluster",
    compute={"rate": "100 Mflop/s"},
    network={"latency": "10 us", "bandwidth": "100 MB/s", "saturation": "400 MB/s"},
    storage={"servers": 2, "bandwidth": "50 MB/s"},
)
PROGRAM = Program(
    name="solver",
    phase=[
        {
            "law": "spmd",
            "cycles": 10,
            "bursts_per_io": 4,
            "bursts": "geometric",
            "compute": {"parallel": "800 Mflop +- 10%", "serial": "1 Mflop"},
            "communication": {"messages": "4", "volume": "2 MB / sqrt(p)"},
            "io": {"volume": "20 MB"},
        }
    ],
)
P = [1, 2, 4, 8, 16, 32, 64]
DISKS = [1, 2, 4, 8]


def made(axes, dimensions=None, **parts):
    """A prediction whose components are functions of the axes: `io=lambda _p, d: 1 / d`."""
    axes = {name: np.asarray(values, dtype=float) for name, values in axes.items()}
    grid = np.ix_(*axes.values())
    shape = tuple(len(values) for values in axes.values())
    found = Breakdown(
        **{
            name: np.broadcast_to(parts[name](*grid) if name in parts else 0.0, shape)
            for name in ("compute", "communication", "io", "synchronisation")
        }
    )
    speedup = found.time.flat[0] / found.time
    return Prediction(
        axes=axes,
        breakdown=found,
        lower=None,
        upper=None,
        contention_free=None,
        single_bus=None,
        speedup=speedup,
        efficiency=speedup / (grid[0] if "p" in axes else 1.0),
        scaling="strong",
        limits=(),
        warnings=(),
        law="",
        sources=(),
        program="made",
        machine="up",
        dimensions=dimensions or {},
    )


@pytest.fixture(scope="module")
def told():
    return predict(PROGRAM, MACHINE, p=P, d=DISKS)


@pytest.fixture(scope="module")
def lines(told):
    return figure_of_prediction(told, picture="lines")


def texts(labels):
    return [label.get_text() for label in labels]


def ticks(axis):
    return texts(axis.get_ticklabels())


def is_lines(drawn):
    return isinstance(drawn, LineCollection)


def written(ax):
    return texts(ax.texts)


# Lines.


def test_the_bands_are_those_of_the_largest_value_and_say_so(lines, told):
    interval, contention = lines.axes[0].collections
    assert interval.get_label() == "90% interval at d = 8"
    assert contention.get_label() == "from a link for every pair to a single bus at d = 8"
    assert contention.get_hatch()
    for band, low, high in (
        (interval, told.lower, told.upper),
        (contention, told.contention_free, told.single_bus),
    ):
        edge = band.get_paths()[0].vertices
        at_64 = edge[np.isclose(edge[:, 0], 64), 1]
        assert at_64.min() == pytest.approx(low[-1, -1])
        assert at_64.max() == pytest.approx(high[-1, -1])
    low, high = lines.axes[0].get_ylim()
    assert low < told.lower.min()
    assert high > told.upper.max()


def test_a_long_name_is_broken_and_never_read_as_a_formula():
    name = "phase $_2$ of the program.communication.bandwidth"
    told = made({"p": P, name: [1e6, 1e9]}, {name: "rate"}, compute=lambda p, _r: 8 / p)
    both = {"contention_free": told.time / 2, "single_bus": told.time * 50}
    figure = figure_of_prediction(replace(told, **both), picture="lines")
    svg_text(figure)
    for legend in figure.legends:
        assert legend.get_window_extent().width <= figure.bbox.width
    for picture in ("lines", "surface", "contours", "map"):
        drawn = figure_of_prediction(replace(told, **both), picture=picture)
        assert "phase $ 2$" in svg_text(drawn)
    assert figure.axes[0].get_ylim()[1] < told.time.max() * 30  # a far bus flattens nothing


# The surface.


def test_a_grid_of_a_quarter_million_points_is_thinned():
    many = np.arange(1, 513)
    told = made({"p": many, "d": many}, compute=lambda p, _d: 1 / p, io=lambda _p, d: 1 / d)
    figure = figure_of_prediction(told, picture="surface")
    assert len(figure.axes[0].collections[0].get_facecolor()) == 40 * 40
    assert len(thinned(shown_of(told, 2).axes[0], 33)) <= 33
    for picture in ("contours", "map"):
        assert figure_of_prediction(told, picture=picture).axes


@pytest.mark.parametrize("picture", ["surface", "contours", "map"])
def test_a_picture_of_4096_points_is_small_and_says_values_in_words(picture):
    told = predict(PROGRAM, MACHINE, p=range(1, 65), d=range(1, 65), interval=False)
    svg = svg_of(partial(figure_of_prediction, told, picture=picture))
    assert len(svg) < 120_000
    assert "<title>p = 64, d = 64: " in svg
    assert "<desc>Lowest: " in svg
    value = {"map": told.efficiency * 100}.get(picture, told.speedup)[-1, -1]
    assert f"p = 64, d = 64: {'efficiency' if picture == 'map' else 'speedup'} {value:.4g}" in svg


# Contours.


def test_contours_are_of_the_speedup_with_the_fewest_disks_worth_having(told):
    figure = figure_of_prediction(told, picture="contours")
    ax, bar = figure.axes
    assert bar.get_ylabel() == "speedup"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("processors p", "disks d")
    (line,) = ax.lines
    assert line.get_label() == "fewest disks within 1% of the best time"
    assert texts(figure.legends[0].get_texts()) == [line.get_label()]
    for p, d in zip(line.get_xdata(), line.get_ydata(), strict=True):
        times = dict(zip(DISKS, told.time[P.index(p)], strict=True))
        assert d == min(k for k, time in times.items() if time <= 1.01 * min(times.values()))
    assert set(written(ax)) <= set(ticks(bar.yaxis))
    assert written(ax)


def test_what_is_the_same_everywhere_can_be_drawn():
    told = made({"p": P, "d": DISKS}, io=lambda _p, _d: 3.0)
    for picture in ("contours", "map", "surface", "lines"):
        assert svg_text(figure_of_prediction(told, picture=picture))
    assert levels_of(np.full((2, 2), 3.0), is_wide=False) == pytest.approx([2.97, 3.03])


# Quantities.

LABELS = {
    "time": "time [s]",
    "speedup": "speedup",
    "efficiency": "efficiency [%]",
    "power": "power: efficiency / time [1/s]",
    "cost": "cost [EUR]",
}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_quantity_is_shown_with_its_unit(quantity):
    priced = MACHINE.model_copy(update={"price": Price(processor_hour=36, currency="EUR")})
    told = predict(PROGRAM, priced, p=P, d=DISKS)
    drawn = quantity_of(told, quantity)
    expected = {
        "time": told.time,
        "speedup": told.speedup,
        "efficiency": told.efficiency,
        "power": told.speedup / np.reshape(P, (-1, 1)) / told.time,
        "cost": told.time * np.reshape(P, (-1, 1)) / 100,
    }
    np.testing.assert_allclose(drawn.values, expected[quantity])
    for picture in (None, "map"):
        ax, bar = figure_of_prediction(told, picture=picture, quantity=quantity).axes
        assert bar.get_ylabel() == LABELS[quantity]
        assert len(ax.lines) == (picture is None)  # the ridge of contours
    surface, _ = figure_of_prediction(told, picture="surface", quantity=quantity).axes
    assert surface.get_zlabel() == LABELS[quantity]
    assert 1.0 <= surface.get_zlim()[1] * drawn.factor / drawn.values.max() < 1.3


def test_a_quantity_that_is_not_known_is_refused(told, refusal):
    def said(**options):
        return refusal(ParameterError, figure_of_prediction, told, **options)

    assert 'quantity must be "time", "speedup"' in said(quantity="energy")
    assert "for a machine without a price" in said(quantity="cost")
    assert "must be left out for lines" in said(quantity="time", picture="lines")


# Maps.


def test_a_map_names_the_region_where_each_resource_limits():
    told = made(
        {"p": [1, 4, 16, 64, 256], "d": [1, 4, 16]},
        compute=lambda p, _d: 16 / p,
        communication=lambda p, _d: p / 16,
    )
    figure = figure_of_prediction(told, picture="map")
    ax, bar = figure.axes
    assert bar.get_ylabel() == "efficiency [%]"
    assert sorted(written(ax)) == ["communication", "computing"]
    for text in ax.texts:
        across, up = text.get_position()
        assert (across < 0.5) == (text.get_text() == "computing")
        assert 0.3 < up < 0.7
    svg_text(figure)
    boxes = [text.get_window_extent() for text in ax.texts]
    middle = ax.transAxes.transform((0.5, 0.5))[0]
    assert not any(box.x0 < middle < box.x1 for box in boxes)
    edges = [np.concatenate(c.get_segments()) for c in ax.collections if is_lines(c)]
    assert len(edges) == 2
    for edge in edges:
        np.testing.assert_allclose(edge[:, 0], 16, rtol=0.03)


def test_the_border_of_regions_is_straight_where_components_are_powers():
    told = made(
        {"p": [1, 4, 16, 64, 256], "n": [1, 4, 16, 64, 256, 1024]},
        compute=lambda p, n: n / p,
        communication=lambda p, n: p / n**0.5,
    )
    ax = figure_of_prediction(told, picture="map").axes[0]
    edges = [np.concatenate(c.get_segments()) for c in ax.collections if is_lines(c)]
    for edge in edges:
        np.testing.assert_allclose(edge[:, 0], edge[:, 1] ** 0.75, rtol=0.03)


def test_a_region_too_small_for_a_label_is_named_below():
    told = made(
        {"p": np.arange(1, 101), "d": np.geomspace(1, 1000, 60).round()},
        compute=lambda _p, _d: 2.0,
        io=lambda p, d: np.where((p == 2) & (d == 1), 3.0, 1.0),
    )
    figure = figure_of_prediction(told, picture="map")
    assert written(figure.axes[0]) == ["computing"]
    assert figure.texts[0].get_text() == (
        "Regions: what limits the time, the resource that it follows most. "
        "Too small for a label: I/O (less than 1% of the map)."
    )


# What any picture does.


def test_further_axes_are_fixed_at_their_largest_value_and_the_title_says_so():
    told = made(
        {"n": [7], "p": [4, 1, 2], "d": [1, 2], "network.bandwidth": [3e6, 27e6, 1e6]},
        {"network.bandwidth": "rate"},
        communication=lambda _n, p, d, r: 1e6 * p * d / r,
    )
    figure = figure_of_prediction(told, picture="lines")
    assert figure.get_suptitle() == (
        "made on up\nat n = 7, network bandwidth = 27 MB/s, the largest of several values"
    )
    first = figure.axes[0].lines[0]
    assert first.get_xdata().tolist() == [1, 2, 4]
    np.testing.assert_allclose(first.get_ydata(), np.array([1, 2, 4]) / 27)


@pytest.mark.parametrize("picture", ["lines", "map"])
def test_the_order_of_values_does_not_matter_and_the_bytes_are_the_same(picture, tmp_path):
    sorted_, mixed = (
        predict(PROGRAM, MACHINE, p=p, d=[1, 2, 4], interval=False)
        for p in ([1, 4, 16], [16, 1, 4, 4])
    )
    sorted_.save(tmp_path / "a.svg", picture=picture)
    mixed.save(tmp_path / "b.svg", picture=picture)
    drawn = (tmp_path / "a.svg").read_bytes()
    assert drawn == (tmp_path / "b.svg").read_bytes()
    assert b"solver on a cluster" in drawn


@pytest.mark.parametrize(
    ("axes", "picture", "says"),
    [
        (
            {"p": P},
            "pie",
            'picture must be "lines", "surface", "contours" or "map", got \'pie\'. '
            "Leave it out for what suits the axes.",
        ),
        (
            {"p": [4]},
            None,
            "a picture must have an axis with several values, got none. "
            "Predict for several p, such as p=[1, 2, 4, 8].",
        ),
        (
            {"p": P, "d": [2]},
            "surface",
            "a surface must have two axes with several values, got only p. Predict for several "
            'p and d, or vary={"network.bandwidth": [...]}, or draw picture="lines".',
        ),
        (
            {"p": [4]},
            "map",
            "a map must have two axes with several values, got none. "
            "Predict for several p and d, such as p=[1, 2, 4, 8] and d=[1, 2, 4].",
        ),
        (
            {"p": [4, 4]},
            "contours",
            "contours must have two axes with several values, got none. "
            "Predict for several p and d, such as p=[1, 2, 4, 8] and d=[1, 2, 4].",
        ),
    ],
    ids=["unknown", "nothing", "surface", "map", "contours"],
)
def test_what_cannot_be_drawn_says_what_to_do(axes, picture, says, refusal):
    told = made(axes, compute=lambda *at: 8.0 / at[0] + 0 * sum(at))
    assert refusal(ParameterError, figure_of_prediction, told, picture=picture) == says


def test_a_surface_is_drawn_in_given_axes_in_space(told):
    ax = Figure().add_subplot(projection="3d")
    assert told.plot(ax, picture="surface") is ax
    assert ax.get_zlabel() == "speedup"
    with pytest.raises(ParameterError, match="ax must have three dimensions for a surface"):
        told.plot(Figure().add_subplot(), picture="surface")


def test_of_many_values_some_have_lines_with_both_ends():
    told = made({"p": P, "d": range(1, 65)}, compute=lambda p, _d: 8 / p, io=lambda _p, d: 1 / d)
    figure = figure_of_prediction(told, picture="lines")
    names = [x.get_text() for x in figure.legends[-1].get_texts()]
    assert len(figure.axes[0].lines) <= 9
    assert (names[1], names[-1]) == ("1", "64")


def test_an_axis_of_few_values_is_the_one_of_the_lines():
    told = made({"p": [1, 4], "n": range(1, 17)}, compute=lambda p, n: n / p)
    times = figure_of_prediction(told).axes[0]
    assert times.get_xlabel() == "problem size n"
    first, second = times.lines[:2]
    np.testing.assert_array_equal(first.get_ydata(), np.arange(1, 17))
    np.testing.assert_array_equal(second.get_ydata(), np.arange(1, 17) / 4)
