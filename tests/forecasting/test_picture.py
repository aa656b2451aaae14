"""`forecasting.picture`: what is drawn, in which units and limits, the same each time."""

import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text

from parcast.errors import ParameterError, ParcastError
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import knee
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.forecasting.picture import figure_of, two_lines
from parcast.forecasting.result import Forecast
from parcast.needs import MissingPackage
from parcast.show.pictures.canvas import save_figure
from parcast.show.pictures.scales import fitting_ticks
from parcast.timings.measurements import Measurements
from tests.written import svg_text

STRONG = Measurements(p=[1, 2, 4, 8, 16], time=[100.0, 51, 27, 15, 9])
WEAK = Measurements(p=[1, 2, 4, 8], time=[1.0e-6, 1.02e-6, 1.03e-6, 1.04e-6])


def several(names, scale=lambda i: 1.0 + i, counts=(1, 2, 4, 8)):
    """A table with one series a name, all of one shape."""
    rows = [(x, p, scale(i) * (10 / p + 0.1)) for i, x in enumerate(names) for p in counts]
    callpath, p, time = zip(*rows, strict=True)
    return Measurements(callpath=callpath, p=p, time=time)


def draw_times(told):
    """Axes of a forecast of one series."""
    return figure_of(told).axes[0]


def draw_efficiency(told):
    """The same for its efficiency."""
    return figure_of(told, quantity="efficiency").axes[0]


def drawn(ax):
    """Every artist that a legend would name, by its label."""
    handles, labels = ax.get_legend_handles_labels()
    assert len(labels) == len(set(labels))
    return dict(zip(labels, handles, strict=True))


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def small_print(figure):
    """What stands below everything."""
    title, *others = figure.texts
    assert title.get_text() == figure.get_suptitle()
    return "\n".join(text.get_text() for text in others)


def outline(band):
    (path,) = band.get_paths()
    return path.vertices


# What one series looks like.


def test_machines_used_as_donors_have_a_thin_line_each_from_the_last_run_on():
    elsewhere = several(["A", "B", "C"])
    donors = Measurements(p=elsewhere.p, time=elsewhere.time, machine=elsewhere.labels["callpath"])
    told = forecast(Measurements(p=[1, 2], time=[8.0, 4.1]), [8], donors=donors)
    ax = draw_times(told)
    assert "scaling of another machine" in drawn(ax)
    thin = [line for line in ax.lines if line.get_linewidth() < 1]
    assert len(thin) == 3
    for line, name in zip(thin, told.curve.as_elsewhere(0, [8]), strict=True):
        along, times = line.get_data()
        assert np.isnan(times[np.isin(along, [1, 2])]).all()  # a gap at what was measured
        assert times[-1] == pytest.approx({x.machine: x.time for x in told.notes[0].donors}[name])
    assert "scaling of another machine" not in drawn(draw_times(forecast(STRONG, [32])))


@pytest.mark.parametrize("scales", [(1.0, 1.01, 1.02), (1.0, 3.0, 9.0)])
def test_each_machine_used_is_named_beside_its_line_and_no_name_hides_another(scales):
    counts = [1, 2, 4, 8, 16]
    names, growth = ["Archer", "Cirrus", "Thomas"], np.repeat(scales, 5)
    p = np.tile(counts, 3)
    donors = Measurements(p=p, time=100 / p + growth, machine=np.repeat(names, 5))
    told = forecast(Measurements(p=[2], time=[60.0]), [4, 16], donors=donors)
    figure = figure_of(told)
    figure.draw_without_rendering()
    beside = sorted(figure.axes[0].texts, key=lambda text: Text.get_window_extent(text).y0)
    slow_last = sorted(told.curve.as_elsewhere(0, [16]).items(), key=lambda item: item[1][0])
    assert [text.get_text() for text in beside] == [name for name, _ in slow_last]
    for below, above in pairwise(Text.get_window_extent(text) for text in beside):
        assert below.y1 <= above.y0


def test_the_line_and_the_band_pass_through_what_the_forecast_says():
    told = forecast(STRONG, [64])
    lines = drawn(draw_times(told))
    assert lines["forecast"].get_ydata()[-1] == pytest.approx(told.time[0], rel=1e-12)
    edge = outline(lines["90% interval"])
    at_64 = edge[np.isclose(edge[:, 0], 64), 1]
    assert at_64.min() == pytest.approx(told.lower[0], rel=1e-12)
    assert at_64.max() == pytest.approx(told.upper[0], rel=1e-12)


@pytest.mark.parametrize("draw", [draw_times, draw_efficiency])
def test_nothing_but_the_ideal_line_leaves_the_axes(draw):
    runs = Measurements(p=[1, 1, 2, 2, 4, 8], time=[9.0, 10, 5, 6, 3, 2])
    ax = draw(forecast(runs, hold_out=[8]))
    low, high = ax.get_ylim()
    for label, artist in drawn(ax).items():
        if label == "ideal strong scaling":
            continue
        if label.endswith("interval"):
            times = outline(artist)[:, 1]
        elif label.startswith("spread"):
            times = np.concatenate([s[:, 1] for s in artist.lines[2][0].get_segments()])
        else:
            times = np.asarray(artist.get_ydata())
        assert low <= np.nanmin(times), label
        assert np.nanmax(times) <= high, label


def test_an_enormous_interval_does_not_flatten_the_times():
    told = forecast(Measurements(p=[1, 2], time=[8.0, 3.0]), [10**9])
    ax = draw_times(told)
    assert told.upper[0] / told.lower[0] > 1e9
    low, high = ax.get_ylim()
    assert low < told.time[0] < 8 < high
    assert high / low < 1e8 * (8 / min(told.time[0], 3))


# Units and ticks.


@pytest.mark.parametrize(
    ("scale", "unit"),
    [
        *((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")),
        *((100.0, "min"), (1500.0, "h"), (1e5, "d")),
    ],
)
def test_the_unit_of_time_suits_the_times_and_the_data_stay_in_seconds(scale, unit):
    runs = Measurements(p=[1, 2, 4, 8], time=[100 * scale, 52 * scale, 28 * scale, 16 * scale])
    ax = draw_times(forecast(runs, [16]))
    assert ax.get_ylabel() == f"time [{unit}]"
    assert drawn(ax)["measured"].get_ydata()[0] == 100 * scale
    assert all(not set(label) & set("e$^") for label in tick_labels(ax.yaxis))


@pytest.mark.parametrize(
    ("counts", "width", "ticks"),
    [
        ([1, 64], 6, [1, 2, 4, 8, 16, 32, 64]),
        ([1, 2, 4, 64], 1.2, [1, 4, 16, 64]),
        ([1, 2, 4, 8, 100], 6, [1, 2, 4, 8, 20, 50, 100]),
        ([6, 12, 24, 48, 96, 144, 500], 7, [6, 12, 24, 48, 96, 144, 500]),
        (range(1, 97), 6, [1, 2, 4, 8, 16, 32, 64, 96]),
        ([1, 1000], 6, [1, 3, 10, 30, 100, 300, 1000]),
        ([5, 7], 0.3, [5, 7]),
        ([8, 8], 3, [8]),
    ],
)
def test_ticks_are_the_counts_and_both_ends_as_far_as_there_is_room(counts, width, ticks):
    assert fitting_ticks(np.array(counts, dtype=float), width) == ticks


def test_a_count_asked_for_has_a_tick_before_others():
    counts = np.arange(1.0, 97.0)
    assert 72 not in fitting_ticks(counts, 5.0)
    assert 72 in fitting_ticks(counts, 5.0, wanted=[72.0])


# The figure of a whole forecast.


@pytest.mark.parametrize("names", ["a", "ab", "abcde"])
def test_the_legend_takes_little_of_the_height(names):
    runs = several(names)
    figure = figure_of(forecast(runs, hold_out=[8]), knees=knee(runs, upto=16))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().height < 0.1 * figure.bbox.height
    assert legend.get_window_extent().width <= figure.bbox.width
    lowest = min(ax.get_tightbbox().y0 for ax in figure.axes)
    assert legend.get_window_extent().y1 <= lowest + 1


# Several series in one panel.


def test_many_series_have_a_panel_each_unless_one_is_asked_for():
    told = forecast(several("abcdefghij"), [16])
    assert len(figure_of(told).axes) == 9
    figure = figure_of(told, overlay=True)
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.texts] == list("cdefghij")
    assert "8 of 10 series are shown" in small_print(figure)


# Speedup.


@pytest.mark.parametrize("runs", [STRONG.select(p=[2, 4, 8, 16]), WEAK])
def test_speedup_has_the_values_of_the_table_and_the_interval_of_the_time(runs):
    told = forecast(runs, [32])
    (ax,) = figure_of(told, quantity="speedup").axes
    marks = drawn(ax)
    assert marks["forecast"].get_ydata()[-1] == pytest.approx(told.speedup[0])
    assert marks["measured"].get_ydata()[0] == 1
    edge = outline(marks["90% interval"])
    ends = edge[np.isclose(edge[:, 0], 32), 1]
    assert ends.max() == pytest.approx(told.speedup[0] * told.time[0] / told.lower[0])
    assert ends.min() == pytest.approx(told.speedup[0] * told.time[0] / told.upper[0])
    assert ax.get_ylabel() == f"speedup over p = {runs.p[0]:.0f}"
    np.testing.assert_allclose(marks["ideal strong scaling"].get_ydata(), [1, 32 / runs.p[0]])


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ([64], "Time on 64 processors, forecast from runs on 2 to 16"),
        ([64, 32, 64], "Time on 32 and 64 processors, forecast from runs on 2 to 16"),
        (range(20, 40), "Time on 20 to 39 processors, forecast from runs on 2 to 16"),
        (1, "Time on 1 processor, forecast from runs on 2 to 16"),
    ],
)
def test_the_title_says_what_was_asked(asked, title):
    figure = figure_of(forecast(STRONG.select(p=[2, 4, 8, 16]), asked))
    assert figure.get_suptitle().splitlines()[0] == title


def test_the_file_is_named_in_small_print_without_its_folder(parcast, times, tmp_path):
    path = tmp_path / "a.svg"
    assert parcast("forecast", times, "-p", 16, "-o", path).status == 0
    assert "Source: times.csv<" in path.read_text()
    assert str(tmp_path) not in path.read_text()
    assert "Source" not in small_print(figure_of(forecast(STRONG, [32])))


@pytest.mark.parametrize(
    "name",
    ["$x_1^2$ {", "_hidden", r"\alpha \frac{", "a & b <c>", "100% $ 5", "\u6d41\u4f53 solver"],
)
def test_a_name_is_drawn_as_it_stands(name):
    with rc_context({"text.usetex": True}):
        figure = figure_of(forecast(several([name, "plain"]), [16]))
    drawing = ET.fromstring(svg_text(figure))
    assert name in [text.strip() for text in drawing.itertext()]


@pytest.mark.parametrize(
    ("name", "most", "lines"),
    [
        ("Cray T3E, solver loop", 14, ["Cray T3E,", "solver loop"]),
        ("main->timestep->CommSBN", 16, ["main->timestep->", "CommSBN"]),
        ("exchange_boundary_values", 18, ["exchange_boundary_", "values"]),
        (
            "main->timestep->LagrangeNodal->CommSBN, MareNostrum4-general-purpose",
            25,
            ["main->timestep->…CommSBN,", "…general-purpose"],
        ),
        ("y" * 30 + ", SP", 12, ["…" + "y" * 10 + ",", "SP"]),
        ("x" * 60, 12, ["x" * 11 + "…", "…" + "x" * 11]),
    ],
)
def test_a_name_breaks_between_its_parts(name, most, lines):
    assert two_lines(name, most) == lines
    assert max(map(len, lines)) <= most


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(
    ("series", "furthest", "counts"),
    [
        (1, 10**6, (24, 96, 640)),
        (2, 16, (1, 2, 4, 8)),
        (9, 4096, (2, 47, 175, 649, 2410)),
        (9, 10**6, (24, 96, 640)),
    ],
)
def test_no_labels_overlap(series, furthest, counts):
    names = [f"kernel {i}" for i in range(series)]
    figure = figure_of(forecast(several(names, counts=counts), [furthest]), overlay=False)
    figure.draw_without_rendering()
    for ax in figure.axes:
        across = np.array([x.get_window_extent().intervalx for x in ax.get_xticklabels()])
        assert len(across) >= 2
        assert np.all(across[:-1, 1] + 3 < across[1:, 0])
        if ax.get_ylabel():
            upwards = np.array([x.get_window_extent().intervaly for x in ax.get_yticklabels()])
            assert len(upwards) >= 3
            assert np.all(upwards[:-1, 1] < upwards[1:, 0])


# The knee.


@pytest.mark.parametrize("quantity", ["time", "speedup", "efficiency"])
def test_the_knee_is_an_upright_line_with_its_count(quantity):
    runs = several(["a", "b"], scale=lambda i: 1.0 + i)
    found = knee(runs, upto=64, min_efficiency=0.9)[1:]
    figure = figure_of(forecast(runs, [64]), quantity=quantity, knees=found)
    plain, marked = figure.axes
    line = drawn(marked)["knee: worth it up to here"]
    assert set(line.get_xdata()) == {found[0].p}
    (label,) = marked.texts
    assert label.get_text() == f"knee {found[0].p}"
    assert "knee: worth it up to here" not in drawn(plain)
    figure.draw_without_rendering()
    box, axes = label.get_window_extent(), marked.get_window_extent()
    assert axes.y0 <= box.y0 < box.y1 <= axes.y1


# Planned runs.


@pytest.mark.parametrize("quantity", ["time", "speedup", "efficiency"])
def test_runs_to_make_are_triangles_on_the_line_with_their_numbers(quantity):
    runs = several(["a", "b"], scale=lambda i: 1.0 + i)
    planned = [x for x in plan_runs(runs, p=256, upto=512, runs=2) if x.label == "b"]
    told = forecast(runs, [256])
    plain, marked = figure_of(told, quantity=quantity, planned=planned).axes
    mark = drawn(marked)["run to make next"]
    assert mark.get_xdata().tolist() == [x.at["p"] for x in planned]
    assert [x.get_text() for x in marked.texts] == [str(i + 1) for i in range(len(planned))]
    if quantity == "time":
        assert mark.get_ydata().tolist() == [x.time for x in planned]
    elif quantity == "efficiency":
        assert np.all((mark.get_ydata() > 0) & (mark.get_ydata() < 1))
    assert "run to make next" not in drawn(plain)


# Forecasts over several axes.


@pytest.fixture(scope="module")
def sizes():
    """Times over p, n and theta."""
    cells = [(p, n, theta) for p in (1, 2, 4, 8, 16) for n in (100, 200, 400) for theta in (1, 2)]
    p, n, theta = map(np.array, zip(*cells, strict=True))
    return Measurements(p=p, time=n**2 / p / theta / 1e3 + 0.02 * n, n=n, theta=theta)


def test_over_several_axes_each_value_of_the_first_is_a_line(sizes):
    told = forecast(sizes, [4, 16, 64], n=[200, 400, 800], theta=2)
    (ax,) = figure_of(told).axes
    assert [text.get_text() for text in ax.texts] == ["n = 200", "n = 400", "n = 800"]
    assert ax.get_title() == "theta = 2"
    measured = [x for x in ax.lines if x.get_label() == "_measured"]
    assert [x.get_xdata().tolist() for x in measured] == [[1, 2, 4, 8, 16]] * 2
    bands = [x for x in ax.collections if x.get_label().endswith("interval")][:3]
    for i, band in enumerate(bands):
        edge = outline(band)
        at_64 = edge[np.isclose(edge[:, 0], 64), 1]
        assert at_64.min() == pytest.approx(told.lower[i, -1])
        assert at_64.max() == pytest.approx(told.upper[i, -1])
    requested = [x for x in ax.lines if x.get_label() == "_asked for"]
    assert requested[-1].get_ydata().tolist() == told.time[2].tolist()


# From the result.


def test_axes_are_refused_where_several_panels_are_needed():
    with pytest.raises(ParameterError) as caught:
        forecast(several("abc"), [16]).plot(Figure().add_subplot(), overlay=False)
    assert str(caught.value) == (
        "ax must be left out for a picture of several panels, got axes for 3 panels. "
        "Leave it out, or forecast fewer series."
    )


# Files.


@pytest.mark.parametrize(
    ("ending", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("PDF", b"%PDF")]
)
def test_a_file_is_the_same_each_time(tmp_path, ending, begins):
    told = forecast(several(["a", "b"]), [16])
    first, second = (tmp_path / f"{name}.{ending}" for name in "ab")
    save_figure(figure_of(told), first)
    with rc_context({"font.size": 20, "svg.fonttype": "path", "axes.facecolor": "black"}):
        save_figure(figure_of(told), str(second))
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["figure", "figure.gif", ".svg"])
def test_a_format_that_is_not_known_is_refused(tmp_path, name):
    with pytest.raises(ParameterError, match=r"path must end in \.svg, \.png or \.pdf, got"):
        save_figure(figure_of(forecast(STRONG, [32])), tmp_path / name)
    assert not list(tmp_path.iterdir())


# What is loaded.


@pytest.mark.parametrize("draw", [figure_of, Forecast.plot])
def test_without_matplotlib_it_is_said_what_to_install(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackage) as caught:
        draw(forecast(STRONG, [32]))
    assert (
        str(caught.value) == 'Figures need matplotlib. Install with: pip install "parcast[plot]"'
    )
    assert isinstance(caught.value, ParcastError)
    assert isinstance(caught.value, ModuleNotFoundError)
    assert caught.value.name == "matplotlib"


# What is computed for a figure.


def test_a_quantity_that_is_not_known_is_refused(refusal):
    assert refusal(ParameterError, figure_of, forecast(STRONG, [32]), quantity="speed") == (
        'quantity must be "time", "speedup" or "efficiency", or "rate" where rates were measured, '
        "got 'speed'. "
        'Leave it out for "time".'
    )


def test_of_many_values_some_are_drawn_and_the_rest_counted(sizes):
    figure = figure_of(forecast(sizes, [8, 32], n=np.arange(100, 1300, 100), theta=2))
    assert len(figure.axes[0].texts) == 8
    assert small_print(figure).splitlines()[0] == "8 of 12 values of n are shown."


@pytest.mark.parametrize("quantity", ["time", "speedup", "efficiency"])
def test_a_run_that_was_stopped_is_an_arrow_towards_longer_times(quantity):
    told = forecast(STRONG.with_cut_off(p=64, time=12), [32, 128])
    ax = figure_of(told, quantity=quantity).axes[0]
    arrow = drawn(ax)["stopped run: took longer"]
    height = {"time": 12, "speedup": 100 / 12, "efficiency": 100 / 12 / 64}[quantity]
    assert arrow.get_xydata()[0] == pytest.approx([64, height])
    tips = [y for _, y in arrow.get_marker()]
    assert (max(tips), min(tips)) == ((1, 0) if quantity == "time" else (0, -1))
    low, high = ax.get_ylim()
    assert low < height < high
    assert "stopped run: took longer" not in drawn(draw_times(forecast(STRONG, [32])))
    both = Measurements(
        machine=["A"] * 5 + ["B"] * 5, p=[1, 2, 4, 8, 16] * 2, time=[9, 5, 3, 2, 1] * 2
    )
    both = both.with_cut_off(machine="B", p=64, time=4)
    ax = figure_of(forecast(both, [32, 128]), quantity=quantity, overlay=True).axes[0]
    assert "stopped run: took longer" in drawn(ax)
    assert sum(len(x.get_xdata()) for x in ax.lines if "stopped" in x.get_label()) == 1
