"""`parcast.show.pictures.figure`: pictures as SVG, without matplotlib."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import parcast
from parcast.show.pictures.elements import PAGE, Paint, width_of
from parcast.show.pictures.figure import SvgFigure

SVG = "{http://www.w3.org/2000/svg}"
RUNS = {"p": [1, 2, 4, 8], "time": [80.0, 41.0, 22.0, 12.5]}


def drawn(figure, **about):
    return ElementTree.fromstring(figure.to_svg(**about))


def texts(svg):
    return ["".join(x.itertext()) for x in svg.iter(f"{SVG}text")]


@pytest.fixture
def axes():
    return SvgFigure(8.0, 4.0).add_subplot()


def test_a_picture_needs_no_matplotlib_and_is_the_same_each_time(tmp_path):
    program = """
import sys
sys.modules["matplotlib"] = None
import parcast
told = parcast.forecast({"p": [1, 2, 4, 8], "time": [80.0, 41.0, 22.0, 12.5]}, [16, 32])
for name in sys.argv[1:]:
    told.save(name)
"""
    places = [tmp_path / f"{name}.svg" for name in "ab"]
    subprocess.run([sys.executable, "-W", "error", "-c", program, *places], check=True)
    one, other = (place.read_bytes() for place in places)
    assert one == other


def test_linear_axes_begin_at_0_and_keep_the_unit_unless_ticks_are_words():
    ax = SvgFigure(8.0, 4.0, is_linear=True).add_subplot()
    ax.plot([1, 8], [120.0, 600.0])
    ax.set(xscale="log", yscale="log", xlim=(0.9, 9), ylim=(100, 700))
    ax.set_xticks([1, 8], labels=["one", "eight"])
    ax.set_yticks([120.0, 600.0], labels=["2", "10"])
    ax.figure.draw_without_rendering()
    assert (ax.x.kind, ax.x.limits) == ("log", (0.9, 9))
    assert (ax.y.kind, ax.y.limits, ax.get_ylim()) == ("linear", (0, 700), (0, 700))
    assert ax.y.marks()[:3] == [(0, "0"), (120, "2"), (240, "4")]
    assert ax.figure.is_flattened


def test_points_say_their_values_in_the_units_of_the_axes(axes):
    axes.plot([1, 2], [60.0, 120.0], "o", label="measured")
    axes.set_yticks([60.0, 120.0], labels=["1", "2"])
    axes.set_xlabel("processors p")
    axes.set_ylabel("time [min]")
    said = [x.text for x in drawn(axes.figure).iter(f"{SVG}title")]
    assert said[1:] == [
        "measured: processors p 1, time 1 min",
        "measured: processors p 2, time 2 min",
    ]


def test_a_line_stops_where_a_value_is_missing(axes):
    axes.plot([1, 2, 3, 4, 5], [1.0, 2.0, np.nan, 4.0, 5.0])
    [path] = [x for x in drawn(axes.figure).iter(f"{SVG}path") if x.get("stroke-linejoin")]
    assert path.get("d").count("M") == 2


def test_a_band_has_a_piece_for_each_stretch(axes):
    where = np.array([True, True, False, True, True])
    axes.fill_between(np.arange(5.0), np.zeros(5), np.ones(5), where=where, color="#0072B2")
    areas = [x for x in drawn(axes.figure).iter(f"{SVG}path") if x.get("fill") == "#0072B2"]
    assert [x.get("d").count("Z") for x in areas] == [2]


def test_all_texts_of_a_forecast_lie_within_the_picture():
    table = {"machine": ["a long name of a machine"] * 4 + ["b"] * 4}
    table |= {"p": RUNS["p"] * 2, "time": [*RUNS["time"], *(3 * x for x in RUNS["time"])]}
    told = parcast.forecast(parcast.Measurements(**table), [16, 32])
    from parcast.show.pictures.canvas import svg_of

    svg = ElementTree.fromstring(svg_of(told._drawn))
    width, height = map(float, svg.get("viewBox").split()[2:])
    for x in svg.iter(f"{SVG}text"):
        size, wide = float(x.get("font-size")), width_of("".join(x.itertext()), 1.0)
        wide *= size
        if "rotate" in (x.get("transform") or ""):
            continue
        share = {"middle": 0.5, "end": 1.0}.get(x.get("text-anchor"), 0.0)
        left = float(x.get("x")) - share * wide
        assert left >= 0.0
        assert left + wide <= width + 1.0
        assert 0.0 <= float(x.get("y")) <= height


def test_a_page_chooses_the_colours_of_ink_and_paper(axes):
    axes.plot([1, 2], [1, 2], "o", color="black", mfc="white")
    text = axes.figure.to_svg(Paint(themed=PAGE))
    assert "#000000" not in text
    assert "#FFFFFF" not in text
    assert "var(--paper)" in text


def test_hatches_of_two_pictures_of_a_page_have_names_of_their_own():
    written = []
    for prefix in ("one", "two"):
        axes = SvgFigure(8.0, 4.0).add_subplot()
        axes.bar([1, 2], [1, 2], color="#0072B2", hatch="//", edgecolor="white")
        written.append(axes.figure.to_svg(Paint(prefix=prefix)))
    names = [re.findall(r' id="([^"]+)"', x) for x in written]
    assert names == [["one-hatch-0"], ["two-hatch-0"]]


def test_names_cannot_break_out_of_the_picture(axes):
    name = '"><script>&amp;\x07</svg>'
    axes.plot([1], [1], "o", label=name)
    axes.set_title(name)
    axes.set_xlabel(name)
    axes.figure.suptitle(name)
    axes.figure.explain([{name: axes.marks[0]}], [name])
    svg = drawn(axes.figure, description=name)
    assert {x.tag for x in svg.iter()} <= {
        f"{SVG}{x}" for x in ("svg", "title", "desc", "g", "text", "path", "circle")
    }
    assert len([x for x in texts(svg) if "<script>" in x]) == 5
